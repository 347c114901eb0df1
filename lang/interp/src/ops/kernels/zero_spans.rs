//! Skipping of zeros at the ends of rows and columns in products, as in triangular and banded matrices.
//!
//! A sum that starts with 0.0 is never -0.0, and adding a zero term does not change it. So a zero of one factor
//! can be skipped, with equal result bits, if the other factor is finite. Finiteness is only checked if there
//! are enough zeros to make it worthwhile.

use std::cell::OnceCell;
use std::ops::Range;

/// Whether all elements are finite.
pub fn finite(x: &[f64]) -> bool {
    super::wide(|| {
        let mut parts = [0.0; 8];
        let (groups, rest) = x.as_chunks::<8>();
        groups.iter().for_each(|g| parts.iter_mut().zip(g).for_each(|(p, x)| *p += x * 0.0));
        parts.iter().chain(rest).fold(0.0, |s, x| s + x * 0.0) == 0.0
    })
}

/// The range of parts, of `part` elements each, from the first to the last one that is not all zeros.
pub fn span(x: &[f64], part: usize) -> Range<usize> {
    let other = |p: &[f64]| p.iter().any(|x| *x != 0.0);
    let parts = x.chunks_exact(part.max(1));
    let Some(lo) = parts.clone().position(other) else { return 0..0 };
    lo..parts.len() - parts.rev().position(other).unwrap_or(0)
}

/// Whether `some` of `all` elements are few enough that skipping the rest is worth a check of the other factor.
fn few(some: usize, all: usize) -> bool {
    some * 8 < all * 7
}

/// The zeros that can be skipped in a product of `n` rows of `k` elements with columns.
pub struct Spans<'a> {
    left: &'a [f64],
    /// Whether the left factor is finite, once that was checked.
    finite: OnceCell<bool>,
    /// The non-zero range of each row of the left factor, if its zeros may be skipped.
    rows: Option<Vec<Range<usize>>>,
}

impl<'a> Spans<'a> {
    /// `right` checks whether the right factor is finite.
    pub fn new(left: &'a [f64], k: usize, right: impl FnOnce() -> bool) -> Spans<'a> {
        let spans = left.chunks_exact(k.max(1)).map(|row| span(row, 1));
        let some = spans.clone().map(|s| s.len()).sum();
        let rows = (few(some, left.len()) && right()).then(|| spans.collect());
        Spans { left, finite: OnceCell::new(), rows }
    }

    /// The range of terms to process for a panel of adjacent columns of width `width`.
    pub fn of_panel(&self, panel: &[f64], width: usize) -> Range<usize> {
        let (found, all) = (span(panel, width), panel.len() / width.max(1));
        if few(found.len(), all) && *self.finite.get_or_init(|| finite(self.left)) { found } else { 0..all }
    }

    /// The range of terms to process for some rows, within the range of a panel.
    pub fn of_rows(&self, rows: Range<usize>, panel: &Range<usize>) -> Range<usize> {
        let Some(all) = &self.rows else { return panel.clone() };
        let (lo, hi) = all[rows].iter().fold((usize::MAX, 0), |(lo, hi), r| {
            if r.is_empty() { (lo, hi) } else { (lo.min(r.start), hi.max(r.end)) }
        });
        let lo = lo.clamp(panel.start, panel.end);
        lo..hi.clamp(lo, panel.end)
    }
}
