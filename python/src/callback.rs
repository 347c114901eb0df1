//! Functions of Python as arguments of functions of adl.

use crate::convert::from_python::{FromPython, agrees};
use crate::convert::to_python::ToPython;
use adl_interp::error::{Error, codes};
use adl_interp::value::Value;
use adl_interp::vm::{Fun, HostFun};
use adl_typing::print;
use adl_typing::ty::{RecordTy, Size, Ty};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;
use std::rc::Rc;

thread_local! {
    /// The exception that stopped the run on this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Takes the exception that stopped the last run.
pub fn exception() -> Option<PyErr> {
    RAISED.with_borrow_mut(Option::take)
}

/// The parameters and the result of a function type.
pub fn parts(ty: &Ty) -> (Vec<Ty>, Ty) {
    let (mut params, mut at) = (Vec::new(), ty);
    while let Ty::Fun(a, b) | Ty::Lin(a, b) = at {
        params.push((**a).clone());
        at = b;
    }
    (params, at.clone())
}

/// A type with its sizes open; `None` if it has type variables.
pub fn open(ty: &Ty) -> Option<Ty> {
    let one = |t: &Ty| open(t).map(Rc::new);
    Some(match ty {
        Ty::Var(_) | Ty::Meta(_) => return None,
        Ty::Fun(a, b) => Ty::Fun(one(a)?, one(b)?),
        Ty::Lin(a, b) => Ty::Lin(one(a)?, one(b)?),
        Ty::Tuple(ts) => Ty::Tuple(ts.iter().map(open).collect::<Option<_>>()?),
        Ty::Data(id, ts) => Ty::Data(*id, ts.iter().map(open).collect::<Option<_>>()?),
        Ty::Array(Size::Const(n, at), e) => Ty::Array(Size::Const(*n, *at), one(e)?),
        Ty::Array(_, e) => Ty::Array(Size::Unknown, one(e)?),
        Ty::Record(r) if r.tail.is_some() => return None,
        Ty::Record(r) => {
            let fields = r.fields.iter().map(|(n, t)| Some((*n, open(t)?))).collect::<Option<_>>()?;
            Ty::Record(Rc::new(RecordTy { fields, tail: None }))
        }
        _ => ty.clone(),
    })
}

/// A function of Python as a function of a type without variables.
pub fn function(callable: &Bound<'_, PyAny>, ty: &Ty) -> Value {
    let (params, result) = parts(ty);
    let name =
        callable.getattr("__name__").and_then(|n| n.extract()).unwrap_or_else(|_| "a function of Python".to_owned());
    let f = callable.clone().unbind();
    let (arity, shown) = (params.len(), print::ty(ty));
    let what = name.clone();
    let call = move |args: &[Value]| {
        Python::attach(|py| {
            let done = || -> PyResult<(Value, Ty)> {
                let mut to = ToPython { engine: None };
                let given: PyResult<Vec<_>> =
                    args.iter().zip(&params).map(|(v, t)| to.of(py, v.clone(), Some(t))).collect();
                let y = f.bind(py).call1(PyTuple::new(py, given?)?)?;
                FromPython { engine: None, lend: false }.of(&y, Some(&result))
            };
            match done() {
                Ok((y, found)) if agrees(&result, &found) => Ok(y),
                Ok((_, found)) => {
                    let (wanted, found) = (print::ty(&result), print::ty(&found));
                    Err(Error::new(codes::SIZE, format!("expected {wanted} as the result of `{what}`, found {found}")))
                }
                Err(e) => {
                    let text = format!("`{what}` has raised an exception: {e}");
                    RAISED.set(Some(e));
                    Err(Error::new(codes::USER, text))
                }
            }
        })
    };
    Value::Fun(Rc::new(Fun::Host(HostFun { name, arity, ty: shown, call: Box::new(call) })))
}
