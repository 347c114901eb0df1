//! Benchmarks against hand-written code: `bench [--seconds S] [--size N] [--threads N] [--small] [NAME...]`. Names are
//! those of programs in `tests/bench`, of `GradBench` problems, `bandwidth`, `latency` and `checking`; by default all.
//! Like the hand-written code, programs use one thread unless more are requested.

use adl_tests::bench::{Row, bandwidth, checking, latency, programs, suite};
use adl_tests::gradbench::problems;
use std::process::ExitCode;

#[global_allocator]
static MEMORY: adl_jit::alloc::CachingAllocator<mimalloc::MiMalloc> =
    adl_jit::alloc::CachingAllocator(mimalloc::MiMalloc);

/// The command line's options.
struct Wanted {
    seconds: f64,
    size: Option<usize>,
    /// Also run the sizes of the golden messages.
    small: bool,
    names: Vec<String>,
}

fn wanted() -> Wanted {
    let (mut options, mut threads) = (Wanted { seconds: 0.3, size: None, small: false, names: Vec::new() }, 1);
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() {
        let mut number = || args.next().and_then(|n| n.parse::<f64>().ok());
        match a.as_str() {
            "--seconds" => options.seconds = number().unwrap_or(options.seconds),
            "--size" => options.size = number().map(|n| n as usize),
            "--threads" => threads = number().map_or(1, |n| n as usize),
            "--small" => options.small = true,
            _ => options.names.push(a),
        }
    }
    adl_interp::ops::parallel::set_threads(threads);
    options
}

fn main() -> ExitCode {
    let options = wanted();
    let asked = |name: &str| options.names.is_empty() || options.names.iter().any(|n| n == name);
    let mut failed = false;
    let mut ended = |name: &str, made: Result<(), String>| {
        if let Err(e) = made {
            eprintln!("{name}: {e}");
            failed = true;
        }
    };
    println!("{}", Row::head());
    for p in programs::PROGRAMS.iter().filter(|p| asked(p.name)) {
        ended(p.name, programs::measure(p, options.size, options.seconds, &mut |row| println!("{row}")));
    }
    let small = problems().iter().filter(|_| options.small).flat_map(|p| suite::small(p.name));
    for case in small.chain(suite::large()).filter(|c| asked(c.module)) {
        ended(case.module, suite::measure(&case, options.seconds, &mut |row| println!("{row}")));
    }
    if asked("bandwidth") {
        println!();
        ended("bandwidth", bandwidth::report(options.seconds));
    }
    if asked("latency") {
        println!();
        ended("latency", latency::report());
    }
    if asked("checking") {
        println!();
        ended("checking", checking::report(options.seconds));
    }
    ExitCode::from(u8::from(failed))
}
