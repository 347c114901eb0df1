//! Lexical analysis of items: the names that they define and mention.

use adl_syntax::ast::{Item, ItemKind, Pat, PatKind, TypeBody};
use adl_syntax::symbol::Symbol;

/// Whether a text contains a word.
pub(crate) fn mentions(text: &str, word: &str) -> bool {
    words(text).any(|w| w == word)
}

/// All words that look like names, including those in comments and strings: an upper bound of the mentioned names.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).filter(|w| !w.is_empty())
}

/// The values, types, constructors and modules that an item defines.
pub(crate) fn defined_names(item: &Item) -> Vec<Symbol> {
    let mut out = Vec::new();
    match &item.kind {
        ItemKind::Let(group) => group.bindings.iter().for_each(|b| pattern(&b.pat, &mut out)),
        ItemKind::Types(decls) => {
            for d in decls {
                out.push(d.name.name);
                if let TypeBody::Sum(cons) = &d.body {
                    out.extend(cons.iter().map(|c| c.name.name));
                }
            }
        }
        ItemKind::Import { alias, .. } => out.extend(alias.map(|a| a.name)),
        ItemKind::Test { .. } | ItemKind::Bench { .. } | ItemKind::Expr(_) | ItemKind::Error => {}
    }
    out
}

fn pattern(pat: &Pat, out: &mut Vec<Symbol>) {
    match &pat.kind {
        PatKind::Var(n) => out.push(*n),
        PatKind::Tuple(ps) | PatKind::Con(_, _, ps) | PatKind::Array(ps) | PatKind::Or(ps) => {
            ps.iter().for_each(|p| pattern(p, out));
        }
        PatKind::Record(fs, _) => fs.iter().for_each(|(_, p)| pattern(p, out)),
        PatKind::As(p, n) => {
            out.push(n.name);
            pattern(p, out);
        }
        PatKind::Ann(p, _) => pattern(p, out),
        PatKind::Wild | PatKind::Lit(_) | PatKind::Error => {}
    }
}
