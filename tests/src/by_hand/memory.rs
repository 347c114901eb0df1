//! Long short-term memory with diagonal weights.

use super::sums::numbers;
use super::{ByHand, wide};
use adl_prim::elementary::{exp, sigmoid, tanh};
use serde_json::Value as Json;

/// The number of bits of a character.
const B: usize = 14;

type Bits = [f64; B];

struct Model {
    layers: usize,
    /// For each layer four rows of weights, then four of biases.
    main: Vec<[Bits; 8]>,
    extra: [Bits; 3],
    /// For each layer the hidden and the cell vector.
    state: Vec<[Bits; 2]>,
    sequence: Vec<Bits>,
}

/// The intermediate results of a layer for a character.
#[derive(Clone, Copy)]
struct Kept {
    v: Bits,
    hidden: Bits,
    cell: Bits,
    gates: [Bits; 4],
    top: Bits,
}

/// A loop that is inlined into its caller, so that it uses the caller's vector instructions.
#[inline(always)]
fn each(f: impl Fn(usize) -> f64) -> Bits {
    let mut out = [0.0; B];
    for (k, o) in out.iter_mut().enumerate() {
        *o = f(k);
    }
    out
}

/// A layer's new state, and its intermediate results.
#[inline(always)]
fn layer(p: &[Bits; 8], [hidden, cell]: [Bits; 2], v: Bits) -> ([Bits; 2], Kept) {
    let forget = each(|k| sigmoid(v[k] * p[0][k] + p[4][k]));
    let ingate = each(|k| sigmoid(hidden[k] * p[1][k] + p[5][k]));
    let outgate = each(|k| sigmoid(v[k] * p[2][k] + p[6][k]));
    let change = each(|k| tanh(hidden[k] * p[3][k] + p[7][k]));
    let next = each(|k| cell[k] * forget[k] + ingate[k] * change[k]);
    let top = each(|k| tanh(next[k]));
    ([each(|k| outgate[k] * top[k]), next], Kept { v, hidden, cell, gates: [forget, ingate, outgate, change], top })
}

/// Adds the cotangents of the parameters; returns those of the previous state and of the input.
#[inline(always)]
fn layer_back(weights: &[Bits; 8], k: &Kept, dh: Bits, dc: Bits, dp: &mut [Bits; 8]) -> ([Bits; 2], Bits) {
    let [forget, i, o, g] = k.gates;
    let dnext = each(|j| dc[j] + dh[j] * o[j] * (1.0 - k.top[j] * k.top[j]));
    let slopes = [
        each(|j| dnext[j] * k.cell[j] * forget[j] * (1.0 - forget[j])),
        each(|j| dnext[j] * g[j] * i[j] * (1.0 - i[j])),
        each(|j| dh[j] * k.top[j] * o[j] * (1.0 - o[j])),
        each(|j| dnext[j] * i[j] * (1.0 - g[j] * g[j])),
    ];
    for a in 0..4 {
        let input = if a % 2 == 0 { &k.v } else { &k.hidden };
        for j in 0..B {
            dp[a][j] += slopes[a][j] * input[j];
            dp[a + 4][j] += slopes[a][j];
        }
    }
    let before =
        [each(|j| slopes[1][j] * weights[1][j] + slopes[3][j] * weights[3][j]), each(|j| dnext[j] * forget[j])];
    (before, each(|j| slopes[0][j] * weights[0][j] + slopes[2][j] * weights[2][j]))
}

impl Model {
    /// Runs the model. `seen` gets the layers' intermediate results, the outputs, and the exponentials with their sum.
    #[inline(always)]
    fn run(&self, mut seen: impl FnMut(&[Kept], Bits, Bits, f64)) -> f64 {
        let (mut state, mut total) = (self.state.clone(), 0.0);
        let mut kept = Vec::with_capacity(self.layers);
        for step in 0..self.sequence.len() - 1 {
            let mut signal = each(|j| self.sequence[step][j] * self.extra[0][j]);
            kept.clear();
            for (p, s) in self.main.iter().zip(&mut state) {
                let (next, k) = layer(p, *s, signal);
                *s = next;
                signal = next[0];
                kept.push(k);
            }
            let y = each(|j| signal[j] * self.extra[1][j] + self.extra[2][j]);
            let e = each(|j| exp(y[j]));
            let sum = 2.0 + e.iter().sum::<f64>();
            let log = sum.ln();
            total += (0..B).map(|j| self.sequence[step + 1][j] * (y[j] - log)).sum::<f64>();
            seen(&kept, signal, e, sum);
        }
        -total / (B * (self.sequence.len() - 1)) as f64
    }

    #[inline(always)]
    fn gradient(&self) -> Vec<f64> {
        let (mut kept, mut ends) = (Vec::new(), Vec::new());
        self.run(|k, v, e, sum| {
            kept.extend_from_slice(k);
            ends.push((v, e, sum));
        });
        let scale = -1.0 / (B * (self.sequence.len() - 1)) as f64;
        let mut dmain = vec![[[0.0; B]; 8]; self.layers];
        let mut dextra = [[0.0; B]; 3];
        let mut dstate = vec![[[0.0; B]; 2]; self.layers];
        for (step, (v, e, sum)) in ends.iter().enumerate().rev() {
            let wanted = &self.sequence[step + 1];
            let all = scale * wanted.iter().sum::<f64>() / sum;
            let dy = each(|j| scale * wanted[j] - all * e[j]);
            for j in 0..B {
                dextra[1][j] += dy[j] * v[j];
                dextra[2][j] += dy[j];
            }
            let mut dv = each(|j| dy[j] * self.extra[1][j]);
            for l in (0..self.layers).rev() {
                let dh = each(|j| dv[j] + dstate[l][0][j]);
                (dstate[l], dv) =
                    layer_back(&self.main[l], &kept[step * self.layers + l], dh, dstate[l][1], &mut dmain[l]);
            }
            (0..B).for_each(|j| dextra[0][j] += dv[j] * self.sequence[step][j]);
        }
        dmain.iter().flatten().chain(&dextra).flatten().copied().collect()
    }
}

/// From a message.
pub fn lstm(input: &Json) -> ByHand {
    let bits = |x: &Json| {
        let all = numbers(x);
        all.as_chunks::<B>().0.to_vec()
    };
    let (main, state, extra) = (bits(&input["main_params"]), bits(&input["state"]), bits(&input["extra_params"]));
    let data = Model {
        layers: main.len() / 8,
        main: main.as_chunks::<8>().0.to_vec(),
        extra: std::array::from_fn(|i| extra[i]),
        state: state.as_chunks::<2>().0.to_vec(),
        sequence: bits(&input["sequence"]),
    };
    ByHand::of(data, |m| vec![wide(|| m.run(|_, _, _, _| ()))], |m| wide(|| m.gradient()))
}
