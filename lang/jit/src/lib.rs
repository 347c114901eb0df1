//! Native code of IR functions, through Cranelift.
//!
//! The crate stands after `lang/interp` and implements its trait [`adl_interp::ir::native::Compiler`]: native code works on the
//! interpreter's values and calls its operations wherever it has no instructions of its own. So results are the same bits, errors the
//! same text at the same place, and every function compiles, whatever it contains.
//!
//! - `unit`: what is compiled together; `split`: loops of a large function as functions.
//! - `module`: machine code made, run, freed. One Cranelift module a unit, whose memory goes when the last reference does.
//! - `emit`: IR → Cranelift's IR. Scalars are machine values, control flow is control flow; elements of flat arrays are read and written
//!   in line behind bounds checks.
//! - `handle`: how native code sees arrays and other values.
//! - `cells`: data: constructors with their fields in one place.
//! - `quick`: operations on whole arrays of Floats, done on handles; `slow` in `runtime` does the rest as the interpreter does.
//! - `running`: histograms and scans by one operator.
//! - `collect`: buffers that loops fill.
//! - [`alloc`]: memory of large arrays is kept for the next ones.
//! - [`process`]: which standard descriptors were closed when the process began.
//! - `runtime`: the functions that native code calls; `shims`: how it sees them, so that no panic reaches it; `functions`: those of numbers.
//!
//! Invariants
//! - Where a fast way does not apply (an index out of bounds, an overflow, an absent array, a shared buffer), the slow way is the
//!   interpreter's operation on the same operands: it gives the result or the error.
//! - A value that is no scalar is counted: each variable owns one reference, which its last use takes over.
//! - After an error nothing is cleaned up one by one: all handles of the run go with their pool.
//! - Interrupts are looked for at each turn of a loop, at each call back to the start of a function, and at each call of functions that call each other.
//! - Registers of large functions are found in one pass (`module::LARGE`): worse code, in time that grows with the function.
//!
//! What is *not* here: when to compile (`lang/interp`, `ir/work.rs`), transformations of the IR.

#![allow(unsafe_code)]

pub mod alloc;
mod cells;
mod collect;
mod emit;
mod functions;
mod handle;
mod layouts;
mod module;
mod moves;
pub mod process;
mod quick;
mod running;
mod runtime;
mod shims;
mod split;
mod turns;
mod unit;
mod words;

use adl_interp::ir::native::{Compiler, Listing, Native, Source};
use std::cell::OnceCell;
use std::rc::Rc;

#[derive(Default)]
struct Jit {
    /// Found out when something is compiled for the first time.
    target: OnceCell<Result<module::Target, String>>,
}

impl Compiler for Jit {
    fn compile(&self, source: &Source, at: u32) -> Result<Rc<dyn Native>, String> {
        let target = self.target.get_or_init(module::Target::new);
        module::compile(target.as_ref().map_err(Clone::clone)?, source, at)
    }

    fn listing(&self, source: &Source, at: u32, form: Listing) -> Result<String, String> {
        let target = self.target.get_or_init(module::Target::new);
        module::listing(target.as_ref().map_err(Clone::clone)?, source, at, form)
    }
}

/// The compiler for this machine.
pub fn compiler() -> Rc<dyn Compiler> {
    Rc::new(Jit::default())
}
