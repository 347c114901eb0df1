//! Operations on arrays as kernels of a GPU, through wgpu.
//!
//! - [`adapter`]: which adapters there are; one of them opened.
//! - [`memory`]: buffers from a pool, counted.
//! - [`queue`]: [`Gpu`], an open device: kernels are collected until somebody reads, and go to the driver together.
//! - `shader`: WGSL as the driver gets it, with arithmetic that is done as it is written.
//!
//! Invariants
//! - Nothing happens before somebody asks for a device: opening one takes some tens of milliseconds.
//! - What a device cannot do is [`Error::NotHere`], never another result: no f64 in the place of missing ones is made of f32.
//! - Results are the same bits from run to run. How sums are grouped depends on sizes alone, not on the adapter.
//! - Checks that fail in a kernel are noted, not reported: [`Error::Fault`] comes with the next result, and the caller has the CPU run the
//!   same, which gives the error in the user's words.
//! - A device that is lost, and memory that is full, are errors in words; the caller goes on without, or opens another.
//!
//! What is *not* here: which device a program runs on (`lang/session`, `repl`), values of the interpreter, transformations of the IR, and any
//! input or output but that of the device.

pub mod adapter;
pub mod array;
pub mod error;
mod fold;
pub mod index;
mod math;
pub mod memory;
pub mod nest;
pub mod pointwise;
pub mod product;
pub mod queue;
mod scan;
mod shader;
pub mod shape;
pub mod soac;
pub mod sort;
mod wgsl;

pub use adapter::{Caps, names};
pub use array::{Array, Data, Operand, Scalar};
pub use error::{Check, Error, Fault, Res};
pub use memory::{Buffer, Memory};
pub use queue::{Bound, Gpu, Kernel, Work};
