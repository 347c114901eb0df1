//! Bool arrays: elementwise comparison and logic, and selection of elements by a mask.

use super::arith::{broadcast_ranks, shapes_differ};
use super::elementwise::compared;
use super::interrupt::InterruptFlag;
use super::{call, lengths_differ};
use crate::error::{Error, Res, codes};
use crate::polling;
use crate::upcalls::Upcalls;
use crate::value::{Array, Buf, Value, array, compare, seq};
use adl_prim::{ArrayFn, Cmp, Prim};

fn bools(v: &Value) -> Res<(&Array, &[bool])> {
    match v {
        Value::Array(a) => match a.buf() {
            Buf::Bool(bits) => Ok((a, bits)),
            // An empty array may lack an element type.
            _ if a.is_empty() => Ok((a, &[])),
            _ => Err(no_bools()),
        },
        _ => Err(no_bools()),
    }
}

fn no_bools() -> Box<Error> {
    Error::new(codes::STRUCTURE, "Bools were expected")
}

pub(super) fn negation(v: &Value) -> Res<Value> {
    if let Value::Bool(b) = v {
        return Ok(Value::Bool(!b));
    }
    let (a, bits) = bools(v)?;
    Ok(array::make(a.shape.clone(), Buf::Bool(polling::collect(bits.len(), |i| !bits[i])?)))
}

pub(super) fn logic(m: &mut dyn Upcalls, and: bool, left: Value, b: Value) -> Res<Value> {
    let (operand, constant) = match (left, b) {
        (Value::Bool(x), Value::Bool(y)) => return Ok(Value::Bool(if and { x && y } else { x || y })),
        (Value::Bool(c), v) | (v, Value::Bool(c)) => (v, c),
        (a, b) if seq::shape(&a).map(smallvec::SmallVec::len) != seq::shape(&b).map(smallvec::SmallVec::len) => {
            return broadcast_ranks(m, a, b, &mut |m, a, b| logic(m, and, a, b));
        }
        (a, b) => {
            let ((a, x), (b, y)) = (bools(&a)?, bools(&b)?);
            if a.shape != b.shape {
                return Err(shapes_differ(&a.shape, &b.shape));
            }
            let bits = polling::collect(x.len(), |i| if and { x[i] && y[i] } else { x[i] || y[i] })?;
            return Ok(array::make(a.shape.clone(), Buf::Bool(bits)));
        }
    };
    if constant == and {
        return Ok(operand);
    }
    let (a, bits) = bools(&operand)?;
    Ok(array::make(a.shape.clone(), Buf::Bool(array::filled(constant, bits.len())?)))
}

/// An elementwise comparison.
pub(super) fn comparison(machine: &mut dyn Upcalls, op: Cmp, left: Value, right: Value) -> Res<Value> {
    let shape = match (seq::shape(&left), seq::shape(&right)) {
        (None, None) => return Ok(Value::Bool(op.holds(compare::partial(&left, &right)?))),
        (Some(s), None) | (None, Some(s)) => s.clone(),
        (Some(s), Some(t)) if s.len() != t.len() => {
            return broadcast_ranks(machine, left, right, &mut |m, a, b| comparison(m, op, a, b));
        }
        (Some(s), Some(t)) if s != t => return Err(shapes_differ(s, t)),
        (Some(s), Some(_)) => s.clone(),
    };
    let n = array::count(&shape)?;
    let bits = match compared(InterruptFlag(machine.interrupt()), op, &left, &right, n) {
        _ if n == 0 => Vec::new(),
        Some(bits) => bits?,
        None => {
            let mut bits = array::room(n)?;
            for i in 0..n {
                if i % polling::STRIDE == 0 {
                    polling::poll()?;
                }
                bits.push(op.holds(compare::partial(&number(&left, i)?, &number(&right, i)?)?));
            }
            bits
        }
    };
    Ok(array::make(shape, Buf::Bool(bits)))
}

/// Element `i` in row-major order of an array of numbers or texts; a scalar is broadcast.
fn number(v: &Value, i: usize) -> Res<Value> {
    let Value::Array(a) = v else { return Ok(v.clone()) };
    Ok(match a.buf() {
        Buf::F64(x) => Value::Float(x[i]),
        Buf::F32(x) => Value::F32(x[i]),
        Buf::I64(x) => Value::Int(x[i]),
        Buf::Bool(x) => Value::Bool(x[i]),
        Buf::Boxed(x) => x[i].clone(),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => {
            return Err(Error::new(codes::STRUCTURE, "numbers, Bools or texts were expected"));
        }
    })
}

/// The elements where a mask is true. They may be traced.
pub(crate) fn compress(m: &mut dyn Upcalls, mask: &Value, xs: Value) -> Res<Value> {
    let (_, bits) = bools(mask)?;
    if bits.len() != seq::len(&xs) {
        return Err(lengths_differ("compress", bits.len(), seq::len(&xs)));
    }
    let at = bits.iter().enumerate().filter(|(_, chosen)| **chosen).map(|(i, _)| i as i64).collect();
    call(m, Prim::Array(ArrayFn::Gather), &[], vec![xs, array::ints(at)])
}
