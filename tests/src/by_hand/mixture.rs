//! A mixture of Gaussians with a Wishart prior.

use super::gemm::add_some;
use super::sums::numbers;
use super::{ByHand, wide};
use adl_prim::elementary::exp;
use serde_json::Value as Json;

/// The number of points per block.
const BLOCK: usize = 64;

struct Mixture {
    d: usize,
    k: usize,
    n: usize,
    m: f64,
    gamma: f64,
    x: Vec<f64>,
    alpha: Vec<f64>,
    mu: Vec<f64>,
    q: Vec<f64>,
    l: Vec<f64>,
}

impl Mixture {
    /// The transposed factor of a component.
    fn factor(&self, c: usize) -> Vec<f64> {
        let d = self.d;
        let (q, l) = (&self.q[c * d..][..d], &self.l[c * (d * (d - 1) / 2)..][..d * (d - 1) / 2]);
        let mut f = vec![0.0; d * d];
        for j in 0..d {
            f[j * d + j] = q[j].exp();
            (j + 1..d).for_each(|i| f[j * d + i] = l[j * (2 * d - j - 1) / 2 + i - j - 1]);
        }
        f
    }

    /// For the points of a block: differences from the mean, and their products with the factor.
    #[inline(always)]
    fn block(&self, (c, start): (usize, usize), f: &[f64], diff: &mut Vec<f64>, z: &mut Vec<f64>) -> usize {
        let (d, rows) = (self.d, BLOCK.min(self.n - start));
        let mu = &self.mu[c * d..][..d];
        diff.clear();
        self.x[start * d..(start + rows) * d]
            .chunks_exact(d)
            .for_each(|x| diff.extend(x.iter().zip(mu).map(|(x, m)| x - m)));
        z.clear();
        z.resize(rows * d, 0.0);
        add_some(diff, f, (rows, d, d), z, |_, columns| 0..columns.end);
        rows
    }

    /// Log densities, by component.
    #[inline(always)]
    fn betas(&self) -> Vec<f64> {
        let (d, mut out) = (self.d, Vec::with_capacity(self.k * self.n));
        let (mut diff, mut z) = (Vec::new(), Vec::new());
        for c in 0..self.k {
            let f = self.factor(c);
            let base = self.alpha[c] + self.q[c * d..][..d].iter().sum::<f64>();
            for start in (0..self.n).step_by(BLOCK) {
                self.block((c, start), &f, &mut diff, &mut z);
                out.extend(z.chunks_exact(d).map(|z| base - 0.5 * square(z)));
            }
        }
        out
    }

    /// Converts log densities to weights; returns the sum of the points' log-sum-exps.
    #[inline(always)]
    fn weights(&self, betas: &mut [f64]) -> f64 {
        let n = self.n;
        let mut top = vec![f64::NEG_INFINITY; n];
        betas.chunks_exact(n).for_each(|row| top.iter_mut().zip(row).for_each(|(t, v)| *t = t.max(*v)));
        let mut sum = vec![0.0; n];
        for row in betas.chunks_exact_mut(n) {
            for i in 0..n {
                row[i] = exp(row[i] - top[i]);
                sum[i] += row[i];
            }
        }
        betas.chunks_exact_mut(n).for_each(|row| row.iter_mut().zip(&sum).for_each(|(v, s)| *v /= s));
        top.iter().zip(&sum).map(|(t, s)| t + s.ln()).sum()
    }

    fn objective(&self) -> f64 {
        let (dim, count) = (self.d as f64, self.n as f64);
        let mut b = wide(|| self.betas());
        let likelihood = wide(|| self.weights(&mut b));
        let top = self.alpha.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let alphas = top + self.alpha.iter().map(|a| (a - top).exp()).sum::<f64>().ln();
        let nu = dim + self.m + 1.0;
        let lgamma = |x: f64| adl_prim::Un::Lgamma.eval(x);
        let log_gamma = 0.25 * dim * (dim - 1.0) * std::f64::consts::PI.ln()
            + (0..self.d).map(|j| lgamma(0.5 * nu - 0.5 * j as f64)).sum::<f64>();
        let normal = nu * dim * (self.gamma / std::f64::consts::SQRT_2).ln() - log_gamma;
        let squares: f64 = self.q.iter().map(|q| (2.0 * q).exp()).sum::<f64>() + square(&self.l);
        let prior =
            self.k as f64 * normal + self.m * self.q.iter().sum::<f64>() - 0.5 * self.gamma * self.gamma * squares;
        likelihood - count * (0.5 * dim * std::f64::consts::TAU.ln() + alphas) + prior
    }

    /// `alpha`, then `mu`, `q` and `l` of each component.
    #[inline(always)]
    fn gradient(&self) -> Vec<f64> {
        let (dim, count) = (self.d, self.n);
        let mut weights = self.betas();
        self.weights(&mut weights);
        let top = self.alpha.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let all: f64 = self.alpha.iter().map(|a| (a - top).exp()).sum();
        let mut out: Vec<f64> = (0..self.k)
            .map(|c| {
                weights[c * count..][..count].iter().sum::<f64>() - count as f64 * (self.alpha[c] - top).exp() / all
            })
            .collect();
        let (mut diff, mut whitened, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for c in 0..self.k {
            let factor = self.factor(c);
            let (mut df, mut dmu, mut total) = (vec![0.0; dim * dim], vec![0.0; dim], 0.0);
            let mut zs = vec![0.0; dim];
            for start in (0..count).step_by(BLOCK) {
                let rows = self.block((c, start), &factor, &mut diff, &mut whitened);
                let w = &weights[c * count + start..][..rows];
                total += w.iter().sum::<f64>();
                whitened.chunks_exact_mut(dim).zip(w).for_each(|(z, w)| {
                    z.iter_mut().zip(&mut zs).for_each(|(z, s)| {
                        *z *= w;
                        *s += *z;
                    });
                });
                left.clear();
                left.resize(rows * dim, 0.0);
                (0..rows).for_each(|r| (0..dim).for_each(|i| left[i * rows + r] = whitened[r * dim + i]));
                add_some(&left, &diff, (dim, rows, dim), &mut df, |some, columns| {
                    if columns.start < some.end { 0..rows } else { 0..0 }
                });
            }
            for j in 0..dim {
                dmu[j] = factor[j * dim..][..dim].iter().zip(&zs).map(|(f, z)| f * z).sum();
            }
            out.extend(dmu);
            let g2 = self.gamma * self.gamma;
            out.extend((0..dim).map(|i| {
                total - df[i * dim + i] * factor[i * dim + i] + self.m - g2 * factor[i * dim + i] * factor[i * dim + i]
            }));
            for j in 0..dim {
                out.extend((j + 1..dim).map(|i| -df[i * dim + j] - g2 * factor[j * dim + i]));
            }
        }
        out
    }
}

#[inline(always)]
fn square(z: &[f64]) -> f64 {
    let mut acc = [0.0; 8];
    let chunks = z.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|v| v * v).sum();
    chunks.for_each(|c| (0..8).for_each(|k| acc[k] += c[k] * c[k]));
    acc.iter().sum::<f64>() + rest
}

/// From a message.
pub fn gmm(input: &Json) -> ByHand {
    let whole = |name: &str| input[name].as_u64().unwrap_or(0) as usize;
    let all = |name: &str| numbers(&input[name]);
    let data = Mixture {
        d: whole("d"),
        k: whole("k"),
        n: whole("n"),
        m: input["m"].as_f64().unwrap_or(0.0),
        gamma: input["gamma"].as_f64().unwrap_or(0.0),
        x: all("x"),
        alpha: all("alpha"),
        mu: all("mu"),
        q: all("q"),
        l: all("l"),
    };
    ByHand::of(data, |m| vec![m.objective()], |m| wide(|| m.gradient()))
}
