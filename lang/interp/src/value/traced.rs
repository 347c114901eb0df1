//! Traced values: their levels, and their primal and derivative parts.

use super::{DerivativePart, Dual, Value};
use std::rc::Rc;

/// The level of a traced leaf; 0 for untraced values.
pub fn level_of(v: &Value) -> u16 {
    match v {
        Value::Rev { level, .. } => *level,
        Value::Dual(d) => d.level,
        _ => 0,
    }
}

/// The highest level inside data. Functions are not traversed.
pub fn deep_level(v: &Value) -> u16 {
    match v {
        Value::Array(a) => a.values().iter().map(deep_level).max().unwrap_or(0),
        Value::Tuple(t) => t.0.iter().map(deep_level).max().unwrap_or(0),
        Value::Record(r) => r.vals.iter().map(deep_level).max().unwrap_or(0),
        v => level_of(v),
    }
}

/// Splits a value at a level into its primal and its derivative part, if it has one.
pub(crate) fn split(v: &Value, level: u16) -> (Value, Option<DerivativePart>) {
    match v {
        Value::Rev { level: l, node, primal } if *l == level => {
            (Value::Float(*primal), Some(DerivativePart::Node(*node)))
        }
        Value::Dual(d) if d.level == level => (d.primal.clone(), Some(d.part.clone())),
        other => (other.clone(), None),
    }
}

/// A value with a node on the tape of a level.
pub(crate) fn on_tape(level: u16, node: u32, primal: Value) -> Value {
    match primal {
        Value::Float(x) => Value::Rev { level, node, primal: x },
        primal => Value::Dual(Rc::new(Dual { level, primal, part: DerivativePart::Node(node) })),
    }
}
