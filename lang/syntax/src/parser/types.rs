//! Types and signatures.

use super::Parser;
use crate::ast::{Constraint, Ident, Signature, Size, Type, TypeKind};
use crate::errors::lexical;
use crate::symbol::Symbol;
use crate::token::{P, Tok};

/// The description of the sizes in an array type's brackets.
pub(super) const SIZE: &str = "a size (a number, a name, `_` or nothing)";

impl Parser<'_> {
    fn error_type(&self) -> Type {
        Type { kind: TypeKind::Error, span: self.here() }
    }

    /// `Diff w => Float -> w`.
    pub(super) fn signature(&mut self) -> Signature {
        let constraints = if self.has_constraints() { self.constraints() } else { Vec::new() };
        Signature { constraints, ty: self.ty() }
    }

    /// Whether constraints and `=>` come next: `C a =>`, `(C a, a @ b : c) =>`.
    fn has_constraints(&self) -> bool {
        if self.peek() == Tok::End {
            return false;
        }
        let first = usize::from(self.raw().tok == Tok::P(P::LParen));
        let class = matches!((self.raw_at(first).tok, self.raw_at(first + 1).tok), (Tok::Con(_), Tok::Ident(_)));
        let empty = first == 1 && self.raw_at(1).tok == Tok::P(P::RParen);
        let (mut depth, mut operator) = (0, false);
        for at in 0.. {
            match self.raw_at(at).tok {
                Tok::P(p) if p.opens() => depth += 1,
                Tok::P(p) if p.closes() && depth == 0 => return false,
                Tok::P(p) if p.closes() => depth -= 1,
                Tok::P(P::Colon) if depth <= first => operator = true,
                Tok::P(P::FatArrow) if depth == 0 => return class || operator || empty,
                Tok::End | Tok::P(P::Eq) => return false,
                Tok::P(P::Arrow) if depth == 0 => return false,
                _ => {}
            }
        }
        false
    }

    fn constraints(&mut self) -> Vec<Constraint> {
        let mut all = Vec::new();
        let in_parentheses = self.eat(P::LParen);
        while !self.at(P::RParen) && !self.at(P::FatArrow) && self.peek() != Tok::End {
            let Some(one) = self.constraint() else { return all };
            all.push(one);
            if !self.eat(P::Comma) {
                break;
            }
        }
        if in_parentheses {
            self.expect(P::RParen);
        }
        self.expect(P::FatArrow);
        all
    }

    /// `Diff a`, `a @ b : c` or `where a b c : d`.
    fn constraint(&mut self) -> Option<Constraint> {
        if let (Tok::Con(class), Tok::Ident(var), Tok::P(P::Comma | P::RParen | P::FatArrow)) =
            (self.peek(), self.raw_at(1).tok, self.raw_at(2).tok)
        {
            let class = Ident { name: class, span: self.bump() };
            return Some(Constraint::Class(class, Ident { name: var, span: self.bump() }));
        }
        let mut args = Vec::new();
        let named = match self.peek() {
            Tok::Ident(name) if self.operand_follows() => Some(Ident { name, span: self.bump() }),
            _ => None,
        };
        args.push(self.type_atom());
        let op = match named {
            Some(name) => {
                while self.starts_type_atom() {
                    args.push(self.type_atom());
                }
                name
            }
            None => {
                let op = self.constraint_operator()?;
                args.push(self.type_atom());
                op
            }
        };
        self.expect(P::Colon);
        Some(Constraint::Operator(op, args, self.applied_type()))
    }

    /// Whether the next name is that of an operation: an operand follows it.
    fn operand_follows(&self) -> bool {
        matches!(
            self.raw_at(1).tok,
            Tok::Con(_) | Tok::Ident(_) | Tok::Underscore | Tok::P(P::LParen | P::LBracket | P::LBrace)
        )
    }

    fn constraint_operator(&mut self) -> Option<Ident> {
        let Tok::P(p) = self.peek() else {
            self.wanted("E0110", "an operator");
            return None;
        };
        Some(Ident { name: Symbol::new(p.text()), span: self.bump() })
    }

    /// `a -> b`, `a -o b`, or an applied type.
    pub(super) fn ty(&mut self) -> Type {
        self.deeper(|parser| {
            let from = parser.applied_type();
            let linear = parser.at_lollipop();
            if !linear && !parser.at(P::Arrow) {
                return from;
            }
            parser.bump();
            if linear {
                parser.bump();
            }
            let to = parser.ty();
            parser.grow();
            let span = from.span.to(to.span);
            let (from, to) = (Box::new(from), Box::new(to));
            Type { kind: if linear { TypeKind::Lin(from, to) } else { TypeKind::Fun(from, to) }, span }
        })
    }

    /// Whether `-o` comes, which the lexer reads as a minus directly followed by the name `o`.
    fn at_lollipop(&self) -> bool {
        let next = self.raw_at(1);
        self.at(P::Minus) && !next.space_before && matches!(next.tok, Tok::Ident(o) if o.as_str() == "o")
    }

    /// A constructor with its arguments, or an atom.
    fn applied_type(&mut self) -> Type {
        let start = self.here();
        match self.peek() {
            Tok::Con(_) | Tok::Ident(_) if self.element_before_size() => self.size_behind_element(),
            Tok::Con(name) => {
                let (module, name) = self.qualified(name);
                let mut arguments = Vec::new();
                while self.starts_type_atom() {
                    arguments.push(self.type_atom());
                }
                self.grow();
                Type { kind: TypeKind::Con(module, name, arguments), span: self.since(start) }
            }
            Tok::P(P::LBracket) => self.array_type(Self::applied_type),
            _ => self.type_atom(),
        }
    }

    pub(super) fn starts_type_atom(&self) -> bool {
        matches!(
            self.peek(),
            Tok::Con(_) | Tok::Ident(_) | Tok::Underscore | Tok::P(P::LParen | P::LBracket | P::LBrace)
        )
    }

    /// A type that can be an argument.
    pub(super) fn type_atom(&mut self) -> Type {
        self.deeper(super::Parser::type_atom_here)
    }

    fn type_atom_here(&mut self) -> Type {
        let start = self.here();
        let kind = match self.peek() {
            Tok::Ident(name) => {
                let at = self.bump();
                if let Some(warning) = crate::errors::foreign_syntax::lower_case_type(at, name.as_str()) {
                    self.report(warning);
                }
                TypeKind::Var(name)
            }
            Tok::Underscore => {
                self.bump();
                TypeKind::Hole
            }
            Tok::Con(name) => {
                let (module, name) = self.qualified(name);
                TypeKind::Con(module, name, Vec::new())
            }
            Tok::P(P::LParen) => return self.parenthesised_type(),
            Tok::P(P::LBracket) => return self.array_type(Self::type_atom),
            Tok::P(P::LBrace) => {
                let open = self.bump();
                self.in_brackets(open, P::RBrace, Self::record_type)
            }
            _ => {
                self.wanted("E0129", "a type");
                return self.error_type();
            }
        };
        Type { kind, span: self.since(start) }
    }

    fn parenthesised_type(&mut self) -> Type {
        let open = self.bump();
        let mut parts = self.in_brackets(open, P::RParen, |p| p.comma_separated(P::RParen, Self::ty));
        let span = self.since(open);
        match (parts.len(), parts.pop()) {
            (1, Some(only)) => Type { span, ..only },
            (_, Some(last)) => {
                parts.push(last);
                Type { kind: TypeKind::Tuple(parts), span }
            }
            (_, None) => Type { kind: TypeKind::Tuple(parts), span },
        }
    }

    fn array_type(&mut self, element: fn(&mut Self) -> Type) -> Type {
        let open = self.bump();
        let size = self.in_brackets(open, P::RBracket, |p| p.size(open));
        let element = self.deeper(element);
        self.grow();
        Type { span: open.to(element.span), kind: TypeKind::Array(size, Box::new(element)) }
    }

    fn size(&mut self, open: crate::span::Span) -> Size {
        match self.peek() {
            Tok::Int(value) => {
                let span = self.bump();
                let value = i64::try_from(value).unwrap_or_else(|_| {
                    self.report(lexical::int_too_large(span));
                    0
                });
                Size::Const(value, span)
            }
            Tok::Ident(name) => Size::Var(Ident { name, span: self.bump() }),
            Tok::Underscore => Size::Any(self.bump()),
            Tok::P(P::RBracket) => Size::Any(open),
            _ => {
                self.wanted("E0129", SIZE);
                Size::Any(open)
            }
        }
    }

    /// `{x : a, y : b | r}`.
    fn record_type(&mut self) -> TypeKind {
        let mut fields = Vec::new();
        let before = self.diagnostics.len();
        loop {
            if self.eat(P::DotDot) {
                return TypeKind::Record(fields, Some(None));
            }
            let Tok::Ident(name) = self.peek() else { break };
            let name = Ident { name, span: self.bump() };
            if !self.expect(P::Colon) {
                break;
            }
            let ty = self.ty();
            fields.push((name, ty));
            if !self.record_separator(before) {
                break;
            }
        }
        let rest = if self.eat(P::Bar) { self.ident("a row variable").map(Some) } else { None };
        TypeKind::Record(fields, rest)
    }

    /// Whether `name` is the keyword that OCaml writes before a constructor's fields.
    pub(super) fn is_of(name: Symbol) -> bool {
        name.as_str() == "of"
    }
}
