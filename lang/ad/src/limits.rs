//! The limits and thresholds of derivatives, one module for each transformation.
//!
//! The first words of a constant say its unit: statements or variables of IR, levels, versions. Beyond a limit a slower
//! rule applies, or the derivative is refused with a message; no limit changes a result.
//! A figure without a time or a count beside it has no measurement on record.

/// Limits of `diagonal`.
pub(crate) mod diagonal {
    /// Limit for nested calls that are analysed.
    pub const DEEPEST: u32 = 16;
}

/// Limits of `forward_maps`.
pub(crate) mod forward_maps {
    /// Largest number of derivatives that an iteration computes forwards: results of the function that is mapped.
    pub const MOST: usize = 4;
}

/// Limits of `jvp::recompute_iteration`.
pub(crate) mod jvp_recompute_iteration {
    /// Largest number of statements of an iteration that is recomputed.
    pub const MOST: usize = 48;
}

/// Limits of `memo`.
pub(crate) mod memo {
    /// Limit of the variables of all functions generated for one derivative. Code grows with each level of nested
    /// derivatives, and beyond this limit the derivative is refused.
    pub const MAX_VARIABLES: usize = 1_000_000;
}

/// Limits of `profile`.
pub(crate) mod profile {
    /// The most counters that all functions of a profile together may return. A function returns its own counters and those
    /// of its callees, so that their number may grow with the square of the number of functions.
    pub const MAX_RESULTS: usize = 50_000;
}

/// Limits of `soac::inline`.
pub(crate) mod soac_inline {
    /// Limit of the statements of an operator with its calls inlined; further calls are not inlined.
    pub const MOST: usize = 2000;
}

/// Limits of `soac::laws`.
pub(crate) mod soac_laws {
    /// Limit of the statements that one trial may execute.
    pub const FUEL: u64 = 20_000;
}

/// Limits of `tensor::bounds`.
pub(crate) mod tensor_bounds {
    /// Largest factor and modulus for which conditions are solved.
    pub const FACTOR: i64 = 1 << 20;
}

/// Limits of `tensor::bracket_array`.
pub(crate) mod tensor_bracket_array {
    /// Largest number of statements that compute an element of an array of brackets.
    pub const ELEMENT: usize = 24;
}

/// Limits of `tensor::disjoint`.
pub(crate) mod tensor_disjoint {
    /// Largest number of sums that are added to a function.
    pub const MOST: usize = 12;
    /// Limit for nested blocks and connectives that are analysed.
    pub const DEEPEST: u32 = 24;
}

/// Limits of `tensor::overflow`.
pub(crate) mod tensor_overflow {
    /// The limit for factors, which cannot overflow in short sums of Ints up to `INT`.
    pub const FACTOR: i64 = 1 << 16;
    /// The limit for Ints in short sums.
    pub const INT: i64 = 1 << 42;
    /// The limit for Ints that are multiplied by an index.
    pub const MULTIPLIED: i64 = 1 << 30;
}

/// Limits of `tensor::predicate`.
pub(crate) mod tensor_predicate {
    /// Limit for nested products and blocks that are analysed.
    pub const DEEPEST: u32 = 16;
}

/// Limits of `tensor::push`.
pub(crate) mod tensor_push {
    /// Largest number of arrays that are pushed in one function.
    pub const MOST: usize = 16;
}

/// Limits of `transpose`.
pub(crate) mod transpose {
    /// Limit of the transposed versions of a function, besides the one that takes all accumulators.
    pub const VARIANTS: usize = 2;
}

/// Limits of `unzip`.
pub(crate) mod unzip {
    /// Largest number of residuals of callees that a function returns one by one.
    pub const PASSED_ON: usize = 64;
}

/// Limits of `unzip::branches`.
pub(crate) mod unzip_branches {
    /// Limit of nested branches, and of an arm's residuals, that are returned separately.
    pub const MAX_UNPACKED: u32 = 8;
}

/// Limits of `unzip::sink`.
pub(crate) mod unzip_sink {
    /// The most sums, differences and comparisons that are computed again for each iteration of a loop in a loop rather
    /// than storing and reading a residual.
    pub const RECOMPUTED: usize = 4;
}
