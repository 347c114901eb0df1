//! The buffers of a record batch, as cells.

use super::schema::{ElementKind, SchemaField};
use super::{DecodeFault, Dictionary, damaged};
use crate::error::{Error, Res};
use crate::ops::data::npy;
use crate::ops::data::table::{ColumnCells, MaskedCells};
use crate::value::Value;
use crate::{memory, polling};
use polars_arrow_format::ipc::{CompressionType, RecordBatchRef};
use std::borrow::Cow;
use std::io::Read;

/// A record batch: its header, and the bytes of its buffers.
pub(super) struct RecordBatch<'a> {
    path: &'a str,
    head: RecordBatchRef<'a>,
    body: &'a [u8],
    compression: Option<CompressionType>,
}

impl<'a> RecordBatch<'a> {
    pub fn new(path: &'a str, head: RecordBatchRef<'a>, body: &'a [u8]) -> Result<RecordBatch<'a>, DecodeFault> {
        let compression = match head.compression()? {
            Some(c) => Some(c.codec()?),
            None => None,
        };
        Ok(RecordBatch { path, head, body, compression })
    }

    fn damaged(&self, text: &str) -> Box<Error> {
        damaged(self.path, text)
    }

    /// The cells of a column.
    pub fn column(&self, field: &SchemaField) -> Result<MaskedCells, DecodeFault> {
        let (rows, nulls) = self.node(field)?;
        if matches!(field.kind, ElementKind::Null) {
            let none = memory::room::<bool>(rows).map(|_| vec![false; rows])?;
            return Ok((ColumnCells::Float(polling::collect(rows, |_| 0.0)?), Some(none)));
        }
        let first = field.before.buffers + self.variadic(0..field.before.views)?;
        let valid = if nulls == 0 { None } else { self.valid(first, rows)? };
        let cells = match field.kind {
            ElementKind::Text(large) => self.texts(first + 1, rows, large, valid.as_deref())?,
            ElementKind::TextView => {
                let more = self.variadic(field.before.views..field.before.views + 1)?;
                self.views(first + 1, rows, more, valid.as_deref())?
            }
            ElementKind::Bool => ColumnCells::Bool(self.bits(first + 1, rows)?),
            ElementKind::Int(bits, signed) => self.integers(first + 1, rows, (bits, signed))?,
            ElementKind::Float(bits) => self.floats(first + 1, rows, bits)?,
            ElementKind::Null | ElementKind::Other(_) => {
                return Err(DecodeFault::Told(self.damaged("a column changes its type")));
            }
        };
        Ok((cells, valid))
    }

    /// The number of rows and of missing ones.
    fn node(&self, f: &SchemaField) -> Result<(usize, i64), DecodeFault> {
        let node = self.head.nodes()?.and_then(|n| n.get(f.before.nodes));
        let node = node.ok_or_else(|| self.damaged("a column has no length"))?;
        match usize::try_from(node.length()) {
            Ok(n) if Ok(n) == usize::try_from(self.head.length()?) => Ok((n, node.null_count())),
            _ => Err(DecodeFault::Told(self.damaged("its lengths do not agree"))),
        }
    }

    /// The number of buffers of columns of views beyond the usual two.
    fn variadic(&self, views: std::ops::Range<usize>) -> Result<usize, DecodeFault> {
        let mut out = 0;
        for i in views {
            let n = self.head.variadic_buffer_counts()?.and_then(|c| c.get(i));
            let n = n.and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= self.body.len());
            out += n.ok_or_else(|| self.damaged("a column of texts has no count of its buffers"))?;
        }
        Ok(out)
    }

    /// The bytes of a buffer, decompressed.
    fn buffer(&self, k: usize) -> Result<Cow<'a, [u8]>, DecodeFault> {
        let b = self.head.buffers()?.and_then(|b| b.get(k)).ok_or_else(|| self.damaged("a column has no buffer"))?;
        let part = usize::try_from(b.offset()).ok().zip(usize::try_from(b.length()).ok());
        let part = part.and_then(|(at, n)| self.body.get(at..at.checked_add(n)?));
        let part = part.ok_or_else(|| self.damaged("a buffer lies outside of its block"))?;
        match self.compression {
            Some(codec) if !part.is_empty() => self.decompressed(codec, part),
            _ => Ok(Cow::Borrowed(part)),
        }
    }

    /// A compressed buffer: its length, or -1 if it is not compressed after all, and the bytes.
    fn decompressed(&self, codec: CompressionType, part: &'a [u8]) -> Result<Cow<'a, [u8]>, DecodeFault> {
        let (size, bytes) = part.split_first_chunk::<8>().ok_or_else(|| self.damaged("a buffer has no length"))?;
        let size = i64::from_le_bytes(*size);
        if size == -1 {
            return Ok(Cow::Borrowed(bytes));
        }
        let size = usize::try_from(size).map_err(|_| self.damaged("a buffer has no length"))?;
        memory::check_available(size).map_err(|s| s.error("a column", size))?;
        // The buffer grows with what there really is.
        let mut out = Vec::new();
        let limit = size as u64 + 1;
        let read = match codec {
            CompressionType::Lz4Frame => lz4_flex::frame::FrameDecoder::new(bytes).take(limit).read_to_end(&mut out),
            CompressionType::Zstd => {
                zstd::stream::read::Decoder::new(bytes).and_then(|d| d.take(limit).read_to_end(&mut out))
            }
        };
        match read {
            Ok(n) if n == size => Ok(Cow::Owned(out)),
            Ok(_) => Err(DecodeFault::Told(self.damaged("a buffer has another length than it claims"))),
            Err(e) => Err(DecodeFault::Told(self.damaged(&format!("a buffer does not decompress: {e}")))),
        }
    }

    /// The bits of a buffer, least first.
    fn bits(&self, k: usize, rows: usize) -> Result<Vec<bool>, DecodeFault> {
        let b = self.buffer(k)?;
        if b.len() < rows.div_ceil(8) {
            return Err(DecodeFault::Told(self.damaged("a buffer is too short")));
        }
        Ok(polling::collect(rows, |i| b[i / 8] >> (i % 8) & 1 == 1)?)
    }

    /// Which rows are not missing; `None` if all are there.
    fn valid(&self, k: usize, rows: usize) -> Result<Option<Vec<bool>>, DecodeFault> {
        if self.buffer(k)?.is_empty() {
            return Ok(None);
        }
        let valid = self.bits(k, rows)?;
        Ok(valid.iter().any(|v| !v).then_some(valid))
    }

    /// The numbers of a buffer, of `N` bytes each.
    fn numbers<const N: usize, T>(
        &self,
        k: usize,
        rows: usize,
        to: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, DecodeFault> {
        let b = self.buffer(k)?;
        let (parts, _) = b.as_chunks::<N>();
        let parts = parts.get(..rows).ok_or_else(|| self.damaged("a buffer is too short"))?;
        Ok(polling::collect(rows, |i| to(parts[i]))?)
    }

    fn integers(&self, k: usize, rows: usize, kind: (u8, bool)) -> Result<ColumnCells, DecodeFault> {
        Ok(match kind {
            (64, false) => ColumnCells::Unsigned(self.numbers(k, rows, u64::from_le_bytes)?),
            (64, true) => ColumnCells::Int(self.numbers(k, rows, i64::from_le_bytes)?),
            (32, true) => ColumnCells::Int(self.numbers(k, rows, |b| i64::from(i32::from_le_bytes(b)))?),
            (32, false) => ColumnCells::Int(self.numbers(k, rows, |b| i64::from(u32::from_le_bytes(b)))?),
            (16, true) => ColumnCells::Int(self.numbers(k, rows, |b| i64::from(i16::from_le_bytes(b)))?),
            (16, false) => ColumnCells::Int(self.numbers(k, rows, |b| i64::from(u16::from_le_bytes(b)))?),
            (8, true) => ColumnCells::Int(self.numbers(k, rows, |b| i64::from(i8::from_le_bytes(b)))?),
            (8, false) => ColumnCells::Int(self.numbers(k, rows, |b: [u8; 1]| i64::from(b[0]))?),
            _ => return Err(DecodeFault::Told(self.damaged("integers of an unknown width"))),
        })
    }

    fn floats(&self, k: usize, rows: usize, bits: u8) -> Result<ColumnCells, DecodeFault> {
        Ok(match bits {
            64 => ColumnCells::Float(self.numbers(k, rows, f64::from_le_bytes)?),
            32 => ColumnCells::F32(self.numbers(k, rows, f32::from_le_bytes)?),
            _ => ColumnCells::Float(self.numbers(k, rows, |b| npy::half(u16::from_le_bytes(b)))?),
        })
    }

    fn text(&self, bytes: Option<&[u8]>) -> Result<Value, DecodeFault> {
        let bytes = bytes.ok_or_else(|| self.damaged("a text lies outside of its buffer"))?;
        match std::str::from_utf8(bytes) {
            Ok(s) => Ok(crate::ops::data_text(s)),
            Err(_) => Err(DecodeFault::Told(self.damaged("a text is not UTF-8"))),
        }
    }

    /// Texts by offsets into a buffer.
    fn texts(&self, k: usize, rows: usize, large: bool, valid: Option<&[bool]>) -> Result<ColumnCells, DecodeFault> {
        let data = self.buffer(k + 1)?;
        // Without rows there need not be offsets.
        let ends = if rows == 0 { 0 } else { rows + 1 };
        let at: Vec<i64> = match large {
            true => self.numbers(k, ends, i64::from_le_bytes)?,
            false => self.numbers(k, ends, |b| i64::from(i32::from_le_bytes(b)))?,
        };
        let mut out = memory::room(rows)?;
        let none = crate::ops::data_text("");
        for i in 0..rows {
            if i.is_multiple_of(polling::STRIDE) {
                polling::poll()?;
            }
            if valid.is_some_and(|v| !v[i]) {
                out.push(none.clone());
                continue;
            }
            let range = usize::try_from(at[i]).ok().zip(usize::try_from(at[i + 1]).ok());
            out.push(self.text(range.and_then(|(a, b)| data.get(a..b)))?);
        }
        Ok(ColumnCells::Text(out))
    }

    /// Texts as views of 16 bytes: the length, and either up to 12 bytes, or four of them, a buffer and an offset.
    fn views(&self, k: usize, rows: usize, more: usize, valid: Option<&[bool]>) -> Result<ColumnCells, DecodeFault> {
        let views: Vec<[u8; 16]> = self.numbers(k, rows, |b| b)?;
        let data = (0..more).map(|i| self.buffer(k + 1 + i)).collect::<Result<Vec<_>, _>>()?;
        let word = |v: &[u8; 16], i: usize| u32::from_le_bytes([v[i], v[i + 1], v[i + 2], v[i + 3]]) as usize;
        let mut out = memory::room(rows)?;
        let none = crate::ops::data_text("");
        for (i, v) in views.iter().enumerate() {
            if i.is_multiple_of(polling::STRIDE) {
                polling::poll()?;
            }
            let n = word(v, 0);
            out.push(match n {
                _ if valid.is_some_and(|v| !v[i]) => none.clone(),
                0..=12 => self.text(v.get(4..4 + n))?,
                _ => {
                    let at = word(v, 12);
                    self.text(data.get(word(v, 8)).and_then(|d| d.get(at..at.checked_add(n)?)))?
                }
            });
        }
        Ok(ColumnCells::Text(out))
    }
}

/// The values of a dictionary at indices.
pub(super) fn take(
    path: &str,
    at: &ColumnCells,
    valid: Option<Vec<bool>>,
    dictionary: &Dictionary,
) -> Res<MaskedCells> {
    let n = dictionary.cells.len();
    let wide: Vec<Option<usize>> = match at {
        ColumnCells::Int(v) => polling::collect(v.len(), |i| usize::try_from(v[i]).ok())?,
        ColumnCells::Unsigned(v) => polling::collect(v.len(), |i| usize::try_from(v[i]).ok())?,
        _ => return Err(damaged(path, "indices of a dictionary are no integers")),
    };
    let there = |i: usize| valid.as_ref().is_none_or(|v| v[i]);
    if let Some(i) = (0..wide.len()).find(|i| there(*i) && wide[*i].is_none_or(|k| k >= n)) {
        return Err(damaged(path, format!("row {i} lies outside of its dictionary")));
    }
    // The index of a missing row may be anything, also where the dictionary is empty.
    let index = |i: usize| if there(i) { wide[i] } else { None };
    let cells = dictionary.cells.pick(wide.len(), index)?;
    let valid = match &dictionary.valid {
        None => valid,
        Some(v) => Some(polling::collect(wide.len(), |i| index(i).is_some_and(|k| v[k]))?),
    };
    Ok((cells, valid))
}
