//! What goes wrong, in words for users.

use adl_syntax::span::Span;
use std::fmt;

/// Why something was not done on the device.
#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    /// No adapter was found, or none that was asked for.
    NoAdapter(String),
    /// The code, or its sizes, are not for this device (no f64, an operation that only the CPU has, ...): the CPU can do it.
    NotHere(String),
    /// A check in a kernel failed: the CPU says what is wrong in the user's words when it runs the same.
    Fault(Fault),
    /// There is not enough memory on the device.
    Memory(String),
    /// The device is gone; a new one may be opened.
    Lost(String),
    /// The run is to stop: its results are no longer needed.
    Stopped,
    /// The driver or the shader compiler refuses what this crate gave it: a mistake here.
    Refused(String),
}

/// A check that failed in a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// What was checked.
    pub what: Check,
    /// The source of the statement.
    pub span: Span,
}

/// What kernels check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// An index in bounds.
    Bounds,
    /// An Int that fits.
    Overflow,
    /// A divisor that is not 0.
    Zero,
    /// A number that an Int holds.
    Conversion,
    /// A power of an Int that is not negative.
    Power,
    /// A condition of the program's own.
    Assertion,
    /// A loop that ends before very many turns.
    Turns,
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
            Check::Turns => "a loop turns too often for a kernel",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoAdapter(why) => write!(f, "no GPU: {why}"),
            Error::NotHere(why) => write!(f, "not on this GPU: {why}"),
            Error::Fault(x) => write!(f, "on the GPU: {}", x.what),
            Error::Memory(why) => write!(f, "the GPU's memory is full: {why}"),
            Error::Lost(why) => write!(f, "the GPU was lost: {why}"),
            Error::Stopped => f.write_str("interrupted while the GPU worked"),
            Error::Refused(why) => write!(f, "the GPU's driver refuses a kernel: {why}"),
        }
    }
}

impl std::error::Error for Error {}

/// The result of most functions here.
pub type Res<T> = Result<T, Error>;

/// [`Error::NotHere`].
pub fn not_here<T>(why: impl Into<String>) -> Res<T> {
    Err(Error::NotHere(why.into()))
}
