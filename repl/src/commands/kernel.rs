//! `adl kernel` and `adl notebook`.

use super::{configured, group, io_text, usage};
use crate::Global;
use crate::host::{Terminal, say};
use crate::interactive;
use crate::notebook_ranks::NotebookRanks;
use crate::rank_watch;
use crate::ranks::{self, RankedHost, SharedAgreement};
use adl_interp::host::Host;
use adl_kernel::cell_ranks::{self, CellRanks};
use adl_kernel::kernelspec::{self, SpecLocation};
use adl_kernel::parameters::Parameter;
use adl_kernel::{Setup, notebook};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Where `adl kernel install` and `uninstall` act; for the user unless something else is said.
#[derive(clap::Args)]
pub struct Where {
    /// For the user (this is what happens if nothing is said).
    #[arg(long, conflicts_with_all = ["sys_prefix", "prefix"])]
    user: bool,
    /// Into the Python environment that is active.
    #[arg(long, conflicts_with = "prefix")]
    sys_prefix: bool,
    /// Below a directory, as PREFIX/share/jupyter.
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<PathBuf>,
}

impl Where {
    fn place(self) -> SpecLocation {
        match (self.prefix, self.sys_prefix) {
            (Some(p), _) => SpecLocation::Prefix(p),
            (None, true) => SpecLocation::SysPrefix,
            (None, false) => SpecLocation::User,
        }
    }
}

/// What a kernel does.
#[derive(clap::Subcommand)]
pub enum KernelCommand {
    /// Makes adl known to Jupyter.
    Install(Where),
    /// Runs a kernel; front ends do so themselves.
    Run {
        /// The connection file.
        #[arg(short = 'f', long = "connection-file", value_name = "FILE")]
        file: PathBuf,
    },
    /// Removes what `install` wrote.
    Uninstall(Where),
}

impl KernelCommand {
    /// Whether it runs a kernel.
    pub fn runs(&self) -> bool {
        matches!(self, KernelCommand::Run { .. })
    }
}

/// What is done with notebooks.
#[derive(clap::Subcommand)]
pub enum NotebookCommand {
    /// Runs notebooks and stores the outputs in them.
    Run {
        /// Change nothing: say which cells give other outputs than are stored (exit 1 if any).
        #[arg(long)]
        check: bool,
        /// A parameter, in place of its value in the cell tagged `parameters`: a number, true, false, text, or an expression in brackets. Repeatable.
        #[arg(long, value_name = "NAME=VALUE", conflicts_with = "check", allow_hyphen_values = true)]
        set: Vec<Parameter>,
        #[arg(required = true, value_name = "FILE.ipynb")]
        files: Vec<PathBuf>,
    },
}

fn world() -> Box<dyn Host> {
    Box::new(Terminal::new(Vec::new()))
}

/// Selects the device that the flags ask for.
fn on_device(global: &Global, mut s: adl_session::Session) -> adl_session::Session {
    super::choose_device(global, &mut s);
    s
}

/// The other ranks of a notebook or kernel, if a launcher has started this process.
struct Others {
    group: SharedAgreement,
    ranks: Rc<NotebookRanks>,
}

impl Others {
    fn join(global: &Global) -> Result<Option<Others>, u8> {
        let Some(group) = group(global)? else { return Ok(None) };
        if let Err(d) = ranks::agree(&group, global, &global.device) {
            return Err(ranks::end_without(&group, || failed(&d.message)));
        }
        let ranks = NotebookRanks::connect(&group).map_err(|why| failed(&why))?;
        Ok(Some(Others { group, ranks: Rc::new(ranks) }))
    }

    fn is_first(&self) -> bool {
        self.group.borrow().is_first()
    }
}

/// Runs what has a front end, or on another rank than rank 0 the same cells. Returns the exit code.
fn on_ranks(global: &Global, run: impl FnOnce(&Setup) -> u8) -> u8 {
    let others = match Others::join(global) {
        Ok(others) => others,
        Err(code) => return code,
    };
    let setup = setup(global, others.as_ref());
    let Some(others) = &others else { return run(&setup) };
    let code = match others.is_first() {
        true => {
            rank_watch::handles_interrupts();
            run(&setup)
        }
        false => {
            cell_ranks::follow(&setup);
            0
        }
    };
    others.ranks.end_all();
    others.group.borrow_mut().leave();
    code
}

/// The setup of a kernel whose cells behave like entries of the REPL.
fn setup(global: &Global, others: Option<&Others>) -> Setup {
    // Front ends display the messages, and support colours.
    let global = Global { color: "always".into(), json: false, ..global.clone() };
    let flags = global.clone();
    let all = others.map(|o| o.group.clone());
    let ranked = move |host: Box<dyn Host>| -> Box<dyn Host> {
        match &all {
            Some(group) => Box::new(RankedHost::new(host, group)),
            None => host,
        }
    };
    Setup {
        world,
        session: Rc::new(move |host| on_device(&flags, configured(&flags, ranked(host)))),
        commands: Rc::new(move |s, fresh| interactive::commands(&global, s, fresh)),
        names: interactive::command_names(),
        ranks: others.map(|o| -> Rc<dyn CellRanks> { o.ranks.clone() }),
        // Rank 0 ends without the others, which the launcher then kills.
        at_shutdown: || rank_watch::end(1),
    }
}

fn failed(text: &str) -> u8 {
    let _ = writeln!(std::io::stderr(), "error: {text}");
    1
}

/// `adl kernel ...`.
pub fn kernel(global: &Global, command: KernelCommand) -> u8 {
    let ranks = global.ranks.unwrap_or(1);
    let done = match command {
        KernelCommand::Run { file } => {
            return on_ranks(global, |setup| adl_kernel::run(&file, setup).map_or_else(|e| failed(&e), |()| 0));
        }
        KernelCommand::Install(place) => match crate::command() {
            Ok(command) => {
                kernelspec::install(&place.place(), &command, ranks).map(|d| format!("installed: {}", d.display()))
            }
            Err(e) => Err(format!("where adl is cannot be found out: {e}")),
        },
        KernelCommand::Uninstall(place) => {
            kernelspec::uninstall(&place.place(), ranks).map(|d| format!("removed: {}", d.display()))
        }
    };
    match done {
        Ok(text) => {
            say(&(text + "\n"));
            0
        }
        Err(e) => failed(&e),
    }
}

/// `adl notebook ...`.
pub fn notebook(global: &Global, command: NotebookCommand) -> u8 {
    let NotebookCommand::Run { check, set, files } = command;
    let Ok(home) = std::env::current_dir() else { return usage("the working directory is gone") };
    on_ranks(global, |setup| each(global, setup, (&home, &files), check, &set))
}

/// Runs notebooks, one after the other.
fn each(global: &Global, setup: &Setup, (home, files): (&Path, &[PathBuf]), check: bool, set: &[Parameter]) -> u8 {
    let mut code = 0;
    for f in files {
        // Relative paths in a notebook are relative to it.
        let path = home.join(f);
        let _ = path.parent().map(std::env::set_current_dir);
        let run = one(global, setup, (&path, f), check, set);
        code = code.max(run.unwrap_or_else(|e| failed(&format!("{}: {e}", f.display()))));
    }
    code
}

fn one(
    global: &Global,
    setup: &Setup,
    (path, shown): (&Path, &Path),
    check: bool,
    set: &[Parameter],
) -> Result<u8, String> {
    let text = std::fs::read_to_string(path).map_err(|e| io_text(&e))?;
    let ran = notebook::run(&text, set, setup)?;
    if !check {
        super::write(path, &ran.text)?;
    }
    let mut err = std::io::stderr().lock();
    if check {
        for cell in &ran.changed {
            let _ = writeln!(err, "{}: cell {cell} gives other outputs than are stored", shown.display());
        }
    }
    if let Some((cell, text, traceback)) = &ran.failed {
        let traceback = if super::colours(global, std::io::IsTerminal::is_terminal(&std::io::stderr())) {
            traceback.clone()
        } else {
            adl_kernel::ansi::plain(traceback)
        };
        let _ = writeln!(err, "error: {}: cell {cell}: {text}\n{traceback}", shown.display());
        return Ok(1);
    }
    Ok(u8::from(check && !ran.changed.is_empty()))
}
