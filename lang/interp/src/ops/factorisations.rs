//! Factorisations of dense matrices that keep their precision at the ends of the floating-point range, like
//! LAPACK's. Columns are divided by pivots instead of multiplied by reciprocals, and norms of columns are
//! computed from scaled columns. Columns are slices, so that inner loops are vectorised.

use super::kernels;
use nalgebra::DMatrix;

/// Two columns of a matrix, with `i < j`.
fn two(a: &mut DMatrix<f64>, i: usize, j: usize) -> (&mut [f64], &mut [f64]) {
    let n = a.nrows();
    let (left, right) = a.as_mut_slice().split_at_mut(j * n);
    (&mut left[i * n..(i + 1) * n], &mut right[..n])
}

fn column(a: &DMatrix<f64>, j: usize) -> &[f64] {
    let n = a.nrows();
    &a.as_slice()[j * n..(j + 1) * n]
}

/// Replaces `y` by `y - c x`.
fn subtract(y: &mut [f64], c: f64, x: &[f64]) {
    if c == 0.0 {
        return;
    }
    let mut all = || y.iter_mut().zip(x).for_each(|(y, x)| *y -= c * x);
    if x.len() < 16 { all() } else { kernels::wide(all) }
}

/// An LU factorisation with partial pivoting: both factors in one matrix, and the row permutation.
pub(super) struct Lu {
    both: DMatrix<f64>,
    pub rows: Vec<usize>,
    odd: bool,
}

impl Lu {
    /// Factorises a square matrix.
    pub(super) fn new(mut matrix: DMatrix<f64>) -> Lu {
        let size = matrix.nrows();
        let (mut rows, mut odd): (Vec<usize>, bool) = ((0..size).collect(), false);
        for step in 0..size {
            let at = (step..size)
                .fold(step, |best, i| if matrix[(i, step)].abs() > matrix[(best, step)].abs() { i } else { best });
            if at != step {
                matrix.swap_rows(step, at);
                rows.swap(step, at);
                odd = !odd;
            }
            let pivot = matrix[(step, step)];
            if pivot == 0.0 {
                continue;
            }
            (step + 1..size).for_each(|i| matrix[(i, step)] /= pivot);
            for j in step + 1..size {
                let (factors, rest) = two(&mut matrix, step, j);
                let top = rest[step];
                subtract(&mut rest[step + 1..], top, &factors[step + 1..]);
            }
        }
        Lu { both: matrix, rows, odd }
    }

    /// The lower factor, with a unit diagonal.
    pub(super) fn l(&self) -> DMatrix<f64> {
        let n = self.both.nrows();
        DMatrix::from_fn(n, n, |i, j| if i > j { self.both[(i, j)] } else { f64::from(u8::from(i == j)) })
    }

    /// The upper factor.
    pub(super) fn u(&self) -> DMatrix<f64> {
        let n = self.both.nrows();
        DMatrix::from_fn(n, n, |i, j| if i > j { 0.0 } else { self.both[(i, j)] })
    }

    /// Solves `a x = b` for the columns of `b`; `None` if a pivot is 0.
    pub(super) fn solve(&self, b: &DMatrix<f64>) -> Option<DMatrix<f64>> {
        let n = self.both.nrows();
        if (0..n).any(|k| self.both[(k, k)] == 0.0) {
            return None;
        }
        let mut solution = DMatrix::from_fn(n, b.ncols(), |i, j| b[(self.rows[i], j)]);
        for x in solution.as_mut_slice().chunks_exact_mut(n.max(1)) {
            for k in 0..n {
                let top = x[k];
                subtract(&mut x[k + 1..], top, &column(&self.both, k)[k + 1..]);
            }
            for k in (0..n).rev() {
                x[k] /= self.both[(k, k)];
                let bottom = x[k];
                subtract(&mut x[..k], bottom, &column(&self.both, k)[..k]);
            }
        }
        Some(solution)
    }

    pub(super) fn inverse(&self) -> Option<DMatrix<f64>> {
        let n = self.both.nrows();
        self.solve(&DMatrix::identity(n, n))
    }

    /// The product of the pivots. Intermediate products may be outside the floating-point range even if the
    /// result is not, so their exponents are added separately.
    pub(super) fn determinant(&self) -> f64 {
        let (mut product, mut power) = (if self.odd { -1.0 } else { 1.0 }, 0);
        for k in 0..self.both.nrows() {
            let pivot = self.both[(k, k)];
            let e = exponent(pivot);
            product *= scaled(pivot, -e);
            power += e;
            let e = exponent(product);
            product = scaled(product, -e);
            power += e;
        }
        scaled(product, power) + 0.0
    }
}

/// The binary exponent of a number; 0 for zero and non-finite numbers.
pub(super) fn exponent(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() { 0 } else { libm::ilogb(x) }
}

/// `x` times a power of two.
pub(super) fn scaled(x: f64, power: i32) -> f64 {
    libm::scalbn(x, power)
}

/// The Euclidean norm.
fn length(x: &[f64]) -> f64 {
    let sum = kernels::dot(x, x);
    let unit = adl_prim::scalar::norm_unit(sum, false);
    if unit == 1.0 {
        return sum.sqrt();
    }
    let x: Vec<f64> = x.iter().map(|v| v * unit).collect();
    kernels::dot(&x, &x).sqrt() / unit
}

/// The thin QR factorisation by Householder reflections, with a non-negative diagonal of `upper`.
pub(super) fn qr(mut a: DMatrix<f64>) -> (DMatrix<f64>, DMatrix<f64>) {
    let (rows, n) = a.shape();
    let inner = rows.min(n);
    let mut axes = Vec::with_capacity(inner);
    for j in 0..inner {
        let axis = axis(&mut a.as_mut_slice()[j * rows + j..(j + 1) * rows]);
        (j + 1..n).for_each(|c| reflect(&axis, &mut a.as_mut_slice()[c * rows + j..(c + 1) * rows]));
        axes.push(axis);
    }
    let mut upper = DMatrix::from_fn(inner, n, |i, j| if i > j { 0.0 } else { a[(i, j)] });
    let mut q = DMatrix::from_fn(rows, inner, |i, j| f64::from(u8::from(i == j)));
    for (j, axis) in axes.iter().enumerate().rev() {
        (j..inner).for_each(|c| reflect(axis, &mut q.as_mut_slice()[c * rows + j..(c + 1) * rows]));
    }
    for i in 0..inner {
        if upper[(i, i)] < 0.0 {
            upper.row_mut(i).neg_mut();
            q.column_mut(i).neg_mut();
        }
    }
    (q, upper)
}

/// The Householder reflection `1 - weight v vᵀ` that maps a column to a multiple of the first unit vector:
/// returns the weight and `v`, whose first component is 1. The column is replaced by its image. A column that
/// already has this form keeps its sign.
fn axis(x: &mut [f64]) -> (f64, Vec<f64>) {
    let size = length(x);
    if size == 0.0 || !size.is_finite() || x[1..].iter().all(|x| *x == 0.0) {
        return (0.0, Vec::new());
    }
    let first = x[0] / size;
    let sign = if first < 0.0 { -1.0 } else { 1.0 };
    let v = std::iter::once(1.0).chain(x[1..].iter().map(|x| x / size / (first + sign))).collect();
    x.fill(0.0);
    x[0] = -sign * size;
    (1.0 + first.abs(), v)
}

/// Applies a reflection to `x` in place.
fn reflect((weight, v): &(f64, Vec<f64>), x: &mut [f64]) {
    subtract(x, weight * kernels::dot(v, x), v);
}
