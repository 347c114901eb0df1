//! Buffers that loops collect their outputs in: arrays that one register holds and that grow in place.
//!
//! A buffer begins with shape `[0]`. Its first element settles the other axes. Rows that are absent are counted before the first one that is
//! there, and filled with zeros then; if all are absent, so is the array.

use crate::error::{Error, Res, codes};
use crate::value::{Array, Buf, Shape, Value, array};
use adl_ir::Ty;
use std::rc::Rc;

/// Elements that room is made for at first: a loop may be left early by an error.
const ROOM: usize = 1 << 16;

/// An empty buffer for elements of the type; `boxed`: each in a box. `n` says how many will come, if it is an Int.
pub fn empty(elem: &Ty, boxed: bool, n: &Value) -> Res<Value> {
    let n = match n {
        Value::Int(n) => usize::try_from(*n).unwrap_or(0).min(ROOM),
        _ => 0,
    };
    let rank = elem.rank() as usize;
    let n = if rank > 0 { 0 } else { n };
    let buf = match elem.scalar() {
        _ if boxed => Buf::Boxed(array::room(n)?),
        Ty::F64 => Buf::F64(array::room(n)?),
        Ty::F32 => Buf::F32(array::room(n)?),
        Ty::I64 => Buf::I64(array::room(n)?),
        Ty::Bool => Buf::Bool(array::room(n)?),
        Ty::Str | Ty::Data(_) | Ty::Array(..) => Buf::Boxed(array::room(n)?),
    };
    // Axes of a row that no row has settled yet are marked by an extent that no array has.
    let mut shape: Shape = Shape::from_elem(UNKNOWN, 1 + if boxed { 0 } else { rank });
    shape[0] = 0;
    Ok(array::make(shape, buf))
}

const UNKNOWN: usize = usize::MAX;

/// Adds a Float to a buffer of Floats; whether it was one.
#[inline]
pub(crate) fn push_float(acc: &mut Value, x: f64) -> bool {
    if let Value::Array(rc) = acc {
        if let Some(Array { shape, buf: Buf::F64(b) }) = Rc::get_mut(rc) {
            if let [n] = &mut shape[..] {
                *n += 1;
                b.push(x);
                return true;
            }
        }
    }
    false
}

/// Adds an element.
pub fn push(acc: &mut Value, v: &Value) -> Res<()> {
    let Value::Array(rc) = acc else { return Err(kind()) };
    if Rc::get_mut(rc).is_none() {
        *rc = Rc::new((**rc).clone());
    }
    let Some(a) = Rc::get_mut(rc) else { return Err(kind()) };
    match (&mut a.buf, v) {
        (Buf::F64(b), Value::Float(x)) => b.push(*x),
        (Buf::I64(b), Value::Int(x)) => b.push(*x),
        (Buf::Bool(b), Value::Bool(x)) => b.push(*x),
        (Buf::F32(b), Value::F32(x)) => b.push(*x),
        (Buf::Boxed(b), v) if a.shape.len() == 1 => b.push(v.clone()),
        (_, Value::Array(row)) => push_row(a, row)?,
        (_, Value::Zero) => push_zero(a),
        _ => return Err(kind()),
    }
    a.shape[0] += 1;
    Ok(())
}

fn kind() -> Box<Error> {
    Error::new(codes::STRUCTURE, "elements of different kinds in one array")
}

fn push_row(a: &mut Array, row: &Array) -> Res<()> {
    if a.shape.len() > 1 && a.shape[1] == UNKNOWN {
        let pending = a.shape[0] * row.shape.iter().product::<usize>();
        a.shape.truncate(1);
        a.shape.extend_from_slice(&row.shape);
        fill(&mut a.buf, pending);
    }
    if a.shape[1..] != row.shape[..] {
        return Err(Error::new(codes::RAGGED, format!("row {} has shape {:?}, row 0 has shape {:?}", a.shape[0], &row.shape[..], &a.shape[1..]))
            .hint("all rows of an array have one shape"));
    }
    match (&mut a.buf, &row.buf) {
        (Buf::F64(b), Buf::F64(x)) => b.extend_from_slice(x),
        (Buf::F32(b), Buf::F32(x)) => b.extend_from_slice(x),
        (Buf::I64(b), Buf::I64(x)) => b.extend_from_slice(x),
        (Buf::Bool(b), Buf::Bool(x)) => b.extend_from_slice(x),
        (Buf::Boxed(b), Buf::Boxed(x)) => b.extend_from_slice(x),
        _ if row.is_empty() => {}
        _ => return Err(kind()),
    }
    Ok(())
}

fn push_zero(a: &mut Array) {
    if a.shape.get(1) != Some(&UNKNOWN) {
        let n = a.shape[1..].iter().product();
        fill(&mut a.buf, n);
    }
}

fn fill(b: &mut Buf, n: usize) {
    match b {
        Buf::F64(b) => b.resize(b.len() + n, 0.0),
        Buf::F32(b) => b.resize(b.len() + n, 0.0),
        Buf::I64(b) => b.resize(b.len() + n, 0),
        Buf::Bool(b) => b.resize(b.len() + n, false),
        Buf::Boxed(b) => b.resize(b.len() + n, Value::Zero),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => {}
    }
}

/// The array of what was added; turned round if so.
pub fn finish(acc: Value, reverse: bool) -> Value {
    let Value::Array(rc) = acc else { return acc };
    let mut a = Rc::try_unwrap(rc).unwrap_or_else(|a| (*a).clone());
    if a.shape.contains(&UNKNOWN) {
        if a.shape[0] > 0 {
            return Value::Zero;
        }
        a.shape[1..].fill(0);
    }
    if reverse {
        let row: usize = a.shape[1..].iter().product();
        match &mut a.buf {
            Buf::F64(b) => turn(b, row),
            Buf::F32(b) => turn(b, row),
            Buf::I64(b) => turn(b, row),
            Buf::Bool(b) => turn(b, row),
            Buf::Boxed(b) => turn(b, row),
            Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => {}
        }
    }
    Value::Array(Rc::new(a))
}

/// Turns rows round: all elements, then the elements of each row back.
fn turn<T>(b: &mut [T], row: usize) {
    b.reverse();
    if row > 1 {
        b.chunks_exact_mut(row).for_each(<[T]>::reverse);
    }
}
