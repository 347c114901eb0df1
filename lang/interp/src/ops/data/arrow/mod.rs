//! Arrow IPC files (Feather, version 2) as tables. The generated tables of `polars-arrow-format` read the headers, and check every
//! offset in them; the buffers of the columns are decoded here, since the crates that do it compile for minutes.
//!
//! Columns are numbers, Bools and texts, also encoded by a dictionary. Nested columns, times and decimal numbers have no type in
//! adl.

mod buffers;
mod chunks;
mod schema;
mod write;

use super::table::{self, Builder, ColumnCells, ColumnFile, FileOrigin, Refusal, WantedColumn};
use crate::error::{Error, Res, codes};
use crate::polling;
use crate::value::{Rep, Value};
use adl_typing::env::Column;
use buffers::{RecordBatch, take};
pub(super) use chunks::ArrowChunks;
use planus::ReadAsRoot;
use polars_arrow_format::ipc::{BlockRef, FooterRef, MessageHeaderRef, MessageRef, MetadataVersion};
use schema::{SchemaField, fields};
use std::collections::HashMap;
pub use write::write;

const MAGIC: &[u8] = b"ARROW1";
/// The bytes before a header, since version 0.15 of Arrow.
const CONTINUATION: [u8; 4] = [0xff; 4];

fn origin(path: &str) -> FileOrigin<'_> {
    FileOrigin { path, code: codes::ARROW, format: "an Arrow IPC file", reader: "read_arrow" }
}

fn damaged(path: &str, text: impl std::fmt::Display) -> Box<Error> {
    origin(path).error(format!("the file is damaged: {text}"))
}

/// The names and types of the columns, of which the file's end tells.
pub fn schema(path: &str, bytes: &[u8]) -> Res<Vec<(String, Column)>> {
    ArrowFile::open(path, bytes)?.footer.schema(path)
}

/// Reads a file as a record of columns, an array of records or a matrix, according to the type.
pub fn read(path: &str, bytes: &[u8], rep: &Rep) -> Res<Value> {
    table::read(&mut ArrowFile::open(path, bytes)?, rep)
}

/// A part of the file: a header and its body.
#[derive(Clone, Copy, Debug)]
struct MessageBlock {
    offset: usize,
    header: usize,
    body: usize,
}

/// An Arrow IPC file.
struct ArrowFile<'a> {
    path: &'a str,
    bytes: &'a [u8],
    footer: Footer,
    /// The number of the first of these batches in the file.
    first: usize,
}

/// What the end of a file tells.
#[derive(Clone, Debug)]
struct Footer {
    fields: Vec<SchemaField>,
    batches: Vec<MessageBlock>,
    dictionaries: Vec<MessageBlock>,
}

/// The bytes at the end of a file: the size of the footer, and the word of the format.
const END: usize = 4 + MAGIC.len();

/// The size of the footer, of which the last bytes of a file tell.
fn footer_size(path: &str, end: &[u8]) -> Res<usize> {
    let not_here = || origin(path).error("this is not an Arrow IPC file");
    let size = end.strip_suffix(MAGIC).and_then(|b| b.last_chunk::<4>()).ok_or_else(not_here)?;
    usize::try_from(i32::from_le_bytes(*size)).map_err(|_| cut(path))
}

fn cut(path: &str) -> Box<Error> {
    damaged(path, "its end does not parse")
}

impl Footer {
    /// Of its bytes. `length`: the bytes of the file.
    fn parse(path: &str, length: usize, footer: &[u8]) -> Res<Footer> {
        Footer::parts(path, length, footer).map_err(|e| match e {
            DecodeFault::Format(e) => damaged(path, e),
            DecodeFault::Told(e) => e,
        })
    }

    fn parts(path: &str, length: usize, footer: &[u8]) -> Result<Footer, DecodeFault> {
        let footer = FooterRef::read_as_root(footer)?;
        if !matches!(footer.version()?, MetadataVersion::V4 | MetadataVersion::V5) {
            return Err(DecodeFault::Told(
                origin(path).error("the file has an old version of the format: write it again"),
            ));
        }
        let schema = footer.schema()?.ok_or_else(|| damaged(path, "it has no schema"))?;
        let fields = fields(path, schema)?;
        let blocks = |b: Option<planus::Vector<'_, BlockRef<'_>>>| -> Result<Vec<MessageBlock>, DecodeFault> {
            b.into_iter().flatten().map(|b| block(path, length, b)).collect()
        };
        let (batches, dictionaries) = (blocks(footer.record_batches()?)?, blocks(footer.dictionaries()?)?);
        Ok(Footer { fields, batches, dictionaries })
    }

    fn names_of(&self, path: &str) -> Res<Vec<String>> {
        table::identifiers(origin(path), self.fields.iter().map(|f| f.name.as_str()))
    }

    fn schema(&self, path: &str) -> Res<Vec<(String, Column)>> {
        let typed = |(name, f): (String, &SchemaField)| match f.kind.column() {
            Some(column) => Ok((name, column)),
            None => Err(table::unsupported(origin(path), &name, &f.kind.to_string())),
        };
        self.names_of(path)?.into_iter().zip(&self.fields).map(typed).collect()
    }

    /// The field of a wanted column, which must have the type.
    fn field(&self, path: &str, want: &WantedColumn) -> Res<&SchemaField> {
        let f = &self.fields[table::position(origin(path), &self.names_of(path)?, want.name)?];
        table::fits(origin(path), want, f.kind.column(), &f.kind.to_string())?;
        Ok(f)
    }
}

impl<'a> ArrowFile<'a> {
    fn open(path: &'a str, bytes: &'a [u8]) -> Res<ArrowFile<'a>> {
        if bytes.starts_with(&CONTINUATION) {
            let e = origin(path).error("this is an Arrow stream, not an Arrow file");
            return Err(e.hint("pyarrow writes a file with `pyarrow.feather.write_feather`, polars with `write_ipc`"));
        }
        let inner = bytes.strip_prefix(MAGIC).and_then(|b| b.strip_suffix(MAGIC));
        let Some(inner) = inner else { return Err(origin(path).error("this is not an Arrow IPC file")) };
        let size = footer_size(path, bytes)?;
        let at = inner.len().checked_sub(4 + size).ok_or_else(|| cut(path))?;
        let footer = Footer::parse(path, bytes.len(), &inner[at..inner.len() - 4])?;
        Ok(ArrowFile { path, bytes, footer, first: 0 })
    }

    /// The header and body of a block.
    fn message(&self, b: MessageBlock) -> Res<(MessageRef<'a>, &'a [u8])> {
        let bytes = self.bytes;
        let cut = || damaged(self.path, "a block lies outside of the file");
        let mut header = bytes.get(b.offset..b.offset + b.header).ok_or_else(cut)?;
        header = header.strip_prefix(&CONTINUATION).unwrap_or(header);
        let message = MessageRef::read_as_root(header.get(4..).ok_or_else(cut)?).map_err(|e| damaged(self.path, e))?;
        let body = b.offset + b.header;
        Ok((message, bytes.get(body..body + b.body).ok_or_else(cut)?))
    }

    /// The dictionaries that the columns use, by their ids.
    fn dictionary(&self, wanted: &SchemaField) -> Res<Option<Dictionary>> {
        let Some((id, _)) = wanted.dictionary else { return Ok(None) };
        let mut parts: HashMap<i64, Dictionary> = HashMap::new();
        for b in &self.footer.dictionaries {
            let (message, body) = self.message(*b)?;
            let found = self.told((|| {
                let Some(MessageHeaderRef::DictionaryBatch(d)) = message.header()? else { return Ok(None) };
                if d.id()? != id {
                    return Ok(None);
                }
                let Some(data) = d.data()? else { return Ok(None) };
                let batch = RecordBatch::new(self.path, data, body)?;
                Ok(Some((d.is_delta()?, batch.column(&wanted.values_alone())?)))
            })())?;
            match (found, parts.get_mut(&id)) {
                (Some((true, (cells, valid))), Some(before)) => before.add(self.path, cells, valid)?,
                (Some((_, (cells, valid))), _) => drop(parts.insert(id, Dictionary { cells, valid })),
                (None, _) => {}
            }
        }
        match parts.remove(&id) {
            Some(d) => Ok(Some(d)),
            None if self.footer.batches.is_empty() => Ok(None),
            None => Err(damaged(self.path, format!("the column `{}` has no dictionary", wanted.name))),
        }
    }

    fn told<T>(&self, r: Result<T, DecodeFault>) -> Res<T> {
        r.map_err(|e| match e {
            DecodeFault::Format(e) => damaged(self.path, e),
            DecodeFault::Told(e) => e,
        })
    }

    /// Appends the rows of a record batch.
    fn append(
        &self,
        batch_index: usize,
        field: &SchemaField,
        dictionary: Option<&Dictionary>,
        (want, to): (&WantedColumn, &mut Builder),
    ) -> Res<()> {
        polling::poll()?;
        let (message, body) = self.message(self.footer.batches[batch_index])?;
        let (cells, valid) = self.told((|| {
            let Some(MessageHeaderRef::RecordBatch(data)) = message.header()? else {
                return Err(DecodeFault::Told(damaged(self.path, "a block is not a record batch")));
            };
            let batch = RecordBatch::new(self.path, data, body)?;
            match (&field.dictionary, dictionary) {
                (Some((_, index)), Some(d)) => {
                    let (at, valid) = batch.column(&field.indices(*index))?;
                    Ok(take(self.path, &at, valid, d)?)
                }
                _ => batch.column(field),
            }
        })())?;
        to.extend(cells, valid.as_deref()).map_err(|r| self.refused(r, batch_index, want))
    }

    fn refused(&self, refusal: Refusal, batch: usize, want: &WantedColumn) -> Box<Error> {
        let at = |what: &str, row: usize| {
            origin(self.path).error(format!(
                "the column `{}` has {what} in row {row} of record batch {}",
                want.name,
                self.first + batch
            ))
        };
        table::refused(origin(self.path), refusal, want, &at)
    }
}

/// The values of a dictionary, and which of them are not missing.
struct Dictionary {
    cells: ColumnCells,
    valid: Option<Vec<bool>>,
}

impl Dictionary {
    /// Adds a part.
    fn add(&mut self, path: &str, cells: ColumnCells, valid: Option<Vec<bool>>) -> Res<()> {
        let before = self.cells.len();
        let all = before + cells.len();
        if !self.cells.join(cells) {
            return Err(damaged(path, "the parts of a dictionary have different types"));
        }
        if self.valid.is_some() || valid.is_some() {
            let mut joined = self.valid.take().unwrap_or_else(|| vec![true; before]);
            joined.extend(valid.unwrap_or_else(|| vec![true; all - before]));
            self.valid = Some(joined);
        }
        Ok(())
    }
}

/// Why a file does not decode.
enum DecodeFault {
    /// A header does not parse.
    Format(planus::Error),
    /// For another reason.
    Told(Box<Error>),
}

impl From<planus::Error> for DecodeFault {
    fn from(e: planus::Error) -> DecodeFault {
        DecodeFault::Format(e)
    }
}

impl From<Box<Error>> for DecodeFault {
    fn from(e: Box<Error>) -> DecodeFault {
        DecodeFault::Told(e)
    }
}

fn block(path: &str, file: usize, b: BlockRef<'_>) -> Result<MessageBlock, DecodeFault> {
    let sizes = (usize::try_from(b.offset()), usize::try_from(b.meta_data_length()), usize::try_from(b.body_length()));
    match sizes {
        (Ok(offset), Ok(header), Ok(body)) if offset <= file && header <= file && body <= file => {
            Ok(MessageBlock { offset, header, body })
        }
        _ => Err(DecodeFault::Told(damaged(path, "a block lies outside of the file"))),
    }
}

impl ColumnFile for ArrowFile<'_> {
    fn origin(&self) -> FileOrigin<'_> {
        origin(self.path)
    }

    fn names(&mut self, _matrix: bool) -> Res<Vec<String>> {
        self.footer.names_of(self.path)
    }

    fn columns(&mut self, wanted: &[WantedColumn]) -> Res<Vec<Value>> {
        let mut out = Vec::with_capacity(wanted.len());
        for want in wanted {
            let f = self.footer.field(self.path, want)?;
            let dictionary = self.dictionary(f)?;
            let mut builder = Builder::new(&want.kind);
            for k in 0..self.footer.batches.len() {
                self.append(k, f, dictionary.as_ref(), (want, &mut builder))?;
            }
            out.push(builder.finish());
        }
        Ok(out)
    }
}
