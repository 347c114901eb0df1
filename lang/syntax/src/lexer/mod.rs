//! Text → tokens. Total: every text gives tokens and a list of diagnostics.
//!
//! Comments are stored separately from the tokens. So the parser need not skip them, and the formatter finds them by
//! position.

mod foreign_syntax;
mod number;
mod string;

use crate::diag::Diagnostic;
use crate::errors::lexical;
use crate::span::{FileId, Span};
use crate::symbol::Symbol;
use crate::token::{Comment, CommentKind, Kw, P, Tok, Token};

/// The result of lexing.
#[derive(Debug, Default)]
pub struct Lexed {
    /// In source order; the last one is [`Tok::End`].
    pub tokens: Vec<Token>,
    /// In source order.
    pub comments: Vec<Comment>,
    /// String contents with escapes resolved.
    pub strings: Vec<String>,
    /// In source order.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the text ends inside a comment.
    pub open_at_end: bool,
}

/// Splits `text` into tokens.
pub fn lex(file: FileId, text: &str) -> Lexed {
    let mut lexer = Lexer::new(file, text);
    while lexer.step() {}
    lexer.finish()
}

/// Whether `c` may begin a name.
pub fn is_name_start(c: char) -> bool {
    c == '_' || unicode_ident::is_xid_start(c) || matches!(c, '∂' | '∇')
}

/// Whether `c` may continue a name.
pub fn is_name_continue(c: char) -> bool {
    c == '\'' || is_name_start(c) || unicode_ident::is_xid_continue(c) || matches!(c, '₀'..='₉')
}

pub(crate) struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    pos: usize,
    /// Column of `pos`.
    col: u32,
    /// Column of the first token or comment on the current line, if there is one.
    line_indent: Option<u32>,
    /// Whether the current line has no token so far.
    fresh_line: bool,
    /// Whether white space or a comment followed the last token.
    space: bool,
    /// For each open interpolation, the number of `{` open inside it.
    interpolations: Vec<u32>,
    out: Lexed,
}

impl<'a> Lexer<'a> {
    fn new(file: FileId, text: &'a str) -> Lexer<'a> {
        let mut lexer = Lexer {
            file,
            text,
            pos: 0,
            col: 0,
            line_indent: None,
            fresh_line: true,
            space: true,
            interpolations: Vec::new(),
            out: Lexed::default(),
        };
        if text.starts_with('\u{feff}') {
            lexer.pos = '\u{feff}'.len_utf8();
        }
        if lexer.rest().starts_with("#!") {
            lexer.skip_line();
        }
        lexer
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.pos..).unwrap_or("")
    }

    fn peek_char(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn span(&self, lo: usize) -> Span {
        Span::new(self.file, lo, self.pos)
    }

    /// Consumes one character and updates the column.
    fn bump(&mut self) -> Option<char> {
        let character = self.peek_char()?;
        self.pos += character.len_utf8();
        match character {
            '\n' => {
                self.col = 0;
                self.line_indent = None;
                self.fresh_line = true;
            }
            '\t' => self.col = (self.col / 8 + 1) * 8,
            '\r' => {}
            _ => self.col += 1,
        }
        Some(character)
    }

    fn bump_while(&mut self, accept: impl Fn(char) -> bool) {
        while self.peek_char().is_some_and(&accept) {
            self.bump();
        }
    }

    fn skip_line(&mut self) {
        self.bump_while(|c| c != '\n');
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.out.diagnostics.push(diagnostic);
    }

    /// Adds a token that spans from `lo` (in column `col`) to the current position.
    fn push(&mut self, tok: Tok, lo: usize, col: u32) {
        let indent = *self.line_indent.get_or_insert(col);
        let line_start = self.fresh_line;
        self.out.tokens.push(Token {
            tok,
            lo: lo as u32,
            hi: self.pos as u32,
            col: if line_start { indent } else { col },
            indent,
            line_start,
            space_before: self.space,
        });
        self.fresh_line = false;
        self.space = false;
    }

    fn push_string(&mut self, text: String) -> u32 {
        self.out.strings.push(text);
        self.out.strings.len() as u32 - 1
    }

    /// Reads one token, comment or run of white space; `false` at the end.
    fn step(&mut self) -> bool {
        let Some(character) = self.peek_char() else { return false };
        let (lo, col) = (self.pos, self.col);
        match character {
            '\n' => self.newline(),
            c if c.is_whitespace() => {
                self.bump();
                self.space = true;
            }
            '-' if self.rest().starts_with("--") => self.line_comment(),
            '(' if self.rest().starts_with("(*") && !self.rest().starts_with("(*)") => self.block_comment(),
            '"' | '/' | '#' | '\'' | '`' if self.foreign(lo, col) => {}
            '"' => self.string(),
            'f' if self.rest().starts_with("f\"") => self.begin_interpolated(),
            '0'..='9' => self.number(),
            '_' => self.underscore_or_name(lo, col),
            c if is_name_start(c) => self.name(lo, col),
            '{' | '}' if !self.interpolations.is_empty() => self.brace_in_interpolation(character),
            _ => self.punctuation(lo, col),
        }
        true
    }

    fn newline(&mut self) {
        if !self.interpolations.is_empty() {
            self.interpolation_cut_off();
        }
        self.bump();
        self.space = true;
    }

    fn underscore_or_name(&mut self, lo: usize, col: u32) {
        if self.rest()[1..].starts_with(is_name_continue) {
            return self.name(lo, col);
        }
        self.bump();
        self.push(Tok::Underscore, lo, col);
    }

    fn name(&mut self, lo: usize, col: u32) {
        self.bump_while(is_name_continue);
        let name = &self.text[lo..self.pos];
        let upper = name.chars().find(|c| *c != '_').is_some_and(char::is_uppercase) && !name.starts_with('_');
        let tok = match Kw::from_name(name) {
            Some(kw) => Tok::Kw(kw),
            None if upper => Tok::Con(Symbol::new(name)),
            None => Tok::Ident(Symbol::new(name)),
        };
        self.push(tok, lo, col);
    }

    fn punctuation(&mut self, lo: usize, col: u32) {
        let rest = self.rest();
        let Some(p) = P::ALL.into_iter().find(|p| rest.starts_with(p.text())) else { return self.unknown(lo) };
        for _ in p.text().chars() {
            self.bump();
        }
        self.push(Tok::P(p), lo, col);
    }

    /// Skips a run of characters that cannot begin a token, and reports them once.
    fn unknown(&mut self, lo: usize) {
        self.bump();
        self.bump_while(|c| {
            !c.is_whitespace()
                && !c.is_ascii_alphanumeric()
                && !is_name_start(c)
                && c != '"'
                && !P::ALL.into_iter().any(|p| p.text().starts_with(c))
        });
        let (text, span) = (&self.text[lo..self.pos], self.span(lo));
        self.space = true;
        let transposed = text == "'" && self.text[..lo].ends_with([')', ']', '\'']);
        self.error(if transposed {
            crate::errors::foreign_syntax::transposed(span)
        } else {
            lexical::unknown_character(span, text, self.rest())
        });
    }

    fn line_comment(&mut self) {
        let (lo, col, own_line) = (self.pos, self.col, self.line_indent.is_none());
        let kind = if self.rest().starts_with("--|") { CommentKind::Doc } else { CommentKind::Line };
        self.skip_line();
        let len = self.text[lo..self.pos].trim_end().len();
        let span = Span::new(self.file, lo, lo + len);
        self.out.comments.push(Comment { kind, span, own_line, col });
        self.space = true;
    }

    fn block_comment(&mut self) {
        let (lo, col, own_line) = (self.pos, self.col, self.line_indent.is_none());
        let indent = self.line_indent.unwrap_or(col);
        let fresh = self.fresh_line;
        let mut depth = 0u32;
        loop {
            let rest = self.rest();
            let step = if rest.starts_with("(*)") && depth > 0 {
                3
            } else if rest.starts_with("(*") {
                depth += 1;
                2
            } else if rest.starts_with("*)") {
                depth -= 1;
                2
            } else {
                1
            };
            for _ in 0..step {
                if self.bump().is_none() {
                    self.out.open_at_end = true;
                    self.error(lexical::unterminated_comment(Span::new(self.file, lo, lo + 2)));
                    return;
                }
            }
            if depth == 0 {
                break;
            }
        }
        // The column of the comment counts as the indentation of what follows it on the line.
        self.line_indent = Some(indent);
        self.fresh_line = fresh;
        self.space = true;
        let span = self.span(lo);
        self.out.comments.push(Comment { kind: CommentKind::Block, span, own_line, col });
    }

    fn finish(mut self) -> Lexed {
        if !self.interpolations.is_empty() {
            self.interpolation_cut_off();
        }
        self.line_indent = None;
        self.fresh_line = true;
        self.space = true;
        let end = self.text.len();
        self.col = 0;
        self.pos = end;
        self.push(Tok::End, end, 0);
        self.out
    }
}

/// The text of the string that is not closed at the end of a text that breaks off; `None` outside of strings.
pub fn open_string(text: &str) -> Option<&str> {
    let lexed = lex(FileId::default(), text);
    let open = lexed.diagnostics.iter().rev().find(|d| d.code == "E0102")?.primary.span;
    let inside = text.get(open.lo as usize..)?.trim_start_matches('f').strip_prefix('"')?;
    (!inside.contains('\n')).then_some(inside)
}
