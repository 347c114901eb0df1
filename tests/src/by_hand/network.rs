//! A network of three layers.

use super::gemm::add_product;
use super::{ByHand, wide};

const SIZES: [usize; 4] = [784, 128, 64, 10];

/// `b` and `w` of each layer, the images and their labels.
struct Batch {
    b: Vec<Vec<f64>>,
    w: Vec<Vec<f64>>,
    x: Vec<f64>,
    labels: Vec<usize>,
}

fn transposed(x: &[f64], (n, m): (usize, usize)) -> Vec<f64> {
    let mut out = vec![0.0; n * m];
    for i in 0..n {
        for j in 0..m {
            out[j * n + i] = x[i * m + j];
        }
    }
    out
}

impl Batch {
    /// The input of each layer, and the scores.
    #[inline(always)]
    fn forward(&self) -> Vec<Vec<f64>> {
        let n = self.labels.len();
        let mut all = vec![self.x.clone()];
        for l in 0..3 {
            let (k, c) = (SIZES[l], SIZES[l + 1]);
            let mut out: Vec<f64> = (0..n).flat_map(|_| self.b[l].iter().copied()).collect();
            add_product(&all[l], &self.w[l], (n, k, c), &mut out);
            if l < 2 {
                out.iter_mut().for_each(|v| *v = v.max(0.0));
            }
            all.push(out);
        }
        all
    }

    fn loss(&self, scores: &[f64]) -> f64 {
        let one = |(row, label): (&[f64], &usize)| {
            let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            top + row.iter().map(|s| (s - top).exp()).sum::<f64>().ln() - row[*label]
        };
        scores.chunks_exact(10).zip(&self.labels).map(one).sum::<f64>() / self.labels.len() as f64
    }

    #[inline(always)]
    fn gradient(&self) -> Vec<f64> {
        let (count, all) = (self.labels.len(), self.forward());
        let mut cotangent = all[3].clone();
        for (row, label) in cotangent.chunks_exact_mut(10).zip(&self.labels) {
            let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter_mut().for_each(|s| *s = (*s - top).exp());
            let sum = row.iter().sum::<f64>() * count as f64;
            row.iter_mut().for_each(|s| *s /= sum);
            row[*label] -= 1.0 / count as f64;
        }
        let mut parts = Vec::new();
        for layer in (0..3).rev() {
            let (k, c) = (SIZES[layer], SIZES[layer + 1]);
            let mut b = vec![0.0; c];
            cotangent.chunks_exact(c).for_each(|row| b.iter_mut().zip(row).for_each(|(b, v)| *b += v));
            let mut w = vec![0.0; k * c];
            add_product(&transposed(&all[layer], (count, k)), &cotangent, (k, count, c), &mut w);
            parts.push([b, w].concat());
            // The derivative with respect to the images is not needed.
            if layer > 0 {
                let mut before = vec![0.0; count * k];
                add_product(&cotangent, &transposed(&self.w[layer], (k, c)), (count, c, k), &mut before);
                before.iter_mut().zip(&all[layer]).for_each(|(v, x)| *v *= f64::from(u8::from(*x > 0.0)));
                cotangent = before;
            }
        }
        parts.into_iter().rev().flatten().collect()
    }
}

/// From the layers (biases, then weights), the images and the labels.
pub fn layers(input: Vec<f64>) -> ByHand {
    let mut rest = &input[..];
    let mut take = |n: usize| {
        let (part, after) = rest.split_at(n);
        rest = after;
        part.to_vec()
    };
    let (mut b, mut w) = (Vec::new(), Vec::new());
    for l in 0..3 {
        b.push(take(SIZES[l + 1]));
        w.push(take(SIZES[l] * SIZES[l + 1]));
    }
    let n = (input.len() - b.iter().chain(&w).map(Vec::len).sum::<usize>()) / 785;
    let (pictures, labels) = (take(784 * n), take(n).into_iter().map(|v| v as usize).collect());
    let data = Batch { b, w, x: pictures, labels };
    ByHand::of(data, |d| wide(|| vec![d.loss(&d.forward()[3])]), |d| wide(|| d.gradient()))
}
