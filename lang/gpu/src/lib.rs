//! Operations on arrays as kernels of a GPU, through wgpu.
//!
//! Reading order:
//! - [`adapter`]: which adapters there are; one of them opened. [`memory`]: buffers from a pool, counted. [`queue`]: [`Gpu`], an open device:
//!   kernels are collected until somebody reads, and go to the driver together; pipelines are kept by their text. `shader`: WGSL as the driver gets it,
//!   with arithmetic that is done as it is written. `cache`: compiled pipelines as bytes, for the caller to keep.
//! - [`array`](mod@array): arrays of the device. `math`: our functions on f64, f32 and Ints, in WGSL (`math/*.wgsl`, where bounds of errors stand).
//! - `wgsl`: blocks of the IR as WGSL. [`table`]: which primitives a GPU does, and where.
//! - Kernels: [`pointwise`] (operations on whole arrays, fused), [`nest`] (loops without state: maps, comprehensions, nested ones as one kernel, sums beside them),
//!   `fold` and `scan` (reductions and scans of rows by any operator, with the map before them; `lookback`: scans in one pass; `lines`: columns of matrices and sums of rows; `stage`: how a workgroup reads and writes a tile), [`soac`] (those of the IR),
//!   [`index`](mod@index) and `bins` (histograms, scatter; `picks`: those of least and greatest numbers; `bools`: of Bools), [`sort`], [`shape`] (what only moves numbers, transposes), [`product`] (matrices), [`mod@contract`],
//!   [`find`] (positions), [`draw`] (random numbers), `rows` (what all turns of a loop do at once), `lone` (one thread).
//! - `tape`: kernels as they were started once, to be started again.
//! - [`exec`]: functions of the IR, statement by statement, with their arrays on the device. [`program`]: the device as the interpreter sees it.
//!
//! Invariants
//! - Nothing happens before somebody asks for a device: opening one takes some tens of milliseconds.
//! - What a device cannot do is [`Error::NotHere`], never another result: f32 never stands for f64.
//! - Results are the same bits from run to run. How elements are grouped depends on sizes alone, not on the adapter; nothing is made atomically but what has no order: sums of Ints (`bins`), counts of digits (`sort`), least and greatest numbers (`picks`), and, or, equal and not equal (`bools`).
//! - On Vulkan arithmetic is exact as IEEE 754 has it (`shader`); nan is known by its bits, zeros are words that compilers do not know. f64
//!   functions are those of the CPU to the bit where `adl_prim::elementary` has them, within stated ulps elsewhere. Functions of f32 are those of f64,
//!   rounded, where there is f64. (Quotients and small numbers of f32 are as exact as the driver makes them.)
//! - Checks that fail in a kernel are noted, not reported: [`Error::Fault`] comes with the next result, and the caller has the CPU run the
//!   same, which gives the error in the user's words. After a fault kernels go on with zeros, and end.
//! - A kernel reads and writes inside of its arrays only: each index is checked, or known to be right.
//! - A device that is lost, and memory that is full, are errors in words; the caller goes on without, or opens another.
//! - A vector that is larger than a binding may be goes in parts where each element belongs to one turn (pointwise operations, maps, reductions, scans); rows
//!   are gathered from its parts in turn; where else elements are read or written at any place (scatter, sorts, histograms, products) a kernel has several bindings, of which
//!   each element's index chooses one (`wgsl::windows`). It is [`Error::NotHere`] where a kernel may not have so many.
//! - Large scans read their input once where the driver lets workgroups get on that have begun (`lookback`: NVIDIA and AMD on Vulkan), else twice. Both group alike. Who waits in
//!   vain for another workgroup has the scan done again, on the device, and scans read twice from then on: nothing depends on waiting but time.
//!
//! What is *not* here: which calls go to a device (`adl_interp::device`), transformations of the IR, and any
//! input or output but that of the device.
//!
//! # Functions of the IR, and what is still slow
//!
//! [`exec`] walks a function of the IR on the host and keeps its arrays on the device. It wants optimised IR, after `adl_opt::finish` and before
//! `adl_opt::native` (which splits what kernels want fused). [`exec::fits`] says before a call what no GPU does; [`exec::Prepared`] is a function that is ready.
//! - Loops without state are one kernel (`nest`) or, where their bodies are of operations on whole arrays, those operations for all turns at once (`exec::turns`,
//!   `rows`). What a loop carries and only adds to, in arms of branches and in loops inside too, is a sum (`exec::prepared`, `exec::terms`), so that transposed loops are such. Loops with state of numbers alone are
//!   one kernel of one thread (`lone`); others turn on the host, a kernel for each statement and a copy for each element that is read.
//! - Boxes of one shape are an array with their axes behind its own.
//! - A function that is called again with arguments of the same shapes, and the same numbers of the host's, starts the same kernels as before (`tape`,
//!   `exec::replay`): no text is written, and nothing is looked up but what the driver is given. So does a statement, where the function as a whole reads from the
//!   device or makes much. Other extents, or numbers of the host's that change from call to call, write the text again, some 40 µs a kernel; pipelines are kept by their text.
//! - A loop without state whose turns are few and long is done for all turns at once, as far as the host knows extents.
//! - A fault, or anything that is not here, gives the whole call to the CPU: specialised code has no effects, so that it may run again.

pub mod adapter;
pub mod array;
mod bins;
mod bools;
mod cache;
pub mod contract;
pub mod draw;
pub mod error;
pub mod exec;
pub mod find;
mod fold;
pub mod index;
mod lines;
mod lone;
mod lookback;
mod math;
pub mod memory;
pub mod nest;
mod picks;
pub mod pointwise;
pub mod product;
pub mod queue;
pub mod program;
mod rows;
mod scan;
mod shader;
pub mod shape;
pub mod soac;
pub mod sort;
mod stage;
pub mod table;
mod tape;
mod wgsl;

pub use adapter::{Caps, names, quiet};
pub use array::{Array, Data, Operand, Scalar};
pub use error::{Check, Error, Fault, Res};
pub use memory::{Buffer, Memory};
pub use queue::{Bound, Gpu, Kernel, Work};
