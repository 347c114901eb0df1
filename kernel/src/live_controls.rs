//! What live controls have in common: how they are told of changes in their views, and where they evaluate.

use crate::ansi;
use crate::cell_host::OutputSink;
use crate::cell_sink::CellSink;
use crate::cells::CellFailure;
use crate::widgets::Widgets;
use adl_interp::error::codes;
use adl_interp::fault;
use adl_session::Session;
use adl_syntax::diag::Diagnostic;
use adl_syntax::render;
use serde_json::{Value as Json, json};
use std::cell::RefCell;
use std::rc::Rc;

/// A group of widget models that act on the session.
pub trait Control {
    /// Whether a model belongs to this control and accepts actions.
    fn has(&self, id: &str) -> bool;
    /// Whether its models are open.
    fn is_open(&self, widgets: &Widgets) -> bool;
    /// Handles a change or click in a view. The new state is in `widgets`; changes that came too quickly are skipped.
    fn act(&mut self, id: &str, clicked: bool, stage: &Stage, widgets: &mut Widgets);
    /// Shows the changes made by cells and commands.
    fn refresh(&mut self, s: &Session, widgets: &mut Widgets, to: &dyn OutputSink);
}

/// Displays a control; what is read without one is the text.
pub fn show(id: &str, to: &dyn OutputSink) {
    let view = json!({"version_major": 2, "version_minor": 0, "model_id": id});
    let data = json!({"text/plain": "controls, which act while the kernel runs", "application/vnd.jupyter.widget-view+json": view});
    to.publish("display_data", json!({"data": data, "metadata": {}, "transient": {}}), json!({}));
}

/// A session with the receiver of its output.
#[derive(Clone)]
pub struct Stage {
    pub session: Rc<RefCell<Session>>,
    pub sink: Rc<CellSink>,
}

impl Stage {
    /// Runs `f`. A panic becomes a failure, and the session is restored.
    pub fn guarded<T>(&self, f: impl FnOnce() -> T) -> Result<T, CellFailure> {
        let before = self.session.borrow_mut().checkpoint();
        match fault::catch(f) {
            Ok(done) => {
                self.session.borrow_mut().keep(before);
                Ok(done)
            }
            Err(fault) => {
                let error = self.session.borrow_mut().recover(before, &fault);
                Err(self.failure(&[error]))
            }
        }
    }

    /// Runs `f` of the session; returns its outputs as a notebook stores them, and what it returns.
    pub fn captured<T>(
        &self,
        f: impl FnOnce(&mut Session) -> Result<T, Vec<Diagnostic>>,
    ) -> (Vec<Json>, Result<T, CellFailure>) {
        self.sink.capture();
        let done = self.guarded(|| {
            let done = f(&mut self.session.borrow_mut());
            self.session.borrow_mut().host().flush();
            done
        });
        let outputs = self.sink.captured().stored();
        (outputs, done.and_then(|done| done.map_err(|d| self.failure(&d))))
    }

    /// Errors as the failure of a cell. That of an interrupted loop says how far the loop was.
    pub fn failure(&self, diags: &[Diagnostic]) -> CellFailure {
        let s = self.session.borrow();
        let errors: Vec<Diagnostic> = diags.iter().filter(|d| d.is_error()).cloned().map(|d| self.counted(d)).collect();
        let texts: Vec<String> = errors.iter().map(|d| render::text(d, &s.sources, true)).collect();
        let first = errors.first();
        CellFailure {
            name: first.map_or_else(String::new, |d| d.code.to_owned()),
            text: first.map_or_else(String::new, |d| d.message.clone()),
            traceback: texts.join("\n\n"),
        }
    }

    /// Adds the progress of the interrupted loop to the message of an interrupt.
    fn counted(&self, mut d: Diagnostic) -> Diagnostic {
        if d.code == codes::INTERRUPT {
            d.message = self.sink.interrupted().unwrap_or(d.message);
        }
        d
    }

    /// Prints warnings.
    pub fn warn(&self, diags: &[Diagnostic]) {
        let s = self.session.borrow();
        for d in diags.iter().filter(|d| !d.is_error()) {
            self.sink.stream("stderr", &(ansi::bold_only(&render::text(d, &s.sources, true)) + "\n"));
        }
    }
}
