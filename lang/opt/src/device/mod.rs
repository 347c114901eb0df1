//! Rewrites for a device (a GPU). Writing an intermediate result to memory and reading it in the next kernel costs
//! more than the arithmetic of a kernel. So operations on entire vectors become loops over their elements, which
//! are then fused, and a loop returns a sum instead of its terms.
//!
//! ```text
//! y = mul x a; z = add y b; s = sum z   ⟼   n = dim 0 x; s = loop for n over (x, b) sum { … }
//! ```
//!
//! Unlike in native code ([`mod@crate::pointwise`]), any operation may stand between the loops, vectors may have
//! any element type, and the order of sums is the device's choice. Arrays that may be symbolic zeros are left
//! alone, since they have no extents. An array that is only read reversed is read from its end instead.
//!
//! The bodies of stateless loops are kernels already and stay as they are.
//!
//! - [`recurrence`]: loops that carry numbers through affine functions, as scans. `placed`: additions at positions
//!   chosen by a scan, as such a loop.
//! - `series`: the same along rows. `shifted`: vectors shifted by one position. `sides`: extents of collected rows.
//!   `known`: the dataflow facts.
//! - `turned`: arrays that are only read reversed. `pulled`: cheap elements, recomputed by their reader. `ended`,
//!   `assembled`: arrays assembled from parts.
//! - `arms`: readers of the result of a branch, sunk into its arms. `lifted`: arithmetic commuted with moves.
//!   `gathered`: fused gathers. `fed`: loops next to the operators that read them. `sunk`: scalar loads from one
//!   array, sunk into a loop.

mod arms;
mod assembled;
mod ended;
mod fed;
mod gathered;
mod ints;
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
use adl_ir::Zeros;
use adl_ir::{Added, Block, Cmp, FnId, Function, Loop, Op, Out, Program, Stmt, Trip, Ty, Var};
use adl_prim::{ArrayFn, Bin, GeneralFn, Prim, Un};
use adl_syntax::span::Span;
use ints::{Ints, SEEN, is_array, of_numbers};
use known::{DeviceFacts, is_vector};
use std::collections::{HashMap, HashSet};

/// Rewrites a function that is called without symbolic zeros. The result may contain operations for the device that
/// the verifier does not know.
pub fn vectors(program: &Program, func: &mut Function) {
    let known = adl_ir::verify::is_on() && adl_ir::verify::verify(program, func).is_ok();
    let check = |f: &Function| {
        if known {
            crate::check(program, f, "device_vectors");
        }
    };
    if crate::inline::for_device(program, func) {
        crate::pipelines::clean(func, Zeros::Symbolic);
        check(func);
    }
    let safe = crate::shapes::known(func);
    // The CPU runs the call if an extent of a symbolic zero is asked for.
    crate::hoist::hoist(func, &safe, Zeros::Materialized);
    crate::simplify::simplify(func);
    adl_ir::rewrite::dce::remove_dead(func);
    let mut body = std::mem::take(&mut func.body);
    let moved = brought_near(func, &mut body);
    let there: HashSet<Var> = body.params.iter().copied().filter(|v| func.ty(*v).rank() > 0).collect();
    let (read, elements_read) = (fuse::reads_of(&body), gathered::elements_read(&body));
    let mut pass = Pass {
        p: program,
        f: func,
        read,
        elements_read,
        known: DeviceFacts { there, ..DeviceFacts::default() },
        changed: moved,
    };
    pass.block(&mut body);
    let (changed, there) = (pass.changed, pass.known.there);
    func.body = body;
    if changed {
        check(func);
        crate::pipelines::clean(func, Zeros::Symbolic);
        for _ in 0..crate::pipelines::ROUNDS {
            let mut body = std::mem::take(&mut func.body);
            let moved = brought_near(func, &mut body);
            func.body = body;
            if !fuse::fuse(func, For::Device) && !moved {
                break;
            }
            check(func);
            crate::pipelines::clean(func, Zeros::Symbolic);
        }
    }
    where_read(func, &there);
    check(func);
}

/// Fuses the remaining reordered and sliced arrays into their readers. `there`: arrays that are materialised, so no
/// symbolic zeros.
fn where_read(func: &mut Function, there: &HashSet<Var>) {
    let mut body = std::mem::take(&mut func.body);
    turned::backwards(func, &mut body);
    let ints = Ints::of(&body);
    let mut changed = pulled::pulled(func, &mut body, &ints);
    changed |= ended::ended(func, &mut body, &ints);
    let assembled = assembled::assembled(func, &mut body, &ints, there);
    if changed || assembled {
        func.body = body;
        crate::pipelines::clean(func, Zeros::Symbolic);
        body = std::mem::take(&mut func.body);
    }
    if assembled {
        let ints = Ints::of(&body);
        pulled::pulled(func, &mut body, &ints);
    }
    sunk::sunk(func, &mut body, &mut HashMap::new());
    turned::turned(func, &mut body);
    fed::turned(func, &mut body);
    fed::beside(&mut body);
    func.body = body;
    // Hoisting would move the reversal out of the loops again, so only dead code is removed.
    adl_ir::rewrite::dce::remove_dead(func);
}

/// Applies `step` to a block until it finds nothing more, then to the nested blocks. Returns whether anything changed.
fn everywhere(f: &mut Function, b: &mut Block, step: fn(&mut Function, &mut Block) -> bool) -> bool {
    let mut changed = false;
    while step(f, b) {
        changed = true;
    }
    for s in &mut b.stmts {
        s.op.blocks_mut()
            .into_iter()
            .for_each(|b| changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || everywhere(f, b, step)));
    }
    changed
}

/// Moves arithmetic next to the producers of its operands, so that it can be fused with them. Returns whether
/// anything changed.
fn brought_near(f: &mut Function, b: &mut Block) -> bool {
    let lifted = everywhere(f, b, lifted::step);
    everywhere(f, b, arms::step) || lifted
}

struct Pass<'a> {
    p: &'a Program,
    f: &'a mut Function,
    /// All variables that the function reads.
    read: HashSet<Var>,
    /// Those of them of which more is read than the length.
    elements_read: HashSet<Var>,
    known: DeviceFacts,
    changed: bool,
}

impl Pass<'_> {
    fn block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            fuse::rename_op(&mut stmt.op, &self.known.names);
            if let Op::Loop(l) = &mut stmt.op {
                self.without_filled(l);
            }
            if let Op::If(c, ..) = stmt.op
                && self.known.holds.contains(&c)
            {
                self.taken(stmt, block);
                continue;
            }
            self.inside(&mut stmt);
            if let Some(s) = self.series(&stmt, &mut block.stmts) {
                self.learn(&s);
                block.stmts.push(s);
                continue;
            }
            self.stmt(stmt, &mut block.stmts);
        }
        let names = &self.known.names;
        block.results.iter_mut().chain(&mut block.lin_results).for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
    }

    /// Replaces elements of constant vectors by the constant in a loop.
    fn without_filled(&mut self, ir_loop: &mut Loop) {
        let (k, mut names) = (1 + ir_loop.init.len(), HashMap::new());
        for i in (0..ir_loop.xs.len()).rev() {
            if let Some(x) = self.known.filled.get(&ir_loop.xs[i]) {
                names.insert(ir_loop.body.params.remove(k + i), *x);
                ir_loop.xs.remove(i);
            }
        }
        if !names.is_empty() {
            self.changed = true;
            ir_loop.body.stmts.iter_mut().for_each(|s| fuse::rename_op(&mut s.op, &names));
            ir_loop.body.results.iter_mut().for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
        }
    }

    /// Puts the first arm in the place of a branch whose condition is known to hold.
    fn taken(&mut self, s: Stmt, b: &mut Block) {
        let Op::If(_, mut arm, _) = s.op else { return };
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(&mut arm));
        b.stmts.append(&mut arm.stmts);
        s.outs.iter().zip(&arm.results).for_each(|(v, w)| self.same(*v, *w));
    }

    fn stmt(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        let known = &self.known;
        match &stmt.op {
            _ if !stmt.lin_outs.is_empty() => out.push(stmt),
            Op::Dim(a, 0) => self.length(stmt.clone(), *a, out),
            Op::Bin(Bin::Add, a, b) if known.zeros.contains(a) && known.unsigned.contains(b) => {
                self.same(stmt.outs[0], *b);
            }
            Op::Dot(a, b) if self.all_there(&[*a, *b]) && [a, b].into_iter().any(|v| known.made.contains(v)) => {
                let terms = self.f.fresh(self.f.ty(*a).clone(), false);
                let mul =
                    Stmt { outs: vec![terms], lin_outs: Vec::new(), op: Op::Bin(Bin::Mul, *a, *b), span: stmt.span };
                self.each(&mul, out);
                out.push(Stmt { op: Op::Sum { a: terms, n: None }, ..stmt });
            }
            Op::Prim(Prim::Array(ArrayFn::Iota), args) if known.sizes.contains(&args[0]) => {
                let s = self.indices(&stmt, args[0]);
                self.learn(&s);
                out.push(s);
            }
            op if self.on_vectors(op) => self.each(&stmt, out),
            _ if self.gathers(&stmt) => self.gathered(&stmt, out),
            Op::SliceAdd { acc, lo, hi, v, shape: Some(shape) }
                if known.is_whole(*acc, (*lo, *hi), *v, *shape) && self.all_there(&[*v]) =>
            {
                let zero = self.push(Op::Zero(self.f.ty(*v).elem()), self.f.ty(*v).elem(), stmt.span, out);
                self.known.nothing(zero, true);
                self.each(&Stmt { op: Op::Bin(Bin::Add, zero, *v), ..stmt.clone() }, out);
            }
            _ => {
                if let Some(stmts) = self.recurrence(&stmt).or_else(|| self.shifted(&stmt)) {
                    stmts.into_iter().for_each(|s| self.stmt(s, out));
                } else if let Some(s) = self.placed(&stmt, out) {
                    self.stmt(s, out);
                } else {
                    self.learn(&stmt);
                    out.push(stmt);
                }
            }
        }
    }

    /// Emits the length of an array, from what is known of it if possible.
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

    /// Replaces a variable by another one from here on.
    fn same(&mut self, v: Var, w: Var) {
        self.changed = true;
        self.known.names.insert(v, w);
    }

    fn all_there(&self, all: &[Var]) -> bool {
        all.iter().all(|v| is_vector(self.f, *v) && self.known.there.contains(v))
    }

    /// Whether an operation works on the elements of materialised vectors.
    fn on_vectors(&self, op: &Op) -> bool {
        let (mut fine, mut vector) = (
            matches!(op, Op::Un(..) | Op::Bin(..) | Op::Cmp(..) | Op::Not(_) | Op::Select(..) | Op::Convert(..)),
            false,
        );
        op.each_operand(&mut |v| {
            let long = is_vector(self.f, v);
            vector |= long;
            fine &= if long { self.known.there.contains(&v) } else { self.f.ty(v).is_flat() };
        });
        fine && vector
    }

    /// Records the facts that a statement, which stays, establishes for its results.
    fn learn(&mut self, stmt: &Stmt) {
        if let Op::Prim(Prim::General(GeneralFn::Assert), args) = &stmt.op {
            self.asserted(args);
        }
        let Some(out) = stmt.outs.first().copied() else { return };
        if self.gives_arrays(&stmt.op) {
            self.known.there.extend(stmt.outs.iter().filter(|v| is_array(self.f, **v)));
        }
        let (func, known) = (&*self.f, &mut self.known);
        match &stmt.op {
            Op::Lit(x) => known.literal(out, x),
            Op::Zero(t) => known.nothing(out, t.is_flat()),
            Op::ArrayLit { elems, .. } if *func.ty(out) == Ty::shape() => _ = known.lists.insert(out, elems.clone()),
            Op::Zeros(_) | Op::Sum { .. } | Op::SumAll { .. } => _ = known.unsigned.insert(out),
            Op::Cmp(Cmp::Eq, a, b) if *func.ty(*a) == Ty::I64 => _ = known.equal.insert(out, (*a, *b)),
            Op::Cmp(Cmp::Ge, a, b) if known.ints.get(b) == Some(&0) => _ = known.natural.insert(out, *a),
            Op::Dim(a, axis) => {
                known.sizes.insert(out);
                if *axis == 0 {
                    known.set_extent(*a, out);
                }
            }
            Op::Slice { .. } | Op::Reverse(_) | Op::Rotate { .. } if !is_vector(func, out) => {
                known.array(out, &stmt.op);
            }
            Op::Replicate { .. } | Op::Slice { .. } | Op::Cumsum { .. } | Op::Reverse(_) | Op::Rotate { .. }
                if is_vector(func, out) =>
            {
                known.vector(out, &stmt.op);
            }
            Op::Reshape { a, to, .. } | Op::Broadcast { a, shape: to } => known.reshaped(out, *a, *to),
            Op::IndexSet { acc, .. } if is_vector(func, *acc) && known.there.contains(acc) => known.like(out, *acc),
            Op::SliceAdd { acc, .. } | Op::IndexAdd { acc, .. } | Op::GatherAdd { acc, .. } => {
                known.added_to(out, *acc, is_vector(func, *acc));
            }
            Op::Un(Un::Neg, n) => {
                _ = known.ints.get(n).copied().and_then(i64::checked_neg).map(|n| known.ints.insert(out, n));
            }
            Op::Loop(l) => known.looped(func, stmt, l),
            Op::Soac(c) if c.kind != adl_ir::SoacKind::Reduce => {
                stmt.outs.iter().for_each(|o| known.like(*o, c.arrays[0]));
                self.places(c, &stmt.outs);
            }
            _ => {}
        }
    }

    /// Uses an assertion: two equal Ints are unified from here on, and an Int that is asserted not to be negative
    /// counts as an extent.
    fn asserted(&mut self, args: &[Var]) {
        let Some(c) = args.first() else { return };
        self.known.holds.insert(*c);
        self.known.sizes.extend(self.known.natural.get(c).copied());
        if let Some((a, b)) = self.known.equal.get(c).copied().filter(|(a, b)| a != b) {
            self.unite(a, b);
        }
    }

    /// Unifies two extents from here on.
    fn unite(&mut self, n: Var, m: Var) {
        self.known.extents.values_mut().filter(|k| **k == m).for_each(|k| *k = n);
        self.same(m, n);
    }

    /// Whether the arrays that an operation makes are materialised.
    fn gives_arrays(&self, op: &Op) -> bool {
        let there = |v: Var| !is_array(self.f, v) || self.known.there.contains(&v);
        match op {
            Op::Zero(_) | Op::Destruct { .. } | Op::Construct { .. } | Op::If(..) | Op::Switch(..) => false,
            // Adding to a symbolic zero without adding a box leaves it a symbolic zero.
            Op::SliceAdd { acc, v, shape, .. }
            | Op::IndexAdd { acc, v, shape, .. }
            | Op::GatherAdd { acc, v, shape, .. } => {
                (shape.is_some() && of_numbers(self.f, *acc) || there(*acc)) && there(*v)
            }
            Op::Call { f, args, .. } => args.iter().all(|v| there(*v)) && makes_no_symbolic_zero(self.p, *f, 4),
            Op::Loop(l) => {
                l.init.is_empty()
                    && (l.body.results.iter().all(|v| !is_array(self.f, *v)) || self.clean(&l.body, &there))
            }
            op => {
                let mut fine = true;
                op.each_operand(&mut |v| fine &= there(v));
                fine
            }
        }
    }

    /// Whether a block neither reads nor makes symbolic zeros.
    fn clean(&self, b: &Block, there: &dyn Fn(Var) -> bool) -> bool {
        let mut inside = Vec::new();
        adl_ir::rewrite::bound(b, &mut inside);
        let inside: HashSet<Var> = inside.into_iter().collect();
        let mut fine = no_zeros(self.p, b, 4);
        fuse::reads_of(b).into_iter().for_each(|v| fine &= inside.contains(&v) || there(v));
        fine
    }

    /// Processes the blocks of a statement that are not kernels.
    fn inside(&mut self, stmt: &mut Stmt) {
        if let Op::Loop(l) = &mut stmt.op {
            if !l.init.is_empty() && l.lin_init.is_empty() {
                self.iteration(l, &stmt.outs);
            }
            return;
        }
        if !matches!(stmt.op, Op::If(..) | Op::Switch(..)) {
            return;
        }
        let before = self.known.clone();
        // Facts that hold for the results of all arms.
        let (mut there, mut unsigned, mut long) =
            (vec![true; stmt.outs.len()], vec![true; stmt.outs.len()], vec![None; stmt.outs.len()]);
        for b in stmt.op.blocks_mut() {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(b));
            for (k, v) in b.results.iter().enumerate().take(stmt.outs.len()) {
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
        for (k, v) in stmt.outs.iter().enumerate() {
            if there[k] && is_array(self.f, *v) {
                self.known.there.insert(*v);
                long[k].iter().flatten().min().into_iter().for_each(|a| self.known.like(*v, *a));
            }
            if unsigned[k] {
                self.known.unsigned.insert(*v);
            }
        }
    }

    /// Processes the body of a loop with state, whose iterations the host starts. A carried array is materialised
    /// if it is so initially and after every iteration.
    fn iteration(&mut self, ir_loop: &mut Loop, outs: &[Var]) {
        let width = ir_loop.init.len();
        let mut carried: Vec<bool> = ir_loop.init.iter().map(|v| self.known.there.contains(v)).collect();
        loop {
            let (before, changed) = (self.known.clone(), self.changed);
            let mut body = ir_loop.body.clone();
            let given = carried.iter().copied().chain(ir_loop.xs.iter().map(|v| before.there.contains(v)));
            self.known.there.extend(
                body.params[1..].iter().zip(given).filter(|(v, g)| *g && is_array(self.f, **v)).map(|(v, _)| *v),
            );
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(&mut body));
            let kept: Vec<bool> =
                carried.iter().zip(&body.results).map(|(c, v)| *c && self.known.there.contains(v)).collect();
            self.known = before;
            if kept == carried {
                ir_loop.body = body;
                break;
            }
            (carried, self.changed) = (kept, changed);
        }
        self.known.there.extend(outs.iter().take(width).zip(&carried).filter(|(_, c)| **c).map(|(v, _)| *v));
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

    /// Emits the common length of an operation's vectors, with assertions that the lengths are equal.
    fn common(&mut self, vectors: &[Var], span: Span, out: &mut Vec<Stmt>) -> Option<Var> {
        let mut first = None;
        for v in vectors {
            let extent = self.extent(*v, span, out);
            let Some(expected) = first else {
                first = Some(extent);
                continue;
            };
            if expected != extent {
                let mut added = Added::new(self.f, span);
                let equal = added.cmp(Cmp::Eq, expected, extent);
                added.assert(equal, "vectors of different lengths");
                out.append(&mut added.stmts);
                self.unite(expected, extent);
            }
        }
        first
    }

    /// Replaces an operation on constant vectors by one on the constants.
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

    /// Emits a loop that applies an operation to each element of vectors, and to scalars.
    fn each(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        let (mut operands, mut names) = (Vec::new(), HashMap::new());
        stmt.op.each_operand(&mut |v| operands.push(v));
        operands.retain(|v| is_vector(self.f, *v));
        operands.dedup();
        let Some(extent) = self.common(&operands, stmt.span, out) else { return out.push(stmt.clone()) };
        self.changed = true;
        let result = stmt.outs[0];
        let one = self.f.fresh(self.f.ty(result).elem(), false);
        let mut op = stmt.op.clone();
        if operands.iter().all(|v| self.known.filled.contains_key(v)) {
            names.extend(operands.iter().map(|v| (*v, self.known.filled[v])));
            fuse::rename_op(&mut op, &names);
            return self.all_alike((result, one), op, extent, stmt.span, out);
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
        let body = Block {
            params,
            stmts: vec![Stmt { outs: vec![one], lin_outs: Vec::new(), op, span: stmt.span }],
            results: vec![one],
            ..Block::default()
        };
        let ir_loop = Loop { xs, outs: vec![Out::Collect], ..Loop::new(Trip::Count(extent), body) };
        let trip = self.f.fresh(Ty::I64, false);
        let made =
            Stmt { outs: vec![result, trip], lin_outs: Vec::new(), op: Op::Loop(Box::new(ir_loop)), span: stmt.span };
        self.learn(&made);
        out.push(made);
    }
}

/// Whether a function called without symbolic zeros makes none itself.
fn makes_no_symbolic_zero(p: &Program, f: FnId, depth: u32) -> bool {
    no_zeros(p, &p.func(f).body, depth)
}

fn no_zeros(p: &Program, b: &Block, depth: u32) -> bool {
    b.stmts.iter().all(|s| match &s.op {
        Op::Zero(t) => t.is_flat(),
        Op::Destruct { .. } => false,
        Op::Call { f, .. } => depth > 0 && makes_no_symbolic_zero(p, *f, depth - 1),
        op => op.blocks().into_iter().all(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || no_zeros(p, b, depth))),
    })
}
