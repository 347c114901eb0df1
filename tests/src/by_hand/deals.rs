//! Options by the Black–Scholes model.

use super::{ByHand, wide};
use adl_prim::elementary::{exp, log};

/// Columns, in the order of their names: rate, spot, strike, time, vol.
type Deals = [Vec<f64>; 5];

const STRIP: usize = 512;

/// The cumulative normal distribution by Hart's approximation, which has 15 digits in the central range; without
/// branches, so that it can be vectorised.
#[inline(always)]
fn normal(input: f64) -> f64 {
    let magnitude = input.abs();
    let decay = exp(-0.5 * magnitude * magnitude);
    let p = 0.035_262_496_599_891_1;
    let numerator = (((((p * magnitude + 0.700_383_064_443_688) * magnitude + 6.373_962_203_531_65) * magnitude
        + 33.912_866_078_383)
        * magnitude
        + 112.079_291_497_871)
        * magnitude
        + 221.213_596_169_931)
        * magnitude
        + 220.206_867_912_376;
    let denominator = ((((((0.088_388_347_648_318_4 * magnitude + 1.755_667_163_182_64) * magnitude
        + 16.064_177_579_207)
        * magnitude
        + 86.780_732_202_946_1)
        * magnitude
        + 296.564_248_779_674)
        * magnitude
        + 637.333_633_378_831)
        * magnitude
        + 793.826_512_519_948)
        * magnitude
        + 440.413_735_824_752;
    let tail = decay * numerator / denominator;
    if input > 0.0 { 1.0 - tail } else { tail }
}

#[inline(always)]
fn price([r, s, k, t, v]: [f64; 5]) -> f64 {
    let spread = v * t.sqrt();
    let d1 = (log(s / k) + (r + 0.5 * v * v) * t) / spread;
    s * normal(d1) - k * exp(-r * t) * normal(d1 - spread)
}

#[inline(always)]
fn greeks([r, s, k, t, v]: [f64; 5]) -> [f64; 5] {
    let root = t.sqrt();
    let spread = v * root;
    let d1 = (log(s / k) + (r + 0.5 * v * v) * t) / spread;
    let d2 = d1 - spread;
    let (n1, n2, discount) = (normal(d1), normal(d2), exp(-r * t));
    let density = 0.398_942_280_401_432_7 * exp(-0.5 * d1 * d1);
    let vega = s * density * root;
    [k * t * discount * n2, n1, -discount * n2, 0.5 * vega * v / t + r * k * discount * n2, vega]
}

#[inline(always)]
fn at(d: &Deals, i: usize) -> [f64; 5] {
    std::array::from_fn(|k| d[k][i])
}

#[inline(always)]
fn total(d: &Deals) -> f64 {
    let (n, mut sum) = (d[0].len(), 0.0);
    let mut out = [0.0; STRIP];
    for start in (0..n).step_by(STRIP) {
        let parts: [&[f64]; 5] = std::array::from_fn(|k| &d[k][start..n.min(start + STRIP)]);
        for i in 0..parts[0].len() {
            out[i] = price(std::array::from_fn(|k| parts[k][i]));
        }
        sum += out[..parts[0].len()].iter().sum::<f64>();
    }
    sum
}

#[inline(always)]
fn all_greeks(d: &Deals) -> Vec<f64> {
    let n = d[0].len();
    let mut out = vec![0.0; 5 * n];
    let (a, rest) = out.split_at_mut(n);
    let (b, rest) = rest.split_at_mut(n);
    let (c, rest) = rest.split_at_mut(n);
    let (e, f) = rest.split_at_mut(n);
    for i in 0..n {
        [a[i], b[i], c[i], e[i], f[i]] = greeks(at(d, i));
    }
    out
}

/// The sum of prices, and the greeks of each.
pub fn options(x: Vec<f64>) -> ByHand {
    let n = x.len() / 5;
    let data: Deals = std::array::from_fn(|k| x[k * n..(k + 1) * n].to_vec());
    ByHand::of(data, |d| vec![wide(|| total(d))], |d| wide(|| all_greeks(d)))
}
