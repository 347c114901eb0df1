//! Operands: literals, names, brackets, f-strings, and their postfix forms.

use super::Parser;
use super::expressions::binary;
use crate::ast::{Change, Expr, ExprKind, Ident, IndexArg, Lit, PathStep, Slice, Stmt};
use crate::errors::{expressions as errors, foreign_syntax, layout as layout_errors};
use crate::span::Span;
use crate::symbol::Symbol;
use crate::token::{Kw, P, Tok};

impl Parser<'_> {
    /// An atom followed by its `.field`s and `[index]`es.
    pub(super) fn postfix(&mut self) -> Expr {
        let mut base = self.atom();
        loop {
            base = match self.peek() {
                Tok::P(P::Dot) if self.at_composition() => return self.composition(base),
                Tok::P(P::Dot) => self.field(base),
                Tok::P(P::LBracket) if !self.raw().space_before => self.index(base),
                _ => return base,
            };
            if self.panic {
                return base;
            }
            self.grow();
        }
    }

    fn field(&mut self, base: Expr) -> Expr {
        self.bump();
        let name = match self.peek() {
            Tok::Ident(name) => Ident { name, span: self.bump() },
            Tok::Con(name) => {
                let name = Ident { name, span: self.bump() };
                if let ExprKind::Con(None, module) = base.kind {
                    return Expr { kind: ExprKind::Con(Some(module), name), span: base.span.to(name.span) };
                }
                name
            }
            Tok::Int(_) | Tok::Float(_) => {
                let at = self.bump();
                self.report(match base.kind {
                    ExprKind::Lit(_) => errors::field_of_number(at),
                    _ => errors::tuple_place(at),
                });
                return base;
            }
            Tok::P(P::LParen | P::LBracket) => {
                let at = self.here();
                self.fail(errors::foreign_index(at));
                return base;
            }
            Tok::P(P::Star | P::Slash | P::Plus | P::Minus | P::Caret) if !self.raw().space_before => {
                let at = self.previous_span().to(self.here());
                self.fail(foreign_syntax::foreign_operator(at, self.source(at)));
                return base;
            }
            _ => {
                self.wanted("E0110", "a field's name");
                return base;
            }
        };
        Expr { span: base.span.to(name.span), kind: ExprKind::Field(Box::new(base), name) }
    }

    fn index(&mut self, base: Expr) -> Expr {
        let (arguments, _) = self.index_arguments();
        Expr { span: self.since(base.span), kind: ExprKind::Index(Box::new(base), arguments) }
    }

    /// `[i, a:b]`.
    fn index_arguments(&mut self) -> (Vec<IndexArg>, Span) {
        let open = self.bump();
        let arguments = self.in_brackets(open, P::RBracket, |p| p.comma_separated(P::RBracket, Self::index_argument));
        let at = self.since(open);
        if arguments.is_empty() && !self.panic {
            self.report(errors::wanted("E0112", at, "an index", "`[`", Some("`]`")));
        }
        (arguments, at)
    }

    fn index_argument(&mut self) -> IndexArg {
        let from = self.slice_part();
        if !self.at(P::Colon) && !self.at(P::Cons) {
            if from.is_none() {
                self.wanted("E0112", "an index");
            }
            return IndexArg::At(from.unwrap_or_else(|| self.error_expr()));
        }
        let both = self.at(P::Cons);
        self.bump();
        let to = if both { None } else { self.slice_part() };
        let stepped = both || self.eat(P::Colon);
        let step = if stepped { self.slice_part() } else { None };
        if stepped && step.is_none() {
            self.wanted("E0112", "a step");
        } else if self.at(P::Colon) || self.at(P::Cons) {
            let at = self.here();
            self.fail(errors::slice_colons(at));
        }
        IndexArg::Slice(Box::new(Slice { from, to, step }))
    }

    /// An index or a part of a slice, if there is one before the next colon or the end.
    fn slice_part(&mut self) -> Option<Expr> {
        if matches!(self.peek(), Tok::P(P::Colon | P::Cons | P::Comma | P::RBracket)) {
            return None;
        }
        let before = std::mem::replace(&mut self.slicing, true);
        let part = self.expr();
        self.slicing = before;
        Some(part)
    }

    pub(super) fn atom(&mut self) -> Expr {
        let start = self.here();
        let kind = match self.peek() {
            Tok::Ident(name) => self.leaf(ExprKind::Var(name)),
            Tok::Con(name) => {
                let span = self.bump();
                ExprKind::Con(None, Ident { name, span })
            }
            Tok::Int(magnitude) => {
                let span = self.bump();
                ExprKind::Lit(self.int(magnitude, span))
            }
            Tok::Float(value) => self.leaf(ExprKind::Lit(Lit::Float(value))),
            Tok::F32(value) => self.leaf(ExprKind::Lit(Lit::F32(value))),
            Tok::Kw(Kw::True) => self.leaf(ExprKind::Lit(Lit::Bool(true))),
            Tok::Kw(Kw::False) => self.leaf(ExprKind::Lit(Lit::Bool(false))),
            Tok::Str(id) => self.leaf(ExprKind::Lit(Lit::Str(self.string(id)))),
            Tok::FStart => self.interpolated(),
            Tok::P(P::LParen) => self.parenthesised(),
            Tok::P(P::LBracket) => self.array(),
            Tok::P(P::LIverson) => self.iverson(),
            Tok::P(P::LBrace) => self.braces(),
            _ => return self.no_atom(),
        };
        Expr { kind, span: self.since(start) }
    }

    fn leaf(&mut self, kind: ExprKind) -> ExprKind {
        self.bump();
        kind
    }

    fn no_atom(&mut self) -> Expr {
        let error = self.error_expr();
        match self.peek() {
            Tok::P(P::Eq | P::Lt | P::Append) if self.doubled_sign() => {
                let at = self.previous_span().to(self.here());
                self.fail(foreign_syntax::foreign_operator(at, self.source(at)));
            }
            _ if self.at_increment() => {
                let at = self.previous_span();
                self.fail(foreign_syntax::counted_up(at));
            }
            Tok::P(p @ (P::StarStar | P::ColonEq | P::LtGt | P::Amp | P::Dollar)) => {
                let at = self.here();
                self.fail(foreign_syntax::foreign_operator(at, p.text()));
            }
            Tok::P(P::At | P::Caret) if self.doubled_operator() => {}
            Tok::P(P::Eq) if self.operator_before() => {
                let at = self.previous_span().to(self.here());
                self.fail(foreign_syntax::foreign_operator(at, self.source(at)));
            }
            Tok::Kw(Kw::While) => {
                let at = self.here();
                self.fail(errors::bare_while(at));
            }
            Tok::P(p) if p.closes() && self.previous().is_none_or(|t| t.line_start && t.tok != Tok::P(p)) => {
                self.unexpected();
            }
            _ => self.wanted("E0112", "an expression"),
        }
        error
    }

    /// Whether an arithmetic operator immediately precedes the next token, as in `+=`.
    pub(super) fn operator_before(&self) -> bool {
        let before = self.previous().map(|t| t.tok);
        !self.raw().space_before && matches!(before, Some(Tok::P(P::Plus | P::Minus | P::Star | P::Slash)))
    }

    // Brackets.

    /// Runs `f` between `open` (already read) and `closer`.
    pub(super) fn in_brackets<T>(&mut self, open: Span, closer: P, f: impl FnOnce(&mut Self) -> T) -> T {
        self.layout.open_bracket();
        let (no_for, slicing) = (std::mem::take(&mut self.no_for), std::mem::take(&mut self.slicing));
        let result = f(self);
        self.close_bracket(open, closer);
        (self.no_for, self.slicing) = (no_for, slicing);
        self.layout.close();
        result
    }

    fn close_bracket(&mut self, open: Span, closer: P) {
        if self.eat(closer) || self.panic {
            return;
        }
        let (at, found, opened) = (self.here(), self.found(), self.source(open));
        let diagnostic = match self.peek() {
            Tok::P(p) if p.closes() => layout_errors::mismatched(open, opened, closer.text(), at, p.text()),
            Tok::End => layout_errors::unclosed(open, opened, closer.text(), at, &found),
            _ if self.looks_like_slice(open, closer) => errors::slice_in_array(at, open),
            Tok::P(P::Semi | P::Comma) if closer == P::RIverson => foreign_syntax::array_in_iverson(at, open),
            Tok::P(P::DotDot | P::Colon) if closer == P::RBracket => {
                errors::range_in_brackets(at, found.trim_matches('`'), self.is_index(open))
            }
            Tok::P(P::Star) => errors::product_type(at),
            _ => {
                let what =
                    if closer == P::RIverson { "`|]`".to_owned() } else { format!("`,` or `{}`", closer.text()) };
                let mut d = errors::wanted("E0110", at, &what, &self.after(), Some(&found))
                    .also(open, format!("inside this `{opened}`"));
                d.hint = d.hint.or_else(|| self.hint_for_unwanted("E0110", &what, &found));
                d
            }
        };
        self.fail(diagnostic);
    }

    /// `a, b, c` up to `closer`, which is not consumed. A trailing comma is allowed.
    pub(super) fn comma_separated<T>(&mut self, closer: P, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut all = Vec::new();
        let mut said = false;
        while !self.at(closer) && self.peek() != Tok::End {
            all.push(one(self));
            if self.at(P::Semi) && closer != P::RParen {
                let at = self.bump();
                if !std::mem::replace(&mut said, true) {
                    self.report(errors::list_semicolon(at));
                }
            } else if !self.eat(P::Comma) {
                break;
            }
        }
        all
    }

    fn array(&mut self) -> ExprKind {
        let (open, said) = (self.bump(), self.diagnostics.len());
        let parts = self.in_brackets(open, P::RBracket, |p| p.comma_separated(P::RBracket, Self::expr));
        if !self.panic && self.rows_without_commas(&parts, self.since(open), said) {
            return ExprKind::Error;
        }
        ExprKind::Array(parts)
    }

    fn iverson(&mut self) -> ExprKind {
        let open = self.bump();
        let condition = self.in_brackets(open, P::RIverson, Self::expr);
        ExprKind::Iverson(Box::new(condition))
    }

    fn parenthesised(&mut self) -> ExprKind {
        let open = self.bump();
        self.in_brackets(open, P::RParen, Self::inside_parentheses)
    }

    fn inside_parentheses(&mut self) -> ExprKind {
        if self.at(P::RParen) {
            return ExprKind::Lit(Lit::Unit);
        }
        if let Some(power) = binary(self.peek()) {
            if self.raw_at(1).tok == Tok::P(P::RParen) {
                self.bump();
                return ExprKind::Section(power.op);
            }
            if self.peek() != Tok::P(P::Minus) {
                let at = self.bump();
                self.fail(errors::partial_section(at, power.op.text()));
                return ExprKind::Error;
            }
        }
        let first = self.annotated();
        match self.peek() {
            Tok::P(P::RParen) if matches!(first.kind, ExprKind::Ann(..)) => first.kind,
            Tok::P(P::Comma) => self.tuple(first),
            Tok::P(P::Semi) => self.sequence(first),
            _ => ExprKind::Paren(Box::new(first)),
        }
    }

    /// `e` or `e : T`, in parentheses.
    fn annotated(&mut self) -> Expr {
        let expr = self.expr();
        if !self.eat(P::Colon) {
            return expr;
        }
        let signature = self.signature();
        self.grow();
        Expr { span: self.since(expr.span), kind: ExprKind::Ann(Box::new(expr), signature) }
    }

    fn tuple(&mut self, first: Expr) -> ExprKind {
        self.bump();
        let mut parts = vec![first];
        parts.extend(self.comma_separated(P::RParen, Self::annotated));
        if parts.len() == 1 && self.at(P::RParen) {
            let at = self.here();
            self.report(errors::wanted("E0112", at, "an expression", "`,`", Some("`)`")));
        }
        ExprKind::Tuple(parts)
    }

    /// `(e1; e2)`.
    fn sequence(&mut self, first: Expr) -> ExprKind {
        let start = first.span;
        let mut stmts = vec![Stmt::Expr(first)];
        while self.eat(P::Semi) {
            if !self.starts_expression() {
                break;
            }
            match self.expr() {
                Expr { kind: ExprKind::Block(more), .. } => stmts.extend(more),
                other => stmts.push(Stmt::Expr(other)),
            }
        }
        self.grow();
        let span = self.since(start);
        ExprKind::Paren(Box::new(Expr { kind: ExprKind::Block(stmts), span }))
    }

    // Records.

    fn braces(&mut self) -> ExprKind {
        let open = self.bump();
        self.in_brackets(open, P::RBrace, Self::inside_braces)
    }

    fn inside_braces(&mut self) -> ExprKind {
        let names_field = matches!(self.peek(), Tok::Ident(_))
            && matches!(self.raw_at(1).tok, Tok::P(P::Eq | P::Comma | P::RBrace | P::Colon | P::Semi));
        if names_field || self.at(P::RBrace) {
            return ExprKind::Record(self.record_fields());
        }
        let base = self.expr();
        if self.at(P::Colon) && matches!(base.kind, ExprKind::Lit(Lit::Str(_))) {
            let at = self.here();
            self.fail(errors::text_as_field(at));
        }
        if self.expect_kw(Kw::With) {
            return ExprKind::Update(Box::new(base), self.changes());
        }
        ExprKind::Update(Box::new(base), Vec::new())
    }

    fn record_fields(&mut self) -> Vec<(Ident, Expr)> {
        let mut fields = Vec::new();
        let before = self.diagnostics.len();
        while let Tok::Ident(name) = self.peek() {
            let name = Ident { name, span: self.bump() };
            let value = self.record_value(name, before);
            fields.push((name, value));
            if !self.record_separator(before) {
                break;
            }
        }
        self.another_part_before_brace("a field's name");
        fields
    }

    /// Behind a comma or `with`, a part of a record must follow unless the brace closes.
    fn another_part_before_brace(&mut self, expected: &str) {
        if !self.at(P::RBrace) && matches!(self.previous().map(|t| t.tok), Some(Tok::P(P::Comma) | Tok::Kw(Kw::With))) {
            self.wanted("E0110", expected);
        }
    }

    /// The changes after `with`.
    fn changes(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        let before = self.diagnostics.len();
        while matches!(self.peek(), Tok::Ident(_) | Tok::P(P::LBracket)) {
            let place = self.place();
            let value = match place.as_slice() {
                _ if self.panic => break,
                [PathStep::Field(name)] => self.record_value(*name, before),
                _ if self.eat(P::Eq) => self.expr(),
                _ => {
                    self.wanted("E0110", "`=`");
                    self.error_expr()
                }
            };
            changes.push(Change { place, value });
            if !self.record_separator(before) {
                break;
            }
        }
        self.another_part_before_brace("a field's name or `[`");
        changes
    }

    /// `w.x[i, j]`, the path to the part that an update replaces.
    fn place(&mut self) -> Vec<PathStep> {
        let mut place = Vec::new();
        loop {
            match self.peek() {
                Tok::Ident(name) if place.is_empty() => place.push(PathStep::Field(Ident { name, span: self.bump() })),
                Tok::P(P::LBracket) => {
                    let (args, span) = self.index_arguments();
                    place.push(PathStep::At(args, span));
                }
                Tok::P(P::Dot) if !place.is_empty() => {
                    self.bump();
                    match self.peek() {
                        Tok::Ident(name) => place.push(PathStep::Field(Ident { name, span: self.bump() })),
                        _ => self.wanted("E0110", "a field's name"),
                    }
                }
                _ => return place,
            }
            if self.panic {
                return place;
            }
        }
    }

    /// Consumes the `,` between fields. Foreign syntax is reported once per record: not if there are more errors than
    /// `before`.
    pub(super) fn record_separator(&mut self, before: usize) -> bool {
        if !self.at(P::Semi) {
            return self.eat(P::Comma);
        }
        let at = self.bump();
        if self.diagnostics.len() == before {
            self.report(errors::record_semicolon(at));
        }
        true
    }

    fn record_value(&mut self, name: Ident, before: usize) -> Expr {
        if self.at(P::Colon) {
            let at = self.bump();
            if self.diagnostics.len() == before {
                self.report(errors::record_colon(at));
            }
            return self.expr();
        }
        if self.at(P::Dot) {
            let at = self.here();
            self.fail(errors::nested_update(at, name.name.as_str()));
        }
        if self.eat(P::Eq) { self.expr() } else { Expr { kind: ExprKind::Var(name.name), span: name.span } }
    }

    /// A constructor or module name, with or without a preceding `M.`.
    pub(super) fn qualified(&mut self, name: Symbol) -> (Option<Ident>, Ident) {
        let first = Ident { name, span: self.bump() };
        if self.at(P::Dot)
            && let Tok::Con(name) = self.raw_at(1).tok
        {
            self.bump();
            return (Some(first), Ident { name, span: self.bump() });
        }
        (None, first)
    }
}
