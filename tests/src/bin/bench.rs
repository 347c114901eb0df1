//! Benchmarks against hand-written C++: `bench [--seconds S] [--size N] [--threads N] [--small] [--table FILE]
//! [NAME...]`. Names are those of programs and files of `tests/bench` and `tests/gradbench`, `bandwidth`, `latency` and
//! `checking`; by default all. Like the C++, programs use one thread unless more are requested. `--table` writes the
//! rows to a file, and measures programs only.

use adl_tests::bench::native::ByHand;
use adl_tests::bench::programs::{BenchProgram, measure};
use adl_tests::bench::report::Report;
use adl_tests::bench::table::TOPICS;
use adl_tests::bench::{Row, bandwidth, checking, latency};
use std::process::ExitCode;

#[global_allocator]
static MEMORY: adl_jit::alloc::CachingAllocator<mimalloc::MiMalloc> =
    adl_jit::alloc::CachingAllocator(mimalloc::MiMalloc);

/// The command line's options.
struct Wanted {
    seconds: f64,
    size: Option<String>,
    threads: usize,
    /// Run the sizes of the tests.
    small: bool,
    table: Option<String>,
    names: Vec<String>,
}

impl Wanted {
    fn new() -> Result<Wanted, String> {
        let mut wanted = Wanted { seconds: 0.3, size: None, threads: 1, small: false, table: None, names: Vec::new() };
        let mut args = std::env::args().skip(1);
        while let Some(a) = args.next() {
            let mut given = || args.next().ok_or_else(|| format!("expected a value after `{a}`"));
            let number = |text: String| text.parse::<f64>().map_err(|_| format!("expected a number, found `{text}`"));
            match a.as_str() {
                "--seconds" => wanted.seconds = number(given()?)?,
                "--size" => wanted.size = Some(given()?),
                "--threads" => wanted.threads = number(given()?)? as usize,
                "--small" => wanted.small = true,
                "--table" => wanted.table = Some(given()?),
                option if option.starts_with("--") => return Err(format!("there is no option `{option}`")),
                _ => wanted.names.push(a),
            }
        }
        Ok(wanted)
    }

    fn asks(&self, name: &str) -> bool {
        self.names.is_empty() && self.table.is_none() || self.names.iter().any(|n| n == name)
    }

    fn asks_program(&self, p: &BenchProgram) -> bool {
        let stem = p.file.rsplit('/').next().unwrap_or("").trim_end_matches(".adl");
        self.names.is_empty() || self.names.iter().any(|n| n == p.name || n == stem)
    }

    /// The sizes of a program, each with its number of styles.
    fn sizes<'a>(&'a self, p: &'a BenchProgram) -> Vec<(&'a str, usize)> {
        match &self.size {
            Some(size) => vec![(size, p.styles.len())],
            None if self.small => vec![(p.small, p.styles.len())],
            None => p.sizes.iter().enumerate().map(|(k, s)| (*s, if k == 0 { p.styles.len() } else { 1 })).collect(),
        }
    }
}

/// Measures all programs that are asked for; returns the rows by topic, and whether all went well.
fn rows(wanted: &Wanted, hand: Option<&ByHand>) -> (Vec<(&'static str, Vec<Row>)>, bool) {
    let (mut topics, mut fine) = (Vec::new(), true);
    for (title, programs) in TOPICS {
        let mut rows = Vec::new();
        for p in programs.iter().filter(|p| wanted.asks_program(p)) {
            for (size, styles) in wanted.sizes(p) {
                let mut row = |row: Row| {
                    println!("{row}");
                    rows.push(row);
                };
                if let Err(e) = measure(p, (size, &p.styles[..styles]), hand, wanted.seconds, &mut row) {
                    eprintln!("{}: {e}", p.name);
                    fine = false;
                }
            }
        }
        topics.push((*title, rows));
    }
    (topics, fine)
}

fn run() -> Result<bool, String> {
    let wanted = Wanted::new()?;
    adl_interp::ops::parallel::set_threads(wanted.threads);
    let hand = ByHand::compile()?;
    println!("{}", Row::head());
    let (topics, fine) = rows(&wanted, hand.as_ref());
    if let Some(file) = &wanted.table {
        let (threads, seconds) = (wanted.threads, wanted.seconds);
        let report = Report { compiler: hand.map(|h| h.compiler), threads, seconds, topics };
        std::fs::write(file, report.markdown()).map_err(|e| format!("{file}: {e}"))?;
    }
    let seconds = wanted.seconds;
    let others: [(&str, &dyn Fn() -> Result<(), String>); 3] = [
        ("bandwidth", &|| bandwidth::report(seconds)),
        ("latency", &latency::report),
        ("checking", &|| checking::report(seconds)),
    ];
    for (name, report) in others.into_iter().filter(|(name, _)| wanted.asks(name)) {
        println!();
        report().map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(fine)
}

fn main() -> ExitCode {
    match run() {
        Ok(fine) => ExitCode::from(u8::from(!fine)),
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
