//! Real numbers with a few hundred bits and a larger exponent range than floats, and functions of them: reference
//! values for tests.

use astro_float::{BigFloat, Consts, Radix, RoundingMode};
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The precision in bits.
const BITS: usize = 256;
const NEAREST: RoundingMode = RoundingMode::ToEven;

thread_local! {
    static CONSTANTS: RefCell<Option<Consts>> = RefCell::new(Consts::new().ok());
}

/// A real number, an infinity, or undefined.
#[derive(Clone, Debug)]
pub struct Real(BigFloat);

macro_rules! operators {
    ($($of:ident $name:ident $call:ident),*) => {
        $(impl $of for Real {
            type Output = Real;
            fn $name(self, other: Real) -> Real {
                Real(self.0.$call(&other.0, BITS, NEAREST))
            }
        })*
    };
}
operators!(Add add add, Sub sub sub, Mul mul mul, Div div div);

impl Neg for Real {
    type Output = Real;
    fn neg(self) -> Real {
        Real(self.0.neg())
    }
}

impl From<f64> for Real {
    /// Exact conversion. (Subnormal numbers are scaled first, because `BigFloat` does not accept them.)
    fn from(x: f64) -> Real {
        if x == 0.0 || x.abs() >= f64::MIN_POSITIVE || !x.is_finite() {
            return Real(BigFloat::from_f64(x, BITS));
        }
        let up = 2f64.powi(600);
        Real(BigFloat::from_f64(x * up, BITS)) / Real(BigFloat::from_f64(up, BITS))
    }
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $call:ident),*) => {
        impl Real {
            $($(#[$doc])* pub fn $name(&self) -> Real {
                self.constants(|x, c| x.$call(BITS, NEAREST, c))
            })*
        }
    };
}
functions!(
    /// eˣ.
    exp exp,
    /// The natural logarithm.
    ln ln,
    /// The sine.
    sin sin,
    /// The cosine.
    cos cos,
    /// The tangent.
    tan tan,
    /// The inverse of the sine.
    asin asin,
    /// The inverse of the cosine.
    acos acos,
    /// The inverse of the tangent.
    atan atan,
    /// The hyperbolic sine.
    sinh sinh,
    /// The hyperbolic cosine.
    cosh cosh,
    /// The hyperbolic tangent.
    tanh tanh
);

impl Real {
    fn constants(&self, f: impl FnOnce(&BigFloat, &mut Consts) -> BigFloat) -> Real {
        CONSTANTS.with(|c| match c.borrow_mut().as_mut() {
            Some(c) => Real(f(&self.0, c)),
            None => Real(BigFloat::nan(None)),
        })
    }

    /// The square root.
    pub fn sqrt(&self) -> Real {
        Real(self.0.sqrt(BITS, NEAREST))
    }

    /// The cube root.
    pub fn cbrt(&self) -> Real {
        Real(self.0.cbrt(BITS, NEAREST))
    }

    /// The square.
    pub fn squared(&self) -> Real {
        self.clone() * self.clone()
    }

    /// x to the power y, for positive x, or for negative x and integer y.
    pub fn powf(&self, y: &Real) -> Real {
        self.constants(|x, c| x.pow(&y.0, BITS, NEAREST, c))
    }

    /// π.
    pub fn pi() -> Real {
        Real::from(1.0).constants(|_, c| c.pi(BITS, NEAREST))
    }

    /// Whether it is below 0.
    pub fn is_negative(&self) -> bool {
        self.0.is_negative() && !self.0.is_zero()
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// The nearest float.
    pub fn to_f64(&self) -> f64 {
        if self.0.is_nan() {
            return f64::NAN;
        }
        if self.0.is_inf() {
            return if self.0.is_negative() { f64::NEG_INFINITY } else { f64::INFINITY };
        }
        let text = CONSTANTS.with(|c| c.borrow_mut().as_mut().and_then(|c| self.0.format(Radix::Dec, NEAREST, c).ok()));
        text.and_then(|t| t.parse().ok()).unwrap_or(f64::NAN)
    }
}

/// 1 - erf x; by a continued fraction if the result is small.
pub fn erfc(input: &Real) -> Real {
    if input.is_negative() {
        return Real::from(2.0) - erfc(&-input.clone());
    }
    if (input.clone() - Real::from(4.0)).is_negative() {
        return Real::from(1.0) - erf(input);
    }
    let mut t = input.clone();
    for k in (1..400).rev() {
        t = input.clone() + Real::from(0.5 * f64::from(k)) / t;
    }
    (-input.squared()).exp() / (Real::pi().sqrt() * t)
}

/// 2/√π ∫₀ˣ exp (-t²), by its power series or from its complement.
pub fn erf(x: &Real) -> Real {
    let size = if x.is_negative() { -x.clone() } else { x.clone() };
    if (Real::from(4.0) - size).is_negative() {
        return Real::from(1.0) - erfc(x);
    }
    let xx = x.squared();
    let (mut term, mut sum) = (x.clone(), x.clone());
    for n in 1..6000 {
        term = -(term * xx.clone()) / Real::from(f64::from(n));
        let next = sum.clone() + term.clone() / Real::from(f64::from(2 * n + 1));
        if next.0 == sum.0 {
            break;
        }
        sum = next;
    }
    sum * Real::from(2.0) / Real::pi().sqrt()
}

/// The inverse of `erf`, for |x| < 1: Newton's method from an approximation of three digits. ±∞ at ±1.
pub fn erfinv(input: &Real) -> Real {
    if input.is_negative() {
        return -erfinv(&-input.clone());
    }
    let below = Real::from(1.0) - input.clone();
    if below.is_zero() {
        return Real::from(f64::INFINITY);
    }
    let slope = Real::pi().sqrt() / Real::from(2.0);
    let mut estimate = slope.clone() * input.clone();
    if (Real::from(0.5) - input.clone()).is_negative() {
        // Winitzki's approximation.
        let l = (below.clone() * (Real::from(1.0) + input.clone())).ln();
        let t = Real::from(4.33) + l.clone() / Real::from(2.0);
        estimate = ((t.squared() - l / Real::from(0.147)).sqrt() - t).sqrt();
    }
    for _ in 0..8 {
        let off = if (Real::from(1.0) - estimate.clone()).is_negative() {
            below.clone() - erfc(&estimate)
        } else {
            erf(&estimate) - input.clone()
        };
        estimate = estimate.clone() - off * slope.clone() * estimate.squared().exp();
    }
    estimate
}

/// Bernoulli numbers B₂, B₄, ... as fractions.
const BERNOULLI: [(f64, f64); 14] = [
    (1.0, 6.0),
    (-1.0, 30.0),
    (1.0, 42.0),
    (-1.0, 30.0),
    (5.0, 66.0),
    (-691.0, 2730.0),
    (7.0, 6.0),
    (-3617.0, 510.0),
    (43867.0, 798.0),
    (-174611.0, 330.0),
    (854513.0, 138.0),
    (-236364091.0, 2730.0),
    (8553103.0, 6.0),
    (-23749461029.0, 870.0),
];

/// From here on the asymptotic series of the logarithm of Γ has forty digits.
const FAR: f64 = 200.0;

/// log |Γ(x)| and its first two derivatives, for x > 0.
pub fn log_gamma(x: &Real) -> [Real; 3] {
    let one = || Real::from(1.0);
    let mut shifted = x.clone();
    let (mut log, mut first, mut second) = (Real::from(0.0), Real::from(0.0), Real::from(0.0));
    while (shifted.clone() - Real::from(FAR)).is_negative() {
        let r = one() / shifted.clone();
        log = log - shifted.ln();
        first = first - r.clone();
        second = second + r.squared();
        shifted = shifted + one();
    }
    let (half, inverse) = (Real::from(0.5), one() / shifted.clone());
    let l = shifted.ln();
    log = log + (shifted.clone() - half.clone()) * l.clone() - shifted.clone()
        + half.clone() * (Real::from(2.0) * Real::pi()).ln();
    first = first + l - half.clone() * inverse.clone();
    second = second + inverse.clone() + half * inverse.squared();
    let mut power = inverse.clone();
    for (k, (p, q)) in BERNOULLI.iter().enumerate() {
        let n = Real::from(2.0 * (k as f64 + 1.0));
        let b = Real::from(*p) / Real::from(*q);
        log = log + b.clone() * power.clone() / (n.clone() * (n.clone() - one()));
        first = first - b.clone() * power.clone() * inverse.clone() / n;
        second = second + b * power.clone() * inverse.squared();
        power = power * inverse.squared();
    }
    [log, first, second]
}
