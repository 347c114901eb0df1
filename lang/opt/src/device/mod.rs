//! For a device beside the CPU: what is written to memory and read again by the next kernel costs more than what kernels compute, so operations on whole
//! vectors become loops over their elements, which then become one, and give sums instead of terms.
//!
//! ```text
//! y = mul x a; z = add y b; s = sum z   ⟼   n = dim 0 x; s = loop for n over (x, b) sum { … }
//! ```
//!
//! Unlike for native code ([`mod@crate::pointwise`]) any operation may stand between the loops, vectors are of any numbers, and how sums are added is
//! the device's own choice. Arrays that may be absent zeros are left alone: their extents are not known. An array that is only turned round is read from its end.
//!
//! Bodies of loops without state are kernels already, and stay as they are.
//!
//! - [`recurrence`]: loops that carry numbers of which turns make affine functions, as scans. `placed`: what is added to places that a scan chose, as such a loop.
//! - `series`: the same along rows. `shifted`: vectors moved by one place. `sides`: extents of rows that loops collect. `known`: what is known of variables.
//! - `turned`: what is only read turned round. `pulled`: what is cheaply computed where it is read. `ended`, `assembled`: arrays that are put together of parts.
//!   `arms`: what reads arrays that branches leave. `lifted`: arithmetic with numbers on arrays that are moved. `gathered`: elements at indices. `fed`: loops that only operators read. `sunk`: elements of one array that a loop reads as numbers.

mod arms;
mod assembled;
mod ended;
mod fed;
mod gathered;
mod known;
mod lifted;
mod placed;
mod pulled;
pub mod recurrence;
mod series;
mod shifted;
pub(crate) mod sides;
mod sunk;
mod turned;

use crate::fuse::{self, For};
use adl_ad::Arrays;
use known::{Known, is_vector};
use adl_ir::{Block, Cmp, FnId, Function, Lit, Loop, Op, Out, Program, Stmt, Turns, Ty, Var};
use adl_prim::{Bin, Prim, Un};
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};

/// Rewrites a function, none of whose arguments is an absent zero. The function may have operations of the device's own, which no verifier knows.
pub fn vectors(p: &Program, f: &mut Function) {
    let known = adl_ir::verify::is_on() && adl_ir::verify::verify(p, f).is_ok();
    let check = |f: &Function| {
        if known {
            crate::check(p, f);
        }
    };
    if crate::inline::for_device(p, f) {
        crate::round(f, Arrays::MayBeAbsent);
        check(f);
    }
    let safe = crate::shapes::known_beside_zeros(f);
    crate::hoist::hoist(f, &safe);
    crate::simplify::simplify(f);
    adl_ad::dce::remove_dead(f);
    let mut body = std::mem::take(&mut f.body);
    let moved = brought_near(f, &mut body);
    let there: HashSet<Var> = body.params.iter().copied().filter(|v| f.ty(*v).rank() > 0).collect();
    let (read, elements_read) = (fuse::reads_of(&body), gathered::elements_read(&body));
    let mut pass = Pass { p, f, read, elements_read, known: Known { there, ..Known::default() }, changed: moved };
    pass.block(&mut body);
    let (changed, there) = (pass.changed, pass.known.there);
    f.body = body;
    if changed {
        check(f);
        crate::round(f, Arrays::MayBeAbsent);
        for _ in 0..crate::ROUNDS {
            let mut body = std::mem::take(&mut f.body);
            let moved = brought_near(f, &mut body);
            f.body = body;
            if !fuse::fuse(f, For::Device) && !moved {
                break;
            }
            check(f);
            crate::round(f, Arrays::MayBeAbsent);
        }
    }
    where_read(f, &there);
    check(f);
}

/// What is left of arrays in another order, or of parts, is computed where it is read. `there`: arrays that are no absent zeros.
fn where_read(f: &mut Function, there: &HashSet<Var>) {
    let mut body = std::mem::take(&mut f.body);
    turned::backwards(f, &mut body);
    let ints = Ints::of(&body);
    let mut changed = pulled::pulled(f, &mut body, &ints);
    changed |= ended::ended(f, &mut body, &ints);
    let assembled = assembled::assembled(f, &mut body, &ints, there);
    if changed || assembled {
        f.body = body;
        crate::round(f, Arrays::MayBeAbsent);
        body = std::mem::take(&mut f.body);
    }
    if assembled {
        let ints = Ints::of(&body);
        pulled::pulled(f, &mut body, &ints);
    }
    sunk::sunk(f, &mut body, &mut HashMap::new());
    turned::turned(f, &mut body);
    fed::turned(f, &mut body);
    fed::beside(&mut body);
    f.body = body;
    // Hoisting would take out of the loops what they turn round.
    adl_ad::dce::remove_dead(f);
}

/// What Ints of a function are.
#[derive(Default)]
struct Ints {
    literals: HashMap<Var, i64>,
    /// Differences.
    less: HashMap<Var, (Var, Var)>,
    /// First extents of arrays.
    dims: HashMap<Var, Var>,
    /// Shapes: of arrays, and with a first extent.
    shapes: HashMap<Var, Var>,
    firsts: HashMap<Var, Var>,
    /// Literals and extents.
    host: HashSet<Var>,
}

/// What a kernel may see without asking what a device can: there are some with 31 bindings.
const SEEN: usize = 24;

impl Ints {
    fn of(b: &Block) -> Ints {
        let mut all = Ints::default();
        all.learn(b);
        all
    }

    fn learn(&mut self, b: &Block) {
        for s in &b.stmts {
            if matches!(s.op, Op::Lit(_) | Op::Dim(..)) {
                self.host.extend(&s.outs);
            }
            match &s.op {
                Op::Lit(Lit::I64(n)) => _ = self.literals.insert(s.outs[0], *n),
                Op::Bin(Bin::Sub, n, k) => _ = self.less.insert(s.outs[0], (*n, *k)),
                Op::Dim(a, 0) => _ = self.dims.insert(s.outs[0], *a),
                Op::Shape(a) => _ = self.shapes.insert(s.outs[0], *a),
                Op::Stack { elems, .. } => self.firsts.extend(elems.first().map(|n| (s.outs[0], *n))),
                op => op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.learn(b))),
            }
        }
    }

    fn is(&self, v: Var, n: i64) -> bool {
        self.literals.get(&v) == Some(&n)
    }

    /// What this is one less than.
    fn before(&self, v: Var) -> Option<Var> {
        self.less.get(&v).filter(|(_, k)| self.is(*k, 1)).map(|(n, _)| *n)
    }

    /// What a loop reads from outside, and makes: as many things as a kernel of it may have to see. Extents and literals are known to the host.
    fn seen(&self, l: &Loop) -> usize {
        let mut inside = l.body.params.clone();
        crate::copy::bound(&l.body, &mut inside);
        let mut read = fuse::reads_of(&l.body);
        read.extend(&l.xs);
        inside.iter().for_each(|v| _ = read.remove(v));
        read.into_iter().filter(|v| !self.host.contains(v)).count() + l.outs.len()
    }

    /// Whether an array of this shape has so many rows.
    fn begins(&self, shape: Var, n: Var) -> bool {
        self.firsts.get(&shape) == Some(&n) || self.shapes.get(&shape).is_some_and(|a| self.dims.get(&n) == Some(a))
    }
}

/// Takes a step in a block as often as there is one, then in the blocks inside of it. Whether there was any.
fn everywhere(f: &mut Function, b: &mut Block, step: fn(&mut Function, &mut Block) -> bool) -> bool {
    let mut changed = false;
    while step(f, b) {
        changed = true;
    }
    for s in &mut b.stmts {
        s.op.blocks_mut().into_iter().for_each(|b| changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || everywhere(f, b, step)));
    }
    changed
}

/// Brings arithmetic to what makes its operands, so that it may become one with it. Whether there was any.
fn brought_near(f: &mut Function, b: &mut Block) -> bool {
    let lifted = everywhere(f, b, lifted::step);
    everywhere(f, b, arms::step) || lifted
}

struct Pass<'a> {
    p: &'a Program,
    f: &'a mut Function,
    /// What the function reads at all.
    read: HashSet<Var>,
    /// Of which of that more than its length.
    elements_read: HashSet<Var>,
    known: Known,
    changed: bool,
}

fn is_array(f: &Function, v: Var) -> bool {
    f.ty(v).rank() > 0 && !f.linear(v)
}

/// Whether an array's elements are numbers, not boxes of arrays or data.
fn of_numbers(f: &Function, v: Var) -> bool {
    matches!(f.ty(v), Ty::Array(e, _) if e.is_flat())
}

impl Pass<'_> {
    fn block(&mut self, b: &mut Block) {
        for mut s in std::mem::take(&mut b.stmts) {
            fuse::rename_op(&mut s.op, &self.known.names);
            if let Op::Loop(l) = &mut s.op {
                self.without_filled(l);
            }
            if let Op::If(c, ..) = s.op
                && self.known.holds.contains(&c)
            {
                self.taken(s, b);
                continue;
            }
            self.inside(&mut s);
            if let Some(s) = self.series(&s, &mut b.stmts) {
                self.learn(&s);
                b.stmts.push(s);
                continue;
            }
            self.stmt(s, &mut b.stmts);
        }
        let names = &self.known.names;
        b.results.iter_mut().chain(&mut b.lin_results).for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
    }

    /// A loop reads no elements of vectors that are one number.
    fn without_filled(&mut self, l: &mut Loop) {
        let (k, mut names) = (1 + l.init.len(), HashMap::new());
        for i in (0..l.xs.len()).rev() {
            if let Some(x) = self.known.filled.get(&l.xs[i]) {
                names.insert(l.body.params.remove(k + i), *x);
                l.xs.remove(i);
            }
        }
        if !names.is_empty() {
            self.changed = true;
            l.body.stmts.iter_mut().for_each(|s| fuse::rename_op(&mut s.op, &names));
            l.body.results.iter_mut().for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
        }
    }

    /// The first arm in the place of a branch whose condition holds.
    fn taken(&mut self, s: Stmt, b: &mut Block) {
        let Op::If(_, mut arm, _) = s.op else { return };
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(&mut arm));
        b.stmts.append(&mut arm.stmts);
        s.outs.iter().zip(&arm.results).for_each(|(v, w)| self.same(*v, *w));
    }

    fn stmt(&mut self, s: Stmt, out: &mut Vec<Stmt>) {
        let k = &self.known;
        match &s.op {
            _ if !s.lin_outs.is_empty() => out.push(s),
            Op::Dim(a, 0) => self.length(s.clone(), *a, out),
            Op::Bin(Bin::Add, a, b) if k.zeros.contains(a) && k.unsigned.contains(b) => self.same(s.outs[0], *b),
            Op::Dot(a, b) if self.all_there(&[*a, *b]) && [a, b].into_iter().any(|v| k.made.contains(v)) => {
                let terms = self.f.fresh(self.f.ty(*a).clone(), false);
                let mul = Stmt { outs: vec![terms], lin_outs: Vec::new(), op: Op::Bin(Bin::Mul, *a, *b), span: s.span };
                self.each(&mul, out);
                out.push(Stmt { op: Op::Sum { a: terms, n: None }, ..s });
            }
            Op::Prim(Prim::Iota, args) if k.sizes.contains(&args[0]) => {
                let s = self.indices(&s, args[0]);
                self.learn(&s);
                out.push(s);
            }
            op if self.on_vectors(op) => self.each(&s, out),
            _ if self.gathers(&s) => self.gathered(&s, out),
            Op::SliceAdd { acc, lo, hi, v, shape: Some(shape) } if k.is_whole(*acc, (*lo, *hi), *v, *shape) && self.all_there(&[*v]) => {
                let zero = self.push(Op::Zero(self.f.ty(*v).elem()), self.f.ty(*v).elem(), s.span, out);
                self.known.nothing(zero, true);
                self.each(&Stmt { op: Op::Bin(Bin::Add, zero, *v), ..s.clone() }, out);
            }
            _ => {
                if let Some(stmts) = self.recurrence(&s).or_else(|| self.shifted(&s)) {
                    stmts.into_iter().for_each(|s| self.stmt(s, out));
                } else if let Some(s) = self.placed(&s, out) {
                    self.stmt(s, out);
                } else {
                    self.learn(&s);
                    out.push(s);
                }
            }
        }
    }

    /// How long an array is, asked of what its length is known by.
    fn length(&mut self, s: Stmt, a: Var, out: &mut Vec<Stmt>) {
        match self.known.extent(a) {
            Some(n) => self.same(s.outs[0], n),
            None => {
                let s = Stmt { op: Op::Dim(self.known.first(a), 0), ..s };
                self.learn(&s);
                out.push(s);
            }
        }
    }

    /// One variable is another.
    fn same(&mut self, v: Var, w: Var) {
        self.changed = true;
        self.known.names.insert(v, w);
    }

    fn all_there(&self, all: &[Var]) -> bool {
        all.iter().all(|v| is_vector(self.f, *v) && self.known.there.contains(v))
    }

    /// An operation on the elements of vectors that are there.
    fn on_vectors(&self, op: &Op) -> bool {
        let (mut fine, mut vector) = (matches!(op, Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..)), false);
        op.each_operand(&mut |v| {
            let long = is_vector(self.f, v);
            vector |= long;
            fine &= if long { self.known.there.contains(&v) } else { self.f.ty(v).is_flat() };
        });
        fine && vector
    }

    /// What an operation that stays tells of its results.
    fn learn(&mut self, s: &Stmt) {
        if let Op::Prim(Prim::Assert, args) = &s.op {
            self.asserted(args);
        }
        let Some(out) = s.outs.first().copied() else { return };
        if self.gives_arrays(&s.op) {
            self.known.there.extend(s.outs.iter().filter(|v| is_array(self.f, **v)));
        }
        let (f, k) = (&*self.f, &mut self.known);
        match &s.op {
            Op::Lit(x) => k.literal(out, x),
            Op::Zero(t) => k.nothing(out, t.is_flat()),
            Op::Stack { elems, .. } if *f.ty(out) == Ty::shape() => _ = k.lists.insert(out, elems.clone()),
            Op::Zeros(_) | Op::Sum { .. } | Op::Total { .. } => _ = k.unsigned.insert(out),
            Op::Cmp(Cmp::Eq, a, b) if *f.ty(*a) == Ty::I64 => _ = k.equal.insert(out, (*a, *b)),
            Op::Cmp(Cmp::Ge, a, b) if k.ints.get(b) == Some(&0) => _ = k.natural.insert(out, *a),
            Op::Dim(a, axis) => {
                k.sizes.insert(out);
                if *axis == 0 {
                    k.set_extent(*a, out);
                }
            }
            Op::Slice { .. } | Op::Reverse(_) | Op::Rotate { .. } if !is_vector(f, out) => k.array(out, &s.op),
            Op::Replicate { .. } | Op::Slice { .. } | Op::Cumsum { .. } | Op::Reverse(_) | Op::Rotate { .. } if is_vector(f, out) => k.vector(out, &s.op),
            Op::Reshape { a, to, .. } | Op::Spread { a, shape: to } => k.reshaped(out, *a, *to),
            Op::IndexSet { acc, .. } if is_vector(f, *acc) && k.there.contains(acc) => k.like(out, *acc),
            Op::SliceAdd { acc, .. } | Op::IndexAdd { acc, .. } | Op::GatherAdd { acc, .. } => k.added_to(out, *acc, is_vector(f, *acc)),
            Op::Un(Un::Neg, n) => _ = k.ints.get(n).copied().and_then(i64::checked_neg).map(|n| k.ints.insert(out, n)),
            Op::Loop(l) => k.looped(f, s, l),
            Op::Soac(c) if c.kind != adl_ir::SoacKind::Reduce => {
                s.outs.iter().for_each(|o| k.like(*o, c.arrays[0]));
                self.places(c, &s.outs);
            }
            _ => {}
        }
    }

    /// Of two Ints that must be equal one stands for both from here on; one that must not be negative is a size.
    fn asserted(&mut self, args: &[Var]) {
        let Some(c) = args.first() else { return };
        self.known.holds.insert(*c);
        self.known.sizes.extend(self.known.natural.get(c).copied());
        if let Some((a, b)) = self.known.equal.get(c).copied().filter(|(a, b)| a != b) {
            self.unite(a, b);
        }
    }

    /// From here on two extents are one.
    fn unite(&mut self, n: Var, m: Var) {
        self.known.extents.values_mut().filter(|k| **k == m).for_each(|k| *k = n);
        self.same(m, n);
    }

    /// Whether the arrays that an operation makes are no absent zeros.
    fn gives_arrays(&self, op: &Op) -> bool {
        let there = |v: Var| !is_array(self.f, v) || self.known.there.contains(&v);
        match op {
            Op::Zero(_) | Op::Fields { .. } | Op::Con { .. } | Op::If(..) | Op::Switch(..) => false,
            // What is added to no box stays an absent zero.
            Op::SliceAdd { acc, v, shape, .. } | Op::IndexAdd { acc, v, shape, .. } | Op::GatherAdd { acc, v, shape, .. } => {
                (shape.is_some() && of_numbers(self.f, *acc) || there(*acc)) && there(*v)
            }
            Op::Call { f, args, .. } => args.iter().all(|v| there(*v)) && makes_no_absent(self.p, *f, 4),
            Op::Loop(l) => l.init.is_empty() && (l.body.results.iter().all(|v| !is_array(self.f, *v)) || self.clean(&l.body, &there)),
            op => {
                let mut fine = true;
                op.each_operand(&mut |v| fine &= there(v));
                fine
            }
        }
    }

    /// Whether a block reads and makes no absent zeros.
    fn clean(&self, b: &Block, there: &dyn Fn(Var) -> bool) -> bool {
        let mut inside = Vec::new();
        crate::copy::bound(b, &mut inside);
        let inside: HashSet<Var> = inside.into_iter().collect();
        let mut fine = no_zeros(self.p, b, 4);
        fuse::reads_of(b).into_iter().for_each(|v| fine &= inside.contains(&v) || there(v));
        fine
    }

    /// Goes through a statement's blocks, where they are no kernels.
    fn inside(&mut self, s: &mut Stmt) {
        if let Op::Loop(l) = &mut s.op {
            if !l.init.is_empty() && l.lin_init.is_empty() {
                self.turn(l, &s.outs);
            }
            return;
        }
        if !matches!(s.op, Op::If(..) | Op::Switch(..)) {
            return;
        }
        let before = self.known.clone();
        // What every arm gives.
        let (mut there, mut unsigned, mut long) = (vec![true; s.outs.len()], vec![true; s.outs.len()], vec![None; s.outs.len()]);
        for b in s.op.blocks_mut() {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(b));
            for (k, v) in b.results.iter().enumerate().take(s.outs.len()) {
                there[k] &= self.known.there.contains(v);
                unsigned[k] &= self.known.unsigned.contains(v);
                let as_long = self.known.as_long_as(*v, &before);
                long[k] = Some(match long[k].take() {
                    Some(all) => &all & &as_long,
                    None => as_long,
                });
            }
            self.known = before.clone();
        }
        for (k, v) in s.outs.iter().enumerate() {
            if there[k] && is_array(self.f, *v) {
                self.known.there.insert(*v);
                long[k].iter().flatten().min().into_iter().for_each(|a| self.known.like(*v, *a));
            }
            if unsigned[k] {
                self.known.unsigned.insert(*v);
            }
        }
    }

    /// Goes through the turns of a loop with state, which the host counts. What is carried is no absent zero if it begins as none and each turn gives none.
    fn turn(&mut self, l: &mut Loop, outs: &[Var]) {
        let k = l.init.len();
        let mut carried: Vec<bool> = l.init.iter().map(|v| self.known.there.contains(v)).collect();
        loop {
            let (before, changed) = (self.known.clone(), self.changed);
            let mut body = l.body.clone();
            let given = carried.iter().copied().chain(l.xs.iter().map(|v| before.there.contains(v)));
            self.known.there.extend(body.params[1..].iter().zip(given).filter(|(v, g)| *g && is_array(self.f, **v)).map(|(v, _)| *v));
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(&mut body));
            let kept: Vec<bool> = carried.iter().zip(&body.results).map(|(c, v)| *c && self.known.there.contains(v)).collect();
            self.known = before;
            if kept == carried {
                l.body = body;
                break;
            }
            (carried, self.changed) = (kept, changed);
        }
        self.known.there.extend(outs.iter().take(k).zip(&carried).filter(|(_, c)| **c).map(|(v, _)| *v));
    }

    fn push(&mut self, op: Op, ty: Ty, span: Span, out: &mut Vec<Stmt>) -> Var {
        let v = self.f.fresh(ty, false);
        out.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span });
        v
    }

    fn extent(&mut self, a: Var, span: Span, out: &mut Vec<Stmt>) -> Var {
        if let Some(n) = self.known.extent(a) {
            return n;
        }
        let n = self.push(Op::Dim(self.known.first(a), 0), Ty::I64, span, out);
        self.known.set_extent(a, n);
        self.known.sizes.insert(n);
        n
    }

    /// How long the vectors of an operation are, which must be equal.
    fn common(&mut self, vectors: &[Var], span: Span, out: &mut Vec<Stmt>) -> Option<Var> {
        let mut first = None;
        for v in vectors {
            let n = self.extent(*v, span, out);
            let Some(m) = first else {
                first = Some(n);
                continue;
            };
            if m != n {
                let equal = self.push(Op::Cmp(Cmp::Eq, m, n), Ty::Bool, span, out);
                let text = self.push(Op::Lit(Lit::Str("vectors of different lengths".into())), Ty::Str, span, out);
                out.push(Stmt { outs: Vec::new(), lin_outs: Vec::new(), op: Op::Prim(Prim::Assert, vec![equal, text]), span });
                self.unite(m, n);
            }
        }
        first
    }

    /// An operation on vectors each of which is one number.
    fn all_alike(&mut self, (result, one): (Var, Var), op: Op, n: Var, span: Span, out: &mut Vec<Stmt>) {
        if let Op::Bin(Bin::Add, a, b) = &op
            && (self.known.unsigned.contains(a) || self.known.unsigned.contains(b))
        {
            self.known.unsigned.insert(one);
        }
        out.push(Stmt { outs: vec![one], lin_outs: Vec::new(), op, span });
        let filled = Stmt { outs: vec![result], lin_outs: Vec::new(), op: Op::Replicate { n, a: one }, span };
        self.learn(&filled);
        out.push(filled);
    }

    /// A loop that does an operation with each element of vectors, and with numbers.
    fn each(&mut self, s: &Stmt, out: &mut Vec<Stmt>) {
        let (mut operands, mut names) = (Vec::new(), HashMap::new());
        s.op.each_operand(&mut |v| operands.push(v));
        operands.retain(|v| is_vector(self.f, *v));
        operands.dedup();
        let Some(n) = self.common(&operands, s.span, out) else { return out.push(s.clone()) };
        self.changed = true;
        let result = s.outs[0];
        let one = self.f.fresh(self.f.ty(result).elem(), false);
        let mut op = s.op.clone();
        if operands.iter().all(|v| self.known.filled.contains_key(v)) {
            names.extend(operands.iter().map(|v| (*v, self.known.filled[v])));
            fuse::rename_op(&mut op, &names);
            return self.all_alike((result, one), op, n, s.span, out);
        }
        let (mut xs, mut params) = (Vec::new(), vec![self.f.fresh(Ty::I64, false)]);
        for v in operands {
            let element = match self.known.filled.get(&v) {
                Some(x) => *x,
                None => {
                    let x = self.f.fresh(self.f.ty(v).elem(), false);
                    xs.push(v);
                    params.push(x);
                    x
                }
            };
            names.insert(v, element);
        }
        fuse::rename_op(&mut op, &names);
        let body = Block { params, stmts: vec![Stmt { outs: vec![one], lin_outs: Vec::new(), op, span: s.span }], results: vec![one], ..Block::default() };
        let l = Loop { turns: Turns::For(n), reverse: false, init: vec![], lin_init: vec![], xs, lin_xs: vec![], outs: vec![Out::Collect], lin_outs: vec![], body };
        let turns = self.f.fresh(Ty::I64, false);
        let made = Stmt { outs: vec![result, turns], lin_outs: Vec::new(), op: Op::Loop(Box::new(l)), span: s.span };
        self.learn(&made);
        out.push(made);
    }
}

/// Whether a function that is given no absent zeros makes none.
fn makes_no_absent(p: &Program, f: FnId, depth: u32) -> bool {
    no_zeros(p, &p.func(f).body, depth)
}

fn no_zeros(p: &Program, b: &Block, depth: u32) -> bool {
    b.stmts.iter().all(|s| match &s.op {
        Op::Zero(t) => t.is_flat(),
        Op::Fields { .. } => false,
        Op::Call { f, .. } => depth > 0 && makes_no_absent(p, *f, depth - 1),
        op => op.blocks().into_iter().all(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || no_zeros(p, b, depth))),
    })
}

