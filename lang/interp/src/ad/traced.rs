//! Primitives on traced arguments: one level is removed, the primitive runs on the primals, and the result is
//! recorded.

use super::{DerivativePart, deep_level, level_of, result, rules, split};
use crate::error::{Error, Res, codes};
use crate::ops::{arith, call, lengths_differ, masks, put, reduce};
use crate::upcalls::Upcalls;
use crate::value::{Buf, Kind, Shape, Value, array, compare, seq};
use adl_prim::{ArrayFn, Bin, LinalgFn, NumberFn, Prim, ReductionFn};
use std::rc::Rc;

/// Applies a primitive to arguments of which some are traced. Arguments may be moved out, so that an unshared
/// array is updated in place.
pub fn apply_traced(m: &mut dyn Upcalls, p: Prim, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    let level = args.iter().map(level_of).max().unwrap_or(0);
    match p {
        Prim::Array(ArrayFn::Scatter | ArrayFn::ScatterWithin) if level > 0 => rules::scatter(m, level, p, args),
        Prim::Array(ArrayFn::Put) if level > 0 => rules::put(m, level, args),
        Prim::Array(ArrayFn::Put) => put(m, args),
        _ => traced(m, p, reps, args),
    }
}

fn traced(m: &mut dyn Upcalls, prim: Prim, reps: &[Value], args: &[Value]) -> Res<Value> {
    match prim {
        Prim::Number(p) => number(m, p, args),
        Prim::CompareEach(_) => on_primals(m, prim, reps, args),
        Prim::Array(p) => array_fn(m, p, reps, args),
        Prim::Reduction(p) => reduction(m, p, reps, args),
        Prim::Linalg(p) => linear_algebra(m, p, args),
        Prim::Bin(_)
        | Prim::Un(_)
        | Prim::Compare(_)
        | Prim::General(_)
        | Prim::HigherOrder(_)
        | Prim::Random(_)
        | Prim::Text(_)
        | Prim::Io(_)
        | Prim::Comm(_)
        | Prim::Rows(_)
        | Prim::Derivative(_) => Err(not_here(prim)),
    }
}

/// Applies a primitive whose result has no tangent.
fn on_primals(m: &mut dyn Upcalls, p: impl Into<Prim>, reps: &[Value], args: &[Value]) -> Res<Value> {
    call(m, p, reps, args.iter().map(primal_of).collect())
}

fn number(machine: &mut dyn Upcalls, prim: NumberFn, args: &[Value]) -> Res<Value> {
    let a0 = || args[0].clone();
    match prim {
        NumberFn::Clamp => {
            let low = arith::bin(machine, Bin::Max, args[2].clone(), a0())?;
            arith::bin(machine, Bin::Min, low, args[1].clone())
        }
        NumberFn::ToFloat | NumberFn::ToF32 => convert(machine, prim, &args[0]),
        NumberFn::IsNan
        | NumberFn::IsInf
        | NumberFn::ToInt
        | NumberFn::Not
        | NumberFn::AndEach
        | NumberFn::OrEach
        | NumberFn::Pi
        | NumberFn::E
        | NumberFn::Inf
        | NumberFn::Nan => on_primals(machine, prim, &[], args),
        NumberFn::PowInt => Err(not_here(prim)),
    }
}

fn reduction(machine: &mut dyn Upcalls, reduction: ReductionFn, reps: &[Value], args: &[Value]) -> Res<Value> {
    let a0 = || args[0].clone();
    match reduction {
        ReductionFn::Maximum | ReductionFn::Minimum => {
            if seq::len(&args[0]) == 0 {
                return call(machine, reduction, reps, vec![primal_of(&args[0])]);
            }
            let at = call(
                machine,
                if reduction == ReductionFn::Maximum { ReductionFn::Argmax } else { ReductionFn::Argmin },
                &[],
                vec![primal_of(&args[0])],
            )?;
            let Value::Int(i) = at else { return Err(not_here(reduction)) };
            seq::elem(machine, &args[0], i as usize)
        }
        ReductionFn::Sum => sum(machine, reps, a0()),
        ReductionFn::Mean => {
            let s = sum(machine, reps, a0())?;
            let n = like(seq::len(&args[0]) as f64, &args[0]);
            arith::bin(machine, Bin::Div, s, n)
        }
        ReductionFn::Prod => fold(machine, Bin::Mul, &args[0]),
        ReductionFn::Cumprod => cumprod(machine, &args[0]),
        ReductionFn::Cumsum => unary_rule(machine, reduction, &args[0], Rc::new(rules::Cumsum)),
        ReductionFn::Norm => reduce::norm(machine, args[0].clone()),
        ReductionFn::Dot => {
            if seq::len(&args[0]) != seq::len(&args[1]) {
                return Err(lengths_differ("dot", seq::len(&args[0]), seq::len(&args[1])));
            }
            binary_rule(machine, reduction, &args[0], &args[1], |a, b, _, traced| Rc::new(rules::Dot { a, b, traced }))
        }
        ReductionFn::Outer => outer(machine, &args[0], &args[1]),
        ReductionFn::MatMul => binary_rule(machine, ReductionFn::MatMul, &args[0], &args[1], |a, b, _, traced| {
            Rc::new(rules::MatMul { a, b, traced })
        }),
        ReductionFn::Argsort | ReductionFn::Argmin | ReductionFn::Argmax | ReductionFn::Any | ReductionFn::All => {
            on_primals(machine, reduction, reps, args)
        }
    }
}

fn linear_algebra(m: &mut dyn Upcalls, p: LinalgFn, args: &[Value]) -> Res<Value> {
    match p {
        LinalgFn::LinSolve => binary_rule(m, p, &args[0], &args[1], |a, _, x, _| Rc::new(rules::Solve { a, x })),
        // Module `linalg` gives the others custom rules.
        LinalgFn::Cholesky
        | LinalgFn::Qr
        | LinalgFn::Lu
        | LinalgFn::Svd
        | LinalgFn::Eigh
        | LinalgFn::Inv
        | LinalgFn::Det => Err(not_here(p)),
    }
}

fn array_fn(machine: &mut dyn Upcalls, prim: ArrayFn, reps: &[Value], args: &[Value]) -> Res<Value> {
    let a0 = || args[0].clone();
    match prim {
        ArrayFn::Len | ArrayFn::Shape | ArrayFn::Rank => call(machine, prim, reps, vec![primal_of(&args[0])]),
        ArrayFn::Split => {
            let x = call(machine, ArrayFn::Take, &[], vec![a0(), args[1].clone()])?;
            let y = call(machine, ArrayFn::Drop, &[], vec![a0(), args[1].clone()])?;
            Ok(Value::Tuple(Rc::new(crate::value::Tuple(vec![x, y]))))
        }
        ArrayFn::Linspace => {
            let n = match &args[2] {
                Value::Int(n) if *n > 1 => *n,
                _ => 1,
            };
            let d = arith::bin(machine, Bin::Sub, args[1].clone(), a0())?;
            let steps = array::floats((0..n).map(|i| i as f64 / (n - 1).max(1) as f64).collect());
            let along = arith::bin(machine, Bin::ScaleTangent, d, steps)?;
            arith::bin(machine, Bin::Add, along, a0())
        }
        ArrayFn::Where => choice(machine, args),
        ArrayFn::Compress => masks::compress(machine, &args[0], args[1].clone()),
        // They only move elements.
        ArrayFn::Scatter
        | ArrayFn::ScatterWithin
        | ArrayFn::Gather
        | ArrayFn::Replicate
        | ArrayFn::Rotate
        | ArrayFn::Reverse
        | ArrayFn::Append
        | ArrayFn::Flatten
        | ArrayFn::Reshape
        | ArrayFn::Take
        | ArrayFn::Drop
        | ArrayFn::Diag
        | ArrayFn::TransposeArray
        | ArrayFn::Stack => structural_call(machine, prim, args),
        ArrayFn::Iota | ArrayFn::Range | ArrayFn::Arange | ArrayFn::Eye | ArrayFn::Zeros | ArrayFn::Ones => {
            on_primals(machine, prim, reps, args)
        }
        ArrayFn::Zip | ArrayFn::Zip3 | ArrayFn::Unzip | ArrayFn::Unzip3 | ArrayFn::Full | ArrayFn::Put => {
            Err(not_here(prim))
        }
    }
}

/// `where`. A tuple, record, data value or function is selected as it is; only numbers and arrays are
/// broadcast.
fn choice(m: &mut dyn Upcalls, args: &[Value]) -> Res<Value> {
    if let Value::Bool(c) = args[0] {
        let chosen = &args[if c { 1 } else { 2 }];
        if !matches!(compare::primal(chosen), Value::Float(_) | Value::F32(_) | Value::Array(_)) {
            return Ok(chosen.clone());
        }
    }
    structural_call(m, ArrayFn::Where, args)
}

fn not_here(p: impl Into<Prim>) -> Box<Error> {
    let p = p.into();
    Error::new(codes::DOMAIN, format!("`{}` cannot be differentiated here", p.name()))
}

/// A number with the precision of `v`.
fn like(x: f64, v: &Value) -> Value {
    match v {
        Value::Dual(d) => like(x, &d.primal),
        Value::Array(a) if a.kind() == Kind::F32 => Value::F32(x as f32),
        Value::F32(_) => Value::F32(x as f32),
        _ => Value::Float(x),
    }
}

/// The value without derivative parts, including those in columns and elements.
pub(crate) fn primal_of(v: &Value) -> Value {
    match v {
        Value::Array(_) | Value::Tuple(_) | Value::Record(_) | Value::Data(_) => {
            crate::value::vector_space::map_leaves(v, &mut |x| Ok(compare::primal(x))).unwrap_or_else(|_| v.clone())
        }
        v => compare::primal(v),
    }
}

fn unary_rule(m: &mut dyn Upcalls, p: impl Into<Prim>, v: &Value, rule: Rc<dyn super::tape::Rule>) -> Res<Value> {
    let level = level_of(v);
    let (x, part) = split(v, level);
    let y = call(m, p, &[], vec![x])?;
    result(m, level, vec![part], y, rule)
}

fn binary_rule(
    m: &mut dyn Upcalls,
    p: impl Into<Prim>,
    a: &Value,
    b: &Value,
    rule: impl FnOnce(Value, Value, Value, [bool; 2]) -> Rc<dyn super::tape::Rule>,
) -> Res<Value> {
    let level = level_of(a).max(level_of(b));
    let ((x, px), (y, py)) = (split(a, level), split(b, level));
    let z = call(m, p, &[], vec![x.clone(), y.clone()])?;
    let rule = rule(x, y, z.clone(), [px.is_some(), py.is_some()]);
    result(m, level, vec![px, py], z, rule)
}

fn sum(machine: &mut dyn Upcalls, reps: &[Value], value: Value) -> Res<Value> {
    let Value::Dual(dual) = &value else {
        if deep_level(&value) == 0 {
            return call(machine, ReductionFn::Sum, reps, vec![value]);
        }
        // Tuples and records by component; boxed data one after the other.
        return match &value {
            Value::Array(a) => match a.buf() {
                Buf::Tuple(cols) => {
                    let parts = cols.iter().map(|c| sum(machine, reps, c.clone())).collect::<Res<Vec<_>>>()?;
                    Ok(Value::Tuple(Rc::new(crate::value::Tuple(parts))))
                }
                Buf::Record(names, cols) => {
                    let vals = cols.iter().map(|c| sum(machine, reps, c.clone())).collect::<Res<Vec<_>>>()?;
                    Ok(Value::Record(Rc::new(crate::value::Record { names: names.clone(), vals })))
                }
                _ => fold(machine, Bin::Add, &value),
            },
            _ => fold(machine, Bin::Add, &value),
        };
    };
    let n = seq::len(&value);
    let (level, x, part) = (dual.level, dual.primal.clone(), dual.part.clone());
    let y = call(machine, ReductionFn::Sum, reps, vec![x])?;
    result(machine, level, vec![Some(part)], y, Rc::new(rules::SumRows { n }))
}

/// A left-to-right reduction by a scalar operator.
fn fold(m: &mut dyn Upcalls, op: Bin, v: &Value) -> Res<Value> {
    let n = seq::len(v);
    if n == 0 {
        return Ok(like(if op == Bin::Mul { 1.0 } else { 0.0 }, v));
    }
    let mut acc = seq::elem(m, v, 0)?;
    for i in 1..n {
        let x = seq::elem(m, v, i)?;
        acc = arith::bin(m, op, acc, x)?;
    }
    Ok(acc)
}

fn cumprod(m: &mut dyn Upcalls, v: &Value) -> Res<Value> {
    let mut out = Vec::new();
    for i in 0..seq::len(v) {
        let x = seq::elem(m, v, i)?;
        let y = match out.last() {
            Some(prev) => arith::bin(m, Bin::Mul, Value::clone(prev), x)?,
            None => x,
        };
        out.push(y);
    }
    if out.is_empty() { Ok(v.clone()) } else { seq::pack(m, out) }
}

fn outer(m: &mut dyn Upcalls, a: &Value, b: &Value) -> Res<Value> {
    let (n, k) = (seq::len(a), seq::len(b));
    let rows: Vec<i64> = (0..n as i64).flat_map(|i| std::iter::repeat_n(i, k)).collect();
    let cols: Vec<i64> = (0..n).flat_map(|_| 0..k as i64).collect();
    let x = call(m, ArrayFn::Gather, &[], vec![a.clone(), array::ints(rows)])?;
    let y = call(m, ArrayFn::Gather, &[], vec![b.clone(), array::ints(cols)])?;
    let z = arith::bin(m, Bin::Mul, x, y)?;
    rules::reshape(m, z, Shape::from_slice(&[n, k]))
}

/// Conversion of precision is linear; tangents are converted as well.
fn convert(machine: &mut dyn Upcalls, prim: NumberFn, value: &Value) -> Res<Value> {
    struct Convert {
        to: NumberFn,
        back: NumberFn,
    }
    impl super::tape::Rule for Convert {
        fn pull(
            &self,
            m: &mut dyn Upcalls,
            cts: &[Value],
            add: &mut dyn FnMut(&mut dyn Upcalls, usize, Value) -> Res<()>,
        ) -> Res<()> {
            let g = call(m, self.back, &[], vec![cts[0].clone()])?;
            add(m, 0, g)
        }
        fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
            Ok(vec![if matches!(tangents[0], Value::Zero) {
                Value::Zero
            } else {
                call(m, self.to, &[], vec![tangents[0].clone()])?
            }])
        }
        fn view(&self) -> rules::View<'_> {
            rules::View::Convert
        }
    }
    let from32 = matches!(compare::primal(value), Value::F32(_))
        || matches!(compare::primal(value), Value::Array(a) if a.kind() == Kind::F32);
    let back = if from32 { NumberFn::ToF32 } else { NumberFn::ToFloat };
    unary_rule(machine, prim, value, Rc::new(Convert { to: prim, back }))
}

/// Whether an argument says where elements go, and is not an element itself.
fn is_control(p: ArrayFn, argument: usize) -> bool {
    use ArrayFn::{Drop, Gather, Replicate, Reshape, Rotate, Take, Where};
    match p {
        Gather => argument == 1,
        Replicate | Rotate | Reshape | Take | Drop | Where => argument == 0,
        _ => false,
    }
}

/// Applies a structural primitive: to arrays of tuples column by column, to numbers through element numbers.
fn structural_call(machine: &mut dyn Upcalls, prim: ArrayFn, args: &[Value]) -> Res<Value> {
    if let Some(v) = by_columns(machine, prim, args)? {
        return Ok(v);
    }
    let level = args.iter().map(level_of).max().unwrap_or(0);
    if prim == ArrayFn::Stack && level == 0 {
        // A list of traced rows.
        return machine.untraced_primitive(prim.into(), &[], &mut args.to_vec());
    }
    if level == 0 {
        return Err(not_here(prim));
    }
    let (mut numbers, mut primals, mut parts, mut ins) =
        (Vec::new(), Vec::new(), Vec::<Option<DerivativePart>>::new(), Vec::new());
    let mut next = 0i64;
    for (k, a) in args.iter().enumerate() {
        if is_control(prim, k) {
            numbers.push(a.clone());
            primals.push(a.clone());
            continue;
        }
        let (x, part) = split(a, level);
        let shape = seq::shape(&x).cloned();
        let n: usize = shape.as_ref().map_or(1, |s| s.iter().product());
        numbers.push(match &shape {
            None => Value::Int(next),
            Some(s) => array::make(s.clone(), Buf::I64((next..next + n as i64).collect())),
        });
        next += n as i64;
        primals.push(x);
        parts.push(part);
        ins.push(shape);
    }
    // The off-diagonal elements of `diag` have no source: element numbers are shifted by one, so that 0 marks
    // these elements.
    let fills = prim == ArrayFn::Diag;
    if fills {
        for v in &mut numbers {
            *v = arith::bin(machine, Bin::Add, v.clone(), Value::Int(1))?;
        }
    }
    let order = machine.untraced_primitive(prim.into(), &[], &mut numbers)?;
    let map: Vec<i64> = match &order {
        Value::Int(n) => vec![*n],
        Value::Array(a) => match a.buf() {
            Buf::I64(v) => v.clone(),
            _ => return Err(not_here(prim)),
        },
        _ => return Err(not_here(prim)),
    };
    let map = if fills { map.into_iter().map(|k| k - 1).collect() } else { map };
    let y = call(machine, prim, &[], primals)?;
    let rule = rules::Gather { map, ins, out: seq::shape(&y).cloned() };
    result(machine, level, parts, y, Rc::new(rule))
}

/// Applies a primitive to each column of arrays of tuples or records, some of which are traced.
fn by_columns(machine: &mut dyn Upcalls, prim: ArrayFn, args: &[Value]) -> Res<Option<Value>> {
    let columns = |v: &Value| match v {
        Value::Array(a) if !a.is_flat() => match a.buf() {
            Buf::Tuple(cols) | Buf::Record(_, cols) => Some((cols.clone(), a.buf().clone())),
            _ => None,
        },
        _ => None,
    };
    let container = |v: &Value| match v {
        Value::Tuple(t) => Some(t.0.clone()),
        Value::Record(r) => Some(r.vals.clone()),
        _ => None,
    };
    let Some((width, like, outer)) = args
        .iter()
        .find_map(|a| columns(a).map(|(c, b)| (c.len(), b, seq::shape(a).map_or(0, smallvec::SmallVec::len))))
    else {
        if prim == ArrayFn::Replicate
            && let Some(parts) = container(&args[1])
        {
            let copies = match &args[0] {
                Value::Int(n) => *n as usize,
                _ => 0,
            };
            let cols = parts
                .iter()
                .map(|v| call(machine, prim, &[], vec![args[0].clone(), v.clone()]))
                .collect::<Res<Vec<_>>>()?;
            let buf = match &args[1] {
                Value::Record(r) => Buf::Record(r.names.clone(), cols),
                _ => Buf::Tuple(cols),
            };
            return Ok(Some(array::make(Shape::from_slice(&[copies]), buf)));
        }
        return Ok(None);
    };
    let mut outs = Vec::new();
    let mut result = Shape::new();
    for k in 0..width {
        let mut part: Vec<Value> = args
            .iter()
            .map(|a| match (columns(a), container(a)) {
                (Some((cols, _)), _) => cols[k].clone(),
                (_, Some(parts)) if parts.len() == width => parts[k].clone(),
                _ => a.clone(),
            })
            .collect();
        // The axes of a component follow those of the array.
        let inner: Shape = args
            .iter()
            .zip(&part)
            .find(|(a, _)| columns(a).is_some())
            .and_then(|(_, c)| seq::shape(c))
            .map_or(Shape::new(), |s| s[outer..].into());
        if prim == ArrayFn::Reshape {
            let more = array::ints(inner.iter().map(|n| *n as i64).collect());
            part[0] = call(machine, ArrayFn::Append, &[], vec![part[0].clone(), more])?;
        }
        let out = call(machine, prim, &[], part)?;
        result = seq::shape(&out).map_or(Shape::new(), |s| s[..s.len() - inner.len()].into());
        outs.push(out);
    }
    if result.is_empty() {
        return Ok(Some(match like {
            Buf::Record(names, _) => Value::Record(Rc::new(crate::value::Record { names, vals: outs })),
            _ => Value::Tuple(Rc::new(crate::value::Tuple(outs))),
        }));
    }
    let buf = match like {
        Buf::Record(names, _) => Buf::Record(names, outs),
        _ => Buf::Tuple(outs),
    };
    Ok(Some(array::make(result, buf)))
}
