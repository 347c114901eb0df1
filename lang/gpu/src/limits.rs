//! The limits and thresholds of code for a GPU, one module for each file that uses them.
//!
//! The first words of a constant say its unit. `docs/gpu.md` has the measurements of kernels on real devices.

/// Limits of `adapter`.
pub(crate) mod adapter {
    /// The number of tiles from which a single-pass scan is worth its two additional kernels (see `lookback`).
    pub const ONCE: u32 = 1024;
}

/// Limits of `batched_ops`.
pub(crate) mod batched_ops {
    /// The least number of rows and columns of products computed in tiles.
    pub const TILED: usize = 32;
}

/// Limits of `column_reduction`.
pub(crate) mod column_reduction {
    /// The maximum number of lines per work-group.
    pub const WIDE: usize = 32;
    /// The minimum number of elements for each thread.
    pub const RUN: usize = 16;
    /// The maximum number of partial results for each line.
    pub const RUNS: usize = 128;
    /// The maximum length of lines for row sums.
    pub const MOST: usize = 4096;
}

/// Limits of `contract`.
pub(crate) mod contract {
    /// The least number of rows, columns and terms for which the tiled product kernel is worthwhile.
    pub const LARGE: usize = 16;
}

/// Limits of `data_movement`.
pub(crate) mod data_movement {
    /// The tile edge of transpositions.
    pub const EDGE: usize = 16;
    /// The number of bytes from which a kernel copies a buffer.
    pub const COPIED: u64 = 1 << 20;
}

/// Limits of `exec`.
pub(crate) mod exec {
    /// The maximum depth of calls.
    pub const CALLS: usize = 200;
}

/// Limits of `exec::control`.
pub(crate) mod exec_control {
    /// The maximum trip count of a loop run on the host, where each statement is a kernel.
    pub const ITERATIONS: i64 = 20_000;
    /// The number of threads up to which a kernel has low occupancy.
    pub const FEW: usize = 4096;
    /// The number of elements from which a thread's work is long.
    pub const LONG: usize = 2048;
    /// The maximum number of elements of batched intermediate results, which are stored.
    pub const MOST: usize = 1 << 27;
}

/// Limits of `exec::primitives`.
pub(crate) mod exec_primitives {
    /// The maximum number of random keys computed on the host.
    pub const KEYS: usize = 1024;
}

/// Limits of `exec::replay`.
pub(crate) mod exec_replay {
    /// The maximum number of recordings per place in the code: if scalars or shapes vary in each call, recording is
    /// useless.
    pub const EACH: u32 = 8;
}

/// Limits of `fold`.
pub(crate) mod fold {
    /// Consecutive elements per thread.
    pub const ITEMS: u32 = 8;
    /// The work-group memory in bytes that every adapter has.
    pub const SHARED: u64 = 16384;
    /// The tuple size from which intermediate components are stored interleaved in one array.
    pub const TOGETHER: usize = 4;
    /// The maximum length of rows that one thread each reduces, if there is more than one row.
    pub const SHORT: usize = 128;
}

/// Limits of `gemm`.
pub(crate) mod gemm {
    /// The number of threads along each edge of a tile.
    pub const EDGE: usize = 16;
    /// The elements of the product that a thread computes, along each axis.
    pub const EACH: usize = 4;
    /// The number of terms of the product in one strip of a tile.
    pub const DEPTH: usize = 16;
    /// The maximum number of terms on a software device, whose kernels end loops after 65,535 iterations in total.
    pub const LONGEST: usize = 12_000;
}

/// Limits of `histogram`.
pub(crate) mod histogram {
    /// The work-group memory in bytes that every adapter has.
    pub const SHARED: usize = 16384;
    /// The length of a run, if there are enough elements.
    pub const RUN: usize = 1024;
    /// The maximum number of private bins of all runs.
    pub const BINS: usize = 1 << 20;
}

/// Limits of `memory`.
pub(crate) mod memory {
    /// The number of bytes that are kept in the pool. A device with memory of its own keeps as many as were in use, if those
    /// are more.
    pub const KEEP: u64 = 1 << 30;
    /// The maximum number of cached bind groups.
    pub const GROUPS: usize = 4096;
    /// The minimum size of a buffer in bytes, so that index 0 can always be read.
    pub const LEAST: u64 = 256;
}

/// Limits of `program`.
pub(crate) mod program {
    /// The number of elements from which a device copy of an argument is kept.
    pub const STAYS: usize = 256;
    /// The maximum number of Ints that stay on the host: shapes and similar.
    pub const INTS: usize = 16;
}

/// Limits of `queue`.
pub(crate) mod queue {
    use std::time::Duration;

    /// The size in bytes of the parameters of all kernels in a batch.
    pub const PARAMS: u64 = 1 << 18;
    /// The maximum number of kernels in a batch, so that the driver can start while later kernels are still encoded.
    pub const BATCH: u32 = 1024;
    /// The interval at which waiting for results polls for an interrupt.
    pub const ASK: Duration = Duration::from_millis(20);
}

/// Limits of `recording`.
pub(crate) mod recording {
    /// The maximum number of bytes allocated during a recording, which are held until its end.
    pub const BYTES: u64 = 1 << 26;
    /// The maximum number of uploaded bytes that a recording keeps.
    pub const SENT: u64 = 1 << 16;
    /// The maximum number of commands of a recording.
    pub const STEPS: usize = 8192;
}

/// Limits of `single_thread`.
pub(crate) mod single_thread {
    /// The maximum number of operations per thread, as far as the host knows trip counts: one operation takes about ten
    /// nanoseconds, and hundreds if it reads memory.
    pub const MOST: u64 = 1 << 20;
    /// The maximum number of operations if there is a single thread: the CPU is about a hundred times as fast, and sending it the data takes
    /// less time.
    pub const ALONE: u64 = 1 << 18;
    /// The maximum number of statements of a kernel with few threads: larger ones take long to compile, which rarely pays.
    pub const STATEMENTS: usize = 40;
    /// The assumed trip count of loops whose trip count is unknown.
    pub const UNKNOWN: u64 = 1 << 12;
}

/// Limits of `sort`.
pub(crate) mod sort {
    /// Threads per tile.
    pub const THREADS: usize = 128;
    /// Elements per tile.
    pub const TILE: usize = 2048;
}

/// Limits of `wgsl`.
pub(crate) mod wgsl {
    /// The maximum number of statements of a kernel: drivers take long to compile larger ones.
    pub const STATEMENTS: usize = 20_000;
    /// The maximum nesting depth of blocks: WGSL compilers are recursive.
    pub const DEPTH: usize = 100;
}

/// Limits of `wgsl::bindings`.
pub(crate) mod wgsl_bindings {
    /// The maximum number of elements of an array: threads use indices slightly beyond it, in words.
    pub const MOST: usize = u32::MAX as usize - (1 << 20);
}

/// Limits of `wgsl::control`.
pub(crate) mod wgsl_control {
    /// The iteration limit of loops with unknown trip count: a kernel that does not terminate blocks the whole device.
    pub const ITERATIONS: u32 = 1 << 22;
    /// The maximum depth of calls.
    pub const CALLS: usize = 64;
}

/// Limits of `wgsl::deferred_arrays`.
pub(crate) mod wgsl_deferred_arrays {
    /// The maximum depth of deferred operations, because each read recomputes all of them.
    pub const DEPTH: u32 = 4;
}
