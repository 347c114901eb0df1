//! Tables that are read chunk by chunk: a Parquet, Arrow IPC, CSV or NPY file, or a directory of such files. The chunks are those of
//! the file, and otherwise of a fixed size, so that results do not depend on memory.

mod npy;
mod reader;

use super::table::{self, FileOrigin, WantedColumn};
use super::{arrow, csv, parquet};
use crate::error::{Error, Res, codes};
use crate::host::Host;
use crate::value::{Array, Buf, Record, Rep, Shape, Value, array};
use adl_syntax::symbol::Symbol;
use adl_typing::env::{Column, RowType};
pub(in crate::ops::data) use reader::Reader;
use std::rc::Rc;

/// A file in chunks.
pub(in crate::ops::data) trait ChunkedFile {
    /// The file, for errors.
    fn origin(&self) -> FileOrigin<'_>;
    /// The number of rows of each chunk, -1 where it is known only after reading. There is at least one chunk.
    fn sizes(&self) -> Vec<i64>;
    /// The type of a row, as the file tells it.
    fn row_type(&self, file: &mut Reader) -> Res<RowType>;
    /// An error if the file does not have these columns, as far as its header tells.
    fn check(&self, wanted: &WantedRows) -> Res<()>;
    /// Where the bytes are that [`ChunkedFile::read`] reads of a chunk: offsets and lengths.
    fn places(&self, chunk: usize, wanted: &[WantedColumn]) -> Vec<(u64, u64)>;
    /// The columns of a chunk, each an array.
    fn read(&self, file: &mut Reader, chunk: usize, wanted: &[WantedColumn]) -> Res<Vec<Value>>;
}

/// A table in chunks.
pub struct Table {
    /// The files, each with its first chunk.
    files: Vec<(usize, String, Box<dyn ChunkedFile>)>,
    /// The number of rows of each chunk, -1 where it is not known.
    pub sizes: Vec<i64>,
    /// Bytes of all files.
    bytes: u64,
}

/// What is read of a row.
pub struct WantedRows {
    pub(in crate::ops::data) columns: Vec<WantedColumn>,
    /// The fields of a record; `None` if a row is a number or an array.
    names: Option<Rc<[Symbol]>>,
    /// The extents of a row that is an array, as far as the type tells them.
    extents: Vec<Option<usize>>,
}

impl WantedRows {
    /// The columns of rows that are records.
    pub(in crate::ops::data) fn of_records(&self, origin: FileOrigin<'_>) -> Res<&[WantedColumn]> {
        match self.names {
            Some(_) => Ok(&self.columns),
            None => Err(origin.error(format!("the rows of {} are records, and the type wants others", origin.format))),
        }
    }
}

/// The name of the only column of a file without names.
const UNNAMED: &str = "";

/// Opens a table: reads the headers of its files.
pub fn open(host: &mut dyn Host, path: &str) -> Res<Table> {
    let paths = match host.list(path) {
        None => vec![path.to_owned()],
        Some(all) => {
            let name = |p: &str| p.rsplit(['/', '\\']).next().unwrap_or(p).to_owned();
            let hidden = |p: &String| name(p).starts_with(['.', '_']);
            let found: Vec<String> = all.into_iter().filter(|p| !hidden(p)).collect();
            if found.is_empty() {
                return Err(Error::new(codes::FILE, format!("{path}: the directory has no files")));
            }
            found
        }
    };
    let mut table = Table { files: Vec::new(), sizes: Vec::new(), bytes: 0 };
    for path in paths {
        let mut reader = Reader::new(host, &path)?;
        table.bytes = table.bytes.saturating_add(reader.length);
        let file = file(&mut reader)?;
        let first = table.sizes.len();
        table.sizes.extend(file.sizes());
        table.files.push((first, path, file));
    }
    Ok(table)
}

/// The file in the format that its first bytes tell.
fn file(reader: &mut Reader) -> Res<Box<dyn ChunkedFile>> {
    let start = reader.at(0, 6)?;
    Ok(match &start[..] {
        [b'P', b'A', b'R', b'1', ..] => Box::new(parquet::ParquetChunks::open(reader)?),
        b"ARROW1" => Box::new(arrow::ArrowChunks::open(reader)?),
        b"\x93NUMPY" => Box::new(npy::NpyChunks::open(reader)?),
        _ => Box::new(csv::CsvChunks::open(reader)?),
    })
}

impl Table {
    /// The type of a row, as the first file tells it.
    pub fn row_type(&self, host: &mut dyn Host) -> Res<RowType> {
        let (_, path, file) = &self.files[0];
        let first = file.row_type(&mut Reader::new(host, path)?)?;
        // A column of whole numbers may have others in a later file.
        self.files[1..].iter().try_fold(first, |ty, (_, path, file)| {
            let next = file.row_type(&mut Reader::new(host, path)?)?;
            Ok(joined(ty, next))
        })
    }

    /// What the type wants, which every file must have.
    pub fn wanted(&self, rep: &Rep) -> Res<WantedRows> {
        let wanted = wanted(self.files[0].2.origin(), rep)?;
        self.files.iter().try_for_each(|(_, _, f)| f.check(&wanted))?;
        Ok(wanted)
    }

    /// What is compared between ranks.
    pub fn description(&self) -> String {
        let known = self.sizes.iter().all(|n| *n >= 0);
        let rows = if known { format!("{} rows, ", self.sizes.iter().sum::<i64>()) } else { String::new() };
        format!("{rows}{}, {}", table::counted(self.sizes.len(), "chunk"), table::counted(self.bytes as usize, "byte"))
    }

    /// The file of a chunk, with its first chunk.
    fn file_of(&self, chunk: usize) -> Option<(usize, &str, &dyn ChunkedFile)> {
        let at = self.files.partition_point(|f| f.0 <= chunk).checked_sub(1)?;
        let (first, path, file) = self.files.get(at).filter(|_| chunk < self.sizes.len())?;
        Some((*first, path, &**file))
    }

    /// The columns of a chunk. Those of the next one are fetched while this one is used.
    fn columns(&self, host: &mut dyn Host, chunk: usize, wanted: &[WantedColumn]) -> Res<Vec<Value>> {
        let Some((first, path, file)) = self.file_of(chunk) else {
            let text = format!("there is no chunk {chunk}: the table has {}", self.sizes.len());
            return Err(Error::new(codes::BOUNDS, text));
        };
        let columns = file.read(&mut Reader::new(host, path)?, chunk - first, wanted)?;
        if let Some((first, path, file)) = self.file_of(chunk + 1) {
            file.places(chunk + 1 - first, wanted).into_iter().for_each(|(from, len)| host.will_read(path, from, len));
        }
        let size = self.sizes[chunk];
        match columns.iter().find(|c| size >= 0 && crate::value::seq::len(c) as i64 != size) {
            Some(c) => {
                let (n, path) = (crate::value::seq::len(c), file.origin().path);
                Err(Error::new(codes::SIZE, format!("{path}: a chunk had {size} rows when it was opened, and has {n}")))
            }
            None => Ok(columns),
        }
    }

    /// The rows of a chunk.
    pub fn rows(&self, host: &mut dyn Host, chunk: usize, wanted: &WantedRows) -> Res<Value> {
        let mut columns = self.columns(host, chunk, &wanted.columns)?;
        let Some(names) = &wanted.names else { return Ok(columns.pop().unwrap_or_default()) };
        let n = columns.first().map_or(0, crate::value::seq::len);
        Ok(Value::Array(Rc::new(Array::new(Shape::from_slice(&[n]), Buf::Record(names.clone(), columns)))))
    }

    /// One column of a chunk, whose elements have the type that `kind` names.
    pub fn column(&self, host: &mut dyn Host, chunk: usize, (name, kind): (&str, &str)) -> Res<Value> {
        let Some(kind) = table::ColumnType::named(kind) else {
            return Err(Error::new(codes::STRUCTURE, format!("a column of {kind}")));
        };
        let wanted = [WantedColumn { name: Symbol::new(name), kind, rows: None, by_cell: true }];
        Ok(self.columns(host, chunk, &wanted)?.pop().unwrap_or_default())
    }
}

/// What is read as rows of a type.
fn wanted(origin: FileOrigin<'_>, rep: &Rep) -> Res<WantedRows> {
    match rep {
        Rep::Record(fields) if !fields.is_empty() => {
            let columns = fields
                .iter()
                .map(|(n, r)| {
                    Ok(WantedColumn { name: *n, kind: table::kind(origin, *n, r)?, rows: None, by_cell: true })
                })
                .collect::<Res<Vec<_>>>()?;
            Ok(WantedRows { columns, names: Some(fields.iter().map(|f| f.0).collect()), extents: Vec::new() })
        }
        Rep::Other => Err(origin
            .error("the type of the rows is not known here")
            .hint("annotate it: `(rows.open path : Rows {x : Float})`")),
        Rep::Record(_) => Err(origin.error("the type wants no column")),
        _ => {
            let (mut extents, mut leaf) = (Vec::new(), rep);
            while let Rep::Array(n, e) = leaf {
                extents.push(*n);
                leaf = e;
            }
            let name = Symbol::new(UNNAMED);
            let kind = table::kind(origin, name, leaf)?;
            Ok(WantedRows {
                columns: vec![WantedColumn { name, kind, rows: None, by_cell: true }],
                names: None,
                extents,
            })
        }
    }
}

/// The type of the rows of two files together: their common columns.
fn joined(a: RowType, b: RowType) -> RowType {
    match (a, b) {
        (RowType::Record(a), RowType::Record(b)) => {
            let both = |(name, x): (String, Column)| {
                let y = b.iter().find(|(n, _)| *n == name)?.1;
                Some((name, join(x, y)))
            };
            RowType::Record(a.into_iter().filter_map(both).collect())
        }
        (RowType::Numbers(x, shape), RowType::Numbers(y, _)) => RowType::Numbers(join(x, y), shape),
        (a, _) => a,
    }
}

/// The type that has the elements of both.
pub(in crate::ops::data) fn join(a: Column, b: Column) -> Column {
    match (a, b) {
        (a, b) if a == b => a,
        (Column::Int | Column::Float, Column::Int | Column::Float) => Column::Float,
        _ => Column::Text,
    }
}

/// A record of the `Rows` type: chunk by chunk from a function, with the sizes of the chunks.
pub fn value(chunk: Value, sizes: Value) -> Value {
    let names = adl_typing::ty::rows_fields();
    Value::Record(Rc::new(Record { names: names.into(), vals: vec![chunk, sizes] }))
}

/// The sizes as an array.
pub fn sizes(table: &Table) -> Value {
    array::ints(table.sizes.clone())
}
