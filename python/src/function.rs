//! Functions of adl as callables of Python, and what is derived from them.

use crate::convert::from_python::FromPython;
use crate::convert::to_python::ToPython;
use crate::engine::{self, Engine, Held, Locked, Slot, lock};
use crate::errors;
use crate::form::{Form, Rows};
use crate::function_data::{FunctionData, at_types, checked, is_known, named, params};
use adl_interp::ir::derive::{Plan, SPELLINGS};
use adl_interp::value::{Array, Value};
use adl_typing::print;
use adl_typing::ty::Ty;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

// No doc comment: it would hide that of each function.
#[pyclass(module = "adl", frozen, weakref)]
pub struct Function {
    held: Held,
    name: String,
    doc: String,
    type_text: String,
    names: Vec<String>,
    form: Form,
    derived: Mutex<HashMap<String, Py<Function>>>,
    /// The plan of gradients for which none is given.
    applied: Mutex<Option<String>>,
    /// The module, and the path to this function from it, for `pickle`.
    origin: Option<Py<PyAny>>,
}

impl Function {
    /// The object of a function without a module.
    pub fn new(engine: &mut Engine, data: FunctionData) -> Function {
        Function::made(engine, data, String::new(), None)
    }

    fn made(engine: &mut Engine, data: FunctionData, doc: String, origin: Option<Py<PyAny>>) -> Function {
        let (form, names) = (data.form.clone(), data.names.clone());
        let (name, type_text) = (form.title(), print::scheme(&data.scheme));
        let held = engine.hold(Slot::Function(Rc::new(data)));
        Function {
            held,
            name,
            doc,
            type_text,
            names,
            form,
            derived: Mutex::default(),
            applied: Mutex::default(),
            origin,
        }
    }

    /// The object of a function of a module.
    pub fn of_module(engine: &mut Engine, data: FunctionData, doc: String, origin: Py<PyAny>) -> Function {
        Function::made(engine, data, doc, Some(origin))
    }

    /// The level of its engine.
    pub fn level(&self) -> usize {
        self.held.level
    }

    fn data(&self, py: Python<'_>, engine: &Engine) -> PyResult<Rc<FunctionData>> {
        match engine.slot(&self.held) {
            Some(Slot::Function(f)) => Ok(f.clone()),
            _ => Err(errors::closed(py, "a function")),
        }
    }

    /// Releases what the engine keeps for the function and for those derived from it.
    fn close(&self, engine: &mut Engine) {
        engine.replace(&self.held, Slot::Closed);
        let derived = std::mem::take(&mut *self.derived.lock().unwrap_or_else(PoisonError::into_inner));
        derived.values().for_each(|f| f.get().close(engine));
    }

    /// The arguments of a call, with their types.
    fn given(
        &self,
        engine: &mut Locked,
        f: &FunctionData,
        args: &Bound<'_, PyTuple>,
    ) -> PyResult<(Vec<Value>, Vec<Ty>)> {
        let (mut vals, mut types) = (Vec::with_capacity(args.len()), Vec::with_capacity(args.len()));
        let mut from = FromPython { engine: Some(engine), lend: true };
        for (i, o) in args.iter().enumerate() {
            let (v, t) = from.of(&o, f.form.wanted(&f.params, i))?;
            vals.push(v);
            types.push(t);
        }
        Ok((vals, types))
    }

    /// The function of this form in an engine that does not run: adl has called Python, which calls adl.
    fn twin<'py>(&self, py: Python<'py>, form: &Form) -> PyResult<Bound<'py, PyAny>> {
        py.import("adl._data")?.getattr("twin")?.call1((self.origin.as_ref(), form.path()))
    }

    /// A gradient, under the plan that was given or else applied.
    fn gradient(&self, py: Python<'_>, operator: &str) -> PyResult<Py<Function>> {
        let applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let form = match applied {
            Some(plan) if !self.form.has_plan() => self.form.under(plan),
            _ => self.form.clone(),
        };
        self.derive(py, form.derive(operator))
    }

    /// A function made from this one; the same object each time.
    fn derive(&self, py: Python<'_>, form: Form) -> PyResult<Py<Function>> {
        let key = form.title();
        if let Some(f) = self.derived.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(f.clone_ref(py));
        }
        if engine::is_running(self.held.level) {
            return Ok(self.twin(py, &form)?.cast::<Function>()?.clone().unbind());
        }
        let mut engine = lock(py, self.held.level)?;
        let data = self.data(py, &engine)?.derived(form);
        let origin = self.origin.as_ref().map(|o| o.clone_ref(py));
        let made = Function::made(&mut engine, data, self.doc.clone(), origin);
        drop(engine);
        let made = Py::new(py, made)?;
        let mut all = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(all.entry(key).or_insert(made).clone_ref(py))
    }
}

/// Copies what Python lent, inside tuples and records too.
fn own(v: &mut Value) {
    match v {
        Value::Array(a) if a.is_borrowed() => *v = Value::Array(Rc::new(Array::clone(a))),
        Value::Tuple(t) => Rc::get_mut(t).into_iter().flat_map(|t| &mut t.0).for_each(own),
        Value::Record(r) => Rc::get_mut(r).into_iter().flat_map(|r| &mut r.vals).for_each(own),
        Value::Data(d) => Rc::get_mut(d).into_iter().flat_map(|d| &mut d.fields).for_each(own),
        _ => {}
    }
}

/// A function as an argument of another one: at its own type, if that has no variables, or at the one that is wanted.
pub fn value(py: Python<'_>, engine: &mut Engine, function: &Function, want: Option<&Ty>) -> PyResult<(Value, Ty)> {
    let data = function.data(py, engine)?;
    let plain = data.form.text().filter(|_| data.scheme.vars.is_empty() && data.scheme.determined.is_empty());
    let (aliases, text) = match (plain, want) {
        (Some(text), _) => (Vec::new(), text),
        (None, Some(want)) if params(want).iter().all(is_known) => {
            let types = params(want);
            let text = at_types(&data.form, types.len());
            let text = text.map_err(|e| errors::plain(py, "E0203", &e, "see `help` of the function"))?;
            (named(&types), text)
        }
        (None, _) => {
            let message =
                format!("expected a function at one type, found `{}` : {}", function.name, function.type_text);
            let hint = "call it by a function of adl that takes the numbers, or give its parameters types in adl";
            return Err(errors::plain(py, "E0203", &message, hint));
        }
    };
    engine.session.typed(&data.env, &aliases, &text).map_err(|d| errors::raised(py, engine, &d))
}

#[pymethods]
impl Function {
    #[pyo3(signature = (*args))]
    fn __call__<'py>(&self, py: Python<'py>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        if engine::is_running(self.held.level) {
            return self.twin(py, &self.form)?.call1(args);
        }
        let mut engine = lock(py, self.held.level)?;
        let data = self.data(py, &engine)?;
        let (mut vals, types) = self.given(&mut engine, &data, args)?;
        let at = checked(py, &mut engine, &data, types)?;
        if !at.first_order {
            vals.iter_mut().for_each(own);
        }
        let out = engine.run(py, |s| s.call(&at.fun, &vals));
        drop(vals);
        let out = out.map_err(|d| errors::raised(py, &engine, &[*d]))?;
        ToPython { engine: Some(&mut engine) }.of(py, out, Some(&at.result))
    }

    /// The gradient of a scalar function: with respect to the first argument, or those that `wrt` has named.
    #[getter]
    fn grad(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.gradient(py, "grad")
    }
    /// The value and the gradient.
    #[getter]
    fn value_and_grad(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.gradient(py, "value_and_grad")
    }
    /// The value and the derivative in a direction, which is the last argument.
    #[getter]
    fn jvp(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.derive(py, self.form.derive("jvp"))
    }
    /// The value, and the transposed derivative as a function of cotangents.
    #[getter]
    fn vjp(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.derive(py, self.form.derive("vjp"))
    }
    /// The value, and the derivative as a function of tangents.
    #[getter]
    fn linearize(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.derive(py, self.form.derive("linearize"))
    }
    /// The transposed function of a linear function: called with a point of its domain, then a cotangent.
    #[getter]
    fn transpose(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.derive(py, self.form.derive("transpose"))
    }
    /// The matrix of partial derivatives.
    #[getter]
    fn jacobian(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.derive(py, self.form.derive("jacobian"))
    }
    /// The matrix of second derivatives.
    #[getter]
    fn hessian(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.derive(py, self.form.derive("hessian"))
    }
    /// The Hessian times a direction, which is the last argument.
    #[getter]
    fn hvp(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.derive(py, self.form.derive("hvp"))
    }
    /// The work of the function and of its derivatives, counted by source line.
    #[getter]
    fn cost(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.derive(py, self.form.derive("cost"))
    }
    /// What the gradient stores, and what each plan costs.
    #[getter]
    fn residuals(&self, py: Python<'_>) -> PyResult<Py<Function>> {
        self.derive(py, self.form.derive("residuals"))
    }
    /// Makes a plan the one of all gradients that are taken of the function from now on.
    fn apply_plan(&self, py: Python<'_>, plan: &str) -> PyResult<()> {
        self.plan(py, plan)?;
        *self.applied.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan.to_owned());
        Ok(())
    }
    /// The same function, whose next gradient stores what a plan says: `sqrt`, `auto`, `budget N`, `recompute_all`, ….
    fn plan(&self, py: Python<'_>, plan: &str) -> PyResult<Py<Function>> {
        match Plan::parse(plan) {
            Some(_) => self.derive(py, self.form.under(plan.to_owned())),
            None => Err(errors::plain(
                py,
                "E0722",
                &format!("expected a plan, found `{plan}`"),
                &format!("plans are {SPELLINGS}"),
            )),
        }
    }
    /// How the derivatives of a call with these arguments are computed, and why: one line for each.
    #[pyo3(signature = (*args))]
    fn explain(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<String> {
        let mut engine = lock(py, self.held.level)?;
        engine.session.clear_derivations();
        let data = self.data(py, &engine)?;
        data.checked.borrow_mut().clear();
        let (mut vals, types) = self.given(&mut engine, &data, args)?;
        let at = checked(py, &mut engine, &data, types)?;
        vals.iter_mut().for_each(own);
        let out = engine.run(py, |s| s.call(&at.fun, &vals).map(|_| s.explained().join("\n")));
        out.map_err(|d| errors::raised(py, &engine, &[*d]))
    }
    /// The type of the result for these arguments, as dtypes and shapes; the function does not run.
    #[pyo3(signature = (*args))]
    fn _result<'py>(&self, py: Python<'py>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let mut engine = lock(py, self.held.level)?;
        let data = self.data(py, &engine)?;
        let (_, types) = self.given(&mut engine, &data, args)?;
        let at = checked(py, &mut engine, &data, types)?;
        crate::shapes::of(py, &at.result)
    }
    /// The Hessian's entries that may be other than 0, as a matrix of SciPy (CSR).
    #[getter]
    fn hessian_sparse(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("adl._scipy")?.getattr("sparse")?.call1((&slf, "hessian_sparse"))
    }
    /// The Jacobian's entries that may be other than 0, as a matrix of SciPy (CSR).
    #[getter]
    fn jacobian_sparse(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("adl._scipy")?.getattr("sparse")?.call1((&slf, "jacobian_sparse"))
    }
    /// The function as one of JAX, inside `jit`, `grad`, `jvp` and `vmap`.
    #[getter]
    fn jax(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("adl._jax")?.getattr("wrap")?.call1((&slf,))
    }
    /// The function as one of PyTorch, with derivatives of any order, and inside `torch.func`.
    #[getter]
    fn torch(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("adl._torch")?.getattr("wrap")?.call1((&slf,))
    }
    /// Arguments of `scipy.optimize.minimize`: the function with its gradient, from a start on.
    #[pyo3(signature = (x0, *args, hess = false))]
    fn scipy<'py>(
        slf: Bound<'py, Self>,
        x0: Bound<'py, PyAny>,
        args: Bound<'py, PyTuple>,
        hess: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("adl._scipy")?.getattr("problem")?.call1((&slf, x0, args, hess))
    }
    /// Ends the use of the function, when its module is closed.
    fn _close(&self, py: Python<'_>) -> PyResult<()> {
        self.close(&mut *lock(py, self.held.level)?);
        Ok(())
    }
    /// A function made by an operator of adl, named in the text; the Python side uses it.
    fn _derive(&self, py: Python<'_>, operator: &str) -> PyResult<Py<Function>> {
        self.derive(py, self.form.derive(operator))
    }
    /// The function of all rows at once, for `vmap`; see [`Rows`].
    fn _rows(
        &self,
        py: Python<'_>,
        arguments: Vec<Option<String>>,
        count: usize,
        result: String,
    ) -> PyResult<Py<Function>> {
        self.derive(py, self.form.of_rows(Rows { arguments, count, result }))
    }
    /// Whether an argument is of numbers of 32 bits.
    fn _is_single(&self, py: Python<'_>, argument: usize) -> PyResult<bool> {
        let engine = lock(py, self.held.level)?;
        let data = self.data(py, &engine)?;
        let mut ty = data.form.wanted(&data.params, argument);
        while let Some(Ty::Array(_, element)) = ty {
            ty = Some(element);
        }
        Ok(ty == Some(&Ty::F32))
    }
    /// The same function, differentiated with respect to these arguments: positions from 0, or names.
    #[pyo3(signature = (*which))]
    fn wrt(&self, py: Python<'_>, which: &Bound<'_, PyTuple>) -> PyResult<Py<Function>> {
        let (names, mut at) = (self.form.parameters(&self.names), Vec::new());
        for w in which.iter() {
            let found = match w.extract::<String>() {
                Ok(name) => names.iter().position(|n| *n == name),
                Err(_) => w.extract::<usize>().ok().filter(|i| *i < names.len().max(1)),
            };
            let Some(i) = found else {
                let message = format!("expected one of the arguments {}, found {}", names.join(", "), w.repr()?);
                return Err(errors::plain(py, "E0201", &message, "give positions from 0, or names"));
            };
            at.push(i);
        }
        self.derive(py, self.form.with_respect_to(at))
    }

    /// The compiler's code of the function for these arguments, at a stage: `opt`, `core`, `spec`, `jvp`, `unzip`, `transpose`,
    /// `clif` or `asm`.
    #[pyo3(signature = (*args, stage = "opt"))]
    fn ir(&self, py: Python<'_>, args: &Bound<'_, PyTuple>, stage: &str) -> PyResult<String> {
        let mut engine = lock(py, self.held.level)?;
        let data = self.data(py, &engine)?;
        let mut env = (*data.env).clone();
        let mut words = Vec::new();
        for (i, o) in args.iter().enumerate() {
            let (v, t) =
                FromPython { engine: Some(&mut engine), lend: false }.of(&o, data.form.wanted(&data.params, i))?;
            let name = format!("arg{}", i + 1);
            engine.session.bind(&mut env, &name, v, t);
            words.push(name);
        }
        let names: Vec<String> = (1..=words.len()).map(|i| format!("x{i}")).collect();
        let text = match data.form.text() {
            Some(text) => text,
            None => match data.form.applied(&names) {
                Ok(body) => format!("fun {} -> {body}", names.join(" ")),
                Err(e) => return Err(errors::plain(py, "E0203", &e, "give the arguments of a call")),
            },
        };
        let done = engine.run(py, |s| s.within(&mut env, |s| s.ir(stage, &text, &words)));
        done.map_err(|d| errors::raised(py, &engine, &d))
    }

    /// Its type in adl.
    #[getter]
    fn signature(&self) -> &str {
        &self.type_text
    }
    #[getter]
    fn __name__(&self) -> &str {
        &self.name
    }
    #[getter]
    fn __qualname__(&self) -> &str {
        &self.name
    }
    #[getter]
    fn __doc__(&self) -> String {
        let call = format!("{}({})", self.name, self.form.parameters(&self.names).join(", "));
        let ty = format!("{} : {}", self.name, self.type_text);
        let parts = [call.as_str(), self.doc.as_str(), ty.as_str()];
        parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
    #[getter]
    fn __signature__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let names = self.form.parameters(&self.names);
        py.import("adl._data")?.getattr("signature")?.call1((names,))
    }
    fn __repr__(&self) -> String {
        format!("<adl function {} : {}>", self.name, self.type_text)
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let path = self.form.path();
        let Some(origin) = &self.origin else {
            let hint = "pickle the module's function and the data instead";
            return Err(errors::plain(
                py,
                "E0711",
                "expected a function of a module, found a function that adl has returned",
                hint,
            ));
        };
        let restore = py.import("adl._data")?.getattr("restore")?;
        Ok((restore, (origin, path)).into_pyobject(py)?.into_any())
    }
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(o) = &self.origin {
            visit.call(o)?;
        }
        Ok(())
    }
}
