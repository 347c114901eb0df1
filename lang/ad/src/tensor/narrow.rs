//! Brackets in sums: `Σ i [p] e`, where `p` compares affine forms of indices ([`super::predicate`]), is restricted
//! to those `i` for which `p` holds (§4.3 of the paper). An equality leaves one term and no sum, inequalities
//! narrow the bounds, a congruence gives the sum a stride, and a condition that does not depend on `i` guards the
//! entire sum. A sum whose predicate has alternatives is first split ([`super::disjoint`]).
//!
//! The pass runs before J, on inner sums first, so that the sum around it can use what remains of an inner predicate.

use super::affine::{Affine, Forms};
use super::bounds::SumBounds;
use super::overflow::{Ranges, within_range};
use super::path::comprehension;
use super::predicate::{Atom, LinearForm, SumIndex};
use adl_ir::rewrite::rename::rename_op;
use adl_ir::{Block, Builder, Function, Lit, Loop, Op, Out, Stmt, Ty, Var};
use adl_prim::{Bin, Un};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Which sums are narrowed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NarrowMode {
    /// All sums.
    All,
    /// Sums of which at most one term is left, and others as far as no additions are reordered.
    SameBits,
}

/// The function with narrowed sums; `None` if there are none to narrow.
pub(crate) fn narrowed(src: &Function, which: NarrowMode) -> Option<Function> {
    if !has_bracket(&src.body) {
        return None;
    }
    let (choices, split);
    let src = match which {
        NarrowMode::SameBits => src,
        NarrowMode::All => {
            choices = super::abs_as_max::as_choices(src);
            let src = choices.as_ref().unwrap_or(src);
            split = super::disjoint::split(src);
            split.as_ref().unwrap_or(src)
        }
    };
    let mut narrow = Narrow {
        b: Builder::on(src.clone()),
        forms: Forms::literals(&src.body),
        axes: Vec::new(),
        extents: HashSet::new(),
        names: HashMap::new(),
        nothing: HashSet::new(),
        defs: HashMap::new(),
        checked: Ranges::new(),
        divisors: BTreeSet::new(),
        which,
        changed: false,
    };
    narrow.b.adopt(&src.body.params, &src.body.lin_params);
    narrow.stmts(&src.body.stmts);
    if !narrow.changed {
        return None;
    }
    let results = narrow.named(&src.body.results);
    let (mut checked, divisors) = (std::mem::take(&mut narrow.checked), std::mem::take(&mut narrow.divisors));
    let mut out = narrow.b.finish(results, src.body.lin_results.clone());
    divisors.into_iter().for_each(|v| within_range(&mut checked, v, (1, i64::MAX)));
    super::overflow::guard(&mut out, &checked);
    adl_ir::rewrite::dce::remove_dead(&mut out);
    Some(out)
}

/// The pattern `Σ i [p] e`.
pub(super) struct Bracket {
    /// The position of the branch in the body.
    at: usize,
    /// The index of the arm that computes `e`.
    arm: usize,
}

pub(super) struct Narrow {
    pub(super) b: Builder,
    pub(super) forms: Forms,
    /// The indices of the enclosing loops, with their trip counts.
    pub(super) axes: Vec<(Var, Affine)>,
    /// Extents, which are not negative.
    extents: HashSet<Var>,
    /// Renaming of results.
    names: HashMap<Var, Var>,
    /// Zeros.
    nothing: HashSet<Var>,
    /// Definitions of Bools and Ints.
    pub(super) defs: HashMap<Var, Op>,
    /// Ints in predicates that are not indices. Arithmetic on them is executed in fewer iterations, so it must be
    /// shown not to overflow in the others.
    checked: Ranges,
    /// Divisors in predicates, which are assumed to be positive.
    pub(super) divisors: BTreeSet<Var>,
    which: NarrowMode,
    changed: bool,
}

impl Narrow {
    fn named(&self, vs: &[Var]) -> Vec<Var> {
        vs.iter().map(|v| *self.names.get(v).unwrap_or(v)).collect()
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            let mut stmt = s.clone();
            rename_op(&mut stmt.op, &self.names);
            self.b.span = stmt.span;
            match &mut stmt.op {
                Op::Loop(l) => {
                    let axis = comprehension(&Op::Loop(l.clone())).map(|(l, n)| (l.body.params[0], self.forms.of(n)));
                    let inside = axis.is_some();
                    self.axes.extend(axis);
                    l.body = self.block(&l.body);
                    if inside {
                        self.axes.pop();
                    }
                    self.summed(stmt);
                    continue;
                }
                Op::If(_, a, b) => {
                    **a = self.block(a);
                    **b = self.block(b);
                }
                Op::Switch(_, arms) => arms.iter_mut().for_each(|a| *a = self.block(a)),
                Op::Dim(..) => self.extents.extend(&stmt.outs),
                _ => {}
            }
            self.push(stmt);
        }
    }

    fn push(&mut self, s: Stmt) {
        self.learn(&s);
        self.b.push(s);
    }

    /// Records the definitions by a statement and its blocks.
    fn learn(&mut self, s: &Stmt) {
        let mut work = vec![s];
        while let Some(stmt) = work.pop() {
            self.forms.note(&self.b.func, stmt);
            self.nothing.extend(stmt.outs.iter().filter(|_| is_zero(&stmt.op)));
            if let [v] = stmt.outs.as_slice() {
                let kept = match &stmt.op {
                    Op::Cmp(..) | Op::If(..) | Op::Not(_) | Op::Lit(Lit::Bool(_)) => *self.b.func.ty(*v) == Ty::Bool,
                    Op::Bin(..) => *self.b.func.ty(*v) == Ty::I64,
                    _ => false,
                };
                if kept {
                    self.defs.insert(*v, stmt.op.clone());
                }
            }
            work.extend(stmt.op.blocks().into_iter().flat_map(|b| &b.stmts).rev());
        }
    }

    fn block(&mut self, b: &Block) -> Block {
        self.b.open();
        self.b.adopt(&b.params, &b.lin_params);
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmts(&b.stmts));
        let (results, lin) = (self.named(&b.results), self.named(&b.lin_results));
        self.b.close(results, lin)
    }

    /// Emits a loop, narrowed as far as possible.
    fn summed(&mut self, stmt: Stmt) {
        let Op::Loop(ir_loop) = &stmt.op else { return self.push(stmt) };
        ir_loop.body.stmts.iter().for_each(|s| self.learn(s));
        let Some(bracket) = self.bracket(ir_loop) else { return self.push(stmt) };
        let (Some((_, trip)), Op::If(condition, ..)) = (comprehension(&stmt.op), &ir_loop.body.stmts[bracket.at].op)
        else {
            return self.push(stmt);
        };
        let small =
            |v: Var| self.extents.contains(&v) || v == ir_loop.body.params[0] || self.axes.iter().any(|(i, _)| *i == v);
        let Some(checked) = super::overflow::of_predicates(&self.b.func, ir_loop, bracket.at, &self.forms, &small)
        else {
            return self.push(stmt);
        };
        let bound = bound_in(&ir_loop.body);
        let (sum, before, mut atoms) =
            (SumIndex { index: ir_loop.body.params[0], bound: &bound }, self.divisors.clone(), Vec::new());
        let divided = self.divided(ir_loop, bracket.at, &sum);
        self.atoms(*condition, bracket.arm == 0, &sum, &mut atoms, 0);
        let made = match SumBounds::of(atoms) {
            _ if !divided => None,
            Some(bounds) if self.which == NarrowMode::SameBits && bounds.one.is_none() => {
                self.keeps_order(ir_loop, &bounds).then(|| self.same_order(ir_loop, &bracket, &bounds, trip))
            }
            Some(bounds) => Some(self.bounded(ir_loop, &bracket, &bounds, trip)),
            None => self.guarded(ir_loop, &bracket, trip),
        };
        let Some(made) = made else {
            self.divisors = before;
            return self.push(stmt);
        };
        checked.into_iter().for_each(|(v, range)| within_range(&mut self.checked, v, range));
        self.changed = true;
        let zero = self.b.int(0);
        let trips = self.b.bin(Bin::Add, trip, zero);
        self.names.extend(stmt.outs.iter().copied().zip(made.into_iter().chain([trips])));
    }

    /// Whether nothing in the body, apart from the bracket, divides by a number that may be 0.
    fn divided(&mut self, l: &Loop, bracket: usize, sum: &SumIndex) -> bool {
        let mut divisors = Vec::new();
        let mut work: Vec<&Stmt> =
            l.body.stmts.iter().enumerate().filter(|(k, _)| *k != bracket).map(|(_, s)| s).collect();
        while let Some(s) = work.pop() {
            if let Op::Bin(Bin::Rem | Bin::IntDiv, _, by) = &s.op {
                divisors.extend((*self.b.func.ty(*by) == Ty::I64).then_some(*by));
            }
            work.extend(s.op.blocks().into_iter().flat_map(|b| &b.stmts));
        }
        divisors.into_iter().all(|by| {
            let by = self.forms.of(by);
            self.is_positive(&by, sum)
        })
    }

    /// Recognises `Σ i [p] e` if nothing else in the body can fail.
    fn bracket(&self, ir_loop: &Loop) -> Option<Bracket> {
        let plain = ir_loop.init.is_empty()
            && !ir_loop.outs.is_empty()
            && ir_loop.outs.iter().all(|o| *o == Out::Sum)
            && ir_loop.lin_outs.is_empty();
        if !plain || ir_loop.body.results.iter().any(|r| self.b.ty(*r).rank() > 0) {
            return None;
        }
        let at = ir_loop.body.stmts.iter().position(|s| ir_loop.body.results.iter().all(|r| s.outs.contains(r)))?;
        let Op::If(_, a, block) = &ir_loop.body.stmts[at].op else { return None };
        let arm = match (self.zeros(a), self.zeros(block)) {
            (_, true) => 0,
            (true, _) => 1,
            _ => return None,
        };
        ir_loop
            .body
            .stmts
            .iter()
            .enumerate()
            .all(|(k, s)| k == at || safe(&self.b.func, s))
            .then_some(Bracket { at, arm })
    }

    /// Emits the sum over the indices within the bounds.
    fn bounded(&mut self, l: &Loop, k: &Bracket, bounds: &SumBounds, n: Var) -> Vec<Var> {
        let guards: Vec<Var> = bounds.guards.iter().map(|a| self.holds(a)).collect();
        self.under(&guards, l, &mut |m| match &bounds.one {
            Some((whole, by)) => m.one_term(l, k, whole, *by, bounds.all, n),
            None if bounds.narrower() => m.fewer_terms(l, k, bounds, n),
            None => {
                m.b.open();
                let iteration = m.b.param(Ty::I64);
                let results = m.term(l, k, bounds.all, iteration);
                let body = m.b.close(results, Vec::new());
                if bounds.all { m.sum_again(l, n, body) } else { m.sum_loop(l, n, body) }
            }
        })
    }

    /// Emits a condition that does not depend on the index of the sum.
    fn holds(&mut self, a: &Atom) -> Var {
        let zero = self.b.int(0);
        let (op, v) = match a {
            Atom::Zero(l) => (adl_ir::Cmp::Eq, l.rest.emit(&mut self.b)),
            Atom::Positive(l) => (adl_ir::Cmp::Ge, l.rest.emit(&mut self.b)),
            Atom::Multiple(l, by) => {
                let (whole, by) = (l.rest.emit(&mut self.b), by.emit(&mut self.b));
                (adl_ir::Cmp::Eq, self.b.bin(Bin::Rem, whole, by))
            }
            Atom::Test => (adl_ir::Cmp::Eq, zero),
        };
        self.b.cmp(op, v, zero)
    }

    /// Whether the results of a block are zeros.
    fn zeros(&self, b: &Block) -> bool {
        b.results
            .iter()
            .all(|r| self.nothing.contains(r) || b.stmts.iter().any(|s| s.outs.contains(r) && is_zero(&s.op)))
            && b.stmts.iter().all(|s| matches!(s.op, Op::Zero(_) | Op::Lit(_)))
    }

    /// Whether a form is not negative for all values of the enclosing indices.
    pub(super) fn not_negative(&self, a: &Affine) -> bool {
        let small = |a: &Affine| {
            a.constant >= 0
                && a.terms
                    .iter()
                    .all(|(v, k)| *k > 0 && (self.extents.contains(v) || self.axes.iter().any(|(i, _)| i == v)))
        };
        small(a)
            || self.axes.iter().any(|(v, trip)| {
                trip.plus(-1, &Affine::var(*v))
                    .and_then(|d| a.plus(-1, &d)?.plus(1, &Affine::constant(1)))
                    .is_some_and(|rest| small(&rest))
            })
    }

    /// Emits the body of a bracket. The predicate is omitted if `known`, else it is kept.
    pub(super) fn term(&mut self, ir_loop: &Loop, k: &Bracket, known: bool, index: Var) -> Vec<Var> {
        let mut body = ir_loop.body.clone();
        if known {
            let s = body.stmts.remove(k.at);
            let arm = s.op.blocks()[k.arm].clone();
            body.results = body
                .results
                .iter()
                .map(|r| s.outs.iter().position(|o| o == r).map_or(*r, |n| arm.results[n]))
                .collect();
            body.stmts.splice(k.at..k.at, arm.stmts);
        }
        let elems: Vec<Var> = ir_loop
            .xs
            .iter()
            .map(|x| {
                let ty = self.b.ty(*x).elem();
                self.b.one(Op::Index { a: *x, at: vec![index], shape: None }, ty)
            })
            .collect();
        let mut names: HashMap<Var, Var> = body.params.iter().copied().zip([index].into_iter().chain(elems)).collect();
        for s in &body.stmts {
            let s = self.b.copy_stmt(s, &mut names);
            self.push(s);
        }
        body.results.iter().map(|r| *names.get(r).unwrap_or(r)).collect()
    }

    /// Emits the term at index `whole / by`, if that is an index of the sum.
    fn one_term(
        &mut self,
        ir_loop: &Loop,
        bracket: &Bracket,
        whole: &Affine,
        by: i64,
        known: bool,
        trip: Var,
    ) -> Vec<Var> {
        let mut guards = Vec::new();
        let zero = self.b.int(0);
        let mut at = whole.emit(&mut self.b);
        if by > 1 {
            let divisor = self.b.int(by);
            let rest = self.b.bin(Bin::Rem, at, divisor);
            guards.push(self.b.cmp(adl_ir::Cmp::Eq, rest, zero));
            at = self.b.bin(Bin::IntDiv, at, divisor);
        }
        if !self.not_negative(whole) {
            guards.push(self.b.cmp(adl_ir::Cmp::Ge, at, zero));
        }
        let last = self.forms.of(trip).plus(-1, whole).and_then(|d| d.plus(-1, &Affine::constant(1)));
        if by > 1 || !last.is_some_and(|last| self.not_negative(&last)) {
            guards.push(self.b.cmp(adl_ir::Cmp::Lt, at, trip));
        }
        if by == 1 {
            self.forms.set(at, whole.clone());
        }
        self.under(&guards, ir_loop, &mut |n| {
            let term = n.term(ir_loop, bracket, known, at);
            // A sum adds to 0.0, so a single term -0.0 gives 0.0.
            let exact = n.which == NarrowMode::SameBits;
            term.into_iter().map(|v| if exact && n.b.ty(v).is_real() { n.from_zero(v) } else { v }).collect()
        })
    }

    fn from_zero(&mut self, v: Var) -> Var {
        let zero = self.b.real(0.0, v);
        self.b.bin(Bin::Add, zero, v)
    }

    /// Emits the sum over the indices left by bounds and a stride.
    fn fewer_terms(&mut self, ir_loop: &Loop, bracket: &Bracket, bounds: &SumBounds, n: Var) -> Vec<Var> {
        let (mut from, mut to) = self.ends(bounds, n);
        for (a, equal) in &bounds.unknown {
            (from, to) = self.unknown_factor(a, *equal, (from, to), n);
        }
        let (first, step) = match &bounds.stride {
            Some((a, by)) => self.stride(a, by, from, &mut to),
            None => (from, None),
        };
        let zero = self.b.int(0);
        let mut count = match first {
            Some(f) => self.b.bin(Bin::Sub, to, f),
            None => to,
        };
        if let Some(step) = step {
            let down = self.b.un(Un::Neg, count);
            let down = self.b.bin(Bin::IntDiv, down, step);
            count = self.b.un(Un::Neg, down);
        }
        let trip = self.b.bin(Bin::Max, count, zero);
        self.b.open();
        let iteration = self.b.param(Ty::I64);
        let steps = match step {
            Some(step) => self.b.bin(Bin::Mul, step, iteration),
            None => iteration,
        };
        let at = match first {
            Some(f) => self.b.bin(Bin::Add, f, steps),
            None => steps,
        };
        let results = self.term(ir_loop, bracket, bounds.all, at);
        let body = self.b.close(results, Vec::new());
        if bounds.all { self.sum_again(ir_loop, trip, body) } else { self.sum_loop(ir_loop, trip, body) }
    }

    /// The first index, and the end of the range, for bounds with known factors.
    pub(super) fn ends(&mut self, bounds: &SumBounds, trip: Var) -> (Option<Var>, Var) {
        let (mut from, mut to): (Option<Var>, Option<Var>) = (None, None);
        for (bound, by) in &bounds.from {
            if bound.times(-1).is_some_and(|b| self.not_negative(&b)) {
                continue;
            }
            let here = self.rounded_up(bound, *by);
            from = Some(from.map_or(here, |f| self.b.bin(Bin::Max, f, here)));
        }
        let mut within = false;
        for (bound, by) in &bounds.to {
            let here = self.rounded_up(bound, *by);
            within |= *by == 1 && self.forms.of(trip).plus(-1, bound).is_some_and(|rest| self.not_negative(&rest));
            to = Some(to.map_or(here, |t| self.b.bin(Bin::Min, t, here)));
        }
        let zero = self.b.int(0);
        let from = from.map(|f| self.b.bin(Bin::Max, f, zero));
        let to = match to {
            Some(to) if within => to,
            Some(to) => self.b.bin(Bin::Min, to, trip),
            None => trip,
        };
        (from, to)
    }

    pub(super) fn choose(&mut self, c: Var, a: Var, b: Var) -> Var {
        self.b.one(Op::Select(c, a, b), Ty::I64)
    }

    /// The same for `by·i + rest = 0` or `≥ 0` with a factor that is known only when the sum starts, and may be 0.
    fn unknown_factor(
        &mut self,
        a: &LinearForm,
        equal: bool,
        (from, to): (Option<Var>, Var),
        trip: Var,
    ) -> (Option<Var>, Var) {
        use adl_ir::Cmp::{Eq, Ge, Lt};
        let (by, rest) = (a.by.emit(&mut self.b), a.rest.emit(&mut self.b));
        let (zero, one) = (self.b.int(0), self.b.int(1));
        let (none, below, above) = (self.b.cmp(Eq, by, zero), self.b.cmp(Lt, by, zero), self.b.cmp(Lt, zero, by));
        let minus = self.b.un(Un::Neg, by);
        let size = self.b.bin(Bin::Max, by, minus);
        let size = self.b.bin(Bin::Max, size, one);
        let (low, high) = if equal {
            let other = self.b.un(Un::Neg, rest);
            let whole = self.choose(below, rest, other);
            let (at, left) = (self.b.bin(Bin::IntDiv, whole, size), self.b.bin(Bin::Rem, whole, size));
            let (fits, next) = (self.b.cmp(Eq, left, zero), self.b.bin(Bin::Add, at, one));
            let (end, all) = (self.choose(fits, next, at), self.b.cmp(Eq, rest, zero));
            let all = self.choose(all, trip, zero);
            (self.choose(none, zero, at), self.choose(none, all, end))
        } else {
            let down = self.b.bin(Bin::IntDiv, rest, size);
            let (up, next) = (self.b.un(Un::Neg, down), self.b.bin(Bin::Add, down, one));
            let end = self.choose(below, next, trip);
            let all = self.b.cmp(Ge, rest, zero);
            let all = self.choose(all, trip, zero);
            (self.choose(above, up, zero), self.choose(none, all, end))
        };
        let from = from.unwrap_or(zero);
        (Some(self.b.bin(Bin::Max, from, low)), self.b.bin(Bin::Min, to, high))
    }

    /// The first index from `from` on at which `a` is a multiple of `by`, and the stride.
    fn stride(&mut self, a: &LinearForm, by: &Affine, from: Option<Var>, to: &mut Var) -> (Option<Var>, Option<Var>) {
        let zero = self.b.int(0);
        let factor = a.factor().unwrap_or(1);
        let mut rest = a.rest.emit(&mut self.b);
        let (step, start) = if by.terms.is_empty() {
            // Solves factor·i ≡ -rest: both sides are divided by the common divisor of factor and modulus; the rest
            // of the factor then has an inverse.
            let shared = gcd(factor, by.constant);
            let step = by.constant / shared;
            if shared > 1 {
                let divisor = self.b.int(shared);
                let left = self.b.bin(Bin::Rem, rest, divisor);
                let fits = self.b.cmp(adl_ir::Cmp::Eq, left, zero);
                *to = self.choose(fits, *to, zero);
                rest = self.b.bin(Bin::IntDiv, rest, divisor);
            }
            let k = inverse((factor / shared).rem_euclid(step), step);
            let (step, k) = (self.b.int(step), self.b.int((step - k) % step));
            let rest = self.b.bin(Bin::Rem, rest, step);
            (step, self.b.bin(Bin::Mul, k, rest))
        } else {
            let step = by.emit(&mut self.b);
            let start = if factor > 0 { self.b.un(Un::Neg, rest) } else { rest };
            (step, start)
        };
        let from = from.unwrap_or(zero);
        let ahead = self.b.bin(Bin::Sub, start, from);
        let ahead = self.b.bin(Bin::Rem, ahead, step);
        (Some(self.b.bin(Bin::Add, from, ahead)), Some(step))
    }

    /// Emits a sum whose predicate has been resolved; it may contain another bracket.
    fn sum_again(&mut self, l: &Loop, trip: Var, body: Block) -> Vec<Var> {
        let outs: Vec<Var> = body
            .results
            .iter()
            .map(|r| self.b.ty(*r))
            .chain([Ty::I64])
            .collect::<Vec<_>>()
            .into_iter()
            .map(|t| self.b.func.fresh(t, false))
            .collect();
        let made = Loop { trip: adl_ir::Trip::Count(trip), xs: Vec::new(), body, ..l.clone() };
        let span = self.b.span;
        self.summed(Stmt { outs: outs.clone(), lin_outs: Vec::new(), op: Op::Loop(Box::new(made)), span });
        self.named(&outs[..outs.len() - 1])
    }

    /// Division rounded up: -(-a // by).
    fn rounded_up(&mut self, a: &Affine, by: i64) -> Var {
        let a = a.emit(&mut self.b);
        if by == 1 {
            return a;
        }
        let (minus, by) = (self.b.un(Un::Neg, a), self.b.int(by));
        let down = self.b.bin(Bin::IntDiv, minus, by);
        self.b.un(Un::Neg, down)
    }

    pub(super) fn sum_loop(&mut self, ir_loop: &Loop, trip: Var, body: Block) -> Vec<Var> {
        let mut tys: Vec<Ty> = body.results.iter().map(|r| self.b.ty(*r)).collect();
        tys.push(Ty::I64);
        let made = Loop {
            trip: adl_ir::Trip::Count(trip),
            init: Vec::new(),
            lin_init: Vec::new(),
            xs: Vec::new(),
            lin_xs: Vec::new(),
            lin_outs: Vec::new(),
            body,
            ..ir_loop.clone()
        };
        let mut outs = self.b.emit(Op::Loop(Box::new(made)), &tys, &[]).0;
        outs.pop();
        outs
    }

    /// Makes a predicate that does not depend on the index a guard of the entire sum.
    fn guarded(&mut self, ir_loop: &Loop, bracket: &Bracket, trip: Var) -> Option<Vec<Var>> {
        let Op::If(condition, ..) = &ir_loop.body.stmts[bracket.at].op else { return None };
        let (mut outer, mut varying): (Vec<Stmt>, HashSet<Var>) =
            (Vec::new(), ir_loop.body.params.iter().copied().collect());
        for s in &ir_loop.body.stmts {
            let mut varies = false;
            s.op.each_operand(&mut |v| varies |= varying.contains(&v));
            varies |= s.op.blocks().iter().any(|b| reads_any(b, &varying));
            if varies || !s.op.blocks().is_empty() && !safe(&self.b.func, s) {
                varying.extend(&s.outs);
            } else {
                outer.push(s.clone());
            }
        }
        if varying.contains(condition) || outer.iter().any(|s| s.outs == ir_loop.body.stmts[bracket.at].outs) {
            return None;
        }
        let mut names = HashMap::new();
        for s in &outer {
            let s = self.b.copy_stmt(s, &mut names);
            self.push(s);
        }
        let c = *names.get(condition).unwrap_or(condition);
        let holds = if bracket.arm == 0 { c } else { self.b.one(Op::Not(c), Ty::Bool) };
        Some(self.under(&[holds], ir_loop, &mut |n| {
            n.b.open();
            let iteration = n.b.param(Ty::I64);
            let results = n.term(ir_loop, bracket, true, iteration);
            let body = n.b.close(results, Vec::new());
            n.sum_loop(ir_loop, trip, body)
        }))
    }

    /// Emits a branch: the results of `make` if all guards hold, else zeros.
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

/// The greatest common divisor.
fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// The inverse `x` of `a` modulo `m`: `a·x ≡ 1 (mod m)`, for `a` in `0..m` coprime to `m`.
fn inverse(a: i64, m: i64) -> i64 {
    let (mut r, mut s) = ((m, a), (0i64, 1i64));
    while r.1 > 1 {
        let q = r.0 / r.1;
        (r, s) = ((r.1, r.0 - q * r.1), (s.1, s.0 - q * s.1));
    }
    s.1.rem_euclid(m.max(1))
}

pub(super) fn is_never(op: &Op) -> bool {
    matches!(op, Op::Lit(Lit::Bool(false)))
}

fn is_zero(op: &Op) -> bool {
    matches!(op, Op::Zero(_) | Op::Lit(Lit::F64(0.0) | Lit::F32(0.0) | Lit::I64(0)))
}

/// Whether a block contains a sum with a branch in its body.
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

/// Whether a statement may be omitted if its results are not read, because it cannot fail.
fn safe(f: &Function, s: &Stmt) -> bool {
    match &s.op {
        Op::Lit(_) | Op::Zero(_) | Op::Cmp(..) | Op::Not(_) | Op::Dim(..) => true,
        Op::Bin(Bin::Add | Bin::Sub | Bin::Mul, a, b) => f.ty(*a).rank() == 0 && f.ty(*b).rank() == 0,
        // Divisors are proved, or asserted, to be non-zero in all iterations.
        Op::Bin(Bin::Rem | Bin::IntDiv | Bin::Min | Bin::Max, a, _) => *f.ty(*a) == Ty::I64,
        Op::Un(Un::Neg, a) => f.ty(*a).rank() == 0,
        Op::If(_, a, b) => [a, b].into_iter().all(|b| b.stmts.iter().all(|s| safe(f, s))),
        _ => false,
    }
}

pub(super) fn bound_in(b: &Block) -> HashSet<Var> {
    let mut out = HashSet::new();
    let mut work = vec![b];
    while let Some(b) = work.pop() {
        out.extend(&b.params);
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
