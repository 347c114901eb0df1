//! Arrays as sequences of elements, traced or not.

use super::{Array, Buf, Record, Shape, Tuple, Value, array};
use crate::error::{Error, Res, codes};
use crate::upcalls::Upcalls;
use std::rc::Rc;

/// The extents of an array. A traced array has the shape of its primal.
pub fn shape(v: &Value) -> Option<&Shape> {
    match v {
        Value::Array(a) => Some(&a.shape),
        Value::Dual(d) => shape(&d.primal),
        _ => None,
    }
}

/// Number of elements of the first axis.
pub fn len(v: &Value) -> usize {
    shape(v).and_then(|s| s.first().copied()).unwrap_or(0)
}

/// The error for an index out of bounds.
pub fn out_of_bounds(i: i64, n: usize) -> Box<Error> {
    let e =
        Error::new(codes::BOUNDS, format!("index {i} is out of bounds for an array of length {n}")).of_bounds(&[i], n);
    match n {
        0 => e.note("the array is empty"),
        n if i < 0 => e.note(format!("indices go from 0 to {}", n - 1)).hint("only a literal counts from the end: the last element is `x[-1]`, and the one `k` places before it `x[len x - 1 - k]`"),
        n => e.note(format!("indices go from 0 to {}", n - 1)),
    }
}

/// The error for a slice out of bounds.
pub fn slice_out_of_bounds(lo: i64, hi: i64, n: usize) -> Box<Error> {
    let e = Error::new(codes::BOUNDS, format!("the slice {lo}:{hi} is out of bounds for an axis of length {n}"))
        .of_bounds(&[lo, hi], n);
    match (lo, hi) {
        (lo, hi) if lo < 0 || hi < 0 => {
            e.hint("only literals count from the end: all but the last `k` elements are `x[:len x - k]`")
        }
        (lo, hi) if lo > hi => e.note("it begins behind its end"),
        _ => e,
    }
}

/// Rewrites an out-of-bounds error in terms of the source: `x[-3]` is reported as index -3, not as the negative
/// position that it denotes.
pub(crate) fn as_written(error: &mut Error, source: &str) {
    let Some((ends, len)) = error.bounds.take() else { return };
    // A literal that counts from the end, as it appears in brackets.
    let literal = |end: &i64| {
        let text = format!("-{}", (len as i64).checked_sub(*end).filter(|_| *end < 0)?);
        let stands = |(at, _): (usize, &str)| {
            let (before, behind) = (source[..at].trim_end(), source[at + text.len()..].trim_start());
            before.ends_with(['[', ',', ':', '(']) && behind.starts_with([']', ',', ':', ')'])
        };
        source.match_indices(&text).any(stands).then_some(text)
    };
    let Some(text) = ends.iter().find_map(literal) else { return };
    let what = if ends.len() == 1 { "index" } else { "the bound" };
    error.diag.message = format!(
        "{what} {text} is out of bounds for an {} of length {len}",
        if ends.len() == 1 { "array" } else { "axis" }
    );
    error.diag.hint = None;
    if len > 0 {
        error.diag.notes = vec![format!("from the end, indices go from -{len} to -1")];
    }
}

/// Element `index` of the first axis.
pub fn elem(machine: &mut dyn Upcalls, value: &Value, index: usize) -> Res<Value> {
    match value {
        Value::Array(array) => {
            if index >= array.len() {
                return Err(out_of_bounds(index as i64, array.len()));
            }
            let (Buf::Tuple(cols) | Buf::Record(_, cols)) = array.buf() else { return Ok(array::elem(array, index)) };
            if !has_traced(cols) {
                return Ok(array::elem(array, index));
            }
            let vals = cols.iter().map(|c| elem(machine, c, index)).collect::<Res<Vec<_>>>()?;
            let flat = array.shape.len() == 1;
            Ok(match array.buf() {
                Buf::Record(names, _) if flat => Value::Record(Rc::new(Record { names: names.clone(), vals })),
                Buf::Record(names, _) => array::make(array.shape[1..].into(), Buf::Record(names.clone(), vals)),
                _ if flat => Value::Tuple(Rc::new(Tuple(vals))),
                _ => array::make(array.shape[1..].into(), Buf::Tuple(vals)),
            })
        }
        Value::Dual(_) => machine.traced_element(value, index),
        other => {
            Err(Error::new(codes::STRUCTURE, format!("an array was expected here, not {}", super::show::show(other))))
        }
    }
}

/// Whether any column is traced.
pub fn has_traced(cols: &[Value]) -> bool {
    cols.iter().any(|c| match c {
        Value::Array(a) if a.is_flat() => false,
        Value::Array(a) => match a.buf() {
            Buf::Tuple(cs) | Buf::Record(_, cs) => has_traced(cs),
            _ => false,
        },
        _ => true,
    })
}

/// An array of elements of any type.
pub fn pack(machine: &mut dyn Upcalls, vals: Vec<Value>) -> Res<Value> {
    let len = vals.len();
    let Some(first) = vals.iter().find(|v| !matches!(v, Value::Zero)).cloned() else {
        return Ok(array::boxed(vals));
    };
    let vals = if vals.iter().any(|v| matches!(v, Value::Zero)) { fill_zeros(vals, &first) } else { vals };
    if vals.iter().any(|v| matches!(v, Value::Rev { .. } | Value::Dual(_))) {
        return machine.traced_pack(vals);
    }
    macro_rules! scalars {
        ($kind:ident, $buf:ident) => {{
            let mut out = array::room(len)?;
            for v in &vals {
                match v {
                    Value::$kind(x) => out.push(*x),
                    other => return Err(mixed(other)),
                }
            }
            Ok(array::make(Shape::from_slice(&[len]), Buf::$buf(out)))
        }};
    }
    match &vals[0] {
        Value::Float(_) => scalars!(Float, F64),
        Value::F32(_) => scalars!(F32, F32),
        Value::Int(_) => scalars!(Int, I64),
        Value::Bool(_) => scalars!(Bool, Bool),
        Value::Unit => Ok(array::make(Shape::from_slice(&[len]), Buf::Unit)),
        Value::Array(_) => pack_rows(machine, &vals),
        Value::Tuple(t) => {
            let width = t.0.len();
            let cols = transpose(machine, &vals, width, |v| match v {
                Value::Tuple(t) => Some(&t.0),
                _ => None,
            })?;
            Ok(array::make(Shape::from_slice(&[len]), Buf::Tuple(cols)))
        }
        Value::Record(r) => {
            let names = r.names.clone();
            let cols = transpose(machine, &vals, names.len(), |v| match v {
                Value::Record(r) => Some(&r.vals),
                _ => None,
            })?;
            Ok(array::make(Shape::from_slice(&[len]), Buf::Record(names, cols)))
        }
        Value::Str(_)
        | Value::Data(_)
        | Value::Fun(_)
        | Value::Rep(_)
        | Value::Zero
        | Value::Rev { .. }
        | Value::Dual(_) => Ok(array::boxed(vals)),
    }
}

fn fill_zeros(vals: Vec<Value>, like: &Value) -> Vec<Value> {
    let zero = zero_beside(like);
    vals.into_iter().map(|v| if matches!(v, Value::Zero) { zero.clone() } else { v }).collect()
}

/// A zero that may be in one array with `like`. The zero of data stays symbolic, because data with other
/// constructors has other fields.
fn zero_beside(like: &Value) -> Value {
    match like {
        Value::Data(_) => Value::Zero,
        Value::Array(a) => match a.buf() {
            Buf::Boxed(v) => array::make(a.shape.clone(), Buf::Boxed(v.iter().map(zero_beside).collect())),
            _ => super::vector_space::zero_like(like),
        },
        Value::Tuple(t) => Value::Tuple(Rc::new(Tuple(t.0.iter().map(zero_beside).collect()))),
        Value::Record(r) => {
            Value::Record(Rc::new(Record { names: r.names.clone(), vals: r.vals.iter().map(zero_beside).collect() }))
        }
        _ => super::vector_space::zero_like(like),
    }
}

fn mixed(v: &Value) -> Box<Error> {
    Error::new(codes::STRUCTURE, format!("elements of different kinds in one array: {}", super::show::show(v)))
}

fn transpose(
    machine: &mut dyn Upcalls,
    vals: &[Value],
    width: usize,
    parts: impl Fn(&Value) -> Option<&Vec<Value>>,
) -> Res<Vec<Value>> {
    (0..width)
        .map(|k| {
            let col = vals
                .iter()
                .map(|v| parts(v).and_then(|p| p.get(k)).cloned().ok_or_else(|| mixed(v)))
                .collect::<Res<Vec<_>>>()?;
            pack(machine, col)
        })
        .collect()
}

/// Stacks arrays of equal shape as rows.
fn pack_rows(machine: &mut dyn Upcalls, vals: &[Value]) -> Res<Value> {
    let mut rows: Vec<&Rc<Array>> = array::room(vals.len())?;
    for v in vals {
        match v {
            Value::Array(a) => rows.push(a),
            other => return Err(mixed(other)),
        }
    }
    let shape = rows[0].shape.clone();
    if let Some((i, r)) = rows.iter().enumerate().find(|(_, r)| r.shape[..] != shape[..]) {
        return Err(Error::new(
            codes::RAGGED,
            format!("row {i} has shape {:?}, row 0 has shape {:?}", &r.shape[..], &shape[..]),
        )
        .hint("all rows of an array have one shape"));
    }
    let outer: Shape = std::iter::once(rows.len()).chain(shape.iter().copied()).collect();
    if let Buf::Tuple(cols) | Buf::Record(_, cols) = rows[0].buf() {
        let cols: Vec<Value> = (0..cols.len())
            .map(|k| {
                let col = rows
                    .iter()
                    .map(|r| match r.buf() {
                        Buf::Tuple(c) | Buf::Record(_, c) => Ok(c[k].clone()),
                        _ => Err(Error::new(codes::STRUCTURE, "rows of different kinds in one array")),
                    })
                    .collect::<Res<Vec<_>>>()?;
                pack(machine, col)
            })
            .collect::<Res<_>>()?;
        let buf = match rows[0].buf() {
            Buf::Record(names, _) => Buf::Record(names.clone(), cols),
            _ => Buf::Tuple(cols),
        };
        return Ok(array::make(outer, buf));
    }
    let inner: usize = shape.iter().product();
    macro_rules! rows {
        ($kind:ident) => {{
            let mut out = array::room(inner * rows.len())?;
            for r in &rows {
                match r.buf() {
                    Buf::$kind(v) => crate::polling::extend(&mut out, v)?,
                    _ => return Err(Error::new(codes::STRUCTURE, "rows of different kinds in one array")),
                }
            }
            Buf::$kind(out)
        }};
    }
    let buf = match rows[0].buf() {
        Buf::F64(_) => rows!(F64),
        Buf::F32(_) => rows!(F32),
        Buf::I64(_) => rows!(I64),
        Buf::Bool(_) => rows!(Bool),
        Buf::Boxed(_) => rows!(Boxed),
        _ => Buf::Unit,
    };
    Ok(array::make(outer, buf))
}
