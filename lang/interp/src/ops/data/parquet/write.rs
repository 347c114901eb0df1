//! Writing of Parquet files: one column for each field, compressed by Snappy, in row groups of about a million rows.

use crate::error::{Error, Res, codes};
use crate::limits::parquet::GROUP;
use crate::ops::data::table::{self, ColumnCells, WrittenColumn};
use crate::polling;
use crate::value::Value;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// A record of columns, or an array of records, as a Parquet file.
pub fn write(v: &Value) -> Res<Vec<u8>> {
    let columns = table::written(v, codes::PARQUET, "write_parquet")?;
    if columns.is_empty() {
        return Err(Error::new(codes::PARQUET, "`write_parquet` writes at least one column"));
    }
    let mut stop = None;
    let written = file(&columns, &mut stop);
    match (stop, written) {
        (Some(e), _) => Err(e),
        (None, Ok(bytes)) => Ok(bytes),
        (None, Err(e)) => Err(Error::new(codes::PARQUET, super::reason(&e.to_string()))),
    }
}

fn file(columns: &[WrittenColumn], stop: &mut Option<Box<Error>>) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema(columns)?, Arc::new(properties))?;
    let rows = columns.first().map_or(0, |c| c.cells.len());
    let mut from = 0;
    while from < rows {
        let to = rows.min(from + GROUP);
        let mut group = writer.next_row_group()?;
        for c in columns {
            if let Err(e) = polling::poll() {
                *stop = Some(e);
                return Ok(Vec::new());
            }
            if let Some(w) = group.next_column()? {
                column(w, c, from, to)?;
            }
        }
        group.close()?;
        from = to;
    }
    writer.into_inner()
}

fn schema(columns: &[WrittenColumn]) -> Result<TypePtr> {
    let field = |c: &WrittenColumn| {
        let physical = match &c.cells {
            ColumnCells::Int(_) | ColumnCells::Unsigned(_) => Physical::INT64,
            ColumnCells::Float(_) => Physical::DOUBLE,
            ColumnCells::F32(_) => Physical::FLOAT,
            ColumnCells::Bool(_) => Physical::BOOLEAN,
            ColumnCells::Text(_) => Physical::BYTE_ARRAY,
        };
        let text = matches!(c.cells, ColumnCells::Text(_));
        let repetition = if c.valid.is_some() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let typed = Type::primitive_type_builder(c.name.as_str(), physical)
            .with_repetition(repetition)
            .with_converted_type(if text { ConvertedType::UTF8 } else { ConvertedType::NONE })
            .with_logical_type(text.then_some(LogicalType::String));
        Ok(Arc::new(typed.build()?))
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?))
}

/// Writes the rows `from..to` of a column.
fn column(mut writer: SerializedColumnWriter<'_>, c: &WrittenColumn, from: usize, to: usize) -> Result<()> {
    let valid = c.valid.as_ref().map(|v| &v[from..to]);
    match &c.cells {
        ColumnCells::Int(v) => values::<Int64Type>(&mut writer, &v[from..to], valid)?,
        ColumnCells::Float(v) => values::<DoubleType>(&mut writer, &v[from..to], valid)?,
        ColumnCells::F32(v) => values::<FloatType>(&mut writer, &v[from..to], valid)?,
        ColumnCells::Bool(v) => values::<BoolType>(&mut writer, &v[from..to], valid)?,
        ColumnCells::Text(v) => {
            let bytes: Vec<ByteArray> = v[from..to].iter().map(|x| ByteArray::from(crate::ops::string(x))).collect();
            values::<ByteArrayType>(&mut writer, &bytes, valid)?;
        }
        ColumnCells::Unsigned(_) => return Err(ParquetError::General("unsigned numbers are not written".to_owned())),
    }
    writer.close()
}

/// Writes the values that are not missing, and which rows have one.
fn values<T: DataType>(writer: &mut SerializedColumnWriter<'_>, v: &[T::T], valid: Option<&[bool]>) -> Result<()> {
    let Some(valid) = valid else {
        return writer.typed::<T>().write_batch(v, None, None).map(drop);
    };
    let levels: Vec<i16> = valid.iter().map(|x| i16::from(*x)).collect();
    let here: Vec<T::T> = v.iter().zip(valid).filter(|(_, x)| **x).map(|(x, _)| x.clone()).collect();
    writer.typed::<T>().write_batch(&here, Some(&levels), None).map(drop)
}
