//! Tokenisation of CSV text into cells.

use super::bad;
use crate::error::Res;
use crate::polling;
use adl_syntax::diag::Excerpt;
use std::borrow::Cow;

/// A cell and its position.
pub(super) struct CsvCell<'a> {
    /// The text. A quoted cell is kept as it is; other cells are trimmed.
    pub text: Cow<'a, str>,
    /// The line, from 1.
    pub line: usize,
    /// The offset in the file.
    pub at: usize,
}

/// A reader of rows. Empty lines are skipped; line ends may be `\n`, `\r\n` or `\r`.
pub(super) struct Scanner<'a> {
    path: &'a str,
    text: &'a str,
    pos: usize,
    /// Bytes of the byte order mark before the text.
    mark: usize,
    line: usize,
    /// The character between cells.
    separator: u8,
}

/// The separator between cells, and the offset of the first row. The separator is a comma; if the first
/// non-empty line contains none, it is a semicolon or a tab, or else blanks (`b' '`).
fn layout(text: &str) -> Result<(u8, usize), &'static str> {
    let filled = |l: &&str| !l.trim().is_empty();
    let Some(line) = text.split(['\n', '\r']).find(filled) else { return Ok((b',', 0)) };
    let outside: String = line.split('"').step_by(2).collect();
    if let Some(c) = [b',', b';', b'\t'].iter().find(|c| outside.contains(**c as char)) {
        return Ok((*c, 0));
    }
    // NumPy writes column names after a `#`, possibly below other comment lines.
    let remark = |l: &&str| l.trim_start().starts_with('#');
    let at = |l: &str| l.as_ptr() as usize - text.as_ptr() as usize;
    let mut lines = text.split(['\n', '\r']).filter(filled);
    let above = lines.clone().take_while(remark).last();
    let Some(mut first) = lines.find(|l| !remark(l)) else { return Ok((b',', 0)) };
    let mut names =
        above.filter(|_| words(first).iter().any(|c| is_number(c))).filter(|l| words(l).len() == words(first).len());
    let begin = names.map_or(at(first), |l| at(l) + l.len() - unmarked(l).len());
    if names.is_none() {
        names = Some(first);
        first = lines.find(|l| !remark(l)).unwrap_or("");
    }
    let (names, first) = (words(names.unwrap_or("")), words(first));
    let several = |cells: &[&str]| cells.len() > 1;
    let numbers = |cells: &[&str]| several(cells) && cells.iter().all(|c| is_number(c));
    let same = several(&names) && first.len() == names.len();
    if numbers(&names) || numbers(&first) || same && first.iter().any(|c| is_number(c)) {
        return Ok((b' ', begin));
    }
    // Rows of text with the same number of words may be one column, or several.
    match same && lines.all(|l| words(l).len() == names.len()) {
        true => Err(
            "this may be one column or several, between blanks: separate columns with commas, or put texts that have blanks in quotes",
        ),
        false => Ok((b',', 0)),
    }
}

/// The words of a line; a quoted text is one word. A `#` before column names is skipped.
fn words(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = unmarked(line).trim();
    while !rest.is_empty() {
        let end = match rest.strip_prefix('"').and_then(|r| r.find('"')) {
            Some(n) => n + 2,
            None => rest.find([' ', '\t']).unwrap_or(rest.len()),
        };
        out.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    out
}

/// The first line without the `#` that `NumPy` writes before column names.
fn unmarked(line: &str) -> &str {
    line.trim_start().strip_prefix('#').unwrap_or(line)
}

/// Whether a cell is a number. It must contain a digit, so that `nan` and `inf` may be column names.
pub(super) fn is_number(cell: &str) -> bool {
    let cell = cell.trim();
    cell.contains(|c: char| c.is_ascii_digit()) && cell.parse::<f64>().is_ok()
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of a file, after its byte order mark.
    pub fn new(path: &'a str, bytes: &'a [u8]) -> Res<Scanner<'a>> {
        let all = bytes.len();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mark = all - bytes.len();
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                let (separator, pos) = layout(text).map_err(|e| bad(path, (1, 1), e))?;
                let line = 1 + text[..pos].matches('\n').count();
                Ok(Scanner { path, text, pos, mark, line, separator })
            }
            Err(e) => {
                let good = &bytes[..e.valid_up_to()];
                let line = 1 + good.iter().filter(|b| **b == b'\n').count();
                let column = 1 + good.iter().rev().take_while(|b| **b != b'\n').filter(|b| **b & 0xc0 != 0x80).count();
                Err(bad(path, (line, column), "the file is not UTF-8 text"))
            }
        }
    }

    /// The text that is not read yet, and the character between its cells.
    pub fn rest(&self) -> (&'a str, u8) {
        (&self.text[self.pos..], self.separator)
    }

    /// The offset of the next row in the file.
    pub fn position(&self) -> usize {
        self.mark + self.pos
    }

    /// Counts lines from this number on: the text is a part of a file.
    pub fn number_lines_from(&mut self, line: usize) {
        self.line = line;
    }

    /// Line and column (in characters, from 1) of an offset.
    pub fn place(&self, line: usize, at: usize) -> (usize, usize) {
        let before = &self.text[..at.min(self.text.len())];
        let start = before.rfind(['\n', '\r']).map_or(0, |i| i + 1);
        (line, 1 + before[start..].chars().count())
    }

    /// An error at an offset.
    pub fn error(&self, line: usize, at: usize, text: impl std::fmt::Display) -> Box<crate::error::Error> {
        let cell = self.text[at.min(self.text.len())..]
            .bytes()
            .take_while(|c| *c != self.separator && !matches!(c, b'\n' | b'\r'))
            .count();
        bad(self.path, self.place(line, at), text).excerpt(Excerpt::new(self.path, line, self.text, (at, at + cell)))
    }

    /// Calls `visit` with each cell of the next row and its index. Returns the number of cells, or `None` at the
    /// end of the file.
    pub fn row(&mut self, visit: &mut dyn FnMut(&Self, usize, CsvCell<'a>) -> Res<()>) -> Res<Option<usize>> {
        self.blank_lines();
        if self.pos >= self.text.len() {
            return Ok(None);
        }
        if self.line.is_multiple_of(1024) {
            polling::poll()?;
        }
        let mut count = 0;
        loop {
            let cell = self.cell()?;
            visit(self, count, cell)?;
            count += 1;
            if self.separator == b' ' {
                self.pos += self.blanks();
            }
            match self.text.as_bytes().get(self.pos) {
                Some(c) if self.separator == b' ' && !matches!(c, b'\n' | b'\r') => {}
                Some(c) if *c == self.separator => self.pos += 1,
                Some(_) => {
                    self.line_end();
                    return Ok(Some(count));
                }
                None => return Ok(Some(count)),
            }
        }
    }

    fn blank_lines(&mut self) {
        let b = self.text.as_bytes();
        loop {
            let blanks = self.blanks();
            match b.get(self.pos + blanks) {
                Some(b'\n' | b'\r') => {
                    self.pos += blanks;
                    self.line_end();
                }
                // A comment.
                Some(b'#') if self.separator == b' ' => {
                    self.pos += b[self.pos..].iter().take_while(|c| !matches!(c, b'\n' | b'\r')).count();
                }
                Some(_) => return,
                None => {
                    self.pos += blanks;
                    return;
                }
            }
        }
    }

    /// The number of bytes of blanks at the current position. A tab that separates cells does not count.
    fn blanks(&self) -> usize {
        self.text.as_bytes()[self.pos..]
            .iter()
            .take_while(|c| **c == b' ' || **c == b'\t' && self.separator != b'\t')
            .count()
    }

    fn line_end(&mut self) {
        let b = self.text.as_bytes();
        self.pos += if b[self.pos..].starts_with(b"\r\n") { 2 } else { 1 };
        self.line += 1;
    }

    fn cell(&mut self) -> Res<CsvCell<'a>> {
        let (bytes, line, at) = (self.text.as_bytes(), self.line, self.pos);
        let blanks = self.blanks();
        if bytes.get(at + blanks) == Some(&b'"') {
            self.pos = at + blanks + 1;
            return self.quoted(line, at + blanks);
        }
        let at = if self.separator == b' ' { at + blanks } else { at };
        let ends = |c: &u8| *c == self.separator || matches!(c, b'\n' | b'\r') || self.separator == b' ' && *c == b'\t';
        let n = bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
        self.pos = at + n;
        Ok(CsvCell {
            text: Cow::Borrowed(self.text[at..at + n].trim_matches([' ', '\t'])),
            line,
            at: at + blanks.min(n) * usize::from(self.separator != b' '),
        })
    }

    /// A quoted cell, after its opening quote; a quote inside is written twice.
    fn quoted(&mut self, line: usize, at: usize) -> Res<CsvCell<'a>> {
        let bytes = self.text.as_bytes();
        let mut text: Cow<'a, str> = Cow::Borrowed("");
        let mut from = self.pos;
        loop {
            let Some(n) = bytes[self.pos..].iter().position(|c| matches!(c, b'"' | b'\n' | b'\r')) else {
                return Err(self.error(line, at, "this quote is not closed"));
            };
            self.pos += n;
            if bytes[self.pos] != b'"' {
                self.line_end();
                continue;
            }
            let part = &self.text[from..self.pos];
            self.pos += 1;
            if text.is_empty() {
                text = Cow::Borrowed(part);
            } else {
                text.to_mut().push_str(part);
            }
            if bytes.get(self.pos) != Some(&b'"') {
                break;
            }
            text.to_mut().push('"');
            self.pos += 1;
            from = self.pos;
        }
        self.pos += self.blanks();
        match bytes.get(self.pos) {
            None | Some(b'\n' | b'\r') => Ok(CsvCell { text, line, at }),
            Some(c) if *c == self.separator || self.separator == b' ' => Ok(CsvCell { text, line, at }),
            Some(_) => Err(self.error(
                self.line,
                self.pos,
                "text behind the closing quote of a cell (a quote inside is written twice)",
            )),
        }
    }
}
