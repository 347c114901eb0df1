//! Reductions of untraced arrays. Sums are taken over fixed chunks, so that their bits do not depend on the
//! implementation.

use super::interrupt::InterruptFlag;
use super::{cumulative, kernels, len, lengths_differ, linalg, rep_of, sorting};
use crate::error::Res;
use crate::ops::arith;
use crate::polling;
use crate::upcalls::Upcalls;
use crate::value::{Array, Buf, Kind, Rep, Shape, Value, array, compare, seq};
use adl_prim::scalar::norm_unit;
use adl_prim::{Bin, ReductionFn, Un};
use std::cmp::Ordering;
use std::rc::Rc;

pub(super) fn apply(
    machine: &mut dyn Upcalls,
    reduction: ReductionFn,
    reps: &[Value],
    args: &mut [Value],
) -> Res<Value> {
    let value = super::take(args, 0);
    let name = reduction.row().name;
    match reduction {
        ReductionFn::Sum => sum(machine, &value, &rep_of(reps)),
        ReductionFn::Prod => prod(machine, &value, &rep_of(reps)),
        ReductionFn::Mean => {
            let s = sum(machine, &value, &rep_of(reps))?;
            let n = number_like(len(&value) as f64, &s);
            arith::bin(machine, Bin::Div, s, n)
        }
        ReductionFn::Maximum | ReductionFn::Minimum => {
            let i = sorting::extreme(
                name,
                &value,
                if reduction == ReductionFn::Maximum { Ordering::Greater } else { Ordering::Less },
            )?;
            seq::elem(machine, &value, i)
        }
        ReductionFn::Dot => dot(machine, &value, &args[1], &rep_of(reps)),
        ReductionFn::Outer => outer(machine, &value, &args[1]),
        ReductionFn::Norm if len(&value) == 0 => Ok(unit(&rep_of(reps), 0)),
        ReductionFn::Norm => norm(machine, value),
        ReductionFn::Any | ReductionFn::All => Ok(Value::Bool(quantified(reduction == ReductionFn::Any, &value))),
        ReductionFn::Argsort => sorting::argsort(InterruptFlag(machine.interrupt()), &value),
        ReductionFn::Argmin | ReductionFn::Argmax => {
            let order = if reduction == ReductionFn::Argmin { Ordering::Less } else { Ordering::Greater };
            sorting::extreme(name, &value, order).map(|i| Value::Int(i as i64))
        }
        ReductionFn::Cumsum => cumulative::apply(machine, Bin::Add, value),
        ReductionFn::Cumprod => cumulative::apply(machine, Bin::Mul, value),
        ReductionFn::MatMul => linalg::product(InterruptFlag(machine.interrupt()), &value, &args[1]),
    }
}

/// sqrt (sum (x * x)), computed from scaled elements if squares overflow or underflow. The derivative at 0 is
/// 0.
pub(crate) fn norm(machine: &mut dyn Upcalls, value: Value) -> Res<Value> {
    let squares = sum_of_squares(machine, value.clone())?;
    let (sum, single) = match compare::primal(&squares) {
        Value::Float(x) => (x, false),
        Value::F32(x) => (f64::from(x), true),
        _ => return arith::un(machine, Un::Sqrt, squares),
    };
    let unit = norm_unit(sum, single);
    if unit == 1.0 {
        return arith::un(machine, Un::Sqrt, squares);
    }
    let like = |x: f64| if single { Value::F32(x as f32) } else { Value::Float(x) };
    let scaled = arith::bin(machine, Bin::Mul, value, like(unit))?;
    let s = sum_of_squares(machine, scaled)?;
    if matches!(compare::primal(&s), Value::Float(0.0) | Value::F32(0.0)) {
        return Ok(like(0.0));
    }
    let r = arith::un(machine, Un::Sqrt, s)?;
    arith::bin(machine, Bin::Div, r, like(unit))
}

fn sum_of_squares(m: &mut dyn Upcalls, v: Value) -> Res<Value> {
    let squares = arith::bin(m, Bin::Mul, v.clone(), v)?;
    super::shapes::total(m, squares)
}

/// Whether any (if `any`) or all of some Bools are true.
fn quantified(any: bool, v: &Value) -> bool {
    let Value::Array(a) = v else { return !any };
    match a.buf() {
        Buf::Bool(b) if any => b.iter().any(|x| *x),
        Buf::Bool(b) => b.iter().all(|x| *x),
        _ => !any,
    }
}

fn number_like(x: f64, v: &Value) -> Value {
    match v {
        Value::F32(_) => Value::F32(x as f32),
        Value::Array(a) if a.kind() == Kind::F32 => Value::F32(x as f32),
        _ => Value::Float(x),
    }
}

fn unit(rep: &Rep, x: i64) -> Value {
    match rep {
        Rep::Int => Value::Int(x),
        Rep::F32 => Value::F32(x as f32),
        Rep::Float | Rep::Other => Value::Float(x as f64),
        other => other.zero(),
    }
}

fn sum(machine: &mut dyn Upcalls, value: &Value, rep: &Rep) -> Res<Value> {
    let Value::Array(array) = value else { return Ok(unit(rep, 0)) };
    let one = array.shape.len() == 1;
    match array.buf() {
        Buf::F64(x) if one => Ok(Value::Float(kernels::sum(x))),
        Buf::F32(x) if one => Ok(Value::F32(kernels::sum_of_singles(x))),
        Buf::I64(x) if one => x.iter().try_fold(0i64, |a, b| arith::int_bin(Bin::Add, a, *b)).map(Value::Int),
        Buf::F64(x) => {
            let row: usize = array.shape[1..].iter().product();
            let mut out = array::filled(0.0, row)?;
            for (i, r) in x.chunks_exact(row.max(1)).enumerate() {
                if i % 1024 == 0 {
                    polling::poll()?;
                }
                out.iter_mut().zip(r).for_each(|(o, v)| *o += v);
            }
            Ok(array::make(array.shape[1..].into(), Buf::F64(out)))
        }
        Buf::Tuple(cols) => {
            let parts = cols.iter().map(|c| sum(machine, c, &Rep::Float)).collect::<Res<Vec<_>>>()?;
            Ok(Value::Tuple(Rc::new(crate::value::Tuple(parts))))
        }
        Buf::Record(names, cols) => {
            let vals = cols.iter().map(|c| sum(machine, c, &Rep::Float)).collect::<Res<Vec<_>>>()?;
            Ok(Value::Record(Rc::new(crate::value::Record { names: names.clone(), vals })))
        }
        _ if array.is_empty() => Ok(unit(rep, 0)),
        _ => fold(machine, Bin::Add, array),
    }
}

fn fold(m: &mut dyn Upcalls, op: Bin, a: &Array) -> Res<Value> {
    let mut acc = array::elem(a, 0);
    for i in 1..a.len() {
        if i % 4096 == 0 {
            polling::poll()?;
        }
        acc = arith::bin(m, op, acc, array::elem(a, i))?;
    }
    Ok(acc)
}

fn prod(machine: &mut dyn Upcalls, v: &Value, rep: &Rep) -> Res<Value> {
    let Value::Array(a) = v else { return Ok(unit(rep, 1)) };
    match a.buf() {
        Buf::F64(x) if a.shape.len() == 1 => Ok(Value::Float(x.iter().product())),
        _ if a.is_empty() && a.shape.len() == 1 => Ok(match a.buf() {
            Buf::I64(_) => Value::Int(1),
            _ => unit(rep, 1),
        }),
        _ if a.is_empty() => {
            Ok(array::make(a.shape[1..].into(), Buf::F64(array::filled(1.0, a.shape[1..].iter().product())?)))
        }
        _ => fold(machine, Bin::Mul, a),
    }
}

fn dot(m: &mut dyn Upcalls, x: &Value, y: &Value, rep: &Rep) -> Res<Value> {
    if len(x) != len(y) {
        return Err(lengths_differ("dot", len(x), len(y)));
    }
    if let (Value::Array(a), Value::Array(b)) = (x, y)
        && let (Buf::F64(p), Buf::F64(q)) = (a.buf(), b.buf())
    {
        return Ok(Value::Float(kernels::dot(p, q)));
    }
    let z = arith::bin(m, Bin::Mul, x.clone(), y.clone())?;
    sum(m, &z, rep)
}

fn outer(machine: &mut dyn Upcalls, left: &Value, right: &Value) -> Res<Value> {
    let (height, width) = (len(left), len(right));
    array::count(&[height, width])?;
    if let (Value::Array(a), Value::Array(b)) = (left, right)
        && let (Buf::F64(p), Buf::F64(q)) = (a.buf(), b.buf())
    {
        let mut out = array::room(height * width)?;
        for a in p {
            polling::poll()?;
            out.extend(q.iter().map(|b| a * b));
        }
        return Ok(array::make(Shape::from_slice(&[height, width]), Buf::F64(out)));
    }
    if height == 0
        && let Value::Array(b) = right
    {
        return Ok(Value::Array(Rc::new(array::gather_rows(b, &[], &[0, width])?)));
    }
    let mut rows = Vec::new();
    for i in 0..height {
        let a = seq::elem(machine, left, i)?;
        rows.push(arith::bin(machine, Bin::Mul, a, right.clone())?);
    }
    seq::pack(machine, rows)
}
