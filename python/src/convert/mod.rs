//! Values of adl as objects of Python, and back.
//!
//! Numbers, texts, tuples and records go by value. Arrays of Floats and Ints are lent to adl, and given to NumPy, without a
//! copy. `List` and `Option` are lists and values that may be `None`; other declared types are classes.

pub mod arrays;
pub mod arrow;
pub mod from_python;
pub mod to_python;

use crate::engine::Engine;
use adl_interp::value::{ConInfo, Value};
use adl_syntax::symbol::Symbol;
use adl_typing::ty::{DataDecl, DataId, Ty, TyVar};
use std::collections::HashMap;
use std::rc::Rc;

/// A declared type of the prelude.
pub fn prelude_type(engine: &Engine, name: &str) -> Option<Rc<DataDecl>> {
    match engine.session.fresh_env().type_name(Symbol::new(name)) {
        Some(adl_typing::env::TypeName::Data(d)) => Some(d.clone()),
        _ => None,
    }
}

/// Whether a type is this one of the prelude.
pub fn is_prelude(engine: &Engine, id: DataId, name: &str) -> bool {
    id.1 == Symbol::new(name) && engine.session.is_library_type(id)
}

/// A constructor applied to its fields.
pub fn construct(decl: &DataDecl, tag: u32, fields: Vec<Value>) -> Value {
    let con = &decl.cons[tag as usize];
    let info = ConInfo { name: con.name, tag, data: decl.id, arity: con.fields.len() as u32 };
    Value::data(Rc::new(info), fields)
}

/// A type with its variables replaced.
pub fn substitute(ty: &Ty, with: &HashMap<TyVar, Ty>) -> Ty {
    let all = |ts: &[Ty]| ts.iter().map(|t| substitute(t, with)).collect::<Rc<[Ty]>>();
    let one = |t: &Ty| Rc::new(substitute(t, with));
    match ty {
        Ty::Var(v) => with.get(v).cloned().unwrap_or_else(|| ty.clone()),
        Ty::Fun(a, b) => Ty::Fun(one(a), one(b)),
        Ty::Lin(a, b) => Ty::Lin(one(a), one(b)),
        Ty::Tuple(ts) => Ty::Tuple(all(ts)),
        Ty::Array(n, e) => Ty::Array(*n, one(e)),
        Ty::Data(id, ts) => Ty::Data(*id, all(ts)),
        Ty::Record(r) => {
            let fields = r.fields.iter().map(|(n, t)| (*n, substitute(t, with))).collect();
            Ty::Record(Rc::new(adl_typing::ty::RecordTy { fields, tail: r.tail.clone() }))
        }
        _ => ty.clone(),
    }
}

/// Finds the variables of a declared field's type from the type that a value has.
pub fn solve(declared: &Ty, found: &Ty, into: &mut HashMap<TyVar, Ty>) {
    match (declared, found) {
        (Ty::Var(v), t) => _ = into.entry(*v).or_insert_with(|| t.clone()),
        (Ty::Fun(a, b) | Ty::Lin(a, b), Ty::Fun(c, d) | Ty::Lin(c, d)) => {
            solve(a, c, into);
            solve(b, d, into);
        }
        (Ty::Tuple(a), Ty::Tuple(b)) | (Ty::Data(_, a), Ty::Data(_, b)) => {
            a.iter().zip(b.iter()).for_each(|(a, b)| solve(a, b, into));
        }
        (Ty::Record(a), Ty::Record(b)) => {
            for ((_, a), (_, b)) in a.fields.iter().zip(&b.fields) {
                solve(a, b, into);
            }
        }
        (Ty::Array(_, a), Ty::Array(_, b)) => solve(a, b, into),
        _ => {}
    }
}

/// The types of a constructor's fields, for a declared type with these arguments.
pub fn field_types(decl: &DataDecl, tag: u32, args: &[Ty]) -> Vec<Ty> {
    let with = decl.params.iter().copied().zip(args.iter().cloned()).collect();
    decl.cons[tag as usize].fields.iter().map(|t| substitute(t, &with)).collect()
}

/// Whether values of a type are numbers, texts, and what is made of them: nothing in them can keep an argument alive.
pub fn is_first_order(engine: &Engine, ty: &Ty) -> bool {
    match ty {
        Ty::Unit | Ty::Bool | Ty::Int | Ty::Float | Ty::F32 | Ty::Str => true,
        Ty::Tuple(ts) => ts.iter().all(|t| is_first_order(engine, t)),
        Ty::Record(r) => r.fields.iter().all(|(_, t)| is_first_order(engine, t)),
        Ty::Array(_, e) => is_first_order(engine, e),
        Ty::Data(id, ts) => {
            (is_prelude(engine, *id, "List") || is_prelude(engine, *id, "Option"))
                && ts.iter().all(|t| is_first_order(engine, t))
        }
        Ty::Var(_) | Ty::Meta(_) | Ty::Fun(..) | Ty::Lin(..) => false,
    }
}
