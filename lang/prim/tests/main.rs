//! The tests of the table of primitives, one program. None is inside the crate, which would be compiled a second time for it.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod binary;
mod bits;
mod elementary;
mod rows;
mod special;
mod unary;
