//! Generated programs without annotations, printed a second time with all of them: values and errors must agree.
//!
//! `make` makes definitions whose parameters have no types, and calls of them at several ranks. `write` goes through each call with the types of
//! its arguments and writes a copy of every function that it reaches, whose parameters and results are annotated: it is a checker of its own,
//! which decides ranks from concrete types alone.

pub mod make;
pub mod rules;
pub mod tree;
pub mod write;
