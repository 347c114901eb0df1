//! Text → tokens. Total: anything it cannot read becomes [`Tok::Bad`] and an error.

use crate::ast::BinOp;
use crate::diag::Diagnostic;
use crate::errors::lexical as err;
use crate::span::{FileId, Span};
use crate::symbol::Symbol;
use crate::token::{Comment, FPart, KEYWORDS, Kw, Tok, Token};

/// Everything that the lexer finds.
pub struct Lexed {
    /// Ends in `End`.
    pub tokens: Vec<Token>,
    /// In order.
    pub comments: Vec<Comment>,
    /// Errors.
    pub diags: Vec<Diagnostic>,
}

/// Reads a whole text.
pub fn lex(file: FileId, text: &str) -> Lexed {
    let mut lexer = Lexer::new(file, text, 0);
    if text.starts_with("#!") {
        lexer.skip_line();
    }
    lexer.run(false);
    Lexed { tokens: lexer.tokens, comments: lexer.comments, diags: lexer.diags }
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    pos: usize,
    line_start: usize,
    fresh_line: bool,
    indent: u32,
    space: bool,
    doc: Vec<String>,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
    diags: Vec<Diagnostic>,
    nesting: usize,
}

fn is_ident_start(c: char) -> bool {
    unicode_ident::is_xid_start(c) || c == '_' || c == '∂' || c == '∇'
}

fn is_ident_part(c: char) -> bool {
    unicode_ident::is_xid_continue(c) || c == '\'' || c == '∂' || c == '∇' || ('₀'..='ₜ').contains(&c)
}

impl<'a> Lexer<'a> {
    fn new(file: FileId, text: &'a str, pos: usize) -> Lexer<'a> {
        Lexer {
            file, text, pos, line_start: 0, fresh_line: true, indent: 0, space: true, doc: Vec::new(),
            tokens: Vec::new(), comments: Vec::new(), diags: Vec::new(), nesting: 0,
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.pos..].chars().next()
    }

    fn peek2(&self) -> Option<char> {
        self.text[self.pos..].chars().nth(1)
    }

    fn at(&self, s: &str) -> bool {
        self.text[self.pos..].starts_with(s)
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        if c == '\n' {
            self.line_start = self.pos;
            self.fresh_line = true;
        }
        Some(c)
    }

    fn span(&self, lo: usize) -> Span {
        Span::new(self.file, lo, self.pos)
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.bump();
        }
    }

    /// Reads tokens up to the end, or (inside `f"{`) up to the closing `}`.
    fn run(&mut self, nested: bool) {
        let mut braces = 0usize;
        loop {
            self.skip_space();
            let lo = self.pos;
            let Some(c) = self.peek() else { break };
            if nested && c == '}' && braces == 0 {
                break;
            }
            let col = self.text[self.line_start..lo].chars().count() as u32;
            let first = self.fresh_line;
            if first {
                self.indent = col;
            }
            self.fresh_line = false;
            let (indent, space) = (self.indent, self.space);
            let tok = self.token(c);
            match tok {
                Tok::LBrace => braces += 1,
                Tok::RBrace => braces = braces.saturating_sub(1),
                _ => {}
            }
            self.space = false;
            let doc = self.take_doc(first);
            let span = self.span(lo);
            self.tokens.push(Token { tok, span, col, first, indent, space, doc });
        }
        let end = Span::new(self.file, self.pos, self.pos);
        self.tokens.push(Token { tok: Tok::End, span: end, col: 0, first: true, indent: 0, space: true, doc: None });
    }

    fn take_doc(&mut self, first: bool) -> Option<String> {
        if self.doc.is_empty() || !first {
            return None;
        }
        Some(std::mem::take(&mut self.doc).join("\n"))
    }

    fn skip_space(&mut self) {
        while let Some(c) = self.peek() {
            if c.is_whitespace() || c == '\u{feff}' {
                self.bump();
            } else if self.at("--") {
                self.line_comment();
            } else if self.at("(*") && self.text[self.pos + 2..].chars().next().is_none_or(|c| c != ')') {
                self.block_comment();
            } else {
                return;
            }
            self.space = true;
        }
    }

    fn line_comment(&mut self) {
        let (lo, own_line) = (self.pos, self.fresh_line);
        self.skip_line();
        let text = self.text[lo..self.pos].trim_end();
        match text.strip_prefix("--|") {
            Some(doc) => self.doc.push(doc.strip_prefix(' ').unwrap_or(doc).to_owned()),
            None => self.comments.push(Comment { span: self.span(lo), own_line }),
        }
    }

    fn block_comment(&mut self) {
        let (lo, own_line) = (self.pos, self.fresh_line);
        let mut depth = 0usize;
        loop {
            if self.at("(*") {
                depth += 1;
                self.pos += 2;
            } else if self.at("*)") {
                depth -= 1;
                self.pos += 2;
                if depth == 0 {
                    break;
                }
            } else if self.bump().is_none() {
                self.diags.push(err::unterminated_comment(Span::new(self.file, lo, lo + 2)));
                break;
            }
        }
        self.fresh_line = own_line && !self.text[lo..self.pos].contains('\n') || self.fresh_line;
        self.comments.push(Comment { span: self.span(lo), own_line });
    }

    fn token(&mut self, c: char) -> Tok {
        if c == 'f' && self.at("f\"") {
            self.pos += 1;
            return self.f_string();
        }
        if c.is_ascii_digit() {
            return self.number();
        }
        if is_ident_start(c) {
            return self.word();
        }
        if c == '"' {
            let lo = self.pos;
            self.pos += 1;
            return Tok::Str(self.string_text(lo, false).0);
        }
        self.symbol()
    }

    fn word(&mut self) -> Tok {
        let lo = self.pos;
        while self.peek().is_some_and(is_ident_part) {
            self.bump();
        }
        if self.pos == lo {
            self.bump();
        }
        let word = &self.text[lo..self.pos];
        if word == "_" {
            return Tok::Underscore;
        }
        if let Some((_, kw)) = KEYWORDS.iter().find(|(name, _)| *name == word) {
            return Tok::Kw(*kw);
        }
        let upper = word.chars().find(|c| *c != '_').is_some_and(|c| c.is_uppercase() && c.is_ascii());
        if upper { Tok::Upper(Symbol::new(word)) } else { Tok::Ident(Symbol::new(word)) }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_digit() || c == '_') {
            self.pos += 1;
        }
    }

    fn number(&mut self) -> Tok {
        let lo = self.pos;
        let mut real = false;
        self.digits();
        if self.peek() == Some('.') && self.peek2().is_some_and(|c| c.is_ascii_digit()) {
            real = true;
            self.pos += 1;
            self.digits();
        }
        if self.exponent() {
            real = true;
        }
        let text: String = self.text[lo..self.pos].chars().filter(|c| *c != '_').collect();
        if self.at("f32") {
            self.pos += 3;
            return text.parse().map_or(Tok::Bad, Tok::F32);
        }
        if self.peek().is_some_and(is_ident_part) {
            while self.peek().is_some_and(is_ident_part) {
                self.bump();
            }
            self.diags.push(err::bad_number(self.span(lo), &self.text[lo..self.pos]));
            return Tok::Bad;
        }
        if real {
            return text.parse().map_or(Tok::Bad, Tok::Float);
        }
        match text.parse() {
            Ok(n) => Tok::Int(n),
            Err(_) => {
                self.diags.push(err::int_too_large(self.span(lo), &text));
                Tok::Int(0)
            }
        }
    }

    fn exponent(&mut self) -> bool {
        let rest = &self.text[self.pos..];
        let mut chars = rest.chars();
        if !matches!(chars.next(), Some('e' | 'E')) {
            return false;
        }
        let sign = usize::from(matches!(rest[1..].chars().next(), Some('+' | '-')));
        if !rest[1 + sign..].starts_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        self.pos += 1 + sign;
        self.digits();
        true
    }

    /// The rest of a string after its opening quote; for `f` strings stops at `{` too. Returns the text and whether it
    /// stopped at a `{`.
    fn string_text(&mut self, lo: usize, interpolated: bool) -> (String, bool) {
        let mut out = String::new();
        loop {
            match self.peek() {
                None => {
                    self.diags.push(err::unterminated_string(Span::new(self.file, lo, (lo + 1).min(self.text.len()))));
                    return (out, false);
                }
                Some('\n') => {
                    self.diags.push(err::unterminated_string(Span::new(self.file, lo, self.pos)));
                    return (out, false);
                }
                Some('"') => {
                    self.pos += 1;
                    return (out, false);
                }
                Some('\\') => self.escape(&mut out),
                Some('{') if interpolated && !self.at("{{") => {
                    self.pos += 1;
                    return (out, true);
                }
                Some(c @ ('{' | '}')) if interpolated && self.peek2() == Some(c) => {
                    self.pos += 2;
                    out.push(c);
                }
                Some(c) => {
                    self.bump();
                    out.push(c);
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) {
        let lo = self.pos;
        self.pos += 1;
        match self.bump() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('0') => out.push('\0'),
            Some('e') => out.push('\x1b'),
            Some(c @ ('\\' | '"' | '\'' | '{' | '}')) => out.push(c),
            Some('u') if self.peek() == Some('{') => self.unicode_escape(lo, out),
            _ => self.diags.push(err::bad_escape(self.span(lo))),
        }
    }

    fn unicode_escape(&mut self, lo: usize, out: &mut String) {
        self.pos += 1;
        let digits = self.pos;
        while self.peek().is_some_and(|c| c.is_ascii_hexdigit()) {
            self.pos += 1;
        }
        let code = u32::from_str_radix(&self.text[digits..self.pos], 16).ok().and_then(char::from_u32);
        match (code, self.peek()) {
            (Some(c), Some('}')) => {
                self.pos += 1;
                out.push(c);
            }
            _ => self.diags.push(err::bad_escape(self.span(lo))),
        }
    }

    fn f_string(&mut self) -> Tok {
        let lo = self.pos;
        self.pos += 1;
        let mut parts = Vec::new();
        loop {
            let (text, expr) = self.string_text(lo, true);
            if !text.is_empty() {
                parts.push(FPart::Text(text));
            }
            if !expr {
                return Tok::FStr(parts);
            }
            if self.nesting >= 20 {
                self.diags.push(err::unterminated_string(Span::new(self.file, lo, self.pos)));
                self.pos = self.text.len();
                return Tok::Bad;
            }
            parts.push(FPart::Expr(self.nested()));
            if self.peek() == Some('}') {
                self.pos += 1;
            }
        }
    }

    /// Tokens of `{...}` inside a string.
    fn nested(&mut self) -> Vec<Token> {
        let mut inner = Lexer::new(self.file, self.text, self.pos);
        inner.line_start = self.line_start;
        inner.fresh_line = false;
        inner.indent = self.indent;
        inner.nesting = self.nesting + 1;
        inner.run(true);
        self.pos = inner.pos;
        self.line_start = inner.line_start;
        self.diags.extend(inner.diags);
        self.comments.extend(inner.comments);
        inner.tokens
    }

    fn symbol(&mut self) -> Tok {
        const TABLE: &[(&str, Tok)] = &[
            ("[|", Tok::LIverson), ("|]", Tok::RIverson), (";;", Tok::SemiSemi), ("->", Tok::Arrow), ("=>", Tok::FatArrow),
            ("..", Tok::DotDot),
            ("<|", Tok::Op(BinOp::PipeLeft)), ("|>", Tok::Op(BinOp::PipeRight)), (">>", Tok::Op(BinOp::Compose)),
            ("||", Tok::Op(BinOp::Or)), ("&&", Tok::Op(BinOp::And)), ("==", Tok::Op(BinOp::Eq)), ("!=", Tok::Op(BinOp::Ne)),
            ("<=", Tok::Op(BinOp::Le)), (">=", Tok::Op(BinOp::Ge)), ("::", Tok::Op(BinOp::Cons)), ("++", Tok::Op(BinOp::Append)),
            ("//", Tok::Op(BinOp::IntDiv)),
            ("(", Tok::LParen), (")", Tok::RParen), ("[", Tok::LBracket), ("]", Tok::RBracket), ("{", Tok::LBrace),
            ("}", Tok::RBrace), (",", Tok::Comma), (";", Tok::Semi), (":", Tok::Colon), (".", Tok::Dot), ("=", Tok::Equals),
            ("|", Tok::Bar), ("<", Tok::Op(BinOp::Lt)), (">", Tok::Op(BinOp::Gt)), ("+", Tok::Op(BinOp::Add)),
            ("-", Tok::Op(BinOp::Sub)), ("*", Tok::Op(BinOp::Mul)), ("/", Tok::Op(BinOp::Div)), ("%", Tok::Op(BinOp::Rem)),
            ("@", Tok::Op(BinOp::MatMul)), ("^", Tok::Op(BinOp::Pow)),
        ];
        // `x[|` cannot occur, but `||]` and `|]` after an operator can: `|]` wins over `||` only when followed by `]`.
        if self.at("||]") {
            self.pos += 1;
            return Tok::Bar;
        }
        for (text, tok) in TABLE {
            if self.at(text) {
                self.pos += text.len();
                return tok.clone();
            }
        }
        let lo = self.pos;
        self.bump();
        self.diags.push(err::unknown_char(self.span(lo), &self.text[lo..self.pos]));
        Tok::Bad
    }
}

/// Classes of tokens, for highlighters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Class {
    Keyword, Name, Constructor, Number, Text, Comment, Operator, Bracket,
}

/// Tokens and comments of a text in order, with their classes.
pub fn classify(text: &str) -> Vec<(Span, Class)> {
    let lexed = lex(FileId(0), text);
    let mut out: Vec<(Span, Class)> = lexed.comments.iter().map(|c| (c.span, Class::Comment)).collect();
    out.extend(lexed.tokens.iter().filter_map(|t| class(&t.tok).map(|c| (t.span, c))));
    out.sort_by_key(|(s, _)| s.lo);
    out
}

fn class(tok: &Tok) -> Option<Class> {
    Some(match tok {
        Tok::Ident(_) | Tok::Underscore => Class::Name,
        Tok::Upper(_) => Class::Constructor,
        Tok::Int(_) | Tok::Float(_) | Tok::F32(_) | Tok::Kw(Kw::True | Kw::False) => Class::Number,
        Tok::Str(_) | Tok::FStr(_) => Class::Text,
        Tok::Kw(_) => Class::Keyword,
        Tok::LParen | Tok::RParen | Tok::LBracket | Tok::RBracket | Tok::LBrace | Tok::RBrace | Tok::LIverson
        | Tok::RIverson => Class::Bracket,
        Tok::Op(_) | Tok::Comma | Tok::Semi | Tok::SemiSemi | Tok::Colon | Tok::Dot | Tok::DotDot | Tok::Equals
        | Tok::Arrow | Tok::FatArrow | Tok::Bar => Class::Operator,
        Tok::Bad | Tok::End => return None,
    })
}
