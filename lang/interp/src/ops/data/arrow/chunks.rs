//! Arrow IPC files in chunks: their record batches.

use super::{ArrowFile, CONTINUATION, END, Footer, MAGIC, MessageBlock, cut, damaged, footer_size, origin};
use crate::error::Res;
use crate::ops::data::chunked::{ChunkedFile, Reader, WantedRows};
use crate::ops::data::table::{ColumnFile, FileOrigin, WantedColumn};
use crate::value::Value;
use adl_typing::env::RowType;
use planus::ReadAsRoot;
use polars_arrow_format::ipc::{MessageHeaderRef, MessageRef};

/// An Arrow IPC file whose footer is in memory.
pub(in crate::ops::data) struct ArrowChunks {
    path: String,
    footer: Footer,
    /// The number of rows of each record batch.
    sizes: Vec<i64>,
}

impl ArrowChunks {
    pub fn open(file: &mut Reader) -> Res<ArrowChunks> {
        let path = file.path.to_owned();
        let tail = |file: &mut Reader, n: usize| {
            let from = file.length.checked_sub((MAGIC.len() + n) as u64).ok_or_else(|| cut(&path))?;
            file.at(from + MAGIC.len() as u64, n)
        };
        let size = footer_size(&path, &tail(file, END)?)?;
        let bytes = tail(file, size.saturating_add(END))?;
        let length = usize::try_from(file.length).unwrap_or(usize::MAX);
        let footer = bytes.get(..size).ok_or_else(|| cut(&path))?;
        let footer = Footer::parse(&path, length, footer)?;
        let mut sizes = Vec::with_capacity(footer.batches.len());
        for b in &footer.batches {
            sizes.push(rows(&path, &file.at(b.offset as u64, b.header)?)?);
        }
        Ok(ArrowChunks { path, footer, sizes })
    }

    /// A file in memory with only some record batches, and the dictionaries that they need.
    fn part(&self, file: &mut Reader, wanted: &[WantedColumn], batches: &[MessageBlock]) -> Res<(Footer, Vec<u8>)> {
        let mut bytes = Vec::new();
        let mut moved = |file: &mut Reader, blocks: &[MessageBlock]| {
            let copy = |b: &MessageBlock| {
                let own = file.at(b.offset as u64, b.header.saturating_add(b.body))?;
                let offset = bytes.len();
                bytes.extend(own);
                Ok(MessageBlock { offset, ..*b })
            };
            blocks.iter().map(copy).collect::<Res<Vec<_>>>()
        };
        let batches = moved(file, batches)?;
        let encoded = |w: &WantedColumn| self.footer.field(&self.path, w).map(|f| f.dictionary.is_some());
        let any = wanted.iter().map(encoded).collect::<Res<Vec<_>>>()?.contains(&true);
        let dictionaries = if any { moved(file, &self.footer.dictionaries)? } else { Vec::new() };
        Ok((Footer { fields: self.footer.fields.clone(), batches, dictionaries }, bytes))
    }
}

/// The number of rows of which the header of a record batch tells.
fn rows(path: &str, header: &[u8]) -> Res<i64> {
    let header = header.strip_prefix(&CONTINUATION).unwrap_or(header);
    let read = || -> Result<Option<i64>, planus::Error> {
        let message = MessageRef::read_as_root(header.get(4..).unwrap_or_default())?;
        match message.header()? {
            Some(MessageHeaderRef::RecordBatch(b)) => b.length().map(Some),
            _ => Ok(None),
        }
    };
    match read() {
        Ok(Some(n)) if n >= 0 => Ok(n),
        Ok(_) => Err(damaged(path, "a block is not a record batch")),
        Err(e) => Err(damaged(path, e)),
    }
}

impl ChunkedFile for ArrowChunks {
    fn origin(&self) -> FileOrigin<'_> {
        origin(&self.path)
    }

    fn sizes(&self) -> Vec<i64> {
        if self.sizes.is_empty() { vec![0] } else { self.sizes.clone() }
    }

    fn row_type(&self, _file: &mut Reader) -> Res<RowType> {
        self.footer.schema(&self.path).map(RowType::Record)
    }

    fn check(&self, wanted: &WantedRows) -> Res<()> {
        wanted.of_records(self.origin())?.iter().try_for_each(|w| self.footer.field(&self.path, w).map(drop))
    }

    fn places(&self, chunk: usize, _wanted: &[WantedColumn]) -> Vec<(u64, u64)> {
        let whole = |b: &MessageBlock| (b.offset as u64, b.header.saturating_add(b.body) as u64);
        self.footer.batches.get(chunk).map(whole).into_iter().collect()
    }

    fn read(&self, file: &mut Reader, chunk: usize, wanted: &[WantedColumn]) -> Res<Vec<Value>> {
        let own = match self.footer.batches.get(chunk) {
            Some(b) => std::slice::from_ref(b),
            None if self.footer.batches.is_empty() => &[],
            None => return Err(damaged(&self.path, "a record batch is missing")),
        };
        let (footer, bytes) = self.part(file, wanted, own)?;
        ArrowFile { path: &self.path, bytes: &bytes, footer, first: chunk }.columns(wanted)
    }
}
