//! Arrays of NumPy and of adl.

use adl_interp::value::{Array, Buf, Shape, Value};
use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::rc::Rc;

/// Below this number of elements a copy costs less than a loan.
pub const LENT: usize = 2048;

/// Above this number of bytes a copy that the caller could avoid gives a warning.
const SAID: usize = 1 << 20;

fn value(shape: &[usize], buf: Buf) -> Value {
    Value::Array(Rc::new(Array::new(Shape::from_slice(shape), buf)))
}

/// The elements, lent if they are many and `lend` is set.
fn take<T: Element + Copy>(array: &Bound<'_, PyArrayDyn<T>>, lend: bool, of: fn(Vec<T>) -> Buf) -> PyResult<Value> {
    let (count, shape) = (array.len(), array.shape().to_vec());
    if lend && count >= LENT && array.is_c_contiguous() && (array.data() as usize).is_multiple_of(align_of::<T>()) {
        // SAFETY: the array has `count` aligned elements of `T` in one piece, and `owner` keeps them alive. `Array::borrowed`
        // forgets the vector: it is only read, so that no allocator sees an address that it does not know.
        let buf = of(unsafe { Vec::from_raw_parts(array.data(), count, count) });
        let owner: Py<PyAny> = array.clone().into_any().unbind();
        return Ok(Value::Array(Rc::new(Array::borrowed(Shape::from_slice(&shape), buf, Box::new(owner)))));
    }
    let read: PyReadonlyArrayDyn<'_, T> = array.try_readonly().map_err(|e| PyTypeError::new_err(e.to_string()))?;
    // NumPy's `as_slice` also gives the elements of a transposed matrix, in the order of memory.
    let all = match read.as_slice() {
        Ok(s) if array.is_c_contiguous() => s.to_vec(),
        _ => {
            warn(array.py(), count * size_of::<T>(), "its elements are not in one piece")?;
            read.as_array().iter().copied().collect()
        }
    };
    Ok(value(&shape, of(all)))
}

/// Says that a large array is copied.
pub fn warn(py: Python<'_>, bytes: usize, why: &str) -> PyResult<()> {
    if bytes < SAID {
        return Ok(());
    }
    let class = py.import("adl._errors")?.getattr("CopyWarning")?;
    let text = format!("an array of {} MB is copied: {why}", bytes.div_ceil(1_000_000));
    py.import("warnings")?.getattr("warn")?.call1((text, class, 2))?;
    Ok(())
}

/// The value of an array of NumPy with at least one axis. `float` asks for Floats in place of other real numbers.
pub fn from_numpy(array: &Bound<'_, PyUntypedArray>, lend: bool) -> PyResult<Value> {
    let any = array.as_any();
    if let Ok(a) = any.cast::<PyArrayDyn<f64>>() {
        return take(a, lend, Buf::F64);
    }
    if let Ok(a) = any.cast::<PyArrayDyn<i64>>() {
        return take(a, lend, Buf::I64);
    }
    if let Ok(a) = any.cast::<PyArrayDyn<f32>>() {
        return take(a, lend, Buf::F32);
    }
    if let Ok(a) = any.cast::<PyArrayDyn<bool>>() {
        // Bytes of a Bool that NumPy reinterprets may be other than 0 and 1, so they are never lent.
        return take(a, false, Buf::Bool);
    }
    let kind: String = array.dtype().getattr("kind")?.str()?.extract()?;
    let to = match kind.as_str() {
        "i" | "u" => "int64",
        "f" => "float64",
        "b" => "bool",
        _ => {
            let found = array.dtype().str()?.to_string();
            let text = format!("expected an array of numbers or Bools, found an array of dtype {found}");
            return Err(crate::errors::plain(
                array.py(),
                "E0201",
                &text,
                "convert it by `astype`, or pass its columns",
            ));
        }
    };
    if kind == "u" && !array.is_empty() && any.call_method0("max")?.extract::<u64>()? > i64::MAX as u64 {
        let found = "expected Ints of 64 bits, found a larger number";
        return Err(crate::errors::plain(array.py(), "E0703", found, "convert the array to floats"));
    }
    let size = any.getattr("nbytes")?.extract()?;
    warn(any.py(), size, &format!("its dtype is {}, not {to}", array.dtype().str()?))?;
    let options = pyo3::types::PyDict::new(array.py());
    options.set_item("casting", "same_kind")?;
    let same = any.call_method("astype", (to,), (kind != "u").then_some(&options))?;
    from_numpy(same.cast::<PyUntypedArray>()?, true)
}

fn give<'py, T: Element>(py: Python<'py>, shape: &[usize], v: Vec<T>) -> PyResult<Bound<'py, PyAny>> {
    let flat = PyArray1::from_vec(py, v);
    if shape.len() == 1 { Ok(flat.into_any()) } else { Ok(flat.reshape(shape.to_vec())?.into_any()) }
}

/// A flat array as one of NumPy: without a copy if nothing else of adl refers to it.
pub fn to_numpy(py: Python<'_>, a: Rc<Array>) -> PyResult<Bound<'_, PyAny>> {
    let shape = a.shape.to_vec();
    let buf = match Rc::try_unwrap(a) {
        Ok(a) => a.into_buf(),
        Err(a) => a.buf().clone(),
    };
    match buf {
        Buf::F64(v) => give(py, &shape, v),
        Buf::F32(v) => give(py, &shape, v),
        Buf::I64(v) => give(py, &shape, v),
        Buf::Bool(v) => give(py, &shape, v),
        Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => {
            Err(PyTypeError::new_err("expected an array of numbers or Bools"))
        }
    }
}
