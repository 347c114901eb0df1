//! Simulations, filters, bodies, trees.

use super::{ByHand, wide};

/// The state of an oscillator with its parameter: `mu`, `v`, `x` in the order of record fields.
#[derive(Clone, Copy)]
struct Oscillator {
    mu: f64,
    h: f64,
}

impl Oscillator {
    #[inline(always)]
    fn f(self, [x, v]: [f64; 2]) -> [f64; 2] {
        [v, self.mu * (1.0 - x * x) * v - x]
    }

    /// The cotangents of the state and of `mu`.
    #[inline(always)]
    fn back(self, [x, v]: [f64; 2], [a, b]: [f64; 2]) -> ([f64; 2], f64) {
        ([-b * (1.0 + 2.0 * self.mu * x * v), a + b * self.mu * (1.0 - x * x)], b * (1.0 - x * x) * v)
    }

    #[inline(always)]
    fn stages(self, s: [f64; 2]) -> ([[f64; 2]; 4], [[f64; 2]; 4]) {
        let h = self.h;
        let at = |k: [f64; 2], h: f64| [s[0] + h * k[0], s[1] + h * k[1]];
        let k1 = self.f(s);
        let s2 = at(k1, 0.5 * h);
        let k2 = self.f(s2);
        let s3 = at(k2, 0.5 * h);
        let k3 = self.f(s3);
        let s4 = at(k3, h);
        ([s, s2, s3, s4], [k1, k2, k3, self.f(s4)])
    }

    #[inline(always)]
    fn step(self, s: [f64; 2]) -> [f64; 2] {
        let (_, k) = self.stages(s);
        std::array::from_fn(|i| s[i] + self.h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]))
    }

    #[inline(always)]
    fn step_back(self, s: [f64; 2], d: [f64; 2], mu: &mut f64) -> [f64; 2] {
        let (at, _) = self.stages(s);
        let (h, mut out, mut next) = (self.h, d, [0.0; 2]);
        for (i, (weight, reach)) in [(1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0)].into_iter().enumerate().rev() {
            let dk = std::array::from_fn(|k| weight * h / 6.0 * d[k] + reach * h * next[k]);
            let m;
            (next, m) = self.back(at[i], dk);
            *mu += m;
            out = [out[0] + next[0], out[1] + next[1]];
        }
        out
    }
}

/// The Runge-Kutta method for `steps` steps from `mu`, `v`, `input`.
pub fn rk4(input: Vec<f64>, steps: usize) -> ByHand {
    let begin = |(x, n): &(Vec<f64>, usize)| (Oscillator { mu: x[0], h: 20.0 / *n as f64 }, [x[2], x[1]]);
    let value = move |data: &(Vec<f64>, usize)| {
        let (o, mut s) = begin(data);
        (0..data.1).for_each(|_| s = o.step(s));
        vec![s[0] * s[0] + s[1] * s[1]]
    };
    let gradient = move |data: &(Vec<f64>, usize)| {
        let (o, mut s) = begin(data);
        let mut kept = Vec::with_capacity(data.1);
        for _ in 0..data.1 {
            kept.push(s);
            s = o.step(s);
        }
        let (mut d, mut mu) = ([2.0 * s[0], 2.0 * s[1]], 0.0);
        kept.iter().rev().for_each(|s| d = o.step_back(*s, d, &mut mu));
        vec![mu, d[1], d[0]]
    };
    let (data, again) = ((input.clone(), steps), (input, steps));
    ByHand { value: Box::new(move || value(&data)), gradient: Box::new(move || gradient(&again)) }
}

const SOFTENING: f64 = 0.01;

/// Coordinates as three vectors.
type Bodies = [Vec<f64>; 3];

#[inline(always)]
fn potential([x, y, z]: &Bodies, i: usize) -> f64 {
    let mut acc = [0.0; 8];
    let near = |j: usize| {
        let (dx, dy, dz) = (x[i] - x[j], y[i] - y[j], z[i] - z[j]);
        1.0 / (dx * dx + dy * dy + dz * dz + SOFTENING).sqrt()
    };
    for j in (0..i / 8 * 8).step_by(8) {
        acc.iter_mut().enumerate().for_each(|(k, sum)| *sum += near(j + k));
    }
    -(acc.iter().sum::<f64>() + (i / 8 * 8..i).map(near).sum::<f64>())
}

#[inline(always)]
fn force([x, y, z]: &Bodies, i: usize) -> [f64; 3] {
    let mut acc = [[0.0; 8]; 3];
    let n = x.len();
    for j in (0..n).step_by(8) {
        for k in 0..8.min(n - j) {
            let d = [x[i] - x[j + k], y[i] - y[j + k], z[i] - z[j + k]];
            let r = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + SOFTENING;
            let f = 1.0 / (r * r.sqrt());
            (0..3).for_each(|a| acc[a][k] += d[a] * f);
        }
    }
    acc.map(|a| a.iter().sum())
}

/// Bodies that attract each other.
pub fn bodies(x: Vec<f64>) -> ByHand {
    let columns = |k: usize| x.iter().skip(k).step_by(3).copied().collect::<Vec<f64>>();
    let data: Bodies = [columns(0), columns(1), columns(2)];
    let value = |b: &Bodies| vec![wide(|| (0..b[0].len()).map(|i| potential(b, i)).sum())];
    ByHand::of(data, value, |b| wide(|| (0..b[0].len()).flat_map(|i| force(b, i)).collect()))
}

/// The state of a filter: position and speed, and their covariance.
#[derive(Clone, Copy)]
struct Filter {
    x: f64,
    v: f64,
    a: f64,
    b: f64,
    c: f64,
}

const DT: f64 = 0.1;

/// The process noise of a step, for the three entries of a covariance.
const NOISE: [f64; 3] = [DT * DT * DT / 3.0, DT * DT / 2.0, DT];

impl Filter {
    #[inline(always)]
    fn predicted(self, q: f64) -> Filter {
        let Filter { x, v, a, b, c } = self;
        Filter {
            x: x + DT * v,
            v,
            a: a + 2.0 * DT * b + DT * DT * c + q * NOISE[0],
            b: b + DT * c + q * NOISE[1],
            c: c + q * NOISE[2],
        }
    }

    #[inline(always)]
    fn corrected(self, r: f64, z: f64) -> (Filter, f64) {
        let Filter { x, v, a, b, c } = self;
        let (s, y) = (a + r, z - x);
        let (k, l) = (a / s, b / s);
        let likelihood = -0.5 * ((std::f64::consts::TAU * s).ln() + y * y / s);
        (Filter { x: x + k * y, v: v + l * y, a: a - k * a, b: b - k * b, c: c - l * b }, likelihood)
    }

    /// The cotangents of a filter before a correction, and of `r`.
    #[inline(always)]
    fn corrected_back(self, r: f64, z: f64, d: Filter) -> (Filter, f64) {
        let Filter { x, a, b, .. } = self;
        let (s, y) = (a + r, z - x);
        let (k, l) = (a / s, b / s);
        let dk = d.x * y - d.a * a - d.b * b;
        let dl = d.v * y - d.c * b;
        let dy = d.x * k + d.v * l - y / s;
        let ds = -(dk * k + dl * l) / s - 0.5 / s + 0.5 * y * y / (s * s);
        let da = d.a * (1.0 - k) + dk / s + ds;
        let db = d.b * (1.0 - k) - d.c * l + dl / s;
        (Filter { x: d.x - dy, v: d.v, a: da, b: db, c: d.c }, ds)
    }

    #[inline(always)]
    fn predicted_back(self) -> (Filter, f64) {
        let Filter { x, v, a, b, c } = self;
        (
            Filter { x, v: v + DT * x, a, b: b + 2.0 * DT * a, c: c + DT * DT * a + DT * b },
            a * NOISE[0] + b * NOISE[1] + c * NOISE[2],
        )
    }
}

/// Kalman filter: `q`, `r`, the initial state, the measurements.
pub fn kalman(params: Vec<f64>) -> ByHand {
    const START: [f64; 3] = [1.0, 0.0, 1.0];
    let begin = |p: &[f64]| Filter { x: p[2], v: p[3], a: START[0], b: START[1], c: START[2] };
    let value = move |p: &[f64]| {
        let (mut f, mut total) = (begin(p), 0.0);
        for z in &p[4..] {
            let (next, l) = f.predicted(p[0]).corrected(p[1], *z);
            (f, total) = (next, total + l);
        }
        vec![total]
    };
    let gradient = move |params: &[f64]| {
        let (mut f, mut kept) = (begin(params), Vec::with_capacity(params.len()));
        for z in &params[4..] {
            let before = f.predicted(params[0]);
            kept.push(before);
            f = before.corrected(params[1], *z).0;
        }
        let mut out = vec![0.0; params.len()];
        let mut cotangent = Filter { x: 0.0, v: 0.0, a: 0.0, b: 0.0, c: 0.0 };
        for (i, before) in kept.iter().enumerate().rev() {
            let x = cotangent.x;
            let (before, r) = before.corrected_back(params[1], params[4 + i], cotangent);
            out[1] += r;
            // A measurement only affects the difference from the prediction.
            out[4 + i] = x - before.x;
            let q;
            (cotangent, q) = before.predicted_back();
            out[0] += q;
        }
        (out[2], out[3]) = (cotangent.x, cotangent.v);
        out
    };
    let (p, again) = (std::rc::Rc::new(params.clone()), params);
    ByHand { value: Box::new(move || value(&p)), gradient: Box::new(move || gradient(&again)) }
}

enum Tree {
    Leaf(f64),
    Node(Box<(Tree, Tree)>),
}

impl Tree {
    fn new(x: &[f64]) -> Tree {
        let (l, r) = x.split_at(x.len() / 2);
        if l.is_empty() {
            Tree::Leaf(x.first().copied().unwrap_or(0.0))
        } else {
            Tree::Node(Box::new((Tree::new(l), Tree::new(r))))
        }
    }

    fn total(&self) -> f64 {
        match self {
            Tree::Leaf(x) => x * x,
            Tree::Node(b) => b.0.total() + b.1.total(),
        }
    }

    fn gradient(&self) -> Tree {
        match self {
            Tree::Leaf(x) => Tree::Leaf(2.0 * x),
            Tree::Node(b) => Tree::Node(Box::new((b.0.gradient(), b.1.gradient()))),
        }
    }

    fn leaves(&self, out: &mut Vec<f64>) {
        match self {
            Tree::Leaf(x) => out.push(*x),
            Tree::Node(b) => {
                b.0.leaves(out);
                b.1.leaves(out);
            }
        }
    }
}

/// The sum of squares of a tree's leaves.
pub fn tree(x: Vec<f64>) -> ByHand {
    ByHand::of(
        Tree::new(&x),
        |t| vec![t.total()],
        |t| {
            let mut out = Vec::new();
            t.gradient().leaves(&mut out);
            out
        },
    )
}
