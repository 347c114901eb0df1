//! Compares random programs with a reference evaluator, under every execution mode.
//!
//! `fuzz [--kind programs|text|files|entries] [--minutes N] [--programs N] [--seed S] [--jobs J] [--limit SECONDS] [--out DIRECTORY] [--skip WORD,WORD] [--of-a-kind N] [--minimise SECONDS] [--show]`

use adl_tests::fuzz::generate::Generator;
use adl_tests::fuzz::report::{FuzzPlan, Summary, front, programs};
use adl_tests::fuzz::worker;
use std::process::ExitCode;
use std::time::Duration;

#[global_allocator]
static MEMORY: adl_jit::alloc::CachingAllocator<mimalloc::MiMalloc> =
    adl_jit::alloc::CachingAllocator(mimalloc::MiMalloc);

/// The value of a flag.
fn flag(name: &str) -> Option<String> {
    let args: Vec<String> = std::env::args().collect();
    let at = args.iter().position(|a| a == name)?;
    args.get(at + 1).cloned()
}

fn number(name: &str, default: u64) -> u64 {
    flag(name).and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// The stack size of threads that generate and evaluate.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    if std::env::args().any(|a| a == "--worker") {
        worker::serve();
        return ExitCode::SUCCESS;
    }
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

/// Runs the fuzzer; returns whether it found no failure.
fn run() -> std::io::Result<bool> {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.as_secs());
    let seed = number("--seed", time << 20);
    if std::env::args().any(|a| a == "--show") {
        println!("{}", Generator::new(seed).program().entries().join("\n"));
        return Ok(true);
    }
    let plan = FuzzPlan {
        exe: std::env::current_exe()?,
        seed,
        time: Duration::from_secs(60 * number("--minutes", 10)),
        programs: number("--programs", u64::MAX) as usize,
        limit: Duration::from_secs(number("--limit", 30)),
        minimise: Duration::from_secs(number("--minimise", 120)),
        of_a_kind: number("--of-a-kind", 10) as usize,
        skip: flag("--skip").map_or(vec![], |words| words.split(',').map(str::to_owned).collect()),
        verbose: true,
    };
    println!("seeds from {seed}");
    let kind = flag("--kind").unwrap_or_else(|| "programs".into());
    if kind != "programs" {
        let (cases, failures) = front(&plan, &kind)?;
        println!("{cases} cases of {kind}, {} failures\n{}", failures.len(), failures.join("\n"));
        return Ok(failures.is_empty());
    }
    let jobs = number("--jobs", 1);
    let threads: Vec<_> = (0..jobs)
        .map(|j| {
            let plan = plan.clone();
            std::thread::Builder::new()
                .stack_size(STACK)
                .spawn(move || programs(&plan, (plan.seed + j..).step_by(jobs as usize)))
        })
        .collect::<Result<_, _>>()?;
    let mut all = Summary::default();
    for t in threads {
        all.join(t.join().map_err(|_| std::io::Error::other("the fuzzer itself failed"))??);
    }
    print!("{}", all.text());
    if let Some(dir) = flag("--out") {
        std::fs::create_dir_all(&dir)?;
        for (f, _) in &all.failures {
            let path = std::path::Path::new(&dir).join(f.file());
            std::fs::write(&path, f.text())?;
            println!("{}", path.display());
        }
    }
    Ok(all.failures.is_empty())
}
