//! Deterministic inputs of any size, with the distributions of the suite's own inputs.

use adl_ir::generate::rng::Rng;
use serde_json::{Value, json};

/// A pseudo-random generator.
pub struct Random(Rng);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(Rng::new(seed))
    }

    /// In [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.0.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let r = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        r * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }

    fn uniforms(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.uniform()).collect()
    }

    fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }

    fn rows(&mut self, n: usize, row: impl Fn(&mut Random) -> Vec<f64>) -> Vec<Vec<f64>> {
        (0..n).map(|_| row(self)).collect()
    }
}

/// Polynomial coefficients for `n` points.
pub fn llsq(n: usize, m: usize) -> Value {
    json!({"x": Random::new(1).uniforms(m), "n": n})
}

/// Numbers.
pub fn lse(n: usize) -> Value {
    json!({"x": Random::new(2).uniforms(n)})
}

/// Rates of a chain, and steps.
pub fn ode(n: usize, s: usize) -> Value {
    json!({"x": Random::new(3).uniforms(n), "s": s})
}

/// A matrix.
pub fn det(l: usize) -> Value {
    json!({"A": Random::new(4).uniforms(l * l), "ell": l})
}

/// Points, and the last of them as centroids.
pub fn kmeans(k: usize, n: usize, d: usize) -> Value {
    let points = Random::new(5).rows(n, |r| r.uniforms(d));
    json!({"centroids": &points[n - k..], "points": points})
}

/// Points and a mixture.
pub fn gmm(d: usize, k: usize, n: usize) -> Value {
    let mut r = Random::new(6);
    let x = r.rows(n, |r| r.normals(d));
    let (alpha, mu) = (r.normals(k), r.rows(k, |r| r.uniforms(d)));
    let (q, l) = (r.rows(k, |r| r.normals(d)), r.rows(k, |r| r.normals(d * (d - 1) / 2)));
    json!({"d": d, "k": k, "n": n, "m": 0, "gamma": 1.0, "x": x, "alpha": alpha, "mu": mu, "q": q, "l": l})
}

/// Layers and characters.
pub fn lstm(layers: usize, characters: usize) -> Value {
    let (mut r, b) = (Random::new(7), 14);
    let sequence: Vec<Vec<usize>> = (0..characters).map(|_| (0..b).map(|_| r.below(2)).collect()).collect();
    let (main, extra, state) = (
        r.rows(2 * layers, |r| r.uniforms(4 * b)),
        r.rows(3, |r| r.uniforms(b)),
        r.rows(2 * layers, |r| r.uniforms(b)),
    );
    json!({"main_params": main, "extra_params": extra, "state": state, "sequence": sequence})
}

/// The hand of `small`, with its skin repeated to `vertices` vertices and with `points` points on it.
pub fn ht(small: &Value, vertices: usize, points: usize) -> Value {
    let mut r = Random::new(8);
    let mut input = small.clone();
    let model = &mut input["data"]["model"];
    for part in ["base_positions", "weights"] {
        let rows = model[part].as_array().cloned().unwrap_or_default();
        model[part] = rows.iter().cycle().take(vertices).cloned().collect();
    }
    let triangles = model["triangles"].as_array().map_or(0, Vec::len);
    input["data"]["correspondences"] = (0..points).map(|_| r.below(triangles)).collect();
    input["data"]["points"] = json!(r.rows(points, |r| r.normals(3)));
    input["us"] = json!(r.rows(points, |r| r.uniforms(2)));
    input
}
