//! The schema of an Arrow file: which types its columns have, and which buffers are theirs.

use super::{Fault, damaged, origin};
use crate::limits::arrow::{COLUMNS, DEPTH};
use adl_typing::env::Column;
use polars_arrow_format::ipc::{Endianness, FieldRef, Precision, SchemaRef, TypeRef, UnionMode};

/// The type of the elements of a column.
#[derive(Clone, Debug)]
pub(super) enum Kind {
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

impl Kind {
    /// The type of adl.
    pub fn column(&self) -> Option<Column> {
        match self {
            Kind::Int(..) => Some(Column::Int),
            Kind::Float(_) | Kind::Null => Some(Column::Float),
            Kind::Bool => Some(Column::Bool),
            Kind::Text(_) | Kind::TextView => Some(Column::Text),
            Kind::Other(_) => None,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Int(n, true) => write!(f, "int{n}"),
            Kind::Int(n, false) => write!(f, "uint{n}"),
            Kind::Float(n) => write!(f, "float{n}"),
            Kind::Bool => f.write_str("bool"),
            Kind::Text(_) | Kind::TextView => f.write_str("string"),
            Kind::Null => f.write_str("null"),
            Kind::Other(name) => f.write_str(name),
        }
    }
}

/// Numbers of nodes, of buffers, and of columns of views, whose number of buffers each batch says.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Extent {
    pub nodes: usize,
    pub buffers: usize,
    pub views: usize,
}

impl Extent {
    fn new(nodes: usize, buffers: usize, views: usize) -> Extent {
        Extent { nodes, buffers, views }
    }

    fn add(&mut self, e: Extent) {
        *self = Extent::new(self.nodes + e.nodes, self.buffers + e.buffers, self.views + e.views);
    }
}

/// A column.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub name: String,
    pub kind: Kind,
    /// What stands before it in a batch.
    pub before: Extent,
    /// The id of its dictionary, and the type of the indices into it.
    pub dictionary: Option<(i64, (u8, bool))>,
}

impl Field {
    /// The values of its dictionary, which stand alone in a batch.
    pub fn values_alone(&self) -> Field {
        Field { before: Extent::default(), dictionary: None, ..self.clone() }
    }

    /// The indices into its dictionary.
    pub fn indices(&self, (bits, signed): (u8, bool)) -> Field {
        Field { kind: Kind::Int(bits, signed), dictionary: None, ..self.clone() }
    }
}

/// The columns of a schema.
pub(super) fn fields(path: &str, schema: SchemaRef<'_>) -> Result<Vec<Field>, Fault> {
    if !matches!(schema.endianness()?, Endianness::Little) {
        return Err(Fault::Told(origin(path).error("the file has numbers with the most significant byte first")));
    }
    let (mut before, mut columns) = (Extent::default(), COLUMNS);
    let mut out = Vec::new();
    for f in schema.fields()?.into_iter().flatten() {
        let f = f?;
        let kind = match f.type_()? {
            Some(t) => kind(&t)?,
            None => return Err(Fault::Told(damaged(path, "a column has no type"))),
        };
        let dictionary = match f.dictionary()? {
            None => None,
            Some(d) => {
                // Without a type the indices are signed integers of 32 bits.
                let index = d.index_type()?.map(|i| Ok::<_, Fault>((width(i.bit_width()?), i.is_signed()?)));
                Some((d.id()?, index.transpose()?.unwrap_or((32, true))))
            }
        };
        let name = f.name()?.unwrap_or("").to_owned();
        out.push(Field { name, kind, before, dictionary });
        before.add(extent(path, f, (DEPTH, &mut columns))?);
    }
    Ok(out)
}

fn width(bits: i32) -> u8 {
    u8::try_from(bits).unwrap_or(0)
}

fn kind(t: &TypeRef<'_>) -> Result<Kind, Fault> {
    Ok(match t {
        TypeRef::Null(_) => Kind::Null,
        TypeRef::Int(i) => match width(i.bit_width()?) {
            n @ (8 | 16 | 32 | 64) => Kind::Int(n, i.is_signed()?),
            _ => Kind::Other("integers of an unknown width"),
        },
        TypeRef::FloatingPoint(f) => Kind::Float(match f.precision()? {
            Precision::Half => 16,
            Precision::Single => 32,
            Precision::Double => 64,
        }),
        TypeRef::Bool(_) => Kind::Bool,
        TypeRef::Utf8(_) => Kind::Text(false),
        TypeRef::LargeUtf8(_) => Kind::Text(true),
        TypeRef::Utf8View(_) => Kind::TextView,
        TypeRef::Binary(_) | TypeRef::LargeBinary(_) | TypeRef::BinaryView(_) | TypeRef::FixedSizeBinary(_) => {
            Kind::Other("binary")
        }
        TypeRef::Decimal(_) => Kind::Other("decimal"),
        TypeRef::Date(_) => Kind::Other("date"),
        TypeRef::Time(_) => Kind::Other("time"),
        TypeRef::Timestamp(_) => Kind::Other("timestamp"),
        TypeRef::Interval(_) => Kind::Other("interval"),
        TypeRef::Duration(_) => Kind::Other("duration"),
        _ => Kind::Other("nested values"),
    })
}

/// The nodes and buffers of a column and of the columns inside it.
fn extent(path: &str, f: FieldRef<'_>, (depth, columns): (usize, &mut usize)) -> Result<Extent, Fault> {
    // In a damaged file a column may be inside itself.
    if depth == 0 || *columns == 0 {
        return Err(Fault::Told(damaged(path, "its columns are nested too deep")));
    }
    *columns -= 1;
    if f.dictionary()?.is_some() {
        return Ok(Extent::new(1, 2, 0));
    }
    let mut out = match f.type_()? {
        None => return Err(Fault::Told(damaged(path, "a column has no type"))),
        Some(t) => match t {
            TypeRef::Null(_) | TypeRef::RunEndEncoded(_) => Extent::new(1, 0, 0),
            TypeRef::Struct(_) | TypeRef::FixedSizeList(_) => Extent::new(1, 1, 0),
            TypeRef::Union(u) => Extent::new(1, if matches!(u.mode()?, UnionMode::Dense) { 2 } else { 1 }, 0),
            TypeRef::Utf8View(_) | TypeRef::BinaryView(_) => Extent::new(1, 2, 1),
            TypeRef::Utf8(_)
            | TypeRef::LargeUtf8(_)
            | TypeRef::Binary(_)
            | TypeRef::LargeBinary(_)
            | TypeRef::ListView(_)
            | TypeRef::LargeListView(_) => Extent::new(1, 3, 0),
            _ => Extent::new(1, 2, 0),
        },
    };
    for child in f.children()?.into_iter().flatten() {
        out.add(extent(path, child?, (depth - 1, &mut *columns))?);
    }
    Ok(out)
}
