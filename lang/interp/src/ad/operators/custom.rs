//! Functions with custom derivative rules.

use super::derivative;
use super::transpose::transpose;
use crate::ad::linear::{self, LinearMap, leaves, linear_fun, rebuild};
use crate::ad::rules::View;
use crate::ad::tape::Rule;
use crate::ad::{DerivativePart, level_of, results, split};
use crate::error::{Error, Res, codes};
use crate::upcalls::Upcalls;
use crate::value::{Value, vector_space};
use crate::vm::{Fun, HostFun, Machine};
use std::rc::Rc;

/// An argument without the derivative parts of a level, and the derivative parts of its real leaves.
fn untraced(x: &Value, level: u16) -> Res<(Value, Vec<Option<DerivativePart>>)> {
    let mut parts = Vec::new();
    let primal = vector_space::map_leaves(x, &mut |v| {
        let (p, part) = split(v, level);
        if vector_space::is_real(&p) {
            parts.push(part);
        }
        Ok(p)
    })?;
    Ok((primal, parts))
}

/// Applies a function with a custom derivative rule.
pub(crate) fn custom(machine: &mut Machine, f: &Value, rule: &Value, vjp: bool, x: Value) -> Res<Value> {
    let level = deepest(&x);
    if level == 0 {
        return Upcalls::call(machine, f, &[x]);
    }
    captured_check(rule, level)?;
    let (primal, parts) = untraced(&x, level)?;
    machine.ad.hide_from(level);
    let out = Upcalls::call(machine, rule, std::slice::from_ref(&primal));
    machine.ad.show_again();
    let out = out?;
    let (y, map) = (crate::vm::part(&out, 0)?, crate::vm::part(&out, 1)?);
    let forward = if vjp { transpose(machine, &map, Some(&y), &[])? } else { map.clone() };
    let backward = if vjp { map } else { transpose(machine, &map, Some(&primal), &[])? };
    let outs = leaves(&y);
    let rule = CustomRule { forward, backward, input: primal, output: y.clone() };
    let traced = results(machine, level, parts, outs, Rc::new(rule))?;
    rebuild(&y, traced.into_iter())
}

/// Applies a linear map without a tape to a traced argument: the map is its own derivative.
pub(crate) fn linear_at(machine: &mut Machine, map: &LinearMap, x: Value) -> Res<Value> {
    let level = deepest(&x);
    let (primal, parts) = untraced(&x, level)?;
    let y = derivative::apply(machine, map, primal.clone())?;
    let outs = leaves(&y);
    let backward = LinearMap { transposed: !map.transposed, ..map.clone() };
    let rule = CustomRule {
        forward: linear_fun(map.clone()),
        backward: linear_fun(backward),
        input: primal,
        output: y.clone(),
    };
    let traced = results(machine, level, parts, outs, Rc::new(rule))?;
    rebuild(&y, traced.into_iter())
}

/// The highest level in data, including lists and other declared data.
pub(super) fn deepest(v: &Value) -> u16 {
    leaves(v).iter().map(level_of).max().unwrap_or(0)
}

/// The highest level in a value, including values captured by functions.
fn inner_level(value: &Value) -> u16 {
    let all = |vals: &[Value]| vals.iter().map(inner_level).max().unwrap_or(0);
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match value {
        Value::Array(a) => all(a.values()),
        Value::Tuple(t) => all(&t.0),
        Value::Record(r) => all(&r.vals),
        Value::Data(d) => all(&d.fields),
        Value::Fun(f) => match &**f {
            Fun::Closure(_, c) | Fun::Prim(_, c) => all(c),
            Fun::Partial(g, c) => all(c).max(inner_level(&Value::Fun(g.clone()))),
            Fun::Member(g, _) => all(&g.captured),
            Fun::Custom(f, r, _) => inner_level(f).max(inner_level(r)),
            Fun::Checkpoint(f) | Fun::Invertible(f) => inner_level(f),
            Fun::Linear(_) | Fun::Host(_) => 0,
        },
        v => level_of(v),
    })
}

/// Calls a function of the embedding program, which sees no values that are being differentiated.
pub fn on_host(machine: &mut Machine, fun: &HostFun, args: &[Value]) -> Res<Value> {
    if args.iter().any(|a| inner_level(a) > 0) {
        let message = format!("expected a function of adl, found `{}`, which has no derivative", fun.name);
        return Err(Error::new(codes::USER, message).hint(
            "write it in adl, give its derivative by `custom_vjp`, or keep it constant by `stop_grad` of its argument",
        ));
    }
    if let Some(v) = machine.effects.replay() {
        return Ok(v);
    }
    let v = (fun.call)(args)?;
    machine.effects.record(&v);
    Ok(v)
}

/// Reports an error if the rule captures a value that is being differentiated, because its derivative would
/// silently be lost.
fn captured_check(rule: &Value, level: u16) -> Res<()> {
    if inner_level(rule) < level {
        return Ok(());
    }
    Err(Error::new(
        codes::CAPTURE,
        "a function with a custom derivative uses a value that is being differentiated and is not its argument",
    )
    .hint("pass the value as part of the argument"))
}

struct CustomRule {
    forward: Value,
    backward: Value,
    input: Value,
    output: Value,
}

impl Rule for CustomRule {
    fn pull(
        &self,
        m: &mut dyn Upcalls,
        cts: &[Value],
        add: &mut dyn FnMut(&mut dyn Upcalls, usize, Value) -> Res<()>,
    ) -> Res<()> {
        let ct = rebuild(&self.output, cts.iter().cloned())?;
        let back = Upcalls::call(m, &self.backward, &[ct])?;
        linear::same_structure("the cotangent from a custom derivative", &back, &self.input)?;
        for (k, v) in leaves(&back).into_iter().enumerate() {
            add(m, k, v)?;
        }
        Ok(())
    }

    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        let t = rebuild(&self.input, tangents.iter().cloned())?;
        let out = Upcalls::call(m, &self.forward, &[t])?;
        linear::same_structure("the tangent from a custom derivative", &out, &self.output)?;
        Ok(leaves(&out))
    }
    fn view(&self) -> View<'_> {
        View::Opaque(Some(&self.output))
    }
}
