//! Types and patterns as documents.

use super::Formatter;
use super::doc::{D, concat, group, line, nest, nil, soft_line, space, text};
use crate::ast::{Constraint, Ident, Lit, Pat, PatKind, Signature, Size, Type, TypeKind};

/// The context of a type or pattern, from loosest to tightest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TypeContext {
    /// No parentheses are needed: `a -> b`, `p | q`.
    Top,
    /// An operand of `->` or `::`.
    Operand,
    /// A constructor with arguments: `List a`, `Some x`.
    Applied,
    /// An argument.
    Atom,
}

impl Formatter<'_> {
    pub(super) fn ident(&mut self, ident: Ident) -> D {
        self.tokens.word(ident.span, ident.name.as_str())
    }

    pub(super) fn signature(&mut self, signature: &Signature) -> D {
        let mut parts = Vec::new();
        let many = signature.constraints.len() > 1;
        for (i, constraint) in signature.constraints.iter().enumerate() {
            if many {
                parts.push(if i == 0 { self.tokens.sign("(") } else { concat(vec![self.tokens.sign(","), space()]) });
            }
            parts.push(self.constraint(constraint));
        }
        if many {
            parts.push(self.tokens.sign(")"));
        }
        if !signature.constraints.is_empty() {
            parts.extend([space(), self.tokens.sign("=>"), line()]);
        }
        parts.push(self.ty(&signature.ty, TypeContext::Top));
        group(concat(parts))
    }

    fn constraint(&mut self, constraint: &Constraint) -> D {
        match constraint {
            Constraint::Class(class, var) => concat(vec![self.ident(*class), space(), self.ident(*var)]),
            Constraint::Operator(op, args, res) => {
                let infix = !op.name.as_str().starts_with(char::is_alphabetic);
                let mut parts = Vec::new();
                if !infix {
                    parts.push(self.ident(*op));
                }
                for (i, arg) in args.iter().enumerate() {
                    if infix && i == 1 {
                        parts.extend([space(), self.tokens.sign(op.name.as_str())]);
                    }
                    if !parts.is_empty() {
                        parts.push(space());
                    }
                    parts.push(self.ty(arg, TypeContext::Atom));
                }
                parts.extend([space(), self.tokens.sign(":"), space(), self.ty(res, TypeContext::Applied)]);
                concat(parts)
            }
        }
    }

    /// `doc` in parentheses if `needed`.
    fn parenthesised(&mut self, needed: bool, doc: impl FnOnce(&mut Self) -> D) -> D {
        if !needed {
            return doc(self);
        }
        let open = self.tokens.sign("(");
        let inner = doc(self);
        concat(vec![open, inner, self.tokens.sign(")")])
    }

    pub(super) fn ty(&mut self, ty: &Type, level: TypeContext) -> D {
        super::guarded(|| self.ty_here(ty, level))
    }

    fn ty_here(&mut self, ty: &Type, level: TypeContext) -> D {
        match &ty.kind {
            TypeKind::Var(name) => self.tokens.word(self.inner_span(ty.span), name.as_str()),
            TypeKind::Hole => self.tokens.word(self.inner_span(ty.span), "_"),
            TypeKind::Con(module, name, args) => {
                let needed = level >= TypeContext::Atom && !args.is_empty();
                self.parenthesised(needed, |f| {
                    let mut parts = vec![f.qualified(*module, *name)];
                    for arg in args {
                        parts.extend([space(), f.ty(arg, TypeContext::Atom)]);
                    }
                    concat(parts)
                })
            }
            TypeKind::Fun(from, to) => self.arrow(level, from, "->", to),
            TypeKind::Lin(from, to) => self.arrow(level, from, "-o", to),
            TypeKind::Tuple(parts) => self.list("(", parts, ")", |f, part| f.ty(part, TypeContext::Top)),
            TypeKind::Record(fields, rest) => self.record_type(fields, rest),
            TypeKind::Array(size, element) => {
                let open = self.tokens.sign("[");
                let size = match size {
                    Size::Const(_, span) => self.tokens.verbatim(*span),
                    Size::Var(name) => self.ident(*name),
                    Size::Any(span) if self.tokens.source_of(*span) == "_" => self.tokens.word(*span, "_"),
                    Size::Any(_) => nil(),
                };
                let close = self.tokens.sign("]");
                let level = if level >= TypeContext::Atom { TypeContext::Atom } else { TypeContext::Operand };
                concat(vec![open, size, close, self.ty(element, level)])
            }
            TypeKind::Error => self.tokens.verbatim(ty.span),
        }
    }

    fn arrow(&mut self, level: TypeContext, from: &Type, sign: &str, to: &Type) -> D {
        self.parenthesised(level > TypeContext::Top, |f| {
            let from = f.ty(from, TypeContext::Operand);
            let sign = if sign == "->" { f.tokens.sign("->") } else { f.lollipop() };
            let to = f.ty(to, TypeContext::Top);
            let whole = concat(vec![from, line(), sign, space(), to]);
            if level > TypeContext::Top { group(nest(whole)) } else { whole }
        })
    }

    /// `-o`, which is two tokens.
    fn lollipop(&mut self) -> D {
        let (minus, o) = (self.tokens.sign("-"), self.tokens.sign("o"));
        concat(vec![minus, o])
    }

    fn record_type(&mut self, fields: &[(Ident, Type)], rest: &Option<Option<Ident>>) -> D {
        let open = self.tokens.sign("{");
        let mut parts = Vec::new();
        for (i, (name, ty)) in fields.iter().enumerate() {
            if i > 0 {
                parts.extend([self.tokens.sign(","), line()]);
            }
            parts.extend([self.ident(*name), space(), self.tokens.sign(":"), space()]);
            let shown = self.ty(ty, TypeContext::Top);
            // A field's arrows break only if the field does not fit on its own line.
            let arrow = matches!(ty.kind, TypeKind::Fun(..) | TypeKind::Lin(..));
            parts.push(if arrow { group(nest(shown)) } else { shown });
        }
        match rest {
            Some(Some(row)) => parts.extend([line(), self.tokens.sign("|"), space(), self.ident(*row)]),
            Some(None) => {
                if !fields.is_empty() {
                    parts.extend([self.tokens.sign(","), line()]);
                }
                parts.push(self.tokens.sign(".."));
            }
            None => {}
        }
        let close = self.tokens.sign("}");
        group(concat(vec![open, nest(concat(vec![soft_line(), concat(parts)])), soft_line(), close]))
    }

    pub(super) fn qualified(&mut self, module: Option<Ident>, name: Ident) -> D {
        match module {
            Some(module) => concat(vec![self.ident(module), self.tokens.sign("."), self.ident(name)]),
            None => self.ident(name),
        }
    }

    /// `open a, b close`, one element per line if they do not fit on one.
    pub(super) fn list<T>(&mut self, open: &str, all: &[T], close: &str, mut one: impl FnMut(&mut Self, &T) -> D) -> D {
        let open = self.tokens.sign(open);
        let mut parts = vec![soft_line()];
        for (i, x) in all.iter().enumerate() {
            if i > 0 {
                parts.extend([self.tokens.sign(","), line()]);
            }
            parts.push(one(self, x));
        }
        let inner = if all.is_empty() { nil() } else { concat(vec![nest(concat(parts)), soft_line()]) };
        group(concat(vec![open, inner, self.tokens.sign(close)]))
    }

    /// `span` without its parentheses.
    fn inner_span(&self, span: crate::span::Span) -> crate::span::Span {
        let source = self.tokens.source_of(span);
        let inside = source.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
        crate::span::Span { lo: span.hi - inside.len() as u32, ..span }
    }

    // Patterns.

    pub(super) fn pat(&mut self, pat: &Pat, level: TypeContext) -> D {
        super::guarded(|| self.pat_here(pat, level))
    }

    fn pat_here(&mut self, pat: &Pat, level: TypeContext) -> D {
        match &pat.kind {
            PatKind::Wild => self.tokens.word(self.inner_span(pat.span), "_"),
            PatKind::Var(name) => self.tokens.word(self.inner_span(pat.span), name.as_str()),
            PatKind::Lit(lit) => self.literal_pattern(pat, lit, level),
            PatKind::Tuple(parts) => self.list("(", parts, ")", |f, part| match &part.kind {
                PatKind::Ann(inner, ty) => f.annotated_pattern(inner, ty),
                _ => f.pat(part, TypeContext::Top),
            }),
            PatKind::Record(fields, open) => self.record_pattern(fields, *open),
            PatKind::Con(None, name, args) if self.tokens.source_of(name.span) == "::" && args.len() == 2 => self
                .parenthesised(level > TypeContext::Operand, |f| {
                    let head = f.pat(&args[0], TypeContext::Applied);
                    let sign = f.tokens.sign("::");
                    concat(vec![head, space(), sign, space(), f.pat(&args[1], TypeContext::Operand)])
                }),
            PatKind::Con(module, name, args) => {
                self.parenthesised(level >= TypeContext::Atom && !args.is_empty(), |f| {
                    let mut parts = vec![f.qualified(*module, *name)];
                    for arg in args {
                        parts.extend([space(), f.pat(arg, TypeContext::Atom)]);
                    }
                    concat(parts)
                })
            }
            PatKind::Array(parts) => self.list("[", parts, "]", |f, part| f.pat(part, TypeContext::Top)),
            PatKind::As(inner, name) => self.parenthesised(level > TypeContext::Top, |f| {
                let unclear = match &inner.kind {
                    PatKind::As(..) => true,
                    PatKind::Or(all) => all.iter().any(|p| matches!(p.kind, PatKind::As(..))),
                    _ => false,
                };
                let inner = f.parenthesised(unclear, |f| f.pat(inner, TypeContext::Top));
                concat(vec![inner, space(), f.tokens.sign("as"), space(), f.ident(*name)])
            }),
            PatKind::Or(all) => self.parenthesised(level > TypeContext::Top, |f| f.alternatives(all)),
            PatKind::Ann(inner, ty) => {
                let open = self.tokens.sign("(");
                let inner = self.annotated_pattern(inner, ty);
                concat(vec![open, inner, self.tokens.sign(")")])
            }
            PatKind::Error => self.tokens.verbatim(pat.span),
        }
    }

    fn alternatives(&mut self, all: &[Pat]) -> D {
        let mut parts = Vec::new();
        for (i, pat) in all.iter().enumerate() {
            if i > 0 {
                parts.extend([line(), self.tokens.sign("|"), space()]);
            }
            // Parentheses distinguish an alternative with a name from a name for the whole pattern.
            parts.push(self.pat(pat, TypeContext::Operand));
        }
        group(concat(parts))
    }

    fn annotated_pattern(&mut self, inner: &Pat, ty: &Type) -> D {
        let inner = self.pat(inner, TypeContext::Top);
        let colon = self.tokens.sign(":");
        concat(vec![inner, space(), colon, space(), self.ty(ty, TypeContext::Top)])
    }

    fn literal_pattern(&mut self, pat: &Pat, lit: &Lit, level: TypeContext) -> D {
        if *lit == Lit::Unit {
            return concat(vec![self.tokens.sign("("), self.tokens.sign(")")]);
        }
        let source = self.tokens.source_of(pat.span);
        let bare = source.trim_matches(|c: char| c == '(' || c == ')' || c.is_whitespace());
        let negative = bare.starts_with('-') && !matches!(lit, Lit::Str(_));
        if source.starts_with('(') || negative {
            let lo = pat.span.lo + source.find(bare).unwrap_or(0) as u32;
            let span = crate::span::Span { lo, hi: lo + bare.len() as u32, ..pat.span };
            return self.parenthesised(negative && level >= TypeContext::Atom, |f| f.number(span));
        }
        self.number(pat.span)
    }

    /// A literal as written, except that `1.` becomes `1.0`.
    pub(super) fn number(&mut self, span: crate::span::Span) -> D {
        let source = self.tokens.source_of(span);
        if source.ends_with('.') {
            let shown = format!("{source}0");
            return self.tokens.word(span, &shown);
        }
        self.tokens.verbatim(span)
    }

    fn record_pattern(&mut self, fields: &[(Ident, Pat)], open: bool) -> D {
        let brace = self.tokens.sign("{");
        let mut parts = Vec::new();
        for (i, (name, pat)) in fields.iter().enumerate() {
            if i > 0 {
                parts.extend([self.tokens.sign(","), line()]);
            }
            parts.push(self.ident(*name));
            let punned = matches!(pat.kind, PatKind::Var(v) if v == name.name);
            if !punned {
                parts.extend([space(), self.tokens.sign("="), space(), self.pat(pat, TypeContext::Top)]);
            }
        }
        if open {
            if !fields.is_empty() {
                parts.extend([self.tokens.sign(","), line()]);
            }
            parts.push(self.tokens.sign(".."));
        }
        let close = self.tokens.sign("}");
        group(concat(vec![brace, nest(concat(vec![soft_line(), concat(parts)])), soft_line(), close]))
    }

    pub(super) fn params(&mut self, params: &[Pat]) -> D {
        let docs: Vec<D> = params.iter().map(|p| concat(vec![line(), self.pat(p, TypeContext::Atom)])).collect();
        if docs.is_empty() { text("") } else { group(nest(nest(concat(docs)))) }
    }
}
