//! Blocks: entries in one column, `let p = e in body`, `e1; e2`.

use super::Parser;
use crate::ast::{Expr, ExprKind, LetGroup, Stmt};
use crate::errors::layout as errors;
use crate::span::Span;
use crate::token::{Kw, P, Tok, Token};

/// The owner of a `;` after an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Semi {
    /// The block: `-> a; b`.
    Ours,
    /// The block, unless a `let` follows. Applies to the right side of a local `let` in a block with its entries on
    /// separate lines.
    UnlessLet,
    /// The enclosing block. Applies to the right side of a local `let` among entries on one line.
    Outer,
}

/// The entries of a block that were read so far.
#[derive(Default)]
struct BlockEntries {
    stmts: Vec<Stmt>,
    /// Whether the last entry is a definition whose `let` was missing.
    repaired: bool,
    /// The entries from this index on are the `let`s and body of a `let ... in`, whose scope may end before the block
    /// does.
    in_start: Option<usize>,
}

impl Parser<'_> {
    /// The block after the token that was just read.
    pub(super) fn block(&mut self) -> Expr {
        self.block_with(Semi::Ours)
    }

    pub(super) fn block_with(&mut self, semi: Semi) -> Expr {
        let opener = self.previous();
        self.show_indented(opener);
        if self.peek() == Tok::End {
            return self.no_block(opener);
        }
        let (first, no_for) = (self.raw(), self.no_for);
        self.layout.open_block(&first, opener.map_or(0, |t| t.indent));
        let block = self.apart(|p| p.entries(&first, semi));
        self.no_for = no_for;
        self.layout.close();
        block
    }

    /// If `opener` ends its line, the block consists of the lines indented further than that line. This holds even if
    /// the first of them stands in the column of a block that began mid-line.
    fn show_indented(&mut self, opener: Option<Token>) {
        let next = self.raw();
        let indented = next.line_start && opener.is_some_and(|t| next.col > t.indent);
        let begins = self.starts_with(next.tok) && !self.panic;
        if indented && begins {
            self.show_next();
        }
    }

    /// Called if no token that could begin the block after `opener` is visible. A line that is indented too little is
    /// read nevertheless, unless it looks like a new entry.
    fn no_block(&mut self, opener: Option<Token>) -> Expr {
        let (next, following) = (self.raw(), self.raw_at(1));
        let error = self.error_expr();
        let new = matches!(next.tok, Tok::Kw(Kw::Let | Kw::Type | Kw::Import) | Tok::P(_) | Tok::End);
        let defines = following.tok == Tok::P(P::Eq) && !following.line_start;
        match opener {
            Some(opener) if !new && !defines && next.line_start && !self.panic => {
                let (at, after) = (self.span_of(&next), self.span_of(&opener));
                self.report(errors::body_in_item_column(at, after, self.source(after)));
                self.show_next();
                self.expr();
            }
            _ => self.wanted("E0112", "an expression"),
        }
        error
    }

    /// A `let` as an operand, which opens a block of its own.
    pub(super) fn let_expression(&mut self) -> Expr {
        let first = self.raw();
        let base = self.layout.base_for_operand(&first);
        self.layout.open_block(&first, base);
        let block = self.apart(|p| p.entries(&first, Semi::Ours));
        self.layout.close();
        block
    }

    pub(super) fn entries(&mut self, first: &Token, semi: Semi) -> Expr {
        let mut entries = BlockEntries::default();
        loop {
            let before = self.pos;
            self.entry(&mut entries);
            if self.panic {
                entries.stmts.last_mut().into_iter().for_each(spoil_stmt);
                self.recover_in_block();
            }
            if self.panic || !self.another_entry(&mut entries, first, semi) || self.pos == before {
                break;
            }
        }
        self.finish_block(entries, self.span_of(first))
    }

    /// Reads one entry.
    fn entry(&mut self, entries: &mut BlockEntries) {
        self.show_next();
        self.entry_start = self.raw().lo;
        if self.at_kw(Kw::Let) {
            let start = self.bump();
            let group = self.let_group(self.local_semi());
            let span = self.since(start);
            entries.stmts.push(Stmt::Let(group, span));
        } else if self.is_missing_let() {
            let start = self.here();
            let group = self.definition_without_let(self.local_semi());
            let span = self.since(start);
            entries.stmts.push(Stmt::Let(group, span));
            entries.repaired = true;
            return;
        } else {
            let expr = self.expr();
            entries.stmts.push(Stmt::Expr(expr));
        }
        entries.repaired = false;
    }

    fn local_semi(&self) -> Semi {
        match self.layout.block() {
            Some(block) if !block.mid => Semi::UnlessLet,
            _ => Semi::Outer,
        }
    }

    /// Consumes the separator between entries; `false` if the block has ended.
    fn another_entry(&mut self, entries: &mut BlockEntries, first: &Token, semi: Semi) -> bool {
        if self.at_kw(Kw::In) && matches!(entries.stmts.last(), Some(Stmt::Let(..))) {
            self.bump();
            return self.read_body_of_in(entries);
        }
        if self.at(P::Semi) {
            let let_follows = self.raw_at(1).tok == Tok::Kw(Kw::Let);
            if semi == Semi::Outer || (semi == Semi::UnlessLet && let_follows) {
                return false;
            }
            self.bump();
            if self.starts_expression() {
                return true;
            }
        }
        let (token, next) = (self.raw(), self.raw_at(1));
        if self.layout.begins_entry(&token, &next) {
            if self.layout.block().is_some_and(|b| token.col == b.col) {
                self.close_in(entries);
            }
            return true;
        }
        if self.layout.misindented(&token, &next) {
            let (at, block) = (self.span_of(&token), self.span_of(first));
            self.report(errors::misindented(at, block, first.col, token.col));
            return true;
        }
        false
    }

    /// Called after `in`. If the body is in the block's column, it is the rest of the block; otherwise it is a group of
    /// its own.
    fn read_body_of_in(&mut self, entries: &mut BlockEntries) -> bool {
        let (token, next) = (self.raw(), self.raw_at(1));
        let in_own_column = self.layout.block().is_some_and(|b| token.line_start && token.col == b.col);
        if in_own_column && self.layout.begins_entry(&token, &next) {
            self.close_in(entries);
            return true;
        }
        if self.peek() == Tok::End {
            self.wanted("E0112", "an expression");
            return false;
        }
        entries.in_start.get_or_insert(entries.stmts.len() - 1);
        self.layout.set_in_column(Some(token.col));
        true
    }

    /// The block continues after the body of a `let ... in`, which becomes one entry.
    fn close_in(&mut self, entries: &mut BlockEntries) {
        self.layout.set_in_column(None);
        let Some(start) = entries.in_start.take() else { return };
        let group: Vec<Stmt> = entries.stmts.drain(start..).collect();
        let at = group.first().map_or(self.here(), stmt_span);
        let block = self.finish_block(BlockEntries { stmts: group, in_start: None, repaired: false }, at);
        entries.stmts.push(Stmt::Expr(block));
    }

    fn finish_block(&mut self, entries: BlockEntries, start: Span) -> Expr {
        let mut stmts = entries.stmts;
        if let Some(Stmt::Let(group, span)) = stmts.last() {
            let span = *span;
            let body = self.missing_in(group, span);
            if entries.repaired {
                // The missing `let` has been reported, so the missing value is not reported again.
            } else if !self.panic && self.raw().tok == Tok::End {
                self.cut_off = true;
                self.diagnostics.push(errors::ends_with_let(span, self.after_semicolon(span), body));
            } else {
                self.report(errors::ends_with_let(span, self.after_semicolon(span), body));
            }
            let error = self.error_expr();
            stmts.push(Stmt::Expr(error));
        }
        let end = stmts.last().map_or(start, stmt_span);
        match stmts.pop() {
            Some(Stmt::Expr(only)) if stmts.is_empty() => only,
            Some(last) => {
                stmts.push(last);
                self.grow();
                Expr { kind: ExprKind::Block(stmts), span: start.to(end) }
            }
            None => self.error_expr(),
        }
    }

    /// Skips to the next entry of this block. Recovery continues further out if the block ends first.
    fn recover_in_block(&mut self) {
        while self.layout.block().is_some() {
            let (token, next) = (self.raw(), self.raw_at(1));
            if matches!(token.tok, Tok::End | Tok::P(P::SemiSemi)) {
                return;
            }
            if self.layout.begins_entry(&token, &next) {
                self.panic = false;
                return;
            }
            if self.layout.leaves_block(&token) {
                return;
            }
            self.pos += 1;
        }
    }
}

fn stmt_span(stmt: &Stmt) -> Span {
    match stmt {
        Stmt::Let(_, span) => *span,
        Stmt::Expr(e) => e.span,
    }
}

/// Replaces the value of a broken construct, the last entry of its block, by an error node. So no later pass reports
/// errors about it.
pub(super) fn replace_by_error(e: &mut Expr) {
    match &mut e.kind {
        ExprKind::Block(stmts) => stmts.last_mut().into_iter().for_each(spoil_stmt),
        kind => *kind = ExprKind::Error,
    }
}

fn spoil_stmt(stmt: &mut Stmt) {
    match stmt {
        Stmt::Let(group, _) => spoil_bindings(group),
        Stmt::Expr(e) => replace_by_error(e),
    }
}

/// Only the binding that was read last can be broken.
pub(super) fn spoil_bindings(group: &mut LetGroup) {
    group.bindings.last_mut().into_iter().for_each(|b| replace_by_error(&mut b.body));
}
