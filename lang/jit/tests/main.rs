//! The tests of native code, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// Much of what they do is to make and drop small objects.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod behaviour;
mod common;
mod encodings;
mod generated;
mod groups;
mod lowered_rows;
mod rows;
mod tallies;
#[path = "../../ir/tests/common/variants.rs"]
mod variants;
mod vector_loops;
mod vector_rows;
