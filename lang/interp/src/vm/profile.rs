//! What code has done so far: counts and times, by which hot functions are found (`hot`), and by which the tier of
//! elements is chosen (`policy`).

use crate::limits::vm_profile::{CHAIN, CHAIN_LEAST, ITERATION, LARGE, LEAST, SAMPLED, SHORT, THRESHOLD, TRIAL};
use std::cell::Cell;
use std::time::Duration;

/// Value of [`Profile::arrays`] after that decision.
const DECIDED: u8 = u8::MAX;

/// The profile of a code object.
#[derive(Debug, Default)]
pub struct Profile {
    /// Iterations and calls left until it is hot; 0 if they are not counted.
    pub(super) left: Cell<u32>,
    /// Whether calls run native code.
    pub(super) native: Cell<bool>,
    /// Whether it has loops, whose iterations are counted.
    loops: bool,
    /// Whether calls are counted: it calls functions, or evaluates comprehensions whose bodies may call some.
    calls: bool,
    /// The number of operations on large arrays until the decision, and whether calls run lowered code with
    /// fused chains.
    pub(super) arrays: Cell<u8>,
    pub(super) chains: Cell<bool>,
    /// Of calls of lowered code that take almost no time, how many are not repeated in the interpreter until the next one
    /// is, and how many after that.
    pub(super) short: Cell<(u32, u32)>,
    /// The number of native calls, and their total time.
    pub(super) runs: Cell<(u32, Duration)>,
    /// The number of consecutive calls that a device refused.
    pub(crate) offered: Cell<u8>,
    /// Total times of the calls with declared data that ran both natively and in the interpreter.
    pub(super) both: Cell<(Duration, Duration)>,
    /// Of other calls that ran both ways, their number, and how many were as fast natively. A vote, because the time of a single
    /// short call may be anything on a busy machine.
    pub(super) votes: Cell<(u32, u32)>,
}

impl Profile {
    /// The initial profile of code that the compiler has made.
    pub fn new(loops: bool, calls: bool) -> Profile {
        let left = if loops || calls { THRESHOLD } else { 0 };
        Profile { left: Cell::new(left), loops, calls, short: Cell::new((0, SAMPLED)), ..Profile::default() }
    }

    /// Counts a loop iteration. Returns whether the code becomes hot with it.
    #[inline(always)]
    pub fn iteration(&self) -> bool {
        let n = self.left.get();
        self.left.set(n.saturating_sub(1));
        n == 1
    }

    /// Counts a call. Returns whether it should run native or lowered code.
    #[inline(always)]
    pub fn call(&self) -> bool {
        self.native.get() || self.chains.get() || self.calls && self.iteration()
    }

    /// Counts an operation on an array of so many elements, as the iterations that take as long. After [`CHAIN`] operations
    /// on large arrays that may be fused, calls run lowered code, which fuses several in one pass. (Other operations on large
    /// arrays are compiled one by one, and in parallel.)
    #[cold]
    pub fn array(&self, elements: usize, fuses: bool) {
        let (left, n) = (self.left.get(), self.arrays.get());
        if elements < LARGE {
            let iterations = (elements / ITERATION) as u32;
            self.left.set(left.saturating_sub(iterations).max(left.min(1)));
        } else if fuses && n < DECIDED {
            self.arrays.set(if n + 1 < CHAIN { n + 1 } else { DECIDED });
            self.chains.set(n + 1 >= CHAIN);
        }
    }

    /// Whether frames keep their arguments for a restart.
    #[inline(always)]
    pub(super) fn keeps(&self) -> bool {
        self.loops && self.left.get() > 0
    }

    /// Whether a call of lowered code that took so long should be repeated in the interpreter: if it took almost no time,
    /// either the arrays are small, or lowered code does without them. The more often lowered code was faster, the more
    /// seldom.
    pub(super) fn samples_chain(&self, time: Duration) -> bool {
        if time >= CHAIN_LEAST {
            return false;
        }
        let (left, pause) = self.short.get();
        self.short.set(if left == 0 { (pause, pause.saturating_mul(2)) } else { (left - 1, pause) });
        left == 0
    }

    /// Records whether lowered code pays. If not, counting starts again.
    pub(super) fn chained(&self, pays: bool) {
        self.chains.set(pays);
        self.arrays.set(if pays { DECIDED } else { 0 });
        if !pays {
            self.short.set((0, SAMPLED));
        }
    }

    /// Decides that the code stays interpreted.
    pub fn freeze(&self) {
        self.left.set(0);
        self.native.set(false);
        self.arrays.set(DECIDED);
        self.chains.set(false);
    }

    /// Whether a native call that took so long should be repeated in the interpreter.
    pub fn samples(&self, time: Duration) -> bool {
        let n = self.runs.get().0 + 1;
        n < TRIAL && n.is_multiple_of(SAMPLED) && time < SHORT
    }

    /// Records a native call.
    pub fn ran(&self, time: Duration) {
        let (n, sum) = self.runs.get();
        let (n, sum) = (n + 1, sum.saturating_add(time));
        self.left.set(0);
        let ((compared, won), (fast, slow)) = (self.votes.get(), self.both.get());
        let pays = match compared {
            0 if slow.is_zero() => sum >= LEAST * n,
            0 => fast <= slow,
            _ => 2 * won >= compared,
        };
        self.native.set(n != TRIAL || pays);
        self.runs.set((n.min(TRIAL), sum));
    }
}

/// What the elements of a function have cost.
#[derive(Debug, Default)]
pub(crate) struct ElementProfile {
    pub(super) spent: Cell<Duration>,
    pub(super) failures: Cell<u8>,
}
