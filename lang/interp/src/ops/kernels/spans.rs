//! Zeros at the ends of rows and columns, as triangular and banded matrices have them: products leave them out.
//!
//! A sum that begins with 0.0 is never -0.0, and a term that is a zero changes nothing in it. So a zero of one factor may be left out, to the
//! last bit, where the other factor is finite; and that is looked at only where there are enough zeros to be worth it.

use std::cell::OnceCell;
use std::ops::Range;

/// Whether all numbers are finite.
pub(super) fn finite(x: &[f64]) -> bool {
    super::wide(|| {
        let mut parts = [0.0; 8];
        let (groups, rest) = x.as_chunks::<8>();
        groups.iter().for_each(|g| parts.iter_mut().zip(g).for_each(|(p, x)| *p += x * 0.0));
        parts.iter().chain(rest).fold(0.0, |s, x| s + x * 0.0) == 0.0
    })
}

/// From the first of some parts that is not all zeros to behind the last.
fn span(x: &[f64], part: usize) -> Range<usize> {
    let other = |p: &[f64]| p.iter().any(|x| *x != 0.0);
    let parts = x.chunks_exact(part.max(1));
    let Some(lo) = parts.clone().position(other) else { return 0..0 };
    lo..parts.len() - parts.rev().position(other).unwrap_or(0)
}

/// Whether so few of so many are left that leaving out the others is worth a look at the other factor.
fn few(some: usize, all: usize) -> bool {
    some * 8 < all * 7
}

/// What may be left out of a product of `n` rows of `k` numbers and columns.
pub(super) struct Spans<'a> {
    left: &'a [f64],
    /// Whether the left factor is finite, once somebody has asked.
    finite: OnceCell<bool>,
    /// Where the left factor's rows are not zero, if zeros of it may be left out.
    rows: Option<Vec<Range<usize>>>,
}

impl<'a> Spans<'a> {
    /// `right` is whether the right factor is finite.
    pub fn new(left: &'a [f64], k: usize, right: impl FnOnce() -> bool) -> Spans<'a> {
        let rows: Vec<Range<usize>> = left.chunks_exact(k.max(1)).map(|row| span(row, 1)).collect();
        let rows = (few(rows.iter().map(Range::len).sum(), left.len()) && right()).then_some(rows);
        Spans { left, finite: OnceCell::new(), rows }
    }

    /// Where some terms of columns that lie side by side, `width` wide, are to be looked at.
    pub fn of_panel(&self, panel: &[f64], width: usize) -> Range<usize> {
        let (found, all) = (span(panel, width), panel.len() / width.max(1));
        if few(found.len(), all) && *self.finite.get_or_init(|| finite(self.left)) { found } else { 0..all }
    }

    /// Where terms of some rows are to be looked at, among those of a panel.
    pub fn of_rows(&self, rows: Range<usize>, panel: &Range<usize>) -> Range<usize> {
        let Some(all) = &self.rows else { return panel.clone() };
        let (lo, hi) = all[rows].iter().fold((usize::MAX, 0), |(lo, hi), r| if r.is_empty() { (lo, hi) } else { (lo.min(r.start), hi.max(r.end)) });
        let lo = lo.clamp(panel.start, panel.end);
        lo..hi.clamp(lo, panel.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_ends_are_left_out_where_the_other_factor_is_finite() {
        assert_eq!(span(&[0.0, -0.0, 1.0, 0.0, f64::NAN, 0.0], 1), 2..5);
        assert_eq!(span(&[0.0, -0.0, 1.0, 0.0, 0.0, 0.0], 2), 1..2);
        assert_eq!(span(&[0.0; 3], 1), 0..0);
        let (x, infinite) = ([1.0, 2.0, 3.0, 0.0, 0.0, 4.0], [1.0, f64::INFINITY]);
        let spans = Spans::new(&x, 3, || true);
        assert_eq!((spans.of_rows(1..2, &(0..3)), spans.of_rows(0..2, &(0..3)), spans.of_rows(1..2, &(0..2))), (2..3, 0..3, 2..2));
        assert_eq!(Spans::new(&x, 3, || false).of_rows(1..2, &(0..3)), 0..3);
        let panel = [1.0, 1.0, 0.0, 0.0];
        assert_eq!((Spans::new(&x, 3, || true).of_panel(&panel, 2), Spans::new(&infinite, 2, || true).of_panel(&panel, 2)), (0..1, 0..2));
        assert!(finite(&[1e308; 20]) && !finite(&[1.0, f64::NEG_INFINITY, 2.0]) && !finite(&[f64::NAN; 9]));
    }
}
