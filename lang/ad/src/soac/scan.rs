//! J of scans (§5). Whatever the operator, ẏᵢ = ∂₁ ẏᵢ₋₁ + ∂₂ ȧᵢ: a linear recurrence, whose coefficients are made without order from the
//! prefixes, and whose transpose runs from the other end.

use super::partials::{Coef, Row, unit};
use super::{Group, operator};
use crate::jvp::J;
use adl_ir::{Block, Cmp, Loop, Op, Out, Soac, SoacKind, Stmt, Turns, Ty, Var};
use adl_prim::{Bin, Prim};
use adl_specialise::Unsupported;
use std::collections::BTreeMap;

/// Tangents of one component: of the prefixes with the element, and without it.
#[derive(Clone, Copy, Default)]
struct Prefixes {
    with: Option<Var>,
    without: Option<Var>,
}

impl J<'_> {
    pub(super) fn scan(&mut self, g: &Group, s: &Stmt, known: Option<Bin>) -> Result<(), Unsupported> {
        if let (None, Some(op)) = (known, self.chooser(&g.op)) {
            self.decide(s.span, g.name(), super::choice::RULE, "");
            self.chosen_so_far(g, op);
            return Ok(());
        }
        self.b.push(s.clone());
        match known {
            Some(Bin::Add) => {
                self.decide(s.span, g.name(), "+: running sums from the other end (§5.3.1)", "");
                let t = self.has(g.arrays[0]).map(|t| self.running_sum(t));
                let t = self.and_neutral(g, t, 0);
                let p = self.both(g, t, 0, g.kind == SoacKind::ScanExclusive);
                self.finish(g, 0, p);
                Ok(())
            }
            Some(Bin::Min | Bin::Max) if self.b.ty(g.neutral[0]).rank() == 0 => {
                self.decide(s.span, g.name(), "min, max: the position of each prefix's (§5, as §3.2.2)", "");
                self.running_extreme(g);
                Ok(())
            }
            _ => self.any_scan(g, s),
        }
    }

    fn any_scan(&mut self, g: &Group, s: &Stmt) -> Result<(), Unsupported> {
        if !operator::elementwise(&self.b.func, &g.op) {
            self.decide(s.span, g.name(), "linearised steps (PPAD, Fig. 11)", "the operator is not straight-line arithmetic on numbers");
            return self.linear_steps(g);
        }
        let steps = operator::linear_cost(&g.op, &|v| self.b.func.ty(v).is_real());
        let jacobians = self.jacobian_cost(g);
        if steps < jacobians {
            let why = format!("a linearised step costs {steps}, the Jacobians {jacobians}");
            self.decide(s.span, g.name(), "linearised steps (PPAD, Fig. 11)", &why);
            return self.linear_steps(g);
        }
        self.recurrence(g)?;
        Ok(())
    }

    /// The operator's prefixes before each element.
    fn prefixes_before(&mut self, g: &Group) -> Vec<Var> {
        if g.kind == SoacKind::ScanExclusive {
            return g.outs.clone();
        }
        let (zero, n) = (self.b.int(0), self.b.dim(g.arrays[0], 0));
        g.neutral.iter().zip(&g.outs).map(|(e, y)| {
            let ty = self.b.ty(*y);
            let first = self.b.one(Op::Stack { elems: vec![*e], shape: None }, ty.clone());
            let all = self.b.one(Op::Concat { a: first, b: *y, len: None, shape: None }, ty.clone());
            self.b.one(Op::Slice { a: all, lo: zero, hi: n, shape: None }, ty)
        }).collect()
    }

    /// The work of a turn with Jacobians: a multiplication for each entry that is not one, and the additions.
    fn jacobian_cost(&mut self, g: &Group) -> usize {
        // The operator on its own parameters tells the pattern; what it emits is thrown away.
        self.b.open();
        let units: Vec<Row> = (0..g.op.params.len()).map(unit).collect();
        let rows = self.with_partials(&g.op, &g.op.params, &units);
        self.b.close(Vec::new(), Vec::new());
        let scalings: usize = rows.iter().map(|(_, r)| r.values().filter(|c| **c != Coef::One).count()).sum();
        scalings + rows.iter().map(|(_, r)| r.len().saturating_sub(1)).sum::<usize>()
    }

    /// By Jacobians: components that depend on each other in a cycle are one recurrence (so blocks of block-diagonal Jacobians are
    /// apart, §5.3.3), the others are driven by those before them.
    pub(super) fn recurrence(&mut self, g: &Group) -> Result<(), Unsupported> {
        let w = g.arrays.len();
        let before = self.prefixes_before(g);
        let units: Vec<Row> = (0..2 * w).map(unit).collect();
        let rows: Vec<Row> = self.with_partials(&g.op, &[before, g.arrays.clone()].concat(), &units).into_iter().map(|(_, r)| r).collect();
        let blocks = cycles(&rows, w);
        self.say_blocks(g, &rows, &blocks);
        let mut done: BTreeMap<usize, Prefixes> = BTreeMap::new();
        for block in blocks {
            let mut drive = Vec::new();
            let given: Vec<Option<Var>> = g.arrays.iter().map(|a| self.has(*a)).collect();
            for j in &block {
                let own: Row = rows[*j].iter().filter(|(k, _)| **k >= w).map(|(k, c)| (*k, *c)).collect();
                let mut x = self.row_times(&own, &|k| given[k - w]);
                let outer: Row = rows[*j].iter().filter(|(k, _)| **k < w && !block.contains(k)).map(|(k, c)| (*k, *c)).collect();
                let from_others = self.row_times(&outer, &|k| done.get(&k).and_then(|p: &Prefixes| p.without));
                x = self.lin_sum(x, from_others);
                drive.push(x);
            }
            let asked = rows.iter().enumerate().any(|(j, r)| !block.contains(&j) && block.iter().any(|k| r.contains_key(k)));
            let solved = self.solve(g, &rows, &block, (&drive, asked || g.kind == SoacKind::ScanExclusive));
            done.extend(block.iter().copied().zip(solved));
        }
        for (k, p) in done {
            self.finish(g, k, p);
        }
        Ok(())
    }

    fn say_blocks(&mut self, g: &Group, rows: &[Row], blocks: &[Vec<usize>]) {
        let span = self.b.span;
        let w = rows.len();
        let shape = |b: &Vec<usize>| -> Vec<Option<Coef>> { b.iter().flat_map(|j| b.iter().map(|k| rows[*j].get(k).copied())).collect() };
        let uncoupled = (0..w).all(|j| rows[j].keys().filter(|k| **k < w).all(|k| blocks.iter().any(|b| b.contains(&j) && b.contains(k))));
        let rule = match blocks {
            [_] => "Jacobians, a linear recurrence (§5.2, Fig. 7)",
            [first, rest @ ..] if uncoupled && rest.iter().all(|b| shape(b) == shape(first)) => "equal blocks of Jacobians (RBDS, §5.3.4)",
            _ if uncoupled => "blocks of Jacobians (BDS, §5.3.3)",
            _ => "triangular blocks of Jacobians, one after the other (§5.3.3)",
        };
        let sizes: Vec<String> = blocks.iter().map(|b| b.len().to_string()).collect();
        self.decide(span, g.name(), rule, &format!("the operator is none that has a rule of its own; sizes of blocks: {}", sizes.join(", ")));
    }

    /// Tangents of the components of one block, driven by `drive`; those without the element where they are asked for.
    fn solve(&mut self, g: &Group, rows: &[Row], block: &[usize], (drive, without): (&[Option<Var>], bool)) -> Vec<Prefixes> {
        if let [j] = block {
            match rows[*j].get(j) {
                None => return vec![self.both(g, drive[0], *j, without)],
                Some(Coef::One) => {
                    let with = drive[0].map(|x| self.running_sum(x));
                    let with = self.and_neutral(g, with, *j);
                    return vec![self.both(g, with, *j, without)];
                }
                Some(_) => {}
            }
        }
        if drive.iter().all(Option::is_none) && block.iter().all(|j| self.has(g.neutral[*j]).is_none()) {
            return vec![Prefixes::default(); block.len()];
        }
        self.linear_loop(g, rows, block, (drive, without))
    }

    /// r = A r + x, an element a turn.
    fn linear_loop(&mut self, g: &Group, rows: &[Row], block: &[usize], (drive, without): (&[Option<Var>], bool)) -> Vec<Prefixes> {
        let n = self.b.dim(g.arrays[0], 0);
        let tys: Vec<Ty> = block.iter().map(|j| self.b.ty(g.neutral[*j])).collect();
        let lin_init: Vec<Var> = block.iter().zip(&tys).map(|(j, t)| self.has(g.neutral[*j]).unwrap_or_else(|| self.lin_zero(t.clone()))).collect();
        let mut xs: Vec<Var> = Vec::new();
        self.b.open();
        let index = self.b.func.fresh(Ty::I64, false);
        let mut params = vec![index];
        let carried: Vec<Var> = tys.iter().map(|t| self.b.func.fresh(t.clone(), true)).collect();
        let driven: Vec<Option<Var>> = drive.iter().zip(&tys).map(|(x, t)| x.map(|_| self.b.func.fresh(t.clone(), true))).collect();
        let mut elems: BTreeMap<Var, Var> = BTreeMap::new();
        for c in block.iter().flat_map(|j| block.iter().filter_map(|k| rows[*j].get(k))) {
            if let Coef::Is(v) = c {
                if self.b.ty(*v).rank() > 0 && !elems.contains_key(v) {
                    let ty = self.b.ty(*v).elem();
                    let p = self.b.func.fresh(ty, false);
                    params.push(p);
                    xs.push(*v);
                    elems.insert(*v, p);
                }
            }
        }
        let lin_params: Vec<Var> = carried.iter().copied().chain(driven.iter().flatten().copied()).collect();
        self.b.adopt(&params, &lin_params);
        let mut next = Vec::new();
        for (i, j) in block.iter().enumerate() {
            let row: Row = rows[*j].iter().filter_map(|(k, c)| {
                let at = block.iter().position(|b| b == k)?;
                Some((at, if let Coef::Is(v) = c { Coef::Is(*elems.get(v).unwrap_or(v)) } else { *c }))
            }).collect();
            let r = self.row_times(&row, &|at| Some(carried[at]));
            let r = self.lin_sum(r, driven[i]);
            next.push(r.unwrap_or_else(|| self.lin_zero(tys[i].clone())));
        }
        let kinds = 1 + usize::from(without);
        let body = self.b.close(Vec::new(), [&next[..], &next, if without { &carried } else { &[] }].concat());
        let over: Vec<Ty> = tys.iter().map(|t| t.array(1)).collect();
        let lin_tys = [&tys[..], &over, if without { &over } else { &[] }].concat();
        let l = Loop {
            turns: Turns::For(n),
            reverse: false,
            init: Vec::new(),
            lin_init,
            xs,
            lin_xs: drive.iter().flatten().copied().collect(),
            outs: Vec::new(),
            lin_outs: vec![Out::Collect; kinds * block.len()],
            body,
        };
        let q = block.len();
        let (_, made) = self.b.emit(Op::Loop(Box::new(l)), &[Ty::I64], &lin_tys);
        (0..q).map(|i| Prefixes { with: Some(made[q + i]), without: without.then(|| made[2 * q + i]) }).collect()
    }

    /// Running sums of `x`.
    fn running_sum(&mut self, x: Var) -> Var {
        let ty = self.b.ty(x);
        self.b.lin(Op::Cumsum { a: x, reverse: false }, ty)
    }

    /// With the neutral element's tangent added to each.
    fn and_neutral(&mut self, g: &Group, t: Option<Var>, k: usize) -> Option<Var> {
        let e = self.has(g.neutral[k]).map(|e| {
            let (n, ty) = (self.b.dim(g.arrays[k], 0), self.b.ty(g.arrays[k]));
            self.b.lin(Op::Replicate { n, a: e }, ty)
        });
        self.lin_sum(t, e)
    }

    /// The tangents with the element, and where they are asked for those without it: the same, one place further.
    fn both(&mut self, g: &Group, with: Option<Var>, k: usize, without: bool) -> Prefixes {
        let e = self.has(g.neutral[k]);
        if !without || with.is_none() && e.is_none() {
            return Prefixes { with, without: None };
        }
        let a = g.arrays[k];
        let ty = self.b.ty(a);
        let (zero, one, n) = (self.b.int(0), self.b.int(1), self.b.dim(a, 0));
        let more = self.b.bin(Bin::Add, n, one);
        let whole = self.b.shape(a);
        let longer = self.b.one(Op::IndexSet { acc: whole, at: vec![zero], v: more, shape: None }, Ty::shape());
        let mut acc = self.lin_zero(ty.clone());
        if let Some(x) = with {
            acc = self.b.lin(Op::SliceAdd { acc, lo: one, hi: more, v: x, shape: Some(longer) }, ty.clone());
        }
        if let Some(e) = e {
            acc = self.b.lin(Op::IndexAdd { acc, at: vec![zero], v: e, shape: Some(longer) }, ty.clone());
        }
        let without = self.b.lin(Op::Slice { a: acc, lo: zero, hi: n, shape: Some(longer) }, ty);
        Prefixes { with, without: Some(without) }
    }

    fn finish(&mut self, g: &Group, k: usize, p: Prefixes) {
        let t = if g.kind == SoacKind::Scan { p.with } else { p.without };
        if self.act.has(g.outs[k]) {
            self.set_tangent(g.outs[k], t);
        }
    }

    /// The tangent of the element that each prefix's extreme is, the first of equal ones. Place 0 is the neutral element.
    fn running_extreme(&mut self, g: &Group) {
        let n = self.b.dim(g.arrays[0], 0);
        let at = self.extreme_places(g, n);
        self.tangents_at(g, n, at);
    }

    /// The tangents of a scan that gives elements, by their places: 0 is the neutral element's.
    pub(super) fn tangents_at(&mut self, g: &Group, n: Var, at: Var) {
        let (e, a, y) = (g.neutral[0], g.arrays[0], g.outs[0]);
        let one = self.b.int(1);
        let more = self.b.bin(Bin::Add, n, one);
        let longer = self.b.one(Op::Stack { elems: vec![more], shape: None }, Ty::shape());
        let ty = self.tangent_ty(a);
        let mut acc = self.lin_zero(ty.clone());
        if let Some(t) = self.has(a) {
            acc = self.b.lin(Op::SliceAdd { acc, lo: one, hi: more, v: t, shape: Some(longer) }, ty.clone());
        }
        if let Some(t) = self.has(e) {
            let zero = self.b.int(0);
            acc = self.b.lin(Op::IndexAdd { acc, at: vec![zero], v: t, shape: Some(longer) }, ty.clone());
        }
        let t = self.b.lin(Op::Gather { a: acc, at, shape: Some(longer) }, ty);
        self.set_tangent(y, Some(t));
    }

    /// The place of each prefix's extreme: that of the last element at which the prefixes changed.
    fn extreme_places(&mut self, g: &Group, n: Var) -> Var {
        let y = g.outs[0];
        let inclusive = Group { kind: SoacKind::Scan, op: Block::default(), neutral: g.neutral.clone(), arrays: g.arrays.clone(), outs: g.outs.clone() };
        let before = self.prefixes_before(&inclusive)[0];
        let changed = self.b.cmp(Cmp::Ne, y, before);
        let (zero, one) = (self.b.int(0), self.b.int(1));
        // An exclusive prefix changes one element later.
        let places = match g.kind {
            SoacKind::ScanExclusive => self.iota(n),
            SoacKind::Scan | SoacKind::Reduce => {
                let more = self.b.bin(Bin::Add, n, one);
                self.b.prim(Prim::Range, &[one, more], Ty::shape())
            }
        };
        let places = self.b.one(Op::Select(changed, places, zero), Ty::shape());
        let op = operator::binary(&mut self.b, &Ty::I64, Bin::Max);
        let made = Soac { kind: SoacKind::Scan, op, neutral: vec![zero], arrays: vec![places] };
        self.b.one(Op::Soac(Box::new(made)), Ty::shape())
    }

    /// `(v, i) (w, j)`: the first unless the second is better; a `nan` stays.
    pub(super) fn first_better(&mut self, elem: &Ty, op: Bin) -> Block {
        self.b.open();
        let [v, i, w, j] = [elem.clone(), Ty::I64, elem.clone(), Ty::I64].map(|t| self.b.param(t));
        let better = self.b.cmp(if op == Bin::Min { Cmp::Le } else { Cmp::Ge }, v, w);
        let nan = self.b.cmp(Cmp::Ne, v, v);
        let kept = self.b.one(Op::Select(nan, nan, better), Ty::Bool);
        let value = self.b.one(Op::Select(kept, v, w), elem.clone());
        let place = self.b.one(Op::Select(kept, i, j), Ty::I64);
        self.b.close(vec![value, place], Vec::new())
    }

    /// The operator itself, linearised at each prefix and element.
    fn linear_steps(&mut self, g: &Group) -> Result<(), Unsupported> {
        let w = g.arrays.len();
        let before = self.prefixes_before(g);
        let n = self.b.dim(g.arrays[0], 0);
        let mut op = self.another(&g.op);
        let real: Vec<usize> = (0..w).filter(|k| self.act.has(g.outs[*k])).collect();
        let driven: Vec<usize> = (0..w).filter(|k| self.has(g.arrays[*k]).is_some()).collect();
        let lin_init: Vec<Var> = real.iter().map(|k| {
            let ty = self.b.ty(g.neutral[*k]);
            self.has(g.neutral[*k]).unwrap_or_else(|| self.lin_zero(ty))
        }).collect();
        let mut lin_params: Vec<Var> = Vec::new();
        for p in real.iter().map(|k| op.params[*k]).chain(driven.iter().map(|k| op.params[w + *k])).collect::<Vec<_>>() {
            self.act.vars.insert(p);
            lin_params.push(self.fresh_tangent(p));
        }
        for s in &op.stmts {
            self.watch(s);
        }
        let index = self.b.func.fresh(Ty::I64, false);
        op.params.insert(0, index);
        let wanted: Vec<bool> = (0..w).map(|k| real.contains(&k)).collect();
        let mut body = self.branch(&op, &lin_params, &wanted)?;
        body.results.clear();
        let carried = &lin_params[..real.len()];
        let kept = if g.kind == SoacKind::Scan { body.lin_results.clone() } else { carried.to_vec() };
        body.lin_results.extend(kept);
        let l = Loop {
            turns: Turns::For(n),
            reverse: false,
            init: Vec::new(),
            lin_init,
            xs: [&before[..], &g.arrays].concat(),
            lin_xs: driven.iter().filter_map(|k| self.has(g.arrays[*k])).collect(),
            outs: Vec::new(),
            lin_outs: vec![Out::Collect; real.len()],
            body,
        };
        let tys: Vec<Ty> = real.iter().map(|k| self.b.ty(g.neutral[*k])).chain(real.iter().map(|k| self.b.ty(g.arrays[*k]))).collect();
        let (_, made) = self.b.emit(Op::Loop(Box::new(l)), &[Ty::I64], &tys);
        for (i, k) in real.iter().enumerate() {
            self.set_tangent(g.outs[*k], Some(made[real.len() + i]));
        }
        Ok(())
    }
}

/// Components that depend on each other's prefixes in a cycle, each after those that it depends on.
fn cycles(rows: &[Row], w: usize) -> Vec<Vec<usize>> {
    let mut reach: Vec<Vec<bool>> = (0..w).map(|j| (0..w).map(|k| j == k || rows[j].contains_key(&k)).collect()).collect();
    for m in 0..w {
        for j in 0..w {
            if reach[j][m] {
                for k in 0..w {
                    if reach[m][k] {
                        reach[j][k] = true;
                    }
                }
            }
        }
    }
    let mut out: Vec<Vec<usize>> = Vec::new();
    let mut left: Vec<usize> = (0..w).collect();
    while !left.is_empty() {
        // One of those that depend on nothing that is left but their own cycle.
        let ready = |j: &usize| left.iter().all(|k| !reach[*j][*k] || reach[*k][*j]);
        let first = left.iter().copied().find(|j| ready(j)).unwrap_or(left[0]);
        let block: Vec<usize> = left.iter().copied().filter(|k| reach[first][*k] && reach[*k][first]).collect();
        left.retain(|k| !block.contains(k));
        out.push(block);
    }
    out
}
