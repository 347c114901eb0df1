//! Vectorised matrix products: a tile of the result stays in registers during the loop over the inner index.
//!
//! There are two orders of additions. [`multiply`] adds the terms of an element in the order of the inner
//! index. [`contract`] uses the order of [`super::dot`], which is that of sums in comprehensions. Neither
//! depends on the vector width, or on the number of rows in a tile.

use super::zero_spans::{Spans, finite};
use super::{CHUNK, dot, fold};
use crate::limits::ops_kernels_products::{FEW, INNER, NARROW, ROWS};
use adl_ir::Terms;
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// Number of partial sums of an element of a contraction: a part of the order of its sum.
const PARTS: usize = 8;

/// The product of an `n` by `k` and a `k` by `c` matrix, added to `out`, which must be zero. Each element adds
/// its terms in the order of the inner index. The product of a matrix and a vector (`c` = 1) consists of inner
/// products by [`dot`].
pub fn multiply(x: &[f64], y: &[f64], (n, k, c): (usize, usize, usize), out: &mut [f64]) {
    if c == 1 {
        inner_products(y, (x, k), out);
    } else if n * k * c <= FEW {
        for (out, row) in out.chunks_exact_mut(c.max(1)).zip(x.chunks_exact(k.max(1))) {
            for (f, right) in row.iter().zip(y.chunks_exact(c)) {
                out.iter_mut().zip(right).for_each(|(o, v)| *o += f * v);
            }
        }
    } else {
        Arch::new().dispatch(Multiply { x, y, size: (n, k, c), out });
    }
}

struct Multiply<'a> {
    x: &'a [f64],
    y: &'a [f64],
    size: (usize, usize, usize),
    out: &'a mut [f64],
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let Multiply { x, y, size: (n, k, c), out } = self;
        if n < ROWS {
            return (Product { s, x, k, right: y, width: c, out, c, first: 0, inner: (0, k) }).few_rows(n);
        }
        // Uses all vector registers: 32 of eight lanes, or 16 of four lanes.
        match S::F64_LANES {
            8 => in_panels::<S, 8, 1>(s, (x, y), (n, k, c), out),
            _ => in_panels::<S, 6, 2>(s, (x, y), (n, k, c), out),
        }
    }
}

/// The product by panels that are as wide as a tile. The last columns get a narrow panel if they fill one vector at most.
#[inline(always)]
fn in_panels<S: Simd, const R: usize, const V: usize>(
    simd: S,
    (left, right): (&[f64], &[f64]),
    (rows, depth, cols): (usize, usize, usize),
    out: &mut [f64],
) {
    let width = V * S::F64_LANES;
    let mut panel = vec![0.0; width * depth.min(INNER)];
    let spans = Spans::new(left, depth, || finite(right));
    for l0 in (0..depth).step_by(INNER) {
        let inner = (l0, (l0 + INNER).min(depth));
        for col in (0..cols).step_by(width) {
            let narrow = V > 1 && cols - col <= S::F64_LANES;
            let width = if narrow { S::F64_LANES } else { width };
            let some = width.min(cols - col);
            for (l, to) in (inner.0..inner.1).zip(panel.chunks_exact_mut(width)) {
                to[..some].copy_from_slice(&right[l * cols + col..][..some]);
                to[some..].fill(0.0);
            }
            let right = &panel[..width * (inner.1 - l0)];
            let mut product = Product { s: simd, x: left, k: depth, right, width, out, c: cols, first: col, inner };
            match narrow {
                true => product.of_panel::<NARROW, 1>((rows, col), &spans),
                false => product.of_panel::<R, V>((rows, col), &spans),
            }
        }
    }
}

/// A matrix product with some columns of the right factor in `right`, whose rows have length `width`, from
/// column `first` on.
struct Product<'a, S> {
    s: S,
    x: &'a [f64],
    k: usize,
    right: &'a [f64],
    width: usize,
    out: &'a mut [f64],
    c: usize,
    first: usize,
    inner: (usize, usize),
}

impl<S: Simd> Product<'_, S> {
    /// The columns of the result from `col` on that a panel holds, which begins at the first inner index.
    #[inline(always)]
    fn of_panel<const R: usize, const V: usize>(&mut self, (rows, col): (usize, usize), spans: &Spans) {
        let (l0, panel) = (self.inner.0, self.right);
        let found = spans.of_panel(panel, self.width);
        let terms = l0 + found.start..l0 + found.end;
        let mut row = 0;
        while row < rows {
            let some = spans.of_rows(row..(row + R).min(rows), &terms);
            self.right = &panel[(some.start - l0) * self.width..];
            self.inner = (some.start, some.end);
            row += match rows - row {
                m if m >= R => self.tile::<R, V>(row, col),
                4.. => self.tile::<4, V>(row, col),
                2.. => self.tile::<2, V>(row, col),
                _ => self.tile::<1, V>(row, col),
            };
        }
    }

    /// For few rows: tiles are wide, and read the right factor in place.
    #[inline(always)]
    fn few_rows(mut self, n: usize) {
        let mut row = 0;
        while row < n {
            let rows = match n - row {
                4.. => 4,
                2.. => 2,
                _ => 1,
            };
            let mut col = 0;
            while col < self.c {
                let left = (self.c - col).div_ceil(S::F64_LANES);
                match (rows, left) {
                    (4, 2..) => self.tile::<4, 2>(row, col),
                    (4, _) => self.tile::<4, 1>(row, col),
                    (2, 4..) => self.tile::<2, 4>(row, col),
                    (2, 2..) => self.tile::<2, 2>(row, col),
                    (2, _) => self.tile::<2, 1>(row, col),
                    (_, 8..) => self.tile::<1, 8>(row, col),
                    (_, 4..) => self.tile::<1, 4>(row, col),
                    (_, 2..) => self.tile::<1, 2>(row, col),
                    _ => self.tile::<1, 1>(row, col),
                };
                col += S::F64_LANES
                    * match (rows, left) {
                        (4, 2..) | (2 | 1, 2..4) => 2,
                        (2, 4..) | (1, 4..8) => 4,
                        (1, 8..) => 8,
                        _ => 1,
                    };
            }
            row += rows;
        }
    }

    /// Adds to a tile of `R` rows and `V` vectors of the result, from row `row` and column `col` on.
    #[inline(always)]
    fn tile<const R: usize, const V: usize>(&mut self, row: usize, col: usize) -> usize {
        let (simd, cols, (l0, l1)) = (self.s, self.c, self.inner);
        let some = (V * S::F64_LANES).min(cols - col);
        let mut acc = [[simd.splat_f64s(0.0); V]; R];
        for (r, acc) in acc.iter_mut().enumerate() {
            load(simd, &self.out[(row + r) * cols + col..][..some], acc);
        }
        let left: [&[f64]; R] = std::array::from_fn(|r| &self.x[(row + r) * self.k + l0..][..l1 - l0]);
        // A panel has the width of a tile and is padded; without a panel, the last columns are read partially.
        let padded = self.width == V * S::F64_LANES;
        let (from, some_here) = if padded { (0, self.width) } else { (l0 * self.width + col - self.first, some) };
        for l in 0..l1 - l0 {
            let mut right = [simd.splat_f64s(0.0); V];
            load(simd, &self.right[from + l * self.width..][..some_here], &mut right);
            for (acc, left) in acc.iter_mut().zip(&left) {
                let f = simd.splat_f64s(left[l]);
                for (a, v) in acc.iter_mut().zip(right) {
                    *a = simd.add_f64s(*a, simd.mul_f64s(f, v));
                }
            }
        }
        for (r, acc) in acc.iter().enumerate() {
            store(simd, acc, &mut self.out[(row + r) * cols + col..][..some]);
        }
        R
    }
}

/// Loads vectors from a slice, which may be shorter than `V` vectors.
#[inline(always)]
fn load<S: Simd, const V: usize>(s: S, from: &[f64], to: &mut [S::f64s; V]) {
    let lanes = S::F64_LANES;
    if from.len() == V * lanes {
        to.copy_from_slice(&S::as_simd_f64s(from).0[..V]);
    } else {
        for (v, to) in to.iter_mut().enumerate() {
            *to = s.partial_load_f64s(&from[(v * lanes).min(from.len())..((v + 1) * lanes).min(from.len())]);
        }
    }
}

#[inline(always)]
fn store<S: Simd, const V: usize>(s: S, from: &[S::f64s; V], to: &mut [f64]) {
    let (lanes, n) = (S::F64_LANES, to.len());
    if n == V * lanes {
        S::as_mut_simd_f64s(to).0[..V].copy_from_slice(from);
    } else {
        for (v, from) in from.iter().enumerate() {
            s.partial_store_f64s(&mut to[(v * lanes).min(n)..((v + 1) * lanes).min(n)], *from);
        }
    }
}

/// Inner products of a vector and the rows of a matrix, which begin every `stride` elements.
fn inner_products(x: &[f64], (y, stride): (&[f64], usize), out: &mut [f64]) {
    let k = x.len();
    let row = |j: usize| &y[j * stride..][..k];
    if !(super::FEW..=CHUNK).contains(&k) || out.len() < 2 {
        out.iter_mut().enumerate().for_each(|(j, o)| *o = dot(x, row(j)));
    } else {
        Arch::new().dispatch(RowProducts { x, y, stride, out });
    }
}

/// Inner products of a vector and many rows.
struct RowProducts<'a> {
    x: &'a [f64],
    y: &'a [f64],
    stride: usize,
    out: &'a mut [f64],
}

impl WithSimd for RowProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        match S::F64_LANES {
            8 => self.all::<S, 4, 1>(s),
            4 => self.all::<S, 4, 2>(s),
            2 => self.all::<S, 2, 4>(s),
            _ => self.all::<S, 1, 8>(s),
        }
    }
}

impl RowProducts<'_> {
    #[inline(always)]
    fn all<S: Simd, const R: usize, const V: usize>(mut self, s: S) {
        let mut j = 0;
        while j < self.out.len() {
            j += if self.out.len() - j >= R { self.some::<S, R, V>(s, j) } else { self.some::<S, 1, V>(s, j) };
        }
    }

    /// Inner products with `R` rows, whose eight partial sums are held in `V` vectors.
    #[inline(always)]
    fn some<S: Simd, const R: usize, const V: usize>(&mut self, simd: S, row: usize) -> usize {
        let depth = self.x.len();
        let (left, rest) = S::as_simd_f64s(&self.x[..depth / PARTS * PARTS]);
        let rows: [&[f64]; R] = std::array::from_fn(|r| &self.y[(row + r) * self.stride..][..depth]);
        let right: [&[S::f64s]; R] = std::array::from_fn(|r| &S::as_simd_f64s(rows[r]).0[..left.len()]);
        debug_assert!(rest.is_empty());
        let mut acc = [[simd.splat_f64s(0.0); V]; R];
        for l in (0..left.len() / V * V).step_by(V) {
            for (acc, right) in acc.iter_mut().zip(&right) {
                for (v, a) in acc.iter_mut().enumerate() {
                    *a = simd.add_f64s(*a, simd.mul_f64s(left[l + v], right[l + v]));
                }
            }
        }
        for (r, acc) in acc.iter().enumerate() {
            let mut parts = [0.0; PARTS];
            store(simd, acc, &mut parts);
            let end = depth / PARTS * PARTS;
            let tail = self.x[end..].iter().zip(&rows[r][end..]).map(|(a, b)| a * b).sum();
            self.out[row + r] = fold(parts, tail);
        }
        R
    }
}

/// A factor of a contraction: a matrix whose second index runs over the terms; if `turned`, its first index
/// does.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a> {
    /// The elements; rows begin every `stride` elements.
    pub data: &'a [f64],
    /// The distance between rows.
    pub stride: usize,
    /// Whether the first index runs over the terms.
    pub turned: bool,
}

impl<'a> Factor<'a> {
    /// The first `n` rows of `k` terms of a matrix (if `turned`, `n` columns), or of a vector, which counts as
    /// one row. `None` if the matrix is smaller.
    pub fn of(data: &'a [f64], shape: &[usize], turned: bool, (n, k): (usize, usize)) -> Option<Factor<'a>> {
        let (rows, stride, turned) = match shape {
            [n] => (1, *n, false),
            [rows, stride] => (*rows, *stride, turned),
            _ => return None,
        };
        let (need, wide) = if turned { (k, n) } else { (n, k) };
        (need <= rows && wide <= stride && rows * stride <= data.len()).then_some(Factor { data, stride, turned })
    }

    /// The factor from row `i` on.
    pub fn after(self, i: usize) -> Factor<'a> {
        let at = if self.turned { i } else { i * self.stride };
        Factor { data: &self.data[at.min(self.data.len())..], ..self }
    }

    /// Whether all elements are finite, so that a term is zero wherever the other factor is.
    fn is_finite(self, n: usize, k: usize) -> bool {
        let (rows, wide) = if self.turned { (k, n) } else { (n, k) };
        (0..rows).all(|i| finite(&self.data[i * self.stride..][..wide]))
    }

    fn at(self, i: usize, l: usize) -> f64 {
        self.data[if self.turned { l * self.stride + i } else { i * self.stride + l }]
    }

    /// The factor from term `l` on.
    fn from(self, l: usize) -> Factor<'a> {
        let at = if self.turned { l * self.stride } else { l };
        Factor { data: &self.data[at.min(self.data.len())..], ..self }
    }

    /// Its first `n` rows of `depth` terms, contiguously.
    fn rows(self, n: usize, depth: usize) -> Vec<f64> {
        let mut out = vec![0.0; n * depth];
        if self.turned {
            // Works in blocks, so that both sides stay in the cache.
            for l0 in (0..depth).step_by(PARTS) {
                for (i, to) in out.chunks_exact_mut(depth).enumerate() {
                    to[l0..depth.min(l0 + PARTS)]
                        .iter_mut()
                        .enumerate()
                        .for_each(|(l, o)| *o = self.data[(l0 + l) * self.stride + i]);
                }
            }
        } else {
            out.chunks_exact_mut(depth.max(1))
                .enumerate()
                .for_each(|(i, to)| to.copy_from_slice(&self.data[i * self.stride..][..depth]));
        }
        out
    }
}

/// `rows` by `cols` sums over `depth` terms, each the product of an element of `left` and one of `right`, in the order of
/// [`dot`].
pub fn contract(left: Factor, right: Factor, (rows, cols, depth): (usize, usize, usize), out: &mut [f64]) {
    if depth > CHUNK {
        let half = (depth / 2).next_multiple_of(CHUNK);
        contract(left, right, (rows, cols, half), out);
        let mut rest = vec![0.0; rows * cols];
        contract(left.from(half), right.from(half), (rows, cols, depth - half), &mut rest);
        return out.iter_mut().zip(&rest).for_each(|(o, v)| *o += v);
    }
    if cols == 1 && !left.turned {
        let column: Vec<f64> =
            (0..depth).map(|l| right.data[if right.turned { l * right.stride } else { l }]).collect();
        return inner_products(&column, (left.data, left.stride), out);
    }
    let copy;
    let left = if left.turned || left.stride != depth {
        copy = left.rows(rows, depth);
        &copy[..]
    } else {
        &left.data[..rows * depth]
    };
    if rows < 3 && !right.turned {
        left.chunks_exact(depth.max(1))
            .zip(out.chunks_exact_mut(cols.max(1)))
            .for_each(|(x, out)| inner_products(x, (right.data, right.stride), out));
    } else if rows > 0 && cols > 0 {
        Arch::new().dispatch(Contract { x: left, y: right, size: (rows, cols, depth), out });
    }
}

/// A contraction whose terms may be computed by a zero-preserving product instead of multiplication: a zero
/// cotangent stays zero whatever it is scaled by.
pub fn contract_by(terms: Terms, x: Factor, y: Factor, (n, m, k): (usize, usize, usize), out: &mut [f64]) {
    let plain = match terms {
        Terms::Mul => true,
        Terms::Scale => x.is_finite(n, k),
        Terms::Scaled => y.is_finite(m, k),
    };
    if plain {
        return contract(x, y, (n, m, k), out);
    }
    for (at, o) in out.iter_mut().enumerate() {
        let all: Vec<f64> = (0..k).map(|l| terms.eval(x.at(at / m, l), y.at(at % m, l))).collect();
        *o = crate::ops::kernels::sum(&all);
    }
}

struct Contract<'a> {
    x: &'a [f64],
    y: Factor<'a>,
    size: (usize, usize, usize),
    out: &'a mut [f64],
}

impl WithSimd for Contract<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (width, (rows, m, depth)) = (S::F64_LANES, self.size);
        // For few rows, copying a panel is not worthwhile.
        let lie = rows < 3 && self.y.turned;
        let mut panel = vec![0.0; if lie { 0 } else { width * depth }];
        let (x, y) = (self.x, self.y);
        let spans = Spans::new(if lie { &[] } else { x }, depth, || y.is_finite(m, depth));
        for col in (0..m).step_by(width) {
            let some = width.min(m - col);
            if lie {
                let (data, stride) = (&self.y.data[col..], self.y.stride);
                for row in 0..rows {
                    match some == width {
                        true => self.tile::<S, 1>(
                            simd,
                            |l| S::as_simd_f64s(&data[l * stride..][..S::F64_LANES]).0[0],
                            (row, col),
                            0..depth,
                        ),
                        false => self.tile::<S, 1>(
                            simd,
                            |l| simd.partial_load_f64s(&data[l * stride..][..some]),
                            (row, col),
                            0..depth,
                        ),
                    };
                }
                continue;
            }
            self.fill(&mut panel, col, some, width);
            let right = &S::as_simd_f64s(&panel).0[..depth];
            let terms = spans.of_panel(&panel, width);
            let mut i = 0;
            while i < rows {
                let three = width == 8 && rows - i >= 3;
                let some = spans.of_rows(i..i + if three { 3 } else { 1 }, &terms);
                i += if three {
                    self.tile::<S, 3>(simd, |l| right[l], (i, col), some)
                } else {
                    self.tile::<S, 1>(simd, |l| right[l], (i, col), some)
                };
            }
        }
    }
}

impl Contract<'_> {
    /// Copies the terms of some columns of the result to a panel, one row per term.
    #[inline(always)]
    fn fill(&self, panel: &mut [f64], j: usize, some: usize, width: usize) {
        let (Factor { data, stride, turned }, k) = (self.y, self.size.2);
        if turned {
            panel
                .chunks_exact_mut(width)
                .enumerate()
                .for_each(|(l, to)| to[..some].copy_from_slice(&data[l * stride + j..][..some]));
        } else {
            for (c, row) in data[j * stride..].chunks(stride.max(1)).take(some).enumerate() {
                panel.iter_mut().skip(c).step_by(width).zip(&row[..k]).for_each(|(to, v)| *to = *v);
            }
        }
    }

    /// `R` rows of the result, one vector wide, with eight partial sums each over some of the terms; the other
    /// terms are zero.
    #[inline(always)]
    fn tile<S: Simd, const R: usize>(
        &mut self,
        simd: S,
        at: impl Fn(usize) -> S::f64s,
        (row, col): (usize, usize),
        terms: Range<usize>,
    ) -> usize {
        let (_, cols, k) = self.size;
        let left: [&[f64]; R] = std::array::from_fn(|r| &self.x[(row + r) * k..][..k]);
        let zero = simd.splat_f64s(0.0);
        let (mut acc, end) = ([[zero; PARTS]; R], k / PARTS * PARTS);
        for l in (terms.start / PARTS * PARTS..terms.end.min(end)).step_by(PARTS) {
            let left: [&[f64]; R] = std::array::from_fn(|r| &left[r][l..][..PARTS]);
            let right: [S::f64s; PARTS] = std::array::from_fn(|q| at(l + q));
            for q in 0..PARTS {
                for (acc, left) in acc.iter_mut().zip(&left) {
                    acc[q] = simd.add_f64s(acc[q], simd.mul_f64s(simd.splat_f64s(left[q]), right[q]));
                }
            }
        }
        let mut tail = [zero; R];
        for l in end..terms.end.max(end) {
            let right = at(l);
            for (tail, left) in tail.iter_mut().zip(&left) {
                *tail = simd.add_f64s(*tail, simd.mul_f64s(simd.splat_f64s(left[l]), right));
            }
        }
        let (some, add) = (S::F64_LANES.min(cols - col), |x, y| simd.add_f64s(x, y));
        for (r, (a, tail)) in acc.iter().zip(tail).enumerate() {
            let sum = add(add(add(add(a[0], a[4]), add(a[1], a[5])), add(add(a[2], a[6]), add(a[3], a[7]))), tail);
            simd.partial_store_f64s(&mut self.out[(row + r) * cols + col..][..some], sum);
        }
        R
    }
}

/// The inner product of a chunk, as [`super::dot`] computes it.
pub(super) fn chunk(x: &[f64], y: &[f64]) -> f64 {
    let mut out = [0.0];
    Arch::new().dispatch(RowProducts { x, y, stride: 0, out: &mut out });
    out[0]
}
