//! Plain values that the function of `comm.each` captures: its derivative sums their cotangents over the ranks.

use super::{CollectiveSite, collective, part};
use crate::ad::level_of;
use crate::error::Res;
use crate::value::{Array, Buf, Record, Tuple, Value};
use crate::vm::{Fun, Machine, RecursiveGroup};
use adl_ir::Collective;
use std::rc::Rc;

/// A plain value as the part of each rank: its traced numbers are recorded, in one operation of the kind.
pub(crate) fn spread(m: &mut Machine, value: &Value, kind: Collective, at: &Value) -> Res<Value> {
    let mut found = Vec::new();
    map_traced(value, &mut |x| {
        found.push(x.clone());
        x.clone()
    });
    if found.is_empty() {
        return Ok(value.clone());
    }
    let site = CollectiveSite { at: m.user_place(), of: None, everywhere: true };
    let mut made = collective(m, kind, found, at, site)?.into_iter();
    Ok(map_traced(value, &mut |x| made.next().unwrap_or_else(|| x.clone())))
}

/// A function whose captured plain values are spread.
pub(crate) fn spread_captured(m: &mut Machine, f: &Value, kind: Collective, at: &Value) -> Res<Value> {
    if m.ad.depth() == 0 { Ok(f.clone()) } else { spread(m, f, kind, at) }
}

/// Replaces each traced number or array, from left to right, except in parts of values that differ from rank to rank.
fn map_traced(value: &Value, fn_mut: &mut dyn FnMut(&Value) -> Value) -> Value {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut all = |vs: &[Value]| -> Vec<Value> { vs.iter().map(|v| map_traced(v, fn_mut)).collect() };
        match value {
            v if level_of(v) > 0 => fn_mut(v),
            v if part(v).is_some() => v.clone(),
            Value::Tuple(t) => Value::Tuple(Rc::new(Tuple(all(&t.0)))),
            Value::Record(r) => Value::Record(Rc::new(Record { names: r.names.clone(), vals: all(&r.vals) })),
            Value::Data(d) => Value::data(d.con.clone(), all(&d.fields)),
            Value::Array(a) if a.is_flat() => value.clone(),
            Value::Array(a) => {
                let buf = match a.buf() {
                    Buf::Tuple(columns) => Buf::Tuple(all(columns)),
                    Buf::Record(names, columns) => Buf::Record(names.clone(), all(columns)),
                    Buf::Boxed(vs) => Buf::Boxed(all(vs)),
                    _ => return value.clone(),
                };
                Value::Array(Rc::new(Array::new(a.shape.clone(), buf)))
            }
            Value::Fun(g) => Value::Fun(Rc::new(match &**g {
                Fun::Closure(code, vals) => Fun::Closure(code.clone(), all(vals)),
                Fun::Member(group, i) => Fun::Member(
                    Rc::new(RecursiveGroup { codes: group.codes.clone(), captured: all(&group.captured) }),
                    *i,
                ),
                Fun::Partial(h, args) => {
                    let mut parts = all(&[&[Value::Fun(h.clone())], args.as_slice()].concat());
                    match parts.remove(0) {
                        Value::Fun(h) => Fun::Partial(h, parts),
                        _ => return value.clone(),
                    }
                }
                Fun::Custom(h, rule, vjp) => match all(&[h.clone(), rule.clone()]).as_slice() {
                    [h, rule] => Fun::Custom(h.clone(), rule.clone(), *vjp),
                    _ => return value.clone(),
                },
                Fun::Checkpoint(h) => Fun::Checkpoint(map_traced(h, fn_mut)),
                Fun::Invertible(r) => Fun::Invertible(map_traced(r, fn_mut)),
                Fun::Prim(..) | Fun::Linear(_) | Fun::Host(_) => return value.clone(),
            })),
            _ => value.clone(),
        }
    })
}
