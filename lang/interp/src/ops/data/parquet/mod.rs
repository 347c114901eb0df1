//! Parquet files as tables. The crate `parquet` decodes pages; `pages.rs` checks what their headers claim before memory is
//! reserved for it.
//!
//! Columns are numbers, Bools and texts, one value in each row. Nested columns, times and decimal numbers have no type in adl.

mod chunks;
mod pages;
mod write;

use super::table::{self, Builder, ColumnCells, ColumnFile, FileOrigin, MaskedCells, Refusal, WantedColumn};
use crate::error::{Error, Res, codes};
use crate::value::{Rep, Value};
use crate::{fault, memory, polling};
use adl_typing::env::Column;
use bytes::Bytes;
pub(super) use chunks::ParquetChunks;
use pages::{Chunk, levels};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::schema::types::ColumnDescriptor;
use std::rc::Rc;
pub use write::write;

fn origin(path: &str) -> FileOrigin<'_> {
    FileOrigin { path, code: codes::PARQUET, format: "a Parquet file", reader: "read_parquet" }
}

/// The names and types of the columns, of which the file's end tells.
pub fn schema(path: &str, bytes: &[u8]) -> Res<Vec<(String, Column)>> {
    Whole::open(path, bytes)?.file.schema()
}

/// Reads a file as a record of columns, an array of records or a matrix, according to the type.
pub fn read(path: &str, bytes: &[u8], rep: &Rep) -> Res<Value> {
    table::read(&mut Whole::open(path, bytes)?, rep)
}

/// What a function of the crate returns, or an error that the file is damaged. It is meant for files that are well-formed, and may
/// panic for others.
fn decoded<T>(path: &str, run: impl FnOnce() -> parquet::errors::Result<T>) -> Res<T> {
    match fault::catch(run) {
        Ok(Ok(x)) => Ok(x),
        Ok(Err(e)) => Err(origin(path).error(reason(&e.to_string()))),
        Err(fault) if fault.interrupt => Err(fault.error()),
        Err(fault) => Err(origin(path).error(format!("the file is damaged ({})", fault.message))),
    }
}

/// The text of an error of the crate, without its prefixes.
fn reason(text: &str) -> String {
    let text = text.trim_start_matches("Parquet error: ").trim_start_matches("External: ");
    format!("the file cannot be decoded: {text}")
}

/// A Parquet file.
struct ParquetFile<'a> {
    path: &'a str,
    length: u64,
    meta: Rc<ParquetMetaData>,
}

/// Fetches bytes of a file from an offset.
type Fetch<'f> = &'f mut dyn FnMut(u64, usize) -> Res<Bytes>;

/// A file that is in memory.
struct Whole<'a> {
    file: ParquetFile<'a>,
    bytes: Bytes,
}

impl<'a> Whole<'a> {
    fn open(path: &'a str, bytes: &[u8]) -> Res<Whole<'a>> {
        if !bytes.starts_with(b"PAR1") {
            return Err(origin(path).error("this is not a Parquet file"));
        }
        memory::check_available(bytes.len()).map_err(|s| s.error(&format!("the file {path}"), bytes.len()))?;
        let bytes = Bytes::copy_from_slice(bytes);
        let meta = decoded(path, || ParquetMetaDataReader::new().parse_and_finish(&bytes))?;
        Ok(Whole { file: ParquetFile { path, length: bytes.len() as u64, meta: Rc::new(meta) }, bytes })
    }
}

impl ParquetFile<'_> {
    fn schema(&self) -> Res<Vec<(String, Column)>> {
        let columns = self.meta.file_metadata().schema_descr().columns();
        let typed = |(name, c): (String, &std::sync::Arc<ColumnDescriptor>)| match meaning(c) {
            (Some(column), _) => Ok((name, column)),
            (None, found) => Err(table::unsupported(origin(self.path), &name, &found)),
        };
        self.names_of()?.into_iter().zip(columns).map(typed).collect()
    }

    /// The position of a wanted column, which must have the type.
    fn position(&self, want: &WantedColumn) -> Res<usize> {
        let k = table::position(origin(self.path), &self.names_of()?, want.name)?;
        let (column, found) = meaning(&self.meta.file_metadata().schema_descr().columns()[k]);
        table::fits(origin(self.path), want, column, &found)?;
        Ok(k)
    }

    /// The names of the columns as identifiers; of a nested column, all names on the way to it.
    fn names_of(&self) -> Res<Vec<String>> {
        let columns = self.meta.file_metadata().schema_descr().columns();
        let paths: Vec<String> = columns.iter().map(|c| c.path().parts().join("_")).collect();
        table::identifiers(origin(self.path), paths.iter().map(String::as_str))
    }

    /// Appends the rows of a row group.
    fn append(
        &self,
        (group, column): (usize, usize),
        want: &WantedColumn,
        fetch: Fetch<'_>,
        to: &mut Builder,
    ) -> Res<()> {
        polling::poll()?;
        let meta = self.meta.row_group(group);
        let (rows, chunk) = self.chunk(meta, column, fetch)?;
        let d = meta.column(column).column_descr_ptr();
        let made = decoded(self.path, || {
            let mut reader = get_column_reader(d.clone(), chunk.reader(meta.column(column), rows)?);
            cells(&mut reader, &d, rows)
        })?;
        let Some((cells, valid)) = made else {
            return Err(origin(self.path)
                .error(format!("the column `{}` ends before row {rows} of row group {group} does", want.name)));
        };
        to.extend(cells, valid.as_deref()).map_err(|r| self.refused(r, group, want))
    }

    /// Where the bytes of a column of a row group are: their offset and length.
    fn place(&self, group: usize, column: usize) -> Option<(u64, u64)> {
        let group = self.meta.row_groups().get(group)?;
        decoded(self.path, || Ok(group.column(column).byte_range())).ok()
    }

    /// The number of rows of a row group, and the bytes of a column of it. The sizes that the file states are checked.
    fn chunk(&self, meta: &RowGroupMetaData, column: usize, fetch: Fetch<'_>) -> Res<(usize, Chunk)> {
        let c = meta.column(column);
        let damaged = || origin(self.path).error("the file is damaged: its sizes do not agree");
        let (start, len) = decoded(self.path, || Ok(c.byte_range()))?;
        let rows = usize::try_from(meta.num_rows()).map_err(|_| damaged())?;
        start.checked_add(len).filter(|to| *to <= self.length).ok_or_else(damaged)?;
        if c.num_values() != meta.num_rows() || c.uncompressed_size() < 0 {
            return Err(damaged());
        }
        let plain = usize::try_from(c.uncompressed_size()).unwrap_or(usize::MAX);
        memory::check_available(plain).map_err(|s| s.error("a column", plain))?;
        memory::room::<[u8; 16]>(rows).map(drop)?;
        let bytes = fetch(start, usize::try_from(len).map_err(|_| damaged())?)?;
        Ok((rows, Chunk { from: start, bytes, plain }))
    }

    fn refused(&self, refusal: Refusal, group: usize, want: &WantedColumn) -> Box<Error> {
        let at = |what: &str, row: usize| {
            origin(self.path).error(format!("the column `{}` has {what} in row {row} of row group {group}", want.name))
        };
        table::refused(origin(self.path), refusal, want, &at)
    }
}

impl ColumnFile for Whole<'_> {
    fn origin(&self) -> FileOrigin<'_> {
        origin(self.file.path)
    }

    fn names(&mut self, _matrix: bool) -> Res<Vec<String>> {
        self.file.names_of()
    }

    fn columns(&mut self, wanted: &[WantedColumn]) -> Res<Vec<Value>> {
        let mut out = Vec::with_capacity(wanted.len());
        for want in wanted {
            let k = self.file.position(want)?;
            let mut builder = Builder::new(&want.kind);
            let fetch = &mut |from: u64, len: usize| Ok(self.bytes.slice(from as usize..from as usize + len));
            for group in 0..self.file.meta.num_row_groups() {
                self.file.append((group, k), want, fetch, &mut builder)?;
            }
            out.push(builder.finish());
        }
        Ok(out)
    }
}

/// The type of a column, `None` if adl has none, and what the file calls it.
fn meaning(descriptor: &ColumnDescriptor) -> (Option<Column>, String) {
    if descriptor.max_rep_level() > 0 || descriptor.path().parts().len() > 1 {
        return (None, "nested values".to_owned());
    }
    let (logical, converted, physical) =
        (descriptor.logical_type_ref(), descriptor.converted_type(), descriptor.physical_type());
    let found = match (logical, converted) {
        (Some(l), _) => format!("{l:?}"),
        (None, ConvertedType::NONE) => format!("{physical:?}"),
        (None, converted) => format!("{converted:?}"),
    };
    let plain = logical.is_none() && converted == ConvertedType::NONE;
    let column = match physical {
        Physical::BOOLEAN if plain => Some(Column::Bool),
        Physical::INT32 | Physical::INT64 if plain || bits(descriptor).is_some() => Some(Column::Int),
        Physical::FLOAT | Physical::DOUBLE if plain => Some(Column::Float),
        Physical::FIXED_LEN_BYTE_ARRAY if matches!(logical, Some(LogicalType::Float16)) => Some(Column::Float),
        Physical::BYTE_ARRAY => match (logical, converted) {
            (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _) => Some(Column::Text),
            (None, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON | ConvertedType::NONE) => {
                Some(Column::Text)
            }
            _ => None,
        },
        _ => None,
    };
    // Of `Timestamp(TimestampType { .. })` the first word.
    (column, found.split('(').next().unwrap_or("").to_lowercase())
}

/// Width and sign of a column of integers that says them.
fn bits(c: &ColumnDescriptor) -> Option<(u8, bool)> {
    match (c.logical_type_ref(), c.converted_type()) {
        (Some(LogicalType::Integer(t)), _) => Some((t.bit_width.unsigned_abs(), t.is_signed)),
        (Some(_), _) => None,
        (None, ConvertedType::INT_8) => Some((8, true)),
        (None, ConvertedType::INT_16) => Some((16, true)),
        (None, ConvertedType::INT_32) => Some((32, true)),
        (None, ConvertedType::INT_64) => Some((64, true)),
        (None, ConvertedType::UINT_8) => Some((8, false)),
        (None, ConvertedType::UINT_16) => Some((16, false)),
        (None, ConvertedType::UINT_32) => Some((32, false)),
        (None, ConvertedType::UINT_64) => Some((64, false)),
        _ => None,
    }
}

/// The cells of `rows` rows; `None` if there are fewer.
fn cells(
    reader: &mut ColumnReader,
    column: &ColumnDescriptor,
    rows: usize,
) -> parquet::errors::Result<Option<MaskedCells>> {
    let unsigned = bits(column).is_some_and(|(_, signed)| !signed);
    Ok(match reader {
        ColumnReader::BoolColumnReader(r) => numbers(r, column, rows, ColumnCells::Bool, |x: bool| x)?,
        ColumnReader::Int32ColumnReader(r) if unsigned => {
            numbers(r, column, rows, ColumnCells::Int, |x: i32| i64::from(x.cast_unsigned()))?
        }
        ColumnReader::Int32ColumnReader(r) => numbers(r, column, rows, ColumnCells::Int, i64::from)?,
        ColumnReader::Int64ColumnReader(r) if unsigned => {
            numbers(r, column, rows, ColumnCells::Unsigned, i64::cast_unsigned)?
        }
        ColumnReader::Int64ColumnReader(r) => numbers(r, column, rows, ColumnCells::Int, |x| x)?,
        ColumnReader::FloatColumnReader(r) => numbers(r, column, rows, ColumnCells::F32, |x| x)?,
        ColumnReader::DoubleColumnReader(r) => numbers(r, column, rows, ColumnCells::Float, |x| x)?,
        ColumnReader::FixedLenByteArrayColumnReader(r) => {
            numbers(r, column, rows, ColumnCells::Float, |x: FixedLenByteArray| match x.data() {
                [a, b] => super::npy::half(u16::from_le_bytes([*a, *b])),
                _ => f64::NAN,
            })?
        }
        ColumnReader::ByteArrayColumnReader(r) => texts(r, column, rows)?,
        ColumnReader::Int96ColumnReader(_) => None,
    })
}

/// The values of a column, one for each row; a missing one is the default.
fn numbers<T: DataType, X: Clone + Default>(
    reader: &mut ColumnReaderImpl<T>,
    c: &ColumnDescriptor,
    rows: usize,
    cells: impl FnOnce(Vec<X>) -> ColumnCells,
    to: impl Fn(T::T) -> X,
) -> parquet::errors::Result<Option<MaskedCells>> {
    let Some((values, valid)) = levels(reader, c, rows)? else { return Ok(None) };
    Ok(Some((cells(spread(values.into_iter().map(to), valid.as_deref(), X::default())), valid)))
}

fn texts(
    reader: &mut ColumnReaderImpl<parquet::data_type::ByteArrayType>,
    c: &ColumnDescriptor,
    rows: usize,
) -> parquet::errors::Result<Option<MaskedCells>> {
    let Some((values, valid)) = levels(reader, c, rows)? else { return Ok(None) };
    let text = |x: ByteArray| x.as_utf8().map(crate::ops::data_text);
    let all = values.into_iter().map(text).collect::<parquet::errors::Result<Vec<_>>>()?;
    let empty = crate::ops::data_text("");
    Ok(Some((ColumnCells::Text(spread(all.into_iter(), valid.as_deref(), empty)), valid)))
}

/// The values at the rows that have one, and `empty` at the others.
fn spread<X: Clone>(mut values: impl Iterator<Item = X>, valid: Option<&[bool]>, empty: X) -> Vec<X> {
    match valid {
        None => values.collect(),
        Some(v) => {
            v.iter().map(|here| if *here { values.next().unwrap_or(empty.clone()) } else { empty.clone() }).collect()
        }
    }
}
