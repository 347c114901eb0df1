//! The source's tokens with their comments, consumed in order while the tree is printed.
//!
//! A comment belongs to the preceding token on its line, or else to the following token. Tokens that the canonical
//! layout omits (`in`, `;`, redundant parentheses) pass their comments on to the next printed token, so that none is
//! lost.

use super::doc::{Comment, CommentPlace, D, Doc, concat, nil, text};
use crate::lexer::Lexed;
use crate::span::Span;
use crate::token::{self, CommentKind, Kw, P, Tok, Token};
use std::rc::Rc;

/// The comments attached to one token.
#[derive(Clone, Default)]
struct TokenComments {
    before: Vec<token::Comment>,
    after: Vec<token::Comment>,
}

pub(super) struct Tokens<'a> {
    pub(super) source: &'a str,
    all: Vec<Token>,
    attached: Vec<TokenComments>,
    /// The next token to print.
    next: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a str, lexed: Lexed) -> Tokens<'a> {
        let mut attached = vec![TokenComments::default(); lexed.tokens.len()];
        for comment in &lexed.comments {
            attach(source, comment, &lexed.tokens, &mut attached);
        }
        move_behind_commas(&lexed.tokens, &mut attached);
        Tokens { source, all: lexed.tokens, attached, next: 0 }
    }

    fn index_at(&self, lo: u32) -> usize {
        self.all.partition_point(|t| t.lo < lo).min(self.all.len() - 1)
    }

    fn text_of(&self, token: &Token) -> &'a str {
        self.source.get(token.lo as usize..token.hi as usize).unwrap_or("")
    }

    /// The source under `span`.
    pub(super) fn source_of(&self, span: Span) -> &'a str {
        self.source.get(span.lo as usize..span.hi as usize).unwrap_or("")
    }

    /// Whether the source under `span` is on one line.
    pub(super) fn on_one_line(&self, span: Span) -> bool {
        !self.source_of(span).contains('\n')
    }

    /// Whether the bracket that closes `span` follows a comma.
    pub(super) fn ends_in_comma(&self, span: Span) -> bool {
        let end = self.all.partition_point(|t| t.lo < span.hi);
        end.checked_sub(2).is_some_and(|at| self.all[at].tok == Tok::P(P::Comma))
    }

    /// Whether a comment stands somewhere under `span`.
    pub(super) fn has_comments(&self, span: Span) -> bool {
        let (from, to) = (self.index_at(span.lo), self.index_at(span.hi));
        let inside = |c: &token::Comment| span.lo <= c.span.lo && c.span.lo < span.hi;
        self.attached[from..=to].iter().any(|a| a.before.iter().chain(&a.after).any(inside))
    }

    /// An operator or keyword. If it is the next token of the source (apart from tokens that may be omitted), its
    /// comments are printed too.
    pub(super) fn sign(&mut self, sign: &str) -> D {
        let mut at = self.next;
        while let Some(token) = self.all.get(at) {
            if self.text_of(token) == sign {
                return self.take(at, at + 1, text(sign));
            }
            if !may_be_omitted(token.tok) {
                break;
            }
            at += 1;
        }
        text(sign)
    }

    /// Whether this is the next token of the source.
    pub(super) fn at(&self, sign: &str) -> bool {
        self.all.get(self.next).is_some_and(|token| self.text_of(token) == sign)
    }

    /// Prints `shown` in place of the token at `span`.
    pub(super) fn word(&mut self, span: Span, shown: &str) -> D {
        let at = self.index_at(span.lo);
        self.take(at, at + 1, text(shown))
    }

    /// The unchanged source under `span`.
    pub(super) fn verbatim(&mut self, span: Span) -> D {
        let (from, to) = (self.index_at(span.lo), self.index_at(span.hi));
        let shown = self.source_of(span).replace("\r\n", "\n");
        let doc = if shown.contains('\n') { Doc::Verbatim(shown) } else { Doc::Text(shown) };
        self.take(from, to.max(from + 1), Rc::new(doc))
    }

    /// Prints `doc` in place of the tokens `from..to`, with the comments before the first, after the last, and of all
    /// tokens omitted on the way.
    fn take(&mut self, from: usize, to: usize, doc: D) -> D {
        let from = from.max(self.next);
        let mut before: Vec<token::Comment> = Vec::new();
        for skipped in self.next..from.min(self.all.len()) {
            let attached = std::mem::take(&mut self.attached[skipped]);
            before.extend(attached.before);
            before.extend(attached.after);
        }
        if let Some(first) = self.attached.get_mut(from) {
            before.append(&mut first.before);
        }
        let last = to.saturating_sub(1);
        let after = self.attached.get_mut(last).map(|a| std::mem::take(&mut a.after)).unwrap_or_default();
        self.next = self.next.max(to);
        if before.is_empty() && after.is_empty() {
            return doc;
        }
        let mut parts = self.leading(&before, from);
        parts.push(doc);
        parts.extend(after.iter().map(|comment| self.trailing(comment)));
        concat(parts)
    }

    fn leading(&self, comments: &[token::Comment], from: usize) -> Vec<D> {
        let mut parts = Vec::new();
        for (i, comment) in comments.iter().enumerate() {
            let next = comments.get(i + 1).map(|c| c.span.lo).or(self.all.get(from).map(|t| t.lo));
            let shown = self.comment_text(comment);
            let between = next.and_then(|next| self.source.get(comment.span.hi as usize..next as usize)).unwrap_or("");
            if comment.kind == CommentKind::Block && !between.contains('\n') {
                parts.push(Rc::new(Doc::Verbatim(shown)));
                parts.push(text(" "));
                continue;
            }
            let place = if comment.own_line { CommentPlace::Above } else { CommentPlace::Behind };
            let apart = between.matches('\n').count() > 1 && !between.contains(';');
            parts.push(Rc::new(Doc::Comment(Comment { text: shown, place, blank: false, apart })));
        }
        parts
    }

    fn trailing(&self, comment: &token::Comment) -> D {
        let shown = self.comment_text(comment);
        if comment.kind == CommentKind::Block && !comment.own_line && !shown.contains('\n') {
            return text(format!(" {shown}"));
        }
        self.comment(comment, if comment.own_line { CommentPlace::Below } else { CommentPlace::Behind })
    }

    fn comment(&self, comment: &token::Comment, place: CommentPlace) -> D {
        let blank = place == CommentPlace::Below && self.blank_before(comment.span.lo);
        Rc::new(Doc::Comment(Comment { text: self.comment_text(comment), place, blank, apart: false }))
    }

    fn comment_text(&self, comment: &token::Comment) -> String {
        self.source_of(comment.span).replace("\r\n", "\n")
    }

    /// Whether an empty line precedes `at`.
    pub(super) fn blank_before(&self, at: u32) -> bool {
        let before = self.source.get(..at as usize).unwrap_or("");
        let blanks = &before[before.trim_end().len()..];
        blanks.matches('\n').count() > 1
    }

    /// Whether an empty line precedes the node at `span` and its comments.
    pub(super) fn blank_before_node(&self, span: Span) -> bool {
        let at = self.index_at(span.lo);
        let first = self.attached[at].before.first();
        let skipped =
            (self.next..at).flat_map(|i| self.attached[i].before.iter().chain(&self.attached[i].after)).next();
        self.blank_before(skipped.or(first).map_or(span.lo, |c| c.span.lo))
    }

    /// The position where the item at `span` begins, including its comments.
    pub(super) fn start_of(&self, span: Span) -> usize {
        let first = self.attached[self.index_at(span.lo)].before.first();
        first.map_or(span.lo, |c| c.span.lo) as usize
    }

    /// The position of the comments after the last token.
    pub(super) fn start_of_end(&self) -> usize {
        let first = self.attached.last().and_then(|a| a.before.first());
        first.map_or(self.source.len(), |c| c.span.lo as usize)
    }

    /// The position of the first of the comments directly before the token at `lo`.
    pub(super) fn first_comment_before(&self, lo: u32) -> Option<u32> {
        self.attached[self.index_at(lo)].before.first().map(|c| c.span.lo)
    }

    /// The next token, unchanged.
    pub(super) fn next_verbatim(&mut self) -> D {
        let Some(token) = self.all.get(self.next) else { return nil() };
        let span = Span { file: crate::span::FileId::default(), lo: token.lo, hi: token.hi };
        self.verbatim(span)
    }

    /// The comments of all unprinted tokens before the one at `lo`.
    pub(super) fn rest_until(&mut self, lo: u32) -> D {
        let at = self.index_at(lo);
        let mut parts = Vec::new();
        while self.next < at {
            let attached = std::mem::take(&mut self.attached[self.next]);
            for comment in attached.before.iter().chain(&attached.after) {
                parts.push(self.trailing(comment));
            }
            self.next += 1;
        }
        if parts.is_empty() { nil() } else { concat(parts) }
    }

    /// The comments after the last token, and whether an empty line precedes them.
    pub(super) fn comments_at_end(&mut self) -> Option<(bool, D)> {
        let last = self.attached.last_mut().map(|a| std::mem::take(&mut a.before)).unwrap_or_default();
        let first = last.first()?;
        let blank = self.blank_before(first.span.lo);
        Some((blank, concat(self.leading(&last, self.all.len() - 1))))
    }
}

/// Tokens that the canonical layout may omit.
fn may_be_omitted(tok: Tok) -> bool {
    matches!(tok, Tok::Kw(Kw::In) | Tok::P(P::Semi | P::SemiSemi | P::Bar | P::Comma | P::LParen | P::RParen))
}

/// Commas are printed directly after their element, so trailing comments before a comma move after it.
fn move_behind_commas(tokens: &[Token], attached: &mut [TokenComments]) {
    for comma in 1..tokens.len() {
        if tokens[comma].tok != Tok::P(P::Comma) {
            continue;
        }
        let part = &mut attached[comma - 1].after;
        let ends = |c: &token::Comment| c.kind != CommentKind::Block || c.own_line;
        let from = part.iter().position(ends).unwrap_or(part.len());
        let mut moved: Vec<token::Comment> = part.drain(from..).collect();
        let own = &mut attached[comma];
        if !moved.is_empty() || own.before.iter().any(ends) {
            moved.append(&mut own.before);
            moved.append(&mut own.after);
            own.after = moved;
        }
    }
}

fn attach(source: &str, comment: &token::Comment, tokens: &[Token], attached: &mut [TokenComments]) {
    let next = tokens.partition_point(|t| t.lo < comment.span.lo);
    let Some(after) = tokens.get(next) else { return };
    let before = next.checked_sub(1).and_then(|i| tokens.get(i));
    let gap = source.get(comment.span.hi as usize..after.lo as usize).unwrap_or("");
    let joins_next = comment.kind == CommentKind::Block && !gap.contains('\n') && after.tok != Tok::End;
    let trails = match before {
        None => false,
        Some(_) if joins_next => false,
        Some(_) if !comment.own_line => true,
        // More indented than the next token: a remark at the end of a block, unless a comment above it belongs to that
        // token.
        Some(_) => comment.col > after.indent && comment.kind != CommentKind::Doc && attached[next].before.is_empty(),
    };
    match (trails, next.checked_sub(1)) {
        (true, Some(previous)) => attached[previous].after.push(*comment),
        _ => attached[next].before.push(*comment),
    }
}
