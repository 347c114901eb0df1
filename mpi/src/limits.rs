//! Limits of this crate.

/// Bytes that each rank contributes to the first message of an exchange: longer contributions follow in a second one.
pub const FRAME: usize = 256;

/// Bytes of all ranks together in one message: MPI counts in C's `int`.
pub const ROUND: usize = 1 << 30;
