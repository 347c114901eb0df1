//! What is shown about the name under the mouse: its type here, its documentation, and its derivative.

use crate::server::Server;
use adl_syntax::names::{Binder, Meaning, NameKind, Occurrence};
use adl_syntax::span::Span;
use lsp_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind, Uri};

/// `textDocument/hover`.
pub fn hover(server: &mut Server, params: HoverParams) -> Result<Option<Hover>, String> {
    let (uri, pos) = server.place(&params.text_document_position_params)?;
    let found = match server.occurrence(uri.as_str(), pos) {
        Some(o) => about(server, &uri, pos, &o).map(|text| (text, o.span)),
        None => expression(server, &uri, pos),
    };
    let Some((value, span)) = found else { return Ok(None) };
    let range = server.documents.all.get(uri.as_str()).map(|d| d.text.range(span));
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Ok(Some(Hover { contents, range }))
}

/// The type of the smallest expression around a position: for operators and literals.
fn expression(server: &Server, uri: &Uri, pos: usize) -> Option<(String, Span)> {
    let d = server.documents.all.get(uri.as_str())?;
    let (item, analysed) = d.item_at(pos).filter(|(i, _)| pos <= i.span.hi as usize)?;
    let (span, ty) = *analysed.places.around(pos as u32).first()?;
    // Of a whole definition the name says more.
    let long = span.hi - span.lo == item.span.hi - item.span.lo;
    (!long).then(|| (code(&format!("{} : {}", shortened(d.text.slice(span)), analysed.places.text(ty))), span))
}

fn shortened(text: &str) -> String {
    /// Longer expressions are cut.
    const LONG: usize = 60;
    let line = text.lines().next().unwrap_or("");
    if line.chars().count() > LONG || line.len() < text.len() {
        return line.chars().take(LONG).collect::<String>() + " …";
    }
    line.to_owned()
}

fn code(text: &str) -> String {
    format!("```adl\n{text}\n```")
}

fn about(server: &mut Server, uri: &Uri, pos: usize, occurrence: &Occurrence) -> Option<String> {
    match occurrence.kind {
        NameKind::Value => value(server, uri, pos, occurrence),
        NameKind::Field => {
            let ty = type_behind(server, uri, pos, occurrence)?;
            Some(code(&format!("{} : {ty}", occurrence.name)))
        }
        NameKind::Size => Some(format!(
            "{}\n\nA size. In the function's body it is an `Int`.",
            code(&format!("[{}]", occurrence.name))
        )),
        NameKind::TypeVariable => {
            Some(format!("{}\n\nA type variable: the definition works for every type.", code(occurrence.name.as_str())))
        }
        NameKind::Type | NameKind::Constructor | NameKind::Module => {
            let name = qualified(occurrence);
            documented(server, uri, pos, &name).or_else(|| built_in(occurrence.name.as_str()))
        }
    }
}

fn qualified(o: &Occurrence) -> String {
    match o.meaning {
        Meaning::Member(module) => format!("{module}.{}", o.name),
        Meaning::Here(_) | Meaning::Free => o.name.to_string(),
    }
}

/// The types that have no declaration.
fn built_in(name: &str) -> Option<String> {
    let about = match name {
        "Float" => "A number of 64 bits, with a derivative.",
        "F32" => "A number of 32 bits, with a derivative.",
        "Int" => "A whole number of 64 bits.",
        "Bool" => "`true` or `false`.",
        "String" => "A text.",
        _ => return None,
    };
    Some(format!("{}\n\n{about}", code(&format!("type {name}"))))
}

/// A variable: the type that it has here, and the documentation of its definition.
fn value(server: &mut Server, uri: &Uri, pos: usize, occurrence: &Occurrence) -> Option<String> {
    let d = server.documents.all.get_mut(uri.as_str())?;
    let names = d.names();
    let binder = match occurrence.meaning {
        Meaning::Here(span) => names.binder(span).copied(),
        Meaning::Member(_) | Meaning::Free => None,
    };
    let (_, analysed) = d.item_at(pos)?;
    let here = analysed.places.ty(occurrence.span).map(|t| analysed.places.text(t));
    if let Some(binder) = binder.filter(|b| b.binder != Some(Binder::Item)) {
        let scheme = analysed.places.scheme(binder.span).map(adl_typing::print::scheme);
        let bound = analysed.places.ty(binder.span).map(|t| analysed.places.text(t));
        let index = (binder.binder == Some(Binder::Index)).then(|| "Int".to_owned());
        let size = (binder.kind == NameKind::Size).then(|| "Int".to_owned());
        let ty = here.or(scheme).or(bound).or(index).or(size)?;
        let what = match binder.binder {
            Some(Binder::Parameter) => "\n\nA parameter.",
            Some(Binder::Linear) => "\n\nA linear variable: the result depends linearly on it.",
            Some(Binder::Index) => "\n\nAn index.",
            Some(Binder::Element) => "\n\nAn element, or a part of one.",
            _ => "",
        };
        return Some(format!("{}{what}", code(&format!("{} : {ty}", occurrence.name))));
    }
    let name = qualified(occurrence);
    let doc = documented(server, uri, if binder.is_some() { usize::MAX } else { pos }, &name);
    let Some(mut doc) = doc else { return Some(code(&format!("{name} : {}", here?))) };
    if let Some(here) = here.filter(|here| !doc.contains(&format!(": {here}\n"))) {
        doc += &format!("\n\nHere it is `{here}`.");
    }
    Some(doc)
}

/// The documentation of a name that is in scope at a position; `usize::MAX` is the end of the text.
pub fn documented(server: &mut Server, uri: &Uri, pos: usize, name: &str) -> Option<String> {
    let base = server.documents.scope_before(uri.as_str(), &mut server.session);
    let scope = server.documents.all.get(uri.as_str())?.scope_at(pos, &base);
    let text = server.session.in_scope(&scope, |s| s.doc(name))?;
    Some(markdown(&text))
}

/// Documentation for a terminal as Markdown: the signature and the examples are code.
pub fn markdown(text: &str) -> String {
    let (head, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut out = code(head);
    let rest = rest.replace("(no documentation)", "");
    for part in rest.trim().split("\n\n").filter(|p| !p.is_empty()) {
        out += "\n\n";
        out += &if part.starts_with(">>>") { code(part) } else { part.to_owned() };
    }
    out
}

/// The type of the field access that ends at a name.
fn type_behind(server: &Server, uri: &Uri, pos: usize, o: &Occurrence) -> Option<String> {
    let d = server.documents.all.get(uri.as_str())?;
    let (_, analysed) = d.item_at(pos)?;
    let (_, ty) = analysed.places.around(o.span.lo).into_iter().find(|(s, _)| s.hi == o.span.hi && s.lo < o.span.lo)?;
    Some(analysed.places.text(ty))
}
