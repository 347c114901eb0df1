//! NPY files in chunks: blocks of whole rows of the first axis, of a fixed number of bytes.

use super::{ChunkedFile, Reader, WantedRows};
use crate::error::{Error, Res, codes};
use crate::limits::chunked::BLOCK;
use crate::ops::data::npy::{Header, bad, column, elements, header, width};
use crate::ops::data::table::{ColumnType, FileOrigin, WantedColumn};
use crate::value::{Rep, Shape, Value, array};
use adl_typing::env::{Column, RowType};

pub(super) struct NpyChunks {
    path: String,
    header: Header,
    kind: Column,
    /// Bytes and numbers of a row.
    row: (usize, usize),
    /// Rows of a chunk; the last has fewer.
    rows: usize,
}

impl NpyChunks {
    pub fn open(file: &mut Reader) -> Res<NpyChunks> {
        // Longer headers are those of arrays of records.
        let start = file.at(0, 1 << 16)?;
        let path = file.path.to_owned();
        let header = header(&path, &start)?;
        let kind = column(&path, &header.descr)?;
        let Some((rows, row)) = header.shape.split_first() else {
            return Err(bad(&path, "the file holds a number, and not rows"));
        };
        if header.fortran && !row.is_empty() {
            return Err(bad(&path, "the array is stored by columns, so that its rows are not together")
                .hint("NumPy's `numpy.ascontiguousarray` stores it by rows"));
        }
        let numbers = array::count(row)?;
        let bytes = numbers.saturating_mul(width(&header));
        if (rows.saturating_mul(bytes) as u64) > file.length.saturating_sub(header.data as u64) {
            return Err(bad(&path, "the file ends before its data does"));
        }
        let rows = (BLOCK / bytes.max(1)).max(1);
        Ok(NpyChunks { path, kind, row: (bytes, numbers), rows, header })
    }

    fn all(&self) -> usize {
        self.header.shape.first().copied().unwrap_or(0)
    }

    /// The first row of a chunk, and the number of its rows.
    fn block(&self, chunk: usize) -> (usize, usize) {
        let from = chunk * self.rows;
        (from, self.all().saturating_sub(from).min(self.rows))
    }
}

impl ChunkedFile for NpyChunks {
    fn origin(&self) -> FileOrigin<'_> {
        FileOrigin { path: &self.path, code: codes::NPY, format: "an NPY file", reader: "rows.open" }
    }

    fn sizes(&self) -> Vec<i64> {
        let (all, rows) = (self.all(), self.rows);
        (0..all.div_ceil(rows).max(1)).map(|k| (all - k * rows).min(rows) as i64).collect()
    }

    fn row_type(&self, _file: &mut Reader) -> Res<RowType> {
        Ok(RowType::Numbers(self.kind, self.header.shape[1..].iter().map(|n| *n as u64).collect()))
    }

    fn check(&self, wanted: &WantedRows) -> Res<()> {
        let (None, [column]) = (&wanted.names, wanted.columns.as_slice()) else {
            return Err(self
                .origin()
                .error("the rows of an NPY file are numbers or arrays, and the type wants records"));
        };
        let row = &self.header.shape[1..];
        let same = row.len() == wanted.extents.len()
            && row.iter().zip(&wanted.extents).all(|(n, want)| want.is_none_or(|w| w == *n));
        if !same {
            let want: Vec<String> =
                wanted.extents.iter().map(|n| n.map_or("_".to_owned(), |n| n.to_string())).collect();
            let text = format!("{}: a row has the shape {row:?}, and the type wants [{}]", self.path, want.join(", "));
            return Err(Error::new(codes::SIZE, text));
        }
        match (self.kind, &column.kind) {
            (Column::Int, ColumnType::Int | ColumnType::Float | ColumnType::F32)
            | (Column::Float, ColumnType::Float | ColumnType::F32)
            | (Column::Bool, ColumnType::Bool) => Ok(()),
            (_, kind) => {
                let text = format!("the array holds elements of type {}, and the type wants {kind}", self.header.descr);
                Err(self.origin().error(text))
            }
        }
    }

    fn places(&self, chunk: usize, _wanted: &[WantedColumn]) -> Vec<(u64, u64)> {
        let (from, n) = self.block(chunk);
        vec![((self.header.data + from * self.row.0) as u64, (n * self.row.0) as u64)]
    }

    fn read(&self, file: &mut Reader, chunk: usize, wanted: &[WantedColumn]) -> Res<Vec<Value>> {
        let (from, n) = self.block(chunk);
        let bytes = file.at((self.header.data + from * self.row.0) as u64, n * self.row.0)?;
        let floats = wanted.iter().any(|w| matches!(w.kind, ColumnType::Float | ColumnType::F32));
        let buf = elements(&self.path, &self.header.descr, &bytes, (n * self.row.1, floats))?;
        let mut shape = Shape::from_slice(&self.header.shape);
        shape[0] = n;
        let value = array::make(shape, buf);
        let leaf = match wanted.first().map(|w| &w.kind) {
            Some(ColumnType::Float) => Rep::Float,
            Some(ColumnType::F32) => Rep::F32,
            _ => return Ok(vec![value]),
        };
        crate::ops::arith::convert(&value, leaf).map(|v| vec![v])
    }
}
