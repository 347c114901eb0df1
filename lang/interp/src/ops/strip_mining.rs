//! Loops that native code runs in blocks of iterations ("strips"). Strips coincide with the chunks of
//! [`kernels::sum`](super::kernels::sum), so that the totals of strips combine to the sum of all terms in its
//! order.

use super::interrupt::InterruptFlag;
use super::kernels::{CHUNK, pairwise};
use super::parallel;
use crate::error::Res;
use crate::limits::ops_strip_mining::{BAND, SHORT};
use std::sync::atomic::AtomicBool;

/// Number of iterations in a strip.
pub const STRIP: usize = CHUNK;

/// Runs iterations: the first one, their number, and scratch space, at whose start the function leaves the
/// totals of the strip.
pub type Strip<'a> = &'a (dyn Fn(usize, usize, &mut [f64]) + Sync);

/// Runs `compute` on `len` iterations. Returns the combined totals. `totals` and `room` are the number of totals of a
/// strip and the number of floats of scratch space that it needs. `threads` says whether strips may run in
/// parallel; if they run in sequence, `tell` is called from time to time with the number of completed
/// iterations.
pub fn all(
    (stop, tell): (&AtomicBool, &dyn Fn(usize)),
    len: usize,
    (totals, room): (usize, usize),
    threads: bool,
    compute: Strip,
) -> Res<Vec<f64>> {
    let interrupt = InterruptFlag(stop);
    let mut parts: Vec<f64> = Vec::with_capacity(len.div_ceil(CHUNK) * totals);
    let strip = if totals == 0 && room > 0 { SHORT } else { CHUNK };
    if threads && len >= parallel::LEAST {
        let mut bands: Vec<(usize, Vec<f64>)> = (0..len).step_by(BAND * CHUNK).map(|at| (at, Vec::new())).collect();
        parallel::each(
            interrupt,
            &mut bands,
            BAND * CHUNK,
            || vec![0.0; room],
            |room, (at, parts)| {
                for start in (*at..len.min(*at + BAND * CHUNK)).step_by(strip) {
                    compute(start, strip.min(len - start), room);
                    parts.extend_from_slice(&room[..totals]);
                }
            },
        )?;
        parts.extend(bands.into_iter().flat_map(|b| b.1));
    } else {
        let mut room = vec![0.0; room];
        for start in (0..len).step_by(strip) {
            // Inner loops may make a strip long.
            interrupt.poll()?;
            tell(start);
            compute(start, strip.min(len - start), &mut room);
            parts.extend_from_slice(&room[..totals]);
        }
    }
    Ok((0..totals).map(|t| pairwise(0, len, &|start, _| parts[start / CHUNK * totals + t])).collect())
}

/// Runs iterations in sequence without totals, and iteration `alone` in a strip of its own.
pub fn around(stop: &AtomicBool, n: usize, alone: usize, room: &mut [f64], f: Strip) -> Res<()> {
    for (from, to) in [(0, alone), (alone, alone + 1), (alone + 1, n)] {
        for start in (from..to).step_by(CHUNK) {
            InterruptFlag(stop).poll()?;
            f(start, CHUNK.min(to - start), room);
        }
    }
    Ok(())
}
