//! Fuses reversals: an array that is only read reversed is read from its end, and a loop whose results are all
//! reversed fills them in the other order.

use super::is_array;
use crate::fuse::{reads, reads_of, rename_op};
use adl_ir::{Block, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};

/// Reverses the direction of stateless loops whose arrays are only read reversed: iteration `i` does what iteration
/// `n - 1 - i` did.
pub(super) fn backwards(f: &mut Function, b: &mut Block) {
    for i in 0..b.stmts.len() {
        let Some(outs) = collected(f, &b.stmts[i]).filter(|outs| !outs.is_empty() && only_turned(b, i, outs)) else {
            continue;
        };
        let mut names = HashMap::new();
        for s in &b.stmts[i + 1..] {
            if let Op::Reverse(a) = &s.op
                && outs.contains(a)
            {
                names.insert(s.outs[0], *a);
            }
        }
        b.stmts.retain(|s| !s.outs.first().is_some_and(|v| names.contains_key(v)));
        b.stmts.iter_mut().for_each(|s| rename_op(&mut s.op, &names));
        b.results.iter_mut().for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
        let before = from_last(f, &mut b.stmts[i]);
        b.stmts.splice(i..i, before);
        return backwards(f, b);
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
fn from_last(f: &mut Function, s: &mut Stmt) -> Vec<Stmt> {
    let span = s.span;
    let Op::Loop(l) = &mut s.op else { return Vec::new() };
    let Trip::Count(n) = l.trip else { return Vec::new() };
    let mut int = |op: Op, to: &mut Vec<Stmt>| {
        let v = f.fresh(Ty::I64, false);
        to.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span });
        v
    };
    let mut before = Vec::new();
    let one = int(Op::Lit(Lit::I64(1)), &mut before);
    let last = int(Op::Bin(Bin::Sub, n, one), &mut before);
    let old = l.body.params[0];
    let new = f.fresh(Ty::I64, false);
    let mut first = vec![Stmt { outs: vec![old], lin_outs: Vec::new(), op: Op::Bin(Bin::Sub, last, new), span }];
    for (x, a) in l.body.params.drain(1..).zip(l.xs.drain(..)) {
        first.push(Stmt { outs: vec![x], lin_outs: Vec::new(), op: Op::Index { a, at: vec![old], shape: None }, span });
    }
    l.body.params[0] = new;
    l.body.stmts.splice(0..0, first);
    before
}

/// Makes stateless loops over a reversed array read the original from its end.
pub(super) fn turned(f: &mut Function, b: &mut Block) {
    let turned: HashMap<Var, Var> = b
        .stmts
        .iter()
        .filter_map(|s| if let Op::Reverse(a) = &s.op { Some((s.outs[0], *a)) } else { None })
        .filter(|(v, _)| is_array(f, *v))
        .collect();
    for s in &mut b.stmts {
        if let Op::Loop(l) = &mut s.op
            && l.init.is_empty()
            && l.lin_xs.is_empty()
        {
            from_end(f, l, &turned, s.span);
            continue;
        }
        s.op.blocks_mut().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self::turned(f, b)));
    }
}

fn from_end(f: &mut Function, l: &mut Loop, turned: &HashMap<Var, Var>, span: Span) {
    let index = l.body.params[0];
    let mut backs: HashMap<Var, Var> = HashMap::new();
    let mut first = Vec::new();
    let mut back = |f: &mut Function, first: &mut Vec<Stmt>, v: Var, a: Var| {
        *backs.entry(v).or_insert_with(|| {
            let back = f.fresh(f.ty(a).clone(), false);
            first.push(Stmt { outs: vec![back], lin_outs: Vec::new(), op: Op::Reverse(a), span });
            back
        })
    };
    let mut whole: Vec<Var> = reads_of(&l.body).into_iter().filter(|v| turned.contains_key(v)).collect();
    whole.sort_unstable();
    let names: HashMap<Var, Var> = whole.into_iter().map(|v| (v, back(f, &mut first, v, turned[&v]))).collect();
    l.body.stmts.iter_mut().for_each(|s| rename_op(&mut s.op, &names));
    for i in (0..l.xs.len()).rev() {
        let Some(a) = turned.get(&l.xs[i]) else { continue };
        let x = l.body.params.remove(1 + i);
        let from = back(f, &mut first, l.xs.remove(i), *a);
        first.push(Stmt {
            outs: vec![x],
            lin_outs: Vec::new(),
            op: Op::Index { a: from, at: vec![index], shape: None },
            span,
        });
    }
    l.body.stmts.splice(0..0, first);
}
