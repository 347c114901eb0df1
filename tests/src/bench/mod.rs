//! Benchmarks of programs against hand-written C++, printed by `--bin bench`.
//!
//! Reading order: [`table`] (the programs), [`programs`] (how one is checked and measured), [`native`] (the C++),
//! [`report`] (the rows as a document).

pub mod bandwidth;
pub mod checking;
pub mod large;
pub mod latency;
#[allow(unsafe_code)]
pub mod native;
pub mod programs;
pub mod report;
pub mod table;

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

/// Seconds that the clock measures well. Shorter runs are timed several at once.
const MEASURABLE: f64 = 2e-5;

/// Runs `f` for a number of seconds, but at least three times.
pub fn time<E>(seconds: f64, mut f: impl FnMut() -> Result<(), E>) -> Result<Times, E> {
    let (mut runs, mut total, mut together) = (Vec::new(), 0.0, 1);
    while runs.len() < 3 || total < seconds {
        let start = Instant::now();
        for _ in 0..together {
            f()?;
        }
        let t = start.elapsed().as_secs_f64();
        runs.push(1e3 * t / f64::from(together));
        total += t;
        if t < MEASURABLE {
            together *= 2;
        }
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
    /// Both, written by hand.
    pub by_hand: (Option<Times>, Option<Times>),
    /// Peak memory of the derivative in MiB, beyond the memory used before.
    pub memory: Option<f64>,
}

impl Row {
    /// The column headings.
    pub fn head() -> String {
        format!(
            "{:48} {:36} {:>10} {:>6} {:>10} {:>6} | {:>10} {:>6} {:>10} {:>6} {:>6} {:>8}",
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
        let half = |ours: Option<Times>, hand: Option<Times>| {
            let spread = ours.map_or("-".to_owned(), Times::spread);
            let (own, theirs) = (number(ours.map(|t| t.least), 4), number(hand.map(|t| t.least), 4));
            format!("{own:>10} {spread:>6} {theirs:>10} {:>6}", number(ratio(ours, hand), 2))
        };
        let (primal, gradient) = (half(self.primal, self.by_hand.0), half(self.gradient, self.by_hand.1));
        let growth = ratio(self.gradient, self.primal);
        write!(
            formatter,
            "{:48} {:36} {primal} | {gradient} {:>6} {:>8}",
            self.name,
            self.size,
            number(growth, 1),
            number(self.memory, 1)
        )
    }
}

/// How many times longer the first takes.
pub fn ratio(a: Option<Times>, b: Option<Times>) -> Option<f64> {
    a.zip(b).map(|(a, b)| a.least / b.least)
}

/// A number with some digits, or `-`.
fn number(x: Option<f64>, digits: usize) -> String {
    x.map_or("-".to_owned(), |x| format!("{x:.digits$}"))
}

/// How far numbers may be from those by hand, as a part of the largest of them: both add in orders of their own.
const TOLERANCE: f64 = 1e-9;

/// Fails unless both results are the same numbers in the same order.
pub fn compare(what: &str, ours: &[f64], hand: &[f64]) -> Result<(), String> {
    if ours.len() != hand.len() {
        return Err(format!("{what}: {} numbers, by hand {}", ours.len(), hand.len()));
    }
    let most = TOLERANCE * hand.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
    let far = ours.iter().zip(hand).position(|(a, b)| (a - b).abs() > most || a.is_nan() || b.is_nan());
    far.map_or(Ok(()), |k| Err(format!("{what}: number {k} is {}, by hand {}", ours[k], hand[k])))
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
