//! Loop-invariant code motion: a statement that depends on nothing bound in a loop is computed before it, if it
//! cannot fail and costs no more than the loop's first iteration would.
//!
//! `slice a 0 k` in a loop with trip count `k` is hoisted too, although it could fail for a short array: if the
//! loop runs zero times, it takes zero elements. So a loop inside of a loop over the first `k` rows of a matrix
//! does not copy these in each iteration.

mod int_bounds;

use crate::shapes::symbolic_zeros;
use adl_ir::rewrite::{is_pure, never_fails};
use adl_ir::{Block, Cmp, Function, Lit, Op, Stmt, Trip, Ty, Var, Zeros};
use int_bounds::IntBounds;
use std::collections::HashSet;

/// Moves invariant statements out of loops, as far as possible. `safe`: results of `index` statements that cannot fail.
/// `arrays`: whether arguments may be symbolic zeros, which have no extents.
pub fn hoist(f: &mut Function, safe: &HashSet<Var>, arrays: Zeros) {
    let absent = symbolic_zeros(f);
    let ints = IntBounds::of(f);
    let mut zeros = HashSet::new();
    let mut body = std::mem::take(&mut f.body);
    block(f, &mut body, &Hoistable { safe, arrays, absent: &absent, ints }, (&mut zeros, &mut Vec::new()));
    f.body = body;
}

/// What may be hoisted.
struct Hoistable<'a> {
    safe: &'a HashSet<Var>,
    arrays: Zeros,
    /// Arrays that may be symbolic zeros made by the function itself.
    absent: &'a HashSet<Var>,
    ints: IntBounds,
}

impl Hoistable<'_> {
    /// Inside of loops with the trip counts `around`.
    fn cannot_fail(&self, f: &Function, s: &Stmt, around: &[Var]) -> bool {
        is_pure(&s.op) && never_fails(f, &s.op)
            || self.ints.succeeds(&s.op, around)
            || matches!(s.op, Op::Index { .. }) && s.outs.iter().all(|v| self.safe.contains(v))
    }

    /// Operations that cost nothing: literals and extents. A branch that is not taken may ask for an extent of a
    /// symbolic zero.
    fn costs_nothing(&self, op: &Op) -> bool {
        match op {
            Op::Lit(_) | Op::Shape(_) => true,
            Op::Dim(a, _) => self.arrays == Zeros::Materialized && !self.absent.contains(a),
            _ => false,
        }
    }
}

/// `zeros`: Ints that are known to be 0. `around`: the trip counts of the loops around the block.
fn block(
    func: &mut Function,
    body: &mut Block,
    hoistable: &Hoistable<'_>,
    (zeros, around): (&mut HashSet<Var>, &mut Vec<Var>),
) {
    let mut out = Vec::with_capacity(body.stmts.len());
    for mut stmt in std::mem::take(&mut body.stmts) {
        if let Op::Lit(Lit::I64(0)) = stmt.op {
            zeros.extend(&stmt.outs);
        }
        let outside = around.len();
        if let Op::Loop(l) = &stmt.op
            && let Trip::Count(n) = l.trip
        {
            around.push(n);
        }
        for part in stmt.op.blocks_mut() {
            block(func, part, hoistable, (&mut *zeros, &mut *around));
        }
        around.truncate(outside);
        if let Op::Loop(l) = &mut stmt.op {
            if let Trip::While(c) = &mut l.trip {
                out.extend(invariant(func, c, hoistable, around));
            }
            out.extend(invariant(func, &mut l.body, hoistable, around));
            if let Trip::Count(n) = l.trip {
                first_elements(func, &mut l.body, n, zeros, &mut out);
            }
        }
        out.push(stmt);
    }
    body.stmts = out;
}

/// Moves `slice a 0 k` in front of a loop with trip count `count` if the loop changes neither `a` nor `k`.
fn first_elements(function: &mut Function, block: &mut Block, count: Var, zeros: &HashSet<Var>, to: &mut Vec<Stmt>) {
    let mut inside: HashSet<Var> = block.params.iter().chain(&block.lin_params).copied().collect();
    let mut left = Vec::with_capacity(block.stmts.len());
    for mut stmt in std::mem::take(&mut block.stmts) {
        // The operand with the shape of an array that may be a symbolic zero counts too.
        let mut depends = false;
        stmt.op.each_operand(&mut |v| depends |= inside.contains(&v));
        match &mut stmt.op {
            // If the loop runs zero times, these are zero elements.
            Op::Slice { lo, hi, .. } if *hi == count && zeros.contains(lo) && stmt.lin_outs.is_empty() && !depends => {
                to.push(stmt);
            }
            Op::Slice { lo, hi, .. } if zeros.contains(lo) && stmt.lin_outs.is_empty() && !depends => {
                let (trip, none) = (function.fresh(Ty::Bool, false), function.fresh(Ty::I64, false));
                let of = |outs, op| Stmt { outs: vec![outs], lin_outs: Vec::new(), op, span: stmt.span };
                to.push(of(trip, Op::Cmp(Cmp::Gt, count, *lo)));
                to.push(of(none, Op::Select(trip, *hi, *lo)));
                *hi = none;
                to.push(stmt);
            }
            _ => {
                inside.extend(stmt.outs.iter().chain(&stmt.lin_outs));
                left.push(stmt);
            }
        }
    }
    block.stmts = left;
}

/// Removes from a loop's body the statements that depend on nothing bound in it, and returns them.
fn invariant(f: &Function, b: &mut Block, hoistable: &Hoistable<'_>, around: &[Var]) -> Vec<Stmt> {
    let mut moved = Vec::new();
    let cannot_fail = |s: &Stmt| hoistable.cannot_fail(f, s, around);
    let free = |s: &Stmt| cannot_fail(s) && hoistable.costs_nothing(&s.op);
    hoist_invariant(f, b, &mut HashSet::new(), (&cannot_fail, &free), &mut moved);
    moved
}

/// Moves the statements that depend on nothing in `inside` to `moved`: those that `moves` admits, and out of branches,
/// which may not be taken, those that `free` admits.
fn hoist_invariant(
    func: &Function,
    b: &mut Block,
    inside: &mut HashSet<Var>,
    (moves, free): (&dyn Fn(&Stmt) -> bool, &dyn Fn(&Stmt) -> bool),
    moved: &mut Vec<Stmt>,
) {
    inside.extend(b.params.iter().chain(&b.lin_params));
    b.stmts.retain_mut(|stmt| {
        let mut depends = false;
        stmt.op.each_operand(&mut |v| depends |= inside.contains(&v) || func.linear(v));
        if !depends && stmt.lin_outs.is_empty() && moves(stmt) {
            moved.push(stmt.clone());
            return false;
        }
        if let Op::If(..) | Op::Switch(..) = stmt.op {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                stmt.op.blocks_mut().into_iter().for_each(|part| {
                    hoist_invariant(func, part, inside, (free, free), moved);
                });
            });
        }
        inside.extend(stmt.outs.iter().chain(&stmt.lin_outs));
        true
    });
}
