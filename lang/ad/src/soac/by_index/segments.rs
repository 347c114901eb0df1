//! Values sorted by their bins, and the combination of the values before and after each one in its bin (Fig. 4).

use super::Histogram;
use crate::jvp::J;
use adl_ir::{Block, Builder, Cmp, Lit, Op, Soac, SoacKind, Ty, Var};
use adl_prim::{Bin, ReductionFn};
use std::collections::HashMap;

/// Sorted values with prefixes and suffixes. The destination's element counts as the value before the first one of
/// a bin.
pub(super) struct Sorted {
    /// Positions of the sorted values.
    pub order: Var,
    /// Their bins.
    pub bins: Var,
    pub values: Vec<Var>,
    /// For each value, whether it is the first (or last) of its bin.
    pub first: Var,
    pub last: Var,
    /// The combination of the values before each value.
    pub before: Vec<Var>,
    /// The combination of the values after each value; undefined at the last one of a bin.
    pub after: Vec<Var>,
}

/// Values sorted by their keys, with the prefix before each one in its bin.
pub(super) struct SortedPrefixes {
    /// Positions of the sorted values.
    pub order: Var,
    pub values: Vec<Var>,
    /// The combination of the values before each value; the destination's element before the first one of a bin.
    pub before: Vec<Var>,
    /// For each value, whether it is the first of its bin.
    pub first: Var,
    /// Positions of the first and the last value of each bin, and the bins, some of which may be out of range.
    pub firsts: Var,
    pub lasts: Var,
    pub bins: Var,
}

/// Sorts, and scans each segment from the left.
pub(super) fn prefixes(transform: &mut J<'_>, histogram: &Histogram) -> SortedPrefixes {
    let order = transform.b.prim(ReductionFn::Argsort, &[histogram.keys], Ty::shape());
    let keys = gather(&mut transform.b, histogram.keys, order);
    // A first key of -1 is out of range, so its segment needs no start.
    let none = transform.b.int(-1);
    let left = transform.previous(keys, none);
    let first = transform.b.cmp(Cmp::Ne, keys, left);
    let values: Vec<Var> = histogram.values.iter().map(|v| gather(&mut transform.b, *v, order)).collect();
    let from_left: Vec<Var> = values
        .iter()
        .zip(&histogram.neutral)
        .zip(&histogram.dest)
        .map(|((v, e), d)| {
            let (ty, shape) = (transform.b.ty(*d), transform.b.shape(*d));
            let seed = transform.b.one(Op::Gather { a: *d, at: keys, shape: Some(shape) }, ty.clone());
            let before = transform.previous(*v, *e);
            transform.b.one(Op::Select(first, seed, before), ty)
        })
        .collect();
    let b = &mut transform.b;
    let before = in_segments(b, &histogram.op, &histogram.neutral, first, &from_left);
    let firsts = b.one(Op::Nonzero(first), Ty::shape());
    let bins = gather(b, keys, firsts);
    let (n, one) = (b.dim(keys, 0), b.int(1));
    let ends = next(b, firsts, n);
    let lasts = b.one(Op::Bin(Bin::Sub, ends, one), Ty::shape());
    SortedPrefixes { order, values, before, first, firsts, lasts, bins }
}

impl SortedPrefixes {
    /// 1 for empty bins, 0 for others.
    pub(super) fn untouched(&self, b: &mut Builder, dest: Var) -> Var {
        let (zero, one, m, ty, shape) =
            (b.real(0.0, dest), b.real(1.0, dest), b.dim(self.bins, 0), b.ty(dest), b.shape(dest));
        let acc = b.one(Op::Broadcast { a: zero, shape }, ty.clone());
        let ones = b.one(Op::Replicate { n: m, a: one }, ty.clone());
        let count = b.one(Op::GatherAdd { acc, at: self.bins, v: ones, shape: Some(shape) }, ty.clone());
        let filled = b.cmp(Cmp::Gt, count, zero);
        b.one(Op::Select(filled, zero, one), ty)
    }
}

/// The bin of each key; `w`, the number of bins, for keys out of range.
pub(super) fn bins(b: &mut Builder, keys: Var, w: Var) -> Var {
    let zero = b.int(0);
    let low = b.cmp(Cmp::Ge, keys, zero);
    let least = b.bin(Bin::Min, keys, w);
    b.one(Op::Select(low, least, w), Ty::shape())
}

fn joined(b: &mut Builder, x: Var, y: Var) -> Var {
    let ty = b.ty(x);
    b.one(Op::Concat { a: x, b: y, len: None, shape: None }, ty)
}

fn single(b: &mut Builder, x: Var) -> Var {
    let ty = b.ty(x).array(1);
    b.one(Op::ArrayLit { elems: vec![x], shape: None }, ty)
}

fn gather(b: &mut Builder, a: Var, at: Var) -> Var {
    let ty = b.ty(a);
    b.one(Op::Gather { a, at, shape: None }, ty)
}

/// The predecessor of each element; `x` for the first one.
fn previous(b: &mut Builder, xs: Var, x: Var) -> Var {
    let (x, ty) = (single(b, x), b.ty(xs));
    let all = joined(b, x, xs);
    let (lo, hi) = (b.int(0), b.dim(xs, 0));
    b.one(Op::Slice { a: all, lo, hi, shape: None }, ty)
}

/// The successor of each element; `x` for the last one.
fn next(b: &mut Builder, xs: Var, x: Var) -> Var {
    let (x, ty) = (single(b, x), b.ty(xs));
    let all = joined(b, xs, x);
    let (lo, n) = (b.int(1), b.dim(xs, 0));
    let hi = b.bin(Bin::Add, n, lo);
    b.one(Op::Slice { a: all, lo, hi, shape: None }, ty)
}

/// Sorts, and scans each segment in both directions. `neutral` fills positions that are not read.
pub(super) fn sorted(
    builder: &mut Builder,
    op: &Block,
    neutral: &[Var],
    dest: &[Var],
    values: &[Var],
    bins: Var,
) -> Sorted {
    let order = builder.prim(ReductionFn::Argsort, &[bins], Ty::shape());
    let bins = gather(builder, bins, order);
    let none = builder.int(-1);
    let (left, right) = (previous(builder, bins, none), next(builder, bins, none));
    let (first, last) = (builder.cmp(Cmp::Ne, bins, left), builder.cmp(Cmp::Ne, bins, right));
    let values: Vec<Var> = values.iter().map(|v| gather(builder, *v, order)).collect();
    let seeds: Vec<Var> = dest
        .iter()
        .zip(neutral)
        .map(|(d, e)| {
            let e = single(builder, *e);
            let longer = joined(builder, *d, e);
            gather(builder, longer, bins)
        })
        .collect();
    let from_left: Vec<Var> = values
        .iter()
        .zip(neutral)
        .zip(&seeds)
        .map(|((v, e), s)| {
            let (before, ty) = (previous(builder, *v, *e), builder.ty(*v));
            builder.one(Op::Select(first, *s, before), ty)
        })
        .collect();
    let before = in_segments(builder, op, neutral, first, &from_left);
    let from_right: Vec<Var> = values.iter().zip(neutral).map(|(v, e)| next(builder, *v, *e)).collect();
    let end = builder.lit(Lit::Bool(true));
    let before_last = next(builder, last, end);
    let stops = builder.one(Op::Select(last, last, before_last), Ty::Bool.array(1));
    let turned: Vec<Var> = from_right.iter().map(|v| reversed(builder, *v)).collect();
    let stops = reversed(builder, stops);
    let mut flipped = builder.copy_block(op, &mut HashMap::new());
    let half = flipped.params.len() / 2;
    flipped.params.rotate_left(half);
    let after = in_segments(builder, &flipped, neutral, stops, &turned);
    let after = after.into_iter().map(|v| reversed(builder, v)).collect();
    Sorted { order, bins, values, first, last, before, after }
}

fn reversed(b: &mut Builder, v: Var) -> Var {
    let ty = b.ty(v);
    b.one(Op::Reverse(v), ty)
}

/// A segmented scan, which restarts wherever a flag is set.
fn in_segments(builder: &mut Builder, op: &Block, neutral: &[Var], flags: Var, arrays: &[Var]) -> Vec<Var> {
    let tys: Vec<Ty> = neutral.iter().map(|e| builder.ty(*e)).collect();
    builder.open();
    let f1 = builder.param(Ty::Bool);
    let x1: Vec<Var> = tys.iter().map(|t| builder.param(t.clone())).collect();
    let f2 = builder.param(Ty::Bool);
    let x2: Vec<Var> = tys.iter().map(|t| builder.param(t.clone())).collect();
    let both = builder.inline(op, &[&x1[..], &x2].concat());
    let f = builder.one(Op::Select(f1, f1, f2), Ty::Bool);
    let mut results = vec![f];
    for ((x, y), t) in x2.iter().zip(both).zip(&tys) {
        results.push(builder.one(Op::Select(f2, *x, y), t.clone()));
    }
    let op = builder.close(results, Vec::new());
    let off = builder.lit(Lit::Bool(false));
    let made = Soac {
        kind: SoacKind::Scan,
        op,
        neutral: [&[off][..], neutral].concat(),
        arrays: [&[flags][..], arrays].concat(),
    };
    let mut out: Vec<Ty> = vec![Ty::Bool.array(1)];
    out.extend(arrays.iter().map(|a| builder.ty(*a)));
    builder.emit(Op::Soac(Box::new(made)), &out, &[]).0.split_off(1)
}

/// Positions of the first values of the bins in range, and their bins.
pub(super) struct Firsts {
    at: Var,
    bins: Var,
    /// For each bin, whether it has any values.
    filled: Var,
}

impl Sorted {
    pub(super) fn firsts(&self, b: &mut Builder, w: Var) -> Firsts {
        let inside = b.cmp(Cmp::Lt, self.bins, w);
        let never = b.lit(Lit::Bool(false));
        let starts = b.one(Op::Select(inside, self.first, never), Ty::Bool.array(1));
        let at = b.one(Op::Nonzero(starts), Ty::shape());
        let bins = gather(b, self.bins, at);
        let (zero, one, m) = (b.int(0), b.int(1), b.dim(at, 0));
        let acc = b.one(Op::Replicate { n: w, a: zero }, Ty::shape());
        let ones = b.one(Op::Replicate { n: m, a: one }, Ty::shape());
        let count = b.one(Op::GatherAdd { acc, at: bins, v: ones, shape: None }, Ty::shape());
        let filled = b.cmp(Cmp::Gt, count, zero);
        Firsts { at, bins, filled }
    }
}

impl Firsts {
    /// The coefficient of each bin's first value; `otherwise` for empty bins.
    pub(super) fn in_bins(&self, b: &mut Builder, c: Var, otherwise: f64, like: Var) -> Var {
        let c = gather(b, c, self.at);
        let (zero, other, ty) = (b.real(0.0, like), b.real(otherwise, like), b.ty(like));
        let acc = b.one(Op::Select(self.filled, zero, other), ty.clone());
        b.one(Op::GatherAdd { acc, at: self.bins, v: c, shape: None }, ty)
    }
}
