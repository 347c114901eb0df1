//! Turns of loops that native code does a strip at a time. Strips are chunks of [`kernels::sum`](super::kernels::sum), so that numbers that each
//! strip adds up give the sum of all terms, in its order.

use super::kernels::{CHUNK, pairwise};
use super::parallel;
use super::watch::Watch;
use crate::error::Res;
use std::sync::atomic::AtomicBool;

/// Turns of a strip.
pub const STRIP: usize = CHUNK;

/// Turns of a strip that gives no totals, and keeps numbers for functions that are called for all of it: so few that memory goes on reading ahead.
const SHORT: usize = 256;

/// Strips that a thread takes at a time.
const BAND: usize = 16;

/// Strips after which somebody looks whether an interrupt was asked for.
const AT_ONCE: usize = 64;

/// Does turns: the first one, how many, room, at whose beginning the totals are left.
pub type Strip<'a> = &'a (dyn Fn(usize, usize, &mut [f64]) + Sync);

/// Runs `f` on `n` turns: the totals, of which there are as many as said, with the numbers that a strip needs room for. `threads`: whether strips may be done at the same time.
/// Where they follow each other, `tell` hears now and then how many turns are done.
pub fn all((stop, tell): (&AtomicBool, &dyn Fn(usize)), n: usize, (totals, room): (usize, usize), threads: bool, f: Strip) -> Res<Vec<f64>> {
    let w = Watch(stop);
    let mut parts: Vec<f64> = Vec::with_capacity(n.div_ceil(CHUNK) * totals);
    let strip = if totals == 0 && room > 0 { SHORT } else { CHUNK };
    if threads && n >= parallel::LEAST {
        let mut bands: Vec<(usize, Vec<f64>)> = (0..n).step_by(BAND * CHUNK).map(|at| (at, Vec::new())).collect();
        parallel::each(w, &mut bands, BAND * CHUNK, || vec![0.0; room], |room, (at, parts)| {
            for start in (*at..n.min(*at + BAND * CHUNK)).step_by(strip) {
                f(start, strip.min(n - start), room);
                parts.extend_from_slice(&room[..totals]);
            }
        })?;
        parts.extend(bands.into_iter().flat_map(|b| b.1));
    } else {
        let mut room = vec![0.0; room];
        for start in (0..n).step_by(strip) {
            if start % (AT_ONCE * CHUNK) == 0 {
                w.poll()?;
                tell(start);
            }
            f(start, strip.min(n - start), &mut room);
            parts.extend_from_slice(&room[..totals]);
        }
    }
    Ok((0..totals).map(|t| pairwise(0, n, &|start, _| parts[start / CHUNK * totals + t])).collect())
}

/// The same in order, with one turn done alone, and no totals.
pub fn around(stop: &AtomicBool, n: usize, alone: usize, room: &mut [f64], f: Strip) -> Res<()> {
    for (from, to) in [(0, alone), (alone, alone + 1), (alone + 1, n)] {
        for (k, start) in (from..to).step_by(CHUNK).enumerate() {
            if k % AT_ONCE == 0 {
                Watch(stop).poll()?;
            }
            f(start, CHUNK.min(to - start), room);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_strips_are_sums() {
        let off = AtomicBool::new(false);
        for n in [1, 1023, 1024, 1025, 70_000, 200_001] {
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
            let f = |start: usize, len: usize, room: &mut [f64]| room[0] = super::super::kernels::sum(&x[start..start + len]);
            for threads in [false, true] {
                assert_eq!(all((&off, &|_| {}), n, (1, 1), threads, &f).unwrap()[0].to_bits(), super::super::kernels::sum(&x).to_bits(), "{n}");
            }
        }
    }

    #[test]
    fn the_turn_that_is_alone_is() {
        let off = AtomicBool::new(false);
        for (n, alone) in [(1, 0), (20, 0), (20, 19), (3000, 1500)] {
            let seen = std::sync::Mutex::new(Vec::new());
            around(&off, n, alone, &mut [], &|start, len, _| seen.lock().unwrap().push((start, len))).unwrap();
            let seen = seen.into_inner().unwrap();
            assert!(seen.contains(&(alone, 1)) && seen.iter().map(|s| s.1).sum::<usize>() == n, "{n} {seen:?}");
        }
    }
}
