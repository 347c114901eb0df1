//! Arrays of the device: memory with a kind of number and a shape, row by row.

use crate::error::{Res, not_here};
use crate::memory::Buffer;
use crate::queue::{Bound, Gpu};
use adl_ir::{Lit, Ty};

/// The kinds of numbers. A Bool is a word, 0 or 1; words are none of the language's: kernels count in them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Scalar {
    F32, F64, I64, Bool, Word,
}

impl Scalar {
    /// Of a type that is one.
    pub fn of(t: &Ty) -> Option<Scalar> {
        Some(match t {
            Ty::F32 => Scalar::F32,
            Ty::F64 => Scalar::F64,
            Ty::I64 => Scalar::I64,
            Ty::Bool => Scalar::Bool,
            Ty::Str | Ty::Array(..) | Ty::Data(_) => return None,
        })
    }

    /// Of the numbers in arrays, and in arrays in boxes.
    pub(crate) fn inside(t: &Ty) -> Option<Scalar> {
        match t {
            Ty::Array(e, _) => Scalar::inside(e),
            t => Scalar::of(t),
        }
    }

    /// Bytes of one in memory.
    pub fn bytes(self) -> u64 {
        match self {
            Scalar::F32 | Scalar::Bool | Scalar::Word => 4,
            Scalar::F64 | Scalar::I64 => 8,
        }
    }
}

/// Numbers on the host.
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
    /// What they are.
    pub fn scalar(&self) -> Scalar {
        match self {
            Data::F32(_) => Scalar::F32,
            Data::F64(_) => Scalar::F64,
            Data::I64(_) => Scalar::I64,
            Data::Bool(_) => Scalar::Bool,
            Data::Word(_) => Scalar::Word,
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Data::F32(x) => x.len(),
            Data::F64(x) => x.len(),
            Data::I64(x) => x.len(),
            Data::Bool(x) => x.len(),
            Data::Word(x) => x.len(),
        }
    }

    /// Whether there are none.
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

/// An array on the device. A number on the device is one of no axes.
#[derive(Clone, Debug)]
pub struct Array {
    /// Where its numbers are.
    pub buffer: Buffer,
    /// What they are.
    pub scalar: Scalar,
    /// Its extents.
    pub shape: Vec<usize>,
}

impl Array {
    /// How many numbers it has.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes its numbers take.
    pub fn bytes(&self) -> u64 {
        self.len() as u64 * self.scalar.bytes()
    }

    /// All of it, for a kernel.
    pub(crate) fn whole(&self) -> Bound {
        Bound::first(&self.buffer, self.bytes())
    }

    /// The same numbers in another shape, which has as many.
    pub fn reshaped(&self, shape: Vec<usize>) -> Res<Array> {
        if shape.iter().product::<usize>() != self.len() {
            return not_here(format!("{} numbers in the shape {shape:?}", self.len()));
        }
        Ok(Array { shape, ..self.clone() })
    }
}

/// An operand of a kernel: an array, or a number that the host knows.
#[derive(Clone, Debug)]
pub enum Operand {
    /// On the device.
    Array(Array),
    /// On the host.
    Number(Lit),
}

impl Gpu {
    /// Refuses what the device does not have.
    pub(crate) fn has(&self, s: Scalar) -> Res<()> {
        match s {
            Scalar::F64 if !self.caps.f64 => not_here(format!("{} has no 64-bit floats (use F32)", self.caps.name)),
            Scalar::I64 if !self.caps.i64 => not_here(format!("{} has no 64-bit integers", self.caps.name)),
            Scalar::F64 | Scalar::I64 | Scalar::F32 | Scalar::Bool | Scalar::Word => Ok(()),
        }
    }

    /// An array whose numbers are not known yet.
    pub fn empty(&self, scalar: Scalar, shape: Vec<usize>) -> Res<Array> {
        self.has(scalar)?;
        let numbers = shape.iter().try_fold(1u64, |n, k| n.checked_mul(*k as u64)).filter(|n| *n < 1 << 32);
        let Some(n) = numbers else { return not_here(format!("an array of shape {shape:?}, more than 2³² numbers")) };
        Ok(Array { buffer: self.alloc(n * scalar.bytes())?, scalar, shape })
    }

    /// An array of these numbers, which are of the kind that is said and lie as on the device (all but Bools do).
    pub fn array_of<T: bytemuck::NoUninit>(&self, scalar: Scalar, numbers: &[T], shape: Vec<usize>) -> Res<Array> {
        self.has(scalar)?;
        let bytes: &[u8] = bytemuck::cast_slice(numbers);
        if shape.iter().product::<usize>() as u64 * scalar.bytes() != bytes.len() as u64 {
            return not_here(format!("{} numbers in the shape {shape:?}", numbers.len()));
        }
        Ok(Array { buffer: self.upload(bytes)?, scalar, shape })
    }

    /// An array of these numbers.
    pub fn array(&self, data: &Data, shape: Vec<usize>) -> Res<Array> {
        self.has(data.scalar())?;
        if shape.iter().product::<usize>() != data.len() {
            return not_here(format!("{} numbers in the shape {shape:?}", data.len()));
        }
        Ok(Array { buffer: self.upload(&data.bytes())?, scalar: data.scalar(), shape })
    }

    /// The numbers of an array, after all that was started.
    pub fn read(&self, a: &Array) -> Res<Data> {
        self.download(&a.buffer, a.bytes()).map(|b| Data::read(a.scalar, &b))
    }
}
