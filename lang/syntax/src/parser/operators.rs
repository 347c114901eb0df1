//! Binary and unary operators by precedence climbing (language.md §3).

use super::{MAX_DEPTH, Parse, Parser};
use crate::ast::*;
use crate::errors::syntax as err;
use crate::token::Tok;

/// Level of an operator, loosest 1, and whether it groups to the right.
pub(crate) fn precedence(op: BinOp) -> (u8, bool) {
    match op {
        BinOp::PipeLeft => (1, true),
        BinOp::PipeRight => (2, false),
        BinOp::Compose => (3, false),
        BinOp::Or => (4, true),
        BinOp::And => (5, true),
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge => (6, false),
        BinOp::Cons => (7, true),
        BinOp::Append => (8, true),
        BinOp::Add | BinOp::Sub => (9, false),
        BinOp::Mul | BinOp::Div | BinOp::IntDiv | BinOp::Rem | BinOp::MatMul => (10, false),
        BinOp::Pow => (12, true),
    }
}

/// Above every comparison: the bound of `i < n`.
pub(super) const ABOVE_COMPARISON: u8 = 7;

impl Parser {
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.binary(1)
    }

    /// Operators of at least `level`.
    pub(super) fn binary(&mut self, level: u8) -> Parse<Expr> {
        let mut left = self.nested(Parser::unary)?;
        let mut chain = 0;
        let mut compared = false;
        while let Tok::Op(op) = self.peek().tok {
            let (prec, right) = precedence(op);
            if prec < level || prec == 12 {
                break;
            }
            let op_span = self.bump().span;
            if prec == 6 && compared {
                return self.fail(err::chained(op_span));
            }
            compared = prec == 6;
            chain += 1;
            if chain + self.depth > MAX_DEPTH {
                return self.fail(err::too_deep(op_span));
            }
            let next = if right { prec } else { prec + 1 };
            let after = format!("`{}`", op.text());
            let rhs = self.operand_after(&after, next)?;
            let span = left.span.to(rhs.span);
            left = Expr { kind: ExprKind::Bin(op, op_span, Box::new(left), Box::new(rhs)), span };
        }
        // Left-deep chains are as deep as they are long, and whoever walks the tree recurses.
        Ok(left)
    }

    fn operand_after(&mut self, after: &str, level: u8) -> Parse<Expr> {
        if self.peek().tok == Tok::End {
            let (span, found) = self.found();
            return self.fail(err::missing_expr(span, after, &found));
        }
        self.nested(|p| p.binary(level))
    }

    fn unary(&mut self) -> Parse<Expr> {
        if !self.is(&Tok::Op(BinOp::Sub)) {
            return self.power();
        }
        let lo = self.bump().span;
        let e = self.nested(Parser::unary)?;
        let span = lo.to(e.span);
        Ok(Expr { kind: ExprKind::Neg(Box::new(e)), span })
    }

    fn power(&mut self) -> Parse<Expr> {
        let base = self.application()?;
        if !self.is(&Tok::Op(BinOp::Pow)) {
            return Ok(base);
        }
        let op_span = self.bump().span;
        let exponent = self.nested(Parser::unary)?;
        let span = base.span.to(exponent.span);
        Ok(Expr { kind: ExprKind::Bin(BinOp::Pow, op_span, Box::new(base), Box::new(exponent)), span })
    }
}
