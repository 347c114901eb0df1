//! CSV files in chunks: blocks of whole rows of a fixed number of bytes.

use super::{Scanner, bad, columns, counted, named, schema_of};
use crate::error::{Res, codes};
use crate::limits::chunked::BLOCK;
use crate::ops::data::chunked::{self, ChunkedFile, Reader, WantedRows};
use crate::ops::data::table::{FileOrigin, WantedColumn};
use crate::value::Value;
use adl_typing::env::{Column, RowType};

/// Whole rows of a file.
struct RowBlock {
    offset: u64,
    bytes: usize,
    /// The number of its first line.
    line: usize,
}

/// A CSV file whose rows have been counted off in blocks.
pub(in crate::ops::data) struct CsvChunks {
    path: String,
    /// The text before the first row, with the names of the columns.
    header: Vec<u8>,
    names: Vec<String>,
    blocks: Vec<RowBlock>,
}

impl CsvChunks {
    pub fn open(file: &mut Reader) -> Res<CsvChunks> {
        let path = file.path.to_owned();
        let mut blocks = Vec::new();
        let (mut offset, mut line) = (0, 1);
        let (mut header, mut names) = (Vec::new(), Vec::new());
        while offset < file.length || blocks.is_empty() {
            let mut bytes = file.at(offset, BLOCK)?;
            let last = offset + bytes.len() as u64 >= file.length;
            if !last {
                bytes.truncate(whole_rows(&bytes).ok_or_else(|| bad(&path, (line, 1), LONG))?);
            }
            if bytes.is_empty() && !blocks.is_empty() {
                break;
            }
            if blocks.is_empty() {
                let (found, rows) = named(&path, &bytes, false)?;
                let start = rows.position();
                names = found;
                header = bytes[..start].to_vec();
                blocks.push(RowBlock { offset: start as u64, bytes: bytes.len() - start, line: 1 + lines(&header) });
            } else {
                blocks.push(RowBlock { offset, bytes: bytes.len(), line });
            }
            line += lines(&bytes);
            offset += bytes.len() as u64;
        }
        Ok(CsvChunks { path, header, names, blocks })
    }

    /// The text of a block, below the header, and the number of its first line.
    fn text(&self, file: &mut Reader, chunk: usize) -> Res<(Vec<u8>, usize)> {
        let b = &self.blocks[chunk];
        let mut text = self.header.clone();
        text.extend(file.at(b.offset, b.bytes)?);
        Ok((text, b.line))
    }

    /// The rows of the text of a block.
    fn rows<'a>(&'a self, text: &'a [u8], line: usize) -> Res<(Vec<String>, Scanner<'a>)> {
        let (names, mut rows) = named(&self.path, text, false)?;
        rows.number_lines_from(line);
        Ok((names, rows))
    }
}

const LONG: &str = "a row is longer than 4 MB: does a quoted text not end?";

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|c| **c == b'\n').count()
}

/// The bytes of the whole rows at the start of a text: up to the last line end that is not in quotes.
fn whole_rows(text: &[u8]) -> Option<usize> {
    let (mut quoted, mut end) = (false, None);
    for (i, c) in text.iter().enumerate() {
        match c {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => end = Some(i + 1),
            _ => {}
        }
    }
    end
}

impl ChunkedFile for CsvChunks {
    fn origin(&self) -> FileOrigin<'_> {
        FileOrigin { path: &self.path, code: codes::CSV, format: "a CSV file", reader: "rows.open" }
    }

    fn sizes(&self) -> Vec<i64> {
        vec![-1; self.blocks.len()]
    }

    /// The types that the cells of all blocks allow.
    fn row_type(&self, file: &mut Reader) -> Res<RowType> {
        let mut types: Vec<Option<Column>> = vec![None; self.names.len()];
        for k in 0..self.blocks.len() {
            let (text, line) = self.text(file, k)?;
            for (ty, (_, found)) in types.iter_mut().zip(schema_of(self.rows(&text, line)?)?) {
                *ty = Some(ty.map_or(found, |t| chunked::join(t, found)));
            }
        }
        Ok(RowType::Record(self.names.iter().cloned().zip(types.into_iter().flatten()).collect()))
    }

    fn check(&self, wanted: &WantedRows) -> Res<()> {
        match wanted.of_records(self.origin())?.iter().find(|w| !self.names.iter().any(|n| n == w.name.as_str())) {
            Some(w) => Err(self.origin().error(format!(
                "there is no column `{}`: the file has {} ({})",
                w.name,
                counted(self.names.len(), "column"),
                self.names.join(", ")
            ))),
            None => Ok(()),
        }
    }

    fn places(&self, chunk: usize, _wanted: &[WantedColumn]) -> Vec<(u64, u64)> {
        self.blocks.get(chunk).map(|b| (b.offset, b.bytes as u64)).into_iter().collect()
    }

    fn read(&self, file: &mut Reader, chunk: usize, wanted: &[WantedColumn]) -> Res<Vec<Value>> {
        let (text, line) = self.text(file, chunk)?;
        columns(&self.path, self.rows(&text, line)?, wanted)
    }
}
