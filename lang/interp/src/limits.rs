//! The limits and thresholds of the interpreter and of the choice between tiers, one module for each file.
//!
//! The first words of a constant say its unit. Where a figure follows from a time, the time is said with it. Numbers that
//! are part of a layout, of the order of a sum or of a text form stand beside their code instead: they are no choice.
//! `docs/ARCHITECTURE.md` has the table of decisions that these figures make.
//! A figure without a time or a count beside it has no measurement on record.

/// Limits of `ops::comm`.
pub(crate) mod comm {
    /// Bytes of a sum over the ranks up to which every rank sends all its numbers to all others. Above, each rank adds one
    /// block: that takes two more messages, and sends less.
    pub const INLINE: usize = 4096;

    /// Bytes of the names of constructors that the ranks compare; longer lists are cut, and end in a digest.
    pub const CONSTRUCTORS: usize = 80;

    /// Bytes of stack that are left when more is allocated for nested data.
    pub const STACK_LEFT: usize = 64 << 10;

    /// Bytes by which the stack grows.
    pub const STACK: usize = 1 << 20;
}

/// Limits of `ad`.
pub(crate) mod ad {
    /// Maximum number of bytes of a tape that is kept for the next derivative.
    pub const SPARE: usize = 256 << 20;
}

/// Limits of `ad::operators`.
pub(crate) mod ad_operators {
    /// Maximum number of constructors in an example; beyond it the type is assumed to be infinite.
    pub const CONSTRUCTORS: u32 = 1000;
}

/// Limits of `ad::operators::sparse`.
pub(crate) mod ad_operators_sparse {
    /// Number of components from which the sparsity structure of a dense Jacobian is derived from the code, once
    /// per function.
    pub const CODED: usize = 8;
    /// Number of components from which the structure is found by evaluation at the point, if the code does not
    /// determine it. This is limited to `RESIDUALS` stored scalars per component; finding the structure costs
    /// about as much as a thousand directions.
    pub const STRUCTURED: usize = 512;
    /// Number of stored scalars for each component, up to which the structure is found by evaluation.
    pub const RESIDUALS: usize = 32;
    /// Number of components from which the code is checked for a diagonal Jacobian.
    pub const DIAGONAL: usize = 2;
    /// Maximum total size of the index sets of a search, per component. A sparsity structure is only worthwhile
    /// with a few entries per component.
    pub const ENTRIES: u64 = 512;
    /// Maximum total size of the index sets if the user asked for the structure: 2 GiB of entries.
    pub const MOST_ENTRIES: u64 = 1 << 29;
}

/// Limits of `device`.
pub(crate) mod device {
    /// Minimum number of element operations for which a device pays for its overhead of some tens of microseconds a
    /// call.
    pub const LEAST: u64 = 1 << 14;
}

/// Limits of `device::dispatch`.
pub(crate) mod device_dispatch {
    /// Minimum average number of element operations per kernel: starting a kernel takes some microseconds.
    pub const STEP: u64 = 1 << 9;
    /// From this many kernels in one call, their average work is compared with `STEP` or `WORTH`.
    pub const KERNELS: u64 = 64;
    /// From this many kernels in one call, each must also pay for the host's work: the host drives every loop
    /// iteration.
    pub const MANY: u64 = 512;
    /// Element operations that each kernel must do once a call starts `MANY` of them.
    pub const WORTH: u64 = 32 * STEP;
    /// Number of failures at run time after which a function is no longer offered to the device.
    pub const REFUSALS: u32 = 8;
}

/// Limits of `device::offer`.
pub(crate) mod device_offer {
    /// Minimum number of elements for offering a single operation: below it, starting a kernel takes longer than
    /// the operation.
    pub const MANY: usize = 1 << 13;
    /// Number of refused offers after which a function is no longer offered.
    pub const TRIES: u8 = 4;
}

/// Limits of `device::timing`.
pub(crate) mod device_timing {
    use std::time::Duration;

    /// CPU time of a call from which the device is tried. Shorter calls would not pay for opening a device and
    /// compiling kernels.
    pub const WORTH: Duration = Duration::from_millis(5);
    /// Number of timed calls on each target. The first one includes compilation.
    pub const TIMES: u32 = 2;
}

/// Limits of `engine::run_state`.
pub(crate) mod engine_run_state {
    /// Maximum number of calls of backpropagators for `Naive`. The other engines call each backpropagator once.
    pub const MAX_CALLS: u64 = 1 << 20;
    /// Maximum number of operations of a backward pass.
    pub const MAX_OPERATIONS: u64 = 1 << 27;
    /// Maximum number of scalar operations of a run.
    pub const MAX_NODES: usize = 1 << 22;
}

/// Limits of `fault`.
pub(crate) mod fault {
    use std::time::Duration;

    /// Time after which a helper that has panicked goes on.
    pub const AFTER: Duration = Duration::from_millis(20);
}

/// Limits of `ir::boxes`.
pub(crate) mod ir_boxes {
    /// Number of Floats in a box above which packing is not worth the copy.
    pub const LARGEST: usize = 4096;
}

/// Limits of `ir::buffer`.
pub(crate) mod ir_buffer {
    /// Maximum number of elements allocated in advance: an error may end a loop early.
    pub const ROOM: usize = 1 << 16;
    /// Maximum number of bytes allocated in advance.
    pub const AHEAD: usize = 1 << 30;
}

/// Limits of `ir::cost_model`.
pub(crate) mod ir_cost_model {
    /// Assumed trip count of loops whose trip count is unknown, unless an argument is longer.
    pub const ITERATIONS: u64 = 64;
    /// Number of statements that can be interpreted in the time of compiling one.
    pub const RATIO: u64 = 150;
    /// Number of elements of large arrays for which native arithmetic saves the time of one interpreted statement;
    /// vectorised code takes long to compile.
    pub const ELEMENTS: u64 = 512;
    /// Fixed cost of compilation, in statements.
    pub const LEAST: u64 = 4000;
    /// Maximum number of statements that are counted to determine the size of a function and its callees.
    pub const MOST: usize = 100_000;
}

/// Limits of `ir::cost_model::device_cost`.
pub(crate) mod ir_cost_model_device_cost {
    /// Assumed trip count of loops whose trip count is unknown.
    pub const ITERATIONS: u64 = 64;
    /// Maximum number of calls that are analysed with the known sizes of their arguments.
    pub const KNOWN: usize = 256;
    /// Maximum depth of calls that are analysed.
    pub const DEPTH: u32 = 4;
}

/// Limits of `ir::derive`.
pub(crate) mod ir_derive {
    /// Maximum length of `CompiledAd::explain`.
    pub const KEPT: usize = 64;
    /// Maximum number of memory measurements that are kept.
    pub const MEASURES: usize = 64;
    /// Maximum number of cached IR functions. Beyond it the entire cache is cleared, and code is compiled again
    /// when it is needed.
    pub const FUNCTIONS: usize = 4096;
    /// Maximum number of variables of a function with its callees, from which another level of derivatives of functions
    /// inside themselves is compiled. A level makes it four times as large, which then takes 0.8 s.
    pub const DEEPENED: usize = 8000;
}

/// Limits of `ir::derive::cost`.
pub(crate) mod ir_derive_cost {
    /// Maximum number of statements that are evaluated before counting is abandoned.
    pub const FUEL: u64 = 50_000_000;
}

/// Limits of `ir::derive::directions`.
pub(crate) mod ir_derive_directions {
    /// Below this number, directions are evaluated one at a time.
    pub const FEWEST: usize = 4;
    /// Maximum number of scalars in the directions of one batch.
    pub const LARGEST: usize = 1 << 20;
}

/// Limits of `ir::derive::fused_gradient`.
pub(crate) mod ir_derive_fused_gradient {
    use std::time::Duration;

    /// Minimum time of a gradient, after its first run, from which fusing its halves is tried: it works on large
    /// arrays then.
    pub const WORTH: Duration = Duration::from_micros(500);
    /// Maximum number of statements of a half of a gradient that is fused.
    pub const MOST: usize = 200;
    /// Length of an argument array from which forward and reverse loops are fused.
    pub const MANY: usize = 1024;
}

/// Limits of `ir::derive::measure`.
pub(crate) mod ir_derive_measure {
    /// Maximum number of statements for the reference evaluator. It is small because counting happens whenever a
    /// table is displayed.
    pub const FUEL: u64 = 500_000;
}

/// Limits of `ir::derive::resolve_plan`.
pub(crate) mod ir_derive_resolve_plan {
    /// Maximum number of cached decisions.
    pub const REMEMBERED: usize = 256;
    /// Free memory that `Auto` assumes if the system does not report it.
    pub const FREE: u64 = 1 << 30;
    /// Maximum number of plans by residual rows among `steps`.
    pub const ROW_STEPS: usize = 6;
    /// Work above which finding `steps` runs the function only a few times.
    pub const LONG: u64 = 20_000_000;
}

/// Limits of `ir::derive::shape_variants`.
pub(crate) mod ir_derive_shape_variants {
    /// Maximum number of shape specialisations of one function. Other shapes use the general function.
    pub const VARIANTS: usize = 4;
}

/// Limits of `ir::derive::table`.
pub(crate) mod value_report_tables {
    /// Maximum width of a displayed expression.
    pub const WIDE: usize = 36;
    /// Maximum number of displayed residuals; of more, the largest are shown.
    pub const ROWS: usize = 60;
}

/// Limits of `ir::fuse_elementwise`.
pub(crate) mod ir_fuse_elementwise {
    /// Number of elements from which arrays count as large.
    pub const LARGE: usize = 4096;
    /// Maximum number of statements in a chain.
    pub const LONGEST: usize = 48;
}

/// Limits of `ir::lower`.
pub(crate) mod ir_lower {
    /// Maximum number of registers of a function.
    pub const MAX_REGISTERS: u32 = 1 << 20;
}

/// Limits of `ir::native`.
pub(crate) mod ir_native {
    /// Maximum number of shape specialisations of one function. Other shapes use the general code.
    pub const VARIANTS: usize = 3;
}

/// Limits of `ir::shape_specialise`.
pub(crate) mod ir_shape_specialise {
    /// Maximum number of elements of a vector, or of the rows of a matrix, that counts as small.
    pub const SMALL: usize = 4;
    /// Maximum number of elements of a matrix, or of the elements of an array of more axes, that counts as small: a scan of
    /// 5x5 matrices takes 390 ns a matrix with its gradient instead of 1,660.
    pub const MATRIX: usize = 32;
    /// The weight of a statement inside a loop.
    pub const ITERATIONS: usize = 64;
}

/// Limits of `ir::vectorise`.
pub(crate) mod ir_vectorise {
    /// Trip count from which operations on entire arrays are faster than a scalar loop.
    pub const FEWEST: i64 = 8;
}

/// Limits of `ir::world`.
pub(crate) mod ir_world {
    /// Maximum number of distinct functions in an array.
    pub const MOST_FUNCTIONS: usize = 64;
}

/// Limits of `memory`.
pub(crate) mod memory {
    /// Number of bytes below which requests are granted without a check; the allocator's reserve has the same size.
    pub const LARGE: usize = 1 << 24;
    /// Number of bytes that may be appended to a text between two checks.
    pub const BETWEEN: usize = 1 << 20;
}

/// Limits of `ops::fused_chain`.
pub(crate) mod ops_fused_chain {
    /// Number of strips that a thread takes at a time, large enough to make scheduling cheap.
    pub const BAND: usize = 16;
    /// Strip length if there are no sums, which require `CHUNK`: short enough that hardware prefetching continues
    /// while results are written.
    pub const SHORT: usize = 256;
    /// Number of strips between two polls for interrupts: some milliseconds.
    pub const STRIPS_PER_POLL: usize = 64 * BAND;
}

/// Limits of `ops::higher_order`.
pub(crate) mod ops_higher_order {
    /// Number of elements from which reductions and scans by an operator use whole-array primitives.
    pub const WHOLE: usize = 8;
}

/// Limits of `ops::interrupt`.
pub(crate) mod ops_interrupt {
    /// Number of operations, some milliseconds, from which work that cannot poll runs on a separate thread.
    pub const LONG: u64 = 10_000_000;
}

/// Limits of `ops::kernels`.
pub(crate) mod ops_kernels {
    /// Length below which wide instructions do not help.
    pub const FEW: usize = 32;
    /// Numbers of which both sides of a function are computed one after the other.
    pub const NUMBERS: usize = 8;
}

/// Limits of `ops::kernels::products`.
pub(crate) mod ops_kernels_products {
    /// Number of inner indices per block, chosen so that the block stays in the cache while all rows use it.
    pub const INNER: usize = 256;
    /// Number of rows from which the right factor is copied into contiguous panels.
    pub const ROWS: usize = 16;
    /// Number of rows of a tile that is one vector wide: with it and a factor, they take 14 of 16 registers.
    pub const NARROW: usize = 12;
    /// Number of multiplications up to which plain loops are fastest.
    pub const FEW: usize = 30;
}

/// Limits of `ops::linalg`.
pub(crate) mod ops_linalg {
    /// Minimum number of rows of a product between two polls for interrupts.
    pub const BAND: usize = 64;
}

/// Limits of `ops::parallel`.
pub(crate) mod ops_parallel {
    /// Number of elements from which more than one thread is used.
    pub const LEAST: usize = 1 << 16;
    /// Number of elements in a block.
    pub const BLOCK: usize = 256;
    /// Minimum number of blocks per thread.
    pub const BLOCKS: usize = 64;
    /// Number of blocks between two polls for interrupts.
    pub const BLOCKS_PER_POLL: usize = 1 << 11;
}

/// Limits of `ops::strip_mining`.
pub(crate) mod ops_strip_mining {
    /// Strip length if there are no totals, and values are buffered for calls of vectorised functions: short enough
    /// that hardware prefetching continues.
    pub const SHORT: usize = 256;
    /// Number of strips that a thread takes at a time.
    pub const BAND: usize = 16;
}

/// Limits of `ops::data::arrow`.
pub(crate) mod arrow {
    /// How deep columns may be nested in a schema.
    pub const DEPTH: usize = 64;
    /// How many columns a schema may have, with those inside others.
    pub const COLUMNS: usize = 1 << 20;
}

/// Limits of `ops::data::chunked`.
pub(crate) mod chunked {
    /// Bytes of a chunk of formats that have none of their own. Results depend on it, so it is equal on all machines.
    pub const BLOCK: usize = 1 << 22;
}

/// Limits of `ops::data::csv`.
pub(crate) mod csv {
    /// Bytes of a part that a thread reads: a few milliseconds.
    pub const PART: usize = 1 << 20;
}

/// Limits of `ops::data::parquet`.
pub(crate) mod parquet {
    /// Number of rows that are decoded between two polls: some milliseconds.
    pub const ROWS: usize = 1 << 16;
    /// Number of rows of a row group of files that adl writes, as in files of other writers.
    pub const GROUP: usize = 1 << 20;
}

/// Limits of `polling`.
pub(crate) mod polling {
    /// Number of elements between two polls: well below a tenth of a second, even for the slowest elementwise
    /// function.
    pub const STRIDE: usize = 1 << 16;
    /// Number of bytes copied at a time. For more than 4 KiB the C library uses the processor's string instruction.
    /// On some processors it is ten times slower if source and destination are aligned differently, as for the tail
    /// of a vector.
    pub const PIECE: usize = 2048;
}

/// Limits of `value::array`.
pub(crate) mod value_array {
    /// Maximum number of elements of an array, more than the memory of any supported machine.
    pub const MAX_ELEMENTS: usize = 1 << 36;
}

/// Limits of `value::compare`.
pub(crate) mod value_compare {
    /// Nesting depth up to which data is compared by recursion instead of with a work list.
    pub const LEVELS: u32 = 4;
}

/// Limits of `value::drop`.
pub(crate) mod value_drop {
    /// Depth below which values are dropped recursively, which is faster.
    pub const IN_PLACE: usize = 64;
}

/// Limits of `vm::calls`.
pub(crate) mod vm_calls {
    /// Estimated native stack space of one nested call through a primitive, in bytes.
    pub const REENTRY: usize = 4096;
}

/// Limits of `vm::code_list`.
pub(crate) mod vm_code_list {
    /// Number of functions in a chunk.
    pub const CHUNK: usize = 64;
}

/// Limits of `vm::compile`.
pub(crate) mod vm_compile {
    /// Maximum number of registers of a function.
    pub const MAX_REGISTERS: u32 = 1 << 20;
}

/// Limits of `vm::compile::liveness`.
pub(crate) mod vm_compile_liveness {
    /// Size limit (instructions times words of registers) above which copies are kept: the analysis takes quadratic
    /// time in the worst case.
    pub const LIMIT: usize = 4_000_000;
}

/// Limits of `vm::gc`.
pub(crate) mod vm_gc {
    /// Maximum number of released definitions whose Core is kept alive because compiled code was made from it.
    /// Beyond it all compiled code is dropped.
    pub const BURIED: usize = 512;
}

/// Limits of `vm::policy`.
pub(crate) mod vm_policy {
    use std::time::Duration;

    /// The least time that compilation takes, measured for functions of one operation: 1 to 3 ms. After that much time
    /// in the interpreter the next request is compiled, so that at most half of the time until then is lost.
    pub const COMPILATION: Duration = Duration::from_millis(2);
    /// Number of elements from which interpretation takes longer than compilation, whatever the function: at least
    /// 0.25 µs for each.
    pub const MANY: usize = 1 << 13;
    /// Number of elements below which entering compiled code costs more than it saves, and time is not recorded.
    pub const FEW: usize = 16;
    /// Number of failures after which compilation is not tried again. A failure may be due to the values: an error in
    /// one element.
    pub const ATTEMPTS: u8 = 3;
}

/// Limits of `vm::profile`.
pub(crate) mod vm_profile {
    use std::time::Duration;

    /// Number of iterations and calls after which a function is hot.
    pub const THRESHOLD: u32 = 3000;
    /// Number of elements of arrays that count as an iteration: code is hot after 2 million. With it, a mixture of
    /// normals in the plane takes 34 us a call instead of 118 in its first 3,000 calls.
    pub const ITERATION: usize = 700;
    /// Number of Floats from which an array is large: operations on it are bound by memory bandwidth.
    pub const LARGE: usize = 1 << 16;
    /// Number of operations on large arrays after which a function is tried as a fused chain.
    pub const CHAIN: u8 = 2;
    /// Minimum time of a call of a fused chain that is never repeated in the interpreter.
    pub const CHAIN_LEAST: Duration = Duration::from_micros(20);
    /// Number of native calls after which their benefit is evaluated.
    pub const TRIAL: u32 = 200;
    /// Minimum average time of a native call that is never repeated: below it, entering native code costs more than
    /// it saves.
    pub const LEAST: Duration = Duration::from_micros(5);
    /// Every so many native calls, a short call is repeated in the interpreter and timed, because entering native
    /// code and converting declared data may cost more than native code saves.
    pub const SAMPLED: u32 = 50;
    /// Maximum time of a native call that is repeated, of which there are three.
    pub const SHORT: Duration = Duration::from_millis(1);
}
