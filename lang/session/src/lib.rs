//! The incremental engine: one API for the command line, the REPL, notebooks and tests.
//!
//! A [`Session`] owns the sources, the environment, the tables and the machine. A file is parsed and checked completely
//! before it runs. A cell is checked and run item by item, so that each item sees the actual sizes of earlier values.
//! An item that fails changes nothing.
//!
//! A panic in an entry becomes an ordinary error (`boundary`).
//!
//! Reading order: `run` (files), `entry_runner` (entries of the REPL), `modules` (standard modules, loaded when a text first
//! names them), `imports` (files), `reload`, [`echo`](Echo), [`analysis`] (texts that are edited), `test_runner`, [`benches`], [`docs`], [`complete`], `embed`
//! (values and calls for programs that use adl as a library).
//!
//! What is *not* here: access to terminals and files (the [`Host`] provides it).

pub mod analysis;
pub mod benches;
mod boundary;
pub mod complete;
pub mod completion_ranking;
mod declared;
mod derivations;
mod device;
pub mod docs;
mod echo;
mod embed;
mod entry_runner;
mod gc;
mod imports;
mod interactive;
mod item_words;
mod limits;
mod modules;
mod plans;
mod probe;
mod refine;
mod related;
mod reload;
mod run;
mod saved;
mod snapshots;
mod test_runner;

pub use boundary::Checkpoint;
pub use echo::{Echo, columns, width, wrapped, wrapped_type};
pub use interactive::DisplayedInteractive;
pub use plans::{DisplayedResiduals, ResidualsHandle, STAGES, pass_names};
pub use probe::Probe;
pub use reload::ReloadCounts;
pub use run::Outcome;
pub use saved::RanEntry;
pub use test_runner::{Failure, TestReport, examples};

/// What the tests of the crate use beside its interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::echo::extent::of as extent;
    pub use crate::echo::wrapping::clip;
    pub use crate::imports::normal;
    pub use crate::limits::echo::LINES;
    pub use crate::saved::imports_from;
}

use adl_interp::host::Host;
use adl_interp::ir::derive::Derivation;
use adl_interp::vm::Machine;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::{FileId, SourceMap, Span};
use adl_typing::env::{Env, Tables};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a session counts of its entries.
#[derive(Default)]
struct EntryCounts {
    entries: usize,
    /// Values that became `it`.
    values: usize,
    /// Entries that failed.
    failures: usize,
}

/// A session: the state of a running adl.
pub struct Session {
    /// All texts that it has read.
    pub sources: SourceMap,
    /// The names in scope.
    pub env: Env,
    pub(crate) tables: Tables,
    pub(crate) machine: Machine,
    pub(crate) std: HashMap<String, Rc<Env>>,
    /// Imported files by identity.
    pub(crate) files: HashMap<String, Rc<imports::Module>>,
    /// Files being checked, outermost first: identity and the path as written.
    pub(crate) open: Vec<(String, String)>,
    /// Warnings of imported files that have not been reported yet.
    pub(crate) import_warnings: Vec<Diagnostic>,
    /// Whether a text is analysed that was analysed before: warnings of its imports are repeated.
    pub(crate) editing: bool,
    counts: EntryCounts,
    /// Entries that ran, in order, for `:save`.
    pub history: saved::History,
    /// Earlier states for `undo` and `restore`.
    pub(crate) past: snapshots::UndoHistory,
    /// Loaded files, for `:reload`.
    pub(crate) loaded: Vec<Rc<reload::Loaded>>,
    /// The source of each definition.
    pub(crate) texts: rpds::HashTrieMap<adl_syntax::symbol::Symbol, Span>,
    /// The item being checked or run.
    pub(crate) item: Span,
    /// The number of checkpoints in use.
    boundaries: usize,
    /// The residuals that a front end displays.
    pub(crate) watched: Option<plans::ResidualsHandle>,
    pub(crate) memory: gc::GcState,
}

impl Session {
    /// A session with the prelude.
    pub fn new(host: Box<dyn Host>) -> Session {
        let mut session = Session {
            sources: SourceMap::default(),
            env: Env::default(),
            tables: Tables::default(),
            machine: Machine::new(host),
            std: HashMap::new(),
            files: HashMap::new(),
            open: Vec::new(),
            import_warnings: Vec::new(),
            editing: false,
            counts: EntryCounts::default(),
            history: saved::History::new(),
            past: snapshots::UndoHistory::default(),
            loaded: Vec::new(),
            texts: rpds::HashTrieMap::new(),
            item: Span::NOWHERE,
            boundaries: 0,
            watched: None,
            memory: gc::GcState::default(),
        };
        adl_syntax::field_order::reset();
        session.set_jit(true);
        let pick = session.machine.host.env("ADL_GPU");
        session.machine.device.set_opener(adl_gpu::program::open, pick);
        let least = session.machine.host.env("ADL_GPU_LEAST").and_then(|n| n.parse().ok());
        session.machine.device.set_least(least);
        let prelude = session.load_text("prelude", adl_std::PRELUDE, true);
        session.env = Env { base: Some(Rc::new(prelude)), ..Env::default() };
        session
    }

    /// Adds a text to the sources, so that messages can quote it.
    pub(crate) fn add_source(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        self.new_source(|sources| sources.add(name, text))
    }

    pub(crate) fn new_source(&mut self, add: impl FnOnce(&mut SourceMap) -> FileId) -> FileId {
        // Drops the machine's reference first: an unshared list is extended without a copy.
        self.machine.sources = SourceMap::default();
        let file = add(&mut self.sources);
        self.machine.sources = self.sources.clone();
        file
    }

    /// A flag that stops the current evaluation when it is set.
    pub fn interrupt(&self) -> Arc<AtomicBool> {
        self.machine.interrupt.clone()
    }

    /// A signal that stops the current evaluation because memory is exhausted.
    pub fn out_of_memory(&self) -> adl_interp::vm::OutOfMemoryFlag {
        self.machine.out_of_memory.clone()
    }

    /// A flag that requests a progress report of loops through the host; to be set a few times per second.
    pub fn tick(&self) -> Arc<AtomicBool> {
        self.machine.tick.clone()
    }

    /// Takes over the signals of another session, which this one replaces.
    pub fn share_signals(&mut self, interrupt: Arc<AtomicBool>, tick: Arc<AtomicBool>) {
        self.machine.share_signals(interrupt, tick);
    }

    /// The stack limit in bytes, beyond which a recursion is reported as infinite.
    pub fn set_stack(&mut self, bytes: usize) {
        self.machine.stack.budget = bytes;
    }

    /// Statistics of what derivatives have recorded on tapes.
    pub fn recorded(&self) -> adl_interp::ad::Recorded {
        self.machine.ad.recorded
    }

    /// Whether derivatives are compiled (by program transformation) where possible; otherwise all are taped.
    pub fn set_compiled_ad(&mut self, main: bool) {
        self.machine.compiled_ad.choice = if main { Derivation::Compiled } else { Derivation::Taped };
    }

    /// The number of IR functions that were generated for derivatives and are cached.
    pub fn derived_functions(&self) -> usize {
        self.machine.compiled_ad.functions()
    }

    /// Whether derivative code may be compiled to native code.
    pub fn set_jit(&mut self, on: bool) {
        self.machine.compiler = on.then(adl_jit::compiler);
    }

    /// Whether the first operation that produces a nan or an infinity is an error. If set, nothing runs as native code.
    pub fn set_check_nan(&mut self, on: bool) {
        self.machine.check_nan = on;
        if on {
            self.set_jit(false);
        }
    }

    /// The number of threads for large arrays, for the whole process; 0 for the number of processors. Results do not
    /// depend on it.
    pub fn set_threads(&mut self, n: usize) {
        adl_interp::ops::parallel::set_threads(n);
    }

    /// The number of entries that have failed.
    pub fn failures(&self) -> usize {
        self.counts.failures
    }

    /// The source of a definition.
    pub fn source_of(&self, name: &str) -> Option<String> {
        let symbol = adl_syntax::symbol::Symbol::new(name);
        let span = match self.texts.get(&symbol) {
            Some(s) => *s,
            None => {
                let (module, member) = name.rsplit_once('.')?;
                self.item_around(self.std.get(module)?.values.get(&adl_syntax::symbol::Symbol::new(member))?.span)
            }
        };
        Some(self.sources.text(span).to_owned())
    }

    /// The span of the item that contains a name.
    fn item_around(&self, name: Span) -> Span {
        let Some(file) = self.sources.get(name.file) else { return name };
        let items = adl_syntax::parse(name.file, &file.text).0.items;
        let around = items.iter().find(|i| i.span.lo <= name.lo && name.hi <= i.span.hi);
        around.map_or(name, |i| i.span)
    }

    /// A type as text.
    pub fn type_text(&self, scheme: &adl_typing::ty::Scheme) -> String {
        adl_typing::print::scheme(scheme)
    }

    /// The host, for the front end that supplied it.
    pub fn host(&mut self) -> &mut dyn Host {
        &mut *self.machine.host
    }
}
