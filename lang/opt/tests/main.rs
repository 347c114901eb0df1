//! The tests of the passes, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// Much of what they do is to make and drop small objects.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod across;
mod arm_constructors;
#[path = "../../ad/tests/common/mod.rs"]
mod common;
mod passes;
mod recurrences;
mod rows;
mod same;
#[path = "common/steps.rs"]
mod steps;
mod tails;
mod tallies;
#[path = "../../ir/tests/common/variants.rs"]
mod variants;
mod work;
