//! Comprehensions: the values of a body at each index tuple, collected or reduced.

use super::arith;
use super::comprehension_sums::{Sums, mean};
use super::int;
use crate::error::{Error, Res, codes};
use crate::value::{Buf, Rep, Shape, Value, array, compare, seq};
use crate::vm::policy::{ElementCall, Watch};
use crate::vm::{Fun, Machine};
use adl_prim::{Bin, ReductionFn};
use adl_typing::core::ForKind;
use std::rc::Rc;

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
    let call = ElementCall { func, count: total, all: whole_comprehension(func), args: extents.to_vec() };
    machine.elements(&call, |m, watch| {
        let each = Each { func, shape: &shape, total };
        match kind {
            ForKind::Build => build(m, &each, rep, watch),
            ForKind::Reduce(p) => reduce_for(m, p, &each, rep, watch),
        }
    })
}

/// The comprehension with this body as a function of its extents.
fn whole_comprehension(body: &Value) -> Value {
    let whole = |f: &Fun| match f {
        Fun::Closure(code, captured) => code.whole.as_ref().map(|whole| Fun::Closure(whole.clone(), captured.clone())),
        _ => None,
    };
    match body {
        Value::Fun(f) => whole(f).map_or(Value::Unit, |f| Value::Fun(Rc::new(f))),
        _ => Value::Unit,
    }
}

/// The body of a comprehension and its index tuples.
struct Each<'a> {
    func: &'a Value,
    shape: &'a Shape,
    total: usize,
}

impl Each<'_> {
    /// Calls `visit` with the value at each index tuple, until it returns false; the last index varies fastest. If
    /// compiled code takes over, this returns the result of the comprehension.
    fn visit(
        &self,
        machine: &mut Machine,
        watch: &mut Watch<'_>,
        visit: &mut dyn FnMut(&mut Machine, Value) -> Res<bool>,
    ) -> Res<Option<Value>> {
        let mut at = vec![0usize; self.shape.len()];
        let mut args: Vec<Value> = vec![Value::Int(0); self.shape.len()];
        for k in 0..self.total {
            if k & 0xfff == 0 {
                machine.poll()?;
            }
            if let Some(v) = watch.before(machine, k)? {
                return Ok(Some(v));
            }
            for (a, i) in args.iter_mut().zip(&at) {
                *a = Value::Int(*i as i64);
            }
            let v = machine.call(self.func, &args)?;
            if !visit(machine, v)? {
                return Ok(None);
            }
            for axis in (0..at.len()).rev() {
                at[axis] += 1;
                if at[axis] < self.shape[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
        Ok(None)
    }
}

fn build(machine: &mut Machine, each: &Each<'_>, rep: &Value, watch: &mut Watch<'_>) -> Res<Value> {
    let mut out: Vec<Value> = array::room(each.total)?;
    let done = each.visit(machine, watch, &mut |_, v| {
        out.push(v);
        Ok(true)
    })?;
    if let Some(v) = done {
        return Ok(v);
    }
    let shape = each.shape;
    if each.total == 0 {
        return empty(shape, rep);
    }
    let flat = seq::pack(machine, out)?;
    if shape.len() == 1 {
        return Ok(flat);
    }
    let all: Shape = shape.iter().copied().chain(seq::shape(&flat).map_or(Shape::new(), |s| s[1..].into())).collect();
    super::shapes::reshape(machine, flat, all)
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
    each: &Each<'_>,
    rep: &Value,
    watch: &mut Watch<'_>,
) -> Res<Value> {
    match reduction {
        ReductionFn::Any | ReductionFn::All => quantified(machine, reduction == ReductionFn::Any, each, watch),
        ReductionFn::Maximum | ReductionFn::Minimum => extreme(machine, reduction, each, watch),
        ReductionFn::Prod => {
            let mut acc: Option<Value> = None;
            let done = each.visit(machine, watch, &mut |m, v| {
                acc = Some(match acc.take() {
                    Some(a) => arith::bin(m, Bin::Mul, a, v)?,
                    None => v,
                });
                Ok(true)
            })?;
            Ok(done.or(acc).unwrap_or_else(|| match rep {
                Value::Rep(r) if **r == Rep::Int => Value::Int(1),
                Value::Rep(r) if **r == Rep::F32 => Value::F32(1.0),
                _ => Value::Float(1.0),
            }))
        }
        _ => {
            let mut sums = Sums::over(each.shape);
            let done = each.visit(machine, watch, &mut |m, v| sums.one(m, v).map(|()| true))?;
            if let Some(v) = done {
                return Ok(v);
            }
            let sum = sums.total().unwrap_or_else(|| match rep {
                Value::Rep(r) => r.zero(),
                _ => Value::Float(0.0),
            });
            mean(machine, reduction, sum, each.total)
        }
    }
}

/// Whether any element is true, or all are; stops at the first that decides.
fn quantified(m: &mut Machine, any: bool, each: &Each<'_>, watch: &mut Watch<'_>) -> Res<Value> {
    let mut out = !any;
    let done = each.visit(m, watch, &mut |_, v| {
        if matches!(v, Value::Bool(true)) == any {
            out = any;
        }
        Ok(out != any)
    })?;
    Ok(done.unwrap_or(Value::Bool(out)))
}

/// The largest or smallest element; the first of several. A nan counts as more extreme than any number.
fn extreme(m: &mut Machine, reduction: ReductionFn, each: &Each<'_>, watch: &mut Watch<'_>) -> Res<Value> {
    use std::cmp::Ordering;
    let better = if reduction == ReductionFn::Maximum { Ordering::Greater } else { Ordering::Less };
    let mut acc: Option<Value> = None;
    let done = each.visit(m, watch, &mut |_, v| {
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
    done.or(acc).ok_or_else(|| Error::new(codes::EMPTY, format!("`{}` over no index", reduction.row().name)))
}
