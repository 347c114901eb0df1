//! Linear maps as values: derivatives at a point, and transposes.

use super::tape::Tape;
use crate::value::Value;
use std::any::Any;
use std::rc::Rc;

/// A derivative by compiled AD. Only the layer that made it can apply it.
pub(crate) trait CompiledDerivative: Any {
    /// The values that it keeps alive.
    fn holds(&self) -> Vec<&Value>;
}

/// A linear map represented by a tape, or by compiled AD: the derivative of what was recorded, or its
/// transpose.
#[derive(Clone)]
pub struct LinearMap {
    pub(crate) tape: Rc<Tape>,
    /// The structure of the input, with its tape nodes.
    pub(crate) input: Traced,
    /// The structure of the output, with its tape nodes.
    pub(crate) output: Traced,
    pub(crate) transposed: bool,
    /// If it is the transpose of a function that the user gave: that function.
    pub(crate) original: Option<Value>,
    /// The derivative by compiled AD; the tape is then empty.
    pub(crate) main: Option<Rc<dyn CompiledDerivative>>,
}

/// Data, and the tape node of each real leaf in order (`NONE` for leaves that depend on no input).
#[derive(Clone)]
pub(crate) struct Traced {
    pub like: Value,
    pub nodes: Vec<u32>,
}

impl LinearMap {
    /// The structures of its argument and of its result.
    pub(crate) fn ends(&self) -> (&Traced, &Traced) {
        if self.transposed { (&self.output, &self.input) } else { (&self.input, &self.output) }
    }
}
