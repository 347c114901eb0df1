//! Where panics end: every entry of a session is run by [`Session::guarded`]. A panic becomes error E0901, and the session is as it was before
//! the entry. So does the panic of a thread that serves the session, and an interrupt of the checker unwinds as a panic does.
//!
//! Hosts whose operations involve more than one entry (a `:command`, a cell with its pictures) have their own boundary:
//! [`Session::checkpoint`], [`adl_interp::fault::catch`], [`Session::recover`].
//!
//! Tables that only grow (texts, ids of types and definitions) keep what the entry added, because nothing refers to it
//! any more.

use crate::limits::boundary::{STACK, STACK_LEFT};
use crate::plans::ResidualsHandle;
use crate::reload::Loaded;
use crate::saved::History;
use crate::{Session, imports};
use adl_interp::fault::{self, Fault};
use adl_interp::vm::Machine;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;
use adl_syntax::stop;
use adl_syntax::symbol::Symbol;
use adl_typing::env::Env;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// The state of a session before an entry.
pub struct Checkpoint {
    env: Env,
    std: HashMap<String, Rc<Env>>,
    files: HashMap<String, Rc<imports::Module>>,
    loaded: Vec<Rc<Loaded>>,
    open: usize,
    history: History,
    texts: rpds::HashTrieMap<Symbol, Span>,
    failures: usize,
    watched: Option<ResidualsHandle>,
    machine: adl_interp::vm::SavedState,
}

impl Session {
    /// Saves the state of the session, between entries.
    pub fn checkpoint(&mut self) -> Checkpoint {
        self.boundaries += 1;
        self.item = Span::NOWHERE;
        Checkpoint {
            env: self.env.clone(),
            std: self.std.clone(),
            files: self.files.clone(),
            loaded: self.loaded.clone(),
            open: self.open.len(),
            history: self.history.clone(),
            texts: self.texts.clone(),
            failures: self.counts.failures,
            watched: self.watched.clone(),
            machine: self.machine.keep(),
        }
    }

    /// Discards a checkpoint after a run without a panic.
    pub fn keep(&mut self, before: Checkpoint) {
        drop(before);
        self.boundaries = self.boundaries.saturating_sub(1);
    }

    /// Restores the state of a checkpoint after a panic. Returns the error to report.
    pub fn recover(&mut self, before: Checkpoint, fault: &Fault) -> Diagnostic {
        let mut error = fault.error().diag;
        error.primary.span = self.machine.stopped_at().unwrap_or(self.item);
        self.env = before.env;
        self.std = before.std;
        self.files = before.files;
        self.loaded = before.loaded;
        self.open.truncate(before.open);
        self.import_warnings.clear();
        self.history = before.history;
        self.texts = before.texts;
        self.counts.failures = before.failures + 1;
        self.watched = before.watched;
        self.machine.recover(before.machine);
        // Who has more to do than this entry stops there too: a run leaves the flag set as well.
        self.machine.interrupt.store(fault.interrupt, Ordering::Relaxed);
        self.boundaries = self.boundaries.saturating_sub(1);
        error
    }

    /// Runs code that changes nothing of the session but its machine: cheaper than [`Session::guarded`], for calls.
    ///
    /// # Errors
    /// E0901, if there was a panic.
    pub(crate) fn contained<T>(&mut self, run: impl FnOnce(&mut Machine) -> T) -> Result<T, Box<Diagnostic>> {
        let kept = self.machine.keep();
        self.boundaries += 1;
        self.item = Span::NOWHERE;
        let done = fault::catch(|| stacker::maybe_grow(STACK_LEFT, STACK, || run(&mut self.machine)));
        self.boundaries = self.boundaries.saturating_sub(1);
        done.and_then(|done| fault::aside().map_or(Ok(done), Err)).map_err(|fault| {
            let mut error = fault.error().diag;
            error.primary.span = self.machine.stopped_at().unwrap_or(self.item);
            self.machine.recover(kept);
            self.machine.interrupt.store(fault.interrupt, Ordering::Relaxed);
            Box::new(error)
        })
    }

    /// Runs an entry. A panic becomes an error, and the session is restored.
    ///
    /// # Errors
    /// E0901, if there was a panic.
    pub fn guarded<T>(&mut self, entry: impl FnOnce(&mut Session) -> T) -> Result<T, Box<Diagnostic>> {
        let before = self.checkpoint();
        let done = fault::catch(|| self.with_stack(entry));
        match done.and_then(|done| fault::aside().map_or(Ok(done), Err)) {
            Ok(done) => {
                self.keep(before);
                Ok(done)
            }
            Err(fault) => Err(Box::new(self.recover(before, &fault))),
        }
    }

    /// Runs an entry with enough stack, once for all its calls of native code.
    fn with_stack<T>(&mut self, entry: impl FnOnce(&mut Session) -> T) -> T {
        if self.machine.compiler.is_none() {
            return stacker::maybe_grow(STACK_LEFT, STACK, || entry(self));
        }
        adl_jit::on_deep_stack(self.machine.stack.budget, (STACK_LEFT, STACK), || entry(self))
    }

    /// The same for an entry of the user's: an interrupt ends also what parses and checks it, and the session is as it was before.
    ///
    /// # Errors
    /// E0901, if there was a panic; E0708, if it was interrupted before it ran.
    pub(crate) fn stoppable<T>(&mut self, entry: impl FnOnce(&mut Session) -> T) -> Result<T, Box<Diagnostic>> {
        let flag = self.interrupt();
        self.guarded(|s| {
            let _listening = stop::listen(flag);
            entry(s)
        })
    }

    /// Remembers the text of a definition, for `:source`.
    pub(crate) fn record_source(&mut self, name: Symbol, text: Span) {
        self.texts.insert_mut(name, text);
    }
}
