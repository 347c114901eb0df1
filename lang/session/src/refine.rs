//! The size that a value really has, put into its type.

use adl_interp::value::{Value, seq};
use adl_typing::ty::{RecordTy, Size, Ty};
use std::rc::Rc;

/// The type with sizes that were unknown (or quantified) replaced by those of the value.
pub fn refine(t: &Ty, v: &Value) -> Ty {
    match (t, v) {
        (Ty::Array(..), _) => match seq::shape(v) {
            Some(shape) => with_shape(t, shape),
            None => t.clone(),
        },
        (Ty::Tuple(ts), Value::Tuple(vs)) => Ty::Tuple(ts.iter().zip(&vs.0).map(|(t, v)| refine(t, v)).collect()),
        (Ty::Record(r), Value::Record(vs)) => {
            let fields = r
                .fields
                .iter()
                .map(|(n, t)| {
                    let v = vs.names.iter().position(|m| m == n).map(|i| &vs.vals[i]);
                    (*n, v.map_or_else(|| t.clone(), |v| refine(t, v)))
                })
                .collect();
            Ty::Record(Rc::new(RecordTy { fields, tail: r.tail.clone() }))
        }
        _ => t.clone(),
    }
}

fn with_shape(t: &Ty, shape: &[usize]) -> Ty {
    match (t, shape) {
        (Ty::Array(_, e), [k, rest @ ..]) => {
            let size = Size::Const(*k as u64);
            Ty::Array(size, Rc::new(with_shape(e, rest)))
        }
        (t, _) => t.clone(),
    }
}
