//! `"strings"` and `f"interpolated {strings}"`.
//!
//! A string may contain newlines. So that an unclosed string does not swallow the file, a newline counts as text only
//! if a plausible end of the string follows (see [`Lexer::continues_below`]).

use super::{Lexer, is_name_continue};
use crate::errors::lexical;
use crate::span::Span;
use crate::token::Tok;

/// The reason why reading text stopped.
enum TextStop {
    Quote,
    /// `{` of an interpolation.
    Brace,
    Unterminated,
}

impl Lexer<'_> {
    pub(super) fn string(&mut self) {
        let (lo, col) = (self.pos, self.col);
        let layout = (self.line_indent, self.fresh_line);
        self.bump();
        let (text, stop) = self.text_until(false);
        // Inside an interpolation the quotation mark more likely ends the outer string.
        if matches!(stop, TextStop::Unterminated) && self.interpolations.is_empty() {
            self.unterminated(lo);
        }
        let id = self.push_string(text);
        self.restore_line(layout);
        self.push(Tok::Str(id), lo, col);
    }

    /// A token that began on an earlier line belongs to that line for the layout rule.
    fn restore_line(&mut self, (indent, fresh): (Option<u32>, bool)) {
        self.line_indent = indent;
        self.fresh_line = fresh;
    }

    fn unterminated(&mut self, lo: usize) {
        let span = Span::new(self.file, lo, self.pos.max(lo + 1));
        self.error(lexical::unterminated_string(span));
    }

    pub(super) fn begin_interpolated(&mut self) {
        let (lo, col) = (self.pos, self.col);
        self.bump();
        self.bump();
        self.push(Tok::FStart, lo, col);
        self.interpolated_text(lo);
    }

    /// Text up to the next `{` or the closing quote.
    fn interpolated_text(&mut self, start: usize) {
        let (lo, col) = (self.pos, self.col);
        let layout = (self.line_indent, self.fresh_line);
        let (text, stop) = self.text_until(true);
        self.restore_line(layout);
        if self.pos > lo && !text.is_empty() {
            let id = self.push_string(text);
            self.push(Tok::FText(id), lo, col);
        }
        let (lo, col) = (self.pos, self.col);
        match stop {
            TextStop::Brace => {
                self.bump();
                self.interpolations.push(0);
                self.push(Tok::FOpen, lo, col);
            }
            TextStop::Quote => self.push(Tok::FEnd, lo, col),
            TextStop::Unterminated => {
                self.unterminated(start);
                self.push(Tok::FEnd, lo, col);
            }
        }
    }

    pub(super) fn brace_in_interpolation(&mut self, brace: char) {
        let (lo, col) = (self.pos, self.col);
        self.bump();
        let Some(open) = self.interpolations.last_mut() else { return };
        if brace == '{' {
            *open += 1;
            return self.push(Tok::P(crate::token::P::LBrace), lo, col);
        }
        if *open > 0 {
            *open -= 1;
            return self.push(Tok::P(crate::token::P::RBrace), lo, col);
        }
        self.interpolations.pop();
        self.push(Tok::FClose, lo, col);
        self.interpolated_text(lo);
    }

    /// A line ended inside `{...}`: closes all open constructs with one error.
    pub(super) fn interpolation_cut_off(&mut self) {
        let (lo, col) = (self.pos, self.col);
        let open = self.out.tokens.iter().rev().find(|t| t.tok == Tok::FOpen);
        let span = open.map_or(Span::new(self.file, lo, lo), |t| Span::new(self.file, t.lo as usize, t.hi as usize));
        self.error(lexical::open_interpolation(span));
        while self.interpolations.pop().is_some() {
            self.push(Tok::FClose, lo, col);
            self.push(Tok::FEnd, lo, col);
        }
    }

    /// Reads up to and including the closing quotation mark, or up to `{`.
    fn text_until(&mut self, interpolated: bool) -> (String, TextStop) {
        let mut text = String::new();
        let mut newlines_allowed = false;
        loop {
            let lo = self.pos;
            match self.peek_char() {
                None => return (text, TextStop::Unterminated),
                Some('"') => {
                    self.bump();
                    return (text, TextStop::Quote);
                }
                Some('\\') => self.escape(&mut text),
                Some('{') if interpolated && !self.rest().starts_with("{{") => return (text, TextStop::Brace),
                Some(brace @ ('{' | '}')) if interpolated => {
                    self.bump();
                    if self.peek_char() == Some(brace) {
                        self.bump();
                    } else {
                        self.error(lexical::lone_brace(self.span(lo)));
                    }
                    text.push(brace);
                }
                Some('\n') if !newlines_allowed && !self.continues_below() => return (text, TextStop::Unterminated),
                Some('\r') if self.rest().starts_with("\r\n") => {
                    self.bump();
                }
                Some(c) => {
                    newlines_allowed |= c == '\n';
                    self.bump();
                    text.push(c);
                }
            }
        }
    }

    /// Whether the string that reached a newline is closed further down. There must be a quotation mark before the next
    /// item begins, and what follows it must be able to follow a string.
    fn continues_below(&self) -> bool {
        let rest = self.rest();
        let mut escaped = false;
        for (at, c) in rest.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return !rest[at + 1..].starts_with(|c| is_name_continue(c) || c == '"' || c == '\\'),
                '\n' => {
                    let line = &rest[at + 1..];
                    if ["let ", "type ", "test ", "bench ", "import "].iter().any(|k| line.starts_with(k)) {
                        return false;
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn escape(&mut self, text: &mut String) {
        let lo = self.pos;
        self.bump();
        let Some(c) = self.peek_char() else { return };
        let value = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '0' => '\0',
            'e' => '\x1b',
            '\\' | '"' | '\'' | '{' | '}' => c,
            '\n' | '\r' => return self.line_continuation(),
            'x' => return self.code_escape(lo, text, 2),
            'u' => return self.code_escape(lo, text, 6),
            _ => {
                self.bump();
                return self.error(lexical::bad_escape(self.span(lo), &self.text[lo..self.pos]));
            }
        };
        self.bump();
        text.push(value);
    }

    /// `\` at the end of a line: the newline and the following white space are not part of the text.
    fn line_continuation(&mut self) {
        self.bump_while(|c| c == '\r');
        if self.peek_char() == Some('\n') {
            self.bump();
            self.bump_while(|c| c == ' ' || c == '\t');
        }
    }

    /// `\x41` and `\u{3b1}`.
    fn code_escape(&mut self, lo: usize, text: &mut String, max: usize) {
        self.bump();
        let braced = self.peek_char() == Some('{');
        if braced {
            self.bump();
        }
        let start = self.pos;
        while self.pos - start < max && self.peek_char().is_some_and(|c| c.is_ascii_hexdigit()) {
            self.bump();
        }
        let value = u32::from_str_radix(&self.text[start..self.pos], 16).ok().and_then(char::from_u32);
        let closed = braced == (max == 6) && (!braced || self.peek_char() == Some('}'));
        if braced && closed {
            self.bump();
        }
        match value {
            Some(c) if closed => text.push(c),
            _ => self.error(lexical::bad_escape(self.span(lo), &self.text[lo..self.pos])),
        }
    }
}
