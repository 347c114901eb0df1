//! Numeric kernels on slices of floats. The order of operations is fixed, so that the interpreter and native
//! code compute the same bits.

mod products;
pub(crate) mod zero_spans;

pub use products::{Factor, contract, contract_by, multiply};

use super::parallel;
use crate::limits::ops_kernels::{FEW, NUMBERS};
pub(super) use adl_ir::sum_order::CHUNK;
use adl_prim::elementary::error_function;
use adl_prim::{Bin, Un, elementary};

/// Combines eight partial sums.
fn fold(acc: [f64; 8], tail: f64) -> f64 {
    ((acc[0] + acc[4]) + (acc[1] + acc[5])) + ((acc[2] + acc[6]) + (acc[3] + acc[7])) + tail
}

/// Combines the results of chunks pairwise: `leaf` gets the start and the end of a chunk.
pub(super) fn pairwise(start: usize, end: usize, leaf: &impl Fn(usize, usize) -> f64) -> f64 {
    if end - start <= CHUNK {
        return leaf(start, end);
    }
    let half = start + ((end - start) / 2).next_multiple_of(CHUNK);
    pairwise(start, half, leaf) + pairwise(half, end, leaf)
}

/// The sum of `n` numbers, from the sums of their chunks: `part` gets the index of a chunk.
pub fn of_chunks(n: usize, part: &impl Fn(usize) -> f64) -> f64 {
    pairwise(0, n, &|start, _| part(start / CHUNK))
}

/// Like [`pairwise`] over `n` elements; the chunks of large arrays are distributed over all threads.
fn chunked(n: usize, leaf: impl Fn(usize, usize) -> f64 + Sync + Send) -> f64 {
    if n < parallel::LEAST {
        return pairwise(0, n, &leaf);
    }
    let parts = parallel::listed(n.div_ceil(CHUNK), CHUNK, |i| leaf(i * CHUNK, ((i + 1) * CHUNK).min(n)));
    pairwise(0, n, &|start, _| parts[start / CHUNK])
}

/// Compiles a loop for the machine's widest vector instructions. The order of operations does not change and no
/// multiply-add is contracted, so the result bits are the same.
pub(super) fn wide<T>(f: impl FnOnce() -> T) -> T {
    pulp::Arch::new().dispatch(f)
}

/// A function with two sides of [`error_function::NEAR_ZERO`] on each element. It is a struct, since the
/// compiler does not inline a large closure into the function that has wide vectors.
struct NearAndFar<'a, F, G>(&'a mut [f64], F, G);

impl<F: Fn(f64) -> f64, G: Fn(f64) -> f64> pulp::NullaryFnOnce for NearAndFar<'_, F, G> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let NearAndFar(values, near, far) = self;
        let is_near = |x: f64| x.abs() < error_function::NEAR_ZERO;
        let (parts, rest) = values.as_chunks_mut::<NUMBERS>();
        for part in parts {
            let mut beyond = *part;
            for y in &mut beyond {
                *y = far(*y);
            }
            for (x, y) in part.iter_mut().zip(beyond) {
                let close = near(*x);
                *x = if is_near(*x) { close } else { y };
            }
        }
        for x in rest {
            *x = if is_near(*x) { near(*x) } else { far(*x) };
        }
    }
}

fn near_and_far(values: &mut [f64], near: impl Fn(f64) -> f64, far: impl Fn(f64) -> f64) {
    pulp::Arch::new().dispatch(NearAndFar(values, near, far));
}

/// Applies a unary operator to each element, in place.
pub fn map(op: Un, values: &mut [f64]) {
    /// The operator's function on each element, with the machine's widest vectors.
    macro_rules! each {
        ($f:expr) => {
            if values.len() < 4 {
                values.iter_mut().for_each(|x| *x = op.eval(*x))
            } else {
                wide(|| values.iter_mut().for_each(|x| *x = $f(*x)))
            }
        };
    }
    match op {
        Un::Neg => each!(|x: f64| -x),
        Un::Abs => each!(f64::abs),
        Un::Sqrt => each!(f64::sqrt),
        Un::Relu => each!(|x| Un::Relu.eval(x)),
        Un::Step => each!(|x| Un::Step.eval(x)),
        Un::Powi(-1) => each!(|x| 1.0 / x),
        Un::Powi(2) => each!(|x| x * x),
        Un::Exp => each!(elementary::exp),
        Un::Expm1 => each!(elementary::expm1),
        Un::Log => each!(elementary::log),
        Un::Log1p => each!(elementary::log1p),
        Un::Tanh => each!(elementary::tanh),
        Un::Sech2 => each!(elementary::sech2),
        Un::Sigmoid => each!(elementary::sigmoid),
        Un::Softplus => each!(elementary::softplus),
        Un::Erf => near_and_far(values, error_function::erf_near, error_function::erf_far),
        Un::Erfc => near_and_far(values, error_function::erfc_near, error_function::erfc_far),
        Un::Sin if values.iter().all(|x| elementary::is_small(*x)) => each!(elementary::sin),
        Un::Cos if values.iter().all(|x| elementary::is_small(*x)) => each!(elementary::cos),
        op => values.iter_mut().for_each(|x| *x = op.eval(*x)),
    }
}

/// The outer product of `x` and `y`, written to `out`, or added to it if `add`.
pub fn outer(x: &[f64], y: &[f64], out: &mut [f64], add: bool) {
    wide(|| {
        for (a, row) in x.iter().zip(out.chunks_exact_mut(y.len().max(1))) {
            if add {
                row.iter_mut().zip(y).for_each(|(o, b)| *o += a * b);
            } else {
                row.iter_mut().zip(y).for_each(|(o, b)| *o = a * b);
            }
        }
    });
}

/// Replaces each element of `x` by its logistic function, and stores that of its negative in `other`.
pub fn sigmoids(x: &mut [f64], other: &mut [f64]) {
    wide(|| x.iter_mut().zip(other).for_each(|(x, y)| (*x, *y) = elementary::sigmoids(*x)));
}

/// Replaces each element of `x` by its hyperbolic tangent, and stores the derivative in `other`.
pub fn tanh_and_sech2(x: &mut [f64], other: &mut [f64]) {
    wide(|| x.iter_mut().zip(other).for_each(|(x, y)| (*x, *y) = elementary::tanh_and_sech2(*x)));
}

/// Replaces -0 by 0.
pub(crate) fn unsign(v: &mut [f64]) {
    parallel::parts(v, |part| wide(|| part.iter_mut().for_each(|x| *x += 0.0)));
}

/// Expands `$body` with `$f` as the operator's function, for each operator that consists of few machine
/// instructions.
macro_rules! with_instructions {
    ($op:expr, $f:ident => $body:expr) => {
        match $op {
            Bin::Add => {
                let $f = |a: f64, b: f64| a + b;
                $body
            }
            Bin::Mul => {
                let $f = |a: f64, b: f64| a * b;
                $body
            }
            Bin::Min => {
                let $f = |a: f64, b: f64| Bin::Min.eval(a, b);
                $body
            }
            Bin::Max => {
                let $f = |a: f64, b: f64| Bin::Max.eval(a, b);
                $body
            }
            op => {
                let $f = move |a: f64, b: f64| op.eval(a, b);
                $body
            }
        }
    };
}

/// A histogram: combines each value with the element of `bins` at its key, in order. Keys out of range are
/// ignored.
pub fn count(op: Bin, bins: &mut [f64], keys: &[i64], values: &[f64]) {
    with_instructions!(op, f => {
        for (k, x) in keys.iter().zip(values) {
            // A negative key becomes a large unsigned number.
            if let Some(bin) = bins.get_mut(*k as usize) {
                *bin = f(*bin, *x);
            }
        }
    });
}

/// A histogram of rows of `width` numbers, which are combined element by element with the row of `bins` at their key.
pub fn count_rows(op: Bin, bins: &mut [f64], width: usize, keys: &[i64], values: &[f64]) {
    if width == 1 {
        return count(op, bins, keys, values);
    }
    let most = bins.len().checked_div(width).unwrap_or(0);
    with_instructions!(op, f => wide(|| {
        for (k, row) in keys.iter().zip(values.chunks_exact(width.max(1))) {
            let k = *k as usize;
            if k < most {
                bins[k * width..][..width].iter_mut().zip(row).for_each(|(bin, x)| *bin = f(*bin, *x));
            }
        }
    }));
}

/// A histogram by `min` or `max` that also records the index of the value in each bin. On ties the bin keeps
/// its value.
pub fn count_places(
    op: Bin,
    (bins, taken): (&mut [f64], &mut [i64]),
    keys: &[i64],
    (values, places): (&[f64], &[i64]),
) {
    with_instructions!(op, f => {
        for ((k, x), p) in keys.iter().zip(values).zip(places) {
            let k = *k as usize;
            if let (Some(bin), Some(taken)) = (bins.get_mut(k), taken.get_mut(k)) {
                let stays = if op == Bin::Min { *bin <= *x } else { *bin >= *x };
                if !stays {
                    *taken = *p;
                }
                *bin = f(*bin, *x);
            }
        }
    });
}

/// An inclusive scan from `acc`. Returns the last result.
pub fn running(op: Bin, acc: f64, values: &[f64], out: &mut [f64]) -> f64 {
    let mut acc = acc;
    with_instructions!(op, f => out.iter_mut().zip(values).for_each(|(o, x)| {
        acc = f(acc, *x);
        *o = acc;
    }));
    acc
}

/// The index of the first extremum: of the smallest element if `less`, otherwise of the largest. A nan counts
/// as more extreme than any number. 0 if there are no elements.
pub fn arg_extremum(x: &[f64], less: bool) -> usize {
    if x.len() < FEW {
        let mut at = 0;
        for (i, v) in x.iter().enumerate() {
            let beyond = v.is_nan() || if less { *v < x[at] } else { *v > x[at] };
            at = if beyond && !x[at].is_nan() { i } else { at };
        }
        return at;
    }
    let part = |i: usize| &x[i * CHUNK..x.len().min((i + 1) * CHUNK)];
    let found = parallel::listed(x.len().div_ceil(CHUNK), CHUNK, |i| {
        wide(|| if less { extremum_or_nan(part(i), |a, b| a < b) } else { extremum_or_nan(part(i), |a, b| a > b) })
    });
    let Some(first) = found.first() else { return 0 };
    let (mut best, mut at) = (*first, 0);
    for (i, v) in found.into_iter().enumerate() {
        if !best.is_nan() && (v.is_nan() || if less { v < best } else { v > best }) {
            (best, at) = (v, i);
        }
    }
    let place = part(at).iter().position(|v| if best.is_nan() { v.is_nan() } else { *v == best });
    at * CHUNK + place.unwrap_or(0)
}

/// The extremum of a non-empty slice, or a nan if there is one.
#[inline(always)]
fn extremum_or_nan(values: &[f64], better: impl Fn(f64, f64) -> bool) -> f64 {
    let (mut acc, mut nans) = ([values[0]; 32], [0.0f64; 32]);
    let mut chunks = values.chunks_exact(32);
    for c in &mut chunks {
        for k in 0..32 {
            // A nan propagates through `nans`. Adding a product with 0 has no effect for finite numbers;
            // infinities also produce nans, which are resolved below.
            nans[k] += c[k] * 0.0;
            acc[k] = if better(c[k], acc[k]) { c[k] } else { acc[k] };
        }
    }
    let rest = chunks.remainder();
    if (nans.iter().chain(rest).any(|v| v.is_nan()) || values[0].is_nan())
        && let Some(v) = values.iter().find(|v| v.is_nan())
    {
        return *v;
    }
    acc.iter().chain(rest).fold(values[0], |a, v| if better(*v, a) { *v } else { a })
}

/// The sum of a slice: eight accumulators for each chunk, and chunks combined pairwise.
pub fn sum(x: &[f64]) -> f64 {
    chunked(x.len(), |start, end| {
        let x = &x[start..end];
        // Run-time selection of instructions costs as much as some additions.
        if x.len() < FEW { add_up(x) } else { wide(|| add_up(x)) }
    })
}

/// The sum of F32 numbers, added in double precision and in order. A sum of none is 0, not -0.
pub fn sum_of_singles(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |sum, x| sum + f64::from(*x)) as f32
}

#[inline(always)]
fn add_up(x: &[f64]) -> f64 {
    let mut acc = [0.0; 8];
    let mut chunks = x.chunks_exact(8);
    for c in &mut chunks {
        for (a, v) in acc.iter_mut().zip(c) {
            *a += v;
        }
    }
    fold(acc, chunks.remainder().iter().sum())
}

/// The same sum, for numbers that arrive one after the other.
#[derive(Default)]
pub struct Adder {
    /// Sums of complete chunks.
    parts: Vec<f64>,
    /// Elements of the incomplete chunk.
    open: Vec<f64>,
}

impl Adder {
    /// Starts with one number.
    pub fn of(x: f64) -> Adder {
        Adder { parts: Vec::new(), open: vec![x] }
    }

    /// Adds a number.
    pub fn push(&mut self, x: f64) {
        if self.open.len() == CHUNK {
            self.parts.push(add_up(&self.open));
            self.open.clear();
        }
        self.open.push(x);
    }

    /// The sum of all numbers.
    pub fn total(mut self) -> f64 {
        let n = self.parts.len() * CHUNK + self.open.len();
        self.parts.push(add_up(&self.open));
        pairwise(0, n, &|start, _| self.parts[start / CHUNK])
    }
}

/// The inner product of two slices, in the order of [`sum`].
pub fn dot(p: &[f64], q: &[f64]) -> f64 {
    let n = p.len().min(q.len());
    chunked(n, |start, end| {
        let (p, q) = (&p[start..end], &q[start..end]);
        if p.len() < FEW { few_products(p, q) } else { products::chunk(p, q) }
    })
}

#[inline(always)]
fn few_products(p: &[f64], q: &[f64]) -> f64 {
    let mut acc = [0.0; 8];
    let (mut cp, mut cq) = (p.chunks_exact(8), q.chunks_exact(8));
    for (a, b) in (&mut cp).zip(&mut cq) {
        for k in 0..8 {
            acc[k] += a[k] * b[k];
        }
    }
    fold(acc, cp.remainder().iter().zip(cq.remainder()).map(|(a, b)| a * b).sum())
}
