//! Flat arrays: construction, slicing, concatenation.

use super::{Array, Buf, Record, Shape, Tuple, Value};
use crate::error::{Error, Res, codes};
use crate::limits::value_array::MAX_ELEMENTS;
pub use crate::memory::room;
pub(crate) use crate::memory::too_large;
use crate::polling;
use smallvec::smallvec;
use std::rc::Rc;

/// The product of extents; an error if it exceeds the maximum number of elements of an array.
pub fn count(shape: &[usize]) -> Res<usize> {
    let n = shape.iter().try_fold(1usize, |a, b| a.checked_mul(*b));
    match n {
        Some(n) if n <= MAX_ELEMENTS => Ok(n),
        _ => Err(too_large(shape)),
    }
}

/// `n` copies of a value, or an error.
pub fn filled<T: Clone>(x: T, n: usize) -> Res<Vec<T>> {
    polling::collect(n, |_| x.clone())
}

impl Array {
    /// Number of elements of the first axis.
    pub fn len(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Whether the first axis is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A vector of Floats.
pub fn floats(v: Vec<f64>) -> Value {
    make(smallvec![v.len()], Buf::F64(v))
}

/// A vector of Ints.
pub fn ints(v: Vec<i64>) -> Value {
    make(smallvec![v.len()], Buf::I64(v))
}

/// An array with the given buffer.
pub fn make(shape: Shape, buf: Buf) -> Value {
    Value::Array(Rc::new(Array::new(shape, buf)))
}

/// A vector of boxed values.
pub fn boxed(v: Vec<Value>) -> Value {
    make(smallvec![v.len()], Buf::Boxed(v))
}

/// Gathers the rows of length `row` at the given indices.
fn copy_runs<T: Clone>(v: &[T], indices: &[usize], row: usize) -> Res<Vec<T>> {
    if row == 1 {
        return polling::collect(indices.len(), |k| v[indices[k]].clone());
    }
    let mut out = room(indices.len() * row)?;
    for part in indices.chunks((polling::STRIDE / row.max(1)).max(1)) {
        polling::poll()?;
        for i in part {
            polling::append(&mut out, &v[i * row..(i + 1) * row]);
        }
    }
    Ok(out)
}

/// Gathers rows of `a` at indices of its first axis. The first axis is replaced by axes `outer`, whose product
/// is the number of indices.
pub fn gather_rows(a: &Array, indices: &[usize], outer: &[usize]) -> Res<Array> {
    let row: usize = a.shape[1..].iter().product();
    let shape: Shape = outer.iter().chain(&a.shape[1..]).copied().collect();
    let buf = match a.buf() {
        Buf::F64(v) => Buf::F64(copy_runs(v, indices, row)?),
        Buf::F32(v) => Buf::F32(copy_runs(v, indices, row)?),
        Buf::I64(v) => Buf::I64(copy_runs(v, indices, row)?),
        Buf::Bool(v) => Buf::Bool(copy_runs(v, indices, row)?),
        Buf::Unit => Buf::Unit,
        Buf::Boxed(v) => Buf::Boxed(copy_runs(v, indices, row)?),
        Buf::Tuple(cols) => Buf::Tuple(gather_columns(cols, indices, outer)?),
        Buf::Record(names, cols) => Buf::Record(names.clone(), gather_columns(cols, indices, outer)?),
    };
    Ok(Array::new(shape, buf))
}

/// The elements `lo..hi` of the first axis, which must be in bounds.
pub fn part(array: &Array, lo: usize, hi: usize) -> Res<Array> {
    let row: usize = array.shape[1..].iter().product();
    let shape: Shape = std::iter::once(hi - lo).chain(array.shape[1..].iter().copied()).collect();
    fn copy<T: Clone>(v: &[T]) -> Res<Vec<T>> {
        let mut out = room(v.len())?;
        polling::append(&mut out, v);
        Ok(out)
    }
    let range = lo * row..hi * row;
    let buf = match array.buf() {
        Buf::F64(v) => Buf::F64(copy(&v[range])?),
        Buf::F32(v) => Buf::F32(copy(&v[range])?),
        Buf::I64(v) => Buf::I64(copy(&v[range])?),
        Buf::Bool(v) => Buf::Bool(copy(&v[range])?),
        Buf::Boxed(v) => Buf::Boxed(copy(&v[range])?),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => {
            return gather_rows(array, &(lo..hi).collect::<Vec<_>>(), &[hi - lo]);
        }
    };
    Ok(Array::new(shape, buf))
}

fn gather_columns(cols: &[Value], indices: &[usize], outer: &[usize]) -> Res<Vec<Value>> {
    cols.iter()
        .map(|c| match c {
            Value::Array(a) => Ok(Value::Array(Rc::new(gather_rows(a, indices, outer)?))),
            _ => Err(Error::new(codes::STRUCTURE, "a traced column reached a plain operation")),
        })
        .collect()
}

/// Reshapes the first `axes` axes to `outer`, which must have the same product, in every column.
pub fn regroup(array: &Array, axes: usize, outer: &[usize]) -> Res<Array> {
    let shape: Shape = outer.iter().chain(&array.shape[axes..]).copied().collect();
    let columns = |cols: &[Value]| {
        cols.iter()
            .map(|c| match c {
                Value::Array(c) => Ok(Value::Array(Rc::new(regroup(c, axes, outer)?))),
                _ => Err(Error::new(codes::STRUCTURE, "a traced column reached a plain operation")),
            })
            .collect::<Res<Vec<_>>>()
    };
    let buf = match array.buf() {
        Buf::Tuple(cols) => Buf::Tuple(columns(cols)?),
        Buf::Record(names, cols) => Buf::Record(names.clone(), columns(cols)?),
        Buf::F64(_) | Buf::F32(_) | Buf::I64(_) | Buf::Bool(_) | Buf::Unit | Buf::Boxed(_) => copy(array.buf())?,
    };
    Ok(Array::new(shape, buf))
}

/// The array itself if it is not shared, otherwise a copy.
pub fn owned(a: Rc<Array>) -> Res<Array> {
    Rc::try_unwrap(a).or_else(|a| Ok(Array::new(a.shape.clone(), copy(a.buf())?)))
}

/// A copy of a buffer; columns are shared.
pub fn copy(b: &Buf) -> Res<Buf> {
    Ok(match b {
        Buf::F64(v) => Buf::F64(polling::copy(v)?),
        Buf::F32(v) => Buf::F32(polling::copy(v)?),
        Buf::I64(v) => Buf::I64(polling::copy(v)?),
        Buf::Bool(v) => Buf::Bool(polling::copy(v)?),
        Buf::Boxed(v) => Buf::Boxed(polling::copy(v)?),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => b.clone(),
    })
}

/// Element `index` of the first axis of an untraced array.
pub fn elem(array: &Array, index: usize) -> Value {
    if array.shape.len() == 1 {
        return match array.buf() {
            Buf::F64(v) => Value::Float(v[index]),
            Buf::F32(v) => Value::F32(v[index]),
            Buf::I64(v) => Value::Int(v[index]),
            Buf::Bool(v) => Value::Bool(v[index]),
            Buf::Unit => Value::Unit,
            Buf::Boxed(v) => v[index].clone(),
            Buf::Tuple(cols) => Value::Tuple(Rc::new(Tuple(cols.iter().map(|c| column_elem(c, index)).collect()))),
            Buf::Record(names, cols) => Value::Record(Rc::new(Record {
                names: names.clone(),
                vals: cols.iter().map(|c| column_elem(c, index)).collect(),
            })),
        };
    }
    let row: usize = array.shape[1..].iter().product();
    let range = index * row..(index + 1) * row;
    let buf = match array.buf() {
        Buf::F64(v) => Buf::F64(polling::cloned(&v[range])),
        Buf::F32(v) => Buf::F32(polling::cloned(&v[range])),
        Buf::I64(v) => Buf::I64(polling::cloned(&v[range])),
        Buf::Bool(v) => Buf::Bool(polling::cloned(&v[range])),
        Buf::Unit => Buf::Unit,
        Buf::Boxed(v) => Buf::Boxed(polling::cloned(&v[range])),
        Buf::Tuple(cols) => Buf::Tuple(cols.iter().map(|c| column_elem(c, index)).collect()),
        Buf::Record(names, cols) => Buf::Record(names.clone(), cols.iter().map(|c| column_elem(c, index)).collect()),
    };
    make(array.shape[1..].into(), buf)
}

fn column_elem(c: &Value, i: usize) -> Value {
    match c {
        Value::Array(a) => elem(a, i),
        // Traced columns are handled by `seq::elem` before this is called.
        other => other.clone(),
    }
}

/// Concatenates arrays of equal element shape along the first axis.
pub fn concat(parts: &[&Array]) -> Res<Array> {
    let Some(first) = parts.iter().find(|p| !p.is_empty()).or(parts.first()).copied() else {
        return Ok(Array::new(smallvec![0], Buf::Boxed(Vec::new())));
    };
    let parts: Vec<&Array> = parts.iter().copied().filter(|p| !p.is_empty()).collect();
    let mut shape = first.shape.clone();
    shape[0] = parts.iter().map(|p| p.len()).sum();
    if let Some(p) = parts.iter().find(|p| p.shape[1..] != first.shape[1..]) {
        return Err(Error::new(
            codes::RAGGED,
            format!("rows of shape {:?} and {:?} cannot be in one array", &p.shape[1..], &first.shape[1..]),
        ));
    }
    macro_rules! join {
        ($kind:ident) => {{
            let mut out = room(count(&shape)?)?;
            for p in &parts {
                match p.buf() {
                    Buf::$kind(v) => polling::extend(&mut out, v)?,
                    _ => return Err(Error::new(codes::STRUCTURE, "arrays of different elements cannot be joined")),
                }
            }
            Buf::$kind(out)
        }};
    }
    let buf = match first.buf() {
        Buf::F64(_) => join!(F64),
        Buf::F32(_) => join!(F32),
        Buf::I64(_) => join!(I64),
        Buf::Bool(_) => join!(Bool),
        Buf::Unit => Buf::Unit,
        Buf::Boxed(_) => join!(Boxed),
        Buf::Tuple(cols) => Buf::Tuple(join_columns(cols.len(), &parts)?),
        Buf::Record(names, cols) => Buf::Record(names.clone(), join_columns(cols.len(), &parts)?),
    };
    Ok(Array::new(shape, buf))
}

fn join_columns(n: usize, parts: &[&Array]) -> Res<Vec<Value>> {
    (0..n)
        .map(|k| {
            let cols: Option<Vec<&Array>> = parts
                .iter()
                .map(|p| match p.buf() {
                    Buf::Tuple(cols) | Buf::Record(_, cols) => match cols.get(k) {
                        Some(Value::Array(a)) => Some(&**a),
                        _ => None,
                    },
                    _ => None,
                })
                .collect();
            let cols =
                cols.ok_or_else(|| Error::new(codes::STRUCTURE, "arrays of different elements cannot be joined"))?;
            Ok(Value::Array(Rc::new(concat(&cols)?)))
        })
        .collect()
}
