//! Types as dtypes and shapes, for libraries that ask for them before they run a function.

use adl_typing::print;
use adl_typing::ty::{Size, Ty};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// `(dtype, shape)` of numbers and arrays; tuples and dicts of them; `None` for `()`, the tangent of an Int.
///
/// # Errors
/// A part is not numeric, or has a size that is known only when the function has run.
pub fn of<'py>(py: Python<'py>, ty: &Ty) -> PyResult<Bound<'py, PyAny>> {
    match ty {
        Ty::Unit => Ok(py.None().into_bound(py)),
        Ty::Tuple(ts) => {
            let parts: PyResult<Vec<_>> = ts.iter().map(|t| of(py, t)).collect();
            Ok(PyTuple::new(py, parts?)?.into_any())
        }
        Ty::Record(r) => {
            let dict = PyDict::new(py);
            for (name, t) in &r.fields {
                dict.set_item(name.as_str(), of(py, t)?)?;
            }
            Ok(dict.into_any())
        }
        _ => leaf(py, ty),
    }
}

fn leaf<'py>(py: Python<'py>, ty: &Ty) -> PyResult<Bound<'py, PyAny>> {
    let (mut shape, mut at) = (Vec::new(), ty);
    while let Ty::Array(n, e) = at {
        match n {
            Size::Const(n, _) => shape.push(*n),
            _ => return Err(wrong(py, "sizes that follow from those of the arguments", ty)),
        }
        at = e;
    }
    let dtype = match at {
        Ty::Float => "float64",
        Ty::F32 => "float32",
        Ty::Int => "int64",
        Ty::Bool => "bool",
        _ => return Err(wrong(py, "a result of numbers and arrays", ty)),
    };
    Ok((dtype, PyTuple::new(py, shape)?).into_pyobject(py)?.into_any())
}

fn wrong(py: Python<'_>, expected: &str, ty: &Ty) -> PyErr {
    let message = format!("expected {expected}, found {}", print::ty(ty));
    crate::errors::plain(
        py,
        "E0301",
        &message,
        "give the function a type with sizes in adl, or return a sum of the elements",
    )
}
