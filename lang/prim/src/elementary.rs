//! Elementary functions without branches, so that loops over them can be vectorised. The operations and their order do
//! not depend on the vector width, and no multiply-adds are fused. So results are bit-identical on every machine.
//! Errors are below 1 ulp, little more for `erfc`, and up to 2.5 ulps for `tanh` and `sigmoid`, which have a quotient of
//! rounded numbers.
//!
//! These functions are meant to be inlined into loops. For single numbers, use the non-inlined versions in [`one`].
//!
//! Arguments are reduced to a short interval around 0, where a polynomial (Chebyshev) approximates the function. The
//! rounding errors of the large terms are computed separately and added at the end.

pub mod error_function;

pub use error_function::{erf, erfc};

/// Adding and subtracting this constant rounds to an integer, which the lowest bits of the sum contain.
const ROUND: f64 = 6755399441055744.0;

/// log 2: the leading 42 bits, and the remainder.
const LN2: (f64, f64) = (0.6931471805598903, 5.497923018708371e-14);

/// (exp r - 1 - r) / r².
const EXP: [f64; 11] = [
    0.5,
    0.1666666666666667,
    0.04166666666666667,
    0.008333333333326136,
    0.0013888888888883748,
    0.00019841269874820627,
    2.4801587325547743e-05,
    2.7557255400206422e-06,
    2.75572736431103e-07,
    2.5105217004720745e-08,
    2.0914686968086876e-09,
];

/// (log ((1 + s) / (1 - s)) - 2 s) / s³, in s².
const LOG: [f64; 8] = [
    0.6666666666666666,
    0.4000000000000088,
    0.2857142857080323,
    0.2222222239180047,
    0.18181795630884753,
    0.15386240205813478,
    0.13268759668560612,
    0.13086767009948175,
];

/// (sin x - x) / x³, in x².
const SIN: [f64; 6] = [
    -0.16666666666666666,
    0.008333333333330948,
    -0.00019841269836756774,
    2.7557316101617874e-06,
    -2.505113165023518e-08,
    1.5918115263265974e-10,
];

/// (cos x - 1 + x² / 2) / x⁴, in x².
const COS: [f64; 6] = [
    0.041666666666666664,
    -0.0013888888888887398,
    2.480158729876456e-05,
    -2.7557317271145144e-07,
    2.087614614655861e-09,
    -1.1382623647474604e-11,
];

/// π / 2 in three parts. Products of the first or the second part with integers below 2²⁰ are exact.
const HALF_PI: [f64; 3] = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21];

/// The bound up to which [`HALF_PI`] is accurate enough to reduce arguments of sines.
const LARGE: f64 = 1e6;

/// The functions on a single number, not inlined.
pub mod one {
    macro_rules! called {
        ($($name:ident)*) => {
            $(
                /// Calls the function of the same name.
                pub fn $name(x: f64) -> f64 {
                    super::$name(x)
                }
            )*
        };
    }
    called!(exp expm1 tanh sech2 sigmoid softplus log log1p erf erfc);

    /// The sine.
    pub fn sin(x: f64) -> f64 {
        if super::is_small(x) { super::sin(x) } else { x.sin() }
    }

    /// The cosine.
    pub fn cos(x: f64) -> f64 {
        if super::is_small(x) { super::cos(x) } else { x.cos() }
    }
}

/// Σ cᵢ xⁱ, evaluated in pairs to shorten the dependency chain.
#[inline(always)]
fn polynomial<const N: usize>(c: [f64; N], x: f64) -> f64 {
    let z = x * x;
    let mut sum = 0.0;
    for i in (0..N.div_ceil(2)).rev() {
        let pair = if 2 * i + 1 < N { c[2 * i] + c[2 * i + 1] * x } else { c[2 * i] };
        sum = if 2 * i + 2 >= N { pair } else { sum * z + pair };
    }
    sum
}

/// `a + b` and its rounding error.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// `a + b` and its rounding error, for |a| ≥ |b|.
#[inline(always)]
fn fast_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    (s, (a - s) + b)
}

/// Argument reduction x = k log 2 + r. Returns k (plus 2048, in the lowest bits), r, and exp r - 1 - r.
#[inline(always)]
fn reduced(x: f64) -> (u64, f64, f64) {
    let t = x * std::f64::consts::LOG2_E + ROUND;
    let n = t - ROUND;
    let (hi, lo) = (x - n * LN2.0, n * LN2.1);
    let r = hi - lo;
    let rest = (hi - r) - lo;
    let k = t.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(2048);
    (k, r, r * r * polynomial(EXP, r) + rest)
}

/// 2 to the power k - 1024.
#[inline(always)]
fn power(k: u64) -> f64 {
    f64::from_bits((k.wrapping_sub(1)) << 52)
}

/// eˣ.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let c = if x > 710.0 { 710.0 } else { x };
    let c = if c < -746.0 { -746.0 } else { c };
    exp_of(reduced(c))
}

/// eˣ from the result of [`reduced`].
#[inline(always)]
fn exp_of((k, r, q): (u64, f64, f64)) -> f64 {
    let (hi, lo) = fast_sum(1.0, r);
    let half = k >> 1;
    (hi + (lo + q)) * power(half) * power(k.wrapping_sub(half))
}

/// eˣ - 1.
#[inline(always)]
pub fn expm1(x: f64) -> f64 {
    let c = if x > 40.0 { 40.0 } else { x };
    let c = if c < -50.0 { -50.0 } else { c };
    let (k, r, q) = reduced(c);
    let s = power(k.wrapping_sub(1024));
    let (one, rest) = two_sum(s, -1.0);
    let (hi, lo) = two_sum(one, s * r);
    let y = hi + (lo + (rest + s * q));
    let y = if x > 40.0 { exp(x) } else { y };
    if x == 0.0 { x } else { y }
}

/// The leading 26 bits.
#[inline(always)]
fn leading(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0xffff_ffff_f800_0000)
}

/// The hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let a = x.abs();
    let a = if a > 22.0 { 22.0 } else { a };
    tanh_of(reduced(-2.0 * a)).copysign(x)
}

/// The hyperbolic tangent of a positive number x below 25, from the reduction of -2 x by [`reduced`]: with
/// e = exp (-2 x) it is (1 - e) / (1 + e), and for large x the difference from 1, 2 e / (1 + e), which is small.
#[inline(always)]
fn tanh_of((k, r, q): (u64, f64, f64)) -> f64 {
    let s = power(k.wrapping_sub(1024));
    let part = s * (r + q);
    let (e, less) = (s + part, (1.0 - s) - part);
    let large = e < 0.3333333333333333;
    let (base, above) = if large { (1.0, -2.0 * e) } else { (0.0, less) };
    base + above / (1.0 + e)
}

/// 1 / cosh² x, the derivative of tanh, as 4 e / (1 + e)² with e = exp (-2 |x|). No cancellation occurs.
#[inline(always)]
pub fn sech2(x: f64) -> f64 {
    sech2_of(reduced(-2.0 * below_overflow(x)))
}

/// |x|, limited to the largest argument at which 1 / cosh² does not underflow to 0.
#[inline(always)]
fn below_overflow(x: f64) -> f64 {
    let a = x.abs();
    if a > 374.0 { 374.0 } else { a }
}

/// 1 / cosh² x from the reduction of -2 |x| by [`reduced`]. Four times the result is computed first, so that a
/// subnormal result is rounded only once.
#[inline(always)]
fn sech2_of((k, r, q): (u64, f64, f64)) -> f64 {
    let four = exp_of((k + 2, r, q));
    let d = 1.0 + 0.25 * four;
    four / (d * d)
}

/// The hyperbolic tangent and its derivative, which share most of their work.
#[inline(always)]
pub fn tanh_and_sech2(x: f64) -> (f64, f64) {
    let a = below_overflow(x);
    let e = reduced(-2.0 * a);
    let t = tanh_of(e);
    // Beyond 22 the difference from 1 is below half an ulp, and `tanh_of` is out of range.
    let t = if a > 22.0 { 1.0 } else { t };
    (t.copysign(x), sech2_of(e))
}

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    let e = odds(x);
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// The logistic function at `x` and at `-x`, which share most of their work.
#[inline(always)]
pub fn sigmoids(x: f64) -> (f64, f64) {
    let e = odds(x);
    let (less, more) = (e / (1.0 + e), 1.0 / (1.0 + e));
    (if x < 0.0 { less } else { more }, if -x < 0.0 { less } else { more })
}

/// exp (-|x|).
#[inline(always)]
fn odds(x: f64) -> f64 {
    let a = -x.abs();
    exp_of(reduced(if a < -746.0 { -746.0 } else { a }))
}

/// The natural logarithm.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    let (y, rest) = logarithm(x);
    let y = y + rest;
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f64::NAN }
}

/// The logarithm of a positive number in two parts.
#[inline(always)]
fn logarithm(x: f64) -> (f64, f64) {
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let tiny = x < f64::MIN_POSITIVE;
    let u = if tiny { x * 18014398509481984.0 } else { x }.to_bits();
    let exponent = u.wrapping_add(0x3ff0_0000_0000_0000 - ROOT_HALF) >> 52;
    let m = f64::from_bits(u.wrapping_sub(exponent.wrapping_sub(1023) << 52));
    let k =
        f64::from_bits(0x4330_0000_0000_0000 | exponent) - if tiny { 4503599627371573.0 } else { 4503599627371519.0 };
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    // f² / 2; its first part is exact.
    let head = leading(f);
    let (square, rest) = (0.5 * head * head, 0.5 * (f - head) * (f + head));
    let (a, e1) = fast_sum(f, -square);
    let (y, e2) = fast_sum(k * LN2.0, a);
    let tail = s * ((square + rest) + z * polynomial(LOG, z)) - rest + k * LN2.1;
    (y, e2 + (e1 + tail))
}

/// log (1 + x).
#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    let (u, lost) = two_sum(1.0, x);
    let (y, rest) = logarithm(u);
    let y = y + (rest + lost / u);
    let y = if x == f64::INFINITY { x } else { y };
    let y = if x == -1.0 { f64::NEG_INFINITY } else { y };
    let y = if x == 0.0 { x } else { y };
    if x >= -1.0 { y } else { f64::NAN }
}

/// log (1 + eˣ).
#[inline(always)]
pub fn softplus(x: f64) -> f64 {
    let y = log1p(exp(-x.abs()));
    if x > 0.0 { x + y } else { y }
}

/// The sine (`turn` 0) or cosine (1), for |x| up to [`LARGE`].
#[inline(always)]
fn wave(x: f64, turn: u64) -> f64 {
    let t = x * std::f64::consts::FRAC_2_PI + ROUND;
    let n = t - ROUND;
    let (a, e) = two_sum(x - n * HALF_PI[0], -(n * HALF_PI[1]));
    let (r, rest) = fast_sum(a, e - n * HALF_PI[2]);
    let z = r * r;
    let sin = r + (r * z * polynomial(SIN, z) + rest * (1.0 - 0.5 * z));
    let (c, e) = fast_sum(1.0, -0.5 * z);
    let cos = c + (e + (z * z * polynomial(COS, z) - r * rest));
    let quarter = t.to_bits().wrapping_add(turn);
    let y = if quarter & 1 == 1 { cos } else { sin };
    f64::from_bits(y.to_bits() ^ (quarter & 2) << 62)
}

/// Whether `sin` and `cos` here accept the argument.
#[inline(always)]
pub fn is_small(x: f64) -> bool {
    x.abs() <= LARGE
}

/// The sine, for |x| up to `LARGE`.
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    if x == 0.0 { x } else { wave(x, 0) }
}

/// The cosine, for |x| up to `LARGE`.
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    wave(x, 1)
}
