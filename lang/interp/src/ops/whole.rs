//! Vectorised comprehensions: bodies are evaluated on arrays of indices. `for i -> x[i] * y[i]` becomes one
//! product of arrays, and one record on a tape.

use super::{call, higher_order, int};
use crate::error::Res;
use crate::limits::ops_whole::{FEWEST, MANY_INDEXWISE, STRIP};
use crate::ops::arith;
use crate::ops::comprehension_sums::{Sums, mean};
use crate::polling;
use crate::value::{Array, Buf, Kind, Rep, Shape, Value, array, compare, seq};
use crate::vm::{Fun, Machine};
use adl_prim::{ArrayFn, Bin, Prim, ReductionFn};
use adl_typing::core::ForKind;
use std::rc::Rc;

/// Evaluates the comprehension on arrays of indices, if its body allows it.
pub(super) fn comprehension(
    machine: &mut Machine,
    kind: ForKind,
    func: &Value,
    shape: &Shape,
    total: usize,
) -> Res<Option<Value>> {
    if total < FEWEST {
        return Ok(None);
    }
    let run: Strip = if is_vectorisable(func) { strip } else { lanes };
    match kind {
        ForKind::Build => match run(machine, func, shape, 0, total)? {
            Some(flat) => shaped(machine, flat, shape),
            None => Ok(None),
        },
        ForKind::Reduce(p) => {
            let marks = machine.ad.marks();
            let out = reduce(machine, p, func, shape, total, run)?;
            if out.is_none() {
                machine.ad.rewind(&marks);
            }
            Ok(out)
        }
    }
}

fn is_vectorisable(f: &Value) -> bool {
    matches!(f, Value::Fun(f) if matches!(&**f, Fun::Closure(code, _) if code.is_vectorisable))
}

/// Number of index tuples from which a comprehension is compiled at its first use.
pub(super) fn native_from(f: &Value) -> usize {
    if is_vectorisable(f) { MANY_INDEXWISE } else { higher_order::MANY }
}

/// Evaluates a body at a range of index tuples in row-major order. `None` if that is not possible.
type Strip = fn(&mut Machine, &Value, &Shape, usize, usize) -> Res<Option<Value>>;

/// Reshapes flat elements to the extents of the comprehension; `None` for arrays of tuples or records with more
/// than one axis.
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

pub(crate) fn numbers(v: &Value) -> bool {
    match v {
        Value::Array(a) => matches!(a.kind(), Kind::F64 | Kind::F32 | Kind::I64 | Kind::Bool),
        other => matches!(other, Value::Dual(_)),
    }
}

fn reduce(
    machine: &mut Machine,
    reduction: ReductionFn,
    func: &Value,
    shape: &Shape,
    total: usize,
    run: Strip,
) -> Res<Option<Value>> {
    if matches!(reduction, ReductionFn::Sum | ReductionFn::Mean) {
        return summed(machine, func, shape, total, run)?
            .map_or(Ok(None), |s| mean(machine, reduction, s, total).map(Some));
    }
    let op = match reduction {
        ReductionFn::Prod => Bin::Mul,
        ReductionFn::Maximum => Bin::Max,
        ReductionFn::Minimum => Bin::Min,
        _ => return Ok(None),
    };
    let mut acc: Option<Value> = None;
    let mut lo = 0;
    while lo < total {
        machine.poll()?;
        let hi = total.min(lo + STRIP);
        let Some(part) =
            run(machine, func, shape, lo, hi)?.filter(|v| numbers(v) && seq::shape(v).is_some_and(|s| s.len() == 1))
        else {
            return Ok(None);
        };
        acc = Some(match (reduction, acc, &part) {
            // In the order of the elements.
            (ReductionFn::Prod, Some(Value::Float(x)), Value::Array(a)) if a.kind() == Kind::F64 => {
                Value::Float(floats(a).iter().fold(x, |x, y| x * y))
            }
            (_, acc, _) => {
                let rep = Value::Rep(Rc::new(rep_of(&part)));
                let v = call(machine, reduction, &[rep], vec![part])?;
                match acc {
                    None => v,
                    Some(a) => arith::bin(machine, op, a, v)?,
                }
            }
        });
        lo = hi;
    }
    Ok(acc)
}

fn floats(a: &Array) -> &[f64] {
    match a.buf() {
        Buf::F64(v) => v,
        _ => &[],
    }
}

fn rep_of(v: &Value) -> Rep {
    match compare::primal(v) {
        Value::Array(a) if a.kind() == Kind::I64 => Rep::Int,
        Value::Array(a) if a.kind() == Kind::F32 => Rep::F32,
        _ => Rep::Float,
    }
}

/// The sum of a body's values, if it can be evaluated in strips. Taped values are added strip by strip.
fn summed(machine: &mut Machine, f: &Value, shape: &Shape, total: usize, run: Strip) -> Res<Option<Value>> {
    let mut sums = Sums::over(shape);
    let mut taped: Option<Value> = None;
    let mut lo = 0;
    while lo < total {
        machine.poll()?;
        let hi = total.min(lo + STRIP);
        let Some(v) =
            run(machine, f, shape, lo, hi)?.filter(|v| numbers(v) && seq::shape(v).is_some_and(|s| s.len() == 1))
        else {
            return Ok(None);
        };
        match &v {
            Value::Array(a) => sums.all(machine, a)?,
            _ => {
                let rep = Value::Rep(Rc::new(rep_of(&v)));
                let v = call(machine, Prim::Reduction(ReductionFn::Sum), &[rep], vec![v])?;
                taped = Some(match taped {
                    None => v,
                    Some(t) => arith::bin(machine, Bin::Add, t, v)?,
                });
            }
        }
        lo = hi;
    }
    match (sums.total(), taped) {
        (Some(a), Some(b)) => arith::bin(machine, Bin::Add, a, b).map(Some),
        (a, b) => Ok(a.or(b)),
    }
}

/// Evaluates the body on arrays of indices. A scalar that does not depend on them is repeated.
fn strip(m: &mut Machine, f: &Value, shape: &Shape, lo: usize, hi: usize) -> Res<Option<Value>> {
    let args = indices(shape, lo, hi)?;
    let v = m.call(f, &args)?;
    match &v {
        _ if seq::shape(&v).is_some() => Ok(Some(v)),
        Value::Float(_) | Value::F32(_) | Value::Int(_) | Value::Bool(_) | Value::Dual(_) => {
            call(m, Prim::Array(ArrayFn::Replicate), &[], vec![Value::Int((hi - lo) as i64), v]).map(Some)
        }
        _ => Ok(None),
    }
}

/// Evaluates the body by batched interpretation.
fn lanes(m: &mut Machine, f: &Value, shape: &Shape, lo: usize, hi: usize) -> Res<Option<Value>> {
    let args = indices(shape, lo, hi)?;
    Ok(crate::vm::lanes::map(m, f, &args, hi - lo))
}

/// For each axis, the indices from the `lo`-th to the `hi`-th tuple.
fn indices(shape: &Shape, lo: usize, hi: usize) -> Res<Vec<Value>> {
    (0..shape.len())
        .map(|axis| {
            let stride: usize = shape[axis + 1..].iter().product();
            Ok(array::ints(polling::collect(hi - lo, |t| (((lo + t) / stride) % shape[axis]) as i64)?))
        })
        .collect()
}

/// `array[i, j, ...]` at arrays of indices and single indices: the elements as one array.
pub(crate) fn elements(machine: &mut Machine, array: &Value, indices: &[Value]) -> Res<Value> {
    let shape = seq::shape(array).cloned().unwrap_or_default();
    let count = indices.iter().find_map(ints).map_or(0, <[i64]>::len);
    let mut flat: Vec<i64> = array::filled(0, count)?;
    for (axis, i) in indices.iter().enumerate() {
        let extent = shape.get(axis).copied().unwrap_or(0);
        for (k, slot) in flat.iter_mut().enumerate() {
            if k % polling::STRIDE == 0 {
                polling::poll()?;
            }
            let i = ints(i).map_or_else(|| int(i), |v| v[k]);
            if usize::try_from(i).map_or(true, |i| i >= extent) {
                return Err(seq::out_of_bounds(i, extent));
            }
            *slot = *slot * extent as i64 + i;
        }
    }
    if let Value::Array(a) = array {
        // Untraced arrays are read in place.
        match a.buf() {
            Buf::F64(v) if !(shape.len() == 1 && v.len() == count) => {
                return Ok(array::floats(flat.iter().map(|i| v[*i as usize]).collect()));
            }
            Buf::I64(v) => return Ok(array::ints(flat.iter().map(|i| v[*i as usize]).collect())),
            _ => {}
        }
    }
    let total: usize = shape.iter().product();
    let whole = flat.len() == total && flat.iter().enumerate().all(|(k, i)| k as i64 == *i);
    let line = if shape.len() == 1 {
        array.clone()
    } else {
        crate::ad::rules::reshape(machine, array.clone(), Shape::from_slice(&[total]))?
    };
    if whole { Ok(line) } else { call(machine, Prim::Array(ArrayFn::Gather), &[], vec![line, array::ints(flat)]) }
}

fn ints(v: &Value) -> Option<&[i64]> {
    match v {
        Value::Array(a) => match a.buf() {
            Buf::I64(v) => Some(v),
            _ => None,
        },
        _ => None,
    }
}

/// Whether any index is an array.
pub(crate) fn any_array(indices: &[Value]) -> bool {
    indices.iter().any(|i| ints(i).is_some())
}
