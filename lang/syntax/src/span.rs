//! Positions in source text.

use std::sync::Arc;

/// A file (or REPL entry, or notebook cell) known to a [`SourceMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct FileId(pub u32);

/// A half-open byte range `lo..hi` of one file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
}

impl Span {
    /// The span of nodes without a source; messages show no source line for it.
    pub const NOWHERE: Span = Span { file: FileId(u32::MAX), lo: 0, hi: 0 };

    /// The range `lo..hi` of `file`.
    pub fn new(file: FileId, lo: usize, hi: usize) -> Span {
        Span { file, lo: lo as u32, hi: hi as u32 }
    }

    /// The smallest span that covers both; `self`'s file wins.
    pub fn to(self, other: Span) -> Span {
        Span { file: self.file, lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
}

/// One source text with its display name.
#[derive(Debug)]
pub struct SourceFile {
    /// What error messages call it (`train.adl`, `<repl 3>`).
    pub name: String,
    /// The text.
    pub text: String,
    line_starts: Vec<u32>,
    /// Whether it belongs to the standard library.
    pub library: bool,
}

impl SourceFile {
    fn new(name: String, text: String, library: bool) -> SourceFile {
        let starts = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1);
        let line_starts = std::iter::once(0).chain(starts).collect();
        SourceFile { name, text, line_starts, library }
    }

    /// 1-based line and column (in characters) of byte `pos`.
    pub fn line_col(&self, pos: u32) -> (usize, usize) {
        let pos = (pos as usize).min(self.text.len());
        let line = self.line_starts.partition_point(|&s| s as usize <= pos) - 1;
        let start = self.line_starts[line] as usize;
        let col = self.text.get(start..pos).map_or(pos - start, |t| t.chars().count());
        (line + 1, col + 1)
    }

    /// The complete lines that the bytes `lo..hi` touch: the number of the first line, the byte at which it begins, and
    /// the text.
    pub fn lines_around(&self, lo: usize, hi: usize) -> (usize, usize, &str) {
        let first = self.line_starts.partition_point(|&s| s as usize <= lo).max(1) - 1;
        let after = self.line_starts.partition_point(|&s| s as usize <= hi);
        let start = self.line_starts[first] as usize;
        let end = self.line_starts.get(after).map_or(self.text.len(), |&s| s as usize);
        (first + 1, start, self.text.get(start..end).unwrap_or(""))
    }

    /// Text of the 1-based line, without its newline.
    pub fn line(&self, line: usize) -> &str {
        let Some(&lo) = self.line_starts.get(line.wrapping_sub(1)) else { return "" };
        let hi = self.line_starts.get(line).map_or(self.text.len(), |&h| h as usize);
        self.text[lo as usize..hi].trim_end_matches(['\n', '\r'])
    }
}

/// All texts of a session; spans point into it. Clones share the list until one of them adds a text.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Arc<Vec<Arc<SourceFile>>>,
}

impl SourceMap {
    /// Adds a text and returns its id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        self.insert(name, text, false)
    }

    /// Adds a text of the standard library.
    pub fn add_library(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        self.insert(name, text, true)
    }

    /// Gives a text that changes, as in an editor, its new contents. Spans into its old contents lose their meaning.
    pub fn replace(&mut self, id: FileId, text: impl Into<String>) {
        if let Some(file) = Arc::make_mut(&mut self.files).get_mut(id.0 as usize) {
            *file = Arc::new(SourceFile::new(file.name.clone(), text.into(), file.library));
        }
    }

    fn insert(&mut self, name: impl Into<String>, text: impl Into<String>, library: bool) -> FileId {
        Arc::make_mut(&mut self.files).push(Arc::new(SourceFile::new(name.into(), text.into(), library)));
        FileId(self.files.len() as u32 - 1)
    }

    /// The file, if `id` came from this map.
    pub fn get(&self, id: FileId) -> Option<&Arc<SourceFile>> {
        self.files.get(id.0 as usize)
    }

    /// The text under `span` (empty when the span is not of this map).
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).and_then(|f| f.text.get(span.lo as usize..span.hi as usize)).unwrap_or("")
    }

    /// 1-based line of the start of `span` (0 when unknown).
    pub fn line_of(&self, span: Span) -> usize {
        self.get(span.file).map_or(0, |f| f.line_col(span.lo).0)
    }
}
