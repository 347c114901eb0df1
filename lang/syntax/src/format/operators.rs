//! Chains of operators as documents.

use super::Formatter;
use super::doc::{D, choice, concat, flat, group, hard, line, nest, nil, space};
use super::exprs::{extends_rightward, is_small};
use crate::ast::{BinOp, Expr, ExprKind};

impl Formatter<'_> {
    pub(super) fn negation(&mut self, operand: &Expr) -> D {
        let minus = self.tokens.sign("-");
        // Two adjacent minus signs would begin a comment.
        let again = matches!(operand.kind, ExprKind::Neg(_)) || self.tokens.source_of(operand.span).starts_with('-');
        let operand = self.expr(operand);
        concat(vec![minus, if again { space() } else { nil() }, operand])
    }

    /// A chain of operators of one precedence. If it is an entry (`is_entry`), the further lines of a pipeline are
    /// aligned with it.
    pub(super) fn operators(&mut self, e: &Expr, is_entry: bool) -> D {
        let chain = Chain::of(e);
        let open = extends_rightward(chain.first);
        let first = if open { self.broken(chain.first) } else { self.operand(chain.first) };
        let (mut below, mut on_line) = (Vec::new(), vec![first.clone()]);
        let fill = chain.rest.iter().all(|(op, _)| *op == BinOp::Cons);
        for (op, operand) in &chain.rest {
            let sign = self.tokens.sign(op.text());
            let operand = self.operand(operand);
            on_line.extend([space(), sign.clone(), space(), operand.clone()]);
            let next = [line(), sign, space(), operand];
            if fill {
                below.push(group(concat(next.to_vec())));
            } else {
                below.extend(next);
            }
        }
        if chain.ends_in_parentheses() {
            let last = on_line.pop().unwrap_or_else(nil);
            let head = flat(concat(on_line));
            let one_line = concat(vec![head.clone(), last.clone()]);
            return choice(vec![one_line, concat(vec![head, last])]);
        }
        let pipeline = chain.rest.iter().all(|(op, _)| matches!(op, BinOp::PipeRight | BinOp::Compose));
        let below = concat(below);
        match (is_entry && (pipeline || open), open) {
            // A construct that extends as far as possible ends only before a line further left.
            (true, true) => concat(vec![first, hard(), below]),
            (true, false) => group(concat(vec![first, below])),
            _ => group(concat(vec![first, nest(below)])),
        }
    }

    /// The broken form of an expression, if it has one.
    fn broken(&mut self, e: &Expr) -> D {
        let built = self.build(e);
        built.hanging.unwrap_or(built.doc)
    }

    fn operand(&mut self, e: &Expr) -> D {
        let doc = self.expr(e);
        if matches!(e.kind, ExprKind::App(..)) { nest(doc) } else { doc }
    }
}

/// A run of operators of one precedence.
struct Chain<'e> {
    first: &'e Expr,
    rest: Vec<(BinOp, &'e Expr)>,
}

impl Chain<'_> {
    /// Whether it is a product of small factors that ends with a parenthesised sum; that is the best place for a break.
    fn ends_in_parentheses(&self) -> bool {
        let product = |op: &BinOp| matches!(op, BinOp::Mul | BinOp::Div | BinOp::MatMul);
        let Some(((_, last), others)) = self.rest.split_last() else { return false };
        let sum = matches!(&last.kind, ExprKind::Paren(inner) if matches!(&inner.kind, ExprKind::Bin(op, ..) if precedence(*op) == 9));
        sum && is_small(self.first)
            && self.rest.iter().all(|(op, _)| product(op))
            && others.iter().all(|(_, operand)| is_small(operand))
    }
}

impl<'e> Chain<'e> {
    fn of(e: &'e Expr) -> Chain<'e> {
        let mut chain = Chain { first: e, rest: Vec::new() };
        let ExprKind::Bin(op, ..) = &e.kind else { return chain };
        let level = precedence(*op);
        let right = matches!(op, BinOp::PipeLeft | BinOp::Cons | BinOp::Append | BinOp::Pow);
        if right {
            let mut rest = e;
            while let ExprKind::Bin(op, _, a, b) = &rest.kind
                && precedence(*op) == level
            {
                if std::ptr::eq(rest, e) {
                    chain.first = a;
                } else if let Some(last) = chain.rest.last_mut() {
                    last.1 = a;
                }
                chain.rest.push((*op, b));
                rest = b;
            }
            return chain;
        }
        while let ExprKind::Bin(op, _, a, b) = &chain.first.kind
            && precedence(*op) == level
        {
            chain.rest.push((*op, b));
            chain.first = a;
        }
        chain.rest.reverse();
        chain
    }
}

fn precedence(op: BinOp) -> u8 {
    match op {
        BinOp::PipeLeft => 1,
        BinOp::PipeRight => 2,
        BinOp::Compose => 3,
        BinOp::Or | BinOp::OrEach => 4,
        BinOp::And | BinOp::AndEach => 5,
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge => 6,
        BinOp::EqEach | BinOp::NeEach | BinOp::LtEach | BinOp::GtEach | BinOp::LeEach | BinOp::GeEach => 6,
        BinOp::Cons => 7,
        BinOp::Append => 8,
        BinOp::Add | BinOp::Sub => 9,
        BinOp::Mul | BinOp::Div | BinOp::IntDiv | BinOp::Rem | BinOp::MatMul => 10,
        BinOp::Pow => 13,
    }
}
