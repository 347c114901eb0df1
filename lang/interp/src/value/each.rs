//! Values that differ from rank to rank. An `Each` is a record with one field, the part of this rank.

use super::{Record, Value};
use adl_typing::ty;
use std::rc::Rc;

/// The value whose part of this rank is `v`.
pub(crate) fn differing(v: Value) -> Value {
    Value::Record(Rc::new(Record { names: [ty::each_field()].into(), vals: vec![v] }))
}

/// The part of this rank, if the value is an `Each`.
pub(crate) fn part(v: &Value) -> Option<&Value> {
    match v {
        Value::Record(r) if r.names.len() == 1 && r.names[0] == ty::each_field() => r.vals.first(),
        _ => None,
    }
}

/// A value as the IR has it, in which an `Each` is laid out as the part of this rank.
pub(crate) fn laid_out(v: Value) -> Value {
    part(&v).cloned().unwrap_or(v)
}
