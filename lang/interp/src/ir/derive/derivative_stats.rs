//! Statistics of derivatives: the number of calls, and the time to compile them. Reports show them; tests check
//! that a second call compiles nothing.

use super::CompiledAd;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Calls of a derivative and time spent on compiling it.
#[derive(Clone, Copy, Default, Debug)]
pub struct DerivativeStats {
    /// Calls.
    pub calls: u32,
    /// Calls for which all code was already cached.
    pub kept: u32,
    /// Time to transform code: specialisation, derivatives, optimisation.
    pub made: Duration,
    /// Time to compile it to native code.
    pub compiled: Duration,
    /// Whether the last call is counted in `kept`.
    last_kept: bool,
}

impl DerivativeStats {
    /// Counts a call, with the compilation done for it.
    pub fn call(&mut self, work: CompileTimes) {
        self.calls += 1;
        self.last_kept = work.is_none();
        self.kept += u32::from(self.last_kept);
        self.add(work);
    }

    /// Adds compilation that was done later for the last call, for example for its transpose.
    pub fn add(&mut self, work: CompileTimes) {
        if !work.is_none() && std::mem::take(&mut self.last_kept) {
            self.kept -= 1;
        }
        self.made += work.made;
        self.compiled += work.compiled;
    }
}

/// Compilation time since it was last taken.
#[derive(Clone, Copy, Default)]
pub struct CompileTimes {
    /// Time to transform code.
    pub made: Duration,
    /// Time to compile it to native code.
    pub compiled: Duration,
}

impl CompileTimes {
    fn is_none(&self) -> bool {
        self.made.is_zero() && self.compiled.is_zero()
    }
}

/// Accumulates compilation time.
#[derive(Default)]
pub(crate) struct CompileClock(Cell<CompileTimes>);

impl CompileClock {
    /// Adds the time since `start` as transformation.
    pub fn add_transform_time(&self, start: Instant) {
        let w = self.0.get();
        self.0.set(CompileTimes { made: w.made + start.elapsed().max(Duration::from_nanos(1)), ..w });
    }

    /// Runs `run`, and adds its time as native compilation.
    pub fn time_compiling<T>(&self, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let out = run();
        let w = self.0.get();
        self.0.set(CompileTimes { compiled: w.compiled + start.elapsed().max(Duration::from_nanos(1)), ..w });
        out
    }
}

impl CompiledAd {
    /// Counts a call of the last derivative.
    pub(super) fn count_call(&mut self) {
        let work = self.clock.0.take();
        if let Some(last) = self.explain.last_mut() {
            last.spent.call(work);
        }
    }

    /// Adds compilation done since then to the last call of the last derivative.
    pub(super) fn add_to_last_call(&mut self) {
        let work = self.clock.0.take();
        if let Some(last) = self.explain.last_mut() {
            last.spent.add(work);
        }
    }
}
