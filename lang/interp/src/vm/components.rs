//! Access to parts of values: components, elements, comparisons, run-time type representations.

use super::code::IndexKind;
use crate::error::{Error, Res, codes};
use crate::upcalls::Upcalls;
use crate::value::{Record, Rep, Value, compare, seq, show};
use adl_prim::Cmp;
use adl_typing::core::{self, Projection, SizeRep};
use std::rc::Rc;

/// A run-time type representation whose locals are read by `look`.
pub(super) fn rep_with(look: &dyn Fn(u32) -> Value, r: &core::Rep) -> Rc<Rep> {
    Rc::new(match r {
        core::Rep::Hidden(l) => {
            return match look(l.0) {
                Value::Rep(r) => r,
                _ => Rc::new(Rep::Other),
            };
        }
        core::Rep::Base(t) => Rep::base(t),
        core::Rep::Array(n, e) => {
            let n = match n {
                SizeRep::Const(k) => Some(*k as usize),
                SizeRep::Local(l) => match look(l.0) {
                    Value::Int(n) => usize::try_from(n).ok(),
                    _ => None,
                },
                SizeRep::Unknown => None,
            };
            Rep::Array(n, rep_with(look, e))
        }
        core::Rep::Tuple(ps) => Rep::Tuple(ps.iter().map(|p| rep_with(look, p)).collect()),
        core::Rep::Record(fs) => Rep::Record(fs.iter().map(|(n, p)| (*n, rep_with(look, p))).collect()),
        core::Rep::Data(d, ps) => Rep::Data(d.clone(), ps.iter().map(|p| rep_with(look, p)).collect()),
        core::Rep::Other => Rep::Other,
    })
}

pub(super) fn index_width(k: &IndexKind) -> u32 {
    match k {
        IndexKind::At => 1,
        IndexKind::Slice(a, b) => u32::from(*a) + u32::from(*b),
    }
}

pub(super) fn element(m: &mut dyn Upcalls, a: &Value, i: i64) -> Res<Value> {
    match usize::try_from(i) {
        Ok(k) => seq::elem(m, a, k),
        Err(_) => Err(seq::out_of_bounds(i, seq::len(a))),
    }
}

pub(super) fn compare_values(op: Cmp, a: &Value, b: &Value) -> Res<bool> {
    let order = match (a, b) {
        (Value::Int(x), Value::Int(y)) => Some(x.cmp(y)),
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y),
        _ => compare::partial(a, b)?,
    };
    Ok(op.holds(order))
}

/// Matches a literal pattern: an Int literal matches any number with that value.
pub(super) fn literal_equal(v: &Value, lit: &Value) -> Res<bool> {
    match (compare::primal(v), lit) {
        (Value::Float(x), Value::Int(n)) => Ok(x == *n as f64),
        (Value::F32(x), Value::Int(n)) => Ok(x == *n as f32),
        (Value::F32(x), Value::Float(y)) => Ok(f64::from(x) == *y),
        (v, lit) => compare::equal(&v, lit),
    }
}

pub(super) fn number_at(k: &Value, rep: &Value) -> Value {
    let Value::Rep(r) = rep else { return k.clone() };
    match (&**r, k) {
        (Rep::Float, Value::Int(n)) => Value::Float(*n as f64),
        (Rep::F32, Value::Int(n)) => Value::F32(*n as f32),
        (Rep::F32, Value::Float(x)) => Value::F32(*x as f32),
        _ => k.clone(),
    }
}

/// A component of a tuple or record; of a zero of unknown shape, that zero.
pub(crate) fn step_into(v: &Value, s: Projection) -> Res<Value> {
    match (v, s) {
        (Value::Tuple(t), Projection::Item(i)) => Ok(t.0[i as usize].clone()),
        (Value::Record(r), Projection::Field(name)) => match r.names.iter().position(|n| *n == name) {
            Some(i) => Ok(r.vals[i].clone()),
            None => Err(Error::new(codes::STRUCTURE, format!("there is no field `{name}`"))),
        },
        (Value::Zero, _) => Ok(Value::Zero),
        _ => Err(Error::new(codes::STRUCTURE, format!("{} cannot be taken apart here", show::show(v)))),
    }
}

pub(super) fn update(old: Value, names: &[adl_syntax::symbol::Symbol], vals: Vec<Value>) -> Res<Value> {
    let Value::Record(r) = old else { return Err(Error::new(codes::STRUCTURE, "only records are updated")) };
    let mut r = match Rc::try_unwrap(r) {
        Ok(mut r) => Record { names: r.names.clone(), vals: std::mem::take(&mut r.vals) },
        Err(r) => Record { names: r.names.clone(), vals: r.vals.clone() },
    };
    for (n, v) in names.iter().zip(vals) {
        if let Some(i) = r.names.iter().position(|m| m == n) {
            r.vals[i] = v;
        }
    }
    Ok(Value::Record(Rc::new(r)))
}

/// A component of a tuple.
pub(crate) fn part(v: &Value, i: u32) -> Res<Value> {
    step_into(v, Projection::Item(i))
}
