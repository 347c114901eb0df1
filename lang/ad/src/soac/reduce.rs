//! J of reductions (§3).

use super::laws::{Trial, TrialOutcome};
use super::{SoacGroup, partials};
use crate::jvp::J;
use adl_ir::eval::Val;
use adl_ir::{Block, Cmp, Lit, Loop, Op, Out, Soac, SoacKind, Stmt, Trip, Ty, Var};
use adl_opt::operators;
use adl_prim::{Bin, Prim, ReductionFn};
use adl_specialise::Unsupported;

impl J<'_> {
    pub(super) fn reduce(
        &mut self,
        group: &SoacGroup,
        stmt: &Stmt,
        soac: &Soac,
        known: Option<Bin>,
    ) -> Result<(), Unsupported> {
        match known {
            Some(Bin::Add) => {
                self.b.push(stmt.clone());
                self.decide(stmt.span, "reduce", "+: copies of the cotangent (§3.2.1)", "");
                self.sum(group);
                Ok(())
            }
            Some(op @ (Bin::Min | Bin::Max)) => {
                self.b.push(stmt.clone());
                self.decide(stmt.span, "reduce", "min, max: the first position (§3.2.2)", "");
                self.extreme(group, op)
            }
            Some(Bin::Mul) => {
                self.b.push(stmt.clone());
                self.decide(stmt.span, "reduce", "*: products of the others, zeros counted (§3.2.3, Fig. 3)", "");
                self.product(group.neutral[0], group.arrays[0], group.outs[0])
            }
            _ => match self.chooser(&group.op) {
                Some(op) => {
                    self.decide(stmt.span, "reduce", super::choice::RULE, "");
                    self.reduce_choice(group, op);
                    Ok(())
                }
                None => self.any_reduction(group, stmt, soac),
            },
        }
    }

    /// A sum: ẏ = ė + Σ ȧ.
    fn sum(&mut self, g: &SoacGroup) {
        let (e, a, y) = (g.neutral[0], g.arrays[0], g.outs[0]);
        let n = self.b.dim(a, 0);
        let ty = self.tangent_ty(y);
        let total = self.has(a).map(|t| self.b.lin(Op::Sum { a: t, n: Some(n) }, ty));
        let t = self.lin_sum(self.has(e), total);
        self.set_tangent(y, t);
    }

    /// An extreme: the tangent of the element at the first extreme position; of the neutral element if no element
    /// is better.
    fn extreme(&mut self, g: &SoacGroup, op: Bin) -> Result<(), Unsupported> {
        let (neutral, array, out) = (g.neutral[0], g.arrays[0], g.outs[0]);
        let ty = self.tangent_ty(out);
        let (te, ta) = (self.has(neutral), self.has(array));
        if ta.is_none() {
            self.set_tangent(out, te);
            return Ok(());
        }
        let (n, zero) = (self.b.dim(array, 0), self.b.int(0));
        let empty = self.b.cmp(Cmp::Eq, n, zero);
        let shape = self.shape(array);
        self.b.open();
        let tangent = te.unwrap_or_else(|| self.lin_zero(ty.clone()));
        let none = self.b.close(Vec::new(), vec![tangent]);
        self.b.open();
        let at = self.b.prim(
            if op == Bin::Min { Prim::Reduction(ReductionFn::Argmin) } else { Prim::Reduction(ReductionFn::Argmax) },
            &[array],
            Ty::I64,
        );
        let best = self.b.one(Op::Index { a: array, at: vec![at], shape: None }, ty.clone());
        let here = self.tangent_at(array, at, shape, ty.clone())?;
        let kept = self.b.cmp(if op == Bin::Min { Cmp::Le } else { Cmp::Ge }, neutral, best);
        let te = te.unwrap_or_else(|| self.lin_zero(ty.clone()));
        let t = self.b.lin(Op::Select(kept, te, here), ty.clone());
        let some = self.b.close(Vec::new(), vec![t]);
        let (_, made) = self.b.emit(Op::If(empty, Box::new(none), Box::new(some)), &[], &[ty]);
        self.set_tangent(out, Some(made[0]));
        Ok(())
    }

    /// The tangent of `out`, the product of `e` and the elements of `a`.
    pub(crate) fn product(&mut self, e: Var, a: Var, out: Var) -> Result<(), Unsupported> {
        let ty = self.tangent_ty(out);
        let mut sum = None;
        if let Some(t) = self.has(a) {
            let c = self.products_of_others(e, a, out)?;
            sum = Some(self.b.lin(Op::Dot(c, t), ty.clone()));
        }
        if let Some(t) = self.has(e) {
            let rest = self.b.prim(ReductionFn::Prod, &[a], ty);
            let part = self.b.bin(Bin::ScaleTangent, rest, t);
            sum = self.lin_sum(sum, Some(part));
        }
        self.set_tangent(out, sum);
        Ok(())
    }

    /// For any associative operator: by two exclusive scans.
    fn any_reduction(&mut self, group: &SoacGroup, stmt: &Stmt, soac: &Soac) -> Result<(), Unsupported> {
        if group.neutral.iter().any(|e| self.has(*e).is_some()) {
            return self.as_loop(stmt, soac, "reduce", "its neutral element is differentiated");
        }
        let trial = self.trial(&group.op);
        match trial.as_ref().map_or(TrialOutcome::Unknown, Trial::associative) {
            TrialOutcome::Holds => {}
            TrialOutcome::Fails => {
                return self.as_loop(
                    stmt,
                    soac,
                    "reduce",
                    "its operator is not associative: the order of the elements counts",
                );
            }
            TrialOutcome::Unknown => {
                return self.as_loop(stmt, soac, "reduce", "whether its operator is associative could not be tried");
            }
        }
        let known: Option<Vec<Val>> = group.neutral.iter().map(|e| self.literal(*e)).collect();
        let neutral = known.zip(trial).is_some_and(|(e, t)| t.neutral(&e));
        self.b.push(stmt.clone());
        if neutral && operators::elementwise(&self.b.func, &group.op) {
            self.decide(
                stmt.span,
                "reduce",
                "two exclusive scans, on whole arrays (§3.1, Fig. 2)",
                "the operator is none that has a rule of its own",
            );
            self.two_scans(group);
            return Ok(());
        }
        let why = if neutral {
            "the operator is not straight-line arithmetic on numbers"
        } else {
            "the operator is none that has a rule of its own"
        };
        self.decide(stmt.span, "reduce", "two exclusive scans and a loop without state (§3.1, Fig. 2)", why);
        self.two_scans_and_loop(group)
    }

    /// The operator, prepared for trials.
    pub(super) fn trial(&self, op: &Block) -> Option<Trial> {
        Trial::new(self.p, &self.b.func, op, &|v| self.literal(v))
    }

    /// The value of a literal.
    fn literal(&self, v: Var) -> Option<Val> {
        self.lits.get(&v).map(|l| match l {
            Lit::F64(x) => Val::F64(*x),
            Lit::F32(x) => Val::F32(*x),
            Lit::I64(n) => Val::I64(*n),
            Lit::Bool(b) => Val::Bool(*b),
            Lit::Str(s) => Val::Str(s.clone()),
        })
    }

    fn emit_soac(&mut self, kind: SoacKind, op: Block, neutral: &[Var], arrays: &[Var]) -> Vec<Var> {
        let tys: Vec<Ty> = arrays.iter().map(|a| self.b.ty(*a)).collect();
        self.b
            .emit(Op::Soac(Box::new(Soac { kind, op, neutral: neutral.to_vec(), arrays: arrays.to_vec() })), &tys, &[])
            .0
    }

    fn reversed(&mut self, arrays: &[Var]) -> Vec<Var> {
        arrays
            .iter()
            .map(|a| {
                let ty = self.b.ty(*a);
                self.b.one(Op::Reverse(*a), ty)
            })
            .collect()
    }

    /// Combines all elements before, and all elements after each element, by two scans; then computes the partial
    /// derivatives of l ⊙ a ⊙ r on entire arrays.
    fn two_scans(&mut self, group: &SoacGroup) {
        let op = self.copied_operator(&group.op);
        let before = self.emit_soac(SoacKind::ScanExclusive, op, &group.neutral, &group.arrays);
        let turned = self.reversed(&group.arrays);
        let op = self.flipped(&group.op);
        let after = self.emit_soac(SoacKind::ScanExclusive, op, &group.neutral, &turned);
        let after = self.reversed(&after);
        let w = group.arrays.len();
        let none = vec![partials::PartialRow::new(); w];
        let units: Vec<_> = (0..w).map(partials::unit).collect();
        let left =
            self.with_partials(&group.op, &[before, group.arrays.clone()].concat(), &[none.clone(), units].concat());
        let (args, rows): (Vec<Var>, Vec<_>) = left.into_iter().unzip();
        let all = self.with_partials(&group.op, &[args, after].concat(), &[rows, none].concat());
        self.totals(group, all);
    }

    /// The tangent of each result: the sum of its partial derivatives (arrays) times the elements' tangents.
    pub(super) fn totals(&mut self, g: &SoacGroup, all: partials::PartialRows) {
        for (out, (_, row)) in g.outs.iter().zip(all) {
            if !self.act.has(*out) {
                continue;
            }
            let ty = self.tangent_ty(*out);
            let mut sum = None;
            for (k, c) in row {
                let Some(t) = self.has(g.arrays[k]) else { continue };
                let part = self.total_of(c, t, g.arrays[k], &ty);
                sum = self.lin_sum(sum, Some(part));
            }
            self.set_tangent(*out, sum);
        }
    }

    /// Σ c ȧ.
    fn total_of(&mut self, c: partials::Coef, t: Var, a: Var, ty: &Ty) -> Var {
        match c {
            partials::Coef::Is(c) if self.b.ty(c).rank() > 0 => self.b.lin(Op::Dot(c, t), ty.clone()),
            c => {
                let n = self.b.dim(a, 0);
                let sum = self.b.lin(Op::Sum { a: t, n: Some(n) }, ty.clone());
                self.scaled_by(c, sum)
            }
        }
    }

    /// The same for an operator that is not arithmetic: a loop runs it on each triple and sums the tangents. The
    /// scan from the right starts with the last element, so that the declared neutral element need not be neutral.
    fn two_scans_and_loop(&mut self, group: &SoacGroup) -> Result<(), Unsupported> {
        let (n, zero, one) = (self.b.dim(group.arrays[0], 0), self.b.int(0), self.b.int(1));
        let empty = self.b.cmp(Cmp::Eq, n, zero);
        let wanted: Vec<Var> = group.outs.iter().copied().filter(|y| self.act.has(*y)).collect();
        let tys: Vec<Ty> = wanted.iter().map(|y| self.tangent_ty(*y)).collect();
        self.b.open();
        let zeros = tys.iter().map(|t| self.lin_zero(t.clone())).collect();
        let none = self.b.close(Vec::new(), zeros);
        self.b.open();
        let last = self.b.bin(Bin::Sub, n, one);
        let op = self.copied_operator(&group.op);
        let before = self.emit_soac(SoacKind::ScanExclusive, op, &group.neutral, &group.arrays);
        let heads = self.part_of(&group.arrays, &|a| Op::Slice { a, lo: zero, hi: last, shape: None }, false)?;
        let ends = self.part_of(&group.arrays, &|a| Op::Index { a, at: vec![last], shape: None }, true)?;
        let turned = self.reversed(&heads);
        let op = self.flipped(&group.op);
        let after = self.emit_soac(SoacKind::ScanExclusive, op, &ends, &turned);
        let after = self.reversed(&after);
        // The arrays have exactly as many elements as the loop has iterations, so that the transpose collects
        // entire arrays.
        let others: Vec<Var> = before
            .iter()
            .map(|l| {
                let ty = self.b.ty(*l);
                self.b.one(Op::Slice { a: *l, lo: zero, hi: last, shape: None }, ty)
            })
            .collect();
        let most = self.triples(group, last, &others, &heads, &after)?;
        let left: Vec<Var> = before
            .iter()
            .map(|l| {
                let ty = self.b.ty(*l).elem();
                self.b.one(Op::Index { a: *l, at: vec![last], shape: None }, ty)
            })
            .collect();
        self.b.open();
        let ys = self.b.inline(&group.op, &[left, ends].concat());
        let made = self.b.close(ys, Vec::new());
        self.derive_all(&made.stmts)?;
        let mut results = Vec::new();
        for (k, y) in group.outs.iter().enumerate() {
            if self.act.has(*y) {
                let ty = self.tangent_ty(*y);
                let sum = self.lin_sum(self.has(most[k]), self.has(made.results[k]));
                results.push(sum.unwrap_or_else(|| self.lin_zero(ty)));
            }
        }
        let some = self.b.close(Vec::new(), results);
        let (_, made) = self.b.emit(Op::If(empty, Box::new(none), Box::new(some)), &[], &tys);
        for (y, t) in wanted.iter().zip(made) {
            self.set_tangent(*y, Some(t));
        }
        Ok(())
    }

    /// Slices or elements of arrays, with their tangents.
    fn part_of(&mut self, arrays: &[Var], part: &dyn Fn(Var) -> Op, element: bool) -> Result<Vec<Var>, Unsupported> {
        let mut out = Vec::new();
        for a in arrays {
            let ty = if element { self.b.ty(*a).elem() } else { self.b.ty(*a) };
            let v = self.b.func.fresh(ty, false);
            let span = self.b.span;
            self.derive(&Stmt { outs: vec![v], lin_outs: Vec::new(), op: part(*a), span })?;
            out.push(v);
        }
        Ok(out)
    }

    /// The sums of (l ⊙ a) ⊙ r over all triples, differentiated with respect to `a` only. Their tangents are the
    /// result.
    fn triples(
        &mut self,
        group: &SoacGroup,
        count: Var,
        before: &[Var],
        arrays: &[Var],
        after: &[Var],
    ) -> Result<Vec<Var>, Unsupported> {
        let xs = [before, arrays, after].concat();
        let elems = self.b.open_loop(&xs);
        let w = arrays.len();
        let left = self.b.inline(&group.op, &elems[..2 * w]);
        let all = self.b.inline(&group.op, &[&left[..], &elems[2 * w..]].concat());
        let real: Vec<usize> = (0..w).filter(|k| self.act.has(group.outs[*k])).collect();
        let body = self.b.close(real.iter().map(|k| all[*k]).collect(), Vec::new());
        let ir_loop = Loop { xs, outs: vec![Out::Sum; real.len()], ..Loop::new(Trip::Count(count), body) };
        let sums = self.b.like(&all);
        let mut outs: Vec<Var> = real.iter().map(|k| sums[*k]).collect();
        outs.push(self.b.func.fresh(Ty::I64, false));
        let span = self.b.span;
        self.derive(&Stmt { outs, lin_outs: Vec::new(), op: Op::Loop(Box::new(ir_loop)), span })?;
        Ok(sums)
    }
}
