//! The latency of the language server in a file of 1,000 lines: `cargo bench -p adl-tests --bench editor`.
//!
//! Not part of `--bin bench`: the library of the tests does not depend on the crates above the session, so that a change
//! in one of them compiles little.

use adl_tests::bench::Times;
use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value as Json, json};
use std::time::Instant;

/// How often each is measured.
const ROUNDS: usize = 50;

const URI: &str = "file:///latency.adl";

/// An editor that is connected to a server in another thread.
struct Editor {
    connection: Connection,
    requests: i32,
}

/// A program of 1,000 lines: functions that use one another.
fn program() -> String {
    let function = |i: usize| {
        let before = if i == 0 { "s".to_owned() } else { format!("f{} x (0.5 * w)", i - 1) };
        format!(
            "--| The sum of squares of sines, and that of the function before.\nlet f{i} (x : [n]Float) (w : Float) : Float =\n  let y = map (fun v -> sin (v * w)) x\n  let s = sum (y * y)\n  s + {before}\n"
        )
    };
    (0..200).map(function).collect()
}

impl Editor {
    fn send(&self, message: Message) -> Result<(), String> {
        self.connection.sender.send(message).map_err(|e| e.to_string())
    }

    fn notify(&self, method: &str, params: Json) -> Result<(), String> {
        self.send(Message::Notification(Notification::new(method.to_owned(), params)))
    }

    fn receive(&self) -> Result<Message, String> {
        self.connection.receiver.recv().map_err(|e| e.to_string())
    }

    fn request(&mut self, method: &str, params: Json) -> Result<(), String> {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        self.send(Message::Request(Request::new(id.clone(), method.to_owned(), params)))?;
        loop {
            match self.receive()? {
                Message::Response(r) if r.id == id => {
                    return serde_json::to_value(r)
                        .ok()
                        .filter(|r| r["error"].is_null())
                        .map(drop)
                        .ok_or(method.to_owned());
                }
                _ => {}
            }
        }
    }

    /// Waits until diagnostics are published.
    fn diagnosed(&self) -> Result<(), String> {
        loop {
            if matches!(self.receive()?, Message::Notification(n) if n.method == "textDocument/publishDiagnostics") {
                return Ok(());
            }
        }
    }

    /// Types a digit into the number on a line, and waits for the diagnostics.
    fn keystroke(&self, version: usize, line: usize) -> Result<(), String> {
        let at = json!({"line": line, "character": 6});
        let changes = json!([{"range": {"start": at, "end": at}, "text": "1.0 + "}]);
        let document = json!({"uri": URI, "version": version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}))?;
        self.diagnosed()
    }
}

/// The times of diagnostics after a keystroke, of completion and of hovering, in milliseconds.
fn times() -> Result<[(&'static str, Times); 3], String> {
    let (server, connection) = Connection::memory();
    let thread = std::thread::Builder::new().stack_size(16 << 20);
    let thread = thread.spawn(move || adl_lsp::serve(server, Vec::new())).map_err(|e| e.to_string())?;
    let mut editor = Editor { connection, requests: 0 };
    editor.request("initialize", json!({"capabilities": {}}))?;
    editor.notify("initialized", json!({}))?;
    let document = json!({"uri": URI, "languageId": "adl", "version": 1, "text": program()});
    editor.notify("textDocument/didOpen", json!({"textDocument": document}))?;
    editor.diagnosed()?;
    let mut runs = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        // The last line of a function in the middle.
        let line = 5 * (50 + round) + 4;
        let at = json!({"textDocument": {"uri": URI}, "position": {"line": line - 2, "character": 12}});
        let mut timed = |i: usize, f: &mut dyn FnMut() -> Result<(), String>| {
            let begun = Instant::now();
            f()?;
            runs[i].push(1e3 * begun.elapsed().as_secs_f64());
            Ok::<(), String>(())
        };
        timed(0, &mut || editor.keystroke(round + 2, line))?;
        timed(1, &mut || editor.request("textDocument/completion", at.clone()))?;
        timed(2, &mut || editor.request("textDocument/hover", at.clone()))?;
    }
    editor.request("shutdown", Json::Null)?;
    editor.notify("exit", Json::Null)?;
    thread.join().map_err(|_| "the server panicked".to_owned())??;
    let [diagnostics, completion, hover] = runs.map(Times::of);
    Ok([("editor: diagnostics after a key", diagnostics), ("editor: completion", completion), ("editor: hover", hover)])
}

fn main() -> Result<(), String> {
    for (name, t) in times()? {
        println!("{name:32} {:>10.2} {:>10.2}", t.least, t.median);
    }
    Ok(())
}
