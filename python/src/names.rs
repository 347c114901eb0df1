//! Modules: the names that a text of adl defines.

use crate::convert::to_python::{ToPython, constructor};
use crate::engine::{self, Engine, Held, LEVELS, Slot, lock};
use crate::errors;
use crate::function::Function;
use crate::function_data::FunctionData;
use adl_interp::value::Value;
use adl_syntax::symbol::Symbol;
use adl_typing::env::{Env, TypeName};
use adl_typing::print;
use adl_typing::ty::Ty;
use pyo3::prelude::*;
use std::rc::Rc;

/// The names of a module.
#[pyclass(module = "adl", frozen)]
pub struct ModuleNames {
    held: Held,
}

fn env_of(py: Python<'_>, engine: &Engine, held: &Held) -> PyResult<Rc<Env>> {
    match engine.slot(held) {
        Some(Slot::Names(e)) => Ok(e.clone()),
        _ => Err(errors::closed(py, "a name")),
    }
}

/// Whether a name is one that Python shows.
fn is_public(name: Symbol) -> bool {
    !name.as_str().starts_with('_') && !matches!(name.as_str(), "it" | "it1" | "it2")
}

/// Runs a file of adl, or an empty one.
#[pyfunction]
pub fn load(py: Python<'_>, name: &str, text: Vec<u8>, level: usize) -> PyResult<ModuleNames> {
    let mut engine = lock(py, level)?;
    engine.release();
    let mut env = engine.session.fresh_env();
    let ran = engine.run(py, |s| s.within(&mut env, |s| s.run_file(name, &text)));
    if !ran.ok() {
        return Err(errors::raised(py, &engine, &ran.diags));
    }
    errors::warn(py, &engine, &ran.diags)?;
    let held = engine.hold(Slot::Names(Rc::new(env)));
    Ok(ModuleNames { held })
}

/// The number of definitions that the engine keeps.
#[pyfunction]
pub fn definitions(py: Python<'_>) -> PyResult<usize> {
    Ok(lock(py, 0)?.definitions())
}

/// The first level that this thread may enter: more than 0 in a function that adl has called.
///
/// # Errors
/// The calls are too deep.
#[pyfunction]
pub fn level(py: Python<'_>) -> PyResult<usize> {
    engine::free_level().ok_or_else(|| {
        let message = format!("expected calls of Python by adl and of adl by Python up to {LEVELS} deep, found more");
        errors::plain(py, "E0711", &message, "let the function of Python return what adl then computes with")
    })
}

/// Whether the first operation that makes a nan or an infinity is an error. Nothing then runs as native code.
#[pyfunction]
#[pyo3(signature = (on = true))]
pub fn check_nan(py: Python<'_>, on: bool) -> PyResult<()> {
    let mut engine = lock(py, 0)?;
    engine.session.set_jit(!on);
    engine.session.set_check_nan(on);
    Ok(())
}

#[pymethods]
impl ModuleNames {
    /// Releases the definitions; names that other modules and functions use stay.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut engine = lock(py, self.held.level)?;
        engine.replace(&self.held, Slot::Closed);
        engine.release();
        Ok(())
    }

    /// Public names: values, then constructors.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let engine = lock(py, self.held.level)?;
        let env = env_of(py, &engine, &self.held)?;
        let mut all: Vec<String> =
            env.values.keys().chain(env.cons.keys()).filter(|n| is_public(**n)).map(ToString::to_string).collect();
        all.sort();
        Ok(all)
    }

    /// The type and the documentation of a name.
    fn describe(&self, py: Python<'_>, name: &str) -> PyResult<Option<(String, String)>> {
        let engine = lock(py, self.held.level)?;
        let env = env_of(py, &engine, &self.held)?;
        let found = env.values.get(&Symbol::new(name));
        Ok(found.map(|g| (print::scheme(&g.scheme), g.doc.as_deref().unwrap_or("").trim().to_owned())))
    }

    /// The object for a name; `None`, if the module does not define it. `origin`: the module, for `pickle`.
    fn get<'py>(&self, py: Python<'py>, name: &str, origin: Py<PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut engine = lock(py, self.held.level)?;
        let env = env_of(py, &engine, &self.held)?;
        let symbol = Symbol::new(name);
        if let Some((decl, tag)) = env.cons.get(&symbol) {
            let class = constructor(py, &mut engine, decl.id, *tag)?.into_bound(py);
            let constant = decl.cons[*tag as usize].fields.is_empty();
            return Ok(Some(if constant { class.call0()? } else { class }));
        }
        if let Some(TypeName::Data(decl)) = env.types.get(&symbol)
            && !decl.cons.is_empty()
        {
            let class = constructor(py, &mut engine, decl.id, 0)?.into_bound(py);
            return Ok(Some(class.getattr("__adl_class__")?));
        }
        let Some(g) = env.values.get(&symbol) else { return Ok(None) };
        let doc = g.doc.as_deref().unwrap_or("").trim().to_owned();
        let Some(v) = engine.session.value_of_global(g) else { return Ok(None) };
        if matches!(v, Value::Fun(_)) || matches!(g.scheme.ty, Ty::Fun(..) | Ty::Lin(..)) {
            let data = FunctionData::of_global(&engine, env.clone(), name, g);
            let f = Function::of_module(&mut engine, data, doc, origin);
            return Ok(Some(f.into_pyobject(py)?.into_any()));
        }
        ToPython { engine: Some(&mut engine) }.of(py, v, Some(&g.scheme.ty)).map(Some)
    }

    /// Runs a text as a cell: the values of its expressions and definitions, each with its name and its type.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        text: &str,
    ) -> PyResult<Vec<(Option<String>, String, Bound<'py, PyAny>)>> {
        let mut engine = lock(py, self.held.level)?;
        engine.release();
        let mut env = (*env_of(py, &engine, &self.held)?).clone();
        let ran = engine.run(py, |s| s.within(&mut env, |s| s.eval_cell(name, text)));
        engine.replace(&self.held, Slot::Names(Rc::new(env)));
        if !ran.ok() {
            return Err(errors::raised(py, &engine, &ran.diags));
        }
        errors::warn(py, &engine, &ran.diags)?;
        let mut out = Vec::new();
        for e in ran.echoes {
            let v = ToPython { engine: Some(&mut engine) }.of(py, e.shown, e.of.as_ref())?;
            out.push((e.name, e.ty, v));
        }
        Ok(out)
    }
}
