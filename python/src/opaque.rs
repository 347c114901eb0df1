//! Values that Python cannot take apart: plots, residuals, maps, keys.

use crate::engine::{Held, Slot, lock};
use adl_interp::host::{Format, Host};
use adl_interp::value::Value;
use adl_typing::print;
use pyo3::prelude::*;

/// A value of adl of a type that has no counterpart in Python. It can be passed to functions of adl.
#[pyclass(name = "Value", module = "adl", frozen)]
pub struct Opaque {
    pub held: Held,
    pub text: String,
}

impl Opaque {
    fn parts(&self, py: Python<'_>) -> PyResult<Option<(Value, String)>> {
        Ok(match lock(py)?.slot(&self.held) {
            Some(Slot::Opaque(v, t)) => Some((v.clone(), print::ty(t))),
            _ => None,
        })
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
        Ok(self.parts(py)?.map(|p| p.1).unwrap_or_default())
    }

    /// Its picture, for notebooks.
    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let engine = lock(py)?;
        let Some(Slot::Opaque(v, _)) = engine.slot(&self.held).cloned() else { return Ok(None) };
        let svg = crate::host::PythonHost::new().render(&v, Format::Svg);
        drop(v);
        drop(engine);
        Ok(svg.ok().map(|b| String::from_utf8_lossy(&b).into_owned()))
    }

    /// Its table, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let engine = lock(py)?;
        let Some(Slot::Opaque(v, t)) = engine.slot(&self.held).cloned() else { return Ok(None) };
        Ok(adl_kernel::html_of(&v, &print::ty(&t)))
    }
}
