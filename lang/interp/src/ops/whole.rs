//! Comprehensions whose bodies run on arrays of indices: `for i -> x[i] * y[i]` is one product of arrays, and tapes as one record.

use super::{call, int};
use crate::error::Res;
use crate::ops::arith;
use crate::value::{Array, Buf, Shape, Value, array, seq};
use crate::vm::{Fun, Machine};
use adl_prim::{Bin, Prim};
use adl_typing::core::ForKind;
use std::rc::Rc;

/// Number of index tuples from which a body runs on arrays of them.
const FEWEST: usize = 8;

/// Index tuples that a reduction evaluates at a time, so that nothing large is built.
const STRIP: usize = 1 << 14;

/// The comprehension on arrays of indices, where its body's code allows it.
pub(super) fn comprehension(m: &mut Machine, kind: ForKind, f: &Value, shape: &Shape, total: usize) -> Res<Option<Value>> {
    let suits = matches!(f, Value::Fun(f) if matches!(&**f, Fun::Closure(code, _) if code.indexwise));
    if !suits || total < FEWEST {
        return Ok(None);
    }
    match kind {
        ForKind::Build => {
            let Some(flat) = strip(m, f, shape, 0, total)? else { return Ok(None) };
            if shape.len() == 1 { Ok(Some(flat)) } else { crate::ad::rules::reshape(m, flat, shape.clone()).map(Some) }
        }
        ForKind::Reduce(p) => reduce(m, p, f, shape, total),
    }
}

fn reduce(m: &mut Machine, p: Prim, f: &Value, shape: &Shape, total: usize) -> Res<Option<Value>> {
    let (part, op) = match p {
        Prim::Sum | Prim::Mean => (Prim::Sum, Bin::Add),
        Prim::Prod => (Prim::Prod, Bin::Mul),
        Prim::Maximum => (Prim::Maximum, Bin::Max),
        Prim::Minimum => (Prim::Minimum, Bin::Min),
        _ => return Ok(None),
    };
    let rep = Value::Rep(Rc::new(crate::value::Rep::Float));
    let mut acc: Option<Value> = None;
    let mut lo = 0;
    while lo < total {
        m.poll()?;
        let hi = total.min(lo + STRIP);
        let Some(v) = strip(m, f, shape, lo, hi)? else { return Ok(None) };
        let v = call(m, part, std::slice::from_ref(&rep), vec![v])?;
        acc = Some(match acc {
            None => v,
            Some(a) => arith::bin(m, op, a, v)?,
        });
        lo = hi;
    }
    match acc {
        Some(v) if p == Prim::Mean => arith::bin(m, Bin::Div, v, Value::Float(total as f64)).map(Some),
        other => Ok(other),
    }
}

/// The body at the index tuples from `lo` to `hi` in row-major order; `None` if its value does not depend on them.
fn strip(m: &mut Machine, f: &Value, shape: &Shape, lo: usize, hi: usize) -> Res<Option<Value>> {
    let mut args = Vec::with_capacity(shape.len());
    for axis in 0..shape.len() {
        let stride: usize = shape[axis + 1..].iter().product();
        let extent = shape[axis];
        let mut at: Vec<i64> = array::room(hi - lo)?;
        at.extend((lo..hi).map(|t| ((t / stride) % extent) as i64));
        args.push(array::ints(at));
    }
    let v = m.call(f, &args)?;
    Ok(seq::shape(&v).is_some().then_some(v))
}

/// `a[i, j, ...]` at arrays of indices (and single ones): the elements as one array.
pub(crate) fn elements(m: &mut Machine, a: &Value, indices: &[Value]) -> Res<Value> {
    let shape = seq::shape(a).cloned().unwrap_or_default();
    let n = indices.iter().find_map(ints).map_or(0, <[i64]>::len);
    let mut flat: Vec<i64> = array::filled(0, n)?;
    for (axis, i) in indices.iter().enumerate() {
        let extent = shape.get(axis).copied().unwrap_or(0);
        for (k, slot) in flat.iter_mut().enumerate() {
            let i = ints(i).map_or_else(|| int(i), |v| v[k]);
            if usize::try_from(i).map_or(true, |i| i >= extent) {
                return Err(seq::out_of_bounds(i, extent));
            }
            *slot = *slot * extent as i64 + i;
        }
    }
    if let Value::Array(a) = a {
        // Plain arrays are read where they lie.
        match &a.buf {
            Buf::F64(v) if !(shape.len() == 1 && v.len() == n) => return Ok(array::floats(flat.iter().map(|i| v[*i as usize]).collect())),
            Buf::I64(v) => return Ok(array::ints(flat.iter().map(|i| v[*i as usize]).collect())),
            _ => {}
        }
    }
    let total: usize = shape.iter().product();
    let whole = flat.len() == total && flat.iter().enumerate().all(|(k, i)| k as i64 == *i);
    let line = if shape.len() == 1 { a.clone() } else { crate::ad::rules::reshape(m, a.clone(), Shape::from_slice(&[total]))? };
    if whole { Ok(line) } else { call(m, Prim::Gather, &[], vec![line, array::ints(flat)]) }
}

fn ints(v: &Value) -> Option<&[i64]> {
    match v {
        Value::Array(a) => match &**a {
            Array { buf: Buf::I64(v), .. } => Some(v),
            _ => None,
        },
        _ => None,
    }
}

/// Whether some index is an array of indices.
pub(crate) fn any_array(indices: &[Value]) -> bool {
    indices.iter().any(|i| ints(i).is_some())
}
