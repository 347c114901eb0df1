//! Array operations as GPU kernels, through wgpu.
//!
//! Reading order:
//! - [`adapter`]: enumerates and opens adapters. [`buffer_pool`]: a counted buffer pool. [`queue`]: [`Gpu`], an open device:
//!   launches are collected until a result is read, then submitted together; pipelines are cached by their WGSL text.
//!   `shader`: from WGSL to the driver, with exact arithmetic. `cache`: compiled pipelines as bytes, which the caller
//!   may store.
//! - [`array`](mod@array): device arrays. `math`: f64, f32 and Int functions in WGSL (`math/*.wgsl`, which state their
//!   error bounds).
//! - `wgsl`: blocks of the IR as WGSL. [`primitive_table`]: which primitives run on a GPU, and how.
//! - Kernels on whole arrays: [`pointwise`] (fused elementwise operations) and [`nest`] (stateless loops: maps,
//!   comprehensions, loop nests as one kernel, with sums).
//! - Reductions and scans: `fold` and `scan` (of rows, by any operator, fused with the map before them), `lookback`
//!   (single-pass scans), `column_reduction` (columns of matrices, sums of rows), `tile_staging` (tile staging in work-group memory),
//!   [`soac`] (reductions and scans of the IR).
//! - Histograms: [`index`](mod@index) and `histogram` (histograms, scatter), `atomic_min_max` (by minimum and maximum), `atomic_bool` (of
//!   Bools).
//! - Others: [`sort`], [`data_movement`] (data movement, transposition), [`gemm`] (matrices), [`mod@contract`]
//!   (contractions), [`compaction`] (positions), [`random`] (random numbers), `batched_ops` (a statement in all iterations of a loop),
//!   `single_thread` (single-thread kernels).
//! - `recording`: a recorded command list, which can be replayed.
//! - [`exec`]: runs functions of the IR statement by statement, with their arrays on the device. [`program`]: the
//!   device as the interpreter sees it.
//!
//! Invariants
//! - A device is opened at its first use only: opening takes some tens of milliseconds.
//! - An unsupported operation is [`Error::Unsupported`], never another result: f32 never replaces f64.
//! - Results are bit-identical from run to run. The grouping of elements depends on sizes only, not on the adapter.
//!   Atomic operations are used only where the order does not matter: sums of Ints (`histogram`), counts of digits (`sort`),
//!   minima and maxima (`atomic_min_max`), and, or, equal and not equal (`atomic_bool`).
//! - On Vulkan arithmetic is exact IEEE 754 (`shader`). NaN is recognised by its bits, and zeros are passed as
//!   parameters, so that compilers cannot fold them. f64 functions equal those of the CPU bit for bit if
//!   `adl_prim::elementary` defines them, and are within stated ulps otherwise. f32 functions are the rounded f64
//!   functions if the device has f64. (The accuracy of f32 quotients and subnormals is the driver's.)
//! - Failed checks in a kernel are recorded, not reported. [`Error::Fault`] is returned with the next result, and the
//!   caller repeats the call on the CPU, which reports the error in the user's terms. After a fault, kernels continue
//!   with zeros, and terminate.
//! - A kernel accesses its arrays within bounds only: each index is checked, or known to be in bounds.
//! - A lost device and exhausted memory are ordinary errors; the caller continues without a device, or opens another
//!   one.
//! - A vector larger than the maximum binding is processed in parts, if each element belongs to one iteration
//!   (elementwise operations, maps, reductions, scans). Gathers read one part after the other. Kernels with arbitrary
//!   indices (scatter, sorts, histograms, products) have several bindings, one of which each index selects
//!   (`wgsl::windows`). If the device has too few bindings, this is [`Error::Unsupported`].
//! - Large scans read their input once if the driver guarantees forward progress of started work-groups (`lookback`:
//!   NVIDIA and AMD on Vulkan), and twice otherwise. Both group elements alike. If a work-group waits in vain for
//!   another one, the device repeats the scan, and later scans use two passes: only the running time depends on
//!   waiting.
//!
//! What is *not* here: the choice of calls that go to a device (`adl_interp::device`), transformations of the IR, and
//! any input or output other than the device's.
//!
//! # Functions of the IR, and what is still slow
//!
//! [`exec`] interprets a function of the IR on the host and keeps its arrays on the device. It expects optimised IR,
//! after `adl_opt::finish` and before `adl_opt::native` (which splits what kernels need fused). [`exec::fits`] rejects
//! unsupported functions before a call; [`exec::Prepared`] is a function ready to run.
//! - A stateless loop is one kernel (`nest`), or, if its body consists of operations on whole arrays, it is run as
//!   batched operations over all iterations (`exec::turns`, `batched_ops`). A carried value that is only accumulated to, also
//!   in branch arms and inner loops, becomes a sum (`exec::carried_to_sums`, `exec::accumulated_terms`), so that transposed loops become
//!   stateless. Loops whose state is scalar are one kernel of one thread (`single_thread`). Other loops run on the host, with a
//!   kernel launch per statement and a copy per element that is read.
//! - Boxes of one shape are stored as one array, with their axes after the outer ones.
//! - A repeated call with the same shapes and the same host scalars replays the recorded kernels (`recording`,
//!   `exec::replay`): no text is generated and nothing is looked up. The same holds for a single statement if the
//!   function as a whole reads from the device or allocates much. Other extents, or host scalars that change from call
//!   to call, regenerate the text, which takes some 40 µs per kernel; pipelines are cached by their text.
//! - A stateless loop with few, long iterations is run as batched operations over all iterations, as far as the host
//!   knows the extents.
//! - After a fault or an unsupported operation, the CPU repeats the whole call: specialised code has no side effects.

pub mod adapter;
pub mod array;
mod atomic_bool;
mod atomic_min_max;
mod batched_ops;
pub mod buffer_pool;
mod cache;
mod column_reduction;
pub mod compaction;
pub mod contract;
pub mod data_movement;
pub mod error;
pub mod exec;
mod fold;
pub mod gemm;
mod histogram;
pub mod index;
mod limits;
mod lookback;
mod math;
pub mod nest;
pub mod pointwise;
pub mod primitive_table;
pub mod program;
pub mod queue;
pub mod random;
mod recording;
mod scan;
mod shader;
mod single_thread;
pub mod soac;
pub mod sort;
mod tile_staging;
mod wgsl;

pub use adapter::{Caps, names, quiet};
pub use array::{Array, Data, Operand, Scalar};
pub use buffer_pool::{Buffer, MemoryStats};
pub use error::{Check, Error, FailedCheck, Res};
pub use queue::{BoundArray, Gpu, Kernel, Work};

/// What the tests of the crate use beside its interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::cache::{opened, sealed};
    pub use crate::shader::{ARITHMETIC, DECORATE, NO_CONTRACTION, instructions, spirv};
    pub use crate::wgsl::windows::calls;
}
