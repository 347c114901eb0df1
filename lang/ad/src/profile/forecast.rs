//! Computes from counts what a plan stores and recomputes.

use super::{Count, Counted, reach};
use crate::Ad;
use crate::profile::sites::{StmtSite, WorkUnit};
use crate::results::FunctionSites;
use crate::unzip::{Residual, UnzipPlan, each_stmt};
use adl_ir::{DataId, FnId, Program, Ty, Var};
use adl_specialise::Unsupported;
use std::collections::{BTreeMap, BTreeSet};

/// A residual with its size.
#[derive(Clone, Debug)]
pub struct ResidualRow {
    /// What it is.
    pub residual: Residual,
    /// Bytes of all its values.
    pub bytes: u64,
    /// Number of values: one for each run of its block.
    pub values: u64,
    /// The extents of an array, if all values have the same.
    pub extents: Option<Vec<u64>>,
    /// Work of the statement that computes it, over all runs.
    pub work: u64,
    /// Whether it is needed by the derivative only: a coefficient.
    pub coefficient: bool,
}

/// The cost of a plan.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    /// The residuals, in program order.
    pub rows: Vec<ResidualRow>,
    /// Bytes of all residuals: what the forward pass stores for the reverse pass.
    pub stored: u64,
    /// Peak bytes: the residuals, plus what a checkpointed call stores during the reverse pass.
    pub peak: u64,
    /// Work that is repeated.
    pub again: u64,
    /// Work of the function itself, including its derivative's coefficients.
    pub work: u64,
}

/// Bytes of one element or number. Data and text count as a reference.
fn width(ty: &Ty) -> u64 {
    match ty {
        Ty::F64 | Ty::I64 | Ty::Str | Ty::Data(_) => 8,
        Ty::F32 => 4,
        Ty::Bool => 1,
        Ty::Array(e, _) => width(e),
    }
}

/// The factors by which counts are multiplied to give the residual bytes of the function `id` made by J, including
/// its callees.
pub(super) fn kept_by(
    ad: &mut Ad,
    program: &mut Program,
    id: FnId,
    plan: &UnzipPlan,
) -> Result<BTreeMap<Count, u64>, Unsupported> {
    let mut out = BTreeMap::new();
    for r in rows_of(ad, program, id, plan)? {
        let (g, v) = r.at;
        let sites = ad.sites(program, g);
        match sites.block_of.get(&v) {
            Some(_) if r.ty.rank() == 0 => {
                for b in blocks_of(&sites, &r) {
                    *out.entry(Count::Runs(g, b)).or_default() += width(&r.ty);
                }
            }
            Some(_) => *out.entry(Count::Elements(g, v)).or_default() += width(&r.ty),
            None => {}
        }
    }
    for g in active(program, id) {
        let u = ad.unzip(program, g, plan)?;
        let sites = ad.sites(program, g);
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

/// The blocks that store a number: the one that binds it, or some arms of a branch.
fn blocks_of(sites: &FunctionSites, r: &Residual) -> Vec<u32> {
    if r.arms.is_empty() {
        return sites.block_of.get(&r.at.1).copied().into_iter().collect();
    }
    r.arms.iter().filter_map(|arm| sites.arms.get(arm)).copied().collect()
}

/// A function and its callees (except inside of checkpoints) that have a linear part.
fn active(p: &Program, f: FnId) -> BTreeSet<FnId> {
    p.callees(f, |g, checkpoint| {
        !checkpoint && !p.func(g).body.lin_results.is_empty() && !p.func(g).body.results.is_empty()
    })
}

impl Ad {
    /// The data types in which recursive functions store their residuals, for `f`, made by J, and its callees.
    /// Residuals may contain other data, such as the residuals of derivatives inside of `f`, which are data like
    /// any other.
    pub fn boxes(&mut self, p: &mut Program, f: FnId, plan: &UnzipPlan) -> Result<BTreeSet<DataId>, Unsupported> {
        let mut out = BTreeSet::new();
        for g in active(p, f) {
            let u = self.unzip(p, g, plan)?;
            out.extend(u.boxed.iter().chain(u.packs.iter()));
        }
        Ok(out)
    }
}

impl Ad {
    /// The same types, including those of functions that checkpoints run again.
    pub fn all_boxes(&mut self, p: &mut Program, f: FnId, plan: &UnzipPlan) -> Result<BTreeSet<DataId>, Unsupported> {
        let mut out = BTreeSet::new();
        for g in p.callees(f, |g, _| !p.func(g).body.lin_results.is_empty() && !p.func(g).body.results.is_empty()) {
            let u = self.unzip(p, g, plan)?;
            out.extend(u.boxed.iter().chain(u.packs.iter()));
        }
        Ok(out)
    }
}

/// The residuals of `f`, made by J, and of its callees, in program order.
fn rows_of(ad: &mut Ad, p: &mut Program, f: FnId, plan: &UnzipPlan) -> Result<Vec<Residual>, Unsupported> {
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

/// The factors by which counts are multiplied to give the work of `f` and its callees.
pub(super) fn work_of(ad: &mut Ad, p: &Program, f: FnId) -> BTreeMap<Count, u64> {
    let mut out = BTreeMap::new();
    for g in reach(p, f) {
        weigh(ad, p, g, None, &mut out);
    }
    out
}

/// The same for one forward run of a call in a checkpoint, which runs the functions from before J.
pub(super) fn work_of_plain(ad: &mut Ad, p: &Program, f: FnId) -> BTreeMap<Count, u64> {
    let mut out = BTreeMap::new();
    for g in reach(p, f) {
        let there: Option<BTreeSet<Var>> = ad.unzip.forward_sources.get(&g).map(|plain| made_in(p, *plain));
        weigh(ad, p, g, there.as_ref(), &mut out);
    }
    out
}

/// The same for the repeated run, which omits what only the results of `id` need, and includes what the linear
/// halves recompute.
pub(super) fn work_of_residuals(
    ad: &mut Ad,
    program: &mut Program,
    id: FnId,
) -> Result<BTreeMap<Count, u64>, Unsupported> {
    let plan = UnzipPlan::store_all();
    let unzipped = ad.unzip(program, id, &plan)?;
    let kept = ad.residuals_only(program, &unzipped);
    let mut out = BTreeMap::new();
    for g in reach(program, id) {
        let half = match ad.unzip.unzips.get(&(g, plan.clone())) {
            _ if g == id => Some(kept),
            Some(u) => Some(u.called),
            None => None,
        };
        let there = half.map(|h| made_in(program, h));
        weigh(ad, program, g, there.as_ref(), &mut out);
    }
    for g in active(program, id) {
        let moved = ad.moved(program, g, &plan)?.into_keys().collect();
        weigh(ad, program, g, Some(&moved), &mut out);
        let (u, sites) = (ad.unzip(program, g, &plan)?, ad.sites(program, g));
        for (b, n) in u.compared.iter().filter_map(|(arm, n)| Some((sites.arms.get(arm)?, n))) {
            *out.entry(Count::Runs(g, *b)).or_default() += n;
        }
    }
    Ok(out)
}

/// Results of a function's statements, nested ones included.
fn made_in(p: &Program, f: FnId) -> BTreeSet<Var> {
    let mut out = BTreeSet::new();
    each_stmt(&p.func(f).body, &mut |s| out.extend(&s.outs));
    out
}

/// Adds the factors for the work of the statements of `g`, made by J; of only those whose results are in `there`,
/// if given.
fn weigh(ad: &mut Ad, p: &Program, g: FnId, there: Option<&BTreeSet<Var>>, out: &mut BTreeMap<Count, u64>) {
    let sites = ad.sites(p, g);
    let counts = |v: &Var| there.is_none_or(|t| t.contains(v));
    let ones = sites.ones.iter().filter(|(_, v)| counts(v)).map(|(k, _)| Count::Runs(g, *k));
    let elements = sites.elementwise.iter().filter(|v| counts(v)).map(|v| Count::Elements(g, *v));
    let own = sites.own.iter().filter(|v| counts(v)).map(|v| Count::Work(g, *v));
    let regions = sites.regions.iter().filter(|v| counts(v)).map(|v| Count::Inside(g, *v));
    for k in ones.chain(elements).chain(own).chain(regions) {
        *out.entry(k).or_default() += 1;
    }
}

/// The common extents of a residual's arrays, derived from the sums of their extents. `None` if these cannot be equal.
fn extents(r: &Residual, c: &Counted, values: u64) -> Option<Vec<u64>> {
    let (g, v) = r.at;
    let whole = |n: u64, by: u64| (by > 0 && n.is_multiple_of(by)).then(|| n / by);
    let mut out =
        (1..r.ty.rank()).map(|k| whole(c.get(Count::Extent(g, v, k - 1)), values)).collect::<Option<Vec<u64>>>()?;
    let elements = c.get(Count::Elements(g, v));
    let others = out.iter().try_fold(values, |n, k| n.checked_mul(*k))?;
    out.push(if elements == 0 { 0 } else { whole(elements, others)? });
    Some(out)
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
    /// The cost of a plan for `id`, made by J, given the counts of its profile.
    pub fn forecast(
        &mut self,
        program: &mut Program,
        id: FnId,
        plan: &UnzipPlan,
        counted: &Counted,
    ) -> Result<Forecast, Unsupported> {
        let stored = counted.weighed(&kept_by(self, program, id, plan)?);
        let mut rows = Vec::new();
        for residual in rows_of(self, program, id, plan)? {
            rows.push(self.row(program, residual, counted));
        }
        let (mut again, mut spared) = (counted.get(Count::Again), 0u64);
        for callee in active(program, id) {
            let u = self.unzip(program, callee, plan)?;
            let (moved, forwards) = (self.moved(program, callee, plan)?, made_in(program, u.called));
            again = again
                .saturating_add(self.work_of_those(program, callee, counted, &|v| moved.get(v).copied().unwrap_or(0)));
            // The primal half no longer computes what only the linear half needs.
            spared = spared
                .saturating_add(self.work_of_those(program, callee, counted, &|v| u64::from(!forwards.contains(v))));
            let sites = self.sites(program, callee);
            again += u
                .compared
                .iter()
                .filter_map(|(arm, n)| Some(n * counted.get(Count::Runs(callee, *sites.arms.get(arm)?))))
                .sum::<u64>();
        }
        let again = again.saturating_sub(spared);
        let work = counted.weighed(&work_of(self, program, id));
        Ok(Forecast { rows, stored, peak: stored + counted.peak, again, work })
    }

    /// Variables of `g`, made by J, that the transposed half recomputes, with the number of statements that do.
    fn moved(&mut self, p: &mut Program, g: FnId, plan: &UnzipPlan) -> Result<BTreeMap<Var, u64>, Unsupported> {
        let u = self.unzip(p, g, plan)?;
        self.transpose(p, u.linear)?;
        let mut there: BTreeSet<Var> = BTreeSet::new();
        for (_, t) in self.linear.transposes.get(&u.linear).into_iter().flatten() {
            each_stmt(&p.func(*t).body, &mut |s| there.extend(&s.outs));
        }
        let mut out = BTreeMap::new();
        for (v, _) in u.moved.iter().filter(|(_, copy)| there.contains(copy)) {
            *out.entry(*v).or_default() += 1;
        }
        Ok(out)
    }

    /// The work of statements of `g`, made by J, nested ones included. `times` gives the number of repetitions by a
    /// result of the statement.
    fn work_of_those(&mut self, p: &Program, g: FnId, c: &Counted, times: &dyn Fn(&Var) -> u64) -> u64 {
        let sites = self.sites(p, g);
        let leaf = |s: &StmtSite| s.inside.0 == s.inside.1;
        let meant = sites.made.iter().filter(|(v, s)| **v == s.key && leaf(s) && times(v) > 0);
        meant.map(|(v, s)| self.work_at(p, g, s, c).saturating_mul(times(v))).fold(0, u64::saturating_add)
    }

    fn row(&mut self, p: &Program, residual: Residual, c: &Counted) -> ResidualRow {
        let (g, v) = residual.at;
        let sites = self.sites(p, g);
        let values = blocks_of(&sites, &residual).into_iter().map(|b| c.get(Count::Runs(g, b))).sum();
        let bytes = width(&residual.ty) * if residual.ty.rank() == 0 { values } else { c.get(Count::Elements(g, v)) };
        let work = sites.made.get(&v).map_or(0, |s| self.work_at(p, g, s, c));
        let extents = extents(&residual, c, values);
        let coefficient = self.jvp.sources.get(&g).is_some_and(|f| v.0 as usize >= f.vars.len());
        ResidualRow { residual, bytes, values, extents, work, coefficient }
    }

    /// The number of calls of a function by itself.
    fn recursive_calls(&mut self, program: &Program, id: FnId, counted: &Counted) -> u64 {
        let sites = self.sites(program, id);
        let calls =
            sites.made.iter().filter(|(v, s)| **v == s.key && s.inside.0 == s.inside.1).flat_map(|(_, s)| &s.calls);
        calls.filter(|(_, f)| *f == id).map(|(block, _)| counted.get(Count::Runs(id, *block))).sum()
    }

    /// The work of all runs of a statement, including nested blocks.
    fn work_at(&mut self, program: &Program, id: FnId, stmt_site: &StmtSite, counted: &Counted) -> u64 {
        let own = match stmt_site.unit {
            WorkUnit::Free => 0,
            WorkUnit::One => counted.get(Count::Runs(id, stmt_site.block)),
            WorkUnit::Elements => counted.get(Count::Elements(id, stmt_site.key)),
            WorkUnit::Own => counted.get(Count::Work(id, stmt_site.key)),
        };
        let sites = self.sites(program, id);
        let within =
            |v: &Var| sites.block_of.get(v).is_some_and(|b| (stmt_site.inside.0..stmt_site.inside.1).contains(b));
        let scalars: u64 = (stmt_site.inside.0..stmt_site.inside.1)
            .map(|b| sites.blocks[b as usize] * counted.get(Count::Runs(id, b)))
            .sum();
        let arrays: u64 =
            sites.elementwise.iter().filter(|v| within(v)).map(|v| counted.get(Count::Elements(id, *v))).sum();
        let others: u64 = sites.own.iter().filter(|v| within(v)).map(|v| counted.get(Count::Work(id, *v))).sum();
        let mut sum = own + scalars + arrays + others;
        for (block, callee) in &stmt_site.calls {
            // The callee's work is divided evenly among its calls, without those by itself.
            let all = u128::from(counted.weighed(&work_of(self, program, *callee)));
            let runs =
                counted.get(Count::Runs(*callee, 0)).saturating_sub(self.recursive_calls(program, *callee, counted));
            let part = all * u128::from(counted.get(Count::Runs(id, *block))) / u128::from(runs.max(1));
            sum = sum.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
        }
        sum
    }
}
