//! The main road of differentiation, at run time: closures are specialised to IR, transformed there, and lowered to register code.
//!
//! Reading order: [`lower`] (IR → register code; before it, `vectorise`: loops as operations on whole arrays; `strips`: those as one pass), [`step`], `rows`, `buffer` (what
//! lowered operations do with values), `convert` and `tangents` (values of the language ↔ leaves of a layout), `world` (run-time values as the
//! specialiser sees them), [`road`] (derivative operators by this road, and when the other road is taken), [`native`] (the seam of the compiler),
//! `work` (what is compiled when).
//!
//! Invariants
//! - Lowered code is linear in the size of the IR; functions are lowered once a program.
//! - A variable's register is taken by its last use, so that an array with one owner changes in place.
//! - A linear array that is absent is [`crate::value::Value::Zero`]; numbers are never absent.

pub use adl_ir::verify::always as verify_always;

pub mod boxes;
pub mod buffer;
pub(crate) mod convert;
pub mod live;
pub mod lower;
pub mod native;
pub mod reference;
pub(crate) mod rows;
pub mod road;
pub mod site;
pub mod step;
pub(crate) mod strips;
pub(crate) mod tangents;
pub(crate) mod variants;
mod vectorise;
pub(crate) mod world;
#[cfg(test)]
mod tests;
pub(crate) mod work;
