//! A kernel that runs: cells and comms in the order in which they come.

use crate::cells::{Cells, Failure, Given, Setup};
use crate::channels::{self, Inboxes};
use crate::desk::{Common, Desk, lock};
use crate::outbox::{Outbox, Request};
use crate::snapshot::Snapshot;
use crate::stage::Audience;
use serde_json::{Map, Value as Json, json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often somebody who waits for an answer looks whether he is interrupted.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a kernel at the addresses of a connection file. It returns only if it cannot begin; a shutdown ends the process.
pub fn run(file: &Path, setup: &Setup) -> Result<(), String> {
    let said = |e: String| format!("{}: {e}", file.display());
    let text = std::fs::read_to_string(file).map_err(|e| said(e.to_string()))?;
    let info = channels::connection(&text).map_err(said)?;
    let (interrupt, tick) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    // Without a handler the default one ends the process.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, interrupt.clone());
    let (jobs, work) = channel();
    let (desk, questions) = channel();
    let (answers, answered) = channel();
    let out = channels::start(info, Inboxes { jobs, desk, answers, interrupt: interrupt.clone(), tick: tick.clone() })?;
    out.status(&json!({}), "starting");
    let common = Common::default();
    let clerk = (common.clone(), out.clone(), setup.names.clone(), setup.world);
    std::thread::spawn(move || Desk::new(clerk.0, clerk.1, clerk.2, clerk.3).serve(&questions));
    let front = Rc::new(Front { out: out.clone(), request: RefCell::new(None), answers: answered, interrupt: interrupt.clone() });
    let cells = Cells::new(setup, front.clone(), interrupt, tick);
    Server { out, common, front, cells, count: 0, work, waiting: VecDeque::new() }.serve();
    Ok(())
}

/// The front end that sent the cell that runs.
struct Front {
    out: Outbox,
    request: RefCell<Option<Request>>,
    answers: Receiver<String>,
    interrupt: Arc<AtomicBool>,
}

impl Front {
    /// The header that outputs answer.
    fn parent(&self) -> Json {
        self.request.borrow().as_ref().map_or_else(|| json!({}), |r| r.message.header.clone())
    }
}

impl Audience for Front {
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
        // An answer to a question of before is none to this.
        while self.answers.try_recv().is_ok() {}
        self.out.ask(r, "input_request", json!({"prompt": prompt, "password": false}));
        loop {
            match self.answers.recv_timeout(LOOK) {
                Ok(line) => return Ok(Some(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if self.interrupt.load(Ordering::Relaxed) => return Err("interrupted".into()),
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
    common: Common,
    front: Rc<Front>,
    cells: Cells,
    /// Number of the last cell.
    count: u64,
    work: Receiver<Request>,
    /// What came while a cell failed and is still to be done.
    waiting: VecDeque<Request>,
}

impl Server {
    fn serve(mut self) {
        while let Some(r) = self.waiting.pop_front().or_else(|| self.work.recv().ok()) {
            let header = r.message.header.clone();
            self.cells.begin();
            *self.front.request.borrow_mut() = Some(r.clone());
            lock(&self.common).running = Some(header.clone());
            self.out.status(&header, "busy");
            let aborted = match r.message.kind() {
                "execute_request" => self.execute(&r),
                _ => {
                    self.cells.comm(r.message.kind(), r.message.text("comm_id"), &r.message.content["data"]);
                    Vec::new()
                }
            };
            let mut shared = lock(&self.common);
            shared.running = None;
            shared.comms = self.cells.comms();
            drop(shared);
            self.out.status(&header, "idle");
            aborted.iter().for_each(|r| self.abort(r));
        }
    }

    /// Runs a cell. If it fails, the cells that are not to run any more.
    fn execute(&mut self, r: &Request) -> Vec<Request> {
        let m = &r.message;
        let (code, silent) = (m.text("code").to_owned(), m.flag("silent", false));
        let stored = m.flag("store_history", true) && !silent && !code.trim().is_empty();
        self.count += u64::from(stored);
        if !silent {
            self.out.publish(&m.header, "execute_input", json!({"code": code, "execution_count": self.count}));
        }
        let name = format!("In[{}]", self.count);
        let ended = self.cells.run(&name, &code, self.count, silent);
        let mut content = match &ended {
            Ok(given) => ok(given, self.cells.expressions(m.content["user_expressions"].as_object().unwrap_or(&Map::new()))),
            Err(f) => self.failed(f, &m.header, silent),
        };
        content["execution_count"] = json!(self.count);
        self.remember(stored.then_some(code.as_str()), ended.as_ref().ok().and_then(|g| g.result.clone()));
        // Whoever knows that the cell failed may send another one.
        let aborted = if ended.is_err() && m.flag("stop_on_error", true) { self.queued_cells() } else { Vec::new() };
        self.out.reply(r, "execute_reply", content);
        aborted
    }

    fn failed(&self, f: &Failure, parent: &Json, silent: bool) -> Json {
        let mut content = f.content();
        if !silent {
            self.out.publish(parent, "error", content.clone());
        }
        content["status"] = json!("error");
        content["user_expressions"] = json!({});
        content["payload"] = json!([]);
        content
    }

    /// What the cell left for completion and history.
    fn remember(&mut self, code: Option<&str>, result: Option<String>) {
        let before = lock(&self.common).snapshot.clone();
        let now = Snapshot::of(&mut self.cells.session.borrow_mut(), &before);
        let mut shared = lock(&self.common);
        shared.snapshot = now;
        if let Some(code) = code {
            shared.history.add(self.count, code, result);
        }
    }

    /// Cells that were sent before it was known that one before them failed.
    fn queued_cells(&mut self) -> Vec<Request> {
        let queued: VecDeque<Request> = self.waiting.drain(..).chain(self.work.try_iter()).collect();
        let (cells, others) = queued.into_iter().partition(|r| r.message.kind() == "execute_request");
        self.waiting = others;
        let cells: VecDeque<Request> = cells;
        cells.into()
    }

    fn abort(&self, r: &Request) {
        self.out.status(&r.message.header, "busy");
        self.out.reply(r, "execute_reply", json!({"status": "aborted", "execution_count": self.count}));
        self.out.status(&r.message.header, "idle");
    }
}

fn ok(given: &Given, expressions: Map<String, Json>) -> Json {
    let pages: Vec<Json> = given.pages.iter().map(|p| json!({"source": "page", "data": {"text/plain": p}, "start": 0})).collect();
    json!({"status": "ok", "user_expressions": expressions, "payload": pages})
}
