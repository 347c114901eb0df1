//! The limits and thresholds of native code, one module for each file that uses them.
//!
//! The first words of a constant say its unit. Sizes that are part of a layout or of the order of a sum stand beside their
//! code instead: they are no choice.
//! A figure without a time or a count beside it has no measurement on record.

/// Limits of `alloc`.
pub(crate) mod alloc {
    use std::time::Duration;

    /// The smallest block, in bytes, that is kept.
    pub const LARGE: usize = 1 << 18;
    /// The largest number of kept blocks. A hundred steps of an ODE with 100,000 states leave 400 blocks: with 128, their
    /// gradient takes 279 ms instead of 180. A search through all takes 0.3 us, the page faults of a new block 30 us.
    pub const SLOTS: usize = 1024;
    /// The upper limit on kept bytes; the limit is lower on machines with less than 16 times this much memory.
    pub const MOST: usize = 1 << 30;
    /// The bytes of a deep stack next to the current frame that stay. Returning the rest of 1 GiB takes 10 us.
    pub const NEAR: usize = 1 << 20;
    /// How often a failed allocation waits for other threads to free memory: runs that end do.
    pub const TRIES: u32 = 50;
    /// How long it waits each time.
    pub const WAIT: Duration = Duration::from_millis(4);
}

/// Limits of `emit::group::phases`.
pub(crate) mod emit_group_phases {
    /// The number of elements of a strip.
    pub const STRIP: i64 = 256;
}

/// Limits of `emit::group::plan`.
pub(crate) mod emit_group_plan {
    /// The maximum number of members, so that most intermediate results stay in registers.
    pub const MEMBERS: usize = 96;
    /// How many statements are searched for what connects members.
    pub const WINDOW: usize = 256;
}

/// Limits of `emit::group::run`.
pub(crate) mod emit_group_run {
    /// The maximum number of partial sums that are combined inline.
    pub const CHUNKS: i64 = 64;
}

/// Limits of `emit::operators`.
pub(crate) mod emit_operators {
    /// The largest exponent for which a power is expanded into multiplications.
    pub const MAX_POWER: u32 = 64;
}

/// Limits of `emit::vector_loop`.
pub(crate) mod emit_vector_loop {
    /// The limit on statements of inner loops for which four vectors fit in registers.
    pub const SHORT: usize = 6;
    /// How many Ints of an array are compared with an extent for each iteration of a loop that reads with them, at most. Loops of
    /// 8 iterations with an Int of 2,000 spent a third of their time in comparisons.
    pub const COMPARED: i64 = 8;
}

/// Limits of `emit::vector_loop::kernel`.
pub(crate) mod emit_vector_loop_kernel {
    /// The number of iterations of a strip.
    pub const STRIP: i64 = 1024;
    /// The largest number of registers for totals. Those of eight sums in AVX2, with seven read arrays, take 1.3 ns an
    /// element; stored terms that are added afterwards take 2.4.
    pub const TOTALS: usize = 16;
}

/// Limits of `emit::vector_loop::libm_stages`.
pub(crate) mod emit_vector_loop_libm_stages {
    /// The maximum number of buffers, so that those of a strip fit in the L2 cache.
    pub const BUFFERS: usize = 64;
}

/// Limits of `emit::vector_loop::plan`.
pub(crate) mod emit_vector_loop_plan {
    /// The maximum number of statements of a vectorised loop: most values of larger ones would not stay in registers.
    pub const LONGEST: usize = 320;
    /// The maximum number of statements in both arms of an if-converted branch.
    pub const ARMS: usize = 48;
    /// The cost in statements of one function evaluation in a strip.
    pub const FUNCTION: usize = 6;
    /// The largest trip count of inner sums for which the outer loop is vectorised, if its iterations read elements that
    /// lie apart.
    pub const STRIDED: i64 = 64;
}

/// Limits of `emit::vector_loop::prologue`.
pub(crate) mod emit_vector_loop_prologue {
    /// The least trip count for which a loop is vectorised.
    pub const FEWEST: i64 = 16;
    /// The most iterations of nested inner loops, so that a strip takes some milliseconds: interrupts wait for its end.
    pub const ITERATIONS: i64 = 1 << 14;
}

/// Limits of `emit::vector_loop::rows`.
pub(crate) mod emit_vector_loop_rows {
    /// The largest number of inner loops of a vectorised loop.
    pub const INNER_LOOPS: usize = 40;
    /// The largest number of rows that are stored.
    pub const STORED: usize = 32;
    /// The largest length of a row whose elements are read: eight iterations' rows then take 16 KiB of the L1 cache.
    pub const LONGEST: i64 = 256;
}

/// Limits of `fast_paths`.
pub(crate) mod fast_paths {
    /// The number of multiplications above which the interpreter computes a product, on all threads.
    pub const LARGE_PRODUCT: i64 = 1 << 24;
}

/// Limits of `fast_paths::rearrange`.
pub(crate) mod fast_paths_rearrange {
    /// The largest array, in elements, that native code transposes itself.
    pub const SMALL: usize = 1 << 12;
}

/// Limits of `handle`.
pub(crate) mod handle {
    /// The capacity in Floats of the smallest class of spare buffers; each class doubles it.
    pub const SMALLEST: usize = 4;
    /// The number of Floats in all spare buffers of a class, beyond which only two buffers are kept.
    pub const SPARE: usize = 1 << 16;
    /// Handles in the pool's first block: a call on numbers needs one.
    pub const FIRST: usize = 4;
    /// Handles per further block of the pool.
    pub const BLOCK: usize = 32;
}

/// Limits of `heap`.
pub(crate) mod heap {
    /// The number of free lists for small cells, which native code also uses; sizes from here on are kept in a map.
    pub const LISTS: usize = 32;
    /// The number of words that are carved into cells when a free list is empty.
    pub const AT_ONCE: usize = 256;
}

/// Limits of `module`.
pub(crate) mod module {
    /// Stack, in bytes, that run-time functions may use below native code.
    pub const MARGIN: usize = 256 * 1024;
    /// The minimum stack, in bytes, of a unit without recursion.
    pub const STACK: usize = 4 << 20;
    /// The maximum stack, in bytes, for recursion, regardless of `--stack`.
    pub const MAX_STACK: usize = 1 << 30;
    /// Cost model: compiling one instruction takes about as long as arithmetic on this many elements.
    pub const INSTRUCTION: usize = 64;
    /// The number of instructions from which a function's registers are allocated in a single pass: backtracking takes
    /// superlinear time. (So does Cranelift's verifier for blocks with thousands of parameters.)
    pub const LARGE: usize = 20_000;
    /// Instructions of a unit above which making machine code takes seconds, and the interpreter is done before that. Programs that people write stay far
    /// below it; a profile counts in every branch and loop of a derivative of derivatives, and may be a hundred times as long as its function.
    pub const MOST: usize = 200_000;
}

/// Limits of `outline_loops`.
pub(crate) mod outline_loops {
    /// The number of statements from which the loops of a function are outlined.
    pub const LARGE: usize = 100;
    /// The least number of statements of an outlined loop.
    pub const LOOP: usize = 8;
}

/// Limits of `output_buffer`.
pub(crate) mod output_buffer {
    /// The maximum initial capacity in Floats if the trip count is known. Memory that is never written costs nothing,
    /// whereas growing copies the buffer and faults in new pages.
    pub const ROOM: i64 = 1 << 27;
    /// The maximum initial capacity in cells.
    pub const CELLS: i64 = 1 << 20;
    /// The initial capacity in rows if the trip count is not known.
    pub const ROWS: i64 = 4;
    /// The size in Floats above which a buffer gets exactly the requested capacity, and does not become a spare buffer.
    pub const KEPT: i64 = 1 << 12;
}

/// Limits of `scan_loops`.
pub(crate) mod scan_loops {
    /// Elements per block, small enough for the cache.
    pub const PART: usize = 1 << 12;
}

/// Limits of `unit`.
pub(crate) mod unit {
    /// The limit on variables of a function: above it, its frame takes much of a stack.
    pub const MAX_VARS: usize = 100_000;
    /// Statements of a unit above which it is not even begun to compile it (`module` bounds its instructions).
    pub const MAX_SIZE: usize = 150_000;
}
