//! Loop-invariant code motion: a statement that depends on nothing bound in a loop is computed before it, if it
//! cannot fail and costs no more than the loop's first iteration would.
//!
//! `slice a 0 k` in a loop with trip count `k` is hoisted too, although it could fail for a short array: if the
//! loop runs zero times, it takes zero elements. So a loop inside of a loop over the first `k` rows of a matrix
//! does not copy these in each iteration.

use adl_ir::rewrite::{is_pure, never_fails};
use adl_ir::{Block, Cmp, Function, Lit, Op, Stmt, Trip, Ty, Var};
use std::collections::HashSet;

/// Moves invariant statements out of loops, as far as possible. `safe`: results of `index` statements that cannot fail.
pub fn hoist(f: &mut Function, safe: &HashSet<Var>) {
    let mut body = std::mem::take(&mut f.body);
    let mut zeros = HashSet::new();
    block(f, &mut body, safe, &mut zeros);
    f.body = body;
}

/// `zeros`: Ints that are known to be 0.
fn block(f: &mut Function, b: &mut Block, safe: &HashSet<Var>, zeros: &mut HashSet<Var>) {
    let mut out = Vec::with_capacity(b.stmts.len());
    for mut s in std::mem::take(&mut b.stmts) {
        if let Op::Lit(Lit::I64(0)) = s.op {
            zeros.extend(&s.outs);
        }
        for part in s.op.blocks_mut() {
            block(f, part, safe, zeros);
        }
        if let Op::Loop(l) = &mut s.op {
            if let Trip::While(c) = &mut l.trip {
                out.extend(invariant(f, c, safe));
            }
            out.extend(invariant(f, &mut l.body, safe));
            if let Trip::Count(n) = l.trip {
                first_elements(f, &mut l.body, n, zeros, &mut out);
            }
        }
        out.push(s);
    }
    b.stmts = out;
}

/// Moves `slice a 0 k` in front of a loop with trip count `n` if the loop changes neither `a` nor `k`.
fn first_elements(f: &mut Function, b: &mut Block, n: Var, zeros: &HashSet<Var>, to: &mut Vec<Stmt>) {
    let mut inside: HashSet<Var> = b.params.iter().chain(&b.lin_params).copied().collect();
    let mut left = Vec::with_capacity(b.stmts.len());
    for mut s in std::mem::take(&mut b.stmts) {
        // The operand with the shape of an array that may be a symbolic zero counts too.
        let mut depends = false;
        s.op.each_operand(&mut |v| depends |= inside.contains(&v));
        match &mut s.op {
            Op::Slice { lo, hi, .. } if zeros.contains(lo) && s.lin_outs.is_empty() && !depends => {
                let (trip, none) = (f.fresh(Ty::Bool, false), f.fresh(Ty::I64, false));
                let of = |outs, op| Stmt { outs: vec![outs], lin_outs: Vec::new(), op, span: s.span };
                to.push(of(trip, Op::Cmp(Cmp::Gt, n, *lo)));
                to.push(of(none, Op::Select(trip, *hi, *lo)));
                *hi = none;
                to.push(s);
            }
            _ => {
                inside.extend(s.outs.iter().chain(&s.lin_outs));
                left.push(s);
            }
        }
    }
    b.stmts = left;
}

/// Removes from a loop's body the statements that depend on nothing bound in it, and returns them.
fn invariant(f: &Function, b: &mut Block, safe: &HashSet<Var>) -> Vec<Stmt> {
    let mut moved = Vec::new();
    let cannot_fail = |s: &Stmt| {
        is_pure(&s.op) && never_fails(f, &s.op)
            || matches!(s.op, Op::Index { .. }) && s.outs.iter().all(|v| safe.contains(v))
    };
    hoist_invariant(f, b, &mut HashSet::new(), &cannot_fail, &mut moved);
    moved
}

/// Moves the statements that depend on nothing in `inside` to `moved`. Out of branches, which may not be taken,
/// only free operations are moved.
fn hoist_invariant(
    f: &Function,
    b: &mut Block,
    inside: &mut HashSet<Var>,
    cannot_fail: &dyn Fn(&Stmt) -> bool,
    moved: &mut Vec<Stmt>,
) {
    inside.extend(b.params.iter().chain(&b.lin_params));
    b.stmts.retain_mut(|s| {
        let mut depends = false;
        s.op.each_operand(&mut |v| depends |= inside.contains(&v) || f.linear(v));
        if !depends && s.lin_outs.is_empty() && cannot_fail(s) {
            moved.push(s.clone());
            return false;
        }
        if let Op::If(..) | Op::Switch(..) = s.op {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                s.op.blocks_mut().into_iter().for_each(|part| {
                    hoist_invariant(f, part, inside, &|s| cannot_fail(s) && costs_nothing(&s.op), moved);
                });
            });
        }
        inside.extend(s.outs.iter().chain(&s.lin_outs));
        true
    });
}

/// Operations that cost nothing: literals and extents.
fn costs_nothing(op: &Op) -> bool {
    matches!(op, Op::Lit(_) | Op::Dim(..) | Op::Shape(_))
}
