//! Operators and application.

use super::Parser;
use crate::ast::{BinOp, Expr, ExprKind, Lit};
use crate::errors::{expressions as errors, foreign_syntax, layout, lexical};
use crate::limits::parser_expressions::MAX_ARGUMENTS;
use crate::span::Span;
use crate::token::{Kw, P, Tok};

/// Binding power of an operator: the minimal power of its left operand (`left`) and of its right operand (`right`).
#[derive(Clone, Copy)]
pub(super) struct BindingPower {
    pub(super) op: BinOp,
    pub(super) left: u8,
    pub(super) right: u8,
}

/// Binding power of unary minus: looser than `^`, tighter than `*`.
const NEGATION: u8 = 12;
/// The lowest binding power in a `for` bound, so that `<` in `i < n, ...` does not become a comparison.
pub(super) const ABOVE_COMPARISON: u8 = 7;
const COMPARISON: u8 = 6;
/// Binding power of the right operand of `\`, which solves linear systems in other languages.
pub(super) const LEFT_DIVISION: u8 = 11;

pub(super) fn binary(tok: Tok) -> Option<BindingPower> {
    let Tok::P(p) = tok else { return None };
    let (op, left, right) = match p {
        P::PipeLeft => (BinOp::PipeLeft, 1, 1),
        P::PipeRight => (BinOp::PipeRight, 2, 3),
        P::Compose => (BinOp::Compose, 3, 4),
        P::OrOr => (BinOp::Or, 4, 5),
        P::AndAnd => (BinOp::And, 5, 6),
        P::DotOr => (BinOp::OrEach, 4, 5),
        P::DotAnd => (BinOp::AndEach, 5, 6),
        P::DotEq => (BinOp::EqEach, COMPARISON, 7),
        P::DotNe => (BinOp::NeEach, COMPARISON, 7),
        P::DotLt => (BinOp::LtEach, COMPARISON, 7),
        P::DotGt => (BinOp::GtEach, COMPARISON, 7),
        P::DotLe => (BinOp::LeEach, COMPARISON, 7),
        P::DotGe => (BinOp::GeEach, COMPARISON, 7),
        P::EqEq => (BinOp::Eq, COMPARISON, 7),
        P::Ne => (BinOp::Ne, COMPARISON, 7),
        P::Lt => (BinOp::Lt, COMPARISON, 7),
        P::Gt => (BinOp::Gt, COMPARISON, 7),
        P::Le => (BinOp::Le, COMPARISON, 7),
        P::Ge => (BinOp::Ge, COMPARISON, 7),
        P::Cons => (BinOp::Cons, 7, 7),
        P::Append => (BinOp::Append, 8, 8),
        P::Plus => (BinOp::Add, 9, 10),
        P::Minus => (BinOp::Sub, 9, 10),
        P::Star => (BinOp::Mul, 10, 11),
        P::Slash => (BinOp::Div, 10, 11),
        P::SlashSlash => (BinOp::IntDiv, 10, 11),
        P::Percent => (BinOp::Rem, 10, 11),
        P::At => (BinOp::MatMul, 10, 11),
        P::Caret => (BinOp::Pow, 13, 12),
        P::LParen
        | P::RParen
        | P::LBracket
        | P::RBracket
        | P::LBrace
        | P::RBrace
        | P::LIverson
        | P::RIverson
        | P::Comma
        | P::Semi
        | P::SemiSemi
        | P::Dot
        | P::DotDot
        | P::Colon
        | P::Eq
        | P::Bar
        | P::Arrow
        | P::FatArrow
        | P::Backslash
        | P::StarStar
        | P::ColonEq
        | P::LtGt
        | P::Bang
        | P::Amp
        | P::Dollar => return None,
    };
    Some(BindingPower { op, left, right })
}

/// The adl operator for one of another language, with which parsing continues after the error.
fn foreign(tok: Tok) -> Option<BindingPower> {
    let Tok::P(p) = tok else { return None };
    let ours = match p {
        P::StarStar => P::Caret,
        P::LtGt => P::Ne,
        P::Amp => P::AndAnd,
        P::Dollar => P::PipeLeft,
        P::Eq => P::EqEq,
        _ => return None,
    };
    binary(Tok::P(ours))
}

impl Parser<'_> {
    pub(super) fn error_expr(&self) -> Expr {
        Expr { kind: ExprKind::Error, span: self.here() }
    }

    /// An expression.
    pub(super) fn expr(&mut self) -> Expr {
        self.deeper(|p| p.operators(0))
    }

    /// An expression whose operators bind at least as tightly as `min`.
    pub(super) fn expr_above(&mut self, min: u8) -> Expr {
        self.deeper(|p| p.operators(min))
    }

    fn operators(&mut self, min: u8) -> Expr {
        let mut left = self.operand();
        loop {
            let tok = self.peek();
            if let (Some(signs), 0) = (self.assignment_sign(), min) {
                return self.assignment(&left, signs);
            }
            if self.left_divides() && min <= LEFT_DIVISION {
                left = self.left_division(left);
                continue;
            }
            let Some(power) = binary(tok).or_else(|| foreign(tok)) else { return left };
            if power.left < min || self.assignment_sign().is_some() || self.slicing && tok == Tok::P(P::Cons) {
                return left;
            }
            if binary(tok).is_none() {
                self.foreign_operator(&left);
            } else if self.decorator() {
                return left;
            }
            let at = self.bump();
            self.show_operand();
            let right = self.expr_above(power.right);
            left = self.operation(power, at, left, right);
        }
    }

    /// After an operator at the end of a line, the operand may be in the column of the entries: no entry ends with an
    /// operator.
    fn show_operand(&mut self) {
        let token = self.raw();
        let in_column = self.layout.block().is_some_and(|block| !block.mid && token.col == block.col);
        let operand =
            starts_atom(token.tok) || self.starts_keyword_expression(token.tok) || token.tok == Tok::P(P::Minus);
        if token.line_start && in_column && operand && !self.panic {
            self.show_next();
        }
    }

    fn operation(&mut self, power: BindingPower, at: Span, left: Expr, right: Expr) -> Expr {
        if let ExprKind::Bin(op, first, ..) = &left.kind
            && power.left == COMPARISON
            && is_comparison(*op)
        {
            let first = *first;
            let diagnostic = self.with_foreign_hint(errors::comparison_chain(at, first));
            self.report(diagnostic);
        }
        self.grow();
        let span = left.span.to(right.span);
        Expr { kind: ExprKind::Bin(power.op, at, Box::new(left), Box::new(right)), span }
    }

    /// Reports `=`, `:=`, `**` ... after `left` and names the adl form.
    fn foreign_operator(&mut self, left: &Expr) {
        let token = self.raw();
        let at = self.span_of(&token);
        if let (ExprKind::Index(..), Tok::P(P::Eq)) = (&left.kind, token.tok)
            && left.span.lo == self.entry_start
        {
            return self.report(foreign_syntax::element_assignment(at, "="));
        }
        if token.tok == Tok::P(P::Eq) {
            if matches!(left.kind, ExprKind::Var(_)) && self.is_argument(left.span) {
                let d = errors::named_argument(at);
                return self.report(d);
            }
            if let (ExprKind::Con(None, name), true) = (&left.kind, left.span.lo == self.entry_start) {
                let d = errors::upper_definition(at, name.name.as_str());
                return self.report(d);
            }
            let target = match &left.kind {
                ExprKind::Var(name) if left.span.lo == self.entry_start => Some(name.as_str()),
                _ => None,
            };
            return self.report(errors::equals_in_expression(at, target));
        }
        let text = self.source(at);
        self.report(foreign_syntax::foreign_operator(at, text));
    }

    /// An operand of a binary operator.
    pub(super) fn operand(&mut self) -> Expr {
        match self.peek() {
            Tok::P(P::Dot) => match self.stray_point() {
                Some(expr) => expr,
                None => self.application(),
            },
            Tok::P(P::Minus) => self.negation(),
            Tok::P(P::Bang) => {
                let at = self.raw();
                let at = self.span_of(&at);
                self.report(foreign_syntax::foreign_operator(at, "!"));
                self.bump();
                self.expr_above(NEGATION)
            }
            tok if self.starts_keyword_expression(tok) || tok == Tok::Kw(Kw::Let) => self.keyword_expression(),
            _ => self.application(),
        }
    }

    fn negation(&mut self) -> Expr {
        let start = self.bump();
        if self.peek() == Tok::Int(1 << 63) && !matches!(self.visible(1), Tok::P(P::Caret | P::Dot)) {
            self.bump();
            return Expr { kind: ExprKind::Lit(Lit::Int(i64::MIN)), span: self.since(start) };
        }
        let operand = self.expr_above(NEGATION);
        self.grow();
        Expr { span: start.to(operand.span), kind: ExprKind::Neg(Box::new(operand)) }
    }

    /// `f a b`; the last argument may be `fun`, `for` and so on.
    fn application(&mut self) -> Expr {
        let function = self.apart(super::Parser::postfix);
        let mut arguments = Vec::new();
        loop {
            let tok = self.peek();
            if arguments.len() >= MAX_ARGUMENTS && starts_atom(tok) {
                let at = self.here();
                self.fail(layout::too_many_arguments(at, MAX_ARGUMENTS));
            }
            if self.panic || self.left_divides() || self.where_clause() {
                break;
            }
            if starts_atom(tok) {
                let argument = self.apart(super::Parser::postfix);
                arguments.push(argument);
            } else if self.starts_keyword_expression(tok) {
                let argument = self.apart(super::Parser::keyword_expression);
                arguments.push(argument);
                break;
            } else {
                break;
            }
        }
        let Some(last) = arguments.last() else { return function };
        let span = function.span.to(last.span);
        self.grow();
        Expr { kind: ExprKind::App(Box::new(function), arguments), span }
    }

    /// Whether `tok` begins a construct that extends as far as possible.
    fn starts_keyword_expression(&self, tok: Tok) -> bool {
        match tok {
            Tok::Kw(Kw::Fun | Kw::Lin | Kw::If | Kw::Match | Kw::Loop) | Tok::P(P::Backslash) => true,
            Tok::Kw(Kw::For) => !self.no_for,
            _ => false,
        }
    }

    pub(super) fn starts_expression(&self) -> bool {
        self.starts_with(self.peek())
    }

    /// Whether an expression can begin with `tok`.
    pub(super) fn starts_with(&self, tok: Tok) -> bool {
        starts_atom(tok)
            || self.starts_keyword_expression(tok)
            || matches!(tok, Tok::Kw(Kw::Let) | Tok::P(P::Minus | P::Bang))
    }

    /// An Int literal. The magnitude 2⁶³ is valid only after a minus.
    pub(super) fn int(&mut self, magnitude: u64, span: Span) -> Lit {
        match i64::try_from(magnitude) {
            Ok(value) => Lit::Int(value),
            Err(_) => {
                self.report(lexical::int_too_large(span));
                Lit::Int(0)
            }
        }
    }
}

fn is_comparison(op: BinOp) -> bool {
    matches!(op, BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge)
        || matches!(op, BinOp::EqEach | BinOp::NeEach | BinOp::LtEach | BinOp::GtEach | BinOp::LeEach | BinOp::GeEach)
}

/// Whether `tok` begins an operand that may be an argument.
pub(super) fn starts_atom(tok: Tok) -> bool {
    match tok {
        Tok::Ident(_) | Tok::Con(_) | Tok::Int(_) | Tok::Float(_) | Tok::F32(_) | Tok::Str(_) | Tok::FStart => true,
        Tok::Kw(Kw::True | Kw::False) => true,
        Tok::P(p) => p.opens(),
        Tok::Kw(_) | Tok::FText(_) | Tok::FOpen | Tok::FClose | Tok::FEnd | Tok::Underscore | Tok::End => false,
    }
}
