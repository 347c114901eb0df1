//! Inner products, products, rotations, square roots.

use super::{ByHand, wide};

fn halves(x: &[f64]) -> (&[f64], &[f64]) {
    x.split_at(x.len() / 2)
}

#[inline(always)]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut acc = [0.0; 32];
    let (mut p, mut q) = (x.chunks_exact(32), y.chunks_exact(32));
    for (a, b) in (&mut p).zip(&mut q) {
        for k in 0..32 {
            acc[k] += a[k] * b[k];
        }
    }
    acc.iter().sum::<f64>() + p.remainder().iter().zip(q.remainder()).map(|(a, b)| a * b).sum::<f64>()
}

/// The inner product of two concatenated vectors.
pub fn inner(x: Vec<f64>) -> ByHand {
    let gradient = |x: &Vec<f64>| {
        let (p, q) = halves(x);
        [q, p].concat()
    };
    ByHand::of(x, |x| vec![wide(|| dot(halves(x).0, halves(x).1))], gradient)
}

/// Products of pairs.
pub fn products(x: Vec<f64>) -> ByHand {
    let value = |x: &Vec<f64>| x.as_chunks::<2>().0.iter().map(|[a, b]| a * b).collect();
    ByHand::of(x, value, |x| x.as_chunks::<2>().0.iter().flat_map(|[a, b]| [*b, *a]).collect())
}

type Vec3 = [f64; 3];

#[inline(always)]
fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
fn rotated([x, y, z, w]: [f64; 4], v: Vec3) -> Vec3 {
    let u = [x, y, z];
    let p = cross(u, v);
    let t = cross(u, p);
    std::array::from_fn(|k| v[k] + 2.0 * (w * p[k] + t[k]))
}

/// The derivative of the sum of a rotated vector's components, by the quaternion and the vector.
#[inline(always)]
fn rotated_back([x, y, z, w]: [f64; 4], v: Vec3) -> ([f64; 4], Vec3) {
    let (u, ones) = ([x, y, z], [1.0; 3]);
    let p = cross(u, v);
    let (a, b) = (cross(ones, u), cross(p, ones));
    let dp: Vec3 = std::array::from_fn(|k| 2.0 * (w + a[k]));
    let (c, d) = (cross(v, dp), cross(dp, u));
    (
        [2.0 * b[0] + c[0], 2.0 * b[1] + c[1], 2.0 * b[2] + c[2], 2.0 * (p[0] + p[1] + p[2])],
        std::array::from_fn(|k| 1.0 + d[k]),
    )
}

/// Rotations of vectors, which follow their quaternions.
pub fn quaternions(input: Vec<f64>) -> ByHand {
    let parts = |x: &[f64]| {
        let n = x.len() / 7;
        (x[..4 * n].as_chunks::<4>().0.to_vec(), x[4 * n..].as_chunks::<3>().0.to_vec())
    };
    type Data = (Vec<[f64; 4]>, Vec<Vec3>);
    let value = |(q, v): &Data| vec![wide(|| q.iter().zip(v).map(|(q, v)| rotated(*q, *v).iter().sum::<f64>()).sum())];
    let gradient = |(q, v): &Data| {
        let n = q.len();
        let mut out = vec![0.0; 7 * n];
        let (dq, dv) = out.split_at_mut(4 * n);
        let outs = dq.as_chunks_mut::<4>().0.iter_mut().zip(dv.as_chunks_mut::<3>().0);
        wide(|| outs.zip(q.iter().zip(v)).for_each(|((dq, dv), (q, v))| (*dq, *dv) = rotated_back(*q, *v)));
        out
    };
    ByHand::of(parts(&input), value, gradient)
}

fn root(a: f64) -> f64 {
    let mut x = a;
    loop {
        let next = 0.5 * (x + a / x);
        let change = (next - x).abs();
        x = next;
        if change <= 1e-12 {
            return x;
        }
    }
}

/// The derivative of `root`, by reverse iteration over its recorded steps.
fn root_slope(radicand: f64, kept: &mut Vec<f64>) -> f64 {
    kept.clear();
    let mut x = radicand;
    loop {
        kept.push(x);
        let next = 0.5 * (x + radicand / x);
        let change = (next - x).abs();
        x = next;
        if change <= 1e-12 {
            break;
        }
    }
    let (mut da, mut dx) = (0.0, 1.0);
    for x in kept.iter().rev() {
        da += 0.5 * dx / x;
        dx *= 0.5 * (1.0 - radicand / (x * x));
    }
    da + dx
}

/// Square roots by Newton's method.
pub fn newton(x: Vec<f64>) -> ByHand {
    ByHand::of(
        x,
        |x| vec![x.iter().map(|a| root(*a)).sum()],
        |x| {
            let mut kept = Vec::new();
            x.iter().map(|a| root_slope(*a, &mut kept)).collect()
        },
    )
}
