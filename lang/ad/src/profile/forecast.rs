//! What a plan stores and recomputes, from counts.

use super::{Count, Counted, reach};
use crate::Ad;
use crate::profile::sites::{Site, Unit};
use crate::unzip::{Plan, Residual};
use adl_ir::{DataId, FnId, Program, Ty, Var};
use adl_specialise::Unsupported;
use std::collections::{BTreeMap, BTreeSet};

/// A residual with its size.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is.
    pub residual: Residual,
    /// Bytes of all its values.
    pub bytes: u64,
    /// How many values it has: one each time its block runs.
    pub values: u64,
    /// The work of making them, by the statement that makes them alone.
    pub work: u64,
    /// Whether it is made for the derivative alone: a coefficient.
    pub coefficient: bool,
}

/// What a plan takes.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    /// The residuals, in program order.
    pub rows: Vec<Row>,
    /// Bytes of all residuals: what the forward pass keeps for the reverse pass.
    pub stored: u64,
    /// The most bytes at once: with what a checkpointed call stores while the reverse pass is in it.
    pub peak: u64,
    /// Work that is done a second time.
    pub again: u64,
    /// Work of the function itself, with its derivative's coefficients.
    pub work: u64,
}

/// Bytes of one element or number; of data and text, a reference.
fn width(ty: &Ty) -> u64 {
    match ty {
        Ty::F64 | Ty::I64 | Ty::Str | Ty::Data(_) => 8,
        Ty::F32 => 4,
        Ty::Bool => 1,
        Ty::Array(e, _) => width(e),
    }
}

/// What the counts must be multiplied with to give the bytes of the residuals of J `f`, functions that it calls included.
pub(super) fn kept_by(ad: &mut Ad, p: &mut Program, f: FnId, plan: &Plan) -> Result<BTreeMap<Count, u64>, Unsupported> {
    let mut out = BTreeMap::new();
    for r in rows_of(ad, p, f, plan)? {
        let (g, v) = r.at;
        let sites = ad.sites(p, g);
        match sites.block_of.get(&v) {
            Some(b) if r.ty.rank() == 0 => *out.entry(Count::Runs(g, *b)).or_default() += width(&r.ty),
            Some(_) => *out.entry(Count::Elements(g, v)).or_default() += width(&r.ty),
            None => {}
        }
    }
    for g in active(p, f) {
        let u = ad.unzip(p, g, plan)?;
        let sites = ad.sites(p, g);
        for (key, arm, ty) in u.padding.iter() {
            if let Some(b) = sites.arms.get(&(*key, *arm)) {
                *out.entry(Count::Runs(g, *b)).or_default() += width(ty);
            }
        }
        if u.boxed.is_some() {
            *out.entry(Count::Runs(g, 0)).or_default() += 8;
        }
    }
    Ok(out)
}

/// A function and those that it calls (other than in checkpoints) that have a linear part.
fn active(p: &Program, f: FnId) -> BTreeSet<FnId> {
    p.callees(f, |g, checkpoint| !checkpoint && !p.func(g).body.lin_results.is_empty() && !p.func(g).body.results.is_empty())
}

impl Ad {
    /// The types in which recursive functions keep their residuals, of J `f` and of what it calls. (Residuals may hold others: those of
    /// derivatives inside `f`, which are data like any other.)
    pub fn boxes(&mut self, p: &mut Program, f: FnId, plan: &Plan) -> Result<BTreeSet<DataId>, Unsupported> {
        let mut out = BTreeSet::new();
        for g in active(p, f) {
            let u = self.unzip(p, g, plan)?;
            out.extend(u.boxed.iter().chain(u.packs.iter()));
        }
        Ok(out)
    }
}

impl Ad {
    /// The same types, also of functions that checkpoints run again.
    pub fn all_boxes(&mut self, p: &mut Program, f: FnId, plan: &Plan) -> Result<BTreeSet<DataId>, Unsupported> {
        let mut out = BTreeSet::new();
        for g in p.callees(f, |g, _| !p.func(g).body.lin_results.is_empty() && !p.func(g).body.results.is_empty()) {
            let u = self.unzip(p, g, plan)?;
            out.extend(u.boxed.iter().chain(u.packs.iter()));
        }
        Ok(out)
    }
}

/// The residuals of J `f` and of what it calls, in program order.
fn rows_of(ad: &mut Ad, p: &mut Program, f: FnId, plan: &Plan) -> Result<Vec<Residual>, Unsupported> {
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    for g in active(p, f) {
        for r in ad.unzip(p, g, plan)?.own.iter() {
            if r.at.0 == g && seen.insert((r.at, r.reason)) {
                out.push(r.clone());
            }
        }
    }
    out.sort_by_key(|r| (r.span.file, r.span.lo, r.span.hi, r.at));
    Ok(out)
}

/// What the counts must be multiplied with to give the work of `f` and of what it calls.
pub(super) fn work_of(ad: &mut Ad, p: &Program, f: FnId) -> BTreeMap<Count, u64> {
    let mut out = BTreeMap::new();
    for g in reach(p, f) {
        let sites = ad.sites(p, g);
        out.extend(sites.blocks.iter().enumerate().map(|(k, n)| (Count::Runs(g, k as u32), *n)));
        out.extend(sites.elementwise.iter().map(|v| (Count::Elements(g, *v), 1)));
        out.extend(sites.own.iter().map(|v| (Count::Work(g, *v), 1)));
        out.extend(sites.regions.iter().map(|v| (Count::Inside(g, *v), 1)));
    }
    out.retain(|_, w| *w > 0);
    out
}

/// The same for what a checkpoint runs again: the residuals of `f`, not what only its results need.
pub(super) fn work_of_residuals(ad: &mut Ad, p: &mut Program, f: FnId) -> Result<BTreeMap<Count, u64>, Unsupported> {
    let mut out = work_of(ad, p, f);
    let u = ad.unzip(p, f, &Plan::store_all())?;
    let kept = ad.residuals_only(p, &u);
    let mut live: BTreeSet<Var> = BTreeSet::new();
    let mut blocks = vec![&p.func(kept).body];
    while let Some(b) = blocks.pop() {
        for s in &b.stmts {
            live.extend(&s.outs);
            blocks.extend(s.op.blocks());
        }
    }
    let sites = ad.sites(p, f);
    for (block, _) in sites.ones.iter().filter(|(_, v)| !live.contains(v)) {
        if let Some(n) = out.get_mut(&Count::Runs(f, *block)) {
            *n = n.saturating_sub(1);
        }
    }
    out.retain(|k, _| match k {
        Count::Elements(g, v) | Count::Work(g, v) | Count::Inside(g, v) => *g != f || live.contains(v),
        Count::Runs(..) | Count::Again => true,
    });
    Ok(out)
}

impl Counted {
    fn get(&self, k: Count) -> u64 {
        self.counts.get(&k).copied().unwrap_or(0)
    }

    fn weighed(&self, weights: &BTreeMap<Count, u64>) -> u64 {
        weights.iter().map(|(k, w)| self.get(*k).saturating_mul(*w)).fold(0, u64::saturating_add)
    }
}

impl Ad {
    /// What a plan takes for J `f`, whose profile has counted this.
    pub fn forecast(&mut self, p: &mut Program, f: FnId, plan: &Plan, c: &Counted) -> Result<Forecast, Unsupported> {
        let stored = c.weighed(&kept_by(self, p, f, plan)?);
        let mut rows = Vec::new();
        for residual in rows_of(self, p, f, plan)? {
            rows.push(self.row(p, residual, c));
        }
        let mut again = c.get(Count::Again);
        for g in active(p, f) {
            let u = self.unzip(p, g, plan)?;
            for v in u.moved.iter() {
                let Some(site) = self.sites(p, g).made.get(v).cloned() else { continue };
                again = again.saturating_add(self.work_at(p, g, &site, c));
            }
        }
        let work = c.weighed(&work_of(self, p, f));
        Ok(Forecast { rows, stored, peak: stored + c.peak, again, work })
    }

    fn row(&mut self, p: &Program, residual: Residual, c: &Counted) -> Row {
        let (g, v) = residual.at;
        let sites = self.sites(p, g);
        let values = sites.block_of.get(&v).map_or(0, |b| c.get(Count::Runs(g, *b)));
        let bytes = width(&residual.ty) * if residual.ty.rank() == 0 { values } else { c.get(Count::Elements(g, v)) };
        let work = sites.made.get(&v).map_or(0, |s| self.work_at(p, g, s, c));
        let coefficient = self.origins.get(&g).is_some_and(|f| v.0 as usize >= p.func(*f).vars.len());
        Row { residual, bytes, values, work, coefficient }
    }

    /// The work of all runs of a statement, with what is inside it.
    fn work_at(&mut self, p: &Program, g: FnId, s: &Site, c: &Counted) -> u64 {
        let own = match s.unit {
            Unit::Free => 0,
            Unit::One => c.get(Count::Runs(g, s.block)),
            Unit::Elements => c.get(Count::Elements(g, s.key)),
            Unit::Own => c.get(Count::Work(g, s.key)),
        };
        let sites = self.sites(p, g);
        let within = |v: &Var| sites.block_of.get(v).is_some_and(|b| (s.inside.0..s.inside.1).contains(b));
        let scalars: u64 = (s.inside.0..s.inside.1).map(|b| sites.blocks[b as usize] * c.get(Count::Runs(g, b))).sum();
        let arrays: u64 = sites.elementwise.iter().filter(|v| within(v)).map(|v| c.get(Count::Elements(g, *v))).sum();
        let others: u64 = sites.own.iter().filter(|v| within(v)).map(|v| c.get(Count::Work(g, *v))).sum();
        let mut sum = own + scalars + arrays + others;
        for (block, callee) in &s.calls {
            // The callee's work, shared out evenly among its calls.
            let all = u128::from(c.weighed(&work_of(self, p, *callee)));
            let part = all * u128::from(c.get(Count::Runs(g, *block))) / u128::from(c.get(Count::Runs(*callee, 0)).max(1));
            sum = sum.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
        }
        sum
    }
}
