//! Renaming, through imports. A new name that would be captured, or would capture another name, is refused.

use crate::documents::is_module;
use crate::meaning::Definition;
use crate::server::Server;
use crate::source_text::Text;
use adl_syntax::ast::{BinOp, ExprKind, ItemKind};
use adl_syntax::names::{self, Meaning, NameKind, Occurrence};
use adl_syntax::span::FileId;
use lsp_types::{PrepareRenameResponse, RenameParams, TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit};
use std::collections::HashMap;

/// `textDocument/prepareRename`.
pub fn prepare(server: &mut Server, at: TextDocumentPositionParams) -> Result<Option<PrepareRenameResponse>, String> {
    let Some((o, Some(d))) = server.named(&at)? else { return Ok(None) };
    renameable(server, &d)?;
    let (text, _) = server.text_and_names(&at.text_document.uri).ok_or("this text is not open")?;
    let placeholder = text.slice(o.span).to_owned();
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range: text.range(o.span), placeholder }))
}

/// Names of the library cannot be renamed.
fn renameable(server: &Server, d: &Definition) -> Result<(), String> {
    let path = crate::files::path_of(&d.uri);
    let own =
        path.is_none_or(|p| p.starts_with(&server.documents.root) || server.documents.all.contains_key(d.uri.as_str()));
    if own { Ok(()) } else { Err(format!("`{}` is defined outside of this workspace", d.name)) }
}

/// `textDocument/rename`.
#[allow(clippy::mutable_key_type, reason = "the protocol's type; addresses do not change")]
pub fn rename(server: &mut Server, params: RenameParams) -> Result<Option<WorkspaceEdit>, String> {
    let Some((o, Some(d))) = server.named(&params.text_document_position)? else { return Ok(None) };
    renameable(server, &d)?;
    let new = params.new_name.trim();
    fits(o.kind, new)?;
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for (uri, text, places) in server.places_of(&d) {
        verify(&text, &places, new)?;
        let edits = places.iter().map(|p| TextEdit { range: text.range(p.span), new_text: replacement(p, new) });
        changes.insert(uri, edits.collect());
    }
    Ok(Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }))
}

/// A punned field keeps its name.
fn replacement(o: &Occurrence, new: &str) -> String {
    if o.punned { format!("{} = {new}", o.name) } else { new.to_owned() }
}

/// Whether a text is a name of this kind.
fn fits(kind: NameKind, new: &str) -> Result<(), String> {
    let (program, diags) = adl_syntax::parse(FileId::default(), new);
    let upper = matches!(kind, NameKind::Type | NameKind::Constructor | NameKind::Module);
    let what = if upper { "an upper-case name" } else { "a lower-case name" };
    let expected = || format!("expected {what}, found `{new}`");
    let [item] = program.items.as_slice() else { return Err(expected()) };
    let fits = match &item.kind {
        ItemKind::Expr(e) => match e.kind {
            ExprKind::Var(_) => !upper,
            ExprKind::Con(None, _) => upper,
            _ => false,
        },
        _ => false,
    };
    let clean = diags.is_empty() && item.span.hi as usize == new.len() && item.span.lo == 0;
    // `(+)` and the like are not names.
    let operator = BinOp::ALL.iter().any(|o| o.text() == new);
    if fits && clean && !operator { Ok(()) } else { Err(expected()) }
}

/// Checks that after the renaming the same places mean the renamed thing, and no others.
fn verify(text: &Text, places: &[Occurrence], new: &str) -> Result<(), String> {
    let mut sorted: Vec<&Occurrence> = places.iter().collect();
    sorted.sort_by_key(|o| o.span.lo);
    let (mut after, mut at, mut moved) = (String::new(), 0, Vec::new());
    for o in &sorted {
        after += &text.text[at..o.span.lo as usize];
        after += &replacement(o, new);
        moved.push((after.len() - new.len()) as u32);
        at = o.span.hi as usize;
    }
    after += &text.text[at..];
    let resolved = |text: &str| {
        let (program, _) = adl_syntax::parse(FileId::default(), text);
        names::resolve(&program, &is_module)
    };
    let (before, after) = (resolved(&text.text), resolved(&after));
    let Some(first) = sorted.first() else { return Ok(()) };
    // Where the binder of the renamed thing is now; `None` if it is in another text.
    let binder = sorted.iter().position(|o| o.binder.is_some()).map(|i| moved[i]);
    let meant = |o: &&Occurrence| match (o.meaning, binder) {
        (Meaning::Here(s), Some(b)) => s.lo == b,
        (Meaning::Here(_), None) => false,
        (other, _) => other == first.meaning && o.kind == first.kind && o.name.as_str() == new,
    };
    let now: Vec<u32> = after.all.iter().filter(meant).map(|o| o.span.lo).collect();
    let others = |all: &names::Names| all.all.iter().filter(|o| matches!(o.meaning, Meaning::Here(_))).count();
    let fields = sorted.iter().filter(|o| o.punned).count();
    if now == moved && others(&before) == others(&after) && before.all.len() + fields == after.all.len() {
        return Ok(());
    }
    Err(format!("`{new}` already has another meaning here"))
}
