//! Semantic tokens: what the lexer knows, refined by what names refer to. Linear variables have their own modifier.

use crate::documents::Document;
use crate::server::Server;
use adl_prim::{Prim, Typing};
use adl_syntax::ast::{Binding, Expr, ExprKind, ItemKind};
use adl_syntax::highlight::Class;
use adl_syntax::names::{Binder, Meaning, NameKind, Names, Occurrence};
use adl_syntax::span::Span;
use adl_typing::ty::Ty;
use lsp_types::{
    SemanticToken, SemanticTokens, SemanticTokensDelta, SemanticTokensDeltaParams, SemanticTokensEdit,
    SemanticTokensParams, SemanticTokensRangeParams,
};
use serde_json::{Value as Json, json};
use std::collections::HashSet;

/// The kinds of tokens, in the order of the legend.
#[derive(Clone, Copy, PartialEq, Debug)]
enum SemanticKind {
    Keyword,
    Variable,
    Parameter,
    Function,
    Property,
    Type,
    TypeParameter,
    EnumMember,
    Namespace,
    Number,
    String,
    Comment,
    Operator,
}

const KINDS: [(SemanticKind, &str); 13] = [
    (SemanticKind::Keyword, "keyword"),
    (SemanticKind::Variable, "variable"),
    (SemanticKind::Parameter, "parameter"),
    (SemanticKind::Function, "function"),
    (SemanticKind::Property, "property"),
    (SemanticKind::Type, "type"),
    (SemanticKind::TypeParameter, "typeParameter"),
    (SemanticKind::EnumMember, "enumMember"),
    (SemanticKind::Namespace, "namespace"),
    (SemanticKind::Number, "number"),
    (SemanticKind::String, "string"),
    (SemanticKind::Comment, "comment"),
    (SemanticKind::Operator, "operator"),
];

const MODIFIERS: [&str; 4] = ["declaration", "defaultLibrary", "linear", "size"];
const DECLARATION: u32 = 1;
const LIBRARY: u32 = 2;
const LINEAR: u32 = 4;
const SIZE: u32 = 8;

/// The legend of kinds and modifiers.
pub fn legend() -> Json {
    json!({"tokenTypes": KINDS.map(|(_, name)| name), "tokenModifiers": MODIFIERS})
}

/// A token with its byte range.
type FileToken = (std::ops::Range<usize>, SemanticKind, u32);

/// `textDocument/semanticTokens/full`.
pub fn full(server: &mut Server, params: SemanticTokensParams) -> Result<SemanticTokens, String> {
    let d = server.document(&params.text_document.uri).ok_or("this text is not open")?;
    let data = encoded(d, 0..usize::MAX);
    d.tokens = (d.tokens.0 + 1, data.clone());
    Ok(SemanticTokens { result_id: Some(d.tokens.0.to_string()), data })
}

/// `textDocument/semanticTokens/range`.
pub fn range(server: &mut Server, params: SemanticTokensRangeParams) -> Result<SemanticTokens, String> {
    let d = server.document(&params.text_document.uri).ok_or("this text is not open")?;
    let range = d.text.offset(params.range.start)..d.text.offset(params.range.end);
    Ok(SemanticTokens { result_id: None, data: encoded(d, range) })
}

/// `textDocument/semanticTokens/full/delta`: one edit between what is the same at both ends.
pub fn delta(server: &mut Server, params: SemanticTokensDeltaParams) -> Result<Json, String> {
    let d = server.document(&params.text_document.uri).ok_or("this text is not open")?;
    let new = encoded(d, 0..usize::MAX);
    let (number, old) = std::mem::take(&mut d.tokens);
    d.tokens = (number + 1, new.clone());
    let result_id = Some(d.tokens.0.to_string());
    if params.previous_result_id != number.to_string() {
        return Ok(json!(SemanticTokens { result_id, data: new }));
    }
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    // The protocol counts numbers, five for a token.
    let edit = SemanticTokensEdit {
        start: 5 * same as u32,
        delete_count: 5 * (old.len() - same - end) as u32,
        data: Some(new[same..new.len() - end].to_vec()),
    };
    let edits = if old == new { Vec::new() } else { vec![edit] };
    Ok(json!(SemanticTokensDelta { result_id, edits }))
}

fn encoded(document: &mut Document, range: std::ops::Range<usize>) -> Vec<SemanticToken> {
    let (mut out, mut before) = (Vec::new(), lsp_types::Position::default());
    for (bytes, kind, modifiers) in tokens(document) {
        if bytes.end < range.start || range.end < bytes.start {
            continue;
        }
        // A token of several lines is one for each line.
        let (first, last) = (document.text.position(bytes.start).line, document.text.position(bytes.end).line);
        for line in first..=last {
            let lo = bytes.start.max(document.text.line_start(line as usize));
            let hi = bytes.end.min(document.text.line_end(line as usize));
            if hi <= lo {
                continue;
            }
            let at = document.text.position(lo);
            let same_line = at.line == before.line;
            out.push(SemanticToken {
                delta_line: at.line - before.line,
                delta_start: if same_line { at.character - before.character } else { at.character },
                length: document.text.units(lo, hi),
                token_type: kind as u32,
                token_modifiers_bitset: modifiers,
            });
            before = at;
        }
    }
    out
}

/// All tokens, in order.
fn tokens(document: &mut Document) -> Vec<FileToken> {
    let names = document.names();
    let linear = linear_binders(document, &names);
    let mut named = names.all.iter().peekable();
    let mut out: Vec<FileToken> = Vec::new();
    for (bytes, class) in adl_syntax::tokens(&document.text.text) {
        while named.peek().is_some_and(|o| (o.span.lo as usize) < bytes.start) {
            named.next();
        }
        let occurrence = named.peek().filter(|o| o.span.lo as usize == bytes.start && o.span.hi as usize == bytes.end);
        let token = match (class, occurrence) {
            (Class::Bracket, _) => None,
            (Class::Name | Class::Constructor | Class::Type | Class::Keyword, Some(o)) => {
                Some(of_name(document, &names, o, &linear))
            }
            (Class::Keyword, None) => Some((SemanticKind::Keyword, 0)),
            (Class::Name, None) => Some((SemanticKind::Variable, 0)),
            (Class::Constructor, None) => Some((SemanticKind::EnumMember, 0)),
            (Class::Type, None) => Some((SemanticKind::Type, 0)),
            (Class::Number, _) => Some((SemanticKind::Number, 0)),
            (Class::String, _) => Some((SemanticKind::String, 0)),
            (Class::Comment, _) => Some((SemanticKind::Comment, 0)),
            (Class::Operator, _) => Some((SemanticKind::Operator, 0)),
        };
        out.extend(token.map(|(kind, modifiers)| (bytes, kind, modifiers)));
    }
    out
}

fn of_name(d: &Document, names: &Names, o: &Occurrence, linear: &HashSet<u32>) -> (SemanticKind, u32) {
    let declared = if o.binder.is_some() { DECLARATION } else { 0 };
    let kind = match o.kind {
        NameKind::Type => SemanticKind::Type,
        NameKind::TypeVariable => SemanticKind::TypeParameter,
        NameKind::Size => return (SemanticKind::TypeParameter, declared | SIZE),
        NameKind::Constructor => SemanticKind::EnumMember,
        NameKind::Module => SemanticKind::Namespace,
        NameKind::Field => SemanticKind::Property,
        NameKind::Value => return of_value(d, names, o, linear, declared),
    };
    (kind, declared)
}

fn of_value(d: &Document, names: &Names, o: &Occurrence, linear: &HashSet<u32>, declared: u32) -> (SemanticKind, u32) {
    let function = is_function(d, o);
    let kind = |parameter: bool| match (function, parameter) {
        (true, _) => SemanticKind::Function,
        (false, true) => SemanticKind::Parameter,
        (false, false) => SemanticKind::Variable,
    };
    match o.meaning {
        Meaning::Here(span) => {
            let binder = names.binder(span);
            if binder.is_some_and(|b| b.kind == NameKind::Size) {
                return (SemanticKind::TypeParameter, declared | SIZE);
            }
            let parameter = matches!(binder.and_then(|b| b.binder), Some(Binder::Parameter | Binder::Linear));
            let more = if linear.contains(&span.lo) { LINEAR } else { 0 };
            (kind(parameter), declared | more)
        }
        Meaning::Member(_) | Meaning::Free => (kind(false), declared | LIBRARY),
    }
}

fn is_function(d: &Document, occurrence: &Occurrence) -> bool {
    let Some((_, item)) = d.item_at(occurrence.span.lo as usize) else { return false };
    let function = |t: &Ty| matches!(t, Ty::Fun(..) | Ty::Lin(..));
    let at = |s: Span| item.places.scheme(s).map(|s| &s.ty).or_else(|| item.places.ty(s));
    if let Some(ty) = at(occurrence.span) {
        return function(ty);
    }
    // The function of an application has no type of its own among the places.
    match occurrence.meaning {
        Meaning::Here(span) if at(span).is_some() => at(span).is_some_and(function),
        Meaning::Here(_) => item.env.value(occurrence.name).is_some_and(|g| function(&g.scheme.ty)),
        Meaning::Member(_) => true,
        Meaning::Free => match item.env.value(occurrence.name) {
            Some(g) => function(&g.scheme.ty),
            None => Prim::by_name(occurrence.name.as_str()).is_some_and(takes_arguments),
        },
    }
}

fn takes_arguments(p: Prim) -> bool {
    let (Typing::Scheme(text) | Typing::Elementwise(text) | Typing::Special(text)) = p.row().typing;
    text.contains("->") || text.contains("-o")
}

/// Where linear variables are bound: by `lin`, and by a `let` whose value depends on one of them.
pub fn linear_binders(document: &Document, names: &Names) -> HashSet<u32> {
    let mut out: HashSet<u32> = HashSet::new();
    let bound = names.all.iter().filter(|o| o.binder == Some(Binder::Linear));
    let numbers = |o: &&Occurrence| {
        let places = document.item_at(o.span.lo as usize).map(|(_, item)| &item.places);
        // Sizes and indices in the input of a linear function have no tangent.
        !matches!(places.and_then(|p| p.ty(o.span)), Some(Ty::Int | Ty::Bool | Ty::Str))
    };
    out.extend(bound.filter(numbers).map(|o| o.span.lo));
    if out.is_empty() {
        return out;
    }
    let mut lets: Vec<(Span, Span)> = Vec::new();
    document.items().iter().for_each(|i| match &i.kind {
        ItemKind::Let(group) => group.bindings.iter().for_each(|b| local_lets(&b.body, &mut lets)),
        ItemKind::Test { body, .. } | ItemKind::Bench { body, .. } | ItemKind::Expr(body) => {
            local_lets(body, &mut lets);
        }
        ItemKind::Types(_) | ItemKind::Import { .. } | ItemKind::Error => {}
    });
    let within = |s: Span, around: Span| around.lo <= s.lo && s.hi <= around.hi;
    for (pattern, value) in lets {
        let uses =
            |o: &Occurrence| matches!(o.meaning, Meaning::Here(s) if out.contains(&s.lo)) && within(o.span, value);
        if names.all.iter().any(uses) {
            let new = names.all.iter().filter(|o| o.binder.is_some() && within(o.span, pattern));
            let new: Vec<u32> = new.filter(numbers).map(|o| o.span.lo).collect();
            out.extend(new);
        }
    }
    out
}

/// The patterns and values of the local definitions without parameters, in order.
fn local_lets(e: &Expr, out: &mut Vec<(Span, Span)>) {
    adl_syntax::names::each_binding(e, &mut |b: &Binding| {
        if b.params.is_empty() && !matches!(b.body.kind, ExprKind::Fun(..) | ExprKind::Lin(..)) {
            out.push((b.pat.span, b.body.span));
        }
    });
}
