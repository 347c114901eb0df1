//! Array primitives that create arrays or move elements, on untraced values.

use super::element_ops;
use super::elementwise::selected;
use super::interrupt::InterruptFlag;
use super::parallel::{self, made};
use super::{int, len, lengths_differ, masks, rep_of, size, take};
use crate::error::{Error, Res, codes};
use crate::polling;
use crate::upcalls::Upcalls;
use crate::value::{Array, Buf, Kind, Rep, Shape, Tuple, Value, array, seq};
use adl_prim::{ArrayFn, Bin};
use std::rc::Rc;

fn arr(v: &Value) -> Res<&Rc<Array>> {
    match v {
        Value::Array(a) => Ok(a),
        other => {
            Err(Error::new(codes::STRUCTURE, format!("an array was expected, not {}", crate::value::show::show(other))))
        }
    }
}

/// The extents of all axes. An array without rows may not know its inner extents; its type tells them, or they count
/// as 0.
fn shape_of(v: &Value, rep: &Rep) -> Value {
    let mut extents: Vec<i64> = seq::shape(v).map_or(Vec::new(), |s| s.iter().map(|n| *n as i64).collect());
    if extents.contains(&0) {
        let (mut inner, mut axis) = (rep, 0);
        while let Rep::Array(n, element) = inner {
            if axis >= extents.len() {
                extents.push(n.map_or(0, |n| n as i64));
            }
            (inner, axis) = (element, axis + 1);
        }
    }
    array::ints(extents)
}

fn rows(v: &Value, at: &[usize]) -> Res<Value> {
    let a = arr(v)?;
    Ok(Value::Array(Rc::new(array::gather_rows(a, at, &[at.len()])?)))
}

pub(super) fn apply(machine: &mut dyn Upcalls, prim: ArrayFn, reps: &[Value], args: &mut [Value]) -> Res<Value> {
    match prim {
        ArrayFn::Iota | ArrayFn::Range | ArrayFn::Linspace | ArrayFn::Replicate | ArrayFn::Eye => {
            filled(machine, prim, args)
        }
        ArrayFn::Reverse | ArrayFn::Rotate | ArrayFn::Take | ArrayFn::Drop | ArrayFn::Split => {
            picked(machine, prim, args)
        }
        ArrayFn::Zip | ArrayFn::Zip3 => zip(args),
        ArrayFn::Unzip | ArrayFn::Unzip3 => unzip(&args[0], if prim == ArrayFn::Unzip { 2 } else { 3 }),
        ArrayFn::Len => Ok(Value::Int(len(&args[0]) as i64)),
        ArrayFn::Rank => Ok(Value::Int(seq::shape(&args[0]).map_or(0, |s| s.len() as i64))),
        ArrayFn::Gather => gather(InterruptFlag(machine.interrupt()), &args[0], &args[1]),
        ArrayFn::Scatter | ArrayFn::ScatterWithin => scatter(machine, prim, args),
        ArrayFn::Put => put(machine, args),
        ArrayFn::Append => append(&args[0], &args[1]),
        ArrayFn::Flatten => flatten(machine, &args[0]),
        ArrayFn::Reshape => {
            let x = take(args, 1);
            reshape(&args[0], x)
        }
        ArrayFn::Stack => stack(machine, &args[0]),
        ArrayFn::Where => where_(machine, args),
        ArrayFn::Diag => diag(&args[0]),
        ArrayFn::TransposeArray => transpose(machine, &args[0]),
        ArrayFn::Arange => filled(machine, ArrayFn::Iota, args),
        ArrayFn::Zeros | ArrayFn::Ones => {
            let x = Value::Float(if prim == ArrayFn::Ones { 1.0 } else { 0.0 });
            filled(machine, ArrayFn::Replicate, &mut [take(args, 0), x])
        }
        ArrayFn::Full => machine.apply_primitive(ArrayFn::Replicate.into(), reps, args),
        ArrayFn::Compress => {
            let (mask, x) = (take(args, 0), take(args, 1));
            masks::compress(machine, &mask, x)
        }
        ArrayFn::Shape => Ok(shape_of(&args[0], &rep_of(reps))),
    }
}

/// Primitives that create arrays from numbers.
fn filled(machine: &mut dyn Upcalls, p: ArrayFn, args: &mut [Value]) -> Res<Value> {
    match p {
        ArrayFn::Iota => {
            let n = size(&args[0], "the length of `iota`")?;
            Ok(array::ints(polling::collect(n, |i| i as i64)?))
        }
        ArrayFn::Range => {
            let (a, b) = (int(&args[0]), int(&args[1]));
            let n = usize::try_from(b.saturating_sub(a)).unwrap_or(0);
            Ok(array::ints(polling::collect(n, |i| a + i as i64)?))
        }
        ArrayFn::Linspace => {
            let count = size(&args[2], "the length of `linspace`")?;
            let (Value::Float(a), Value::Float(b)) = (&args[0], &args[1]) else {
                return Err(Error::new(codes::STRUCTURE, "`linspace` needs Floats"));
            };
            let at = |i| {
                if i + 1 == count && count > 1 {
                    *b
                } else {
                    a + Bin::ScaleTangent.eval(b - a, i as f64 / (count.max(2) - 1) as f64)
                }
            };
            Ok(array::floats(polling::collect(count, at)?))
        }
        ArrayFn::Eye => {
            let n = size(&args[0], "the size of `eye`")?;
            let mut v = array::filled(0.0, array::count(&[n, n])?)?;
            (0..n).for_each(|i| v[i * n + i] = 1.0);
            Ok(array::make(Shape::from_slice(&[n, n]), Buf::F64(v)))
        }
        _ => replicate(machine, size(&args[0], "the count of `replicate`")?, take(args, 1)),
    }
}

/// Primitives that select elements or parts of an array by position.
fn picked(machine: &mut dyn Upcalls, prim: ArrayFn, args: &[Value]) -> Res<Value> {
    match prim {
        ArrayFn::Reverse => reverse(InterruptFlag(machine.interrupt()), &args[0]),
        ArrayFn::Rotate => {
            let n = len(&args[1]);
            let k = if n == 0 { 0 } else { int(&args[0]).rem_euclid(n as i64) as usize };
            let a = arr(&args[1])?;
            Ok(Value::Array(Rc::new(array::concat(&[&array::part(a, k, n)?, &array::part(a, 0, k)?])?)))
        }
        ArrayFn::Take | ArrayFn::Drop => {
            let n = len(&args[1]);
            let k = cut(&args[0], n, prim.row().name)?;
            let (lo, hi) = if prim == ArrayFn::Take { (0, k) } else { (k, n) };
            if hi - lo == n { Ok(args[1].clone()) } else { part(&args[1], lo, hi) }
        }
        _ => {
            let n = len(&args[1]);
            let k = cut(&args[0], n, "split")?;
            let (x, y) = (part(&args[1], 0, k)?, part(&args[1], k, n)?);
            Ok(Value::Tuple(Rc::new(Tuple(vec![x, y]))))
        }
    }
}

fn part(v: &Value, lo: usize, hi: usize) -> Res<Value> {
    Ok(Value::Array(Rc::new(array::part(arr(v)?, lo, hi)?)))
}

fn reverse(interrupt: InterruptFlag, value: &Value) -> Res<Value> {
    fn turned<T: Copy + Default + Send + Sync>(w: InterruptFlag, v: &[T]) -> Res<Vec<T>> {
        let n = v.len();
        made(w, n, |at, out| {
            let k = out.len();
            out.iter_mut().zip(v[n - at - k..n - at].iter().rev()).for_each(|(o, x)| *o = *x);
        })
    }
    let a = arr(value)?;
    let buf = match a.buf() {
        Buf::F64(x) if a.shape.len() == 1 => Buf::F64(turned(interrupt, x)?),
        Buf::I64(x) if a.shape.len() == 1 => Buf::I64(turned(interrupt, x)?),
        _ => return rows(value, &(0..len(value)).rev().collect::<Vec<_>>()),
    };
    Ok(array::make(a.shape.clone(), buf))
}

fn flatten(m: &mut dyn Upcalls, v: &Value) -> Res<Value> {
    let a = arr(v)?;
    if a.shape.len() < 2 {
        return flatten_boxed(m, a);
    }
    Ok(Value::Array(Rc::new(array::regroup(a, 2, &[a.shape[0] * a.shape[1]])?)))
}

fn cut(k: &Value, n: usize, what: &str) -> Res<usize> {
    let k = size(k, &format!("the count of `{what}`"))?;
    if k > n {
        return Err(Error::new(codes::BOUNDS, format!("`{what} {k}` of an array of length {n}")));
    }
    Ok(k)
}

fn zip(args: &mut [Value]) -> Res<Value> {
    let n = len(&args[0]);
    if let Some(other) = args.iter().map(len).find(|k| *k != n) {
        return Err(lengths_differ("zip", n, other));
    }
    Ok(array::make(Shape::from_slice(&[n]), Buf::Tuple(args.iter_mut().map(std::mem::take).collect())))
}

fn unzip(v: &Value, width: usize) -> Res<Value> {
    let a = arr(v)?;
    match a.buf() {
        Buf::Tuple(cols) => Ok(Value::Tuple(Rc::new(Tuple(cols.clone())))),
        _ => Ok(Value::Tuple(Rc::new(Tuple(vec![array::boxed(Vec::new()); width])))),
    }
}

fn replicate(machine: &mut dyn Upcalls, count: usize, value: Value) -> Res<Value> {
    let one = Shape::from_slice(&[count]);
    Ok(match value {
        Value::Float(x) => {
            // One thread needs no block in between, from which threads append.
            let copies = if parallel::alone(count) {
                array::filled(x, count)?
            } else {
                made(InterruptFlag(machine.interrupt()), count, |_, out| out.fill(x))?
            };
            array::make(one, Buf::F64(copies))
        }
        Value::F32(x) => array::make(one, Buf::F32(array::filled(x, count)?)),
        Value::Int(x) => array::make(one, Buf::I64(array::filled(x, count)?)),
        Value::Bool(x) => array::make(one, Buf::Bool(array::filled(x, count)?)),
        Value::Unit => array::make(one, Buf::Unit),
        Value::Array(a) => {
            array::count(&[count, a.shape.iter().product()])?;
            let shape: Shape = std::iter::once(count).chain(a.shape.iter().copied()).collect();
            if count == 0 {
                let empty = Array::new(std::iter::once(1).chain(a.shape.iter().copied()).collect(), a.buf().clone());
                return Ok(Value::Array(Rc::new(array::gather_rows(&empty, &[], &[0])?)));
            }
            // Treat the array as a single row.
            let row = Array::new(std::iter::once(1).chain(a.shape.iter().copied()).collect(), one_row(a.buf()));
            let mut out = array::gather_rows(&row, &array::filled(0, count)?, &[count])?;
            out.shape = shape;
            Value::Array(Rc::new(out))
        }
        x @ (Value::Tuple(_) | Value::Record(_)) if count > 0 => seq::pack(machine, array::filled(x, count)?)?,
        x => array::boxed(array::filled(x, count)?),
    })
}

/// Adds an outer axis of length 1 to the columns of an array of tuples.
fn one_row(b: &Buf) -> Buf {
    let lift = |v: &Value| match v {
        Value::Array(a) => Value::Array(Rc::new(Array::new(
            std::iter::once(1).chain(a.shape.iter().copied()).collect(),
            one_row(a.buf()),
        ))),
        other => other.clone(),
    };
    match b {
        Buf::Tuple(cols) => Buf::Tuple(cols.iter().map(lift).collect()),
        Buf::Record(names, cols) => Buf::Record(names.clone(), cols.iter().map(lift).collect()),
        other => other.clone(),
    }
}

fn indices(v: &Value) -> Res<&[i64]> {
    match arr(v)?.buf() {
        Buf::I64(v) => Ok(v),
        _ => Ok(&[]),
    }
}

fn gather(interrupt: InterruptFlag, xs: &Value, at: &Value) -> Res<Value> {
    let n = len(xs);
    let at = indices(at)?;
    if let Some(i) = at.iter().find(|i| **i < 0 || **i as usize >= n) {
        return Err(seq::out_of_bounds(*i, n));
    }
    fn picked<T: Copy + Default + Send + Sync>(w: InterruptFlag, v: &[T], at: &[i64]) -> Res<Vec<T>> {
        made(w, at.len(), |start, out| out.iter_mut().zip(&at[start..]).for_each(|(o, i)| *o = v[*i as usize]))
    }
    let buf = match xs {
        Value::Array(a) if a.shape.len() == 1 => match a.buf() {
            Buf::F64(v) => Some(Buf::F64(picked(interrupt, v, at)?)),
            Buf::I64(v) => Some(Buf::I64(picked(interrupt, v, at)?)),
            _ => None,
        },
        _ => None,
    };
    match buf {
        Some(buf) => Ok(array::make(Shape::from_slice(&[at.len()]), buf)),
        None => rows(xs, &at.iter().map(|i| *i as usize).collect::<Vec<_>>()),
    }
}

fn scatter(machine: &mut dyn Upcalls, prim: ArrayFn, args: &mut [Value]) -> Res<Value> {
    let at = polling::copy(indices(&args[1])?)?;
    if at.len() != len(&args[2]) {
        return Err(lengths_differ(prim.row().name, at.len(), len(&args[2])));
    }
    let values = args[2].clone();
    let Value::Array(dest) = take(args, 0) else {
        return Err(Error::new(codes::STRUCTURE, "`scatter` needs an array"));
    };
    let n = dest.len();
    if let (ArrayFn::Scatter, Some(i)) = (prim, at.iter().find(|i| usize::try_from(**i).map_or(true, |i| i >= n))) {
        return Err(seq::out_of_bounds(*i, n).hint("`scatter_within` leaves out what has no place"));
    }
    let row: usize = dest.shape[1..].iter().product();
    let mut dest = array::owned(dest)?;
    let src = arr(&values)?;
    if !at.is_empty() && src.shape[1..] != dest.shape[1..] {
        return Err(super::arith::shapes_differ(&dest.shape[1..], &src.shape[1..]));
    }
    if let (Buf::Tuple(d), Buf::Tuple(s)) | (Buf::Record(_, d), Buf::Record(_, s)) = (dest.buf_mut(), src.buf()) {
        for (d, s) in d.iter_mut().zip(s) {
            *d = super::call(machine, prim, &[], vec![std::mem::take(d), args[1].clone(), s.clone()])?;
        }
        return Ok(Value::Array(Rc::new(dest)));
    }
    put_rows(&mut dest, src, &at, row)?;
    Ok(Value::Array(Rc::new(dest)))
}

/// Copies rows of untraced elements to their positions; indices out of bounds are ignored.
fn put_rows(dest: &mut Array, src: &Array, at: &[i64], row: usize) -> Res<()> {
    let rows = dest.len();
    macro_rules! put {
        ($d:expr, $s:expr) => {
            for (k, i) in at.iter().enumerate() {
                if k % polling::STRIDE == 0 {
                    polling::poll()?;
                }
                if let Some(i) = usize::try_from(*i).ok().filter(|i| *i < rows) {
                    polling::write(&mut $d[i * row..(i + 1) * row], &$s[k * row..(k + 1) * row]);
                }
            }
        };
    }
    match (dest.buf_mut(), src.buf()) {
        (Buf::F64(d), Buf::F64(s)) => put!(d, s),
        (Buf::F32(d), Buf::F32(s)) => put!(d, s),
        (Buf::I64(d), Buf::I64(s)) => put!(d, s),
        (Buf::Bool(d), Buf::Bool(s)) => put!(d, s),
        (Buf::Boxed(d), Buf::Boxed(s)) => put!(d, s),
        // An empty array may lack an element type.
        _ if at.is_empty() || rows == 0 => {}
        _ => return Err(Error::new(codes::STRUCTURE, "`scatter` of elements of another kind")),
    }
    Ok(())
}

/// The indices of `__put`: an Int or a tuple of Ints.
pub(crate) fn put_indices(at: &Value) -> Vec<Value> {
    match at {
        Value::Tuple(t) => t.0.clone(),
        at => vec![at.clone()],
    }
}

/// Replaces an element or row of an array, in place if it is not shared.
pub(crate) fn put(machine: &mut dyn Upcalls, args: &mut [Value]) -> Res<Value> {
    let at = put_indices(&args[1]);
    let Value::Array(dest) = take(args, 0) else { return Err(Error::new(codes::STRUCTURE, "an array was expected")) };
    let below = dest.shape.get(at.len()..).unwrap_or(&[]);
    let given = crate::value::seq::shape(&args[2]).map_or(&[][..], |s| s.as_slice());
    // An element may itself be an array if arrays of different shapes are boxed.
    let boxed = matches!(dest.buf(), Buf::Boxed(_)) && below.is_empty();
    if !boxed && below != given {
        return Err(super::arith::shapes_differ(below, given));
    }
    if !matches!(dest.buf(), Buf::Tuple(_) | Buf::Record(..)) {
        return element_ops::put(Value::Array(dest), &at, &args[2]);
    }
    element_ops::within_bounds(&dest, &at)?;
    let mut dest = array::owned(dest)?;
    let (Buf::Tuple(columns) | Buf::Record(_, columns)) = dest.buf_mut() else {
        return Err(Error::new(codes::STRUCTURE, "an array of tuples was expected"));
    };
    for (k, column) in columns.iter_mut().enumerate() {
        let part = match &args[2] {
            Value::Tuple(t) => t.0.get(k).cloned(),
            Value::Record(r) => r.vals.get(k).cloned(),
            Value::Array(a) => match a.buf() {
                Buf::Tuple(columns) | Buf::Record(_, columns) => columns.get(k).cloned(),
                _ => None,
            },
            _ => None,
        };
        let part = part.ok_or_else(|| Error::new(codes::STRUCTURE, "an element of another kind"))?;
        *column = super::call(machine, ArrayFn::Put, &[], vec![std::mem::take(column), args[1].clone(), part])?;
    }
    Ok(Value::Array(Rc::new(dest)))
}

fn append(a: &Value, b: &Value) -> Res<Value> {
    match (a, b) {
        (Value::Str(x), Value::Str(y)) => super::text::joined(&[x, y], ""),
        (Value::Data(_), Value::Data(_)) => append_lists(a, b),
        _ => Ok(Value::Array(Rc::new(array::concat(&[arr(a)?, arr(b)?])?))),
    }
}

fn append_lists(a: &Value, second: &Value) -> Res<Value> {
    let mut heads = Vec::new();
    let mut at = a.clone();
    loop {
        let next = match &at {
            Value::Data(d) if d.fields.len() == 2 => {
                heads.push((d.con.clone(), d.fields[0].clone()));
                d.fields[1].clone()
            }
            _ => break,
        };
        at = next;
    }
    Ok(heads.into_iter().rev().fold(second.clone(), |tail, (con, head)| Value::data(con, vec![head, tail])))
}

fn flatten_boxed(m: &mut dyn Upcalls, a: &Rc<Array>) -> Res<Value> {
    let parts: Vec<Value> = (0..a.len()).map(|i| array::elem(a, i)).collect();
    let mut all = Vec::new();
    for p in &parts {
        for i in 0..len(p) {
            all.push(seq::elem(m, p, i)?);
        }
    }
    seq::pack(m, all)
}

fn reshape(shape: &Value, value: Value) -> Res<Value> {
    let shape: Shape = indices(shape)?
        .iter()
        .map(|n| {
            usize::try_from(*n)
                .map_err(|_| Error::new(codes::NEGATIVE, format!("an extent is {n}, and must not be negative")))
        })
        .collect::<Res<_>>()?;
    let source = arr(&value)?;
    let (have, want) = (source.shape.iter().product::<usize>(), array::count(&shape)?);
    if have != want {
        return Err(Error::new(
            codes::SIZE,
            format!("{have} elements cannot have the shape {:?}, which holds {want}", &shape[..]),
        ));
    }
    let Value::Array(a) = value else { return Ok(value) };
    Ok(match Rc::try_unwrap(a) {
        Ok(a) if !matches!(a.kind(), Kind::Tuple | Kind::Record) => array::make(shape, a.into_buf()),
        Ok(a) => Value::Array(Rc::new(array::regroup(&a, a.shape.len(), &shape)?)),
        Err(a) => Value::Array(Rc::new(array::regroup(&a, a.shape.len(), &shape)?)),
    })
}

fn stack(machine: &mut dyn Upcalls, v: &Value) -> Res<Value> {
    if let Value::Array(_) = v {
        return Ok(v.clone());
    }
    let mut rows = Vec::new();
    let mut at = v.clone();
    loop {
        let next = match &at {
            Value::Data(d) if d.fields.len() == 2 => {
                rows.push(d.fields[0].clone());
                d.fields[1].clone()
            }
            _ => break,
        };
        at = next;
    }
    seq::pack(machine, rows)
}

/// Broadcasts the array arguments of lower rank along the leading axes of the others.
fn spread_ranks(m: &mut dyn Upcalls, args: &mut [Value]) -> Res<()> {
    let Some(most) = args.iter().filter_map(seq::shape).max_by_key(|s| s.len()).cloned() else { return Ok(()) };
    for a in args {
        let Some(s) = seq::shape(a).filter(|s| s.len() < most.len()).cloned() else { continue };
        if !most.ends_with(&s) {
            return Err(super::arith::shapes_differ(&most, &s));
        }
        *a = super::arith::spread(m, std::mem::take(a), &most)?;
    }
    Ok(())
}

fn where_(machine: &mut dyn Upcalls, args: &mut [Value]) -> Res<Value> {
    spread_ranks(machine, args)?;
    let mask = match &args[0] {
        Value::Bool(c) => {
            let (chosen, other) = if *c { (1, 2) } else { (2, 1) };
            let v = take(args, chosen);
            // A scalar stands for an array with the shape of the other branch.
            return match (seq::shape(&v), seq::shape(&args[other]).cloned()) {
                (None, Some(s)) => spread(machine, &v, &s),
                _ => Ok(v),
            };
        }
        Value::Array(c) => c.clone(),
        _ => return Err(Error::new(codes::STRUCTURE, "the condition of `where` is a Bool or an array of Bools")),
    };
    let Buf::Bool(bits) = mask.buf() else { return Ok(take(args, 1)) };
    let fits = |v: &Value| seq::shape(v).is_none_or(|s| *s == mask.shape);
    if let (true, Some(buf)) =
        (fits(&args[1]) && fits(&args[2]), selected(InterruptFlag(machine.interrupt()), bits, &args[1], &args[2]))
    {
        return Ok(array::make(mask.shape.clone(), buf?));
    }
    let a = spread(machine, &args[1].clone(), &mask.shape)?;
    let b = spread(machine, &args[2].clone(), &mask.shape)?;
    let (left, right) = (arr(&a)?, arr(&b)?);
    for x in [left, right] {
        if x.shape != mask.shape {
            return Err(super::arith::shapes_differ(&mask.shape, &x.shape));
        }
    }
    macro_rules! pick {
        ($x:expr, $y:expr) => {
            polling::collect(bits.len(), |i| if bits[i] { $x[i].clone() } else { $y[i].clone() })?
        };
    }
    let buf = match (left.buf(), right.buf()) {
        (Buf::F64(x), Buf::F64(y)) => Buf::F64(pick!(x, y)),
        (Buf::F32(x), Buf::F32(y)) => Buf::F32(pick!(x, y)),
        (Buf::I64(x), Buf::I64(y)) => Buf::I64(pick!(x, y)),
        (Buf::Bool(x), Buf::Bool(y)) => Buf::Bool(pick!(x, y)),
        (Buf::Boxed(x), Buf::Boxed(y)) => Buf::Boxed(pick!(x, y)),
        _ => {
            // For columns of tuples and records, elements are gathered from the concatenation of both arrays.
            let n = bits.len();
            let axes = mask.shape.len();
            let both = array::concat(&[&array::regroup(left, axes, &[n])?, &array::regroup(right, axes, &[n])?])?;
            let at: Vec<usize> = bits.iter().enumerate().map(|(i, c)| if *c { i } else { n + i }).collect();
            return Ok(Value::Array(Rc::new(array::gather_rows(&both, &at, &mask.shape)?)));
        }
    };
    Ok(array::make(mask.shape.clone(), buf))
}

/// Broadcasts a number to a shape; an array is returned as it is.
fn spread(m: &mut dyn Upcalls, v: &Value, shape: &Shape) -> Res<Value> {
    if seq::shape(v).is_some() {
        return Ok(v.clone());
    }
    let n = array::count(shape)?;
    let flat = replicate(m, n, v.clone())?;
    let Value::Array(a) = flat else { return Ok(flat) };
    Ok(array::make(shape.clone(), a.buf().clone()))
}

fn diag(v: &Value) -> Res<Value> {
    let source = arr(v)?;
    if source.shape.len() == 2 {
        let (n, k) = (source.shape[0], source.shape[1]);
        let flat = Array::new(Shape::from_slice(&[n * k]), source.buf().clone());
        let at: Vec<usize> = (0..n.min(k)).map(|i| i * k + i).collect();
        return Ok(Value::Array(Rc::new(array::gather_rows(&flat, &at, &[at.len()])?)));
    }
    let len = source.len();
    let total = array::count(&[len, len])?;
    macro_rules! fill {
        ($x:expr, $zero:expr) => {{
            let mut out = array::filled($zero, total)?;
            $x.iter().enumerate().for_each(|(i, x)| out[i * len + i] = *x);
            out
        }};
    }
    let buf = match source.buf() {
        Buf::F64(x) => Buf::F64(fill!(x, 0.0)),
        Buf::F32(x) => Buf::F32(fill!(x, 0.0)),
        Buf::I64(x) => Buf::I64(fill!(x, 0)),
        other => other.clone(),
    };
    Ok(array::make(Shape::from_slice(&[len, len]), buf))
}

fn transpose(m: &dyn Upcalls, value: &Value) -> Res<Value> {
    let array = arr(value)?;
    if array.shape.len() < 2 {
        return Ok(value.clone());
    }
    let (height, width) = (array.shape[0], array.shape[1]);
    if let (Buf::F64(v), 2) = (array.buf(), array.shape.len()) {
        let mut out = array::filled(0.0, height * width)?;
        // Each thread gets some rows, but not more than should be processed between two polls.
        let rows = width.div_ceil(parallel::threads().max(1)).min((1 << 22) / height.max(1)).max(1);
        parallel::bands(InterruptFlag(m.interrupt()), &mut out, rows * height, height * width, |start, out| {
            transpose_rows(v, (height, width), start / height, out);
        })?;
        return Ok(array::make(Shape::from_slice(&[width, height]), Buf::F64(out)));
    }
    let flat = array::regroup(array, 2, &[height * width])?;
    let at = polling::collect(height * width, |t| (t % height.max(1)) * width + t / height.max(1))?;
    Ok(Value::Array(Rc::new(array::gather_rows(&flat, &at, &[width, height])?)))
}

/// Computes rows of the transpose of an `n` by `k` matrix, from row `first` on. Works in blocks, so that each
/// cache line is read while it is in the cache.
pub fn transpose_rows(v: &[f64], (n, k): (usize, usize), first: usize, out: &mut [f64]) {
    let rows = out.len() / n;
    let block = (4096 / rows.max(1)).clamp(8, 512);
    for lo in (0..n).step_by(block) {
        let hi = n.min(lo + block);
        for r in 0..rows {
            out[r * n + lo..r * n + hi]
                .iter_mut()
                .zip(v[lo * k..].chunks(k))
                .for_each(|(o, line)| *o = line[first + r]);
        }
    }
}
