//! NPY arrays and NPZ archives: versions 1 to 3; Bools, integers and floats of either byte order; either memory
//! order.

use crate::error::{Error, Res, codes};
use crate::polling;
use crate::value::{Array, Buf, Record, Rep, Shape, Value, array};
use adl_syntax::symbol::Symbol;
use adl_typing::env::Column;
use std::io::{Cursor, Read, Write};
use std::rc::Rc;

const MAGIC: &[u8] = b"\x93NUMPY";

pub(super) fn bad(path: &str, text: impl std::fmt::Display) -> Box<Error> {
    Error::new(codes::NPY, format!("{path}: {text}"))
}

pub(super) struct Header {
    pub descr: String,
    pub fortran: bool,
    pub shape: Shape,
    /// The offset of the data.
    pub data: usize,
}

pub(super) fn header(path: &str, b: &[u8]) -> Res<Header> {
    let cut = || bad(path, "the file ends in its header");
    if !b.starts_with(MAGIC) {
        return Err(bad(path, "this is not an NPY file"));
    }
    let (len, start) = match b.get(6) {
        Some(1) => (b.get(8..10).map(|x| u16::from_le_bytes([x[0], x[1]]) as usize), 10),
        _ => (b.get(8..12).map(|x| u32::from_le_bytes([x[0], x[1], x[2], x[3]]) as usize), 12),
    };
    let data = start + len.ok_or_else(cut)?;
    let text = String::from_utf8_lossy(b.get(start..data).ok_or_else(cut)?).into_owned();
    let after = |key: &str| text.split_once(&format!("'{key}':")).map(|(_, t)| t.trim_start().to_owned());
    let descr = after("descr")
        .and_then(|t| Some(t.strip_prefix('\'')?.split('\'').next()?.to_owned()))
        .ok_or_else(|| bad(path, "arrays of records are not supported"))?;
    let fortran = after("fortran_order").is_some_and(|t| t.starts_with("True"));
    let dims = after("shape").ok_or_else(cut)?;
    let inner = dims.trim_start_matches('(').split(')').next().unwrap_or("");
    let shape = inner
        .split(',')
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .map(|s| s.trim_end_matches('L').parse().map_err(|_| bad(path, "the shape does not parse")))
        .collect::<Res<_>>()?;
    Ok(Header { descr, fortran, shape, data })
}

pub(super) fn column(path: &str, descr: &str) -> Res<Column> {
    match descr.get(1..) {
        Some("f8" | "f4" | "f2") => Ok(Column::Float),
        Some("i8" | "i4" | "i2" | "i1" | "u1" | "u2" | "u4" | "u8") => Ok(Column::Int),
        Some("b1") => Ok(Column::Bool),
        _ => Err(unsupported(path, descr)),
    }
}

fn unsupported(path: &str, descr: &str) -> Box<Error> {
    bad(path, format!("elements of type {descr} are not supported"))
        .hint("floats, whole numbers and Bools are read: NumPy's `astype` converts to them")
}

/// Converts a 16-bit float: a sign, 5 bits of exponent, 10 bits of fraction.
pub(super) fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        e => (1.0 + fraction / 1024.0) * 2f64.powi(e - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// The name (empty for NPY), element type and shape of each array.
pub fn schema(path: &str, b: &[u8]) -> Res<Vec<(String, Column, Vec<u64>)>> {
    let one = |name: String, b: &[u8]| {
        let h = header(path, b)?;
        Ok((name, column(path, &h.descr)?, h.shape.iter().map(|n| *n as u64).collect()))
    };
    if b.starts_with(MAGIC) {
        return Ok(vec![one(String::new(), b)?]);
    }
    entries(path, b)?.into_iter().map(|(n, b)| one(n, &b)).collect()
}

fn entries(path: &str, b: &[u8]) -> Res<Vec<(String, Vec<u8>)>> {
    let mut zip =
        zip::ZipArchive::new(Cursor::new(b)).map_err(|_| bad(path, "this is neither an NPY nor an NPZ file"))?;
    let mut out = Vec::new();
    for i in 0..zip.len() {
        let mut f = zip.by_index(i).map_err(|e| bad(path, e))?;
        let mut bytes = Vec::new();
        f.read_to_end(&mut bytes).map_err(|e| bad(path, e))?;
        out.push((super::identifier(f.name().trim_end_matches(".npy")), bytes));
    }
    Ok(out)
}

/// Reads an array, a number, or a record of arrays as the expected type.
pub fn read(path: &str, bytes: &[u8], rep: &Rep) -> Res<Value> {
    if *rep == Rep::Other {
        return Err(
            bad(path, "the type of the array is not known here").hint("annotate it: `(read_npy path : [_]Float)`")
        );
    }
    if bytes.starts_with(MAGIC) {
        return fit(path, one(path, bytes, wants_floats(rep))?, rep);
    }
    let entries = entries(path, bytes)?;
    let Rep::Record(fields) = rep else {
        return Err(bad(path, "an NPZ archive is read as a record of arrays"));
    };
    let mut vals = Vec::with_capacity(fields.len());
    for (name, rep) in fields {
        let Some((_, b)) = entries.iter().find(|(n, _)| n == name.as_str()) else {
            let all: Vec<&str> = entries.iter().map(|(n, _)| n.as_str()).collect();
            return Err(bad(path, format!("there is no array `{name}`; there are {}", all.join(", "))));
        };
        vals.push(fit(&format!("{path}: `{name}`"), one(path, b, wants_floats(rep))?, rep)?);
    }
    let names: Rc<[Symbol]> = fields.iter().map(|f| f.0).collect();
    Ok(Value::Record(Rc::new(Record { names, vals })))
}

/// Converts a number or array to a type: rank and extents must agree; numbers are converted to Floats if the
/// type requires them.
fn fit(path: &str, value: Value, rep: &Rep) -> Res<Value> {
    let (mut extents, mut leaf) = (Vec::new(), rep);
    while let Rep::Array(n, e) = leaf {
        extents.push(*n);
        leaf = e;
    }
    let shape = crate::value::seq::shape(&value).cloned().unwrap_or_default();
    if shape.len() != extents.len() {
        return Err(bad(path, format!("the array has {} axes, and the type wants {}", shape.len(), extents.len())));
    }
    if shape.iter().zip(&extents).any(|(n, want)| want.is_some_and(|w| w != *n)) {
        let want: Vec<String> = extents.iter().map(|n| n.map_or("_".to_owned(), |n| n.to_string())).collect();
        return Err(Error::new(
            codes::SIZE,
            format!("{path} has the shape {:?}, and the type wants [{}]", &shape[..], want.join(", ")),
        ));
    }
    let have = match &value {
        Value::Array(a) => match a.buf() {
            Buf::F64(_) => Rep::Float,
            Buf::I64(_) => Rep::Int,
            _ => Rep::Bool,
        },
        Value::Float(_) => Rep::Float,
        Value::Int(_) => Rep::Int,
        _ => Rep::Bool,
    };
    match (have, leaf) {
        (Rep::Float, Rep::Float) | (Rep::Int, Rep::Int) | (Rep::Bool, Rep::Bool) => Ok(value),
        (Rep::Float | Rep::Int, Rep::Float | Rep::F32) => crate::ops::arith::convert(&value, leaf.clone()),
        (Rep::Float, _) => Err(bad(path, "the array holds Floats, and the type wants something else")),
        (Rep::Int, _) => Err(bad(path, "the array holds Ints, and the type wants something else")),
        _ => Err(bad(path, "the array holds Bools, and the type wants something else")),
    }
}

fn wants_floats(rep: &Rep) -> bool {
    match rep {
        Rep::Array(_, e) => wants_floats(e),
        _ => matches!(rep, Rep::Float | Rep::F32),
    }
}

/// Reads an array or a number. If `floats`, unsigned 64-bit integers are converted to Floats directly, because
/// an Int cannot represent all of them.
fn one(path: &str, b: &[u8], floats: bool) -> Res<Value> {
    let head = header(path, b)?;
    let count = array::count(&head.shape)?;
    column(path, &head.descr)?;
    let body = b.get(head.data..).unwrap_or_default();
    let buf = elements(path, &head.descr, body, (count, floats))?;
    shaped(head, count, buf)
}

/// Bytes of an element.
pub(super) fn width(head: &Header) -> usize {
    head.descr.get(2..).and_then(|w| w.parse().ok()).unwrap_or(8)
}

/// The first `count` elements of a type, as Floats if `floats`.
pub(super) fn elements(path: &str, descr: &str, body: &[u8], (count, floats): (usize, bool)) -> Res<Buf> {
    let width = descr.get(2..).and_then(|w| w.parse::<usize>().ok()).unwrap_or(8);
    let size = count.checked_mul(width);
    let body = size.and_then(|n| body.get(..n)).ok_or_else(|| bad(path, "the file ends before its data does"))?;
    let big = descr.starts_with('>');
    macro_rules! numbers {
        ($t:ty, $to:expr) => {
            polling::collect(count, |i| {
                let mut a = [0u8; size_of::<$t>()];
                a.copy_from_slice(&body[i * size_of::<$t>()..(i + 1) * size_of::<$t>()]);
                $to(if big { <$t>::from_be_bytes(a) } else { <$t>::from_le_bytes(a) })
            })?
        };
    }
    Ok(match descr.get(1..) {
        Some("f8") => Buf::F64(numbers!(f64, |x| x)),
        Some("f4") => Buf::F64(numbers!(f32, f64::from)),
        Some("f2") => Buf::F64(numbers!(u16, half)),
        Some("i8") => Buf::I64(numbers!(i64, |x| x)),
        Some("i4") => Buf::I64(numbers!(i32, i64::from)),
        Some("i2") => Buf::I64(numbers!(i16, i64::from)),
        Some("i1") => Buf::I64(numbers!(i8, i64::from)),
        Some("u1") => Buf::I64(numbers!(u8, i64::from)),
        Some("u2") => Buf::I64(numbers!(u16, i64::from)),
        Some("u4") => Buf::I64(numbers!(u32, i64::from)),
        Some("u8") if floats => Buf::F64(numbers!(u64, |x| x as f64)),
        Some("u8") => {
            let all: Vec<u64> = numbers!(u64, |x| x);
            if all.iter().any(|x| i64::try_from(*x).is_err()) {
                return Err(Error::new(
                    codes::OVERFLOW,
                    format!("{path}: Int overflow: a number does not fit in 64 bits"),
                )
                .hint("read it as Floats: `(read_npy path : [_]Float)`"));
            }
            Buf::I64(polling::collect(count, |i| all[i] as i64)?)
        }
        Some("b1") => Buf::Bool(numbers!(u8, |x| x != 0)),
        _ => return Err(unsupported(path, descr)),
    })
}

/// The array or number whose `count` elements are `buf`.
fn shaped(header: Header, count: usize, buf: Buf) -> Res<Value> {
    if header.shape.is_empty() {
        return Ok(array::elem(&Array::new(Shape::from_slice(&[1]), buf), 0));
    }
    if !header.fortran || header.shape.len() < 2 {
        return Ok(array::make(header.shape, buf));
    }
    // Column-major order: element (i, j, ...) is at the mirrored offset.
    let at = polling::collect(count, |k| {
        let (mut rest, mut offset, mut stride) = (k, 0, count);
        for d in header.shape.iter().rev() {
            stride /= d;
            offset += rest % d * stride;
            rest /= d;
        }
        offset
    })?;
    let flat = Array::new(Shape::from_slice(&[count]), buf);
    let out = array::gather_rows(&flat, &at, &header.shape)?;
    Ok(Value::Array(Rc::new(out)))
}

/// An array as NPY, or a record of arrays as NPZ.
pub fn write(v: &Value) -> Res<Vec<u8>> {
    if let Some(one) = array_or_number(v) {
        return one;
    }
    match v {
        Value::Record(r) => {
            let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
            let failed = |e: String| Error::new(codes::NPY, e);
            for (n, v) in r.names.iter().zip(&r.vals) {
                let bytes = array_or_number(v).unwrap_or_else(|| {
                    Err(Error::new(codes::NPY, format!("the field `{n}` is neither an array nor a number")))
                })?;
                zip.start_file(format!("{n}.npy"), zip::write::SimpleFileOptions::default())
                    .map_err(|e| failed(e.to_string()))?;
                zip.write_all(&bytes).map_err(|e| failed(e.to_string()))?;
            }
            zip.finish().map(Cursor::into_inner).map_err(|e| failed(e.to_string()))
        }
        _ => Err(Error::new(codes::NPY, "`write_npy` writes an array, a number or a record of arrays")),
    }
}

/// An array or a number as NPY; `None` for other values.
fn array_or_number(v: &Value) -> Option<Res<Vec<u8>>> {
    let buf = match v {
        Value::Array(a) => return Some(encode(a)),
        Value::Float(x) => Buf::F64(vec![*x]),
        Value::F32(x) => Buf::F32(vec![*x]),
        Value::Int(x) => Buf::I64(vec![*x]),
        Value::Bool(x) => Buf::Bool(vec![*x]),
        _ => return None,
    };
    Some(encode(&Array::new(Shape::new(), buf)))
}

fn bytes<T: Copy, const N: usize>(v: &[T], each: impl Fn(T) -> [u8; N]) -> Res<Vec<u8>> {
    let mut out = array::room(v.len() * N)?;
    for part in v.chunks(polling::STRIDE) {
        polling::poll()?;
        part.iter().for_each(|x| out.extend(each(*x)));
    }
    Ok(out)
}

fn encode(a: &Array) -> Res<Vec<u8>> {
    let (descr, body): (&str, Vec<u8>) = match a.buf() {
        Buf::F64(v) => ("<f8", bytes(v, f64::to_le_bytes)?),
        Buf::F32(v) => ("<f4", bytes(v, f32::to_le_bytes)?),
        Buf::I64(v) => ("<i8", bytes(v, i64::to_le_bytes)?),
        Buf::Bool(v) => ("|b1", v.iter().map(|x| u8::from(*x)).collect()),
        Buf::Boxed(v) if v.is_empty() => ("<f8", Vec::new()),
        _ => return Err(Error::new(codes::NPY, "only arrays of numbers and Bools can be written as NPY")),
    };
    let dims: String = a.shape.iter().map(|n| format!("{n},")).collect();
    let mut head = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    while (10 + head.len() + 1) % 64 != 0 {
        head.push(' ');
    }
    head.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend((head.len() as u16).to_le_bytes());
    out.extend(head.as_bytes());
    out.extend(body);
    Ok(out)
}
