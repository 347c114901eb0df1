//! `fun`, `lin`, `if`, `match`, `for`, `loop`.

use super::Parser;
use super::blocks::replace_by_error;
use super::expressions::ABOVE_COMPARISON;
use crate::ast::{Arm, Expr, ExprKind, Generator, LoopKind, Pat, PatKind};
use crate::errors::{expressions as errors, foreign_syntax};
use crate::span::Span;
use crate::token::{Kw, P, Tok};

/// What follows the start value of a loop.
pub(super) const HEAD_OF_LOOP: &str = "`for i < n do`, `for x in xs do` or `while c do`";
/// What follows the generators of a comprehension.
pub(super) const ARROW_OF_FOR: &str = "`->` and the elements of the result";

impl Parser<'_> {
    /// One of the constructs that begin with a keyword and extend as far as possible.
    pub(super) fn keyword_expression(&mut self) -> Expr {
        let start = self.here();
        let kind = match self.peek() {
            Tok::Kw(Kw::Let) => return self.let_expression(),
            Tok::Kw(Kw::Fun) => self.function(),
            Tok::P(P::Backslash) => {
                self.report(foreign_syntax::foreign_operator(start, "\\"));
                self.function()
            }
            Tok::Kw(Kw::Lin) => self.linear_function(),
            Tok::Kw(Kw::If) => self.conditional(),
            Tok::Kw(Kw::Match) => self.match_expression(),
            Tok::Kw(Kw::For) => self.comprehension(),
            Tok::Kw(Kw::Loop) => self.loop_expression(),
            _ => return self.error_expr(),
        };
        Expr { kind, span: self.since(start) }
    }

    fn parameters(&mut self, word: &str) -> Vec<Pat> {
        let mut params = Vec::new();
        while self.starts_pattern_atom() {
            params.push(self.pattern_atom());
        }
        if params.is_empty() && self.at(P::Arrow) {
            let at = self.here();
            self.report(errors::no_parameters(at, word));
            params.push(Pat { kind: PatKind::Error, span: at });
        }
        if params.is_empty() {
            self.wanted("E0110", "a parameter");
        } else {
            self.expect(P::Arrow);
        }
        params
    }

    fn function(&mut self) -> ExprKind {
        self.bump();
        let params = self.parameters("fun");
        ExprKind::Fun(params, Box::new(self.block()))
    }

    fn linear_function(&mut self) -> ExprKind {
        self.bump();
        let mut params = self.parameters("lin").into_iter();
        let error = Pat { kind: PatKind::Error, span: self.here() };
        let first = params.next().unwrap_or(error);
        if let Some(second) = params.next() {
            self.report(errors::lin_parameters(second.span));
        }
        ExprKind::Lin(Box::new(first), Box::new(self.block()))
    }

    fn conditional(&mut self) -> ExprKind {
        self.bump();
        let condition = self.expr();
        if !self.expect_kw(Kw::Then) {
            let (then, error) = (self.error_expr(), self.error_expr());
            return ExprKind::If(Box::new(condition), Box::new(then), Some(Box::new(error)));
        }
        let then = self.block();
        let otherwise = if self.eat_kw(Kw::Else) { Some(Box::new(self.block())) } else { None };
        ExprKind::If(Box::new(condition), Box::new(then), otherwise)
    }

    // match

    fn match_expression(&mut self) -> ExprKind {
        self.bump();
        let scrutinee = self.scrutinee();
        let mut arms = Vec::new();
        if self.expect_kw(Kw::With) {
            let with = self.previous_span();
            arms = self.arms();
            if arms.is_empty() && !self.panic {
                match self.raw().tok {
                    Tok::End => self.wanted("E0124", "a case `| pattern -> value`"),
                    _ => self.fail(errors::no_arms(with)),
                }
            }
        }
        ExprKind::Match(Box::new(scrutinee), arms)
    }

    /// `e`, or `a, b` for a tuple.
    fn scrutinee(&mut self) -> Expr {
        let first = self.expr();
        if !self.at(P::Comma) {
            return first;
        }
        let start = first.span;
        let mut parts = vec![first];
        while self.eat(P::Comma) {
            parts.push(self.expr());
        }
        self.grow();
        Expr { kind: ExprKind::Tuple(parts), span: self.since(start) }
    }

    /// The cases of a `match`. The first `|` that begins a line fixes their column; a `|` further left belongs to an
    /// enclosing `match`.
    fn arms(&mut self) -> Vec<Arm> {
        let mut arms = Vec::new();
        let mut column = None;
        loop {
            let token = self.raw();
            if self.at(P::Bar) {
                if token.line_start && column.is_some_and(|c| token.col < c) {
                    break;
                }
                if token.line_start {
                    column.get_or_insert(token.col);
                }
                self.bump();
            } else if arms.is_empty() && !self.starts_pattern() {
                break;
            } else if !arms.is_empty() {
                if !self.is_missing_bar() {
                    break;
                }
                let at = self.here();
                self.report(errors::missing_bar(at));
            }
            let mut arm = self.arm(column);
            if self.panic {
                replace_by_error(&mut arm.body);
            }
            arms.push(arm);
            if self.panic && !self.recover_in_arms(column) {
                break;
            }
        }
        arms
    }

    /// Whether a line begins here that must be a case without its `|`.
    fn is_missing_bar(&self) -> bool {
        self.raw().line_start && self.starts_pattern() && {
            let ahead = (0..8).map(|i| self.raw_at(i));
            let mut line = ahead.enumerate().take_while(|(i, t)| *i == 0 || !t.line_start);
            line.any(|(_, t)| t.tok == Tok::P(P::Arrow))
        }
    }

    fn arm(&mut self, column: Option<u32>) -> Arm {
        let pat = self.pattern_with_commas();
        let former = self.layout.set_bar(column);
        let guard = if self.eat_kw(Kw::When) { Some(self.expr()) } else { None };
        let body = if self.expect(P::Arrow) { self.block() } else { self.error_expr() };
        self.layout.restore_bar(former);
        Arm { pat, guard, body }
    }

    /// Skips to the next case in `column`.
    fn recover_in_arms(&mut self, column: Option<u32>) -> bool {
        let Some(column) = column else { return false };
        loop {
            let token = self.raw();
            if matches!(token.tok, Tok::End | Tok::P(P::SemiSemi)) || (token.line_start && token.col < column) {
                return false;
            }
            if token.line_start && token.col == column {
                self.panic = token.tok != Tok::P(P::Bar);
                return !self.panic;
            }
            self.pos += 1;
        }
    }

    // for, loop

    fn comprehension(&mut self) -> ExprKind {
        self.bump();
        let mut generators = vec![self.generator()];
        while self.eat(P::Comma) {
            generators.push(self.generator());
        }
        let arrow = self.at(P::Arrow) || self.at(P::FatArrow);
        if !arrow {
            self.wanted("E0110", ARROW_OF_FOR);
        }
        let body = if arrow && self.expect(P::Arrow) { self.block() } else { self.error_expr() };
        ExprKind::For(generators, Box::new(body))
    }

    fn generator(&mut self) -> Generator {
        if self.begins_element() {
            let (pat, source) = self.elements();
            return Generator::Element(pat, source);
        }
        let name = self.index_name();
        let bound = if self.for_bound() { Some(self.expr_above(ABOVE_COMPARISON)) } else { None };
        Generator::Index(name, bound)
    }

    /// Whether a pattern for elements comes next: a name is one only before `in` and within a larger pattern.
    fn begins_element(&self) -> bool {
        match self.peek() {
            Tok::Ident(_) | Tok::Underscore => {
                matches!(self.visible(1), Tok::Kw(Kw::In | Kw::As) | Tok::P(P::Cons | P::Bar))
            }
            Tok::Con(_) | Tok::P(P::LParen | P::LBrace | P::LBracket) => true,
            _ => false,
        }
    }

    /// `p in e`.
    fn elements(&mut self) -> (Pat, Expr) {
        if self.at_foreign_head() {
            let at = self.here();
            self.fail(foreign_syntax::head_of_for(at));
        }
        let pat = self.pattern();
        if !self.at_kw(Kw::In) {
            self.foreign_generator();
            self.wanted("E0110", "`in`");
        }
        self.bump();
        let source = self.expr();
        if let Some(sign) = self.range_sign(&source) {
            let at = self.here();
            self.fail(foreign_syntax::range_in_for(at, sign));
        }
        (pat, source)
    }

    /// Consumes the `<` of a bound. Other signs and words in its place are errors.
    fn for_bound(&mut self) -> bool {
        self.foreign_generator();
        self.eat(P::Lt)
    }

    fn loop_expression(&mut self) -> ExprKind {
        let start = self.bump();
        let indent = self.previous().map_or(0, |t| t.indent);
        if self.at_kw(Kw::For) || self.at_kw(Kw::While) {
            let at = self.here();
            self.fail(foreign_syntax::loop_without_value(at));
        }
        let pat = self.pattern_with_commas();
        let init = if self.expect(P::Eq) { self.loop_start() } else { self.error_expr() };
        let kind = self.loop_kind(start, indent);
        let body = if self.expect_kw(Kw::Do) { self.block() } else { self.error_expr() };
        ExprKind::Loop(Box::new(pat), Box::new(init), kind, Box::new(body))
    }

    fn loop_start(&mut self) -> Expr {
        let no_for = std::mem::replace(&mut self.no_for, true);
        let init = self.block();
        self.no_for = no_for;
        init
    }

    /// `for i < n`, `for p in e` or `while c`, which may begin a line in the column of the loop itself.
    fn loop_kind(&mut self, start: Span, indent: u32) -> LoopKind {
        let token = self.raw();
        let word = matches!(token.tok, Tok::Kw(Kw::For | Kw::While));
        if !self.panic && word && token.line_start && token.col >= indent && token.col > 0 {
            self.show_next();
        }
        if self.eat_kw(Kw::While) {
            return LoopKind::While(Box::new(self.expr()));
        }
        if !self.eat_kw(Kw::For) {
            self.wanted("E0110", HEAD_OF_LOOP);
            let error = Expr { kind: ExprKind::Error, span: start };
            return LoopKind::While(Box::new(error));
        }
        if self.begins_element() {
            let (pat, source) = self.elements();
            return LoopKind::In(pat, Box::new(source));
        }
        let name = self.index_name();
        if self.for_bound() {
            return LoopKind::For(name, Box::new(self.expr_above(ABOVE_COMPARISON)));
        }
        self.wanted("E0110", "the loop's bound `< n`");
        LoopKind::For(name, Box::new(self.error_expr()))
    }
}
