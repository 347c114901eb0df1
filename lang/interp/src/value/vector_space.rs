//! Vector-space operations on `Diff` data, leaf by leaf; discrete leaves are taken from the left operand.

use super::{Array, Buf, Kind, Record, Tuple, Value};
use crate::error::{Error, Res, codes};
use std::rc::Rc;

/// Rebuilds data with each leaf replaced. Leaves are numbers, arrays of numbers, texts, functions and traced
/// values.
pub fn map_leaves(value: &Value, apply: &mut dyn FnMut(&Value) -> Res<Value>) -> Res<Value> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut all = |vs: &[Value]| vs.iter().map(|v| map_leaves(v, apply)).collect::<Res<Vec<_>>>();
        Ok(match value {
            Value::Tuple(t) => Value::Tuple(Rc::new(Tuple(all(&t.0)?))),
            Value::Record(r) => Value::Record(Rc::new(Record { names: r.names.clone(), vals: all(&r.vals)? })),
            Value::Data(d) => Value::data(d.con.clone(), all(&d.fields)?),
            Value::Array(a) if a.is_flat() => apply(value)?,
            Value::Array(a) => match a.buf() {
                Buf::Tuple(cols) => Value::Array(Rc::new(Array::new(a.shape.clone(), Buf::Tuple(all(cols)?)))),
                Buf::Record(names, cols) => {
                    Value::Array(Rc::new(Array::new(a.shape.clone(), Buf::Record(names.clone(), all(cols)?))))
                }
                Buf::Boxed(vals) => Value::Array(Rc::new(Array::new(a.shape.clone(), Buf::Boxed(all(vals)?)))),
                _ => apply(value)?,
            },
            _ => apply(value)?,
        })
    })
}

/// Rebuilds `left` with each leaf combined with the corresponding leaf of `right`.
pub fn zip_leaves(left: &Value, right: &Value, combine: &mut dyn FnMut(&Value, &Value) -> Res<Value>) -> Res<Value> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut all = |xs: &[Value], ys: &[Value]| {
            if xs.len() != ys.len() {
                return Err(different(left, right));
            }
            xs.iter().zip(ys).map(|(x, y)| zip_leaves(x, y, combine)).collect::<Res<Vec<_>>>()
        };
        Ok(match (left, right) {
            (Value::Tuple(x), Value::Tuple(y)) => Value::Tuple(Rc::new(Tuple(all(&x.0, &y.0)?))),
            (Value::Record(x), Value::Record(y)) => {
                Value::Record(Rc::new(Record { names: x.names.clone(), vals: all(&x.vals, &y.vals)? }))
            }
            (Value::Data(x), Value::Data(y)) => {
                if x.con.tag != y.con.tag {
                    return Err(different(left, right));
                }
                Value::data(x.con.clone(), all(&x.fields, &y.fields)?)
            }
            (Value::Array(x), Value::Array(_)) if x.is_flat() => combine(left, right)?,
            (Value::Array(x), Value::Array(y)) => match (x.buf(), y.buf()) {
                (Buf::Tuple(p), Buf::Tuple(q)) => {
                    Value::Array(Rc::new(Array::new(x.shape.clone(), Buf::Tuple(all(p, q)?))))
                }
                (Buf::Record(n, p), Buf::Record(_, q)) => {
                    Value::Array(Rc::new(Array::new(x.shape.clone(), Buf::Record(n.clone(), all(p, q)?))))
                }
                (Buf::Boxed(p), Buf::Boxed(q)) => {
                    Value::Array(Rc::new(Array::new(x.shape.clone(), Buf::Boxed(all(p, q)?))))
                }
                _ => combine(left, right)?,
            },
            _ => combine(left, right)?,
        })
    })
}

fn different(a: &Value, b: &Value) -> Box<Error> {
    let cut = |v: &Value| {
        let text: String = super::show::show(v).chars().take(60).collect();
        text
    };
    Error::new(codes::STRUCTURE, format!("data of different structure cannot be added: {} and {}", cut(a), cut(b)))
}

/// Whether a leaf is a real number or an array of reals, traced or not.
pub fn is_real(v: &Value) -> bool {
    match v {
        Value::Float(_) | Value::F32(_) | Value::Rev { .. } | Value::Dual(_) => true,
        Value::Array(a) => matches!(a.kind(), Kind::F64 | Kind::F32),
        _ => false,
    }
}

/// Whether a real leaf is single-precision (F32).
pub fn narrow(leaf: &Value) -> bool {
    match leaf {
        Value::F32(_) => true,
        Value::Array(a) => a.kind() == Kind::F32,
        Value::Dual(_) => narrow(&super::compare::primal(leaf)),
        _ => false,
    }
}

/// A zero with the shape of `v`; discrete leaves are kept.
pub fn zero_like(v: &Value) -> Value {
    let zero = map_leaves(v, &mut |x| {
        Ok(match x {
            Value::Float(_) | Value::Rev { .. } => Value::Float(0.0),
            Value::F32(_) => Value::F32(0.0),
            Value::Dual(d) => zero_like(&d.primal),
            Value::Array(a) => match a.kind() {
                Kind::F64 => super::array::make(a.shape.clone(), Buf::F64(vec![0.0; a.shape.iter().product()])),
                Kind::F32 => super::array::make(a.shape.clone(), Buf::F32(vec![0.0; a.shape.iter().product()])),
                _ => x.clone(),
            },
            _ => x.clone(),
        })
    });
    zero.unwrap_or(Value::Zero)
}
