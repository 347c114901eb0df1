//! The tests of the interpreter, one program. None is inside the crate, which would be compiled a second time for it.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// Much of what they do is to make and drop small objects.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod against_eval;
mod arithmetic;
mod boxes;
mod chunks;
mod csv;
mod digits;
mod fault;
mod interrupts;
mod kernels;
mod lowered;
mod memory;
mod messages;
mod products;
mod sorting;
mod storage;
mod tiers;
mod verify;
