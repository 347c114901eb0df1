//! The hierarchy of calls: which definitions use a function, and which functions it uses.

use crate::files;
use crate::meaning::Definition;
use crate::server::Server;
use crate::source_text::Text;
use adl_syntax::ast::{Item, ItemKind, Program};
use adl_syntax::names::{Meaning, NameKind, Occurrence};
use adl_syntax::span::Span;
use lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyIncomingCallsParams, CallHierarchyItem, CallHierarchyOutgoingCall,
    CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams, SymbolKind, TextDocumentIdentifier,
    TextDocumentPositionParams, Uri,
};
use std::rc::Rc;

/// A top-level item around a place.
struct Enclosing {
    name: String,
    whole: Span,
    at: Span,
}

/// `textDocument/prepareCallHierarchy`.
pub fn prepare(server: &mut Server, params: CallHierarchyPrepareParams) -> Result<Vec<CallHierarchyItem>, String> {
    let Some((o, Some(d))) = server.named(&params.text_document_position_params)? else { return Ok(Vec::new()) };
    if o.kind != NameKind::Value || !d.exported {
        return Ok(Vec::new());
    }
    Ok(server.hierarchy_item(&d).into_iter().collect())
}

impl Server {
    fn hierarchy_item(&mut self, d: &Definition) -> Option<CallHierarchyItem> {
        let (text, program) = self.text_and_program(&d.uri)?;
        let around = enclosing(&program, &text, d.span.lo)?;
        Some(item(&d.uri, &text, &Enclosing { name: d.name.to_string(), at: d.span, ..around }))
    }

    fn text_and_program(&mut self, uri: &Uri) -> Option<(Text, Rc<Program>)> {
        if let Some(d) = self.document(uri) {
            return Some((d.text.clone(), Rc::new(Program { items: d.items().to_vec() })));
        }
        let source = self.source(&files::path_of(uri)?)?;
        Some((source.text, source.program))
    }

    /// The definition that an item of the hierarchy stands for.
    fn definition_at(&mut self, item: &CallHierarchyItem) -> Option<Definition> {
        if self.documents.all.contains_key(item.uri.as_str()) {
            let at = TextDocumentPositionParams {
                text_document: TextDocumentIdentifier { uri: item.uri.clone() },
                position: item.selection_range.start,
            };
            return self.named(&at).ok()??.1;
        }
        let (text, names) = self.text_and_names(&item.uri)?;
        let at = text.offset(item.selection_range.start) as u32;
        let o = names.at(at).find(|o| o.binder.is_some())?;
        Some(Definition { name: o.name, kind: o.kind, uri: item.uri.clone(), span: o.span, exported: true })
    }
}

fn item(uri: &Uri, text: &Text, e: &Enclosing) -> CallHierarchyItem {
    CallHierarchyItem {
        name: e.name.clone(),
        kind: SymbolKind::FUNCTION,
        tags: None,
        detail: None,
        uri: uri.clone(),
        range: text.range(e.whole),
        selection_range: text.range(e.at),
        data: None,
    }
}

/// The item of a text that contains a byte.
fn enclosing(program: &Program, text: &Text, pos: u32) -> Option<Enclosing> {
    let around = |i: &&Item| i.span.lo <= pos && pos <= i.span.hi;
    let item = program.items.iter().find(around)?;
    let (name, at) = match &item.kind {
        ItemKind::Let(group) => {
            let b = group.bindings.iter().find(|b| b.span.lo <= pos && pos <= b.span.hi).or(group.bindings.first())?;
            (text.slice(b.pat.span).to_owned(), b.pat.span)
        }
        ItemKind::Test { name, .. } => (format!("test {name:?}"), item.span),
        ItemKind::Bench { name, .. } => (format!("bench {name:?}"), item.span),
        _ => (format!("line {}", text.position(item.span.lo as usize).line + 1), item.span),
    };
    Some(Enclosing { name, whole: item.span, at })
}

/// `callHierarchy/incomingCalls`.
pub fn incoming(
    server: &mut Server,
    params: CallHierarchyIncomingCallsParams,
) -> Result<Vec<CallHierarchyIncomingCall>, String> {
    let Some(d) = server.definition_at(&params.item) else { return Ok(Vec::new()) };
    let mut out: Vec<CallHierarchyIncomingCall> = Vec::new();
    for (uri, text, places) in server.places_of(&d) {
        let Some((_, program)) = server.text_and_program(&uri) else { continue };
        for o in places.iter().filter(|o| o.binder.is_none()) {
            let Some(around) = enclosing(&program, &text, o.span.lo) else { continue };
            let (from, range) = (item(&uri, &text, &around), text.range(o.span));
            match out.iter_mut().find(|c| c.from == from) {
                Some(c) => c.from_ranges.push(range),
                None => out.push(CallHierarchyIncomingCall { from, from_ranges: vec![range] }),
            }
        }
    }
    Ok(out)
}

/// `callHierarchy/outgoingCalls`: the top-level values that a definition names.
pub fn outgoing(
    server: &mut Server,
    params: CallHierarchyOutgoingCallsParams,
) -> Result<Vec<CallHierarchyOutgoingCall>, String> {
    let uri = params.item.uri;
    let Some((text, names)) = server.text_and_names(&uri) else { return Ok(Vec::new()) };
    let range = text.offset(params.item.range.start) as u32..text.offset(params.item.range.end) as u32;
    let called = |o: &&Occurrence| o.kind == NameKind::Value && o.binder.is_none() && range.contains(&o.span.lo);
    let uses: Vec<Occurrence> = names.all.iter().filter(called).copied().collect();
    let mut out: Vec<CallHierarchyOutgoingCall> = Vec::new();
    for o in uses {
        let local = matches!(o.meaning, Meaning::Here(s) if !names.exports.values().any(|e| *e == s));
        let definition = if local { None } else { server.definition_of(uri.as_str(), &o) };
        let Some(to) = definition.and_then(|d| server.hierarchy_item(&d)) else { continue };
        let range = text.range(o.span);
        match out.iter_mut().find(|c| c.to == to) {
            Some(c) => c.from_ranges.push(range),
            None => out.push(CallHierarchyOutgoingCall { to, from_ranges: vec![range] }),
        }
    }
    Ok(out)
}
