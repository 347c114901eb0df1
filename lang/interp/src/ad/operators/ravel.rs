//! Conversion of data to vectors of their real leaves, and the check of gradients by finite differences.

use super::grad;
use crate::ad::linear::leaves;
use crate::ad::rules::reshape;
use crate::error::{Error, Res, codes};
use crate::ops::call;
use crate::upcalls::Upcalls;
use crate::value::{Buf, Shape, Value, array, compare, seq, vector_space};
use crate::vm::Machine;
use adl_prim::{ArrayFn, NumberFn, Prim};
use std::rc::Rc;

/// The real leaves of data as one vector.
pub(super) fn ravel(machine: &mut Machine, v: &Value) -> Res<Value> {
    let mut all = array::floats(Vec::new());
    let parts = leaves(v);
    if let ([one], true) = (parts.as_slice(), parts.first().and_then(seq::shape).is_some_and(|s| s.len() == 1)) {
        return call(machine, Prim::Number(NumberFn::ToFloat), &[], vec![one.clone()]);
    }
    let mut run: Vec<Value> = Vec::new();
    for leaf in parts {
        let leaf = call(machine, Prim::Number(NumberFn::ToFloat), &[], vec![leaf])?;
        match seq::shape(&leaf).cloned() {
            None => run.push(leaf),
            Some(s) => {
                if !run.is_empty() {
                    let scalars = seq::pack(machine, std::mem::take(&mut run))?;
                    all = call(machine, Prim::Array(ArrayFn::Append), &[], vec![all, scalars])?;
                }
                let flat = reshape(machine, leaf, Shape::from_slice(&[s.iter().product()]))?;
                all = call(machine, Prim::Array(ArrayFn::Append), &[], vec![all, flat])?;
            }
        }
    }
    if !run.is_empty() {
        let scalars = seq::pack(machine, run)?;
        all = call(machine, Prim::Array(ArrayFn::Append), &[], vec![all, scalars])?;
    }
    Ok(all)
}

/// Data with the structure of `like`, whose real leaves are taken from a vector.
pub(super) fn unravel(machine: &mut Machine, like: &Value, value: &Value) -> Res<Value> {
    let len = seq::len(value);
    let need: usize = leaves(like).iter().map(|l| seq::shape(l).map_or(1, |s| s.iter().product())).sum();
    if len != need {
        return Err(Error::new(codes::SIZE, format!("`unravel`: the vector has {len} numbers and the data {need}")));
    }
    let mut at = 0;
    vector_space::map_leaves(like, &mut |leaf| {
        if !vector_space::is_real(leaf) {
            return Ok(leaf.clone());
        }
        let leaf = compare::primal(leaf);
        let rebuilt = match seq::shape(&leaf).cloned() {
            None => {
                at += 1;
                seq::elem(machine, value, at - 1)?
            }
            Some(s) => {
                let k: usize = s.iter().product();
                let part = if k == len {
                    value.clone()
                } else {
                    let indices = array::ints((at..at + k).map(|i| i as i64).collect());
                    call(machine, Prim::Array(ArrayFn::Gather), &[], vec![value.clone(), indices])?
                };
                at += k;
                reshape(machine, part, s)?
            }
        };
        if vector_space::narrow(&leaf) {
            call(machine, Prim::Number(NumberFn::ToF32), &[], vec![rebuilt])
        } else {
            Ok(rebuilt)
        }
    })
}

/// Compares the gradient with central differences in every real leaf.
pub(super) fn gradcheck(machine: &mut Machine, func: &Value, input: &Value) -> Res<Value> {
    let (_, g) = grad(machine, func, input, false)?;
    let (flat, flat_g) = (ravel(machine, input)?, ravel(machine, &g)?);
    let read = |v: &Value| match compare::primal(v) {
        Value::Array(a) => match a.buf() {
            Buf::F64(v) => v.clone(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let (x0, g0) = (read(&flat), read(&flat_g));
    // The step that balances truncation against rounding, for the precision of the least precise leaf.
    let single = leaves(input).iter().any(vector_space::narrow);
    let (step, tolerance) = if single { (5e-3, 2e-3) } else { (6e-6, 1e-5) };
    let (mut worst, mut at, mut both) = (0.0f64, 0, (0.0, 0.0));
    for index in 0..x0.len() {
        let delta = step * x0[index].abs().max(1.0);
        let mut moved_by = |d: f64| -> Res<f64> {
            let mut v = x0.clone();
            v[index] += d;
            let moved = unravel(machine, input, &array::floats(v))?;
            let y = Upcalls::call(machine, func, &[moved])?;
            Ok(match compare::primal(&y) {
                Value::Float(y) => y,
                Value::F32(y) => f64::from(y),
                _ => f64::NAN,
            })
        };
        let numeric = (moved_by(delta)? - moved_by(-delta)?) / (2.0 * delta);
        let error = (numeric - g0[index]).abs() / numeric.abs().max(g0[index].abs()).max(1.0);
        // The first nan is reported as the worst error.
        if !worst.is_nan() && (index == 0 || error.is_nan() || error > worst) {
            (worst, at, both) = (error, index as i64, (g0[index], numeric));
        }
    }
    let names: Rc<[_]> = ["at", "difference", "gradient", "max_error", "ok"]
        .iter()
        .map(|n| adl_syntax::symbol::Symbol::new(n))
        .collect();
    let ok = worst < tolerance;
    Ok(Value::Record(Rc::new(crate::value::Record {
        names,
        vals: vec![Value::Int(at), Value::Float(both.1), Value::Float(both.0), Value::Float(worst), Value::Bool(ok)],
    })))
}
