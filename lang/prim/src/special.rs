//! Special functions that `libm` lacks.

use std::f64::consts::PI;

/// 1 / (1 + exp (-x)) without overflow.
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// log |Γ(x)|.
pub fn lgamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// ψ(x), the derivative of log Γ: reflection, recurrence to x ≥ 12, then the asymptotic series. NaN at 0, -1, -2, ....
pub fn digamma(x: f64) -> f64 {
    if x <= 0.0 && x == x.floor() || x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if x < 0.0 {
        return digamma(1.0 - x) - PI / (PI * x).tan();
    }
    let (mut x, mut shift) = (x, 0.0);
    while x < 12.0 {
        shift -= 1.0 / x;
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = r * (1.0 / 12.0 - r * (1.0 / 120.0 - r * (1.0 / 252.0 - r * (1.0 / 240.0 - r * (1.0 / 132.0 - r * 691.0 / 32760.0)))));
    shift + x.ln() - 0.5 / x - series
}

/// Bernoulli numbers B₂, B₄, ….
const BERNOULLI: [f64; 12] = [
    1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0, 43867.0 / 798.0,
    -174611.0 / 330.0, 854513.0 / 138.0, -236364091.0 / 2730.0,
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
    let (mut x, mut sum) = (x, 0.0);
    while x < 15.0 + order {
        sum += factorial / x.powf(order + 1.0).abs() * if x < 0.0 && n % 2 == 0 { -1.0 } else { 1.0 };
        x += 1.0;
    }
    let mut tail = factorial / order / x.powf(order) + factorial / 2.0 / x.powf(order + 1.0);
    // (2k + n - 1)! / (2k)!, updated from term to term.
    let mut ratio = factorial * (order + 1.0) / 2.0;
    let mut power = x.powf(order + 2.0);
    for (k, b) in BERNOULLI.iter().enumerate() {
        tail += b * ratio / power;
        let k2 = 2.0 * (k as f64 + 1.0);
        ratio *= (k2 + order) * (k2 + order + 1.0) / ((k2 + 1.0) * (k2 + 2.0));
        power *= x * x;
    }
    sign * (sum + tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} {b}");
        close(digamma(1.0), -0.577_215_664_901_532_9);
        close(digamma(0.5), -1.963_510_026_021_423_5);
        close(digamma(-0.5), 0.036_489_973_978_576_52);
        close(polygamma(1, 1.0), PI * PI / 6.0);
        close(polygamma(1, 0.5), PI * PI / 2.0);
        close(polygamma(2, 1.0), -2.404_113_806_319_188_6);
        close(polygamma(3, 1.0), PI.powi(4) / 15.0);
        close(polygamma(1, -0.5), 8.934_802_200_544_679);
    }
}
