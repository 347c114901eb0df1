//! Checkpointing: functions of which the tape stores only the input, and which are run again in the reverse
//! sweep.

use super::custom::deepest;
use super::{lift, pair};
use crate::ad::linear::{self, LinearMap, Traced, leaves, linear_fun, rebuild};
use crate::ad::rules::View;
use crate::ad::tape::{Rule, Tape};
use crate::ad::{results, split};
use crate::error::Res;
use crate::ir::world::holds_functions;
use crate::upcalls::Upcalls;
use crate::value::{Tuple, Value, vector_space};
use crate::vm::{Fun, Machine};
use std::rc::Rc;

/// Applies `checkpoint func`: reverse mode stores only the input, and runs `func` again when the cotangents arrive.
pub(crate) fn checkpointed(machine: &mut Machine, func: &Value, argument: Value) -> Res<Value> {
    let inputs = pair(argument.clone(), captured_data(func));
    let level = deepest(&inputs);
    // A function among the arguments may have captured traced values, which cannot be replaced by primals.
    if level == 0 || machine.tape(level).is_none() || holds_functions(&argument) {
        return Upcalls::call(machine, func, &[argument]);
    }
    let mut parts = Vec::new();
    let primal = vector_space::map_leaves(&inputs, &mut |v| {
        let (p, part) = split(v, level);
        if vector_space::is_real(&p) {
            parts.push(part);
        }
        Ok(p)
    })?;
    let (x0, captured0) = (crate::vm::part(&primal, 0)?, crate::vm::part(&primal, 1)?);
    let f0 = with_captured(func, &captured0);
    machine.effects.begin();
    let output = Upcalls::call(machine, &f0, &[x0]);
    let effects = machine.effects.performed();
    machine.effects.end(true);
    let y = output?;
    if deepest(&y) >= level || holds_functions(&y) {
        // Functions inside captured data contain traced values, and a function in the result would contain
        // untraced ones; so checkpointing is not possible.
        machine.effects.repeat(&effects);
        return Upcalls::call(machine, func, &[argument]);
    }
    let outs = leaves(&y);
    let rule = CheckpointRule { f: func.clone(), input: primal, output: y.clone(), effects };
    let traced = results(machine, level, parts, outs, Rc::new(rule))?;
    rebuild(&y, traced.into_iter())
}

/// The captured values of a closure, as data.
fn captured_data(f: &Value) -> Value {
    let Value::Fun(fun) = f else { return Value::Unit };
    let all = |vals: &[Value]| {
        let parts = vals
            .iter()
            .map(|v| if matches!(v, Value::Fun(_)) { pair(Value::Unit, captured_data(v)) } else { v.clone() });
        Value::Tuple(Rc::new(Tuple(parts.collect())))
    };
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match &**fun {
        Fun::Closure(_, c) => all(c),
        Fun::Partial(g, c) => pair(captured_data(&Value::Fun(g.clone())), all(c)),
        Fun::Member(g, _) => all(&g.captured),
        Fun::Prim(..) | Fun::Linear(_) | Fun::Custom(..) | Fun::Checkpoint(_) | Fun::Invertible(_) | Fun::Host(_) => {
            Value::Unit
        }
    })
}

/// The closure with other captured values.
fn with_captured(func: &Value, data: &Value) -> Value {
    let (Value::Fun(fun), Value::Tuple(t)) = (func, data) else { return func.clone() };
    let restore = |old: &[Value], new: &[Value]| -> Vec<Value> {
        old.iter()
            .zip(new)
            .map(|(o, n)| match (o, n) {
                (Value::Fun(_), Value::Tuple(p)) if p.0.len() == 2 => with_captured(o, &p.0[1]),
                _ => n.clone(),
            })
            .collect()
    };
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match (&**fun, t.0.as_slice()) {
        (Fun::Closure(code, c), new) => Value::Fun(Rc::new(Fun::Closure(code.clone(), restore(c, new)))),
        (Fun::Partial(g, c), [inner, Value::Tuple(new)]) => match with_captured(&Value::Fun(g.clone()), inner) {
            Value::Fun(g) => Value::Fun(Rc::new(Fun::Partial(g, restore(c, &new.0)))),
            _ => func.clone(),
        },
        (Fun::Member(g, i), new) => {
            let group = crate::vm::RecursiveGroup { codes: g.codes.clone(), captured: restore(&g.captured, new) };
            Value::Fun(Rc::new(Fun::Member(Rc::new(group), *i)))
        }
        _ => func.clone(),
    })
}

struct CheckpointRule {
    f: Value,
    /// The argument and the captured values.
    input: Value,
    output: Value,
    /// The results of its effects, which must not be repeated.
    effects: Vec<Value>,
}

impl CheckpointRule {
    /// Records the derivative at the input.
    fn map(&self, machine: &mut dyn Upcalls) -> Res<LinearMap> {
        let level = machine.open_tape(Tape::default())?;
        let run = (|| -> Res<(Traced, Traced)> {
            let (lifted, input) = lift(machine, level, &self.input)?;
            let (x, captured) = (crate::vm::part(&lifted, 0)?, crate::vm::part(&lifted, 1)?);
            let f = with_captured(&self.f, &captured);
            machine.repeat_effects(&self.effects);
            let y = Upcalls::call(machine, &f, &[x])?;
            let (_, output) = linear::lower(&y, level)?;
            Ok((input, output))
        })();
        let tape = machine.close_tape(level);
        let (input, output) = run?;
        Ok(LinearMap { tape: Rc::new(tape), input, output, transposed: false, original: None, main: None })
    }
}

impl Rule for CheckpointRule {
    fn pull(
        &self,
        m: &mut dyn Upcalls,
        cts: &[Value],
        add: &mut dyn FnMut(&mut dyn Upcalls, usize, Value) -> Res<()>,
    ) -> Res<()> {
        let map = LinearMap { transposed: true, ..self.map(m)? };
        let ct = rebuild(&self.output, cts.iter().cloned())?;
        let back = Upcalls::call(m, &linear_fun(map), &[ct])?;
        for (k, v) in leaves(&back).into_iter().enumerate() {
            add(m, k, v)?;
        }
        Ok(())
    }

    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        let map = self.map(m)?;
        let t = rebuild(&self.input, tangents.iter().cloned())?;
        let out = Upcalls::call(m, &linear_fun(map), &[t])?;
        Ok(leaves(&out))
    }
    fn view(&self) -> View<'_> {
        View::Opaque(Some(&self.output))
    }
}
