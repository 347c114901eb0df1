//! What the live table of residuals in IPython asks for. The table itself is in `adl/_residuals.py`.

use crate::convert::to_python::ToPython;
use crate::engine::{Locked, Slot, lock};
use crate::errors;
use crate::opaque::Opaque;
use adl_interp::ir::derive::Plan;
use adl_interp::ir::derive::table;
use adl_interp::value::Value;
use adl_typing::ty::Ty;
use pyo3::prelude::*;

fn held(py: Python<'_>, engine: &Locked, value: &Opaque) -> PyResult<(Value, Ty)> {
    match engine.slot(&value.held).cloned() {
        Some(Slot::Opaque(v, ty)) if table::inside(&v).is_some() => Ok((v, ty)),
        _ => {
            Err(errors::plain(py, "E0201", "expected residuals, found another value", "give a result of `f.residuals`"))
        }
    }
}

/// The record of residuals: the function, the plan's costs, and the rows.
#[pyfunction]
pub fn residuals_record<'py>(py: Python<'py>, value: &Opaque) -> PyResult<Bound<'py, PyAny>> {
    let mut engine = lock(py, value.held.level)?;
    let (v, _) = held(py, &engine, value)?;
    let record = table::inside(&v).cloned().unwrap_or_default();
    let plan = table::plan(&record).to_string();
    let out = ToPython { engine: Some(&mut engine) }.of(py, record, None)?;
    out.set_item("plan", plan)?;
    Ok(out)
}

/// Peak memory and extra work of the plans that no other one beats in both.
#[pyfunction]
pub fn residuals_steps(py: Python<'_>, value: &Opaque) -> PyResult<Vec<(u64, u64)>> {
    let mut engine = lock(py, value.held.level)?;
    let (v, _) = held(py, &engine, value)?;
    Ok(engine.run(py, |s| s.steps(&v)))
}

/// The plan with some rows stored and others recomputed.
#[pyfunction]
pub fn residuals_refined(py: Python<'_>, value: &Opaque, store: Vec<u32>, recompute: Vec<u32>) -> PyResult<String> {
    let mut engine = lock(py, value.held.level)?;
    let (v, _) = held(py, &engine, value)?;
    let watch = engine.session.watch(v, None);
    let refined = watch.borrow().refined(&store, &recompute);
    match refined {
        Ok(plan) => Ok(plan.to_string()),
        Err(why) => Err(errors::plain(py, "E0722", &why, "choose rows that can be recomputed")),
    }
}

/// The residuals under another plan; with `apply`, after a gradient that has measured it.
#[pyfunction]
pub fn residuals_under(py: Python<'_>, value: &Opaque, plan: &str, apply: bool) -> PyResult<Opaque> {
    let mut engine = lock(py, value.held.level)?;
    let (v, ty) = held(py, &engine, value)?;
    let Some(plan) = Plan::parse(plan) else {
        return Err(errors::plain(py, "E0722", &format!("expected a plan, found `{plan}`"), "see `f.plan`"));
    };
    let done = engine.run(py, |s| {
        let under = s.replanned(&v, &plan)?;
        if apply { s.apply_residuals(&under) } else { Ok(under) }
    });
    let v = done.map_err(|d| errors::raised(py, &engine, &d))?;
    let text = adl_interp::value::show::typed(&v, Some(&ty));
    let held = engine.hold(Slot::Opaque(v, ty));
    Ok(Opaque { held, text })
}

/// The picture of memory and extra work of plans, as SVG.
#[pyfunction]
pub fn residuals_picture(py: Python<'_>, value: &Opaque, steps: Vec<(u64, u64)>) -> PyResult<Option<String>> {
    let engine = lock(py, value.held.level)?;
    let (v, _) = held(py, &engine, value)?;
    Ok(adl_plotting::frontier(&v, &steps).map(|figure| figure.svg(adl_plotting::Theme::Adaptive)))
}
