//! The limits of type inference and of its hints, one module for each file that uses them.
//!
//! They bound time, memory and the length of messages. Beyond a limit of a program there is an error that names it; beyond
//! one of a hint there is no hint.
//! A figure without a time or a count beside it has no measurement on record.

/// Limits of `infer::argument_trials`.
pub(crate) mod infer_argument_trials {
    /// Calls with more arguments are not tried.
    pub const MAX_ARGUMENTS: usize = 6;
    /// Longer argument texts are not inferred repeatedly.
    pub const MAX_BYTES: u32 = 2000;
}

/// Limits of `infer::deferred`.
pub(crate) mod infer_deferred {
    /// The number of operator constraints in one scheme.
    pub const MAX_CONSTRAINTS: usize = 20_000;
    /// The number of operator constraints of a scheme that may come from called functions: `let f x y = g (g x y) y` has twice those of `g`.
    pub const MAX_PASSED_ON: usize = 1_000;
}

/// Limits of `infer::exprs`.
pub(crate) mod infer_exprs {
    /// The nesting limit of functions, arrays, records and applications in one expression.
    pub const MAX_TYPE_DEPTH: usize = 400;
}

/// Limits of `infer::generalise`.
pub(crate) mod infer_generalise {
    /// The size limit of a type. Each `let x = (x, x)` doubles it.
    pub const MAX_TYPE_SIZE: usize = 20_000;
}

/// Limits of `infer::names`.
pub(crate) mod infer_names {
    /// Unknown names of one text for which similar names are searched. Comparing each with all known names takes time.
    pub const MAX_LOOKED_FOR: usize = 100;
}

/// Limits of `infer::shape_examples`.
pub(crate) mod infer_shape_examples {
    /// The number of ranks to try: numbers, vectors, matrices.
    pub const RANKS: usize = 3;
    /// The number of variables whose ranks are varied. The ranks of others follow from these, or are 0.
    pub const MOST_VARIED: usize = 5;
}

/// Limits of `infer::trials`.
pub(crate) mod infer_trials {
    /// The number of trials in one text.
    pub const MAX_TRIALS: usize = 200;
}

/// Limits of `patterns`.
pub(crate) mod patterns {
    /// The number of missing cases to report.
    pub const MAX_MISSING: usize = 3;
    /// Base limit of the number of tree nodes; each part of a pattern adds to it.
    pub const MAX_NODES: usize = 20_000;
    /// Base limit of the rows visited by all nodes together; each part of a pattern adds to it.
    pub const MAX_ROWS: usize = 1_000_000;
}

/// Limits of `linear`.
pub(crate) mod linear {
    /// The nesting limit of calls whose bodies are checked.
    pub const MAX_NESTED: usize = 60;
    /// The number of bodies that are checked for one `lin`. A tree of calls of functions by functions doubles at each level.
    pub const MAX_BODIES: usize = 20_000;
}
