//! Types.

use std::rc::Rc;

/// A declared sum type of a program: an index into [`crate::Program::datas`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DataId(pub u32);

/// The type of a variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// A 64-bit float.
    F64,
    /// A 32-bit float.
    F32,
    /// A 64-bit integer.
    I64,
    /// A truth value.
    Bool,
    /// Text.
    Str,
    /// An array of that rank (at least 1). Numbers and Bools are stored unboxed. Other elements (data, text, and
    /// arrays whose shapes may differ) are boxed.
    Array(Rc<Ty>, u32),
    /// A sum type.
    Data(DataId),
}

impl Ty {
    /// An array with `rank` more axes around `self`.
    pub fn array(&self, rank: u32) -> Ty {
        match (rank, self) {
            (0, _) => self.clone(),
            (_, Ty::Array(e, r)) if !matches!(**e, Ty::Array(..)) => Ty::Array(e.clone(), r + rank),
            _ => Ty::Array(Rc::new(self.clone()), rank),
        }
    }

    /// A one-dimensional array of boxes, each of which contains a `self`. The elements may differ in shape.
    pub fn boxed(&self) -> Ty {
        Ty::Array(Rc::new(self.clone()), 1)
    }

    /// Whether an array of this type is one unboxed buffer.
    pub fn is_flat(&self) -> bool {
        matches!(self, Ty::F64 | Ty::F32 | Ty::I64 | Ty::Bool)
    }

    /// Whether it is a real scalar.
    pub fn is_real(&self) -> bool {
        matches!(self, Ty::F64 | Ty::F32)
    }

    /// The number of axes; 0 for types other than arrays.
    pub fn rank(&self) -> u32 {
        match self {
            Ty::Array(_, r) => *r,
            _ => 0,
        }
    }

    /// The element type of an array, across all axes; the type itself otherwise.
    pub fn scalar(&self) -> &Ty {
        match self {
            Ty::Array(e, _) => e,
            other => other,
        }
    }

    /// The type of a row, that is, an element of the first axis.
    pub fn elem(&self) -> Ty {
        match self {
            Ty::Array(e, 1) => (**e).clone(),
            Ty::Array(e, r) => Ty::Array(e.clone(), r - 1),
            other => other.clone(),
        }
    }

    /// A one-dimensional array of integers: the type of shapes.
    pub fn shape() -> Ty {
        Ty::I64.array(1)
    }
}
