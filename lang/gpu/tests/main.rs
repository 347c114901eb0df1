//! The tests of kernels for devices, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// Much of what they do is to make and drop small objects.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod arrays;
mod bodies;
mod common;
mod device;
mod exec;
mod fold;
mod generated;
mod made;
mod math;
mod programs;
mod shader;
mod windows;
