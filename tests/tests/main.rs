//! The tests of the language, one program: each would take as long to link as to compile.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// What the binary has: half of the time in the allocator of the system, and arrays are reused as they are there.
#[global_allocator]
static MEMORY: adl_jit::alloc::CachingAllocator<mimalloc::MiMalloc> =
    adl_jit::alloc::CachingAllocator(mimalloc::MiMalloc);

mod absent_arrays;
mod aliases;
mod bench;
mod bounds;
mod brackets;
mod broadcasting;
mod compiled;
mod data_files;
mod derivations;
mod derivative_operators;
mod docs;
mod drawing;
mod effects;
mod elements;
mod engines;
mod examples;
mod explain;
mod extremes;
mod forget;
mod fuzz;
mod gpu;
mod gradbench;
mod gradients;
mod hostile_plots;
mod hot;
mod interrupts;
mod late_functions;
mod lints;
mod module_in_python;
mod pictures;
mod plans;
mod plots;
mod primitives;
mod programs;
mod ranks;
mod ratios;
mod robust;
mod session;
mod small_matrices;
mod stages;
mod strips;
mod tables;
mod tidy;
mod types;
