//! Evaluates a single operation of lowered IR on values.

use super::op_site::rep;
use super::{buffer, host_calls};
use crate::error::{Error, Res, codes};
use crate::ops::element_ops::{self, symbolic_zero};
use crate::ops::interrupt::InterruptFlag;
use crate::ops::{arith, compared, contract as contracted, shapes, sums_from_the_end};
use crate::upcalls::{CollectiveSite, Upcalls};
use crate::value::each::laid_out;
use crate::value::{Buf, Kind, Rep, Shape, Value, array, compare, seq};
use crate::vm::Machine;
pub use crate::vm::code::LoweredOp;
use adl_ir::{Cmp, Contract, Conv, Op, Ty};
use adl_prim::{ArrayFn, Bin, Prim, ReductionFn, Un};
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;

/// Results of an operation.
pub type Outs = SmallVec<[Value; 2]>;

fn take(args: &mut [Value], v: adl_ir::Var) -> Value {
    std::mem::take(&mut args[v.0 as usize])
}

/// Evaluates an operation. `zeros` are its results if an operand is a symbolic zero that annihilates it.
pub fn run(machine: &mut Machine, what: &LoweredOp, args: &mut [Value], zeros: &[Value]) -> Res<Outs> {
    match what {
        LoweredOp::Op(op) => {
            if absorbing(op, args) {
                return Ok(zeros.iter().cloned().collect());
            }
            operation(machine, op, args)
        }
        LoweredOp::Prim(Prim::Array(ArrayFn::Take), reps) if whole(args) => {
            let n = args[0].clone();
            Ok(smallvec![match take(args, adl_ir::Var(1)) {
                Value::Zero => element_ops::zero_vector(&n, reps)?,
                v => v,
            }])
        }
        LoweredOp::Prim(p, _) if host_calls::is_host_call(*p) => host_calls::run(machine, *p, args),
        LoweredOp::Prim(p, reps) => {
            let v = machine.apply_primitive(*p, reps, args)?;
            Ok(match v {
                Value::Tuple(t) if zeros.len() > 1 => t.0.iter().cloned().collect(),
                // An array of tuples is stored by columns.
                Value::Array(a) if zeros.len() > 1 => match a.buf() {
                    Buf::Tuple(columns) => columns.iter().cloned().collect(),
                    _ => smallvec![Value::Array(a)],
                },
                v => smallvec![laid_out(v)],
            })
        }
        LoweredOp::Collective(kind, count, span) => {
            let mut all: Vec<Value> = args.iter_mut().map(std::mem::take).collect();
            let at = all.split_off(*count).pop().unwrap_or_default();
            let site = CollectiveSite { at: *span, of: None, everywhere: false };
            machine.collective(*kind, all, &at, site).map(Outs::from_vec)
        }
        LoweredOp::Con(con) => Ok(smallvec![Value::data(con.clone(), args.iter_mut().map(std::mem::take))]),
        LoweredOp::Buffer(ty, boxed) => Ok(smallvec![buffer::empty(ty, *boxed, &args[0])?]),
        LoweredOp::Finish(reverse) => {
            let v = std::mem::take(&mut args[0]);
            Ok(smallvec![buffer::finish(v, *reverse)])
        }
        LoweredOp::Put => {
            let (d, v) = (std::mem::take(&mut args[0]), std::mem::take(&mut args[2]));
            Ok(smallvec![element_ops::put(d, &args[1..2], &v)?])
        }
    }
}

/// Whether `take` returns its entire operand, or its operand is a symbolic zero.
fn whole(args: &[Value]) -> bool {
    match (&args[0], &args[1]) {
        (_, Value::Zero) => true,
        (Value::Int(n), a) => seq::len(a) as i64 == *n,
        _ => false,
    }
}

/// Whether the result is zero because an operand is a symbolic zero.
fn absorbing(op: &Op, args: &[Value]) -> bool {
    let zero = |v: &adl_ir::Var| matches!(args[v.0 as usize], Value::Zero);
    match op {
        Op::Bin(Bin::Mul | Bin::ScaleTangent, a, b) | Op::Dot(a, b) | Op::MatMul(a, b) | Op::Outer(a, b) => {
            zero(a) || zero(b)
        }
        Op::Bin(Bin::Div, a, _) | Op::Un(Un::Neg, a) | Op::Convert(_, a) | Op::Reverse(a) | Op::Transpose(a) => zero(a),
        Op::Index { a, .. }
        | Op::Slice { a, .. }
        | Op::Gather { a, .. }
        | Op::Reshape { a, .. }
        | Op::Rotate { a, .. } => zero(a),
        Op::Replicate { a, .. }
        | Op::Sum { a, .. }
        | Op::Broadcast { a, .. }
        | Op::SumAll { a, .. }
        | Op::Cumsum { a, .. } => zero(a),
        Op::Dup(a) | Op::Destruct { a, .. } => zero(a),
        Op::Concat { a, b, .. } => zero(a) && zero(b),
        Op::ArrayLit { elems, .. } => !elems.is_empty() && elems.iter().all(zero),
        _ => false,
    }
}

fn operation(machine: &mut Machine, op: &Op, args: &mut [Value]) -> Res<Outs> {
    let value = match op {
        // Symbolic zeros may only reach linear operations.
        Op::Un(_, a) if matches!(args[a.0 as usize], Value::Zero) => return Err(symbolic_zero(op.name())),
        Op::Bin(bin, a, b)
            if !matches!(bin, Bin::Add | Bin::Sub)
                && [a, b].iter().any(|v| matches!(args[v.0 as usize], Value::Zero)) =>
        {
            return Err(symbolic_zero(op.name()));
        }
        Op::Cmp(_, a, b) if [a, b].iter().any(|v| matches!(args[v.0 as usize], Value::Zero)) => {
            return Err(symbolic_zero(op.name()));
        }
        // The sum of a scalar zero and a symbolic zero is symbolic, because the shape is unknown.
        Op::Bin(Bin::Add, a, b)
            if matches!(
                (&args[a.0 as usize], &args[b.0 as usize]),
                (Value::Float(0.0) | Value::F32(0.0), Value::Zero)
            ) =>
        {
            Value::Zero
        }
        Op::Un(op, a) => {
            let a = take(args, *a);
            arith::un(machine, *op, a)?
        }
        Op::Bin(op, a, b) => {
            let (a, b) = (take(args, *a), take(args, *b));
            arith::bin(machine, *op, a, b)?
        }
        Op::Cmp(c, a, b) => comparison(machine, *c, &args[a.0 as usize], &args[b.0 as usize])?,
        Op::Not(a) => not(&args[a.0 as usize]),
        Op::Select(..) => select(machine, args)?,
        Op::Convert(c, a) => convert(*c, &args[a.0 as usize])?,
        Op::Dim(a, axis) => extent(&args[a.0 as usize], *axis)?,
        Op::Dup(a) => return Ok(smallvec![args[a.0 as usize].clone(), args[a.0 as usize].clone()]),
        Op::Drop(_) => return Ok(SmallVec::new()),
        Op::Destruct { a, .. } => return fields(&args[a.0 as usize]),
        Op::Nonzero(a) | Op::Zeros(a) => places(&args[a.0 as usize]),
        other => return arrays(machine, other, args),
    };
    Ok(smallvec![value])
}

/// The number of elements, including those in boxes; 0 for a symbolic zero.
fn elements(v: &Value) -> i64 {
    let mut todo = vec![v];
    let mut count = 0;
    while let Some(v) = todo.pop() {
        count += match v {
            Value::Array(a) => match a.buf() {
                Buf::Boxed(vs) => {
                    todo.extend(vs);
                    0
                }
                _ => i64::try_from(a.shape.iter().product::<usize>()).unwrap_or(i64::MAX),
            },
            Value::Zero => 0,
            _ => 1,
        };
    }
    count
}

/// Operations on arrays.
fn arrays(machine: &mut Machine, op: &Op, args: &mut [Value]) -> Res<Outs> {
    let at = |v: &adl_ir::Var| v.0 as usize;
    let value = match op {
        Op::Shape(_) => prim(machine, Prim::Array(ArrayFn::Shape), Ty::I64, args)?,
        Op::Size(a) => Value::Int(elements(&args[at(a)])),
        Op::Index { a, at: is, .. } => element_ops::at(&args[at(a)], &args[at(a) + 1..at(a) + 1 + is.len()])?,
        Op::IndexAdd { .. } | Op::IndexSet { .. } | Op::SliceAdd { .. } | Op::GatherAdd { .. } => {
            update(machine, op, args)?
        }
        Op::Slice { a, lo, hi, .. } => element_ops::slice(&args[at(a)], &args[at(lo)], &args[at(hi)])?,
        Op::Gather { a, at: is, shape: Some(_) } if element_ops::out_of_bounds(&args[at(a)], &args[at(is)]) => {
            element_ops::gather_or_zero(machine, &args[at(a)], &args[at(is)])?
        }
        Op::Gather { .. } => prim(machine, Prim::Array(ArrayFn::Gather), Ty::F64, &mut args[..2])?,
        Op::Reverse(_) => prim(machine, Prim::Array(ArrayFn::Reverse), Ty::F64, args)?,
        Op::Rotate { .. } => prim(machine, Prim::Array(ArrayFn::Rotate), Ty::F64, args)?,
        Op::Concat { len, shape, .. } => concat(machine, args, *len, *shape)?,
        Op::Reshape { a, to, .. } => {
            let mut pair = [take(args, *to), take(args, *a)];
            prim(machine, Prim::Array(ArrayFn::Reshape), Ty::F64, &mut pair)?
        }
        Op::Transpose(_) => prim(machine, Prim::Array(ArrayFn::TransposeArray), Ty::F64, args)?,
        Op::Replicate { .. } => prim(machine, Prim::Array(ArrayFn::Replicate), Ty::F64, args)?,
        Op::Sum { a, .. } => {
            let v = take(args, *a);
            element_ops::sum(machine, v)?
        }
        Op::SumAll { a, .. } => element_ops::total(&args[at(a)])?,
        Op::Broadcast { a, shape } => element_ops::spread(machine, &args[at(a)], &args[at(shape)])?,
        Op::ArrayLit { elems, .. } => {
            let mut all: Vec<Value> = args[..elems.len()].iter_mut().map(std::mem::take).collect();
            materialise_beside(&mut all)?;
            seq::pack(machine, all)?
        }
        Op::Dot(..) => dot(machine, args)?,
        Op::MatMul(..) => product(machine, Prim::Reduction(ReductionFn::MatMul), args)?,
        Op::Contract(c) => contract(machine, c, args)?,
        Op::Outer(..) => product(machine, Prim::Reduction(ReductionFn::Outer), args)?,
        Op::Cumsum { reverse, .. } => cumsum(machine, args, *reverse)?,
        other => return Err(Error::new(codes::STRUCTURE, format!("{other:?} is no operation on values"))),
    };
    Ok(smallvec![value])
}

/// Gives symbolic zeros among the rows of an array the shape of the other rows.
fn materialise_beside(rows: &mut [Value]) -> Res<()> {
    let Some(like) = rows.iter().find(|v| matches!(v, Value::Array(_))).cloned() else { return Ok(()) };
    let Some(shape) = seq::shape(&like).cloned() else { return Ok(()) };
    for row in rows.iter_mut().filter(|v| matches!(v, Value::Zero)) {
        *row = element_ops::zero_like_elements(&like, shape.clone())?;
    }
    Ok(())
}

/// The sum of products of the elements of two arrays of one shape.
fn dot(m: &mut Machine, args: &mut [Value]) -> Res<Value> {
    if args.first().and_then(seq::shape).is_some_and(|s| s.len() > 1) {
        for v in args.iter_mut() {
            let n = seq::shape(v).map_or(0, |s| s.iter().product());
            *v = shapes::reshape(m, std::mem::take(v), Shape::from_slice(&[n]))?;
        }
    }
    prim(m, Prim::Reduction(ReductionFn::Dot), Ty::F64, args)
}

/// A contraction; zeros if a factor is a symbolic zero.
fn contract(machine: &mut Machine, contract: &Contract, args: &mut [Value]) -> Res<Value> {
    let extent = |v: adl_ir::Var| match &args[v.0 as usize] {
        Value::Int(n) => Ok((*n).max(0) as usize),
        _ => Err(symbolic_zero("contract")),
    };
    let size = (extent(contract.size[0])?, extent(contract.size[1])?, extent(contract.size[2])?);
    let (a, b) = (&args[contract.a.0 as usize], &args[contract.b.0 as usize]);
    if [a, b].iter().any(|v| matches!(v, Value::Zero)) {
        let shape = if seq::shape(a).is_some_and(|s| s.len() == 1) {
            Shape::from_slice(&[size.1])
        } else {
            Shape::from_slice(&[size.0, size.1])
        };
        return Ok(array::make(shape.clone(), Buf::F64(array::filled(0.0, array::count(&shape)?)?)));
    }
    contracted(InterruptFlag(&machine.interrupt), contract, (a, b), size)
}

/// Additions to arrays and replacements of elements, in place if the array is not shared.
fn update(machine: &mut Machine, op: &Op, args: &mut [Value]) -> Res<Value> {
    let (acc, var, shape, at) = match op {
        Op::IndexAdd { acc, at, v, shape } | Op::IndexSet { acc, at, v, shape } => (*acc, *v, *shape, at.len()),
        Op::SliceAdd { acc, v, shape, .. } | Op::GatherAdd { acc, v, shape, .. } => (*acc, *v, *shape, 0),
        other => return Err(Error::new(codes::STRUCTURE, format!("{other:?} does not update an array"))),
    };
    if let (Op::SliceAdd { lo, .. }, Some(s)) = (op, shape)
        && matches!(args[acc.0 as usize], Value::Zero)
        && !matches!(args[var.0 as usize], Value::Zero)
    {
        return element_ops::within(machine, &args[s.0 as usize], &args[lo.0 as usize], &args[var.0 as usize]);
    }
    let acc = start(args, acc, var, shape, at)?;
    if matches!(acc, Value::Zero) {
        return Ok(acc);
    }
    let v = take(args, var);
    match op {
        Op::IndexAdd { at, .. } => element_ops::add_at(machine, acc, &args[1..=at.len()], v),
        Op::IndexSet { at, .. } => element_ops::put(acc, &args[1..=at.len()], &v),
        Op::SliceAdd { lo, .. } => element_ops::add_slice(machine, acc, &args[lo.0 as usize], v),
        Op::GatherAdd { at, .. } => element_ops::add_gather(machine, acc, &args[at.0 as usize], v, shape.is_some()),
        other => Err(Error::new(codes::STRUCTURE, format!("{other:?} does not update an array"))),
    }
}

fn prim(m: &mut Machine, p: Prim, elem: Ty, args: &mut [Value]) -> Res<Value> {
    let rep = Value::Rep(Rc::new(rep(&elem)));
    m.apply_primitive(p, std::slice::from_ref(&rep), args)
}

/// A product; axes of the right operand beyond the usual rank are flattened to columns.
fn product(machine: &mut Machine, p: Prim, args: &mut [Value]) -> Res<Value> {
    let most = if p == Prim::Reduction(ReductionFn::Outer) { 1 } else { 2 };
    let Some(right) = seq::shape(&args[1]).filter(|s| s.len() > most).cloned() else {
        return prim(machine, p, Ty::F64, args);
    };
    let rest = &right[most - 1..];
    let flat: Shape = right[..most - 1].iter().copied().chain([rest.iter().product()]).collect();
    args[1] = shapes::reshape(machine, std::mem::take(&mut args[1]), flat)?;
    let made = prim(machine, p, Ty::F64, args)?;
    let kept = seq::shape(&made).map_or(0, |s| s.len().saturating_sub(1));
    let shape: Shape = seq::shape(&made).into_iter().flat_map(|s| s.iter().take(kept)).chain(rest).copied().collect();
    shapes::reshape(machine, made, shape)
}

/// The array to add to: if it is a symbolic zero, a zero array of the given shape, unless the added value is a
/// symbolic zero as well. `at` is the number of indices.
fn start(args: &mut [Value], acc: adl_ir::Var, v: adl_ir::Var, shape: Option<adl_ir::Var>, at: usize) -> Res<Value> {
    match (take(args, acc), &args[v.0 as usize], shape) {
        (Value::Zero, Value::Zero, _) => Ok(Value::Zero),
        (Value::Zero, v, Some(s)) => element_ops::zeros(&args[s.0 as usize], v, at),
        (Value::Zero, _, None) => Err(symbolic_zero("update")),
        (v, _, _) => Ok(v),
    }
}

fn comparison(m: &Machine, cmp: Cmp, left: &Value, right: &Value) -> Res<Value> {
    let Some(shape) = seq::shape(left).or(seq::shape(right)).cloned() else {
        return Ok(Value::Bool(cmp.holds(compare::partial(left, right)?)));
    };
    if let (Some(s), Some(t)) = (seq::shape(left), seq::shape(right))
        && s != t
    {
        return Err(arith::shapes_differ(s, t));
    }
    let n: usize = shape.iter().product();
    let out = match compared(InterruptFlag(&m.interrupt), cmp, left, right, n) {
        Some(out) => out?,
        None => {
            let mut out = array::room(n)?;
            for i in 0..n {
                out.push(cmp.holds(compare::partial(&element_ops::flat(left, i), &element_ops::flat(right, i))?));
            }
            out
        }
    };
    Ok(array::make(shape, Buf::Bool(out)))
}

fn not(a: &Value) -> Value {
    match a {
        Value::Array(x) => match x.buf() {
            Buf::Bool(v) => array::make(x.shape.clone(), Buf::Bool(v.iter().map(|b| !b).collect())),
            _ => a.clone(),
        },
        v => Value::Bool(matches!(v, Value::Bool(false))),
    }
}

/// Arguments: the condition and the two values.
fn select(machine: &mut Machine, args: &mut [Value]) -> Res<Value> {
    if let Value::Bool(c) = &args[0] {
        return Ok(std::mem::take(&mut args[if *c { 1 } else { 2 }]));
    }
    // A symbolic zero is materialised with the scalar type of the other value.
    let narrow = |v: &Value| matches!(v, Value::F32(_)) || matches!(v, Value::Array(a) if a.kind() == Kind::F32);
    let zero = if args.iter().any(narrow) { Value::F32(0.0) } else { Value::Float(0.0) };
    for a in &mut args[1..] {
        if matches!(a, Value::Zero) {
            *a = zero.clone();
        }
    }
    prim(machine, Prim::Array(ArrayFn::Where), Ty::F64, args)
}

fn convert(c: Conv, operand: &Value) -> Res<Value> {
    let to = match c {
        Conv::ToF64 => Rep::Float,
        Conv::ToF32 => Rep::F32,
        Conv::ToI64 => Rep::Int,
    };
    let ints = match operand {
        Value::Bool(b) => Value::Int(i64::from(*b)),
        Value::Array(x) => match x.buf() {
            Buf::Bool(v) => array::make(x.shape.clone(), Buf::I64(v.iter().map(|b| i64::from(*b)).collect())),
            _ => return arith::convert(operand, to),
        },
        _ => return arith::convert(operand, to),
    };
    arith::convert(&ints, to)
}

fn extent(a: &Value, axis: u32) -> Res<Value> {
    match a {
        Value::Zero => Err(symbolic_zero("dim")),
        a => Ok(Value::Int(seq::shape(a).and_then(|s| s.get(axis as usize)).map_or(0, |n| *n as i64))),
    }
}

fn fields(a: &Value) -> Res<Outs> {
    match a {
        Value::Data(d) => Ok(d.fields.iter().cloned().collect()),
        _ => Err(symbolic_zero("destruct")),
    }
}

/// The positions of `true` elements, or of zeros.
fn places(a: &Value) -> Value {
    fn of<T>(v: &[T], sought: impl Fn(&T) -> bool) -> Value {
        array::ints(v.iter().enumerate().filter(|(_, x)| sought(x)).map(|(i, _)| i as i64).collect())
    }
    match a {
        Value::Array(x) => match x.buf() {
            Buf::Bool(v) => of(v, |b| *b),
            Buf::F64(v) => of(v, |x| *x == 0.0),
            Buf::F32(v) => of(v, |x| *x == 0.0),
            _ => array::ints(Vec::new()),
        },
        _ => array::ints(Vec::new()),
    }
}

/// Arguments: the two arrays. A symbolic zero is materialised with the extents that remain of the result's
/// shape.
fn concat(
    machine: &mut Machine,
    args: &mut [Value],
    len: Option<adl_ir::Var>,
    shape: Option<adl_ir::Var>,
) -> Res<Value> {
    if let Some(gap) = args[..2].iter().position(|a| matches!(a, Value::Zero)) {
        let (Some(len), Some(shape)) = (len, shape) else { return Err(symbolic_zero("concat")) };
        let (Value::Int(n), Some(mut extents)) = (&args[len.0 as usize], element_ops::extents(&args[shape.0 as usize]))
        else {
            return Err(symbolic_zero("concat"));
        };
        let n = usize::try_from(*n).unwrap_or(0);
        extents[0] = if gap == 0 { n } else { extents[0].saturating_sub(n) };
        args[gap] = element_ops::zero_like_elements(&args[1 - gap], extents)?;
    }
    prim(machine, Prim::Array(ArrayFn::Append), Ty::F64, &mut args[..2])
}

fn cumsum(machine: &mut Machine, args: &mut [Value], reverse: bool) -> Res<Value> {
    if !reverse {
        return prim(machine, Prim::Reduction(ReductionFn::Cumsum), Ty::F64, args);
    }
    if let Value::Array(a) = &args[0]
        && let (Buf::F64(x), 1) = (a.buf(), a.shape.len())
    {
        return Ok(array::floats(sums_from_the_end(x)?));
    }
    let mut turned = [prim(machine, Prim::Array(ArrayFn::Reverse), Ty::F64, args)?];
    let mut sums = [prim(machine, Prim::Reduction(ReductionFn::Cumsum), Ty::F64, &mut turned)?];
    prim(machine, Prim::Array(ArrayFn::Reverse), Ty::F64, &mut sums)
}
