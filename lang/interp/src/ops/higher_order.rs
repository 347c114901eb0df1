//! Higher-order primitives: maps, folds, reductions by any operator, comprehensions.

use super::{call, int, kernels, len, lengths_differ};
use crate::error::{Error, Res, codes};
pub(crate) use crate::limits::ops_higher_order::MANY;
use crate::limits::ops_higher_order::{SHORT, TIMED, WHOLE};
use crate::ops::arith;
use crate::ops::comprehension_sums::{Sums, mean};
use crate::polling;
use crate::value::{Buf, Kind, Rep, Shape, Value, array, compare, seq};
use crate::vm::{Fun, Machine};
use adl_prim::{Bin, HigherOrderFn, Prim, ReductionFn};
use adl_typing::core::ForKind;
use std::rc::Rc;

/// `map func xs`, `map2 func xs ys` and `map3 func xs ys zs`.
pub(super) fn map(machine: &mut Machine, func: &Value, arrays: &[Value]) -> Res<Value> {
    let count = len(&arrays[0]);
    if let Some(k) = arrays.iter().map(len).find(|k| *k != count) {
        return Err(lengths_differ(if arrays.len() == 2 { "map2" } else { "map3" }, count, k));
    }
    let short = arrays.iter().any(has_short_rows) || machine.device.is_wanted();
    if short && let Some(v) = natively(machine, map_of(arrays.len()), func, arrays, count)? {
        return Ok(v);
    }
    let lanes = if count == 0 {
        crate::vm::lanes::none(machine, func, arrays)
    } else {
        crate::vm::lanes::map(machine, func, arrays, count)
    };
    if let Some(v) = lanes {
        return Ok(v);
    }
    if !short && let Some(v) = natively(machine, map_of(arrays.len()), func, arrays, count)? {
        return Ok(v);
    }
    let mut out = array::room(count)?;
    let mut args = Vec::with_capacity(arrays.len());
    for i in 0..count {
        if i & 0x3ff == 0 {
            machine.poll()?;
        }
        args.clear();
        for a in arrays {
            args.push(seq::elem(machine, a, i)?);
        }
        out.push(machine.call(func, &args)?);
    }
    seq::pack(machine, out)
}

/// Whether an array's elements are short rows of Floats.
fn has_short_rows(a: &Value) -> bool {
    matches!(a, Value::Array(a) if a.kind() == Kind::F64 && a.shape.len() > 1 && a.shape[1..].iter().product::<usize>() <= SHORT)
}

/// The map primitive for functions with the given number of arguments.
fn map_of(arguments: usize) -> HigherOrderFn {
    [HigherOrderFn::Map, HigherOrderFn::Map2, HigherOrderFn::Map3][arguments.clamp(1, 3) - 1]
}

/// Runs a higher-order primitive on large arrays as native code. `None` if that is not possible; no effects
/// have occurred in that case.
fn natively(m: &mut Machine, p: HigherOrderFn, f: &Value, rest: &[Value], n: usize) -> Res<Option<Value>> {
    if n < MANY || !m.may_compile() {
        return Ok(None);
    }
    compiled(m, p, f, rest)
}

fn compiled(m: &mut Machine, p: HigherOrderFn, f: &Value, rest: &[Value]) -> Res<Option<Value>> {
    let f = Value::Fun(Rc::new(Fun::Partial(Rc::new(Fun::Prim(p.into(), Vec::new())), vec![f.clone()])));
    crate::ir::derive::compile_plain::call(m, &f, rest)
}

/// Runs a map as native code. `None` if that is not possible; no effects have occurred in that case.
pub(crate) fn mapped(m: &mut Machine, f: &Value, arrays: &[Value]) -> Res<Option<Value>> {
    compiled(m, map_of(arrays.len()), f, arrays)
}

/// Runs a map of a function that contains derivatives by compiled AD. `None` if that is not possible; no
/// effects have occurred in that case.
pub(crate) fn transformed(m: &mut Machine, f: &Value, arrays: &[Value]) -> Res<Option<Value>> {
    let f =
        Value::Fun(Rc::new(Fun::Partial(Rc::new(Fun::Prim(map_of(arrays.len()).into(), Vec::new())), vec![f.clone()])));
    crate::ir::derive::compile_plain::call_native_or_interpreted(m, &f, arrays)
}

/// Applies a function that takes a function.
pub(super) fn apply(machine: &mut Machine, p: HigherOrderFn, args: &mut [Value]) -> Res<Value> {
    match p {
        HigherOrderFn::Map | HigherOrderFn::Map2 | HigherOrderFn::Map3 => {
            let f = std::mem::take(&mut args[0]);
            map(machine, &f, &args[1..])
        }
        HigherOrderFn::Reduce => reduce(machine, &args[0].clone(), &args[1].clone(), &args[2].clone()),
        HigherOrderFn::Scan => scan(machine, &args[0].clone(), &args[1].clone(), &args[2].clone(), false),
        HigherOrderFn::ScanExclusive => scan(machine, &args[0].clone(), &args[1].clone(), &args[2].clone(), true),
        HigherOrderFn::ReduceByIndex => reduce_by_index(machine, args),
        HigherOrderFn::Fold => fold(machine, &args[0].clone(), std::mem::take(&mut args[1]), &args[2].clone()),
        HigherOrderFn::Foldr => foldr(machine, &args[0].clone(), std::mem::take(&mut args[1]), &args[2].clone()),
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
    if let Some(v) = natively(machine, HigherOrderFn::Reduce, op, &[initial.clone(), xs.clone()], len(xs))? {
        return Ok(v);
    }
    each_in_turn(machine, op, initial.clone(), xs)
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
    if let Some(v) = natively(
        machine,
        if exclusive { HigherOrderFn::ScanExclusive } else { HigherOrderFn::Scan },
        op,
        &[initial.clone(), xs.clone()],
        count,
    )? {
        return Ok(v);
    }
    let mut out = array::room(count)?;
    let mut acc = initial.clone();
    for i in 0..count {
        machine.poll()?;
        let x = seq::elem(machine, xs, i)?;
        let next = machine.call(op, &[acc.clone(), x])?;
        out.push(if exclusive {
            std::mem::replace(&mut acc, next)
        } else {
            acc = next.clone();
            next
        });
    }
    if out.is_empty() { Ok(xs.clone()) } else { seq::pack(machine, out) }
}

/// `fold f init xs`.
pub(super) fn fold(m: &mut Machine, f: &Value, init: Value, xs: &Value) -> Res<Value> {
    match natively(m, HigherOrderFn::Fold, f, &[init.clone(), xs.clone()], len(xs))? {
        Some(v) => Ok(v),
        None => each_in_turn(m, f, init, xs),
    }
}

fn each_in_turn(m: &mut Machine, f: &Value, init: Value, xs: &Value) -> Res<Value> {
    let mut acc = init;
    for i in 0..len(xs) {
        let x = seq::elem(m, xs, i)?;
        acc = m.call(f, &[acc, x])?;
    }
    Ok(acc)
}

/// `foldr f init xs`.
pub(super) fn foldr(m: &mut Machine, f: &Value, init: Value, xs: &Value) -> Res<Value> {
    if let Some(v) = natively(m, HigherOrderFn::Foldr, f, &[init.clone(), xs.clone()], len(xs))? {
        return Ok(v);
    }
    let mut acc = init;
    for i in (0..len(xs)).rev() {
        let x = seq::elem(m, xs, i)?;
        acc = m.call(f, &[x, acc])?;
    }
    Ok(acc)
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
        && let (Buf::F64(v), 1) = (v.buf(), d.shape.len())
        && let Buf::F64(d) = Rc::make_mut(d).buf_mut()
    {
        for (at, v) in at.chunks(polling::STRIDE).zip(v.chunks(polling::STRIDE)) {
            machine.poll()?;
            kernels::count(b, d, at, v);
        }
        return Ok(std::mem::take(dest));
    }
    let n = len(dest);
    if let Some(v) = counted_natively(machine, dest, op, [neutral.clone(), keys.clone(), values.clone()])? {
        return Ok(v);
    }
    let mut out: Vec<Value> = (0..n).map(|i| seq::elem(machine, dest, i)).collect::<Res<_>>()?;
    for (j, k) in at.iter().enumerate() {
        if let Some(k) = usize::try_from(*k).ok().filter(|k| *k < n) {
            let x = seq::elem(machine, values, j)?;
            let old = std::mem::take(&mut out[k]);
            out[k] = machine.call(op, &[old, x])?;
        }
    }
    if out.is_empty() { Ok(dest.clone()) } else { seq::pack(machine, out) }
}

/// Runs `reduce_by_index` as native code.
fn counted_natively(m: &mut Machine, dest: &Value, op: &Value, rest: [Value; 3]) -> Res<Option<Value>> {
    if len(&rest[1]) < MANY || !m.may_compile() {
        return Ok(None);
    }
    let f = Value::Fun(Rc::new(Fun::Partial(
        Rc::new(Fun::Prim(Prim::HigherOrder(HigherOrderFn::ReduceByIndex), Vec::new())),
        vec![dest.clone(), op.clone()],
    )));
    crate::ir::derive::compile_plain::call(m, &f, &rest)
}

/// A comprehension: collects or reduces the values of `func` at each index tuple. `rep` is the element type.
pub(crate) fn comprehension(
    machine: &mut Machine,
    kind: ForKind,
    func: &Value,
    extents: &[Value],
    rep: &Value,
) -> Res<Value> {
    let mut shape = Shape::new();
    for n in extents {
        let n = int(n);
        shape.push(usize::try_from(n).map_err(|_| {
            Error::new(codes::NEGATIVE, format!("the bound of an index is {n}, and must not be negative"))
        })?);
    }
    // A reduction creates no array, so the number of index tuples is not limited by memory.
    let total = match kind {
        ForKind::Build => array::count(&shape)?,
        ForKind::Reduce(_) => shape.iter().fold(1usize, |a, b| a.saturating_mul(*b)),
    };
    let paces = crate::vm::lanes::code_of(func).filter(|c| total >= TIMED && c.whole.is_some());
    if (total >= super::whole::native_from(func) || paces.as_ref().is_some_and(|c| c.paces.is_worth_native()))
        && let Some(v) = machine.hot_comprehension(func, extents)?
    {
        return Ok(v);
    }
    let start = paces.is_some().then(std::time::Instant::now);
    let out = match super::whole::comprehension(machine, kind, func, &shape, total)? {
        Some(v) => Ok(v),
        None => match kind {
            ForKind::Build => build(machine, func, &shape, total, rep),
            ForKind::Reduce(p) => reduce_for(machine, p, func, &shape, total, rep),
        },
    };
    if let (Some(c), Some(start)) = (paces, start) {
        c.paces.took(start.elapsed());
    }
    out
}

/// Calls `visit` with the value of `func` at each index tuple; the last index varies fastest.
fn each(
    machine: &mut Machine,
    func: &Value,
    shape: &[usize],
    total: usize,
    visit: &mut dyn FnMut(&mut Machine, Value) -> Res<bool>,
) -> Res<()> {
    let mut at = vec![0usize; shape.len()];
    let mut args: Vec<Value> = vec![Value::Int(0); shape.len()];
    for k in 0..total {
        if k & 0xfff == 0 {
            machine.poll()?;
        }
        for (a, i) in args.iter_mut().zip(&at) {
            *a = Value::Int(*i as i64);
        }
        let v = machine.call(func, &args)?;
        if !visit(machine, v)? {
            return Ok(());
        }
        for axis in (0..at.len()).rev() {
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
    Ok(())
}

fn build(machine: &mut Machine, f: &Value, shape: &Shape, total: usize, rep: &Value) -> Res<Value> {
    let mut out: Vec<Value> = array::room(total)?;
    each(machine, f, shape, total, &mut |_, v| {
        out.push(v);
        Ok(true)
    })?;
    if total == 0 {
        return nothing(machine, f, shape, rep);
    }
    let flat = seq::pack(machine, out)?;
    if shape.len() == 1 {
        return Ok(flat);
    }
    let all: Shape = shape.iter().copied().chain(seq::shape(&flat).map_or(Shape::new(), |s| s[1..].into())).collect();
    crate::ad::rules::reshape(machine, flat, all)
}

/// A comprehension without elements. Its remaining extents are those in its type, or else those that its body
/// would produce.
fn nothing(m: &mut Machine, f: &Value, shape: &Shape, rep: &Value) -> Res<Value> {
    if matches!(rep, Value::Rep(r) if has_known_extents(r)) {
        return empty(shape, rep);
    }
    let indices = vec![array::ints(Vec::new()); shape.len()];
    match crate::vm::lanes::none(m, f, &indices) {
        Some(v) if shape.len() == 1 => Ok(v),
        Some(v) if super::whole::numbers(&v) => {
            let full = shape.iter().chain(seq::shape(&v).iter().flat_map(|s| &s[1..])).copied().collect();
            crate::ad::rules::reshape(m, v, full)
        }
        _ => empty(shape, rep),
    }
}

/// Whether a type determines all extents of arrays of numbers.
fn has_known_extents(r: &Rep) -> bool {
    match r {
        Rep::Float | Rep::F32 | Rep::Int | Rep::Bool => true,
        Rep::Array(n, e) => n.is_some() && has_known_extents(e),
        _ => false,
    }
}

/// An array without elements, whose element type is set if it is known.
fn empty(shape: &Shape, rep: &Value) -> Res<Value> {
    let mut full = shape.clone();
    let mut leaf = match rep {
        Value::Rep(r) => r.clone(),
        _ => Rc::new(Rep::Other),
    };
    while let Rep::Array(n, e) = &*leaf {
        full.push(n.unwrap_or(0));
        leaf = e.clone();
    }
    Ok(match &*leaf {
        Rep::Float => array::make(full, Buf::F64(Vec::new())),
        Rep::F32 => array::make(full, Buf::F32(Vec::new())),
        Rep::Int => array::make(full, Buf::I64(Vec::new())),
        Rep::Bool => array::make(full, Buf::Bool(Vec::new())),
        _ => array::make(shape.clone(), Buf::Boxed(Vec::new())),
    })
}

fn reduce_for(
    machine: &mut Machine,
    reduction: ReductionFn,
    func: &Value,
    shape: &Shape,
    total: usize,
    rep: &Value,
) -> Res<Value> {
    match reduction {
        ReductionFn::Any | ReductionFn::All => quantified(machine, reduction == ReductionFn::Any, func, shape, total),
        ReductionFn::Maximum | ReductionFn::Minimum => extreme(machine, reduction, func, shape, total),
        ReductionFn::Prod => {
            let mut acc: Option<Value> = None;
            each(machine, func, shape, total, &mut |m, v| {
                acc = Some(match acc.take() {
                    Some(a) => arith::bin(m, Bin::Mul, a, v)?,
                    None => v,
                });
                Ok(true)
            })?;
            Ok(acc.unwrap_or_else(|| match rep {
                Value::Rep(r) if **r == Rep::Int => Value::Int(1),
                Value::Rep(r) if **r == Rep::F32 => Value::F32(1.0),
                _ => Value::Float(1.0),
            }))
        }
        _ => {
            let mut sums = Sums::over(shape);
            each(machine, func, shape, total, &mut |m, v| sums.one(m, v).map(|()| true))?;
            let sum = sums.total().unwrap_or_else(|| match rep {
                Value::Rep(r) => r.zero(),
                _ => Value::Float(0.0),
            });
            mean(machine, reduction, sum, total)
        }
    }
}

/// Whether any element is true, or all are; stops at the first that decides.
fn quantified(m: &mut Machine, any: bool, f: &Value, shape: &Shape, total: usize) -> Res<Value> {
    let mut out = !any;
    each(m, f, shape, total, &mut |_, v| {
        if matches!(v, Value::Bool(true)) == any {
            out = any;
        }
        Ok(out != any)
    })?;
    Ok(Value::Bool(out))
}

/// The largest or smallest element; the first of several. A nan counts as more extreme than any number.
fn extreme(m: &mut Machine, reduction: ReductionFn, f: &Value, shape: &Shape, total: usize) -> Res<Value> {
    use std::cmp::Ordering;
    let better = if reduction == ReductionFn::Maximum { Ordering::Greater } else { Ordering::Less };
    let mut acc: Option<Value> = None;
    each(m, f, shape, total, &mut |_, v| {
        let replace = match &acc {
            None => true,
            Some(best) => {
                compare::partial(&v, best)? == Some(better)
                    || matches!(compare::primal(&v), Value::Float(x) if x.is_nan())
            }
        };
        if replace {
            acc = Some(v);
        }
        Ok(true)
    })?;
    acc.ok_or_else(|| Error::new(codes::EMPTY, format!("`{}` over no index", reduction.row().name)))
}
