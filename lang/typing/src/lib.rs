//! AST → typed Core: names, inference, classes, gradual sizes, linear modes, exhaustiveness.
//!
//! Reading order: [`ty`] (types, sizes, schemes and how they print), [`core`] (the output), then
//! the passes.
//!
//! Invariants of the output
//! - Every Core node has a closed type (no inference variables) and the span of the source it came from.
//! - Every name is resolved: locals are unique numbers within an item, earlier top-level values are
//!   [`core::GlobalId`]s. A later redefinition of a name never changes what an id means.
//! - Every `match` is exhaustive and compiled to a decision tree.
//! - Every `lin` body has been checked to be linear.
//! - A polymorphic value whose type variables are bound by `Num`, `Real`, `Diff` or `Data` takes one
//!   hidden run-time representation ([`core::Rep`]) for each of them; `Eq`, `Ord`, `Show` take none.
//!
//! What is *not* here: evaluation, IO (a [`env::CheckHost`] supplies the headers of data files), optimisation.

pub mod core;
pub mod env;
pub mod errors;
pub mod free_locals;
mod infer;
mod limits;
mod linear;
mod moved;
mod patterns;
pub mod print;
pub mod print_core;
pub mod ty;
pub mod walk;

pub use infer::{CheckedItem, Places, check_item, definitions, example_shapes, inspect_item};
pub use moved::{Moved, moved_global};
