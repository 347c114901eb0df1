//! Profiles: predicts what a plan would store and recompute, by running a function with counters.
//!
//! The profile of a function made by J is `(x…) -> (y…, count…, peak)`: its non-linear part, with counters and
//! without residuals, so it needs no more memory than the function itself. From the counts, [`Forecast`] computes
//! what *any* plan stores and recomputes, because a plan changes where a value is computed, but not how often a
//! block runs.
//!
//! - A scalar is counted with the block that computes it ([`Count::Runs`]), an array by its elements.
//! - A checkpointed call runs again in the reverse pass. What it stores then counts towards the peak (the largest
//!   such call), not towards the stored bytes.
//! - Metered functions ([`Ad::metered`]), made from the two halves that run, measure what actually happened.
//! - Data counts as one reference, 8 bytes, because its contents are shared.

mod count;
mod forecast;
mod meter;
mod sites;
mod work;

pub use crate::results::{Count, Profile};
pub use forecast::{Forecast, ResidualRow};
pub(crate) use sites::key;

use crate::limits::profile::MAX_RESULTS;
use crate::{Ad, check};
use adl_ir::{Builder, FnId, Function, Loop, Program, Trip, Ty, Var};
use adl_prim::Bin;
use adl_specialise::Unsupported;
use adl_syntax::span::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Adds a carried value to a loop, after its own: the maximum of `here` over all iterations. `lists` are the body's
/// parameters, the body's results, and the loop's results. Returns the value after the last iteration.
fn carry_peak(b: &mut Builder, made: &mut Loop, lists: [&mut Vec<Var>; 3], here: Var, zero: Var) -> Var {
    let [params, results, outs] = lists;
    let at = made.init.len();
    let (before, after) = (b.func.fresh(Ty::I64, false), b.func.fresh(Ty::I64, false));
    params.insert(1 + at, before);
    results.insert(at, b.bin(Bin::Max, here, before));
    outs.insert(at, after);
    made.init.push(zero);
    if let Trip::While(c) = &mut made.trip {
        c.params.push(b.func.fresh(Ty::I64, false));
    }
    after
}

impl Ad {
    /// The profile of a function made by J (or of any function). An error if it would be too large.
    pub fn profile(&mut self, program: &mut Program, id: FnId) -> Result<Profile, Unsupported> {
        if let Some(made) = self.costs.profiles.get(&id) {
            return Ok(made.clone());
        }
        let mut results = 0;
        for g in reach(program, id) {
            results += self.counts_of(program, g).len();
            if results > MAX_RESULTS {
                return Err(Unsupported::new("a profile with too many counters", Span::default()));
            }
        }
        self.profile_of(program, id)
    }

    /// Like [`Ad::profile`], of any size.
    fn profile_of(&mut self, program: &mut Program, id: FnId) -> Result<Profile, Unsupported> {
        if let Some(made) = self.costs.profiles.get(&id) {
            return Ok(made.clone());
        }
        let src = program.func(id).clone();
        let counts = self.counts_of(program, id);
        let mut sign = Function {
            name: format!("profile of {}", src.name.trim_start_matches("jvp ")),
            vars: src.vars.clone(),
            ..Function::default()
        };
        sign.body.params = src.body.params.clone();
        sign.body.results = src.body.results.clone();
        for _ in 0..=counts.len() {
            let v = sign.fresh(Ty::I64, false);
            sign.body.results.push(v);
        }
        let name = sign.name.clone();
        let made = Profile { func: program.add(sign), results: src.body.results.len(), counts };
        self.costs.profiles.insert(id, made.clone());
        let mut b = Builder::on((*src).clone());
        b.func.name = name;
        b.adopt(&src.body.params, &[]);
        let out = match count::function(self, program, id, &made, b, &src) {
            Ok(out) => out,
            Err(e) => {
                self.costs.profiles.remove(&id);
                return Err(e);
            }
        };
        check::made("profile", program, &out);
        program.set(made.func, out);
        Ok(made)
    }

    /// The counters of a function's profile: its own and those of all its callees, except inside of checkpoints.
    fn counts_of(&mut self, p: &Program, f: FnId) -> Vec<Count> {
        let mut all: BTreeSet<Count> = [Count::Again].into();
        for g in reach(p, f) {
            let sites = self.sites(p, g);
            all.extend((0..sites.blocks.len() as u32).map(|k| Count::Runs(g, k)));
            all.extend(sites.arrays.iter().map(|v| Count::Elements(g, *v)));
            let axes = |v: &Var| (1..p.func(g).ty(*v).rank()).map(|k| Count::Extent(g, *v, k - 1)).collect::<Vec<_>>();
            all.extend(sites.arrays.iter().flat_map(axes));
            all.extend(sites.own.iter().map(|v| Count::Work(g, *v)));
            all.extend(sites.regions.iter().map(|v| Count::Inside(g, *v)));
        }
        all.into_iter().collect()
    }
}

/// A function and all functions that it calls, directly or not, except inside of checkpoints.
pub(crate) fn reach(p: &Program, f: FnId) -> BTreeSet<FnId> {
    p.callees(f, |_, checkpoint| !checkpoint)
}

/// The counts of one run of a profile.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// The value of each counter.
    pub counts: BTreeMap<Count, u64>,
    /// The most bytes that a checkpointed call, with nested calls, stores when it runs again.
    pub peak: u64,
}

impl Profile {
    /// Extracts the counts from a run's results, where they follow the `y`s.
    pub fn counted(&self, results: &[i64]) -> Counted {
        let number = |n: &i64| u64::try_from(*n).unwrap_or(0);
        let counts = self.counts.iter().copied().zip(results.iter().map(number)).collect();
        Counted { counts, peak: results.get(self.counts.len()).map_or(0, number) }
    }
}
