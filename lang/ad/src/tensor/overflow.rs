//! Overflow in predicates. A narrowed sum computes its predicate for fewer turns, or not at all; an overflow there would be lost. Indices
//! and extents are small, since loops turn that often; other Ints are checked once, where they are made. (A derivative whose check fails is
//! computed in the ordinary way, which meets the overflow where it is.)

use super::affine::{Affine, Forms};
use super::narrow::bound_in;
use adl_ir::{Block, Cmp, Function, Lit, Loop, Op, Stmt, Ty, Var};
use adl_prim::Prim;
use std::collections::{BTreeSet, HashSet};

/// Factors, and Ints, up to these sizes cannot overflow in sums of a few.
const FACTOR: i64 = 1 << 16;
const INT: i64 = 1 << 42;

/// The Ints that predicates compute with besides what is `small`. None if it is not seen that they cannot overflow.
pub(super) fn of_predicates(f: &Function, l: &Loop, bracket: usize, forms: &Forms, small: &dyn Fn(Var) -> bool) -> Option<Vec<Var>> {
    let bound = bound_in(&l.body);
    let mut forms = forms.clone();
    let mut out = Vec::new();
    let mut work: Vec<&Stmt> = l.body.stmts.iter().enumerate().filter(|(k, _)| *k != bracket).map(|(_, s)| s).rev().collect();
    while let Some(s) = work.pop() {
        forms.note(f, s);
        work.extend(s.op.blocks().into_iter().flat_map(|b| &b.stmts).rev());
        if let (Op::Bin(_, a, b), [v]) = (&s.op, s.outs.as_slice()) {
            if *f.ty(*v) == Ty::I64 {
                let form = forms.of(*v);
                // A product of two Ints that both vary is no sum of them.
                let parts = if form == Affine::var(*v) { vec![forms.of(*a), forms.of(*b)] } else { vec![form] };
                let whole = parts.len() == 1;
                for part in parts {
                    out.extend(checked(&part, &bound, small, whole)?);
                }
            }
        }
    }
    Some(out)
}

fn checked(form: &Affine, bound: &HashSet<Var>, small: &dyn Fn(Var) -> bool, whole: bool) -> Option<Vec<Var>> {
    let fits = form.constant.checked_abs()? <= INT * FACTOR && form.terms.len() <= 8 && form.terms.values().all(|k| k.checked_abs().is_some_and(|k| k <= FACTOR));
    let rest: Vec<Var> = form.terms.keys().copied().filter(|v| !small(*v)).collect();
    (fits && (whole || rest.is_empty()) && !rest.iter().any(|v| bound.contains(v))).then_some(rest)
}

/// Adds the checks of Ints behind the statements that make them.
pub(super) fn guard(f: &mut Function, ints: &BTreeSet<Var>) {
    if ints.is_empty() {
        return;
    }
    let mut body = std::mem::take(&mut f.body);
    within(f, &mut body, ints);
    f.body = body;
}

fn within(f: &mut Function, b: &mut Block, ints: &BTreeSet<Var>) {
    let mut out = Vec::new();
    b.params.iter().filter(|v| ints.contains(v)).for_each(|v| check(f, *v, &mut out));
    for mut s in std::mem::take(&mut b.stmts) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || s.op.blocks_mut().into_iter().for_each(|b| within(f, b, ints)));
        let made: Vec<Var> = s.outs.iter().copied().filter(|v| ints.contains(v)).collect();
        out.push(s);
        made.into_iter().for_each(|v| check(f, v, &mut out));
    }
    b.stmts = out;
}

fn check(f: &mut Function, v: Var, out: &mut Vec<Stmt>) {
    let mut push = |f: &mut Function, op: Op, ty: Option<Ty>| {
        let outs: Vec<Var> = ty.into_iter().map(|t| f.fresh(t, false)).collect();
        out.push(Stmt { outs: outs.clone(), lin_outs: Vec::new(), op, span: Default::default() });
        outs.first().copied().unwrap_or(v)
    };
    let text = push(f, Op::Lit(Lit::Str("a predicate that may overflow".into())), Some(Ty::Str));
    for (end, cmp) in [(-INT, Cmp::Ge), (INT, Cmp::Le)] {
        let end = push(f, Op::Lit(Lit::I64(end)), Some(Ty::I64));
        let holds = push(f, Op::Cmp(cmp, v, end), Some(Ty::Bool));
        push(f, Op::Prim(Prim::Assert, vec![holds, text]), None);
    }
}
