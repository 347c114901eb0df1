//! The rows of a run as a Markdown document, with the machine that it ran on.

use super::native::FLAGS;
use super::{Row, Times, number, ratio};
use std::fmt::Write;
use std::process::Command;

/// What was measured where.
pub struct Report {
    /// The first line of the compiler's version, if there was one.
    pub compiler: Option<String>,
    /// The number of threads of adl.
    pub threads: usize,
    /// The least time of the runs of each measurement.
    pub seconds: f64,
    /// Titles and rows of each topic.
    pub topics: Vec<(&'static str, Vec<Row>)>,
}

/// The ratio above which a row is counted in the summary.
const MUCH: f64 = 3.0;

impl Report {
    /// The document.
    pub fn markdown(&self) -> String {
        let head = HEAD.replace("SECONDS", &self.seconds.to_string());
        let mut out = format!("{head}\n{}\n## Summary\n\n{}", self.machine(), self.summary());
        for (title, rows) in self.topics.iter().filter(|(_, rows)| !rows.is_empty()) {
            let _ = write!(out, "\n## {title}\n\n{COLUMNS}");
            rows.iter().for_each(|r| out.push_str(&line(r)));
        }
        out
    }

    fn machine(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let compiler = self.compiler.as_ref().map_or("there was none".to_owned(), |c| format!("{c}, `{}`", flags()));
        let commit = output("git", &["describe", "--always", "--dirty"]);
        format!(
            "- Machine: {}, {cores} cores, {}\n- C++: {compiler}\n- adl: commit {commit}, {}, {} on {} {}, {}\n",
            model(),
            features(),
            if cfg!(debug_assertions) { "**a debug build**" } else { "a release build" },
            if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) },
            std::env::consts::OS,
            std::env::consts::ARCH,
            output("date", &["-u", "+%F"]),
        )
    }

    /// Geometric means by topic and over all.
    pub fn summary(&self) -> String {
        let mut out =
            String::from("| | rows | value / C++ | value and gradient / C++ | above 3 |\n|---|---:|---:|---:|---:|\n");
        let mut of = |title: &str, rows: &[&Row]| {
            let values: Vec<f64> = rows.iter().filter_map(|r| ratio(r.primal, r.by_hand.0)).collect();
            let gradients: Vec<f64> = rows.iter().filter_map(|r| ratio(r.gradient, r.by_hand.1)).collect();
            let above = gradients.iter().filter(|r| **r > MUCH).count();
            let (value, gradient) = (number(mean(&values), 2), number(mean(&gradients), 2));
            let _ = writeln!(out, "| {title} | {} | {value} | {gradient} | {above} |", rows.len());
        };
        self.topics.iter().for_each(|(title, rows)| of(title, &rows.iter().collect::<Vec<_>>()));
        of("**all**", &self.topics.iter().flat_map(|(_, rows)| rows).collect::<Vec<_>>());
        out
    }
}

const HEAD: &str = "# Performance

Programs of `tests/bench` and `tests/gradbench`, beside the same computations written by hand in C++ (`tests/bench/cpp`), which are compiled in
the same run. Results are compared before anything is timed. This page is written by

```
cargo run --release -p adl-tests --bin bench -- --table docs/performance.md
```

Times are the shortest of the runs of SECONDS s, in milliseconds. C++ writes into arrays that are there; adl makes new ones. \"Value and gradient\" is one
call that gives both, or the derivative alone where a problem asks for no more. MiB is the peak memory of the first gradient, with what it takes to
compile it. The C++ runs on one thread.
";

const COLUMNS: &str = "| program | size | value | C++ | ratio | value and gradient | C++ | ratio | MiB |
|---|---|---:|---:|---:|---:|---:|---:|---:|
";

fn line(row: &Row) -> String {
    let time = |t: Option<Times>| t.map_or("–".to_owned(), |t| significant(t.least));
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        row.name.replace('|', "\\|"),
        row.size,
        time(row.primal),
        time(row.by_hand.0),
        number(ratio(row.primal, row.by_hand.0), 2),
        time(row.gradient),
        time(row.by_hand.1),
        number(ratio(row.gradient, row.by_hand.1), 2),
        number(row.memory, 1)
    )
}

/// Three digits.
pub fn significant(x: f64) -> String {
    let digits = if x <= 0.0 { 0 } else { (2 - x.log10().floor() as i64).clamp(0, 6) as usize };
    format!("{x:.digits$}")
}

/// The geometric mean; `None` of nothing.
fn mean(x: &[f64]) -> Option<f64> {
    (!x.is_empty()).then(|| (x.iter().map(|r| r.ln()).sum::<f64>() / x.len() as f64).exp())
}

fn flags() -> String {
    FLAGS.join(" ")
}

/// What a command prints, without the end of the line; empty if it fails.
fn output(program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).current_dir(crate::root()).output();
    out.map_or(String::new(), |o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
}

/// The model of the CPU, as the system names it.
fn model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':'));
    let name = line.map_or_else(|| output("sysctl", &["-n", "machdep.cpu.brand_string"]), |(_, v)| v.trim().to_owned());
    if name.is_empty() { "unnamed CPU".to_owned() } else { name }
}

/// The widest vectors of the machine.
fn features() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        match () {
            () if std::is_x86_feature_detected!("avx512f") => "AVX-512",
            () if std::is_x86_feature_detected!("avx2") => "AVX2",
            () => "SSE2",
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        std::env::consts::ARCH
    }
}
