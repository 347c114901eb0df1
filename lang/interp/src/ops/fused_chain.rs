//! Fused chains of elementwise operators on large arrays, processed in blocks ("strips"): intermediate results
//! stay in the cache, and each array is read and written once. All threads take part, each on its own strips.
//!
//! Each operator computes what it computes on entire arrays ([`super::elementwise`], [`kernels::map`]). Sums
//! and inner products of strips are the chunks of [`kernels::sum`] and [`kernels::dot`]. So results have the
//! same bits.

pub(crate) use super::chain::{Chain, ChainOp, ChainOperand, Total};
use super::elementwise::{self, BroadcastOperand};
use super::interrupt::InterruptFlag;
use super::kernels::{self, CHUNK};
use super::parallel;
use crate::error::Res;
use crate::limits::ops_fused_chain::{BAND, SHORT, STRIPS_PER_POLL};
use crate::polling;
use crate::value::array;
use std::borrow::Cow;

/// The inputs of a chain.
#[derive(Clone, Copy)]
pub(crate) struct ChainInputs<'a> {
    /// The length of the arrays.
    pub n: usize,
    /// The arrays.
    pub inputs: &'a [&'a [f64]],
    /// The scalars.
    pub numbers: &'a [f64],
}

/// The buffers of one thread. A buffer is taken out of the list while a member fills it.
struct ChainSlots(Vec<Option<Box<[f64; CHUNK]>>>);

impl ChainSlots {
    fn get(&self, i: usize) -> &[f64; CHUNK] {
        const NONE: &[f64; CHUNK] = &[0.0; CHUNK];
        self.0[i].as_deref().unwrap_or(NONE)
    }
}

impl ChainInputs<'_> {
    fn operand<'b>(
        &'b self,
        s: &'b ChainSlots,
        from: ChainOperand,
        (at, len): (usize, usize),
    ) -> BroadcastOperand<'b, f64> {
        match from {
            ChainOperand::Input(i) => BroadcastOperand::Many(&self.inputs[i][at..at + len]),
            ChainOperand::Number(i) => BroadcastOperand::One(self.numbers[i]),
            ChainOperand::Slot(i) => BroadcastOperand::Many(&s.get(i)[..len]),
        }
    }
}

impl Chain {
    fn slots(&self) -> ChainSlots {
        ChainSlots(vec![Some(Box::new([0.0; CHUNK])); self.slots])
    }

    /// Number of partial results of a strip: one for each total, and at least one, so that there are as many
    /// parts as strips.
    fn share(&self) -> usize {
        self.totals.len().max(1)
    }

    /// Processes one strip and computes its share of the totals.
    fn strip(
        &self,
        chain_inputs: &ChainInputs,
        chain_slots: &mut ChainSlots,
        part: (usize, usize),
        totals: &mut [f64],
    ) {
        for (m, into) in &self.members {
            let Some(mut slot) = chain_slots.0[*into].take() else { continue };
            let out = &mut slot[..part.1];
            match *m {
                ChainOp::Un(op, a) => {
                    elementwise::copied(chain_inputs.operand(chain_slots, a, part), out);
                    kernels::map(op, out);
                }
                ChainOp::Bin(op, a, b) => elementwise::into(
                    op,
                    chain_inputs.operand(chain_slots, a, part),
                    chain_inputs.operand(chain_slots, b, part),
                    out,
                ),
                ChainOp::Fill(a) => elementwise::copied(chain_inputs.operand(chain_slots, a, part), out),
            }
            chain_slots.0[*into] = Some(slot);
        }
        for (t, total) in self.totals.iter().zip(totals) {
            *total = match *t {
                Total::Sum(a) => kernels::sum(&many(chain_inputs.operand(chain_slots, a, part), part.1)),
                Total::Dot(a, b) => kernels::dot(
                    &many(chain_inputs.operand(chain_slots, a, part), part.1),
                    &many(chain_inputs.operand(chain_slots, b, part), part.1),
                ),
            };
        }
    }

    /// Processes some strips from `at` on; stored slots are written to `outs`.
    fn band(&self, g: &ChainInputs, s: &mut ChainSlots, at: usize, outs: &mut [&mut [f64]], totals: &mut [f64]) {
        let end = (at + BAND * CHUNK).min(g.n);
        for (start, totals) in (at..end).step_by(CHUNK).zip(totals.chunks_mut(self.share())) {
            let len = CHUNK.min(end - start);
            self.strip(g, s, (start, len), totals);
            for (out, slot) in outs.iter_mut().zip(&self.stored) {
                polling::write(&mut out[start - at..][..len], &s.get(*slot)[..len]);
            }
        }
    }

    /// Runs the chain. Returns the stored arrays and the totals.
    pub fn run(&self, w: InterruptFlag, g: ChainInputs) -> Res<(Vec<Vec<f64>>, Vec<f64>)> {
        let mut parts = vec![0.0; g.n.div_ceil(if self.totals.is_empty() { SHORT } else { CHUNK }) * self.share()];
        let outs = match (self.stored.len(), self.totals.is_empty()) {
            (1, true) => vec![self.one::<SHORT>(w, &g, &mut parts)?],
            (1, false) => vec![self.one::<CHUNK>(w, &g, &mut parts)?],
            _ => self.several(w, &g, &mut parts)?,
        };
        let totals = (0..self.totals.len())
            .map(|t| kernels::pairwise(0, g.n, &|start, _| parts[start / CHUNK * self.share() + t]))
            .collect();
        Ok((outs, totals))
    }

    /// Several arrays, appended strip by strip by one thread.
    fn in_order(&self, w: InterruptFlag, g: &ChainInputs, parts: &mut [f64]) -> Res<Vec<Vec<f64>>> {
        let (n, mut s) = (if self.totals.is_empty() { SHORT } else { CHUNK }, self.slots());
        let mut outs = self.stored.iter().map(|_| array::room(g.n)).collect::<Res<Vec<Vec<f64>>>>()?;
        for (i, totals) in (0..g.n.div_ceil(n)).zip(parts.chunks_mut(self.share())) {
            if i % STRIPS_PER_POLL == 0 {
                w.poll()?;
            }
            let len = n.min(g.n - i * n);
            self.strip(g, &mut s, (i * n, len), totals);
            outs.iter_mut().zip(&self.stored).for_each(|(out, slot)| polling::append(out, &s.get(*slot)[..len]));
        }
        Ok(outs)
    }

    /// Several arrays, allocated as zeros because threads fill them at several positions in parallel.
    fn several(&self, interrupt: InterruptFlag, chain_inputs: &ChainInputs, parts: &mut [f64]) -> Res<Vec<Vec<f64>>> {
        if parallel::alone(chain_inputs.n) {
            return self.in_order(interrupt, chain_inputs, parts);
        }
        let cleared = || parallel::made(interrupt, chain_inputs.n, |_, _| {});
        let mut outs = self.stored.iter().map(|_| cleared()).collect::<Res<Vec<Vec<f64>>>>()?;
        let totals = parts.chunks_mut(BAND * self.share());
        let mut bands: Vec<(usize, Vec<&mut [f64]>, &mut [f64])> =
            (0..chain_inputs.n).step_by(BAND * CHUNK).zip(totals).map(|(at, t)| (at, Vec::new(), t)).collect();
        for out in &mut outs {
            bands.iter_mut().zip(out.chunks_mut(BAND * CHUNK)).for_each(|(b, part)| b.1.push(part));
        }
        parallel::each(
            interrupt,
            &mut bands,
            BAND * CHUNK,
            || self.slots(),
            |s, (at, outs, totals)| self.band(chain_inputs, s, *at, outs, totals),
        )?;
        Ok(outs)
    }

    /// A single array, appended in strips of `N` elements: each strip is copied once, from the cache to its
    /// final place.
    fn one<const N: usize>(&self, w: InterruptFlag, chain_inputs: &ChainInputs, parts: &mut [f64]) -> Res<Vec<f64>> {
        let (strips, share, slot) = (chain_inputs.n / N, self.share(), self.stored[0]);
        let mut out: Vec<[f64; N]> = array::room(strips + 1)?;
        while out.len() < strips {
            w.poll()?;
            let some = out.len()..strips.min(out.len() + STRIPS_PER_POLL);
            let parts = &mut parts[some.start * share..some.end * share];
            parallel::extended(
                &mut out,
                parts,
                some,
                || self.slots(),
                |s: &mut ChainSlots, i, totals: &mut [f64]| {
                    self.strip(chain_inputs, s, (i * N, N), totals);
                    s.get(slot).first_chunk().unwrap_or(&[0.0; N])
                },
            );
        }
        let mut out = out.into_flattened();
        let (at, mut s) = (strips * N, self.slots());
        if at < chain_inputs.n {
            self.strip(chain_inputs, &mut s, (at, chain_inputs.n - at), &mut parts[strips * share..]);
            out.extend_from_slice(&s.get(slot)[..chain_inputs.n - at]);
        }
        Ok(out)
    }
}

/// The elements of an operand; a scalar is repeated.
fn many(x: BroadcastOperand<f64>, n: usize) -> Cow<[f64]> {
    match x {
        BroadcastOperand::Many(x) => Cow::Borrowed(x),
        BroadcastOperand::One(x) => Cow::Owned(vec![x; n]),
    }
}
