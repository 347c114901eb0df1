//! The tests of specialisation, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;
mod gradients;
mod hostile;
mod library;
mod prims;
mod programs;
mod snapshots;
