//! Sorting and searching for extremes. Stable; `nan` is last.

use super::len;
use crate::error::{Error, Res, codes};
use crate::value::{Buf, Value, array, compare};
use adl_prim::Prim;
use std::cmp::Ordering;
use std::rc::Rc;

/// The indices that sort an array.
pub(super) fn order(v: &Value) -> Vec<usize> {
    let mut at: Vec<usize> = (0..len(v)).collect();
    match v {
        Value::Array(a) => match &a.buf {
            Buf::F64(x) if a.shape.len() == 1 => at.sort_by(|i, j| compare::total_float(x[*i], x[*j])),
            Buf::I64(x) if a.shape.len() == 1 => at.sort_by_key(|i| x[*i]),
            _ => {
                let elems: Vec<Value> = (0..a.len()).map(|i| array::elem(a, i)).collect();
                at.sort_by(|i, j| compare::total(&elems[*i], &elems[*j]));
            }
        },
        _ => at.clear(),
    }
    at
}

pub(super) fn apply(p: Prim, args: &mut [Value]) -> Res<Value> {
    let v = &args[0];
    match p {
        Prim::Sort | Prim::Argsort => {
            let at = order(v);
            match (p, v) {
                (Prim::Sort, Value::Array(a)) => Ok(Value::Array(Rc::new(array::gather_rows(a, &at, &[at.len()])?))),
                _ => Ok(array::ints(at.into_iter().map(|i| i as i64).collect())),
            }
        }
        _ => extreme(p.name(), v, if p == Prim::Argmin { Ordering::Less } else { Ordering::Greater }).map(|i| Value::Int(i as i64)),
    }
}

/// Index of the first element that no other is better than; a `nan` wins, so that it is not lost.
pub(super) fn extreme(what: &str, v: &Value, better: Ordering) -> Res<usize> {
    let n = len(v);
    if n == 0 {
        return Err(Error::new(codes::EMPTY, format!("`{what}` of an empty array")));
    }
    let Value::Array(a) = v else { return Ok(0) };
    let wide: Vec<f64>;
    let numbers = match &a.buf {
        Buf::F64(x) if a.shape.len() == 1 => Some(x),
        Buf::F32(x) if a.shape.len() == 1 => {
            wide = x.iter().map(|v| f64::from(*v)).collect();
            Some(&wide)
        }
        _ => None,
    };
    if let Some(x) = numbers {
        let mut best = 0;
        for i in 0..n {
            if x[i].is_nan() {
                return Ok(i);
            }
            if x[i].partial_cmp(&x[best]) == Some(better) {
                best = i;
            }
        }
        return Ok(best);
    }
    let mut best = array::elem(a, 0);
    let mut at = 0;
    for i in 1..n {
        let x = array::elem(a, i);
        if compare::partial(&x, &best)? == Some(better) {
            best = x;
            at = i;
        }
    }
    Ok(at)
}
