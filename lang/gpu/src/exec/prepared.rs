//! Functions made ready: those that are called become ones whose loops carry less.
//!
//! The transposed half of a derivative carries arrays to which each turn adds something, and which nothing else reads: sums over the turns. As such
//! they leave the turns independent of each other, which is what kernels want. The order of the additions changes.

use adl_ir::{Block, Cmp, FnId, Function, Lit, Loop, Op, Out, Program, Stmt, Turns, Ty, Var};
use adl_prim::{Bin, Prim};
use std::collections::HashMap;

/// A program whose functions that this one calls are ready.
pub(super) fn ready(p: &Program, f: FnId) -> Program {
    let mut p = p.clone();
    for id in p.callees(f, |_, _| true) {
        let mut own = (**p.func(id)).clone();
        adl_opt::finish_for_device(&p, &mut own);
        let mut body = std::mem::take(&mut own.body);
        block(&mut own, &mut body);
        own.body = body;
        p.set(id, own);
    }
    p
}

/// The same with operations on vectors as loops in this function, for arguments none of which is an absent zero.
pub(super) fn vectors(p: &Program, f: FnId) -> Program {
    let mut p = p.clone();
    let mut own = (**p.func(f)).clone();
    if adl_opt::device::vectors(&p, &mut own) {
        p.set(f, own);
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

/// What a turn does to what is carried.
enum Term {
    /// Adds this to it.
    All(Var),
    /// Adds this to its element, or part, at an index; and the operand that says its shape.
    At(Var, Var, Option<Var>),
    /// The same where the index is that of all turns.
    Always(Var, Var, Option<Var>),
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
            let ty = f.ty(old).clone();
            let mut put = |f: &mut Function, l: &mut Loop, v: Var, out: Out, ty: Ty| {
                let (made, place) = (f.fresh(ty, false), l.init.len() + l.outs.len());
                l.outs.push(out);
                l.body.results.push(v);
                outs.insert(place, made);
                made
            };
            let op = match term {
                Term::All(v) => Op::Bin(Bin::Add, before, put(f, l, *v, Out::Sum, ty.clone())),
                Term::Always(at, v, shape) => Op::IndexAdd { acc: before, at: vec![*at], v: put(f, l, *v, Out::Sum, ty.elem()), shape: *shape },
                Term::At(at, v, shape) => {
                    let row = ty.elem();
                    in_bounds(f, l, *at, init, *shape);
                    let (at, v) = (put(f, l, *at, Out::Collect, Ty::shape()), put(f, l, *v, Out::Collect, row.array(1)));
                    Op::GatherAdd { acc: before, at, v, shape: *shape }
                }
            };
            let to = if i + 1 == terms.len() { old } else { f.fresh(ty, false) };
            after.push(Stmt { outs: vec![to], lin_outs: Vec::new(), op, span: Default::default() });
            before = to;
        }
    }
    after
}

/// Has each turn check that an index is in bounds: what is added at all indices after the loop leaves out those that are not.
fn in_bounds(f: &mut Function, l: &mut Loop, at: Var, acc: Var, shape: Option<Var>) {
    let mut add = |op: Op, ty: Ty| {
        let v = f.fresh(ty, false);
        l.body.stmts.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: Default::default() });
        v
    };
    let (zero, no) = (add(Op::Lit(Lit::I64(0)), Ty::I64), add(Op::Lit(Lit::Bool(false)), Ty::Bool));
    let n = match shape {
        Some(s) => add(Op::Index { a: s, at: vec![zero], shape: None }, Ty::I64),
        None => add(Op::Dim(acc, 0), Ty::I64),
    };
    let (low, high) = (add(Op::Cmp(Cmp::Ge, at, zero), Ty::Bool), add(Op::Cmp(Cmp::Lt, at, n), Ty::Bool));
    let fine = add(Op::Select(low, high, no), Ty::Bool);
    l.body.stmts.push(Stmt { outs: Vec::new(), lin_outs: Vec::new(), op: Op::Prim(Prim::Assert, vec![fine]), span: Default::default() });
}

/// Whether a chain of additions, each read once, leads from a value to the parameter.
fn leads(made: &HashMap<Var, &Op>, once: &dyn Fn(Var) -> bool, mut v: Var, param: Var) -> bool {
    loop {
        match made.get(&v) {
            _ if v == param => return true,
            Some(Op::Bin(Bin::Add, a, _) | Op::IndexAdd { acc: a, .. }) if once(v) => v = *a,
            _ => return false,
        }
    }
}

/// What each turn adds to the carried value of this number, and what that makes: if this is all that becomes of it.
fn terms(f: &Function, l: &Loop, k: usize) -> Option<Vec<(Term, Var)>> {
    let (param, mut at) = (*l.body.params.get(k + 1)?, *l.body.results.get(k)?);
    if !matches!(f.ty(param).scalar(), Ty::F64 | Ty::F32) || f.linear(param) {
        return None;
    }
    let n = counts(&l.body);
    let once = |v: Var| n.get(&v) == Some(&1);
    let made: HashMap<Var, &Op> = l.body.stmts.iter().filter_map(|s| if let [v] = s.outs[..] { Some((v, &s.op)) } else { None }).collect();
    // What is known before the loop: neither the body nor a turn binds it.
    let outside = |v: Var| !made.contains_key(&v) && !l.body.params.contains(&v) && l.body.stmts.iter().all(|s| !s.outs.contains(&v));
    let chain = |v: Var| leads(&made, &once, v, param);
    let mut terms = Vec::new();
    while at != param {
        let (next, term) = match made.get(&at).filter(|_| once(at))? {
            Op::Bin(Bin::Add, a, b) if f.ty(*a) == f.ty(*b) => {
                let (next, term) = if chain(*a) { (*a, *b) } else { (*b, *a) };
                if term == param {
                    return None;
                }
                (next, Term::All(term))
            }
            Op::IndexAdd { acc, at: keys, v, shape } if shape.is_none_or(outside) && f.ty(*v).rank() + 1 == f.ty(*acc).rank() => {
                let [key] = keys[..] else { return None };
                if *v == param || key == param {
                    return None;
                }
                (*acc, if outside(key) { Term::Always(key, *v, *shape) } else { Term::At(key, *v, *shape) })
            }
            _ => return None,
        };
        terms.push((term, at));
        at = next;
    }
    (once(param) && !terms.is_empty()).then_some(terms)
}
