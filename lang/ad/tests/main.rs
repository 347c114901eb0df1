//! The tests of derivatives, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// Much of what they do is to make and drop small objects.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod analyses;
mod collectives;
mod common;
mod derive;
mod directions;
mod laws;
mod nests;
mod numbers;
mod places;
mod predicates;
mod profile;
mod rows;
mod snapshots;
mod soac;
mod soac_work;
mod tallies;
mod tensor;
mod theorems;
