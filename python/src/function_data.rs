//! What the engine knows of a function.
//!
//! A function is a text in the names of its module: `loss`, or `fun a b -> grad (fun z -> loss z b) a`. At the first call with
//! arguments of certain types, adl checks the text at these types; the result is kept. So all messages about types are adl's.

use crate::convert::is_first_order;
use crate::engine::{Engine, Locked};
use crate::errors;
use crate::form::Form;
use adl_interp::value::Value;
use adl_typing::env::{Env, Global};
use adl_typing::ty::{Class, Scheme, Ty};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Types of arguments at which a function is kept checked.
const KEPT: usize = 256;

/// A function checked at the types of its arguments.
pub struct CheckedFunction {
    pub fun: Value,
    pub result: Ty,
    /// Whether nothing in a result can keep an argument alive.
    pub first_order: bool,
}

/// What the engine knows of a function.
pub struct FunctionData {
    pub env: Rc<Env>,
    pub form: Form,
    pub scheme: Scheme,
    pub names: Vec<String>,
    /// The types of the parameters.
    pub params: Vec<Ty>,
    pub checked: RefCell<HashMap<Vec<Ty>, Rc<CheckedFunction>>>,
}

/// The parameters of a function type.
pub fn params(ty: &Ty) -> Vec<Ty> {
    crate::callback::parts(ty).0
}

/// Whether a parameter is any real number or array of them, so that an `int` stands for a Float.
fn is_real(scheme: &Scheme, ty: &Ty) -> bool {
    let real = |classes: &[Class]| classes.iter().any(|c| matches!(c, Class::Real | Class::Reals));
    matches!(ty, Ty::Var(v) if scheme.vars.iter().any(|(w, classes, _)| w == v && real(classes)))
}

impl FunctionData {
    fn new(env: Rc<Env>, form: Form, scheme: Scheme, names: Vec<String>) -> FunctionData {
        let params = params(&scheme.ty).into_iter().map(|t| if is_real(&scheme, &t) { Ty::Float } else { t }).collect();
        FunctionData { env, form, scheme, names, params, checked: RefCell::default() }
    }

    /// A function of a module.
    pub fn of_global(engine: &Engine, env: Rc<Env>, name: &str, g: &Global) -> FunctionData {
        let given = engine.session.parameter_names(g);
        let names = (0..params(&g.scheme.ty).len())
            .map(|i| given.get(i).copied().flatten().map_or_else(|| format!("x{}", i + 1), |n| n.to_string()))
            .collect();
        FunctionData::new(env, Form::name(name), (*g.scheme).clone(), names)
    }

    /// A function that is the value of an expression.
    pub fn of_value(engine: &mut Engine, v: Value, ty: Ty) -> FunctionData {
        let mut env = engine.session.fresh_env();
        engine.session.bind(&mut env, "it", v, ty.clone());
        let names = (1..=params(&ty).len()).map(|i| format!("x{i}")).collect();
        FunctionData::new(Rc::new(env), Form::name("it"), Scheme::mono(ty), names)
    }

    /// The names and the values that it uses.
    pub fn holds(&self, envs: &mut Vec<Rc<Env>>, values: &mut Vec<Value>) {
        envs.push(self.env.clone());
        values.extend(self.checked.borrow().values().map(|c| c.fun.clone()));
    }

    pub fn derived(&self, form: Form) -> FunctionData {
        FunctionData::new(self.env.clone(), form, self.scheme.clone(), self.names.clone())
    }
}

/// Whether a type is known, with all sizes.
pub fn is_known(ty: &Ty) -> bool {
    match ty {
        Ty::Array(size, e) => matches!(size, adl_typing::ty::Size::Const(..)) && is_known(e),
        Ty::Tuple(ts) | Ty::Data(_, ts) => ts.iter().all(is_known),
        Ty::Record(r) => r.tail.is_none() && r.fields.iter().all(|(_, t)| is_known(t)),
        Ty::Fun(a, b) | Ty::Lin(a, b) => is_known(a) && is_known(b),
        Ty::Var(_) | Ty::Meta(_) => false,
        _ => true,
    }
}

/// The text of a function at the types `Arg1`, `Arg2`, ….
pub fn at_types(form: &Form, n: usize) -> Result<String, String> {
    let names: Vec<String> = (1..=n).map(|i| format!("arg{i}")).collect();
    let typed: Vec<String> = names.iter().enumerate().map(|(i, a)| format!("({a} : Arg{})", i + 1)).collect();
    Ok(format!("fun {} -> {}", typed.join(" "), form.applied(&names)?))
}

/// The types with these names.
pub fn named(types: &[Ty]) -> Vec<(String, Ty)> {
    types.iter().enumerate().map(|(i, t)| (format!("Arg{}", i + 1), t.clone())).collect()
}

/// A function at the types of its arguments.
pub fn checked(
    py: Python<'_>,
    engine: &mut Locked,
    function_data: &FunctionData,
    types: Vec<Ty>,
) -> PyResult<Rc<CheckedFunction>> {
    if let Some(c) = function_data.checked.borrow().get(&types) {
        return Ok(c.clone());
    }
    let text = at_types(&function_data.form, types.len())
        .map_err(|e| errors::plain(py, "E0203", &e, "see `help` of the function"))?;
    let aliases = named(&types);
    let env = function_data.env.clone();
    let done = engine.run(py, |s| s.typed(&env, &aliases, &text));
    let (fun, ty) = done.map_err(|d| errors::raised(py, engine, &d))?;
    let mut result = &ty;
    for _ in 0..types.len() {
        if let Ty::Fun(_, b) | Ty::Lin(_, b) = result {
            result = b;
        }
    }
    let result = result.clone();
    let first_order = is_first_order(engine, &result);
    let made = Rc::new(CheckedFunction { fun, result, first_order });
    let mut all = function_data.checked.borrow_mut();
    if all.len() >= KEPT {
        all.clear();
    }
    all.insert(types, made.clone());
    Ok(made)
}
