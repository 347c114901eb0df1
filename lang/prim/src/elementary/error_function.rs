//! The error function and its complement. Both sides of [`NEAR_ZERO`] are without branches.
//!
//! Near 0, erf x is x + x Y(x²) with a polynomial Y. Elsewhere erfc a is exp (-a²) F(t) / (1 + 2 a) with a polynomial F in
//! t = (a - K) / (a + K), since (1 + 2 a) exp (a²) erfc a is nearly constant (Shepherd and Laframboise, Mathematics of
//! Computation 36, 1981). All factors have two parts: the largest errors that were found are 0.83 and 1.06 ulps.

use super::{fast_sum, leading, polynomial, power, reduced};

/// erf x / x - 1 in x², for |x| up to 0.5.
const NEAR: [f64; 9] = [
    0.12837916709551256,
    -0.3761263890318347,
    0.11283791670925271,
    -0.026866170632859,
    0.0052239773725259965,
    -0.0008548297707906897,
    0.00012053332795966865,
    -1.4845787890421724e-05,
    1.4725211252266738e-06,
];

/// Where the polynomial around 0 ends. Loops over numbers compute both sides, each in a loop of its own: one with both has
/// no vectors.
pub const NEAR_ZERO: f64 = 0.5;

/// The value of t at which the polynomial F is expanded is 0, at K.
const K: f64 = 3.6875;

/// F at 0 in two parts.
const FIRST: (f64, f64) = (1.2386913270815663, -8.163053047098936e-17);

/// (F(t) - F(0)) / t.
const REST: [f64; 20] = [
    -0.14027326050400607,
    0.00028558599396535624,
    0.08599638470684995,
    -0.11054535066800919,
    0.09152014546655535,
    -0.056431589880571384,
    0.026064057334824094,
    -0.008254031824019854,
    0.0011203753795679943,
    0.00042759802443249575,
    -0.0002632499320313812,
    2.32166078110084e-05,
    2.7319204370504437e-05,
    -8.479959393341246e-06,
    -2.369068963674881e-06,
    1.5144994238259185e-06,
    1.9481071016838463e-07,
    -2.3162557311845007e-07,
    -1.3878619512656313e-08,
    2.536147503661123e-08,
];

/// The error function.
#[inline(always)]
pub fn erf(x: f64) -> f64 {
    if x.abs() < NEAR_ZERO { erf_near(x) } else { erf_far(x) }
}

/// 1 - erf x, accurate for large x.
#[inline(always)]
pub fn erfc(x: f64) -> f64 {
    if x.abs() < NEAR_ZERO { erfc_near(x) } else { erfc_far(x) }
}

/// erf x for |x| up to [`NEAR_ZERO`].
#[inline(always)]
pub fn erf_near(x: f64) -> f64 {
    let (y, lost) = near_zero(x);
    (y + lost).copysign(x)
}

/// erf x for |x| from [`NEAR_ZERO`] on.
#[inline(always)]
pub fn erf_far(x: f64) -> f64 {
    let (y, less, scale) = complement(x.abs());
    // The scale is exact where the result differs from 1.
    let (y, less) = (y * scale, less * scale);
    let one = 1.0 - y;
    (one + ((1.0 - one) - y - less)).copysign(x)
}

/// erfc x for |x| up to [`NEAR_ZERO`].
#[inline(always)]
pub fn erfc_near(x: f64) -> f64 {
    let (y, lost) = near_zero(x);
    let one = 1.0 - y;
    one + ((1.0 - one) - y - lost)
}

/// erfc x for |x| from [`NEAR_ZERO`] on.
#[inline(always)]
pub fn erfc_far(x: f64) -> f64 {
    let (y, less, scale) = complement(x.abs());
    let positive = (y + less) * scale;
    let (y, less) = (y * scale, less * scale);
    let two = 2.0 - y;
    let negative = two + ((2.0 - two) - y - less);
    if x < 0.0 { negative } else { positive }
}

/// erf x in two parts, for |x| up to 0.5.
#[inline(always)]
fn near_zero(x: f64) -> (f64, f64) {
    fast_sum(x, x * polynomial(NEAR, x * x))
}

/// erfc a for a ≥ 0.5, as the product of a sum of two parts and a power of 2, of which it is made last: it may be subnormal.
#[inline(always)]
fn complement(a: f64) -> (f64, f64, f64) {
    let a = if a > 28.0 { 28.0 } else { a };
    // a² = h² + e; h² is exact.
    let h = leading(a);
    let e = (a - h) * (a + h);
    let (exponent, r, tail) = reduced(-(h * h));
    let (one, rest) = fast_sum(1.0, r);
    let (power_hi, power_lo) = fast_sum(one, (rest + tail) - (one + tail) * (e * (1.0 - e * (0.5 - e * (1.0 / 6.0)))));
    let t = (a - K) / (a + K);
    let (f, more) = fast_sum(FIRST.0, t * polynomial(REST, t));
    let (d, lost) = fast_sum(2.0 * a, 1.0);
    // The quotient f / d, and what it lacks: 0.83 q is nearly 1 / d.
    let q = f / d;
    let (p, c) = (leading(q), leading(d));
    let left = ((f - p * c) - (q - p) * c) - q * (d - c);
    let less = (left + more + FIRST.1 - q * lost) * (0.83 * q);
    let y = power_hi * q;
    let (u, v) = (leading(power_hi), leading(q));
    let error = ((u * v - y) + u * (q - v) + (power_hi - u) * v) + (power_hi - u) * (q - v);
    let half = exponent >> 1;
    // The first factor is applied now, so that the other one is not subnormal.
    let first = power(half);
    (y * first, (error + power_hi * less + power_lo * q) * first, power(exponent.wrapping_sub(half)))
}
