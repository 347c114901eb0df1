//! The structure of a text: symbols, folding, selection, links; and what the server can do.

use crate::files;
use crate::meaning::Source;
use crate::server::Server;
use crate::source_text::{Encoding, Text};
use adl_syntax::ast::{ImportSource, Item, ItemKind, PatKind, TypeBody};
use adl_syntax::lexer::{Lexed, lex};
use adl_syntax::names::NameKind;
use adl_syntax::span::{FileId, Span};
use adl_syntax::token::Tok;
use lsp_types::{
    DocumentLink, DocumentLinkParams, DocumentSymbol, DocumentSymbolParams, FoldingRange, FoldingRangeKind,
    FoldingRangeParams, Location, SelectionRange, SelectionRangeParams, SymbolInformation, SymbolKind, Uri,
    WorkspaceSymbolParams,
};
use serde_json::{Value as Json, json};

/// What the server can do.
pub fn capabilities(encoding: Encoding) -> Json {
    json!({
        "positionEncoding": if encoding == Encoding::Utf8 { "utf-8" } else { "utf-16" },
        "textDocumentSync": {"openClose": true, "change": 2, "save": true},
        "notebookDocumentSync": {"notebookSelector": [{"notebook": "*", "cells": [{"language": "adl"}]}]},
        "hoverProvider": true,
        "completionProvider": {"triggerCharacters": [".", "\"", "/"], "resolveProvider": true},
        "signatureHelpProvider": {"triggerCharacters": [" "], "retriggerCharacters": [" ", ")"]},
        "definitionProvider": true,
        "declarationProvider": true,
        "typeDefinitionProvider": true,
        "referencesProvider": true,
        "documentHighlightProvider": true,
        "documentSymbolProvider": true,
        "workspaceSymbolProvider": true,
        "renameProvider": {"prepareProvider": true},
        "documentFormattingProvider": true,
        "foldingRangeProvider": true,
        "selectionRangeProvider": true,
        "documentLinkProvider": {},
        "semanticTokensProvider": {
            "legend": crate::tokens::legend(), "full": {"delta": true}, "range": true},
        "inlayHintProvider": true,
        "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor.rewrite", "source.fixAll"]},
        "codeLensProvider": {},
        "callHierarchyProvider": true,
        "diagnosticProvider": {"interFileDependencies": true, "workspaceDiagnostics": false},
        "executeCommandProvider": {"commands": crate::commands::names()},
    })
}

/// `textDocument/documentSymbol`.
pub fn symbols(server: &mut Server, params: DocumentSymbolParams) -> Result<Vec<DocumentSymbol>, String> {
    let d = server.document(&params.text_document.uri).ok_or("this text is not open")?;
    let (text, items) = (&d.text, d.items());
    let mut out = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let places = d.analysis().and_then(|a| a.items.get(at)).map(|i| &i.places);
        let detail = |span: Span| {
            let places = places?;
            let scheme = places.scheme(span).map(adl_typing::print::scheme);
            scheme.or_else(|| places.ty(span).map(|t| places.text(t)))
        };
        out.extend(symbols_of(text, item, &detail));
    }
    Ok(out)
}

#[allow(deprecated, reason = "the type has a field that is deprecated")]
fn symbol(text: &Text, name: String, kind: SymbolKind, whole: Span, at: Span) -> DocumentSymbol {
    DocumentSymbol {
        name,
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range: text.range(whole.to(at)),
        selection_range: text.range(at),
        children: None,
    }
}

fn symbols_of(text: &Text, item: &Item, detail: &dyn Fn(Span) -> Option<String>) -> Vec<DocumentSymbol> {
    let one = |name: &str, kind, at: Span| symbol(text, name.to_owned(), kind, item.span, at);
    match &item.kind {
        ItemKind::Let(group) => {
            let mut out = Vec::new();
            for b in &group.bindings {
                let function = !b.params.is_empty() || matches!(b.body.kind, adl_syntax::ast::ExprKind::Fun(..));
                let kind = if function { SymbolKind::FUNCTION } else { SymbolKind::VARIABLE };
                let mut bound = Vec::new();
                variables(&b.pat, &mut bound);
                let whole = if group.bindings.len() == 1 { item.span } else { b.span };
                out.extend(bound.into_iter().map(|(name, at)| DocumentSymbol {
                    detail: detail(at),
                    ..symbol(text, name.to_string(), kind, whole, at)
                }));
            }
            out
        }
        ItemKind::Types(decls) => decls
            .iter()
            .map(|d| {
                let cons = if let TypeBody::Sum(cons) = &d.body { cons.as_slice() } else { &[] };
                let member = |c: &adl_syntax::ast::ConDecl| {
                    symbol(text, c.name.name.to_string(), SymbolKind::ENUM_MEMBER, c.span, c.name.span)
                };
                let kind = if cons.is_empty() { SymbolKind::STRUCT } else { SymbolKind::ENUM };
                let children = Some(cons.iter().map(member).collect());
                DocumentSymbol { children, ..symbol(text, d.name.name.to_string(), kind, d.span, d.name.span) }
            })
            .collect(),
        ItemKind::Import { alias: Some(a), .. } => vec![one(a.name.as_str(), SymbolKind::MODULE, a.span)],
        ItemKind::Test { name, .. } => vec![one(&format!("test {name:?}"), SymbolKind::EVENT, item.span)],
        ItemKind::Bench { name, .. } => vec![one(&format!("bench {name:?}"), SymbolKind::EVENT, item.span)],
        ItemKind::Import { alias: None, .. } | ItemKind::Expr(_) | ItemKind::Error => Vec::new(),
    }
}

fn variables(p: &adl_syntax::ast::Pat, out: &mut Vec<(adl_syntax::symbol::Symbol, Span)>) {
    match &p.kind {
        PatKind::Var(n) => out.push((*n, p.span)),
        PatKind::As(q, n) => {
            out.push((n.name, n.span));
            variables(q, out);
        }
        PatKind::Tuple(ps) | PatKind::Array(ps) | PatKind::Or(ps) | PatKind::Con(_, _, ps) => {
            ps.iter().for_each(|p| variables(p, out));
        }
        PatKind::Record(fs, _) => fs.iter().for_each(|(_, p)| variables(p, out)),
        PatKind::Ann(q, _) => variables(q, out),
        PatKind::Wild | PatKind::Lit(_) | PatKind::Error => {}
    }
}

/// `workspace/symbol`: names that contain the letters of the query in order.
pub fn workspace_symbols(server: &mut Server, params: WorkspaceSymbolParams) -> Result<Vec<SymbolInformation>, String> {
    /// More symbols are of no use to the reader.
    const MANY: usize = 500;
    let mut out = Vec::new();
    for source in server.workspace() {
        let mut exports: Vec<_> = source.names.exports.iter().collect();
        exports.sort_by_key(|(_, span)| span.lo);
        for ((kind, name), span) in exports.into_iter().filter(|((_, n), _)| contains(n.as_str(), &params.query)) {
            out.extend(information(&source, *kind, name.as_str(), *span));
        }
    }
    out.truncate(MANY);
    Ok(out)
}

#[allow(deprecated, reason = "the type has a field that is deprecated")]
fn information(source: &Source, kind: NameKind, name: &str, span: Span) -> Option<SymbolInformation> {
    let kind = match kind {
        NameKind::Value => SymbolKind::FUNCTION,
        NameKind::Type => SymbolKind::ENUM,
        NameKind::Constructor => SymbolKind::ENUM_MEMBER,
        NameKind::Module | NameKind::TypeVariable | NameKind::Size | NameKind::Field => return None,
    };
    let location: Location = source.location(span);
    Some(SymbolInformation {
        name: name.to_owned(),
        kind,
        tags: None,
        deprecated: None,
        location,
        container_name: None,
    })
}

fn contains(name: &str, query: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    query.chars().flat_map(char::to_lowercase).all(|c| letters.any(|l| l == c))
}

/// `textDocument/foldingRange`: items, brackets, comments.
pub fn folding(server: &mut Server, params: FoldingRangeParams) -> Result<Vec<FoldingRange>, String> {
    let d = server.document(&params.text_document.uri).ok_or("this text is not open")?;
    let text = &d.text;
    let mut out = Vec::new();
    let mut fold = |from: usize, to: usize, kind: Option<FoldingRangeKind>| {
        let (start, end) = (text.position(from).line, text.position(to).line);
        let known = out.iter().any(|f: &FoldingRange| f.start_line == start);
        if end > start && !known {
            out.push(FoldingRange { start_line: start, end_line: end, kind, ..FoldingRange::default() });
        }
    };
    d.items().iter().for_each(|i| fold(i.span.lo as usize, i.span.hi as usize, None));
    let lexed = lex(FileId::default(), &text.text);
    let mut open = Vec::new();
    for t in &lexed.tokens {
        match t.tok {
            Tok::P(p) if p.opens() => open.push(t.lo),
            Tok::P(p) if p.closes() => {
                if let Some(from) = open.pop() {
                    fold(from as usize, t.lo as usize, None);
                }
            }
            _ => {}
        }
    }
    comment_runs(text, &lexed).for_each(|s| fold(s.lo as usize, s.hi as usize, Some(FoldingRangeKind::Comment)));
    Ok(out)
}

/// Comments on lines of their own that follow each other.
fn comment_runs(text: &Text, lexed: &Lexed) -> impl Iterator<Item = Span> {
    let (mut run, mut all): (Option<(Span, u32)>, Vec<Span>) = (None, Vec::new());
    for c in lexed.comments.iter().filter(|c| c.own_line) {
        let line = text.position(c.span.lo as usize).line;
        run = match run {
            Some((first, last)) if line == last + 1 => Some((first.to(c.span), line)),
            before => {
                all.extend(before.map(|(s, _)| s));
                Some((c.span, text.position(c.span.hi as usize).line))
            }
        };
    }
    all.extend(run.map(|(s, _)| s));
    all.into_iter()
}

/// `textDocument/selectionRange`: names, expressions, the item, the text.
pub fn selection(server: &mut Server, params: SelectionRangeParams) -> Result<Vec<SelectionRange>, String> {
    let document = server.document(&params.text_document.uri).ok_or("this text is not open")?;
    let names = document.names();
    let ranges = params.positions.iter().map(|p| {
        let pos = document.text.offset(*p);
        let mut spans: Vec<Span> = names.at(pos as u32).map(|o| o.span).collect();
        if let Some((item, analysed)) = document.item_at(pos).filter(|(i, _)| pos <= i.span.hi as usize) {
            spans.extend(analysed.places.around(pos as u32).into_iter().map(|(s, _)| s));
            spans.push(item.span);
        }
        spans.push(Span { hi: document.text.text.len() as u32, ..Span::default() });
        spans.sort_by_key(|s| s.hi - s.lo);
        let mut out: Option<SelectionRange> = None;
        for s in spans.iter().rev() {
            let range = document.text.range(*s);
            if out.as_ref().is_none_or(|o| o.range != range && o.range.start <= range.start && range.end <= o.range.end)
            {
                out = Some(SelectionRange { range, parent: out.map(Box::new) });
            }
        }
        out.unwrap_or(SelectionRange { range: document.text.range_of(pos..pos), parent: None })
    });
    Ok(ranges.collect())
}

/// The paths of imports, with the files that they name.
pub fn imported_files(server: &Server, uri: &str) -> Vec<(Span, Uri)> {
    let Some(d) = server.documents.all.get(uri) else { return Vec::new() };
    let Some(dir) = d.path.as_ref().and_then(|p| p.parent()) else { return Vec::new() };
    let target = |i: &Item| match &i.kind {
        ItemKind::Import { what: ImportSource::File(file, span), .. } => {
            Some((*span, files::uri_of(&files::plain(&dir.join(file)))?))
        }
        _ => None,
    };
    d.items().iter().filter_map(target).collect()
}

/// `textDocument/documentLink`.
pub fn links(server: &mut Server, params: DocumentLinkParams) -> Result<Vec<DocumentLink>, String> {
    let uri = params.text_document.uri;
    let text = server.document(&uri).ok_or("this text is not open")?.text.clone();
    let links = imported_files(server, uri.as_str()).into_iter();
    Ok(links.map(|(s, t)| DocumentLink { range: text.range(s), target: Some(t), tooltip: None, data: None }).collect())
}
