//! Removing what nobody reads: statements, results of branches, outputs and carried values of loops.
//!
//! Statements in which something linear takes part stay: each linear variable must be used once. What may print or fail on purpose stays
//! too.

use adl_ir::{Block, Function, Loop, Op, Stmt, Turns, Var};
use adl_prim::Prim;
use std::collections::HashSet;

/// Removes the dead code of a function.
pub fn remove_dead(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    let mut live = HashSet::new();
    block(f, &mut body, &mut live);
    f.body = body;
}

/// Whether a statement does more than make its results.
fn has_effect(s: &Stmt) -> bool {
    match &s.op {
        Op::Prim(p, _) => matches!(p, Prim::Assert | Prim::Error | Prim::Print),
        Op::Call { .. } => s.outs.is_empty() && s.lin_outs.is_empty(),
        op => op.blocks().into_iter().any(|b| b.stmts.iter().any(has_effect)),
    }
}

fn is_linear(f: &Function, s: &Stmt) -> bool {
    let mut found = !s.lin_outs.is_empty();
    s.op.each_operand(&mut |v| found |= f.linear(v));
    found || !crate::explicit::captured_by(f, &s.op).is_empty()
}

/// Removes what is dead in a block; adds to `live` what it reads (its own variables too).
fn block(f: &Function, b: &mut Block, live: &mut HashSet<Var>) {
    live.extend(&b.results);
    let mut kept = Vec::with_capacity(b.stmts.len());
    for mut s in std::mem::take(&mut b.stmts).into_iter().rev() {
        if !s.outs.iter().any(|o| live.contains(o)) && !has_effect(&s) && !is_linear(f, &s) {
            continue;
        }
        shrink(f, &mut s, live);
        s.op.each_operand(&mut |v| {
            live.insert(v);
        });
        kept.push(s);
    }
    kept.reverse();
    b.stmts = kept;
}

/// Keeps the elements at the places where `keep` holds.
fn retain<T: Clone>(v: &mut Vec<T>, keep: &[bool]) {
    let mut k = 0;
    v.retain(|_| {
        k += 1;
        keep.get(k - 1).copied().unwrap_or(true)
    });
}

/// Removes the dead results of a statement with blocks, and what is dead inside.
fn shrink(f: &Function, s: &mut Stmt, live: &mut HashSet<Var>) {
    match &mut s.op {
        Op::If(..) | Op::Switch(..) => {
            let keep: Vec<bool> = s.outs.iter().map(|o| live.contains(o)).collect();
            retain(&mut s.outs, &keep);
            for b in s.op.blocks_mut() {
                retain(&mut b.results, &keep);
                block(f, b, live);
            }
        }
        Op::Loop(l) => shrink_loop(f, &mut s.outs, l, live),
        op => {
            for b in op.blocks_mut() {
                block(f, b, live);
            }
        }
    }
}

fn shrink_loop(f: &Function, outs: &mut Vec<Var>, l: &mut Loop, live: &mut HashSet<Var>) {
    let k = l.init.len();
    let mut carry: Vec<bool> = outs[..k].iter().map(|o| live.contains(o)).collect();
    let keep_outs: Vec<bool> = outs[k..k + l.outs.len()].iter().map(|o| live.contains(o)).collect();
    if let Turns::While(c) = &mut l.turns {
        let mut inside = HashSet::new();
        block(f, c, &mut inside);
        for (n, p) in c.params.iter().enumerate() {
            carry[n] |= inside.contains(p);
        }
        live.extend(inside);
    }
    // A carried value is live where a live result of a turn reads it.
    let used = loop {
        let mut trial = l.body.clone();
        let keep: Vec<bool> = carry.iter().chain(&keep_outs).copied().collect();
        retain(&mut trial.results, &keep);
        let mut inside = HashSet::new();
        block(f, &mut trial, &mut inside);
        let next: Vec<bool> = (0..k).map(|n| carry[n] || inside.contains(&trial.params[1 + n])).collect();
        if next == carry {
            l.body = trial;
            break inside;
        }
        carry = next;
    };
    let keep_xs: Vec<bool> = l.body.params[1 + k..].iter().map(|p| used.contains(p)).collect();
    retain(&mut l.init, &carry);
    retain(&mut l.outs, &keep_outs);
    retain(&mut l.xs, &keep_xs);
    let params: Vec<bool> = std::iter::once(true).chain(carry.iter().copied()).chain(keep_xs).collect();
    retain(&mut l.body.params, &params);
    if let Turns::While(c) = &mut l.turns {
        retain(&mut c.params, &carry);
    }
    let results: Vec<bool> = carry.into_iter().chain(keep_outs).collect();
    retain(outs, &results);
    live.extend(used);
}
