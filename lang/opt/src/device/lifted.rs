//! Commutes arithmetic of an array and scalars with operations that only move elements, and moves it into the loop
//! that makes the array, so that it runs in the kernel of that loop.
//!
//! ```text
//! y = loop … return x; t = transpose y; r = add c t   ⟼   y' = loop … { x' = add c x; return x' }; r = transpose y'
//! ```

use super::{is_array, of_numbers};
use crate::fuse::{moved_adjacent, reads, rename_op};
use adl_ir::{Block, Function, Op, Out, Stmt, Trip, Ty, Var};
use std::collections::HashMap;

/// Moves one such operation. Returns whether there was one.
pub(super) fn step(func: &mut Function, block: &mut Block) -> bool {
    for q in 1..block.stmts.len() {
        let Some(v) = with_numbers(func, &block.stmts[q]) else { continue };
        let Some(p) = (0..q).rev().find(|p| block.stmts[*p].outs.contains(&v)) else { continue };
        let moves = moves(&block.stmts[p].op);
        if (moves || collects(func, &block.stmts[p], v))
            && is_read_once(block, v)
            && let Some(at) = moved_adjacent(block, p, q)
        {
            if moves {
                before(func, block, at);
            } else {
                inside(func, block, at, v);
            }
            return true;
        }
    }
    false
}

/// The array operand of an operation on one array and scalars whose result has the array's type.
fn with_numbers(f: &Function, s: &Stmt) -> Option<Var> {
    let (Op::Un(..) | Op::Bin(..)) = s.op else { return None };
    let [out] = s.outs[..] else { return None };
    let (mut arrays, mut numbers) = (Vec::new(), true);
    s.op.each_operand(&mut |v| match f.ty(v) {
        Ty::Array(..) => arrays.push(v),
        t => numbers &= t.is_flat(),
    });
    let [a] = arrays[..] else { return None };
    (numbers && is_array(f, a) && is_array(f, out) && of_numbers(f, a) && f.ty(a) == f.ty(out)).then_some(a)
}

fn moves(op: &Op) -> bool {
    matches!(op, Op::Reshape { .. } | Op::Transpose(_) | Op::Reverse(_) | Op::Rotate { .. })
}

/// Whether a loop that collects arrays makes `v`. (Arithmetic on vectors of numbers becomes a loop itself.)
fn collects(f: &Function, s: &Stmt, v: Var) -> bool {
    let Op::Loop(l) = &s.op else { return false };
    let plain = l.init.is_empty()
        && l.lin_init.is_empty()
        && l.lin_xs.is_empty()
        && l.lin_outs.is_empty()
        && matches!(l.trip, Trip::Count(_));
    plain
        && f.ty(v).rank() > 1
        && s.outs.iter().position(|o| *o == v).is_some_and(|k| l.outs.get(k) == Some(&Out::Collect))
}

fn is_read_once(b: &Block, v: Var) -> bool {
    b.stmts.iter().filter(|s| reads(s).contains(&v)).count() == 1
        && !b.results.contains(&v)
        && !b.lin_results.contains(&v)
}

/// Moves the statement after an element-moving operation to before it.
fn before(f: &mut Function, block: &mut Block, at: usize) {
    let (moved, sum) = (block.stmts[at].outs[0], block.stmts[at + 1].outs[0]);
    let mut from = None;
    match &mut block.stmts[at].op {
        Op::Reshape { a, .. } | Op::Transpose(a) | Op::Reverse(a) | Op::Rotate { a, .. } => from = Some(a),
        _ => {}
    }
    let Some(from) = from else { return };
    let early = f.fresh(f.ty(*from).clone(), false);
    let names = HashMap::from([(moved, std::mem::replace(from, early))]);
    block.stmts[at].outs = vec![sum];
    rename_op(&mut block.stmts[at + 1].op, &names);
    block.stmts[at + 1].outs = vec![early];
    block.stmts.swap(at, at + 1);
}

/// Moves the statement after a loop into the loop.
fn inside(f: &mut Function, b: &mut Block, at: usize, v: Var) {
    let mut s = b.stmts.remove(at + 1);
    let made = &mut b.stmts[at];
    let (Some(k), Op::Loop(l)) = (made.outs.iter().position(|o| *o == v), &mut made.op) else { return };
    let x = l.body.results[k];
    made.outs[k] = s.outs[0];
    let own = f.fresh(f.ty(x).clone(), false);
    rename_op(&mut s.op, &HashMap::from([(v, x)]));
    s.outs = vec![own];
    l.body.stmts.push(s);
    l.body.results[k] = own;
}
