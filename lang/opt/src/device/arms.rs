//! Sinks the only reader of a branch's result into the arms of the branch, where it may be fused with the loop that
//! makes the array.
//!
//! ```text
//! v = if c { y = loop … return y } else { … return z }; r = loop for n over (v) …
//! ⟼  r = if c { y = loop …; r' = loop for n over (y) … return r' } else { … }
//! ```

use super::is_array;
use crate::fuse::{moved_adjacent, reads};
use adl_ir::rewrite::copy;
use adl_ir::{Block, Function, Op, Stmt, Trip, Var};
use std::collections::{HashMap, HashSet};

/// Limit of the statements that all copies in the arms may add.
const COPIES: usize = 128;

/// Sinks one such reader. Returns whether there was one.
pub(super) fn step(func: &mut Function, block: &mut Block) -> bool {
    if !block.stmts.iter().any(is_branch) {
        return false;
    }
    let mut readers: HashMap<Var, Vec<usize>> = HashMap::new();
    for (k, s) in block.stmts.iter().enumerate() {
        reads(s).into_iter().for_each(|v| readers.entry(v).or_default().push(k));
    }
    block.results.iter().chain(&block.lin_results).for_each(|v| readers.entry(*v).or_default().push(block.stmts.len()));
    for place in 0..block.stmts.len() {
        let made: HashSet<Var> = block.stmts[place].outs.iter().copied().filter(|v| is_array(func, *v)).collect();
        let only = |v: &Var| readers.get(v).and_then(|all| if let [q] = all[..] { Some(q) } else { None });
        let found = block.stmts[place]
            .outs
            .iter()
            .filter(|v| made.contains(v))
            .find_map(|v| only(v).filter(|q| *q < block.stmts.len()));
        if let Some(q) = found.filter(|_| is_branch(&block.stmts[place]))
            && moves(&block.stmts[q])
            && reads(&block.stmts[q]).iter().all(|v| !made.contains(v) || only(v) == Some(q))
            && leaves(&block.stmts[place]) * size(&block.stmts[q]) <= COPIES
            && let Some(at) = moved_adjacent(block, place, q)
        {
            put(func, block, at);
            return true;
        }
    }
    false
}

/// A branch both of whose arms compute something. A branch with an arm that only returns an existing value is left
/// alone, because [`super::shifted`] recognises it by that arm.
fn is_branch(s: &Stmt) -> bool {
    matches!(&s.op, Op::If(_, a, b) if !a.stmts.is_empty() && !b.stmts.is_empty()) && s.lin_outs.is_empty()
}

/// Whether a statement may be fused with the one that makes its operand.
fn moves(s: &Stmt) -> bool {
    s.lin_outs.is_empty()
        && match &s.op {
            Op::Un(..)
            | Op::Bin(..)
            | Op::Cmp(..)
            | Op::Not(_)
            | Op::Select(..)
            | Op::Convert(..)
            | Op::Sum { .. }
            | Op::SumAll { .. }
            | Op::Soac(_) => true,
            Op::Loop(l) => {
                l.init.is_empty()
                    && l.lin_init.is_empty()
                    && l.lin_xs.is_empty()
                    && l.lin_outs.is_empty()
                    && matches!(l.trip, Trip::Count(_))
            }
            _ => false,
        }
}

/// The number of blocks in which a branch may end, nested branches included.
fn leaves(s: &Stmt) -> usize {
    let Op::If(_, a, b) = &s.op else { return 1 };
    [a, b]
        .into_iter()
        .map(|b| {
            b.stmts
                .iter()
                .filter(|s| is_branch(s) && s.outs.iter().any(|v| b.results.contains(v)))
                .map(leaves)
                .max()
                .unwrap_or(1)
        })
        .sum()
}

fn size(s: &Stmt) -> usize {
    1 + s.op.blocks().into_iter().flat_map(|b| &b.stmts).map(size).sum::<usize>()
}

/// Moves the statement after the branch at `at` into the arms.
fn put(f: &mut Function, b: &mut Block, at: usize) {
    let stmt = b.stmts.remove(at + 1);
    let branch = &mut b.stmts[at];
    let needs = reads(&stmt);
    let kept: Vec<bool> = branch.outs.iter().map(|v| !needs.contains(v)).collect();
    if let Op::If(_, yes, no) = &mut branch.op {
        for arm in [yes, no] {
            let names = branch.outs.iter().copied().zip(arm.results.iter().copied()).collect();
            let own =
                copy(f, &Block { stmts: vec![stmt.clone()], results: stmt.outs.clone(), ..Block::default() }, names);
            arm.stmts.extend(own.stmts);
            arm.results = of(&arm.results, &kept).chain(own.results).collect();
        }
    }
    branch.outs = of(&branch.outs, &kept).chain(stmt.outs).collect();
}

fn of<'a>(all: &'a [Var], kept: &'a [bool]) -> impl Iterator<Item = Var> + 'a {
    all.iter().zip(kept).filter(|(_, k)| **k).map(|(v, _)| *v)
}
