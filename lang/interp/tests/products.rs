//! Products of matrices: the order of their sums, and zeros that are left out.

use adl_interp::internals::zero_spans::{Spans, finite, span};
use adl_interp::ops::kernels::{Factor, contract, multiply, sum};

/// A matrix with zeros below the diagonal, above it, or far from it, or without zeros.
fn shaped(mut values: Vec<f64>, columns: usize, shape: usize) -> Vec<f64> {
    for (at, v) in values.iter_mut().enumerate() {
        let (i, j) = (at / columns.max(1), at % columns.max(1));
        let zero = match shape {
            0 => false,
            1 => i > j,
            2 => i < j,
            3 => i.abs_diff(j) > 9,
            _ => true,
        };
        *v = if zero { if j % 3 == 0 { -0.0 } else { 0.0 } } else { *v };
    }
    values
}

#[test]
fn zeros_that_are_left_out_change_nothing() {
    for (rows, depth, cols) in [(40, 37, 41), (64, 64, 64), (17, 300, 24), (20, 16, 90)] {
        for (left_shape, right_shape, infinite) in
            (0..5).flat_map(|p| (0..5).flat_map(move |q| [(p, q, false), (p, q, true)]))
        {
            let (mut left, mut right) = (
                shaped(numbers(rows * depth, 7919), depth, left_shape),
                shaped(numbers(depth * cols, 7907), cols, right_shape),
            );
            if infinite {
                (left[rows * depth / 2], right[depth * cols / 3]) = (f64::INFINITY, f64::NEG_INFINITY);
            }
            let terms = |i: usize, j: usize| -> Vec<f64> {
                (0..depth).map(|l| left[i * depth + l] * right[l * cols + j]).collect()
            };
            let all = |f: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
                (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).map(|(i, j)| f(&terms(i, j)) + 0.0).collect()
            };
            let mut out = vec![0.0; rows * cols];
            multiply(&left, &right, (rows, depth, cols), &mut out);
            assert_eq!(
                known(&out),
                known(&all(&|t| t.iter().fold(0.0, |s, v| s + v))),
                "{rows} {depth} {cols} {left_shape} {right_shape}"
            );
            let (x, y) = (
                Factor { data: &left, stride: depth, turned: false },
                Factor { data: &right, stride: cols, turned: true },
            );
            contract(x, y, (rows, cols, depth), &mut out);
            assert_eq!(known(&out), known(&all(&|t| sum(t))), "{rows} {depth} {cols} {left_shape} {right_shape}");
        }
    }
}

/// Bits; all NaNs count as equal.
fn known(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| if v.is_nan() { 1 } else { v.to_bits() }).collect()
}

const SIZES: [(usize, usize, usize); 14] = [
    (0, 3, 2),
    (3, 0, 2),
    (1, 1, 1),
    (2, 2, 2),
    (1, 40, 70),
    (2, 9, 33),
    (3, 7, 5),
    (7, 300, 9),
    (17, 5, 8),
    (16, 64, 20),
    (33, 259, 31),
    (5, 2100, 3),
    (40, 40, 1),
    (1, 50, 1),
];

fn numbers(n: usize, salt: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * salt) % 1009) as f64 / 7.0 - 70.0).collect()
}

fn transposed(x: &[f64], n: usize, m: usize) -> Vec<f64> {
    (0..m).flat_map(|j| (0..n).map(move |i| x[i * m + j])).collect()
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn products_add_in_the_order_of_the_inner_index() {
    for (n, k, c) in SIZES.into_iter().filter(|s| s.2 > 1) {
        let (x, y) = (numbers(n * k, 7919), numbers(k * c, 7907));
        let element = |i: usize, j: usize| (0..k).fold(0.0, |sum, l| sum + x[i * k + l] * y[l * c + j]);
        let want: Vec<f64> = (0..n).flat_map(|i| (0..c).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect();
        let mut out = vec![0.0; n * c];
        multiply(&x, &y, (n, k, c), &mut out);
        assert_eq!(bits(&out), bits(&want), "{n} {k} {c}");
    }
}

#[test]
fn contractions_add_as_sums_do() {
    for (rows, depth, cols) in SIZES {
        let (left, right) = (numbers(rows * depth, 7919), numbers(cols * depth, 7907));
        let sum = |i: usize, j: usize| {
            let terms: Vec<f64> = (0..depth).map(|l| left[i * depth + l] * right[j * depth + l]).collect();
            sum(&terms)
        };
        let want: Vec<f64> = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).map(|(i, j)| sum(i, j)).collect();
        let (xt, yt) = (transposed(&left, rows, depth), transposed(&right, cols, depth));
        for (left_turned, right_turned) in [(false, false), (false, true), (true, false), (true, true)] {
            let left = if left_turned {
                Factor { data: &xt, stride: rows, turned: true }
            } else {
                Factor { data: &left, stride: depth, turned: false }
            };
            let y = if right_turned {
                Factor { data: &yt, stride: cols, turned: true }
            } else {
                Factor { data: &right, stride: depth, turned: false }
            };
            let mut out = vec![f64::NAN; rows * cols];
            contract(left, y, (rows, cols, depth), &mut out);
            assert_eq!(bits(&out), bits(&want), "{rows} {depth} {cols} {left_turned} {right_turned}");
        }
    }
}

#[test]
fn zeros_at_the_ends_are_left_out_where_the_other_factor_is_finite() {
    assert_eq!(span(&[0.0, -0.0, 1.0, 0.0, f64::NAN, 0.0], 1), 2..5);
    assert_eq!(span(&[0.0, -0.0, 1.0, 0.0, 0.0, 0.0], 2), 1..2);
    assert_eq!(span(&[0.0; 3], 1), 0..0);
    let (x, infinite) = ([1.0, 2.0, 3.0, 0.0, 0.0, 4.0], [1.0, f64::INFINITY]);
    let spans = Spans::new(&x, 3, || true);
    assert_eq!(
        (spans.of_rows(1..2, &(0..3)), spans.of_rows(0..2, &(0..3)), spans.of_rows(1..2, &(0..2))),
        (2..3, 0..3, 2..2)
    );
    assert_eq!(Spans::new(&x, 3, || false).of_rows(1..2, &(0..3)), 0..3);
    let panel = [1.0, 1.0, 0.0, 0.0];
    assert_eq!(
        (Spans::new(&x, 3, || true).of_panel(&panel, 2), Spans::new(&infinite, 2, || true).of_panel(&panel, 2)),
        (0..1, 0..2)
    );
    assert!(finite(&[1e308; 20]) && !finite(&[1.0, f64::NEG_INFINITY, 2.0]) && !finite(&[f64::NAN; 9]));
}
