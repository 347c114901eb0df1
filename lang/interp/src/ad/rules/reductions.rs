//! Derivative rules of sums.

use super::elementwise::masked_mul;
use super::{Add, Dot, Rule, View};
use crate::error::Res;
use crate::ops::arith;
use crate::upcalls::{Upcalls, call};
use crate::value::Value;
use adl_prim::{ArrayFn, Bin, Prim, ReductionFn};

/// The sum over the first axis.
pub(crate) struct SumRows {
    pub n: usize,
}

impl Rule for SumRows {
    fn pull(&self, m: &mut dyn Upcalls, cts: &[Value], add: Add) -> Res<()> {
        let g = call(m, Prim::Array(ArrayFn::Replicate), &[], vec![Value::Int(self.n as i64), cts[0].clone()])?;
        add(m, 0, g)
    }
    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        if matches!(tangents[0], Value::Zero) {
            return Ok(vec![Value::Zero]);
        }
        Ok(vec![call(
            m,
            Prim::Reduction(ReductionFn::Sum),
            &[Value::Rep(std::rc::Rc::new(crate::value::Rep::Float))],
            vec![tangents[0].clone()],
        )?])
    }
    fn view(&self) -> View<'_> {
        View::SumRows(self.n)
    }
}

/// Running sums.
pub(crate) struct Cumsum;

impl Rule for Cumsum {
    fn pull(&self, m: &mut dyn Upcalls, cts: &[Value], add: Add) -> Res<()> {
        let r = call(m, Prim::Array(ArrayFn::Reverse), &[], vec![cts[0].clone()])?;
        let s = call(m, Prim::Reduction(ReductionFn::Cumsum), &[], vec![r])?;
        let g = call(m, Prim::Array(ArrayFn::Reverse), &[], vec![s])?;
        add(m, 0, g)
    }
    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        Ok(vec![if matches!(tangents[0], Value::Zero) {
            Value::Zero
        } else {
            call(m, Prim::Reduction(ReductionFn::Cumsum), &[], vec![tangents[0].clone()])?
        }])
    }
    fn view(&self) -> View<'_> {
        View::Cumsum
    }
}

impl Rule for Dot {
    fn pull(&self, m: &mut dyn Upcalls, cts: &[Value], add: Add) -> Res<()> {
        for (k, other) in [&self.b, &self.a].into_iter().enumerate() {
            if self.traced[k] {
                let g = masked_mul(m, cts[0].clone(), other.clone())?;
                add(m, k, g)?;
            }
        }
        Ok(())
    }
    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        let mut sum = Value::Zero;
        for (t, other) in tangents.iter().zip([&self.b, &self.a]) {
            if !matches!(t, Value::Zero) {
                let d = call(m, Prim::Reduction(ReductionFn::Dot), &[], vec![t.clone(), other.clone()])?;
                sum = arith::bin(m, Bin::Add, sum, d)?;
            }
        }
        Ok(vec![sum])
    }
    fn view(&self) -> View<'_> {
        View::Dot(self)
    }
}
