//! Higher-order primitives: maps, folds, reductions by any operator. `vm/policy.rs` chooses whether the
//! interpreter computes the elements, as it is written here, or compiled code.

use super::{call, kernels, len, lengths_differ};
use crate::error::{Error, Res, codes};
use crate::limits::ops_higher_order::WHOLE;
use crate::polling;
use crate::value::{Buf, Rep, Value, array, seq};
use crate::vm::policy::ElementCall;
use crate::vm::{Fun, Machine};
use adl_prim::{Bin, HigherOrderFn, Prim, ReductionFn};
use std::rc::Rc;

/// `map func xs`, `map2 func xs ys` and `map3 func xs ys zs`.
pub(super) fn map(machine: &mut Machine, func: &Value, arrays: &[Value]) -> Res<Value> {
    let count = len(&arrays[0]);
    if let Some(k) = arrays.iter().map(len).find(|k| *k != count) {
        return Err(lengths_differ(if arrays.len() == 2 { "map2" } else { "map3" }, count, k));
    }
    let prim = [HigherOrderFn::Map, HigherOrderFn::Map2, HigherOrderFn::Map3][arrays.len().clamp(1, 3) - 1];
    machine.elements(&element_call(prim, func, arrays, count), |inner_machine, watch| {
        let mut out = array::room(count)?;
        let mut args = Vec::with_capacity(arrays.len());
        for i in 0..count {
            if i & 0x3ff == 0 {
                inner_machine.poll()?;
            }
            if let Some(v) = watch.before(inner_machine, i)? {
                return Ok(v);
            }
            args.clear();
            for a in arrays {
                args.push(seq::elem(inner_machine, a, i)?);
            }
            out.push(inner_machine.call(func, &args)?);
        }
        seq::pack(inner_machine, out)
    })
}

/// The application of a higher-order primitive to a function, then to the rest of its arguments.
fn element_call<'a>(prim: HigherOrderFn, func: &'a Value, rest: &[Value], count: usize) -> ElementCall<'a> {
    let all = Fun::Partial(Rc::new(Fun::Prim(prim.into(), Vec::new())), vec![func.clone()]);
    ElementCall { func, count, all: Value::Fun(Rc::new(all)), args: rest.to_vec() }
}

/// Applies a function that takes a function.
pub(super) fn apply(machine: &mut Machine, prim: HigherOrderFn, args: &mut [Value]) -> Res<Value> {
    match prim {
        HigherOrderFn::Map | HigherOrderFn::Map2 | HigherOrderFn::Map3 => {
            let f = std::mem::take(&mut args[0]);
            map(machine, &f, &args[1..])
        }
        HigherOrderFn::Reduce => reduce(machine, &args[0].clone(), &args[1].clone(), &args[2].clone()),
        HigherOrderFn::Scan => scan(machine, &args[0].clone(), &args[1].clone(), &args[2].clone(), false),
        HigherOrderFn::ScanExclusive => scan(machine, &args[0].clone(), &args[1].clone(), &args[2].clone(), true),
        HigherOrderFn::ReduceByIndex => reduce_by_index(machine, args),
        HigherOrderFn::Fold | HigherOrderFn::Foldr => {
            folded(machine, prim, &args[0].clone(), std::mem::take(&mut args[1]), &args[2].clone())
        }
        HigherOrderFn::Invertible => invertible(machine, &args[0].clone(), &args[1].clone(), &args[2].clone()),
        HigherOrderFn::Along => Err(Error::new(codes::DOMAIN, "`along` is `map` and a transpose in Core")),
    }
}

/// The primitive operator that a function is equivalent to, if any.
fn operator(f: &Value) -> Option<Prim> {
    match f {
        Value::Fun(f) => match &**f {
            Fun::Prim(p, _) => Some(*p),
            Fun::Closure(code, _) => code.operator(),
            _ => None,
        },
        _ => None,
    }
}

/// The record of an invertible operator.
fn invertible_parts(f: &Value) -> Option<Value> {
    match f {
        Value::Fun(f) => match &**f {
            Fun::Partial(g, args) => match &**g {
                Fun::Prim(Prim::HigherOrder(HigherOrderFn::Invertible), _) if args.len() == 1 => Some(args[0].clone()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn field(r: &Value, name: &str) -> Value {
    match r {
        Value::Record(r) => r.names.iter().position(|n| n.as_str() == name).map_or(Value::Unit, |i| r.vals[i].clone()),
        _ => Value::Unit,
    }
}

/// `lower (op (lift x) (lift y))`.
pub(crate) fn invertible(m: &mut Machine, r: &Value, x: &Value, y: &Value) -> Res<Value> {
    let (lift, op, lower) = (field(r, "lift"), field(r, "op"), field(r, "lower"));
    let a = m.call(&lift, std::slice::from_ref(x))?;
    let b = m.call(&lift, std::slice::from_ref(y))?;
    let c = m.call(&op, &[a, b])?;
    m.call(&lower, &[c])
}

/// `reduce op initial xs`.
pub(super) fn reduce(machine: &mut Machine, op: &Value, initial: &Value, xs: &Value) -> Res<Value> {
    if let Some(r) = invertible_parts(op) {
        let lift = field(&r, "lift");
        let lifted = map(machine, &lift, std::slice::from_ref(xs))?;
        let e = machine.call(&lift, std::slice::from_ref(initial))?;
        let total = reduce(machine, &field(&r, "op"), &e, &lifted)?;
        return machine.call(&field(&r, "lower"), &[total]);
    }
    if let (Some(p), true) = (operator(op), len(xs) >= WHOLE) {
        let whole = match p {
            Prim::Bin(Bin::Add) => Some(Prim::Reduction(ReductionFn::Sum)),
            Prim::Bin(Bin::Mul) => Some(Prim::Reduction(ReductionFn::Prod)),
            Prim::Bin(Bin::Min) => Some(Prim::Reduction(ReductionFn::Minimum)),
            Prim::Bin(Bin::Max) => Some(Prim::Reduction(ReductionFn::Maximum)),
            _ => None,
        };
        if let Some(w) = whole {
            let rep = Value::Rep(Rc::new(rep_like(initial)));
            let total = call(machine, w, &[rep], vec![xs.clone()])?;
            return machine.call(op, &[initial.clone(), total]);
        }
    }
    folded(machine, HigherOrderFn::Reduce, op, initial.clone(), xs)
}

fn rep_like(v: &Value) -> Rep {
    match v {
        Value::Int(_) => Rep::Int,
        Value::F32(_) => Rep::F32,
        _ => Rep::Float,
    }
}

/// `scan op initial xs`; if `exclusive`, each result excludes the element at its own index.
pub(super) fn scan(machine: &mut Machine, op: &Value, initial: &Value, xs: &Value, exclusive: bool) -> Res<Value> {
    let count = len(xs);
    if let (Some(p @ Prim::Bin(Bin::Add | Bin::Mul)), false, true) = (operator(op), exclusive, count >= WHOLE) {
        let neutral = matches!((p, crate::value::compare::primal(initial)), (Prim::Bin(Bin::Add), Value::Float(x)) if x == 0.0)
            || matches!((p, crate::value::compare::primal(initial)), (Prim::Bin(Bin::Mul), Value::Float(x)) if x == 1.0);
        if neutral {
            return call(
                machine,
                if p == Prim::Bin(Bin::Add) { ReductionFn::Cumsum } else { ReductionFn::Cumprod },
                &[],
                vec![xs.clone()],
            );
        }
    }
    if count == 0 {
        return Ok(xs.clone());
    }
    let prim = if exclusive { HigherOrderFn::ScanExclusive } else { HigherOrderFn::Scan };
    machine.elements(&element_call(prim, op, &[initial.clone(), xs.clone()], count), |inner_machine, watch| {
        let mut out = array::room(count)?;
        let mut acc = initial.clone();
        for i in 0..count {
            inner_machine.poll()?;
            if let Some(v) = watch.before(inner_machine, i)? {
                return Ok(v);
            }
            let x = seq::elem(inner_machine, xs, i)?;
            let next = inner_machine.call(op, &[acc.clone(), x])?;
            out.push(if exclusive {
                std::mem::replace(&mut acc, next)
            } else {
                acc = next.clone();
                next
            });
        }
        seq::pack(inner_machine, out)
    })
}

/// `fold f init xs`, `reduce f init xs` and `foldr f init xs`.
fn folded(machine: &mut Machine, prim: HigherOrderFn, func: &Value, init: Value, xs: &Value) -> Res<Value> {
    let count = len(xs);
    if count == 0 {
        return Ok(init);
    }
    let from_right = prim == HigherOrderFn::Foldr;
    machine.elements(&element_call(prim, func, &[init.clone(), xs.clone()], count), |m, watch| {
        let mut acc = init;
        for i in 0..count {
            if let Some(v) = watch.before(m, i)? {
                return Ok(v);
            }
            let x = seq::elem(m, xs, if from_right { count - 1 - i } else { i })?;
            acc = m.call(func, &if from_right { [x, acc] } else { [acc, x] })?;
        }
        Ok(acc)
    })
}

/// `reduce_by_index dest op e keys values`.
pub(super) fn reduce_by_index(machine: &mut Machine, args: &mut [Value]) -> Res<Value> {
    let [dest, op, neutral, keys, values] = args else { return Err(Error::new(codes::STRUCTURE, "five arguments")) };
    if len(keys) != len(values) {
        return Err(lengths_differ("reduce_by_index", len(keys), len(values)));
    }
    if let Some(r) = invertible_parts(op) {
        let (lift, lower) = (field(&r, "lift"), field(&r, "lower"));
        let mut lifted = [
            map(machine, &lift, std::slice::from_ref(dest))?,
            field(&r, "op"),
            machine.call(&lift, std::slice::from_ref(neutral))?,
            std::mem::take(keys),
            map(machine, &lift, std::slice::from_ref(values))?,
        ];
        let made = reduce_by_index(machine, &mut lifted)?;
        return map(machine, &lower, &[made]);
    }
    let at: &[i64] = match &*keys {
        Value::Array(a) => match a.buf() {
            Buf::I64(v) => v,
            _ => &[],
        },
        _ => &[],
    };
    if let (Some(Prim::Bin(b)), Value::Array(d), Value::Array(v)) = (operator(op), &mut *dest, &*values)
        && d.shape[1..] == v.shape[1..]
        && let width = d.shape[1..].iter().product::<usize>()
        && let Buf::F64(v) = v.buf()
        && let Buf::F64(d) = Rc::make_mut(d).buf_mut()
    {
        for (at, v) in at.chunks(polling::STRIDE).zip(v.chunks((polling::STRIDE * width).max(1))) {
            machine.poll()?;
            kernels::count_rows(b, d, width, at, v);
        }
        return Ok(std::mem::take(dest));
    }
    let (n, dest) = (len(dest), dest.clone());
    let prim = Fun::Prim(Prim::HigherOrder(HigherOrderFn::ReduceByIndex), Vec::new());
    let all = Value::Fun(Rc::new(Fun::Partial(Rc::new(prim), vec![dest.clone(), op.clone()])));
    let args = vec![neutral.clone(), keys.clone(), values.clone()];
    machine.elements(&ElementCall { func: op, count: at.len().max(1), all, args }, |inner_machine, watch| {
        let mut out: Vec<Value> = (0..n).map(|i| seq::elem(inner_machine, &dest, i)).collect::<Res<_>>()?;
        for (j, k) in at.iter().enumerate() {
            if let Some(v) = watch.before(inner_machine, j)? {
                return Ok(v);
            }
            if let Some(k) = usize::try_from(*k).ok().filter(|k| *k < n) {
                let x = seq::elem(inner_machine, values, j)?;
                let old = std::mem::take(&mut out[k]);
                out[k] = inner_machine.call(op, &[old, x])?;
            }
        }
        if out.is_empty() { Ok(dest.clone()) } else { seq::pack(inner_machine, out) }
    })
}
