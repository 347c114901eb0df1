//! Conversion between values of the machine and values of the IR's reference evaluator.

use crate::ops::data_text;
use crate::value::{Array, Buf, ConInfo, Shape, Value, array};
use adl_ir::Ty;
use adl_ir::eval::{Arr, Con, Val};
use adl_syntax::symbol::Symbol;
use std::rc::Rc;

/// A leaf as a value of the evaluator; `None` if the value is not a leaf.
pub fn val(v: &Value) -> Option<Val> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        Some(match v {
            Value::Float(x) => Val::F64(*x),
            Value::F32(x) => Val::F32(*x),
            Value::Int(n) => Val::I64(*n),
            Value::Bool(b) => Val::Bool(*b),
            Value::Str(s) => Val::Str(s.to_string().into()),
            Value::Zero => Val::SymbolicZero,
            Value::Data(d) => {
                Val::Data(Rc::new(Con { tag: d.con.tag, fields: d.fields.iter().map(val).collect::<Option<_>>()? }))
            }
            Value::Array(a) => Val::Array(Rc::new(Arr { shape: a.shape.to_vec(), elems: elements(a)? })),
            _ => return None,
        })
    })
}

fn elements(a: &Array) -> Option<Vec<Val>> {
    match a.buf() {
        Buf::F64(v) => Some(v.iter().map(|x| Val::F64(*x)).collect()),
        Buf::F32(v) => Some(v.iter().map(|x| Val::F32(*x)).collect()),
        Buf::I64(v) => Some(v.iter().map(|x| Val::I64(*x)).collect()),
        Buf::Bool(v) => Some(v.iter().map(|x| Val::Bool(*x)).collect()),
        Buf::Boxed(v) => v.iter().map(val).collect(),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => None,
    }
}

/// A value of the evaluator as one of the machine. The element type of an array is that of its first element;
/// an empty array holds Floats.
pub fn value(v: &Val) -> Value {
    value_at(v, &shallow(v))
}

/// Like [`value`], with a known type, which determines the element type of empty arrays.
pub fn value_at(v: &Val, ty: &Ty) -> Value {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match v {
        Val::F64(x) => Value::Float(*x),
        Val::F32(x) => Value::F32(*x),
        Val::I64(n) => Value::Int(*n),
        Val::Bool(b) => Value::Bool(*b),
        Val::Str(s) => data_text(s),
        Val::SymbolicZero | Val::Deps(_) => Value::Zero,
        Val::Data(c) => {
            let name = Symbol::new("_");
            let con = ConInfo { name, tag: c.tag, data: adl_typing::ty::DataId(0, name), arity: c.fields.len() as u32 };
            Value::data(Rc::new(con), c.fields.iter().map(value))
        }
        Val::Array(a) => array::make(Shape::from_slice(&a.shape), buffer(a, ty)),
    })
}

fn buffer(a: &Arr, ty: &Ty) -> Buf {
    let real = |v: &Val| v.float().unwrap_or(f64::NAN);
    match ty.scalar() {
        Ty::F64 => Buf::F64(a.elems.iter().map(real).collect()),
        Ty::F32 => Buf::F32(a.elems.iter().map(|v| real(v) as f32).collect()),
        Ty::I64 => Buf::I64(a.elems.iter().map(|v| if let Val::I64(n) = v { *n } else { 0 }).collect()),
        Ty::Bool => Buf::Bool(a.elems.iter().map(|v| matches!(v, Val::Bool(true))).collect()),
        Ty::Str | Ty::Data(_) | Ty::Array(..) => Buf::Boxed(a.elems.iter().map(value).collect()),
    }
}

/// The type of a value, as far as it is needed to build array buffers.
fn shallow(v: &Val) -> Ty {
    let Val::Array(a) = v else { return Ty::F64 };
    let scalar = match a.elems.first() {
        Some(Val::I64(_)) => Ty::I64,
        Some(Val::Bool(_)) => Ty::Bool,
        Some(Val::F32(_)) => Ty::F32,
        Some(Val::Str(_) | Val::Data(_) | Val::Array(_) | Val::SymbolicZero | Val::Deps(_)) => Ty::Str,
        Some(Val::F64(_)) | None => Ty::F64,
    };
    Ty::Array(scalar.into(), a.shape.len() as u32)
}
