//! The linear maps of array operations, as data. Their rules are in `rules`; engines that have no arrays read them
//! as maps on single numbers.

use crate::value::{Shape, Value};

/// The linear map of a rule, on single scalars, for the engines that have no arrays.
pub(crate) enum View<'a> {
    /// Elementwise.
    Elementwise(&'a Elementwise),
    /// A gather.
    Gather(&'a Gather),
    /// A scatter-add into a vector of the given length; negative offsets are skipped.
    Spread(&'a [i64], usize),
    /// A product of matrices and vectors.
    MatMul(&'a MatMul),
    /// A linear system.
    Solve(&'a Solve),
    /// An inner product.
    Dot(&'a Dot),
    /// The sum of the given number of rows.
    SumRows(usize),
    /// Running sums over the first axis.
    Cumsum,
    /// A conversion of precision.
    Convert,
    /// Only known by running the rule; with one of its outputs, if the rule keeps one.
    Opaque(Option<&'a Value>),
}

/// The partial derivative with respect to an operand.
pub(crate) enum Partial {
    /// The operand is not traced at this level.
    Constant,
    /// The partial derivative is 1.
    One,
    /// The partial derivative is this value.
    By(Value),
}

/// An operand of an elementwise operation.
pub(crate) struct ElementwiseOperand {
    pub partial: Partial,
    /// Whether it is a scalar, which is broadcast if the result is an array.
    pub scalar: bool,
}

/// An elementwise operation with broadcasting: `dz = Σ partial_k * dx_k`.
pub(crate) struct Elementwise {
    pub operands: Vec<ElementwiseOperand>,
    pub out: Option<Shape>,
}

/// `out[k] = in[map[k]]`, or 0 where `map[k]` is negative. `map` indexes the concatenated elements of all
/// inputs.
pub(crate) struct Gather {
    pub map: Vec<i64>,
    pub ins: Vec<Option<Shape>>,
    pub out: Option<Shape>,
}

/// Products of matrices and vectors. `traced` says which operands get a cotangent.
pub(crate) struct MatMul {
    pub a: Value,
    pub b: Value,
    pub traced: [bool; 2],
}

/// `x = a⁻¹ b`: `dx = a⁻¹ (db - da x)`.
pub(crate) struct Solve {
    pub a: Value,
    pub x: Value,
}

/// Inner products.
pub(crate) struct Dot {
    pub a: Value,
    pub b: Value,
    pub traced: [bool; 2],
}
