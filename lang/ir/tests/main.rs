//! The tests of the IR, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// Much of what they do is to make and drop small objects.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod builder;
mod cost;
mod eval;
mod property;
mod rewrite;
mod rows;
mod text_form;
#[path = "common/variants.rs"]
mod variants;
mod verify;
