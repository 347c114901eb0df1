//! Errors of this crate, with messages for users.

use adl_syntax::span::Span;
use std::fmt;

/// Why an operation was not run on the device.
#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    /// No adapter was found, or none matches the selection.
    NoAdapter(String),
    /// The device does not support the code or its sizes (no f64, a primitive of the CPU, ...): the CPU can run it.
    Unsupported(String),
    /// A check in a kernel failed: the CPU repeats the call and reports the error in the user's terms.
    Fault(FailedCheck),
    /// Device memory is exhausted.
    Memory(String),
    /// The device was lost; another one may be opened.
    Lost(String),
    /// The run was interrupted while waiting for results.
    Stopped,
    /// The driver or the shader compiler rejected generated code: a bug in this crate.
    Refused(String),
}

/// A check that failed in a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct FailedCheck {
    /// The kind of check.
    pub what: Check,
    /// The source of the statement.
    pub span: Span,
}

/// The kinds of checks in kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// An index is in bounds.
    Bounds,
    /// An Int operation does not overflow.
    Overflow,
    /// A divisor is not 0.
    Zero,
    /// A Float is in the range of Int.
    Conversion,
    /// The exponent of an Int power is not negative.
    Power,
    /// A condition of the program.
    Assertion,
    /// A loop ends before an iteration limit.
    Trip,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Check::Bounds => "an index is out of bounds",
            Check::Overflow => "Int overflow: the result does not fit in 64 bits",
            Check::Zero => "division of an Int by zero",
            Check::Conversion => "no Int holds a number",
            Check::Power => "an Int cannot have a negative power",
            Check::Assertion => "an assertion does not hold",
            Check::Trip => "a loop has too many iterations for a kernel",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoAdapter(why) => write!(f, "no GPU: {why}"),
            Error::Unsupported(why) => write!(f, "not on this GPU: {why}"),
            Error::Fault(x) => write!(f, "on the GPU: {}", x.what),
            Error::Memory(why) => write!(f, "the GPU's memory is full: {why}"),
            Error::Lost(why) => write!(f, "the GPU was lost: {why}"),
            Error::Stopped => f.write_str("interrupted while the GPU worked"),
            Error::Refused(why) => write!(f, "the GPU's driver refuses a kernel: {why}"),
        }
    }
}

impl std::error::Error for Error {}

/// The result type of this crate.
pub type Res<T> = Result<T, Error>;

/// Returns [`Error::Unsupported`] with a reason.
pub fn unsupported<T>(why: impl Into<String>) -> Res<T> {
    Err(Error::Unsupported(why.into()))
}
