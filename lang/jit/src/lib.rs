//! Native code of IR functions, through Cranelift.
//!
//! The crate depends on `lang/interp` and implements its trait [`adl_interp::ir::native::Compiler`]. Native code works
//! on the interpreter's values and calls the interpreter's operations for everything that it does not compile to
//! instructions. Results are therefore bit-identical, errors have the same text and location, and every function can be
//! compiled.
//!
//! - `unit`: the functions that are compiled together; `outline_loops`: outlines the loops of a large function.
//! - `module`: makes, runs and frees machine code. Each unit is one Cranelift module; its memory is freed with the last
//!   reference to it.
//! - `emit`: IR → Cranelift IR. Scalars are machine values and control flow is control flow; elements of flat arrays
//!   are read and written inline, behind bounds checks.
//! - `handle`: the representation of arrays and other non-scalar values in native code.
//! - `heap`: heap objects for values of declared types: a constructor tag followed by the fields.
//! - `fast_paths`: operations on whole Float arrays, implemented on handles. `slow` in `runtime` runs every other operation
//!   in the interpreter.
//! - `scan_loops`: histograms and scans by a single operator.
//! - `output_buffer`: output buffers that loops append to.
//! - [`alloc`]: an allocator that reuses the memory of large arrays.
//! - [`process`]: which standard descriptors were closed when the process started.
//! - `runtime`: the functions that native code calls; `shims`: their C entry points, which stop panics; `scalar_math`:
//!   the scalar math functions.
//!
//! Invariants
//! - Where a fast path does not apply (index out of bounds, overflow, symbolic zero, shared buffer), the slow path runs
//!   the interpreter's operation on the same operands. It returns the result or the error.
//! - Non-scalar values are reference-counted: each variable owns one reference, and its last use consumes it.
//! - After an error no value is released individually: the run's pool frees all handles.
//! - Interrupts are polled in each loop iteration, at each jump back to the start of a function, and at each call
//!   between mutually recursive functions.
//! - Large functions (`module::LARGE`) use single-pass register allocation: the code is worse, but compile time is
//!   linear.
//!
//! What is *not* here: when to compile (`lang/interp`, `ir/work.rs`), and transformations of the IR.

#![allow(unsafe_code)]

pub mod alloc;
mod code_memory;
mod copy_blocks;
mod emit;
mod fast_paths;
mod handle;
mod heap;
mod layouts;
mod limits;
mod module;
mod outline_loops;
mod output_buffer;
pub mod process;
mod runtime;
mod scalar_math;
mod scan_loops;
mod shims;
mod strip_runner;
mod unit;
mod wide;
mod word_conversion;

pub use module::on_deep_stack;

use adl_interp::ir::native::{Compiler, Listing, LoweredIr, Native};
use std::cell::OnceCell;
use std::rc::Rc;

/// The vectors of loops that are run several iterations at a time. Results do not depend on them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Vectors {
    /// As many lanes as the processor has.
    #[default]
    Widest,
    /// Eight lanes. A processor without AVX-512 can list such code, but not compile it to be run.
    Eight,
    /// Four lanes, likewise with AVX2.
    Four,
    /// Two lanes.
    Short,
}

#[derive(Default)]
struct Jit {
    vectors: Vectors,
    /// Detected at the first compilation.
    target: OnceCell<Result<module::Target, String>>,
}

impl Compiler for Jit {
    fn compile(&self, source: &LoweredIr, at: u32) -> Result<Rc<dyn Native>, String> {
        let target = self.target.get_or_init(|| module::Target::new(self.vectors));
        module::compile(target.as_ref().map_err(Clone::clone)?, source, at)
    }

    fn listing(&self, source: &LoweredIr, at: u32, form: Listing) -> Result<String, String> {
        let target = self.target.get_or_init(|| module::Target::new(self.vectors));
        module::listing(target.as_ref().map_err(Clone::clone)?, source, at, form)
    }
}

/// The compiler for this machine.
pub fn compiler() -> Rc<dyn Compiler> {
    compiler_with(Vectors::Widest)
}

/// The compiler for this machine, with these vectors.
pub fn compiler_with(vectors: Vectors) -> Rc<dyn Compiler> {
    Rc::new(Jit { vectors, target: OnceCell::new() })
}
