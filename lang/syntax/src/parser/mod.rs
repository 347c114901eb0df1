//! Tokens → AST, by recursive descent under the layout rule.
//!
//! Layout is decided by the parser, by columns: a [`Ctx::Block`] hides every token that does not belong to it, so that the
//! functions which parse expressions see an `End` there. An error abandons the item; the next item is read afresh.

mod exprs;
mod items;
mod layout;
mod operators;
mod patterns;
mod types;

use crate::ast::*;
use crate::diag::Diagnostic;
use crate::errors::syntax as err;
use crate::lexer::lex;
use crate::span::{FileId, Span};
use crate::token::{Kw, Tok, Token};

/// How deep a tree may be. Brackets, chains of operators and blocks all count.
pub const MAX_DEPTH: usize = 2000;

/// A parse that cannot go on; the error has been reported.
pub(crate) struct Abandon;
pub(crate) type Parse<T> = Result<T, Abandon>;

pub(crate) struct Parser {
    toks: Vec<Token>,
    pos: usize,
    ctxs: Vec<layout::Ctx>,
    depth: usize,
    /// Inside the start of a `loop`, `for` and `while` belong to the loop.
    no_for: bool,
    diags: Vec<Diagnostic>,
    /// Whether some error was at the very end of the text, so that more text might repair it.
    hit_end: bool,
}

/// Parses a file, cell or REPL entry. Every error is reported; items that do not parse are [`ItemKind::Error`].
pub fn parse(file: FileId, text: &str) -> (Program, Vec<Diagnostic>) {
    let (program, diags, _) = parse_all(file, text);
    (program, diags)
}

fn parse_all(file: FileId, text: &str) -> (Program, Vec<Diagnostic>, bool) {
    let lexed = lex(file, text);
    let open_string = lexed.diags.iter().any(|d| d.code == "E0103");
    let mut parser = Parser::new(lexed.tokens);
    let program = parser.program();
    let mut diags = lexed.diags;
    diags.append(&mut parser.diags);
    diags.sort_by_key(|d| d.primary.span.lo);
    // An unreadable token was already reported; what the parser says of it is noise.
    let bad: Vec<Span> = diags.iter().filter(|d| d.code < "E0107").map(|d| d.primary.span).collect();
    diags.retain(|d| d.code < "E0107" || !bad.iter().any(|b| b.lo <= d.primary.span.lo && d.primary.span.lo <= b.hi));
    (program, diags, parser.hit_end || open_string)
}

/// Bytes that claim to be a program: not UTF-8 is an error with its place.
pub fn decode(file: FileId, bytes: &[u8]) -> Result<&str, Box<Diagnostic>> {
    std::str::from_utf8(bytes).map_err(|e| {
        let good = &bytes[..e.valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        let col = good.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        let at = Span::new(file, good.len(), good.len());
        Box::new(crate::errors::lexical::not_utf8(at, line, col))
    })
}

/// Parses a signature such as `(Diff a, Real s) => (a -> s) -> a -> a`.
pub fn parse_signature(text: &str) -> Result<Signature, Vec<Diagnostic>> {
    let lexed = lex(FileId::default(), text);
    let mut parser = Parser::new(lexed.tokens);
    match parser.signature() {
        Ok(sig) if parser.peek().tok == Tok::End && parser.diags.is_empty() => Ok(sig),
        _ => Err(parser.diags),
    }
}

/// Whether a text can be run as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completeness {
    /// It parses.
    Complete,
    /// More lines may follow; the next would be indented by so many columns.
    Incomplete(usize),
    /// No further line repairs it.
    Invalid,
}

/// Whether an entry of the REPL is complete. An entry that opens a block is complete only after an empty line.
pub fn completeness(text: &str) -> Completeness {
    let trimmed = text.trim_end();
    if trimmed.is_empty() {
        return Completeness::Complete;
    }
    let (_, diags, hit_end) = parse_all(FileId::default(), text);
    let last_line = text.lines().last().unwrap_or("");
    let indent = last_line.chars().take_while(|c| *c == ' ').count();
    if !diags.is_empty() {
        let opens = [" =", "->", "then", "else", "do", "in", "with", "="].iter().any(|s| trimmed.ends_with(s));
        return match hit_end {
            true => Completeness::Incomplete(if opens { indent + 2 } else { indent }),
            false => Completeness::Invalid,
        };
    }
    let several = trimmed.contains('\n') && indent > 0 && !last_line.trim().is_empty();
    if several && !text.ends_with('\n') { Completeness::Incomplete(indent) } else { Completeness::Complete }
}

impl Parser {
    fn new(toks: Vec<Token>) -> Parser {
        Parser { toks, pos: 0, ctxs: Vec::new(), depth: 0, no_for: false, diags: Vec::new(), hit_end: false }
    }

    /// Counts one level of nesting and grows the machine stack where it must.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Parser) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            let d = err::too_deep(self.peek().span);
            return self.fail(d);
        }
        self.depth += 1;
        let out = stacker::maybe_grow(128 * 1024, 1024 * 1024, || f(self));
        self.depth -= 1;
        out
    }

    fn fail<T>(&mut self, d: Diagnostic) -> Parse<T> {
        self.hit_end |= self.raw().tok == Tok::End;
        self.diags.push(d);
        Err(Abandon)
    }

    fn expected<T>(&mut self, what: &str) -> Parse<T> {
        let (span, found) = self.found();
        self.fail(err::expected(span, what, &found))
    }

    /// The place and name of the current token, for messages.
    fn found(&self) -> (Span, String) {
        let t = self.raw();
        (t.span, t.tok.describe())
    }

    fn raw(&self) -> &Token {
        &self.toks[self.pos.min(self.toks.len() - 1)]
    }

    fn prev_span(&self) -> Span {
        self.toks[self.pos.saturating_sub(1)].span
    }

    fn bump(&mut self) -> Token {
        let t = self.raw().clone();
        if self.pos + 1 < self.toks.len() {
            self.pos += 1;
        }
        t
    }

    fn is(&self, tok: &Tok) -> bool {
        self.peek().tok == *tok
    }

    fn is_kw(&self, kw: Kw) -> bool {
        self.peek().tok == Tok::Kw(kw)
    }

    fn accept(&mut self, tok: &Tok) -> bool {
        let yes = self.is(tok);
        if yes {
            self.bump();
        }
        yes
    }

    fn expect(&mut self, tok: &Tok, what: &str) -> Parse<Span> {
        if self.is(tok) { Ok(self.bump().span) } else { self.expected(what) }
    }

    fn close(&mut self, tok: &Tok, open: Span) -> Parse<Span> {
        if self.is(tok) {
            return Ok(self.bump().span);
        }
        let (span, found) = self.found();
        let bracket = tok.describe();
        self.fail(err::unclosed(open, bracket.trim_matches('`'), span, &found))
    }

    fn ident(&mut self, what: &str) -> Parse<Ident> {
        match self.peek().tok {
            Tok::Ident(name) => Ok(Ident { name, span: self.bump().span }),
            _ => self.expected(what),
        }
    }

    fn upper(&mut self, what: &str) -> Parse<Ident> {
        match self.peek().tok {
            Tok::Upper(name) => Ok(Ident { name, span: self.bump().span }),
            _ => self.expected(what),
        }
    }

    /// A name of a record's field: any identifier, `T` included.
    fn field_name(&mut self) -> Parse<Ident> {
        match self.peek().tok {
            Tok::Ident(name) | Tok::Upper(name) => Ok(Ident { name, span: self.bump().span }),
            _ => self.expected("a field's name"),
        }
    }
}
