//! The derivative operators (see docs/book/src/reference/differentiation.md). Module `custom` implements custom derivative rules,
//! `checkpoint` recomputation, `ravel` the conversion of data to vectors and the check of gradients by finite
//! differences, `sparse` Jacobians.

mod checkpoint;
pub(super) mod custom;
pub(crate) mod derivative;
mod ravel;
mod sparse;
mod transpose;

pub(crate) use super::linear::lift;
pub(crate) use checkpoint::checkpointed;
pub(crate) use custom::{custom, on_host};

use super::linear::{self, LinearMap, linear_fun};
use super::{DerivativeLevel, DerivativePart, Dual, split};
use crate::error::Res;
use crate::ir::derive;
use crate::upcalls::Upcalls;
use crate::value::{Tuple, Value, compare, vector_space};
use crate::vm::{Fun, Machine};
use adl_prim::{DerivativeFn, Prim};
use std::rc::Rc;
use std::time::Instant;
use transpose::transpose;

fn pair(a: Value, b: Value) -> Value {
    Value::Tuple(Rc::new(Tuple(vec![a, b])))
}

/// Applies a derivative operator.
pub(crate) fn apply(machine: &mut Machine, prim: DerivativeFn, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    let mut operands: Vec<Value> = args.iter_mut().map(std::mem::take).collect();
    if !matches!(
        prim,
        DerivativeFn::StopGrad
            | DerivativeFn::Checkpoint
            | DerivativeFn::CustomJvp
            | DerivativeFn::CustomVjp
            | DerivativeFn::Ravel
            | DerivativeFn::Unravel
    ) {
        machine.compiled_ad.op = prim.row().name.trim_start_matches("__");
    }
    match prim {
        DerivativeFn::Jvp => jvp(machine, &operands[0], &operands[1], &operands[2]).map(|(y, t)| pair(y, t)),
        DerivativeFn::Linearize | DerivativeFn::Vjp => {
            let (y, map) = derivative::record(machine, &operands[0], &operands[1])?;
            Ok(pair(y, linear_fun(LinearMap { transposed: prim == DerivativeFn::Vjp, ..map })))
        }
        DerivativeFn::Grad => grad(machine, &operands[0], &operands[1], false).map(|(_, g)| g),
        DerivativeFn::ValueAndGrad => grad(machine, &operands[0], &operands[1], true).map(|(y, g)| pair(y, g)),
        DerivativeFn::GradWith => {
            derive::under(machine, &operands[0], |m| grad(m, &operands[1], &operands[2], false)).map(|(_, g)| g)
        }
        DerivativeFn::ValueAndGradWith => {
            derive::under(machine, &operands[0], |m| grad(m, &operands[1], &operands[2], true)).map(|(y, g)| pair(y, g))
        }
        DerivativeFn::ResidualsUnder => {
            derive::residuals_report::residuals(machine, &operands[0], &operands[1], operands[2].clone())
        }
        DerivativeFn::Cost => derive::cost::cost(machine, &operands[0], &operands[1]),
        DerivativeFn::Transpose => transpose(machine, &operands[0], None, reps),
        DerivativeFn::TransposeAt => transpose(machine, &operands[1], Some(&operands[0]), reps),
        DerivativeFn::Jacobian | DerivativeFn::Jacfwd | DerivativeFn::Jacrev => {
            sparse::jacobian(machine, prim, &operands[0], &operands[1])
        }
        DerivativeFn::JacobianSparse => sparse::jacobian_sparse(machine, &operands[0], &operands[1]),
        DerivativeFn::Hessian => {
            // The hidden argument here is the type of the numbers, not of the point.
            let g = gradient_of(&operands[0], &[]);
            sparse::jacobian(machine, DerivativeFn::Jacrev, &g, &operands[1])
        }
        DerivativeFn::Hvp => {
            let g = gradient_of(&operands[0], reps);
            jvp(machine, &g, &operands[1], &operands[2]).map(|(_, t)| t)
        }
        DerivativeFn::StopGrad => Ok(super::traced::primal_of(&operands[0])),
        DerivativeFn::Checkpoint => Ok(Value::Fun(Rc::new(Fun::Checkpoint(operands[0].clone())))),
        DerivativeFn::CustomJvp | DerivativeFn::CustomVjp => Ok(Value::Fun(Rc::new(Fun::Custom(
            operands[0].clone(),
            operands[1].clone(),
            prim == DerivativeFn::CustomVjp,
        )))),
        DerivativeFn::Gradcheck => ravel::gradcheck(machine, &operands[0], &operands[1]),
        DerivativeFn::Ravel => ravel::ravel(machine, &operands[0]),
        DerivativeFn::Unravel => ravel::unravel(machine, &operands[0], &operands[1]),
        DerivativeFn::Engine => crate::engine::apply(machine, &mut operands),
        DerivativeFn::EngineGrad => crate::engine::strict_gradient(machine, &operands[0], &operands[1], &operands[2]),
    }
}

/// The function `grad func`.
fn gradient_of(func: &Value, reps: &[Value]) -> Value {
    let grad = Fun::Prim(Prim::Derivative(DerivativeFn::Grad), reps.to_vec());
    Value::Fun(Rc::new(Fun::Partial(Rc::new(grad), vec![func.clone()])))
}

fn jvp(m: &mut Machine, f: &Value, x: &Value, v: &Value) -> Res<(Value, Value)> {
    if let Some(out) = crate::ir::derive::jvp(m, f, x, v)? {
        return Ok(out);
    }
    let level = m.ad.open(DerivativeLevel::Forward)?;
    let out = jvp_at(m, level, f, x, v);
    m.ad.reset_to(level as usize - 1);
    out
}

fn jvp_at(machine: &mut Machine, level: u16, func: &Value, x: &Value, value: &Value) -> Res<(Value, Value)> {
    let lifted = if matches!(value, Value::Zero) {
        x.clone()
    } else {
        linear::same_structure("the direction", value, x)?;
        vector_space::zip_leaves(x, value, &mut |x, t| {
            if !vector_space::is_real(x) {
                return Ok(x.clone());
            }
            Ok(Value::Dual(Rc::new(Dual { level, primal: x.clone(), part: DerivativePart::Tangent(t.clone()) })))
        })?
    };
    let y = Upcalls::call(machine, func, &[lifted])?;
    let primal = vector_space::map_leaves(&y, &mut |v| Ok(split(v, level).0))?;
    let tangent = vector_space::map_leaves(&y, &mut |v| {
        Ok(match split(v, level) {
            (p, Some(DerivativePart::Tangent(t))) => super::sweep::or_zero(t, &p),
            (p, _) if vector_space::is_real(&p) => vector_space::zero_like(&p),
            (p, _) => p,
        })
    })?;
    Ok((primal, tangent))
}

/// The value and the gradient. If `value` is false, the value may be left out.
fn grad(machine: &mut Machine, func: &Value, input: &Value, value: bool) -> Res<(Value, Value)> {
    let (tape, start) = (machine.ad.new_tape(), Instant::now());
    let (output, mut map) = match derive::record_gradient(machine, func, input, value)? {
        Some(derive::Differentiated::FusedGradient(y, g)) => {
            machine.ad.recycle(tape);
            return Ok((y, g));
        }
        Some(derive::Differentiated::Map(y, map)) => {
            machine.ad.recycle(tape);
            (y, map)
        }
        None => linear::taped(machine, tape, func, input)?,
    };
    map.transposed = true;
    let one = match compare::primal(&output) {
        Value::F32(_) => Value::F32(1.0),
        _ => Value::Float(1.0),
    };
    let g = derivative::apply(machine, &map, one)?;
    derive::took(&map, start);
    if let Ok(tape) = Rc::try_unwrap(map.tape) {
        machine.ad.recycle(tape);
    }
    Ok((output, g))
}
