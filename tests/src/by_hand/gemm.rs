//! A short but fast matrix product. Columns of the right factor are copied into panels as wide as a vector, and a tile
//! of eight rows stays in registers in the inner loop.

use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// The block size of the inner dimension.
const INNER: usize = 256;

/// Adds the product of an `n` × `k` and a `k` × `c` matrix to `out`.
pub fn add_product(x: &[f64], y: &[f64], size: (usize, usize, usize), out: &mut [f64]) {
    add_some(x, y, size, out, |_, _| 0..size.1);
}

/// Like `add_product`, where `inner` returns the range of the inner index for some rows and columns.
pub fn add_some(
    x: &[f64],
    y: &[f64],
    size: (usize, usize, usize),
    out: &mut [f64],
    inner: impl Fn(Range<usize>, Range<usize>) -> Range<usize>,
) {
    Arch::new().dispatch(Tiles { x, y, size, out, inner });
}

struct Tiles<'a, F> {
    x: &'a [f64],
    y: &'a [f64],
    size: (usize, usize, usize),
    out: &'a mut [f64],
    inner: F,
}

impl<F: Fn(Range<usize>, Range<usize>) -> Range<usize>> WithSimd for Tiles<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let ((height, k, c), w) = (self.size, S::F64_LANES);
        let mut panel = vec![simd.splat_f64s(0.0); INNER.min(k)];
        for l0 in (0..k).step_by(INNER) {
            let l1 = (l0 + INNER).min(k);
            for column in (0..c).step_by(w) {
                let some = w.min(c - column);
                for (l, to) in (l0..l1).zip(&mut panel) {
                    *to = simd.partial_load_f64s(&self.y[l * c + column..][..some]);
                }
                let mut row = 0;
                while row < height {
                    let rows = match height - row {
                        8.. => 8,
                        4.. => 4,
                        _ => 1,
                    };
                    let all = (self.inner)(row..row + rows, column..column + some);
                    let part = all.start.max(l0)..all.end.min(l1);
                    if !part.is_empty() {
                        let from = &panel[part.start - l0..part.end - l0];
                        match rows {
                            8 => self.tile::<S, 8>(simd, from, (row, part.start, column)),
                            4 => self.tile::<S, 4>(simd, from, (row, part.start, column)),
                            _ => self.tile::<S, 1>(simd, from, (row, part.start, column)),
                        }
                    }
                    row += rows;
                }
            }
        }
    }
}

impl<F> Tiles<'_, F> {
    #[inline(always)]
    fn tile<S: Simd, const R: usize>(&mut self, simd: S, panel: &[S::f64s], (row, l, column): (usize, usize, usize)) {
        let (_, k, columns) = self.size;
        let some = S::F64_LANES.min(columns - column);
        let left: [&[f64]; R] = std::array::from_fn(|r| &self.x[(row + r) * k + l..][..panel.len()]);
        let mut acc: [S::f64s; R] =
            std::array::from_fn(|r| simd.partial_load_f64s(&self.out[(row + r) * columns + column..][..some]));
        for (l, right) in panel.iter().enumerate() {
            for (acc, left) in acc.iter_mut().zip(&left) {
                *acc = simd.mul_add_e_f64s(simd.splat_f64s(left[l]), *right, *acc);
            }
        }
        for (r, acc) in acc.into_iter().enumerate() {
            simd.partial_store_f64s(&mut self.out[(row + r) * columns + column..][..some], acc);
        }
    }
}
