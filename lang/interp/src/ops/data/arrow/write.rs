//! Writing of Arrow IPC files, uncompressed, in record batches of about a million rows.

use super::{CONTINUATION, MAGIC};
use crate::error::{Error, Res, codes};
use crate::limits::parquet::GROUP;
use crate::ops::data::table::{self, ColumnCells, WrittenColumn};
use crate::polling;
use crate::value::Value;
use planus::Builder;
use polars_arrow_format::ipc::{
    Block, Bool, Buffer, Field, FieldNode, FloatingPoint, Footer, Int, LargeUtf8, Message, MessageHeader,
    MetadataVersion, Precision, RecordBatch, Schema, Type,
};

/// Buffers and headers begin at multiples of so many bytes.
const ALIGNMENT: usize = 64;

/// A record of columns, or an array of records, as an Arrow IPC file.
pub fn write(v: &Value) -> Res<Vec<u8>> {
    let columns = table::written(v, codes::ARROW, "write_arrow")?;
    if columns.is_empty() {
        return Err(Error::new(codes::ARROW, "`write_arrow` writes at least one column"));
    }
    let schema = schema(&columns);
    let mut out = MAGIC.to_vec();
    align(&mut out, 8);
    message(&mut out, MessageHeader::Schema(Box::new(schema.clone())), &[]);
    let rows = columns.first().map_or(0, |c| c.cells.len());
    let (mut blocks, mut from) = (Vec::new(), 0);
    while from < rows {
        polling::poll()?;
        let to = rows.min(from + GROUP);
        let (batch, body) = batch(&columns, from, to)?;
        blocks.push(message(&mut out, MessageHeader::RecordBatch(Box::new(batch)), &body));
        from = to;
    }
    out.extend(CONTINUATION);
    out.extend([0; 4]);
    let footer = Footer {
        version: MetadataVersion::V5,
        schema: Some(Box::new(schema)),
        dictionaries: None,
        record_batches: Some(blocks),
        custom_metadata: None,
    };
    let bytes = Builder::new().finish(&footer, None).to_vec();
    out.extend(&bytes);
    out.extend((bytes.len() as i32).to_le_bytes());
    out.extend(MAGIC);
    Ok(out)
}

/// Appends zeros up to a multiple of `n` bytes.
fn align(out: &mut Vec<u8>, n: usize) {
    out.resize(out.len().next_multiple_of(n), 0);
}

fn schema(columns: &[WrittenColumn]) -> Schema {
    let field = |c: &WrittenColumn| Field {
        name: Some(c.name.as_str().to_owned()),
        nullable: c.valid.is_some(),
        type_: Some(match &c.cells {
            ColumnCells::Int(_) => Type::Int(Box::new(Int { bit_width: 64, is_signed: true })),
            ColumnCells::Unsigned(_) => Type::Int(Box::new(Int { bit_width: 64, is_signed: false })),
            ColumnCells::Float(_) => Type::FloatingPoint(Box::new(FloatingPoint { precision: Precision::Double })),
            ColumnCells::F32(_) => Type::FloatingPoint(Box::new(FloatingPoint { precision: Precision::Single })),
            ColumnCells::Bool(_) => Type::Bool(Box::new(Bool {})),
            ColumnCells::Text(_) => Type::LargeUtf8(Box::new(LargeUtf8 {})),
        }),
        dictionary: None,
        children: Some(Vec::new()),
        custom_metadata: None,
    };
    Schema { fields: Some(columns.iter().map(field).collect()), ..Schema::default() }
}

/// Appends a header with its body, and says where they are.
fn message(out: &mut Vec<u8>, header: MessageHeader, body: &[u8]) -> Block {
    let message = Message {
        version: MetadataVersion::V5,
        header: Some(header),
        body_length: body.len() as i64,
        custom_metadata: None,
    };
    let bytes = Builder::new().finish(&message, None).to_vec();
    let offset = out.len();
    // The size includes what aligns the body.
    let size = (bytes.len() + 8).next_multiple_of(8) - 8;
    out.extend(CONTINUATION);
    out.extend((size as i32).to_le_bytes());
    out.extend(&bytes);
    align(out, 8);
    let header = out.len() - offset;
    out.extend(body);
    Block { offset: offset as i64, meta_data_length: header as i32, body_length: body.len() as i64 }
}

/// The rows `from..to`: the header, and the buffers one after the other.
fn batch(columns: &[WrittenColumn], from: usize, to: usize) -> Res<(RecordBatch, Vec<u8>)> {
    let (mut nodes, mut buffers, mut body) = (Vec::new(), Vec::new(), Vec::new());
    for column in columns {
        polling::poll()?;
        let valid = column.valid.as_ref().map(|v| &v[from..to]);
        let nulls = valid.map_or(0, |v| v.iter().filter(|x| !**x).count());
        nodes.push(FieldNode { length: (to - from) as i64, null_count: nulls as i64 });
        let mut add = |bytes: Vec<u8>| {
            buffers.push(Buffer { offset: body.len() as i64, length: bytes.len() as i64 });
            body.extend(bytes);
            align(&mut body, ALIGNMENT);
        };
        add(valid.map_or_else(Vec::new, bits));
        match &column.cells {
            ColumnCells::Int(v) => add(v[from..to].iter().flat_map(|x| x.to_le_bytes()).collect()),
            ColumnCells::Unsigned(v) => add(v[from..to].iter().flat_map(|x| x.to_le_bytes()).collect()),
            ColumnCells::Float(v) => add(v[from..to].iter().flat_map(|x| x.to_le_bytes()).collect()),
            ColumnCells::F32(v) => add(v[from..to].iter().flat_map(|x| x.to_le_bytes()).collect()),
            ColumnCells::Bool(v) => add(bits(&v[from..to])),
            ColumnCells::Text(v) => {
                let (offsets, text) = texts(&v[from..to]);
                add(offsets);
                add(text);
            }
        }
    }
    let batch = RecordBatch {
        length: (to - from) as i64,
        nodes: Some(nodes),
        buffers: Some(buffers),
        compression: None,
        variadic_buffer_counts: None,
    };
    Ok((batch, body))
}

/// Bools as bits, least first.
fn bits(v: &[bool]) -> Vec<u8> {
    v.chunks(8).map(|c| c.iter().rev().fold(0, |byte, x| byte << 1 | u8::from(*x))).collect()
}

/// The offsets of texts, and their bytes.
fn texts(v: &[Value]) -> (Vec<u8>, Vec<u8>) {
    let (mut offsets, mut text) = (0i64.to_le_bytes().to_vec(), Vec::new());
    for x in v {
        text.extend(crate::ops::string(x).bytes());
        offsets.extend((text.len() as i64).to_le_bytes());
    }
    (offsets, text)
}
