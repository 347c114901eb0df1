//! Arithmetic on values: numbers, arrays (with broadcasting), and data leaf by leaf.

use super::interrupt::InterruptFlag;
use super::{elementwise, shapes, vector_arith};
use crate::error::{Error, Res, codes};
use crate::polling;
use crate::upcalls::{Upcalls, call};
use crate::value::{Array, Buf, Kind, Rep, Shape, Value, array, vector_space};
use adl_prim::{ArrayFn, Bin, Prim, Un};

fn overflow() -> Box<Error> {
    Error::new(codes::OVERFLOW, "Int overflow: the result does not fit in 64 bits")
        .hint("compute with Floats: `float n`")
}

/// A binary operator on Ints. Overflow and division by zero are errors.
pub fn int_bin(op: Bin, left: i64, right: i64) -> Res<i64> {
    let zero = || Error::new(codes::DIV_ZERO, "division of an Int by zero");
    match op {
        Bin::Add => left.checked_add(right).ok_or_else(overflow),
        Bin::Sub => left.checked_sub(right).ok_or_else(overflow),
        Bin::Mul | Bin::ScaleTangent => left.checked_mul(right).ok_or_else(overflow),
        Bin::IntDiv => {
            if right == 0 {
                return Err(zero());
            }
            let q = left.checked_div(right).ok_or_else(overflow)?;
            Ok(if left % right != 0 && (left < 0) != (right < 0) { q - 1 } else { q })
        }
        Bin::Rem => {
            if right == 0 {
                return Err(zero());
            }
            let r = left.wrapping_rem(right);
            Ok(if r != 0 && (r < 0) != (right < 0) { r + right } else { r })
        }
        Bin::Min => Ok(left.min(right)),
        Bin::Max => Ok(left.max(right)),
        Bin::LeIndicator => Ok(i64::from(left <= right)),
        Bin::Pow => whole_power(left, right),
        Bin::Div | Bin::Atan2 | Bin::Hypot => Err(Error::new(codes::DOMAIN, "this operator is not defined on Ints")),
    }
}

pub(super) fn int_un(op: Un, a: i64) -> Res<i64> {
    match op {
        Un::Neg => a.checked_neg().ok_or_else(overflow),
        Un::Abs => a.checked_abs().ok_or_else(overflow),
        Un::Sign => Ok(a.signum()),
        Un::Powi(n) => whole_power(a, i64::from(n)),
        _ => Err(Error::new(codes::DOMAIN, "this function is not defined on Ints")),
    }
}

/// `a ^ n` on Ints.
fn whole_power(a: i64, n: i64) -> Res<i64> {
    if n < 0 {
        return Err(
            Error::new(codes::NEGATIVE, "an Int cannot have a negative power").hint("compute with Floats: `float n`")
        );
    }
    match (a, u32::try_from(n)) {
        (_, Ok(n)) => a.checked_pow(n).ok_or_else(overflow),
        (0 | 1, Err(_)) => Ok(a),
        (-1, Err(_)) => Ok(if n % 2 == 0 { 1 } else { -1 }),
        (_, Err(_)) => Err(overflow()),
    }
}

/// Converts an Int exponent to the type of the base, if that is real.
fn real_exponent(base: &Value, n: Value) -> Res<Value> {
    let whole = |v: &Value| match v {
        Value::Int(_) => true,
        Value::Array(a) => a.kind() == Kind::I64,
        _ => false,
    };
    if !whole(&n) || whole(base) {
        return Ok(n);
    }
    convert(&n, if vector_space::narrow(base) { Rep::F32 } else { Rep::Float })
}

/// Applies a unary operator.
pub fn un(machine: &mut dyn Upcalls, op: Un, v: Value) -> Res<Value> {
    if let Some(v) = machine.unary_on_device(op, &v)? {
        return Ok(v);
    }
    Ok(match v {
        Value::Float(x) => Value::Float(op.eval(x)),
        Value::Int(x) => Value::Int(int_un(op, x)?),
        Value::F32(x) => Value::F32(op.eval(f64::from(x)) as f32),
        Value::Rev { .. } | Value::Dual(_) => return machine.traced_unary(op, &v),
        Value::Zero if matches!(op, Un::Neg) => Value::Zero,
        Value::Zero => Value::Float(op.eval(0.0)),
        Value::Array(a) => match a.kind() {
            Kind::F64 | Kind::F32 | Kind::I64 => elementwise::un(InterruptFlag(machine.interrupt()), op, a)?,
            _ => vector_arith::scale(machine, &Value::Float(-1.0), &Value::Array(a))?,
        },
        data @ (Value::Tuple(_) | Value::Record(_) | Value::Data(_)) => {
            vector_arith::scale(machine, &Value::Float(-1.0), &data)?
        }
        other => return Err(not_a_number(&other)),
    })
}

fn not_a_number(v: &Value) -> Box<Error> {
    Error::new(codes::STRUCTURE, format!("a number was expected, not {}", crate::value::show::show(v)))
}

/// Updates Ints in place, up to the first error.
fn ints(v: &mut [i64], mut f: impl FnMut(i64) -> Res<i64>) -> Res<()> {
    for part in v.chunks_mut(polling::STRIDE) {
        polling::poll()?;
        for x in part {
            *x = f(*x)?;
        }
    }
    Ok(())
}

/// Applies a binary operator.
pub fn bin(machine: &mut dyn Upcalls, op: Bin, left: Value, right: Value) -> Res<Value> {
    let right = if op == Bin::Pow { real_exponent(&left, right)? } else { right };
    if let Some(v) = machine.binary_on_device(op, &left, &right)? {
        return Ok(v);
    }
    Ok(match (left, right) {
        (Value::Float(x), Value::Float(y)) => Value::Float(op.eval(x, y)),
        (Value::Int(x), Value::Int(y)) => Value::Int(int_bin(op, x, y)?),
        (Value::F32(x), Value::F32(y)) => Value::F32(op.eval(f64::from(x), f64::from(y)) as f32),
        // A generic zero or constant may be a Float beside an F32.
        (Value::Float(x), Value::F32(y)) => Value::F32(op.eval(f64::from(x as f32), f64::from(y)) as f32),
        (Value::F32(x), Value::Float(y)) => Value::F32(op.eval(f64::from(x), f64::from(y as f32)) as f32),
        (a @ (Value::Rev { .. } | Value::Dual(_)), b) | (a, b @ (Value::Rev { .. } | Value::Dual(_))) => {
            return traced(machine, op, a, b);
        }
        (Value::Zero, b) => return zero_left(machine, op, b),
        (a, Value::Zero) => match op {
            Bin::Add | Bin::Sub => a,
            Bin::Mul => Value::Zero,
            _ => return bin(machine, op, a, Value::Float(0.0)),
        },
        // An empty array may lack an element type.
        (Value::Array(x), Value::Array(y)) if x.is_empty() && y.is_empty() => {
            Value::Array(if numeric(&x) { x } else { y })
        }
        (Value::Array(x), y) | (y, Value::Array(x)) if x.is_empty() && scalar(&y) => Value::Array(x),
        (Value::Array(x), y) | (y, Value::Array(x)) if x.is_empty() && !numeric(&x) => no_rows(&y),
        (Value::Array(x), Value::Array(y)) if x.shape.len() != y.shape.len() && numeric(&x) && numeric(&y) => {
            return broadcast_ranks(machine, Value::Array(x), Value::Array(y), &mut |m, x, y| bin(m, op, x, y));
        }
        (Value::Array(x), Value::Array(y)) => match x.kind() {
            Kind::F64 | Kind::F32 | Kind::I64 => elementwise::arrays(InterruptFlag(machine.interrupt()), op, x, y)?,
            _ => return data(machine, op, Value::Array(x), Value::Array(y)),
        },
        (Value::Array(x), y) if numeric(&x) && scalar(&y) => {
            elementwise::spread(InterruptFlag(machine.interrupt()), op, x, &y, true)?
        }
        (x, Value::Array(y)) if numeric(&y) && scalar(&x) => {
            elementwise::spread(InterruptFlag(machine.interrupt()), op, y, &x, false)?
        }
        (a, b) => return data(machine, op, a, b),
    })
}

/// The result of an operation on an array without elements and without an element type: no rows with the shape of
/// the other operand.
fn no_rows(other: &Value) -> Value {
    let mut shape = shape_of(other);
    shape.insert(0, 0);
    array::make(shape, Buf::F64(Vec::new()))
}

/// Whether two arrays have different ranks.
fn ranks_differ(a: &Value, b: &Value) -> bool {
    let rank = |v: &Value| crate::value::seq::shape(v).map(smallvec::SmallVec::len);
    matches!((rank(a), rank(b)), (Some(m), Some(n)) if m != n)
}

/// An elementwise operation on arrays of different ranks: the one of lower rank is broadcast along the leading
/// axes of the other.
pub(crate) fn broadcast_ranks(
    m: &mut dyn Upcalls,
    a: Value,
    b: Value,
    f: &mut dyn FnMut(&mut dyn Upcalls, Value, Value) -> Res<Value>,
) -> Res<Value> {
    let (s, t) = (shape_of(&a), shape_of(&b));
    if !s.ends_with(&t) && !t.ends_with(&s) {
        return Err(shapes_differ(&s, &t));
    }
    let (x, y) = if s.len() < t.len() { (spread(m, a, &t)?, b) } else { (a, spread(m, b, &s)?) };
    f(m, x, y)
}

fn shape_of(v: &Value) -> Shape {
    crate::value::seq::shape(v).cloned().unwrap_or_default()
}

/// Broadcasts an array along the leading axes of a shape; the trailing axes are its own.
pub(crate) fn spread(m: &mut dyn Upcalls, v: Value, shape: &[usize]) -> Res<Value> {
    let lead = &shape[..shape.len() - shape_of(&v).len()];
    let n = array::count(lead)? as i64;
    let rows = call(m, Prim::Array(ArrayFn::Replicate), &[], vec![Value::Int(n), v])?;
    shapes::reshape(m, rows, Shape::from_slice(shape))
}

/// Traced operands. Data with traced leaves is processed leaf by leaf.
fn traced(machine: &mut dyn Upcalls, op: Bin, left: Value, right: Value) -> Res<Value> {
    let compound = |v: &Value| match v {
        Value::Tuple(_) | Value::Record(_) | Value::Data(_) => true,
        Value::Array(a) => !numeric(a),
        _ => false,
    };
    let empty = |v: &Value| crate::value::seq::shape(v).is_some_and(|s| s.first() == Some(&0));
    match (&left, &right) {
        // An empty array may lack an element type.
        (Value::Array(x), _) if x.is_empty() && (empty(&right) || crate::value::seq::shape(&right).is_none()) => {
            Ok(left)
        }
        (_, Value::Array(y)) if y.is_empty() && (empty(&left) || crate::value::seq::shape(&left).is_none()) => {
            Ok(right)
        }
        (Value::Array(x), y) | (y, Value::Array(x)) if x.is_empty() && !numeric(x) => Ok(no_rows(y)),
        (Value::Zero, _) if op == Bin::Add => Ok(right),
        (_, Value::Zero) if matches!(op, Bin::Add | Bin::Sub) => Ok(left),
        (Value::Zero, _) | (_, Value::Zero) if op == Bin::Mul => Ok(Value::Zero),
        _ if compound(&left) || compound(&right) => data(machine, op, left, right),
        _ if ranks_differ(&left, &right) => broadcast_ranks(machine, left, right, &mut |m, a, b| traced(m, op, a, b)),
        (Value::Rev { .. }, Value::Rev { .. } | Value::Float(_)) | (Value::Float(_), Value::Rev { .. }) => {
            machine.traced_binary(op, &left, &right)
        }
        _ => match (vector_space::narrow(&left), vector_space::narrow(&right)) {
            (true, false) => {
                let b = vector_arith::like(machine, &right, &left)?;
                machine.traced_binary(op, &left, &b)
            }
            (false, true) => {
                let a = vector_arith::like(machine, &left, &right)?;
                machine.traced_binary(op, &a, &right)
            }
            _ => machine.traced_binary(op, &left, &right),
        },
    }
}

fn zero_left(m: &mut dyn Upcalls, op: Bin, b: Value) -> Res<Value> {
    match op {
        Bin::Add => Ok(b),
        Bin::Sub => un(m, Un::Neg, b),
        Bin::Mul => Ok(Value::Zero),
        _ => bin(m, op, Value::Float(0.0), b),
    }
}

fn numeric(a: &Array) -> bool {
    matches!(a.kind(), Kind::F64 | Kind::F32 | Kind::I64)
}

fn scalar(v: &Value) -> bool {
    matches!(v, Value::Float(_) | Value::Int(_) | Value::F32(_))
}

fn data(m: &mut dyn Upcalls, op: Bin, a: Value, b: Value) -> Res<Value> {
    let number =
        |v: &Value| matches!(v, Value::Float(_) | Value::Int(_) | Value::F32(_) | Value::Rev { .. } | Value::Dual(_));
    match op {
        Bin::Add | Bin::Sub => vector_arith::combine(m, op, &a, &b),
        Bin::Mul if number(&a) => vector_arith::scale(m, &a, &b),
        Bin::Mul if number(&b) => vector_arith::scale(m, &b, &a),
        Bin::Div if number(&b) => vector_arith::divide(m, &a, &b),
        _ => Err(not_a_number(&a)),
    }
}

/// The error for arrays of different shapes.
pub fn shapes_differ(a: &[usize], b: &[usize]) -> Box<Error> {
    Error::new(codes::SIZE, format!("arrays of shape {a:?} and {b:?} do not match"))
}

pub(super) fn number(v: &Value) -> f64 {
    match v {
        Value::Float(x) => *x,
        Value::F32(x) => f64::from(*x),
        Value::Int(n) => *n as f64,
        _ => 0.0,
    }
}

/// Converts a Float to an Int, truncating towards zero.
fn whole(x: f64) -> Res<i64> {
    // 2^63 is a Float, and the smallest one that is too large.
    if x.trunc() >= -9_223_372_036_854_775_808.0 && x.trunc() < 9_223_372_036_854_775_808.0 {
        return Ok(x.trunc() as i64);
    }
    Err(Error::new(codes::OVERFLOW, format!("no Int holds {}", crate::value::show::float(x))))
}

/// Converts a number, or each element of an array, to another numeric type.
pub fn convert(v: &Value, to: Rep) -> Res<Value> {
    Ok(match (v, &to) {
        (Value::Array(a), _) => array::make(a.shape.clone(), convert_buf(a.buf(), &to)?),
        (Value::Int(n), Rep::Int) => Value::Int(*n),
        (Value::Float(_) | Value::F32(_) | Value::Int(_) | Value::Zero, _) => match to {
            Rep::Float => Value::Float(number(v)),
            Rep::F32 => Value::F32(number(v) as f32),
            Rep::Int => Value::Int(whole(number(v))?),
            _ => Value::Unit,
        },
        (other, _) => return Err(not_a_number(other)),
    })
}

fn convert_buf(buffer: &Buf, to: &Rep) -> Res<Buf> {
    let len = match buffer {
        Buf::F64(v) => v.len(),
        Buf::F32(v) => v.len(),
        Buf::I64(v) => v.len(),
        _ => 0,
    };
    let at = |i: usize| match buffer {
        Buf::F64(v) => v[i],
        Buf::F32(v) => f64::from(v[i]),
        Buf::I64(v) => v[i] as f64,
        _ => 0.0,
    };
    Ok(match (to, buffer) {
        (Rep::Float, _) => Buf::F64(polling::collect(len, at)?),
        (Rep::F32, _) => Buf::F32(polling::collect(len, |i| at(i) as f32)?),
        (_, Buf::I64(v)) => Buf::I64(polling::copy(v)?),
        _ => {
            let mut out = array::filled(0, len)?;
            let mut i = 0;
            ints(&mut out, |_| {
                i += 1;
                whole(at(i - 1))
            })?;
            Buf::I64(out)
        }
    })
}

/// Tests each number with a predicate.
pub fn test(v: &Value, f: impl Fn(f64) -> bool) -> Value {
    match v {
        Value::Array(a) => {
            let bits = match a.buf() {
                Buf::F64(v) => v.iter().map(|x| f(*x)).collect(),
                Buf::F32(v) => v.iter().map(|x| f(f64::from(*x))).collect(),
                _ => vec![false; a.shape.iter().product()],
            };
            array::make(a.shape.clone(), Buf::Bool(bits))
        }
        v => Value::Bool(f(number(v))),
    }
}
