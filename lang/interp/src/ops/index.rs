//! Indexing: `x[i, j]`, `x[a:b, :]`.

use super::{call, int};
use crate::error::Res;
use crate::upcalls::Upcalls;
use crate::value::{Buf, Value, array, seq};
use crate::vm::code::IndexKind;
use adl_prim::{ArrayFn, Prim};

/// Indexes an array, traced or not, by positions and slices.
pub fn index(machine: &mut dyn Upcalls, array: &Value, kinds: &[IndexKind], args: &[Value]) -> Res<Value> {
    if let Some(x) = number(array, args).filter(|_| kinds.iter().all(|k| matches!(k, IndexKind::At))) {
        return Ok(x);
    }
    let shape = seq::shape(array).cloned().unwrap_or_default();
    let mut ranges = Vec::new();
    let mut next = 0;
    for (axis, k) in kinds.iter().enumerate() {
        let extent = shape.get(axis).copied().unwrap_or(0);
        ranges.push(match k {
            IndexKind::At => {
                let i = int(&args[next]);
                next += 1;
                match usize::try_from(i) {
                    Ok(i) if i < extent => (i, i + 1, true),
                    _ => return Err(seq::out_of_bounds(i, extent)),
                }
            }
            IndexKind::Slice(lo, hi) => {
                let mut bound = |given: bool, default: usize| {
                    if !given {
                        return default as i64;
                    }
                    next += 1;
                    int(&args[next - 1])
                };
                let (lo, hi) = (bound(*lo, 0), bound(*hi, extent));
                match (usize::try_from(lo), usize::try_from(hi)) {
                    (Ok(a), Ok(b)) if a <= b && b <= extent => (a, b, false),
                    _ => return Err(seq::slice_out_of_bounds(lo, hi, extent)),
                }
            }
        });
    }
    // Leading positions are applied first; each selects one element of the first axis.
    let mut v = array.clone();
    let lead = ranges.iter().take_while(|r| r.2).count();
    for r in &ranges[..lead] {
        v = seq::elem(machine, &v, r.0)?;
    }
    slices(machine, v, &ranges[lead..])
}

/// The frequent case: a scalar of an untraced array, with as many indices as axes, all in bounds.
fn number(source: &Value, args: &[Value]) -> Option<Value> {
    let Value::Array(a) = source else { return None };
    if a.shape.len() != args.len() {
        return None;
    }
    let mut at = 0;
    for (i, n) in args.iter().zip(&a.shape) {
        let Value::Int(i) = i else { return None };
        let i = usize::try_from(*i).ok().filter(|i| i < n)?;
        at = at * n + i;
    }
    match a.buf() {
        Buf::F64(v) => Some(Value::Float(v[at])),
        Buf::I64(v) => Some(Value::Int(v[at])),
        _ => None,
    }
}

fn slices(machine: &mut dyn Upcalls, value: Value, ranges: &[(usize, usize, bool)]) -> Res<Value> {
    let Some((first, rest)) = ranges.split_first() else { return Ok(value) };
    if rest.is_empty() {
        return match first {
            (i, _, true) => seq::elem(machine, &value, *i),
            (0, b, false) if *b == seq::len(&value) => Ok(value),
            (a, b, false) => {
                let at = array::ints((*a as i64..*b as i64).collect());
                call(machine, Prim::Array(ArrayFn::Gather), &[], vec![value, at])
            }
        };
    }
    // Slices of several axes are a single gather over the flat elements.
    let shape = seq::shape(&value).cloned().unwrap_or_default();
    let inner: usize = shape[ranges.len()..].iter().product();
    let mut at = vec![0usize];
    let mut out: Vec<i64> = Vec::new();
    for (k, r) in ranges.iter().enumerate() {
        let stride: usize = shape[k + 1..].iter().product();
        at = at.iter().flat_map(|o| (r.0..r.1).map(move |i| o + i * stride)).collect();
        if !r.2 {
            out.push((r.1 - r.0) as i64);
        }
    }
    out.extend(shape[ranges.len()..].iter().map(|n| *n as i64));
    let flat_at: Vec<i64> = at.iter().flat_map(|o| (0..inner).map(move |i| (o + i) as i64)).collect();
    let total = shape.iter().product::<usize>() as i64;
    let flat = call(machine, Prim::Array(ArrayFn::Reshape), &[], vec![array::ints(vec![total]), value])?;
    let picked = call(machine, Prim::Array(ArrayFn::Gather), &[], vec![flat, array::ints(flat_at)])?;
    if out.is_empty() {
        return seq::elem(machine, &picked, 0);
    }
    call(machine, Prim::Array(ArrayFn::Reshape), &[], vec![array::ints(out), picked])
}
