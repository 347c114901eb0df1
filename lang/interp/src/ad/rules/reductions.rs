//! Derivative rules of sums.

use super::elementwise::masked_mul;
use super::gather::take;
use super::{Add, Rule, View, reshape};
use crate::ad;
use crate::error::{Error, Res, codes};
use crate::ops::{self, arith};
use crate::value::{Buf, Shape, Value, array, seq};
use crate::vm::Machine;
use adl_prim::{ArrayFn, Bin, Prim, ReductionFn};
use std::rc::Rc;

/// The sum over the first axis.
pub(crate) struct SumRows {
    pub n: usize,
}

impl Rule for SumRows {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        let g = ops::call(m, Prim::Array(ArrayFn::Replicate), &[], vec![Value::Int(self.n as i64), cts[0].clone()])?;
        add(m, 0, g)
    }
    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        if matches!(tangents[0], Value::Zero) {
            return Ok(vec![Value::Zero]);
        }
        Ok(vec![ops::call(
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
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        let r = ops::call(m, Prim::Array(ArrayFn::Reverse), &[], vec![cts[0].clone()])?;
        let s = ops::call(m, Prim::Reduction(ReductionFn::Cumsum), &[], vec![r])?;
        let g = ops::call(m, Prim::Array(ArrayFn::Reverse), &[], vec![s])?;
        add(m, 0, g)
    }
    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        Ok(vec![if matches!(tangents[0], Value::Zero) {
            Value::Zero
        } else {
            ops::call(m, Prim::Reduction(ReductionFn::Cumsum), &[], vec![tangents[0].clone()])?
        }])
    }
    fn view(&self) -> View<'_> {
        View::Cumsum
    }
}

/// Inner products.
pub(crate) struct Dot {
    pub a: Value,
    pub b: Value,
    pub traced: [bool; 2],
}

impl Rule for Dot {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        for (k, other) in [&self.b, &self.a].into_iter().enumerate() {
            if self.traced[k] {
                let g = masked_mul(m, cts[0].clone(), other.clone())?;
                add(m, k, g)?;
            }
        }
        Ok(())
    }
    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        let mut sum = Value::Zero;
        for (t, other) in tangents.iter().zip([&self.b, &self.a]) {
            if !matches!(t, Value::Zero) {
                let d = ops::call(m, Prim::Reduction(ReductionFn::Dot), &[], vec![t.clone(), other.clone()])?;
                sum = arith::bin(m, Bin::Add, sum, d)?;
            }
        }
        Ok(vec![sum])
    }
    fn view(&self) -> View<'_> {
        View::Dot(self)
    }
}

/// The sum of each row of a Float matrix, with the same order of additions as `sum` of the row.
pub(crate) fn row_sums(machine: &mut Machine, value: &Value) -> Res<Value> {
    if let Value::Array(a) = value
        && let (Buf::F64(x), [n, k]) = (a.buf(), &a.shape[..])
    {
        let sums = if *k == 0 { vec![0.0; *n] } else { x.chunks_exact(*k).map(ops::sum_floats).collect() };
        return Ok(array::floats(sums));
    }
    let level = ad::level_of(value);
    if level == 0 {
        return Err(Error::new(codes::STRUCTURE, "sums of rows need a matrix of Floats"));
    }
    let (x, part) = ad::split(value, level);
    let y = row_sums(machine, &x)?;
    let shape = seq::shape(&x).cloned().unwrap_or_default();
    ad::result(machine, level, vec![part], y, Rc::new(RowSums { shape }))
}

struct RowSums {
    shape: Shape,
}

impl Rule for RowSums {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        let (n, k) = (self.shape[0], self.shape[1]);
        let at: Vec<i64> = (0..n as i64).flat_map(|i| std::iter::repeat_n(i, k)).collect();
        let spread = take(m, &cts[0], &at)?;
        let g = reshape(m, spread, self.shape.clone())?;
        add(m, 0, g)
    }
    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        Ok(vec![if matches!(tangents[0], Value::Zero) { Value::Zero } else { row_sums(m, &tangents[0])? }])
    }
    fn view(&self) -> View<'_> {
        View::RowSums(&self.shape)
    }
}
