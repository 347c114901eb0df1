//! Work on large arrays, by all threads.
//!
//! What a part of an array becomes never depends on other parts, and sums go over fixed blocks: so results are the same bits whatever the
//! number of threads. Below [`LEAST`] elements a thread more costs more than it gains. Whoever makes new arrays fills blocks, so that no
//! element is written twice.

use super::watch::{STRIDE, Watch};
use crate::error::Res;
use crate::fault;
use crate::value::array;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Elements from which more threads than one work.
pub(crate) const LEAST: usize = 1 << 16;

/// Elements that are made at a time.
const BLOCK: usize = 256;

/// Blocks that a thread makes at least.
const BLOCKS: usize = 64;

/// Blocks after which somebody looks whether to go on.
const AT_ONCE: usize = 1 << 11;

/// Threads that were asked for; 0 for as many as the machine has.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// The pool, made when it is first needed, with its size.
static POOL: Mutex<Option<(usize, Arc<ThreadPool>)>> = Mutex::new(None);

/// Sets how many threads work on large arrays; 0 for as many as the machine has.
pub fn set_threads(n: usize) {
    WANTED.store(n, Ordering::Relaxed);
}

/// How many threads work on large arrays.
pub fn threads() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    match WANTED.load(Ordering::Relaxed) {
        0 => *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
        n => n,
    }
}

/// The threads for work on so many elements; none if one is enough, or no more are to be had.
fn pool(elements: usize) -> Option<Arc<ThreadPool>> {
    if alone(elements) {
        return None;
    }
    let n = threads();
    let mut pool = POOL.lock().ok()?;
    if let Some((_, p)) = pool.as_ref().filter(|(k, _)| *k == n) {
        return Some(p.clone());
    }
    let made = ThreadPoolBuilder::new().num_threads(n).thread_name(|i| format!("adl-worker-{i}")).build().ok()?;
    let made = Arc::new(made);
    *pool = Some((n, made.clone()));
    Some(made)
}

/// Whether one thread does work on so many elements.
pub(crate) fn alone(elements: usize) -> bool {
    elements < LEAST || threads() < 2
}

/// A vector of `n` elements. `f` is given where a part begins, and the part, all of which it fills.
pub(crate) fn made<T: Copy + Default + Send>(w: Watch, n: usize, f: impl Fn(usize, &mut [T]) + Sync) -> Res<Vec<T>> {
    if n < BLOCK {
        let mut v = array::filled(T::default(), n)?;
        f(0, &mut v);
        return Ok(v);
    }
    let blocks = n / BLOCK;
    let mut v: Vec<[T; BLOCK]> = array::room(blocks + 1).map_err(|_| array::too_large(&[n]))?;
    let block = |i: usize| {
        fault::point(fault::Point::Worker);
        let mut part = [T::default(); BLOCK];
        f(i * BLOCK, &mut part);
        part
    };
    let pool = pool(n);
    while v.len() < blocks {
        w.poll()?;
        let some = v.len()..blocks.min(v.len() + AT_ONCE);
        match &pool {
            Some(p) => p.install(|| v.par_extend(some.into_par_iter().with_min_len(BLOCKS).map(block))),
            None => v.extend(some.map(block)),
        }
    }
    let mut v = v.into_flattened();
    let mut rest = [T::default(); BLOCK];
    let rest = &mut rest[..n - blocks * BLOCK];
    f(blocks * BLOCK, rest);
    v.extend_from_slice(rest);
    Ok(v)
}

/// Changes a vector in place. `f` is given where a part begins, and the part.
pub(crate) fn changed<T: Send>(w: Watch, v: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) -> Res<()> {
    let n = v.len();
    bands(w, v, STRIDE / 4, n, f)
}

/// The same in parts of `part` elements; all are about as much work as `work` elements.
pub(crate) fn bands<T: Send>(w: Watch, v: &mut [T], part: usize, work: usize, f: impl Fn(usize, &mut [T]) + Sync) -> Res<()> {
    let part = part.max(1);
    let each = |(i, c): (usize, &mut [T])| {
        if !w.asked() {
            fault::point(fault::Point::Worker);
            f(i * part, c);
        }
    };
    match pool(work).filter(|_| v.len() > part) {
        Some(p) => p.install(|| v.par_chunks_mut(part).enumerate().for_each(each)),
        None => v.chunks_mut(part).enumerate().for_each(each),
    }
    w.poll()
}

/// The same for work that is done soon, which never delays other work.
pub(crate) fn parts<T: Send>(v: &mut [T], f: impl Fn(&mut [T]) + Sync + Send) {
    match pool(v.len()) {
        Some(p) => p.install(|| v.par_chunks_mut(STRIDE).for_each(f)),
        None => f(v),
    }
}

/// Changes each of some pieces, of about `size` elements each. Each thread has a room of its own to work in.
pub(crate) fn each<P: Send, S>(w: Watch, pieces: &mut [P], size: usize, room: impl Fn() -> S + Sync + Send, f: impl Fn(&mut S, &mut P) + Sync + Send) -> Res<()> {
    let run = |s: &mut S, p: &mut P| {
        if !w.asked() {
            f(s, p);
        }
    };
    match pool(pieces.len().saturating_mul(size)) {
        Some(p) => p.install(|| pieces.par_iter_mut().for_each_init(&room, run)),
        None => {
            let mut s = room();
            pieces.iter_mut().for_each(|p| run(&mut s, p));
        }
    }
    w.poll()
}

/// Adds a block for each of some indices to a vector: `f` leaves it in its room, and is also given the index's part of `also`, of which
/// each has as many elements.
pub(crate) fn extended<S, const N: usize>(
    to: &mut Vec<[f64; N]>,
    also: &mut [f64],
    some: std::ops::Range<usize>,
    room: impl Fn() -> S + Sync + Send,
    f: impl for<'a> Fn(&'a mut S, usize, &mut [f64]) -> &'a [f64; N] + Sync + Send,
) {
    let part = (also.len() / some.len().max(1)).max(1);
    match pool(some.len().saturating_mul(N)) {
        Some(p) => p.install(|| {
            let parts = also.par_chunks_mut(part).zip(some.into_par_iter()).with_min_len((BLOCKS * BLOCK / N).max(1));
            to.par_extend(parts.map_init(&room, |s, (part, i)| *f(s, i, part)));
        }),
        None => {
            let mut s = room();
            for (part, i) in also.chunks_mut(part).zip(some) {
                to.extend_from_slice(std::slice::from_ref(f(&mut s, i, part)));
            }
        }
    }
}

/// `f` of each job, in no order: a thread that is free takes the next one. All are about as much work as so many elements.
pub fn handed_out<J: Send, T: Send>(jobs: Vec<J>, elements: usize, f: impl Fn(J) -> T + Sync + Send) -> Vec<T> {
    match pool(elements).filter(|_| jobs.len() > 1) {
        Some(p) => p.install(|| jobs.into_iter().par_bridge().map(f).collect()),
        None => jobs.into_iter().map(f).collect(),
    }
}

/// `f` of each of `n` indices, in order; about `each` elements belong to one.
pub(crate) fn listed<T: Send>(n: usize, each: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    match pool(n.saturating_mul(each)) {
        Some(p) => p.install(|| (0..n).into_par_iter().map(f).collect()),
        None => (0..n).map(f).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn parts_cover_everything_once_with_any_number_of_threads() {
        let off = AtomicBool::new(false);
        for threads in [1, 2, 3, 5] {
            set_threads(threads);
            for n in [0, 1, 255, 256, 257, 70_000, 200_001] {
                let v: Vec<i64> = made(Watch(&off), n, |at, part| part.iter_mut().enumerate().for_each(|(i, x)| *x = (at + i) as i64)).unwrap();
                assert!(v.iter().enumerate().all(|(i, x)| *x == i as i64) && v.len() == n, "{n}");
                let mut v = v;
                changed(Watch(&off), &mut v, |at, part| part.iter_mut().enumerate().for_each(|(i, x)| *x += (at + i) as i64)).unwrap();
                assert!(v.iter().enumerate().all(|(i, x)| *x == 2 * i as i64), "{n}");
            }
        }
        set_threads(0);
    }

    #[test]
    fn an_interrupt_ends_it() {
        let on = AtomicBool::new(true);
        assert!(made::<f64>(Watch(&on), 1000, |_, _| ()).is_err());
        assert!(changed(Watch(&on), &mut [0.0; 1000], |_, _| ()).is_err());
    }
}
