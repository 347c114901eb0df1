//! Run-time errors.

use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// A run-time error. Primitives make it without a place; the machine adds the place of the call and
/// the call stack while it unwinds.
#[derive(Clone, PartialEq, Debug)]
pub struct Error {
    /// The error; its primary span is meaningful once `located`.
    pub diag: Diagnostic,
    /// Whether the place is known.
    pub located: bool,
}

/// Result of anything that runs. The error is boxed: the good path stays small.
pub type Res<T> = Result<T, Box<Error>>;

impl Error {
    /// An error whose place the machine will add. `code` is of the family `E07xx` (run time) or
    /// `E08xx` (data and files), see [`codes`].
    pub fn new(code: &'static str, message: impl Into<String>) -> Box<Error> {
        Box::new(Error { diag: Diagnostic::error(code, Span::default(), message), located: false })
    }

    /// Adds a suggestion.
    pub fn hint(mut self: Box<Self>, text: impl Into<String>) -> Box<Error> {
        self.diag.hint = Some(text.into());
        self
    }

    /// Adds a fact.
    pub fn note(mut self: Box<Self>, text: impl Into<String>) -> Box<Error> {
        self.diag.notes.push(text.into());
        self
    }
}

/// Codes of run-time errors. One place, so that none is used twice.
pub mod codes {
    /// Index out of bounds.
    pub const BOUNDS: &str = "E0701";
    /// Sizes differ.
    pub const SIZE: &str = "E0702";
    /// Integer overflow.
    pub const OVERFLOW: &str = "E0703";
    /// Integer division by zero.
    pub const DIV_ZERO: &str = "E0704";
    /// `assert` failed.
    pub const ASSERT: &str = "E0705";
    /// `error text`.
    pub const USER: &str = "E0706";
    /// Too many nested calls.
    pub const DEPTH: &str = "E0707";
    /// Interrupted.
    pub const INTERRUPT: &str = "E0708";
    /// Reduction of an empty array without a neutral element.
    pub const EMPTY: &str = "E0709";
    /// Not enough memory for an array.
    pub const MEMORY: &str = "E0710";
    /// Tangents of different structure.
    pub const STRUCTURE: &str = "E0711";
    /// Irregular array (rows of different shape).
    pub const RAGGED: &str = "E0712";
    /// A negative size, exponent or count.
    pub const NEGATIVE: &str = "E0713";
    /// A matrix that has no inverse, is not positive definite, ….
    pub const SINGULAR: &str = "E0714";
    /// `transpose` does not know the shape of its input.
    pub const SHAPE_UNKNOWN: &str = "E0715";
    /// A custom rule's function captures a value that is being differentiated.
    pub const CAPTURE: &str = "E0716";
    /// No arm of a `match` fits.
    pub const NO_MATCH: &str = "E0717";
    /// A definition is used before it has its value.
    pub const UNDEFINED: &str = "E0718";
    /// A value out of a function's domain (a bad option, an empty choice).
    pub const DOMAIN: &str = "E0719";
    /// File cannot be read or written.
    pub const FILE: &str = "E0801";
    /// CSV that does not parse.
    pub const CSV: &str = "E0802";
    /// NPY/NPZ that does not parse.
    pub const NPY: &str = "E0803";
    /// JSON that does not parse or does not fit the type.
    pub const JSON: &str = "E0804";
}
