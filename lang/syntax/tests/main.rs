//! The tests of syntax, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod cases;
mod common;
mod format;
mod fuzz;
mod parsing;
mod render;
mod samples;
mod textmate;
