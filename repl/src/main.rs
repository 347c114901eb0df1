//! The `adl` binary: batch runs, sub-commands, and the REPL.
//!
//! Everything that adl does is in the crates below; here are only the command line, the terminal and files. Exit codes: 0; 1 on an error in
//! a program; 2 on wrong usage; 130 when interrupted.

mod commands;
mod graphics;
mod host;
mod html;
mod input;
mod interactive;
mod memory;

use clap::{Parser, Subcommand};
use std::io::IsTerminal;
use std::process::ExitCode;

// Programs make and drop small arrays by the million, and large ones again and again.
#[global_allocator]
static MEMORY: adl_jit::alloc::Keeping<mimalloc::MiMalloc> = adl_jit::alloc::Keeping(mimalloc::MiMalloc);

/// A strict ML-like scripting language in which gradients are first-class.
///
/// Without a command or a file it is a REPL.
#[derive(Parser)]
#[command(name = "adl", version, disable_help_subcommand = true, override_usage = "adl [OPTIONS] [SCRIPT.adl [ARGS]...]\n       adl [OPTIONS] -e EXPR [ARGS]...\n       adl [OPTIONS] COMMAND")]
struct Cli {
    /// Evaluate and echo `value : type`.
    #[arg(short = 'e', value_name = "EXPR", allow_hyphen_values = true)]
    expr: Option<String>,
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Flags that every command takes.
#[derive(clap::Args, Clone)]
pub struct Global {
    /// Colours in messages. `auto`: on a terminal, unless NO_COLOR is set.
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"], global = true)]
    color: String,
    /// Diagnostics as JSON, one object a line.
    #[arg(long, global = true)]
    json: bool,
    /// Read the program from standard input.
    #[arg(long, global = true)]
    stdin: bool,
    /// Memory that nested calls may take before a recursion counts as endless, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..), global = true)]
    stack: u32,
    /// Memory that the process may hold, in MiB; by default nearly all of the machine.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(16..1 << 40), global = true)]
    memory: Option<u64>,
    /// How derivatives are computed: by transformed code where possible (`main`), or always on a tape.
    #[arg(long, value_name = "ROAD", default_value = "main", value_parser = ["main", "tape"], env = "ADL_ROAD", hide_env = true, global = true)]
    road: String,
    /// Never compile to native code: results are the same, loops slower.
    #[arg(long, global = true)]
    no_jit: bool,
    /// Stop at the first operation that makes a nan or an infinity, in a program or in a derivative. Slow: nothing is compiled.
    #[arg(long, global = true)]
    check_nan: bool,
    /// Threads that work on large arrays; 0 for as many as the machine has. Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024), global = true)]
    threads: u32,
    /// Where functions on large arrays run: `cpu`, `gpu` (ADL_GPU says which), or `auto`, where they are faster.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = ["cpu", "gpu", "auto"], global = true)]
    device: String,
    /// What gradients store and recompute: store_all, recompute_all, auto, "budget N", sqrt, "revolve N".
    #[arg(long, value_name = "PLAN", default_value = "store_all", value_parser = plan, global = true)]
    plan: String,
    /// Say at the end how each derivative was computed.
    #[arg(long, global = true)]
    roads: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Types only: every error of the files (or of the .adl files below directories).
    Check {
        /// Explain an error code.
        #[arg(long, value_name = "CODE", conflicts_with = "files")]
        explain: Option<String>,
        files: Vec<String>,
    },
    /// One canonical layout.
    Fmt {
        /// Only say which files would change (exit 1 if any).
        #[arg(long)]
        check: bool,
        files: Vec<String>,
    },
    /// Runs `test` items and the examples of doc comments; without files, of every .adl file below the working directory.
    Test { files: Vec<String> },
    /// Times every `bench "name" = e` item.
    Bench { files: Vec<String> },
    /// Documentation of a name or module, the list of names, or the library as HTML.
    Doc {
        /// Write the whole library as HTML pages into a directory.
        #[arg(long, value_name = "DIR", conflicts_with = "name")]
        html: Option<String>,
        name: Option<String>,
    },
    /// Work of a function and of its derivatives by source line.
    Cost {
        /// Write it as a picture to this file: .svg or .png.
        #[arg(long)]
        svg: Option<String>,
        file: String,
        name: String,
        /// Its arguments, as expressions; the derivative is that with respect to the last.
        #[arg(allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// A function as it goes through the compiler.
    Ir {
        #[arg(long, value_parser = adl_session::STAGES, default_value = "opt")]
        stage: String,
        file: String,
        name: String,
        /// Arguments, as expressions, where the function's type leaves theirs open.
        #[arg(allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// The Jupyter kernel.
    Kernel {
        #[command(subcommand)]
        command: commands::kernel::KernelCommand,
    },
    /// Jupyter notebooks without a front end.
    Notebook {
        #[command(subcommand)]
        command: commands::kernel::NotebookCommand,
    },
    #[command(external_subcommand)]
    Script(Vec<String>),
}

fn plan(text: &str) -> Result<String, String> {
    match adl_interp::ir::road::Plan::parse(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!("plans are {}", adl_interp::ir::road::SPELLINGS)),
    }
}

fn main() -> ExitCode {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        adl_gpu::quiet(&std::env::temp_dir());
    }
    // A limit on the size of files is an error of the write, not the end of the process.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Default::default());
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            if e.use_stderr() {
                let _ = e.print();
                return ExitCode::from(2);
            }
            host::say(&if std::io::stdout().is_terminal() { e.render().ansi().to_string() } else { e.render().to_string() });
            return ExitCode::SUCCESS;
        }
    };
    let global = cli.global.clone();
    ExitCode::from(commands::guarded(&global, || dispatch(cli)))
}

fn dispatch(cli: Cli) -> u8 {
    match (cli.expr, cli.command) {
        (Some(text), None) => commands::expression(&cli.global, &text, Vec::new()),
        (Some(text), Some(Command::Script(args))) => commands::expression(&cli.global, &text, args),
        (Some(_), Some(_)) => commands::usage("`-e` takes no command"),
        (None, command) => run(&cli.global, command),
    }
}

fn run(global: &Global, command: Option<Command>) -> u8 {
    match command {
        Some(Command::Check { explain: Some(code), .. }) => commands::explain(&code),
        Some(Command::Check { files, .. }) => commands::check(global, &files),
        Some(Command::Fmt { check, files }) => commands::fmt(global, check, &files),
        Some(Command::Test { files }) => commands::measure::test(global, &files),
        Some(Command::Bench { files }) => commands::measure::bench(global, &files),
        Some(Command::Doc { html: Some(dir), .. }) => html::write(global, &dir),
        Some(Command::Doc { name, .. }) => commands::doc(global, name.as_deref()),
        Some(Command::Cost { svg, file, name, args }) => commands::inspect::cost(global, svg.as_deref(), &file, &name, &args),
        Some(Command::Ir { stage, file, name, args }) => commands::inspect::ir(global, &stage, &file, &name, &args),
        Some(Command::Kernel { command }) => commands::kernel::kernel(global, command),
        Some(Command::Notebook { command }) => commands::kernel::notebook(global, command),
        Some(Command::Script(words)) if global.stdin => commands::stdin(global, words),
        Some(Command::Script(words)) => match words.split_first() {
            Some((file, args)) => commands::script(global, file, args.to_vec()),
            None => commands::usage("a file is wanted"),
        },
        None if global.stdin => commands::stdin(global, Vec::new()),
        None => interactive::run(global),
    }
}
