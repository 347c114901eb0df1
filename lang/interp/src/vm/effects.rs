//! Effects of runs that may be repeated.
//!
//! Compiled code that fails, or whose assumptions fail, is repeated in another way from the same arguments. Output and
//! input of the first run must not happen again. While such a run is in progress, the results of its effects are
//! recorded; the repetition gets these results and performs only the effects that follow.

use crate::value::Value;

/// The effects of the runs in progress.
#[derive(Default)]
pub(crate) struct EffectLog {
    /// Results of the effects that were performed, in order.
    done: Vec<Value>,
    /// The position of the next effect. Before the end of `done` it is replayed.
    next: usize,
    /// The runs in progress, one inside the other.
    runs: Vec<RecordedRun>,
    /// How many functions of `comm.each` are being evaluated, one inside the other.
    each: usize,
}

struct RecordedRun {
    /// The position at which it began.
    start: usize,
    /// The furthest position that it has reached.
    reached: usize,
}

impl EffectLog {
    /// A run begins that may be repeated.
    pub fn begin(&mut self) {
        self.forget_finished();
        self.runs.push(RecordedRun { start: self.next, reached: self.next });
    }

    /// The current run begins again.
    pub fn rewind(&mut self) {
        if let Some(run) = self.runs.last_mut() {
            run.reached = run.reached.max(self.next);
            self.next = run.start;
        }
    }

    /// The current run ends. `complete`: its result is used. Otherwise it is repeated in another way.
    pub fn end(&mut self, complete: bool) {
        if let Some(run) = self.runs.pop() {
            self.next = if complete { run.reached.max(self.next) } else { run.start };
            self.forget_finished();
        }
    }

    /// The results of the current run's effects up to now, for [`EffectLog::repeat`].
    pub fn performed(&self) -> Vec<Value> {
        let start = self.runs.last().map_or(self.next, |run| run.start);
        self.done[start..self.next].to_vec()
    }

    /// The next effects are those of an earlier run, with these results.
    pub fn repeat(&mut self, results: &[Value]) {
        self.forget_finished();
        self.done.splice(self.next..self.next, results.iter().cloned());
    }

    /// The result of the next effect, if it has been performed before.
    pub fn replay(&mut self) -> Option<Value> {
        let v = self.done.get(self.next)?.clone();
        self.next += 1;
        Some(v)
    }

    /// Records the result of an effect that was performed.
    pub fn record(&mut self, v: &Value) {
        if !self.runs.is_empty() {
            self.done.push(v.clone());
            self.next += 1;
        }
    }

    /// The function of a `comm.each` begins.
    pub fn enter_each(&mut self) {
        self.each += 1;
    }

    /// The function of a `comm.each` has ended.
    pub fn leave_each(&mut self) {
        self.each = self.each.saturating_sub(1);
    }

    /// Whether the function of a `comm.each` is being evaluated: other ranks need not be at the same place.
    pub fn inside_each(&self) -> bool {
        self.each > 0
    }

    /// Drops what no run can repeat.
    fn forget_finished(&mut self) {
        if self.runs.is_empty() && self.next >= self.done.len() {
            self.done.clear();
            self.next = 0;
        }
    }
}
