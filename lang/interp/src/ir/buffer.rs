//! Buffers in which loops collect their outputs: arrays that are owned by one register and grow in place.
//!
//! A new buffer has no rows, and its row extents are unknown. The first materialised row determines them. Rows
//! that are symbolic zeros before it are only counted, and are filled with zeros when the row extents become
//! known. If all rows are symbolic zeros, so is the collected array.

use crate::error::{Error, Res, codes};
use crate::limits::ir_buffer::{AHEAD, ROOM};
use crate::value::{Array, Buf, Shape, Value, array};
use crate::{memory, polling};
use adl_ir::Ty;
use std::rc::Rc;

/// An empty buffer for elements of type `elem`, each in a box if `boxed`. `count` is the expected number of
/// elements, if it is an Int.
pub fn empty(elem: &Ty, boxed: bool, count: &Value) -> Res<Value> {
    let expected = match count {
        Value::Int(n) => usize::try_from(*n).unwrap_or(0).min(ROOM),
        _ => 0,
    };
    let rank = elem.rank() as usize;
    let room = if rank > 0 { 0 } else { expected };
    let buf = match elem.scalar() {
        _ if boxed => Buf::Boxed(array::room(room)?),
        Ty::F64 => Buf::F64(array::room(room)?),
        Ty::F32 => Buf::F32(array::room(room)?),
        Ty::I64 => Buf::I64(array::room(room)?),
        Ty::Bool => Buf::Bool(array::room(room)?),
        Ty::Str | Ty::Data(_) | Ty::Array(..) => Buf::Boxed(array::room(room)?),
    };
    // Row axes that are not known yet are marked by an extent that no array has. The first of them encodes the
    // expected number of rows.
    let mut shape: Shape = Shape::from_elem(UNKNOWN, 1 + if boxed { 0 } else { rank });
    shape[0] = 0;
    if let Some(first) = shape.get_mut(1) {
        *first -= expected;
    }
    Ok(array::make(shape, buf))
}

const UNKNOWN: usize = usize::MAX;

/// The expected number of rows, if the row extents are not known yet.
fn expected_rows(shape: &[usize]) -> Option<usize> {
    shape.get(1).map(|first| UNKNOWN - first).filter(|rows| *rows <= ROOM)
}

/// Reserves space for `count` elements. A failure is ignored here and reported when the elements are pushed.
fn reserve(buf: &mut Buf, count: usize) {
    fn of<T>(v: &mut Vec<T>, n: usize) {
        if n.saturating_mul(size_of::<T>()) <= AHEAD {
            let _ = v.try_reserve_exact(n);
        }
    }
    match buf {
        Buf::F64(b) => of(b, count),
        Buf::F32(b) => of(b, count),
        Buf::I64(b) => of(b, count),
        Buf::Bool(b) => of(b, count),
        Buf::Boxed(b) => of(b, count),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => {}
    }
}

/// Appends a Float to a buffer of Floats. Returns false, without a change, if `acc` is not an unshared buffer
/// of Floats.
#[inline]
pub(crate) fn push_float(acc: &mut Value, x: f64) -> bool {
    if let Value::Array(rc) = acc
        && let Some((shape, Buf::F64(b))) = Rc::get_mut(rc).map(Array::parts_mut)
        && let [n] = &mut shape[..]
    {
        if memory::grow(b, 1).is_err() {
            // The caller's slower path reports the error.
            return false;
        }
        *n += 1;
        b.push(x);
        return true;
    }
    false
}

/// Appends an element.
pub fn push(acc: &mut Value, value: &Value) -> Res<()> {
    let Value::Array(rc) = acc else { return Err(kind()) };
    if Rc::get_mut(rc).is_none() {
        *rc = Rc::new((**rc).clone());
    }
    let Some(array) = Rc::get_mut(rc) else { return Err(kind()) };
    let axes = array.shape.len();
    if axes == 1 {
        grow(array.buf_mut(), 1)?;
    }
    match (array.buf_mut(), value) {
        (Buf::F64(b), Value::Float(x)) => b.push(*x),
        (Buf::I64(b), Value::Int(x)) => b.push(*x),
        (Buf::Bool(b), Value::Bool(x)) => b.push(*x),
        (Buf::F32(b), Value::F32(x)) => b.push(*x),
        (Buf::Boxed(b), v) if axes == 1 => b.push(v.clone()),
        (_, Value::Array(row)) => push_row(array, row)?,
        (_, Value::Zero) => push_zero(array)?,
        _ => return Err(kind()),
    }
    array.shape[0] += 1;
    Ok(())
}

fn kind() -> Box<Error> {
    Error::new(codes::STRUCTURE, "elements of different kinds in one array")
}

fn push_row(array: &mut Array, row: &Array) -> Res<()> {
    if let Some(rows) = expected_rows(&array.shape) {
        let each = row.shape.iter().product::<usize>();
        let pending = array.shape[0] * each;
        array.shape.truncate(1);
        array.shape.extend_from_slice(&row.shape);
        let whole = rows.max(array.shape[0]).saturating_mul(each);
        reserve(array.buf_mut(), whole);
        fill(array.buf_mut(), pending)?;
    }
    if array.shape[1..] != row.shape[..] {
        return Err(Error::new(
            codes::RAGGED,
            format!("row {} has shape {:?}, row 0 has shape {:?}", array.shape[0], &row.shape[..], &array.shape[1..]),
        )
        .hint("all rows of an array have one shape"));
    }
    grow(array.buf_mut(), row.shape.iter().product())?;
    match (array.buf_mut(), row.buf()) {
        (Buf::F64(b), Buf::F64(x)) => polling::append(b, x),
        (Buf::F32(b), Buf::F32(x)) => polling::append(b, x),
        (Buf::I64(b), Buf::I64(x)) => polling::append(b, x),
        (Buf::Bool(b), Buf::Bool(x)) => polling::append(b, x),
        (Buf::Boxed(b), Buf::Boxed(x)) => polling::append(b, x),
        _ if row.is_empty() => {}
        _ => return Err(kind()),
    }
    Ok(())
}

fn push_zero(a: &mut Array) -> Res<()> {
    if expected_rows(&a.shape).is_some() {
        return Ok(());
    }
    let n = a.shape[1..].iter().product();
    fill(a.buf_mut(), n)
}

/// Reserves space for `n` more elements.
fn grow(b: &mut Buf, n: usize) -> Res<()> {
    match b {
        Buf::F64(b) => memory::grow(b, n),
        Buf::F32(b) => memory::grow(b, n),
        Buf::I64(b) => memory::grow(b, n),
        Buf::Bool(b) => memory::grow(b, n),
        Buf::Boxed(b) => memory::grow(b, n),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => Ok(()),
    }
}

fn fill(b: &mut Buf, n: usize) -> Res<()> {
    grow(b, n)?;
    match b {
        Buf::F64(b) => b.resize(b.len() + n, 0.0),
        Buf::F32(b) => b.resize(b.len() + n, 0.0),
        Buf::I64(b) => b.resize(b.len() + n, 0),
        Buf::Bool(b) => b.resize(b.len() + n, false),
        Buf::Boxed(b) => b.resize(b.len() + n, Value::Zero),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => {}
    }
    Ok(())
}

/// The array of the collected elements, in reverse order if `reverse`.
pub fn finish(acc: Value, reverse: bool) -> Value {
    let Value::Array(rc) = acc else { return acc };
    let mut array = Rc::try_unwrap(rc).unwrap_or_else(|a| (*a).clone());
    if expected_rows(&array.shape).is_some() {
        if array.shape[0] > 0 {
            return Value::Zero;
        }
        array.shape[1..].fill(0);
    }
    if reverse {
        let row: usize = array.shape[1..].iter().product();
        match array.buf_mut() {
            Buf::F64(b) => iteration(b, row),
            Buf::F32(b) => iteration(b, row),
            Buf::I64(b) => iteration(b, row),
            Buf::Bool(b) => iteration(b, row),
            Buf::Boxed(b) => iteration(b, row),
            Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => {}
        }
    }
    Value::Array(Rc::new(array))
}

/// Reverses the order of rows of length `row`.
fn iteration<T>(b: &mut [T], row: usize) {
    if row <= 1 {
        return b.reverse();
    }
    let mut rows = b.chunks_exact_mut(row);
    while let (Some(first), Some(last)) = (rows.next(), rows.next_back()) {
        first.swap_with_slice(last);
    }
}
