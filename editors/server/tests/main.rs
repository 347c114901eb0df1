//! The tests of the language server, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// Much of what they do is to make and drop small objects.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod client;
mod edits;
mod inbox;
mod requests;
mod texts;
mod tree_sitter;
