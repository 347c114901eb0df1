//! Answers requests immediately, even while a cell runs: completion, inspection, completeness, history, the panel of
//! variables, kernel info.

use crate::cells::contained;
use crate::history::History;
use crate::outbox::{Outbox, Request};
use crate::snapshot::{Name, Snapshot};
use crate::suggest::{CommandName, candidates, in_name};
use crate::variables::VariableInspector;
use crate::wire::{Message, PROTOCOL};
use adl_interp::fault;
use adl_session::Session;
use adl_session::complete::Completion;
use adl_syntax::Completeness;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Data that the evaluator leaves for the desk.
#[derive(Default)]
pub struct SharedState {
    /// The names defined after the last cell.
    pub snapshot: Snapshot,
    /// The cells that ran.
    pub history: History,
    /// Open comms: their targets by id.
    pub comms: BTreeMap<String, String>,
    /// The request of the running cell.
    pub running: Option<Json>,
}

/// The data shared by both threads.
pub type SharedHandle = Arc<Mutex<SharedState>>;

/// Locks the shared data, even if the other thread has panicked.
pub fn lock(common: &SharedHandle) -> MutexGuard<'_, SharedState> {
    common.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The responder.
pub struct Responder {
    common: SharedHandle,
    out: Outbox,
    commands: Vec<CommandName>,
    /// A session that has the library loaded but never runs a cell; created on first use.
    library: Option<Session>,
    /// The version of the names that it knows.
    version: u64,
    world: fn() -> Box<dyn adl_interp::host::Host>,
    variables: VariableInspector,
}

impl Responder {
    /// Creates the responder.
    pub fn new(
        common: SharedHandle,
        out: Outbox,
        commands: Vec<CommandName>,
        world: fn() -> Box<dyn adl_interp::host::Host>,
    ) -> Responder {
        Responder { common, out, commands, library: None, version: 0, world, variables: VariableInspector::default() }
    }

    /// Answers until the requests end.
    pub fn serve(mut self, requests: &std::sync::mpsc::Receiver<Request>) {
        for request in requests {
            let answer = contained(|| self.answer(&request.message)).unwrap_or_else(|f| {
                // The panic may have left it in the middle of a change.
                (self.library, self.version) = (None, 0);
                let mut content = f.content();
                content["status"] = json!("error");
                Some(content)
            });
            let Some(content) = answer else { continue };
            self.out.status(&request.message.header, "busy");
            self.out.reply(&request, &request.message.kind().replace("_request", "_reply"), content);
            self.out.status(&request.message.header, "idle");
            // Front ends take the latest status for that of the kernel, so `busy` is repeated.
            if let Some(parent) = lock(&self.common).running.clone() {
                self.out.status(&parent, "busy");
            }
        }
    }

    fn answer(&mut self, m: &Message) -> Option<Json> {
        fault::point(fault::PanicPoint::Answer);
        Some(match m.kind() {
            "kernel_info_request" => info(),
            "complete_request" => self.complete(m),
            "inspect_request" => self.inspect(m),
            "is_complete_request" => is_complete(m.text("code")),
            "history_request" => lock(&self.common).history.reply(&m.content),
            "comm_info_request" => self.comms(m.content["target_name"].as_str()),
            "debug_request" => self.debug(m),
            "connect_request" => json!({"status": "ok"}),
            _ => return None,
        })
    }

    fn library(&mut self) -> &mut Session {
        let world = self.world;
        self.library.get_or_insert_with(|| Session::new(world()))
    }

    fn comms(&self, target: Option<&str>) -> Json {
        let shared = lock(&self.common);
        let fits = shared.comms.iter().filter(|(_, t)| target.is_none_or(|want| want == t.as_str()));
        let comms: Map<String, Json> = fits.map(|(id, t)| (id.clone(), json!({"target_name": t}))).collect();
        json!({"status": "ok", "comms": comms})
    }

    /// A session without values, in which the names of the last cell have their types.
    fn typed(&mut self) -> &mut Session {
        let (version, own) = {
            let shared = lock(&self.common);
            (shared.snapshot.version, shared.snapshot.complete("").unwrap_or_default())
        };
        if std::mem::replace(&mut self.version, version) != version {
            self.library().assume(own.iter());
        }
        self.library()
    }

    /// Names of the user and of the library.
    fn names(&mut self, prefix: &str) -> Vec<Completion> {
        let own = lock(&self.common).snapshot.complete(prefix);
        let own_module = prefix.contains('.') && own.is_some();
        let mut out = own.unwrap_or_default();
        if !own_module {
            let more = self.typed().complete(prefix);
            out.extend(more);
        }
        // Of two of one name the user's hides the library's.
        out.sort_by(|a, b| (&a.text, !a.own).cmp(&(&b.text, !b.own)));
        out.dedup_by(|a, b| a.text == b.text && (a.ty == "type") == (b.ty == "type"));
        out
    }

    /// The panel of variables.
    fn debug(&mut self, m: &Message) -> Json {
        let names = lock(&self.common).snapshot.clone();
        let mut variables = std::mem::take(&mut self.variables);
        let reply = variables.reply(&m.content, &names, |name| self.describe(name, false));
        self.variables = variables;
        reply
    }

    fn complete(&mut self, m: &Message) -> Json {
        let code = m.text("code");
        let before = &code[..byte_of(code, m.content["cursor_pos"].as_u64())];
        let commands = std::mem::take(&mut self.commands);
        let (start, mut found) = candidates(before, &commands, |p| self.names(p));
        self.commands = commands;
        self.typed().order_by_type(before, start, &mut found);
        let (start, end) = (before[..start].chars().count(), before.chars().count());
        let kinds: Vec<Json> = found
            .iter()
            .map(|c| json!({"text": c.text, "type": kind(c), "signature": c.ty, "start": start, "end": end}))
            .collect();
        let matches: Vec<&str> = found.iter().map(|c| c.text.as_str()).collect();
        json!({"status": "ok", "matches": matches, "cursor_start": start, "cursor_end": end, "metadata": {"_jupyter_types_experimental": kinds}})
    }

    fn inspect(&mut self, m: &Message) -> Json {
        let code = m.text("code");
        let at = byte_of(code, m.content["cursor_pos"].as_u64());
        let detail = m.content["detail_level"].as_u64().unwrap_or(0);
        let found = asked(code, at).into_iter().find_map(|name| self.describe(&name, detail > 0));
        let data = found.map_or_else(
            || json!({}),
            |text| json!({"text/plain": text, "text/html": format!("<pre>{}</pre>", crate::html::escape(&text))}),
        );
        json!({"status": "ok", "found": data != json!({}), "data": data, "metadata": {}})
    }

    /// Documentation, with the source at a higher detail level.
    fn describe(&mut self, name: &str, more: bool) -> Option<String> {
        let own = own(&lock(&self.common).snapshot, name);
        let (doc, source) = match own {
            Some(found) => found,
            None => (self.library().doc(name)?, self.library().source_of(name)),
        };
        Some(match source.filter(|_| more) {
            Some(s) => format!("{doc}\n\n{s}"),
            None => doc,
        })
    }
}

/// Documentation and source of a name of the user, or of its field.
fn own(names: &Snapshot, name: &str) -> Option<(String, Option<String>)> {
    if let Some(Name { ty, doc, source, .. }) = names.get(name) {
        let doc = if doc.is_empty() { format!("{name} : {ty}") } else { doc.clone() };
        return Some((doc, source.clone()));
    }
    let field = names.complete(name)?.into_iter().find(|c| c.text == name)?;
    Some((format!("{name} : {}", field.ty), None))
}

/// The names that a cursor position may refer to, the likeliest first: the name at the cursor, then the applied
/// function.
pub fn asked(code: &str, at: usize) -> Vec<String> {
    let begin = code[..at].char_indices().rev().take_while(|(_, c)| in_name(*c)).last().map_or(at, |(i, _)| i);
    let end = code[at..].char_indices().find(|(_, c)| !in_name(*c)).map_or(code.len(), |(i, _)| at + i);
    let touched = code[begin..end].trim_matches('.');
    let mut out = vec![touched.to_owned()];
    // In `stats.mean` with the cursor in `stats`, the name is `stats`.
    let part = code[at..end].find('.').map_or(touched, |i| code[begin..at + i].trim_matches('.'));
    if part != touched {
        out.insert(0, part.to_owned());
    }
    let line = code[..begin].rsplit('\n').next().unwrap_or("");
    let inner = line.rfind(['(', '[', '=', '|', ';']).map_or(line, |i| line.get(i + 1..).unwrap_or(""));
    out.extend(inner.split(|c: char| !in_name(c)).find(|w| !w.is_empty()).map(str::to_owned));
    out.retain(|w| !w.is_empty());
    out
}

/// The byte offset of a position in Unicode characters; the end if there is none.
pub fn byte_of(code: &str, position: Option<u64>) -> usize {
    let at = position.and_then(|p| usize::try_from(p).ok()).unwrap_or(usize::MAX);
    code.char_indices().nth(at).map_or(code.len(), |(i, _)| i)
}

/// The kind of a completion, as front ends have pictures for.
fn kind(c: &Completion) -> &'static str {
    match c.ty.as_str() {
        "module" => "module",
        "type" => "class",
        "keyword" => "keyword",
        "" => "path",
        t if t.starts_with('\\') => "text",
        _ if c.text.starts_with(char::is_uppercase) => "class",
        t if t.contains("->") || t.contains("-o") => "function",
        _ => "instance",
    }
}

fn is_complete(code: &str) -> Json {
    // A cell with commands runs line by line.
    if code.starts_with(':') && !code.starts_with("::") || crate::suggest::asked(code).is_some() {
        return json!({"status": "complete"});
    }
    match adl_syntax::is_complete(code) {
        Completeness::Complete => json!({"status": "complete"}),
        Completeness::Incomplete(n) => json!({"status": "incomplete", "indent": " ".repeat(n)}),
        Completeness::Invalid => json!({"status": "invalid"}),
    }
}

/// Entries of a front end's Help menu: the papers whose systems adl builds. The book has no public address; `name?` and `:help`
/// show its pages.
const HELP_LINKS: [(&str, &str); 2] = [
    ("You Only Linearize Once: Tangents Transpose to Gradients", "https://doi.org/10.1145/3571236"),
    ("Efficient Dual-Numbers Reverse AD via Well-Known Program Transformations", "https://doi.org/10.1145/3571247"),
];

/// The content of `kernel_info_reply`.
fn info() -> Json {
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "status": "ok",
        "protocol_version": PROTOCOL,
        "implementation": "adl",
        "implementation_version": version,
        "banner": format!("adl {version}: gradients are functions. `:help` lists the commands."),
        "debugger": true,
        "supported_features": ["debugger"],
        "help_links": HELP_LINKS.map(|(text, url)| json!({"text": text, "url": url})),
        "language_info": crate::language_info(),
    })
}
