//! A client of the language server, over any connection.

#![allow(dead_code, clippy::unwrap_used, reason = "each test uses some of it; a test fails by a panic")]

pub mod scenarios;

use lsp_server::{Message, Notification, Request, RequestId};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// An editor, with a workspace that is removed at the end.
pub struct Client {
    send: Box<dyn FnMut(Message)>,
    receive: Box<dyn FnMut() -> Message>,
    next: i32,
    /// The diagnostics of each text, as they were published last.
    pub diagnostics: HashMap<String, Vec<Json>>,
    /// Requests of the server, by method.
    pub asked: Vec<(String, Json)>,
    pub root: PathBuf,
    texts: HashMap<String, (i32, String)>,
}

impl Client {
    pub fn new(
        name: &str,
        send: impl FnMut(Message) + 'static,
        receive: impl FnMut() -> Message + 'static,
        capabilities: Json,
    ) -> Client {
        let root = std::env::temp_dir().join(format!("adl-editor-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        let root = root.canonicalize().unwrap();
        let mut client = Client {
            send: Box::new(send),
            receive: Box::new(receive),
            next: 0,
            diagnostics: HashMap::new(),
            asked: Vec::new(),
            root,
            texts: HashMap::new(),
        };
        let uri = client.uri("");
        let params = json!({"capabilities": capabilities, "workspaceFolders": [{"uri": uri, "name": "w"}]});
        let result = client.request("initialize", params);
        assert_eq!(result["serverInfo"]["name"], "adl");
        client.notify("initialized", json!({}));
        client
    }

    pub fn uri(&self, name: &str) -> String {
        format!("file://{}", self.root.join(name).display()).trim_end_matches('/').to_owned()
    }

    pub fn notify(&mut self, method: &str, params: Json) {
        (self.send)(Message::Notification(Notification::new(method.to_owned(), params)));
    }

    /// Sends a request without waiting for its answer.
    pub fn post(&mut self, method: &str, params: Json) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        (self.send)(Message::Request(Request::new(id.clone(), method.to_owned(), params)));
        id
    }

    /// The answer to a request: its result, or its error.
    pub fn answer(&mut self, id: &RequestId) -> Result<Json, Json> {
        loop {
            match (self.receive)() {
                Message::Response(r) if r.id == *id => {
                    let r = serde_json::to_value(r).unwrap();
                    return if r["error"].is_null() { Ok(r["result"].clone()) } else { Err(r["error"].clone()) };
                }
                Message::Response(r) => panic!("an answer that was not asked for: {r:?}"),
                Message::Notification(n) => self.told(n),
                Message::Request(r) => self.asked.push((r.method, r.params)),
            }
        }
    }

    fn told(&mut self, n: Notification) {
        if n.method == "textDocument/publishDiagnostics" {
            let uri = n.params["uri"].as_str().unwrap().to_owned();
            self.diagnostics.insert(uri, n.params["diagnostics"].as_array().unwrap().clone());
        }
    }

    pub fn request(&mut self, method: &str, params: Json) -> Json {
        let id = self.post(method, params);
        self.answer(&id).unwrap_or_else(|e| panic!("{method}: {e}"))
    }

    /// Waits for the diagnostics of a text.
    pub fn published(&mut self, name: &str) -> Vec<Json> {
        let uri = self.uri(name);
        loop {
            if let Some(d) = self.diagnostics.remove(&uri) {
                return d;
            }
            match (self.receive)() {
                Message::Notification(n) => self.told(n),
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next errors of a file that hold; those of earlier changes may still be under way.
    pub fn published_if(&mut self, name: &str, holds: impl Fn(&[Json]) -> bool) -> Vec<Json> {
        loop {
            let found = self.published(name);
            if holds(&found) {
                return found;
            }
        }
    }

    /// Writes a file on disk.
    pub fn file(&self, name: &str, text: &str) {
        std::fs::write(self.root.join(name), text).unwrap();
    }

    pub fn open(&mut self, name: &str, text: &str) {
        let uri = self.uri(name);
        self.texts.insert(uri.clone(), (1, text.to_owned()));
        let document = json!({"uri": uri, "languageId": "adl", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Replaces the first occurrence of a part of a text.
    pub fn edit(&mut self, name: &str, part: &str, by: &str) {
        let uri = self.uri(name);
        let (version, text) = self.texts[&uri].clone();
        let at = text.find(part).unwrap();
        let range = json!({"start": position(&text, at), "end": position(&text, at + part.len())});
        self.texts.insert(uri.clone(), (version + 1, text.replacen(part, by, 1)));
        let document = json!({"uri": uri, "version": version + 1});
        let changes = json!([{"range": range, "text": by}]);
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }

    /// The position of the mark `‸` in a pattern that occurs in a text, without the mark.
    pub fn at(&self, name: &str, pattern: &str) -> Json {
        let uri = self.uri(name);
        let text = &self.texts[&uri].1;
        let (before, after) = pattern.split_once('‸').unwrap();
        let at = text.find(&format!("{before}{after}")).unwrap_or_else(|| panic!("{pattern} in {text}"));
        json!({"textDocument": {"uri": uri}, "position": position(text, at + before.len())})
    }

    pub fn of(&self, name: &str) -> Json {
        json!({"textDocument": {"uri": self.uri(name)}})
    }

    pub fn text(&self, name: &str) -> String {
        self.texts[&self.uri(name)].1.clone()
    }

    /// The part of a text in a range.
    pub fn slice(&self, name: &str, range: &Json) -> String {
        let text = self.text(name);
        text[offset(&text, &range["start"])..offset(&text, &range["end"])].to_owned()
    }

    /// A text after edits.
    pub fn edited(text: &str, edits: &Json) -> String {
        let mut edits: Vec<(usize, usize, String)> = edits
            .as_array()
            .unwrap()
            .iter()
            .map(|e| {
                let (lo, hi) = (offset(text, &e["range"]["start"]), offset(text, &e["range"]["end"]));
                (lo, hi, e["newText"].as_str().unwrap().to_owned())
            })
            .collect();
        edits.sort();
        let mut out = text.to_owned();
        for (lo, hi, new) in edits.into_iter().rev() {
            out.replace_range(lo..hi, &new);
        }
        out
    }

    pub fn end(mut self) {
        self.request("shutdown", Json::Null);
        self.notify("exit", Json::Null);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

pub fn position(text: &str, at: usize) -> Json {
    let line = text[..at].matches('\n').count();
    let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
    json!({"line": line, "character": text[start..at].encode_utf16().count()})
}

pub fn offset(text: &str, p: &Json) -> usize {
    let start: usize = text.split_inclusive('\n').take(p["line"].as_u64().unwrap() as usize).map(str::len).sum();
    let mut left = p["character"].as_u64().unwrap() as usize;
    let mut at = start;
    for c in text[start..].chars() {
        if left == 0 {
            break;
        }
        left -= c.len_utf16();
        at += c.len_utf8();
    }
    at
}

/// A client of a server in a thread of this process.
pub fn in_process(name: &str) -> (Client, std::thread::JoinHandle<Result<(), String>>) {
    let (server, client) = lsp_server::Connection::memory();
    let thread =
        std::thread::Builder::new().stack_size(16 << 20).spawn(move || adl_lsp::serve(server, vec!["adl".to_owned()]));
    let (sender, receiver) = (client.sender, client.receiver);
    let send = move |m| sender.send(m).unwrap();
    (Client::new(name, send, move || receiver.recv().unwrap(), json!({})), thread.unwrap())
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|p| p.join("docs/ARCHITECTURE.md").exists())
        .unwrap()
        .to_owned()
}
