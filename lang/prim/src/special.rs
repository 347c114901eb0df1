//! Special functions that `libm` lacks.

use crate::elementary::one;
use std::f64::consts::PI;

/// log |Γ(x)|.
pub fn lgamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// The zero of ψ between 1 and 2, as the sum of two floats.
const ROOT: (f64, f64) = (1.4616321449683622, 9.549995429965697e-17);

/// ψ(x) / (x - root) on [1, 2], as a series in Chebyshev polynomials of 2 x - 3.
const NEAR_ROOT: [f64; 25] = [
    0.983570260441567,
    -0.2270640863346444,
    0.03336889902393011,
    -0.005320077271596548,
    0.0008788656937820505,
    -0.00014773492650606044,
    2.5060543468359146e-05,
    -4.2721034029993324e-06,
    7.302769272465923e-07,
    -1.2502886813559594e-07,
    2.1425009322359472e-08,
    -3.673295918565179e-09,
    6.299717236108931e-10,
    -1.080593028883266e-10,
    1.853735192053638e-11,
    -3.18023536582553e-12,
    5.456147570322795e-13,
    -9.360993131036438e-14,
    1.606064636295075e-14,
    -2.7555431377438815e-15,
    4.727736178601912e-16,
    -8.11148420346509e-17,
    1.391707769474154e-17,
    -2.3877901082188625e-18,
    4.096797187161558e-19,
];

/// ψ(x), the derivative of log Γ. NaN at 0, -1, -2, .... Between 1 and 2 it uses a series around its zero, so that
/// small values keep their precision. Above 12 it uses the asymptotic series, elsewhere recurrence, and below 0
/// reflection.
pub fn digamma(argument: f64) -> f64 {
    if argument <= 0.0 && argument == argument.floor() || argument.is_nan() || argument == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if argument < 0.0 {
        return digamma(1.0 - argument) - PI / (PI * (argument - argument.round())).tan();
    }
    if argument >= 12.0 {
        let r = 1.0 / (argument * argument);
        let series = r
            * (1.0 / 12.0
                - r * (1.0 / 120.0 - r * (1.0 / 252.0 - r * (1.0 / 240.0 - r * (1.0 / 132.0 - r * 691.0 / 32760.0)))));
        return argument.ln() - 0.5 / argument - series;
    }
    let (mut reduced, mut shift) = (argument, 0.0);
    if reduced < 1.0 {
        shift = -1.0 / reduced;
        reduced += 1.0;
    }
    while reduced > 2.0 {
        reduced -= 1.0;
        shift += 1.0 / reduced;
    }
    let t = 2.0 * reduced - 3.0;
    let (mut b1, mut b2) = (0.0, 0.0);
    for c in NEAR_ROOT[1..].iter().rev() {
        (b1, b2) = (2.0 * t * b1 - b2 + c, b1);
    }
    let quotient = t * b1 - b2 + NEAR_ROOT[0];
    shift + (reduced - ROOT.0 - ROOT.1) * quotient
}

/// Bernoulli numbers B₂, B₄, ….
const BERNOULLI: [f64; 12] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
    854513.0 / 138.0,
    -236364091.0 / 2730.0,
];

/// ψ⁽ⁿ⁾(x), n ≥ 1, for x > 0 by recurrence and the asymptotic series; for negative x by summing upwards across the poles. NaN at
/// 0, -1, -2, ....
pub fn polygamma(n: u8, x: f64) -> f64 {
    if x <= 0.0 && x == x.floor() || x.is_nan() || x < -1e6 {
        return f64::NAN;
    }
    let order = f64::from(n);
    let sign = if n % 2 == 1 { 1.0 } else { -1.0 };
    let factorial: f64 = (1..=u32::from(n)).map(f64::from).product();
    let (mut shifted, mut sum) = (x, 0.0);
    while shifted < 15.0 + order {
        sum +=
            factorial / shifted.powf(order + 1.0).abs() * if shifted < 0.0 && n.is_multiple_of(2) { -1.0 } else { 1.0 };
        shifted += 1.0;
    }
    let mut tail = factorial / order / shifted.powf(order) + factorial / 2.0 / shifted.powf(order + 1.0);
    // (2k + n - 1)! / (2k)!, updated for each term.
    let mut ratio = factorial * (order + 1.0) / 2.0;
    let mut power = shifted.powf(order + 2.0);
    for (k, b) in BERNOULLI.iter().enumerate() {
        tail += b * ratio / power;
        let k2 = 2.0 * (k as f64 + 1.0);
        ratio *= (k2 + order) * (k2 + order + 1.0) / ((k2 + 1.0) * (k2 + 2.0));
        power *= shifted * shifted;
    }
    sign * (sum + tail)
}

/// Φ⁻¹(p) / (p - ½) for p within 0.425 of ½, in 0.180625 - (p - ½)²: numerator and denominator, from the constant on.
const QUANTILE_MIDDLE: [[f64; 8]; 2] = [
    [
        3.3871328727963665,
        133.14166789178438,
        1971.5909503065513,
        13731.69376550946,
        45921.95393154987,
        67265.7709270087,
        33430.57558358813,
        2509.0809287301227,
    ],
    [
        1.0,
        42.31333070160091,
        687.1870074920579,
        5394.196021424751,
        21213.794301586597,
        39307.89580009271,
        28729.085735721943,
        5226.495278852854,
    ],
];

/// Φ⁻¹(1 - q) in r - 1.6 with r = √(-log q), for r up to 5.
const QUANTILE_TAIL: [[f64; 8]; 2] = [
    [
        1.4234371107496835,
        4.630337846156546,
        5.769497221460691,
        3.6478483247632045,
        1.2704582524523684,
        0.2417807251774506,
        0.022723844989269184,
        0.0007745450142783414,
    ],
    [
        1.0,
        2.053191626637759,
        1.6763848301838038,
        0.6897673349851,
        0.14810397642748008,
        0.015198666563616457,
        0.0005475938084995345,
        1.0507500716444169e-09,
    ],
];

/// The same in r - 5, for r above 5.
const QUANTILE_FAR: [[f64; 8]; 2] = [
    [
        6.657904643501103,
        5.463784911164114,
        1.7848265399172913,
        0.29656057182850487,
        0.026532189526576124,
        0.0012426609473880784,
        2.7115555687434876e-05,
        2.0103343992922881e-07,
    ],
    [
        1.0,
        0.599832206555888,
        0.1369298809227358,
        0.014875361290850615,
        0.0007868691311456133,
        1.8463183175100548e-05,
        1.421511758316446e-07,
        2.0442631033899397e-15,
    ],
];

fn ratio([top, bottom]: &[[f64; 8]; 2], x: f64) -> f64 {
    let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, a| sum * x + a);
    horner(top) / horner(bottom)
}

/// Above this number, `x² ± 1` is `x²`.
const SQUARE_ALONE: f64 = 268_435_456.0;

/// sinh⁻¹(x) = log (x + √(x² + 1)), by log1p so that small numbers keep their digits. At most 3 ulps.
pub fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let y = if a > SQUARE_ALONE {
        one::log(a) + std::f64::consts::LN_2
    } else {
        one::log1p(a + a * a / (1.0 + (a * a + 1.0).sqrt()))
    };
    y.copysign(x)
}

/// cosh⁻¹(x) = log (x + √(x² - 1)), by log1p so that numbers close to 1 keep their digits; NaN below 1. At most 3 ulps.
pub fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        return f64::NAN;
    }
    if x > SQUARE_ALONE {
        return one::log(x) + std::f64::consts::LN_2;
    }
    let t = x - 1.0;
    one::log1p(t + (2.0 * t + t * t).sqrt())
}

/// tanh⁻¹(x) = log ((1 + x) / (1 - x)) / 2: ±∞ at ±1, NaN beyond. At most 3 ulps.
pub fn atanh(x: f64) -> f64 {
    let a = x.abs();
    if a > 1.0 {
        return f64::NAN;
    }
    (0.5 * one::log1p(2.0 * a / (1.0 - a))).copysign(x)
}

/// erf⁻¹(x): ±∞ at ±1, NaN beyond. By the quantile Φ⁻¹ of the normal distribution, erf⁻¹(x) = Φ⁻¹((1 + x) / 2) / √2,
/// from algorithm AS 241 (Wichura, *The Percentage Points of the Normal Distribution*, 1988). At most 6 ulps.
pub fn erfinv(argument: f64) -> f64 {
    let a = argument.abs();
    if a <= 0.85 {
        let p = 0.5 * argument;
        // √2 / 4: the half of x, and the quantile in units of √2.
        return argument * (ratio(&QUANTILE_MIDDLE, 0.180625 - p * p) * (0.25 * std::f64::consts::SQRT_2));
    }
    if a >= 1.0 || a.is_nan() {
        return if a == 1.0 { f64::INFINITY.copysign(argument) } else { f64::NAN };
    }
    let r = (-one::log(0.5 * (1.0 - a))).sqrt();
    let z = if r <= 5.0 { ratio(&QUANTILE_TAIL, r - 1.6) } else { ratio(&QUANTILE_FAR, r - 5.0) };
    (z * std::f64::consts::FRAC_1_SQRT_2).copysign(argument)
}
