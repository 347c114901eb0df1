//! Lanes or native code: whichever takes less for the same elements.
//!
//! Whole arrays are fast where code is straight-line arithmetic on numbers, and slow where it branches or makes small arrays. Which it is
//! it need not be known: both are tried, native code when runs on lanes have taken as long as compiling does. Results are
//! the same bits either way.

use crate::ops::higher;
use crate::value::Value;
use crate::vm::Machine;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// What runs on lanes must have taken before native code is tried.
const WORTH: Duration = Duration::from_millis(15);

/// Runs of native code until it is decided. The first one compiles, and any of them may be late because its memory is new.
const TRIALS: u8 = 4;

/// Runs on lanes after which native code is tried once more, where it was not twice as slow: the machine may have been busy, or have more threads now.
const AGAIN: u32 = 32;

/// Elements from which on it is.
const FEWEST: usize = 64;

/// What the elements of a function took so far.
#[derive(Debug, Default)]
pub(crate) struct Paces {
    /// All runs on lanes.
    spent: Cell<Duration>,
    /// Seconds an element, of the fastest run on lanes.
    lanes: Cell<Option<f64>>,
    /// All comprehensions with this body.
    comprehensions: Cell<Duration>,
    /// Native runs.
    runs: Cell<u8>,
    /// Runs on lanes since the last native one.
    since: Cell<u32>,
    /// Seconds an element, of the fastest native run but for the first, which compiles.
    native: Cell<Option<f64>>,
}

fn least(best: &Cell<Option<f64>>, n: usize, time: Duration) {
    let pace = time.as_secs_f64() / n as f64;
    best.set(Some(best.get().map_or(pace, |b| b.min(pace))));
}

impl Paces {
    /// After a run on lanes.
    pub(super) fn ran(&self, n: usize, time: Duration) {
        if n >= FEWEST {
            self.since.set(self.since.get().saturating_add(1));
            self.spent.set(self.spent.get().saturating_add(time));
            least(&self.lanes, n, time);
        }
    }

    /// After a comprehension with this body.
    pub(crate) fn took(&self, time: Duration) {
        self.comprehensions.set(self.comprehensions.get().saturating_add(time));
    }

    /// Whether comprehensions with this body have taken as long as compiling does.
    pub(crate) fn is_worth_native(&self) -> bool {
        self.comprehensions.get() >= WORTH
    }

    /// Whether native code is to be run.
    fn prefers_native(&self) -> bool {
        match (self.runs.get(), self.native.get(), self.lanes.get()) {
            (..TRIALS, ..) => self.spent.get() >= WORTH,
            (_, Some(native), Some(lanes)) => native < lanes || native < 2.0 * lanes && self.since.get() >= AGAIN,
            _ => false,
        }
    }

    /// The map by native code, where that is known to be the faster way, or is to be tried.
    pub(super) fn natively(&self, m: &mut Machine, f: &Value, arrays: &[Value], n: usize) -> Option<Value> {
        if n < FEWEST || arrays.len() > 3 || m.speculating || !self.prefers_native() || !m.heats() {
            return None;
        }
        let start = Instant::now();
        // An interrupt is met again on lanes.
        let made = higher::mapped(m, f, arrays).ok().flatten();
        let runs = self.runs.get();
        self.since.set(0);
        self.runs.set(if made.is_some() { (runs + 1).min(TRIALS) } else { TRIALS });
        match &made {
            Some(_) if runs > 0 => least(&self.native, n, start.elapsed()),
            Some(_) => {}
            None => self.native.set(None),
        }
        made
    }
}
