//! A text with its line starts: byte offsets and the positions of the protocol.

use adl_syntax::span::Span;
use lsp_types::{Position, Range, TextDocumentContentChangeEvent};

/// The unit in which the editor counts columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, as every editor can.
    #[default]
    Utf16,
}

/// A text with its line starts.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The text itself.
    pub text: String,
    starts: Vec<usize>,
    encoding: Encoding,
}

impl Text {
    /// A text whose positions are counted in a unit.
    pub fn new(text: String, encoding: Encoding) -> Text {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Text { text, starts, encoding }
    }

    /// The byte at a position. Positions outside the text are moved into it.
    pub fn offset(&self, p: Position) -> usize {
        let line = p.line as usize;
        let Some(start) = self.starts.get(line) else { return self.text.len() };
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let mut left = p.character as usize;
        for (i, c) in self.text[*start..end].char_indices() {
            let width = self.width(c);
            if left < width {
                return start + i;
            }
            left -= width;
        }
        end
    }

    fn width(&self, c: char) -> usize {
        match self.encoding {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
        }
    }

    /// The position of a byte.
    pub fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|s| *s <= offset) - 1;
        let before = self.text.get(self.starts[line]..offset).unwrap_or("");
        let character = before.chars().map(|c| self.width(c)).sum::<usize>();
        Position { line: line as u32, character: character as u32 }
    }

    /// The range of a span of this text.
    pub fn range(&self, span: Span) -> Range {
        self.range_of(span.lo as usize..span.hi as usize)
    }

    /// The range of bytes.
    pub fn range_of(&self, bytes: std::ops::Range<usize>) -> Range {
        Range { start: self.position(bytes.start), end: self.position(bytes.end.max(bytes.start)) }
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.lo as usize..span.hi as usize).unwrap_or("")
    }

    /// The number of characters, in the editor's unit, between two bytes.
    pub fn units(&self, lo: usize, hi: usize) -> u32 {
        self.text.get(lo..hi).map_or(0, |t| t.chars().map(|c| self.width(c)).sum::<usize>()) as u32
    }

    /// The byte behind the last character of a line.
    pub fn line_end(&self, line: usize) -> usize {
        self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1)
    }

    /// The byte at which a line begins.
    pub fn line_start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.text.len())
    }

    /// The text after changes, which apply one after the other.
    pub fn changed(&self, changes: Vec<TextDocumentContentChangeEvent>) -> Text {
        let mut now = self.clone();
        for change in changes {
            let text = match change.range {
                None => change.text,
                Some(range) => {
                    let (lo, hi) = (now.offset(range.start), now.offset(range.end));
                    let (lo, hi) = (lo.min(hi), hi.max(lo));
                    format!("{}{}{}", &now.text[..lo], change.text, &now.text[hi..])
                }
            };
            now = Text::new(text, self.encoding);
        }
        now
    }
}
