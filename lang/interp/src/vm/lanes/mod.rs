//! Running a function on many arguments at once: `map f xs` evaluates each instruction of `f` once, on arrays that hold one element a
//! *lane*, so that it computes and tapes whole arrays.
//!
//! A branch on what differs between lanes splits them: each side runs to its end on its lanes, and the results are merged. Nothing
//! runs for a lane that would not run for its element alone.
//!
//! This is speculation. Where code or values do not suit (an effect, declared data, any error), the attempt is dropped with what it
//! taped, and the caller evaluates element by element, which gives the errors and effects in their order. So lanes never decide what a
//! program means.
//!
//! Reading order: this file, `run` (instructions), `shape` (lanes as arrays), `prims`, `moves` (elements that change places), `derive`, `none`
//! (arrays without elements), `pace` (when native code is faster).

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
use crate::ir::road::primal;
use crate::ops::{self, higher};
use crate::value::{Value, array};
use adl_prim::Prim;
use adl_syntax::symbol::Symbol;
use std::rc::Rc;
use std::time::Instant;

/// Number of elements from which lanes are worth their overhead.
const FEWEST: usize = 8;

/// Elements that one array of lanes may have.
const MOST: usize = 1 << 22;

/// Attempts after which code that never succeeded is not tried again.
const ATTEMPTS: u8 = 3;

/// Branches on differing lanes in one attempt.
const SPLITS: u32 = 24;

/// Nested calls in one attempt.
const DEPTH: u32 = 100;

/// What lanes hold.
#[derive(Clone)]
pub(crate) enum Lane {
    /// One value for all.
    Same(Value),
    /// An array of numbers or Bools whose first axis is the lanes.
    Each(Value),
    /// A tuple of lanes.
    Tuple(Vec<Lane>),
    /// A record of lanes.
    Record(Rc<[Symbol]>, Vec<Lane>),
    /// A function that captures lanes.
    Closure(Rc<Code>, Vec<Lane>),
    /// A function with its first arguments.
    Partial(Box<Lane>, Vec<Lane>),
}

/// Why an attempt is dropped.
pub(crate) enum Give {
    /// The code does not suit, whatever the values.
    Never,
    /// These values do not suit, or there was an error.
    Now,
    /// The arrays would be too large: fewer lanes might do.
    Large,
    /// Transformed code is to be tried first.
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
    /// Instructions that an attempt on no lanes has run.
    steps: u32,
    /// Whether derivatives are left to transformed code.
    transformed: bool,
}

/// `map f` of arrays of `n` elements on lanes; `None` if that does not work.
pub(crate) fn map(m: &mut Machine, f: &Value, arrays: &[Value], n: usize) -> Option<Value> {
    if n < FEWEST || m.check_nan {
        return None;
    }
    let code = code_of(f);
    if code.as_ref().is_some_and(|c| c.lanes_failed.get() >= ATTEMPTS) {
        return None;
    }
    if let Some(v) = code.as_ref().and_then(|c| c.paces.natively(m, f, arrays, n)) {
        return Some(v);
    }
    let (explained, start) = (m.road.explain.len(), Instant::now());
    let derivatives = n >= higher::MANY && arrays.len() <= 3 && primal::wanted(m) && m.ad.depth() == 0 && !m.speculating;
    let first = if derivatives { Some(speculate(m, f, arrays, n, true)) } else { None };
    let out = match first {
        Some(Err(Give::Transformed)) => {
            m.road.explain.truncate(explained);
            // An interrupt is met again below.
            if let Ok(Some(v)) = higher::transformed(m, f, arrays) {
                return Some(v);
            }
            speculate(m, f, arrays, n, false)
        }
        Some(out) => out,
        None => speculate(m, f, arrays, n, false),
    };
    if out.is_err() {
        m.road.explain.truncate(explained);
    }
    noted(code.as_deref(), n, start, out)
}

/// What came of an attempt, which the code remembers.
fn noted(code: Option<&Code>, n: usize, start: Instant, out: Try<Value>) -> Option<Value> {
    match (code, &out) {
        (Some(c), Ok(_)) => c.paces.ran(n, start.elapsed()),
        (Some(c), Err(Give::Never)) => c.lanes_failed.set(ATTEMPTS),
        (Some(c), Err(_)) => c.lanes_failed.set(c.lanes_failed.get().saturating_add(1)),
        (None, _) => {}
    }
    out.ok()
}

/// `map f` of arrays without elements: what `f` does to no lanes says what the other axes of the result are. `None` where that is not known.
pub(crate) fn none(m: &mut Machine, f: &Value, arrays: &[Value]) -> Option<Value> {
    let explained = m.road.explain.len();
    let out = speculate(m, f, arrays, 0, false).ok();
    m.road.explain.truncate(explained);
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

/// An attempt, in halves where the whole is too large. What a dropped attempt taped is taken off again.
fn speculate(m: &mut Machine, f: &Value, arrays: &[Value], n: usize, transformed: bool) -> Try<Value> {
    let marks = m.ad.marks();
    let outer = std::mem::replace(&mut m.speculating, true);
    let out = attempt(m, f, arrays, n, transformed);
    m.speculating = outer;
    match out {
        Err(Give::Large) if n >= 2 * FEWEST => {
            m.ad.rewind(&marks);
            let half = n / 2;
            let mut parts = Vec::new();
            for (lo, hi) in [(0, half), (half, n)] {
                let at = array::ints((lo as i64..hi as i64).collect());
                let slices = arrays.iter().map(|a| ops::call(m, Prim::Gather, &[], vec![a.clone(), at.clone()])).collect::<Result<Vec<_>, _>>()?;
                parts.push(speculate(m, f, &slices, hi - lo, transformed)?);
            }
            Ok(ops::call(m, Prim::Concat, &[], parts)?)
        }
        Err(e) => {
            m.ad.rewind(&marks);
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

/// The members that a function's code may call.
type Siblings = Option<(Rc<Group>, u32)>;
