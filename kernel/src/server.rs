//! The kernel process: runs cells and comms in order of arrival.

use crate::abort::{Failed, reply_delay};
use crate::cell_host::OutputSink;
use crate::cells::{CellEvaluator, CellFailure, CellResult, Setup, contained};
use crate::channels::{self, Inboxes};
use crate::history::{self, History};
use crate::outbox::{Outbox, Request};
use crate::responder::{Responder, SharedHandle, lock};
use crate::snapshot::Snapshot;
use crate::wire::Message;
use serde_json::{Map, Value as Json, json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The interval at which a wait for input checks for an interrupt.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a kernel at the addresses of a connection file. Returns only if it cannot start; a shutdown ends the process.
pub fn run(file: &Path, setup: &Setup) -> Result<(), String> {
    let said = |e: String| format!("{}: {e}", file.display());
    let text = std::fs::read_to_string(file).map_err(|e| said(e.to_string()))?;
    let info = channels::connection(&text).map_err(said)?;
    let (interrupt, tick) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    // If the handler cannot be installed, the default one ends the process.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, interrupt.clone());
    let (jobs, work) = channel();
    let (desk, questions) = channel();
    let (answers, answered) = channel();
    let inboxes = Inboxes { jobs, desk, answers, interrupt: interrupt.clone(), tick: tick.clone() };
    let out = channels::start(info, inboxes, setup.at_shutdown)?;
    out.status(&json!({}), "starting");
    let common = SharedHandle::default();
    lock(&common).history = History::kept_in(history::file());
    let clerk = (common.clone(), out.clone(), setup.names.clone(), setup.world);
    std::thread::spawn(move || Responder::new(clerk.0, clerk.1, clerk.2, clerk.3).serve(&questions));
    if let Some(all) = &setup.ranks {
        all.share_interrupts(&interrupt);
    }
    serve(setup, out, common, work, answered, (interrupt, tick));
    Ok(())
}

/// Runs cells and comms until there are no more requests. The flags interrupt a cell and ask for a progress report.
pub fn serve(
    setup: &Setup,
    out: Outbox,
    common: SharedHandle,
    work: Receiver<Request>,
    answers: Receiver<String>,
    (interrupt, tick): (Arc<AtomicBool>, Arc<AtomicBool>),
) {
    let front = Rc::new(Front { out: out.clone(), request: RefCell::new(None), answers, interrupt: interrupt.clone() });
    let cells = CellEvaluator::new(setup, front.clone(), interrupt, tick);
    Server { out, common, front, cells, count: 0, work, waiting: VecDeque::new(), failed: None }.serve();
}

/// The audience of the running cell: the front end that sent it.
struct Front {
    out: Outbox,
    request: RefCell<Option<Request>>,
    answers: Receiver<String>,
    interrupt: Arc<AtomicBool>,
}

impl Front {
    /// The parent header of outputs.
    fn parent(&self) -> Json {
        self.request.borrow().as_ref().map_or_else(|| json!({}), |r| r.message.header.clone())
    }
}

impl OutputSink for Front {
    fn stream(&self, name: &'static str, text: &str) {
        if !text.is_empty() {
            self.out.stream(&self.parent(), name, text);
        }
    }
    fn publish(&self, kind: &str, content: Json, metadata: Json) {
        self.out.publish_with(&self.parent(), kind, content, metadata);
    }
    fn ask(&self, prompt: &str) -> Result<Option<String>, String> {
        let request = self.request.borrow();
        let Some(r) = request.as_ref().filter(|r| r.message.flag("allow_stdin", false)) else {
            return Err("this front end takes no input".into());
        };
        // Discards answers to earlier questions.
        while self.answers.try_recv().is_ok() {}
        self.out.ask(r, "input_request", json!({"prompt": prompt, "password": false}));
        loop {
            match self.answers.recv_timeout(LOOK) {
                Ok(line) => return Ok(Some(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if self.interrupt.load(Ordering::Relaxed) => {
                    return Err("interrupted".into());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
    fn watched(&self) -> bool {
        true
    }
}

struct Server {
    out: Outbox,
    common: SharedHandle,
    front: Rc<Front>,
    cells: CellEvaluator,
    /// The execution number of the last cell.
    count: u64,
    work: Receiver<Request>,
    /// Requests that arrived while the reply of a failed cell was delayed.
    waiting: VecDeque<Request>,
    /// The last failed cell, which aborts the requests sent together with it.
    failed: Option<Failed>,
}

impl Server {
    fn serve(mut self) {
        while let Some(request) = self.waiting.pop_front().or_else(|| self.work.recv().ok()) {
            let cell = request.message.kind() == "execute_request";
            if cell && self.failed.as_ref().is_some_and(|f| f.precedes(&request)) {
                self.abort(&request);
                continue;
            }
            let header = request.message.header.clone();
            self.cells.begin();
            *self.front.request.borrow_mut() = Some(request.clone());
            lock(&self.common).running = Some(header.clone());
            self.out.status(&header, "busy");
            if cell {
                self.execute(&request);
            } else {
                // After an internal error the view stays unchanged.
                let _ = contained(|| self.cells.comm(request.message.kind(), &request.message.content));
                if !self.another_change() {
                    let _ = contained(|| self.cells.settle());
                }
            }
            let mut shared = lock(&self.common);
            shared.running = None;
            shared.comms = self.cells.comms();
            drop(shared);
            self.out.status(&header, "idle");
        }
    }

    /// Whether the next request is a message of a view, too.
    fn another_change(&mut self) -> bool {
        self.waiting.extend(self.work.try_iter());
        self.waiting.front().is_some_and(|r| r.message.kind() == "comm_msg")
    }

    /// Runs a cell and replies.
    fn execute(&mut self, request: &Request) {
        let message = &request.message;
        let (code, silent) = (message.text("code"), message.flag("silent", false));
        let stored = message.flag("store_history", true) && !silent && !code.trim().is_empty();
        self.count += u64::from(stored);
        if !silent {
            self.out.publish(&message.header, "execute_input", json!({"code": code, "execution_count": self.count}));
        }
        let ended = contained(|| self.evaluate(message, code, silent)).and_then(|ended| ended);
        let result = ended.as_ref().ok().and_then(|(given, _)| given.result.clone());
        // If the names cannot be read, completion keeps the earlier ones.
        let _ = contained(|| self.remember(stored.then_some(code), result));
        let failed = ended.is_err() && message.flag("stop_on_error", true);
        let mut content = ended
            .map_or_else(|f| self.failed(&f, &message.header, silent), |(given, expressions)| ok(&given, expressions));
        content["execution_count"] = json!(self.count);
        if failed {
            self.receive_burst(request.arrived);
        }
        // Set before the reply: a client that receives the reply may send its next request immediately.
        self.failed = failed.then(|| Failed::now(request));
        self.out.reply(request, "execute_reply", content);
    }

    /// The result of a cell, and of its `user_expressions`.
    fn evaluate(
        &mut self,
        m: &Message,
        code: &str,
        silent: bool,
    ) -> Result<(CellResult, Map<String, Json>), CellFailure> {
        if !silent {
            self.cells.clear_cell_models(&output_of(m), &deleted(m));
        }
        let given = self.cells.run(&format!("In[{}]", self.count), code, self.count, silent)?;
        let expressions =
            m.content["user_expressions"].as_object().map_or_else(Map::new, |wanted| self.cells.expressions(wanted));
        Ok((given, expressions))
    }

    /// Receives the requests sent together with a failed cell that arrived at `last`.
    fn receive_burst(&mut self, mut last: Instant) {
        let failed = Instant::now();
        loop {
            match self.work.recv_timeout(reply_delay(last, failed)) {
                Ok(r) => {
                    last = r.arrived;
                    self.waiting.push_back(r);
                }
                Err(_) => return,
            }
        }
    }

    fn failed(&self, f: &CellFailure, parent: &Json, silent: bool) -> Json {
        let mut content = f.content();
        if !silent {
            self.out.publish(parent, "error", content.clone());
        }
        content["status"] = json!("error");
        content["user_expressions"] = json!({});
        content["payload"] = json!([]);
        content
    }

    /// Updates completion and history after a cell.
    fn remember(&mut self, code: Option<&str>, result: Option<String>) {
        let before = lock(&self.common).snapshot.clone();
        let now = Snapshot::of(&mut self.cells.session.borrow_mut(), &before);
        let mut shared = lock(&self.common);
        shared.snapshot = now;
        if let Some(code) = code {
            shared.history.add(self.count, code, result);
        }
    }

    fn abort(&self, r: &Request) {
        self.out.status(&r.message.header, "busy");
        self.out.reply(r, "execute_reply", json!({"status": "aborted"}));
        self.out.status(&r.message.header, "idle");
    }
}

/// The identity of the cell whose output a request replaces: the id from the front end, or else the code.
fn output_of(m: &Message) -> String {
    match m.metadata["cellId"].as_str() {
        Some(id) => id.to_owned(),
        None => format!("{}\n{}", m.header["session"].as_str().unwrap_or(""), m.text("code")),
    }
}

/// The cells that the user deleted since the last request.
fn deleted(m: &Message) -> Vec<&str> {
    m.metadata["deletedCells"].as_array().into_iter().flatten().filter_map(Json::as_str).collect()
}

fn ok(given: &CellResult, expressions: Map<String, Json>) -> Json {
    let pages: Vec<Json> =
        given.pages.iter().map(|p| json!({"source": "page", "data": {"text/plain": p}, "start": 0})).collect();
    json!({"status": "ok", "user_expressions": expressions, "payload": pages})
}
