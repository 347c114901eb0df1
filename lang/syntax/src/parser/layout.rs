//! The layout rule (language.md §1 and §8).

use super::{Parse, Parser};
use crate::ast::*;
use crate::errors::syntax as err;
use crate::span::Span;
use crate::token::{Kw, Tok, Token};

/// What decides which tokens are visible.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ctx {
    /// A block whose entries begin in column `col`. One that was opened in the middle of a line goes on over lines indented more
    /// than `base`, the indent of that line; one on lines of its own, over lines indented more than `col`.
    Block { col: u32, base: u32, mid: bool, start: usize },
    /// Inside brackets: everything but the start of a next item is visible.
    Free,
}

static END: Token =
    Token { tok: Tok::End, span: Span { file: crate::span::FileId(0), lo: 0, hi: 0 }, col: 0, first: true, indent: 0, space: true, doc: None };

impl Parser {
    /// The current token, or `End` where the current block ends.
    pub(super) fn peek(&self) -> &Token {
        let t = self.raw();
        if self.visible(t) { t } else { &END }
    }

    /// The token after the current one, if it is on the same line.
    pub(super) fn peek_ahead(&self, n: usize) -> &Tok {
        match self.toks.get(self.pos + n) {
            Some(t) => &t.tok,
            None => &Tok::End,
        }
    }

    fn visible(&self, t: &Token) -> bool {
        if !t.first || t.tok == Tok::End {
            return true;
        }
        match self.ctxs.last() {
            None => true,
            Some(Ctx::Free) => t.col > 0 || t.tok.continues() || !starts_item(&t.tok),
            Some(Ctx::Block { col, base, mid, start }) => {
                self.pos == *start
                    || match (t.col == *col, mid) {
                        (true, _) => t.tok.continues(),
                        (false, false) => t.col > *col,
                        (false, true) => t.col > *base || t.col == *base && t.tok.continues(),
                    }
            }
        }
    }

    /// Whether the current token begins the next entry of the innermost block.
    fn at_entry(&self) -> bool {
        let t = self.raw();
        match self.ctxs.last() {
            Some(Ctx::Block { col, start, .. }) => t.first && t.tok != Tok::End && self.pos != *start && t.col == *col && !t.tok.continues(),
            _ => false,
        }
    }

    /// Runs `f` with everything up to the closing bracket visible.
    pub(super) fn free<T>(&mut self, f: impl FnOnce(&mut Parser) -> Parse<T>) -> Parse<T> {
        let (ctxs, no_for) = (self.ctxs.len(), self.no_for);
        self.ctxs.push(Ctx::Free);
        self.no_for = false;
        let out = self.nested(f);
        self.ctxs.truncate(ctxs);
        self.no_for = no_for;
        out
    }

    /// The least column that a block on lines of its own may have.
    fn outer_column(&self) -> Option<u32> {
        self.ctxs.iter().rev().find_map(|c| match c {
            Ctx::Block { col, base, mid, .. } => Some(if *mid { *base } else { *col }),
            Ctx::Free => None,
        })
    }

    /// A block: after `=`, `->`, `then`, `else`, `in`, `do`. `after` names that for messages.
    pub(super) fn block(&mut self, after: &str) -> Parse<Expr> {
        let t = self.raw().clone();
        let opener = &self.toks[self.pos.saturating_sub(1)];
        let (mid, base) = (!t.first, opener.indent);
        let outside = t.first && (self.outer_column().is_some_and(|c| t.col <= c) || t.col == 0 && self.ctxs.is_empty());
        if t.tok == Tok::End || outside {
            let (span, found) = (t.span, t.tok.describe());
            return self.fail(err::missing_expr(span, after, &found));
        }
        let (ctxs, no_for) = (self.ctxs.len(), self.no_for);
        self.ctxs.push(Ctx::Block { col: t.col, base, mid, start: self.pos });
        if !mid {
            self.no_for = false;
        }
        let out = self.nested(|p| p.entries(after));
        self.ctxs.truncate(ctxs);
        self.no_for = no_for;
        out
    }

    fn entries(&mut self, after: &str) -> Parse<Expr> {
        let lo = self.raw().span;
        let mut stmts = Vec::new();
        loop {
            if self.is_kw(Kw::Let) {
                let (group, span) = self.let_group()?;
                stmts.push(Stmt::Let(group, span));
                if self.accept(&Tok::Kw(Kw::In)) {
                    let body = self.block("`in`")?;
                    return Ok(finish(stmts, body, lo));
                }
            } else {
                if stmts.is_empty() && matches!(self.peek().tok, Tok::End) {
                    let (span, found) = self.found();
                    return self.fail(err::missing_expr(span, after, &found));
                }
                stmts.push(Stmt::Expr(self.expr()?));
            }
            if self.is(&Tok::Semi) {
                self.bump();
                self.restart_entry();
                if matches!(self.peek().tok, Tok::End) {
                    break;
                }
            } else if self.at_entry() {
                self.restart_entry();
            } else {
                break;
            }
        }
        match stmts.pop() {
            Some(Stmt::Expr(e)) => Ok(finish(stmts, e, lo)),
            _ => {
                let span = self.prev_span();
                self.hit_end |= self.raw().tok == Tok::End;
                self.diags.push(err::block_without_value(span));
                Err(super::Abandon)
            }
        }
    }

    /// Makes the current token the visible start of an entry.
    fn restart_entry(&mut self) {
        let (pos, at) = (self.pos, self.at_entry());
        if let Some(Ctx::Block { start, .. }) = self.ctxs.last_mut() {
            if at {
                *start = pos;
            }
        }
    }
}

fn finish(stmts: Vec<Stmt>, last: Expr, lo: Span) -> Expr {
    if stmts.is_empty() {
        return last;
    }
    let span = lo.to(last.span);
    let mut all = stmts;
    match last.kind {
        ExprKind::Block(rest) => all.extend(rest),
        _ => all.push(Stmt::Expr(last)),
    }
    Expr { kind: ExprKind::Block(all), span }
}

/// Keywords that only begin an item or an entry: inside brackets they show that a bracket was not closed.
fn starts_item(tok: &Tok) -> bool {
    matches!(tok, Tok::Kw(Kw::Let | Kw::Type | Kw::Import))
}
