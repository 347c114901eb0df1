//! Chains of elementwise operators on large arrays, a strip of elements at a time: what only the chain reads stays in the cache, and each
//! array is read and written once. All threads work, on strips of their own.
//!
//! Every operator does what it does on whole arrays ([`super::elementwise`], [`kernels::map`]), and sums and inner products of strips are
//! the chunks of [`kernels::sum`] and [`kernels::dot`], so that the bits are the same.

use super::elementwise::{self, Operand};
use super::kernels::{self, CHUNK};
use super::parallel;
use super::watch::Watch;
use crate::error::Res;
use crate::value::array;
use adl_prim::{Bin, Un};

/// Strips that a thread takes at a time: enough that handing them out costs little.
const BAND: usize = 16;

/// Strips after which somebody looks whether an interrupt was asked for: some milliseconds.
const AT_ONCE: usize = 64 * BAND;

/// Where numbers come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum From {
    /// An array.
    Input(usize),
    /// A number, for all elements.
    Number(usize),
    /// What a member left.
    Slot(usize),
}

/// What a member of a chain does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Member {
    /// A function of each number.
    Un(Un, From),
    /// An operator.
    Bin(Bin, From, From),
    /// The same number everywhere.
    Fill(From),
}

/// A number made of all elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Total {
    /// Their sum.
    Sum(From),
    /// The sum of products.
    Dot(From, From),
}

/// A chain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    /// What is done, and the slot that it fills, in which none of its operands is.
    pub members: Vec<(Member, usize)>,
    /// How many slots there are.
    pub slots: usize,
    /// Slots that become arrays.
    pub stored: Vec<usize>,
    /// Numbers made of all elements.
    pub totals: Vec<Total>,
}

/// What a chain reads: arrays of one length, and numbers.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    /// The length.
    pub n: usize,
    /// The arrays.
    pub inputs: &'a [&'a [f64]],
    /// The numbers.
    pub numbers: &'a [f64],
}

/// Buffers of one thread.
struct Slots(Vec<Vec<f64>>);

impl Given<'_> {
    fn operand<'b>(&'b self, s: &'b Slots, from: From, (at, len): (usize, usize)) -> Operand<'b, f64> {
        match from {
            From::Input(i) => Operand::Many(&self.inputs[i][at..at + len]),
            From::Number(i) => Operand::One(self.numbers[i]),
            From::Slot(i) => Operand::Many(&s.0[i][..len]),
        }
    }
}

impl Chain {
    fn slots(&self) -> Slots {
        Slots(vec![vec![0.0; CHUNK]; self.slots])
    }

    /// One strip; its share of the totals.
    fn strip(&self, g: &Given, s: &mut Slots, part: (usize, usize), totals: &mut Vec<f64>) {
        for (m, into) in &self.members {
            let mut slot = std::mem::take(&mut s.0[*into]);
            let out = &mut slot[..part.1];
            match *m {
                Member::Un(op, a) => {
                    elementwise::copied(g.operand(s, a, part), out);
                    kernels::map(op, out);
                }
                Member::Bin(op, a, b) => elementwise::into(op, g.operand(s, a, part), g.operand(s, b, part), out),
                Member::Fill(a) => elementwise::copied(g.operand(s, a, part), out),
            }
            s.0[*into] = slot;
        }
        for t in &self.totals {
            let many = |from| match g.operand(s, from, part) {
                Operand::Many(x) => x,
                Operand::One(_) => &[],
            };
            totals.push(match *t {
                Total::Sum(a) => kernels::sum(many(a)),
                Total::Dot(a, b) => kernels::dot(many(a), many(b)),
            });
        }
    }

    /// Some strips from `at` on; what they store goes to `outs`.
    fn band(&self, g: &Given, s: &mut Slots, at: usize, outs: &mut [&mut [f64]]) -> Vec<f64> {
        let end = (at + BAND * CHUNK).min(g.n);
        let mut totals = Vec::new();
        for start in (at..end).step_by(CHUNK) {
            let len = CHUNK.min(end - start);
            self.strip(g, s, (start, len), &mut totals);
            for (out, slot) in outs.iter_mut().zip(&self.stored) {
                out[start - at..][..len].copy_from_slice(&s.0[*slot][..len]);
            }
        }
        totals
    }

    /// The arrays that are stored, and the totals.
    pub fn run(&self, w: Watch, g: Given) -> Res<(Vec<Vec<f64>>, Vec<f64>)> {
        let (outs, parts) = if self.stored.len() == 1 { self.one(w, &g)? } else { self.several(w, &g)? };
        let k = self.totals.len();
        let totals = (0..k).map(|t| kernels::pairwise(0, g.n, &|start, _| parts[start / CHUNK * k + t])).collect();
        Ok((outs, totals))
    }

    /// Arrays that are cleared first, since each is filled in several places at once.
    fn several(&self, w: Watch, g: &Given) -> Res<(Vec<Vec<f64>>, Vec<f64>)> {
        let mut outs = self.stored.iter().map(|_| array::filled(0.0, g.n)).collect::<Res<Vec<Vec<f64>>>>()?;
        let mut bands: Vec<(usize, Vec<&mut [f64]>, Vec<f64>)> = (0..g.n).step_by(BAND * CHUNK).map(|at| (at, Vec::new(), Vec::new())).collect();
        for out in &mut outs {
            bands.iter_mut().zip(out.chunks_mut(BAND * CHUNK)).for_each(|(b, part)| b.1.push(part));
        }
        parallel::each(w, &mut bands, BAND * CHUNK, || self.slots(), |s, (at, outs, totals)| *totals = self.band(g, s, *at, outs))?;
        let parts = bands.into_iter().flat_map(|b| b.2).collect();
        Ok((outs, parts))
    }

    /// One array, which grows by strips.
    fn one(&self, w: Watch, g: &Given) -> Res<(Vec<Vec<f64>>, Vec<f64>)> {
        let strips = g.n / CHUNK;
        let mut out: Vec<[f64; CHUNK]> = array::room(strips + 1)?;
        let mut parts: Vec<f64> = Vec::with_capacity((strips + 1) * self.totals.len());
        let slot = self.stored[0];
        while out.len() < strips {
            w.poll()?;
            let some = out.len()..strips.min(out.len() + AT_ONCE);
            parallel::extended(&mut out, &mut parts, some, CHUNK, || self.slots(), |s, i| {
                let mut totals = Vec::new();
                self.strip(g, s, (i * CHUNK, CHUNK), &mut totals);
                let mut block = [0.0; CHUNK];
                block.copy_from_slice(&s.0[slot]);
                (block, totals)
            });
        }
        let mut out = out.into_flattened();
        let (at, mut s) = (strips * CHUNK, self.slots());
        if at < g.n {
            self.strip(g, &mut s, (at, g.n - at), &mut parts);
            out.extend_from_slice(&s.0[slot][..g.n - at]);
        }
        Ok((vec![out], parts))
    }
}
