//! Values: the data that programs compute with.
//!
//! Reading order: this file (the types), `storage` (location of array elements), `array` (flat buffers), `rep`
//! (run-time type representations), then operations on entire values: `show`, `compare`, `vector_space` (vector-space
//! operations), `drop` (without recursion).

pub mod array;
pub mod compare;
pub mod digits;
mod drop;
pub(crate) mod each;
pub mod fun;
pub mod interactive;
pub mod maps_and_sets;
pub mod plan;
pub mod plot;
pub mod rep;
pub mod report_tables;
pub mod seq;
pub mod show;
pub mod storage;
pub mod traced;
pub mod vector_space;

use storage::Elements;
pub use storage::{Kind, Remote};

use adl_syntax::symbol::Symbol;
use smallvec::SmallVec;
use std::rc::Rc;

/// A value: 16 bytes. Cloning copies a word or increments a reference count.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `()`.
    #[default]
    Unit,
    /// `Bool`.
    Bool(bool),
    /// `Int`.
    Int(i64),
    /// `Float`.
    Float(f64),
    /// `F32`.
    F32(f32),
    /// A `Float` on a tape whose primal is a plain float. This is the most frequent traced value in reverse
    /// mode, so it is unboxed.
    Rev {
        /// The level of the derivative operator (see [`crate::ad`]).
        level: u16,
        /// The node on the level's tape.
        node: u32,
        /// The primal.
        primal: f64,
    },
    /// Any other traced number or array of numbers: forward mode, F32, arrays, nested levels.
    Dual(Rc<Dual>),
    /// `String`.
    Str(Rc<Box<str>>),
    /// An array.
    Array(Rc<Array>),
    /// A tuple of two or more components.
    Tuple(Rc<Tuple>),
    /// A record.
    Record(Rc<Record>),
    /// A constructor with its fields.
    Data(Rc<Data>),
    /// A function of any kind.
    Fun(Rc<fun::Fun>),
    /// A run-time type representation (in hidden arguments only).
    Rep(Rc<Rep>),
    /// A symbolic zero: a zero of unknown shape, the neutral element of `+` on any `Diff` data.
    Zero,
}

/// Extents, outermost first.
pub type Shape = SmallVec<[usize; 4]>;

/// An array: its elements in a flat row-major buffer.
#[derive(Clone, Debug)]
pub struct Array {
    /// For buffers of numbers and Bools, the extents of all axes. For `Boxed`, `Tuple`, `Record` and `Unit`,
    /// the axes outside of the element.
    pub shape: Shape,
    /// The elements.
    elements: Elements,
}

/// Elements of an array.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Buf {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I64(Vec<i64>),
    Bool(Vec<bool>),
    Unit,
    /// Strings, declared data, functions; also an empty array of unknown element type.
    Boxed(Vec<Value>),
    /// Tuples: one array for each component, traced or not, whose shape begins with this array's shape.
    Tuple(Vec<Value>),
    /// Records: one array for each field, sorted by name.
    Record(Rc<[Symbol]>, Vec<Value>),
}

/// A traced number or array of numbers.
#[derive(Clone, Debug)]
pub struct Dual {
    /// The level of the derivative operator.
    pub level: u16,
    /// The primal: a number or an array of numbers, either untraced or of a lower level.
    pub primal: Value,
    /// The derivative part.
    pub part: DerivativePart,
}

/// The derivative part of a traced value.
#[derive(Clone, Debug)]
pub enum DerivativePart {
    /// Forward mode: a tangent with the primal's shape, or [`Value::Zero`].
    Tangent(Value),
    /// Reverse mode: a node of the level's tape.
    Node(u32),
}

/// The components of a tuple.
#[derive(Clone, Debug)]
pub struct Tuple(pub Vec<Value>);

/// Fields of a record, sorted by name.
#[derive(Clone, Debug)]
pub struct Record {
    /// The field names, sorted.
    pub names: Rc<[Symbol]>,
    /// The field values, in the same order.
    pub vals: Vec<Value>,
}

/// A constructor applied to all its arguments.
#[derive(Clone, Debug)]
pub struct Data {
    /// The constructor.
    pub con: Rc<ConInfo>,
    /// The fields. Those of lists and trees need no allocation of their own.
    pub fields: Fields,
}

/// Fields of data.
pub type Fields = SmallVec<[Value; 2]>;

impl Value {
    /// A constructor applied to its fields.
    #[inline]
    pub fn data(con: Rc<ConInfo>, fields: impl IntoIterator<Item = Value>) -> Value {
        Value::Data(Rc::new(Data { con, fields: fields.into_iter().collect() }))
    }
}

/// Run-time information about a constructor.
#[derive(Clone, PartialEq, Debug)]
pub struct ConInfo {
    /// The name, such as `Circle`.
    pub name: Symbol,
    /// The position in the declaration, by which `match` branches.
    pub tag: u32,
    /// The declared type.
    pub data: adl_typing::ty::DataId,
    /// The number of fields.
    pub arity: u32,
}

/// A run-time type representation, passed as a hidden argument: [`adl_typing::core::Rep`] with its locals
/// replaced by their values.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Rep {
    Unit,
    Bool,
    Int,
    Float,
    F32,
    Str,
    /// The extent, if known, and the element type.
    Array(Option<usize>, Rc<Rep>),
    Tuple(Vec<Rc<Rep>>),
    Record(Vec<(Symbol, Rc<Rep>)>),
    /// A declared type with its type arguments.
    Data(Rc<adl_typing::ty::DataDecl>, Vec<Rc<Rep>>),
    Other,
}

const _: () = assert!(size_of::<Value>() == 16);
