//! Compiled automatic differentiation at run time: closures are specialised to IR, transformed, and lowered to
//! register code.
//!
//! Reading order:
//!
//! - [`lower`]: IR → register code. Before it, `vectorise` turns loops into operations on entire arrays, and
//!   `strips` finds chains of those that run in one pass.
//! - [`step`], `rows`, `buffer`: what lowered operations do with values.
//! - `convert`, `tangents`: conversion between values of the language and leaves of a layout.
//! - `world`: run-time values as the specialiser sees them.
//! - [`road`]: the derivative operators by compiled AD, and when taped AD is used instead.
//! - [`native`]: the interface of the native compiler.
//! - `work`: when a function is compiled.
//!
//! Invariants:
//!
//! - Lowered code is linear in the size of the IR; each function is lowered once for each program.
//! - The last use of a variable moves the value out of its register, so that an array with a single owner is
//!   updated in place.
//! - A linear array that is a symbolic zero is [`crate::value::Value::Zero`]; numbers are never symbolic zeros.

pub use adl_ir::verify::always as verify_always;

pub mod boxes;
pub mod buffer;
pub(crate) mod convert;
pub mod live;
pub mod lower;
pub mod native;
pub mod reference;
pub mod road;
pub(crate) mod rows;
pub mod site;
pub mod step;
pub(crate) mod strips;
pub(crate) mod tangents;
#[cfg(test)]
mod tests;
pub(crate) mod variants;
mod vectorise;
pub(crate) mod work;
pub(crate) mod world;
