//! Derivative rules of array operations as linear maps, by family. This file contains what the families share.

mod elementwise;
mod gather;
mod linalg;
mod reductions;
mod scatter;

pub(crate) use super::maps::{Dot, Elementwise, ElementwiseOperand, Gather, MatMul, Partial, Solve, View};
pub(crate) use crate::ops::shapes::{flat_elem, reshape, total};
pub(crate) use gather::scatter_add;
pub(crate) use reductions::{Cumsum, SumRows};
pub(crate) use scatter::{put, scatter};

use super::tape::Rule;
use crate::error::Res;
use crate::upcalls::Upcalls;
use crate::value::{Buf, Kind, Shape, Value, array, compare};

type Add<'a> = &'a mut dyn FnMut(&mut dyn Upcalls, usize, Value) -> Res<()>;

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
