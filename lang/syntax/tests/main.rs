//! The tests of syntax, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// Much of what they do is to make and drop small objects.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod cases;
mod common;
mod completeness;
mod explain;
mod field_order;
mod format;
mod fuzz;
mod names;
mod parsing;
mod render;
mod samples;
mod textmate;
