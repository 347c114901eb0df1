//! The schema of an Arrow file: which types its columns have, and which buffers are theirs.

use super::{DecodeFault, damaged, origin};
use crate::limits::arrow::{COLUMNS, DEPTH};
use adl_typing::env::Column;
use polars_arrow_format::ipc::{Endianness, FieldRef, Precision, SchemaRef, TypeRef, UnionMode};

/// The type of the elements of a column.
#[derive(Clone, Debug)]
pub(super) enum ElementKind {
    /// Integers of so many bits, and whether they have a sign.
    Int(u8, bool),
    /// Floats of so many bits.
    Float(u8),
    Bool,
    /// Texts, whose offsets have 64 bits, or 32.
    Text(bool),
    /// Texts of which short ones stand in the column itself.
    TextView,
    /// A type without values: every row is missing.
    Null,
    /// A type that adl lacks.
    Other(&'static str),
}

impl ElementKind {
    /// The type of adl.
    pub fn column(&self) -> Option<Column> {
        match self {
            ElementKind::Int(..) => Some(Column::Int),
            ElementKind::Float(_) | ElementKind::Null => Some(Column::Float),
            ElementKind::Bool => Some(Column::Bool),
            ElementKind::Text(_) | ElementKind::TextView => Some(Column::Text),
            ElementKind::Other(_) => None,
        }
    }
}

impl std::fmt::Display for ElementKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ElementKind::Int(n, true) => write!(f, "int{n}"),
            ElementKind::Int(n, false) => write!(f, "uint{n}"),
            ElementKind::Float(n) => write!(f, "float{n}"),
            ElementKind::Bool => f.write_str("bool"),
            ElementKind::Text(_) | ElementKind::TextView => f.write_str("string"),
            ElementKind::Null => f.write_str("null"),
            ElementKind::Other(name) => f.write_str(name),
        }
    }
}

/// Numbers of nodes, of buffers, and of columns of views, whose number of buffers each batch says.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct BufferCounts {
    pub nodes: usize,
    pub buffers: usize,
    pub views: usize,
}

impl BufferCounts {
    fn new(nodes: usize, buffers: usize, views: usize) -> BufferCounts {
        BufferCounts { nodes, buffers, views }
    }

    fn add(&mut self, e: BufferCounts) {
        *self = BufferCounts::new(self.nodes + e.nodes, self.buffers + e.buffers, self.views + e.views);
    }
}

/// A column.
#[derive(Clone, Debug)]
pub(super) struct SchemaField {
    pub name: String,
    pub kind: ElementKind,
    /// What stands before it in a batch.
    pub before: BufferCounts,
    /// The id of its dictionary, and the type of the indices into it.
    pub dictionary: Option<(i64, (u8, bool))>,
}

impl SchemaField {
    /// The values of its dictionary, which stand alone in a batch.
    pub fn values_alone(&self) -> SchemaField {
        SchemaField { before: BufferCounts::default(), dictionary: None, ..self.clone() }
    }

    /// The indices into its dictionary.
    pub fn indices(&self, (bits, signed): (u8, bool)) -> SchemaField {
        SchemaField { kind: ElementKind::Int(bits, signed), dictionary: None, ..self.clone() }
    }
}

/// The columns of a schema.
pub(super) fn fields(path: &str, schema: SchemaRef<'_>) -> Result<Vec<SchemaField>, DecodeFault> {
    if !matches!(schema.endianness()?, Endianness::Little) {
        return Err(DecodeFault::Told(origin(path).error("the file has numbers with the most significant byte first")));
    }
    let (mut before, mut columns) = (BufferCounts::default(), COLUMNS);
    let mut out = Vec::new();
    for f in schema.fields()?.into_iter().flatten() {
        let field = f?;
        let kind = match field.type_()? {
            Some(t) => kind(&t)?,
            None => return Err(DecodeFault::Told(damaged(path, "a column has no type"))),
        };
        let dictionary = match field.dictionary()? {
            None => None,
            Some(d) => {
                // Without a type the indices are signed integers of 32 bits.
                let index = d.index_type()?.map(|i| Ok::<_, DecodeFault>((width(i.bit_width()?), i.is_signed()?)));
                Some((d.id()?, index.transpose()?.unwrap_or((32, true))))
            }
        };
        let name = field.name()?.unwrap_or("").to_owned();
        out.push(SchemaField { name, kind, before, dictionary });
        before.add(extent(path, field, (DEPTH, &mut columns))?);
    }
    Ok(out)
}

fn width(bits: i32) -> u8 {
    u8::try_from(bits).unwrap_or(0)
}

fn kind(t: &TypeRef<'_>) -> Result<ElementKind, DecodeFault> {
    Ok(match t {
        TypeRef::Null(_) => ElementKind::Null,
        TypeRef::Int(i) => match width(i.bit_width()?) {
            n @ (8 | 16 | 32 | 64) => ElementKind::Int(n, i.is_signed()?),
            _ => ElementKind::Other("integers of an unknown width"),
        },
        TypeRef::FloatingPoint(f) => ElementKind::Float(match f.precision()? {
            Precision::Half => 16,
            Precision::Single => 32,
            Precision::Double => 64,
        }),
        TypeRef::Bool(_) => ElementKind::Bool,
        TypeRef::Utf8(_) => ElementKind::Text(false),
        TypeRef::LargeUtf8(_) => ElementKind::Text(true),
        TypeRef::Utf8View(_) => ElementKind::TextView,
        TypeRef::Binary(_) | TypeRef::LargeBinary(_) | TypeRef::BinaryView(_) | TypeRef::FixedSizeBinary(_) => {
            ElementKind::Other("binary")
        }
        TypeRef::Decimal(_) => ElementKind::Other("decimal"),
        TypeRef::Date(_) => ElementKind::Other("date"),
        TypeRef::Time(_) => ElementKind::Other("time"),
        TypeRef::Timestamp(_) => ElementKind::Other("timestamp"),
        TypeRef::Interval(_) => ElementKind::Other("interval"),
        TypeRef::Duration(_) => ElementKind::Other("duration"),
        _ => ElementKind::Other("nested values"),
    })
}

/// The nodes and buffers of a column and of the columns inside it.
fn extent(path: &str, field: FieldRef<'_>, (depth, columns): (usize, &mut usize)) -> Result<BufferCounts, DecodeFault> {
    // In a damaged file a column may be inside itself.
    if depth == 0 || *columns == 0 {
        return Err(DecodeFault::Told(damaged(path, "its columns are nested too deep")));
    }
    *columns -= 1;
    if field.dictionary()?.is_some() {
        return Ok(BufferCounts::new(1, 2, 0));
    }
    let mut out = match field.type_()? {
        None => return Err(DecodeFault::Told(damaged(path, "a column has no type"))),
        Some(t) => match t {
            TypeRef::Null(_) | TypeRef::RunEndEncoded(_) => BufferCounts::new(1, 0, 0),
            TypeRef::Struct(_) | TypeRef::FixedSizeList(_) => BufferCounts::new(1, 1, 0),
            TypeRef::Union(u) => BufferCounts::new(1, if matches!(u.mode()?, UnionMode::Dense) { 2 } else { 1 }, 0),
            TypeRef::Utf8View(_) | TypeRef::BinaryView(_) => BufferCounts::new(1, 2, 1),
            TypeRef::Utf8(_)
            | TypeRef::LargeUtf8(_)
            | TypeRef::Binary(_)
            | TypeRef::LargeBinary(_)
            | TypeRef::ListView(_)
            | TypeRef::LargeListView(_) => BufferCounts::new(1, 3, 0),
            _ => BufferCounts::new(1, 2, 0),
        },
    };
    for child in field.children()?.into_iter().flatten() {
        out.add(extent(path, child?, (depth - 1, &mut *columns))?);
    }
    Ok(out)
}
