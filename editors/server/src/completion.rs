//! Completion: names in scope with their types, members, fields, types, modules, paths.

use crate::context::{Cursor, Expected};
use crate::documents::is_module;
use crate::server::Server;
use adl_session::complete::Completion;
use adl_syntax::symbol::Symbol;
use adl_typing::ty::Ty;
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionParams, CompletionResponse, CompletionTextEdit, Documentation,
    MarkupContent, MarkupKind, Range, TextEdit, Uri,
};
use serde_json::json;
use std::path::Path;

/// Types that have no declaration.
const TYPES: [&str; 5] = ["Bool", "F32", "Float", "Int", "String"];
/// Words that begin an item or an expression.
const WORDS: [&str; 13] =
    ["let", "type", "import", "test", "bench", "fun", "lin", "if", "match", "for", "loop", "true", "false"];

/// A candidate, with the group that it is sorted into.
struct Candidate {
    text: String,
    ty: String,
    doc: String,
    group: u8,
}

impl Candidate {
    fn new(text: impl Into<String>, ty: impl Into<String>, group: u8) -> Candidate {
        Candidate { text: text.into(), ty: ty.into(), doc: String::new(), group }
    }

    fn of(c: Completion) -> Candidate {
        let group = if c.ty == "keyword" {
            4
        } else if c.own {
            1
        } else {
            2
        };
        Candidate { text: c.text, ty: c.ty, doc: c.doc, group }
    }
}

/// `textDocument/completion`.
pub fn completion(server: &mut Server, params: CompletionParams) -> Result<CompletionResponse, String> {
    let (uri, at) = server.place(&params.text_document_position)?;
    let Some(document) = server.documents.all.get(uri.as_str()) else {
        return Ok(CompletionResponse::Array(Vec::new()));
    };
    let cursor = Cursor::new(document, at);
    let (mut start, mut found) = (cursor.start, Vec::new());
    match cursor.expected() {
        Expected::Nothing => {}
        Expected::Path(written) => {
            start = at - written.rsplit('/').next().unwrap_or("").len();
            let dir = document.path.as_ref().and_then(|p| p.parent()).map(Path::to_owned);
            found = dir.map_or_else(Vec::new, |dir| paths(&dir, &written));
        }
        Expected::Module => found.extend(adl_std::MODULES.iter().map(|(n, _)| Candidate::new(*n, "module", 2))),
        Expected::Type | Expected::Anything if cursor.prefix.contains('.') => {
            start = at - cursor.prefix.rsplit('.').next().unwrap_or("").len();
            found = members(server, &uri, &cursor);
        }
        Expected::Type => found = types(server, &uri, &cursor),
        Expected::Anything => found = names(server, &uri, &cursor),
    }
    let Some(d) = server.documents.all.get(uri.as_str()) else { return Ok(CompletionResponse::Array(Vec::new())) };
    let range = d.text.range_of(start..at);
    let path = cursor.prefix.rsplit_once('.').map_or("", |(path, _)| path).to_owned();
    Ok(CompletionResponse::Array(found.into_iter().map(|c| item(c, range, &uri, at, &path)).collect()))
}

fn item(c: Candidate, range: Range, uri: &Uri, at: usize, path: &str) -> CompletionItem {
    let name = if path.is_empty() { c.text.clone() } else { format!("{path}.{}", c.text) };
    CompletionItem {
        kind: Some(kind(&c)),
        sort_text: Some(format!("{}{}", c.group, c.text)),
        documentation: (!c.doc.is_empty()).then(|| Documentation::String(c.doc.clone())),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: c.text.clone() })),
        data: Some(json!({"uri": uri.as_str(), "name": name, "at": at})),
        label: c.text,
        detail: (!c.ty.is_empty()).then_some(c.ty),
        ..CompletionItem::default()
    }
}

fn kind(c: &Candidate) -> CompletionItemKind {
    match c.ty.as_str() {
        "module" => CompletionItemKind::MODULE,
        "type" => CompletionItemKind::CLASS,
        "keyword" => CompletionItemKind::KEYWORD,
        "file" => CompletionItemKind::FILE,
        _ if c.text.starts_with(char::is_uppercase) => CompletionItemKind::ENUM_MEMBER,
        t if t.contains("->") || t.contains("-o") => CompletionItemKind::FUNCTION,
        _ if c.group == 3 => CompletionItemKind::FIELD,
        _ => CompletionItemKind::VARIABLE,
    }
}

/// Names of the library and of the text, and the local ones.
fn names(server: &mut Server, uri: &Uri, cursor: &Cursor) -> Vec<Candidate> {
    let locals = cursor.locals(server, uri.as_str());
    let mut out: Vec<Candidate> = locals.into_iter().map(|(n, ty)| Candidate::new(n.as_str(), ty, 0)).collect();
    let known = in_scope(server, uri, cursor, &cursor.prefix);
    for c in known {
        if !out.iter().any(|o| o.text == c.text) {
            let text = c.text.trim_end_matches('.').to_owned();
            out.push(Candidate { text, ..Candidate::of(c) });
        }
    }
    out.extend(WORDS.iter().filter(|_| cursor.prefix.is_empty()).map(|w| Candidate::new(*w, "keyword", 4)));
    out.retain(|c| c.text.starts_with(&cursor.prefix));
    out
}

/// What the session knows at the cursor.
fn in_scope(server: &mut Server, uri: &Uri, cursor: &Cursor, prefix: &str) -> Vec<Completion> {
    let base = server.documents.scope_before(uri.as_str(), &mut server.session);
    let Some(d) = server.documents.all.get(uri.as_str()) else { return Vec::new() };
    let scope = d.scope_at(cursor.start, &base);
    server.session.in_scope(&scope, |s| s.complete(prefix))
}

fn types(server: &mut Server, uri: &Uri, cursor: &Cursor) -> Vec<Candidate> {
    let built_in = TYPES.iter().map(|t| Candidate::new(*t, "type", 2));
    let known = in_scope(server, uri, cursor, &cursor.prefix).into_iter();
    let known = known.filter(|c| c.ty == "type" || c.ty == "module").map(|c| {
        let text = c.text.trim_end_matches('.').to_owned();
        Candidate { text, ..Candidate::of(c) }
    });
    let mut out: Vec<Candidate> = built_in.chain(known).filter(|c| c.text.starts_with(&cursor.prefix)).collect();
    out.dedup_by(|a, b| a.text == b.text);
    out
}

/// Members of a module, or fields of an expression.
fn members(server: &mut Server, uri: &Uri, cursor: &Cursor) -> Vec<Candidate> {
    let (path, member) = cursor.prefix.rsplit_once('.').unwrap_or(("", ""));
    let module = Symbol::new(path);
    let imported = server.documents.all.get(uri.as_str()).is_some_and(|d| d.import(module).is_some());
    let mut hidden = || cursor.locals(server, uri.as_str()).iter().any(|(n, _)| *n == module);
    if imported || is_module(module) && !hidden() {
        let found = in_scope(server, uri, cursor, &cursor.prefix);
        let own = |c: Completion| Candidate { text: c.text[path.len() + 1..].to_owned(), ..Candidate::of(c) };
        return found.into_iter().filter(|c| c.text.len() > path.len()).map(own).collect();
    }
    let Some(ty) = cursor.behind(server, uri.as_str()) else { return Vec::new() };
    let mut out = Vec::new();
    fields(&ty, &mut out);
    out.retain(|c| c.text.starts_with(member));
    out
}

/// The fields of a record, or of the records in an array.
fn fields(ty: &Ty, out: &mut Vec<Candidate>) {
    match ty {
        Ty::Record(r) => {
            out.extend(r.fields.iter().map(|(n, t)| Candidate::new(n.as_str(), adl_typing::print::ty(t), 3)));
        }
        Ty::Array(_, e) => match &**e {
            Ty::Array(..) => out.push(Candidate::new("T", "the transpose", 3)),
            e => fields(e, out),
        },
        _ => {}
    }
}

/// Files and directories that continue a path.
fn paths(dir: &Path, written: &str) -> Vec<Candidate> {
    let (below, begun) = written.rsplit_once('/').unwrap_or(("", written));
    let Ok(entries) = std::fs::read_dir(dir.join(below)) else { return Vec::new() };
    let names = entries.flatten().filter_map(|e| {
        let name = e.file_name().to_string_lossy().into_owned();
        let hidden = name.starts_with('.') && !begun.starts_with('.');
        let name = if e.path().is_dir() { format!("{name}/") } else { name };
        (name.starts_with(begun) && !hidden).then(|| Candidate::new(name, "file", 3))
    });
    let mut out: Vec<Candidate> = names.collect();
    out.sort_by(|a, b| a.text.cmp(&b.text));
    out
}

/// `completionItem/resolve`: the whole documentation.
pub fn resolve(server: &mut Server, mut item: CompletionItem) -> Result<CompletionItem, String> {
    let data = item.data.clone().unwrap_or_default();
    let (Some(uri), Some(name)) = (data["uri"].as_str(), data["name"].as_str()) else { return Ok(item) };
    let Some(uri) = server.documents.all.get(uri).map(|d| d.uri.clone()) else { return Ok(item) };
    let at = data["at"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    if let Some(value) = crate::hover::documented(server, &uri, at, name) {
        item.documentation = Some(Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value }));
    }
    Ok(item)
}
