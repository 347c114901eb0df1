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
fn _adl(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<function::Function>()?;
    module.add_class::<names::ModuleNames>()?;
    module.add_class::<opaque::Opaque>()?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(forked, module)?)?;
    module.add_function(wrap_pyfunction!(colours::classes, module)?)?;
    module.add_function(wrap_pyfunction!(colours::reserved, module)?)?;
    module.add_function(wrap_pyfunction!(colours::operators, module)?)?;
    module.add_function(wrap_pyfunction!(convert::arrow::arrow_stream, module)?)?;
    module.add_function(wrap_pyfunction!(residuals::residuals_record, module)?)?;
    module.add_function(wrap_pyfunction!(residuals::residuals_steps, module)?)?;
    module.add_function(wrap_pyfunction!(residuals::residuals_refined, module)?)?;
    module.add_function(wrap_pyfunction!(residuals::residuals_under, module)?)?;
    module.add_function(wrap_pyfunction!(residuals::residuals_picture, module)?)?;
    module.add_function(wrap_pyfunction!(names::definitions, module)?)?;
    module.add_function(wrap_pyfunction!(names::level, module)?)?;
    module.add_function(wrap_pyfunction!(names::check_nan, module)?)?;
    module.add_function(wrap_pyfunction!(names::load, module)?)
}
