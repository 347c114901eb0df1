//! Top-level items as documents.

use super::Formatter;
use super::doc::{D, choice, concat, group, hard, line, nest, space, text};
use super::types::TypeContext;
use crate::ast::{ConDecl, ImportSource, Item, ItemKind, TypeBody, TypeDecl};

impl Formatter<'_> {
    pub(super) fn item(&mut self, item: &Item) -> D {
        match &item.kind {
            ItemKind::Let(group) => self.let_group(group),
            ItemKind::Types(decls) => self.types(decls),
            ItemKind::Import { what, alias } => {
                let mut parts = vec![self.tokens.sign("import"), space()];
                parts.push(match what {
                    ImportSource::File(_, span) => self.tokens.verbatim(*span),
                    ImportSource::Std(name) => self.ident(*name),
                });
                if let Some(alias) = alias {
                    parts.extend([space(), self.tokens.sign("as"), space(), self.ident(*alias)]);
                }
                concat(parts)
            }
            ItemKind::Test { body, .. } => self.named("test", body),
            ItemKind::Bench { body, .. } => self.named("bench", body),
            ItemKind::Expr(e) => match &e.kind {
                crate::ast::ExprKind::Block(stmts) => self.in_block(stmts, e.span),
                _ => self.entry(e),
            },
            ItemKind::Error => self.tokens.verbatim(item.span),
        }
    }

    fn named(&mut self, word: &str, body: &crate::ast::Expr) -> D {
        let word = self.tokens.sign(word);
        let name = self.tokens.next_verbatim();
        let sign = self.tokens.sign("=");
        self.right_side(concat(vec![word, space(), name, space(), sign]), body)
    }

    fn types(&mut self, decls: &[TypeDecl]) -> D {
        let mut parts = vec![self.tokens.sign("type"), space()];
        for (i, decl) in decls.iter().enumerate() {
            if i > 0 {
                parts.extend([self.separator(decl.span), self.tokens.sign("and"), space()]);
            }
            let decl = self.type_decl(decl);
            parts.push(decl);
        }
        concat(parts)
    }

    fn type_decl(&mut self, decl: &TypeDecl) -> D {
        let mut head = Vec::new();
        if matches!(decl.body, TypeBody::Alias(_)) {
            head.extend([self.tokens.sign("alias"), space()]);
        }
        head.push(self.ident(decl.name));
        for param in &decl.params {
            head.extend([space(), self.ident(*param)]);
        }
        head.extend([space(), self.tokens.sign("=")]);
        match &decl.body {
            TypeBody::Alias(ty) => {
                let ty = self.ty(ty, TypeContext::Top);
                concat(vec![concat(head), space(), group(ty)])
            }
            TypeBody::Sum(constructors) => {
                // Constructors that were written below each other stay so.
                let below = self.tokens.has_comments(decl.span)
                    || (constructors.len() > 1 && !self.tokens.on_one_line(decl.span));
                self.sum(concat(head), constructors, below)
            }
        }
    }

    /// All constructors on one line, or one per line (always if `always_below`).
    fn sum(&mut self, head: D, constructors: &[ConDecl], always_below: bool) -> D {
        let mut docs = Vec::new();
        for (i, constructor) in constructors.iter().enumerate() {
            let bar = if i > 0 || always_below { self.tokens.sign("|") } else { text("|") };
            docs.push((bar, self.constructor(constructor)));
        }
        let below = docs.iter().flat_map(|(bar, doc)| [hard(), bar.clone(), space(), doc.clone()]);
        let below = concat(vec![head.clone(), nest(concat(below.collect()))]);
        if always_below {
            return below;
        }
        let one_line = docs.iter().enumerate().flat_map(|(i, (bar, doc))| match i {
            0 => vec![doc.clone()],
            _ => vec![line(), bar.clone(), space(), doc.clone()],
        });
        choice(vec![concat(vec![head, space(), concat(one_line.collect())]), below])
    }

    fn constructor(&mut self, constructor: &ConDecl) -> D {
        let mut parts = vec![self.ident(constructor.name)];
        for field in &constructor.fields {
            parts.extend([space(), self.ty(field, TypeContext::Atom)]);
        }
        concat(parts)
    }
}
