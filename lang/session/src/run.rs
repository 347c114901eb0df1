//! Runs files: a file is checked completely before it runs.

use crate::Session;
use crate::echo::Echo;
use crate::imports::{CheckedEntry, RunStep};
use crate::refine::refine;
use adl_interp::error::codes;
use adl_syntax::ast::{self, ItemKind};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::{FileId, Span};
use adl_syntax::symbol::Symbol;
use adl_typing::core::Item;
use adl_typing::env::Env;
use adl_typing::{CheckedItem, Places};

/// Definitions of one name that are remembered for messages, over all texts.
const MAX_REMEMBERED: usize = 64;

/// The result of running a text.
#[derive(Default)]
pub struct Outcome {
    /// For a cell: its definitions and values.
    pub echoes: Vec<Echo>,
    /// Errors and warnings.
    pub diags: Vec<Diagnostic>,
    /// Whether it was stopped by an interrupt.
    pub interrupted: bool,
}

impl Outcome {
    /// Whether there was no error.
    pub fn ok(&self) -> bool {
        !self.diags.iter().any(Diagnostic::is_error)
    }

    /// The outcome of an entry that a panic has stopped.
    pub(crate) fn of(error: Diagnostic) -> Outcome {
        let mut out = Outcome::default();
        out.stopped(error);
        out
    }

    /// Adds the error that stopped the run.
    pub(crate) fn stopped(&mut self, d: Diagnostic) {
        self.interrupted = d.code == codes::INTERRUPT;
        self.diags.push(d);
    }
}

/// A completely checked text.
pub(crate) struct CheckedText {
    pub entries: Vec<CheckedEntry>,
    pub env: Env,
    pub diags: Vec<Diagnostic>,
    /// Aliases of imports that failed.
    pub unreadable: Vec<Symbol>,
    /// Spans that did not parse, in order.
    faults: Vec<Span>,
}

impl CheckedText {
    /// A parsed text with its messages.
    pub fn new(env: Env, diags: Vec<Diagnostic>) -> CheckedText {
        let mut faults: Vec<Span> =
            diags.iter().filter(|d| d.is_error() && d.code.starts_with("E01")).map(|d| d.primary.span).collect();
        faults.sort_unstable();
        CheckedText { entries: Vec::new(), env, diags, unreadable: Vec::new(), faults }
    }

    /// Whether a span contains text that did not parse.
    fn unparsed(&self, place: Span) -> bool {
        let first = self.faults.partition_point(|s| (s.file, s.lo) < (place.file, place.lo));
        self.faults.get(first).is_some_and(|s| s.file == place.file && s.lo <= place.hi)
    }
}

impl Session {
    /// Parses bytes; invalid UTF-8 is an error of the text.
    pub(crate) fn parse_bytes(&mut self, name: &str, bytes: &[u8]) -> (FileId, ast::Program, Vec<Diagnostic>) {
        let file = self.add_source(name, String::from_utf8_lossy(bytes));
        match adl_syntax::parser::decode(file, bytes) {
            Ok(text) => {
                let (program, diags) = adl_syntax::parse(file, text);
                self.begin_text(&program);
                (file, program, diags)
            }
            Err(d) => (file, ast::Program::default(), vec![*d]),
        }
    }

    /// Resets the counters that apply to one text, and registers the names it defines.
    pub(crate) fn begin_text(&mut self, program: &ast::Program) {
        (self.tables.looked_for, self.tables.tried) = (0, 0);
        for (name, places) in adl_typing::definitions(&program.items) {
            let known = self.tables.defined.entry(name).or_default();
            known.extend(places);
            let many = known.len().saturating_sub(MAX_REMEMBERED);
            known.drain(..many);
        }
    }

    /// Parses and checks bytes as a file.
    pub(crate) fn check_bytes(&mut self, name: &str, bytes: &[u8], env: Env) -> CheckedText {
        let (file, program, diags) = self.parse_bytes(name, bytes);
        let mut out = CheckedText::new(env, diags);
        self.in_file(name, |s| {
            for item in &program.items {
                s.check_into(&mut out, item, file);
            }
        });
        out.diags.append(&mut self.import_warnings);
        out
    }

    /// Runs `f` while a file counts as open, to detect import cycles.
    pub(crate) fn in_file<T>(&mut self, name: &str, f: impl FnOnce(&mut Session) -> T) -> T {
        let plain = crate::imports::normal(name);
        let identity = self.machine.host.identity(name).unwrap_or_else(|| plain.clone());
        self.open.push((identity, plain));
        let out = f(self);
        self.open.pop();
        out
    }

    pub(crate) fn check_into(&mut self, out: &mut CheckedText, item: &ast::Item, file: FileId) {
        if matches!(item.kind, ItemKind::Import { .. }) {
            self.check_import(out, item, file);
            return;
        }
        let checked = self.check(&out.env.clone(), item, false);
        self.take_checked(out, item, checked);
    }

    /// Like `check_into`, for an editor: says what type each place of the item has.
    pub(crate) fn inspect_into(&mut self, out: &mut CheckedText, item: &ast::Item) -> Places {
        if matches!(item.kind, ItemKind::Import { .. }) {
            self.check_import(out, item, item.span.file);
            return Places::default();
        }
        let (checked, places) = self.inspect(&out.env.clone(), item);
        self.take_checked(out, item, checked);
        places
    }

    fn take_checked(&mut self, out: &mut CheckedText, item: &ast::Item, checked: CheckedItem) {
        // For an item that did not parse, only the syntax errors are reported.
        let faulty = out.unparsed(item.span);
        if !faulty && !self.hidden(out, item) {
            out.diags.extend(checked.diags);
            if let Some(Item::Expr(e)) = &checked.item {
                out.diags.extend(adl_typing::errors::unused_value(e, item.span, self.sources.text(item.span)));
            }
        }
        out.env = checked.env;
        if let Some(core) = checked.item {
            out.entries.push(CheckedEntry { step: RunStep::Item(core), doc: item.doc.clone(), span: item.span });
        }
    }

    /// Checks a file and returns all its errors and warnings.
    pub fn check_file(&mut self, name: &str, bytes: &[u8]) -> Vec<Diagnostic> {
        let env = self.env.clone();
        self.stoppable(|s| s.check_bytes(name, bytes, env).diags).unwrap_or_else(|d| vec![*d])
    }

    /// The documentation of a file, which is checked but not run.
    ///
    /// # Errors
    /// The errors of the file.
    pub fn doc_file(&mut self, name: &str, bytes: &[u8]) -> Result<crate::docs::DocModule, Vec<Diagnostic>> {
        let done = self.guarded(|s| {
            let checked = s.check_bytes(name, bytes, s.env.clone());
            let broken = checked.diags.iter().any(Diagnostic::is_error);
            if broken {
                Err(checked.diags)
            } else {
                Ok(s.chapter(name, &String::from_utf8_lossy(bytes), &checked.env, true))
            }
        });
        done.unwrap_or_else(|d| Err(vec![*d]))
    }

    /// Checks a file completely, then runs it. Its definitions stay in scope.
    pub fn run_file(&mut self, name: &str, bytes: &[u8]) -> Outcome {
        self.stoppable(|s| s.run_file_here(name, bytes)).unwrap_or_else(|d| Outcome::of(*d))
    }

    fn run_file_here(&mut self, name: &str, bytes: &[u8]) -> Outcome {
        let env = self.env.clone();
        let mut checked = self.check_bytes(name, bytes, env);
        let mut out = Outcome { diags: std::mem::take(&mut checked.diags), ..Outcome::default() };
        if !out.ok() {
            return out;
        }
        match self.run_entries(&checked.entries) {
            Ok(()) => self.adopt(checked),
            Err(d) => out.stopped(*d),
        }
        out
    }

    /// Brings the definitions of a text into scope, refined by the sizes of their values.
    pub(crate) fn adopt(&mut self, checked: CheckedText) {
        let mut env = checked.env;
        self.refine_types(&mut env, &checked.entries);
        self.record_sources(&checked.entries);
        self.env = env;
    }

    /// Records the source of each definition, for `:source`.
    pub(crate) fn record_sources(&mut self, entries: &[CheckedEntry]) {
        for e in entries {
            if let RunStep::Item(Item::Defs(defs)) = &e.step {
                defs.iter().filter_map(|d| d.name).for_each(|n| self.record_source(n, e.span));
            }
        }
    }

    /// Refines the types of a text's definitions by the sizes of their values.
    pub(crate) fn refine_types(&mut self, env: &mut Env, entries: &[CheckedEntry]) {
        for e in entries {
            let RunStep::Item(Item::Defs(defs)) = &e.step else { continue };
            for d in defs.iter().filter(|d| d.scheme.vars.is_empty()) {
                let (Some(name), Some(v)) = (d.name, self.machine.global(d.global)) else { continue };
                if env.values.get(&name).is_some_and(|g| g.id == d.global) {
                    let mut scheme = d.scheme.clone();
                    scheme.ty = refine(&scheme.ty, v, d.span, &self.tables);
                    env.set_type(name, scheme);
                }
            }
        }
    }

    /// Clears a pending interrupt.
    pub fn clear_interrupt(&self) {
        self.machine.clear_interrupt();
    }
}
