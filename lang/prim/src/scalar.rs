//! Scalar operators: evaluation and derivatives.

/// Unary real operators. `Step` and `Polygamma` are internal: they appear in derivatives only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Un {
    Neg, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Exp, Expm1, Log, Log1p, Sqrt, Cbrt, Abs,
    Sign, Floor, Ceil, Round, Sigmoid, Relu, Softplus, Erf, Erfc, Lgamma, Digamma, Gamma,
    /// ψ⁽ⁿ⁾, n ≥ 1.
    Polygamma(u8),
    /// 1 where x > 0, else 0.
    Step,
    /// xⁿ for a literal integer n.
    Powi(i32),
}

/// Binary real operators. `StepLe` is internal: it appears in derivatives only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Bin {
    Add, Sub, Mul, Div, Rem, Pow, Atan2, Hypot, Min, Max,
    /// 1 where x ≤ y, else 0.
    StepLe,
}

/// What a derivative rule needs of a number domain: f64 itself, dual numbers, arrays, IR builders.
pub trait Ops {
    /// A value of the domain.
    type V: Clone;
    /// The constant `x`, of the same precision and shape class as `like`.
    fn constant(&mut self, x: f64, like: &Self::V) -> Self::V;
    /// Applies a unary operator.
    fn un(&mut self, op: Un, x: &Self::V) -> Self::V;
    /// Applies a binary operator.
    fn bin(&mut self, op: Bin, x: &Self::V, y: &Self::V) -> Self::V;
}

impl Un {
    /// f(x) in f64.
    pub fn eval(self, x: f64) -> f64 {
        match self {
            Un::Neg => -x,
            _ => x,
        }
    }
}
