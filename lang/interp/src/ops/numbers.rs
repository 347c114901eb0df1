//! Functions of numbers and Bools that are not scalar operators: logic, tests, constants and conversions.

use super::{arith, masks, rep_of, take};
use crate::error::Res;
use crate::upcalls::Upcalls;
use crate::value::{Rep, Value, compare};
use adl_prim::{Bin, NumberFn, Un};

pub(super) fn apply(machine: &mut dyn Upcalls, prim: NumberFn, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    match prim {
        NumberFn::PowInt => match (take(args, 0), &args[1]) {
            (x, Value::Int(n)) => match i32::try_from(*n) {
                Ok(n) => arith::un(machine, Un::Powi(n), x),
                Err(_) => arith::bin(machine, Bin::Pow, x, Value::Int(*n)),
            },
            (x, n) => arith::bin(machine, Bin::Pow, x, n.clone()),
        },
        NumberFn::Not => masks::negation(&args[0]),
        NumberFn::AndEach | NumberFn::OrEach => {
            let (a, b) = (take(args, 0), take(args, 1));
            masks::logic(machine, prim == NumberFn::AndEach, a, b)
        }
        NumberFn::IsNan => Ok(arith::test(&args[0], f64::is_nan)),
        NumberFn::IsInf => Ok(arith::test(&args[0], f64::is_infinite)),
        NumberFn::Clamp => {
            let (lo, hi, x) = (take(args, 0), take(args, 1), take(args, 2));
            let y = arith::bin(machine, Bin::Max, x, lo)?;
            arith::bin(machine, Bin::Min, y, hi)
        }
        NumberFn::Pi => Ok(constant(reps, std::f64::consts::PI)),
        NumberFn::E => Ok(constant(reps, std::f64::consts::E)),
        NumberFn::Inf => Ok(constant(reps, f64::INFINITY)),
        NumberFn::Nan => Ok(constant(reps, f64::NAN)),
        NumberFn::ToFloat => arith::convert(&args[0], Rep::Float),
        NumberFn::ToInt => arith::convert(&compare::primal(&args[0]), Rep::Int),
        NumberFn::ToF32 => arith::convert(&args[0], Rep::F32),
    }
}

fn constant(reps: &[Value], x: f64) -> Value {
    match rep_of(reps) {
        Rep::F32 => Value::F32(x as f32),
        _ => Value::Float(x),
    }
}
