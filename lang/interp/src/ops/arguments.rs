//! Arguments of primitives: numbers, lengths, texts, run-time type representations.

use crate::error::{Error, Res, codes};
use crate::value::{ConInfo, Rep, Value, seq};
use std::rc::Rc;

/// The error for arrays that must have equal lengths.
pub fn lengths_differ(what: &str, a: usize, b: usize) -> Box<Error> {
    Error::new(codes::SIZE, format!("`{what}` needs arrays of one length, and these have {a} and {b}"))
}

pub(crate) fn rep_of(reps: &[Value]) -> Rep {
    match reps.first() {
        Some(Value::Rep(r)) => (**r).clone(),
        _ => Rep::Other,
    }
}

pub(crate) fn take(args: &mut [Value], i: usize) -> Value {
    std::mem::take(&mut args[i])
}

/// The Int in an argument.
pub(crate) fn int(v: &Value) -> i64 {
    match v {
        Value::Int(n) => *n,
        _ => 0,
    }
}

/// A length, position or count; an error if it is negative.
pub(crate) fn size(v: &Value, what: &str) -> Res<usize> {
    usize::try_from(int(v))
        .map_err(|_| Error::new(codes::NEGATIVE, format!("{what} is {}, and must not be negative", int(v))))
}

/// The text of a String argument.
pub(crate) fn string(v: &Value) -> &str {
    match v {
        Value::Str(s) => s,
        _ => "",
    }
}

/// The length of the first axis.
pub(crate) fn len(v: &Value) -> usize {
    seq::len(v)
}

/// A String value.
pub(crate) fn data_text(s: &str) -> Value {
    Value::Str(Rc::new(s.into()))
}

/// A value of type `Option`, whose constructors are `None` (tag 0) and `Some` (tag 1).
pub(crate) fn option(v: Option<Value>) -> Value {
    let (name, tag) = if v.is_some() { ("Some", 1) } else { ("None", 0) };
    let con = ConInfo {
        name: adl_syntax::symbol::Symbol::new(name),
        tag,
        data: adl_typing::ty::DataId(0, adl_syntax::symbol::Symbol::new(name)),
        arity: tag,
    };
    Value::data(Rc::new(con), v)
}
