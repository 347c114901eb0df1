//! Tokens → AST: recursive descent with precedence climbing, driven by columns.
//!
//! Error recovery uses one flag. The first error in an entry sets `Parser::panic`. From then on the parser sees only
//! [`Tok::End`] and reports nothing, so that all functions return. The enclosing block then skips to its next entry (or
//! the program to its next item) and clears the flag. So each entry reports at most one such error, and errors do not
//! cascade.
//!
//! - [`layout`]: which tokens an open construct sees.
//! - `items`, `blocks`, `expressions`, `atoms`, `control`, `patterns`, `types`: the grammar.
//! - `foreign_syntax`, `foreign_constructs`: syntax of other languages, recognised so that the error can name the adl form.

mod atoms;
mod blocks;
mod control;
mod expressions;
mod f_strings;
mod foreign_constructs;
mod foreign_syntax;
mod items;
pub mod layout;
mod patterns;
mod report;
mod types;

use crate::ast::{Ident, Program, Signature};
use crate::diag::Diagnostic;
use crate::errors::{foreign_syntax as habit_errors, items as item_errors, layout as layout_errors, lexical};
use crate::lexer::{Lexed, lex};
pub use crate::limits::parser::{MAX_DEPTH, MAX_ERRORS};
use crate::span::{FileId, Span};
use crate::symbol::Symbol;
use crate::token::{Kw, P, Tok, Token};
use layout::LayoutState;

/// Parses a file, cell or REPL entry. Total: broken parts become `Error` nodes, each with an error in the list.
pub fn parse(file: FileId, text: &str) -> (Program, Vec<Diagnostic>) {
    let outcome = parse_all(file, text);
    (outcome.program, outcome.diagnostics)
}

/// Like [`parse`], for bytes that may not be UTF-8.
pub fn parse_bytes(file: FileId, bytes: &[u8]) -> (Program, Vec<Diagnostic>) {
    match decode(file, bytes) {
        Ok(text) => parse(file, text),
        Err(error) => (Program::default(), vec![*error]),
    }
}

/// Decodes the bytes of a program. Invalid UTF-8 is an error with its position.
pub fn decode(file: FileId, bytes: &[u8]) -> Result<&str, Box<Diagnostic>> {
    std::str::from_utf8(bytes).map_err(|error| Box::new(not_utf8(file, bytes, error.valid_up_to())))
}

fn not_utf8(file: FileId, bytes: &[u8], at: usize) -> Diagnostic {
    let before = String::from_utf8_lossy(&bytes[..at]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    lexical::invalid_utf8(Span::new(file, at, at + 1), line, column)
}

/// Parses the text of a signature such as `(Diff a, Real s) => (a -> s) -> a -> a`.
pub fn parse_type(text: &str) -> Result<Signature, Vec<Diagnostic>> {
    let mut parser = Parser::new(FileId::default(), text, lex(FileId::default(), text));
    let signature = parser.deeper(Parser::signature);
    parser.expect_end();
    match parser.diagnostics.is_empty() {
        true => Ok(signature),
        false => Err(parser.diagnostics),
    }
}

pub(crate) struct Parsed {
    pub(crate) program: Program,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Whether some error was that the text ended too early.
    pub(crate) cut_off: bool,
    /// Whether some error had another cause.
    pub(crate) broken: bool,
}

pub(crate) fn parse_all(file: FileId, text: &str) -> Parsed {
    let mut parser = Parser::new(file, text, lex(file, text));
    parser.warn_of_mixed_indentation();
    let program = parser.program();
    parser.diagnostics.sort_by_key(|d| d.primary.span.lo);
    cut(&mut parser.diagnostics);
    Parsed { program, diagnostics: parser.diagnostics, cut_off: parser.cut_off, broken: parser.broken }
}

/// Limits the number of errors and of warnings.
fn cut(diagnostics: &mut Vec<Diagnostic>) {
    let before = diagnostics.len();
    let mut left = [MAX_ERRORS; 2];
    diagnostics.retain(|d| {
        let left = &mut left[usize::from(d.is_error())];
        let keep = *left > 0;
        *left = left.saturating_sub(1);
        keep
    });
    let more = before - diagnostics.len();
    if let (true, Some(last)) = (more > 0, diagnostics.last_mut()) {
        last.notes.push(format!("{more} more errors and warnings of this text are not shown"));
    }
}

pub(crate) struct Parser<'a> {
    file: FileId,
    text: &'a str,
    lexed: Lexed,
    pos: usize,
    layout: LayoutState,
    /// Index of a token that is visible in any column because it begins an item or entry.
    shown: usize,
    /// First byte of the entry being read.
    entry_start: u32,
    /// Nesting depth of the construct being parsed.
    depth: u32,
    /// Height of the tree built so far inside the innermost [`Parser::deeper`].
    height: u32,
    /// Whether an error was reported and recovery has not skipped the rest yet.
    panic: bool,
    /// Set in the initial value of a `loop`, where `for` belongs to the loop.
    no_for: bool,
    /// Set in a slice, where `::` is two colons.
    slicing: bool,
    diagnostics: Vec<Diagnostic>,
    /// The codes and places of the lexer's errors, in order.
    lexical_errors: Vec<(&'static str, Span)>,
    cut_off: bool,
    broken: bool,
}

impl<'a> Parser<'a> {
    fn new(file: FileId, text: &'a str, mut lexed: Lexed) -> Parser<'a> {
        let diagnostics = std::mem::take(&mut lexed.diagnostics);
        let lexical_errors = diagnostics.iter().map(|d| (d.code, d.primary.span)).collect();
        let cut_off = lexed.open_at_end;
        let broken = diagnostics.len() > usize::from(cut_off);
        let layout = LayoutState::new(&lexed.tokens);
        Parser {
            file,
            text,
            lexed,
            pos: 0,
            layout,
            shown: 0,
            entry_start: 0,
            depth: 0,
            height: 0,
            panic: false,
            no_for: false,
            slicing: false,
            diagnostics,
            lexical_errors,
            cut_off,
            broken,
        }
    }

    /// Warns once if some lines are indented with tabs and others with spaces.
    fn warn_of_mixed_indentation(&mut self) {
        let mut kinds = [false; 2];
        for token in self.lexed.tokens.iter().filter(|t| t.line_start && t.col > 0) {
            let before = &self.text[..token.lo as usize];
            let line = before.rfind('\n').map_or(0, |at| at + 1);
            let blanks = before.get(line..).unwrap_or("");
            if blanks.starts_with(['\t', ' ']) {
                kinds[usize::from(blanks.starts_with('\t'))] = true;
            }
            if kinds == [true; 2] {
                self.diagnostics.push(item_errors::tabs_and_spaces(Span::new(self.file, line, token.lo as usize)));
                return;
            }
        }
    }

    // Looking at tokens.

    /// The next token, even if the layout rule hides it.
    fn raw(&self) -> Token {
        self.raw_at(0)
    }

    fn raw_at(&self, ahead: usize) -> Token {
        let tokens = &self.lexed.tokens;
        tokens[(self.pos + ahead).min(tokens.len() - 1)]
    }

    /// The next token that the open construct sees: [`Tok::End`] where layout ends it, and after an error.
    fn peek(&self) -> Tok {
        if self.panic { Tok::End } else { self.visible(0) }
    }

    fn visible(&self, ahead: usize) -> Tok {
        if self.hidden(ahead) { Tok::End } else { self.raw_at(ahead).tok }
    }

    fn hidden(&self, ahead: usize) -> bool {
        let (token, next) = (self.raw_at(ahead), self.raw_at(ahead + 1));
        let ends = matches!(token.tok, Tok::End | Tok::P(P::SemiSemi));
        ends || (self.pos + ahead != self.shown && self.layout.hides(&token, &next))
    }

    /// Makes the next token visible in any column.
    fn show_next(&mut self) {
        self.shown = self.pos;
    }

    fn at(&self, p: P) -> bool {
        self.peek() == Tok::P(p)
    }

    fn at_kw(&self, kw: Kw) -> bool {
        self.peek() == Tok::Kw(kw)
    }

    /// Consumes the next token, which [`Parser::peek`] must have returned, and returns its span.
    fn bump(&mut self) -> Span {
        let token = self.raw();
        if !self.panic && token.tok != Tok::End {
            self.pos += 1;
        }
        self.span_of(&token)
    }

    fn eat(&mut self, p: P) -> bool {
        let yes = self.at(p);
        if yes {
            self.bump();
        }
        yes
    }

    fn eat_kw(&mut self, kw: Kw) -> bool {
        let yes = self.at_kw(kw);
        if yes {
            self.bump();
        }
        yes
    }

    fn span_of(&self, token: &Token) -> Span {
        Span::new(self.file, token.lo as usize, token.hi as usize)
    }

    /// The token before the next one.
    fn previous(&self) -> Option<Token> {
        self.pos.checked_sub(1).map(|i| self.lexed.tokens[i])
    }

    fn previous_span(&self) -> Span {
        self.previous().map_or(Span::new(self.file, 0, 0), |t| self.span_of(&t))
    }

    /// The span from `start` to the last token read.
    fn since(&self, start: Span) -> Span {
        let end = self.previous_span();
        if end.hi <= start.lo { start } else { Span { file: start.file, lo: start.lo, hi: end.hi } }
    }

    fn source(&self, span: Span) -> &'a str {
        self.text.get(span.lo as usize..span.hi as usize).unwrap_or("")
    }

    fn string(&self, id: u32) -> String {
        self.lexed.strings.get(id as usize).cloned().unwrap_or_default()
    }

    /// Consumes `p`, or reports that it is missing.
    fn expect(&mut self, p: P) -> bool {
        if self.eat(p) {
            return true;
        }
        if p == P::Arrow && self.at(P::FatArrow) {
            let at = self.bump();
            self.report(habit_errors::foreign_operator(at, "=>"));
            return true;
        }
        self.wanted("E0110", &format!("`{}`", p.text()));
        false
    }

    fn expect_kw(&mut self, kw: Kw) -> bool {
        if self.eat_kw(kw) {
            return true;
        }
        self.wanted("E0110", &format!("`{}`", kw.text()));
        false
    }

    /// A `lower_case` name.
    fn ident(&mut self, what: &str) -> Option<Ident> {
        if let Tok::Ident(name) = self.peek() {
            let span = self.bump();
            return Some(Ident { name, span });
        }
        self.wanted("E0110", what);
        None
    }

    /// A `lower_case` name or `_`.
    fn index_name(&mut self) -> Ident {
        if self.peek() == Tok::Underscore {
            let span = self.bump();
            return Ident { name: Symbol::new("_"), span };
        }
        self.ident("a name").unwrap_or_else(|| self.no_name())
    }

    fn no_name(&self) -> Ident {
        Ident { name: Symbol::new("_"), span: self.here() }
    }

    // Depth.

    /// Runs `f` one level deeper and grows the stack if necessary. The height afterwards is that of the tallest
    /// subtree.
    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let tallest = std::mem::replace(&mut self.height, 0);
        self.check_depth();
        let result = stacker::maybe_grow(128 * 1024, 1024 * 1024, || f(self));
        self.height = tallest.max(self.height + 1);
        self.depth -= 1;
        result
    }

    /// Runs `f` so that the height of its result is independent of its siblings.
    fn apart<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let tallest = std::mem::replace(&mut self.height, 0);
        let result = f(self);
        self.height = tallest.max(self.height);
        result
    }

    /// Counts a node that is built around the current subtree.
    fn grow(&mut self) {
        self.height += 1;
        self.check_depth();
    }

    fn check_depth(&mut self) {
        if self.depth + self.height > MAX_DEPTH && !self.panic {
            let at = self.here();
            self.broken = true;
            self.fail(layout_errors::too_deep(at, MAX_DEPTH));
        }
    }
}
