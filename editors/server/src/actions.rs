//! Code actions (the fix of each diagnostic, missing annotations), and formatting.

use crate::documents::Document;
use crate::hints::result;
use crate::server::Server;
use crate::source_text::Text;
use adl_syntax::ast::{Binding, ItemKind, PatKind};
use adl_syntax::diag::{Diagnostic, Edit};
use adl_syntax::names::each_binding;
use adl_syntax::span::FileId;
use adl_typing::ty::Ty;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionParams, DocumentFormattingParams, Range, TextEdit, Uri, WorkspaceEdit,
};
use std::collections::HashMap;

/// `textDocument/codeAction`.
pub fn code_actions(server: &mut Server, params: CodeActionParams) -> Result<Vec<CodeAction>, String> {
    let uri = params.text_document.uri;
    let document = server.document(&uri).ok_or("this text is not open")?;
    let wanted = |kind: &CodeActionKind| {
        let only = params.context.only.as_ref();
        only.is_none_or(|all| all.iter().any(|k| kind.as_str().starts_with(k.as_str())))
    };
    let range = document.text.offset(params.range.start)..document.text.offset(params.range.end);
    let file = document.analysis().map(|a| a.file);
    let fixable = |x: &&Diagnostic| !x.fix.is_empty() && x.fix.iter().all(|e| Some(e.span.file) == file);
    let all: Vec<&Diagnostic> = document.analysis().map_or(&[][..], |a| &a.diags).iter().filter(fixable).collect();
    let mut out = Vec::new();
    let here = |x: &&&Diagnostic| {
        x.primary.span.lo as usize <= range.end
            && range.start <= x.primary.span.hi as usize
            && Some(x.primary.span.file) == file
    };
    for x in all.iter().filter(here).filter(|_| wanted(&CodeActionKind::QUICKFIX)) {
        out.push(CodeAction {
            is_preferred: Some(true),
            ..action(title(x), CodeActionKind::QUICKFIX, &uri, edits(&document.text, &x.fix))
        });
    }
    if wanted(&CodeActionKind::SOURCE_FIX_ALL) && !all.is_empty() {
        let joined = apart(&all);
        out.push(action(
            "Apply all fixes".to_owned(),
            CodeActionKind::SOURCE_FIX_ALL,
            &uri,
            edits(&document.text, &joined),
        ));
    }
    if wanted(&CodeActionKind::REFACTOR_REWRITE) {
        out.extend(
            annotation(document, range.start)
                .map(|(title, edit)| action(title, CodeActionKind::REFACTOR_REWRITE, &uri, vec![edit])),
        );
    }
    Ok(out)
}

#[allow(clippy::mutable_key_type, reason = "the protocol's type; addresses do not change")]
fn action(title: String, kind: CodeActionKind, uri: &Uri, edits: Vec<TextEdit>) -> CodeAction {
    let changes = HashMap::from([(uri.clone(), edits)]);
    let edit = WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() };
    CodeAction { title, kind: Some(kind), edit: Some(edit), ..CodeAction::default() }
}

/// What a fix does: the hint, or what it writes.
fn title(d: &Diagnostic) -> String {
    match (&d.hint, d.fix.as_slice()) {
        (Some(hint), _) => {
            let mut letters = hint.chars();
            letters.next().map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
        }
        (None, [one]) if one.text.is_empty() => "Remove it".to_owned(),
        (None, [one]) => format!("Write `{}`", one.text),
        (None, _) => "Apply the fix".to_owned(),
    }
}

fn edits(text: &Text, fix: &[Edit]) -> Vec<TextEdit> {
    fix.iter().map(|e| TextEdit { range: text.range(e.span), new_text: e.text.clone() }).collect()
}

/// The edits of all fixes that do not overlap earlier ones.
fn apart(all: &[&Diagnostic]) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::new();
    for d in all {
        let meets = |e: &Edit| out.iter().any(|o| e.span.lo <= o.span.hi && o.span.lo <= e.span.hi);
        if !d.fix.iter().any(meets) {
            out.extend(d.fix.iter().cloned());
        }
    }
    out
}

/// The edit that adds the type of the definition at a position.
fn annotation(document: &Document, pos: usize) -> Option<(String, TextEdit)> {
    let (item, analysed) = document.item_at(pos)?;
    let ItemKind::Let(group) = &item.kind else { return None };
    let mut found: Option<&Binding> = None;
    let look = |b: &Binding| {
        let end = b.params.last().map_or(b.pat.span.hi, |p| p.span.hi);
        b.pat.span.lo as usize <= pos && pos <= end as usize
    };
    for b in &group.bindings {
        if look(b) {
            found = Some(b);
        }
        each_binding(&b.body, &mut |inner| {
            if look(inner) {
                found = Some(inner);
            }
        });
    }
    let b = found.filter(|b| b.sig.is_none() && matches!(b.pat.kind, PatKind::Var(_)))?;
    let scheme = analysed.places.scheme(b.pat.span)?;
    let ty = result(&scheme.ty, b.params.len())?;
    // The names of variables and constraints would have to be chosen.
    if !closed(&ty) {
        return None;
    }
    let text = analysed.places.text(&ty);
    let end = b.params.last().map_or(b.pat.span.hi, |p| p.span.hi) as usize;
    let edit = TextEdit { range: document.text.range_of(end..end), new_text: format!(" : {text}") };
    Some((format!("Add the type `{text}`"), edit))
}

/// Whether a type has no variables.
fn closed(t: &Ty) -> bool {
    match t {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str => true,
        Ty::Var(_) | Ty::Meta(_) => false,
        Ty::Array(n, e) => !matches!(n, adl_typing::ty::Size::Var(_)) && closed(e),
        Ty::Fun(a, b) | Ty::Lin(a, b) => closed(a) && closed(b),
        Ty::Tuple(parts) | Ty::Data(_, parts) => parts.iter().all(closed),
        Ty::Record(r) => r.tail.is_none() && r.fields.iter().all(|(_, t)| closed(t)),
    }
}

/// `textDocument/formatting`: the lines that differ.
pub fn formatting(server: &mut Server, params: DocumentFormattingParams) -> Result<Vec<TextEdit>, String> {
    let document = server.document(&params.text_document.uri).ok_or("this text is not open")?;
    let old = &document.text.text;
    // A text that does not parse stays as it is; the reason is among its diagnostics.
    let Ok(new) = adl_syntax::format::format(old) else { return Ok(Vec::new()) };
    if new == *old {
        return Ok(Vec::new());
    }
    let lines = |t: &str| t.split_inclusive('\n').map(str::len).collect::<Vec<_>>();
    let (a, b) = (lines(old), lines(&new));
    let same = old.split_inclusive('\n').zip(new.split_inclusive('\n')).take_while(|(x, y)| x == y).count();
    let rest = a.len().min(b.len()) - same;
    let ends = |t: &'_ str| t.split_inclusive('\n').map(str::to_owned).rev().take(rest).collect::<Vec<_>>();
    let end = ends(old).iter().zip(&ends(&new)).take_while(|(x, y)| x == y).count();
    let bytes = |lens: &[usize]| (lens[..same].iter().sum::<usize>(), lens[..lens.len() - end].iter().sum::<usize>());
    let ((lo, hi), (from, to)) = (bytes(&a), bytes(&b));
    let range: Range = document.text.range(adl_syntax::span::Span::new(FileId::default(), lo, hi));
    Ok(vec![TextEdit { range, new_text: new[from..to].to_owned() }])
}
