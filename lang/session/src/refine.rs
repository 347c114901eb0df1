//! Refines types by the actual sizes of values.

use adl_interp::value::{Value, seq};
use adl_syntax::span::Span;
use adl_typing::env::Tables;
use adl_typing::ty::{RecordTy, Size, Ty};
use std::rc::Rc;

/// Replaces unknown (or quantified) sizes in a type by those of the value.
///
/// `span` is the place of the definition, which becomes the origin of these sizes.
pub fn refine(t: &Ty, v: &Value, span: Span, tables: &Tables) -> Ty {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || refined(t, v, span, tables))
}

fn refined(ty: &Ty, value: &Value, span: Span, tables: &Tables) -> Ty {
    match (ty, value) {
        (Ty::Array(..), _) => match seq::shape(value) {
            Some(shape) => with_shape(ty, shape, span),
            None => ty.clone(),
        },
        (Ty::Tuple(ts), Value::Tuple(vs)) => {
            Ty::Tuple(ts.iter().zip(&vs.0).map(|(t, v)| refine(t, v, span, tables)).collect())
        }
        (Ty::Record(r), Value::Record(vs)) => {
            let fields = r
                .fields
                .iter()
                .map(|(n, t)| {
                    let v = vs.names.iter().position(|m| m == n).map(|i| &vs.vals[i]);
                    (*n, v.map_or_else(|| t.clone(), |v| refine(t, v, span, tables)))
                })
                .collect();
            Ty::Record(Rc::new(RecordTy { fields, tail: r.tail.clone() }))
        }
        (Ty::Data(id, args), Value::Data(d)) => {
            // `Some xs`: a field whose type is a parameter determines the parameter's sizes. If several fields have
            // that type, or the data type is recursive, no single size exists.
            let Some(decl) = tables.datas.get(id) else { return ty.clone() };
            let fields = decl.cons.get(d.con.tag as usize).map_or(&[][..], |c| &c.fields);
            let of = |p: &adl_typing::ty::TyVar| match fields {
                [Ty::Var(q)] if q == p => d.fields.first(),
                _ => None,
            };
            let args = decl
                .params
                .iter()
                .zip(args.iter())
                .map(|(p, a)| of(p).map_or_else(|| a.clone(), |v| refine(a, v, span, tables)));
            Ty::Data(*id, args.collect())
        }
        _ => ty.clone(),
    }
}

fn with_shape(t: &Ty, shape: &[usize], span: Span) -> Ty {
    match (t, shape) {
        (Ty::Array(n, e), [k, rest @ ..]) => {
            let size = if *n == Size::known(*k as u64) { *n } else { Size::from(*k as u64, span) };
            Ty::Array(size, Rc::new(with_shape(e, rest, span)))
        }
        (t, _) => t.clone(),
    }
}
