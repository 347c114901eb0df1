//! Least squares, log-sum-exp, chains of equations, clusters.

use super::{ByHand, wide};
use adl_prim::elementary::exp;
use serde_json::Value as Json;

/// The numbers of a JSON value, in order.
pub fn numbers(v: &Json) -> Vec<f64> {
    match v {
        Json::Array(a) => a.iter().flat_map(numbers).collect(),
        v => v.as_f64().into_iter().collect(),
    }
}

fn whole(v: &Json) -> usize {
    v.as_u64().unwrap_or(0) as usize
}

/// The number of points whose powers are computed together.
const LANES: usize = 32;

/// Calls `visit` with each strip of points and the polynomial's errors there (0 for padding).
#[inline(always)]
fn errors((x, count): &(Vec<f64>, usize), mut visit: impl FnMut(&[f64; LANES], &[f64; LANES])) {
    for start in (0..*count).step_by(LANES) {
        let (mut points, mut values) = ([0.0; LANES], [0.0; LANES]);
        (0..LANES).for_each(|k| points[k] = -1.0 + 2.0 * (start + k) as f64 / (count - 1) as f64);
        for c in x.iter().rev() {
            (0..LANES).for_each(|k| values[k] = c + points[k] * values[k]);
        }
        let sign = |t: f64| {
            if t > 0.0 {
                1.0
            } else if t < 0.0 {
                -1.0
            } else {
                0.0
            }
        };
        (0..LANES).for_each(|k| values[k] = if start + k < *count { sign(points[k]) - values[k] } else { 0.0 });
        visit(&points, &values);
    }
}

/// Linear least squares.
pub fn llsq(input: &Json) -> ByHand {
    type Data = (Vec<f64>, usize);
    let value = |d: &Data| {
        let mut total = [0.0; LANES];
        wide(|| errors(d, |_, e| (0..LANES).for_each(|k| total[k] += e[k] * e[k])));
        vec![0.5 * total.iter().sum::<f64>()]
    };
    let gradient = |d: &Data| {
        let mut out = vec![[0.0; 8]; d.0.len()];
        wide(|| {
            errors(d, |t, e| {
                let mut power = *e;
                for o in &mut out {
                    (0..LANES).for_each(|k| o[k % 8] -= power[k]);
                    (0..LANES).for_each(|k| power[k] *= t[k]);
                }
            });
        });
        out.iter().map(|o| o.iter().sum()).collect()
    };
    ByHand::of((numbers(&input["x"]), whole(&input["n"])), value, gradient)
}

#[inline(always)]
fn greatest(x: &[f64]) -> f64 {
    let mut acc = [f64::NEG_INFINITY; 8];
    let chunks = x.chunks_exact(8);
    let rest = chunks.remainder().iter().copied().fold(f64::NEG_INFINITY, f64::max);
    chunks.for_each(|c| (0..8).for_each(|k| acc[k] = if c[k] > acc[k] { c[k] } else { acc[k] }));
    acc.into_iter().fold(rest, f64::max)
}

/// The maximum, and the sum of exponentials relative to it. The exponentials are stored in `out`.
#[inline(always)]
fn exponentials(x: &[f64], out: &mut [f64]) -> (f64, f64) {
    let top = greatest(x);
    let mut sum = 0.0;
    for (o, x) in out.chunks_mut(512).zip(x.chunks(512)) {
        o.iter_mut().zip(x).for_each(|(o, x)| *o = exp(x - top));
        let mut acc = [0.0; 8];
        o.chunks(8).for_each(|c| acc.iter_mut().zip(c).for_each(|(a, v)| *a += v));
        sum += acc.iter().sum::<f64>();
    }
    (top, sum)
}

/// log (sum (exp x)).
pub fn lse(input: &Json) -> ByHand {
    let value = |x: &Vec<f64>| {
        let top = wide(|| greatest(x));
        let mut strip = [0.0; 512];
        let one = |x: &[f64]| {
            let part = &mut strip[..x.len()];
            part.iter_mut().zip(x).for_each(|(o, x)| *o = exp(x - top));
            let mut acc = [0.0; 8];
            part.chunks(8).for_each(|c| acc.iter_mut().zip(c).for_each(|(a, v)| *a += v));
            acc.iter().sum::<f64>()
        };
        vec![top + wide(|| x.chunks(512).map(one).sum::<f64>()).ln()]
    };
    let gradient = |x: &Vec<f64>| {
        let mut out = vec![0.0; x.len()];
        let (_, sum) = wide(|| exponentials(x, &mut out));
        let scale = 1.0 / sum;
        wide(|| out.iter_mut().for_each(|o| *o *= scale));
        out
    };
    ByHand::of(numbers(&input["x"]), value, gradient)
}

/// `k = x * (1, y0, y1, ...)`.
#[inline(always)]
fn chain(x: &[f64], y: &[f64], k: &mut [f64]) {
    k[0] = x[0];
    k[1..].iter_mut().zip(&x[1..]).zip(y).for_each(|((k, x), y)| *k = x * y);
}

/// Adds the cotangents of `x`, and stores those of `y`.
#[inline(always)]
fn chain_back((x, y): (&[f64], &[f64]), dk: &[f64], dx: &mut [f64], dy: &mut [f64]) {
    let n = x.len();
    dx[0] += dk[0];
    dx[1..].iter_mut().zip(y).zip(&dk[1..]).for_each(|((d, y), k)| *d += y * k);
    dy[..n - 1].iter_mut().zip(&x[1..]).zip(&dk[1..]).for_each(|((d, x), k)| *d = x * k);
    dy[n - 1] = 0.0;
}

/// The state before each stage of a step, and the state after it.
#[inline(always)]
fn step(x: &[f64], h: f64, at: &mut [Vec<f64>; 4], k: &mut [f64], next: &mut [f64]) {
    next.copy_from_slice(&at[0]);
    for i in 0..4 {
        chain(x, &at[i], k);
        let weight = [h / 6.0, h / 3.0, h / 3.0, h / 6.0][i];
        next.iter_mut().zip(k.iter()).for_each(|(y, k)| *y += weight * k);
        if i < 3 {
            let reach = [0.5 * h, 0.5 * h, h][i];
            let (first, rest) = at.split_at_mut(1);
            rest[i].iter_mut().zip(&first[0]).zip(k.iter()).for_each(|((s, y), k)| *s = y + reach * k);
        }
    }
}

type Chain = (Vec<f64>, usize);

fn states((x, s): &Chain) -> Vec<Vec<f64>> {
    let (n, h) = (x.len(), 2.0 / *s as f64);
    let mut at: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0; n]);
    let (mut k, mut all) = (vec![0.0; n], vec![vec![0.0; n]]);
    for i in 0..*s {
        at[0].copy_from_slice(&all[i]);
        let mut next = vec![0.0; n];
        wide(|| step(x, h, &mut at, &mut k, &mut next));
        all.push(next);
    }
    all
}

fn chain_gradient((chain, s): &Chain) -> Vec<f64> {
    let (n, interval) = (chain.len(), 2.0 / *s as f64);
    let all = states(&(chain.clone(), *s));
    let mut at: [Vec<f64>; 4] = std::array::from_fn(|_| vec![0.0; n]);
    let (mut k, mut next) = (vec![0.0; n], vec![0.0; n]);
    let (mut dx, mut cotangent, mut dk, mut ds) = (vec![0.0; n], vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    cotangent[n - 1] = 1.0;
    for before in all[..*s].iter().rev() {
        wide(|| {
            at[0].copy_from_slice(before);
            step(chain, interval, &mut at, &mut k, &mut next);
            next.copy_from_slice(&cotangent);
            ds.fill(0.0);
            for i in (0..4).rev() {
                let (weight, reach) = (
                    [interval / 6.0, interval / 3.0, interval / 3.0, interval / 6.0][i],
                    [0.5 * interval, 0.5 * interval, interval, 0.0][i],
                );
                dk.iter_mut().zip(&cotangent).zip(&ds).for_each(|((k, d), s)| *k = weight * d + reach * s);
                chain_back((chain, &at[i]), &dk, &mut dx, &mut ds);
                next.iter_mut().zip(&ds).for_each(|(n, s)| *n += s);
            }
            cotangent.copy_from_slice(&next);
        });
    }
    dx
}

/// The Runge-Kutta method on a chain.
pub fn ode(input: &Json) -> ByHand {
    let value = |c: &Chain| states(c).pop().unwrap_or_default();
    ByHand::of((numbers(&input["x"]), whole(&input["s"])), value, chain_gradient)
}

/// Points, centroids and dimensions.
type Clusters = (Vec<f64>, Vec<f64>, usize);

/// Calls `visit` for each point with its nearest centroid and the squared distance.
#[inline(always)]
fn nearest((points, centroids, d): &Clusters, mut visit: impl FnMut(usize, &[f64], usize, f64)) {
    let k = centroids.len() / d;
    // The centroids interleaved, eight at a time.
    let mut lanes = vec![[f64::INFINITY; 8]; k.div_ceil(8) * d];
    for c in 0..k {
        (0..*d).for_each(|j| lanes[c / 8 * d + j][c % 8] = centroids[c * d + j]);
    }
    for (index, point) in points.chunks_exact(*d).enumerate() {
        let (mut best, mut at) = (f64::INFINITY, 0);
        for (b, group) in lanes.chunks_exact(*d).enumerate() {
            let mut acc = [0.0; 8];
            for (x, c) in point.iter().zip(group) {
                for l in 0..8 {
                    let v = x - c[l];
                    acc[l] += v * v;
                }
            }
            for (l, v) in acc.into_iter().enumerate() {
                if v < best {
                    (best, at) = (v, 8 * b + l);
                }
            }
        }
        visit(index, point, at, best);
    }
}

/// Distances to the nearest centroids, and the Newton direction.
pub fn kmeans(input: &Json) -> ByHand {
    let dim = input["points"][0].as_array().map_or(1, Vec::len);
    let value = |c: &Clusters| {
        let mut total = 0.0;
        wide(|| nearest(c, |_, _, _, x| total += x));
        vec![total]
    };
    let direction = |c: &Clusters| {
        let (d, mut sums, mut counts) = (c.2, vec![0.0; c.1.len()], vec![0.0; c.1.len() / c.2]);
        wide(|| {
            nearest(c, |_, p, at, _| {
                counts[at] += 1.0;
                sums[at * d..][..d].iter_mut().zip(p).for_each(|(s, x)| *s += x);
            });
        });
        (0..sums.len()).map(|i| c.1[i] - sums[i] / counts[i / d]).collect()
    };
    ByHand::of((numbers(&input["points"]), numbers(&input["centroids"]), dim), value, direction)
}
