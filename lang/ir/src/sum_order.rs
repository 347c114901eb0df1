//! The order in which the terms of a sum are added. All ways of running and all rewritings keep it, so that they give
//! the same bits.
//!
//! Term `i` belongs to chunk `i / CHUNK`. In a chunk, it is added to partial sum `i % PARTIAL`. The partial sums are
//! combined pairwise, the terms after the last multiple of `PARTIAL` are added one after the other, and the sums of
//! chunks are combined pairwise. `ops::kernels` of the interpreter is the definition in code.

/// Number of terms of a chunk.
pub const CHUNK: usize = 1024;

/// Number of partial sums of a chunk.
pub const PARTIAL: usize = 8;
