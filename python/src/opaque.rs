//! Values that Python cannot take apart: plots, residuals, maps, keys.

use crate::engine::{Held, Locked, Slot, lock};
use adl_interp::value::Value;
use adl_typing::print;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A value of adl of a type that has no counterpart in Python. It can be passed to functions of adl.
#[pyclass(name = "Value", module = "adl", frozen)]
pub struct Opaque {
    pub held: Held,
    pub text: String,
}

impl Opaque {
    /// The value and its type.
    fn parts(&self, engine: &Locked) -> (Value, String) {
        match engine.slot(&self.held) {
            Some(Slot::Opaque(v, t)) => (v.clone(), print::ty(t)),
            _ => (Value::Unit, String::new()),
        }
    }
}

#[pymethods]
impl Opaque {
    fn __repr__(&self) -> &str {
        &self.text
    }

    /// Its type in adl.
    #[getter]
    fn type_text(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.parts(&lock(py, self.held.level)?).1)
    }

    /// Its media types for notebooks, such as pictures and tables: those of adl's own kernel.
    #[pyo3(signature = (include = None, exclude = None))]
    fn _repr_mimebundle_<'py>(
        &self,
        py: Python<'py>,
        include: Option<Bound<'py, PyAny>>,
        exclude: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = (include, exclude);
        let (data, metadata) = {
            let engine = lock(py, self.held.level)?;
            let (v, ty) = self.parts(&engine);
            adl_kernel::mime_bundle(&v, &ty)
        };
        let loads = py.import("json")?.getattr("loads")?;
        PyTuple::new(py, [loads.call1((data,))?, loads.call1((metadata,))?])
    }
}
