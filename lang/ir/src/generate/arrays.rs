//! Arrays of reals with known shapes.

use super::{LARGEST, ProgramGenerator, ScopedVar, VarKind};
use crate::func::Var;
use crate::op::{Lit, Op};
use adl_prim::ReductionFn;

impl ProgramGenerator {
    /// A literal array of Ints.
    pub(super) fn ints(&mut self, xs: &[i64]) -> Var {
        let elems: Vec<Var> = xs.iter().map(|n| self.b.int(*n)).collect();
        self.b.one(Op::ArrayLit { elems, shape: None }, crate::ty::Ty::shape())
    }

    /// An array with at least one element.
    fn array(&mut self) -> (ScopedVar, Vec<usize>) {
        let some = |k: &VarKind| matches!(k, VarKind::Real(s) if !s.is_empty() && s.iter().all(|n| *n > 0));
        let known = match self.pick(some) {
            Some(k) if !self.rng.once_in(10) => k,
            _ => {
                let n = self.rng.between(1, 4);
                self.make(&VarKind::Real(vec![n]))
            }
        };
        let shape = match &known.kind {
            VarKind::Real(s) => s.clone(),
            _ => Vec::new(),
        };
        (known, shape)
    }

    /// Another array of the same shape, or a scalar.
    fn partner(&mut self, shape: &[usize]) -> ScopedVar {
        let same = self.pick(|k| matches!(k, VarKind::Real(s) if s == shape));
        match same {
            Some(k) if !self.rng.once_in(3) => k,
            _ => self.scalar(),
        }
    }

    fn of_rank(&mut self, rank: usize) -> Option<(ScopedVar, Vec<usize>)> {
        let known = self.pick(|k| matches!(k, VarKind::Real(s) if s.len() == rank && s.iter().all(|n| *n > 0)))?;
        match &known.kind {
            VarKind::Real(s) => Some((known.clone(), s.clone())),
            _ => None,
        }
    }

    pub(super) fn array_step(&mut self) {
        match self.rng.below(6) {
            0 | 1 => {
                let (x, shape) = self.array();
                let y = self.partner(&shape);
                self.arithmetic(&x, &y);
            }
            2 => {
                let (x, _) = self.array();
                self.function(&x);
            }
            3 => self.part_step(),
            4 => self.update_step(),
            _ => self.whole_step(),
        }
    }

    /// An index below `n`.
    pub(super) fn index(&mut self, n: usize) -> Var {
        let fits = |k: &VarKind| matches!(k, VarKind::Int(lo, hi) if *lo >= 0 && *hi < n as i64);
        match self.pick(fits) {
            Some(k) if self.rng.once_in(2) => k.v,
            _ => {
                let i = self.rng.below(n) as i64;
                self.b.int(i)
            }
        }
    }

    fn indices(&mut self, n: usize) -> (Var, usize) {
        let k = self.rng.between(1, 4);
        let at: Vec<i64> = (0..k).map(|_| self.rng.below(n) as i64).collect();
        (self.ints(&at), k)
    }

    fn bounds(&mut self, n: usize) -> (Var, Var, usize) {
        let lo = self.rng.below(n);
        let hi = self.rng.between(lo, n);
        (self.b.int(lo as i64), self.b.int(hi as i64), hi - lo)
    }

    fn part_step(&mut self) {
        let (array, shape) = self.array();
        let (extent, inner) = (shape[0], shape[1..].to_vec());
        match self.rng.below(4) {
            0 | 1 => {
                let take = self.rng.between(1, shape.len());
                let at: Vec<Var> = shape[..take].iter().map(|n| self.index(*n)).collect();
                self.one(Op::Index { a: array.v, at, shape: None }, VarKind::Real(shape[take..].to_vec()), array.bound);
            }
            2 => {
                let (lo, hi, k) = self.bounds(extent);
                self.one(
                    Op::Slice { a: array.v, lo, hi, shape: None },
                    VarKind::Real([vec![k], inner].concat()),
                    array.bound,
                );
            }
            _ => {
                let (at, k) = self.indices(extent);
                self.one(
                    Op::Gather { a: array.v, at, shape: None },
                    VarKind::Real([vec![k], inner].concat()),
                    array.bound,
                );
            }
        }
    }

    fn update_step(&mut self) {
        let (array, shape) = self.array();
        let (extent, inner) = (shape[0], shape[1..].to_vec());
        let kind = array.kind.clone();
        match self.rng.below(4) {
            0 => {
                let at = vec![self.index(extent)];
                let v = self.var_of_kind(&VarKind::Real(inner));
                self.one(Op::IndexSet { acc: array.v, at, v, shape: None }, kind, array.bound.max(1.0));
            }
            1 => {
                let at: Vec<Var> = shape.iter().map(|n| self.index(*n)).collect();
                let v = self.var_of_kind(&VarKind::Real(vec![]));
                self.push_damped(Op::IndexAdd { acc: array.v, at, v, shape: None }, kind, array.bound + 1.0);
            }
            2 => {
                let (lo, hi, k) = self.bounds(extent);
                let v = self.var_of_kind(&VarKind::Real([vec![k], inner].concat()));
                self.push_damped(Op::SliceAdd { acc: array.v, lo, hi, v, shape: None }, kind, array.bound + 1.0);
            }
            _ => {
                let (at, k) = self.indices(extent);
                let v = self.var_of_kind(&VarKind::Real([vec![k], inner].concat()));
                self.push_damped(Op::GatherAdd { acc: array.v, at, v, shape: None }, kind, array.bound + k as f64);
            }
        }
    }

    fn whole_step(&mut self) {
        let (array, shape) = self.array();
        let (extent, inner) = (shape[0], shape[1..].to_vec());
        let count: usize = shape.iter().product();
        let kind = array.kind.clone();
        match self.rng.below(16) {
            0 => {
                self.one(Op::Reverse(array.v), kind, array.bound);
            }
            1 => {
                let n = self.index(4);
                self.one(Op::Rotate { n, a: array.v }, kind, array.bound);
            }
            2 => {
                let to = self.ints(&[count as i64]);
                self.one(Op::Reshape { a: array.v, to, from: None }, VarKind::Real(vec![count]), array.bound);
            }
            3 if shape.len() > 1 => {
                let turned = [vec![shape[1], extent], shape[2..].to_vec()].concat();
                self.one(Op::Transpose(array.v), VarKind::Real(turned), array.bound);
            }
            4 | 5 => {
                self.push_damped(Op::Sum { a: array.v, n: None }, VarKind::Real(inner), array.bound * extent as f64);
            }
            6 => {
                self.push_damped(
                    Op::SumAll { a: array.v, shape: None },
                    VarKind::Real(vec![]),
                    array.bound * count as f64,
                );
            }
            7 => {
                let reverse = self.rng.once_in(2);
                self.push_damped(Op::Cumsum { a: array.v, reverse }, kind, array.bound * extent as f64);
            }
            8 => self.masked(&array, &shape),
            9..=11 if count <= 8 => self.enlarged(&array, shape),
            12..=14 => self.built_in(&array, &shape),
            _ => self.product(),
        }
    }

    /// Built-ins that are not IR operations of their own.
    fn built_in(&mut self, scoped: &ScopedVar, shape: &[usize]) {
        let scalar = || VarKind::Real(vec![]);
        let reduction = |prim: ReductionFn| Op::Prim(prim.into(), vec![scoped.v]);
        let (bound, power) = (scoped.bound, |n: usize| scoped.bound.max(1.0).powi(n as i32));
        let (op, kind, bound, damped) = match shape {
            [extent] => match self.rng.below(6) {
                0 => (reduction(ReductionFn::Prod), scalar(), power(*extent), true),
                1 => (reduction(ReductionFn::Cumprod), scoped.kind.clone(), power(*extent), true),
                2 => (reduction(ReductionFn::Maximum), scalar(), bound, false),
                3 => (reduction(ReductionFn::Minimum), scalar(), bound, false),
                _ => return self.ordered(scoped),
            },
            _ => return,
        };
        if damped {
            self.push_damped(op, kind, bound)
        } else {
            self.one(op, kind, bound)
        };
    }

    /// A sorted array, in which some numbers occur twice.
    fn ordered(&mut self, x: &ScopedVar) {
        let VarKind::Real(shape) = &x.kind else { return };
        let (at, k) = self.indices(shape[0]);
        let row = VarKind::Real(vec![k]);
        let some = self.one(Op::Gather { a: x.v, at, shape: None }, row.clone(), x.bound);
        let order = self.b.prim(ReductionFn::Argsort, &[some], crate::ty::Ty::shape());
        self.one(Op::Gather { a: some, at: order, shape: None }, row, x.bound);
    }

    /// Operations that make arrays larger.
    fn enlarged(&mut self, scoped: &ScopedVar, shape: Vec<usize>) {
        let deep = shape.len() > 2;
        match self.rng.below(3) {
            0 if !deep => {
                let k = self.rng.between(1, 3);
                let copies = self.b.int(k as i64);
                self.one(
                    Op::Replicate { n: copies, a: scoped.v },
                    VarKind::Real([vec![k], shape].concat()),
                    scoped.bound,
                );
            }
            1 if !deep => {
                let y = self.var_of_kind(&scoped.kind);
                let stacked = VarKind::Real([vec![2], shape].concat());
                self.one(Op::ArrayLit { elems: vec![scoped.v, y], shape: None }, stacked, scoped.bound.max(1.0));
            }
            _ => {
                let y = self.var_of_kind(&scoped.kind);
                let joined = VarKind::Real([vec![2 * shape[0]], shape[1..].to_vec()].concat());
                self.one(Op::Concat { a: scoped.v, b: y, len: None, shape: None }, joined, scoped.bound.max(1.0));
            }
        }
    }

    /// `select` under an array of Bools.
    fn masked(&mut self, x: &ScopedVar, shape: &[usize]) {
        let [n] = shape else { return };
        let bits: Vec<bool> = (0..*n).map(|_| self.rng.once_in(2)).collect();
        let elems = bits.iter().map(|b| self.b.lit(Lit::Bool(*b))).collect();
        let mask = self.b.one(Op::ArrayLit { elems, shape: None }, crate::ty::Ty::Bool.array(1));
        let y = self.partner(shape);
        self.one(Op::Select(mask, x.v, y.v), x.kind.clone(), x.bound.max(y.bound));
    }

    fn product(&mut self) {
        let Some((vector, s)) = self.of_rank(1) else { return };
        let extent = s[0];
        match (self.rng.below(3), self.of_rank(2)) {
            (0, _) => {
                let y = self.var_of_kind(&vector.kind);
                self.push_damped(Op::Dot(vector.v, y), VarKind::Real(vec![]), vector.bound * extent as f64);
            }
            (1, Some((m, t))) if t[1] == extent => {
                self.push_damped(
                    Op::MatMul(m.v, vector.v),
                    VarKind::Real(vec![t[0]]),
                    vector.bound * m.bound * extent as f64,
                );
            }
            (_, Some((m, t))) if t[0] * t[0] <= 16 => {
                let turned = self.one(Op::Transpose(m.v), VarKind::Real(vec![t[1], t[0]]), m.bound);
                self.push_damped(
                    Op::MatMul(m.v, turned),
                    VarKind::Real(vec![t[0], t[0]]),
                    m.bound * m.bound * t[1] as f64,
                );
            }
            _ if extent <= 4 && vector.bound * vector.bound <= LARGEST * LARGEST => {
                self.push_damped(
                    Op::Outer(vector.v, vector.v),
                    VarKind::Real(vec![extent, extent]),
                    vector.bound * vector.bound,
                );
            }
            _ => {}
        }
    }
}
