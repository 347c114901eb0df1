//! Sums and multiples of `Diff` data, leaf by leaf.

use super::arith;
use crate::error::Res;
use crate::upcalls::{Upcalls, call};
use crate::value::Value;
use crate::value::vector_space::{is_real, map_leaves, narrow, zip_leaves};
use adl_prim::{Bin, NumberFn, Prim};

/// `a + b` or `a - b` on data.
pub fn combine(machine: &mut dyn Upcalls, op: Bin, a: &Value, b: &Value) -> Res<Value> {
    match (a, b) {
        (_, Value::Zero) => return Ok(a.clone()),
        (Value::Zero, _) if op == Bin::Add => return Ok(b.clone()),
        (Value::Zero, _) => return scale(machine, &Value::Float(-1.0), b),
        _ => {}
    }
    zip_leaves(a, b, &mut |x, y| {
        machine.poll()?;
        match (x, y) {
            (_, Value::Zero) => Ok(x.clone()),
            (Value::Zero, _) => combine(machine, op, x, y),
            _ if is_real(x) || is_real(y) => arith::bin(machine, op, x.clone(), y.clone()),
            _ => Ok(x.clone()),
        }
    })
}

/// `s * v` on data.
pub fn scale(m: &mut dyn Upcalls, s: &Value, v: &Value) -> Res<Value> {
    scaled(m, s, v, &mut |m, s, x| arith::bin(m, Bin::Mul, s, x))
}

/// `v / s` on data.
pub fn divide(m: &mut dyn Upcalls, v: &Value, s: &Value) -> Res<Value> {
    scaled(m, s, v, &mut |m, s, x| arith::bin(m, Bin::Div, x, s))
}

/// Applies `f` to `s` and each real leaf.
fn scaled(
    machine: &mut dyn Upcalls,
    s: &Value,
    v: &Value,
    f: &mut dyn FnMut(&mut dyn Upcalls, Value, Value) -> Res<Value>,
) -> Res<Value> {
    map_leaves(v, &mut |x| {
        machine.poll()?;
        if !is_real(x) {
            return Ok(x.clone());
        }
        let s = like(machine, s, x)?;
        f(machine, s, x.clone())
    })
}

/// Converts a number to the precision of the leaf that it scales.
pub fn like(m: &mut dyn Upcalls, s: &Value, leaf: &Value) -> Res<Value> {
    match (narrow(s), narrow(leaf)) {
        (false, true) => call(m, Prim::Number(NumberFn::ToF32), &[], vec![s.clone()]),
        (true, false) => call(m, Prim::Number(NumberFn::ToFloat), &[], vec![s.clone()]),
        _ => Ok(s.clone()),
    }
}
