//! Scalar operators: evaluation and derivatives.

use crate::elementary::one;
use crate::special;

/// Unary real operators. `Step`, `Sech2` and `Polygamma` appear in derivatives only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Un {
    Neg,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Exp,
    Expm1,
    Log,
    Log1p,
    Sqrt,
    Cbrt,
    Abs,
    Sign,
    Floor,
    Ceil,
    Round,
    Sigmoid,
    Relu,
    Softplus,
    Erf,
    Erfc,
    Erfinv,
    Lgamma,
    Digamma,
    Gamma,
    /// The n-th derivative of digamma, n at least 1.
    Polygamma(u8),
    /// 1 if x > 0, else 0.
    Step,
    /// 1 / cosh² x, the derivative of `tanh`.
    Sech2,
    /// x to a constant integer power.
    Powi(i32),
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
}

impl Cmp {
    /// The comparison of whole values that a primitive performs.
    pub fn of(p: crate::Prim) -> Option<Cmp> {
        use crate::Prim;
        Some(match p {
            Prim::Eq => Cmp::Eq,
            Prim::Ne => Cmp::Ne,
            Prim::Lt => Cmp::Lt,
            Prim::Gt => Cmp::Gt,
            Prim::Le => Cmp::Le,
            Prim::Ge => Cmp::Ge,
            _ => return None,
        })
    }

    /// The comparison that a primitive performs elementwise.
    pub fn of_each(p: crate::Prim) -> Option<Cmp> {
        use crate::Prim;
        Some(match p {
            Prim::EqEach => Cmp::Eq,
            Prim::NeEach => Cmp::Ne,
            Prim::LtEach => Cmp::Lt,
            Prim::GtEach => Cmp::Gt,
            Prim::LeEach => Cmp::Le,
            Prim::GeEach => Cmp::Ge,
            _ => return None,
        })
    }

    /// Whether the comparison holds for two values in this order. nan has no order: it only satisfies `!=`.
    #[inline]
    pub fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self {
            Cmp::Eq => order == Some(Equal),
            Cmp::Ne => order != Some(Equal),
            Cmp::Lt => order == Some(Less),
            Cmp::Gt => order == Some(Greater),
            Cmp::Le => matches!(order, Some(Less | Equal)),
            Cmp::Ge => matches!(order, Some(Greater | Equal)),
        }
    }
}

/// Binary real operators. `LeIndicator` appears in derivatives only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Bin {
    Add,
    Sub,
    Mul,
    Div,
    /// Division rounded toward negative infinity.
    IntDiv,
    /// Remainder with the divisor's sign.
    Rem,
    Pow,
    Atan2,
    Hypot,
    Min,
    Max,
    /// 1 if x ≤ y, else 0.
    LeIndicator,
    /// x y, but 0 if either factor is 0: a tangent times a coefficient. So 0 · inf produces no nan in a derivative, in
    /// forward and in reverse mode alike.
    ScaleTangent,
}

/// The operations that derivative rules require of a number domain: f64, dual numbers, arrays, IR builders.
pub trait Ops {
    /// A value of the domain.
    type V: Clone;
    /// The error of a failed operation (uninhabited for f64).
    type E;
    /// The constant `x`, with the precision of `like`.
    fn constant(&mut self, x: f64, like: &Self::V) -> Self::V;
    /// Applies a unary operator.
    fn un(&mut self, op: Un, x: &Self::V) -> Result<Self::V, Self::E>;
    /// Applies a binary operator.
    fn bin(&mut self, op: Bin, x: &Self::V, y: &Self::V) -> Result<Self::V, Self::E>;
}

/// The domain of f64 numbers.
pub struct Plain;

impl Ops for Plain {
    type V = f64;
    type E = std::convert::Infallible;
    #[inline]
    fn constant(&mut self, x: f64, _like: &f64) -> f64 {
        x
    }
    #[inline]
    fn un(&mut self, op: Un, x: &f64) -> Result<f64, Self::E> {
        Ok(op.eval(*x))
    }
    #[inline]
    fn bin(&mut self, op: Bin, x: &f64, y: &f64) -> Result<f64, Self::E> {
        Ok(op.eval(*x, *y))
    }
}

impl Un {
    /// f(x) in f64.
    #[inline]
    pub fn eval(self, x: f64) -> f64 {
        match self {
            Un::Neg => -x,
            Un::Sin => one::sin(x),
            Un::Cos => one::cos(x),
            Un::Tan => x.tan(),
            Un::Asin => x.asin(),
            Un::Acos => x.acos(),
            Un::Atan => x.atan(),
            Un::Sinh => x.sinh(),
            Un::Cosh => x.cosh(),
            Un::Tanh => one::tanh(x),
            Un::Exp => one::exp(x),
            Un::Expm1 => one::expm1(x),
            Un::Log => one::log(x),
            Un::Log1p => one::log1p(x),
            Un::Sqrt => x.sqrt(),
            Un::Cbrt => x.cbrt(),
            Un::Abs => x.abs(),
            Un::Sign => {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else {
                    x
                }
            }
            Un::Floor => x.floor(),
            Un::Ceil => x.ceil(),
            Un::Round => x.round_ties_even(),
            Un::Sigmoid => one::sigmoid(x),
            Un::Relu => {
                if x > 0.0 || x.is_nan() {
                    x
                } else {
                    0.0
                }
            }
            Un::Softplus => one::softplus(x),
            Un::Erf => libm::erf(x),
            Un::Erfc => libm::erfc(x),
            Un::Erfinv => special::erfinv(x),
            Un::Lgamma => special::lgamma(x),
            Un::Digamma => special::digamma(x),
            Un::Gamma => libm::tgamma(x),
            Un::Polygamma(n) => special::polygamma(n, x),
            Un::Step => {
                if x > 0.0 {
                    1.0
                } else {
                    0.0
                }
            }
            Un::Sech2 => one::sech2(x),
            Un::Powi(n) => x.powi(n),
        }
    }

    /// Whether the derivative is zero wherever it exists.
    pub fn is_flat(self) -> bool {
        matches!(self, Un::Sign | Un::Floor | Un::Ceil | Un::Round | Un::Step | Un::Powi(0))
    }
}

impl Bin {
    /// The number of operations in the sense of *Differentiating a Tensor Language*, Fig. 6, in which a function counts
    /// as the additions, products and unary functions that it consists of. The paper's bound on derivatives holds for
    /// these: a binary function that counted as one operation would cost five together with its partial derivatives.
    pub fn operations(self) -> u64 {
        match self {
            Bin::Add | Bin::Sub | Bin::Mul | Bin::ScaleTangent | Bin::Min | Bin::Max => 1,
            // A reciprocal and a product.
            Bin::Div => 2,
            Bin::IntDiv => 3,
            // x - y floor (x / y).
            Bin::Rem => 5,
            // exp (y log x), atan (x / y).
            Bin::Pow | Bin::Atan2 => 3,
            // sqrt (x x + y y).
            Bin::Hypot => 4,
            // An Iverson bracket.
            Bin::LeIndicator => 0,
        }
    }

    /// f(x, y) in f64.
    #[inline]
    pub fn eval(self, x: f64, y: f64) -> f64 {
        match self {
            Bin::Add => x + y,
            Bin::Sub => x - y,
            Bin::Mul => x * y,
            Bin::ScaleTangent => {
                if x == 0.0 || y == 0.0 {
                    0.0
                } else {
                    x * y
                }
            }
            Bin::Div => x / y,
            Bin::IntDiv => (x / y).floor(),
            Bin::Rem => floor_rem(x, y),
            Bin::Pow => pow(x, y),
            Bin::Atan2 => x.atan2(y),
            Bin::Hypot => x.hypot(y),
            Bin::Min => {
                if x.is_nan() || x <= y {
                    x
                } else {
                    y
                }
            }
            Bin::Max => {
                if x.is_nan() || x >= y {
                    x
                } else {
                    y
                }
            }
            Bin::LeIndicator => {
                if x <= y {
                    1.0
                } else {
                    0.0
                }
            }
        }
    }
}

/// Squares are computed as products, so that replacing a constant exponent by a product does not change results.
fn pow(x: f64, y: f64) -> f64 {
    if y == 2.0 {
        x * x
    } else if y == 1.0 {
        x
    } else {
        x.powf(y)
    }
}

fn floor_rem(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
}

/// The derivative of `op` at `x`, where `y = op(x)`. At kinks: 0 for `abs` and `relu` at 0.
pub fn d_un<O: Ops>(o: &mut O, op: Un, x: &O::V, y: &O::V) -> Result<O::V, O::E> {
    let one = o.constant(1.0, x);
    let two = o.constant(2.0, x);
    Ok(match op {
        Un::Neg => o.constant(-1.0, x),
        Un::Sin => o.un(Un::Cos, x)?,
        Un::Cos => {
            let s = o.un(Un::Sin, x)?;
            o.un(Un::Neg, &s)?
        }
        Un::Tan => {
            let yy = o.bin(Bin::Mul, y, y)?;
            o.bin(Bin::Add, &one, &yy)?
        }
        Un::Asin => inverse_root(o, x)?,
        Un::Acos => {
            let d = inverse_root(o, x)?;
            o.un(Un::Neg, &d)?
        }
        Un::Atan => {
            let xx = o.bin(Bin::Mul, x, x)?;
            let d = o.bin(Bin::Add, &one, &xx)?;
            o.bin(Bin::Div, &one, &d)?
        }
        Un::Sinh => o.un(Un::Cosh, x)?,
        Un::Cosh => o.un(Un::Sinh, x)?,
        // 1 - y² would lose all digits where y is close to 1.
        Un::Tanh => o.un(Un::Sech2, x)?,
        Un::Sech2 => {
            let t = o.un(Un::Tanh, x)?;
            let ty = o.bin(Bin::Mul, &t, y)?;
            let c = o.constant(-2.0, x);
            o.bin(Bin::Mul, &c, &ty)?
        }
        Un::Exp => y.clone(),
        // y + 1 would lose all digits where y is close to -1.
        Un::Expm1 => o.un(Un::Exp, x)?,
        Un::Log => o.bin(Bin::Div, &one, x)?,
        Un::Log1p => {
            let d = o.bin(Bin::Add, &one, x)?;
            o.bin(Bin::Div, &one, &d)?
        }
        Un::Sqrt => {
            let d = o.bin(Bin::Mul, &two, y)?;
            o.bin(Bin::Div, &one, &d)?
        }
        Un::Cbrt => {
            let yy = o.bin(Bin::Mul, y, y)?;
            let three = o.constant(3.0, x);
            let d = o.bin(Bin::Mul, &three, &yy)?;
            o.bin(Bin::Div, &one, &d)?
        }
        Un::Abs => o.un(Un::Sign, x)?,
        Un::Sign | Un::Floor | Un::Ceil | Un::Round | Un::Step => o.constant(0.0, x),
        Un::Sigmoid => {
            // y (1 - y), with 1 - y computed as sigmoid (-x) to avoid cancellation.
            let nx = o.un(Un::Neg, x)?;
            let z = o.un(Un::Sigmoid, &nx)?;
            o.bin(Bin::Mul, y, &z)?
        }
        Un::Relu => o.un(Un::Step, x)?,
        Un::Softplus => o.un(Un::Sigmoid, x)?,
        Un::Erf => gauss(o, x, std::f64::consts::FRAC_2_SQRT_PI)?,
        Un::Erfc => gauss(o, x, -std::f64::consts::FRAC_2_SQRT_PI)?,
        Un::Erfinv => {
            // exp (y²) / (2 / √π).
            let yy = o.bin(Bin::Mul, y, y)?;
            let e = o.un(Un::Exp, &yy)?;
            let c = o.constant(1.0 / std::f64::consts::FRAC_2_SQRT_PI, x);
            o.bin(Bin::Mul, &c, &e)?
        }
        Un::Lgamma => o.un(Un::Digamma, x)?,
        Un::Digamma => o.un(Un::Polygamma(1), x)?,
        Un::Gamma => {
            let psi = o.un(Un::Digamma, x)?;
            o.bin(Bin::Mul, y, &psi)?
        }
        Un::Polygamma(n) => o.un(Un::Polygamma(n.saturating_add(1)), x)?,
        Un::Powi(0) => o.constant(0.0, x),
        Un::Powi(n) => {
            let p = o.un(Un::Powi(n - 1), x)?;
            let c = o.constant(f64::from(n), x);
            o.bin(Bin::Mul, &c, &p)?
        }
    })
}

/// 1 / sqrt (1 - x²).
fn inverse_root<O: Ops>(o: &mut O, x: &O::V) -> Result<O::V, O::E> {
    let one = o.constant(1.0, x);
    let a = o.bin(Bin::Sub, &one, x)?;
    let b = o.bin(Bin::Add, &one, x)?;
    let ab = o.bin(Bin::Mul, &a, &b)?;
    let r = o.un(Un::Sqrt, &ab)?;
    o.bin(Bin::Div, &one, &r)
}

/// c exp (-x²).
fn gauss<O: Ops>(o: &mut O, x: &O::V, c: f64) -> Result<O::V, O::E> {
    let xx = o.bin(Bin::Mul, x, x)?;
    let m = o.un(Un::Neg, &xx)?;
    let g = o.un(Un::Exp, &m)?;
    let c = o.constant(c, x);
    o.bin(Bin::Mul, &c, &g)
}

/// A power of two that scales the larger magnitude to between 1e-150 and 1e150; its derivative is 0.
fn unit<O: Ops>(o: &mut O, x: &O::V, y: &O::V) -> Result<O::V, O::E> {
    let (a, b) = (o.un(Un::Abs, x)?, o.un(Un::Abs, y)?);
    let size = o.bin(Bin::Max, &a, &b)?;
    let (least, most, one) = (o.constant(1e-150, x), o.constant(1e150, x), o.constant(1.0, x));
    let small = o.bin(Bin::LeIndicator, &size, &least)?;
    let large = o.bin(Bin::LeIndicator, &most, &size)?;
    let (up, down) = (o.constant(f64::powi(2.0, 1000), x), o.constant(f64::powi(2.0, -540), x));
    // In F32 these constants overflow or underflow, and the scale is 1.
    let (up, down) = (o.bin(Bin::ScaleTangent, &up, &small)?, o.bin(Bin::ScaleTangent, &down, &large)?);
    let extreme = o.bin(Bin::Add, &small, &large)?;
    let usual = o.bin(Bin::Sub, &one, &extreme)?;
    let sum = o.bin(Bin::Add, &up, &down)?;
    o.bin(Bin::Add, &usual, &sum)
}

/// `a / b`, but 0 if `b` is 0 (for gradients of norms at the origin).
fn safe_div<O: Ops>(o: &mut O, a: &O::V, b: &O::V) -> Result<O::V, O::E> {
    // Here b ≥ 0, so b + [b <= 0] is b, or 1 at 0, where a is 0 too.
    let zero = o.constant(0.0, b);
    let at_zero = o.bin(Bin::LeIndicator, b, &zero)?;
    let d = o.bin(Bin::Add, b, &at_zero)?;
    o.bin(Bin::Div, a, &d)
}

/// Both partial derivatives of `op` at `(x, y)`, where `z = op(x, y)`. At ties, `min` and `max` differentiate the first
/// argument; the derivative of `hypot` at the origin is 0.
pub fn d_bin<O: Ops>(o: &mut O, op: Bin, x: &O::V, y: &O::V, z: &O::V) -> Result<(O::V, O::V), O::E> {
    let one = o.constant(1.0, x);
    let zero = o.constant(0.0, x);
    Ok(match op {
        Bin::Add => (one.clone(), one),
        Bin::Sub => {
            let m = o.constant(-1.0, x);
            (one, m)
        }
        Bin::Mul | Bin::ScaleTangent => (y.clone(), x.clone()),
        Bin::Div => {
            let dx = o.bin(Bin::Div, &one, y)?;
            let q = o.bin(Bin::ScaleTangent, z, &dx)?;
            (dx, o.un(Un::Neg, &q)?)
        }
        Bin::IntDiv | Bin::LeIndicator => (zero.clone(), zero),
        Bin::Rem => {
            let q = o.bin(Bin::IntDiv, x, y)?;
            (one, o.un(Un::Neg, &q)?)
        }
        Bin::Pow => d_pow(o, x, y, z)?,
        Bin::Atan2 => {
            // Scaled so that the square of the radius neither overflows nor underflows.
            let unit = unit(o, x, y)?;
            let (x, y) = (o.bin(Bin::Mul, x, &unit)?, o.bin(Bin::Mul, y, &unit)?);
            let xx = o.bin(Bin::Mul, &x, &x)?;
            let yy = o.bin(Bin::Mul, &y, &y)?;
            let r = o.bin(Bin::Add, &xx, &yy)?;
            let (dx, dy) = (o.bin(Bin::Div, &y, &r)?, o.bin(Bin::Div, &x, &r)?);
            let dy = o.un(Un::Neg, &dy)?;
            (o.bin(Bin::Mul, &dx, &unit)?, o.bin(Bin::Mul, &dy, &unit)?)
        }
        Bin::Hypot => (safe_div(o, x, z)?, safe_div(o, y, z)?),
        Bin::Min => {
            let first = o.bin(Bin::LeIndicator, x, y)?;
            let second = o.bin(Bin::Sub, &one, &first)?;
            (first, second)
        }
        Bin::Max => {
            let first = o.bin(Bin::LeIndicator, y, x)?;
            let second = o.bin(Bin::Sub, &one, &first)?;
            (first, second)
        }
    })
}

/// y xʸ⁻¹ and xʸ log x. For x ≤ 0, xʸ counts as constant in y, because for negative x it is defined at isolated
/// exponents only. Then neither partial derivative depends on y, so that second derivatives are symmetric.
fn d_pow<O: Ops>(o: &mut O, x: &O::V, y: &O::V, z: &O::V) -> Result<(O::V, O::V), O::E> {
    let one = o.constant(1.0, x);
    let zero = o.constant(0.0, x);
    let non_positive = o.bin(Bin::LeIndicator, x, &zero)?;
    let positive = o.bin(Bin::Sub, &one, &non_positive)?;
    // `y`, with derivative 0 if `x` ≤ 0. There `y` is rounded away from 0 to an integer. This changes `y` only if `x`
    // is 0, and then only its sign matters.
    let size = o.un(Un::Abs, y)?;
    let whole = o.un(Un::Ceil, &size)?;
    let sign = o.un(Un::Sign, y)?;
    let fixed = o.bin(Bin::Mul, &sign, &whole)?;
    let free = o.bin(Bin::ScaleTangent, y, &positive)?;
    let fixed = o.bin(Bin::ScaleTangent, &fixed, &non_positive)?;
    let factor = o.bin(Bin::Add, &free, &fixed)?;
    let y1 = o.bin(Bin::Sub, y, &one)?;
    let p = o.bin(Bin::Pow, x, &y1)?;
    let dx = o.bin(Bin::ScaleTangent, &p, &factor)?;
    // Keeps the logarithm finite for x ≤ 0, where it is multiplied by 0.
    let tiny = o.constant(f64::from_bits(1), x);
    let safe = o.bin(Bin::Max, x, &tiny)?;
    let l = o.un(Un::Log, &safe)?;
    let zl = o.bin(Bin::ScaleTangent, &l, z)?;
    let dy = o.bin(Bin::ScaleTangent, &zl, &positive)?;
    Ok((dx, dy))
}

/// The power of two by which numbers are scaled before their squares are added, given the unscaled sum of squares. It
/// is 1 unless that sum is close to overflow or underflow. `single`: for F32.
pub fn norm_unit(sum: f64, single: bool) -> f64 {
    let (range, up) = norm_range(single);
    if range.contains(&sum) || sum.is_nan() {
        1.0
    } else if sum > 1.0 {
        1.0 / up
    } else {
        up
    }
}

/// The sums of squares that need no scaling, and the power of two by which smaller numbers are multiplied and larger
/// ones divided.
pub fn norm_range(single: bool) -> (std::ops::Range<f64>, f64) {
    if single { (1e-28..1e30, 2f64.powi(100)) } else { (1e-280..1e300, 2f64.powi(600)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partial(op: Un, x: f64) -> f64 {
        let Ok(d) = d_un(&mut Plain, op, &x, &op.eval(x));
        d
    }

    #[test]
    fn unary_rules_agree_with_central_differences() {
        use Un::*;
        let all = [
            Neg,
            Sin,
            Cos,
            Tan,
            Asin,
            Acos,
            Atan,
            Sinh,
            Cosh,
            Tanh,
            Exp,
            Expm1,
            Log,
            Log1p,
            Sqrt,
            Cbrt,
            Abs,
            Sign,
            Floor,
            Ceil,
            Round,
            Sigmoid,
            Relu,
            Softplus,
            Erf,
            Erfc,
            Erfinv,
            Lgamma,
            Digamma,
            Gamma,
            Polygamma(1),
            Polygamma(2),
            Step,
            Sech2,
            Powi(3),
            Powi(-2),
            Powi(1),
            Powi(0),
        ];
        for op in all {
            for x in [0.137, 0.61, 0.93] {
                let h = 1e-5;
                let numeric = (op.eval(x + h) - op.eval(x - h)) / (2.0 * h);
                let d = partial(op, x);
                assert!((d - numeric).abs() <= 1e-5 * (1.0 + d.abs()), "{op:?} at {x}: {d} against {numeric}");
            }
        }
    }

    #[test]
    fn kinks_have_their_stated_values() {
        assert_eq!(partial(Un::Abs, 0.0), 0.0);
        assert_eq!(partial(Un::Relu, 0.0), 0.0);
        let at = |op: Bin, x: f64, y: f64| {
            let Ok(d) = d_bin(&mut Plain, op, &x, &y, &op.eval(x, y));
            d
        };
        assert_eq!(at(Bin::Min, 1.0, 1.0), (1.0, 0.0));
        assert_eq!(at(Bin::Max, 1.0, 1.0), (1.0, 0.0));
        assert_eq!(at(Bin::Hypot, 0.0, 0.0), (0.0, 0.0));
        assert_eq!(at(Bin::Pow, 0.0, 2.0), (0.0, 0.0));
        assert_eq!(at(Bin::Pow, 0.0, 0.0).0, 0.0);
        assert_eq!(at(Bin::Pow, -2.0, 3.0), (12.0, 0.0));
    }

    #[test]
    fn binary_rules_agree_with_central_differences() {
        use Bin::*;
        for op in [Add, Sub, Mul, Div, Rem, Pow, Atan2, Hypot, Min, Max] {
            for (x, y) in [(0.7, 0.4), (2.3, 1.1)] {
                let h = 1e-6;
                let nx = (op.eval(x + h, y) - op.eval(x - h, y)) / (2.0 * h);
                let ny = (op.eval(x, y + h) - op.eval(x, y - h)) / (2.0 * h);
                let Ok((dx, dy)) = d_bin(&mut Plain, op, &x, &y, &op.eval(x, y));
                assert!(
                    (dx - nx).abs() < 1e-6 * (1.0 + dx.abs()) && (dy - ny).abs() < 1e-6 * (1.0 + dy.abs()),
                    "{op:?}"
                );
            }
        }
    }
}
