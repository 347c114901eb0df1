//! Runs cells: the items and `:commands` of a text in order, up to the first failure.

use crate::cell_host::{CellHost, OutputSink, grouped};
use crate::output_record::Record;
use crate::residuals_control::Control;
use crate::widgets::{self, Widgets};
use crate::{ansi, mime_bundle};
use adl_interp::error::codes;
use adl_interp::fault::{self, Fault};
use adl_interp::host::Host;
use adl_interp::ir::derive::table;
use adl_interp::value::Value;
use adl_session::{Outcome, Session};
use adl_syntax::diag::Diagnostic;
use adl_syntax::render;
use adl_syntax::span::SourceMap;
use serde_json::{Map, Value as Json, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Runs lines that begin with `:`.
pub trait Commands {
    /// Runs a command; returns whether it succeeded.
    fn run(&mut self, line: &str) -> bool;
}

/// Creates a session with a host.
pub type MakeSession = Rc<dyn Fn(Box<dyn Host>) -> Session>;
/// Creates the commands of a session, given a function that creates a fresh one.
pub type MakeCommands = Rc<dyn Fn(Rc<RefCell<Session>>, Box<dyn Fn() -> Session>) -> Box<dyn Commands>>;

/// Functions that the binary supplies, so that cells behave like the REPL's entries.
#[derive(Clone)]
pub struct Setup {
    /// Creates a host for files, environment and clock.
    pub world: fn() -> Box<dyn Host>,
    /// Creates a session configured by the command line's flags.
    pub session: MakeSession,
    /// Creates the `:commands`.
    pub commands: MakeCommands,
    /// The names of the commands, for completion.
    pub names: Vec<crate::suggest::CommandName>,
}

/// The failure of a cell.
#[derive(Clone, Debug)]
pub struct CellFailure {
    /// The error code.
    pub name: String,
    /// The message.
    pub text: String,
    /// The rendered error with ANSI colours.
    pub traceback: String,
}

impl CellFailure {
    /// An internal error outside the session's boundary.
    fn internal(fault: &Fault) -> CellFailure {
        let error = fault.error().diag;
        CellFailure {
            name: error.code.to_owned(),
            text: error.message.clone(),
            traceback: render::text(&error, &SourceMap::default(), true),
        }
    }

    /// The fields of an `error` message.
    pub fn content(&self) -> Json {
        json!({"ename": self.name, "evalue": self.text, "traceback": ansi::bold_only(&self.traceback).lines().collect::<Vec<_>>()})
    }
}

/// The result of a cell.
#[derive(Clone, Debug, Default)]
pub struct CellResult {
    /// The last value or definition as text.
    pub result: Option<String>,
    /// Texts for the pager.
    pub pages: Vec<String>,
}

/// The evaluator of cells.
pub struct Cells {
    /// The session.
    pub session: Rc<RefCell<Session>>,
    commands: Box<dyn Commands>,
    hearer: Rc<CapturingSink>,
    widgets: Widgets,
    controls: Vec<Control>,
}

/// Forwards output to the audience, unless a command's output is being captured.
struct CapturingSink {
    audience: Rc<dyn OutputSink>,
    kept: RefCell<Option<Kept>>,
    record: RefCell<Record>,
    progress: Cell<Option<Progress>>,
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

#[derive(Default)]
struct Kept {
    said: String,
    complained: String,
}

impl OutputSink for CapturingSink {
    fn stream(&self, name: &'static str, text: &str) {
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
        self.audience.watched()
    }
}

/// A part of a cell.
enum CellPart {
    /// Items, preceded by as many empty lines as in the cell, so that line numbers agree.
    Items(String),
    Command(String),
}

/// Commands whose output is displayed in the pager.
const PAGED: &[&str] = &[":doc", ":help", ":source", ":h", ":?"];

impl Cells {
    /// An evaluator whose output goes to `audience`; the flags stop a cell and request its progress.
    pub fn new(
        setup: &Setup,
        audience: Rc<dyn OutputSink>,
        interrupt: Arc<AtomicBool>,
        tick: Arc<AtomicBool>,
    ) -> Cells {
        let hearer = Rc::new(CapturingSink {
            audience,
            kept: RefCell::default(),
            record: RefCell::default(),
            progress: Cell::default(),
        });
        let (make, world, to) = (setup.session.clone(), setup.world, hearer.clone());
        let fresh = move || {
            let mut s = make(Box::new(CellHost::new(world(), to.clone())));
            s.share_signals(interrupt.clone(), tick.clone());
            s
        };
        let session = Rc::new(RefCell::new(fresh()));
        let commands = (setup.commands)(session.clone(), Box::new(fresh));
        Cells { session, commands, hearer, widgets: Widgets::default(), controls: Vec::new() }
    }

    /// Clears interrupts of earlier cells. Must be called before the `busy` status is published, because a front end
    /// may interrupt as soon as it sees that.
    pub fn begin(&self) {
        self.session.borrow().clear_interrupt();
    }

    /// Called when a cell's output is cleared and when cells were deleted: closes the widget models in those outputs.
    pub fn clear_cell_models(&mut self, cell: &str, deleted: &[&str]) {
        deleted.iter().for_each(|id| self.widgets.close_cell(&*self.hearer, id));
        self.widgets.begin_cell(&*self.hearer, cell);
        self.controls.retain(|c| c.is_open(&self.widgets));
    }

    /// Runs a cell; `name` is its name in messages. Results are published with the given execution number.
    pub fn run(&mut self, name: &str, code: &str, number: u64, silent: bool) -> Result<CellResult, CellFailure> {
        self.hearer.record.borrow_mut().clear();
        self.hearer.progress.set(None);
        self.guarded(|c| c.run_parts(name, code, number, silent)).and_then(|ended| ended)
    }

    fn run_parts(&mut self, name: &str, code: &str, number: u64, silent: bool) -> Result<CellResult, CellFailure> {
        let mut given = CellResult::default();
        let parts = parts(code);
        let last = parts.len().saturating_sub(1);
        for (i, part) in parts.into_iter().enumerate() {
            match part {
                CellPart::Items(text) => self.items(name, &text, (i == last).then_some(number), silent, &mut given)?,
                CellPart::Command(line) => self.command(&line, &mut given)?,
            }
        }
        Ok(given)
    }

    /// Runs items. The last echo is the cell's result if there is an execution number.
    fn items(
        &mut self,
        name: &str,
        text: &str,
        number: Option<u64>,
        silent: bool,
        given: &mut CellResult,
    ) -> Result<(), CellFailure> {
        self.session.borrow_mut().release();
        let out = self.session.borrow_mut().eval_cell(name, text);
        self.session.borrow_mut().host().flush();
        self.refresh();
        self.warn(&out);
        let result = number.filter(|_| out.ok());
        for (i, e) in out.echoes.iter().enumerate() {
            let ends = result.is_some() && i + 1 == out.echoes.len();
            if silent || e.name.is_some() && !ends {
                continue;
            }
            self.control(&e.shown);
            let (data, metadata) = mime_bundle::of(e);
            if ends {
                given.result = data["text/plain"].as_str().map(str::to_owned);
                self.hearer.publish(
                    "execute_result",
                    json!({"data": data, "metadata": metadata, "execution_count": number}),
                    json!({}),
                );
            } else {
                self.hearer.publish(
                    "display_data",
                    json!({"data": data, "metadata": metadata, "transient": {}}),
                    json!({}),
                );
            }
        }
        if out.ok() { Ok(()) } else { Err(self.failure(&out.diags)) }
    }

    /// Displays live controls of residuals if a front end may be connected. They are a separate output: the static
    /// table beside them is what a saved notebook displays without a kernel.
    fn control(&mut self, v: &Value) {
        if !self.hearer.watched() || table::inside(v).is_none() {
            return;
        }
        let (watch, stops) = {
            let mut s = self.session.borrow_mut();
            (s.watch(v.clone(), None), s.steps(v))
        };
        if let Some((id, control)) = Control::open(watch, stops, &mut self.widgets, &*self.hearer) {
            let view = json!({"version_major": 2, "version_minor": 0, "model_id": id});
            let data = json!({"text/plain": "controls, which act while the kernel runs", "application/vnd.jupyter.widget-view+json": view});
            self.hearer.publish("display_data", json!({"data": data, "metadata": {}, "transient": {}}), json!({}));
            self.controls.push(control);
        }
    }

    /// Updates all controls after changes.
    fn refresh(&mut self) {
        let s = self.session.borrow();
        self.controls.iter_mut().for_each(|c| c.refresh(&s, &mut self.widgets, &*self.hearer));
    }

    /// Handles a comm message for a control.
    pub fn comm(&mut self, kind: &str, content: &Json) {
        let (id, data) = (content["comm_id"].as_str().unwrap_or(""), &content["data"]);
        match (kind, data["method"].as_str().unwrap_or("")) {
            ("comm_open", _) if content["target_name"] == widgets::CONTROL => {}
            // Controls are opened by the kernel. Comms opened by front ends are not supported.
            ("comm_open", _) => self.hearer.publish("comm_close", json!({"comm_id": id, "data": {}}), json!({})),
            ("comm_close", _) => {
                self.widgets.close(id);
                self.controls.retain(|c| !c.has(id));
            }
            (_, "request_states") => self.widgets.tell_all(&*self.hearer, id),
            (_, "request_state") => self.widgets.tell(&*self.hearer, id),
            (_, "update") if self.widgets.has(id) => {
                self.widgets.changed(&*self.hearer, id, &data["state"]);
                self.act(id, false);
            }
            (_, "custom") => self.act(id, data["content"]["event"] == "click"),
            _ => {}
        }
    }

    fn act(&mut self, id: &str, clicked: bool) {
        let Some(at) = self.controls.iter().position(|c| c.has(id)) else { return };
        // After an internal error the control stays unchanged.
        let _ =
            self.guarded(|c| c.controls[at].act(id, clicked, &mut c.session.borrow_mut(), &mut c.widgets, &*c.hearer));
    }

    /// The open comms with their targets.
    pub fn comms(&self) -> std::collections::BTreeMap<String, String> {
        self.widgets.comms()
    }

    fn warn(&self, out: &Outcome) {
        let s = self.session.borrow();
        for d in out.diags.iter().filter(|d| !d.is_error()) {
            self.hearer.stream("stderr", &(ansi::bold_only(&render::text(d, &s.sources, true)) + "\n"));
        }
    }

    fn failure(&self, diags: &[Diagnostic]) -> CellFailure {
        let s = self.session.borrow();
        let counted: Vec<Diagnostic> = diags.iter().cloned().map(|d| self.counted(d)).collect();
        let diags = &counted;
        let errors: Vec<&Diagnostic> = diags.iter().filter(|d| d.is_error()).collect();
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
        let progress = self.hearer.progress.get().filter(|_| d.code == codes::INTERRUPT);
        d.message = progress.and_then(|p| p.interrupted()).unwrap_or(d.message);
        d
    }

    /// Runs `f`. A panic becomes a failure of the cell, and the session is restored.
    fn guarded<T>(&mut self, f: impl FnOnce(&mut Cells) -> T) -> Result<T, CellFailure> {
        let before = self.session.borrow_mut().checkpoint();
        match fault::catch(|| f(self)) {
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

    fn command(&mut self, line: &str, given: &mut CellResult) -> Result<(), CellFailure> {
        let name = line.split_whitespace().next().unwrap_or("");
        if name == ":clear" {
            self.hearer.publish("clear_output", json!({"wait": false}), json!({}));
            self.widgets.clear_output(&*self.hearer);
            self.controls.retain(|c| c.is_open(&self.widgets));
            return Ok(());
        }
        *self.hearer.kept.borrow_mut() = Some(Kept::default());
        let done = self.guarded(|c| c.commands.run(line));
        self.session.borrow_mut().host().flush();
        self.refresh();
        let kept = self.hearer.kept.borrow_mut().take().unwrap_or_default();
        if done? {
            match PAGED.contains(&name) {
                true => given.pages.push(kept.said),
                false if !kept.said.is_empty() => self.hearer.stream("stdout", &kept.said),
                false => {}
            }
            if !kept.complained.is_empty() {
                self.hearer.stream("stderr", &ansi::bold_only(&kept.complained));
            }
            return Ok(());
        }
        self.hearer.stream("stdout", &kept.said);
        let (name, text) = headline(&kept.complained);
        Err(CellFailure { name, text, traceback: kept.complained })
    }

    /// The results of `user_expressions`.
    pub fn expressions(&mut self, wanted: &Map<String, Json>) -> Map<String, Json> {
        let mut out = Map::new();
        for (key, text) in wanted {
            let text = text.as_str().unwrap_or("").to_owned();
            let found = self.guarded(|c| {
                let mut s = c.session.borrow_mut();
                let ty = s.type_of(&text)?;
                Ok((s.value_of(&text)?, ty))
            });
            let found = found.and_then(|f| f.map_err(|diags: Vec<Diagnostic>| self.failure(&diags)));
            out.insert(
                key.clone(),
                match found {
                    Ok((v, ty)) => {
                        let (data, metadata) = mime_bundle::shown(&v, &ty);
                        json!({"status": "ok", "data": data, "metadata": metadata})
                    }
                    Err(f) => {
                        let mut content = f.content();
                        content["status"] = json!("error");
                        content
                    }
                },
            );
        }
        out
    }
}

/// Runs `f`. A panic becomes a failure of the cell instead of ending the thread.
pub fn contained<T>(f: impl FnOnce() -> T) -> Result<T, CellFailure> {
    fault::catch(f).map_err(|fault| CellFailure::internal(&fault))
}

/// Splits a cell at its command lines.
fn parts(code: &str) -> Vec<CellPart> {
    if let Some(name) = crate::suggest::asked(code) {
        return vec![CellPart::Command(format!(":doc {name}"))];
    }
    let first = code.trim_start().lines().next().unwrap_or("");
    if crate::foreign::entry(first, &[]).is_some() {
        return vec![CellPart::Command(first.to_owned())];
    }
    let mut out = Vec::new();
    let mut items = String::new();
    for (i, line) in code.lines().enumerate() {
        if line.starts_with(':') && !line.starts_with("::") {
            if !items.trim().is_empty() {
                out.push(CellPart::Items(std::mem::take(&mut items)));
            }
            out.push(CellPart::Command(line.trim().to_owned()));
            items = "\n".repeat(i + 1);
        } else {
            items.push_str(line);
            items.push('\n');
        }
    }
    if !items.trim().is_empty() {
        out.push(CellPart::Items(items.trim_end().to_owned()));
    }
    out
}

/// The code and message in the first line of a rendered error.
fn headline(complained: &str) -> (String, String) {
    let line = ansi::plain(complained.lines().next().unwrap_or(""));
    match line.strip_prefix("error[").and_then(|l| l.split_once("]: ")) {
        Some((code, text)) => (code.to_owned(), text.to_owned()),
        None => ("command".to_owned(), line.trim_start_matches("error: ").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{CellPart, parts};

    #[test]
    fn a_cell_is_split_at_commands() {
        let shown = |code: &str| -> Vec<String> {
            parts(code)
                .into_iter()
                .map(|p| match p {
                    CellPart::Items(t) => t,
                    CellPart::Command(c) => format!("!{c}"),
                })
                .collect()
        };
        assert_eq!(shown("let x = 1\n:type x\nx + 1\n"), ["let x = 1\n", "!:type x", "\n\nx + 1"]);
        assert_eq!(shown("\n\n"), [""; 0]);
        assert_eq!(shown("%timeit f x\n"), ["!%timeit f x"]);
        assert_eq!(shown("1\n:: [2]"), ["1\n:: [2]"]);
    }
}
