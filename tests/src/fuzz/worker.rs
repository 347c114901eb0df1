//! Runs programs in a child process, because they may hang, exhaust memory or abort. Jobs and results are exchanged as
//! lines of JSON.

use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The settings of a session, and its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerSession {
    /// Whether native code is enabled.
    pub jit: bool,
    /// Whether AD is compiled; otherwise taped.
    pub compiled: bool,
    /// The number of threads for large arrays.
    pub threads: usize,
    /// Entries, in order.
    pub entries: Vec<String>,
}

/// The outcome of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The echo of each entry of each run: a value, `E0123: message`, or `panic: message`.
    Echoes(Vec<Vec<String>>),
    /// No answer within the time.
    Hang,
    /// The process ended: out of memory (`memory`), by a signal, or by an abort.
    Died(String),
}

/// The memory limit of a child in bytes, and its exit code when it exceeds the limit.
const MEMORY: usize = 3 << 30;
const FULL: i32 = 77;

/// A child process that runs programs.
pub struct Worker {
    exe: PathBuf,
    limit: Duration,
    child: Option<(Child, ChildStdin, Receiver<String>)>,
}

impl Worker {
    /// A worker that runs the fuzzer's own executable with `--worker`; `limit` is the limit of a job's CPU time.
    pub fn new(exe: PathBuf, limit: Duration) -> Worker {
        Worker { exe, limit, child: None }
    }

    fn start(&mut self) -> std::io::Result<()> {
        let mut child = Command::new(&self.exe)
            .arg("--worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("a child without pipes"));
        };
        let (send, receive) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        self.child = Some((child, input, receive));
        Ok(())
    }

    /// Runs each list of entries in its own session. Errors are failures of the worker itself.
    pub fn run(&mut self, runs: &[WorkerSession]) -> std::io::Result<Answer> {
        let job = runs
            .iter()
            .map(|r| json!({"jit": r.jit, "compiled": r.compiled, "threads": r.threads, "entries": r.entries}))
            .collect::<Vec<_>>();
        self.send(&json!({ "runs": job }))
    }

    /// Sends any job. The answer is a list of lists of texts.
    pub fn send(&mut self, job: &Value) -> std::io::Result<Answer> {
        if self.child.is_none() {
            self.start()?;
        }
        let Some((child, input, output)) = &mut self.child else { return Ok(Answer::Hang) };
        let sent = writeln!(input, "{job}").and_then(|()| input.flush());
        let answer =
            if sent.is_ok() { await_line(child.id(), output, self.limit) } else { Err(RecvTimeoutError::Disconnected) };
        match answer {
            Ok(line) => Ok(Answer::Echoes(texts(&line))),
            Err(RecvTimeoutError::Timeout) => {
                child.kill()?;
                child.wait()?;
                self.child = None;
                Ok(Answer::Hang)
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait()?;
                self.child = None;
                Ok(Answer::Died(if status.code() == Some(FULL) { "memory".into() } else { status.to_string() }))
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some((mut child, input, _)) = self.child.take() {
            drop(input);
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How much longer than its limit of CPU time a child may take, if other processes keep the processors busy.
const BUSY: u32 = 10;

/// Waits for a line of the child. The limit is of CPU time, so that a busy machine does not look like a hang.
fn await_line(child: u32, output: &Receiver<String>, limit: Duration) -> Result<String, RecvTimeoutError> {
    let (start, before) = (Instant::now(), cpu_time(child));
    loop {
        let used = before.zip(cpu_time(child)).map_or(start.elapsed(), |(before, now)| now.saturating_sub(before));
        let left = limit.saturating_sub(used).max(Duration::from_millis(1));
        match output.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) if used < limit && start.elapsed() < limit * BUSY => {}
            answer => return answer,
        }
    }
}

/// The CPU time of a process so far, where the system has `/proc`: fields 14 and 15 of `stat`, in hundredths of a second.
fn cpu_time(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields = stat.rsplit_once(')')?.1.split_whitespace();
    let ticks = fields.skip(11).take(2).map(|t| t.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_millis(ticks * 10))
}

fn texts(line: &str) -> Vec<Vec<String>> {
    let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
    let parsed: Value = serde_json::from_str(line).unwrap_or_default();
    list(&parsed)
        .iter()
        .map(|run| list(run).iter().map(|t| t.as_str().unwrap_or_default().to_owned()).collect())
        .collect()
}

/// The place and message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// The child: answers jobs until its input ends.
pub fn serve() {
    std::panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string().replace('\n', " ");
    }));
    std::thread::spawn(watch_memory);
    let mut answers = std::io::stdout();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let job: Value = serde_json::from_str(&line).unwrap_or_default();
        let runs = job["runs"].as_array().map(|runs| runs.iter().map(session).collect::<Vec<_>>());
        let answer = runs.unwrap_or_else(|| vec![super::front::job(&job)]);
        if writeln!(answers, "{}", json!(answer)).and_then(|()| answers.flush()).is_err() {
            break;
        }
    }
}

/// Ends the process before it exhausts the machine's memory.
fn watch_memory() {
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let pages =
            std::fs::read_to_string("/proc/self/statm").ok().and_then(|t| t.split(' ').nth(1)?.parse::<usize>().ok());
        if pages.unwrap_or(0) * 4096 > MEMORY {
            std::process::exit(FULL);
        }
    }
}

/// Runs `run` and catches panics.
pub fn guarded(run: impl FnOnce() -> String) -> String {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| format!("panic: {}", PANIC.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn session(run: &Value) -> Vec<String> {
    let session = Rc::new(RefCell::new(crate::session().0));
    session.borrow_mut().set_jit(run["jit"].as_bool().unwrap_or(true));
    session.borrow_mut().set_compiled_ad(run["compiled"].as_bool().unwrap_or(true));
    session.borrow_mut().set_threads(run["threads"].as_u64().unwrap_or(0) as usize);
    let entries = run["entries"].as_array().cloned().unwrap_or_default();
    let mut out = Vec::new();
    for entry in entries.iter().filter_map(Value::as_str) {
        let echo = guarded(|| echo(&mut session.borrow_mut(), entry));
        let over = echo.starts_with("panic: ");
        let reasons = if over { vec![] } else { reasons(&session.borrow()) };
        out.push(echo + &reasons.into_iter().map(|r| format!("{REASON}{r}")).collect::<String>());
        if over {
            // After a panic the session may be inconsistent, so it is not dropped.
            std::mem::forget(session);
            break;
        }
    }
    out.resize(entries.len(), "not run".to_owned());
    out
}

/// Separates an echo from the reasons why its derivatives were taped.
pub const REASON: char = '\u{1}';

fn reasons(s: &adl_session::Session) -> Vec<String> {
    let derivations = s.derivations_json();
    let parsed = derivations.iter().filter_map(|r| serde_json::from_str::<Value>(r).ok());
    let taped = parsed.filter(|r| r["ad"] == "taped" && !r["function"].as_str().unwrap_or("").is_empty());
    taped.filter_map(|r| r["why"].as_str().map(str::to_owned)).collect()
}

/// The value of an entry's last expression, without its type.
fn echo(s: &mut adl_session::Session, text: &str) -> String {
    let out = s.eval(text);
    match (out.diags.iter().find(|d| d.is_error()), out.echoes.last()) {
        (Some(d), _) => format!("{}: {}", d.code, d.message),
        (None, Some(e)) if e.name.is_none() => e.value(),
        _ => "()".into(),
    }
}
