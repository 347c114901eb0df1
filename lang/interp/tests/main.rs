//! The tests of the interpreter that need nothing private, one program. What reaches much of the crate is here: a test
//! inside it is compiled with all that it reaches a second time.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// Much of what they do is to make and drop small objects.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod against_eval;
mod chunks;
mod lowered;
