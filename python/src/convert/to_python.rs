//! Values of adl as objects of Python.

use super::{arrays, field_types, is_prelude};
use crate::engine::{Engine, Slot};
use crate::function_data::FunctionData;
use crate::opaque::Opaque;
use adl_interp::value::{Array, Data, Value, array, show};
use adl_syntax::field_order;
use adl_syntax::symbol::Symbol;
use adl_typing::ty::{DataId, Ty};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::rc::Rc;

type Object<'py> = PyResult<Bound<'py, PyAny>>;

/// Converts values, with the engine for what needs declared types and functions.
pub struct ToPython<'a> {
    /// `None` inside a function of Python that adl calls.
    pub engine: Option<&'a mut Engine>,
}

/// Field `name` of a record type.
fn field_type(ty: Option<&Ty>, name: Symbol) -> Option<&Ty> {
    show::field(ty, name)
}

impl ToPython<'_> {
    /// The object for a value of a type, as far as the type is known.
    pub fn of<'py>(&mut self, py: Python<'py>, value: Value, ty: Option<&Ty>) -> Object<'py> {
        Ok(match value {
            Value::Unit => py.None().into_bound(py),
            Value::Bool(b) => b.into_pyobject(py)?.to_owned().into_any(),
            Value::Int(n) => n.into_pyobject(py)?.into_any(),
            Value::Float(x) => x.into_pyobject(py)?.into_any(),
            Value::F32(x) => f64::from(x).into_pyobject(py)?.into_any(),
            Value::Str(s) => PyString::new(py, &s).into_any(),
            Value::Array(a) => self.array(py, a, ty)?,
            Value::Tuple(t) => {
                let parts = Rc::try_unwrap(t).map_or_else(|t| t.0.clone(), |mut t| std::mem::take(&mut t.0));
                let mut all = Vec::with_capacity(parts.len());
                for (i, v) in parts.into_iter().enumerate() {
                    all.push(self.of(py, v, show::component(ty, i))?);
                }
                PyTuple::new(py, all)?.into_any()
            }
            Value::Record(r) => {
                let names = r.names.clone();
                let vals = Rc::try_unwrap(r).map_or_else(|r| r.vals.clone(), |mut r| std::mem::take(&mut r.vals));
                let mut vals: Vec<Option<Value>> = vals.into_iter().map(Some).collect();
                let dict = PyDict::new(py);
                for i in field_order::shown(&names) {
                    let v = vals[i].take().unwrap_or_default();
                    dict.set_item(names[i].as_str(), self.of(py, v, field_type(ty, names[i]))?)?;
                }
                py.import("adl._data")?.getattr("Record")?.call1((dict,))?
            }
            Value::Data(d) => self.data(py, d, ty)?,
            v => self.held(py, v, ty)?,
        })
    }

    fn array<'py>(&mut self, py: Python<'py>, a: Rc<Array>, ty: Option<&Ty>) -> Object<'py> {
        if a.is_flat() {
            return arrays::to_numpy(py, a);
        }
        let element = match ty {
            Some(Ty::Array(_, e)) => Some(&**e),
            _ => None,
        };
        let list = PyList::empty(py);
        for i in 0..a.shape.first().copied().unwrap_or(0) {
            list.append(self.of(py, array::elem(&a, i), element)?)?;
        }
        Ok(list.into_any())
    }

    fn data<'py>(&mut self, py: Python<'py>, data: Rc<Data>, ty: Option<&Ty>) -> Object<'py> {
        let args: Rc<[Ty]> = match ty {
            Some(Ty::Data(_, args)) => args.clone(),
            _ => Rc::new([]),
        };
        let Some(engine) = &mut self.engine else {
            return Ok(PyString::new(py, &show::show(&Value::Data(data))).into_any());
        };
        let id = data.con.data;
        if is_prelude(engine, id, "List") {
            return self.list(py, data, args.first());
        }
        if is_prelude(engine, id, "Option") {
            return match data.fields.first() {
                Some(v) => self.of(py, v.clone(), args.first()),
                None => Ok(py.None().into_bound(py)),
            };
        }
        if engine.session.is_library_type(id) {
            return self.held(py, Value::Data(data), ty);
        }
        let types = engine.session.declared_type(id).map(|t| field_types(&t, data.con.tag, &args)).unwrap_or_default();
        let class = constructor(py, engine, id, data.con.tag)?;
        let mut fields = Vec::new();
        for (i, v) in data.fields.iter().enumerate() {
            fields.push(self.of(py, v.clone(), types.get(i))?);
        }
        class.bind(py).call1(PyTuple::new(py, fields)?)
    }

    /// A list of adl, without recursion along it.
    fn list<'py>(&mut self, py: Python<'py>, d: Rc<Data>, element: Option<&Ty>) -> Object<'py> {
        let list = PyList::empty(py);
        let mut at = d;
        while let [head, Value::Data(rest)] = &at.fields[..] {
            list.append(self.of(py, head.clone(), element)?)?;
            let rest = rest.clone();
            at = rest;
        }
        Ok(list.into_any())
    }

    /// What Python cannot take apart, and functions.
    fn held<'py>(&mut self, py: Python<'py>, v: Value, ty: Option<&Ty>) -> Object<'py> {
        let text = show::typed(&v, ty);
        let Some(engine) = &mut self.engine else { return Ok(PyString::new(py, &text).into_any()) };
        let ty = ty.cloned().unwrap_or(Ty::Unit);
        if let Value::Fun(_) = &v {
            let data = FunctionData::of_value(engine, v, ty);
            return Ok(crate::function::Function::new(engine, data).into_pyobject(py)?.into_any());
        }
        let held = engine.hold(Slot::Opaque(v, ty));
        Ok(Opaque { held, text }.into_pyobject(py)?.into_any())
    }
}

/// The class of a constructor.
pub fn constructor(py: Python<'_>, engine: &mut Engine, id: DataId, tag: u32) -> PyResult<Py<PyAny>> {
    if let Some(c) = engine.classes.get(&(id.0, tag)) {
        return Ok(c.clone_ref(py));
    }
    let decl = engine.session.declared_type(id);
    let cons: Vec<(String, usize)> =
        decl.iter().flat_map(|d| &d.cons).map(|c| (c.name.to_string(), c.fields.len())).collect();
    let made = py.import("adl._data")?.getattr("classes")?.call1((id.0, id.1.as_str(), cons, engine.level()))?;
    for (tag, class) in made.try_iter()?.enumerate() {
        engine.classes.insert((id.0, tag as u32), class?.unbind());
    }
    match engine.classes.get(&(id.0, tag)) {
        Some(c) => Ok(c.clone_ref(py)),
        None => Err(pyo3::exceptions::PyTypeError::new_err("expected a declared type")),
    }
}
