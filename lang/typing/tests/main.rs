//! The tests of types, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;
mod linearity;
mod scale;
mod sizes;
mod totality;
