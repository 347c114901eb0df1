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

/// Explanations by code.
const EXPLAIN: &[(&str, &str)] = &[
    (codes::BOUNDS, "An index must be at least 0 and below the length of the axis."),
    (codes::SIZE, "Two arrays that must have one size have different sizes, which only the run could tell."),
    (codes::OVERFLOW, "An Int has 64 bits. Arithmetic that would leave them stops with this error instead of giving a wrong number."),
    (codes::DIV_ZERO, "`//` and `%` of Ints have no value for a divisor of 0. (`1.0 / 0.0` is `inf`.)"),
    (codes::ASSERT, "`assert c` stops where `c` is false."),
    (codes::USER, "The program called `error`."),
    (codes::DEPTH, "Nested calls took more memory than `--stack` allows; most often a recursion has no base case. Calls in tail position take no space."),
    (codes::INTERRUPT, "The run was interrupted."),
    (codes::EMPTY, "There is no first, largest or smallest element of an empty array."),
    (codes::MEMORY, "An array would not fit into memory."),
    (codes::STRUCTURE, "Data of different structure cannot be added: lists of different lengths, different constructors."),
    (codes::RAGGED, "All rows of an array have one shape."),
    (codes::NEGATIVE, "Sizes and counts are not negative."),
    (codes::SINGULAR, "The matrix has no inverse, or is not positive definite."),
    (codes::SHAPE_UNKNOWN, "To transpose a linear function adl must know the shape of its input. Give an example: `transpose_at example f`."),
    (codes::CAPTURE, "The derivative of a function with a custom rule is what the rule says of its argument; a value that it captures would silently get no derivative."),
    (codes::NO_MATCH, "No arm of a `match` fits."),
    (codes::UNDEFINED, "A definition is used while it is still being computed."),
    (codes::DOMAIN, "A value that the function does not accept."),
    (codes::FILE, "A file cannot be read or written."),
    (codes::CSV, "A CSV file whose rows have different numbers of cells, or with text in a column of numbers."),
    (codes::NPY, "An NPY or NPZ file that does not parse, or holds elements that adl has not."),
    (codes::JSON, "A JSON file that does not parse, or does not fit the type that is wanted."),
];

/// The explanation of a code of this crate.
pub fn explain(code: &str) -> Option<&'static str> {
    EXPLAIN.iter().find(|(c, _)| *c == code).map(|(_, t)| *t)
}
