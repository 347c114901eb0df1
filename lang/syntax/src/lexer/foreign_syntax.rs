//! Comments and strings in the syntax of other languages. They are consumed as a whole, so that there is only one
//! error.

use super::{Lexer, is_name_continue};
use crate::errors::{foreign_syntax, lexical};
use crate::token::Tok;

impl Lexer<'_> {
    /// Consumes `/* ... */`, `# ...`, `'text'` and the like. Returns `false` if there is none here.
    pub(super) fn foreign(&mut self, lo: usize, col: u32) -> bool {
        let rest = self.rest();
        if rest.starts_with("/*") {
            self.foreign_comment(lo);
        } else if rest.starts_with('#') {
            self.skip_line();
            self.space = true;
            self.error(lexical::unknown_character(crate::span::Span::new(self.file, lo, lo + 1), "#", ""));
        } else if let Some((length, quote)) = quoted(rest) {
            self.foreign_text(lo, col, length, quote);
        } else {
            return false;
        }
        true
    }

    /// `/* ... */`, over several lines if it is closed.
    fn foreign_comment(&mut self, lo: usize) {
        let indent = self.line_indent;
        let fresh = self.fresh_line;
        let end = self.rest().find("*/").map(|at| lo + at + 2);
        match end {
            Some(end) => self.bump_to(end),
            None => self.skip_line(),
        }
        self.line_indent = indent;
        self.fresh_line = fresh;
        self.space = true;
        let d = foreign_syntax::foreign_comment(crate::span::Span::new(self.file, lo, lo + 2), "/*");
        self.error(match end {
            Some(end) => d.fix(crate::span::Span::new(self.file, end - 2, end), "*)"),
            None => d,
        });
    }

    fn foreign_text(&mut self, lo: usize, col: u32, length: usize, quote: &str) {
        let layout = (self.line_indent, self.fresh_line);
        self.bump_to(lo + length);
        let inside = self.text.get(lo + quote.len()..self.pos - quote.len()).unwrap_or("").to_owned();
        self.error(lexical::foreign_quotes(self.span(lo), quote));
        let id = self.push_string(inside);
        (self.line_indent, self.fresh_line) = layout;
        self.push(Tok::Str(id), lo, col);
    }

    fn bump_to(&mut self, end: usize) {
        while self.pos < end && self.bump().is_some() {}
    }
}

/// The length of a string in foreign quotation marks, and the marks.
fn quoted(rest: &str) -> Option<(usize, &'static str)> {
    if let Some(inside) = rest.strip_prefix("\"\"\"") {
        return inside.find("\"\"\"").map(|at| (at + 6, "\"\"\""));
    }
    let quote = ["'", "`"].into_iter().find(|q| rest.starts_with(q))?;
    let line = rest[1..].lines().next().unwrap_or("");
    let (inside, after) = line.split_once(quote)?;
    let name = inside.ends_with(char::is_whitespace) && quote == "'" || after.starts_with(is_name_continue);
    (!name).then_some((inside.len() + 2, quote))
}
