//! Derivative rules of matrix products and linear systems.

use super::{Add, MatMul, Rule, Solve, View};
use crate::error::Res;
use crate::ops::arith;
use crate::upcalls::{Upcalls, call};
use crate::value::{Value, seq};
use adl_prim::{ArrayFn, Bin, LinalgFn, Prim, ReductionFn};

fn mul(m: &mut dyn Upcalls, a: Value, b: Value) -> Res<Value> {
    call(m, Prim::Reduction(ReductionFn::MatMul), &[], vec![a, b])
}

fn transposed(m: &mut dyn Upcalls, a: Value) -> Res<Value> {
    call(m, Prim::Array(ArrayFn::TransposeArray), &[], vec![a])
}

impl Rule for MatMul {
    fn pull(&self, machine: &mut dyn Upcalls, cts: &[Value], add: Add) -> Res<()> {
        let rank = |v: &Value| seq::shape(v).map_or(0, smallvec::SmallVec::len);
        let vectors = (rank(&self.a) == 1, rank(&self.b) == 1);
        let cotangent = &cts[0];
        if self.traced[0] {
            let g = if vectors.1 {
                call(machine, Prim::Reduction(ReductionFn::Outer), &[], vec![cotangent.clone(), self.b.clone()])?
            } else {
                let bt = transposed(machine, self.b.clone())?;
                mul(machine, cotangent.clone(), bt)?
            };
            add(machine, 0, g)?;
        }
        if self.traced[1] {
            let g = if vectors.0 {
                call(machine, Prim::Reduction(ReductionFn::Outer), &[], vec![self.a.clone(), cotangent.clone()])?
            } else if vectors.1 {
                mul(machine, cotangent.clone(), self.a.clone())?
            } else {
                let at = transposed(machine, self.a.clone())?;
                mul(machine, at, cotangent.clone())?
            };
            add(machine, 1, g)?;
        }
        Ok(())
    }

    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        let mut sum = Value::Zero;
        if !matches!(tangents[0], Value::Zero) {
            sum = mul(m, tangents[0].clone(), self.b.clone())?;
        }
        if !matches!(tangents[1], Value::Zero) {
            let t = mul(m, self.a.clone(), tangents[1].clone())?;
            sum = arith::bin(m, Bin::Add, sum, t)?;
        }
        Ok(vec![sum])
    }
    fn view(&self) -> View<'_> {
        View::MatMul(self)
    }
}

impl Rule for Solve {
    fn pull(&self, machine: &mut dyn Upcalls, cts: &[Value], add: Add) -> Res<()> {
        let at = transposed(machine, self.a.clone())?;
        let gb = call(machine, Prim::Linalg(LinalgFn::LinSolve), &[], vec![at, cts[0].clone()])?;
        add(machine, 1, gb.clone())?;
        let ga = if seq::shape(&self.x).map_or(0, smallvec::SmallVec::len) == 1 {
            call(machine, Prim::Reduction(ReductionFn::Outer), &[], vec![gb, self.x.clone()])?
        } else {
            let xt = transposed(machine, self.x.clone())?;
            mul(machine, gb, xt)?
        };
        let ga = arith::un(machine, adl_prim::Un::Neg, ga)?;
        add(machine, 0, ga)
    }

    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        let mut rhs = tangents[1].clone();
        if !matches!(tangents[0], Value::Zero) {
            let dax = mul(m, tangents[0].clone(), self.x.clone())?;
            rhs = arith::bin(m, Bin::Sub, rhs, dax)?;
        }
        if matches!(rhs, Value::Zero) {
            return Ok(vec![Value::Zero]);
        }
        Ok(vec![call(m, Prim::Linalg(LinalgFn::LinSolve), &[], vec![self.a.clone(), rhs])?])
    }
    fn view(&self) -> View<'_> {
        View::Solve(self)
    }
}
