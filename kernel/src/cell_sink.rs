//! The receiver of everything that a session shows: forwards it to the audience, or captures it.

use crate::cell_host::{OutputSink, grouped};
use crate::output_record::OutputRecord;
use serde_json::Value as Json;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Forwards output to the audience, unless it is being captured.
pub struct CellSink {
    audience: Rc<dyn OutputSink>,
    /// The text of a command.
    kept: RefCell<Option<Kept>>,
    /// The outputs of a control.
    captured: RefCell<Option<OutputRecord>>,
    /// The outputs of the cell.
    record: RefCell<OutputRecord>,
    progress: Cell<Option<Progress>>,
}

/// The text of a command.
#[derive(Default)]
pub struct Kept {
    /// On `stdout`.
    pub said: String,
    /// On `stderr`.
    pub complained: String,
}

/// The progress of a loop at its last report.
#[derive(Clone, Copy)]
struct Progress {
    done: u64,
    total: u64,
    time: Duration,
    heard: Instant,
}

impl Progress {
    /// The progress of the interrupted loop; `None` if that loop had already ended.
    fn interrupted(&self) -> Option<String> {
        let since = self.heard.elapsed();
        let iteration = self.time.div_f64(self.done.max(1) as f64);
        let running = since < RECENT.max(iteration.saturating_mul(2));
        running.then(|| {
            format!(
                "interrupted after {} of {} iterations, {:.1} s",
                grouped(self.done),
                grouped(self.total),
                (self.time + since).as_secs_f64()
            )
        })
    }
}

/// A loop without a report for this long is assumed to have ended, unless its iterations take longer.
const RECENT: Duration = Duration::from_millis(500);

impl CellSink {
    /// A receiver that forwards to an audience.
    pub fn new(audience: Rc<dyn OutputSink>) -> CellSink {
        CellSink {
            audience,
            kept: RefCell::default(),
            captured: RefCell::default(),
            record: RefCell::default(),
            progress: Cell::default(),
        }
    }

    /// Forgets the outputs of the cell before.
    pub fn begin_cell(&self) {
        self.record.borrow_mut().clear();
        self.progress.set(None);
    }

    /// Keeps printed text from now on.
    pub fn keep_text(&self) {
        *self.kept.borrow_mut() = Some(Kept::default());
    }

    /// The text that was kept; from now on it is forwarded.
    pub fn kept_text(&self) -> Kept {
        self.kept.borrow_mut().take().unwrap_or_default()
    }

    /// Keeps all outputs from now on.
    pub fn capture(&self) {
        self.progress.set(None);
        *self.captured.borrow_mut() = Some(OutputRecord::default());
    }

    /// The outputs that were kept; from now on they are forwarded.
    pub fn captured(&self) -> OutputRecord {
        self.captured.borrow_mut().take().unwrap_or_default()
    }

    /// How far the interrupted loop was, if there is one.
    pub fn interrupted(&self) -> Option<String> {
        self.progress.get().and_then(|p| p.interrupted())
    }
}

impl OutputSink for CellSink {
    fn stream(&self, name: &'static str, text: &str) {
        if let Some(r) = &mut *self.captured.borrow_mut() {
            return r.stream(name, text);
        }
        match &mut *self.kept.borrow_mut() {
            Some(k) if name == "stdout" => k.said.push_str(text),
            Some(k) => k.complained.push_str(text),
            None => {
                self.record.borrow_mut().stream(name, text);
                self.audience.stream(name, text);
            }
        }
    }
    fn publish(&self, kind: &str, content: Json, metadata: Json) {
        if let Some(r) = &mut *self.captured.borrow_mut() {
            return r.publish(kind, &content, &metadata);
        }
        self.record.borrow_mut().publish(kind, &content, &metadata);
        self.audience.publish(kind, content, metadata);
    }
    fn take_back(&self, id: &str) {
        self.record.borrow_mut().take_back(id, &*self.audience);
    }
    fn progressed(&self, done: u64, total: u64, time: Duration) {
        self.progress.set(Some(Progress { done, total, time, heard: Instant::now() }));
    }
    fn ask(&self, prompt: &str) -> Result<Option<String>, String> {
        self.audience.ask(prompt)
    }
    fn watched(&self) -> bool {
        // A bar in captured outputs would never be seen.
        self.captured.borrow().is_none() && self.audience.watched()
    }
}
