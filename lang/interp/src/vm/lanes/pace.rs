//! Chooses between batched interpretation and native code by measured time.
//!
//! Batched interpretation is fast if code is straight-line arithmetic on numbers, and slow if it branches or
//! creates small arrays. Instead of predicting this, both are timed; native code is tried once batched runs
//! have taken as long as compilation does. Results have the same bits either way.

use crate::ops::higher_order;
use crate::value::Value;
use crate::vm::Machine;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Total time of batched runs after which native code is tried.
const WORTH: Duration = Duration::from_millis(15);

/// Number of native runs before the decision. The first one includes compilation, and any of them may be slowed
/// down by new memory.
const TRIALS: u8 = 4;

/// Number of batched runs after which native code is timed again, if it was less than twice as slow: the
/// machine may have been busy.
const AGAIN: u32 = 32;

/// Minimum number of elements for timing and for native code.
const FEWEST: usize = 64;

/// Times of a function on many elements.
#[derive(Debug, Default)]
pub(crate) struct Paces {
    /// Total time of batched runs.
    spent: Cell<Duration>,
    /// Seconds per element of the fastest batched run.
    lanes: Cell<Option<f64>>,
    /// Total time of comprehensions with this body.
    comprehensions: Cell<Duration>,
    /// Number of native runs.
    runs: Cell<u8>,
    /// Number of batched runs since the last native one.
    since: Cell<u32>,
    /// Seconds per element of the fastest native run, except the first one, which compiles.
    native: Cell<Option<f64>>,
}

fn least(best: &Cell<Option<f64>>, n: usize, time: Duration) {
    let pace = time.as_secs_f64() / n as f64;
    best.set(Some(best.get().map_or(pace, |b| b.min(pace))));
}

impl Paces {
    /// Records a batched run.
    pub(super) fn ran(&self, n: usize, time: Duration) {
        if n >= FEWEST {
            self.since.set(self.since.get().saturating_add(1));
            self.spent.set(self.spent.get().saturating_add(time));
            least(&self.lanes, n, time);
        }
    }

    /// Records a comprehension with this body.
    pub(crate) fn took(&self, time: Duration) {
        self.comprehensions.set(self.comprehensions.get().saturating_add(time));
    }

    /// Whether comprehensions with this body have taken as long as compilation does.
    pub(crate) fn is_worth_native(&self) -> bool {
        self.comprehensions.get() >= WORTH
    }

    /// Whether native code should run next.
    fn prefers_native(&self) -> bool {
        match (self.runs.get(), self.native.get(), self.lanes.get()) {
            (..TRIALS, ..) => self.spent.get() >= WORTH,
            (_, Some(native), Some(lanes)) => native < lanes || native < 2.0 * lanes && self.since.get() >= AGAIN,
            _ => false,
        }
    }

    /// Runs the map as native code, if that is known to be faster or should be timed.
    pub(super) fn natively(&self, m: &mut Machine, f: &Value, arrays: &[Value], lanes: usize) -> Option<Value> {
        if lanes < FEWEST || arrays.len() > 3 || m.speculating || !self.prefers_native() || !m.may_compile() {
            return None;
        }
        let start = Instant::now();
        // An interrupt is noticed again by the batched run.
        let made = higher_order::mapped(m, f, arrays).ok().flatten();
        let runs = self.runs.get();
        self.since.set(0);
        self.runs.set(if made.is_some() { (runs + 1).min(TRIALS) } else { TRIALS });
        match &made {
            Some(_) if runs > 0 => least(&self.native, lanes, start.elapsed()),
            Some(_) => {}
            None => self.native.set(None),
        }
        made
    }
}
