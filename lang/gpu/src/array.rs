//! Device arrays: memory with an element type and a shape, in row-major order.

use crate::buffer_pool::Buffer;
use crate::error::{Res, unsupported};
use crate::queue::{BoundArray, Gpu};
use adl_ir::{Lit, Ty};

/// Element types. A Bool is a word, 0 or 1. `Word` is internal, for counters and indices of kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Scalar {
    F32,
    F64,
    I64,
    Bool,
    Word,
}

impl Scalar {
    /// The element type of a scalar type.
    pub fn of(t: &Ty) -> Option<Scalar> {
        Some(match t {
            Ty::F32 => Scalar::F32,
            Ty::F64 => Scalar::F64,
            Ty::I64 => Scalar::I64,
            Ty::Bool => Scalar::Bool,
            Ty::Str | Ty::Array(..) | Ty::Data(_) => return None,
        })
    }

    /// The element type of an array, also inside boxes.
    pub(crate) fn inside(t: &Ty) -> Option<Scalar> {
        match t {
            Ty::Array(e, _) => Scalar::inside(e),
            t => Scalar::of(t),
        }
    }

    /// The size in bytes in memory.
    pub fn bytes(self) -> u64 {
        match self {
            Scalar::F32 | Scalar::Bool | Scalar::Word => 4,
            Scalar::F64 | Scalar::I64 => 8,
        }
    }
}

/// Array elements on the host.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
    Bool(Vec<bool>),
    Word(Vec<u32>),
}

impl Data {
    /// The element type.
    pub fn scalar(&self) -> Scalar {
        match self {
            Data::F32(_) => Scalar::F32,
            Data::F64(_) => Scalar::F64,
            Data::I64(_) => Scalar::I64,
            Data::Bool(_) => Scalar::Bool,
            Data::Word(_) => Scalar::Word,
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Data::F32(x) => x.len(),
            Data::F64(x) => x.len(),
            Data::I64(x) => x.len(),
            Data::Bool(x) => x.len(),
            Data::Word(x) => x.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Data::F32(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::F64(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::I64(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::Bool(x) => x.iter().flat_map(|x| u32::from(*x).to_le_bytes()).collect(),
            Data::Word(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
        }
    }

    fn read(of: Scalar, bytes: &[u8]) -> Data {
        let (four, eight) = (bytes.as_chunks::<4>().0, bytes.as_chunks::<8>().0);
        match of {
            Scalar::F32 => Data::F32(four.iter().map(|b| f32::from_le_bytes(*b)).collect()),
            Scalar::F64 => Data::F64(eight.iter().map(|b| f64::from_le_bytes(*b)).collect()),
            Scalar::I64 => Data::I64(eight.iter().map(|b| i64::from_le_bytes(*b)).collect()),
            Scalar::Bool => Data::Bool(four.iter().map(|b| u32::from_le_bytes(*b) != 0).collect()),
            Scalar::Word => Data::Word(four.iter().map(|b| u32::from_le_bytes(*b)).collect()),
        }
    }
}

/// An array on the device. A device scalar is an array without axes.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its memory.
    pub buffer: Buffer,
    /// Its element type.
    pub scalar: Scalar,
    /// Its extents.
    pub shape: Vec<usize>,
}

impl Array {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The size of its elements in bytes.
    pub fn bytes(&self) -> u64 {
        self.len() as u64 * self.scalar.bytes()
    }

    /// A binding of the whole array.
    pub(crate) fn whole(&self) -> BoundArray {
        BoundArray::first(&self.buffer, self.bytes())
    }

    /// The same elements in another shape of the same size.
    pub fn reshaped(&self, shape: Vec<usize>) -> Res<Array> {
        if shape.iter().product::<usize>() != self.len() {
            return unsupported(format!("{} numbers in the shape {shape:?}", self.len()));
        }
        Ok(Array { shape, ..self.clone() })
    }
}

/// An operand of a kernel: an array, or a scalar that the host knows.
#[derive(Clone, Debug)]
pub enum Operand {
    /// On the device.
    Array(Array),
    /// On the host.
    Number(Lit),
}

impl Gpu {
    /// Fails if the device does not support an element type.
    pub(crate) fn has(&self, s: Scalar) -> Res<()> {
        match s {
            Scalar::F64 if !self.caps.f64 => unsupported(format!("{} has no 64-bit floats (use F32)", self.caps.name)),
            Scalar::I64 if !self.caps.i64 => unsupported(format!("{} has no 64-bit integers", self.caps.name)),
            Scalar::F64 | Scalar::I64 | Scalar::F32 | Scalar::Bool | Scalar::Word => Ok(()),
        }
    }

    /// Allocates an array with unspecified elements.
    pub fn empty(&self, scalar: Scalar, shape: Vec<usize>) -> Res<Array> {
        self.has(scalar)?;
        let numbers = shape.iter().try_fold(1u64, |n, k| n.checked_mul(*k as u64)).filter(|n| *n < 1 << 32);
        let Some(n) = numbers else {
            return unsupported(format!("an array of shape {shape:?}, more than 2³² numbers"));
        };
        Ok(Array { buffer: self.alloc(n * scalar.bytes())?, scalar, shape })
    }

    /// Uploads elements whose Rust representation equals that of `scalar` on the device (true for all but Bools).
    pub fn array_of<T: bytemuck::NoUninit>(&self, scalar: Scalar, numbers: &[T], shape: Vec<usize>) -> Res<Array> {
        self.has(scalar)?;
        let bytes: &[u8] = bytemuck::cast_slice(numbers);
        if shape.iter().product::<usize>() as u64 * scalar.bytes() != bytes.len() as u64 {
            return unsupported(format!("{} numbers in the shape {shape:?}", numbers.len()));
        }
        Ok(Array { buffer: self.upload(bytes)?, scalar, shape })
    }

    /// Uploads elements.
    pub fn array(&self, data: &Data, shape: Vec<usize>) -> Res<Array> {
        self.has(data.scalar())?;
        if shape.iter().product::<usize>() != data.len() {
            return unsupported(format!("{} numbers in the shape {shape:?}", data.len()));
        }
        Ok(Array { buffer: self.upload(&data.bytes())?, scalar: data.scalar(), shape })
    }

    /// Reads the elements of an array, after all launched work.
    pub fn read(&self, a: &Array) -> Res<Data> {
        self.download(&a.buffer, a.bytes()).map(|b| Data::read(a.scalar, &b))
    }
}

/// A range of elements of an array.
pub(crate) fn cut(a: &Array, from: usize, to: usize) -> BoundArray {
    let b = a.scalar.bytes();
    BoundArray { buffer: a.buffer.clone(), offset: from as u64 * b, size: (to - from) as u64 * b }
}
