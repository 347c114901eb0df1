//! Arrays in other shapes, traced or not.

use crate::error::Res;
use crate::upcalls::{Upcalls, call};
use crate::value::{Rep, Shape, Value, array, seq};
use adl_prim::{ArrayFn, Prim, ReductionFn};
use std::rc::Rc;

/// The sum of all elements of an array of any rank.
pub(crate) fn total(m: &mut dyn Upcalls, v: Value) -> Res<Value> {
    let mut value = v;
    while let Some(shape) = seq::shape(&value) {
        if shape.len() > 1 {
            let n: usize = shape.iter().product();
            value = reshape(m, value, Shape::from_slice(&[n]))?;
        }
        value = call(m, Prim::Reduction(ReductionFn::Sum), &[Value::Rep(Rc::new(Rep::Float))], vec![value])?;
    }
    Ok(value)
}

/// The same elements in another shape.
pub(crate) fn reshape(m: &mut dyn Upcalls, v: Value, shape: Shape) -> Res<Value> {
    if seq::shape(&v).is_none_or(|s| *s == shape) {
        return Ok(v);
    }
    let extents = array::ints(shape.iter().map(|n| *n as i64).collect());
    call(m, Prim::Array(ArrayFn::Reshape), &[], vec![extents, v])
}

/// An element at a flat offset.
pub(crate) fn flat_elem(m: &mut dyn Upcalls, v: &Value, offset: usize) -> Res<Value> {
    let n: usize = seq::shape(v).map_or(0, |s| s.iter().product());
    let flat = reshape(m, v.clone(), Shape::from_slice(&[n]))?;
    seq::elem(m, &flat, offset)
}
