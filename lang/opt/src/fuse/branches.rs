//! Branches by one condition are one: what a function's branch leaves for that of its transpose stays in it.

use super::parts::{brought, reads, rename};
use adl_ir::{Block, Op, Stmt, Var};
use std::collections::HashMap;

/// Joins two branches of a block; whether there were such.
pub(super) fn step(b: &mut Block) -> bool {
    for q in 1..b.stmts.len() {
        let Some(c) = condition(&b.stmts[q]) else { continue };
        let needs = reads(&b.stmts[q]);
        if let Some(p) = (0..q).rev().find(|p| condition(&b.stmts[*p]) == Some(c) && b.stmts[*p].outs.iter().any(|v| needs.contains(v)))
            && let Some(at) = brought(b, p, q)
        {
            join(b, at);
            return true;
        }
    }
    false
}

/// What a branch without linear results asks. One that only hands on what there is in one case is left to those who know it by that.
fn condition(s: &Stmt) -> Option<Var> {
    match &s.op {
        Op::If(c, yes, no) if s.lin_outs.is_empty() && !yes.stmts.is_empty() && !no.stmts.is_empty() => Some(*c),
        _ => None,
    }
}

/// Makes one of a branch and the next.
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
