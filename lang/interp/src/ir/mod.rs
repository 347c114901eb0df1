//! Compiled automatic differentiation at run time: closures are specialised to IR, transformed, and lowered to
//! register code.
//!
//! Reading order:
//!
//! - [`lower`]: IR → register code. Before it, `vectorise` turns loops into operations on entire arrays, and
//!   `fuse_elementwise` finds chains of those that run in one pass.
//! - [`eval_op`], `buffer`: what lowered operations do with values.
//! - `layout_leaves`, `tangents`: conversion between values of the language and leaves of a layout.
//! - `world`: run-time values as the specialiser sees them.
//! - [`mod@derive`]: the derivative operators by compiled AD, and when taped AD is used instead.
//! - [`native`]: the interface of the native compiler.
//! - `cost_model`: when a function is compiled.
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
pub(crate) mod cost_model;
pub mod derive;
pub mod eval_op;
pub mod evaluator_values;
pub(crate) mod fuse_elementwise;
pub(crate) mod host_calls;
pub(crate) mod layout_leaves;
pub mod live;
pub mod lower;
mod lowered_ir;
pub mod native;
pub mod op_site;
pub(crate) mod shape_specialise;
pub(crate) mod tangents;
mod value_fact;
mod vectorise;
pub(crate) mod world;
