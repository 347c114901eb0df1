//! Forward propagation of Ints and shapes from the arguments of a call, as far as it is needed to distinguish
//! large arrays from short rows.

use crate::ir::fuse_elementwise;
use adl_ir::shape_rule::Shapes;
use adl_ir::{Block, Function, Lit, Loop, Op, Out, Soac, SoacKind, Stmt, Var};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Extents; `None` if unknown.
pub(super) type KnownExtents = SmallVec<[Option<i64>; 3]>;

/// Known values of variables.
#[derive(Default)]
pub(super) struct Sizes {
    ints: HashMap<Var, i64>,
    shapes: HashMap<Var, KnownExtents>,
    /// Arrays of Ints that hold shapes.
    lists: HashMap<Var, KnownExtents>,
}

impl Shapes for Sizes {
    type Extent = Option<i64>;

    fn shape(&self, v: Var) -> Option<Vec<Option<i64>>> {
        self.shapes.get(&v).map(|shape| shape.to_vec())
    }
    fn int(&self, v: Var) -> Option<i64> {
        Sizes::int(self, v)
    }
    fn constant(&self, n: usize) -> Option<i64> {
        i64::try_from(n).ok()
    }
    fn difference(&self, hi: Var, lo: Var) -> Option<i64> {
        self.int(hi)?.checked_sub(self.int(lo)?)
    }
    fn sum(&self, a: Option<i64>, b: Option<i64>) -> Option<i64> {
        a?.checked_add(b?)
    }
    fn elements(&self, list: Var) -> Option<Vec<Option<i64>>> {
        self.lists.get(&list).map(|list| list.to_vec())
    }
    fn widest(&self, operands: &[Var]) -> Option<Vec<Option<i64>>> {
        operands.iter().find_map(|v| self.shape(*v))
    }
}

impl Sizes {
    /// The value of an Int.
    pub fn int(&self, v: Var) -> Option<i64> {
        self.ints.get(&v).copied()
    }

    /// The length of an array.
    pub fn len(&self, a: Var) -> Option<i64> {
        self.shapes.get(&a)?.first().copied().flatten()
    }

    /// The number of elements of an array.
    pub fn count(&self, a: Var) -> Option<u64> {
        let n = self.shapes.get(&a)?.iter().try_fold(1i64, |n, k| n.checked_mul((*k)?))?;
        u64::try_from(n).ok()
    }

    pub fn set_int(&mut self, v: Var, n: i64) {
        self.ints.insert(v, n);
    }

    pub fn set_shape(&mut self, v: Var, shape: KnownExtents) {
        self.shapes.insert(v, shape);
    }

    /// Copies facts about variables of a caller to variables of a callee.
    pub fn given<'a, 'b>(&mut self, there: &Sizes, names: impl Iterator<Item = (&'a Var, &'b Var)>) {
        for (a, b) in names {
            self.ints.extend(there.ints.get(a).map(|n| (*b, *n)));
            self.shapes.extend(there.shapes.get(a).map(|s| (*b, s.clone())));
            self.lists.extend(there.lists.get(a).map(|s| (*b, s.clone())));
        }
    }

    /// A hash of all facts.
    pub fn key(&self) -> u64 {
        fn each<T: Hash>(of: &HashMap<Var, T>) -> u64 {
            of.iter().fold(0, |all, x| {
                let mut h = DefaultHasher::new();
                x.hash(&mut h);
                all ^ h.finish()
            })
        }
        let mut h = DefaultHasher::new();
        (each(&self.ints), each(&self.shapes), each(&self.lists)).hash(&mut h);
        h.finish()
    }

    /// Whether a statement works on arrays of Floats that are known to be small.
    pub fn small(&self, f: &Function, s: &Stmt) -> bool {
        let mut small = false;
        s.op.each_operand(&mut |v| small |= fuse_elementwise::is_array(f, v) && self.is_small(v));
        small || s.outs.iter().chain(&s.lin_outs).any(|v| self.is_small(*v))
    }

    fn is_small(&self, v: Var) -> bool {
        let count =
            self.shapes.get(&v).filter(|s| !s.is_empty()).and_then(|s| s.iter().copied().product::<Option<i64>>());
        count.is_some_and(|n| n < fuse_elementwise::LARGE as i64)
    }

    /// Propagates facts through a statement without nested blocks.
    pub fn learn(&mut self, func: &Function, stmt: &Stmt) {
        let outs = stmt.outs.first().or(stmt.lin_outs.first());
        let Some(out) = outs.copied() else { return };
        if let Some(n) = self.number(&stmt.op) {
            self.ints.insert(out, n);
        }
        if let Op::ArrayLit { elems, .. } = &stmt.op {
            let list = elems.iter().map(|v| self.int(*v)).collect();
            self.lists.insert(out, list);
        }
        if let Op::Shape(a) = &stmt.op {
            self.lists.extend(self.shapes.get(a).cloned().map(|shape| (out, shape)));
        }
        // Arrays are made of numbers, so their shapes count as known.
        for v in stmt.outs.iter().chain(&stmt.lin_outs).filter(|v| func.ty(**v).is_flat()) {
            self.shapes.insert(*v, KnownExtents::new());
        }
        if func.ty(out).rank() > 0
            && let Some(shape) = stmt.op.shape_of_result(self).filter(|s| s.len() == func.ty(out).rank() as usize)
        {
            for v in stmt.outs.iter().chain(&stmt.lin_outs) {
                self.shapes.insert(*v, KnownExtents::from(&shape[..]));
            }
        }
    }

    fn number(&self, op: &Op) -> Option<i64> {
        match op {
            Op::Lit(Lit::I64(n)) => Some(*n),
            Op::Dim(a, k) => self.shapes.get(a)?.get(*k as usize).copied().flatten(),
            Op::Bin(op, a, b) => crate::ops::arith::int_bin(*op, self.int(*a)?, self.int(*b)?).ok(),
            _ => None,
        }
    }

    fn copy(&mut self, from: &[Var], to: &[Var], skip: usize) {
        for (a, b) in from.iter().zip(to) {
            if let Some(s) = self.shapes.get(a).and_then(|s| s.get(skip..)).map(KnownExtents::from) {
                self.shapes.insert(*b, s);
            }
        }
    }

    /// Propagates facts into the body of a loop.
    pub fn enter(&mut self, l: &Loop) {
        let p = l.body.params.get(1..).unwrap_or_default();
        self.copy(&l.init, p, 0);
        self.copy(&l.xs, p.get(l.init.len()..).unwrap_or_default(), 1);
        self.copy(&l.lin_init, &l.body.lin_params, 0);
        self.copy(&l.lin_xs, l.body.lin_params.get(l.lin_init.len()..).unwrap_or_default(), 1);
    }

    /// Propagates facts out of a loop, after its body was analysed.
    pub fn leave(&mut self, l: &Loop, s: &Stmt, trip: Option<i64>) {
        self.results(&l.init, &l.outs, &l.body.results, &s.outs, trip);
        self.results(&l.lin_init, &l.lin_outs, &l.body.lin_results, &s.lin_outs, trip);
        if let (Some(n), Some(v)) = (trip, s.outs.last()) {
            self.ints.insert(*v, n);
        }
    }

    fn results(&mut self, init: &[Var], kinds: &[Out], made: &[Var], outs: &[Var], trip: Option<i64>) {
        self.copy(init, outs, 0);
        for ((kind, r), v) in kinds.iter().zip(made.iter().skip(init.len())).zip(outs.iter().skip(init.len())) {
            let row = self.shapes.get(r).cloned();
            match kind {
                Out::Collect => {
                    drop(self.shapes.insert(*v, [trip].into_iter().chain(row.unwrap_or_default()).collect()));
                }
                Out::Sum => self.shapes.extend(row.map(|s| (*v, s))),
                Out::Boxed => {}
            }
        }
    }

    /// Propagates facts into the operator of a reduction or scan.
    pub fn operator(&mut self, x: &Soac) {
        self.copy(&x.neutral, &x.op.params, 0);
        self.copy(&x.arrays, x.op.params.get(x.neutral.len()..).unwrap_or_default(), 1);
    }

    /// Propagates facts through a histogram: into its operator, and from its destination to its results.
    pub fn histogram(&mut self, (dest, values): (&[Var], &[Var]), op: &Block, s: &Stmt) {
        self.copy(dest, &op.params, 1);
        self.copy(values, op.params.get(dest.len()..).unwrap_or_default(), 1);
        self.copy(dest, &s.outs, 0);
    }

    /// Propagates facts out of a reduction or scan.
    pub fn reduced(&mut self, x: &Soac, s: &Stmt) {
        match x.kind {
            SoacKind::Reduce => self.copy(&x.neutral, &s.outs, 0),
            SoacKind::Scan | SoacKind::ScanExclusive => self.copy(&x.arrays, &s.outs, 0),
        }
    }
}
