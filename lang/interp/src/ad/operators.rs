//! The derivative operators of language.md §5.

use super::linear::{self, LinearMap, Traced, leaves, rebuild};
use super::tape::{Rule, Tape};
use super::{Dual, Level, Part, deep_level, level_of, on_tape, results, split};
use crate::error::{Error, Res, codes};
use crate::ops::{arith, call};
use crate::value::{Buf, Rep, Shape, Tuple, Value, array, compare, seq, space};
use crate::vm::{Fun, Machine};
use adl_prim::Prim;
use std::rc::Rc;

fn pair(a: Value, b: Value) -> Value {
    Value::Tuple(Rc::new(Tuple(vec![a, b])))
}

fn linear_fun(map: LinearMap) -> Value {
    Value::Fun(Rc::new(Fun::Linear(map)))
}

/// Applies a differentiation primitive.
pub(crate) fn apply(m: &mut Machine, p: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    let a: Vec<Value> = args.iter_mut().map(std::mem::take).collect();
    match p {
        Prim::Jvp => jvp(m, &a[0], &a[1], &a[2]).map(|(y, t)| pair(y, t)),
        Prim::Linearize => {
            let (y, map) = linear::record(m, &a[0], &a[1])?;
            Ok(pair(y, linear_fun(map)))
        }
        Prim::Vjp => {
            let (y, map) = linear::record(m, &a[0], &a[1])?;
            Ok(pair(y, linear_fun(LinearMap { transposed: true, ..map })))
        }
        Prim::Grad => grad(m, &a[0], &a[1]).map(|(_, g)| g),
        Prim::ValueAndGrad => grad(m, &a[0], &a[1]).map(|(y, g)| pair(y, g)),
        Prim::Transpose => transpose(m, &a[0], None, reps),
        Prim::TransposeAt => transpose(m, &a[1], Some(&a[0]), reps),
        Prim::Jacobian | Prim::Jacfwd | Prim::Jacrev => jacobian(m, p, &a[0], &a[1]),
        Prim::Hessian => {
            let g = Value::Fun(Rc::new(Fun::Partial(Rc::new(Fun::Prim(Prim::Grad, reps.to_vec())), vec![a[0].clone()])));
            jacobian(m, Prim::Jacrev, &g, &a[1])
        }
        Prim::Hvp => {
            let g = Value::Fun(Rc::new(Fun::Partial(Rc::new(Fun::Prim(Prim::Grad, reps.to_vec())), vec![a[0].clone()])));
            jvp(m, &g, &a[1], &a[2]).map(|(_, t)| t)
        }
        Prim::StopGrad => Ok(super::traced::primal_of(&a[0])),
        Prim::Checkpoint => Ok(Value::Fun(Rc::new(Fun::Checkpoint(a[0].clone())))),
        Prim::CustomJvp | Prim::CustomVjp => Ok(Value::Fun(Rc::new(Fun::Custom(a[0].clone(), a[1].clone(), p == Prim::CustomVjp)))),
        Prim::Gradcheck => gradcheck(m, &a[0], &a[1]),
        Prim::Ravel => ravel(m, &a[0]),
        Prim::Unravel => unravel(m, &a[0], &a[1]),
        other => Err(Error::new(codes::DOMAIN, format!("`{}` is no derivative operator", other.name()))),
    }
}

/// Puts each real leaf of `x` on the tape of a level.
pub(crate) fn lift(m: &mut Machine, level: u16, x: &Value) -> Res<(Value, Traced)> {
    let mut nodes = Vec::new();
    let lifted = space::map_leaves(x, &mut |v| {
        if !space::is_real(v) {
            return Ok(v.clone());
        }
        let shape = seq::shape(v).cloned();
        let Some(tape) = m.ad.tape(level) else { return Ok(v.clone()) };
        let node = match shape {
            Some(s) => tape.array_input(s),
            None => tape.input(),
        };
        nodes.push(node);
        Ok(on_tape(level, node, v.clone()))
    })?;
    Ok((lifted, Traced { like: x.clone(), nodes }))
}

fn jvp(m: &mut Machine, f: &Value, x: &Value, v: &Value) -> Res<(Value, Value)> {
    let level = m.ad.open(Level::Forward)?;
    let out = jvp_at(m, level, f, x, v);
    m.ad.reset_to(level as usize - 1);
    out
}

fn jvp_at(m: &mut Machine, level: u16, f: &Value, x: &Value, v: &Value) -> Res<(Value, Value)> {
    let lifted = if matches!(v, Value::Zero) {
        x.clone()
    } else {
        space::zip_leaves(x, v, &mut |x, t| {
            if !space::is_real(x) {
                return Ok(x.clone());
            }
            if let (Some(s), Some(u)) = (seq::shape(x), seq::shape(t)) {
                if s != u {
                    return Err(arith::shapes_differ(s, u));
                }
            }
            Ok(Value::Dual(Rc::new(Dual { level, primal: x.clone(), part: Part::Tangent(t.clone()) })))
        })?
    };
    let y = m.call(f, &[lifted])?;
    let primal = space::map_leaves(&y, &mut |v| Ok(split(v, level).0))?;
    let tangent = space::map_leaves(&y, &mut |v| {
        Ok(match split(v, level) {
            (p, Some(Part::Tangent(t))) => super::sweep::or_zero(t, &p),
            (p, _) if space::is_real(&p) => space::zero_like(&p),
            (p, _) => p,
        })
    })?;
    Ok((primal, tangent))
}

/// The value and the gradient.
fn grad(m: &mut Machine, f: &Value, x: &Value) -> Res<(Value, Value)> {
    let (y, mut map) = linear::record(m, f, x)?;
    map.transposed = true;
    let one = match compare::primal(&y) {
        Value::F32(_) => Value::F32(1.0),
        _ => Value::Float(1.0),
    };
    let g = linear::apply(m, &map, one)?;
    Ok((y, g))
}

/// The transpose of a linear function. A derivative is turned round; a function of the user's is run on a zero of its input's shape.
fn transpose(m: &mut Machine, f: &Value, like: Option<&Value>, reps: &[Value]) -> Res<Value> {
    if let Value::Fun(fun) = f {
        if let Fun::Linear(map) = &**fun {
            if let Some(original) = &map.original {
                return Ok(original.clone());
            }
            return Ok(linear_fun(LinearMap { transposed: !map.transposed, ..map.clone() }));
        }
    }
    let input = match (like, reps.first()) {
        (Some(x), _) => space::zero_like(x),
        (None, Some(Value::Rep(r))) if known(r) => r.zero(),
        _ => {
            return Err(Error::new(codes::SHAPE_UNKNOWN, "the shape of the input of this linear function is not known here")
                .hint("give an example of its input: `transpose_at example f`"));
        }
    };
    let (_, map) = linear::record(m, f, &input)?;
    Ok(linear_fun(LinearMap { transposed: true, original: Some(f.clone()), ..map }))
}

/// Whether a type has one shape.
fn known(r: &Rep) -> bool {
    match r {
        Rep::Unit | Rep::Bool | Rep::Int | Rep::Float | Rep::F32 | Rep::Str => true,
        Rep::Array(n, e) => n.is_some() && known(e),
        Rep::Tuple(ps) => ps.iter().all(|p| known(p)),
        Rep::Record(fs) => fs.iter().all(|f| known(&f.1)),
        Rep::Data(..) | Rep::Other => false,
    }
}

/// Rows of the derivative: one sweep forwards an input or backwards an output, whichever are fewer.
fn jacobian(m: &mut Machine, p: Prim, f: &Value, x: &Value) -> Res<Value> {
    let (y, map) = linear::record(m, f, x)?;
    let (n, k) = (seq::len(x), seq::len(&y));
    let f32s = matches!(compare::primal(x), Value::Array(a) if matches!(a.buf, Buf::F32(_)));
    let basis = |n: usize, i: usize| {
        let shape = Shape::from_slice(&[n]);
        if f32s {
            let mut v = vec![0.0f32; n];
            v[i] = 1.0;
            return array::make(shape, Buf::F32(v));
        }
        let mut v = vec![0.0; n];
        v[i] = 1.0;
        array::make(shape, Buf::F64(v))
    };
    let empty = |n: usize, k: usize| array::make(Shape::from_slice(&[k, n]), Buf::F64(vec![0.0; n * k]));
    if n == 0 || k == 0 {
        return Ok(empty(n, k));
    }
    let forwards = p == Prim::Jacfwd || p == Prim::Jacobian && n <= k;
    let map = LinearMap { transposed: !forwards, ..map };
    let count = if forwards { n } else { k };
    let rows = (0..count).map(|i| linear::apply(m, &map, basis(count, i))).collect::<Res<Vec<_>>>()?;
    let all = seq::pack(m, rows)?;
    if forwards { call(m, Prim::TransposeArray, &[], vec![all]) } else { Ok(all) }
}

/// A function with a rule of its own, applied.
pub(crate) fn custom(m: &mut Machine, f: &Value, rule: &Value, vjp: bool, x: Value) -> Res<Value> {
    let level = deepest(&x);
    if level == 0 {
        return m.call(f, &[x]);
    }
    captured_check(rule, level)?;
    let mut parts = Vec::new();
    let primal = space::map_leaves(&x, &mut |v| {
        let (p, part) = split(v, level);
        if space::is_real(&p) {
            parts.push(part);
        }
        Ok(p)
    })?;
    let out = m.call(rule, std::slice::from_ref(&primal))?;
    let (y, map) = (crate::vm::part(&out, 0)?, crate::vm::part(&out, 1)?);
    let forward = if vjp { transpose(m, &map, Some(&y), &[])? } else { map.clone() };
    let backward = if vjp { map } else { transpose(m, &map, Some(&primal), &[])? };
    let outs = leaves(&y);
    let rule = CustomRule { forward, backward, input: primal, output: y.clone() };
    let traced = results(m, level, parts, outs, Rc::new(rule))?;
    rebuild(&y, traced.into_iter())
}

/// The highest level in data, lists and other declared data included.
fn deepest(v: &Value) -> u16 {
    leaves(v).iter().map(level_of).max().unwrap_or(0)
}

/// A rule that holds a value being differentiated would lose its derivative silently.
fn captured_check(rule: &Value, level: u16) -> Res<()> {
    if let Value::Fun(f) = rule {
        if let Fun::Closure(_, captured) | Fun::Partial(_, captured) = &**f {
            if captured.iter().any(|v| deepest(v).max(deep_level(v)) >= level) {
                return Err(Error::new(codes::CAPTURE, "a function with a custom derivative uses a value that is being differentiated and is not its argument")
                    .hint("pass the value as part of the argument"));
            }
        }
    }
    Ok(())
}

struct CustomRule {
    forward: Value,
    backward: Value,
    input: Value,
    output: Value,
}

impl Rule for CustomRule {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: &mut dyn FnMut(&mut Machine, usize, Value) -> Res<()>) -> Res<()> {
        let ct = rebuild(&self.output, cts.iter().cloned())?;
        let back = m.call(&self.backward, &[ct])?;
        for (k, v) in leaves(&back).into_iter().enumerate() {
            add(m, k, v)?;
        }
        Ok(())
    }

    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        let t = rebuild(&self.input, tangents.iter().cloned())?;
        let out = m.call(&self.forward, &[t])?;
        Ok(leaves(&out))
    }
}

/// `checkpoint f` applied: in reverse mode only the input is kept, and `f` runs again when cotangents arrive.
pub(crate) fn checkpointed(m: &mut Machine, f: &Value, x: Value) -> Res<Value> {
    let inputs = pair(x.clone(), captured_data(f));
    let level = deepest(&inputs);
    if level == 0 || m.ad.tape(level).is_none() {
        return m.call(f, &[x]);
    }
    let mut parts = Vec::new();
    let primal = space::map_leaves(&inputs, &mut |v| {
        let (p, part) = split(v, level);
        if space::is_real(&p) {
            parts.push(part);
        }
        Ok(p)
    })?;
    let (x0, captured0) = (crate::vm::part(&primal, 0)?, crate::vm::part(&primal, 1)?);
    let f0 = with_captured(f, &captured0);
    let y = m.call(&f0, &[x0])?;
    let outs = leaves(&y);
    let rule = CheckpointRule { f: f.clone(), input: primal, output: y.clone() };
    let traced = results(m, level, parts, outs, Rc::new(rule))?;
    rebuild(&y, traced.into_iter())
}

/// What a closure captures, as data.
fn captured_data(f: &Value) -> Value {
    match f {
        Value::Fun(fun) => match &**fun {
            Fun::Closure(_, c) | Fun::Partial(_, c) => Value::Tuple(Rc::new(Tuple(c.iter().map(|v| if matches!(v, Value::Fun(_)) { pair(Value::Unit, captured_data(v)) } else { v.clone() }).collect()))),
            Fun::Member(g, _) => Value::Tuple(Rc::new(Tuple(g.captured.iter().map(|v| if matches!(v, Value::Fun(_)) { pair(Value::Unit, captured_data(v)) } else { v.clone() }).collect()))),
            _ => Value::Unit,
        },
        _ => Value::Unit,
    }
}

/// The same function over other captured values.
fn with_captured(f: &Value, data: &Value) -> Value {
    let (Value::Fun(fun), Value::Tuple(t)) = (f, data) else { return f.clone() };
    let restore = |old: &[Value]| -> Vec<Value> {
        old.iter()
            .zip(&t.0)
            .map(|(o, n)| match (o, n) {
                (Value::Fun(_), Value::Tuple(p)) if p.0.len() == 2 => with_captured(o, &p.0[1]),
                _ => n.clone(),
            })
            .collect()
    };
    match &**fun {
        Fun::Closure(code, c) => Value::Fun(Rc::new(Fun::Closure(code.clone(), restore(c)))),
        Fun::Partial(g, c) => Value::Fun(Rc::new(Fun::Partial(g.clone(), restore(c)))),
        Fun::Member(g, i) => {
            let group = crate::vm::Group { codes: g.codes.clone(), captured: restore(&g.captured) };
            Value::Fun(Rc::new(Fun::Member(Rc::new(group), *i)))
        }
        _ => f.clone(),
    }
}

struct CheckpointRule {
    f: Value,
    /// The argument and the captured values.
    input: Value,
    output: Value,
}

impl CheckpointRule {
    /// The derivative at the input, recorded now.
    fn map(&self, m: &mut Machine) -> Res<LinearMap> {
        let level = m.ad.open(Level::Reverse(Tape::default()))?;
        let run = (|| -> Res<(Traced, Traced)> {
            let (lifted, input) = lift(m, level, &self.input)?;
            let (x, captured) = (crate::vm::part(&lifted, 0)?, crate::vm::part(&lifted, 1)?);
            let f = with_captured(&self.f, &captured);
            let y = m.call(&f, &[x])?;
            let (_, output) = linear::lower(&y, level)?;
            Ok((input, output))
        })();
        let tape = match m.ad.levels.pop() {
            Some(Level::Reverse(t)) => t,
            _ => Tape::default(),
        };
        m.ad.reset_to(level as usize - 1);
        let (input, output) = run?;
        Ok(LinearMap { tape: Rc::new(tape), input, output, transposed: false, original: None })
    }
}

impl Rule for CheckpointRule {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: &mut dyn FnMut(&mut Machine, usize, Value) -> Res<()>) -> Res<()> {
        let map = LinearMap { transposed: true, ..self.map(m)? };
        let ct = rebuild(&self.output, cts.iter().cloned())?;
        let back = linear::apply(m, &map, ct)?;
        for (k, v) in leaves(&back).into_iter().enumerate() {
            add(m, k, v)?;
        }
        Ok(())
    }

    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        let map = self.map(m)?;
        let t = rebuild(&self.input, tangents.iter().cloned())?;
        let out = linear::apply(m, &map, t)?;
        Ok(leaves(&out))
    }
}

/// The real leaves of data as one vector.
fn ravel(m: &mut Machine, v: &Value) -> Res<Value> {
    let mut all = array::floats(Vec::new());
    let parts = leaves(v);
    if let ([one], true) = (parts.as_slice(), parts.first().and_then(seq::shape).is_some_and(|s| s.len() == 1)) {
        return call(m, Prim::ToFloat, &[], vec![one.clone()]);
    }
    let mut run: Vec<Value> = Vec::new();
    for leaf in parts {
        let leaf = call(m, Prim::ToFloat, &[], vec![leaf])?;
        match seq::shape(&leaf).cloned() {
            None => run.push(leaf),
            Some(s) => {
                if !run.is_empty() {
                    let scalars = seq::pack(m, std::mem::take(&mut run))?;
                    all = call(m, Prim::Concat, &[], vec![all, scalars])?;
                }
                let flat = super::rules::reshape(m, leaf, Shape::from_slice(&[s.iter().product()]))?;
                all = call(m, Prim::Concat, &[], vec![all, flat])?;
            }
        }
    }
    if !run.is_empty() {
        let scalars = seq::pack(m, run)?;
        all = call(m, Prim::Concat, &[], vec![all, scalars])?;
    }
    Ok(all)
}

/// Data shaped as `like` with the real leaves of a vector.
fn unravel(m: &mut Machine, like: &Value, v: &Value) -> Res<Value> {
    let n = seq::len(v);
    let need: usize = leaves(like).iter().map(|l| seq::shape(l).map_or(1, |s| s.iter().product())).sum();
    if n != need {
        return Err(Error::new(codes::SIZE, format!("`unravel`: the vector has {n} numbers and the data {need}")));
    }
    let mut at = 0;
    space::map_leaves(like, &mut |leaf| {
        if !space::is_real(leaf) {
            return Ok(leaf.clone());
        }
        let leaf = compare::primal(leaf);
        let x = match seq::shape(&leaf).cloned() {
            None => {
                at += 1;
                seq::elem(m, v, at - 1)?
            }
            Some(s) => {
                let k: usize = s.iter().product();
                let part = if k == n {
                    v.clone()
                } else {
                    let indices = array::ints((at..at + k).map(|i| i as i64).collect());
                    call(m, Prim::Gather, &[], vec![v.clone(), indices])?
                };
                at += k;
                super::rules::reshape(m, part, s)?
            }
        };
        let narrow = matches!(&leaf, Value::F32(_)) || matches!(&leaf, Value::Array(a) if matches!(a.buf, Buf::F32(_)));
        if narrow { call(m, Prim::ToF32, &[], vec![x]) } else { Ok(x) }
    })
}

/// Central differences on every real leaf against the gradient.
fn gradcheck(m: &mut Machine, f: &Value, x: &Value) -> Res<Value> {
    let (_, g) = grad(m, f, x)?;
    let (flat, flat_g) = (ravel(m, x)?, ravel(m, &g)?);
    let read = |v: &Value| match compare::primal(v) {
        Value::Array(a) => match &a.buf {
            Buf::F64(v) => v.clone(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let (x0, g0) = (read(&flat), read(&flat_g));
    let mut worst = 0.0f64;
    for i in 0..x0.len() {
        let h = 6e-6 * x0[i].abs().max(1.0);
        let mut at = |d: f64| -> Res<f64> {
            let mut v = x0.clone();
            v[i] += d;
            let moved = unravel(m, x, &array::floats(v))?;
            let y = m.call(f, &[moved])?;
            Ok(match compare::primal(&y) {
                Value::Float(y) => y,
                Value::F32(y) => f64::from(y),
                _ => f64::NAN,
            })
        };
        let numeric = (at(h)? - at(-h)?) / (2.0 * h);
        let error = (numeric - g0[i]).abs() / numeric.abs().max(g0[i].abs()).max(1.0);
        worst = if error.is_nan() { f64::NAN } else { worst.max(error) };
    }
    let names: Rc<[_]> = ["max_error", "ok"].iter().map(|n| adl_syntax::symbol::Symbol::new(n)).collect();
    let ok = worst < 1e-5;
    Ok(Value::Record(Rc::new(crate::value::Record { names, vals: vec![Value::Float(worst), Value::Bool(ok)] })))
}
