//! Runs cells: the items and `:commands` of a text in order, up to the first failure.

use crate::cell_host::{CellHost, OutputSink};
use crate::cell_ranks::{self, CellRanks};
use crate::cell_sink::CellSink;
use crate::interact_control::InteractControl;
use crate::live_controls::{self, Control, Stage};
use crate::residuals_control::ResidualsControl;
use crate::widgets::{self, Widgets};
use crate::{ansi, mime_bundle};
use adl_interp::fault::{self, Fault};
use adl_interp::host::Host;
use adl_interp::ir::derive::table;
use adl_interp::value::Value;
use adl_session::{Echo, Session};
use adl_syntax::diag::Diagnostic;
use adl_syntax::render;
use adl_syntax::span::SourceMap;
use serde_json::{Map, Value as Json, json};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    /// The other ranks of a run on several.
    pub ranks: Option<Rc<dyn CellRanks>>,
    /// Called on the thread of the sockets before a shutdown ends the process.
    pub at_shutdown: fn(),
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
pub struct CellEvaluator {
    /// The session.
    pub session: Rc<RefCell<Session>>,
    commands: Box<dyn Commands>,
    stage: Stage,
    widgets: Widgets,
    controls: Vec<Box<dyn Control>>,
    ranks: Option<Rc<dyn CellRanks>>,
    /// Models that were changed in a view, whose controls have not acted yet.
    touched: Vec<String>,
}

/// A part of a cell.
pub enum CellPart {
    /// Items, preceded by as many empty lines as in the cell, so that line numbers agree.
    Items(String),
    /// A line with a command.
    Command(String),
}

/// Commands whose output is displayed in the pager.
const PAGED: &[&str] = &[":doc", ":help", ":source", ":h", ":?"];

impl CellEvaluator {
    /// An evaluator whose output goes to `audience`; the flags stop a cell and request its progress.
    pub fn new(
        setup: &Setup,
        audience: Rc<dyn OutputSink>,
        interrupt: Arc<AtomicBool>,
        tick: Arc<AtomicBool>,
    ) -> CellEvaluator {
        let sink = Rc::new(CellSink::new(audience));
        if let Some(all) = &setup.ranks {
            all.broadcast(&cell_ranks::fresh().to_string());
        }
        let (make, world, to) = (setup.session.clone(), setup.world, sink.clone());
        let fresh = move || {
            let mut s = make(Box::new(CellHost::new(world(), to.clone())));
            s.share_signals(interrupt.clone(), tick.clone());
            s
        };
        let session = Rc::new(RefCell::new(fresh()));
        let commands = (setup.commands)(session.clone(), Box::new(fresh));
        let stage = Stage { session: session.clone(), sink };
        CellEvaluator {
            session,
            commands,
            stage,
            widgets: Widgets::default(),
            controls: Vec::new(),
            ranks: setup.ranks.clone(),
            touched: Vec::new(),
        }
    }

    /// Runs an entry on all ranks. If it fails on one alone, it fails.
    fn on_all_ranks<T>(
        &mut self,
        entry: impl FnOnce() -> Json,
        run: impl FnOnce(&mut CellEvaluator) -> Result<T, CellFailure>,
    ) -> Result<T, CellFailure> {
        let Some(all) = self.ranks.clone() else { return run(self) };
        all.broadcast(&entry().to_string());
        let ended = run(self);
        let failure = ended.as_ref().err().map(cell_ranks::sent);
        match all.end(failure.as_deref()) {
            Some(f) if failure.as_ref() != Some(&f.failure) => Err(cell_ranks::of_rank(&f)),
            _ => ended,
        }
    }

    /// Whether controls may evaluate by themselves: other ranks would not.
    fn has_controls(&self) -> bool {
        self.stage.sink.watched() && self.ranks.is_none()
    }

    /// Clears interrupts of earlier cells. Must be called before the `busy` status is published, because a front end
    /// may interrupt as soon as it sees that.
    pub fn begin(&self) {
        self.session.borrow().clear_interrupt();
    }

    /// Called when a cell's output is cleared and when cells were deleted: closes the widget models in those outputs.
    pub fn clear_cell_models(&mut self, cell: &str, deleted: &[&str]) {
        deleted.iter().for_each(|id| self.widgets.close_cell(&*self.stage.sink, id));
        self.widgets.begin_cell(&*self.stage.sink, cell);
        self.controls.retain(|c| c.is_open(&self.widgets));
    }

    /// Runs a cell; `name` is its name in messages. Results are published with the given execution number.
    pub fn run(&mut self, name: &str, code: &str, number: u64, silent: bool) -> Result<CellResult, CellFailure> {
        self.on_all_ranks(
            || cell_ranks::cell(name, code, number, silent),
            |c| {
                c.stage.sink.begin_cell();
                c.guarded(|c| c.run_parts(name, code, number, silent)).and_then(|ended| ended)
            },
        )
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
        self.stage.warn(&out.diags);
        let result = number.filter(|_| out.ok());
        for (i, e) in out.echoes.iter().enumerate() {
            let ends = result.is_some() && i + 1 == out.echoes.len();
            if silent || e.name.is_some() && !ends {
                continue;
            }
            self.show(e, number.filter(|_| ends), given);
        }
        if out.ok() { Ok(()) } else { Err(self.stage.failure(&out.diags)) }
    }

    /// Shows an echo, with live controls if it has any. `number`: the execution number, if it is the cell's result.
    fn show(&mut self, echo: &Echo, number: Option<u64>, given: &mut CellResult) {
        let interactive = self.session.borrow_mut().interactive(echo).filter(|_| echo.name.is_none());
        if let Some(i) = &interactive {
            if self.has_controls() {
                let (id, control) = InteractControl::open(i.clone(), &mut self.widgets, &*self.stage.sink);
                live_controls::show(&id, &*self.stage.sink);
                self.controls.push(Box::new(control));
            }
            let line = json!({"text/plain": i.parts.line(&i.parts.start())});
            self.publish(line, json!({}), None);
        }
        self.residuals(&echo.shown);
        let (data, metadata) = mime_bundle::of(interactive.as_ref().map_or(echo, |i| &i.start));
        if number.is_some() {
            given.result = data["text/plain"].as_str().map(str::to_owned);
        }
        self.publish(data, metadata, number);
    }

    fn publish(&self, data: Json, metadata: Json, number: Option<u64>) {
        let (kind, more) = match number {
            Some(n) => ("execute_result", json!({"execution_count": n})),
            None => ("display_data", json!({"transient": {}})),
        };
        let mut content = json!({"data": data, "metadata": metadata});
        more.as_object().into_iter().flatten().for_each(|(k, v)| content[k.as_str()] = v.clone());
        self.stage.sink.publish(kind, content, json!({}));
    }

    /// Displays live controls of residuals if a front end may be connected. They are a separate output: the static
    /// table beside them is what a saved notebook displays without a kernel.
    fn residuals(&mut self, v: &Value) {
        if !self.has_controls() || table::inside(v).is_none() {
            return;
        }
        let (watch, stops) = {
            let mut s = self.session.borrow_mut();
            (s.watch(v.clone(), None), s.steps(v))
        };
        if let Some((id, control)) = ResidualsControl::open(watch, stops, &mut self.widgets, &*self.stage.sink) {
            live_controls::show(&id, &*self.stage.sink);
            self.controls.push(Box::new(control));
        }
    }

    /// Updates all controls after changes.
    fn refresh(&mut self) {
        let s = self.session.borrow();
        self.controls.iter_mut().for_each(|c| c.refresh(&s, &mut self.widgets, &*self.stage.sink));
    }

    /// Handles a comm message for a control.
    pub fn comm(&mut self, kind: &str, content: &Json) {
        let (id, data) = (content["comm_id"].as_str().unwrap_or(""), &content["data"]);
        match (kind, data["method"].as_str().unwrap_or("")) {
            ("comm_open", _) if content["target_name"] == widgets::CONTROL => {}
            // Controls are opened by the kernel. Comms opened by front ends are not supported.
            ("comm_open", _) => self.stage.sink.publish("comm_close", json!({"comm_id": id, "data": {}}), json!({})),
            ("comm_close", _) => {
                self.widgets.close(id);
                self.controls.retain(|c| !c.has(id));
            }
            (_, "request_states") => self.widgets.tell_all(&*self.stage.sink, id),
            (_, "request_state") => self.widgets.tell(&*self.stage.sink, id),
            (_, "update") if self.widgets.has(id) => {
                self.widgets.changed(&*self.stage.sink, id, &data["state"]);
                if !self.touched.iter().any(|t| t == id) {
                    self.touched.push(id.to_owned());
                }
            }
            (_, "custom") => {
                self.settle();
                self.act(id, data["content"]["event"] == "click");
            }
            _ => {}
        }
    }

    /// Lets controls act on the changes in their views. Called when no other change is waiting, so that a slider that
    /// moves faster than its function runs only shows where it arrives.
    pub fn settle(&mut self) {
        for id in std::mem::take(&mut self.touched) {
            self.act(&id, false);
        }
    }

    fn act(&mut self, id: &str, clicked: bool) {
        let Some(at) = self.controls.iter().position(|c| c.has(id)) else { return };
        // After an internal error the control stays unchanged.
        let stage = self.stage.clone();
        let _ = stage.guarded(|| self.controls[at].act(id, clicked, &stage, &mut self.widgets));
    }

    /// The open comms with their targets.
    pub fn comms(&self) -> std::collections::BTreeMap<String, String> {
        self.widgets.comms()
    }

    /// Runs `f`. A panic becomes a failure of the cell, and the session is restored.
    fn guarded<T>(&mut self, f: impl FnOnce(&mut CellEvaluator) -> T) -> Result<T, CellFailure> {
        self.stage.clone().guarded(|| f(self))
    }

    fn command(&mut self, line: &str, given: &mut CellResult) -> Result<(), CellFailure> {
        let name = line.split_whitespace().next().unwrap_or("");
        if name == ":clear" {
            self.stage.sink.publish("clear_output", json!({"wait": false}), json!({}));
            self.widgets.clear_output(&*self.stage.sink);
            self.controls.retain(|c| c.is_open(&self.widgets));
            return Ok(());
        }
        self.stage.sink.keep_text();
        let done = self.guarded(|c| c.commands.run(line));
        self.session.borrow_mut().host().flush();
        self.refresh();
        let kept = self.stage.sink.kept_text();
        if done? {
            match PAGED.contains(&name) {
                true => given.pages.push(kept.said),
                false if !kept.said.is_empty() => self.stage.sink.stream("stdout", &kept.said),
                false => {}
            }
            if !kept.complained.is_empty() {
                self.stage.sink.stream("stderr", &ansi::bold_only(&kept.complained));
            }
            return Ok(());
        }
        self.stage.sink.stream("stdout", &kept.said);
        let (name, text) = headline(&kept.complained);
        Err(CellFailure { name, text, traceback: kept.complained })
    }

    /// The value of an expression, and its type.
    fn expression(&mut self, text: &str) -> Result<(Value, String), CellFailure> {
        let found = self.guarded(|c| {
            let mut s = c.session.borrow_mut();
            let ty = s.type_of(text)?;
            Ok((s.value_of(text)?, ty))
        });
        found.and_then(|f| f.map_err(|diags: Vec<Diagnostic>| self.stage.failure(&diags)))
    }

    /// The results of `user_expressions`.
    pub fn expressions(&mut self, wanted: &Map<String, Json>) -> Map<String, Json> {
        let mut out = Map::new();
        for (key, text) in wanted {
            let one = Map::from_iter([(key.clone(), text.clone())]);
            let text = text.as_str().unwrap_or("").to_owned();
            let found = self.on_all_ranks(|| cell_ranks::expressions(&one), |c| c.expression(&text));
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
pub fn parts(code: &str) -> Vec<CellPart> {
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
