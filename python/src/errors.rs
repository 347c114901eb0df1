//! Errors of adl as exceptions of Python.

use crate::engine::Engine;
use adl_syntax::diag::Diagnostic;
use adl_syntax::render;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The class `adl.Error`.
fn class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("adl._errors")?.getattr("Error")
}

/// An exception from parts; a failure to make it is raised in its place.
fn make(py: Python<'_>, text: &str, fields: &Bound<'_, PyDict>) -> PyErr {
    match class(py).and_then(|c| c.call((text,), Some(fields))) {
        Ok(e) => PyErr::from_value(e),
        Err(e) => e,
    }
}

/// An error that has no place in a program.
pub fn plain(py: Python<'_>, code: &str, message: &str, hint: &str) -> PyErr {
    let fields = PyDict::new(py);
    let filled = fields.set_item("code", code).and_then(|()| fields.set_item("hint", hint));
    match filled {
        Ok(()) => make(py, &format!("error[{code}]: {message}\n  help: {hint}"), &fields),
        Err(e) => e,
    }
}

/// A function or a module whose definitions have been released.
pub fn closed(py: Python<'_>, what: &str) -> PyErr {
    plain(py, "E0711", &format!("expected {what} of an open module, found one that is closed"), "load the module again")
}

/// The errors of a run. An exception that a called function of Python has raised, or a pending Ctrl-C, comes first.
pub fn raised(py: Python<'_>, engine: &Engine, diags: &[Diagnostic]) -> PyErr {
    if let Some(e) = crate::callback::exception() {
        return e;
    }
    if let Err(e) = py.check_signals() {
        return e;
    }
    let errors: Vec<&Diagnostic> = diags.iter().filter(|d| d.is_error()).collect();
    let sources = &engine.session.sources;
    let text: Vec<String> = errors.iter().map(|d| render::text(d, sources, false).trim_end().to_owned()).collect();
    let Some(first) = errors.first() else { return plain(py, "E0901", "expected an error, found none", "report this") };
    let fields = PyDict::new(py);
    let span = sources.get(first.primary.span.file).map(|file| {
        let (line, column) = file.line_col(first.primary.span.lo);
        (file.name.clone(), line, column)
    });
    let filled = fields
        .set_item("code", first.code)
        .and_then(|()| fields.set_item("message", &first.message))
        .and_then(|()| fields.set_item("span", span))
        .and_then(|()| fields.set_item("hint", first.hint.as_deref()));
    match filled {
        Ok(()) => make(py, &text.join("\n"), &fields),
        Err(e) => e,
    }
}

/// Gives the warnings of a run as warnings of Python.
pub fn warn(py: Python<'_>, engine: &Engine, diags: &[Diagnostic]) -> PyResult<()> {
    for d in diags.iter().filter(|d| !d.is_error()) {
        let text = render::text(d, &engine.session.sources, false);
        let class = py.import("adl._errors")?.getattr("Warning")?;
        py.import("warnings")?.getattr("warn")?.call1((text.trim_end(), class, 3))?;
    }
    Ok(())
}
