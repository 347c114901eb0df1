//! What a value is.
//!
//! Reading order: this file (the types), `elements` (where those of arrays are), `array` (flat buffers), `rep` (run-time types), then what is
//! done to whole values: `show`, `compare`, `space` (vector-space operations), `drop` (without
//! recursion).

pub mod array;
pub mod compare;
pub mod digits;
mod drop;
pub mod elements;
pub(crate) use drop::release;
pub mod plot;
pub mod rep;
pub mod seq;
pub mod show;
pub mod space;
pub mod tree;

pub use elements::{Kind, Remote};
use elements::Elements;

use crate::ad::Dual;
use adl_syntax::symbol::Symbol;
use smallvec::SmallVec;
use std::rc::Rc;

/// A value: 16 bytes; cloning copies a word or counts a reference.
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
    /// A `Float` on a reverse tape whose own value is a plain float: the hot case of reverse mode,
    /// kept unboxed.
    Rev {
        /// Which derivative operator's tape (see [`crate::ad`]).
        level: u16,
        /// Its node.
        node: u32,
        /// Its value.
        primal: f64,
    },
    /// Any other traced number or array of numbers: forward mode, F32, arrays, nested levels.
    Dual(Rc<Dual>),
    /// `String`.
    Str(Rc<Box<str>>),
    /// An array.
    Array(Rc<Array>),
    /// A tuple of two or more.
    Tuple(Rc<Tuple>),
    /// A record.
    Record(Rc<Record>),
    /// A constructor with its fields.
    Data(Rc<Data>),
    /// A function of any kind.
    Fun(Rc<crate::vm::Fun>),
    /// A run-time type (hidden arguments only).
    Rep(Rc<Rep>),
    /// A zero of a shape not known (yet): the neutral element of `+` on any `Diff` data.
    Zero,
}

/// Extents, outermost first.
pub type Shape = SmallVec<[usize; 4]>;

/// An array: all its axes in one flat row-major buffer.
#[derive(Clone, Debug)]
pub struct Array {
    /// For number and Bool buffers all axes; for `Boxed`, `Tuple`, `Record` and `Unit` the axes outside
    /// the element.
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
    /// Strings, declared data, functions. Also an empty array whose element type is not known.
    Boxed(Vec<Value>),
    /// Tuples: one array a component (plain or traced), whose shape begins with this array's shape.
    Tuple(Vec<Value>),
    /// Records: the same, by name (sorted).
    Record(Rc<[Symbol]>, Vec<Value>),
}

/// Components of a tuple.
#[derive(Clone, Debug)]
pub struct Tuple(pub Vec<Value>);

/// Fields of a record, sorted by name.
#[derive(Clone, Debug)]
pub struct Record {
    /// Names.
    pub names: Rc<[Symbol]>,
    /// Values.
    pub vals: Vec<Value>,
}

/// A constructor applied to all its arguments.
#[derive(Clone, Debug)]
pub struct Data {
    /// Which constructor.
    pub con: Rc<ConInfo>,
    /// Its fields.
    pub fields: Vec<Value>,
}

/// What a constructor is, at run time.
#[derive(Clone, PartialEq, Debug)]
pub struct ConInfo {
    /// `Circle`.
    pub name: Symbol,
    /// Position in the declaration: what `match` branches on.
    pub tag: u32,
    /// Declared type.
    pub data: adl_typing::ty::DataId,
    /// Number of fields.
    pub arity: u32,
}

/// A run-time type, of a hidden argument: [`adl_typing::core::Rep`] with its locals looked up.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Rep {
    Unit,
    Bool,
    Int,
    Float,
    F32,
    Str,
    /// Size (if known) and element.
    Array(Option<usize>, Rc<Rep>),
    Tuple(Vec<Rc<Rep>>),
    Record(Vec<(Symbol, Rc<Rep>)>),
    /// A declared type at its arguments.
    Data(Rc<adl_typing::ty::DataDecl>, Vec<Rc<Rep>>),
    Other,
}

const _: () = assert!(size_of::<Value>() == 16);
