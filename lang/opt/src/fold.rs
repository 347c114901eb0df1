//! Constant folding, restricted to operations whose evaluation at run time would give the same bits and no error.

use adl_ir::{Conv, Lit, Op, Var};
use adl_prim::Bin;
use std::collections::HashMap;

/// Variables that are known to be literals.
#[derive(Default)]
pub struct Lits(HashMap<Var, Lit>);

impl Lits {
    /// Records that a variable is a literal.
    pub fn put(&mut self, v: Var, l: Lit) {
        self.0.insert(v, l);
    }

    /// The literal that a variable is bound to.
    pub fn get(&self, v: Var) -> Option<&Lit> {
        self.0.get(&v)
    }

    /// Whether a variable is the number 1 of its type.
    pub fn is_one(&self, v: Var) -> bool {
        match self.get(v) {
            Some(Lit::F64(x)) => *x == 1.0,
            Some(Lit::F32(x)) => *x == 1.0,
            Some(Lit::I64(n)) => *n == 1,
            Some(Lit::Bool(_) | Lit::Str(_)) | None => false,
        }
    }

    /// Whether a variable is this real number.
    pub fn is(&self, v: Var, x: f64) -> bool {
        match self.get(v) {
            Some(Lit::F64(y)) => *y == x,
            Some(Lit::F32(y)) => f64::from(*y) == x,
            Some(Lit::I64(_) | Lit::Bool(_) | Lit::Str(_)) | None => false,
        }
    }

    fn float(&self, v: Var) -> Option<f64> {
        match self.get(v) {
            Some(Lit::F64(x)) => Some(*x),
            _ => None,
        }
    }

    /// The value of a variable that is an Int literal.
    pub fn int(&self, v: Var) -> Option<i64> {
        match self.get(v) {
            Some(Lit::I64(x)) => Some(*x),
            _ => None,
        }
    }

    /// The constant result of an operation, if evaluation at run time would give the same bits and no error.
    pub fn folded(&self, op: &Op) -> Option<Lit> {
        match op {
            Op::Un(u, a) => Some(Lit::F64(u.eval(self.float(*a)?))),
            Op::Bin(op, a, b) => match (self.float(*a), self.float(*b)) {
                (Some(x), Some(y)) => Some(Lit::F64(op.eval(x, y))),
                _ => whole(*op, self.int(*a)?, self.int(*b)?).map(Lit::I64),
            },
            Op::Cmp(c, a, b) => {
                let order = match (self.float(*a), self.float(*b)) {
                    (Some(x), Some(y)) => x.partial_cmp(&y),
                    _ => Some(self.int(*a)?.cmp(&self.int(*b)?)),
                };
                Some(Lit::Bool(c.holds(order)))
            }
            Op::Not(a) => match self.get(*a)? {
                Lit::Bool(b) => Some(Lit::Bool(!b)),
                _ => None,
            },
            Op::Convert(Conv::ToF64, a) => Some(Lit::F64(self.int(*a)? as f64)),
            _ => None,
        }
    }
}

fn whole(op: Bin, a: i64, b: i64) -> Option<i64> {
    match op {
        Bin::Add => a.checked_add(b),
        Bin::Sub => a.checked_sub(b),
        Bin::Mul => a.checked_mul(b),
        Bin::Min => Some(a.min(b)),
        Bin::Max => Some(a.max(b)),
        _ => None,
    }
}
