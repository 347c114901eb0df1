//! Slices of rows, and rows that are zero but for a slice, as loops over their elements, so that arithmetic on them is fused
//! with them.
//!
//! ```text
//! loop for n over (x) collect (i, row) { slice row lo hi }
//! ⟼  m = hi - lo;  assert 0 <= lo <= hi;  loop for n over (x) collect (i, row) { loop for m collect (j) { row[lo + j] } }
//!
//! loop for n over (x) collect (i, row) { slice_add 0 lo hi row shape s }
//! ⟼  w = hi - lo;  loop for n over (x) collect (i, row) { loop for s[0] collect (j) {
//!        k = j - lo;  if k >= 0 { if k < w { 0 + row[k] } else { 0 } } else { 0 } } }
//! ```
//!
//! A slice that is out of bounds fails at an element, or before the loop if it has none. What is added to zeros is a
//! cotangent of a slice, so it fits. A row may be a symbolic zero, whose elements are zeros.

use adl_ir::{Added, Block, Cmp, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_syntax::span::Span;
use std::collections::HashSet;

/// A statement of a loop that takes the slice `lo..hi` of the rows of an array, or adds these to zeros there.
struct RowSlice {
    /// The array, and its row in the body.
    of: Var,
    row: Var,
    lo: Var,
    hi: Var,
    /// The extents of the collected rows, if these are zero but for the slice.
    shape: Option<Var>,
}

/// What the statements of a loop collect, if they only take slices of rows or add rows to arrays of `zeros`, which are symbolic
/// zeros.
fn rows(f: &Function, l: &Loop, zeros: &HashSet<Var>) -> Option<Vec<RowSlice>> {
    let stmts = &l.body.stmts;
    let collects = l.init.is_empty() && l.outs.iter().all(|o| *o == Out::Collect) && matches!(l.trip, Trip::Count(_));
    let each = l.body.results.iter().all(|r| stmts.iter().any(|s| s.outs == [*r]));
    if !collects || !each || stmts.is_empty() || l.body.params.len() != l.xs.len() + 1 {
        return None;
    }
    stmts.iter().map(|s| row_of(f, l, s, zeros).filter(|_| s.lin_outs.is_empty())).collect()
}

fn row_of(f: &Function, l: &Loop, stmt: &Stmt, zeros: &HashSet<Var>) -> Option<RowSlice> {
    let (row, lo, hi, shape) = match &stmt.op {
        Op::Slice { a, lo, hi, shape: None } => (a, lo, hi, None),
        Op::SliceAdd { acc, lo, hi, v, shape: Some(shape) } if zeros.contains(acc) => (v, lo, hi, Some(*shape)),
        _ => return None,
    };
    let of = *l.xs.get(l.body.params.iter().skip(1).position(|p| p == row)?)?;
    let outer = |v: &Var| !l.body.params.contains(v);
    let vector = *f.ty(*row) == Ty::F64.array(1);
    (vector && [Some(lo), Some(hi), shape.as_ref()].into_iter().flatten().all(outer)).then_some(RowSlice {
        of,
        row: *row,
        lo: *lo,
        hi: *hi,
        shape,
    })
}

/// Whether a loop takes slices of rows.
pub(super) fn are_slices(f: &Function, l: &Loop) -> bool {
    rows(f, l, &HashSet::new()).is_some()
}

/// Whether a loop collects rows that are zero but for a slice.
pub(super) fn are_padded(f: &Function, l: &Loop, zeros: &HashSet<Var>) -> bool {
    rows(f, l, zeros).is_some_and(|all| all.iter().all(|r| r.shape.is_some()))
}

/// The text of an assertion that fails where an operation on entire arrays would have failed.
const DIFFERENT: &str = "a slice is out of bounds, or extents differ";

/// A check that two trip counts are equal.
pub(super) fn equal(f: &mut Function, x: Var, y: Var, span: Span) -> Vec<Stmt> {
    let mut before = Added::new(f, span);
    let holds = before.cmp(Cmp::Eq, x, y);
    before.assert(holds, DIFFERENT);
    before.stmts
}

/// Writes the rows that a loop collects as loops over elements. Returns what is computed before the loop, if it is one that
/// [`rows`] describes.
pub(super) fn expand(f: &mut Function, stmt: &mut Stmt, zeros: &HashSet<Var>) -> Option<Vec<Stmt>> {
    let Op::Loop(l) = &mut stmt.op else { return None };
    let all = rows(f, l, zeros)?;
    let mut before = Added::new(f, stmt.span);
    for (collected, rows) in l.body.stmts.iter_mut().zip(&all) {
        let elements = elements(&mut before, rows);
        collected.op = Op::Loop(Box::new(elements));
        let trips = before.f.fresh(Ty::I64, false);
        collected.outs.push(trips);
    }
    Some(before.stmts)
}

/// The loop over the elements of a row.
fn elements(before: &mut Added, rows: &RowSlice) -> Loop {
    let RowSlice { of, row, lo, hi, shape } = *rows;
    let zero = before.int(0);
    let width = before.push(Op::Bin(Bin::Sub, hi, lo), Ty::I64);
    let trip = if let Some(shape) = shape {
        before.push(Op::Index { a: shape, at: vec![zero], shape: None }, Ty::I64)
    } else {
        let (begins, ends) = (before.cmp(Cmp::Ge, lo, zero), before.cmp(Cmp::Ge, width, zero));
        let fits = fits(before, (of, hi), (width, zero));
        [begins, ends, fits].into_iter().for_each(|holds| before.assert(holds, DIFFERENT));
        width
    };
    let column = before.f.fresh(Ty::I64, false);
    let mut body = Added::new(before.f, before.span);
    let result = if shape.is_some() {
        padded(&mut body, (column, lo, width), row, zero)
    } else {
        let k = body.push(Op::Bin(Bin::Add, column, lo), Ty::I64);
        body.push(Op::Index { a: row, at: vec![k], shape: None }, Ty::F64)
    };
    Loop {
        outs: vec![Out::Collect],
        ..Loop::new(
            Trip::Count(trip),
            Block { params: vec![column], stmts: body.stmts, results: vec![result], ..Block::default() },
        )
    }
}

/// Whether a slice has elements, or ends within the rows of an array.
fn fits(before: &mut Added, (of, hi): (Var, Var), (width, zero): (Var, Var)) -> Var {
    let some = before.cmp(Cmp::Gt, width, zero);
    let span = before.span;
    let mut none = Added::new(before.f, span);
    let extent = none.push(Op::Dim(of, 1), Ty::I64);
    let within = none.cmp(Cmp::Le, hi, extent);
    let none = Block { stmts: none.stmts, results: vec![within], ..Block::default() };
    let otherwise = Block { results: vec![some], ..Block::default() };
    before.push(Op::If(some, Box::new(otherwise), Box::new(none)), Ty::Bool)
}

/// The element of a row that is zero but for `width` elements from `lo` on.
fn padded(body: &mut Added, (j, lo, width): (Var, Var, Var), row: Var, zero: Var) -> Var {
    let nothing = body.push(Op::Lit(Lit::F64(0.0)), Ty::F64);
    let k = body.push(Op::Bin(Bin::Sub, j, lo), Ty::I64);
    let (begun, ended) = (body.cmp(Cmp::Ge, k, zero), body.cmp(Cmp::Lt, k, width));
    let span = body.span;
    let mut inside = Added::new(body.f, span);
    let element = inside.push(Op::Index { a: row, at: vec![k], shape: None }, Ty::F64);
    // A sum, as `slice_add` makes: it has no zero with a sign.
    let element = inside.push(Op::Bin(Bin::Add, nothing, element), Ty::F64);
    let inside = Block { stmts: inside.stmts, results: vec![element], ..Block::default() };
    let outside = || Block { results: vec![nothing], ..Block::default() };
    let within = body.f.fresh(Ty::F64, false);
    let branch = Op::If(ended, Box::new(inside), Box::new(outside()));
    let stmts = vec![Stmt { outs: vec![within], lin_outs: Vec::new(), op: branch, span }];
    let begun_block = Block { stmts, results: vec![within], ..Block::default() };
    body.push(Op::If(begun, Box::new(begun_block), Box::new(outside())), Ty::F64)
}
