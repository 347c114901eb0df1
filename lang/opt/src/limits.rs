//! The limits and thresholds of the passes, one module for each pass.
//!
//! The first words of a constant say its unit: statements of IR, elements, rounds, levels. Limits of statements bound the
//! growth of code, and thereby the time of compilation; none of them changes a result.
//! A figure without a time or a count beside it has no measurement on record.

/// Limits of `arm_constructors`.
pub(crate) mod arm_constructors {
    /// Largest number of statements around a branch that each of its arms repeats.
    pub const AROUND: usize = 24;
    /// Largest number of fields of the condition that are stored in its place: data is read again at a cost.
    pub const PARTS: usize = 2;
}

/// Limits of `contract`.
pub(crate) mod contract {
    /// Number of rows and of columns from which a contraction pays off.
    pub const WIDE: i64 = 4;
    /// Number of terms from which a contraction pays off: as many as the kernel adds side by side.
    pub const DEEP: i64 = 8;
    /// Largest number of loops of a nest.
    pub const LOOPS: usize = 16;
    /// Largest number of elements of a matrix that has a row for each of several indices: 128 MiB. It may have many
    /// times the elements of the array that it is read from.
    pub const COPIED: i64 = 1 << 24;
    /// How many times as many elements as are read a table may have. To compute one costs an eighth of what it saves.
    pub const SPARE: f64 = 2.0;
}

/// Limits of `cse`.
pub(crate) mod cse {
    /// Largest number of statements of an operation with blocks that is still compared.
    pub const LARGEST: usize = 48;
}

/// Limits of `extent`.
pub(crate) mod extent {
    /// Largest number of arrays searched for one extent.
    pub const MOST: usize = 32;
}

/// Limits of `flatten_rows`.
pub(crate) mod flatten_rows {
    /// Largest number of elements of a matrix that is collected as a flat row.
    pub const MOST: usize = 64;
}

/// Limits of `fuse_halves`.
pub(crate) mod fuse_halves {
    /// Largest number of statements of both halves together.
    pub const MOST: usize = 1500;
}

/// Limits of `index_pushdown`.
pub(crate) mod index_pushdown {
    /// Number of rounds: a row of a transpose of a product takes two.
    pub const ROUNDS: usize = 4;
    /// Largest number of readers of an array whose elements cost more than one product of two numbers.
    pub const READERS: usize = 4;
}

/// Limits of `diagonals`.
pub(crate) mod diagonals {
    /// Operations for each array from which code is moved out of a nest that is not differentiated: an array costs a
    /// store and a load for each element.
    pub const FEWEST: usize = 3;
    /// The same in a nest that is differentiated, which would keep a residual for each pair of indices.
    pub const FEWEST_DIFFERENTIATED: usize = 1;
    /// Largest number of arrays that replace one computation.
    pub const ROOTS: usize = 4;
    /// Largest number of terms of a sum of indices, and depth of what it is computed from.
    pub const INTERVAL: usize = 8;
    /// Largest number of variables that are looked at to bound a sum of indices.
    pub const STEPS: usize = 64;
    /// Largest literal that alone bounds an index that is below other Ints too.
    pub const FEW: i64 = 64;
    /// Bound of constants in sums of indices.
    pub const SMALL: i64 = 1 << 50;
}

/// Limits of `hoist`.
pub(crate) mod hoist {
    /// Bits of an extent: no memory holds more elements.
    pub const EXTENT_BITS: u32 = 47;
    /// Bits of an index or a trip count: no run makes more iterations.
    pub const LOOP_BITS: u32 = 50;
    /// How many definitions of operands are followed.
    pub const DEEPEST: u32 = 8;
}

/// Limits of `index_splitting`.
pub(crate) mod index_splitting {
    /// Trip count of the interior from which the split loop is used.
    pub const FEWEST: i64 = 48;
    /// The same if the body has inner loops, which take longer than the copies of the results.
    pub const FEWEST_WITH_LOOPS: i64 = 16;
    /// Largest number of statements of a body that is split.
    pub const LONGEST: usize = 90;
    /// Above each index.
    pub const NO_INDEX: i64 = 1 << 61;
}

/// Limits of `inline`.
pub(crate) mod inline {
    /// Largest number of statements of a small function, size checks not counted.
    pub const SMALL: usize = 32;
    /// Largest number of statements of a function without loops on small arrays, which become scalars where their
    /// elements are known.
    pub const STRAIGHT: usize = 96;
    /// Number of statements that a function may gain.
    pub const GROWTH: usize = 256;
    /// Largest depth of calls within inlined calls.
    pub const DEPTH: usize = 4;
    /// Largest number of statements of a function without calls, which is inlined at any depth.
    pub const LEAF: usize = 16;
    /// Largest number of statements of a function with a single call site.
    pub const ONCE: usize = 256;
    /// Number of statements that a function may gain in `finally`.
    pub const LAST_GROWTH: usize = 768;
}

/// Limits of `interchange`.
pub(crate) mod interchange {
    /// Largest width of rows for which the form by columns is faster.
    pub const NARROW: i64 = 4;
}

/// Limits of `pipelines`.
pub(crate) mod pipelines {
    /// Limit of the rounds of fusion.
    pub const ROUNDS: usize = 4;
}

/// Limits of `pointwise`.
pub(crate) mod pointwise {
    /// Fewest operations on vectors for which the rewrite pays off.
    pub const FEWEST: usize = 2;
}

/// Limits of `scalar_replacement`.
pub(crate) mod scalar_replacement {
    /// Largest number of elements of a small array: a product of 5x5 matrices takes 50 ns instead of 170.
    pub const MOST: usize = 32;
    /// Largest number of elements of a small array on a device, which has no other implementation of operators on matrices.
    pub const MOST_ON_DEVICE: usize = 25;
    /// Number of statements that a function may gain: the gradient of a Kalman filter with 4 states takes some 3,000.
    pub const GROWTH: usize = 4096;
    /// Number of statements that a function for a device may gain.
    pub const GROWTH_ON_DEVICE: usize = 8192;
}

/// Limits of `scalar_replacement::control`.
pub(crate) mod scalar_replacement_control {
    /// Largest trip count of a loop that is unrolled: fewer iterations than a sum adds side by side.
    pub const ITERATIONS: i64 = 7;
    /// Largest number of statements of all iterations of a loop that is unrolled.
    pub const ALL: usize = 24 * ITERATIONS as usize;
    /// Depth of nested loops up to which the arrays carried by the outer loops are assumed to keep their lengths.
    pub const GUESSES: usize = 3;
}

/// Limits of `scalar_replacement::peel`.
pub(crate) mod scalar_replacement_peel {
    /// Largest number of statements, nested ones included, of a body that is duplicated.
    pub const LONGEST: usize = 120;
}

/// Limits of `shapes`.
pub(crate) mod shapes {
    /// Loop depth from which a carried array gets a form of its own, without analysis.
    pub const DEEPEST: usize = 6;
}

/// Limits of `short_rows`.
pub(crate) mod short_rows {
    /// The longest rows whose arithmetic is written out. Arithmetic on longer ones is fast as operations on arrays.
    pub const LONGEST: i64 = 8;
}

/// Limits of `tail_calls`.
pub(crate) mod tail_calls {
    /// Largest number of statements of a function that is duplicated.
    pub const MOST: usize = 256;
}
