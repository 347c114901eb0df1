//! The main road of differentiation, at run time: closures are specialised to IR, transformed there, and lowered to register code.
//!
//! Reading order: [`lower`] (IR → register code), [`step`], `rows`, `buffer` (what lowered operations do with values).
//!
//! Invariants
//! - Lowered code is linear in the size of the IR; functions are lowered once a program.
//! - A variable's register is taken by its last use, so that an array with one owner changes in place.
//! - A linear array that is absent is [`crate::value::Value::Zero`]; numbers are never absent.

pub(crate) mod buffer;
pub(crate) mod live;
pub mod lower;
pub(crate) mod rows;
pub mod step;
#[cfg(test)]
mod tests;
