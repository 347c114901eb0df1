//! Loops that carry numbers, for native code: the recurrences that reductions, scans and their derivatives become.
//!
//! A loop over reversed arrays runs over the arrays themselves, from the last iteration to the first. Two carried numbers
//! with the same start and the same step are one.
//!
//! ```text
//! ys = reverse xs;  as = loop for n carry (a = e) over (ys) collect { … };  bs = reverse as
//! ⟼  bs = loop for n reverse carry (a = e) over (xs) collect { … }
//! ```

use super::block_edits::{definitions, reads, reads_of, rename, rename_op};
use super::has_no_linear;
use adl_ir::rewrite::is_pure;
use adl_ir::{Block, Function, Loop, Op, Out, Stmt, Trip, Var};
use std::collections::HashMap;

/// The loop of an operation if it is not linear, and all that it carries and collects are numbers.
pub(super) fn as_recurrence<'a>(f: &Function, op: &'a Op) -> Option<&'a Loop> {
    let Op::Loop(l) = op else { return None };
    let results = l.body.results.iter().zip(l.init.iter().map(|_| Out::Collect).chain(l.outs.iter().copied()));
    let numbers = results.into_iter().all(|(v, out)| out == Out::Collect && f.ty(*v).is_flat());
    (!l.init.is_empty() && numbers && matches!(l.trip, Trip::Count(_)) && has_no_linear(f, op)).then_some(l.as_ref())
}

/// Rewrites one loop of a block. Returns whether there was one.
pub(super) fn simplify_one(f: &mut Function, b: &mut Block) -> bool {
    (0..b.stmts.len()).any(|at| forwards(f, b, at) || joined(f, b, at))
}

/// Lets a loop over reversed arrays run over the arrays themselves.
fn forwards(function: &mut Function, block: &mut Block, at: usize) -> bool {
    let Some(ir_loop) = as_recurrence(function, &block.stmts[at].op) else { return false };
    let defs = definitions(block);
    let original = |v: &Var| match &block.stmts[*defs.get(v)?].op {
        Op::Reverse(a) => Some(*a),
        _ => None,
    };
    let xs: Option<Vec<Var>> = ir_loop.xs.iter().map(original).collect();
    let Some(xs) = xs.filter(|xs| !xs.is_empty()) else { return false };
    let (first, last) = (ir_loop.init.len(), ir_loop.init.len() + ir_loop.outs.len());
    let fewer = ir_loop.outs.len() <= xs.len() || only_reversed(block, at, &block.stmts[at].outs[first..last]);
    if !fewer || reads_of(&ir_loop.body).contains(&ir_loop.body.params[0]) {
        return false;
    }
    let stmt = &mut block.stmts[at];
    let Op::Loop(l) = &mut stmt.op else { return false };
    l.xs = xs;
    l.reverse = !l.reverse;
    let span = stmt.span;
    let mut after = Vec::new();
    for out in &mut stmt.outs[first..last] {
        let turned = function.fresh(function.ty(*out).clone(), false);
        after.push(Stmt { outs: vec![*out], lin_outs: Vec::new(), op: Op::Reverse(turned), span });
        *out = turned;
    }
    block.stmts.splice(at + 1..=at, after);
    true
}

/// Whether all readers of some arrays reverse them.
fn only_reversed(b: &Block, at: usize, arrays: &[Var]) -> bool {
    let read = |s: &Stmt| !matches!(s.op, Op::Reverse(_)) && reads(s).iter().any(|v| arrays.contains(v));
    !b.stmts[at + 1..].iter().any(read) && !b.results.iter().any(|v| arrays.contains(v))
}

/// Lets a loop carry numbers with the same start and the same step once.
fn joined(f: &Function, block: &mut Block, at: usize) -> bool {
    let Some(l) = as_recurrence(f, &block.stmts[at].op) else { return false };
    let classes = classes(f, l);
    let Some(k) = (0..classes.len()).rev().find(|k| classes[*k] != *k) else { return false };
    let stmt = &mut block.stmts[at];
    let (old, kept) = (stmt.outs.remove(k), stmt.outs[classes[k]]);
    let Op::Loop(l) = &mut stmt.op else { return false };
    let names = HashMap::from([(l.body.params.remove(1 + k), l.body.params[1 + classes[k]])]);
    l.init.remove(k);
    l.body.results.remove(k);
    rename(&mut l.body, &names);
    let names = HashMap::from([(old, kept)]);
    block.stmts[at + 1..].iter_mut().for_each(|s| rename_op(&mut s.op, &names));
    block.results.iter_mut().filter(|v| **v == old).for_each(|v| *v = kept);
    true
}

/// For each carried number, the first one that is always equal to it. Those that begin alike are assumed to be equal until
/// an iteration parts them.
fn classes(f: &Function, l: &Loop) -> Vec<usize> {
    let alike = |a: usize, b: usize| l.init[a] == l.init[b] && f.ty(l.init[a]) == f.ty(l.init[b]);
    let mut classes: Vec<usize> = (0..l.init.len()).map(|k| (0..k).find(|j| alike(*j, k)).unwrap_or(k)).collect();
    while classes.iter().enumerate().any(|(k, c)| k != *c) {
        let results = values(l, &classes);
        let same = |j: usize, k: usize| classes[j] == classes[k] && results[j] == results[k];
        let next: Vec<usize> = (0..classes.len()).map(|k| (0..k).find(|j| same(*j, k)).unwrap_or(k)).collect();
        if next == classes {
            break;
        }
        classes = next;
    }
    classes
}

/// The carried results of an iteration. Equal computations have one name, under the assumption that each carried number is
/// that of its class.
fn values(ir_loop: &Loop, classes: &[usize]) -> Vec<Var> {
    let mut names: HashMap<Var, Var> = HashMap::new();
    for (k, c) in classes.iter().enumerate() {
        names.insert(ir_loop.body.params[1 + k], ir_loop.body.params[1 + c]);
    }
    let elements = &ir_loop.body.params[1 + classes.len()..];
    for (k, x) in ir_loop.xs.iter().enumerate() {
        let first = ir_loop.xs.iter().position(|y| y == x).unwrap_or(k);
        names.insert(elements[k], elements[first]);
    }
    let mut seen: HashMap<String, Var> = HashMap::new();
    for s in ir_loop.body.stmts.iter().filter(|s| s.op.blocks().is_empty() && is_pure(&s.op) && s.outs.len() == 1) {
        let mut op = s.op.clone();
        rename_op(&mut op, &names);
        let known = *seen.entry(crate::cse::plain(&op)).or_insert(s.outs[0]);
        names.insert(s.outs[0], known);
    }
    ir_loop.body.results[..classes.len()].iter().map(|v| names.get(v).copied().unwrap_or(*v)).collect()
}
