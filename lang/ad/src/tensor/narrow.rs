//! Brackets in sums: `Σ i [p] e`, where `p` compares affine forms of indices, runs over those `i` only for which `p` holds (§4.3 of the
//! paper). An equality leaves one term and no sum; inequalities narrow the bounds; what does not depend on `i` guards the whole sum.
//!
//! Done before J, inner sums first, so that what is left of an inner predicate is seen by the sum around it.

use super::affine::{Affine, Forms};
use super::path::comprehension;
use crate::explicit::rename_op;
use adl_ir::{Block, Builder, Cmp, Function, Lit, Loop, Op, Out, Stmt, Ty, Var};
use adl_prim::{Bin, Un};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The function with narrower sums, if there are any to narrow.
pub(crate) fn narrowed(src: &Function) -> Option<Function> {
    if !has_bracket(&src.body) {
        return None;
    }
    let mut n = Narrow { b: Builder::on(src.clone()), forms: Forms::literals(&src.body), axes: Vec::new(), extents: HashSet::new(), names: HashMap::new(), never: HashSet::new(), nothing: HashSet::new(), conditions: HashMap::new(), checked: BTreeSet::new(), changed: false };
    n.b.adopt(&src.body.params, &src.body.lin_params);
    n.stmts(&src.body.stmts);
    if !n.changed {
        return None;
    }
    let results = n.named(&src.body.results);
    let checked = std::mem::take(&mut n.checked);
    let mut out = n.b.finish(results, src.body.lin_results.clone());
    super::overflow::guard(&mut out, &checked);
    crate::dce::remove_dead(&mut out);
    Some(out)
}

/// `Σ i [p] e`.
struct Bracket {
    /// The branch in the body.
    at: usize,
    /// Which of its blocks is `e`.
    arm: usize,
    /// What holds where it is evaluated: forms that are not negative, and forms that are zero.
    positive: Vec<Affine>,
    zero: Vec<Affine>,
    /// Whether these are all of `p`.
    all: bool,
}

struct Narrow {
    b: Builder,
    forms: Forms,
    /// Indices of the loops around, with their turns.
    axes: Vec<(Var, Affine)>,
    /// Extents: they are not negative.
    extents: HashSet<Var>,
    /// What results have become.
    names: HashMap<Var, Var>,
    /// Literals that are false, and zeros.
    never: HashSet<Var>,
    nothing: HashSet<Var>,
    /// How conditions are made that stand around.
    conditions: HashMap<Var, Op>,
    /// Ints in predicates that are no indices: arithmetic on them is done for fewer turns, and must not have failed in the others.
    checked: BTreeSet<Var>,
    changed: bool,
}

impl Narrow {
    fn named(&self, vs: &[Var]) -> Vec<Var> {
        vs.iter().map(|v| *self.names.get(v).unwrap_or(v)).collect()
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            let mut s = s.clone();
            rename_op(&mut s.op, &self.names);
            self.b.span = s.span;
            match &mut s.op {
                Op::Loop(l) => {
                    let axis = comprehension(&Op::Loop(l.clone())).map(|(l, n)| (l.body.params[0], self.forms.of(n)));
                    let inside = axis.is_some();
                    self.axes.extend(axis);
                    l.body = self.block(&l.body);
                    if inside {
                        self.axes.pop();
                    }
                    self.summed(s);
                    continue;
                }
                Op::If(_, a, b) => {
                    **a = self.block(a);
                    **b = self.block(b);
                }
                Op::Switch(_, arms) => arms.iter_mut().for_each(|a| *a = self.block(a)),
                Op::Dim(..) => self.extents.extend(&s.outs),
                _ => {}
            }
            self.push(s);
        }
    }

    fn push(&mut self, s: Stmt) {
        let mut work = vec![&s];
        while let Some(s) = work.pop() {
            self.forms.note(&self.b.func, s);
            self.never.extend(s.outs.iter().filter(|_| is_never(&s.op)));
            self.nothing.extend(s.outs.iter().filter(|_| is_zero(&s.op)));
            if let ([v], Op::Cmp(..) | Op::If(..)) = (s.outs.as_slice(), &s.op) {
                if *self.b.func.ty(*v) == Ty::Bool {
                    self.conditions.insert(*v, s.op.clone());
                }
            }
            work.extend(s.op.blocks().into_iter().flat_map(|b| &b.stmts).rev());
        }
        self.b.push(s);
    }

    fn block(&mut self, b: &Block) -> Block {
        self.b.open();
        self.b.adopt(&b.params, &b.lin_params);
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmts(&b.stmts));
        let (results, lin) = (self.named(&b.results), self.named(&b.lin_results));
        self.b.close(results, lin)
    }

    /// Emits a loop, narrowed as far as it can be.
    fn summed(&mut self, s: Stmt) {
        let Op::Loop(l) = &s.op else { return self.push(s) };
        let Some(k) = self.bracket(l) else { return self.push(s) };
        let Some((_, n)) = comprehension(&s.op) else { return self.push(s) };
        let small = |v: Var| self.extents.contains(&v) || v == l.body.params[0] || self.axes.iter().any(|(i, _)| *i == v);
        let Some(checked) = super::overflow::of_predicates(&self.b.func, l, k.at, &self.forms, &small) else { return self.push(s) };
        self.checked.extend(checked);
        let index = l.body.params[0];
        let bound = bound_in(&l.body);
        let usable = |a: &Affine| a.factor(index) != 0 && a.without(index).all(&|v| !bound.contains(&v));
        let (zero, positive): (Vec<_>, Vec<_>) = (k.zero.iter().filter(|a| usable(a)).cloned().collect(), k.positive.iter().filter(|a| usable(a)).cloned().collect());
        let all = k.all && zero.len() <= 1 && zero.len() + positive.len() == k.zero.len() + k.positive.len();
        let made = match zero.first() {
            Some(eq) => self.one_term(l, &k, eq, all && positive.is_empty(), n),
            None if !positive.is_empty() => self.fewer_terms(l, &k, &positive, all, n),
            None => self.guarded(l, &k, n),
        };
        let Some(made) = made else { return self.push(s) };
        self.changed = true;
        let zero = self.b.int(0);
        let trips = self.b.bin(Bin::Add, n, zero);
        self.names.extend(s.outs.iter().copied().zip(made.into_iter().chain([trips])));
    }

    /// Sees `Σ i [p] e` where nothing else in the body can fail.
    fn bracket(&self, l: &Loop) -> Option<Bracket> {
        let plain = l.init.is_empty() && !l.outs.is_empty() && l.outs.iter().all(|o| *o == Out::Sum) && l.lin_outs.is_empty();
        if !plain || l.body.results.iter().any(|r| self.b.ty(*r).rank() > 0) {
            return None;
        }
        let at = l.body.stmts.iter().position(|s| l.body.results.iter().all(|r| s.outs.contains(r)))?;
        let Op::If(c, a, b) = &l.body.stmts[at].op else { return None };
        let arm = match (self.zeros(a), self.zeros(b)) {
            (_, true) => 0,
            (true, _) => 1,
            _ => return None,
        };
        if !l.body.stmts.iter().enumerate().all(|(k, s)| k == at || safe(&self.b.func, s)) {
            return None;
        }
        let mut k = Bracket { at, arm, positive: Vec::new(), zero: Vec::new(), all: arm == 0 };
        if arm == 0 {
            self.atoms(*c, &l.body.stmts, &mut k, 0);
        }
        Some(k)
    }

    /// Whether a block's results are zeros.
    fn zeros(&self, b: &Block) -> bool {
        b.results.iter().all(|r| self.nothing.contains(r) || b.stmts.iter().any(|s| s.outs.contains(r) && is_zero(&s.op)))
            && b.stmts.iter().all(|s| matches!(s.op, Op::Zero(_) | Op::Lit(_)))
    }

    /// The comparisons that a condition is made of by `&&`.
    fn atoms(&self, c: Var, stmts: &[Stmt], k: &mut Bracket, depth: u32) {
        let here = stmts.iter().find(|s| s.outs.contains(&c)).map(|s| &s.op);
        let Some(op) = here.or_else(|| self.conditions.get(&c)).filter(|_| depth < 32) else {
            k.all = false;
            return;
        };
        match op {
            Op::Cmp(op, a, b) if *self.b.func.ty(*a) == Ty::I64 => self.atom(*op, &self.forms.of(*a), &self.forms.of(*b), k),
            Op::If(c, a, b) if b.results.iter().all(|r| self.never.contains(r) || b.stmts.iter().any(|s| s.outs.contains(r) && is_never(&s.op))) => {
                self.atoms(*c, stmts, k, depth + 1);
                match a.results.first() {
                    Some(r) if a.stmts.iter().any(|s| s.outs.contains(r)) => self.atoms(*r, &a.stmts, k, depth + 1),
                    Some(r) => self.atoms(*r, stmts, k, depth + 1),
                    None => k.all = false,
                }
            }
            _ => k.all = false,
        }
    }

    fn atom(&self, op: Cmp, a: &Affine, b: &Affine, k: &mut Bracket) {
        let less = |x: &Affine, y: &Affine, strict: i64| y.plus(-1, x).and_then(|d| d.plus(-strict, &Affine::constant(1)));
        let (form, list) = match op {
            Cmp::Eq => (a.plus(-1, b), &mut k.zero),
            Cmp::Lt => (less(a, b, 1), &mut k.positive),
            Cmp::Le => (less(a, b, 0), &mut k.positive),
            Cmp::Gt => (less(b, a, 1), &mut k.positive),
            Cmp::Ge => (less(b, a, 0), &mut k.positive),
            Cmp::Ne => (None, &mut k.positive),
        };
        match form {
            Some(form) => list.push(form),
            None => k.all = false,
        }
    }

    /// Whether a form is not negative, whatever the indices around are.
    fn not_negative(&self, a: &Affine) -> bool {
        let small = |a: &Affine| a.constant >= 0 && a.terms.iter().all(|(v, k)| *k > 0 && (self.extents.contains(v) || self.axes.iter().any(|(i, _)| i == v)));
        small(a) || self.axes.iter().any(|(v, turns)| turns.plus(-1, &Affine::var(*v)).and_then(|d| a.plus(-1, &d)?.plus(1, &Affine::constant(1))).is_some_and(|rest| small(&rest)))
    }

    /// The body of a bracket whose predicate is known to hold, or is kept.
    fn term(&mut self, l: &Loop, k: &Bracket, known: bool, index: Var) -> Vec<Var> {
        let mut body = l.body.clone();
        if known {
            let s = body.stmts.remove(k.at);
            let arm = s.op.blocks()[k.arm].clone();
            body.results = body.results.iter().map(|r| s.outs.iter().position(|o| o == r).map_or(*r, |n| arm.results[n])).collect();
            body.stmts.splice(k.at..k.at, arm.stmts);
        }
        let elems: Vec<Var> = l.xs.iter().map(|x| {
            let ty = self.b.ty(*x).elem();
            self.b.one(Op::Index { a: *x, at: vec![index], shape: None }, ty)
        }).collect();
        let mut names: HashMap<Var, Var> = body.params.iter().copied().zip([index].into_iter().chain(elems)).collect();
        for s in &body.stmts {
            let s = self.b.copy_stmt(s, &mut names);
            self.push(s);
        }
        body.results.iter().map(|r| *names.get(r).unwrap_or(r)).collect()
    }

    /// `i = -rest / factor`: the term there, if it is in range.
    fn one_term(&mut self, l: &Loop, k: &Bracket, eq: &Affine, known: bool, n: Var) -> Option<Vec<Var>> {
        let index = l.body.params[0];
        let by = eq.factor(index);
        let whole = eq.without(index).times(if by > 0 { -1 } else { 1 })?;
        let by = by.checked_abs()?;
        let mut guards = Vec::new();
        let zero = self.b.int(0);
        let mut at = whole.emit(&mut self.b);
        if by > 1 {
            let divisor = self.b.int(by);
            let rest = self.b.bin(Bin::Rem, at, divisor);
            guards.push(self.b.cmp(Cmp::Eq, rest, zero));
            at = self.b.bin(Bin::IntDiv, at, divisor);
        }
        if !self.not_negative(&whole) {
            guards.push(self.b.cmp(Cmp::Ge, at, zero));
        }
        let last = self.forms.of(n).plus(-1, &whole)?.plus(-1, &Affine::constant(1))?;
        if by > 1 || !self.not_negative(&last) {
            guards.push(self.b.cmp(Cmp::Lt, at, n));
        }
        if by == 1 {
            self.note(at, whole);
        }
        Some(self.under(&guards, l, &mut |n| n.term(l, k, known, at)))
    }

    /// Remembers the form of an Int.
    fn note(&mut self, v: Var, form: Affine) {
        self.forms.set(v, form);
    }

    /// The sum over those indices for which forms are not negative.
    fn fewer_terms(&mut self, l: &Loop, k: &Bracket, positive: &[Affine], known: bool, n: Var) -> Option<Vec<Var>> {
        let index = l.body.params[0];
        let (mut from, mut to): (Option<Var>, Option<Var>) = (None, None);
        let mut within = false;
        for a in positive {
            let (by, rest) = (a.factor(index), a.without(index));
            let bound = if by > 0 { rest.times(-1)? } else { rest.plus(1, &Affine::constant(1))? };
            if by > 0 && self.not_negative(&bound.times(-1)?) {
                continue;
            }
            let here = self.rounded_up(&bound, by.checked_abs()?)?;
            if by > 0 {
                from = Some(from.map_or(here, |f| self.b.bin(Bin::Max, f, here)));
            } else {
                within |= by == -1 && self.not_negative(&self.forms.of(n).plus(-1, &bound)?);
                to = Some(to.map_or(here, |t| self.b.bin(Bin::Min, t, here)));
            }
        }
        let zero = self.b.int(0);
        let from = from.map(|f| self.b.bin(Bin::Max, f, zero));
        let to = match to {
            Some(to) if within => to,
            Some(to) => self.b.bin(Bin::Min, to, n),
            None => n,
        };
        let count = match from {
            Some(f) => self.b.bin(Bin::Sub, to, f),
            None => to,
        };
        let turns = self.b.bin(Bin::Max, count, zero);
        self.b.open();
        let turn = self.b.param(Ty::I64);
        let at = match from {
            Some(f) => self.b.bin(Bin::Add, f, turn),
            None => turn,
        };
        let results = self.term(l, k, known, at);
        let body = self.b.close(results, Vec::new());
        Some(if known { self.sum_again(l, turns, body) } else { self.sum_loop(l, turns, body) })
    }

    /// A sum whose predicate was settled: there may be another bracket in it.
    fn sum_again(&mut self, l: &Loop, turns: Var, body: Block) -> Vec<Var> {
        let outs: Vec<Var> = body.results.iter().map(|r| self.b.ty(*r)).chain([Ty::I64]).collect::<Vec<_>>().into_iter().map(|t| self.b.func.fresh(t, false)).collect();
        let made = Loop { turns: adl_ir::Turns::For(turns), xs: Vec::new(), body, ..l.clone() };
        let span = self.b.span;
        self.summed(Stmt { outs: outs.clone(), lin_outs: Vec::new(), op: Op::Loop(Box::new(made)), span });
        self.named(&outs[..outs.len() - 1])
    }

    /// -(-a // by).
    fn rounded_up(&mut self, a: &Affine, by: i64) -> Option<Var> {
        if by == 1 {
            return Some(a.emit(&mut self.b));
        }
        let (a, by) = (a.times(-1)?.emit(&mut self.b), self.b.int(by));
        let down = self.b.bin(Bin::IntDiv, a, by);
        Some(self.b.un(Un::Neg, down))
    }

    fn sum_loop(&mut self, l: &Loop, turns: Var, body: Block) -> Vec<Var> {
        let mut tys: Vec<Ty> = body.results.iter().map(|r| self.b.ty(*r)).collect();
        tys.push(Ty::I64);
        let made = Loop { turns: adl_ir::Turns::For(turns), init: Vec::new(), lin_init: Vec::new(), xs: Vec::new(), lin_xs: Vec::new(), lin_outs: Vec::new(), body, ..l.clone() };
        let mut outs = self.b.emit(Op::Loop(Box::new(made)), &tys, &[]).0;
        outs.pop();
        outs
    }

    /// A predicate that no index of the sum takes part in guards all of it.
    fn guarded(&mut self, l: &Loop, k: &Bracket, turns: Var) -> Option<Vec<Var>> {
        let Op::If(c, ..) = &l.body.stmts[k.at].op else { return None };
        let (mut outer, mut varying): (Vec<Stmt>, HashSet<Var>) = (Vec::new(), l.body.params.iter().copied().collect());
        for s in &l.body.stmts {
            let mut varies = false;
            s.op.each_operand(&mut |v| varies |= varying.contains(&v));
            varies |= s.op.blocks().iter().any(|b| reads_any(b, &varying));
            if varies || !s.op.blocks().is_empty() && !safe(&self.b.func, s) {
                varying.extend(&s.outs);
            } else {
                outer.push(s.clone());
            }
        }
        if varying.contains(c) || outer.iter().any(|s| s.outs == l.body.stmts[k.at].outs) {
            return None;
        }
        let mut names = HashMap::new();
        for s in &outer {
            let s = self.b.copy_stmt(s, &mut names);
            self.push(s);
        }
        let c = *names.get(c).unwrap_or(c);
        let holds = if k.arm == 0 {
            c
        } else {
            self.b.one(Op::Not(c), Ty::Bool)
        };
        Some(self.under(&[holds], l, &mut |n| {
            n.b.open();
            let turn = n.b.param(Ty::I64);
            let results = n.term(l, k, true, turn);
            let body = n.b.close(results, Vec::new());
            n.sum_loop(l, turns, body)
        }))
    }

    /// What `make` emits where all guards hold, else zeros.
    fn under(&mut self, guards: &[Var], l: &Loop, make: &mut dyn FnMut(&mut Narrow) -> Vec<Var>) -> Vec<Var> {
        let Some((first, rest)) = guards.split_first() else { return make(self) };
        let tys: Vec<Ty> = l.body.results.iter().map(|r| self.b.ty(*r)).collect();
        self.b.open();
        let some = self.under(rest, l, make);
        let some = self.b.close(some, Vec::new());
        self.b.open();
        let none = tys.iter().map(|t| self.b.one(Op::Zero(t.clone()), t.clone())).collect();
        let none = self.b.close(none, Vec::new());
        self.b.emit(Op::If(*first, Box::new(some), Box::new(none)), &tys, &[]).0
    }
}

pub(super) fn is_never(op: &Op) -> bool {
    matches!(op, Op::Lit(Lit::Bool(false)))
}

fn is_zero(op: &Op) -> bool {
    matches!(op, Op::Zero(_) | Op::Lit(Lit::F64(0.0) | Lit::F32(0.0) | Lit::I64(0)))
}

/// Whether there is a sum whose turns branch.
fn has_bracket(b: &Block) -> bool {
    let mut work = vec![(b, false)];
    while let Some((b, summed)) = work.pop() {
        for s in &b.stmts {
            if summed && matches!(s.op, Op::If(..)) {
                return true;
            }
            let sum = matches!(&s.op, Op::Loop(l) if l.outs.contains(&Out::Sum));
            work.extend(s.op.blocks().into_iter().map(|b| (b, summed || sum)));
        }
    }
    false
}

/// Whether a statement may be left out where nobody reads it: it cannot fail.
fn safe(f: &Function, s: &Stmt) -> bool {
    match &s.op {
        Op::Lit(_) | Op::Zero(_) | Op::Cmp(..) | Op::Not(_) | Op::Dim(..) => true,
        Op::Bin(Bin::Add | Bin::Sub | Bin::Mul, a, b) => f.ty(*a).rank() == 0 && f.ty(*b).rank() == 0,
        Op::If(_, a, b) => [a, b].into_iter().all(|b| b.stmts.iter().all(|s| safe(f, s))),
        _ => false,
    }
}

pub(super) fn bound_in(b: &Block) -> HashSet<Var> {
    let mut out: HashSet<Var> = b.params.iter().copied().collect();
    let mut work = vec![b];
    while let Some(b) = work.pop() {
        for s in &b.stmts {
            out.extend(&s.outs);
            work.extend(s.op.blocks());
        }
    }
    out
}

fn reads_any(b: &Block, vars: &HashSet<Var>) -> bool {
    let mut work = vec![b];
    let mut found = false;
    while let Some(b) = work.pop() {
        found |= b.results.iter().any(|v| vars.contains(v));
        for s in &b.stmts {
            s.op.each_operand(&mut |v| found |= vars.contains(&v));
            work.extend(s.op.blocks());
        }
    }
    found
}
