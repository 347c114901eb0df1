//! Blocks, bindings and the cases of `match`.

use super::doc::{D, Doc, align, concat, flat, group, hard, line, nest, space};
use super::exprs::HangingDoc;
use super::types::TypeContext;
use super::{Formatter, WIDTH};
use crate::ast::{Arm, Binding, Expr, ExprKind, LetGroup, Stmt};
use crate::span::Span;
use std::rc::Rc;

impl Formatter<'_> {
    /// A newline before the node at `span`, with an empty line if the source has one.
    pub(super) fn separator(&self, span: Span) -> D {
        Rc::new(Doc::Hard(self.tokens.blank_before_node(span)))
    }

    /// Whether a block is a `let p = e in body` that was written on one line and may stay so.
    pub(super) fn stays_on_one_line(&self, stmts: &[Stmt], span: Span) -> bool {
        let Some((Stmt::Expr(_), lets)) = stmts.split_last() else { return false };
        let simple = |stmt: &Stmt| match stmt {
            Stmt::Let(group, _) => group.bindings.iter().all(|b| !matches!(b.body.kind, ExprKind::Block(_))),
            Stmt::Expr(_) => false,
        };
        self.tokens.on_one_line(span) && !self.tokens.has_comments(span) && lets.iter().all(simple)
    }

    /// The entries of a block, one per line.
    pub(super) fn stmts(&mut self, stmts: &[Stmt]) -> D {
        let mut parts = Vec::new();
        for (i, stmt) in stmts.iter().enumerate() {
            if i > 0 {
                parts.push(self.separator(stmt_span(stmt)));
            }
            parts.push(match stmt {
                Stmt::Let(group, _) => self.let_group(group),
                Stmt::Expr(e) => self.stmt(e),
            });
        }
        concat(parts)
    }

    fn stmt(&mut self, e: &Expr) -> D {
        match &e.kind {
            // A `let ... in` whose scope ends before the block does.
            ExprKind::Block(stmts) => self.in_block(stmts, e.span),
            _ => self.entry(e),
        }
    }

    /// An expression as the entry of a block.
    pub(super) fn entry(&mut self, e: &Expr) -> D {
        match &e.kind {
            ExprKind::Bin(..) => self.operators(e, true),
            _ => self.expr(e),
        }
    }

    /// A block as an operand: its entries are aligned with the first one.
    pub(super) fn block_operand(&mut self, stmts: &[Stmt], span: Span) -> D {
        if self.stays_on_one_line(stmts, span) {
            return group(align(self.one_line_lets(stmts)));
        }
        align(self.stmts(stmts))
    }

    /// `let p = e in body` on one line, or broken after each `in`.
    fn one_line_lets(&mut self, stmts: &[Stmt]) -> D {
        let mut parts = Vec::new();
        for stmt in stmts {
            match stmt {
                Stmt::Let(group, _) => {
                    parts.push(flat(self.let_group(group)));
                    parts.extend([space(), self.tokens.sign("in"), line()]);
                }
                Stmt::Expr(e) => parts.push(self.entry(e)),
            }
        }
        concat(parts)
    }

    /// `let p = e in` with the rest of the block indented below. Used if the scope ends before the block, and at top
    /// level.
    pub(super) fn in_block(&mut self, stmts: &[Stmt], span: Span) -> D {
        // A line that is too long must be broken here: on the next line the body would begin an item.
        let one_line = self.stays_on_one_line(stmts, span) && (span.hi - span.lo) as usize <= WIDTH;
        let (Some((Stmt::Let(first, _), rest)), false) = (stmts.split_first(), one_line) else {
            return match one_line {
                true => group(nest(self.one_line_lets(stmts))),
                false => self.sequence(stmts),
            };
        };
        let head = self.let_group(first);
        let sign = self.tokens.sign("in");
        let separator = match rest.first() {
            Some(next) => self.separator(stmt_span(next)),
            None => hard(),
        };
        let rest = self.stmts(rest);
        concat(vec![head, space(), sign, nest(concat(vec![separator, rest]))])
    }

    /// `e1; e2` on one line, used if separate lines would have another meaning.
    pub(super) fn sequence(&mut self, stmts: &[Stmt]) -> D {
        let mut parts = Vec::new();
        let mut after_let = false;
        for (i, stmt) in stmts.iter().enumerate() {
            if i > 0 && after_let {
                parts.push(hard());
            } else if i > 0 {
                parts.extend([self.tokens.sign(";"), line()]);
            }
            after_let |= matches!(stmt, Stmt::Let(..));
            parts.push(match stmt {
                Stmt::Let(group, _) => self.let_group(group),
                Stmt::Expr(e) => self.expr(e),
            });
        }
        group(align(concat(parts)))
    }

    // let

    pub(super) fn let_group(&mut self, group: &LetGroup) -> D {
        let mut all = Vec::new();
        let mut parts = vec![self.tokens.sign("let"), space()];
        if group.rec {
            parts.extend([self.tokens.sign("rec"), space()]);
        }
        for (i, binding) in group.bindings.iter().enumerate() {
            if i > 0 {
                all.push(self.separator(binding.span));
                parts.extend([self.tokens.sign("and"), space()]);
            }
            let head = std::mem::take(&mut parts);
            all.push(self.binding(concat(head), binding));
        }
        concat(all)
    }

    fn binding(&mut self, words: D, binding: &Binding) -> D {
        let mut head = vec![words, self.pat(&binding.pat, TypeContext::Top), self.params(&binding.params)];
        if let Some(signature) = &binding.sig {
            head.extend([space(), self.tokens.sign(":"), space(), nest(nest(self.signature(signature)))]);
        }
        head.extend([space(), self.tokens.sign("=")]);
        self.right_side(concat(head), &binding.body)
    }

    /// `head` followed by `body`: on the same line, hanging, or indented below.
    pub(super) fn right_side(&mut self, head: D, body: &Expr) -> D {
        match &body.kind {
            ExprKind::Block(stmts) => {
                let below = self.stmts(stmts);
                concat(vec![head, nest(concat(vec![hard(), below]))])
            }
            // A `match` hangs, with its cases indented.
            ExprKind::Match(..) => {
                let built = self.build(body);
                self.after_sign(head, HangingDoc { hanging: built.hanging.map(nest), ..built })
            }
            ExprKind::Bin(..) => {
                let doc = self.operators(body, true);
                self.after_sign(head, HangingDoc { doc, hanging: None, bracket: false })
            }
            _ => {
                let built = self.build(body);
                self.after_sign(head, built)
            }
        }
    }

    // match

    pub(super) fn match_expression(&mut self, scrutinee: &Expr, arms: &[Arm], span: Span) -> HangingDoc {
        let one_line = self.tokens.on_one_line(span) && !self.tokens.has_comments(span);
        let mut parts =
            vec![self.tokens.sign("match"), space(), self.expr(scrutinee), space(), self.tokens.sign("with")];
        for (i, arm) in arms.iter().enumerate() {
            let blank = i > 0 && self.tokens.blank_before(self.arm_start(arm));
            parts.push(if one_line { line() } else { Rc::new(Doc::Hard(blank)) });
            parts.extend([self.tokens.sign("|"), space()]);
            let arm = self.arm(arm);
            parts.push(arm);
        }
        let content = concat(parts);
        match one_line {
            true => HangingDoc { doc: group(content.clone()), hanging: Some(content), bracket: true },
            false => HangingDoc { doc: content.clone(), hanging: Some(content), bracket: true },
        }
    }

    /// The position where a case begins: at its `|` or at the comment above it.
    fn arm_start(&self, arm: &Arm) -> u32 {
        let before = self.tokens.source.get(..arm.pat.span.lo as usize).unwrap_or("");
        let bar = before.trim_end().strip_suffix('|').unwrap_or(before).len() as u32;
        self.tokens.first_comment_before(bar).unwrap_or(bar)
    }

    fn arm(&mut self, arm: &Arm) -> D {
        let mut head = vec![self.pat(&arm.pat, TypeContext::Top)];
        if let Some(guard) = &arm.guard {
            head.extend([space(), self.tokens.sign("when"), space(), nest(self.expr(guard))]);
        }
        head.extend([space(), self.tokens.sign("->")]);
        self.right_side(concat(head), &arm.body)
    }
}

pub(super) fn stmt_span(stmt: &Stmt) -> Span {
    match stmt {
        Stmt::Let(_, span) => *span,
        Stmt::Expr(e) => e.span,
    }
}
