//! Concatenation by additions: a chain of `slice_add`s that adds parts to a zero vector, as derivatives of slicing
//! produce it, becomes one loop over the entire vector.
//!
//! ```text
//! a = slice_add 0 lo hi v; r = slice_add a lo' hi' w
//! ⟼  r = loop for n () collect (i) {
//!      x = (i ≥ lo && i < hi ? v[i - lo] : 0); y = (i ≥ lo' && i < hi' ? w[i - lo'] : 0); x + y
//!    }
//! ```

use super::Ints;
use super::known::is_vector;
use crate::fuse::reads;
use adl_ir::{Block, Cmp, Function, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_syntax::span::Span;
use std::collections::HashSet;

/// Largest number of parts, because each element tests for every part whether it lies in it.
const PARTS: usize = 8;

/// Rewrites such chains. Returns whether there were any. `there`: arrays that are materialised, so no symbolic zeros.
pub(super) fn assembled(func: &mut Function, block: &mut Block, ints: &Ints, there: &HashSet<Var>) -> bool {
    let mut changed = false;
    for last in (0..block.stmts.len()).rev() {
        if let Some(parts) = parts(func, block, last, there) {
            write(func, block, (last, &parts), ints);
            assembled(func, block, ints, there);
            return true;
        }
    }
    for s in &mut block.stmts {
        if !matches!(&s.op, Op::Loop(l) if l.init.is_empty()) {
            s.op.blocks_mut().into_iter().for_each(|b| {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || changed |= assembled(func, b, ints, there));
            });
        }
    }
    changed
}

/// A part: its first index, the index after its last, and its elements.
type AssembledPart = (Var, Var, Var);

/// The parts of the vector that the statement at `last` completes, in the order of the additions. `None` unless
/// there are several.
fn parts(f: &Function, b: &Block, last: usize, there: &HashSet<Var>) -> Option<Vec<AssembledPart>> {
    let made = |v: Var| b.stmts.iter().find(|s| s.outs.first() == Some(&v)).map(|s| &s.op);
    let fine = |v: Var| is_vector(f, v) && (there.contains(&v) || matches!(made(v), Some(Op::Loop(_) | Op::Soac(_))));
    let alone = |v: Var| !b.results.contains(&v) && b.stmts.iter().filter(|s| reads(s).contains(&v)).count() == 1;
    let (mut all, mut op, s) = (Vec::new(), &b.stmts[last].op, &b.stmts[last]);
    if !is_vector(f, s.outs.first().copied()?) || !f.ty(s.outs[0]).elem().is_real() {
        return None;
    }
    loop {
        match op {
            Op::SliceAdd { acc, lo, hi, v, shape: Some(_) } if fine(*v) && all.len() < PARTS => {
                all.push((*lo, *hi, *v));
                op = made(*acc)?;
                if !matches!(op, Op::Zero(_)) && !alone(*acc) {
                    return None;
                }
            }
            Op::Zero(_) => break,
            _ => return None,
        }
    }
    all.reverse();
    (all.len() > 1).then_some(all)
}

fn write(func: &mut Function, block: &mut Block, (last, parts): (usize, &[AssembledPart]), ints: &Ints) {
    let stmt = block.stmts[last].clone();
    let Op::SliceAdd { shape: Some(shape), .. } = stmt.op else { return };
    let mut before = Vec::new();
    let count = match ints.firsts.get(&shape) {
        Some(n) => *n,
        None => {
            let zero = push(func, &mut before, Op::Lit(adl_ir::Lit::I64(0)), Ty::I64, stmt.span);
            push(func, &mut before, Op::Index { a: shape, at: vec![zero], shape: None }, Ty::I64, stmt.span)
        }
    };
    let (i, ty) = (func.fresh(Ty::I64, false), func.ty(stmt.outs[0]).elem());
    let mut stmts = Vec::new();
    let mut sum = push(func, &mut stmts, Op::Lit(crate::real(&ty, 0.0)), ty.clone(), stmt.span);
    let zero = sum;
    for part in parts {
        let x = element(func, &mut stmts, (i, zero), *part, stmt.span);
        sum = push(func, &mut stmts, Op::Bin(Bin::Add, sum, x), ty.clone(), stmt.span);
    }
    let body = Block { params: vec![i], stmts, results: vec![sum], ..Block::default() };
    let ir_loop = Loop { outs: vec![Out::Collect], ..Loop::new(Trip::Count(count), body) };
    let trip = func.fresh(Ty::I64, false);
    before.push(Stmt {
        outs: vec![stmt.outs[0], trip],
        lin_outs: Vec::new(),
        op: Op::Loop(Box::new(ir_loop)),
        span: stmt.span,
    });
    block.stmts.splice(last..=last, before);
}

/// The summand that a part contributes to one element of the result.
fn element(
    func: &mut Function,
    stmts: &mut Vec<Stmt>,
    (i, zero): (Var, Var),
    (lo, hi, v): AssembledPart,
    span: Span,
) -> Var {
    let ty = func.ty(zero).clone();
    let from = push(func, stmts, Op::Cmp(Cmp::Ge, i, lo), Ty::Bool, span);
    let to = push(func, stmts, Op::Cmp(Cmp::Lt, i, hi), Ty::Bool, span);
    let no = push(func, stmts, Op::Lit(adl_ir::Lit::Bool(false)), Ty::Bool, span);
    let inside = push(func, stmts, Op::Select(from, to, no), Ty::Bool, span);
    let mut yes = Block::default();
    let at = push(func, &mut yes.stmts, Op::Bin(Bin::Sub, i, lo), Ty::I64, span);
    let x = push(func, &mut yes.stmts, Op::Index { a: v, at: vec![at], shape: None }, ty.clone(), span);
    yes.results = vec![x];
    let none = Block { results: vec![zero], ..Block::default() };
    push(func, stmts, Op::If(inside, Box::new(yes), Box::new(none)), ty, span)
}

fn push(f: &mut Function, to: &mut Vec<Stmt>, op: Op, ty: Ty, span: Span) -> Var {
    let v = f.fresh(ty, false);
    to.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span });
    v
}
