//! Derivative rules of array operations as linear maps, by family. This file contains what the families share.

mod elementwise;
mod gather;
mod linalg;
mod reductions;
mod scatter;

pub(crate) use crate::ops::shapes::{flat_elem, reshape, total};
pub(crate) use elementwise::{Elementwise, Operand, Partial};
pub(crate) use gather::{Gather, scatter_add};
pub(crate) use linalg::{MatMul, Solve};
pub(crate) use reductions::{Cumsum, Dot, SumRows};
pub(crate) use scatter::{put, scatter};

use super::tape::Rule;
use crate::error::Res;
use crate::evaluator::Evaluator;
use crate::value::{Buf, Kind, Shape, Value, array, compare};

/// The linear map of a rule, on single scalars, for the engines that have no arrays.
pub(crate) enum View<'a> {
    /// Elementwise.
    Elementwise(&'a Elementwise),
    /// A gather.
    Gather(&'a Gather),
    /// A scatter-add into a vector of the given length; negative offsets are skipped.
    Spread(&'a [i64], usize),
    /// A product of matrices and vectors.
    MatMul(&'a MatMul),
    /// A linear system.
    Solve(&'a Solve),
    /// An inner product.
    Dot(&'a Dot),
    /// The sum of the given number of rows.
    SumRows(usize),
    /// Running sums over the first axis.
    Cumsum,
    /// A conversion of precision.
    Convert,
    /// Only known by running the rule; with one of its outputs, if the rule keeps one.
    Opaque(Option<&'a Value>),
}

type Add<'a> = &'a mut dyn FnMut(&mut dyn Evaluator, usize, Value) -> Res<()>;

/// Zeros of a shape, or a scalar zero, with the precision of `like`.
fn zeros(shape: &Option<Shape>, like: &Value) -> Res<Value> {
    let single = match compare::primal(like) {
        Value::F32(_) => true,
        Value::Array(a) => a.kind() == Kind::F32,
        _ => false,
    };
    Ok(match (shape, single) {
        (None, true) => Value::F32(0.0),
        (None, false) => Value::Float(0.0),
        (Some(s), true) => array::make(s.clone(), Buf::F32(array::filled(0.0, array::count(s)?)?)),
        (Some(s), false) => array::make(s.clone(), Buf::F64(array::filled(0.0, array::count(s)?)?)),
    })
}
