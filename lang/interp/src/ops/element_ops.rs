//! Operations on elements and rows of arrays: reads, in-place additions, sums. Arrays are never traced values:
//! those occur only in taped AD.

use crate::error::{Error, Res, codes};
use crate::ops::interrupt::InterruptFlag;
use crate::ops::{arith, parallel};
use crate::polling;
use crate::upcalls::{Upcalls, call};
use crate::value::{Array, Buf, Kind, Shape, Value, array, seq};
use adl_prim::{ArrayFn, Bin, Prim, ReductionFn};
use std::rc::Rc;

/// The error if an operation needs the shape of a symbolic zero; the derivative is then computed by taped AD.
pub(crate) fn symbolic_zero(operation: &str) -> Box<Error> {
    Error::new(codes::STRUCTURE, format!("the shape of an absent array is not known here ({operation})"))
}

fn kind() -> Box<Error> {
    Error::new(codes::STRUCTURE, "arrays of different elements")
}

fn arr(v: &Value) -> Res<&Rc<Array>> {
    match v {
        Value::Array(a) => Ok(a),
        _ => Err(symbolic_zero("elements")),
    }
}

fn int(v: &Value) -> i64 {
    match v {
        Value::Int(n) => *n,
        _ => 0,
    }
}

/// The offset of the elements at leading indices, and their number.
fn offset(a: &Array, at: &[Value]) -> Res<(usize, usize)> {
    let mut o = 0;
    for (i, n) in at.iter().zip(&a.shape) {
        let i = int(i);
        let k = usize::try_from(i).ok().filter(|k| k < n).ok_or_else(|| seq::out_of_bounds(i, *n))?;
        o = o * n + k;
    }
    let row = a.shape[at.len().min(a.shape.len())..].iter().product();
    Ok((o * row, row))
}

/// Checks that leading indices are in bounds.
pub(crate) fn within_bounds(a: &Array, at: &[Value]) -> Res<()> {
    offset(a, at).map(|_| ())
}

/// `a[i, j, ...]`.
pub(crate) fn at(a: &Value, at: &[Value]) -> Res<Value> {
    let a = arr(a)?;
    let (o, row) = offset(a, at)?;
    if at.len() >= a.shape.len() {
        return Ok(flat_of(a, o));
    }
    let buf = copied(a, o..o + row)?;
    Ok(array::make(a.shape[at.len()..].into(), buf))
}

/// A copy of a range of the elements of a flat array.
fn copied(a: &Array, range: std::ops::Range<usize>) -> Res<Buf> {
    Ok(match a.buf() {
        Buf::F64(v) => Buf::F64(polling::cloned(&v[range])),
        Buf::F32(v) => Buf::F32(polling::cloned(&v[range])),
        Buf::I64(v) => Buf::I64(polling::cloned(&v[range])),
        Buf::Bool(v) => Buf::Bool(polling::cloned(&v[range])),
        Buf::Boxed(v) => Buf::Boxed(polling::cloned(&v[range])),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => return Err(kind()),
    })
}

fn flat_of(a: &Array, i: usize) -> Value {
    match a.buf() {
        Buf::F64(v) => Value::Float(v[i]),
        Buf::F32(v) => Value::F32(v[i]),
        Buf::I64(v) => Value::Int(v[i]),
        Buf::Bool(v) => Value::Bool(v[i]),
        Buf::Boxed(v) => v[i].clone(),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => Value::Unit,
    }
}

/// Element `i` in row-major order; a scalar is broadcast.
pub(crate) fn flat(v: &Value, i: usize) -> Value {
    match v {
        Value::Array(a) => flat_of(a, i),
        other => other.clone(),
    }
}

/// A vector of `n` zeros of the scalar type given by a run-time type representation.
pub(crate) fn zero_vector(n: &Value, reps: &[Value]) -> Res<Value> {
    let narrow = matches!(reps.first(), Some(Value::Rep(r)) if matches!(**r, crate::value::Rep::F32));
    let like = if narrow { Value::F32(0.0) } else { Value::Float(0.0) };
    zero_like_elements(&like, Shape::from_slice(&[usize::try_from(int(n)).unwrap_or(0)]))
}

/// The extents stored in an array of Ints.
pub(crate) fn extents(shape: &Value) -> Option<Shape> {
    match shape {
        Value::Array(s) => match s.buf() {
            Buf::I64(v) => Some(v.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect()),
            _ => None,
        },
        _ => None,
    }
}

/// A zero array of the given shape, to which `v` will be added at `at` leading indices.
pub(crate) fn zeros(shape: &Value, v: &Value, at: usize) -> Res<Value> {
    let shape = extents(shape).ok_or_else(|| symbolic_zero("zeros of a shape"))?;
    if shape.is_empty() {
        return Ok(Value::Zero);
    }
    if at == shape.len() && matches!(v, Value::Array(_)) {
        // The array has boxed elements, because arrays of different shapes may be added to it.
        return Ok(array::make(shape.clone(), Buf::Boxed(array::filled(Value::Zero, array::count(&shape)?)?)));
    }
    zero_like_elements(v, shape)
}

/// A zero array with the scalar type of `like`.
pub(crate) fn zero_like_elements(like: &Value, shape: Shape) -> Res<Value> {
    let count = array::count(&shape)?;
    let buf = match like {
        Value::F32(_) => Buf::F32(array::filled(0.0, count)?),
        Value::Int(_) => Buf::I64(array::filled(0, count)?),
        Value::Array(a) => match a.buf() {
            Buf::F32(_) => Buf::F32(array::filled(0.0, count)?),
            Buf::I64(_) => Buf::I64(array::filled(0, count)?),
            Buf::Boxed(_) => Buf::Boxed(array::filled(Value::Zero, count)?),
            _ => Buf::F64(array::filled(0.0, count)?),
        },
        Value::Data(_) => Buf::Boxed(array::filled(Value::Zero, count)?),
        _ => Buf::F64(array::filled(0.0, count)?),
    };
    Ok(array::make(shape, buf))
}

/// The array itself if it is not shared, otherwise a copy.
fn owned(v: Value) -> Res<Array> {
    match v {
        Value::Array(a) => Ok(Rc::try_unwrap(a).unwrap_or_else(|a| (*a).clone())),
        _ => Err(symbolic_zero("update")),
    }
}

fn add_ints(d: &mut [i64], s: &[i64]) -> Res<()> {
    for (d, s) in d.iter_mut().zip(s) {
        *d = arith::int_bin(Bin::Add, *d, *s)?;
    }
    Ok(())
}

/// Adds `value` to the elements of `acc` from offset `offset` on, or to one element that is an array itself (`boxed`).
fn add_run(machine: &mut dyn Upcalls, acc: &mut Array, offset: usize, value: &Value, boxed: bool) -> Res<()> {
    match (acc.buf_mut(), value) {
        (Buf::F64(d), Value::Float(x)) => d[offset] += x,
        (Buf::F32(d), Value::F32(x)) => d[offset] += x,
        (Buf::I64(d), Value::Int(x)) => d[offset] = arith::int_bin(Bin::Add, d[offset], *x)?,
        (Buf::I64(d), Value::Array(a)) => match a.buf() {
            Buf::I64(s) => add_ints(&mut d[offset..offset + s.len()], s)?,
            _ if a.is_empty() => {}
            _ => return Err(kind()),
        },
        (Buf::F64(d), Value::Array(a)) => match a.buf() {
            Buf::F64(s) => d[offset..offset + s.len()].iter_mut().zip(s).for_each(|(d, s)| *d += s),
            _ if a.is_empty() => {}
            _ => return Err(kind()),
        },
        (Buf::F32(d), Value::Array(a)) => match a.buf() {
            Buf::F32(s) => d[offset..offset + s.len()].iter_mut().zip(s).for_each(|(d, s)| *d += s),
            _ if a.is_empty() => {}
            _ => return Err(kind()),
        },
        (Buf::Boxed(d), Value::Array(a)) if !boxed => match a.buf() {
            Buf::Boxed(s) => {
                for (d, s) in d[offset..offset + s.len()].iter_mut().zip(s) {
                    *d = arith::bin(machine, Bin::Add, std::mem::take(d), s.clone())?;
                }
            }
            _ => d[offset] = arith::bin(machine, Bin::Add, std::mem::take(&mut d[offset]), value.clone())?,
        },
        (Buf::Boxed(d), v) => d[offset] = arith::bin(machine, Bin::Add, std::mem::take(&mut d[offset]), v.clone())?,
        _ => return Err(kind()),
    }
    Ok(())
}

/// `acc` with `v` added at the indices, in place if `acc` is not shared.
pub(crate) fn add_at(m: &mut dyn Upcalls, acc: Value, at: &[Value], v: Value) -> Res<Value> {
    if matches!(v, Value::Zero) {
        return Ok(acc);
    }
    let mut acc = owned(acc)?;
    let (o, row) = offset(&acc, at)?;
    check_row(&acc, at.len(), row, &v)?;
    let boxed = at.len() >= acc.shape.len();
    add_run(m, &mut acc, o, &v, boxed)?;
    Ok(Value::Array(Rc::new(acc)))
}

fn check_row(acc: &Array, axes: usize, row: usize, v: &Value) -> Res<()> {
    match v {
        Value::Array(a)
            if (acc.kind() != Kind::Boxed || axes < acc.shape.len()) && a.shape.iter().product::<usize>() != row =>
        {
            Err(arith::shapes_differ(&acc.shape[axes.min(acc.shape.len())..], &a.shape))
        }
        _ => Ok(()),
    }
}

/// `a[lo:hi]`.
pub(crate) fn slice(a: &Value, lo: &Value, hi: &Value) -> Res<Value> {
    let a = arr(a)?;
    let (n, l, h) = (a.len(), int(lo), int(hi));
    let (l, h) = match (usize::try_from(l), usize::try_from(h)) {
        (Ok(l), Ok(h)) if l <= h && h <= n => (l, h),
        _ => return Err(seq::slice_out_of_bounds(l, h, n)),
    };
    let row: usize = a.shape[1..].iter().product();
    let buf = copied(a, l * row..h * row)?;
    let shape = std::iter::once(h - l).chain(a.shape[1..].iter().copied()).collect();
    Ok(array::make(shape, buf))
}

/// `acc` with `v` added to its rows from `lo` on.
pub(crate) fn add_slice(m: &mut dyn Upcalls, acc: Value, lo: &Value, v: Value) -> Res<Value> {
    if matches!(v, Value::Zero) {
        return Ok(acc);
    }
    let mut acc = owned(acc)?;
    let (n, k, lo) = (acc.len(), seq::len(&v), int(lo));
    let row: usize = acc.shape[1..].iter().product();
    match usize::try_from(lo) {
        Ok(lo) if lo + k <= n => add_run(m, &mut acc, lo * row, &v, false)?,
        _ => return Err(seq::out_of_bounds(lo, n)),
    }
    Ok(Value::Array(Rc::new(acc)))
}

/// An array of the given shape that is zero, except that its rows from `lo` on are `v`; each element is written
/// once.
pub(crate) fn within(upcalls: &mut dyn Upcalls, shape: &Value, lo: &Value, value: &Value) -> Res<Value> {
    let zero = || zeros(shape, value, 0);
    let (Value::Array(a), Some(shape)) = (value, extents(shape)) else {
        return add_slice(upcalls, zero()?, lo, value.clone());
    };
    if shape.is_empty() {
        return Ok(Value::Zero);
    }
    let (Buf::F64(x), Ok(at)) = (a.buf(), usize::try_from(int(lo))) else {
        return add_slice(upcalls, zero()?, lo, value.clone());
    };
    let (row, total) = (shape[1..].iter().product::<usize>(), array::count(&shape)?);
    if a.shape[1..] != shape[1..] || at * row + x.len() > total {
        return add_slice(upcalls, zero()?, lo, value.clone());
    }
    let mut out: Vec<f64> = array::room(total)?;
    out.resize(at * row, 0.0);
    // Matches the sum 0 + x, which is never -0.
    out.extend(x.iter().map(|x| 0.0 + x));
    out.resize(total, 0.0);
    Ok(array::make(shape, Buf::F64(out)))
}

/// Whether [`gather_or_zero`] handles this gather: for vectors of Floats always, in one pass; for other arrays
/// if an index is out of bounds.
pub(crate) fn out_of_bounds(a: &Value, at: &Value) -> bool {
    let n = seq::len(a);
    if matches!(a, Value::Array(a) if a.shape.len() == 1 && a.kind() == Kind::F64)
        && matches!(at, Value::Array(at) if at.shape.len() == 1 && at.kind() == Kind::I64)
    {
        return true;
    }
    matches!(at, Value::Array(at) if matches!(at.buf(), Buf::I64(at) if at.iter().any(|i| *i < 0 || *i as usize >= n)))
}

/// The elements at the indices; zeros for indices out of bounds.
pub(crate) fn gather_or_zero(m: &dyn Upcalls, source: &Value, at: &Value) -> Res<Value> {
    let (a, at) = (arr(source)?, arr(at)?);
    if let (Buf::F64(x), Buf::I64(at), 1) = (a.buf(), at.buf(), a.shape.len()) {
        // A negative index becomes a large unsigned number, which is out of bounds.
        let part = |start: usize, out: &mut [f64]| {
            out.iter_mut().zip(&at[start..]).for_each(|(o, i)| *o = x.get(*i as usize).copied().unwrap_or(0.0));
        };
        return Ok(array::floats(parallel::made(InterruptFlag(m.interrupt()), at.len(), part)?));
    }
    let (rows, row): (usize, usize) = (a.len(), a.shape[1..].iter().product());
    // Indices out of bounds are redirected to an extra row of zeros at the end.
    let mut longer = Array::clone(a);
    longer.shape[0] = rows + 1;
    match longer.buf_mut() {
        Buf::F64(x) => x.resize(x.len() + row, 0.0),
        Buf::F32(x) => x.resize(x.len() + row, 0.0),
        Buf::I64(x) => x.resize(x.len() + row, 0),
        Buf::Bool(x) => x.resize(x.len() + row, false),
        Buf::Boxed(x) => x.resize(x.len() + row, Value::Zero),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => return Err(kind()),
    }
    let Buf::I64(at) = at.buf() else { return Err(kind()) };
    let at: Vec<usize> = at.iter().map(|i| usize::try_from(*i).map_or(rows, |i| i.min(rows))).collect();
    Ok(Value::Array(Rc::new(array::gather_rows(&longer, &at, &[at.len()])?)))
}

/// Adds each row of `s` to the row of `d` that `place` selects, if any.
fn add_rows<T: Copy + std::ops::AddAssign>(
    d: &mut [T],
    s: &[T],
    at: &[i64],
    row: usize,
    place: &impl Fn(i64) -> Res<Option<usize>>,
) -> Res<()> {
    for (k, i) in at.iter().enumerate() {
        match place(*i)? {
            Some(i) if row == 1 => d[i] += s[k],
            Some(i) => d[i * row..(i + 1) * row].iter_mut().zip(&s[k * row..(k + 1) * row]).for_each(|(d, s)| *d += *s),
            None => {}
        }
    }
    Ok(())
}

/// `acc` with the elements of `v` added at the indices. If `within`, indices out of bounds are ignored.
pub(crate) fn add_gather(machine: &mut dyn Upcalls, acc: Value, at: &Value, value: Value, within: bool) -> Res<Value> {
    if matches!(value, Value::Zero) {
        return Ok(acc);
    }
    let mut acc = owned(acc)?;
    let n = acc.len();
    let row: usize = acc.shape[1..].iter().product();
    let (at, v) = (arr(at)?.clone(), arr(&value)?.clone());
    let Buf::I64(at) = at.buf() else { return Ok(Value::Array(Rc::new(acc))) };
    let place = |i: i64| match usize::try_from(i).ok().filter(|i| *i < n) {
        None if !within => Err(seq::out_of_bounds(i, n)),
        i => Ok(i),
    };
    match (acc.buf_mut(), v.buf()) {
        (Buf::F64(d), Buf::F64(s)) => add_rows(d, s, at, row, &place)?,
        (Buf::F32(d), Buf::F32(s)) => add_rows(d, s, at, row, &place)?,
        (Buf::I64(d), Buf::I64(s)) => {
            for (k, i) in at.iter().enumerate() {
                let Some(i) = place(*i)? else { continue };
                add_ints(&mut d[i * row..(i + 1) * row], &s[k * row..(k + 1) * row])?;
            }
        }
        (Buf::Boxed(d), Buf::Boxed(s)) => {
            for (k, i) in at.iter().enumerate() {
                let Some(i) = place(*i)? else { continue };
                for (d, s) in d[i * row..(i + 1) * row].iter_mut().zip(&s[k * row..(k + 1) * row]) {
                    *d = arith::bin(machine, Bin::Add, std::mem::take(d), s.clone())?;
                }
            }
        }
        _ if at.is_empty() => {}
        _ => return Err(kind()),
    }
    Ok(Value::Array(Rc::new(acc)))
}

/// `updated` with the element at the indices replaced by `value`, which may be a symbolic zero. If `updated` is a symbolic
/// zero, it is returned unchanged.
pub(crate) fn put(updated: Value, at: &[Value], value: &Value) -> Res<Value> {
    if matches!(updated, Value::Zero) {
        return Ok(updated);
    }
    let mut array = owned(updated)?;
    let (start, row) = offset(&array, at)?;
    let below = at.len() < array.shape.len();
    macro_rules! row {
        ($d:expr, $kind:ident) => {
            match value {
                Value::Array(a) => match a.buf() {
                    Buf::$kind(s) if s.len() == row => polling::write(&mut $d[start..start + row], s),
                    _ => return Err(kind()),
                },
                _ => return Err(kind()),
            }
        };
    }
    match (array.buf_mut(), value) {
        (Buf::F64(d), Value::Zero) => d[start..start + row].fill(0.0),
        (Buf::F32(d), Value::Zero) => d[start..start + row].fill(0.0),
        (Buf::Boxed(d), Value::Zero) => d[start..start + row].fill(Value::Zero),
        (Buf::F64(d), Value::Float(x)) => d[start] = *x,
        (Buf::F32(d), Value::F32(x)) => d[start] = *x,
        (Buf::I64(d), Value::Int(x)) => d[start] = *x,
        (Buf::Bool(d), Value::Bool(x)) => d[start] = *x,
        (Buf::F64(d), _) => row!(d, F64),
        (Buf::F32(d), _) => row!(d, F32),
        (Buf::I64(d), _) => row!(d, I64),
        (Buf::Bool(d), _) => row!(d, Bool),
        (Buf::Boxed(d), _) if below => row!(d, Boxed),
        (Buf::Boxed(d), v) => d[start] = v.clone(),
        (Buf::Unit, _) => {}
        _ => return Err(kind()),
    }
    Ok(Value::Array(Rc::new(array)))
}

/// The sum along the first axis.
pub(crate) fn sum(machine: &mut dyn Upcalls, value: Value) -> Res<Value> {
    let rep = match &value {
        Value::Array(a) if a.shape.len() > 1 && a.is_empty() => return zero_like_elements(&value, a.shape[1..].into()),
        Value::Array(operand) => match operand.buf() {
            Buf::F32(_) => crate::value::Rep::F32,
            Buf::I64(_) => crate::value::Rep::Int,
            Buf::Boxed(parts) => {
                let row = operand.shape[1..].iter().product();
                let mut sums = vec![Value::Zero; row];
                for (k, p) in parts.iter().enumerate() {
                    let sum = &mut sums[k % row];
                    *sum = arith::bin(machine, Bin::Add, std::mem::take(sum), p.clone())?;
                }
                let one = if operand.shape.len() == 1 { sums.pop() } else { None };
                return Ok(one.unwrap_or_else(|| array::make(operand.shape[1..].into(), Buf::Boxed(sums))));
            }
            _ => crate::value::Rep::Float,
        },
        _ => return Err(symbolic_zero("sum")),
    };
    call(machine, Prim::Reduction(ReductionFn::Sum), &[Value::Rep(Rc::new(rep))], vec![value])
}

/// The sum of all elements.
pub(crate) fn total(v: &Value) -> Res<Value> {
    match v {
        Value::Array(a) => Ok(match a.buf() {
            Buf::F64(x) => Value::Float(crate::ops::kernels::sum(x)),
            Buf::F32(x) => Value::F32(crate::ops::kernels::sum_of_singles(x)),
            Buf::I64(x) => Value::Int(x.iter().try_fold(0i64, |a, b| arith::int_bin(Bin::Add, a, *b))?),
            _ => return Err(kind()),
        }),
        number => Ok(number.clone()),
    }
}

/// An array of the given shape, filled with one number.
pub(crate) fn spread(m: &mut dyn Upcalls, a: &Value, shape: &Value) -> Res<Value> {
    let shape = extents(shape).ok_or_else(|| symbolic_zero("zeros of a shape"))?;
    let n = array::count(&shape)?;
    match call(m, Prim::Array(ArrayFn::Replicate), &[], vec![Value::Int(n as i64), a.clone()])? {
        Value::Array(flat) => {
            let mut flat = Rc::try_unwrap(flat).unwrap_or_else(|a| (*a).clone());
            flat.shape = shape;
            Ok(Value::Array(Rc::new(flat)))
        }
        other => Ok(other),
    }
}
