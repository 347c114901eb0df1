//! Evaluation on zero lanes: `map f` of an empty array computes no elements, but has the extents that `f` gives
//! them.
//!
//! Values that do not depend on the lanes are computed, which could take long; so an attempt may execute only a
//! limited number of instructions.

use super::shape::{same, shape_of};
use super::{Give, Lane, Lanes, Try};
use crate::ops;
use crate::value::{Buf, Kind, Shape, Value, array, compare, seq};
use adl_prim::Prim;

/// Maximum number of instructions of one attempt.
const STEPS: u32 = 20_000;

/// Maximum number of elements of a sample.
const SAMPLE: usize = 1 << 16;

impl Lanes<'_> {
    /// Counts an instruction.
    pub(super) fn step(&mut self) -> Try<()> {
        self.steps += 1;
        if self.steps > STEPS { Err(Give::Now) } else { Ok(()) }
    }

    /// Whether a primitive on zero lanes may be evaluated on a sample. It must not take a function, and no
    /// scalar that differs between lanes may determine the size of its result.
    pub(super) fn samples(p: Prim, args: &[Lane]) -> bool {
        let elementwise = matches!(p, Prim::Bin(_)) || matches!(p, Prim::Un(_)) || matches!(p, Prim::Compare(_));
        let plain = |l: &Lane| match l {
            Lane::Same(v) => !matches!(v, Value::Fun(_)),
            Lane::Each(v) => !is_ints(v) || seq::shape(v).is_some_and(|s| s.len() > 1),
            Lane::Tuple(_) | Lane::Record(..) | Lane::Closure(..) | Lane::Partial(..) => false,
        };
        !elementwise && args.iter().all(plain)
    }

    /// The extents of a primitive's result, found by evaluating it on a sample.
    pub(super) fn sampled(&mut self, p: Prim, reps: &[Value], args: &[Lane]) -> Try<Lane> {
        let args = args.iter().map(sample).collect::<Try<Vec<_>>>()?;
        let out = compare::primal(&ops::call(self.m, p, reps, args)?);
        let none = |inner: &[usize]| std::iter::once(0).chain(inner.iter().copied()).collect::<Shape>();
        Ok(Lane::Each(match &out {
            Value::Float(_) => array::make(none(&[]), Buf::F64(Vec::new())),
            Value::F32(_) => array::make(none(&[]), Buf::F32(Vec::new())),
            Value::Int(_) => array::make(none(&[]), Buf::I64(Vec::new())),
            Value::Bool(_) => array::make(none(&[]), Buf::Bool(Vec::new())),
            Value::Array(a) => array::make(
                none(&a.shape),
                match a.buf() {
                    Buf::F64(_) => Buf::F64(Vec::new()),
                    Buf::F32(_) => Buf::F32(Vec::new()),
                    Buf::I64(_) => Buf::I64(Vec::new()),
                    Buf::Bool(_) => Buf::Bool(Vec::new()),
                    Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => return Err(Give::Now),
                },
            ),
            _ => return Err(Give::Now),
        }))
    }
}

fn is_ints(v: &Value) -> bool {
    matches!(v, Value::Array(a) if a.kind() == Kind::I64)
}

/// A sample element with the shape of a lane's value: zeros, or the identity for a square matrix, so that it
/// has an inverse.
fn sample(l: &Lane) -> Try<Value> {
    if let Some(v) = same(l) {
        return Ok(v.clone());
    }
    let shape = shape_of(l)?.unwrap_or_default();
    let count = array::count(&shape)?;
    let Lane::Each(v) = l else { return Err(Give::Never) };
    let Value::Array(a) = compare::primal(v) else { return Err(Give::Never) };
    if count > SAMPLE {
        return Err(Give::Now);
    }
    let buf = match (a.buf(), &shape[..]) {
        (Buf::F64(_), []) => return Ok(Value::Float(0.0)),
        (Buf::F32(_), []) => return Ok(Value::F32(0.0)),
        (Buf::I64(_), []) => return Ok(Value::Int(0)),
        (Buf::Bool(_), []) => return Ok(Value::Bool(false)),
        (Buf::F64(_), [rows, columns]) if rows == columns => {
            Buf::F64((0..count).map(|k| if k % (rows + 1) == 0 { 1.0 } else { 0.0 }).collect())
        }
        (Buf::F64(_), _) => Buf::F64(vec![0.0; count]),
        (Buf::F32(_), _) => Buf::F32(vec![0.0; count]),
        (Buf::I64(_), _) => Buf::I64(vec![0; count]),
        (Buf::Bool(_), _) => Buf::Bool(vec![false; count]),
        (Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..), _) => return Err(Give::Never),
    };
    Ok(array::make(shape, buf))
}
