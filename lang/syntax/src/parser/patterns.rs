//! Patterns.

use super::Parser;
use crate::ast::{Ident, Lit, Pat, PatKind};
use crate::errors::lexical;
use crate::span::Span;
use crate::symbol::Symbol;
use crate::token::{Kw, P, Tok};

impl Parser<'_> {
    pub(super) fn error_pattern(&self) -> Pat {
        Pat { kind: PatKind::Error, span: self.here() }
    }

    /// A pattern, or `a, b` for a tuple: in `let`, `match` and `loop`.
    pub(super) fn pattern_with_commas(&mut self) -> Pat {
        let first = self.pattern();
        if !self.at(P::Comma) {
            return first;
        }
        let start = first.span;
        let mut parts = vec![first];
        while self.eat(P::Comma) {
            parts.push(self.pattern());
        }
        self.grow();
        Pat { kind: PatKind::Tuple(parts), span: self.since(start) }
    }

    /// `parser | q as x`. A single `as` at the end names the whole pattern; several of them name one alternative each.
    pub(super) fn pattern(&mut self) -> Pat {
        self.deeper(|parser| {
            let start = parser.here();
            let mut all = vec![parser.cons_pattern()];
            let mut name = parser.as_name();
            while parser.eat(P::Bar) {
                if let Some(name) = name.take()
                    && let Some(last) = all.pop()
                {
                    all.push(parser.named_pattern(last, name));
                }
                all.push(parser.cons_pattern());
                name = parser.as_name();
            }
            let named = |pat: &Pat| matches!(pat.kind, PatKind::As(..));
            if let (Some(own), true) = (name, all.iter().any(named))
                && let Some(last) = all.pop()
            {
                all.push(parser.named_pattern(last, own));
                name = None;
            }
            let whole = parser.alternatives(all, start);
            name.into_iter().fold(whole, |whole, name| parser.named_pattern(whole, name))
        })
    }

    fn as_name(&mut self) -> Option<Ident> {
        if self.eat_kw(Kw::As) { self.ident("a name") } else { None }
    }

    fn named_pattern(&mut self, pat: Pat, name: Ident) -> Pat {
        self.grow();
        Pat { span: pat.span.to(name.span), kind: PatKind::As(Box::new(pat), name) }
    }

    fn alternatives(&mut self, mut all: Vec<Pat>, start: Span) -> Pat {
        match (all.len(), all.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                all.extend(last);
                self.grow();
                Pat { kind: PatKind::Or(all), span: self.since(start) }
            }
        }
    }

    /// `x :: xs`, which is `Cons x xs`.
    fn cons_pattern(&mut self) -> Pat {
        let head = self.applied_pattern();
        if !self.at(P::Cons) {
            return head;
        }
        let name = Ident { name: Symbol::new("Cons"), span: self.bump() };
        let tail = self.deeper(super::Parser::cons_pattern);
        self.grow();
        Pat { span: head.span.to(tail.span), kind: PatKind::Con(None, name, vec![head, tail]) }
    }

    fn applied_pattern(&mut self) -> Pat {
        let Tok::Con(name) = self.peek() else { return self.pattern_atom() };
        let start = self.here();
        let (module, name) = self.qualified(name);
        let mut fields = Vec::new();
        while self.starts_pattern_atom() || self.at_negative_number() {
            fields.push(self.pattern_atom());
        }
        self.grow();
        Pat { kind: PatKind::Con(module, name, fields), span: self.since(start) }
    }

    /// Whether a negative number comes as an argument: `Some -1`.
    fn at_negative_number(&self) -> bool {
        let number = self.raw_at(1);
        self.at(P::Minus) && !number.space_before && matches!(number.tok, Tok::Int(_) | Tok::Float(_) | Tok::F32(_))
    }

    pub(super) fn starts_pattern(&self) -> bool {
        self.starts_pattern_atom() || self.at(P::Minus)
    }

    pub(super) fn starts_pattern_atom(&self) -> bool {
        match self.peek() {
            Tok::Underscore | Tok::Ident(_) | Tok::Con(_) | Tok::Int(_) | Tok::Float(_) | Tok::F32(_) => true,
            Tok::Str(_) | Tok::Kw(Kw::True | Kw::False) | Tok::P(P::LParen | P::LBracket | P::LBrace) => true,
            Tok::P(_) | Tok::Kw(_) | Tok::FStart | Tok::FText(_) | Tok::FOpen | Tok::FClose | Tok::FEnd => false,
            Tok::End => false,
        }
    }

    /// A pattern that can be a parameter.
    pub(super) fn pattern_atom(&mut self) -> Pat {
        self.deeper(super::Parser::pattern_atom_here)
    }

    fn pattern_atom_here(&mut self) -> Pat {
        let start = self.here();
        let kind = match self.peek() {
            Tok::Underscore => self.pattern_leaf(PatKind::Wild),
            Tok::Ident(name) => self.pattern_leaf(PatKind::Var(name)),
            Tok::Con(name) => {
                let (module, name) = self.qualified(name);
                PatKind::Con(module, name, Vec::new())
            }
            Tok::P(P::Minus) => self.negative_literal(),
            Tok::Int(_) | Tok::Float(_) | Tok::F32(_) => PatKind::Lit(self.number(false)),
            Tok::Kw(Kw::True) => self.pattern_leaf(PatKind::Lit(Lit::Bool(true))),
            Tok::Kw(Kw::False) => self.pattern_leaf(PatKind::Lit(Lit::Bool(false))),
            Tok::Str(id) => self.pattern_leaf(PatKind::Lit(Lit::Str(self.string(id)))),
            Tok::P(P::LParen) => return self.parenthesised_pattern(),
            Tok::P(P::LBracket) => {
                let open = self.bump();
                PatKind::Array(self.in_brackets(open, P::RBracket, |p| p.comma_separated(P::RBracket, Self::pattern)))
            }
            Tok::P(P::LBrace) => {
                let open = self.bump();
                self.in_brackets(open, P::RBrace, Self::record_pattern)
            }
            _ => {
                self.wanted("E0128", "a pattern");
                return self.error_pattern();
            }
        };
        Pat { kind, span: self.since(start) }
    }

    fn pattern_leaf(&mut self, kind: PatKind) -> PatKind {
        self.bump();
        kind
    }

    fn negative_literal(&mut self) -> PatKind {
        self.bump();
        match self.peek() {
            Tok::Int(_) | Tok::Float(_) | Tok::F32(_) => PatKind::Lit(self.number(true)),
            _ => {
                self.wanted("E0128", "a number");
                PatKind::Error
            }
        }
    }

    fn number(&mut self, negative: bool) -> Lit {
        let tok = self.peek();
        let span = self.bump();
        match tok {
            Tok::Float(value) => Lit::Float(if negative { -value } else { value }),
            Tok::F32(value) => Lit::F32(if negative { -value } else { value }),
            Tok::Int(magnitude) => self.pattern_int(magnitude, negative, span),
            _ => Lit::Unit,
        }
    }

    fn pattern_int(&mut self, magnitude: u64, negative: bool, span: Span) -> Lit {
        let signed = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
        match i64::try_from(signed) {
            Ok(value) => Lit::Int(value),
            Err(_) => {
                self.report(lexical::int_too_large(span));
                Lit::Int(0)
            }
        }
    }

    /// `()`, `(p)`, `(p, q)`, `(p : T)`. Redundant parentheses leave no node, but are included in the pattern's span.
    fn parenthesised_pattern(&mut self) -> Pat {
        let open = self.bump();
        let kind = self.in_brackets(open, P::RParen, |p| {
            if p.at(P::RParen) {
                return PatKind::Lit(Lit::Unit);
            }
            let first = p.annotated_pattern();
            if !p.eat(P::Comma) {
                return first.kind;
            }
            let mut parts = vec![first];
            parts.extend(p.comma_separated(P::RParen, Self::annotated_pattern));
            PatKind::Tuple(parts)
        });
        Pat { kind, span: self.since(open) }
    }

    /// `p` or `p : T`, in brackets.
    fn annotated_pattern(&mut self) -> Pat {
        let pat = self.pattern();
        if !self.eat(P::Colon) {
            return pat;
        }
        let ty = self.ty();
        self.grow();
        Pat { span: self.since(pat.span), kind: PatKind::Ann(Box::new(pat), ty) }
    }

    /// OCaml's `{x; _}`.
    fn eat_wildcard_rest(&mut self) -> bool {
        let here = self.peek() == Tok::Underscore;
        if here {
            let at = self.bump();
            self.report(crate::errors::foreign_syntax::record_rest(at));
        }
        here
    }

    fn record_pattern(&mut self) -> PatKind {
        let mut fields = Vec::new();
        let before = self.diagnostics.len();
        loop {
            if self.eat(P::DotDot) || self.eat_wildcard_rest() {
                return PatKind::Record(fields, true);
            }
            let Tok::Ident(name) = self.peek() else { break };
            let name = Ident { name, span: self.bump() };
            let pat =
                if self.eat(P::Eq) { self.pattern() } else { Pat { kind: PatKind::Var(name.name), span: name.span } };
            fields.push((name, pat));
            if !self.record_separator(before) {
                break;
            }
        }
        PatKind::Record(fields, false)
    }
}
