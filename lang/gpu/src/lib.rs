//! Array operations as GPU kernels, through wgpu.
//!
//! Reading order:
//! - [`adapter`]: enumerates and opens adapters. [`memory`]: a counted buffer pool. [`queue`]: [`Gpu`], an open device:
//!   launches are collected until a result is read, then submitted together; pipelines are cached by their WGSL text.
//!   `shader`: from WGSL to the driver, with exact arithmetic. `cache`: compiled pipelines as bytes, which the caller
//!   may store.
//! - [`array`](mod@array): device arrays. `math`: f64, f32 and Int functions in WGSL (`math/*.wgsl`, which state their
//!   error bounds).
//! - `wgsl`: blocks of the IR as WGSL. [`table`]: which primitives run on a GPU, and how.
//! - Kernels on whole arrays: [`pointwise`] (fused elementwise operations) and [`nest`] (stateless loops: maps,
//!   comprehensions, loop nests as one kernel, with sums).
//! - Reductions and scans: `fold` and `scan` (of rows, by any operator, fused with the map before them), `lookback`
//!   (single-pass scans), `lines` (columns of matrices, sums of rows), `stage` (tile staging in work-group memory),
//!   [`soac`] (reductions and scans of the IR).
//! - Histograms: [`index`](mod@index) and `bins` (histograms, scatter), `picks` (by minimum and maximum), `bools` (of
//!   Bools).
//! - Others: [`sort`], [`shape`] (data movement, transposition), [`product`] (matrices), [`mod@contract`]
//!   (contractions), [`find`] (positions), [`draw`] (random numbers), `rows` (a statement in all iterations of a loop),
//!   `lone` (single-thread kernels).
//! - `tape`: a recorded command list, which can be replayed.
//! - [`exec`]: runs functions of the IR statement by statement, with their arrays on the device. [`program`]: the
//!   device as the interpreter sees it.
//!
//! Invariants
//! - A device is opened at its first use only: opening takes some tens of milliseconds.
//! - An unsupported operation is [`Error::NotHere`], never another result: f32 never replaces f64.
//! - Results are bit-identical from run to run. The grouping of elements depends on sizes only, not on the adapter.
//!   Atomic operations are used only where the order does not matter: sums of Ints (`bins`), counts of digits (`sort`),
//!   minima and maxima (`picks`), and, or, equal and not equal (`bools`).
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
//!   (`wgsl::windows`). If the device has too few bindings, this is [`Error::NotHere`].
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
//!   batched operations over all iterations (`exec::turns`, `rows`). A carried value that is only accumulated to, also
//!   in branch arms and inner loops, becomes a sum (`exec::prepared`, `exec::terms`), so that transposed loops become
//!   stateless. Loops whose state is scalar are one kernel of one thread (`lone`). Other loops run on the host, with a
//!   kernel launch per statement and a copy per element that is read.
//! - Boxes of one shape are stored as one array, with their axes after the outer ones.
//! - A repeated call with the same shapes and the same host scalars replays the recorded kernels (`tape`,
//!   `exec::replay`): no text is generated and nothing is looked up. The same holds for a single statement if the
//!   function as a whole reads from the device or allocates much. Other extents, or host scalars that change from call
//!   to call, regenerate the text, which takes some 40 µs per kernel; pipelines are cached by their text.
//! - A stateless loop with few, long iterations is run as batched operations over all iterations, as far as the host
//!   knows the extents.
//! - After a fault or an unsupported operation, the CPU repeats the whole call: specialised code has no side effects.

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
pub mod program;
pub mod queue;
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
