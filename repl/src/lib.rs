//! The command line of adl: batch runs, sub-commands, and the REPL. The binary `adl` and the Python module both run it.
//!
//! All functionality is in the other crates; this one has the command line, the terminal and files. Exit codes: 0; 1
//! after an error in a program; 2 for wrong usage; 130 when interrupted.

mod commands;
mod graphics;
pub mod host;
mod html;
mod input;
mod interactive;
mod memory;
mod notebook_ranks;
#[cfg_attr(not(target_os = "linux"), path = "rank_watch/none.rs")]
mod rank_watch;
mod ranks;

/// What the tests of the crate use beside its interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::commands::fmt::diff;
    pub use crate::commands::measure::duration;
    pub use crate::commands::stored::compared;
    pub use crate::host::bar_text;
    pub use crate::html::{anchor, inline};
    pub use crate::interactive::assistant::{brackets_at, candidates, coloured, wanted};
    pub use crate::interactive::history::{HEAD, MOST, append, shorten};
    pub use crate::interactive::menu::{Menu, MenuKey, keys};
    pub use crate::interactive::paste::entries as pasted;
    pub use crate::interactive::piped::{NextInput, belongs_to_entry};
    pub use crate::interactive::signature::line as signature;
    pub use crate::interactive::value_colours::{marked, odd};
    pub use crate::memory::{MemoryLimits, MemoryUse, groups};
    pub use crate::ranks::{difference, without_ranks};
}

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::io::IsTerminal;
use std::sync::OnceLock;

/// A strict ML-like scripting language in which gradients are first-class.
///
/// Without a command or a file it is a REPL.
#[derive(Parser)]
#[command(
    name = "adl",
    version,
    disable_help_subcommand = true,
    override_usage = "adl [OPTIONS] [SCRIPT.adl [ARGS]...]\n       adl [OPTIONS] -e EXPR [ARGS]...\n       adl [OPTIONS] COMMAND"
)]
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
    /// Colours in messages. `auto`: on a terminal, unless `NO_COLOR` is set.
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
    /// How derivatives are computed: by transformed code where possible (`compiled`), or always on a tape (`taped`).
    #[arg(long, value_name = "HOW", default_value = "compiled", value_parser = ["compiled", "taped"], env = "ADL_AD", hide_env = true, global = true)]
    ad: String,
    /// The old name of `--ad`.
    #[arg(long = "road", value_parser = ["main", "tape"], hide = true, global = true)]
    old_ad: Option<String>,
    /// Never compile to native code: results are the same, loops slower.
    #[arg(long, global = true)]
    no_jit: bool,
    /// Stop at the first operation that makes a nan or an infinity, in a program or in a derivative. Slow: nothing is compiled.
    #[arg(long, global = true)]
    check_nan: bool,
    /// Threads that work on large arrays; 0 for as many as the machine has. Results do not depend on it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1024), global = true)]
    threads: u32,
    /// Where functions on large arrays run: `cpu`, `gpu` (`ADL_GPU` says which), or `auto`, where they are faster.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = ["cpu", "gpu", "auto"], global = true)]
    device: String,
    /// What gradients store and recompute: `store_all`, `recompute_all`, auto, "budget N", sqrt, "revolve N".
    #[arg(long, value_name = "PLAN", default_value = "store_all", value_parser = plan, global = true)]
    plan: String,
    /// Run on N ranks: the command is started by `mpiexec -n N`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536), global = true)]
    ranks: Option<u32>,
    /// All ranks print, with the rank before each line; otherwise rank 0 alone.
    #[arg(long, global = true)]
    all_ranks: bool,
    /// Compare the value of each definition between the ranks, which is an error if it differs.
    #[arg(long, global = true)]
    check_ranks: bool,
    /// For screen readers and logs: no editor, no colours, no bars, values on one line.
    #[arg(long, global = true)]
    plain: bool,
    /// Messages with every call of the stack, those inside the standard library too.
    #[arg(long, global = true)]
    full_stack: bool,
    /// Say at the end how each derivative was computed.
    #[arg(long, global = true)]
    derivation: bool,
    /// The old name of `--derivation`.
    #[arg(long = "roads", hide = true, global = true)]
    old_derivation: bool,
}

impl Global {
    /// Replaces flags of old names by those of today, with a warning for each.
    fn rename_old_flags(&mut self) {
        if let Some(old) = self.old_ad.take() {
            self.ad = if old == "tape" { "taped" } else { "compiled" }.to_owned();
            eprintln!("warning: `--road {old}` is now `--ad {}`", self.ad);
        }
        if std::mem::take(&mut self.old_derivation) {
            self.derivation = true;
            eprintln!("warning: `--roads` is now `--derivation`");
        }
    }
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
        /// Show what would change, line by line, and change nothing (exit 1 if anything).
        #[arg(long, conflicts_with = "check")]
        diff: bool,
        files: Vec<String>,
    },
    /// Runs `test` items and the examples of doc comments; without files, of every .adl file below the working directory.
    Test {
        /// Only those that have this text in their names.
        #[arg(long, short, value_name = "TEXT", default_value = "")]
        filter: String,
        /// Name those that hold, too.
        #[arg(long, short)]
        verbose: bool,
        files: Vec<String>,
    },
    /// Times every `bench "name" = e` item.
    Bench {
        /// Only those that have this text in their names.
        #[arg(long, short, value_name = "TEXT", default_value = "")]
        filter: String,
        /// Keep the times under a name, in `.adl-bench/NAME.json`.
        #[arg(long, value_name = "NAME")]
        save: Option<String>,
        /// Compare with times that were kept.
        #[arg(long, value_name = "NAME")]
        against: Option<String>,
        files: Vec<String>,
    },
    /// Documentation of a name, a module or a file, the list of names, or the library as HTML.
    Doc {
        /// Write the whole library as HTML pages into a directory.
        #[arg(long, value_name = "DIR", conflicts_with = "name")]
        html: Option<String>,
        #[arg(value_name = "NAME|FILE.adl")]
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
        /// Show the code after each run of this pass of the optimiser that changed it.
        #[arg(long, value_name = "PASS", value_parser = adl_session::pass_names(), conflicts_with = "stage")]
        after: Option<String>,
        /// Show how often each pass of the optimiser runs, and how long it takes.
        #[arg(long, conflicts_with_all = ["stage", "after"])]
        timings: bool,
        file: String,
        name: String,
        /// Arguments, as expressions, where the function's type leaves theirs open.
        #[arg(allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Explains an error code, with wrong and right code.
    Explain { code: String },
    /// Runs a file, as `adl FILE` does.
    Run {
        /// The file (`-`: standard input) and its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "SCRIPT.adl [ARGS]")]
        words: Vec<String>,
    },
    /// The interactive session, as `adl` alone.
    Repl,
    /// This help, or that of a command.
    Help { command: Option<String> },
    /// The version.
    Version,
    /// Completions for a shell, to be put where it looks for them.
    Completions { shell: clap_complete::Shell },
    /// The manual page: `adl man | man -l -`.
    Man,
    /// The language server; editors start it and speak to it over standard input and output.
    Lsp,
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

impl Command {
    /// Whether it runs on several ranks: programs and notebooks do.
    fn runs_on_ranks(&self) -> bool {
        match self {
            Command::Kernel { command } => command.runs(),
            _ => matches!(self, Command::Script(_) | Command::Run { .. } | Command::Notebook { .. }),
        }
    }
}

fn plan(text: &str) -> Result<String, String> {
    match adl_interp::ir::derive::Plan::parse(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!("plans are {}", adl_interp::ir::derive::SPELLINGS)),
    }
}

/// How front ends start this program again: the command and its first arguments.
static COMMAND: OnceLock<Vec<String>> = OnceLock::new();

/// The command that starts this program, for the kernelspec.
///
/// # Errors
/// The system does not say where the binary is.
pub fn command() -> std::io::Result<Vec<String>> {
    match COMMAND.get() {
        Some(c) => Ok(c.clone()),
        None => Ok(vec![std::env::current_exe()?.to_string_lossy().into_owned()]),
    }
}

/// Bytes of stack beside that for recursion: what an entry must find, and what there is.
const STACK: (usize, usize) = (16 << 20, 32 << 20);

/// Runs a command line, without the name of the program; returns the exit code. `command` starts this program again, if it is
/// not the binary that runs.
pub fn main(words: &[String], command: Option<Vec<String>>) -> u8 {
    // The stack of all entries, so that none takes one of its own.
    adl_jit::on_deep_stack(usize::MAX, STACK, || started(words, command))
}

fn started(words: &[String], command: Option<Vec<String>>) -> u8 {
    if let Some(c) = command {
        let _ = COMMAND.set(c);
    }
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        adl_gpu::quiet(&std::env::temp_dir());
    }
    // Exceeding the file size limit becomes a write error instead of ending the process.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Default::default());
    let all = std::iter::once("adl").chain(words.iter().map(String::as_str));
    let parsed = shape(words).try_get_matches_from(all).and_then(|m| Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(e) => return not_run(&e),
    };
    let mut cli = cli;
    cli.global.rename_old_flags();
    let global = cli.global.clone();
    if let Some(code) = rank_watch::watch(words, &global) {
        return code;
    }
    let installs = matches!(&cli.command, Some(Command::Kernel { command }) if !command.runs());
    if let Some(n) = global.ranks.filter(|n| *n > 1 && !installs && adl_mpi::launcher().is_none()) {
        if !cli.command.as_ref().map_or(cli.expr.is_some() || global.stdin, Command::runs_on_ranks) {
            return commands::usage("`--ranks` is for programs, notebooks and kernels");
        }
        return commands::usage(&ranks::launch(words, n));
    }
    let code = commands::guarded(&global, || dispatch(cli));
    rank_watch::end(code);
    code
}

/// The clap command. Global flags are listed only in the help of `adl` itself.
fn shape(words: &[String]) -> clap::Command {
    let all = Cli::command();
    let flags: Vec<clap::Id> = all.get_arguments().filter(|a| a.is_global_set()).map(|a| a.get_id().clone()).collect();
    let named = words.iter().find(|w| !w.starts_with('-')).is_some_and(|w| all.find_subcommand(w).is_some());
    if !named {
        return all;
    }
    let hidden = flags.into_iter().fold(all, |c, id| c.mut_arg(id, |a| a.hide(true)));
    hidden.mut_subcommands(|c| c.after_help("Flags of all commands: `adl --help`."))
}

/// Prints help, the version, or the usage error; returns the exit code.
fn not_run(e: &clap::Error) -> u8 {
    if e.use_stderr() {
        // All ranks have the same words: the first says what is wrong.
        if adl_mpi::launcher().is_none_or(|l| l.rank.is_none_or(|r| r == 0)) {
            let _ = e.print();
        }
        return 2;
    }
    host::say(&if std::io::stdout().is_terminal() { e.render().ansi().to_string() } else { e.render().to_string() });
    0
}

/// `adl help [COMMAND]`.
fn help(command: Option<String>) -> u8 {
    let words: Vec<String> = command.into_iter().chain(["--help".to_owned()]).collect();
    match shape(&words).try_get_matches_from(std::iter::once("adl".to_owned()).chain(words)) {
        Err(e) => not_run(&e),
        Ok(_) => 0,
    }
}

/// `adl completions SHELL`.
fn completions(shell: clap_complete::Shell) -> u8 {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "adl", &mut out);
    host::say(&String::from_utf8_lossy(&out));
    0
}

/// `adl lsp`.
fn lsp() -> u8 {
    let served = command().map_err(|e| e.to_string()).and_then(adl_lsp::run);
    match served {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("error: {why}");
            1
        }
    }
}

/// `adl man`.
fn man() -> u8 {
    let mut out = Vec::new();
    match clap_mangen::Man::new(Cli::command()).render(&mut out) {
        Ok(()) => host::say(&String::from_utf8_lossy(&out)),
        Err(e) => return commands::usage(&e.to_string()),
    }
    0
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
        Some(Command::Fmt { check, diff, files }) => {
            commands::fmt::fmt(global, commands::fmt::FmtAction::of(check, diff), &files)
        }
        Some(Command::Test { filter, verbose, files }) => commands::measure::test(global, &filter, verbose, &files),
        Some(Command::Bench { filter, save, against, files }) => {
            let stored = commands::stored::Stored { save, against };
            commands::measure::bench(global, &filter, stored, &files)
        }
        Some(Command::Explain { code }) => commands::explain(&code),
        Some(Command::Run { words }) => match words.split_first() {
            Some((file, args)) => commands::script(global, file, args.to_vec()),
            None => commands::usage("expected a file"),
        },
        Some(Command::Repl) => interactive::run(global),
        Some(Command::Help { command }) => help(command),
        Some(Command::Version) => {
            host::say(&format!("adl {}\n", env!("CARGO_PKG_VERSION")));
            0
        }
        Some(Command::Completions { shell }) => completions(shell),
        Some(Command::Man) => man(),
        Some(Command::Lsp) => lsp(),
        Some(Command::Doc { html: Some(dir), .. }) => html::write(global, &dir),
        Some(Command::Doc { name, .. }) => commands::doc(global, name.as_deref()),
        Some(Command::Cost { svg, file, name, args }) => {
            commands::inspect::cost(global, svg.as_deref(), &file, &name, &args)
        }
        Some(Command::Ir { stage, after, timings, file, name, args }) => {
            commands::inspect::ir(global, &commands::inspect::stage(stage, after, timings), &file, &name, &args)
        }
        Some(Command::Kernel { command }) => commands::kernel::kernel(global, command),
        Some(Command::Notebook { command }) => commands::kernel::notebook(global, command),
        Some(Command::Script(words)) if global.stdin => commands::stdin(global, words),
        Some(Command::Script(words)) => match words.split_first() {
            Some((file, args)) => commands::script(global, file, args.to_vec()),
            None => commands::usage("expected a file"),
        },
        None if global.stdin => commands::stdin(global, Vec::new()),
        None => interactive::run(global),
    }
}
