//! Commands, which run programs: in child processes with a limit of time, so that no program stops the server. The
//! program is the text as it is in the editor.

use crate::lenses;
use crate::server::Server;
use adl_syntax::symbol::Symbol;
use lsp_server::{Message, Notification, Request, RequestId};
use lsp_types::{ExecuteCommandParams, Uri};
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How the command line is started: a program with its first arguments.
pub type Adl = Vec<String>;

/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(120);
/// How often a running command is looked at.
const PAUSE: Duration = Duration::from_millis(10);

/// The commands that editors may execute.
pub fn names() -> [&'static str; 6] {
    ["adl.run", "adl.test", "adl.bench", "adl.cost", "adl.residuals", "adl.derivative"]
}

/// A command line that waits to be run, with its program on standard input.
pub struct Job {
    adl: Adl,
    words: Vec<String>,
    text: String,
    dir: Option<PathBuf>,
    /// What is done with its output.
    then: Then,
}

/// What is done with the output of a command.
pub enum Then {
    /// It is the answer.
    Show,
    /// It is shown as a text of its own.
    View {
        /// Its name.
        name: String,
        /// The address of the program whose lines it names.
        of: String,
    },
    /// It is what a lens says about a function.
    Figure {
        /// The address of the text.
        uri: String,
        /// The function.
        name: String,
        /// The text of its item.
        of: String,
    },
}

/// The command line that a command stands for.
pub fn job(server: &mut Server, params: &ExecuteCommandParams) -> Result<Job, String> {
    let word = |i: usize| params.arguments.get(i).and_then(Json::as_str).map(str::to_owned);
    let uri: Uri = word(0).and_then(|u| u.parse().ok()).ok_or("expected the address of a text")?;
    let name = word(1).unwrap_or_default();
    let d = server.document(&uri).ok_or("this text is not open")?;
    let (text, dir) = (d.text.text.clone(), d.path.as_ref().and_then(|p| p.parent()).map(std::path::Path::to_owned));
    let with = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let (words, then) = match params.command.as_str() {
        "adl.run" => (with(&["--stdin"]), Then::Show),
        "adl.test" => (with(&["--stdin", "test", "--verbose", "--filter", &name]), Then::Show),
        "adl.bench" => (with(&["--stdin", "bench", "--filter", &name]), Then::Show),
        "adl.derivative" => {
            let mut words = with(&["ir", "--stage", "transpose", "-", &name]);
            words.extend(arguments(server, &uri, &name).unwrap_or_default());
            (words, Then::View { name: format!("derivative of {name}.txt"), of: uri.as_str().to_owned() })
        }
        "adl.cost" => {
            let args = arguments(server, &uri, &name).ok_or_else(|| unused(&name))?;
            let of = item_of(server, &uri, &name).unwrap_or_default();
            let words = with(&["--json", "cost", "-", &name]).into_iter().chain(args).collect();
            (words, Then::Figure { uri: uri.as_str().to_owned(), name, of })
        }
        "adl.residuals" => {
            let mut args = arguments(server, &uri, &name).ok_or_else(|| unused(&name))?;
            let last = args.pop().unwrap_or_default();
            let first: String = args.iter().map(|a| format!(" ({a})")).collect();
            let text = format!("{text}\nprint (residuals ({name}{first}) ({last}))\n");
            let view = Then::View { name: format!("residuals of {name}.txt"), of: uri.as_str().to_owned() };
            return Ok(Job { adl: server.adl.clone(), words: with(&["--stdin"]), text, dir, then: view });
        }
        other => return Err(format!("there is no command `{other}`")),
    };
    Ok(Job { adl: server.adl.clone(), words, text, dir, then })
}

fn unused(name: &str) -> String {
    format!("this text does not apply `{name}` to arguments that are defined at top level; its cost depends on them")
}

/// The arguments of the first use of a function.
fn arguments(server: &mut Server, uri: &Uri, name: &str) -> Option<Vec<String>> {
    let d = server.documents.all.get_mut(uri.as_str())?;
    let names = d.names();
    let args = lenses::arguments(d.items(), &names, Symbol::new(name), &|s| d.text.slice(s).to_owned())?;
    Some(args)
}

/// The text of the item that defines a name.
fn item_of(server: &mut Server, uri: &Uri, name: &str) -> Option<String> {
    let d = server.documents.all.get_mut(uri.as_str())?;
    let span = *d.names().exports.get(&(adl_syntax::names::NameKind::Value, Symbol::new(name)))?;
    let (item, _) = d.item_at(span.lo as usize)?;
    Some(d.text.slice(item.span).to_owned())
}

/// The result of a command line.
pub struct Ran {
    /// The exit code; `None` if it took too long.
    pub code: Option<i32>,
    /// What it wrote.
    pub output: String,
    /// What it wrote to standard error.
    pub errors: String,
}

impl Job {
    /// Runs the command line.
    ///
    /// # Errors
    /// Why it could not be started.
    pub fn run(self) -> Result<(Ran, Then), String> {
        let (program, first) = self.adl.split_first().ok_or("where adl is cannot be found out")?;
        let mut command = Command::new(program);
        command.args(first).args(&self.words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        let mut child = command.env("NO_COLOR", "1").spawn().map_err(|e| e.to_string())?;
        let (stdin, text) = (child.stdin.take(), self.text);
        std::thread::spawn(move || stdin.map(|mut s| s.write_all(text.as_bytes())));
        let (output, errors) = (reader(child.stdout.take()), reader(child.stderr.take()));
        let code = ended(&mut child);
        let text = |r: std::thread::JoinHandle<String>| r.join().unwrap_or_default();
        Ok((Ran { code, output: text(output), errors: text(errors) }, self.then))
    }
}

fn reader(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.map(|mut f| f.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The exit code of a process, which is stopped if it takes too long.
fn ended(child: &mut Child) -> Option<i32> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) if begun.elapsed() < LIMIT => std::thread::sleep(PAUSE),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

/// What a lens says, from the JSON of `adl cost`.
fn figure(cost: &str) -> Option<String> {
    let cost: Json = serde_json::from_str(cost.trim()).ok()?;
    let (ratio, bytes) = (cost["ratio"].as_f64()?, cost["bytes"].as_u64()?);
    let size = adl_interp::ir::derive::residuals_report::size(bytes);
    Some(format!("gradient: {ratio:.2} times the value's work, keeps {size}"))
}

impl Then {
    /// The answer to a command that has run, with messages to the editor (requests) and to the server (notifications).
    ///
    /// # Errors
    /// Why the program failed, where its output is not the answer.
    pub fn finish(self, ran: &Ran, shows: bool) -> Result<(Json, Vec<Message>), String> {
        let mut answer = json!({"code": ran.code, "output": ran.output, "errors": ran.errors});
        let why = || match ran.code {
            None => format!("stopped after {} seconds", LIMIT.as_secs()),
            Some(_) => ran.errors.trim().to_owned(),
        };
        let failed = ran.code != Some(0);
        match self {
            Then::Show => Ok((answer, Vec::new())),
            _ if failed => Err(why()),
            Then::View { name, of } => {
                let uri = crate::views::write(&name, &ran.output)?;
                answer["uri"] = json!(uri.as_str());
                let known = json!({"uri": uri.as_str(), "of": of, "text": ran.output});
                let known = Message::Notification(Notification::new("adl/view".to_owned(), known));
                let show = json!({"uri": uri.as_str(), "takeFocus": false});
                let id = RequestId::from(format!("adl-show-{name}"));
                let ask = Message::Request(Request::new(id, "window/showDocument".to_owned(), show));
                // The server knows the view before the editor asks about it.
                Ok((answer, if shows { vec![known, ask] } else { vec![known] }))
            }
            Then::Figure { uri, name, of } => {
                let figure = figure(&ran.output).ok_or("the cost was not understood")?;
                answer["figure"] = json!(figure);
                let found = json!({"uri": uri, "name": name, "of": of, "figure": figure});
                Ok((answer, vec![Message::Notification(Notification::new("adl/figure".to_owned(), found))]))
            }
        }
    }
}
