//! Texts and declared data as bytes: a byte for what it is, then its parts. Cotangents may have symbolic zeros in them.

use super::wire::{broken, byte, take_word};
use crate::error::Res;
use crate::value::{Array, Buf, ConInfo, Record, Shape, Tuple, Value};
use adl_syntax::symbol::Symbol;
use adl_typing::ty::DataId;
use std::rc::Rc;

/// What a value is.
#[repr(u8)]
#[derive(Clone, Copy)]
enum Mark {
    Unit,
    Bool,
    Int,
    Float,
    F32,
    Str,
    Tuple,
    Record,
    Data,
    Floats,
    F32s,
    Ints,
    Bools,
    Units,
    Boxed,
    Tuples,
    Records,
    Zero,
}

impl Mark {
    const ALL: [Mark; 18] = [
        Mark::Unit,
        Mark::Bool,
        Mark::Int,
        Mark::Float,
        Mark::F32,
        Mark::Str,
        Mark::Tuple,
        Mark::Record,
        Mark::Data,
        Mark::Floats,
        Mark::F32s,
        Mark::Ints,
        Mark::Bools,
        Mark::Units,
        Mark::Boxed,
        Mark::Tuples,
        Mark::Records,
        Mark::Zero,
    ];
}

/// The bytes that a value takes in a message.
pub fn size(v: &Value) -> usize {
    let mut out = Vec::new();
    write(v, &mut out);
    out.len()
}

fn word(n: usize, out: &mut Vec<u8>) {
    out.extend((n as u64).to_le_bytes());
}

fn text(t: &str, out: &mut Vec<u8>) {
    word(t.len(), out);
    out.extend(t.as_bytes());
}

fn names(all: &[Symbol], out: &mut Vec<u8>) {
    word(all.len(), out);
    all.iter().for_each(|n| text(n.as_str(), out));
}

fn values(all: &[Value], out: &mut Vec<u8>) {
    word(all.len(), out);
    all.iter().for_each(|v| write(v, out));
}

fn put<const N: usize>(mark: Mark, bytes: [u8; N], out: &mut Vec<u8>) {
    out.push(mark as u8);
    out.extend(bytes);
}

/// Appends a value without functions and traced numbers.
pub fn write(v: &Value, out: &mut Vec<u8>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match v {
        Value::Bool(b) => put(Mark::Bool, [u8::from(*b)], out),
        Value::Int(n) => put(Mark::Int, n.to_le_bytes(), out),
        Value::Float(x) => put(Mark::Float, x.to_le_bytes(), out),
        Value::F32(x) => put(Mark::F32, x.to_le_bytes(), out),
        Value::Str(s) => {
            out.push(Mark::Str as u8);
            text(s, out);
        }
        Value::Tuple(t) => {
            out.push(Mark::Tuple as u8);
            values(&t.0, out);
        }
        Value::Record(r) => {
            out.push(Mark::Record as u8);
            names(&r.names, out);
            values(&r.vals, out);
        }
        Value::Data(d) => {
            let ConInfo { name, tag, data: DataId(number, title), arity } = &*d.con;
            put(Mark::Data, tag.to_le_bytes(), out);
            [*number, *arity].iter().for_each(|n| out.extend(n.to_le_bytes()));
            text(name.as_str(), out);
            text(title.as_str(), out);
            values(&d.fields, out);
        }
        Value::Array(a) => array(a, out),
        Value::Zero => out.push(Mark::Zero as u8),
        Value::Unit | Value::Rev { .. } | Value::Dual(_) | Value::Fun(_) | Value::Rep(_) => {
            out.push(Mark::Unit as u8);
        }
    });
}

fn numbers<T: Copy, const N: usize>(all: &[T], bytes: fn(T) -> [u8; N], out: &mut Vec<u8>) {
    word(all.len(), out);
    all.iter().for_each(|x| out.extend(bytes(*x)));
}

fn array(array: &Array, out: &mut Vec<u8>) {
    let mark = match array.buf() {
        Buf::F64(_) => Mark::Floats,
        Buf::F32(_) => Mark::F32s,
        Buf::I64(_) => Mark::Ints,
        Buf::Bool(_) => Mark::Bools,
        Buf::Unit => Mark::Units,
        Buf::Boxed(_) => Mark::Boxed,
        Buf::Tuple(_) => Mark::Tuples,
        Buf::Record(..) => Mark::Records,
    };
    out.push(mark as u8);
    word(array.shape.len(), out);
    array.shape.iter().for_each(|n| word(*n, out));
    match array.buf() {
        Buf::F64(v) => numbers(v, f64::to_le_bytes, out),
        Buf::F32(v) => numbers(v, f32::to_le_bytes, out),
        Buf::I64(v) => numbers(v, i64::to_le_bytes, out),
        Buf::Bool(v) => numbers(v, |b| [u8::from(b)], out),
        Buf::Unit => {}
        Buf::Boxed(v) | Buf::Tuple(v) => values(v, out),
        Buf::Record(fields, v) => {
            names(fields, out);
            values(v, out);
        }
    }
}

/// Takes so many bytes off the front.
fn take<'b>(bytes: &mut &'b [u8], n: usize) -> Res<&'b [u8]> {
    let (own, rest) = bytes.split_at_checked(n).ok_or_else(broken)?;
    *bytes = rest;
    Ok(own)
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Res<[u8; N]> {
    take(bytes, N)?.first_chunk::<N>().copied().ok_or_else(broken)
}

/// A number of parts, each of which takes a byte at least.
fn count(bytes: &mut &[u8]) -> Res<usize> {
    let n = usize::try_from(take_word(bytes)?).map_err(|_| broken())?;
    if n <= bytes.len() { Ok(n) } else { Err(broken()) }
}

fn read_text<'b>(bytes: &mut &'b [u8]) -> Res<&'b str> {
    let n = count(bytes)?;
    std::str::from_utf8(take(bytes, n)?).map_err(|_| broken())
}

fn read_names(bytes: &mut &[u8]) -> Res<Rc<[Symbol]>> {
    (0..count(bytes)?).map(|_| read_text(bytes).map(Symbol::new)).collect()
}

fn read_values(bytes: &mut &[u8]) -> Res<Vec<Value>> {
    (0..count(bytes)?).map(|_| read(bytes)).collect()
}

fn read_numbers<T, const N: usize>(bytes: &mut &[u8], of: fn([u8; N]) -> T) -> Res<Vec<T>> {
    (0..count(bytes)?).map(|_| fixed::<N>(bytes).map(of)).collect()
}

/// Takes a value off the front of `bytes`.
pub fn read(bytes: &mut &[u8]) -> Res<Value> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mark = *Mark::ALL.get(usize::from(byte(bytes)?)).ok_or_else(broken)?;
        Ok(match mark {
            Mark::Unit => Value::Unit,
            Mark::Zero => Value::Zero,
            Mark::Bool => Value::Bool(byte(bytes)? != 0),
            Mark::Int => Value::Int(i64::from_le_bytes(fixed(bytes)?)),
            Mark::Float => Value::Float(f64::from_le_bytes(fixed(bytes)?)),
            Mark::F32 => Value::F32(f32::from_le_bytes(fixed(bytes)?)),
            Mark::Str => Value::Str(Rc::new(read_text(bytes)?.into())),
            Mark::Tuple => Value::Tuple(Rc::new(Tuple(read_values(bytes)?))),
            Mark::Record => {
                let names = read_names(bytes)?;
                Value::Record(Rc::new(Record { names, vals: read_values(bytes)? }))
            }
            Mark::Data => data(bytes)?,
            mark => read_array(mark, bytes)?,
        })
    })
}

fn data(bytes: &mut &[u8]) -> Res<Value> {
    let mut number = || fixed(bytes).map(u32::from_le_bytes);
    let (tag, id, arity) = (number()?, number()?, number()?);
    let name = Symbol::new(read_text(bytes)?);
    let data = DataId(id, Symbol::new(read_text(bytes)?));
    let fields = read_values(bytes)?;
    Ok(Value::data(Rc::new(ConInfo { name, tag, data, arity }), fields))
}

fn read_array(mark: Mark, bytes: &mut &[u8]) -> Res<Value> {
    let axes = count(bytes)?;
    let shape = (0..axes).map(|_| take_word(bytes).map(|n| n as usize)).collect::<Res<Shape>>()?;
    let buf = match mark {
        Mark::Floats => Buf::F64(read_numbers(bytes, f64::from_le_bytes)?),
        Mark::F32s => Buf::F32(read_numbers(bytes, f32::from_le_bytes)?),
        Mark::Ints => Buf::I64(read_numbers(bytes, i64::from_le_bytes)?),
        Mark::Bools => Buf::Bool(read_numbers(bytes, |[b]: [u8; 1]| b != 0)?),
        Mark::Boxed => Buf::Boxed(read_values(bytes)?),
        Mark::Tuples => Buf::Tuple(read_values(bytes)?),
        Mark::Records => {
            let names = read_names(bytes)?;
            Buf::Record(names, read_values(bytes)?)
        }
        _ => Buf::Unit,
    };
    Ok(Value::Array(Rc::new(Array::new(shape, buf))))
}
