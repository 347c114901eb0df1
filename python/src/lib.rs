//! adl as a module of Python: the native half of the package `adl`.
//!
//! Reading order: `engine` (one session for all threads), `names` (modules), `function`, `function_data` and `form` (calls and derivatives),
//! `convert` (values), `callback`, `errors`, `interrupt`, `host`, `colours`. The other half is in `adl/`, in Python.

#![allow(unsafe_code, reason = "the engine moves between threads, and arrays are lent to it")]

mod callback;
mod colours;
mod convert;
mod engine;
mod errors;
mod form;
mod function;
mod function_data;
mod host;
#[cfg(unix)]
mod interrupt;
mod names;
mod opaque;
mod residuals;
mod shapes;

use pyo3::prelude::*;

// Programs allocate and free small arrays by the million, and large ones repeatedly.
#[global_allocator]
static MEMORY: adl_jit::alloc::CachingAllocator<mimalloc::MiMalloc> =
    adl_jit::alloc::CachingAllocator(mimalloc::MiMalloc);

/// Runs a command line of adl; returns the exit code. `command` starts it again.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<String>, command: Vec<String>) -> u8 {
    adl_kernel::use_own_colours();
    py.detach(|| adl_cli::main(&words, Some(command)))
}

/// Called in the child of a fork.
#[pyfunction]
fn forked() {
    engine::forked();
}

/// The native half of the package `adl`.
#[pymodule(gil_used = true)]
fn _adl(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<function::Function>()?;
    m.add_class::<names::ModuleNames>()?;
    m.add_class::<opaque::Opaque>()?;
    m.add_function(wrap_pyfunction!(main, m)?)?;
    m.add_function(wrap_pyfunction!(forked, m)?)?;
    m.add_function(wrap_pyfunction!(colours::classes, m)?)?;
    m.add_function(wrap_pyfunction!(colours::reserved, m)?)?;
    m.add_function(wrap_pyfunction!(colours::operators, m)?)?;
    m.add_function(wrap_pyfunction!(convert::arrow::arrow_stream, m)?)?;
    m.add_function(wrap_pyfunction!(residuals::residuals_record, m)?)?;
    m.add_function(wrap_pyfunction!(residuals::residuals_steps, m)?)?;
    m.add_function(wrap_pyfunction!(residuals::residuals_refined, m)?)?;
    m.add_function(wrap_pyfunction!(residuals::residuals_under, m)?)?;
    m.add_function(wrap_pyfunction!(residuals::residuals_picture, m)?)?;
    m.add_function(wrap_pyfunction!(names::definitions, m)?)?;
    m.add_function(wrap_pyfunction!(names::level, m)?)?;
    m.add_function(wrap_pyfunction!(names::check_nan, m)?)?;
    m.add_function(wrap_pyfunction!(names::load, m)?)
}
