//! Primitives on plain values.

use crate::error::Res;
use crate::value::Value;
use crate::vm::Machine;
use adl_prim::Prim;

/// Applies a primitive to all its arguments. `reps` are its hidden arguments (run-time types), in its scheme's order.
/// Arguments may be taken (`mem::take`) so that a buffer with one owner is updated in place.
pub fn apply(machine: &mut Machine, prim: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    let _ = (machine, reps, args);
    Err(crate::error::Error::new("E0000", format!("{prim:?}")))
}
