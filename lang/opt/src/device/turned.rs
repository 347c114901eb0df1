//! Fuses reversals: an array that is only read reversed is read from its end, and a loop whose results are all
//! reversed fills them in the other order.

use super::is_array;
use crate::fuse::{reads, reads_of, rename_op};
use adl_ir::{Block, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};

/// Reverses the direction of stateless loops whose arrays are only read reversed: iteration `stmt` does what iteration
/// `n - 1 - stmt` did.
pub(super) fn backwards(func: &mut Function, block: &mut Block) {
    for stmt in 0..block.stmts.len() {
        let Some(outs) =
            collected(func, &block.stmts[stmt]).filter(|outs| !outs.is_empty() && only_turned(block, stmt, outs))
        else {
            continue;
        };
        let mut names = HashMap::new();
        for s in &block.stmts[stmt + 1..] {
            if let Op::Reverse(a) = &s.op
                && outs.contains(a)
            {
                names.insert(s.outs[0], *a);
            }
        }
        block.stmts.retain(|s| !s.outs.first().is_some_and(|v| names.contains_key(v)));
        block.stmts.iter_mut().for_each(|s| rename_op(&mut s.op, &names));
        block.results.iter_mut().for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
        let before = from_last(func, &mut block.stmts[stmt]);
        block.stmts.splice(stmt..stmt, before);
        return backwards(func, block);
    }
}

/// The arrays of a stateless loop that collects.
fn collected(f: &Function, s: &Stmt) -> Option<Vec<Var>> {
    let Op::Loop(l) = &s.op else { return None };
    let plain = l.init.is_empty()
        && l.lin_init.is_empty()
        && l.lin_xs.is_empty()
        && l.lin_outs.is_empty()
        && matches!(l.trip, Trip::Count(_));
    let outs = &s.outs[..l.outs.len()];
    (plain && l.outs.iter().all(|o| *o == Out::Collect) && l.xs.iter().chain(outs).all(|v| is_array(f, *v)))
        .then(|| outs.to_vec())
}

/// Whether the arrays that a statement makes are read by reversals only.
fn only_turned(b: &Block, at: usize, arrays: &[Var]) -> bool {
    let mut turned = HashSet::new();
    let fine = b.stmts[at + 1..].iter().all(|s| match &s.op {
        Op::Reverse(a) => {
            turned.extend(arrays.contains(a).then_some(*a));
            true
        }
        _ => reads(s).iter().all(|v| !arrays.contains(v)),
    });
    fine && turned.len() == arrays.len() && !b.results.iter().any(|v| arrays.contains(v))
}

/// Reverses the direction of a loop. Returns the statements that it needs before it.
fn from_last(func: &mut Function, s: &mut Stmt) -> Vec<Stmt> {
    let span = s.span;
    let Op::Loop(ir_loop) = &mut s.op else { return Vec::new() };
    let Trip::Count(n) = ir_loop.trip else { return Vec::new() };
    let mut int = |op: Op, to: &mut Vec<Stmt>| {
        let v = func.fresh(Ty::I64, false);
        to.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span });
        v
    };
    let mut before = Vec::new();
    let one = int(Op::Lit(Lit::I64(1)), &mut before);
    let last = int(Op::Bin(Bin::Sub, n, one), &mut before);
    let old = ir_loop.body.params[0];
    let new = func.fresh(Ty::I64, false);
    let mut first = vec![Stmt { outs: vec![old], lin_outs: Vec::new(), op: Op::Bin(Bin::Sub, last, new), span }];
    for (x, a) in ir_loop.body.params.drain(1..).zip(ir_loop.xs.drain(..)) {
        first.push(Stmt { outs: vec![x], lin_outs: Vec::new(), op: Op::Index { a, at: vec![old], shape: None }, span });
    }
    ir_loop.body.params[0] = new;
    ir_loop.body.stmts.splice(0..0, first);
    before
}

/// Makes stateless loops over a reversed array read the original from its end.
pub(super) fn turned(func: &mut Function, block: &mut Block) {
    let turned: HashMap<Var, Var> = block
        .stmts
        .iter()
        .filter_map(|s| if let Op::Reverse(a) = &s.op { Some((s.outs[0], *a)) } else { None })
        .filter(|(v, _)| is_array(func, *v))
        .collect();
    for s in &mut block.stmts {
        if let Op::Loop(l) = &mut s.op
            && l.init.is_empty()
            && l.lin_xs.is_empty()
        {
            from_end(func, l, &turned, s.span);
            continue;
        }
        s.op.blocks_mut()
            .into_iter()
            .for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self::turned(func, b)));
    }
}

fn from_end(func: &mut Function, ir_loop: &mut Loop, turned: &HashMap<Var, Var>, span: Span) {
    let index = ir_loop.body.params[0];
    let mut backs: HashMap<Var, Var> = HashMap::new();
    let mut first = Vec::new();
    let mut back = |f: &mut Function, first: &mut Vec<Stmt>, v: Var, a: Var| {
        *backs.entry(v).or_insert_with(|| {
            let back = f.fresh(f.ty(a).clone(), false);
            first.push(Stmt { outs: vec![back], lin_outs: Vec::new(), op: Op::Reverse(a), span });
            back
        })
    };
    let mut whole: Vec<Var> = reads_of(&ir_loop.body).into_iter().filter(|v| turned.contains_key(v)).collect();
    whole.sort_unstable();
    let names: HashMap<Var, Var> = whole.into_iter().map(|v| (v, back(func, &mut first, v, turned[&v]))).collect();
    ir_loop.body.stmts.iter_mut().for_each(|s| rename_op(&mut s.op, &names));
    for i in (0..ir_loop.xs.len()).rev() {
        let Some(a) = turned.get(&ir_loop.xs[i]) else { continue };
        let x = ir_loop.body.params.remove(1 + i);
        let from = back(func, &mut first, ir_loop.xs.remove(i), *a);
        first.push(Stmt {
            outs: vec![x],
            lin_outs: Vec::new(),
            op: Op::Index { a: from, at: vec![index], shape: None },
            span,
        });
    }
    ir_loop.body.stmts.splice(0..0, first);
}
