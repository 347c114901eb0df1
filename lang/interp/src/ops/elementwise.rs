//! Elementwise arithmetic, comparison and selection on arrays: in one pass over memory, and in place if an
//! array is not shared.

use super::arith::{int_bin, int_un, shapes_differ};
use super::interrupt::{InterruptFlag, STRIDE};
use super::kernels;
use super::parallel::{changed, made};
use crate::error::{Error, Res, codes};
use crate::polling;
use crate::value::{Array, Buf, Value, array};
use adl_ir::Cmp;
use adl_prim::{Bin, Un};
use std::rc::Rc;

/// The elements of an array, or a scalar that is broadcast.
#[derive(Clone, Copy)]
pub(crate) enum BroadcastOperand<'a, T> {
    /// A scalar.
    One(T),
    /// Elements.
    Many(&'a [T]),
}

impl<'a, T: Copy> BroadcastOperand<'a, T> {
    fn part(&self, at: usize, n: usize) -> BroadcastOperand<'a, T> {
        match *self {
            BroadcastOperand::One(x) => BroadcastOperand::One(x),
            BroadcastOperand::Many(v) => BroadcastOperand::Many(&v[at..at + n]),
        }
    }
}

/// Expands `$body` once for each common operator, with `$f` as the operator's function, so that loops are
/// vectorised.
macro_rules! with_bin {
    ($op:expr, $f:ident => $body:expr) => {
        match $op {
            Bin::Add => {
                let $f = |a: f64, b: f64| a + b;
                $body
            }
            Bin::Sub => {
                let $f = |a: f64, b: f64| a - b;
                $body
            }
            Bin::Mul => {
                let $f = |a: f64, b: f64| a * b;
                $body
            }
            Bin::Div => {
                let $f = |a: f64, b: f64| a / b;
                $body
            }
            Bin::ScaleTangent => {
                let $f = |a: f64, b: f64| Bin::ScaleTangent.eval(a, b);
                $body
            }
            Bin::Min => {
                let $f = |a: f64, b: f64| Bin::Min.eval(a, b);
                $body
            }
            Bin::Max => {
                let $f = |a: f64, b: f64| Bin::Max.eval(a, b);
                $body
            }
            op => {
                let $f = move |a: f64, b: f64| op.eval(a, b);
                $body
            }
        }
    };
}

/// `out[i] = f(x[i], y[i])`.
#[inline(always)]
fn fill<T: Copy, U>(out: &mut [U], x: BroadcastOperand<T>, y: BroadcastOperand<T>, f: impl Fn(T, T) -> U) {
    match (x, y) {
        (BroadcastOperand::Many(x), BroadcastOperand::Many(y)) => {
            out.iter_mut().zip(x.iter().zip(y)).for_each(|(o, (a, b))| *o = f(*a, *b));
        }
        (BroadcastOperand::Many(x), BroadcastOperand::One(b)) => out.iter_mut().zip(x).for_each(|(o, a)| *o = f(*a, b)),
        (BroadcastOperand::One(a), BroadcastOperand::Many(y)) => out.iter_mut().zip(y).for_each(|(o, b)| *o = f(a, *b)),
        (BroadcastOperand::One(a), BroadcastOperand::One(b)) => out.iter_mut().for_each(|o| *o = f(a, b)),
    }
}

/// `acc[i] = f(acc[i], y[i])`.
#[inline(always)]
fn update(acc: &mut [f64], y: BroadcastOperand<f64>, f: impl Fn(f64, f64) -> f64) {
    match y {
        BroadcastOperand::Many(y) => acc.iter_mut().zip(y).for_each(|(a, b)| *a = f(*a, *b)),
        BroadcastOperand::One(b) => acc.iter_mut().for_each(|a| *a = f(*a, b)),
    }
}

/// A binary operator on slices of two arrays.
pub(super) fn into(op: Bin, x: BroadcastOperand<f64>, y: BroadcastOperand<f64>, out: &mut [f64]) {
    with_bin!(op, f => kernels::wide(|| fill(out, x, y, f)));
}

/// Copies a slice of an array.
pub(super) fn copied(x: BroadcastOperand<f64>, out: &mut [f64]) {
    match x {
        BroadcastOperand::Many(x) => polling::write(out, x),
        BroadcastOperand::One(x) => out.fill(x),
    }
}

fn kinds() -> Box<Error> {
    Error::new(codes::STRUCTURE, "arrays of different numbers")
}

/// A unary operator on each element.
pub(super) fn un(interrupt: InterruptFlag, op: Un, a: Rc<Array>) -> Res<Value> {
    if let (Buf::F64(x), true) = (a.buf(), Rc::strong_count(&a) > 1) {
        let out = made(interrupt, x.len(), |at, out| {
            polling::write(out, &x[at..at + out.len()]);
            kernels::map(op, out);
        })?;
        return Ok(array::make(a.shape.clone(), Buf::F64(out)));
    }
    let mut array = array::owned(a)?;
    match array.buf_mut() {
        Buf::F64(v) => changed(interrupt, v, |_, part| kernels::map(op, part))?,
        Buf::F32(v) => {
            changed(interrupt, v, |_, part| part.iter_mut().for_each(|x| *x = op.eval(f64::from(*x)) as f32))?;
        }
        Buf::I64(v) => {
            for (i, x) in v.iter_mut().enumerate() {
                if i % STRIDE == 0 {
                    polling::poll()?;
                }
                *x = int_un(op, *x)?;
            }
        }
        Buf::Bool(_) | Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => {}
    }
    Ok(Value::Array(Rc::new(array)))
}

/// A binary operator on two arrays of equal shape.
pub(super) fn arrays(interrupt: InterruptFlag, op: Bin, left_array: Rc<Array>, right_array: Rc<Array>) -> Res<Value> {
    if left_array.shape != right_array.shape {
        return Err(shapes_differ(&left_array.shape, &right_array.shape));
    }
    if let (Buf::F64(first), Buf::F64(second)) = (left_array.buf(), right_array.buf()) {
        let (left, right) = (Rc::strong_count(&left_array) == 1, Rc::strong_count(&right_array) == 1);
        if !left && !right {
            return Ok(array::make(
                left_array.shape.clone(),
                Buf::F64(floats(interrupt, op, BroadcastOperand::Many(first), BroadcastOperand::Many(second))?),
            ));
        }
        // An array that is not shared provides the buffer of the result.
        let (into, from) = if left { (left_array, right_array) } else { (right_array, left_array) };
        let mut into = array::owned(into)?;
        if let (Buf::F64(p), Buf::F64(q)) = (into.buf_mut(), from.buf()) {
            in_place(interrupt, op, p, BroadcastOperand::Many(q), left)?;
        }
        return Ok(Value::Array(Rc::new(into)));
    }
    let (shape, buf) = match (left_array.buf(), right_array.buf()) {
        (Buf::I64(p), Buf::I64(q)) => (
            left_array.shape.clone(),
            Buf::I64(ints(interrupt, op, BroadcastOperand::Many(p), BroadcastOperand::Many(q), p.len())?),
        ),
        (Buf::F32(p), Buf::F32(q)) => {
            let mut p = polling::copy(p)?;
            polling::pairs(&mut p, q, |p, q| {
                p.iter_mut().zip(q).for_each(|(a, b)| *a = op.eval(f64::from(*a), f64::from(*b)) as f32);
            })?;
            (left_array.shape.clone(), Buf::F32(p))
        }
        _ => return Err(kinds()),
    };
    Ok(array::make(shape, buf))
}

/// A binary operator on Floats.
fn floats(w: InterruptFlag, op: Bin, x: BroadcastOperand<f64>, y: BroadcastOperand<f64>) -> Res<Vec<f64>> {
    let n = match (x, y) {
        (BroadcastOperand::Many(x), _) => x.len(),
        (_, BroadcastOperand::Many(y)) => y.len(),
        _ => 1,
    };
    with_bin!(op, f => made(w, n, |at, out| {
        let k = out.len();
        fill(out, x.part(at, k), y.part(at, k), f);
    }))
}

/// Updates `acc`, which is the left operand if `left`, otherwise the right one.
fn in_place(w: InterruptFlag, op: Bin, acc: &mut [f64], other: BroadcastOperand<f64>, left: bool) -> Res<()> {
    with_bin!(op, f => if left {
        changed(w, acc, |at, part| { let n = part.len(); update(part, other.part(at, n), f) })
    } else {
        changed(w, acc, |at, part| { let n = part.len(); update(part, other.part(at, n), |a, b| f(b, a)) })
    })
}

/// A binary operator on Ints. Operators that cannot overflow are vectorised.
fn ints(
    interrupt: InterruptFlag,
    op: Bin,
    left: BroadcastOperand<i64>,
    right: BroadcastOperand<i64>,
    len: usize,
) -> Res<Vec<i64>> {
    match op {
        Bin::Min => made(interrupt, len, |at, out| {
            let k = out.len();
            fill(out, left.part(at, k), right.part(at, k), |a: i64, b| a.min(b));
        }),
        Bin::Max => made(interrupt, len, |at, out| {
            let k = out.len();
            fill(out, left.part(at, k), right.part(at, k), |a: i64, b| a.max(b));
        }),
        Bin::Add | Bin::Sub => sums(interrupt, op, left, right, len),
        _ => one_by_one(op, left, right, len),
    }
}

/// Sums or differences: computed with wrap-around, while overflows are detected in the same pass.
fn sums(
    w: InterruptFlag,
    op: Bin,
    left: BroadcastOperand<i64>,
    right: BroadcastOperand<i64>,
    len: usize,
) -> Res<Vec<i64>> {
    let wrong = std::sync::atomic::AtomicBool::new(false);
    let add = op == Bin::Add;
    let out = made(w, len, |at, out| {
        let k = out.len();
        let (left_part, right_part) = (left.part(at, k), right.part(at, k));
        if add {
            fill(out, left_part, right_part, i64::wrapping_add);
        } else {
            fill(out, left_part, right_part, i64::wrapping_sub);
        }
        let mut signs = 0i64;
        let mut see = |a: i64, b: i64, z: i64| signs |= (a ^ z) & (if add { b } else { !b } ^ z);
        match (left_part, right_part) {
            (BroadcastOperand::Many(x), BroadcastOperand::Many(y)) => {
                x.iter().zip(y).zip(out.iter()).for_each(|((a, b), z)| see(*a, *b, *z));
            }
            (BroadcastOperand::Many(x), BroadcastOperand::One(b)) => {
                x.iter().zip(out.iter()).for_each(|(a, z)| see(*a, b, *z));
            }
            (BroadcastOperand::One(a), BroadcastOperand::Many(y)) => {
                y.iter().zip(out.iter()).for_each(|(b, z)| see(a, *b, *z));
            }
            (BroadcastOperand::One(a), BroadcastOperand::One(b)) => out.iter().for_each(|z| see(a, b, *z)),
        }
        if signs < 0 {
            wrong.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    })?;
    if wrong.into_inner() { one_by_one(op, left, right, len) } else { Ok(out) }
}

fn one_by_one(op: Bin, x: BroadcastOperand<i64>, y: BroadcastOperand<i64>, n: usize) -> Res<Vec<i64>> {
    let mut out = array::room(n)?;
    let at = |v: &BroadcastOperand<i64>, i: usize| match v {
        BroadcastOperand::One(x) => *x,
        BroadcastOperand::Many(v) => v[i],
    };
    for i in 0..n {
        if i % STRIDE == 0 {
            polling::poll()?;
        }
        out.push(int_bin(op, at(&x, i), at(&y, i))?);
    }
    Ok(out)
}

/// A binary operator on an array and a scalar, which is the right operand if `right`, otherwise the left one.
pub(super) fn spread(interrupt: InterruptFlag, op: Bin, x: Rc<Array>, y: &Value, right: bool) -> Res<Value> {
    let scalar = super::arith::number(y);
    if let (Buf::F64(v), true) = (x.buf(), Rc::strong_count(&x) > 1) {
        let (many, one) = (BroadcastOperand::Many(&v[..]), BroadcastOperand::One(scalar));
        let out = if right { floats(interrupt, op, many, one) } else { floats(interrupt, op, one, many) }?;
        return Ok(array::make(x.shape.clone(), Buf::F64(out)));
    }
    let mut array = array::owned(x)?;
    match (array.buf_mut(), y) {
        (Buf::F64(v), _) => in_place(interrupt, op, v, BroadcastOperand::One(scalar), right)?,
        (Buf::F32(v), _) if right => {
            polling::each(v, |v| v.iter_mut().for_each(|a| *a = op.eval(f64::from(*a), scalar) as f32))?;
        }
        (Buf::F32(v), _) => {
            polling::each(v, |v| v.iter_mut().for_each(|a| *a = op.eval(scalar, f64::from(*a)) as f32))?;
        }
        (Buf::I64(v), Value::Int(n)) => {
            let (many, one, len) = (BroadcastOperand::Many(&v[..]), BroadcastOperand::One(*n), v.len());
            *v = if right { ints(interrupt, op, many, one, len) } else { ints(interrupt, op, one, many, len) }?;
        }
        _ => return Err(Error::new(codes::STRUCTURE, "an array and a number of different kinds")),
    }
    Ok(Value::Array(Rc::new(array)))
}

/// The elements of a value, if they are Floats.
fn float_operand(v: &Value) -> Option<BroadcastOperand<'_, f64>> {
    match v {
        Value::Float(x) => Some(BroadcastOperand::One(*x)),
        Value::Array(a) => {
            if let Buf::F64(v) = a.buf() {
                Some(BroadcastOperand::Many(v))
            } else {
                None
            }
        }
        _ => None,
    }
}

fn int_operand(v: &Value) -> Option<BroadcastOperand<'_, i64>> {
    match v {
        Value::Int(x) => Some(BroadcastOperand::One(*x)),
        Value::Array(a) => {
            if let Buf::I64(v) = a.buf() {
                Some(BroadcastOperand::Many(v))
            } else {
                None
            }
        }
        _ => None,
    }
}

fn ordered<T: PartialOrd + Copy + Send + Sync>(
    w: InterruptFlag,
    cmp: Cmp,
    x: BroadcastOperand<T>,
    y: BroadcastOperand<T>,
    n: usize,
) -> Res<Vec<bool>> {
    macro_rules! each {
        ($f:expr) => {
            made(w, n, |at, out| {
                let k = out.len();
                fill(out, x.part(at, k), y.part(at, k), $f)
            })
        };
    }
    match cmp {
        Cmp::Eq => each!(|a, b| a == b),
        Cmp::Ne => each!(|a, b| a != b),
        Cmp::Lt => each!(|a, b| a < b),
        Cmp::Gt => each!(|a, b| a > b),
        Cmp::Le => each!(|a, b| a <= b),
        Cmp::Ge => each!(|a, b| a >= b),
    }
}

/// `n` comparisons, if the operands are Floats or Ints.
pub(crate) fn compared(w: InterruptFlag, c: Cmp, a: &Value, b: &Value, n: usize) -> Option<Res<Vec<bool>>> {
    if let (Some(x), Some(y)) = (float_operand(a), float_operand(b)) {
        return Some(ordered(w, c, x, y, n));
    }
    let (x, y) = (int_operand(a)?, int_operand(b)?);
    Some(ordered(w, c, x, y, n))
}

/// Elementwise selection by a mask, if the operands are Floats or Ints and as long as the mask.
pub(crate) fn selected(interrupt: InterruptFlag, mask: &[bool], left: &Value, right: &Value) -> Option<Res<Buf>> {
    fn pick<T: Copy + Default + Send + Sync>(
        interrupt: InterruptFlag,
        mask: &[bool],
        left: BroadcastOperand<T>,
        right: BroadcastOperand<T>,
    ) -> Option<Res<Vec<T>>> {
        let fits = |v: &BroadcastOperand<T>| {
            matches!(v, BroadcastOperand::One(_)) || matches!(v, BroadcastOperand::Many(v) if v.len() == mask.len())
        };
        if !fits(&left) || !fits(&right) {
            return None;
        }
        let at = |v: BroadcastOperand<T>, i: usize| match v {
            BroadcastOperand::One(x) => x,
            BroadcastOperand::Many(v) => v[i],
        };
        Some(made(interrupt, mask.len(), |start, out| {
            let n = out.len();
            let (x, y) = (left.part(start, n), right.part(start, n));
            out.iter_mut()
                .zip(&mask[start..])
                .enumerate()
                .for_each(|(i, (o, c))| *o = if *c { at(x, i) } else { at(y, i) });
        }))
    }
    if let (Some(x), Some(y)) = (float_operand(left), float_operand(right)) {
        return Some(pick(interrupt, mask, x, y)?.map(Buf::F64));
    }
    let (x, y) = (int_operand(left)?, int_operand(right)?);
    Some(pick(interrupt, mask, x, y)?.map(Buf::I64))
}
