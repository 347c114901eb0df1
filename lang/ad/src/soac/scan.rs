//! J of scans (§5). For any operator, ẏᵢ = ∂₁ ẏᵢ₋₁ + ∂₂ ȧᵢ: a linear recurrence. Its coefficients are computed in
//! parallel from the prefixes, and its transpose runs in the opposite direction.

use super::SoacGroup;
use super::partials::{Coef, PartialRow, unit};
use crate::jvp::J;
use adl_ir::{Block, Cmp, Loop, Op, Out, SoacKind, Stmt, Trip, Ty, Var};
use adl_opt::operators;
use adl_prim::Bin;
use adl_specialise::Unsupported;
use std::collections::BTreeMap;

/// Tangents of one component: of the inclusive and of the exclusive prefixes.
#[derive(Clone, Copy, Default)]
struct PrefixTangents {
    with: Option<Var>,
    without: Option<Var>,
}

impl J<'_> {
    pub(super) fn scan(&mut self, group: &SoacGroup, stmt: &Stmt, known: Option<Bin>) -> Result<(), Unsupported> {
        if let (None, Some(op)) = (known, self.chooser(&group.op)) {
            self.decide(stmt.span, group.name(), super::choice::RULE, "");
            self.scan_choice(group, op);
            return Ok(());
        }
        let scalar = self.b.ty(group.neutral[0]).rank() == 0;
        if let Some(op @ (Bin::Min | Bin::Max)) = known.filter(|_| scalar) {
            self.decide(
                stmt.span,
                group.name(),
                "min, max: the position of each prefix's, found with it (§5, as §3.2.2)",
                "",
            );
            let op = self.extreme_with_place(&self.b.ty(group.neutral[0]), op);
            self.scan_choice(group, op);
            return Ok(());
        }
        self.b.push(stmt.clone());
        match known {
            Some(Bin::Add) => {
                self.decide(stmt.span, group.name(), "+: running sums from the other end (§5.3.1)", "");
                let t = self.has(group.arrays[0]).map(|t| self.running_sum(t));
                let t = self.and_neutral(group, t, 0);
                let p = self.both(group, t, 0, group.kind == SoacKind::ScanExclusive);
                self.finish(group, 0, p);
                Ok(())
            }
            _ => self.any_scan(group, stmt),
        }
    }

    fn any_scan(&mut self, group: &SoacGroup, stmt: &Stmt) -> Result<(), Unsupported> {
        if !operators::elementwise(&self.b.func, &group.op) {
            self.decide(
                stmt.span,
                group.name(),
                "linearised steps (PPAD, Fig. 11)",
                "the operator is not straight-line arithmetic on numbers",
            );
            return self.linear_steps(group);
        }
        let steps = operators::linear_cost(&group.op, &|v| self.b.func.ty(v).is_real());
        let jacobians = self.jacobian_cost(group);
        if steps < jacobians {
            let why = format!("a linearised step costs {steps}, the Jacobians {jacobians}");
            self.decide(stmt.span, group.name(), "linearised steps (PPAD, Fig. 11)", &why);
            return self.linear_steps(group);
        }
        self.recurrence(group)?;
        Ok(())
    }

    /// The exclusive prefixes of the operator.
    fn prefixes_before(&mut self, g: &SoacGroup) -> Vec<Var> {
        if g.kind == SoacKind::ScanExclusive {
            return g.outs.clone();
        }
        g.neutral.iter().zip(&g.outs).map(|(e, y)| self.previous(*y, *e)).collect()
    }

    /// The predecessor of each element, and `e` for the first one, in one pass over the array.
    pub(super) fn previous(&mut self, xs: Var, e: Var) -> Var {
        let (ty, n, zero, back) = (self.b.ty(xs), self.b.dim(xs, 0), self.b.int(0), self.b.int(-1));
        let empty = self.b.cmp(Cmp::Eq, n, zero);
        self.b.open();
        let none = self.b.close(vec![xs], Vec::new());
        self.b.open();
        let turned = self.b.one(Op::Rotate { n: back, a: xs }, ty.clone());
        let shifted = self.b.one(Op::IndexSet { acc: turned, at: vec![zero], v: e, shape: None }, ty.clone());
        let some = self.b.close(vec![shifted], Vec::new());
        self.b.one(Op::If(empty, Box::new(none), Box::new(some)), ty)
    }

    /// The work of an iteration with Jacobians: a multiplication for each entry other than one, and the additions.
    fn jacobian_cost(&mut self, g: &SoacGroup) -> usize {
        // Runs the operator on its own parameters to find the pattern of entries. The emitted code is discarded.
        self.b.open();
        let units: Vec<PartialRow> = (0..g.op.params.len()).map(unit).collect();
        let rows = self.with_partials(&g.op, &g.op.params, &units);
        self.b.close(Vec::new(), Vec::new());
        let scalings: usize = rows.iter().map(|(_, r)| r.values().filter(|c| **c != Coef::One).count()).sum();
        scalings + rows.iter().map(|(_, r)| r.len().saturating_sub(1)).sum::<usize>()
    }

    /// The rule by Jacobians. Components that depend on each other cyclically form one recurrence (so the blocks of
    /// a block-diagonal Jacobian are separate, §5.3.3); the others are driven by the components before them.
    pub(super) fn recurrence(&mut self, group: &SoacGroup) -> Result<(), Unsupported> {
        let arity = group.arrays.len();
        let before = self.prefixes_before(group);
        let units: Vec<PartialRow> = (0..2 * arity).map(unit).collect();
        let rows: Vec<PartialRow> = self
            .with_partials(&group.op, &[before, group.arrays.clone()].concat(), &units)
            .into_iter()
            .map(|(_, r)| r)
            .collect();
        let blocks = strongly_connected(&rows, arity);
        self.say_blocks(group, &rows, &blocks);
        let given: Vec<Option<Var>> = group.arrays.iter().map(|a| self.has(*a)).collect();
        let driven = rows
            .iter()
            .map(|row| {
                let own: PartialRow = row.iter().filter(|(k, _)| **k >= arity).map(|(k, c)| (*k, *c)).collect();
                self.row_times(&own, &|k| given[k - arity])
            })
            .collect();
        for (k, p) in self.prefixes_by(group, &rows, driven, None).into_iter().enumerate() {
            self.finish(group, k, p);
        }
        Ok(())
    }

    /// The recurrence with the coefficients in `rows` (for arguments below the number of components) and the
    /// additive terms `driven`. It restarts at the elements that `restart` selects.
    fn prefixes_by(
        &mut self,
        group: &SoacGroup,
        rows: &[PartialRow],
        driven: Vec<Option<Var>>,
        restart: Option<Var>,
    ) -> Vec<PrefixTangents> {
        let w = rows.len();
        let mut done: BTreeMap<usize, PrefixTangents> = BTreeMap::new();
        for block in strongly_connected(rows, w) {
            let mut drive = Vec::new();
            for j in &block {
                let mut x = driven[*j];
                let outer: PartialRow =
                    rows[*j].iter().filter(|(k, _)| **k < w && !block.contains(k)).map(|(k, c)| (*k, *c)).collect();
                let outer = outer
                    .into_iter()
                    .map(|(k, c)| (k, restart.map_or(c, |first| self.but_at(first, c, group.arrays[k]))))
                    .collect();
                let from_others = self.row_times(&outer, &|k| done.get(&k).and_then(|p: &PrefixTangents| p.without));
                x = self.lin_sum(x, from_others);
                drive.push(x);
            }
            let asked =
                rows.iter().enumerate().any(|(j, r)| !block.contains(&j) && block.iter().any(|k| r.contains_key(k)));
            let solved =
                self.solve(group, rows, &block, (&drive, asked || group.kind == SoacKind::ScanExclusive), restart);
            done.extend(block.iter().copied().zip(solved));
        }
        done.into_values().collect()
    }

    /// The tangents of the prefixes of a recurrence.
    pub(super) fn prefixes(
        &mut self,
        g: &SoacGroup,
        rows: &[PartialRow],
        driven: Vec<Option<Var>>,
        restart: Var,
    ) -> Vec<Option<Var>> {
        self.prefixes_by(g, rows, driven, Some(restart)).into_iter().map(|p| p.with).collect()
    }

    fn say_blocks(&mut self, group: &SoacGroup, rows: &[PartialRow], blocks: &[Vec<usize>]) {
        let span = self.b.span;
        if operators::known(&self.b.func, &group.op) == Some(Bin::Mul) {
            return self.decide(span, group.name(), "*: Jacobians, a linear recurrence (§5.2, Fig. 7)", "");
        }
        let w = rows.len();
        let shape = |b: &Vec<usize>| -> Vec<Option<Coef>> {
            b.iter().flat_map(|j| b.iter().map(|k| rows[*j].get(k).copied())).collect()
        };
        let uncoupled = (0..w).all(|j| {
            rows[j].keys().filter(|k| **k < w).all(|k| blocks.iter().any(|b| b.contains(&j) && b.contains(k)))
        });
        let rule = match blocks {
            [_] => "Jacobians, a linear recurrence (§5.2, Fig. 7)",
            [first, rest @ ..] if uncoupled && rest.iter().all(|b| shape(b) == shape(first)) => {
                "equal blocks of Jacobians (RBDS, §5.3.4)"
            }
            _ if uncoupled => "blocks of Jacobians (BDS, §5.3.3)",
            _ => "triangular blocks of Jacobians, one after the other (§5.3.3)",
        };
        let sizes: Vec<String> = blocks.iter().map(|b| b.len().to_string()).collect();
        self.decide(
            span,
            group.name(),
            rule,
            &format!("the operator is none that has a rule of its own; sizes of blocks: {}", sizes.join(", ")),
        );
    }

    /// The tangents of the components of one block, driven by `drive`; those of the exclusive prefixes too if
    /// `without` is set.
    fn solve(
        &mut self,
        group: &SoacGroup,
        rows: &[PartialRow],
        block: &[usize],
        (drive, without): (&[Option<Var>], bool),
        restart: Option<Var>,
    ) -> Vec<PrefixTangents> {
        if let [j] = block {
            match rows[*j].get(j) {
                None => return vec![self.both(group, drive[0], *j, without)],
                Some(Coef::One) if restart.is_none() => {
                    let with = drive[0].map(|x| self.running_sum(x));
                    let with = self.and_neutral(group, with, *j);
                    return vec![self.both(group, with, *j, without)];
                }
                Some(_) => {}
            }
        }
        if drive.iter().all(Option::is_none) && block.iter().all(|j| self.has(group.neutral[*j]).is_none()) {
            return vec![PrefixTangents::default(); block.len()];
        }
        self.linear_loop(group, rows, block, (drive, without), restart)
    }

    /// A sequential loop for r = A r + x.
    fn linear_loop(
        &mut self,
        group: &SoacGroup,
        rows: &[PartialRow],
        block: &[usize],
        (drive, without): (&[Option<Var>], bool),
        restart: Option<Var>,
    ) -> Vec<PrefixTangents> {
        let count = self.b.dim(group.arrays[0], 0);
        let tys: Vec<Ty> = block.iter().map(|j| self.b.ty(group.neutral[*j])).collect();
        let lin_init: Vec<Var> = block
            .iter()
            .zip(&tys)
            .map(|(j, t)| self.has(group.neutral[*j]).unwrap_or_else(|| self.lin_zero(t.clone())))
            .collect();
        let mut xs: Vec<Var> = Vec::new();
        self.b.open();
        let index = self.b.func.fresh(Ty::I64, false);
        let mut params = vec![index];
        let carried: Vec<Var> = tys.iter().map(|t| self.b.func.fresh(t.clone(), true)).collect();
        let driven: Vec<Option<Var>> =
            drive.iter().zip(&tys).map(|(x, t)| x.map(|_| self.b.func.fresh(t.clone(), true))).collect();
        let elems = self.element_params(rows, block, &mut params, &mut xs);
        let first = restart.map(|flags| {
            let p = self.b.func.fresh(Ty::Bool, false);
            params.push(p);
            xs.push(flags);
            p
        });
        let lin_params: Vec<Var> = carried.iter().copied().chain(driven.iter().flatten().copied()).collect();
        self.b.adopt(&params, &lin_params);
        let before: Vec<Var> = carried.iter().map(|r| first.map_or(*r, |first| self.unless(first, *r))).collect();
        let mut next = Vec::new();
        for (i, j) in block.iter().enumerate() {
            let row = row_in_block(&rows[*j], block, &elems);
            let r = self.row_times(&row, &|at| Some(before[at]));
            let r = self.lin_sum(r, driven[i]);
            next.push(r.unwrap_or_else(|| self.lin_zero(tys[i].clone())));
        }
        let kinds = 1 + usize::from(without);
        let body = self.b.close(Vec::new(), [&next[..], &next, if without { &carried } else { &[] }].concat());
        let over: Vec<Ty> = tys.iter().map(|t| t.array(1)).collect();
        let lin_tys = [&tys[..], &over, if without { &over } else { &[] }].concat();
        let ir_loop = Loop {
            lin_init,
            xs,
            lin_xs: drive.iter().flatten().copied().collect(),
            lin_outs: vec![Out::Collect; kinds * block.len()],
            ..Loop::new(Trip::Count(count), body)
        };
        let q = block.len();
        let (_, made) = self.b.emit(Op::Loop(Box::new(ir_loop)), &[Ty::I64], &lin_tys);
        (0..q).map(|i| PrefixTangents { with: Some(made[q + i]), without: without.then(|| made[2 * q + i]) }).collect()
    }

    /// Parameters of a loop's body for the elements of the block's coefficients that are arrays, with these arrays
    /// in `xs`.
    fn element_params(
        &mut self,
        rows: &[PartialRow],
        block: &[usize],
        params: &mut Vec<Var>,
        xs: &mut Vec<Var>,
    ) -> BTreeMap<Var, Var> {
        let mut elems = BTreeMap::new();
        for c in block.iter().flat_map(|j| block.iter().filter_map(|k| rows[*j].get(k))) {
            if let Coef::Is(v) = c
                && self.b.ty(*v).rank() > 0
                && !elems.contains_key(v)
            {
                let ty = self.b.ty(*v).elem();
                let p = self.b.func.fresh(ty, false);
                params.push(p);
                xs.push(*v);
                elems.insert(*v, p);
            }
        }
        elems
    }

    /// A linear number, or zero if `c` holds.
    fn unless(&mut self, c: Var, r: Var) -> Var {
        let ty = self.b.ty(r);
        self.b.open();
        let zero = self.lin_zero(ty.clone());
        let yes = self.b.close(Vec::new(), vec![zero]);
        self.b.open();
        let no = self.b.close(Vec::new(), vec![r]);
        self.b.emit(Op::If(c, Box::new(yes), Box::new(no)), &[], &[ty]).1[0]
    }

    /// Prefix sums of `x`.
    fn running_sum(&mut self, x: Var) -> Var {
        let ty = self.b.ty(x);
        self.b.lin(Op::Cumsum { a: x, reverse: false }, ty)
    }

    /// Adds the neutral element's tangent to each element.
    fn and_neutral(&mut self, g: &SoacGroup, t: Option<Var>, k: usize) -> Option<Var> {
        let e = self.has(g.neutral[k]).map(|e| {
            let (n, ty) = (self.b.dim(g.arrays[k], 0), self.b.ty(g.arrays[k]));
            self.b.lin(Op::Replicate { n, a: e }, ty)
        });
        self.lin_sum(t, e)
    }

    /// The tangents of the inclusive prefixes, and if `without` is set those of the exclusive ones, which are the
    /// same shifted by one.
    fn both(&mut self, g: &SoacGroup, with: Option<Var>, k: usize, without: bool) -> PrefixTangents {
        let seed = self.has(g.neutral[k]);
        if !without || with.is_none() && seed.is_none() {
            return PrefixTangents { with, without: None };
        }
        let array = g.arrays[k];
        let ty = self.b.ty(array);
        let (zero, one, count) = (self.b.int(0), self.b.int(1), self.b.dim(array, 0));
        let more = self.b.bin(Bin::Add, count, one);
        let whole = self.b.shape(array);
        let longer = self.b.one(Op::IndexSet { acc: whole, at: vec![zero], v: more, shape: None }, Ty::shape());
        let mut acc = self.lin_zero(ty.clone());
        if let Some(x) = with {
            acc = self.b.lin(Op::SliceAdd { acc, lo: one, hi: more, v: x, shape: Some(longer) }, ty.clone());
        }
        if let Some(e) = seed {
            acc = self.b.lin(Op::IndexAdd { acc, at: vec![zero], v: e, shape: Some(longer) }, ty.clone());
        }
        let without = self.b.lin(Op::Slice { a: acc, lo: zero, hi: count, shape: Some(longer) }, ty);
        PrefixTangents { with, without: Some(without) }
    }

    fn finish(&mut self, g: &SoacGroup, k: usize, p: PrefixTangents) {
        let t = if g.kind == SoacKind::Scan { p.with } else { p.without };
        if self.act.has(g.outs[k]) {
            self.set_tangent(g.outs[k], t);
        }
    }

    /// The tangents of a scan that selects elements, by their positions; -1 is the neutral element.
    pub(super) fn tangents_at(&mut self, g: &SoacGroup, places: Var) {
        let (e, array, out) = (g.neutral[0], g.arrays[0], g.outs[0]);
        let ty = self.tangent_ty(array);
        // At the neutral element's positions nothing is read from the array.
        let read = self.has(array).map(|t| {
            let shape = self.shape(array);
            self.b.lin(Op::Gather { a: t, at: places, shape: Some(shape) }, ty.clone())
        });
        let kept = self.has(e).map(|t| {
            let (zero, no, yes) = (self.b.int(0), self.b.real(0.0, e), self.b.real(1.0, e));
            let neutral = self.b.cmp(Cmp::Lt, places, zero);
            let n = self.b.dim(array, 0);
            let c = self.b.one(Op::Select(neutral, yes, no), ty.clone());
            let all = self.b.lin(Op::Replicate { n, a: t }, ty.clone());
            self.b.bin(Bin::ScaleTangent, c, all)
        });
        let t = self.lin_sum(read, kept);
        self.set_tangent(out, t);
    }

    /// The operator `(v, i) (w, j)`: the extreme and its position, the first among equals. If the extreme is nan,
    /// the position is that of a later element.
    pub(super) fn extreme_with_place(&mut self, elem: &Ty, op: Bin) -> Block {
        self.b.open();
        let [v, i, w, j] = [elem.clone(), Ty::I64, elem.clone(), Ty::I64].map(|t| self.b.param(t));
        let kept = self.b.cmp(if op == Bin::Min { Cmp::Le } else { Cmp::Ge }, v, w);
        let value = self.b.bin(op, v, w);
        let place = self.b.one(Op::Select(kept, i, j), Ty::I64);
        self.b.close(vec![value, place], Vec::new())
    }

    /// The operator `(v, i) (w, j)`: the first pair, unless the second is better; nan stays.
    pub(super) fn keep_better(&mut self, elem: &Ty, op: Bin) -> Block {
        self.b.open();
        let [v, i, w, j] = [elem.clone(), Ty::I64, elem.clone(), Ty::I64].map(|t| self.b.param(t));
        let better = self.b.cmp(if op == Bin::Min { Cmp::Le } else { Cmp::Ge }, v, w);
        let nan = self.b.cmp(Cmp::Ne, v, v);
        let kept = self.b.one(Op::Select(nan, nan, better), Ty::Bool);
        let value = self.b.one(Op::Select(kept, v, w), elem.clone());
        let place = self.b.one(Op::Select(kept, i, j), Ty::I64);
        self.b.close(vec![value, place], Vec::new())
    }

    /// The rule by linearised steps: the operator itself, linearised at each prefix and element.
    fn linear_steps(&mut self, group: &SoacGroup) -> Result<(), Unsupported> {
        let arity = group.arrays.len();
        let before = self.prefixes_before(group);
        let count = self.b.dim(group.arrays[0], 0);
        let mut op = self.copied_operator(&group.op);
        let real: Vec<usize> = (0..arity).filter(|k| self.act.has(group.outs[*k])).collect();
        let driven: Vec<usize> = (0..arity).filter(|k| self.has(group.arrays[*k]).is_some()).collect();
        let lin_init: Vec<Var> = real
            .iter()
            .map(|k| {
                let ty = self.b.ty(group.neutral[*k]);
                self.has(group.neutral[*k]).unwrap_or_else(|| self.lin_zero(ty))
            })
            .collect();
        let mut lin_params: Vec<Var> = Vec::new();
        for p in
            real.iter().map(|k| op.params[*k]).chain(driven.iter().map(|k| op.params[arity + *k])).collect::<Vec<_>>()
        {
            self.act.vars.insert(p);
            lin_params.push(self.fresh_tangent(p));
        }
        for s in &op.stmts {
            self.extend_analyses(s);
        }
        let index = self.b.func.fresh(Ty::I64, false);
        op.params.insert(0, index);
        let wanted: Vec<bool> = (0..arity).map(|k| real.contains(&k)).collect();
        let mut body = self.branch(&op, &lin_params, &wanted)?;
        body.results.clear();
        let carried = &lin_params[..real.len()];
        let kept = if group.kind == SoacKind::Scan { body.lin_results.clone() } else { carried.to_vec() };
        body.lin_results.extend(kept);
        let ir_loop = Loop {
            lin_init,
            xs: [&before[..], &group.arrays].concat(),
            lin_xs: driven.iter().filter_map(|k| self.has(group.arrays[*k])).collect(),
            lin_outs: vec![Out::Collect; real.len()],
            ..Loop::new(Trip::Count(count), body)
        };
        let tys: Vec<Ty> = real
            .iter()
            .map(|k| self.b.ty(group.neutral[*k]))
            .chain(real.iter().map(|k| self.b.ty(group.arrays[*k])))
            .collect();
        let (_, made) = self.b.emit(Op::Loop(Box::new(ir_loop)), &[Ty::I64], &tys);
        for (i, k) in real.iter().enumerate() {
            self.set_tangent(group.outs[*k], Some(made[real.len() + i]));
        }
        Ok(())
    }
}

/// A row of the block alone, with the elements `elems` for arrays.
fn row_in_block(row: &PartialRow, block: &[usize], elems: &BTreeMap<Var, Var>) -> PartialRow {
    let in_block = row.iter().filter_map(|(k, c)| {
        let at = block.iter().position(|b| b == k)?;
        Some((at, if let Coef::Is(v) = c { Coef::Is(*elems.get(v).unwrap_or(v)) } else { *c }))
    });
    in_block.collect()
}

/// Strongly connected components of the dependences between prefixes, each after those on which it depends.
fn strongly_connected(rows: &[PartialRow], arity: usize) -> Vec<Vec<usize>> {
    let mut reach: Vec<Vec<bool>> =
        (0..arity).map(|j| (0..arity).map(|k| j == k || rows[j].contains_key(&k)).collect()).collect();
    for m in 0..arity {
        for j in 0..arity {
            if reach[j][m] {
                let from_m = reach[m].clone();
                reach[j].iter_mut().zip(from_m).for_each(|(j, m)| *j |= m);
            }
        }
    }
    let mut out: Vec<Vec<usize>> = Vec::new();
    let mut left: Vec<usize> = (0..arity).collect();
    while !left.is_empty() {
        // A component is ready if everything it depends on is done or in its own cycle.
        let ready = |j: &usize| left.iter().all(|k| !reach[*j][*k] || reach[*k][*j]);
        let first = left.iter().copied().find(|j| ready(j)).unwrap_or(left[0]);
        let block: Vec<usize> = left.iter().copied().filter(|k| reach[first][*k] && reach[*k][first]).collect();
        left.retain(|k| !block.contains(k));
        out.push(block);
    }
    out
}
