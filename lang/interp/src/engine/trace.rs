//! Runs a function with traced numbers, and rebuilds data from numbers.

use crate::ad::linear::{self, Traced};
use crate::ad::rules::reshape;
use crate::ad::tape::{NONE, Tape};
use crate::ad::{DerivativeLevel, operators, sweep};
use crate::error::Res;
use crate::upcalls::{Upcalls, call};
use crate::value::{Buf, Value, array, compare, seq, vector_space};
use crate::vm::Machine;
use adl_prim::{NumberFn, Prim};

/// The result of a traced run.
pub(super) struct Trace {
    pub tape: Tape,
    pub input: Traced,
    /// The node of the result; [`NONE`] if it depends on no input.
    pub output: u32,
    pub value: Value,
}

impl Trace {
    /// The gradient, from the cotangents of the leaves of the input.
    pub fn gradient(&self, parts: Vec<Value>) -> Res<Value> {
        let like = linear::leaves(&self.input.like);
        let parts: Vec<Value> = parts.into_iter().zip(&like).map(|(v, like)| sweep::or_zero(v, like)).collect();
        linear::rebuild(&self.input.like, parts.into_iter())
    }
}

/// Runs `f x` with the numbers in `x` traced.
pub(super) fn trace(m: &mut Machine, f: &Value, x: &Value) -> Res<Trace> {
    let level = m.ad.open(DerivativeLevel::Reverse(Tape::default()))?;
    let out = run(m, level, f, x);
    let tape = m.ad.close(level);
    let (value, input, output) = out?;
    Ok(Trace { tape, input, output, value })
}

fn run(m: &mut Machine, level: u16, f: &Value, x: &Value) -> Res<(Value, Traced, u32)> {
    let (lifted, input) = operators::lift(m, level, x)?;
    let y = Upcalls::call(m, f, &[lifted])?;
    let (value, output) = linear::lower(&y, level)?;
    Ok((value, input, output.nodes.first().copied().unwrap_or(NONE)))
}

/// The number 1, with the precision of `like`.
pub(super) fn one(like: &Value) -> Value {
    match compare::primal(like) {
        Value::F32(_) => Value::F32(1.0),
        _ => Value::Float(1.0),
    }
}

/// Data with the structure of `like` and the given numbers, in order.
pub(super) fn assemble(machine: &mut dyn Upcalls, like: &Value, numbers: Vec<Value>) -> Res<Value> {
    let mut numbers = numbers.into_iter();
    vector_space::map_leaves(like, &mut |leaf| {
        if !vector_space::is_real(leaf) {
            return Ok(leaf.clone());
        }
        let v = match seq::shape(leaf).cloned() {
            None => numbers.next().unwrap_or(Value::Float(0.0)),
            Some(shape) => {
                let part: Vec<Value> = numbers.by_ref().take(shape.iter().product()).collect();
                let flat = if part.is_empty() { array::floats(Vec::new()) } else { seq::pack(machine, part)? };
                reshape(machine, flat, shape)?
            }
        };
        if vector_space::narrow(leaf) { call(machine, Prim::Number(NumberFn::ToF32), &[], vec![v]) } else { Ok(v) }
    })
}

/// The elements of a number or an array, as Floats.
pub(super) fn numbers(machine: &mut dyn Upcalls, v: &Value) -> Res<Vec<Value>> {
    let value = if vector_space::narrow(v) {
        call(machine, Prim::Number(NumberFn::ToFloat), &[], vec![v.clone()])?
    } else {
        v.clone()
    };
    let Some(shape) = seq::shape(&value).cloned() else { return Ok(vec![value]) };
    if let Value::Array(a) = &value
        && let Buf::F64(x) = a.buf()
    {
        return Ok(x.iter().map(|x| Value::Float(*x)).collect());
    }
    let n: usize = shape.iter().product();
    let flat = reshape(machine, value, [n][..].into())?;
    (0..n).map(|i| seq::elem(machine, &flat, i)).collect()
}
