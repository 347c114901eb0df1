//! Generated programs without annotations are printed a second time with full annotations. Values and errors must
//! agree.
//!
//! `make` generates definitions whose parameters have no types, and calls of them at several ranks. `write` traverses
//! each call with the types of its arguments, and prints an annotated copy of every function that the call reaches. It
//! is an independent type checker, which determines ranks from concrete types only.

pub mod make;
pub mod rules;
pub mod tree;
pub mod write;
