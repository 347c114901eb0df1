//! Arithmetic on slices of floats, in one order of operations whoever asks: the interpreter and native code give the same bits.

use super::parallel;

/// Numbers that one accumulator adds before partial sums are added.
const CHUNK: usize = 1024;

/// Eight partial sums in one.
fn fold(acc: [f64; 8], tail: f64) -> f64 {
    ((acc[0] + acc[4]) + (acc[1] + acc[5])) + ((acc[2] + acc[6]) + (acc[3] + acc[7])) + tail
}

/// The results of chunks added pairwise: `leaf` is given where a chunk begins and ends.
fn pairwise(start: usize, end: usize, leaf: &impl Fn(usize, usize) -> f64) -> f64 {
    if end - start <= CHUNK {
        return leaf(start, end);
    }
    let half = start + ((end - start) / 2).next_multiple_of(CHUNK);
    pairwise(start, half, leaf) + pairwise(half, end, leaf)
}

/// The same, with the chunks of large arrays by all threads.
fn chunked(n: usize, leaf: impl Fn(usize, usize) -> f64 + Sync + Send) -> f64 {
    if n < parallel::LEAST {
        return pairwise(0, n, &leaf);
    }
    let parts = parallel::listed(n.div_ceil(CHUNK), CHUNK, |i| leaf(i * CHUNK, ((i + 1) * CHUNK).min(n)));
    pairwise(0, n, &|start, _| parts[start / CHUNK])
}

/// The sum of a slice: eight accumulators in each chunk, chunks pairwise.
pub fn sum(x: &[f64]) -> f64 {
    chunked(x.len(), |start, end| {
        let mut acc = [0.0; 8];
        let mut chunks = x[start..end].chunks_exact(8);
        for c in &mut chunks {
            for (a, v) in acc.iter_mut().zip(c) {
                *a += v;
            }
        }
        fold(acc, chunks.remainder().iter().sum())
    })
}

/// The inner product of slices of one length, in the same order.
pub fn dot(p: &[f64], q: &[f64]) -> f64 {
    let n = p.len().min(q.len());
    chunked(n, |start, end| {
        let mut acc = [0.0; 8];
        let (mut cp, mut cq) = (p[start..end].chunks_exact(8), q[start..end].chunks_exact(8));
        for (a, b) in (&mut cp).zip(&mut cq) {
            for k in 0..8 {
                acc[k] += a[k] * b[k];
            }
        }
        fold(acc, cp.remainder().iter().zip(cq.remainder()).map(|(a, b)| a * b).sum())
    })
}

/// Rows and columns of a block of a product that is kept in registers.
const TILE: (usize, usize) = (4, 4);

/// The product of matrices of `n` by `k` and `k` by `c` elements, into zeros. Each element of it adds its terms in the order of the inner
/// index; that of a matrix and a vector (`c` is 1) is an inner product of [`dot`].
pub fn multiply(x: &[f64], y: &[f64], (n, k, c): (usize, usize, usize), out: &mut [f64]) {
    if c == 1 {
        for (o, row) in out.iter_mut().zip(x.chunks_exact(k.max(1))) {
            *o = dot(row, y);
        }
        return;
    }
    let (tall, wide) = (n - n % TILE.0, c - c % TILE.1);
    // Blocks of the inner dimension stay in cache while all rows use them.
    for l0 in (0..k).step_by(64) {
        let l1 = (l0 + 64).min(k);
        for i in (0..tall).step_by(TILE.0) {
            for j in (0..wide).step_by(TILE.1) {
                tile(x, y, (k, c), (i, j), l0..l1, out);
            }
            rest(x, y, (k, c), (i..i + TILE.0, wide..c), l0..l1, out);
        }
        rest(x, y, (k, c), (tall..n, 0..c), l0..l1, out);
    }
}

/// A block of a product.
fn tile(x: &[f64], y: &[f64], (k, c): (usize, usize), (i, j): (usize, usize), inner: std::ops::Range<usize>, out: &mut [f64]) {
    let mut acc = [[0.0; TILE.1]; TILE.0];
    for (r, acc) in acc.iter_mut().enumerate() {
        acc.copy_from_slice(&out[(i + r) * c + j..(i + r) * c + j + TILE.1]);
    }
    for l in inner {
        let right = &y[l * c + j..l * c + j + TILE.1];
        for (r, acc) in acc.iter_mut().enumerate() {
            let f = x[(i + r) * k + l];
            for (a, v) in acc.iter_mut().zip(right) {
                *a += f * v;
            }
        }
    }
    for (r, acc) in acc.iter().enumerate() {
        out[(i + r) * c + j..(i + r) * c + j + TILE.1].copy_from_slice(acc);
    }
}

/// What is left beside the blocks.
fn rest(x: &[f64], y: &[f64], (k, c): (usize, usize), (rows, columns): (std::ops::Range<usize>, std::ops::Range<usize>), inner: std::ops::Range<usize>, out: &mut [f64]) {
    if columns.is_empty() {
        return;
    }
    for i in rows {
        let row = &mut out[i * c + columns.start..i * c + columns.end];
        for l in inner.clone() {
            let f = x[i * k + l];
            row.iter_mut().zip(&y[l * c + columns.start..l * c + columns.end]).for_each(|(o, v)| *o += f * v);
        }
    }
}
