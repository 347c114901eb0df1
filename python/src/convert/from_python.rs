//! Objects of Python as values of adl, with their types.
//!
//! The type that a parameter has decides only where Python leaves a choice: an `int` where a Float is expected, a list that
//! is an array or a `List`, `None` that is `()` or an `Option`. All else is checked by adl itself.

use super::{arrays, construct, field_types, is_prelude, prelude_type, solve};
use crate::engine::{Engine, Slot};
use crate::errors;
use crate::function::Function;
use crate::opaque::Opaque;
use adl_interp::value::{Record, Tuple, Value, array};
use adl_syntax::symbol::Symbol;
use adl_typing::ty::{DataId, RecordTy, Size, Ty};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::HashMap;
use std::rc::Rc;

type TypedResult = PyResult<(Value, Ty)>;

/// Converts objects, with the engine for what needs declared types and functions.
pub struct FromPython<'a> {
    /// `None` inside a function of Python that adl calls.
    pub engine: Option<&'a mut Engine>,
    /// Whether arrays may be lent.
    pub lend: bool,
}

fn size(n: usize) -> Size {
    Size::known(n as u64)
}

/// The type of a flat array.
fn array_type(v: &Value) -> Ty {
    let Value::Array(a) = v else { return Ty::Unit };
    let element = match a.kind() {
        adl_interp::value::Kind::F64 => Ty::Float,
        adl_interp::value::Kind::F32 => Ty::F32,
        adl_interp::value::Kind::I64 => Ty::Int,
        _ => Ty::Bool,
    };
    a.shape.iter().rev().fold(element, |t, n| Ty::Array(size(*n), Rc::new(t)))
}

/// The innermost element of an array type.
fn leaf(ty: Option<&Ty>) -> Option<&Ty> {
    let mut at = ty?;
    while let Ty::Array(_, e) = at {
        at = e;
    }
    Some(at)
}

/// Whether a value of the type found may stand where another is wanted; sizes must agree where both are known.
pub fn agrees(wanted: &Ty, found: &Ty) -> bool {
    match (wanted, found) {
        (Ty::Array(Size::Const(n, _), a), Ty::Array(Size::Const(m, _), b)) => n == m && agrees(a, b),
        (Ty::Array(_, a), Ty::Array(_, b)) => agrees(a, b),
        (Ty::Tuple(a), Ty::Tuple(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| agrees(a, b)),
        (Ty::Record(a), Ty::Record(b)) => {
            a.fields.len() == b.fields.len()
                && a.fields.iter().zip(&b.fields).all(|((n, a), (m, b))| n == m && agrees(a, b))
        }
        (a, b) => a == b,
    }
}

fn wrong(o: &Bound<'_, PyAny>, expected: &str, hint: &str) -> PyErr {
    let found = o.get_type().name().map_or_else(|_| "an object".to_owned(), |n| n.to_string());
    errors::plain(o.py(), "E0202", &format!("expected {expected}, found an object of the Python class `{found}`"), hint)
}

impl FromPython<'_> {
    /// The value of an object, and its type. `want`: the type of the parameter, whose variables are open.
    pub fn of(&mut self, object: &Bound<'_, PyAny>, want: Option<&Ty>) -> TypedResult {
        if let Some(Ty::Data(id, args)) = want
            && let Some(out) = self.prelude(object, *id, args)?
        {
            return Ok(out);
        }
        if let Ok(x) = object.cast_exact::<PyFloat>() {
            return Ok(float(x.value(), want));
        }
        if object.is_instance_of::<PyBool>() {
            return Ok((Value::Bool(object.extract()?), Ty::Bool));
        }
        if object.is_instance_of::<PyInt>() {
            return int(object, want);
        }
        if object.is_instance_of::<PyFloat>() {
            return Ok(float(object.extract()?, want));
        }
        if object.is_none() {
            return Ok((Value::Unit, Ty::Unit));
        }
        if let Ok(s) = object.cast::<PyString>() {
            return Ok((Value::Str(Rc::new(s.to_cow()?.into())), Ty::Str));
        }
        self.compound(object, want)
    }

    fn compound(&mut self, object: &Bound<'_, PyAny>, want: Option<&Ty>) -> TypedResult {
        if let Ok(d) = object.cast::<PyDict>() {
            return self.record(d, want);
        }
        if let Ok(t) = object.cast::<PyTuple>() {
            if object.hasattr("_asdict")? {
                return self.record(object.call_method0("_asdict")?.cast::<PyDict>()?, want);
            }
            return self.tuple(t, want);
        }
        if let Ok(l) = object.cast::<PyList>() {
            return self.list(l, want);
        }
        if let Ok(f) = object.cast_exact::<Function>()
            && self.engine.as_ref().is_none_or(|e| e.level() == f.get().level())
        {
            return self.function(f, want);
        }
        if let Ok(v) = object.cast_exact::<Opaque>() {
            let slot = self.engine.as_ref().and_then(|e| e.slot(&v.get().held).cloned());
            return match slot {
                Some(Slot::Opaque(v, t)) => Ok((v, t)),
                _ => Err(wrong(object, "a value of adl", "pass it to a function of adl directly")),
            };
        }
        self.foreign(object, want)
    }

    /// Objects of other libraries, of classes, and functions.
    fn foreign(&mut self, object: &Bound<'_, PyAny>, want: Option<&Ty>) -> TypedResult {
        if let Ok(con) = object.getattr("__adl_con__") {
            return self.data(object, con.extract()?, want);
        }
        if let Some(found) = super::arrow::from_arrow(object, self.lend)? {
            return Ok(found);
        }
        if let Some(numbers) = numpy(object)? {
            return self.numbers(&numbers, want);
        }
        if object.hasattr("__dataclass_fields__")? {
            let dict = object.py().import("adl._data")?.getattr("fields")?.call1((object,))?;
            return self.record(dict.cast::<PyDict>()?, want);
        }
        if let (Some(t @ Ty::Fun(..)), true, true) = (want, object.is_callable(), self.engine.is_some())
            && let Some(t) = crate::callback::open(t)
        {
            return Ok((crate::callback::function(object, &t), t));
        }
        Err(wrong(
            object,
            "numbers, arrays, texts, tuples, dicts, lists or values of adl",
            "convert it first; a function of Python may be passed where the parameter's type is a function without type variables",
        ))
    }

    /// A list or an option, where one is wanted.
    fn prelude(&mut self, object: &Bound<'_, PyAny>, id: DataId, args: &[Ty]) -> PyResult<Option<(Value, Ty)>> {
        let Some(engine) = &self.engine else { return Ok(None) };
        let option = is_prelude(engine, id, "Option");
        if !option && !is_prelude(engine, id, "List") {
            return Ok(None);
        }
        let Some(decl) = prelude_type(engine, id.1.as_str()) else { return Ok(None) };
        let element = args.first().cloned().unwrap_or(Ty::Unit);
        if option {
            if object.is_none() {
                return Ok(Some((construct(&decl, 0, Vec::new()), Ty::Data(id, Rc::new([element])))));
            }
            let (v, t) = self.of(object, Some(&element))?;
            return Ok(Some((construct(&decl, 1, vec![v]), Ty::Data(id, Rc::new([t])))));
        }
        let (mut all, mut ty) = (Vec::new(), element.clone());
        for item in object.try_iter()? {
            let (v, t) = self.of(&item?, Some(&element))?;
            all.push(v);
            ty = t;
        }
        let nil = construct(&decl, 0, Vec::new());
        let v = all.into_iter().rev().fold(nil, |rest, v| construct(&decl, 1, vec![v, rest]));
        Ok(Some((v, Ty::Data(id, Rc::new([ty])))))
    }

    fn tuple(&mut self, tuple: &Bound<'_, PyTuple>, want: Option<&Ty>) -> TypedResult {
        let wants: Vec<Option<&Ty>> = match want {
            Some(Ty::Tuple(ts)) if ts.len() == tuple.len() => ts.iter().map(Some).collect(),
            _ => vec![None; tuple.len()],
        };
        let (mut vals, mut types) = (Vec::new(), Vec::new());
        for (o, want) in tuple.iter().zip(wants) {
            let (v, t) = self.of(&o, want)?;
            vals.push(v);
            types.push(t);
        }
        match vals.len() {
            0 => Ok((Value::Unit, Ty::Unit)),
            1 => Err(wrong(tuple.as_any(), "a tuple of two or more components", "pass the component itself")),
            _ => Ok((Value::Tuple(Rc::new(Tuple(vals))), Ty::Tuple(types.into()))),
        }
    }

    fn record(&mut self, d: &Bound<'_, PyDict>, want: Option<&Ty>) -> TypedResult {
        let mut fields = Vec::with_capacity(d.len());
        for (k, o) in d.iter() {
            let Ok(k) = k.cast::<PyString>() else {
                return Err(wrong(&k, "a text as the name of a field", "records have names for fields"));
            };
            let name = Symbol::new(&k.to_cow()?);
            let (v, t) = self.of(&o, adl_interp::value::show::field(want, name))?;
            fields.push((name, v, t));
        }
        adl_syntax::field_order::written(fields.iter().map(|f| f.0));
        fields.sort_by_key(|f| f.0.as_str());
        let names: Rc<[Symbol]> = fields.iter().map(|f| f.0).collect();
        let ty = RecordTy { fields: fields.iter().map(|f| (f.0, f.2.clone())).collect(), tail: None };
        let vals = fields.into_iter().map(|f| f.1).collect();
        Ok((Value::Record(Rc::new(Record { names, vals })), Ty::Record(Rc::new(ty))))
    }

    /// A list of Python where no `List` is wanted: an array.
    fn list(&mut self, list: &Bound<'_, PyList>, want: Option<&Ty>) -> TypedResult {
        let element = match want {
            Some(Ty::Array(_, e)) => Some(&**e),
            _ => None,
        };
        let (mut vals, mut ty) = (Vec::with_capacity(list.len()), None);
        for o in list.iter() {
            let (v, t) = self.of(&o, element)?;
            ty = Some(joined(list, ty, t)?);
            vals.push(v);
        }
        let ty = ty.or_else(|| element.cloned()).unwrap_or(Ty::Float);
        if ty == Ty::Float {
            vals.iter_mut().for_each(|v| {
                if let Value::Int(n) = v {
                    *v = Value::Float(*n as f64);
                }
            });
        }
        let n = vals.len();
        let made = match (&mut self.engine, vals.is_empty(), &ty) {
            (_, true, Ty::Float) => array::floats(Vec::new()),
            (_, true, Ty::Int) => array::ints(Vec::new()),
            (Some(e), false, _) => e
                .session
                .packed(vals)
                .map_err(|d| errors::plain(list.py(), d.code, &d.message, "the elements of an array have one shape"))?,
            _ => array::boxed(vals),
        };
        Ok((made, Ty::Array(size(n), Rc::new(ty))))
    }

    fn function(&mut self, f: &Bound<'_, Function>, want: Option<&Ty>) -> TypedResult {
        let Some(engine) = &mut self.engine else {
            return Err(wrong(f.as_any(), "numbers or arrays", "return a number or an array"));
        };
        crate::function::value(f.py(), engine, f.get(), want)
    }

    fn data(&mut self, object: &Bound<'_, PyAny>, (id, tag): (u32, u32), want: Option<&Ty>) -> TypedResult {
        let name = Symbol::new(&object.getattr("__adl_type__")?.extract::<String>()?);
        let level: usize = object.getattr("__adl_level__")?.extract()?;
        let of = self.engine.as_ref().filter(|e| e.level() == level);
        let decl = of.and_then(|e| e.session.declared_type(DataId(id, name)));
        let Some(decl) = decl else { return Err(wrong(object, "a value of a declared type", "load its module first")) };
        let args: Rc<[Ty]> = match want {
            Some(Ty::Data(d, args)) if d.0 == id => args.clone(),
            _ => decl.params.iter().map(|p| Ty::Var(*p)).collect(),
        };
        let wants = field_types(&decl, tag, &args);
        let (mut found, mut vals) = (HashMap::new(), Vec::new());
        for ((o, want), declared) in object.try_iter()?.zip(&wants).zip(&decl.cons[tag as usize].fields) {
            let (v, t) = self.of(&o?, Some(want))?;
            solve(declared, &t, &mut found);
            vals.push(v);
        }
        let args = decl.params.iter().zip(args.iter()).map(|(p, a)| found.get(p).unwrap_or(a).clone()).collect();
        Ok((construct(&decl, tag, vals), Ty::Data(decl.id, args)))
    }

    /// An array or a scalar of NumPy.
    fn numbers(&mut self, a: &Bound<'_, PyAny>, want: Option<&Ty>) -> TypedResult {
        let a = a.cast::<PyUntypedArray>()?;
        if a.ndim() == 0 {
            let single = a.dtype().getattr("str")?.extract::<String>()?.ends_with("f4");
            let (v, t) = self.of(&a.as_any().call_method0("item")?, want)?;
            return Ok(match v {
                Value::Float(x) if single && leaf(want) != Some(&Ty::Float) => (Value::F32(x as f32), Ty::F32),
                _ => (v, t),
            });
        }
        let v = arrays::from_numpy(a, self.lend)?;
        let t = array_type(&v);
        Ok((v, t))
    }
}

/// The type of the elements of a list so far, and of one more: Ints among Floats are Floats, as in a list of Python.
fn joined(l: &Bound<'_, PyList>, had: Option<Ty>, new: Ty) -> PyResult<Ty> {
    match had {
        None => Ok(new),
        Some(Ty::Int) if new == Ty::Float => Ok(new),
        Some(Ty::Float) if new == Ty::Int => Ok(Ty::Float),
        Some(had) if agrees(&had, &new) => Ok(had),
        Some(had) => {
            let (had, new) = (adl_typing::print::ty(&had), adl_typing::print::ty(&new));
            let message = format!("expected {had} as each element of a list, found {new}");
            Err(errors::plain(l.py(), "E0203", &message, "the elements of an array have one type and one shape"))
        }
    }
}

fn float(x: f64, want: Option<&Ty>) -> (Value, Ty) {
    if want == Some(&Ty::F32) { (Value::F32(x as f32), Ty::F32) } else { (Value::Float(x), Ty::Float) }
}

fn int(o: &Bound<'_, PyAny>, want: Option<&Ty>) -> TypedResult {
    match want {
        Some(Ty::Float) => Ok((Value::Float(o.extract()?), Ty::Float)),
        Some(Ty::F32) => Ok((Value::F32(o.extract::<f64>()? as f32), Ty::F32)),
        _ => match o.extract::<i64>() {
            Ok(n) => Ok((Value::Int(n), Ty::Int)),
            Err(_) => Err(errors::plain(
                o.py(),
                "E0703",
                "expected an Int of 64 bits, found a larger int",
                "pass it as a float",
            )),
        },
    }
}

/// The object as an array of NumPy, if it is one or offers to become one.
fn numpy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if object.cast::<PyUntypedArray>().is_ok() {
        return Ok(Some(object.clone()));
    }
    if object.hasattr("__array__")? {
        return Ok(Some(object.py().import("numpy")?.getattr("asarray")?.call1((object,))?));
    }
    if object.hasattr("__dlpack__")? {
        return Ok(Some(object.py().import("numpy")?.getattr("from_dlpack")?.call1((object,))?));
    }
    if object.hasattr("__index__")? {
        return Ok(Some(object.py().import("numpy")?.getattr("asarray")?.call1((object.call_method0("__index__")?,))?));
    }
    Ok(None)
}
