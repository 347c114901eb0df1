//! Running sums and products.

use super::{kernels, len};
use crate::error::Res;
use crate::ops::arith;
use crate::polling;
use crate::upcalls::Upcalls;
use crate::value::{Buf, Value, seq};
use adl_prim::Bin;
use std::rc::Rc;

pub(super) fn apply(machine: &mut dyn Upcalls, op: Bin, value: Value) -> Res<Value> {
    if let Value::Array(a) = &value
        && let (Buf::F64(x), 1) = (a.buf(), a.shape.len())
    {
        let mut acc = if op == Bin::Add { 0.0 } else { 1.0 };
        let mut out = crate::value::array::filled(0.0, x.len())?;
        for (out, part) in out.chunks_mut(polling::STRIDE).zip(x.chunks(polling::STRIDE)) {
            polling::poll()?;
            acc = kernels::running(op, acc, part, out);
        }
        return Ok(Value::Array(Rc::new(crate::value::Array::new(a.shape.clone(), Buf::F64(out)))));
    }
    let mut out: Vec<Value> = Vec::new();
    for i in 0..len(&value) {
        let x = seq::elem(machine, &value, i)?;
        let y = match out.last().cloned() {
            Some(prev) => arith::bin(machine, op, prev, x)?,
            None => x,
        };
        out.push(y);
    }
    if out.is_empty() { Ok(value) } else { seq::pack(machine, out) }
}

/// Running sums from the last element to the first.
pub(crate) fn sums_from_the_end(x: &[f64]) -> Res<Vec<f64>> {
    let mut out = crate::value::array::filled(0.0, x.len())?;
    let mut acc = 0.0;
    for (o, x) in out.rchunks_mut(polling::STRIDE).zip(x.rchunks(polling::STRIDE)) {
        polling::poll()?;
        for (o, v) in o.iter_mut().zip(x).rev() {
            acc += v;
            *o = acc;
        }
    }
    Ok(out)
}
