//! Batched interpretation (vmap): `map f xs` executes each instruction of `f` once, on arrays that hold one
//! element per *lane*, so that it computes and tapes whole-array operations.
//!
//! A branch whose condition differs between lanes splits them: each side runs to its end on its lanes, and the
//! results are merged. Nothing is evaluated for a lane that would not be evaluated for its element alone.
//!
//! This is speculative. If code or values are not supported (an effect, declared data, any error), the attempt
//! is dropped together with what it taped. The caller then evaluates element by element, which produces errors
//! and effects in the right order. So batching never changes the meaning of a program.
//!
//! Reading order: this file, `run` (instructions), `shape` (lanes as arrays), `prims`, `moves` (operations that
//! permute elements), `derive`, `none` (empty arrays), `pace` (when native code is faster).

mod derive;
mod moves;
mod none;
mod pace;
mod prims;
mod run;
mod shape;

pub(crate) use pace::Paces;

use super::code::Code;
use super::{Fun, Group, Machine};
use crate::error::Error;
use crate::ir::derive::compile_plain;
use crate::ops::{self, higher_order};
use crate::value::{Value, array};
use adl_prim::{ArrayFn, Prim};
use adl_syntax::symbol::Symbol;
use std::rc::Rc;
use std::time::Instant;

/// Number of elements from which batching is worth its overhead.
const FEWEST: usize = 8;

/// Maximum number of elements of one batched array.
const MOST: usize = 1 << 22;

/// Number of failed attempts after which code that never succeeded is not tried again.
const ATTEMPTS: u8 = 3;

/// Maximum number of branches with differing conditions in one attempt.
const SPLITS: u32 = 24;

/// Maximum depth of calls in one attempt.
const DEPTH: u32 = 100;

/// The values of a variable in all lanes.
#[derive(Clone)]
pub(crate) enum Lane {
    /// The same value in all lanes.
    Same(Value),
    /// An array of numbers or Bools whose first axis is the lanes.
    Each(Value),
    /// A tuple of batched components.
    Tuple(Vec<Lane>),
    /// A record of batched fields.
    Record(Rc<[Symbol]>, Vec<Lane>),
    /// A closure with batched captured values.
    Closure(Rc<Code>, Vec<Lane>),
    /// A partial application with batched arguments.
    Partial(Box<Lane>, Vec<Lane>),
}

/// Why an attempt is dropped.
pub(crate) enum Give {
    /// The code is not supported, whatever the values are.
    Never,
    /// These values are not supported, or there was an error.
    Now,
    /// The arrays would be too large; it may work with fewer lanes.
    Large,
    /// Compiled AD should be tried first.
    Transformed,
}

type Try<T> = Result<T, Give>;

impl From<Box<Error>> for Give {
    fn from(_: Box<Error>) -> Give {
        Give::Now
    }
}

/// An attempt.
pub(crate) struct Lanes<'a> {
    m: &'a mut Machine,
    splits: u32,
    depth: u32,
    /// Number of instructions executed by an attempt on zero lanes.
    steps: u32,
    /// Whether derivatives are left to compiled AD.
    transformed: bool,
}

/// `map func` of arrays of `lanes` elements, batched; `None` if that is not possible.
pub(crate) fn map(machine: &mut Machine, func: &Value, arrays: &[Value], lanes: usize) -> Option<Value> {
    if lanes < FEWEST || machine.check_nan {
        return None;
    }
    let code = code_of(func);
    if code.as_ref().is_some_and(|c| c.batched_failures.get() >= ATTEMPTS) {
        return None;
    }
    if let Some(v) = code.as_ref().and_then(|c| c.paces.natively(machine, func, arrays, lanes)) {
        return Some(v);
    }
    let (explained, start) = (machine.compiled_ad.explain.len(), Instant::now());
    let derivatives = lanes >= higher_order::MANY
        && arrays.len() <= 3
        && compile_plain::wanted(machine)
        && machine.ad.depth() == 0
        && !machine.speculating;
    let first = if derivatives { Some(speculate(machine, func, arrays, lanes, true)) } else { None };
    let out = match first {
        Some(Err(Give::Transformed)) => {
            machine.compiled_ad.explain.truncate(explained);
            // An interrupt is noticed again below.
            if let Ok(Some(v)) = higher_order::transformed(machine, func, arrays) {
                return Some(v);
            }
            speculate(machine, func, arrays, lanes, false)
        }
        Some(out) => out,
        None => speculate(machine, func, arrays, lanes, false),
    };
    if out.is_err() {
        machine.compiled_ad.explain.truncate(explained);
    }
    noted(code.as_deref(), lanes, start, out)
}

/// Records the outcome of an attempt in the code object.
fn noted(code: Option<&Code>, n: usize, start: Instant, out: Try<Value>) -> Option<Value> {
    match (code, &out) {
        (Some(c), Ok(_)) => c.paces.ran(n, start.elapsed()),
        (Some(c), Err(Give::Never)) => c.batched_failures.set(ATTEMPTS),
        (Some(c), Err(_)) => c.batched_failures.set(c.batched_failures.get().saturating_add(1)),
        (None, _) => {}
    }
    out.ok()
}

/// `map f` of empty arrays: evaluates `f` on zero lanes to find the remaining extents of the result. `None` if
/// they cannot be found.
pub(crate) fn none(m: &mut Machine, f: &Value, arrays: &[Value]) -> Option<Value> {
    let explained = m.compiled_ad.explain.len();
    let out = speculate(m, f, arrays, 0, false).ok();
    m.compiled_ad.explain.truncate(explained);
    out
}

/// The code of a function.
pub(crate) fn code_of(f: &Value) -> Option<Rc<Code>> {
    let Value::Fun(f) = f else { return None };
    let mut f = f.clone();
    loop {
        let inner = match &*f {
            Fun::Closure(c, _) => return Some(c.clone()),
            Fun::Member(g, i) => return g.codes.get(*i as usize).cloned(),
            Fun::Partial(g, _) => g.clone(),
            _ => return None,
        };
        f = inner;
    }
}

/// Runs an attempt; if the arrays would be too large, in two halves of the lanes. Removes from the tapes what a
/// dropped attempt recorded.
fn speculate(machine: &mut Machine, func: &Value, arrays: &[Value], n: usize, transformed: bool) -> Try<Value> {
    let marks = machine.ad.marks();
    let outer = std::mem::replace(&mut machine.speculating, true);
    let out = attempt(machine, func, arrays, n, transformed);
    machine.speculating = outer;
    match out {
        Err(Give::Large) if n >= 2 * FEWEST => {
            machine.ad.rewind(&marks);
            let half = n / 2;
            let mut parts = Vec::new();
            for (lo, hi) in [(0, half), (half, n)] {
                let at = array::ints((lo as i64..hi as i64).collect());
                let slices = arrays
                    .iter()
                    .map(|a| ops::call(machine, Prim::Array(ArrayFn::Gather), &[], vec![a.clone(), at.clone()]))
                    .collect::<Result<Vec<_>, _>>()?;
                parts.push(speculate(machine, func, &slices, hi - lo, transformed)?);
            }
            Ok(ops::call(machine, Prim::Array(ArrayFn::Concat), &[], parts)?)
        }
        Err(e) => {
            machine.ad.rewind(&marks);
            Err(e)
        }
        Ok(v) => Ok(v),
    }
}

fn attempt(m: &mut Machine, f: &Value, arrays: &[Value], n: usize, transformed: bool) -> Try<Value> {
    let mut lanes = Lanes { m, splits: 0, depth: 0, steps: 0, transformed };
    let args = arrays.iter().map(shape::lanes_of).collect::<Try<Vec<_>>>()?;
    let out = lanes.call(n, Lane::Same(f.clone()), args)?;
    lanes.value(out, n)
}

/// The recursive group whose members a function's code may call.
type Siblings = Option<(Rc<Group>, u32)>;
