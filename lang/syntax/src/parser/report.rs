//! Errors: their positions, the description of tokens in messages, and suppression.

use super::Parser;
use crate::diag::Diagnostic;
use crate::errors::{expressions as errors, foreign_syntax, layout as layout_errors};
use crate::span::Span;
use crate::token::{Kw, P, Tok};

impl Parser<'_> {
    /// Reports an error and continues.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if !self.panic {
            self.broken |= diagnostic.is_error();
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports an error and gives up the entry.
    pub(super) fn fail(&mut self, diagnostic: Diagnostic) {
        if !self.panic {
            let cut_off = self.raw().tok == Tok::End;
            self.cut_off |= cut_off;
            self.broken |= !cut_off;
            if self.follows_lexical_error() {
            } else if let Some(at) = self.slashes_before() {
                self.diagnostics.push(foreign_syntax::foreign_comment(at, "//"));
            } else {
                let hint = self.foreign_word_here().map(str::to_owned).or_else(|| diagnostic.hint.clone());
                self.diagnostics.push(Diagnostic { hint, ..diagnostic });
            }
            self.panic = true;
        }
    }

    /// Whether the lexer has reported an error on this line. Parse errors there are most likely consequences.
    pub(super) fn follows_lexical_error(&self) -> bool {
        let here = self.here().hi;
        let until = self.lexical_errors.partition_point(|(_, at)| at.lo <= here);
        let last = until.checked_sub(1).and_then(|i| self.lexical_errors.get(i));
        last.is_some_and(|(_, at)| !self.text[at.lo as usize..here as usize].trim_end().contains('\n'))
    }

    /// The description of the next token in a message.
    pub(super) fn found(&self) -> String {
        let token = self.raw();
        match token.tok {
            Tok::End => "the end of the text".to_owned(),
            _ if self.hidden(0) => "the end of the entry".to_owned(),
            Tok::Str(_) | Tok::FStart => "a string".to_owned(),
            _ => format!("`{}`", shorten(self.source(self.span_of(&token)))),
        }
    }

    /// The description of the last token in a message (empty at the start).
    pub(super) fn after(&self) -> String {
        self.previous().map_or(String::new(), |t| format!("`{}`", shorten(self.source(self.span_of(&t)))))
    }

    /// The position of an error about the next token: at the token, or after the last one if layout hides it.
    pub(super) fn here(&self) -> Span {
        if self.hidden(0) { self.previous_span() } else { self.span_of(&self.raw()) }
    }

    /// Reports that `what` was expected here.
    pub(super) fn wanted(&mut self, code: &'static str, what: &str) {
        if self.panic {
            return;
        }
        let found = if self.hidden(0) { None } else { Some(self.found()) };
        let (at, after) = (self.here(), self.after());
        let mut diagnostic = errors::wanted(code, at, what, &after, found.as_deref());
        diagnostic.hint = found.and_then(|found| self.hint_for_unwanted(code, what, &found));
        self.fail(diagnostic);
    }

    pub(super) fn expect_end(&mut self) {
        if !self.panic && self.peek() != Tok::End {
            self.unexpected();
        }
    }

    /// Reports a next token that no open construct accepts.
    pub(super) fn unexpected(&mut self) {
        let (token, at, found) = (self.raw(), self.here(), self.found());
        let diagnostic = match token.tok {
            Tok::P(P::Bang) if self.raw_at(1).tok == Tok::P(P::Bang) => foreign_syntax::foreign_operator(at, "!!"),
            Tok::P(p) if p.closes() => layout_errors::unmatched(at, p.text()),
            Tok::Kw(Kw::Then | Kw::Else | Kw::With | Kw::In | Kw::Do) => {
                errors::missing_keyword(at, self.source(self.span_of(&token)))
            }
            Tok::Kw(Kw::Let | Kw::Type | Kw::Import) if token.line_start => {
                errors::unexpected(at, &found).hint("an item begins in column 0, an entry of a block in the column of its other entries")
            }
            Tok::P(P::Colon) if !self.hidden(0) && matches!((self.previous().map(|t| t.tok), self.raw_at(1).tok), (Some(Tok::Int(_) | Tok::Float(_)), Tok::Int(_) | Tok::Float(_) | Tok::Ident(_))) => {
                errors::unexpected(at, &found).hint("numbers with a step are `arange from to step`, Ints `range a b`, and `n` numbers between two others `linspace a b n`")
            }
            Tok::P(P::Comma) if !self.hidden(0) && self.text[self.entry_start as usize..].starts_with("print") => {
                errors::unexpected(at, &found).hint("several values are printed as a tuple, `print (a, b)`, or in a text, `print f\"a = {a}, b = {b}\"`")
            }
            _ => {
                let hint = if self.hidden(0) { None } else { foreign_syntax::stray_sign(self.source(at)) };
                Diagnostic { hint: hint.map(str::to_owned), ..errors::unexpected(at, &found) }
            }
        };
        self.fail(diagnostic);
    }
}

fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    match line.char_indices().nth(30) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_owned(),
    }
}
