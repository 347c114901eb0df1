//! Primitives. [`apply`] is the only entry point: it dispatches traced arguments to [`crate::ad`] and all
//! others to the implementations in this module.

mod arguments;
pub mod arith;
pub(crate) mod arrays;
pub(crate) mod chain;
pub(crate) mod comm;
mod cumulative;
pub(crate) mod element_ops;
mod elementwise;
mod factorisations;
pub mod higher_order;
pub mod index;
pub(crate) mod io;
pub mod kernels;
mod linalg;
pub(crate) mod masks;
mod numbers;
pub mod parallel;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) use linalg::contract;
mod comprehension_sums;
pub(crate) mod comprehensions;
pub mod data;
pub(crate) mod fused_chain;
pub(crate) mod interrupt;
pub(crate) mod rows;
pub(crate) mod shapes;
pub(crate) mod sorting;
pub mod strip_mining;
mod text;
mod vector_arith;
pub use io::bytes as file_bytes;

use crate::ad;
use crate::error::{Error, Res, codes};
pub use crate::upcalls::call;
use crate::value::{Value, compare};
use crate::vm::Machine;
use adl_prim::{ArrayFn, Cmp, GeneralFn, NumberFn, Prim};
pub use arguments::lengths_differ;
pub(crate) use arguments::{data_text, int};
use arguments::{len, rep_of, size, string, take};
pub(crate) use arrays::{put, put_indices};
pub(crate) use cumulative::sums_from_the_end;
pub(crate) use elementwise::compared;
use interrupt::InterruptFlag;

/// Applies a primitive to all its arguments. `reps` are its hidden arguments, run-time type representations.
/// Arguments may be moved out, so that an unshared array is updated in place.
pub fn apply(m: &mut Machine, p: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    if sees_tracing(p) && args.iter().any(|a| ad::deep_level(a) > 0) {
        return ad::apply_traced(m, p, reps, args);
    }
    plain(m, p, reps, args)
}

/// Whether traced arguments need the rules in `ad`. The other primitives are arithmetic (which checks for
/// tracing itself), containers, and higher-order functions.
fn sees_tracing(p: Prim) -> bool {
    match p {
        Prim::Number(p) => p != NumberFn::PowInt,
        Prim::Array(p) => !matches!(p, ArrayFn::Zip | ArrayFn::Zip3 | ArrayFn::Unzip | ArrayFn::Unzip3 | ArrayFn::Full),
        Prim::CompareEach(_) | Prim::Reduction(_) | Prim::Linalg(_) => true,
        Prim::Bin(_)
        | Prim::Un(_)
        | Prim::Compare(_)
        | Prim::General(_)
        | Prim::HigherOrder(_)
        | Prim::Random(_)
        | Prim::Text(_)
        | Prim::Io(_)
        | Prim::Comm(_)
        | Prim::Rows(_)
        | Prim::Derivative(_) => false,
    }
}

/// Applies a primitive to untraced arguments.
pub fn plain(machine: &mut Machine, prim: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    machine.poll()?;
    if let Some(v) = machine.primitive_on_device(prim, reps, args)? {
        return Ok(v);
    }
    match prim {
        Prim::Bin(op) => {
            let (a, b) = (take(args, 0), take(args, 1));
            arith::bin(machine, op, a, b)
        }
        Prim::Un(op) => {
            let a = take(args, 0);
            arith::un(machine, op, a)
        }
        Prim::Number(p) => numbers::apply(machine, p, reps, args),
        Prim::Compare(op) => Ok(Value::Bool(match op {
            Cmp::Eq => compare::equal(&args[0], &args[1])?,
            Cmp::Ne => !compare::equal(&args[0], &args[1])?,
            op => op.holds(compare::partial(&args[0], &args[1])?),
        })),
        Prim::CompareEach(op) => {
            let (a, b) = (take(args, 0), take(args, 1));
            masks::comparison(machine, op, a, b)
        }
        Prim::General(p) => general(p, reps, args),
        Prim::HigherOrder(p) => higher_order::apply(machine, p, args),
        Prim::Array(p) => arrays::apply(machine, p, reps, args),
        Prim::Reduction(p) => reduce::apply(machine, p, reps, args),
        Prim::Linalg(p) => linalg::apply(InterruptFlag(&machine.interrupt), p, args),
        Prim::Random(p) => random::apply(InterruptFlag(&machine.interrupt), p, args),
        Prim::Text(p) => text::apply(machine, p, args),
        Prim::Io(p) => io::apply(machine, p, reps, args),
        Prim::Comm(p) => comm::apply(machine, p, args),
        Prim::Rows(p) => rows::apply(machine, p, args),
        Prim::Derivative(p) => ad::operators::apply(machine, p, reps, args),
    }
}

fn general(p: GeneralFn, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    match p {
        GeneralFn::Fst => crate::vm::part(&args[0], 0),
        GeneralFn::Snd => crate::vm::part(&args[0], 1),
        GeneralFn::Id => Ok(take(args, 0)),
        GeneralFn::Zero => Ok(rep_of(reps).zero()),
        GeneralFn::Assert => match args[0] {
            Value::Bool(true) => Ok(Value::Unit),
            _ => Err(Error::new(codes::ASSERT, "this assertion does not hold")),
        },
        GeneralFn::Error => Err(Error::new(codes::USER, string(&args[0]))),
    }
}
