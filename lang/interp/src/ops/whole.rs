//! Comprehensions whose bodies run on arrays of indices: `for i -> x[i] * y[i]` is one product of arrays, and tapes as one record.

use super::{call, int};
use crate::attend;
use crate::error::Res;
use crate::ops::arith;
use crate::value::{Array, Buf, Rep, Shape, Value, array, compare, seq};
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
    if total < FEWEST {
        return Ok(None);
    }
    let indexwise = matches!(f, Value::Fun(f) if matches!(&**f, Fun::Closure(code, _) if code.indexwise));
    let run: Strip = if indexwise { strip } else { lanes };
    match kind {
        ForKind::Build => match run(m, f, shape, 0, total)? {
            Some(flat) => shaped(m, flat, shape),
            None => Ok(None),
        },
        ForKind::Reduce(p) => {
            let marks = m.ad.marks();
            let out = reduce(m, p, f, shape, total, run)?;
            if out.is_none() {
                m.ad.rewind(&marks);
            }
            Ok(out)
        }
    }
}

/// Evaluates a body at the index tuples between two in row-major order, if it can.
type Strip = fn(&mut Machine, &Value, &Shape, usize, usize) -> Res<Option<Value>>;

/// Elements one after the other as an array of all axes; `None` for arrays of tuples and records of more than one.
fn shaped(m: &mut Machine, flat: Value, shape: &Shape) -> Res<Option<Value>> {
    if shape.len() == 1 {
        return Ok(Some(flat));
    }
    match seq::shape(&flat) {
        Some(s) if numbers(&flat) => {
            let full: Shape = shape.iter().chain(&s[1..]).copied().collect();
            crate::ad::rules::reshape(m, flat, full).map(Some)
        }
        _ => Ok(None),
    }
}

pub(super) fn numbers(v: &Value) -> bool {
    match v {
        Value::Array(a) => matches!(a.buf, Buf::F64(_) | Buf::F32(_) | Buf::I64(_) | Buf::Bool(_)),
        other => matches!(other, Value::Dual(_)),
    }
}

fn reduce(m: &mut Machine, p: Prim, f: &Value, shape: &Shape, total: usize, run: Strip) -> Res<Option<Value>> {
    let (part, op) = match p {
        Prim::Sum | Prim::Mean => (Prim::Sum, Bin::Add),
        Prim::Prod => (Prim::Prod, Bin::Mul),
        Prim::Maximum => (Prim::Maximum, Bin::Max),
        Prim::Minimum => (Prim::Minimum, Bin::Min),
        _ => return Ok(None),
    };
    let mut acc: Option<Value> = None;
    let mut lo = 0;
    while lo < total {
        m.poll()?;
        let hi = total.min(lo + STRIP);
        let Some(v) = run(m, f, shape, lo, hi)?.filter(|v| numbers(v) && seq::shape(v).is_some_and(|s| s.len() == 1)) else { return Ok(None) };
        let rep = match compare::primal(&v) {
            Value::Array(a) if matches!(a.buf, Buf::I64(_)) => Rep::Int,
            Value::Array(a) if matches!(a.buf, Buf::F32(_)) => Rep::F32,
            _ => Rep::Float,
        };
        let v = call(m, part, &[Value::Rep(Rc::new(rep))], vec![v])?;
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

/// The body on arrays of indices; `None` if its value does not depend on them.
fn strip(m: &mut Machine, f: &Value, shape: &Shape, lo: usize, hi: usize) -> Res<Option<Value>> {
    let args = indices(shape, lo, hi)?;
    let v = m.call(f, &args)?;
    Ok(seq::shape(&v).is_some().then_some(v))
}

/// The body on lanes.
fn lanes(m: &mut Machine, f: &Value, shape: &Shape, lo: usize, hi: usize) -> Res<Option<Value>> {
    let args = indices(shape, lo, hi)?;
    Ok(crate::vm::lanes::map(m, f, &args, hi - lo))
}

/// For each axis the indices from the `lo`-th tuple to the `hi`-th.
fn indices(shape: &Shape, lo: usize, hi: usize) -> Res<Vec<Value>> {
    (0..shape.len())
        .map(|axis| {
            let stride: usize = shape[axis + 1..].iter().product();
            Ok(array::ints(attend::collect(hi - lo, |t| (((lo + t) / stride) % shape[axis]) as i64)?))
        })
        .collect()
}

/// `a[i, j, ...]` at arrays of indices (and single ones): the elements as one array.
pub(crate) fn elements(m: &mut Machine, a: &Value, indices: &[Value]) -> Res<Value> {
    let shape = seq::shape(a).cloned().unwrap_or_default();
    let n = indices.iter().find_map(ints).map_or(0, <[i64]>::len);
    let mut flat: Vec<i64> = array::filled(0, n)?;
    for (axis, i) in indices.iter().enumerate() {
        let extent = shape.get(axis).copied().unwrap_or(0);
        for (k, slot) in flat.iter_mut().enumerate() {
            if k % attend::STRIDE == 0 {
                attend::poll()?;
            }
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
