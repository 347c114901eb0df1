//! Inlay hints: types of definitions and parameters without annotations, with their sizes, and which variables are
//! linear.

use crate::documents::Document;
use crate::server::Server;
use crate::tokens::linear_binders;
use adl_session::analysis::AnalysedItem;
use adl_syntax::ast::{Binding, Item, ItemKind, LetGroup, Pat, PatKind};
use adl_syntax::names::each_binding;
use adl_typing::ty::Ty;
use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintParams, InlayHintTooltip};
use std::collections::HashSet;

/// Longer types are cut; the whole type is in the tooltip.
const LONG: usize = 40;

struct Hints<'a> {
    d: &'a Document,
    item: &'a AnalysedItem,
    linear: &'a HashSet<u32>,
    range: std::ops::Range<usize>,
    out: Vec<InlayHint>,
}

/// `textDocument/inlayHint`.
pub fn inlay_hints(server: &mut Server, params: InlayHintParams) -> Result<Vec<InlayHint>, String> {
    let d = server.document(&params.text_document.uri).ok_or("this text is not open")?;
    let names = d.names();
    let linear = linear_binders(d, &names);
    let range = d.text.offset(params.range.start)..d.text.offset(params.range.end);
    let mut out = Vec::new();
    for (at, item) in d.items().iter().enumerate() {
        let outside = (item.span.hi as usize) < range.start || range.end < item.span.lo as usize;
        let Some(analysed) = d.analysis().and_then(|a| a.items.get(at)).filter(|_| !outside) else { continue };
        let mut hints = Hints { d, item: analysed, linear: &linear, range: range.clone(), out: Vec::new() };
        hints.of_item(item);
        out.append(&mut hints.out);
    }
    Ok(out)
}

impl Hints<'_> {
    fn of_item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Let(group) => self.group(group),
            ItemKind::Test { body, .. } | ItemKind::Bench { body, .. } | ItemKind::Expr(body) => {
                each_binding(body, &mut |b| self.binding(b));
            }
            ItemKind::Types(_) | ItemKind::Import { .. } | ItemKind::Error => {}
        }
    }

    fn group(&mut self, group: &LetGroup) {
        for b in &group.bindings {
            self.binding(b);
            each_binding(&b.body, &mut |b| self.binding(b));
        }
    }

    /// The types that a definition leaves out: of its parameters and its result, or of its value.
    fn binding(&mut self, binding: &Binding) {
        if binding.sig.is_some() {
            return binding.params.iter().for_each(|p| self.pattern(p));
        }
        if binding.params.is_empty() {
            return self.pattern(&binding.pat);
        }
        binding.params.iter().for_each(|p| self.pattern(p));
        let ty = match self.item.places.scheme(binding.pat.span) {
            Some(s) => result(&s.ty, binding.params.len()),
            None => None,
        };
        if let (Some(ty), Some(last)) = (ty.map(|t| self.item.places.text(&t)), binding.params.last()) {
            self.hint(last.span.hi, &ty, false);
        }
    }

    fn pattern(&mut self, p: &Pat) {
        match &p.kind {
            PatKind::Var(_) => {
                let scheme = self.item.places.scheme(p.span).map(adl_typing::print::scheme);
                let ty = scheme.or_else(|| self.item.places.ty(p.span).map(|t| self.item.places.text(t)));
                if let Some(ty) = ty {
                    self.hint(p.span.hi, &ty, self.linear.contains(&p.span.lo));
                }
            }
            PatKind::Tuple(ps) | PatKind::Array(ps) => ps.iter().for_each(|p| self.pattern(p)),
            // The other forms say much of their type themselves.
            _ => {}
        }
    }

    fn hint(&mut self, at: u32, ty: &str, linear: bool) {
        if !self.range.contains(&(at as usize)) && self.range.end != at as usize {
            return;
        }
        let short: String =
            if ty.chars().count() > LONG { ty.chars().take(LONG).chain(['…']).collect() } else { ty.to_owned() };
        let mark = if linear { " (linear)" } else { "" };
        self.out.push(InlayHint {
            position: self.d.text.position(at as usize),
            label: InlayHintLabel::String(format!(": {short}{mark}")),
            kind: Some(InlayHintKind::TYPE),
            text_edits: None,
            tooltip: (short != ty).then(|| InlayHintTooltip::String(ty.to_owned())),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        });
    }
}

/// The type of the result after some arguments.
pub fn result(t: &Ty, arguments: usize) -> Option<Ty> {
    match (t, arguments) {
        (t, 0) => Some(t.clone()),
        (Ty::Fun(_, r) | Ty::Lin(_, r), n) => result(r, n - 1),
        _ => None,
    }
}
