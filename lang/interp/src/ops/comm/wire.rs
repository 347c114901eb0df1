//! Numbers and arrays as bytes: for each leaf a head with its kind and shape, then the numbers of all leaves. Texts and
//! declared data are leaves, too.

use super::plain;
use crate::error::{Error, Res, codes};
use crate::value::{Buf, Shape, Value, array, vector_space};
use std::fmt;

/// The kind of a leaf's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NumberKind {
    F64,
    F32,
    I64,
    Bool,
    /// A text or declared data.
    Plain,
}

impl NumberKind {
    const ALL: [NumberKind; 5] =
        [NumberKind::F64, NumberKind::F32, NumberKind::I64, NumberKind::Bool, NumberKind::Plain];

    /// Bytes of one number; of a text or data those that it has at least.
    fn width(self) -> usize {
        match self {
            NumberKind::F64 | NumberKind::I64 => 8,
            NumberKind::F32 => 4,
            NumberKind::Bool | NumberKind::Plain => 1,
        }
    }
}

/// The kind and shape of a leaf.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Head {
    pub kind: NumberKind,
    /// Empty for a number.
    pub shape: Shape,
}

impl Head {
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it is an array without rows, of which nothing else is known.
    pub fn is_unknown(&self) -> bool {
        self.kind == NumberKind::F64 && self.shape[..] == [0]
    }

    /// Whether two leaves agree, except in the first `rows` axes.
    pub fn fits(&self, other: &Head, rows: usize) -> bool {
        self.kind == other.kind && self.shape.len() == other.shape.len() && self.shape[rows..] == other.shape[rows..]
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.iter().try_for_each(|n| write!(f, "[{n}]"))?;
        f.write_str(match self.kind {
            NumberKind::F64 => "Float",
            NumberKind::F32 => "F32",
            NumberKind::I64 => "Int",
            NumberKind::Bool => "Bool",
            NumberKind::Plain => "text or declared data",
        })
    }
}

/// The numbers of a leaf.
#[derive(Clone, Debug)]
pub(super) enum LeafNumbers {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I64(Vec<i64>),
    Bool(Vec<bool>),
    Plain(Vec<Value>),
}

/// A number, or an array of them.
#[derive(Clone, Debug)]
pub(super) struct WireLeaf {
    pub head: Head,
    pub numbers: LeafNumbers,
}

impl WireLeaf {
    pub fn new(head: Head, numbers: LeafNumbers) -> WireLeaf {
        WireLeaf { head, numbers }
    }

    pub fn bytes(&self) -> usize {
        match &self.numbers {
            LeafNumbers::Plain(v) => v.iter().map(plain::size).sum(),
            numbers => numbers.len() * self.head.kind.width(),
        }
    }

    /// The numbers in one row.
    pub fn row(&self) -> usize {
        self.head.shape.iter().skip(1).product()
    }
}

/// Appends the bytes of numbers, in a loop that compiles to a copy.
fn append<T: Copy, const N: usize>(numbers: &[T], out: &mut Vec<u8>, bytes: fn(T) -> [u8; N]) {
    let start = out.len();
    out.resize(start + numbers.len() * N, 0);
    for (place, x) in out[start..].chunks_exact_mut(N).zip(numbers) {
        place.copy_from_slice(&bytes(*x));
    }
}

pub(super) fn broken() -> Box<Error> {
    Error::new(codes::RANKS, "a message from another rank that is cut short")
}

impl LeafNumbers {
    pub fn none(kind: NumberKind) -> LeafNumbers {
        LeafNumbers::zeros(kind, 0)
    }

    pub fn zeros(kind: NumberKind, n: usize) -> LeafNumbers {
        match kind {
            NumberKind::F64 => LeafNumbers::F64(vec![0.0; n]),
            NumberKind::F32 => LeafNumbers::F32(vec![0.0; n]),
            NumberKind::I64 => LeafNumbers::I64(vec![0; n]),
            NumberKind::Bool => LeafNumbers::Bool(vec![false; n]),
            NumberKind::Plain => LeafNumbers::Plain(vec![Value::Unit; n]),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            LeafNumbers::F64(v) => v.len(),
            LeafNumbers::F32(v) => v.len(),
            LeafNumbers::I64(v) => v.len(),
            LeafNumbers::Bool(v) => v.len(),
            LeafNumbers::Plain(v) => v.len(),
        }
    }

    /// Appends the bytes of the numbers from `lo` to `hi`.
    pub fn write(&self, (lo, hi): (usize, usize), out: &mut Vec<u8>) {
        match self {
            LeafNumbers::F64(v) => append(&v[lo..hi], out, f64::to_le_bytes),
            LeafNumbers::F32(v) => append(&v[lo..hi], out, f32::to_le_bytes),
            LeafNumbers::I64(v) => append(&v[lo..hi], out, i64::to_le_bytes),
            LeafNumbers::Bool(v) => out.extend(v[lo..hi].iter().map(|b| u8::from(*b))),
            LeafNumbers::Plain(v) => v[lo..hi].iter().for_each(|v| plain::write(v, out)),
        }
    }

    /// Takes `n` numbers off the front of `bytes`.
    pub fn read(kind: NumberKind, n: usize, bytes: &mut &[u8]) -> Res<LeafNumbers> {
        if kind == NumberKind::Plain {
            return (0..n).map(|_| plain::read(bytes)).collect::<Res<_>>().map(LeafNumbers::Plain);
        }
        let width = kind.width();
        let (own, rest) = n.checked_mul(width).and_then(|n| bytes.split_at_checked(n)).ok_or_else(broken)?;
        *bytes = rest;
        fn words<const N: usize, T>(bytes: &[u8], of: fn([u8; N]) -> T) -> Vec<T> {
            bytes.chunks_exact(N).filter_map(|b| b.first_chunk::<N>()).map(|b| of(*b)).collect()
        }
        Ok(match kind {
            NumberKind::F64 => LeafNumbers::F64(words(own, f64::from_le_bytes)),
            NumberKind::F32 => LeafNumbers::F32(words(own, f32::from_le_bytes)),
            NumberKind::I64 => LeafNumbers::I64(words(own, i64::from_le_bytes)),
            NumberKind::Bool => LeafNumbers::Bool(own.iter().map(|b| *b != 0).collect()),
            NumberKind::Plain => LeafNumbers::none(kind),
        })
    }

    pub fn append(&mut self, more: LeafNumbers) {
        match (self, more) {
            (LeafNumbers::F64(v), LeafNumbers::F64(w)) => v.extend(w),
            (LeafNumbers::F32(v), LeafNumbers::F32(w)) => v.extend(w),
            (LeafNumbers::I64(v), LeafNumbers::I64(w)) => v.extend(w),
            (LeafNumbers::Bool(v), LeafNumbers::Bool(w)) => v.extend(w),
            (LeafNumbers::Plain(v), LeafNumbers::Plain(w)) => v.extend(w),
            _ => {}
        }
    }

    /// Adds numbers of the same kind and length.
    pub fn add(&mut self, x: &LeafNumbers) -> Res<()> {
        match (self, x) {
            (LeafNumbers::F64(v), LeafNumbers::F64(w)) => v.iter_mut().zip(w).for_each(|(a, b)| *a += b),
            (LeafNumbers::F32(v), LeafNumbers::F32(w)) => v.iter_mut().zip(w).for_each(|(a, b)| *a += b),
            (LeafNumbers::I64(v), LeafNumbers::I64(w)) => {
                for (a, b) in v.iter_mut().zip(w) {
                    *a = a
                        .checked_add(*b)
                        .ok_or_else(|| Error::new(codes::OVERFLOW, "the sum over the ranks is too large for an Int"))?;
                }
            }
            (LeafNumbers::Plain(v), LeafNumbers::Plain(w)) => {
                for (a, b) in v.iter_mut().zip(w) {
                    *a = vector_space::zip_leaves(a, b, &mut sum_of_leaves)?;
                }
            }
            _ => return Err(broken()),
        }
        Ok(())
    }
}

/// The sum of two leaves of declared data. Discrete leaves are equal in both: cotangents keep them from their point.
fn sum_of_leaves(left: &Value, b: &Value) -> Res<Value> {
    if matches!(left, Value::Zero) {
        return Ok(b.clone());
    }
    match (leaf(left), leaf(b)) {
        (Ok(Some(x)), Ok(Some(y))) if vector_space::is_real(left) && x.head != y.head => {
            Err(Error::new(codes::RANKS, format!("the parts differ in shape: {} and {}", x.head, y.head)))
        }
        (Ok(Some(mut x)), Ok(Some(y))) if vector_space::is_real(left) => {
            x.numbers.add(&y.numbers)?;
            Ok(value(Some(x)))
        }
        _ => Ok(left.clone()),
    }
}

/// A leaf of a value; `None` for a symbolic zero.
pub(super) fn leaf(value: &Value) -> Res<Option<WireLeaf>> {
    let number = |kind, numbers| Some(WireLeaf::new(Head { kind, shape: Shape::new() }, numbers));
    Ok(match value {
        Value::Zero => None,
        Value::Float(x) => number(NumberKind::F64, LeafNumbers::F64(vec![*x])),
        Value::F32(x) => number(NumberKind::F32, LeafNumbers::F32(vec![*x])),
        Value::Int(n) => number(NumberKind::I64, LeafNumbers::I64(vec![*n])),
        Value::Bool(b) => number(NumberKind::Bool, LeafNumbers::Bool(vec![*b])),
        Value::Str(_) | Value::Data(_) => number(NumberKind::Plain, LeafNumbers::Plain(vec![value.clone()])),
        Value::Array(a) => {
            let (kind, numbers) = match a.buf() {
                Buf::F64(v) => (NumberKind::F64, LeafNumbers::F64(v.clone())),
                Buf::F32(v) => (NumberKind::F32, LeafNumbers::F32(v.clone())),
                Buf::I64(v) => (NumberKind::I64, LeafNumbers::I64(v.clone())),
                Buf::Bool(v) => (NumberKind::Bool, LeafNumbers::Bool(v.clone())),
                Buf::Boxed(v) => (NumberKind::Plain, LeafNumbers::Plain(v.clone())),
                _ => return Err(Error::new(codes::RANKS, "only numbers and Bools are sent to other ranks")),
            };
            Some(WireLeaf::new(Head { kind, shape: a.shape.clone() }, numbers))
        }
        _ => return Err(Error::new(codes::RANKS, "only numbers and Bools are sent to other ranks")),
    })
}

pub(super) fn value(leaf: Option<WireLeaf>) -> Value {
    let Some(WireLeaf { head, numbers }) = leaf else { return Value::Zero };
    if head.shape.is_empty() {
        return match numbers {
            LeafNumbers::F64(v) => Value::Float(v.first().copied().unwrap_or(0.0)),
            LeafNumbers::F32(v) => Value::F32(v.first().copied().unwrap_or(0.0)),
            LeafNumbers::I64(v) => Value::Int(v.first().copied().unwrap_or(0)),
            LeafNumbers::Bool(v) => Value::Bool(v.first().copied().unwrap_or(false)),
            LeafNumbers::Plain(v) => v.into_iter().next().unwrap_or_default(),
        };
    }
    let buf = match numbers {
        LeafNumbers::F64(v) => Buf::F64(v),
        LeafNumbers::F32(v) => Buf::F32(v),
        LeafNumbers::I64(v) => Buf::I64(v),
        LeafNumbers::Bool(v) => Buf::Bool(v),
        LeafNumbers::Plain(v) => Buf::Boxed(v),
    };
    array::make(head.shape, buf)
}

/// A message as it was received.
pub(super) struct Message<'b> {
    /// Whether the numbers follow.
    pub whole: bool,
    pub heads: Vec<Option<Head>>,
    pub body: &'b [u8],
}

/// The heads of leaves and, if `whole`, their numbers.
pub(super) fn message(leaves: &[Option<WireLeaf>], whole: bool) -> Vec<u8> {
    let mut out = vec![u8::from(whole)];
    out.extend((leaves.len() as u64).to_le_bytes());
    for leaf in leaves {
        let Some(WireLeaf { head, .. }) = leaf else {
            out.push(u8::MAX);
            continue;
        };
        out.extend([head.kind as u8, head.shape.len() as u8]);
        out.extend(head.shape.iter().flat_map(|n| (*n as u64).to_le_bytes()));
    }
    if whole {
        leaves.iter().flatten().for_each(|l| l.numbers.write((0, l.numbers.len()), &mut out));
    }
    out
}

pub(super) fn parse(bytes: &[u8]) -> Res<Message<'_>> {
    let mut rest = bytes;
    let whole = byte(&mut rest)? != 0;
    let n = take_word(&mut rest)?;
    let mut heads = Vec::new();
    for _ in 0..n {
        let kind = byte(&mut rest)?;
        if kind == u8::MAX {
            heads.push(None);
            continue;
        }
        let kind = *NumberKind::ALL.get(kind as usize).ok_or_else(broken)?;
        let axes = byte(&mut rest)?;
        let shape = (0..axes).map(|_| take_word(&mut rest).map(|n| n as usize)).collect::<Res<Shape>>()?;
        heads.push(Some(Head { kind, shape }));
    }
    Ok(Message { whole, heads, body: rest })
}

pub(super) fn byte(bytes: &mut &[u8]) -> Res<u8> {
    let (first, rest) = bytes.split_first().ok_or_else(broken)?;
    *bytes = rest;
    Ok(*first)
}

pub(super) fn take_word(bytes: &mut &[u8]) -> Res<u64> {
    let (own, rest) = bytes.split_at_checked(8).ok_or_else(broken)?;
    *bytes = rest;
    Ok(word(own))
}

/// The number in the first eight bytes.
pub(super) fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk::<8>().map_or(0, |b| u64::from_le_bytes(*b))
}
