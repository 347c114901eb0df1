//! The tokens of JSON text, with positions for errors.

use crate::error::{Error, Res, codes};
use adl_syntax::diag::Excerpt;

/// A reader at a position.
pub(super) struct JsonReader<'a> {
    path: &'a str,
    text: &'a str,
    pos: usize,
}

/// The kind of the value that begins at the current position.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum TokenKind {
    Null,
    True,
    False,
    Number,
    Text,
    List,
    Object,
    End,
    Other,
}

impl TokenKind {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            TokenKind::Null => "null",
            TokenKind::True => "true",
            TokenKind::False => "false",
            TokenKind::Number => "a number",
            TokenKind::Text => "a text",
            TokenKind::List => "a list",
            TokenKind::Object => "an object",
            TokenKind::End => "the end of the file",
            TokenKind::Other => "something that is not JSON",
        }
    }
}

impl<'a> JsonReader<'a> {
    pub fn new(path: &'a str, bytes: &'a [u8]) -> Res<JsonReader<'a>> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(JsonReader { path, text, pos: 0 }),
            Err(e) => {
                let good = std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or("");
                Err(JsonReader { path, text: good, pos: good.len() }.error("the file is not UTF-8 text"))
            }
        }
    }

    /// An error at the current position.
    pub fn error(&self, text: impl std::fmt::Display) -> Box<Error> {
        let before = &self.text[..self.pos];
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = 1 + before.matches('\n').count();
        let length = self.text[self.pos..]
            .bytes()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'"' | b'.' | b'-' | b'+' | b'_'))
            .count();
        let error =
            Error::new(codes::JSON, format!("{}:{line}:{}: {text}", self.path, 1 + before[start..].chars().count()));
        error.excerpt(Excerpt::new(self.path, line, self.text, (self.pos, self.pos + length.max(1))))
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.pos += 1;
        }
    }

    /// The kind of the next value, after blanks.
    pub fn peek(&mut self) -> TokenKind {
        self.blanks();
        let rest = &self.text[self.pos..];
        match self.byte() {
            None => TokenKind::End,
            Some(b'"') => TokenKind::Text,
            Some(b'[') => TokenKind::List,
            Some(b'{') => TokenKind::Object,
            Some(b'-' | b'0'..=b'9') => TokenKind::Number,
            _ if rest.starts_with("null") => TokenKind::Null,
            _ if rest.starts_with("true") => TokenKind::True,
            _ if rest.starts_with("false") => TokenKind::False,
            _ => TokenKind::Other,
        }
    }

    /// The position at which the next value begins.
    pub fn mark(&mut self) -> usize {
        self.blanks();
        self.pos
    }

    /// Returns to a position given by [`Self::mark`].
    pub fn rewind(&mut self, mark: usize) {
        self.pos = mark;
    }

    /// Skips `null`, `true` or `false`, which [`Self::peek`] has found.
    pub fn word(&mut self, next: TokenKind) {
        self.pos += next.name().len();
    }

    /// Skips a punctuation character if it is next. Returns whether it was.
    pub fn sign(&mut self, c: u8) -> bool {
        self.blanks();
        let there = self.byte() == Some(c);
        self.pos += usize::from(there);
        there
    }

    /// The text of a number.
    pub fn number(&mut self) -> Res<&'a str> {
        let rest = &self.text[self.pos..];
        let n = rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let text = &rest[..n];
        let digits = text.strip_prefix('-').unwrap_or(text);
        let whole = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let leading_zero = whole > 1 && digits.starts_with('0');
        let bare_point =
            digits[whole..].starts_with('.') && !digits[whole + 1..].starts_with(|c: char| c.is_ascii_digit());
        if whole == 0 || leading_zero || bare_point || text.parse::<f64>().is_err() {
            return Err(self.error(format!("`{text}` is not a JSON number")));
        }
        self.pos += n;
        Ok(text)
    }

    /// A quoted text.
    pub fn string(&mut self) -> Res<String> {
        let start = self.pos;
        self.pos += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.pos..];
            let Some(length) = rest.find(|c: char| c == '"' || c == '\\' || c < ' ') else {
                self.pos = start;
                return Err(self.error("this text is not closed"));
            };
            out.push_str(&rest[..length]);
            self.pos += length;
            match self.byte() {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.error("a control character in a text (a line break is written \\n)")),
            }
        }
    }

    fn escape(&mut self) -> Res<char> {
        let c = self.text.as_bytes().get(self.pos + 1).copied();
        let plain = match c {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.error("unknown escape")),
        };
        self.pos += 2;
        Ok(plain)
    }

    /// `\uXXXX`, or a surrogate pair of them.
    fn unicode(&mut self) -> Res<char> {
        let unit = |at: usize| {
            self.text
                .get(at + 2..at + 6)
                .filter(|_| self.text[at..].starts_with("\\u"))
                .and_then(|h| u16::from_str_radix(h, 16).ok())
        };
        let first = unit(self.pos).ok_or_else(|| self.error("`\\u` takes four hexadecimal digits"))?;
        let (units, n) = match (first, unit(self.pos + 6)) {
            (0xd800..=0xdbff, Some(second)) => (vec![first, second], 12),
            _ => (vec![first], 6),
        };
        let c = char::decode_utf16(units)
            .next()
            .and_then(Result::ok)
            .ok_or_else(|| self.error("half of a surrogate pair"))?;
        self.pos += n;
        Ok(c)
    }

    /// Skips the opening bracket of an array or object.
    pub fn open(&mut self) {
        self.pos += 1;
    }

    /// Whether another element follows after `n` elements. Skips the comma before it, or the closing bracket.
    pub fn more(&mut self, close: u8, n: usize) -> Res<bool> {
        if self.sign(close) {
            return Ok(false);
        }
        if n > 0 && !self.sign(b',') {
            return Err(self.error(format!("`,` or `{}` is missing", char::from(close))));
        }
        Ok(true)
    }

    /// The key of an entry; skips the colon.
    pub fn key(&mut self) -> Res<String> {
        if self.peek() != TokenKind::Text {
            return Err(self.error("a key in quotes is missing"));
        }
        let key = self.string()?;
        if !self.sign(b':') {
            return Err(self.error("`:` is missing"));
        }
        Ok(key)
    }

    /// Skips a value of any kind.
    pub fn skip(&mut self) -> Res<()> {
        let next = self.peek();
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match next {
            TokenKind::Null | TokenKind::True | TokenKind::False => {
                self.word(next);
                Ok(())
            }
            TokenKind::Number => self.number().map(|_| ()),
            TokenKind::Text => self.string().map(|_| ()),
            TokenKind::List | TokenKind::Object => self.skip_all(if next == TokenKind::List { b']' } else { b'}' }),
            TokenKind::End | TokenKind::Other => {
                Err(self.error(format!("a value is missing: here is {}", next.name())))
            }
        })
    }

    fn skip_all(&mut self, close: u8) -> Res<()> {
        self.open();
        let mut n = 0;
        while self.more(close, n)? {
            if close == b'}' {
                self.key()?;
            }
            self.skip()?;
            n += 1;
        }
        Ok(())
    }
}
