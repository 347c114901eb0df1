//! Resolution of checkpointing plans: translates a plan by name into parameters of the transformations, using a
//! profile of what the function would store.

use super::{CompiledAd, NotCompiled, ResolvedPlan, Specialized, not, with};
use crate::error::{Res, codes};
use crate::limits::ir_derive_resolve_plan::{FREE, LONG, REMEMBERED, ROW_STEPS};
use crate::upcalls::RunsLowered;
use crate::value::plan::{Plan, bad};
use crate::value::{Buf, Value};
use crate::vm::Machine;
use adl_ad::profile::{Counted, Forecast, ResidualRow};
use adl_ad::segment::{PARTS, Segments};
use adl_ad::unzip;
use adl_ir::FnId;
use adl_specialise::Unsupported;
use std::collections::BTreeSet;

/// A function (its forward-mode transform) and the counts of a profiling run.
#[derive(Clone, Debug)]
pub(crate) struct ProfiledFunction {
    pub j: FnId,
    pub counted: Counted,
}

/// Numbers of stored states that `Budget` tries for binomial checkpointing, largest first.
const STATES: [u32; 7] = [256, 64, 32, 16, 8, 4, 1];

/// What compiled AD gives; inside, why it was not possible.
pub(super) type Attempt<T> = Res<Result<T, NotCompiled>>;

/// Profiles a function at given arguments, with its loops divided into segments.
pub(crate) fn study(
    machine: &mut Machine,
    specialized: &Specialized,
    leaves: &[Value],
    segments: Segments,
) -> Attempt<ProfiledFunction> {
    let (jvp, made, fun) = or_not_compiled!(with(machine, |compiled_ad, _| {
        let j = compiled_ad.differentiated(specialized, segments)?;
        let made = compiled_ad.ad.profile(&mut compiled_ad.program, j)?;
        let fun = compiled_ad.linker.function(&compiled_ad.program, made.func).map_err(|e| not(&e.diag.message))?;
        Ok((j, made, fun))
    }));
    machine.effects.rewind();
    let outs = match machine.call_lowered(&fun, leaves.to_vec(), made.results + made.counts.len() + 1) {
        // A profile also runs dead code, which may ask for the shape or an element of an array that does not exist. If the
        // function itself fails, running it tells.
        Err(e) if !e.stops() && e.diag.code != codes::ASSERT => {
            return Ok(Err(NotCompiled(Unsupported::new(
                format!("an error: {}", e.diag.message),
                e.diag.primary.span,
            ))));
        }
        outs => outs?,
    };
    let counts: Vec<i64> = outs[made.results.min(outs.len())..].iter().map(crate::ops::int).collect();
    Ok(Ok(ProfiledFunction { j: jvp, counted: made.counted(&counts) }))
}

/// Predicts the memory and work of a plan.
pub(crate) fn forecast(
    m: &mut Machine,
    s: &ProfiledFunction,
    plan: &unzip::UnzipPlan,
) -> Result<Forecast, NotCompiled> {
    with(m, |compiled_ad, _| Ok(compiled_ad.ad.forecast(&mut compiled_ad.program, s.j, plan, &s.counted)?))
}

impl CompiledAd {
    /// The forward-mode transform of a function whose loops are divided into segments.
    pub(super) fn differentiated(&mut self, e: &Specialized, segments: Segments) -> Result<FnId, NotCompiled> {
        let f = self.ad.segmented(&mut self.program, e.entry.func, segments);
        let wrt = self.wrt(e);
        Ok(self.ad.jvp(&mut self.program, f, &wrt)?.func)
    }
}

/// The plan that stores all rows except the given ones.
pub(crate) fn without(rows: &[ResidualRow], recomputed: &BTreeSet<usize>) -> unzip::UnzipPlan {
    if recomputed.is_empty() {
        return unzip::UnzipPlan::store_all();
    }
    let store = rows.iter().enumerate().filter(|(k, _)| !recomputed.contains(k)).map(|(_, r)| r.residual.at).collect();
    unzip::UnzipPlan::storing(store, rows.iter().map(|r| r.residual.at.0).collect())
}

/// The set of row indices, after checking that each id exists and that its residual can be recomputed.
pub(crate) fn chosen(rows: &[ResidualRow], ids: &[u32]) -> Res<BTreeSet<usize>> {
    for id in ids {
        match rows.get(*id as usize) {
            None => return Err(bad(format!("there is no residual {id}: there are {}", rows.len()))),
            Some(r) if !r.residual.movable => {
                return Err(bad(format!("residual {id} cannot be recomputed: it is {}", r.residual.reason)));
            }
            Some(_) => {}
        }
    }
    Ok(ids.iter().map(|i| *i as usize).collect())
}

/// Resolves a plan at these arguments.
pub(crate) fn resolve(
    machine: &mut Machine,
    specialized: &Specialized,
    leaves: &[Value],
    plan: &Plan,
) -> Attempt<ResolvedPlan> {
    let whole = |plan| ResolvedPlan { segments: Segments::None, plan };
    let divided = |segments| ResolvedPlan { segments, plan: unzip::UnzipPlan::store_all() };
    Ok(Ok(match plan {
        Plan::StoreAll => ResolvedPlan::default(),
        Plan::RecomputeAll => whole(unzip::UnzipPlan::recompute_all()),
        Plan::Sqrt => divided(Segments::Sqrt),
        Plan::Revolve(k) => divided(Segments::Revolve(*k)),
        Plan::ByHand(ids) => {
            let j = or_not_compiled!(
                with(machine, |compiled_ad, _| compiled_ad.differentiated(specialized, Segments::None))
            );
            let study = ProfiledFunction { j, counted: Counted::default() };
            let rows = or_not_compiled!(forecast(machine, &study, &unzip::UnzipPlan::store_all())).rows;
            whole(without(&rows, &chosen(&rows, ids)?))
        }
        Plan::Auto | Plan::Budget(_) => {
            let key = (specialized.entry.func, plan.clone(), sizes(leaves));
            if let Some((_, r)) = machine.compiled_ad.plans.decisions.0.iter().find(|(k, _)| *k == key) {
                return Ok(Ok(r.clone()));
            }
            let r = or_not_compiled!(within(machine, specialized, leaves, plan)?);
            let all = &mut machine.compiled_ad.plans.decisions.0;
            if all.len() >= REMEMBERED {
                all.clear();
            }
            all.push((key, r.clone()));
            r
        }
    }))
}

/// What the counts depend on: the Ints and array extents among the arguments.
pub(super) fn sizes(leaves: &[Value]) -> Vec<i64> {
    let mut out = Vec::new();
    for v in leaves {
        match v {
            Value::Int(n) => out.push(*n),
            Value::Bool(b) => out.push(i64::from(*b)),
            Value::Array(a) => {
                out.extend(a.shape.iter().map(|n| *n as i64));
                if let Buf::I64(v) = a.buf() {
                    out.extend(v.iter().take(64));
                }
            }
            _ => out.push(0),
        }
    }
    out
}

/// A resolved plan with its predicted peak memory and its extra work.
#[derive(Clone)]
struct Candidate {
    resolved: ResolvedPlan,
    peak: u64,
    again: u64,
}

/// A search for plans of one gradient.
struct PlanSearch<'a> {
    e: &'a Specialized,
    leaves: &'a [Value],
    flat: ProfiledFunction,
    /// The prediction for storing everything.
    all: Forecast,
}

impl<'a> PlanSearch<'a> {
    fn new(m: &mut Machine, e: &'a Specialized, leaves: &'a [Value]) -> Attempt<PlanSearch<'a>> {
        let flat = or_not_compiled!(study(m, e, leaves, Segments::None)?);
        let all = or_not_compiled!(forecast(m, &flat, &unzip::UnzipPlan::store_all()));
        Ok(Ok(PlanSearch { e, leaves, flat, all }))
    }

    /// The candidate that divides loops into segments.
    fn divided(&self, m: &mut Machine, segments: Segments) -> Attempt<Candidate> {
        let s = or_not_compiled!(study(m, self.e, self.leaves, segments)?);
        let plan = unzip::UnzipPlan::store_all();
        let f = or_not_compiled!(forecast(m, &s, &plan));
        Ok(Ok(Candidate {
            resolved: ResolvedPlan { segments, plan },
            peak: f.peak,
            again: (f.again + f.work).saturating_sub(self.all.work),
        }))
    }

    /// The candidate that recomputes everything possible, including residuals that no row reports.
    fn recomputing(&self, m: &mut Machine) -> Result<Candidate, NotCompiled> {
        let plan = unzip::UnzipPlan::recompute_all();
        let f = forecast(m, &self.flat, &plan)?;
        Ok(Candidate { resolved: ResolvedPlan { segments: Segments::None, plan }, peak: f.peak, again: f.again })
    }

    /// Candidates within a memory limit that storing everything exceeds.
    fn candidates(&self, machine: &mut Machine, limit: u64) -> Attempt<Vec<Candidate>> {
        let mut tried = or_not_compiled!(by_rows(machine, &self.flat, &self.all, limit));
        let sqrt = or_not_compiled!(self.divided(machine, Segments::Sqrt)?);
        if sqrt.peak <= limit {
            tried.extend(or_not_compiled!(self.partial(machine, &sqrt, limit)?));
        }
        tried.push(sqrt);
        if !tried.iter().any(|c| c.peak <= limit && c.again <= self.all.work) {
            tried.extend(or_not_compiled!(self.binomial(machine, limit)?));
        }
        if tried.iter().all(|c| c.peak > limit) {
            tried.push(or_not_compiled!(self.recomputing(machine)));
        }
        Ok(Ok(tried))
    }

    /// Stores as many iterations as fit and checkpoints the others in √n segments. `sqrt` is the candidate that
    /// checkpoints all iterations.
    fn partial(&self, m: &mut Machine, sqrt: &Candidate, limit: u64) -> Attempt<Option<Candidate>> {
        // Memory grows about linearly with the number of parts, so the next guess interpolates between a number
        // that fits and one that does not.
        let (mut fits, mut too_many) = ((0, sqrt.peak), (PARTS, self.all.peak));
        let mut best = None;
        while too_many.0 - fits.0 > 1 {
            let share = limit.saturating_sub(fits.1) as f64 / too_many.1.saturating_sub(fits.1).max(1) as f64;
            let guess = fits.0 + (share * f64::from(too_many.0 - fits.0)) as u32;
            let k = guess.clamp(fits.0 + 1, too_many.0 - 1);
            let c = or_not_compiled!(self.divided(m, Segments::Partial(k))?);
            if c.peak > limit {
                too_many = (k, c.peak);
            } else {
                fits = (k, c.peak);
                best = Some(c);
            }
        }
        Ok(Ok(best))
    }

    /// Binomial checkpointing with as many stored states as fit: fewer states need less memory and more work.
    fn binomial(&self, machine: &mut Machine, limit: u64) -> Attempt<Vec<Candidate>> {
        let mut tried: Vec<Candidate> = Vec::new();
        let mut too_many = None;
        for states in STATES {
            let c = or_not_compiled!(self.divided(machine, Segments::Revolve(states))?);
            let fits = c.peak <= limit;
            tried.push(c);
            if fits {
                let (mut low, mut high) = (states, too_many.unwrap_or(states));
                while high - low > 1 + low / 16 {
                    let k = low.midpoint(high);
                    let c = or_not_compiled!(self.divided(machine, Segments::Revolve(k))?);
                    *(if c.peak <= limit { &mut low } else { &mut high }) = k;
                    tried.push(c);
                }
                break;
            }
            too_many = Some(states);
        }
        Ok(Ok(tried))
    }
}

/// The plan with the least work within a memory limit.
fn within(m: &mut Machine, e: &Specialized, leaves: &[Value], plan: &Plan) -> Attempt<ResolvedPlan> {
    let limit = match plan {
        Plan::Budget(n) => *n,
        _ => m.host.free_memory().unwrap_or(FREE) / 2,
    };
    let search = or_not_compiled!(PlanSearch::new(m, e, leaves)?);
    if search.all.peak <= limit {
        return Ok(Ok(ResolvedPlan::default()));
    }
    let tried = or_not_compiled!(search.candidates(m, limit)?);
    let best = tried.iter().filter(|c| c.peak <= limit).min_by_key(|c| c.again);
    let least = tried.iter().min_by_key(|c| c.peak);
    match (best, least, plan) {
        (Some(c), ..) => Ok(Ok(c.resolved.clone())),
        (None, Some(c), Plan::Auto) => Ok(Ok(c.resolved.clone())),
        (None, c, _) => Err(bad(format!(
            "no plan for this gradient keeps within {limit} bytes: the least is {} bytes",
            c.map_or(search.all.peak, |c| c.peak)
        ))
        .hint("`residuals f x` shows what is stored; arguments and what loops carry always are")),
    }
}

/// Peak memory in bytes and extra work of a Pareto-optimal plan.
pub type PlanCost = (u64, u64);

/// Pareto-optimal plans between the least memory and storing everything, in the order of increasing memory.
pub(super) fn steps(machine: &mut Machine, e: &Specialized, leaves: &[Value]) -> Attempt<Vec<PlanCost>> {
    let search = or_not_compiled!(PlanSearch::new(machine, e, leaves)?);
    let mut tried = vec![
        Candidate { resolved: ResolvedPlan::default(), peak: search.all.peak, again: 0 },
        or_not_compiled!(search.recomputing(machine)),
    ];
    let ids = order(&search.all.rows);
    for n in 1..=ids.len().min(ROW_STEPS) {
        let plan =
            without(&search.all.rows, &ids[..ids.len() * n / ids.len().min(ROW_STEPS)].iter().copied().collect());
        let f = or_not_compiled!(forecast(machine, &search.flat, &plan));
        tried.push(Candidate {
            resolved: ResolvedPlan { segments: Segments::None, plan },
            peak: f.peak,
            again: f.again,
        });
    }
    let sqrt = or_not_compiled!(search.divided(machine, Segments::Sqrt)?);
    let some = sqrt.peak != search.all.peak;
    tried.push(sqrt);
    // Each of these candidates costs one profiling run.
    let parts: &[u32] =
        if search.all.work > LONG { &[64, 128] } else { &[4, 8, 16, 24, 40, 64, 88, 112, 136, 160, 184, 208, 232] };
    let states: &[u32] = if search.all.work > LONG { &[8] } else { &[64, 32, 16, 8, 4, 2, 1] };
    let divided = parts.iter().map(|k| Segments::Partial(*k)).chain(states.iter().map(|k| Segments::Revolve(*k)));
    for segments in divided.filter(|_| some) {
        tried.push(or_not_compiled!(search.divided(machine, segments)?));
    }
    tried.sort_by_key(|c| (c.peak, c.again));
    let mut out: Vec<PlanCost> = Vec::new();
    for c in tried {
        if out.last().is_none_or(|(peak, again)| c.peak > *peak && c.again < *again) {
            out.push((c.peak, c.again));
        }
    }
    Ok(Ok(out))
}

/// Row indices by increasing cost of recomputation per byte saved.
pub(crate) fn order(rows: &[ResidualRow]) -> Vec<usize> {
    let mut ids: Vec<usize> = (0..rows.len()).filter(|k| rows[*k].residual.movable && rows[*k].bytes > 0).collect();
    let price = |k: &usize| rows[*k].work as f64 / rows[*k].bytes as f64;
    ids.sort_by(|a, b| price(a).total_cmp(&price(b)));
    ids
}

/// Candidates that recompute a prefix of the rows in [`order`], including the shortest prefix that fits the
/// limit, found by bisection.
fn by_rows(m: &mut Machine, s: &ProfiledFunction, all: &Forecast, limit: u64) -> Result<Vec<Candidate>, NotCompiled> {
    let ids = order(&all.rows);
    let mut out = Vec::new();
    let (mut lo, mut hi) = (0, ids.len());
    // Invariant: recomputing `lo` rows is not enough.
    while hi > lo {
        let n = if out.is_empty() { hi } else { lo.midpoint(hi) };
        let plan = without(&all.rows, &ids[..n].iter().copied().collect());
        let f = forecast(m, s, &plan)?;
        out.push(Candidate { resolved: ResolvedPlan { segments: Segments::None, plan }, peak: f.peak, again: f.again });
        match f.peak <= limit {
            true if n == hi && out.len() > 1 => break,
            true => hi = n,
            false if n == hi => break,
            false => lo = n + 1,
        }
    }
    Ok(out)
}
