//! Scalar replacement of small arrays: each element of a Float array whose length is known and at most `MOST`
//! gets a variable of its own. Arithmetic on such arrays becomes arithmetic on elements, branches and loops return
//! and carry elements, and short loops are unrolled. If the array itself is used, it is assembled from the
//! elements; otherwise that code is dead. So vectors of three components live in registers, and so do their
//! derivatives.
//!
//! A length is known for array literals, and if an assertion compares it with a literal, as for sizes in type
//! signatures. An array with an asserted length is materialised, so the pass is valid in functions with symbolic
//! zeros. The order of additions is that of `interp::ops::kernels`.
//!
//! Small matrices are taken apart as well (`matrices`), and so are small arrays that reductions and scans
//! accumulate (`cubes`).
//!
//! The amount of arithmetic does not grow. Reads of elements and the assembly of arrays are added, in proportion to
//! the number of elements.

mod control;
mod cubes;
mod expand;
mod facts;
mod matrices;
mod peel;
mod updates;

use crate::limits::scalar_replacement::{GROWTH, GROWTH_ON_DEVICE, MOST, MOST_ON_DEVICE};
use adl_ir::{Block, Cmp, Function, Lit, Op, Stmt, Ty, Var};
use adl_prim::{ArrayFn, Bin, GeneralFn, Prim};
use facts::{BlockFacts, ElemSource, IntFacts, KnownExtent};
use std::collections::HashSet;

/// Treatment of sums of small arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sums {
    /// Sums stay one operation: used before J, so that reports name the rules of reductions. Short sums that can
    /// become contractions stay loops, and so do those in their derivatives.
    Kept,
    /// Sums are expanded, and short sums that can become contractions stay loops.
    BeforeContractions,
    /// Sums are expanded.
    Written,
}

/// Replaces small arrays by scalars. Returns whether there were any.
pub fn scalars(f: &mut Function, sums: Sums) -> bool {
    apart(f, sums, LoopStart::Iteration)
}

/// The same for a device: sums are expanded, and symbolic and signed zeros need not be preserved.
pub fn for_device(f: &mut Function) -> bool {
    apart(f, Sums::Written, LoopStart::Zeros)
}

/// How a loop that starts with symbolic zeros starts to carry scalars.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LoopStart {
    /// With the results of the first iteration, which is peeled.
    Iteration,
    /// With zeros.
    Zeros,
}

fn apart(func: &mut Function, sums: Sums, begin: LoopStart) -> bool {
    let contracted = if sums == Sums::Written { HashSet::new() } else { crate::contract::sums_of_contractions(func) };
    let mut body = std::mem::take(&mut func.body);
    let mut updated_in_place = HashSet::new();
    changing(&body, &mut updated_in_place);
    let mut read_vars = HashSet::new();
    reads(&body, &mut read_vars);
    let (most, left) = if begin == LoopStart::Zeros { (MOST_ON_DEVICE, GROWTH_ON_DEVICE) } else { (MOST, GROWTH) };
    let mut scalars = Scalars {
        f: func,
        sums,
        begin,
        most,
        updated_in_place,
        read_vars,
        contracted,
        layers: vec![BlockFacts::default()],
        left,
        guesses: 0,
        changed: false,
    };
    scalars.block(&mut body);
    let changed = scalars.changed;
    func.body = body;
    changed
}

/// Adds the variables that a block reads to `out`.
fn reads(b: &Block, out: &mut HashSet<Var>) {
    out.extend(b.results.iter().chain(&b.lin_results));
    for s in &b.stmts {
        s.op.each_operand(&mut |v| _ = out.insert(v));
        s.op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || reads(b, out)));
    }
}

/// Arrays that may be updated in place, in this function or in one that they are passed to. Their reads are not
/// moved to a later position.
pub(crate) fn changing(b: &Block, out: &mut HashSet<Var>) {
    for stmt in &b.stmts {
        match &stmt.op {
            Op::IndexAdd { acc, .. }
            | Op::IndexSet { acc, .. }
            | Op::SliceAdd { acc, .. }
            | Op::GatherAdd { acc, .. } => _ = out.insert(*acc),
            Op::Loop(l) => out.extend(l.init.iter().chain(&l.lin_init)),
            Op::ReduceByIndex { dest, .. } => out.extend(dest),
            Op::Call { args, lin_args, .. } => out.extend(args.iter().chain(lin_args)),
            _ => {}
        }
        for part in stmt.op.blocks() {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || changing(part, out));
        }
    }
}

/// An extent as the length of a small array, if it is small enough.
fn small(n: i64) -> Option<usize> {
    usize::try_from(n).ok().filter(|n| (1..=MOST).contains(n))
}

struct Scalars<'a> {
    f: &'a mut Function,
    sums: Sums,
    begin: LoopStart,
    /// Largest number of elements of a small matrix.
    most: usize,
    /// Arrays that may be updated in place.
    updated_in_place: HashSet<Var>,
    /// Variables that are read.
    read_vars: HashSet<Var>,
    /// Sums over an index that stay loops.
    contracted: HashSet<Var>,
    /// Layers of the open blocks, innermost last.
    layers: Vec<BlockFacts>,
    /// Number of statements that may still be added.
    left: usize,
    /// Number of enclosing loops for which sizes were assumed.
    guesses: usize,
    changed: bool,
}

impl Scalars<'_> {
    fn find<T>(&self, f: impl Fn(&BlockFacts) -> Option<T>) -> Option<T> {
        self.layers.iter().rev().find_map(f)
    }

    /// Records a fact in the current block.
    fn note(&mut self, f: impl FnOnce(&mut BlockFacts)) {
        if let Some(l) = self.layers.last_mut() {
            f(l);
        }
    }

    fn name(&self, v: Var) -> Var {
        self.find(|l| l.names.get(&v).copied()).unwrap_or(v)
    }

    fn len(&self, v: Var) -> Option<usize> {
        self.find(|l| l.lens.get(&v).copied())
    }

    fn literal(&self, v: Var) -> Option<i64> {
        self.find(|l| l.ints.values.get(&v).copied())
    }

    /// Whether a variable is a non-linear vector of Floats.
    fn is_vector(&self, v: Var) -> bool {
        matches!(self.f.ty(v), Ty::Array(e, 1) if self.is_float(e)) && !self.f.linear(v)
    }

    fn is_matrix(&self, v: Var) -> bool {
        matches!(self.f.ty(v), Ty::Array(e, 2) if self.is_float(e)) && !self.f.linear(v)
    }

    fn is_number(&self, v: Var) -> bool {
        self.is_float(self.f.ty(v)) && !self.f.linear(v)
    }

    /// `f32` is only used on a device, where the order of sums is free.
    fn is_float(&self, t: &Ty) -> bool {
        *t == Ty::F64 || *t == Ty::F32 && self.begin == LoopStart::Zeros
    }

    /// Emits a statement whose result is a scalar with the element type of `of`.
    fn like(&mut self, op: Op, of: Var, s: &Stmt, out: &mut Vec<Stmt>) -> Var {
        let ty = self.f.ty(of).scalar().clone();
        self.one(op, ty, s, out)
    }

    /// A literal of that element type.
    fn real(&mut self, x: f64, of: Var, s: &Stmt, out: &mut Vec<Stmt>) -> Var {
        let lit = crate::real(self.f.ty(of).scalar(), x);
        self.like(Op::Lit(lit), of, s, out)
    }

    /// Emits a statement with one result.
    fn one(&mut self, op: Op, ty: Ty, like: &Stmt, out: &mut Vec<Stmt>) -> Var {
        let v = self.f.fresh(ty, false);
        out.push(Stmt { op, outs: vec![v], lin_outs: Vec::new(), span: like.span });
        self.left = self.left.saturating_sub(1);
        v
    }

    /// A variable bound to an Int literal.
    fn int(&mut self, n: i64, like: &Stmt, out: &mut Vec<Stmt>) -> Var {
        if let Some(v) = self.find(|l| l.ints.literals.get(&n).copied()) {
            return v;
        }
        let v = self.one(Op::Lit(Lit::I64(n)), Ty::I64, like, out);
        self.note(|l| {
            l.ints.literals.insert(n, v);
            l.ints.values.insert(v, n);
        });
        v
    }

    /// Follows an element of an array of known length to the array of which it was built.
    fn place(&self, a: Var, k: usize) -> ElemSource {
        let mut at = (a, k);
        loop {
            if let Some(v) = self.find(|l| l.read.get(&at).copied()) {
                return ElemSource::Is(v);
            }
            match self.find(|l| l.elems.get(&at.0).map(|e| e[at.1])) {
                Some(ElemSource::Is(v)) => return ElemSource::Is(self.name(v)),
                Some(ElemSource::Of(b, j)) => at = (b, j),
                None => return ElemSource::Of(at.0, at.1),
            }
        }
    }

    /// An element of an array of known length; reads it if necessary.
    fn element(&mut self, a: Var, k: usize, like: &Stmt, out: &mut Vec<Stmt>) -> Var {
        match self.place(a, k) {
            ElemSource::Is(v) => v,
            ElemSource::Of(a, k) => {
                let at = self.int(k as i64, like, out);
                let op = match self.row(a) {
                    Some((m, i)) => Op::Index { a: m, at: vec![i, at], shape: None },
                    None => Op::Index { a, at: vec![at], shape: None },
                };
                let v = self.like(op, a, like, out);
                self.note(|l| _ = l.read.insert((a, k), v));
                v
            }
        }
    }

    fn elements(&mut self, a: Var, n: usize, like: &Stmt, out: &mut Vec<Stmt>) -> Vec<Var> {
        (0..n).map(|k| self.element(a, k, like, out)).collect()
    }

    /// The size of an identity matrix.
    fn identity(&self, m: Var) -> Option<usize> {
        self.find(|l| l.identities.get(&m).copied()).filter(|_| !self.updated_in_place.contains(&m))
    }

    /// The matrix of which a vector is a row, and the index.
    fn row(&self, v: Var) -> Option<(Var, Var)> {
        self.find(|l| l.rows.get(&v).copied())
    }

    /// Records the elements of an array.
    fn consists(&mut self, a: Var, elems: Vec<ElemSource>) {
        self.note(|l| {
            l.lens.insert(a, elems.len());
            l.elems.insert(a, elems);
        });
    }

    /// Binds an array to scalars, and emits its assembly for other uses.
    fn bind(&mut self, a: Var, elems: Vec<Var>, like: &Stmt, out: &mut Vec<Stmt>) {
        self.consists(a, elems.iter().map(|v| ElemSource::Is(*v)).collect());
        out.push(Stmt {
            op: Op::ArrayLit { elems, shape: None },
            outs: vec![a],
            lin_outs: Vec::new(),
            span: like.span,
        });
        self.left = self.left.saturating_sub(1);
        self.changed = true;
    }

    fn block(&mut self, b: &mut Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut out = Vec::with_capacity(b.stmts.len());
            self.promise(b);
            self.stmts(std::mem::take(&mut b.stmts), &mut out);
            b.stmts = out;
            for r in b.results.iter_mut().chain(&mut b.lin_results) {
                *r = self.said(self.name(*r));
            }
        });
    }

    /// The literal that an assertion equates with an Int.
    fn said(&self, v: Var) -> Var {
        self.find(|l| l.ints.asserted.get(&v).copied()).unwrap_or(v)
    }

    /// Collects the lengths that the assertions of a block establish.
    fn promise(&mut self, b: &Block) {
        let mut own = IntFacts::default();
        for s in &b.stmts {
            match (&s.op, &s.outs[..]) {
                (Op::Lit(Lit::I64(n)), [v]) => _ = own.values.insert(*v, *n),
                (Op::Dim(a, axis), [v]) => own.extent_of.extend(self.axis_extent(*a, *axis).map(|e| (*v, e))),
                (Op::Cmp(Cmp::Eq, x, y), [v]) => _ = own.equal.insert(*v, (*x, *y)),
                (Op::Prim(Prim::General(GeneralFn::Assert), args), _) => {
                    // A loop-invariant comparison may stand outside of the loop.
                    let Some((x, y)) = args.first().and_then(|c| {
                        own.equal.get(c).copied().or_else(|| self.find(|l| l.ints.equal.get(c).copied()))
                    }) else {
                        continue;
                    };
                    for (extent, y) in [(x, y), (y, x)] {
                        let value = own.values.get(&y).copied().or_else(|| self.literal(y)).and_then(small);
                        let of = own.extent_of.get(&extent).copied();
                        if let (Some(n), Some(e)) = (value, of.or_else(|| self.extent_of(extent))) {
                            self.note(|l| _ = l.extents.insert(e, n));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The extent of an array of Floats along an axis, if its value can be used.
    fn axis_extent(&self, a: Var, axis: u32) -> Option<KnownExtent> {
        match axis {
            0 if self.is_vector(a) => Some(KnownExtent::Length(a)),
            0 if self.is_matrix(a) => Some(KnownExtent::RowCount(a)),
            1 if self.is_matrix(a) => Some(KnownExtent::RowLength(a)),
            1 | 2 if self.is_cube(a) => Some(KnownExtent::Side(a, axis)),
            _ => None,
        }
    }

    /// The extent that an Int is.
    fn extent_of(&self, v: Var) -> Option<KnownExtent> {
        self.find(|l| l.ints.extent_of.get(&v).copied())
    }

    /// The value of an extent.
    fn extent_value(&self, extent: KnownExtent) -> Option<usize> {
        self.find(|l| l.extents.get(&extent).copied())
    }

    /// Processes a nested block, and returns the facts at its end.
    fn inner(&mut self, b: &mut Block) -> BlockFacts {
        self.layers.push(BlockFacts::default());
        self.block(b);
        self.layers.pop().unwrap_or_default()
    }

    fn stmts(&mut self, from: Vec<Stmt>, out: &mut Vec<Stmt>) {
        for mut s in from {
            // The assertion itself has to compare the extent, not the literal with itself.
            let compared = matches!(s.op, Op::Cmp(..));
            s.op.map_operands(&mut |v| if compared { self.name(v) } else { self.said(self.name(v)) });
            self.stmt(s, out);
        }
    }

    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        match &mut stmt.op {
            Op::If(..) | Op::Switch(..) => self.branches(stmt, out),
            Op::Loop(_) => self.looped(stmt, out),
            Op::Soac(x) => {
                let x = x.clone();
                if !self.accumulated(&stmt, &x, out) {
                    stmt.op.blocks_mut().into_iter().for_each(|b| _ = self.inner(b));
                    out.push(stmt);
                }
            }
            Op::ReduceByIndex { .. } => {
                stmt.op.blocks_mut().into_iter().for_each(|b| _ = self.inner(b));
                out.push(stmt);
            }
            _ => {
                if !self.expanded(&stmt, out) {
                    self.learn(&mut stmt, out);
                    out.push(stmt);
                }
            }
        }
    }

    /// Records the facts of a statement that stays.
    fn learn(&mut self, stmt: &mut Stmt, out: &mut Vec<Stmt>) {
        let known = match &stmt.op {
            Op::Dim(a, axis @ (0 | 1)) if self.is_matrix(*a) => self.side(*a, *axis).or_else(|| self.identity(*a)),
            Op::Dim(a, 0) => self.len(*a),
            _ => None,
        };
        if let Some(n) = known {
            stmt.op = Op::Lit(Lit::I64(n as i64));
        }
        // If the assertion fails, the run has no results, so the length may be used before it.
        if let (Op::Dim(a, 0), [v]) = (&stmt.op, &stmt.outs[..])
            && let Some(n) = self.extent_value(KnownExtent::Length(*a))
        {
            let (v, n) = (*v, self.int(n as i64, stmt, out));
            self.note(|l| _ = l.ints.asserted.insert(v, n));
        }
        if let (Op::Shape(a), [_]) = (&stmt.op, &stmt.outs[..])
            && let Some(n) = self.find(|l| l.lens.get(a).or(l.extents.get(&KnownExtent::Length(*a))).copied())
        {
            let n = self.int(n as i64, stmt, out);
            stmt.op = Op::ArrayLit { elems: vec![n], shape: None };
        }
        self.learn_matrix_arrays(stmt);
        self.remember(stmt);
    }

    /// Records the facts about a statement's result.
    fn remember(&mut self, s: &Stmt) {
        match (&s.op, &s.outs[..]) {
            (Op::ArrayLit { elems, .. }, [v]) => {
                if let Some(values) = elems.iter().map(|n| self.literal(*n)).collect::<Option<Vec<i64>>>() {
                    self.note(|l| _ = l.ints.arrays.insert(*v, values));
                }
                if let Some(n) =
                    elems.first().filter(|_| elems.len() == 1).and_then(|n| self.literal(*n)).and_then(small)
                {
                    self.note(|l| _ = l.shapes.insert(*v, n));
                }
            }
            // Rows of such a matrix have the same length.
            (Op::Slice { a, .. } | Op::Gather { a, .. } | Op::Reverse(a) | Op::Rotate { a, .. }, [v])
                if self.is_matrix(*a) && self.is_matrix(*v) =>
            {
                if let Some(n) = self.extent_value(KnownExtent::RowLength(*a)) {
                    self.note(|l| _ = l.extents.insert(KnownExtent::RowLength(*v), n));
                }
            }
            (Op::Prim(Prim::Array(ArrayFn::Eye), args), [v]) => {
                if let Some(n) = args.first().and_then(|n| self.literal(*n)).and_then(small) {
                    self.note(|l| _ = l.identities.insert(*v, n));
                }
            }
            (Op::Zero(_), [v]) => self.learn_symbolic_zero(*v),
            (Op::Lit(Lit::I64(n)), [v]) => self.note(|l| {
                l.ints.values.insert(*v, *n);
                l.ints.literals.entry(*n).or_insert(*v);
            }),
            (Op::Bin(op, a, b), [v]) if *self.f.ty(*v).scalar() == Ty::I64 => self.remember_ints(*op, *a, *b, *v),
            (Op::Prim(Prim::Array(ArrayFn::Iota), args), [v]) => {
                if let Some(n) = args.first().and_then(|n| self.literal(*n)).and_then(small) {
                    self.note(|l| _ = l.ints.arrays.insert(*v, (0..n as i64).collect()));
                }
            }
            (Op::Select(_, some, none), [v]) if self.literal(*none) == Some(0) => {
                let n = self.literal(*some);
                self.note(|l| l.ints.unless_empty.extend(n.map(|n| (*v, n))));
            }
            (Op::Dim(a, axis), [v]) => {
                let extent = self.axis_extent(*a, *axis);
                self.note(|l| l.ints.extent_of.extend(extent.map(|e| (*v, e))));
            }
            (Op::Cmp(Cmp::Eq, a, b), [v]) if *self.f.ty(*a) == Ty::I64 => {
                self.note(|l| _ = l.ints.equal.insert(*v, (*a, *b)));
            }
            (Op::Prim(Prim::General(GeneralFn::Assert), args), _) => {
                if let Some((a, b)) = args.first().and_then(|c| self.find(|l| l.ints.equal.get(c).copied())) {
                    self.fact(a, b);
                    self.fact(b, a);
                }
            }
            _ => {}
        }
    }

    /// Records the value of arithmetic on literal Ints, or on small arrays of them.
    fn remember_ints(&mut self, op: Bin, a: Var, b: Var, var: Var) {
        let apply = |x: i64, y: i64| match op {
            Bin::Add => x.checked_add(y),
            Bin::Sub => x.checked_sub(y),
            Bin::Mul => x.checked_mul(y),
            Bin::Min => Some(x.min(y)),
            Bin::Max => Some(x.max(y)),
            _ => None,
        };
        let known = |v: Var| self.literal(v).map(|n| vec![n]).or_else(|| self.int_list(v));
        let (Some(x), Some(y)) = (known(a), known(b)) else { return };
        let n = x.len().max(y.len());
        let at = |list: &[i64], k: usize| list.get(if list.len() == 1 { 0 } else { k }).copied();
        let Some(values) = (0..n).map(|k| apply(at(&x, k)?, at(&y, k)?)).collect::<Option<Vec<i64>>>() else { return };
        let number = self.f.ty(var).rank() == 0;
        self.note(|l| {
            if number {
                l.ints.values.extend(values.first().map(|n| (var, *n)));
            } else {
                l.ints.arrays.insert(var, values);
            }
        });
    }

    /// The elements of a small array of literal Ints.
    fn int_list(&self, v: Var) -> Option<Vec<i64>> {
        self.find(|l| l.ints.arrays.get(&v).cloned())
    }

    /// Records that the Ints `a` and `b` are equal.
    fn fact(&mut self, a: Var, b: Var) {
        let (None, Some(n)) = (self.literal(a), self.literal(b)) else { return };
        self.note(|l| {
            l.ints.values.insert(a, n);
            l.names.insert(a, b);
        });
        if let (Some(KnownExtent::Length(array)), Some(n)) = (self.extent_of(a), small(n)) {
            self.note(|l| _ = l.lens.insert(array, n));
        }
    }
}
