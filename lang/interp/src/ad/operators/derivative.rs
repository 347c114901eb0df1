//! Derivatives of functions, and their application: by compiled AD if possible, otherwise on a tape.

use super::custom::linear_at;
use crate::ad::level_of;
use crate::ad::linear::{LinearMap, apply_taped, leaves, same_structure, taped};
use crate::error::Res;
use crate::ir::derive;
use crate::value::Value;
use crate::vm::Machine;

/// Applies a linear map.
pub(crate) fn apply(machine: &mut Machine, map: &LinearMap, value: Value) -> Res<Value> {
    let Some(main) = derive::compiled(map) else { return apply_taped(machine, map, value) };
    if !matches!(value, Value::Zero) {
        same_structure("the argument of a linear function", &value, &map.ends().0.like)?;
    }
    if machine.ad.depth() > 0 && leaves(&value).iter().any(|p| level_of(p) > 0) {
        return linear_at(machine, map, value);
    }
    derive::apply(machine, map, &main, &value)
}

/// Evaluates `f x`, and its derivative at `x`: by compiled AD if possible, otherwise on a new tape.
pub(crate) fn record(m: &mut Machine, f: &Value, x: &Value) -> Res<(Value, LinearMap)> {
    match derive::record(m, f, x)? {
        Some(out) => Ok(out),
        None => taped(m, Default::default(), f, x),
    }
}
