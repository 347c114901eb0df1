//! The limits of parsing and layout, one module for each file that uses them.
//!
//! The depth of trees is bounded so that passes may recurse, and errors so that a file of another language is reported in
//! a page.
//! A figure without a time or a count beside it has no measurement on record.

/// Limits of `format`.
pub(crate) mod format {
    /// The maximal line width, where it can be kept.
    pub const WIDTH: usize = 100;
}

/// Limits of `parser`.
pub(crate) mod parser {
    /// The maximal depth of a tree, including operator chains.
    pub const MAX_DEPTH: u32 = 4000;
    /// The maximal number of errors reported for one text.
    pub const MAX_ERRORS: usize = 200;
}

/// Limits of `parser::expressions`.
pub(crate) mod parser_expressions {
    /// The maximal number of arguments of one application: function types nest as deeply as they have arguments.
    pub const MAX_ARGUMENTS: usize = 1000;
}

/// Limits of `parser::foreign_constructs`.
pub(crate) mod parser_foreign_constructs {
    /// The maximal look-ahead in tokens to classify a line.
    pub const LOOK_AHEAD: usize = 64;
}

/// Limits of `parser::foreign_syntax`.
pub(crate) mod parser_foreign_syntax {
    /// The maximal look-ahead in tokens for an `=` on a line.
    pub const LOOK_AHEAD: usize = 64;
}
