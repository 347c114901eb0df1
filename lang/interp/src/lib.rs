//! The Core evaluator: the full language, its effects, and dual-number differentiation.
//!
//! Reading order
//! 1. [`value`]: what a value is. Scalars are unboxed (16 bytes a value), arrays are flat typed
//!    buffers, arrays of tuples and records are kept as one array a component.
//! 2. [`error`]: run-time errors.
//! 3. [`ops`]: primitives on *plain* values (no derivatives in sight): arithmetic, arrays, linear
//!    algebra, random numbers, text and data formats.
//! 4. [`vm`]: Core → register code → results. Calls keep their frames on the heap.
//! 5. [`vector`]: elementwise lambdas as strip programs over whole arrays.
//! 6. [`ad`]: dual numbers, the tape, linear maps, and the derivative operators.
//! 7. [`ir`]: derivatives by the main road: specialised, transformed and lowered to register code.
//! 8. [`engine`]: the engines of reverse mode beside each other, with what each costs.
//!
//! Invariants
//! - [`ops`] never sees a traced value: [`ops::apply`] sends a call with a traced argument to
//!   [`ad::apply_traced`], which strips one level, calls [`ops::apply`] again, and records.
//! - A traced value never outlives the extent of the derivative operator that made it, except inside
//!   the tape of a linear map.
//! - Evaluating adl calls does not recurse on the machine stack. Higher-order primitives re-enter
//!   [`vm::Machine::call`], which grows the stack through `stacker` and counts against the same
//!   frame budget.
//! - Dropping or traversing a deep value does not recurse on the machine stack.
//!
//! What is *not* here: parsing, types (beyond run-time representations), IO: everything that touches
//! the world goes through [`host::Host`].

pub mod ad;
mod attend;
pub mod memory;
pub use attend::{PIECE, asked as interrupted, failure};
pub mod device;
pub(crate) mod engine;
pub mod error;
pub mod fault;
pub mod host;
pub mod ir;
pub mod ops;
pub mod value;
pub mod vector;
pub mod vm;
