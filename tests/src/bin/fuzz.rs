//! Compares random programs with a reference evaluator, under every execution mode; `fuzz --help` lists the options.

use adl_tests::fuzz::generate::Generator;
use adl_tests::fuzz::report::{FuzzPlan, Summary, front, programs};
use adl_tests::fuzz::worker;
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[global_allocator]
static MEMORY: adl_jit::alloc::CachingAllocator<mimalloc::MiMalloc> =
    adl_jit::alloc::CachingAllocator(mimalloc::MiMalloc);

/// Compares random programs with a reference evaluator, under every execution mode.
#[derive(Parser)]
struct Options {
    /// What is generated: programs, or texts for the parser, for the readers of files, or for sessions
    #[arg(long, default_value = "programs", value_parser = ["programs", "text", "files", "entries"])]
    kind: String,
    /// How long to run
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// The largest number of programs [default: no limit]
    #[arg(long)]
    programs: Option<usize>,
    /// The seed of the first program [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// How many programs run at once
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    jobs: u64,
    /// The time limit of one program, in seconds
    #[arg(long, default_value_t = 30)]
    limit: u64,
    /// The time limit of minimising one failure, in seconds
    #[arg(long, default_value_t = 120)]
    minimise: u64,
    /// How many failures of one kind and mode are minimised
    #[arg(long, default_value_t = 10)]
    of_a_kind: usize,
    /// Leave out programs that contain one of these words
    #[arg(long, value_delimiter = ',')]
    skip: Vec<String>,
    /// Write failures into this directory
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print the program of the seed, and run nothing
    #[arg(long)]
    show: bool,
    /// Serve another process of this program
    #[arg(long, hide = true)]
    worker: bool,
}

/// The stack size of threads that generate and evaluate.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    let options = Options::parse();
    if options.worker {
        worker::serve();
        return ExitCode::SUCCESS;
    }
    match run(options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}

/// Runs the fuzzer; returns whether it found no failure.
fn run(options: Options) -> std::io::Result<bool> {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.as_secs());
    let seed = options.seed.unwrap_or(time << 20);
    if options.show {
        println!("{}", Generator::new(seed).program().entries().join("\n"));
        return Ok(true);
    }
    let plan = FuzzPlan {
        exe: std::env::current_exe()?,
        seed,
        time: Duration::from_secs(60 * options.minutes),
        programs: options.programs.unwrap_or(usize::MAX),
        limit: Duration::from_secs(options.limit),
        minimise: Duration::from_secs(options.minimise),
        of_a_kind: options.of_a_kind,
        skip: options.skip,
        verbose: true,
    };
    println!("seeds from {seed}");
    let kind = &options.kind;
    if kind != "programs" {
        let (cases, failures) = front(&plan, kind)?;
        println!("{cases} cases of {kind}, {} failures\n{}", failures.len(), failures.join("\n"));
        return Ok(failures.is_empty());
    }
    let jobs = options.jobs;
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
    if let Some(dir) = options.out {
        std::fs::create_dir_all(&dir)?;
        for (f, _) in &all.failures {
            let path = dir.join(f.file());
            std::fs::write(&path, f.text())?;
            println!("{}", path.display());
        }
    }
    Ok(all.failures.is_empty())
}
