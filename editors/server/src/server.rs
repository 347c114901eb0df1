//! The session behind an editor: its state, the loop over messages, and which function answers which request.

use crate::commands::Adl;
use crate::documents::Documents;
use crate::files::{self, Files};
use crate::inbox::Inbox;
use crate::meaning::Source;
use crate::source_text::Encoding;
use crate::{
    actions, calls, commands, completion, definitions, hints, hover, lenses, outline, rename, signature, tokens, views,
};
use adl_interp::fault;
use adl_session::Session;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::{InitializeParams, NotebookCell, NotebookDocumentChangeEvent, PositionEncodingKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::PathBuf;

/// After this many definitions the session is replaced by a new one, so that its tables do not fill memory.
const MANY_DEFINITIONS: u32 = 200_000;

/// An answer, or why there is none.
pub type Answer = Result<Json, String>;

/// The state of the server.
pub struct Server {
    /// Checks texts, and knows the library.
    pub session: Session,
    /// The open texts.
    pub documents: Documents,
    /// Files that were read, by path.
    pub sources: HashMap<PathBuf, Source>,
    /// What commands have found out about functions.
    pub figures: lenses::Figures,
    /// The texts that commands have shown.
    pub views: views::Views,
    /// How the command line is started.
    pub adl: Adl,
    /// What the editor can do.
    pub client: lsp_types::ClientCapabilities,
    connection: Connection,
    requests: i32,
}

/// Serves an editor until it ends the session.
///
/// # Errors
/// Why the connection broke.
pub fn serve(connection: Connection, adl: Adl) -> Result<(), String> {
    let (id, params) = connection.initialize_start().map_err(|e| e.to_string())?;
    let params: InitializeParams = serde_json::from_value(params).map_err(|e| e.to_string())?;
    let encoding = encoding(&params);
    let info = serde_json::json!({"name": "adl", "version": env!("CARGO_PKG_VERSION")});
    let result = serde_json::json!({"capabilities": crate::outline::capabilities(encoding), "serverInfo": info});
    connection.initialize_finish(id, result).map_err(|e| e.to_string())?;
    let receiver = connection.receiver.clone();
    let mut server = Server::new(connection, adl, root(&params), encoding, params.capabilities);
    let inbox = Inbox::new(receiver.into_iter(), server.session.interrupt());
    server.run(&inbox)
}

fn encoding(params: &InitializeParams) -> Encoding {
    let known = params.capabilities.general.as_ref().and_then(|g| g.position_encodings.as_ref());
    match known.is_some_and(|all| all.contains(&PositionEncodingKind::UTF8)) {
        true => Encoding::Utf8,
        false => Encoding::Utf16,
    }
}

/// The directory that the editor has opened.
fn root(params: &InitializeParams) -> PathBuf {
    let folder = params.workspace_folders.iter().flatten().find_map(|f| files::path_of(&f.uri));
    #[allow(deprecated, reason = "older editors send nothing else")]
    let root = || params.root_uri.as_ref().and_then(files::path_of);
    folder.or_else(root).or_else(|| std::env::current_dir().ok()).unwrap_or_default()
}

impl Server {
    fn new(
        connection: Connection,
        adl: Adl,
        root: PathBuf,
        encoding: Encoding,
        client: lsp_types::ClientCapabilities,
    ) -> Server {
        let buffers = files::Buffers::default();
        let files = Files { root: root.clone(), buffers: buffers.clone() };
        Server {
            session: Session::new(Box::new(files)),
            documents: Documents::new(root, buffers, encoding),
            sources: HashMap::new(),
            figures: lenses::Figures::default(),
            views: views::Views::default(),
            adl,
            client,
            connection,
            requests: 0,
        }
    }

    fn run(&mut self, inbox: &Inbox) -> Result<(), String> {
        loop {
            let message = match inbox.next(false) {
                Some(m) => m,
                None => {
                    self.renew();
                    if inbox.between(|| self.publish_one()).0 {
                        continue;
                    }
                    let Some(m) = inbox.next(true) else { return Ok(()) };
                    m
                }
            };
            match message {
                // `exit` follows.
                Message::Request(r) if r.method == "shutdown" => {
                    self.send(Message::Response(Response::new_ok(r.id, ())));
                }
                Message::Request(r) => self.request(r, inbox),
                Message::Notification(n) if n.method == "exit" => return Ok(()),
                Message::Notification(n) => {
                    // A notification that is not understood is not answered either.
                    let _ = fault::catch(|| self.notification(n));
                }
                Message::Response(_) => {}
            }
        }
    }

    /// Replaces a session that has grown. All texts are checked again.
    fn renew(&mut self) {
        if self.session.checked_definitions() < MANY_DEFINITIONS {
            return;
        }
        let files = Files { root: self.documents.root.clone(), buffers: self.documents.buffers.clone() };
        let mut session = Session::new(Box::new(files));
        session.share_signals(self.session.interrupt(), self.session.tick());
        self.session = session;
        self.documents.forget();
    }

    fn request(&mut self, request: Request, inbox: &Inbox) {
        if inbox.is_cancelled(&request.id) {
            let response = Response::new_err(request.id, ErrorCode::RequestCanceled as i32, "cancelled".to_owned());
            return self.send(Message::Response(response));
        }
        if request.method == "workspace/executeCommand" {
            return self.start(request, inbox);
        }
        let id = request.id.clone();
        let (answer, interrupted) =
            inbox.answering(&id, || fault::catch(|| self.answer(&request.method, request.params)));
        let response = match answer {
            _ if interrupted => Response::new_err(id, ErrorCode::RequestCanceled as i32, "cancelled".to_owned()),
            Ok(Some(Ok(json))) => Response::new_ok(id, json),
            Ok(Some(Err(why))) => Response::new_err(id, ErrorCode::RequestFailed as i32, why),
            Ok(None) => Response::new_err(id, ErrorCode::MethodNotFound as i32, request.method),
            Err(fault) => Response::new_err(id, ErrorCode::InternalError as i32, fault.error().diag.message),
        };
        self.send(Message::Response(response));
    }

    /// Starts a command. It is answered when it has ended; meanwhile other requests are.
    fn start(&mut self, request: Request, inbox: &Inbox) {
        let params = serde_json::from_value(request.params).map_err(|e| e.to_string());
        let job = fault::catch(|| params.and_then(|p| commands::job(self, &p)));
        let job = match job.unwrap_or_else(|fault| Err(fault.error().diag.message)) {
            Ok(job) => job,
            Err(why) => {
                return self.send(Message::Response(Response::new_err(
                    request.id,
                    ErrorCode::RequestFailed as i32,
                    why,
                )));
            }
        };
        let (sender, inbox) = (self.connection.sender.clone(), inbox.clone());
        let shows = self.client.window.as_ref().and_then(|w| w.show_document.as_ref()).is_some_and(|s| s.support);
        std::thread::spawn(move || {
            let done = job.run().and_then(|(ran, then)| then.finish(&ran, shows));
            let response = match done {
                Ok((answer, more)) => {
                    for m in more {
                        // What concerns the server goes through its own inbox.
                        if matches!(&m, Message::Notification(_)) { inbox.put(m) } else { drop(sender.send(m)) }
                    }
                    Response::new_ok(request.id, answer)
                }
                Err(why) => Response::new_err(request.id, ErrorCode::RequestFailed as i32, why),
            };
            let _ = sender.send(Message::Response(response));
        });
    }

    /// The answer to a request; `None` if there is no such request.
    fn answer(&mut self, method: &str, params: Json) -> Option<Answer> {
        if let Some(view) = self.views.of(&params) {
            return Some(Ok(view.answer(method, &params)));
        }
        Some(match method {
            "textDocument/hover" => self.by(params, hover::hover),
            "textDocument/completion" => self.by(params, completion::completion),
            "completionItem/resolve" => self.by(params, completion::resolve),
            "textDocument/signatureHelp" => self.by(params, signature::signature_help),
            "textDocument/definition" => self.by(params, definitions::definition),
            "textDocument/declaration" => self.by(params, definitions::definition),
            "textDocument/typeDefinition" => self.by(params, definitions::type_definition),
            "textDocument/references" => self.by(params, definitions::references),
            "textDocument/documentHighlight" => self.by(params, definitions::highlights),
            "textDocument/prepareRename" => self.by(params, rename::prepare),
            "textDocument/rename" => self.by(params, rename::rename),
            "textDocument/documentSymbol" => self.by(params, outline::symbols),
            "workspace/symbol" => self.by(params, outline::workspace_symbols),
            "textDocument/foldingRange" => self.by(params, outline::folding),
            "textDocument/selectionRange" => self.by(params, outline::selection),
            "textDocument/documentLink" => self.by(params, outline::links),
            "textDocument/formatting" => self.by(params, actions::formatting),
            "textDocument/codeAction" => self.by(params, actions::code_actions),
            "textDocument/semanticTokens/full" => self.by(params, tokens::full),
            "textDocument/semanticTokens/full/delta" => self.by(params, tokens::delta),
            "textDocument/semanticTokens/range" => self.by(params, tokens::range),
            "textDocument/inlayHint" => self.by(params, hints::inlay_hints),
            "textDocument/codeLens" => self.by(params, lenses::lenses),
            "textDocument/prepareCallHierarchy" => self.by(params, calls::prepare),
            "callHierarchy/incomingCalls" => self.by(params, calls::incoming),
            "callHierarchy/outgoingCalls" => self.by(params, calls::outgoing),
            "textDocument/diagnostic" => self.by(params, crate::diagnostics::pull),
            _ => return None,
        })
    }

    fn by<P: DeserializeOwned, R: Serialize>(
        &mut self,
        params: Json,
        f: impl FnOnce(&mut Server, P) -> Result<R, String>,
    ) -> Answer {
        let params = serde_json::from_value(params).map_err(|e| format!("unexpected parameters: {e}"))?;
        serde_json::to_value(f(self, params)?).map_err(|e| e.to_string())
    }

    fn notification(&mut self, notification: Notification) -> Option<()> {
        use lsp_types as t;
        match notification.method.as_str() {
            "textDocument/didOpen" => {
                if self.views.of(&notification.params).is_some() {
                    return None;
                }
                let p: t::DidOpenTextDocumentParams = serde_json::from_value(notification.params).ok()?;
                self.documents.open(p.text_document.uri, p.text_document.version, p.text_document.text);
                self.session.forget_changed_imports();
            }
            "textDocument/didChange" => {
                let p: t::DidChangeTextDocumentParams = serde_json::from_value(notification.params).ok()?;
                self.documents.change(p.text_document.uri.as_str(), p.text_document.version, p.content_changes);
                self.session.forget_changed_imports();
            }
            "textDocument/didClose" => {
                let p: t::DidCloseTextDocumentParams = serde_json::from_value(notification.params).ok()?;
                self.documents.close(p.text_document.uri.as_str());
                self.clear_diagnostics(p.text_document.uri);
            }
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.session.forget_changed_imports();
                self.documents.touch_all();
            }
            "adl/figure" => {
                let text = |name: &str| notification.params[name].as_str().map(str::to_owned);
                self.figures.insert((text("uri")?, text("name")?), (text("of")?, text("figure")?));
                self.ask("workspace/codeLens/refresh", Json::Null);
            }
            "adl/view" => self.views.add(&notification.params)?,
            "notebookDocument/didOpen" | "notebookDocument/didChange" | "notebookDocument/didClose" => {
                return self.notebook(&notification.method, notification.params);
            }
            _ => {}
        }
        Some(())
    }

    /// What concerns a notebook.
    fn notebook(&mut self, method: &str, params: Json) -> Option<()> {
        use lsp_types as t;
        match method {
            "notebookDocument/didOpen" => {
                let p: t::DidOpenNotebookDocumentParams = serde_json::from_value(params).ok()?;
                let uri = p.notebook_document.uri.as_str().to_owned();
                let cells = p.notebook_document.cells.iter().map(address).collect();
                self.documents.notebooks.insert(uri, cells);
                p.cell_text_documents.into_iter().for_each(|d| self.documents.open(d.uri, d.version, d.text));
            }
            "notebookDocument/didChange" => {
                let p: t::DidChangeNotebookDocumentParams = serde_json::from_value(params).ok()?;
                self.notebook_changed(p.notebook_document.uri.as_str(), p.change);
            }
            _ => {
                let p: t::DidCloseNotebookDocumentParams = serde_json::from_value(params).ok()?;
                self.documents.notebooks.remove(p.notebook_document.uri.as_str());
                for cell in p.cell_text_documents {
                    self.documents.close(cell.uri.as_str());
                    self.clear_diagnostics(cell.uri);
                }
            }
        }
        Some(())
    }

    fn notebook_changed(&mut self, uri: &str, change: NotebookDocumentChangeEvent) {
        let Some(cells) = change.cells else { return };
        if let Some(structure) = cells.structure {
            let array = structure.array;
            if let Some(known) = self.documents.notebooks.get_mut(uri) {
                let from = (array.start as usize).min(known.len());
                let to = (from + array.delete_count as usize).min(known.len());
                known.splice(from..to, array.cells.iter().flatten().map(address));
            }
            for d in structure.did_open.into_iter().flatten() {
                self.documents.open(d.uri, d.version, d.text);
            }
            for d in structure.did_close.into_iter().flatten() {
                self.documents.close(d.uri.as_str());
                self.clear_diagnostics(d.uri);
            }
            self.documents.touch_all();
        }
        for t in cells.text_content.into_iter().flatten() {
            self.documents.change(t.document.uri.as_str(), t.document.version, t.changes);
        }
    }

    /// Sends a message to the editor. If it is gone, there is nothing more to do.
    pub fn send(&self, message: Message) {
        let _ = self.connection.sender.send(message);
    }

    /// Tells the editor something.
    pub fn notify(&self, method: &str, params: impl Serialize) {
        self.send(Message::Notification(Notification::new(method.to_owned(), params)));
    }

    /// Asks the editor to do something; its answer is not waited for.
    pub fn ask(&mut self, method: &str, params: impl Serialize) {
        self.requests += 1;
        let id = lsp_server::RequestId::from(format!("adl-{}", self.requests));
        self.send(Message::Request(Request::new(id, method.to_owned(), params)));
    }
}

fn address(cell: &NotebookCell) -> String {
    cell.document.as_str().to_owned()
}
