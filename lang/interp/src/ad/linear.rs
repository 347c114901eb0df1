//! Linear maps as function values: derivatives at a point, and transposes.

pub use super::linear_map::LinearMap;
pub(crate) use super::linear_map::Traced;
use super::sweep;
use super::tape::Tape;
use super::{DerivativePart, on_tape};
use crate::error::{Error, Res, codes};
use crate::upcalls::Upcalls;
use crate::value::fun::Fun;
use crate::value::{Value, seq, show, vector_space};
use std::rc::Rc;

/// Replaces the real leaves of the data by the next values.
pub(crate) fn rebuild(like: &Value, mut vals: impl Iterator<Item = Value>) -> Res<Value> {
    vector_space::map_leaves(like, &mut |x| {
        if !vector_space::is_real(x) {
            return Ok(x.clone());
        }
        Ok(match vals.next() {
            Some(Value::Zero) | None => vector_space::zero_like(x),
            Some(v) => v,
        })
    })
}

/// The real leaves of data, in order. A zero of unknown shape stands for all remaining leaves.
pub(crate) fn leaves(v: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    let _ = vector_space::map_leaves(v, &mut |x| {
        if vector_space::is_real(x) || matches!(x, Value::Zero) {
            out.push(x.clone());
        }
        Ok(x.clone())
    });
    out
}

/// An error unless `value` has the structure of a tangent of `like`: the same constructors and shapes. A zero of
/// unknown shape is always accepted.
pub(crate) fn same_structure(what: &str, value: &Value, like: &Value) -> Res<()> {
    let cut = |v: &Value| show::show(v).chars().take(60).collect::<String>();
    let mut shapes = None;
    let fits = vector_space::zip_leaves(value, like, &mut |t, x| {
        if let (Some(s), Some(u)) = (seq::shape(t), seq::shape(x))
            && s != u
            && shapes.is_none()
        {
            shapes = Some((s.clone(), u.clone()));
        }
        Ok(Value::Unit)
    });
    let text = match (fits, shapes) {
        (Ok(_), None) => return Ok(()),
        (Ok(_), Some((s, u))) => {
            return Err(Error::new(
                codes::SIZE,
                format!("{what} has arrays of shape {:?} where {:?} is needed", &s[..], &u[..]),
            )
            .note(TANGENT));
        }
        (Err(_), _) if matches!(value, Value::Zero) || matches!(like, Value::Zero) => return Ok(()),
        (Err(_), _) => format!("{what} is {}, which has not the structure of {}", cut(value), cut(like)),
    };
    Err(Error::new(codes::STRUCTURE, text).note(TANGENT))
}

const TANGENT: &str = "a tangent has the constructors and shapes of the value that it belongs to";

/// A linear map as a value.
pub(crate) fn linear_fun(map: LinearMap) -> Value {
    Value::Fun(Rc::new(Fun::Linear(map)))
}

/// Applies a linear map that is on a tape.
pub(crate) fn apply_taped(machine: &mut dyn Upcalls, map: &LinearMap, value: Value) -> Res<Value> {
    let (from, to) = map.ends();
    let mut seeds = Vec::new();
    if !matches!(value, Value::Zero) {
        same_structure("the argument of a linear function", &value, &from.like)?;
        for (node, x) in from.nodes.iter().zip(leaves(&value)) {
            if *node != super::tape::NONE {
                seeds.push((*node, x));
            }
        }
    }
    let out = if map.transposed {
        sweep::backward(machine, &map.tape, seeds, &to.nodes)?
    } else {
        sweep::forward(machine, &map.tape, seeds, &to.nodes)?
    };
    let out: Vec<Value> = out.into_iter().zip(leaves(&to.like)).map(|(v, like)| sweep::or_zero(v, &like)).collect();
    rebuild(&to.like, out.into_iter())
}

/// Evaluates `f x`, and its derivative at `x`, on a tape.
pub(crate) fn taped(m: &mut dyn Upcalls, tape: Tape, f: &Value, x: &Value) -> Res<(Value, LinearMap)> {
    let level = m.open_tape(tape)?;
    let out = record_at(m, level, f, x);
    let tape = m.close_tape(level);
    let (y, input, output) = out?;
    let map = LinearMap { tape: Rc::new(tape), input, output, transposed: false, original: None, main: None };
    Ok((y, map))
}

fn record_at(m: &mut dyn Upcalls, level: u16, f: &Value, x: &Value) -> Res<(Value, Traced, Traced)> {
    let (lifted, input) = lift(m, level, x)?;
    let y = m.call(f, &[lifted])?;
    let (primal, output) = lower(&y, level)?;
    Ok((primal, input, output))
}

/// Makes each real leaf of `value` an input on the tape of a level.
pub(crate) fn lift(m: &mut dyn Upcalls, level: u16, value: &Value) -> Res<(Value, Traced)> {
    let mut nodes = Vec::new();
    let lifted = vector_space::map_leaves(value, &mut |leaf| {
        if !vector_space::is_real(leaf) {
            return Ok(leaf.clone());
        }
        let shape = seq::shape(leaf).cloned();
        let Some(tape) = m.tape(level) else { return Ok(leaf.clone()) };
        let node = match shape {
            Some(s) => tape.array_input(s),
            None => tape.input(),
        };
        nodes.push(node);
        Ok(on_tape(level, node, leaf.clone()))
    })?;
    Ok((lifted, Traced { like: value.clone(), nodes }))
}

/// Removes a level from a result: returns its primal, and the tape nodes of its leaves.
pub(crate) fn lower(y: &Value, level: u16) -> Res<(Value, Traced)> {
    let mut nodes = Vec::new();
    let primal = vector_space::map_leaves(y, &mut |v| {
        let (p, part) = super::split(v, level);
        if vector_space::is_real(&p) || matches!(p, Value::Zero) {
            nodes.push(match part {
                Some(DerivativePart::Node(n)) => n,
                _ => super::tape::NONE,
            });
        }
        Ok(p)
    })?;
    Ok((primal.clone(), Traced { like: primal, nodes }))
}
