//! Conversion of data to vectors of their real leaves, and the check of gradients by finite differences.

use super::grad;
use crate::ad::linear::leaves;
use crate::ad::rules::reshape;
use crate::error::{Error, Res, codes};
use crate::ops::call;
use crate::value::{Buf, Shape, Value, array, compare, seq, vector_space};
use crate::vm::Machine;
use adl_prim::{ArrayFn, NumberFn, Prim};
use std::rc::Rc;

/// The real leaves of data as one vector.
pub(super) fn ravel(m: &mut Machine, v: &Value) -> Res<Value> {
    let mut all = array::floats(Vec::new());
    let parts = leaves(v);
    if let ([one], true) = (parts.as_slice(), parts.first().and_then(seq::shape).is_some_and(|s| s.len() == 1)) {
        return call(m, Prim::Number(NumberFn::ToFloat), &[], vec![one.clone()]);
    }
    let mut run: Vec<Value> = Vec::new();
    for leaf in parts {
        let leaf = call(m, Prim::Number(NumberFn::ToFloat), &[], vec![leaf])?;
        match seq::shape(&leaf).cloned() {
            None => run.push(leaf),
            Some(s) => {
                if !run.is_empty() {
                    let scalars = seq::pack(m, std::mem::take(&mut run))?;
                    all = call(m, Prim::Array(ArrayFn::Concat), &[], vec![all, scalars])?;
                }
                let flat = reshape(m, leaf, Shape::from_slice(&[s.iter().product()]))?;
                all = call(m, Prim::Array(ArrayFn::Concat), &[], vec![all, flat])?;
            }
        }
    }
    if !run.is_empty() {
        let scalars = seq::pack(m, run)?;
        all = call(m, Prim::Array(ArrayFn::Concat), &[], vec![all, scalars])?;
    }
    Ok(all)
}

/// Data with the structure of `like`, whose real leaves are taken from a vector.
pub(super) fn unravel(m: &mut Machine, like: &Value, v: &Value) -> Res<Value> {
    let n = seq::len(v);
    let need: usize = leaves(like).iter().map(|l| seq::shape(l).map_or(1, |s| s.iter().product())).sum();
    if n != need {
        return Err(Error::new(codes::SIZE, format!("`unravel`: the vector has {n} numbers and the data {need}")));
    }
    let mut at = 0;
    vector_space::map_leaves(like, &mut |leaf| {
        if !vector_space::is_real(leaf) {
            return Ok(leaf.clone());
        }
        let leaf = compare::primal(leaf);
        let x = match seq::shape(&leaf).cloned() {
            None => {
                at += 1;
                seq::elem(m, v, at - 1)?
            }
            Some(s) => {
                let k: usize = s.iter().product();
                let part = if k == n {
                    v.clone()
                } else {
                    let indices = array::ints((at..at + k).map(|i| i as i64).collect());
                    call(m, Prim::Array(ArrayFn::Gather), &[], vec![v.clone(), indices])?
                };
                at += k;
                reshape(m, part, s)?
            }
        };
        if vector_space::narrow(&leaf) { call(m, Prim::Number(NumberFn::ToF32), &[], vec![x]) } else { Ok(x) }
    })
}

/// Compares the gradient with central differences in every real leaf.
pub(super) fn gradcheck(m: &mut Machine, f: &Value, x: &Value) -> Res<Value> {
    let (_, g) = grad(m, f, x, false)?;
    let (flat, flat_g) = (ravel(m, x)?, ravel(m, &g)?);
    let read = |v: &Value| match compare::primal(v) {
        Value::Array(a) => match a.buf() {
            Buf::F64(v) => v.clone(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let (x0, g0) = (read(&flat), read(&flat_g));
    // The step that balances truncation against rounding, for the precision of the least precise leaf.
    let single = leaves(x).iter().any(vector_space::narrow);
    let (step, tolerance) = if single { (5e-3, 2e-3) } else { (6e-6, 1e-5) };
    let (mut worst, mut at, mut both) = (0.0f64, 0, (0.0, 0.0));
    for i in 0..x0.len() {
        let h = step * x0[i].abs().max(1.0);
        let mut moved_by = |d: f64| -> Res<f64> {
            let mut v = x0.clone();
            v[i] += d;
            let moved = unravel(m, x, &array::floats(v))?;
            let y = m.call(f, &[moved])?;
            Ok(match compare::primal(&y) {
                Value::Float(y) => y,
                Value::F32(y) => f64::from(y),
                _ => f64::NAN,
            })
        };
        let numeric = (moved_by(h)? - moved_by(-h)?) / (2.0 * h);
        let error = (numeric - g0[i]).abs() / numeric.abs().max(g0[i].abs()).max(1.0);
        // The first nan is reported as the worst error.
        if !worst.is_nan() && (i == 0 || error.is_nan() || error > worst) {
            (worst, at, both) = (error, i as i64, (g0[i], numeric));
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
