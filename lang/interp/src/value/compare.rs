//! Equality and order of values of any type. Traced numbers are compared by their primals. `nan` is unequal to
//! everything under `==`, and is ordered last when sorting.

use super::{Array, Buf, Value, maps_and_sets};
use crate::error::{Error, Res, codes};
use crate::limits::value_compare::LEVELS;
use crate::polling;
use std::cmp::Ordering;

/// The untraced number, text or array underneath a traced value.
pub fn primal(v: &Value) -> Value {
    match v {
        Value::Rev { primal, .. } => Value::Float(*primal),
        Value::Dual(d) => primal(&d.primal),
        other => other.clone(),
    }
}

/// The order of numbers, texts, and small data made of them; `None` for other values.
fn quick(a: &Value, b: &Value, levels: u32, floats: fn(f64, f64) -> Option<Ordering>) -> Option<Option<Ordering>> {
    Some(match (a, b) {
        (Value::Float(x), Value::Float(y)) => floats(*x, *y),
        (Value::F32(x), Value::F32(y)) => floats(f64::from(*x), f64::from(*y)),
        (Value::Int(x), Value::Int(y)) => Some(x.cmp(y)),
        (Value::Bool(x), Value::Bool(y)) => Some(x.cmp(y)),
        (Value::Str(x), Value::Str(y)) => Some(x.cmp(y)),
        (Value::Unit, Value::Unit) => Some(Ordering::Equal),
        (Value::Tuple(x), Value::Tuple(y)) => return quick_parts(&x.0, &y.0, levels, floats),
        (Value::Record(x), Value::Record(y)) => return quick_parts(&x.vals, &y.vals, levels, floats),
        (Value::Data(x), Value::Data(y)) if maps_and_sets::is_node(x) && maps_and_sets::is_node(y) => return None,
        (Value::Data(x), Value::Data(y)) if x.con.tag == y.con.tag => {
            return quick_parts(&x.fields, &y.fields, levels, floats);
        }
        (Value::Data(x), Value::Data(y)) => Some(x.con.tag.cmp(&y.con.tag)),
        _ => return None,
    })
}

fn quick_parts(
    xs: &[Value],
    ys: &[Value],
    levels: u32,
    floats: fn(f64, f64) -> Option<Ordering>,
) -> Option<Option<Ordering>> {
    let levels = levels.checked_sub(1)?;
    for (x, y) in xs.iter().zip(ys) {
        match quick(x, y, levels, floats)? {
            Some(Ordering::Equal) => {}
            other => return Some(other),
        }
    }
    Some(Some(Ordering::Equal))
}

/// The lexicographic order; `None` if a `nan` is compared.
pub fn partial(left: &Value, right: &Value) -> Res<Option<Ordering>> {
    if let Some(o) = quick(left, right, LEVELS, |x, y| x.partial_cmp(&y)) {
        return Ok(o);
    }
    let mut todo = vec![(left.clone(), right.clone())];
    let mut steps = 0u32;
    while let Some((a, b)) = todo.pop() {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(4096) {
            polling::poll()?;
        }
        match step(&a, &b, &mut todo)? {
            Some(Ordering::Equal) => {}
            other => return Ok(other),
        }
    }
    Ok(Some(Ordering::Equal))
}

/// Equality.
pub fn equal(a: &Value, b: &Value) -> Res<bool> {
    Ok(partial(a, b)? == Some(Ordering::Equal))
}

/// A total order for sorting, in which `nan` is last at any depth. The standard library requires a total order
/// and may panic otherwise.
pub fn total(a: &Value, b: &Value) -> Ordering {
    if let Some(Some(o)) = quick(a, b, LEVELS, |x, y| Some(total_float(x, y))) {
        return o;
    }
    let mut todo = vec![(a.clone(), b.clone())];
    while let Some((left, right)) = todo.pop() {
        let order = match (&left, &right) {
            (Value::Float(x), Value::Float(y)) => total_float(*x, *y),
            (Value::F32(x), Value::F32(y)) => total_float(f64::from(*x), f64::from(*y)),
            (Value::Array(x), Value::Array(y)) => match (x.buf(), y.buf()) {
                (Buf::F64(p), Buf::F64(q)) if x.shape.len() == 1 && y.shape.len() == 1 => {
                    let differing = p.iter().zip(q).map(|(x, y)| total_float(*x, *y)).find(|o| o.is_ne());
                    differing.unwrap_or_else(|| p.len().cmp(&q.len()))
                }
                _ => step(&left, &right, &mut todo).ok().flatten().unwrap_or(Ordering::Equal),
            },
            _ => step(&left, &right, &mut todo).ok().flatten().unwrap_or(Ordering::Equal),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// The order of floats, with `nan` last.
pub fn total_float(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
}

fn push_all(xs: &[Value], ys: &[Value], todo: &mut Vec<(Value, Value)>) {
    for (x, y) in xs.iter().zip(ys).rev() {
        todo.push((x.clone(), y.clone()));
    }
}

fn arrays(x: &Array, y: &Array, todo: &mut Vec<(Value, Value)>) -> Option<Ordering> {
    match (x.buf(), y.buf()) {
        (Buf::F64(p), Buf::F64(q)) if x.shape.len() == 1 && y.shape.len() == 1 => p.partial_cmp(q),
        (Buf::I64(p), Buf::I64(q)) if x.shape.len() == 1 && y.shape.len() == 1 => Some(p.cmp(q)),
        _ => {
            let (m, n) = (x.len(), y.len());
            todo.push((Value::Int(m as i64), Value::Int(n as i64)));
            for i in (0..m.min(n)).rev() {
                todo.push((super::array::elem(x, i), super::array::elem(y, i)));
            }
            Some(Ordering::Equal)
        }
    }
}

fn push_entries(xs: &[Value], ys: &[Value], todo: &mut Vec<(Value, Value)>) {
    todo.push((Value::Int(xs.len() as i64), Value::Int(ys.len() as i64)));
    push_all(xs, ys, todo);
}

fn step(left: &Value, right: &Value, todo: &mut Vec<(Value, Value)>) -> Res<Option<Ordering>> {
    Ok(match (left, right) {
        (Value::Rev { .. } | Value::Dual(_), _) | (_, Value::Rev { .. } | Value::Dual(_)) => {
            todo.push((primal(left), primal(right)));
            Some(Ordering::Equal)
        }
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y),
        (Value::Zero, Value::Float(y)) => 0.0.partial_cmp(y),
        (Value::Float(x), Value::Zero) => x.partial_cmp(&0.0),
        (Value::F32(x), Value::F32(y)) => x.partial_cmp(y),
        (Value::Int(x), Value::Int(y)) => Some(x.cmp(y)),
        (Value::Bool(x), Value::Bool(y)) => Some(x.cmp(y)),
        (Value::Str(x), Value::Str(y)) => Some(x.cmp(y)),
        (Value::Unit, Value::Unit) | (Value::Zero, Value::Zero) => Some(Ordering::Equal),
        (Value::Tuple(x), Value::Tuple(y)) => {
            push_all(&x.0, &y.0, todo);
            Some(Ordering::Equal)
        }
        (Value::Record(x), Value::Record(y)) => {
            push_all(&x.vals, &y.vals, todo);
            Some(Ordering::Equal)
        }
        // Maps are compared by their entries, because equal maps may have different trees.
        (Value::Data(x), Value::Data(y)) if maps_and_sets::is_node(x) && maps_and_sets::is_node(y) => {
            push_entries(&maps_and_sets::all(left), &maps_and_sets::all(right), todo);
            Some(Ordering::Equal)
        }
        (Value::Data(x), Value::Data(y)) => {
            if x.con.tag == y.con.tag {
                push_all(&x.fields, &y.fields, todo);
            }
            Some(x.con.tag.cmp(&y.con.tag))
        }
        (Value::Array(x), Value::Array(y)) => arrays(x, y, todo),
        (Value::Fun(_), _) | (_, Value::Fun(_)) => {
            return Err(Error::new(codes::STRUCTURE, "functions cannot be compared"));
        }
        _ => {
            return Err(Error::new(
                codes::STRUCTURE,
                format!("{} and {} cannot be compared", super::show::show(left), super::show::show(right)),
            ));
        }
    })
}
