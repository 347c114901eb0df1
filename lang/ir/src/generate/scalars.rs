//! Scalars and data.

use super::{LARGEST, ProgramGenerator, ScopedVar, VarKind};
use crate::func::Var;
use crate::op::{Cmp, Conv, Lit, Op};
use adl_prim::{Bin, Un};

fn is_scalar(k: &VarKind) -> bool {
    matches!(k, VarKind::Real(s) if s.is_empty())
}

impl ProgramGenerator {
    /// A constant.
    pub(super) fn literal(&mut self) -> Var {
        let x = self.rng.real();
        self.one(Op::Lit(Lit::F64(x)), VarKind::Real(vec![]), 1.5)
    }

    /// A real scalar.
    pub(super) fn scalar(&mut self) -> ScopedVar {
        match self.pick(is_scalar) {
            Some(k) if !self.rng.once_in(8) => k,
            _ => self.make(&VarKind::Real(vec![])),
        }
    }

    /// The same reals, damped to -1 ... 1.
    pub(super) fn damped(&mut self, x: &ScopedVar) -> Var {
        let u = if self.rng.once_in(2) { Un::Tanh } else { Un::Sin };
        self.one(Op::Un(u, x.v), x.kind.clone(), 1.0)
    }

    /// Appends an operation and records its result, damped if it may be large.
    pub(super) fn push_damped(&mut self, op: Op, kind: VarKind, bound: f64) -> Var {
        let v = self.one(op, kind.clone(), bound);
        if bound <= LARGEST {
            return v;
        }
        // The undamped result must not be used as an operand.
        self.scope.pop();
        self.damped(&ScopedVar { v, kind, bound })
    }

    /// Elementwise arithmetic on reals of one shape, or with a scalar.
    pub(super) fn arithmetic(&mut self, left: &ScopedVar, right: &ScopedVar) -> Var {
        let kind = if is_scalar(&left.kind) { right.kind.clone() } else { left.kind.clone() };
        match self.rng.below(6) {
            5 => {
                let op = if self.rng.once_in(2) { Bin::Min } else { Bin::Max };
                self.one(Op::Bin(op, left.v, right.v), kind, left.bound.max(right.bound))
            }
            0 => self.push_damped(Op::Bin(Bin::Add, left.v, right.v), kind, left.bound + right.bound),
            1 => self.push_damped(Op::Bin(Bin::Sub, left.v, right.v), kind, left.bound + right.bound),
            2 | 3 => self.push_damped(Op::Bin(Bin::Mul, left.v, right.v), kind, left.bound * right.bound),
            _ => {
                let d = self.positive(right);
                self.push_damped(Op::Bin(Bin::Div, left.v, d), kind, left.bound / 1.5)
            }
        }
    }

    /// 1.5 + x², which is positive.
    fn positive(&mut self, x: &ScopedVar) -> Var {
        let bound = x.bound * x.bound;
        let sq = self.one(Op::Bin(Bin::Mul, x.v, x.v), x.kind.clone(), bound);
        let c = self.one(Op::Lit(Lit::F64(1.5)), VarKind::Real(vec![]), 1.5);
        let v = self.one(Op::Bin(Bin::Add, sq, c), x.kind.clone(), bound + 1.5);
        // Neither the square nor the sum has a bound that allows other uses.
        self.scope.retain(|k| k.v != sq && (k.v != v || bound + 1.5 <= LARGEST));
        v
    }

    /// A smooth elementwise function.
    pub(super) fn function(&mut self, scoped: &ScopedVar) -> Var {
        let bounded = [Un::Sin, Un::Cos, Un::Tanh, Un::Sigmoid, Un::Atan, Un::Erf];
        let kind = scoped.kind.clone();
        match self.rng.below(6) {
            0 => self.one(Op::Un(Un::Neg, scoped.v), kind, scoped.bound),
            1 if scoped.bound <= 1.2 => self.one(Op::Un(Un::Exp, scoped.v), kind, scoped.bound.exp()),
            1 => self.push_damped(Op::Un(Un::Softplus, scoped.v), kind, scoped.bound + 0.7),
            2 => self.push_damped(Op::Un(Un::Powi(2), scoped.v), kind, scoped.bound * scoped.bound),
            3 => {
                let (u, p) = (if self.rng.once_in(2) { Un::Sqrt } else { Un::Log }, self.positive(scoped));
                self.push_damped(Op::Un(u, p), kind, 1.5 + scoped.bound)
            }
            _ => {
                let u = bounded[self.rng.below(bounded.len())];
                self.one(Op::Un(u, scoped.v), kind, 1.6)
            }
        }
    }

    /// A scalar that depends on `x` and on the last few reals made since `from` that have not been used.
    pub(super) fn with_unread(&mut self, x: Var, from: usize) -> Var {
        let unread = |k: &&ScopedVar| matches!(k.kind, VarKind::Real(_)) && !self.read.contains(&k.v) && k.v != x;
        let rest: Vec<ScopedVar> = self.scope[from.min(self.scope.len())..].iter().filter(unread).cloned().collect();
        let mut sum = ScopedVar { v: x, kind: VarKind::Real(vec![]), bound: 1.0 };
        for k in rest.iter().rev().take(8) {
            self.read.insert(k.v);
            let v = match &k.kind {
                VarKind::Real(s) if !s.is_empty() => {
                    self.push_damped(Op::SumAll { a: k.v, shape: None }, VarKind::Real(vec![]), 64.0)
                }
                _ => k.v,
            };
            sum.v = self.push_damped(Op::Bin(Bin::Add, sum.v, v), VarKind::Real(vec![]), sum.bound + LARGEST);
            sum.bound = 1.0;
        }
        sum.v
    }

    pub(super) fn scalar_step(&mut self) {
        match self.rng.below(8) {
            0..=2 => {
                let (x, y) = (self.scalar(), self.scalar());
                self.arithmetic(&x, &y);
            }
            3 | 4 => {
                let x = self.scalar();
                self.function(&x);
            }
            5 => {
                let (c, x, y) = (self.condition(), self.scalar(), self.scalar());
                self.one(Op::Select(c, x.v, y.v), VarKind::Real(vec![]), x.bound.max(y.bound));
            }
            6 => self.int_step(),
            _ => self.data_step(),
        }
    }

    fn int_step(&mut self) {
        let Some(n) = self.pick(|k| matches!(k, VarKind::Int(..))) else { return };
        let VarKind::Int(lo, hi) = n.kind else { return };
        if self.rng.once_in(2) {
            let bound = lo.abs().max(hi.abs()) as f64;
            if bound <= LARGEST {
                self.one(Op::Convert(Conv::ToF64, n.v), VarKind::Real(vec![]), bound);
            }
        } else {
            let two = self.b.int(2);
            self.one(Op::Bin(Bin::Rem, n.v, two), VarKind::Int(0, 1), 0.0);
        }
    }

    /// A Bool that does not depend on reals.
    pub(super) fn condition(&mut self) -> Var {
        if let Some(k) = self.pick(|k| *k == VarKind::Bool).filter(|_| self.rng.once_in(2)) {
            return k.v;
        }
        if let Some(n) = self.pick(|k| matches!(k, VarKind::Int(..))) {
            let one = self.b.int(1);
            let op = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Gt, Cmp::Le, Cmp::Ge][self.rng.below(6)];
            return self.one(Op::Cmp(op, n.v, one), VarKind::Bool, 0.0);
        }
        let b = self.rng.once_in(2);
        self.one(Op::Lit(Lit::Bool(b)), VarKind::Bool, 0.0)
    }
}
