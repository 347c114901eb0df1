//! From a plan by name to what the transformations are told, by what running the function would store.

use super::plan::{Plan, bad};
use super::{Entered, Not, Road, not, with};
use crate::error::Res;
use crate::value::{Buf, Value};
use crate::vm::Machine;
use adl_ad::profile::{Counted, Forecast, Row};
use adl_ad::segment::Segments;
use adl_ad::unzip;
use adl_ir::FnId;
use std::collections::BTreeSet;

/// What the transformations are told.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Resolved {
    pub segments: Segments,
    pub plan: unzip::Plan,
}

/// A function (its J) with what running it counted.
#[derive(Clone, Debug)]
pub(crate) struct Study {
    pub j: FnId,
    pub counted: Counted,
}

/// Decisions that were made for arguments of some sizes.
#[derive(Default)]
pub(crate) struct Decisions(Vec<((FnId, Plan, Vec<i64>), Resolved)>);

/// Decisions that are remembered.
const REMEMBERED: usize = 256;
/// Memory that `Auto` takes to be free where nobody knows.
const FREE: u64 = 1 << 30;
/// States that `Budget` tries for binomial checkpoints, most first.
const STATES: [u32; 7] = [256, 64, 32, 16, 8, 4, 1];

type Outcome<T> = Res<Result<T, Not>>;

/// Counts what a function does at some leaves, its loops divided.
pub(crate) fn study(m: &mut Machine, e: &Entered, leaves: &[Value], segments: Segments) -> Outcome<Study> {
    let (j, made, fun) = possible!(with(m, |road, _| {
        let j = road.differentiated(e, segments)?;
        let made = road.ad.profile(&mut road.program, j)?;
        let fun = road.linker.function(&road.program, made.func).map_err(|e| not(&e.diag.message))?;
        Ok((j, made, fun))
    }));
    let outs = m.call_lowered(&fun, leaves.to_vec(), made.results + made.counts.len() + 1)?;
    let counts: Vec<i64> = outs[made.results.min(outs.len())..].iter().map(crate::ops::int).collect();
    Ok(Ok(Study { j, counted: made.counted(&counts) }))
}

/// What a plan would take.
pub(crate) fn forecast(m: &mut Machine, s: &Study, plan: &unzip::Plan) -> Result<Forecast, Not> {
    with(m, |road, _| Ok(road.ad.forecast(&mut road.program, s.j, plan, &s.counted)?))
}

impl Road {
    /// J of an entry's function with loops divided.
    pub(super) fn differentiated(&mut self, e: &Entered, segments: Segments) -> Result<FnId, Not> {
        let f = self.ad.segmented(&mut self.program, e.entry.func, segments);
        let wrt = self.wrt(e);
        Ok(self.ad.jvp(&mut self.program, f, &wrt)?.func)
    }
}

/// All rows but some are stored.
pub(crate) fn without(rows: &[Row], recomputed: &BTreeSet<usize>) -> unzip::Plan {
    if recomputed.is_empty() {
        return unzip::Plan::store_all();
    }
    let store = rows.iter().enumerate().filter(|(k, _)| !recomputed.contains(k)).map(|(_, r)| r.residual.at).collect();
    unzip::Plan::storing(store, rows.iter().map(|r| r.residual.at.0).collect())
}

/// The rows of ids, which must be there and be such that can be recomputed.
pub(crate) fn chosen(rows: &[Row], ids: &[u32]) -> Res<BTreeSet<usize>> {
    for id in ids {
        match rows.get(*id as usize) {
            None => return Err(bad(format!("there is no residual {id}: there are {}", rows.len()))),
            Some(r) if !r.residual.movable => return Err(bad(format!("residual {id} cannot be recomputed: it is {}", r.residual.reason))),
            Some(_) => {}
        }
    }
    Ok(ids.iter().map(|i| *i as usize).collect())
}

/// What the transformations are told to follow a plan at these arguments.
pub(crate) fn resolve(m: &mut Machine, e: &Entered, leaves: &[Value], plan: &Plan) -> Outcome<Resolved> {
    let whole = |plan| Resolved { segments: Segments::None, plan };
    let divided = |segments| Resolved { segments, plan: unzip::Plan::store_all() };
    Ok(Ok(match plan {
        Plan::StoreAll => Resolved::default(),
        Plan::RecomputeAll => whole(unzip::Plan::recompute_all()),
        Plan::Sqrt => divided(Segments::Sqrt),
        Plan::Revolve(k) => divided(Segments::Revolve(*k)),
        Plan::ByHand(ids) => {
            let j = possible!(with(m, |road, _| road.differentiated(e, Segments::None)));
            let study = Study { j, counted: Counted::default() };
            let rows = possible!(forecast(m, &study, &unzip::Plan::store_all())).rows;
            whole(without(&rows, &chosen(&rows, ids)?))
        }
        Plan::Auto | Plan::Budget(_) => {
            let key = (e.entry.func, plan.clone(), sizes(leaves));
            if let Some((_, r)) = m.road.decisions.0.iter().find(|(k, _)| *k == key) {
                return Ok(Ok(r.clone()));
            }
            let r = possible!(within(m, e, leaves, plan)?);
            let all = &mut m.road.decisions.0;
            if all.len() >= REMEMBERED {
                all.clear();
            }
            all.push((key, r.clone()));
            r
        }
    }))
}

/// What the counts depend on: Ints and sizes among the leaves.
fn sizes(leaves: &[Value]) -> Vec<i64> {
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

/// A plan with what it takes.
struct Candidate {
    resolved: Resolved,
    peak: u64,
    again: u64,
}

/// The plan of least work within a number of bytes.
fn within(m: &mut Machine, e: &Entered, leaves: &[Value], plan: &Plan) -> Outcome<Resolved> {
    let limit = match plan {
        Plan::Budget(n) => *n,
        _ => m.host.free_memory().unwrap_or(FREE) / 2,
    };
    let study = possible!(study(m, e, leaves, Segments::None)?);
    let all = possible!(forecast(m, &study, &unzip::Plan::store_all()));
    if all.peak <= limit {
        return Ok(Ok(Resolved::default()));
    }
    let mut tried = possible!(by_rows(m, &study, &all, limit));
    tried.push(possible!(divided(m, e, leaves, (Segments::Sqrt, all.work))?));
    for k in STATES {
        // Fewer states are less memory and more work: the first that fits will do.
        if tried.iter().any(|c| c.peak <= limit && c.again <= all.work) {
            break;
        }
        let c = possible!(divided(m, e, leaves, (Segments::Revolve(k), all.work))?);
        let fits = c.peak <= limit;
        tried.push(c);
        if fits {
            break;
        }
    }
    if tried.iter().all(|c| c.peak > limit) {
        // What no row counts may still be recomputed.
        let plan = unzip::Plan::recompute_all();
        let f = possible!(forecast(m, &study, &plan));
        tried.push(Candidate { resolved: Resolved { segments: Segments::None, plan }, peak: f.peak, again: f.again });
    }
    let best = tried.iter().filter(|c| c.peak <= limit).min_by_key(|c| c.again);
    let least = tried.iter().min_by_key(|c| c.peak);
    match (best, least, plan) {
        (Some(c), ..) => Ok(Ok(c.resolved.clone())),
        (None, Some(c), Plan::Auto) => Ok(Ok(c.resolved.clone())),
        (None, c, _) => Err(bad(format!("no plan for this gradient keeps within {limit} bytes: the least is {} bytes", c.map_or(all.peak, |c| c.peak)))
            .hint("`residuals f x` shows what is stored; arguments and what loops carry always are")),
    }
}

/// Loops divided; `once` is the function's work as it is.
fn divided(m: &mut Machine, e: &Entered, leaves: &[Value], (segments, once): (Segments, u64)) -> Outcome<Candidate> {
    let s = possible!(study(m, e, leaves, segments)?);
    let plan = unzip::Plan::store_all();
    let f = possible!(forecast(m, &s, &plan));
    Ok(Ok(Candidate { resolved: Resolved { segments, plan }, peak: f.peak, again: (f.again + f.work).saturating_sub(once) }))
}

/// Ids in the order in which they are worth recomputing: least work for a byte first.
pub(crate) fn order(rows: &[Row]) -> Vec<usize> {
    let mut ids: Vec<usize> = (0..rows.len()).filter(|k| rows[*k].residual.movable && rows[*k].bytes > 0).collect();
    let price = |k: &usize| rows[*k].work as f64 / rows[*k].bytes as f64;
    ids.sort_by(|a, b| price(a).total_cmp(&price(b)));
    ids
}

/// The shortest list of cheap rows whose recomputation suffices, and the longest.
fn by_rows(m: &mut Machine, s: &Study, all: &Forecast, limit: u64) -> Result<Vec<Candidate>, Not> {
    let ids = order(&all.rows);
    let mut out = Vec::new();
    let (mut lo, mut hi) = (0, ids.len());
    // Invariant: `lo` rows are not enough.
    while hi > lo {
        let n = if out.is_empty() { hi } else { lo.midpoint(hi) };
        let plan = without(&all.rows, &ids[..n].iter().copied().collect());
        let f = forecast(m, s, &plan)?;
        out.push(Candidate { resolved: Resolved { segments: Segments::None, plan }, peak: f.peak, again: f.again });
        match f.peak <= limit {
            true if n == hi && out.len() > 1 => break,
            true => hi = n,
            false if n == hi => break,
            false => lo = n + 1,
        }
    }
    Ok(out)
}
