//! The `adl` binary: batch runs, sub-commands, and the REPL.
//!
//! Everything that adl does is in the crates below; here are only the command line, the terminal and files. Exit codes: 0; 1 on an error in
//! a program; 2 on wrong usage; 130 when interrupted.

mod commands;
mod host;
mod interactive;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A strict ML-like scripting language in which gradients are first-class.
#[derive(Parser)]
#[command(name = "adl", version, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Evaluate and echo `value : type`.
    #[arg(short = 'e', value_name = "EXPR")]
    expr: Option<String>,
    /// Read the program from standard input.
    #[arg(long)]
    stdin: bool,
    #[command(flatten)]
    global: Global,
    /// A script and its arguments; without one, the REPL.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    script: Vec<String>,
}

/// Flags that every command takes.
#[derive(clap::Args, Clone)]
pub struct Global {
    /// Colours in messages.
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"], global = true)]
    color: String,
    /// Diagnostics as JSON, one object a line.
    #[arg(long, global = true)]
    json: bool,
    /// Memory that nested calls may take before a recursion counts as endless, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024, global = true)]
    stack: usize,
}

#[derive(Subcommand)]
enum Command {
    /// Types only: every error of the files.
    Check {
        /// Explain an error code.
        #[arg(long, value_name = "CODE")]
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
    /// Runs `test` items and the examples of doc comments.
    Test { files: Vec<String> },
    /// Documentation of a name, or the list of names.
    Doc { name: Option<String> },
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return ExitCode::from(if e.use_stderr() { 2 } else { 0 });
        }
    };
    let code = match cli.command {
        Some(Command::Check { explain: Some(code), .. }) => commands::explain(&code),
        Some(Command::Check { files, .. }) => commands::check(&cli.global, &files),
        Some(Command::Fmt { check, files }) => commands::fmt(&cli.global, check, &files),
        Some(Command::Test { files }) => commands::test(&cli.global, &files),
        Some(Command::Doc { name }) => commands::doc(name.as_deref()),
        None if cli.expr.is_some() => commands::expression(&cli.global, cli.expr.as_deref().unwrap_or("")),
        None if cli.stdin => commands::stdin(&cli.global),
        None => match cli.script.split_first() {
            Some((file, args)) => commands::script(&cli.global, file, args.to_vec()),
            None => interactive::run(&cli.global),
        },
    };
    ExitCode::from(code)
}
