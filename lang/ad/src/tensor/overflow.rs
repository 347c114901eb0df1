//! Overflow in predicates. A narrowed sum evaluates its predicate in fewer iterations, or not at all, and would
//! miss an overflow there. Indices and extents are small, since loops run that often. Other Ints are checked once,
//! where they are computed. (If the check of a derivative fails, the derivative is computed in the ordinary way,
//! which meets the overflow at its place.)

use super::affine::{Affine, Forms};
use super::narrow::bound_in;
use crate::limits::tensor_overflow::{FACTOR, INT, MULTIPLIED};
use adl_ir::{Added, Block, Cmp, Function, Loop, Op, Stmt, Ty, Var};
use adl_prim::Bin;
use std::collections::{BTreeMap, HashSet};

/// Required ranges of Ints, bounds included.
pub(super) type Ranges = BTreeMap<Var, (i64, i64)>;

/// Intersects the required range of an Int.
pub(super) fn within_range(ranges: &mut Ranges, v: Var, (lo, hi): (i64, i64)) {
    let now = ranges.entry(v).or_insert((-INT, INT));
    *now = (now.0.max(lo), now.1.min(hi));
}

/// The Ints with which predicates compute, other than `small` ones, with their required ranges. `None` if an
/// overflow cannot be excluded.
pub(super) fn of_predicates(
    func: &Function,
    l: &Loop,
    bracket: usize,
    forms: &Forms,
    small: &dyn Fn(Var) -> bool,
) -> Option<Ranges> {
    let bound = bound_in(&l.body);
    let mut forms = forms.clone();
    let mut out = Ranges::new();
    let mut work: Vec<&Stmt> =
        l.body.stmts.iter().enumerate().filter(|(k, _)| *k != bracket).map(|(_, s)| s).rev().collect();
    while let Some(s) = work.pop() {
        forms.note(func, s);
        work.extend(s.op.blocks().into_iter().flat_map(|b| &b.stmts).rev());
        if let (Op::Bin(op, a, b), [v]) = (&s.op, s.outs.as_slice())
            && *func.ty(*v) == Ty::I64
        {
            let form = forms.of(*v);
            // A product of two variables is not affine, so both factors are checked.
            let parts = if form == Affine::var(*v) { vec![forms.of(*a), forms.of(*b)] } else { vec![form] };
            let multiplied = parts.len() == 2 && !matches!(op, Bin::Rem | Bin::IntDiv | Bin::Min | Bin::Max);
            let mut others = Vec::new();
            for part in parts {
                others.push(checked(&part, &bound, small)?);
            }
            if multiplied && others.iter().all(|rest| !rest.is_empty()) {
                return None;
            }
            let size = if multiplied { MULTIPLIED } else { INT };
            others.into_iter().flatten().for_each(|v| within_range(&mut out, v, (-size, size)));
        }
    }
    Some(out)
}

/// The variables of a form that are not small.
fn checked(form: &Affine, bound: &HashSet<Var>, small: &dyn Fn(Var) -> bool) -> Option<Vec<Var>> {
    let fits = form.constant.checked_abs()? <= INT * FACTOR
        && form.terms.len() <= 8
        && form.terms.values().all(|k| k.checked_abs().is_some_and(|k| k <= FACTOR));
    // Remainders, quotients, minima and maxima are no larger than their operands, which are checked where they occur.
    let rest: Vec<Var> = form.terms.keys().copied().filter(|v| !small(*v)).collect();
    (fits && !rest.iter().any(|v| bound.contains(v))).then_some(rest)
}

/// Inserts the checks after the statements that compute the Ints.
pub(super) fn guard(f: &mut Function, ints: &Ranges) {
    if ints.is_empty() {
        return;
    }
    let mut body = std::mem::take(&mut f.body);
    within(f, &mut body, ints);
    f.body = body;
}

fn within(f: &mut Function, b: &mut Block, ints: &Ranges) {
    let mut out = Vec::new();
    b.params.iter().for_each(|v| check(f, *v, ints, &mut out));
    for mut s in std::mem::take(&mut b.stmts) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || s.op.blocks_mut().into_iter().for_each(|b| within(f, b, ints)));
        let made = s.outs.clone();
        out.push(s);
        made.into_iter().for_each(|v| check(f, v, ints, &mut out));
    }
    b.stmts = out;
}

fn check(func: &mut Function, var: Var, ints: &Ranges, out: &mut Vec<Stmt>) {
    let Some((lo, hi)) = ints.get(&var) else { return };
    let mut added = Added::new(func, Default::default());
    for (end, cmp) in [(*lo, Cmp::Ge), (*hi, Cmp::Le)] {
        let end = added.int(end);
        let holds = added.cmp(cmp, var, end);
        added.assert(holds, "an Int of a predicate that is too large, or a divisor that is not positive");
    }
    out.append(&mut added.stmts);
}
