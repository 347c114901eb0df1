//! Parquet files in chunks: their row groups.

use super::{ParquetFile, decoded, origin};
use crate::error::Res;
use crate::ops::data::chunked::{ChunkedFile, Reader, WantedRows};
use crate::ops::data::table::{Builder, FileOrigin, WantedColumn};
use crate::value::Value;
use adl_typing::env::RowType;
use bytes::Bytes;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use std::rc::Rc;

/// The bytes at the end of a file: the size of its metadata, and the word of the format.
const END: usize = 8;

/// A Parquet file whose metadata are in memory.
pub(in crate::ops::data) struct ParquetChunks {
    path: String,
    length: u64,
    meta: Rc<ParquetMetaData>,
}

impl ParquetChunks {
    pub fn open(file: &mut Reader) -> Res<ParquetChunks> {
        let path = file.path.to_owned();
        let cut = || origin(&path).error("the file is damaged: its end does not parse");
        let tail = |file: &mut Reader, n: usize| {
            let from = file.length.checked_sub(n as u64).ok_or_else(cut)?;
            let bytes = file.at(from, n)?;
            if bytes.len() == n { Ok(bytes) } else { Err(cut()) }
        };
        let end = tail(file, END)?;
        let size = match end.split_first_chunk::<4>() {
            Some((n, b"PAR1")) => u32::from_le_bytes(*n) as usize,
            _ => return Err(cut()),
        };
        let bytes = tail(file, size.saturating_add(END))?;
        let meta = decoded(&path, || ParquetMetaDataReader::decode_metadata(&bytes[..size]))?;
        Ok(ParquetChunks { length: file.length, meta: Rc::new(meta), path })
    }

    fn file(&self) -> ParquetFile<'_> {
        ParquetFile { path: &self.path, length: self.length, meta: self.meta.clone() }
    }
}

impl ChunkedFile for ParquetChunks {
    fn origin(&self) -> FileOrigin<'_> {
        origin(&self.path)
    }

    fn sizes(&self) -> Vec<i64> {
        let groups: Vec<i64> = self.meta.row_groups().iter().map(|g| g.num_rows().max(0)).collect();
        if groups.is_empty() { vec![0] } else { groups }
    }

    fn row_type(&self, _file: &mut Reader) -> Res<RowType> {
        self.file().schema().map(RowType::Record)
    }

    fn check(&self, wanted: &WantedRows) -> Res<()> {
        wanted.of_records(self.origin())?.iter().try_for_each(|w| self.file().position(w).map(drop))
    }

    fn places(&self, chunk: usize, wanted: &[WantedColumn]) -> Vec<(u64, u64)> {
        let own = self.file();
        let column = |w: &WantedColumn| own.place(chunk, own.position(w).ok()?);
        wanted.iter().filter_map(column).collect()
    }

    fn read(&self, file: &mut Reader, chunk: usize, wanted: &[WantedColumn]) -> Res<Vec<Value>> {
        let own = self.file();
        let column = |want: &WantedColumn| {
            let k = own.position(want)?;
            let mut builder = Builder::new(&want.kind);
            if chunk < self.meta.num_row_groups() {
                let fetch = &mut |from: u64, len: usize| {
                    let bytes = file.at(from, len)?;
                    let short = || origin(&self.path).error("the file has become shorter since it was opened");
                    if bytes.len() == len { Ok(Bytes::from(bytes)) } else { Err(short()) }
                };
                own.append((chunk, k), want, fetch, &mut builder)?;
            }
            Ok(builder.finish())
        };
        wanted.iter().map(column).collect()
    }
}
