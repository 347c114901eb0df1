//! Analyses an entry while it is typed: its type, or its errors. Nothing is run or recorded.

use crate::Session;
use adl_syntax::ast::{Expr, ExprKind, Item, ItemKind};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::FileId;
use adl_syntax::symbol::Symbol;
use adl_typing::core;
use adl_typing::ty::Scheme;
use adl_typing::walk::walk;
use std::ops::Range;

/// The analysis of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probe {
    /// The type of its last expression or definition.
    pub ty: Option<String>,
    /// Errors, as places and messages. Incomplete texts that do not parse have none.
    pub errors: Vec<(Range<usize>, String)>,
}

/// Functions whose types depend on files, which would be read at every key press.
const READERS: [&str; 5] = ["read_csv", "read_parquet", "read_arrow", "read_npy", "rows.open"];

impl Session {
    /// Checks an entry. Imports and data files that it names are not read.
    pub fn probe(&mut self, text: &str) -> Probe {
        if READERS.iter().any(|r| text.contains(r)) {
            return Probe::default();
        }
        self.guarded(|s| s.probed(text)).unwrap_or_default()
    }

    fn probed(&mut self, text: &str) -> Probe {
        self.function_and_argument(text, super::Session::of_items)
    }

    /// What is found about the items of a text that parses.
    fn function_and_argument<T: Default>(
        &mut self,
        text: &str,
        look: impl FnOnce(&mut Session, &[Item], FileId) -> T,
    ) -> T {
        // What is loaded for it stays.
        self.load_named(text);
        let sources = self.sources.clone();
        let file = self.new_source(|s| s.add("<typed>", text));
        let (program, diags) = adl_syntax::parse(file, text);
        let broken = diags.iter().any(Diagnostic::is_error);
        let out = if broken { T::default() } else { look(self, &program.items, file) };
        self.machine.sources = sources.clone();
        self.sources = sources;
        out
    }

    /// The type of the local name at a place of a text, which is not run.
    pub(crate) fn type_at(&mut self, text: &str, place: Range<usize>) -> Option<String> {
        let found = self.guarded(|s| {
            s.function_and_argument(text, |s, items, _| items.iter().find_map(|item| s.local_in(item, &place)))
        });
        found.unwrap_or_default()
    }

    fn local_in(&mut self, item: &Item, place: &Range<usize>) -> Option<String> {
        let checked = self.check(&self.env.clone(), item, false);
        let bodies: Vec<&core::Expr> = match checked.item.as_ref()? {
            core::Item::Expr(e) => vec![e],
            core::Item::Defs(defs) => defs.iter().map(|d| &d.expr).collect(),
            _ => return None,
        };
        let mut ty = None;
        let mut look = |e: &core::Expr| {
            if (e.span.lo as usize..e.span.hi as usize) == *place && matches!(*e.kind, core::ExprKind::Local(_)) {
                ty = Some(e.ty.clone());
            }
        };
        bodies.into_iter().for_each(|e| walk(e, &mut look));
        ty.map(|t| self.type_text(&Scheme::mono(t)))
    }

    fn of_items(&mut self, items: &[Item], file: FileId) -> Probe {
        let (mut out, mut env) = (Probe::default(), self.env.clone());
        for item in items {
            if matches!(item.kind, ItemKind::Import { .. }) {
                return Probe::default();
            }
            let checked = self.check(&env, item, false);
            let errors = checked.diags.iter().filter(|d| d.is_error());
            let place = |d: &Diagnostic| {
                (d.primary.span.file == file).then_some(d.primary.span.lo as usize..d.primary.span.hi as usize)
            };
            out.errors = errors.map(|d| (place(d).unwrap_or(0..0), d.message.clone())).collect();
            if !out.errors.is_empty() {
                return out;
            }
            env = checked.env;
            out.ty = match (&item.kind, &checked.item) {
                // The type of a plain name is its whole scheme.
                (ItemKind::Expr(Expr { kind: ExprKind::Var(name), .. }), _) => self.type_of_name(name.as_str()),
                (_, Some(core::Item::Expr(e))) => {
                    Some(self.type_text(&checked.scheme.unwrap_or_else(|| Scheme::mono(e.ty.clone()))))
                }
                (_, Some(core::Item::Defs(defs))) => defs.last().map(|d| self.type_text(&d.scheme)),
                _ => None,
            };
        }
        out
    }

    /// The signature of a function: its type and the first sentence of its documentation.
    pub fn signature(&mut self, name: &str) -> Option<(String, String)> {
        let known = self.guarded(|s| {
            s.type_of_name(name).is_some()
                || name
                    .rsplit_once('.')
                    .is_some_and(|(m, n)| s.module_named(m).is_some_and(|e| e.values.contains_key(&Symbol::new(n))))
        });
        if !known.unwrap_or(false) {
            return None;
        }
        let text = self.guarded(|s| s.doc_text(name)).ok()??;
        let (head, words) = text.split_once("\n\n").unwrap_or((&text, ""));
        let summary = crate::docs::summary(words);
        Some((head.to_owned(), if summary.starts_with('(') { String::new() } else { summary.to_owned() }))
    }
}
