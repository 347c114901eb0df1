//! Lexer of the text form.

use super::ParseError;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Tok {
    /// Letters, digits, `_`, `'`: a word, a name or a variable.
    Word(String),
    /// A variable whose name is quoted by backticks, with its number.
    Tick(String, u32),
    /// Quoted text.
    Str(String),
    /// Digits, possibly with a sign, a fraction, an exponent, and letters.
    Num(String),
    /// Anything else: one character, or `->`, `..`.
    Sign(&'static str),
    /// End of the text.
    End,
}

/// A token with its 1-based line and column.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub tok: Tok,
    pub line: usize,
    pub col: usize,
}

/// Splits a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ParseError> {
    let mut l = Lexer { chars: text.chars().collect(), at: 0, line: 1, col: 1 };
    let mut out = Vec::new();
    loop {
        l.blanks();
        let (line, col) = (l.line, l.col);
        let tok = l.next()?;
        let end = tok == Tok::End;
        out.push(Token { tok, line, col });
        if end {
            return Ok(out);
        }
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    col: usize,
}

const SIGNS: &[&str] = &["->", "..", "(", ")", "{", "}", "[", "]", ",", ";", ":", "=", "|", "@", "~", "."];

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\''
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn bump(&mut self) -> char {
        let c = self.peek(0);
        self.at += 1;
        if c == '\n' {
            (self.line, self.col) = (self.line + 1, 1);
        } else {
            self.col += 1;
        }
        c
    }

    fn error<T>(&self, message: &str) -> Result<T, ParseError> {
        Err(ParseError { line: self.line, col: self.col, message: message.to_owned() })
    }

    fn blanks(&mut self) {
        while self.at < self.chars.len() {
            if self.peek(0) == '-' && self.peek(1) == '-' {
                while self.at < self.chars.len() && self.peek(0) != '\n' {
                    self.bump();
                }
            } else if self.peek(0).is_whitespace() {
                self.bump();
            } else {
                return;
            }
        }
    }

    fn next(&mut self) -> Result<Tok, ParseError> {
        if self.at >= self.chars.len() {
            return Ok(Tok::End);
        }
        let character = self.peek(0);
        if character == '"' {
            return self.quoted('"').map(Tok::Str);
        }
        if character == '`' {
            return self.tick();
        }
        let sign = character == '-' && in_word(self.peek(1));
        if character.is_ascii_digit() || sign {
            return Ok(Tok::Num(self.number()));
        }
        if in_word(character) {
            return Ok(Tok::Word(self.word()));
        }
        for s in SIGNS {
            if s.chars().enumerate().all(|(i, c)| self.peek(i) == c) {
                s.chars().for_each(|_| {
                    self.bump();
                });
                return Ok(Tok::Sign(s));
            }
        }
        self.error(&format!("`{}` means nothing here", character.escape_default()))
    }

    fn word(&mut self) -> String {
        let mut out = String::new();
        while in_word(self.peek(0)) {
            out.push(self.bump());
        }
        out
    }

    fn number(&mut self) -> String {
        let mut out = String::new();
        if self.peek(0) == '-' {
            out.push(self.bump());
        }
        let mut last = '0';
        loop {
            let c = self.peek(0);
            let point = c == '.' && self.peek(1).is_ascii_digit() && !out.contains('.');
            let exponent = matches!(c, '+' | '-') && last == 'e' && out.chars().any(|c| c.is_ascii_digit());
            if !in_word(c) && !point && !exponent {
                return out;
            }
            last = self.bump();
            out.push(last);
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String, ParseError> {
        self.bump();
        let mut out = String::new();
        loop {
            if self.at >= self.chars.len() {
                return self.error("the quoted text does not end");
            }
            match self.bump() {
                c if c == quote => return Ok(out),
                '\\' => match self.bump() {
                    'n' => out.push('\n'),
                    'u' => out.push(self.unicode()?),
                    c => out.push(c),
                },
                c => out.push(c),
            }
        }
    }

    /// The rest of a `\u` escape: `{hex}`.
    fn unicode(&mut self) -> Result<char, ParseError> {
        let mut hex = String::new();
        self.bump();
        while self.peek(0).is_ascii_hexdigit() {
            hex.push(self.bump());
        }
        self.bump();
        match u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32) {
            Some(c) => Ok(c),
            None => self.error("no such character"),
        }
    }

    /// A variable with a quoted name: `` `name`_7 ``.
    fn tick(&mut self) -> Result<Tok, ParseError> {
        let name = self.quoted('`')?;
        let number = self.word();
        match number.strip_prefix('_').and_then(|n| n.parse().ok()) {
            Some(n) => Ok(Tok::Tick(name, n)),
            None => self.error("the number of the variable is missing: `name`_7"),
        }
    }
}
