//! Parallel work on large arrays.
//!
//! Each part of a result depends only on its own input, and sums are taken over fixed blocks, so results have
//! the same bits for any number of threads. Below `LEAST` elements an additional thread costs more than it
//! gains. New arrays are filled block by block, so that no element is written twice.

use super::interrupt::{InterruptFlag, STRIDE};
use crate::error::Res;
use crate::fault;
pub(crate) use crate::limits::ops_parallel::LEAST;
use crate::limits::ops_parallel::{BLOCK, BLOCKS, BLOCKS_PER_POLL};
use crate::{memory, polling};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The requested number of threads; 0 for the number of cores.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// The thread pool, created on demand, with its number of threads.
static POOL: Mutex<Option<(usize, Arc<ThreadPool>)>> = Mutex::new(None);

/// Sets the number of threads for large arrays; 0 for the number of cores.
pub fn set_threads(n: usize) {
    WANTED.store(n, Ordering::Relaxed);
}

/// The number of threads for large arrays.
pub fn threads() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    match WANTED.load(Ordering::Relaxed) {
        0 => *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
        n => n,
    }
}

/// The thread pool for work on this number of elements; `None` if one thread is sufficient or the pool cannot be
/// created.
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

/// Whether work on this number of elements is done by one thread.
pub(crate) fn alone(elements: usize) -> bool {
    elements < LEAST || threads() < 2
}

/// A vector of `len` elements. `fill` gets the offset of a part, and the part, which it must fill completely.
pub fn made<T: Copy + Default + Send>(
    interrupt: InterruptFlag,
    len: usize,
    fill: impl Fn(usize, &mut [T]) + Sync,
) -> Res<Vec<T>> {
    if len < BLOCK {
        let mut v = polling::collect(len, |_| T::default())?;
        fill(0, &mut v);
        return Ok(v);
    }
    let blocks = len / BLOCK;
    let mut out: Vec<[T; BLOCK]> = memory::room(blocks + 1).map_err(|_| memory::too_large(&[len]))?;
    let block = |i: usize| {
        fault::point(fault::PanicPoint::Worker);
        let mut part = [T::default(); BLOCK];
        fill(i * BLOCK, &mut part);
        part
    };
    let pool = pool(len);
    while out.len() < blocks {
        interrupt.poll()?;
        let some = out.len()..blocks.min(out.len() + BLOCKS_PER_POLL);
        match &pool {
            Some(p) => extended_by_blocks(p, &mut out, some, &block),
            None => out.extend(some.map(block)),
        }
    }
    let mut v = out.into_flattened();
    let mut rest = [T::default(); BLOCK];
    let rest = &mut rest[..len - blocks * BLOCK];
    fill(blocks * BLOCK, rest);
    v.extend_from_slice(rest);
    Ok(v)
}

/// Updates a vector in place. `f` gets the offset of a part, and the part.
pub fn changed<T: Send>(w: InterruptFlag, v: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) -> Res<()> {
    let n = v.len();
    bands(w, v, STRIDE / 4, n, f)
}

/// Like [`changed`], in parts of `part` elements. `cost_model` is the total work, in element operations.
pub(crate) fn bands<T: Send>(
    interrupt: InterruptFlag,
    values: &mut [T],
    part: usize,
    work: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) -> Res<()> {
    let part = part.max(1);
    let each = |i: usize, c: &mut [T]| {
        if !interrupt.is_set() {
            fault::point(fault::PanicPoint::Worker);
            f(i * part, c);
        }
    };
    match pool(work).filter(|_| values.len() > part) {
        Some(p) => for_each_part(&p, values, part, &each),
        None => values.chunks_mut(part).enumerate().for_each(|(i, c)| each(i, c)),
    }
    interrupt.poll()
}

/// Applies `f` to parts of a vector, without polling for interrupts; for short work.
pub(crate) fn parts<T: Send>(v: &mut [T], f: impl Fn(&mut [T]) + Sync + Send) {
    match pool(v.len()) {
        Some(p) => for_each_part(&p, v, STRIDE, &|_, part| f(part)),
        None => f(v),
    }
}

/// Updates each of some pieces, of about `size` elements each. Each thread has its own scratch state, made by
/// `room`.
pub(crate) fn each<P: Send, S>(
    interrupt: InterruptFlag,
    pieces: &mut [P],
    size: usize,
    room: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, &mut P) + Sync + Send,
) -> Res<()> {
    let run = |s: &mut S, p: &mut P| {
        if !interrupt.is_set() {
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
    interrupt.poll()
}

/// Appends one block to `to` for each index in `some`. `fill` computes the block in its scratch state, and also
/// fills the index's part of `also`; all these parts have equal lengths.
pub(crate) fn extended<S, const N: usize>(
    to: &mut Vec<[f64; N]>,
    also: &mut [f64],
    some: Range<usize>,
    room: impl Fn() -> S + Sync + Send,
    fill: impl for<'a> Fn(&'a mut S, usize, &mut [f64]) -> &'a [f64; N] + Sync + Send,
) {
    let part = (also.len() / some.len().max(1)).max(1);
    match pool(some.len().saturating_mul(N)) {
        Some(p) => p.install(|| {
            let parts = also.par_chunks_mut(part).zip(some.into_par_iter()).with_min_len((BLOCKS * BLOCK / N).max(1));
            to.par_extend(parts.map_init(&room, |s, (part, i)| *fill(s, i, part)));
        }),
        None => {
            let mut s = room();
            for (part, i) in also.chunks_mut(part).zip(some) {
                to.extend_from_slice(std::slice::from_ref(fill(&mut s, i, part)));
            }
        }
    }
}

/// Applies `f` to each job in any order: an idle thread takes the next one. `storage` is the total work, in
/// element operations.
pub fn run_jobs<J: Send, T: Send>(jobs: Vec<J>, elements: usize, f: impl Fn(J) -> T + Sync + Send) -> Vec<T> {
    match pool(elements).filter(|_| jobs.len() > 1) {
        Some(p) => p.install(|| jobs.into_iter().par_bridge().map(f).collect()),
        None => jobs.into_iter().map(f).collect(),
    }
}

/// The results of `f` for each of `n` indices, in order; `each` is the work per index, in element operations.
pub(crate) fn listed<T: Send>(n: usize, each: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    match pool(n.saturating_mul(each)) {
        Some(p) => listed_on(&p, n, &f),
        None => (0..n).map(f).collect(),
    }
}

// What follows calls rayon with functions behind pointers: its code, a tenth of this crate's, is compiled once for a
// type of elements instead of once for each operation.

fn extended_by_blocks<T: Copy + Send>(
    pool: &ThreadPool,
    to: &mut Vec<[T; BLOCK]>,
    some: Range<usize>,
    block: &(dyn Fn(usize) -> [T; BLOCK] + Sync),
) {
    pool.install(|| to.par_extend(some.into_par_iter().with_min_len(BLOCKS).map(block)));
}

fn for_each_part<T: Send>(pool: &ThreadPool, values: &mut [T], part: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    pool.install(|| values.par_chunks_mut(part).enumerate().for_each(|(i, c)| f(i, c)));
}

fn listed_on<T: Send>(pool: &ThreadPool, n: usize, f: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    pool.install(|| (0..n).into_par_iter().map(f).collect())
}
