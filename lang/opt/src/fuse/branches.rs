//! Joins branches on the same condition: values that a function's branch passes to the branch of its transpose then
//! stay inside of one branch.

use super::block_edits::{moved_adjacent, reads, rename};
use adl_ir::{Block, Op, Stmt, Var};
use std::collections::HashMap;

/// Joins one pair of branches of a block. Returns whether there was one.
pub(super) fn fuse_one(b: &mut Block) -> bool {
    for q in 1..b.stmts.len() {
        let Some(c) = condition(&b.stmts[q]) else { continue };
        let needs = reads(&b.stmts[q]);
        if let Some(p) = (0..q)
            .rev()
            .find(|p| condition(&b.stmts[*p]) == Some(c) && b.stmts[*p].outs.iter().any(|v| needs.contains(v)))
            && let Some(at) = moved_adjacent(b, p, q)
        {
            join(b, at);
            return true;
        }
    }
    false
}

/// The condition of a branch without linear results. A branch with an arm that only returns existing values is
/// skipped, because later passes recognise it by that arm.
fn condition(s: &Stmt) -> Option<Var> {
    match &s.op {
        Op::If(c, yes, no) if s.lin_outs.is_empty() && !yes.stmts.is_empty() && !no.stmts.is_empty() => Some(*c),
        _ => None,
    }
}

/// Joins the branch at `at` with the next statement.
fn join(b: &mut Block, at: usize) {
    let second = b.stmts.remove(at + 1);
    let first = &mut b.stmts[at];
    if let (Op::If(_, yes, no), Op::If(_, then_yes, then_no)) = (&mut first.op, second.op) {
        for (arm, mut next) in [(yes, then_yes), (no, then_no)] {
            let names: HashMap<Var, Var> = first.outs.iter().copied().zip(arm.results.iter().copied()).collect();
            rename(&mut next, &names);
            arm.stmts.append(&mut next.stmts);
            arm.results.append(&mut next.results);
        }
        first.outs.extend(second.outs);
    }
}
