//! The pages of a column of a row group. Headers of damaged files may claim sizes of gigabytes, for which the crate would reserve
//! memory; they are compared with what the file can hold.

use crate::limits::parquet::ROWS;
use bytes::{Buf, Bytes};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;
use std::sync::Arc;

/// The bytes of a column of a row group.
#[derive(Clone)]
pub(super) struct Chunk {
    /// Their offset in the file.
    pub from: u64,
    pub bytes: Bytes,
    /// Their number after decompression, as the file states it.
    pub plain: usize,
}

fn damaged(text: &str) -> ParquetError {
    ParquetError::General(text.to_owned())
}

impl Chunk {
    /// Reads the pages.
    pub fn reader(self, meta: &ColumnChunkMetaData, rows: usize) -> Result<Box<dyn PageReader>> {
        let pages = SerializedPageReader::new(Arc::new(self), meta, rows, None)?;
        let flat = meta.column_descr().max_def_level() == 0;
        Ok(Box::new(CheckedPages { pages, flat, width: smallest(meta) }))
    }

    fn at(&self, start: u64) -> Result<Bytes> {
        match start.checked_sub(self.from).and_then(|n| usize::try_from(n).ok()) {
            Some(n) if n <= self.bytes.len() => Ok(self.bytes.slice(n..)),
            _ => Err(damaged("a page lies outside of its column")),
        }
    }
}

/// The fewest bits that a value takes in a dictionary.
fn smallest(meta: &ColumnChunkMetaData) -> usize {
    use parquet::basic::Type;
    match meta.column_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 32,
        Type::INT64 | Type::DOUBLE => 64,
        Type::INT96 => 96,
        Type::FIXED_LEN_BYTE_ARRAY => 8,
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }
}

impl ChunkReader for Chunk {
    type T = bytes::buf::Reader<Bytes>;

    /// Called for the header of a page.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let bytes = self.at(start)?;
        match plain_size(&bytes) {
            Some(n) if n <= self.plain as i64 => Ok(bytes.reader()),
            Some(_) => Err(damaged("a page is larger than its column")),
            None => Err(damaged("the header of a page does not parse")),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.at(start)?;
        if length > bytes.len() {
            return Err(damaged("the file ends inside a page"));
        }
        Ok(bytes.slice(..length))
    }
}

/// The size of a page after decompression: the second field of its header. In Thrift's compact protocol the first two, both of
/// type `i32`, are a byte each and a number in zigzag form.
fn plain_size(header: &[u8]) -> Option<i64> {
    let mut rest = header;
    let mut size = 0;
    for _ in 0..2 {
        let (first, after) = rest.split_first()?;
        if *first != 0x15 {
            return None;
        }
        let (zigzag, after) = varint(after)?;
        size = (zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed());
        rest = after;
    }
    (size >= 0).then_some(size)
}

/// A number of 7 bits a byte, least first, and what follows it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut out = 0u64;
    for (i, b) in bytes.iter().enumerate().take(10) {
        out |= u64::from(b & 0x7f).checked_shl(7 * i as u32)?;
        if b & 0x80 == 0 {
            return Some((out, &bytes[i + 1..]));
        }
    }
    None
}

/// Pages whose numbers of values fit their bytes.
struct CheckedPages {
    pages: SerializedPageReader<Chunk>,
    /// Whether no value is missing, so that there are no levels.
    flat: bool,
    /// The fewest bits of a value.
    width: usize,
}

impl CheckedPages {
    fn check(&self, page: &Page) -> Result<()> {
        let fits = match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                (*num_values as usize).saturating_mul(self.width) <= 8 * buf.len()
            }
            Page::DataPage { buf, num_values, encoding, .. } => {
                let levels = if self.flat { Some(0) } else { length(buf) };
                delta_fits(*encoding, levels.and_then(|n| buf.get(n..)), *num_values)
            }
            Page::DataPageV2 { buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
                delta_fits(*encoding, buf.get(levels..), *num_values)
            }
        };
        if fits { Ok(()) } else { Err(damaged("a page claims more values than it has")) }
    }
}

/// The length of the levels at the front of a page, with the four bytes that say it.
fn length(buf: &[u8]) -> Option<usize> {
    let n: [u8; 4] = buf.get(..4)?.try_into().ok()?;
    (u32::from_le_bytes(n) as usize).checked_add(4)
}

/// Whether lengths in delta encoding are not more than the values of the page. Their header has the size of a block, the number of
/// its parts, and the number of values.
fn delta_fits(encoding: Encoding, values: Option<&[u8]>, count: u32) -> bool {
    if !matches!(encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY) {
        return true;
    }
    let Some((_, rest)) = values.and_then(varint) else { return false };
    let Some((_, rest)) = varint(rest) else { return false };
    varint(rest).is_some_and(|(n, _)| n <= u64::from(count))
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;
    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.iter().try_for_each(|p| self.check(p))?;
        Ok(page)
    }
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }
    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

/// The values of the rows that have one, and which rows these are (`None`: all). `None` if there are fewer rows.
pub(super) type PageValues<T> = Option<(Vec<T>, Option<Vec<bool>>)>;

/// Reads `rows` rows.
pub(super) fn levels<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    column: &ColumnDescriptor,
    rows: usize,
) -> Result<PageValues<T::T>> {
    let optional = column.max_def_level() > 0;
    let (mut values, mut levels, mut read) = (Vec::new(), Vec::new(), 0);
    while read < rows {
        if crate::polling::interrupt_requested() {
            return Err(damaged("interrupted"));
        }
        let (records, _, _) =
            reader.read_records((rows - read).min(ROWS), optional.then_some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Ok(None);
        }
        read += records;
    }
    let valid: Vec<bool> = levels.iter().map(|l| *l == column.max_def_level()).collect();
    // Most columns that may have nulls have none.
    let valid = (optional && valid.iter().any(|v| !v)).then_some(valid);
    Ok(Some((values, valid)))
}
