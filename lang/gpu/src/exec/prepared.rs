//! Functions made ready: those that are called become ones whose loops carry less.
//!
//! The transposed half of a derivative carries arrays to which each turn adds something, and which nothing else reads: sums over the turns. As such
//! they leave the turns independent of each other, which is what kernels want. The order of the additions changes.

use adl_ir::{Block, FnId, Function, Loop, Op, Out, Program, Stmt, Turns, Ty, Var};
use adl_prim::Bin;
use std::collections::HashMap;

/// A program whose functions that this one calls are ready.
pub(super) fn ready(p: &Program, f: FnId) -> Program {
    let mut p = p.clone();
    for id in p.callees(f, |_, _| true) {
        let mut own = (**p.func(id)).clone();
        let mut body = std::mem::take(&mut own.body);
        let changed = block(&mut own, &mut body);
        own.body = body;
        if changed {
            p.set(id, own);
        }
    }
    p
}

/// Whether anything changed.
fn block(f: &mut Function, b: &mut Block) -> bool {
    let mut changed = false;
    let stmts = std::mem::take(&mut b.stmts);
    for mut s in stmts {
        for inner in s.op.blocks_mut() {
            changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || block(f, inner));
        }
        let after = match &mut s.op {
            Op::Loop(l) if matches!(l.turns, Turns::For(_)) && l.lin_init.is_empty() && l.lin_outs.is_empty() => sums(f, l, &mut s.outs),
            _ => Vec::new(),
        };
        changed |= !after.is_empty();
        b.stmts.push(s);
        b.stmts.extend(after);
    }
    changed
}

/// How often a block reads each variable.
fn counts(b: &Block) -> HashMap<Var, usize> {
    let mut n = HashMap::new();
    super::turns::reads(b, &mut |v| *n.entry(v).or_default() += 1);
    n
}

/// Makes sums of what a loop carries and only adds to; statements that add them to what there was before.
fn sums(f: &mut Function, l: &mut Loop, outs: &mut Vec<Var>) -> Vec<Stmt> {
    let mut after = Vec::new();
    let mut k = 0;
    while k < l.init.len() {
        let Some(terms) = terms(f, l, k) else {
            k += 1;
            continue;
        };
        let (init, old) = (l.init.remove(k), outs.remove(k));
        l.body.params.remove(k + 1);
        l.body.results.remove(k);
        l.body.stmts.retain(|s| !terms.iter().any(|(_, made)| s.outs == [*made]));
        let mut before = init;
        for (i, (term, _)) in terms.iter().enumerate() {
            let (ty, place) = (f.ty(old).clone(), l.init.len() + l.outs.len());
            let sum = f.fresh(ty.clone(), false);
            l.outs.push(Out::Sum);
            l.body.results.push(*term);
            outs.insert(place, sum);
            let to = if i + 1 == terms.len() { old } else { f.fresh(ty, false) };
            after.push(Stmt { outs: vec![to], lin_outs: Vec::new(), op: Op::Bin(Bin::Add, before, sum), span: Default::default() });
            before = to;
        }
    }
    after
}

/// What each turn adds to the carried value of this number, and to what: if the sums are all that becomes of it.
fn terms(f: &Function, l: &Loop, k: usize) -> Option<Vec<(Var, Var)>> {
    let (param, mut at) = (*l.body.params.get(k + 1)?, *l.body.results.get(k)?);
    if !matches!(f.ty(param).scalar(), Ty::F64 | Ty::F32) || f.linear(param) {
        return None;
    }
    let n = counts(&l.body);
    let once = |v: Var| n.get(&v) == Some(&1);
    let made: HashMap<Var, &Op> = l.body.stmts.iter().filter_map(|s| if let [v] = s.outs[..] { Some((v, &s.op)) } else { None }).collect();
    let from = |mut v: Var| {
        // Whether a chain of additions leads to the parameter.
        loop {
            match made.get(&v) {
                _ if v == param => return true,
                Some(Op::Bin(Bin::Add, a, _)) if once(v) => v = *a,
                _ => return false,
            }
        }
    };
    let mut terms = Vec::new();
    while at != param {
        let Op::Bin(Bin::Add, a, b) = made.get(&at).filter(|_| once(at))? else { return None };
        let (next, term) = if from(*a) { (*a, *b) } else { (*b, *a) };
        if term == param || f.ty(term) != f.ty(param) {
            return None;
        }
        terms.push((term, at));
        at = next;
    }
    (once(param) && !terms.is_empty()).then_some(terms)
}
