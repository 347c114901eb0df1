//! Benchmarks of programs against hand-written Rust, printed by `--bin bench`.

pub mod bandwidth;
pub mod checking;
pub mod editor;
pub mod large;
pub mod latency;
pub mod programs;
pub mod suite;

use crate::by_hand::ByHand;
use std::time::Instant;

/// The time of an operation in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The minimum of all runs; longer times are due to the machine.
    pub least: f64,
    /// The median of all runs.
    pub median: f64,
}

impl Times {
    /// Times from several runs; zero if there are none.
    pub fn of(mut runs: Vec<f64>) -> Times {
        runs.sort_unstable_by(f64::total_cmp);
        let at = |i: usize| runs.get(i).copied().unwrap_or(0.0);
        Times { least: at(0), median: at(runs.len() / 2) }
    }

    /// How much the median exceeds the minimum.
    fn spread(self) -> String {
        format!("{:.0}%", 100.0 * (self.median / self.least - 1.0))
    }
}

/// Runs `f` for a number of seconds, but at least three times.
pub fn time<E>(seconds: f64, mut f: impl FnMut() -> Result<(), E>) -> Result<Times, E> {
    let (mut runs, mut total) = (Vec::new(), 0.0);
    while runs.len() < 3 || total < seconds {
        let start = Instant::now();
        f()?;
        let t = start.elapsed().as_secs_f64();
        runs.push(1e3 * t);
        total += t;
    }
    Ok(Times::of(runs))
}

/// The measurements of one program.
pub struct Row {
    /// The program and its style.
    pub name: String,
    /// Its size.
    pub size: String,
    /// The function.
    pub primal: Option<Times>,
    /// Its derivative.
    pub gradient: Option<Times>,
    /// The same, written by hand.
    pub by_hand: Option<(Times, Times)>,
    /// Peak memory of the derivative in MiB, beyond the memory used before.
    pub memory: Option<f64>,
}

impl Row {
    /// The column headings.
    pub fn head() -> String {
        format!(
            "{:32} {:22} {:>10} {:>6} {:>10} {:>6} | {:>10} {:>6} {:>10} {:>6} {:>6} {:>8}",
            "program",
            "size",
            "primal ms",
            "spread",
            "by hand",
            "times",
            "grad ms",
            "spread",
            "by hand",
            "times",
            "g / p",
            "MiB"
        )
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = |x: Option<f64>, digits: usize| x.map_or("-".to_owned(), |x| format!("{x:.digits$}"));
        let half = |ours: Option<Times>, hand: Option<Times>| {
            let times = ours.zip(hand).map(|(o, h)| o.least / h.least);
            let spread = ours.map_or("-".to_owned(), Times::spread);
            format!(
                "{:>10} {:>6} {:>10} {:>6}",
                number(ours.map(|t| t.least), 4),
                spread,
                number(hand.map(|t| t.least), 4),
                number(times, 2)
            )
        };
        let ratio = self.gradient.zip(self.primal).map(|(g, p)| g.least / p.least);
        let (primal, gradient) =
            (half(self.primal, self.by_hand.map(|h| h.0)), half(self.gradient, self.by_hand.map(|h| h.1)));
        write!(
            formatter,
            "{:32} {:22} {primal} | {gradient} {:>6} {:>8}",
            self.name,
            self.size,
            number(ratio, 1),
            number(self.memory, 1)
        )
    }
}

/// The times of hand-written code.
pub fn time_by_hand(hand: &ByHand, seconds: f64) -> (Times, Times) {
    let run = |job: &dyn Fn() -> Vec<f64>| {
        let made: Result<Times, ()> = time(seconds, || {
            std::hint::black_box(job());
            Ok(())
        });
        made.unwrap_or(Times { least: 0.0, median: 0.0 })
    };
    (run(&hand.value), run(&hand.gradient))
}

/// Fails unless both results contain the same numbers, in any order.
pub fn compare(what: &str, ours: &[f64], hand: &[f64]) -> Result<(), String> {
    let sorted = |x: &[f64]| {
        let mut x = x.to_vec();
        x.sort_unstable_by(f64::total_cmp);
        x
    };
    if ours.len() != hand.len() {
        return Err(format!("{what}: {} numbers, by hand {}", ours.len(), hand.len()));
    }
    let scale = hand.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
    let far = sorted(ours).into_iter().zip(sorted(hand)).find(|(a, b)| (a - b).abs() > 1e-6 * scale || a.is_nan());
    far.map_or(Ok(()), |(a, b)| Err(format!("{what}: {a}, by hand {b}")))
}

/// The peak memory of `f` in MiB beyond the memory used before, if the system reports it.
pub fn memory<T>(f: impl FnOnce() -> T) -> (T, Option<f64>) {
    let held = |name: &str| {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find(|l| l.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    adl_jit::alloc::release();
    // Resets the recorded peak to the current usage.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = held("VmRSS:");
    let made = f();
    (made, held("VmHWM:").zip(before).map(|(most, before)| (most - before).max(0.0) / 1024.0))
}
