//! Scalar operators: the trait over which their derivatives are written, the columns of their rows, and what several
//! rows share. The rows are in [`crate::table`].

pub use crate::table::binary::{BinaryFn, EachBinary, d_bin};
pub use crate::table::unary::{EachUnary, UnaryFn, d_un};

use crate::table::binary::Bin;
use crate::table::unary::Un;

/// How native code computes an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Native {
    /// By machine instructions, also on vectors.
    Instructions,
    /// By a call of the function that evaluates it. A vectorised version exists, so that a block of numbers costs
    /// little more than one.
    Vector,
    /// By a call of the function that evaluates it.
    Call,
}

/// How a GPU computes an operator: by the function `d_word` of its math library for f64, and by `s_word` for f32.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gpu {
    /// Whether the function of f32 is exact. Otherwise f32 numbers are computed in f64, if the device has it, and
    /// rounded.
    pub exact_in_f32: bool,
    /// The tests of its accuracy draw most numbers from ±`span`.
    pub span: f64,
    /// The largest difference from the CPU in f64, in units of the last place.
    pub ulps: f64,
}

/// A function whose results have the CPU's bits, in f64 and in f32.
pub(crate) const fn exact(span: f64) -> Gpu {
    Gpu { exact_in_f32: true, span, ulps: 0.0 }
}

/// A function that is within `ulps` of the CPU in f64.
pub(crate) const fn rounded(span: f64, ulps: f64) -> Gpu {
    Gpu { exact_in_f32: false, span, ulps }
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

/// Squares are computed as products, so that replacing a constant exponent by a product does not change results.
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    if y == 2.0 {
        x * x
    } else if y == 1.0 {
        x
    } else {
        x.powf(y)
    }
}

pub(crate) fn floor_rem(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
}

/// 1 / sqrt (1 - x²).
pub(crate) fn inverse_root<O: Ops>(o: &mut O, x: &O::V) -> Result<O::V, O::E> {
    let one = o.constant(1.0, x);
    let a = o.bin(Bin::Sub, &one, x)?;
    let b = o.bin(Bin::Add, &one, x)?;
    let ab = o.bin(Bin::Mul, &a, &b)?;
    let r = o.un(Un::Sqrt, &ab)?;
    o.bin(Bin::Div, &one, &r)
}

/// c exp (-x²).
pub(crate) fn gauss<O: Ops>(o: &mut O, x: &O::V, c: f64) -> Result<O::V, O::E> {
    let xx = o.bin(Bin::Mul, x, x)?;
    let m = o.un(Un::Neg, &xx)?;
    let g = o.un(Un::Exp, &m)?;
    let c = o.constant(c, x);
    o.bin(Bin::Mul, &c, &g)
}

/// A power of two that scales the larger magnitude to between 1e-150 and 1e150; its derivative is 0.
pub(crate) fn unit<O: Ops>(ops: &mut O, x: &O::V, y: &O::V) -> Result<O::V, O::E> {
    let (a, b) = (ops.un(Un::Abs, x)?, ops.un(Un::Abs, y)?);
    let size = ops.bin(Bin::Max, &a, &b)?;
    let (least, most, one) = (ops.constant(1e-150, x), ops.constant(1e150, x), ops.constant(1.0, x));
    let small = ops.bin(Bin::LeIndicator, &size, &least)?;
    let large = ops.bin(Bin::LeIndicator, &most, &size)?;
    let (up, down) = (ops.constant(f64::powi(2.0, 1000), x), ops.constant(f64::powi(2.0, -540), x));
    // In F32 these constants overflow or underflow, and the scale is 1.
    let (up, down) = (ops.bin(Bin::ScaleTangent, &up, &small)?, ops.bin(Bin::ScaleTangent, &down, &large)?);
    let extreme = ops.bin(Bin::Add, &small, &large)?;
    let usual = ops.bin(Bin::Sub, &one, &extreme)?;
    let sum = ops.bin(Bin::Add, &up, &down)?;
    ops.bin(Bin::Add, &usual, &sum)
}

/// `a / b`, but 0 if `b` is 0 (for gradients of norms at the origin).
pub(crate) fn safe_div<O: Ops>(o: &mut O, a: &O::V, b: &O::V) -> Result<O::V, O::E> {
    // Here b ≥ 0, so b + [b <= 0] is b, or 1 at 0, where a is 0 too.
    let zero = o.constant(0.0, b);
    let at_zero = o.bin(Bin::LeIndicator, b, &zero)?;
    let d = o.bin(Bin::Add, b, &at_zero)?;
    o.bin(Bin::Div, a, &d)
}

/// y xʸ⁻¹ and xʸ log x. For x ≤ 0, xʸ counts as constant in y, because for negative x it is defined at isolated
/// exponents only. Then neither partial derivative depends on y, so that second derivatives are symmetric.
pub(crate) fn d_pow<O: Ops>(ops: &mut O, base: &O::V, exponent: &O::V, power: &O::V) -> Result<(O::V, O::V), O::E> {
    let one = ops.constant(1.0, base);
    let zero = ops.constant(0.0, base);
    let non_positive = ops.bin(Bin::LeIndicator, base, &zero)?;
    let positive = ops.bin(Bin::Sub, &one, &non_positive)?;
    // `exponent`, with derivative 0 if `base` ≤ 0. There `exponent` is rounded away from 0 to an integer. This changes `exponent` only if `base`
    // is 0, and then only its sign matters.
    let size = ops.un(Un::Abs, exponent)?;
    let whole = ops.un(Un::Ceil, &size)?;
    let sign = ops.un(Un::Sign, exponent)?;
    let fixed = ops.bin(Bin::Mul, &sign, &whole)?;
    let free = ops.bin(Bin::ScaleTangent, exponent, &positive)?;
    let fixed = ops.bin(Bin::ScaleTangent, &fixed, &non_positive)?;
    let factor = ops.bin(Bin::Add, &free, &fixed)?;
    let y1 = ops.bin(Bin::Sub, exponent, &one)?;
    let p = ops.bin(Bin::Pow, base, &y1)?;
    let dx = ops.bin(Bin::ScaleTangent, &p, &factor)?;
    // Keeps the logarithm finite for x ≤ 0, where it is multiplied by 0.
    let tiny = ops.constant(f64::from_bits(1), base);
    let safe = ops.bin(Bin::Max, base, &tiny)?;
    let l = ops.un(Un::Log, &safe)?;
    let zl = ops.bin(Bin::ScaleTangent, &l, power)?;
    let dy = ops.bin(Bin::ScaleTangent, &zl, &positive)?;
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
