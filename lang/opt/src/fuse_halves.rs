//! Joins both halves of a gradient into one function. If a loop of the reverse half reads only what a loop of the
//! primal half stores, the two can then be fused ([`mod@crate::fuse`]), and no residual array is needed.
//!
//! ```text
//! primal x = loop over x collect { y = exp x; z = y · y; return z, y }    (z is summed)
//! transpose y c = loop over y collect { … }
//! ⟼  gradient x = loop over x collect { y = exp x; z = y · y; …; return z, … }    (z is summed)
//! ```

use crate::limits::fuse_halves::MOST;
use adl_ir::rewrite::renumber;
use adl_ir::{Block, FnId, Function, Lit, Loop, Op, Out, Program, Stmt, Trip, Ty, Var};
use std::collections::{HashMap, HashSet};

/// The value and the gradient of a function with one scalar result. `primal` returns the value and the residuals;
/// `cotangent` takes the residuals and a cotangent. `None` if no loop of the one half reads what a loop of the
/// other stores.
pub fn join(p: &Program, primal: FnId, cotangent: FnId) -> Option<Function> {
    let (mut func, backward) = ((**p.func(primal)).clone(), p.func(cotangent));
    let results = func.body.results.clone();
    let (y, kept) = results.split_first()?;
    let (seed, given) = backward.body.params.split_last()?;
    let one = match func.ty(*y) {
        Ty::F64 => Lit::F64(1.0),
        Ty::F32 => Lit::F32(1.0),
        _ => return None,
    };
    let whole = [&func, backward].iter().all(|f| f.body.lin_params.is_empty() && f.body.lin_results.is_empty());
    if !whole
        || given.len() != kept.len()
        || statements(&func.body) + statements(&backward.body) > MOST
        || !shares_array(&func.body, kept, &backward.body, given)
    {
        return None;
    }
    separate_sums(&mut func);
    let at = func.vars.len() as u32;
    func.vars.extend(backward.vars.iter().cloned());
    let names: HashMap<Var, Var> = given.iter().copied().zip(kept.iter().copied()).collect();
    let mut rest = backward.body.clone();
    rest.params.clear();
    renumber(&mut rest, &|v| *names.get(&v).unwrap_or(&Var(v.0 + at)));
    let span = func.body.stmts.last().map(|s| s.span).unwrap_or_default();
    func.body.stmts.push(Stmt { outs: vec![Var(seed.0 + at)], lin_outs: Vec::new(), op: Op::Lit(one), span });
    func.body.stmts.append(&mut rest.stmts);
    func.body.results.truncate(1);
    func.body.results.append(&mut rest.results);
    func.name = format!("gradient {}", func.name.trim_start_matches("primal "));
    Some(func)
}

fn statements(b: &Block) -> usize {
    b.stmts
        .iter()
        .map(|s| {
            1 + s
                .op
                .blocks()
                .into_iter()
                .map(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || statements(b)))
                .sum::<usize>()
        })
        .sum()
}

fn trip(s: &Stmt) -> Option<&Loop> {
    match &s.op {
        Op::Loop(l) if matches!(l.trip, Trip::Count(_)) => Some(l),
        _ => None,
    }
}

/// Whether a loop reads elements of an array that a stateless loop of the other half stores.
fn shares_array(f: &Block, kept: &[Var], g: &Block, given: &[Var]) -> bool {
    let made: HashSet<Var> = f
        .stmts
        .iter()
        .filter(|s| trip(s).is_some_and(|l| l.init.is_empty()))
        .flat_map(|s| s.outs.iter().copied())
        .collect();
    let read: HashSet<Var> = g.stmts.iter().filter_map(trip).flat_map(|l| l.xs.iter().copied()).collect();
    kept.iter().zip(given).any(|(k, v)| made.contains(k) && read.contains(v))
}

/// Separates the sums of stateless loops from the loops, in the same order of additions. Such a loop can then be
/// fused with one in the other direction.
fn separate_sums(func: &mut Function) {
    let mut body = std::mem::take(&mut func.body);
    for mut stmt in std::mem::take(&mut body.stmts) {
        let mut sums = Vec::new();
        if let Op::Loop(l) = &mut stmt.op
            && let (Trip::Count(count), true, false) = (&l.trip, l.init.is_empty(), l.reverse)
        {
            for (k, o) in l.outs.iter_mut().enumerate() {
                if *o != Out::Sum || *func.ty(stmt.outs[k]) != Ty::F64 {
                    continue;
                }
                *o = Out::Collect;
                let terms = func.fresh(Ty::F64.array(1), false);
                let total = std::mem::replace(&mut stmt.outs[k], terms);
                sums.push(Stmt {
                    outs: vec![total],
                    lin_outs: Vec::new(),
                    op: Op::Sum { a: terms, n: Some(*count) },
                    span: stmt.span,
                });
            }
        }
        body.stmts.push(stmt);
        body.stmts.append(&mut sums);
    }
    func.body = body;
}
