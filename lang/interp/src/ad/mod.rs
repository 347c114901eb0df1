//! Dual numbers: forward and reverse mode for any program (differentiation.md §4, final form).
//!
//! Every run of a derivative operator has a *level*, the number of operators that it runs inside of.
//! A traced value carries its level, its primal (a value of lower levels) and either a tangent (forward)
//! or a node of the level's tape (reverse). An operation on traced values acts at the highest level among
//! its operands; operands of lower levels are constants to it. That is all that is needed so that nested
//! perturbations are never confused.

use crate::value::Value;

/// A traced number or array of numbers.
#[derive(Clone, Debug)]
pub struct Dual {
    /// Which derivative operator.
    pub level: u16,
    /// The value: a number or an array of numbers, plain or of a lower level.
    pub primal: Value,
    /// Its derivative part.
    pub part: Part,
}

/// The derivative part of a traced value.
#[derive(Clone, Debug)]
pub enum Part {
    /// Forward mode: a tangent of the primal's shape (or [`Value::Zero`]).
    Tangent(Value),
    /// Reverse mode: a node of the level's tape.
    Node(u32),
}
