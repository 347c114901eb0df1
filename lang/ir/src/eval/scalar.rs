//! Elementwise arithmetic on numbers, arrays and data. Symbolic zeros count as zeros.

use super::value::{Arr, Deps, Val};
use crate::op::{Cmp, Conv};
use adl_prim::{Bin, Un};
use std::rc::Rc;

/// A value, or an error message.
pub type Evaluated = Result<Val, String>;

const OVERFLOW: &str = "Int overflow: the result does not fit in 64 bits";

/// Applies a unary operator to each number.
pub fn un(op: Un, v: &Val) -> Evaluated {
    Ok(match v {
        Val::F64(x) => Val::F64(op.eval(*x)),
        Val::F32(x) => Val::F32(op.eval(f64::from(*x)) as f32),
        Val::I64(x) => Val::I64(int_un(op, *x)?),
        Val::SymbolicZero | Val::Deps(_) if op == Un::Neg => v.clone(),
        Val::Array(_) | Val::Data(_) => each(v, &mut |x| un(op, x))?,
        other => return Err(format!("a number was expected, not {}", other.kind())),
    })
}

fn int_un(op: Un, a: i64) -> Result<i64, String> {
    let r = match op {
        Un::Neg => a.checked_neg(),
        Un::Abs => a.checked_abs(),
        Un::Sign => Some(a.signum()),
        Un::Powi(n) => match u32::try_from(n) {
            Ok(n) => a.checked_pow(n),
            Err(_) => return Err("an Int cannot have a negative power".to_owned()),
        },
        _ => return Err("this function is not defined on Ints".to_owned()),
    };
    r.ok_or_else(|| OVERFLOW.to_owned())
}

/// Applies a function to each element or field.
fn each(v: &Val, f: &mut dyn FnMut(&Val) -> Evaluated) -> Evaluated {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match v {
        Val::Array(a) => Ok(Val::array(a.shape.clone(), a.elems.iter().map(&mut *f).collect::<Result<_, _>>()?)),
        Val::Data(c) => Ok(Val::data(c.tag, c.fields.iter().map(&mut *f).collect::<Result<_, _>>()?)),
        other => f(other),
    })
}

/// Applies a binary operator.
pub fn bin(op: Bin, left: &Val, right: &Val) -> Evaluated {
    match (left, right) {
        (Val::F64(x), Val::F64(y)) => Ok(Val::F64(op.eval(*x, *y))),
        (Val::F32(x), Val::F32(y)) => Ok(Val::F32(op.eval(f64::from(*x), f64::from(*y)) as f32)),
        (Val::I64(x), Val::I64(y)) => int_bin(op, *x, *y).map(Val::I64),
        (Val::SymbolicZero, _) | (_, Val::SymbolicZero) => symbolic_zero(op, left, right),
        (Val::Deps(x), Val::Deps(y)) => Ok(Val::Deps(Deps::union(x, y))),
        // The number is a coefficient, or the initial zero of a sum.
        (Val::Deps(_), Val::F64(_) | Val::F32(_)) => Ok(left.clone()),
        (Val::F64(_) | Val::F32(_), Val::Deps(_)) => Ok(right.clone()),
        (Val::Array(x), Val::Array(y)) if x.shape == y.shape => {
            pairs(&x.elems, &y.elems, op).map(|e| Val::array(x.shape.clone(), e))
        }
        // An array collected in zero iterations has lost its inner extents.
        (Val::Array(x), Val::Array(y)) if x.elems.is_empty() && y.elems.is_empty() => Ok(left.clone()),
        (Val::Array(x), Val::Array(y)) => {
            Err(format!("the arrays have different shapes: {:?} and {:?}", x.shape, y.shape))
        }
        (Val::Data(x), Val::Data(y)) if x.tag == y.tag => pairs(&x.fields, &y.fields, op).map(|f| Val::data(x.tag, f)),
        (Val::Data(_), Val::Data(_)) => Err("the data have different constructors".to_owned()),
        (Val::Array(_) | Val::Data(_), _) => each(left, &mut |x| bin(op, x, right)),
        (_, Val::Array(_) | Val::Data(_)) => each(right, &mut |y| bin(op, left, y)),
        _ => Err(format!("an operator on {} and {}", left.kind(), right.kind())),
    }
}

/// A term of a sum of products. A coefficient 0 removes the dependence on the other factor, so sparse matrices are
/// recognised even if they are stored densely.
pub(super) fn term(a: &Val, b: &Val) -> Evaluated {
    match (a, b) {
        (Val::F64(0.0), Val::Deps(_)) => Ok(a.clone()),
        (Val::Deps(_), Val::F64(0.0)) => Ok(b.clone()),
        _ => bin(Bin::Mul, a, b),
    }
}

/// The sum of terms; numbers are added from left to right. Dependence sets are joined pairwise by similar size,
/// since joining them one by one takes quadratic time.
pub(super) fn sum(terms: impl Iterator<Item = Evaluated>, zero: Val) -> Evaluated {
    let (mut acc, mut sets): (Val, Vec<(u32, Rc<Deps>)>) = (zero, Vec::new());
    for t in terms {
        match t? {
            Val::Deps(d) => {
                let mut new = (0, d);
                while let Some((_, below)) = sets.pop_if(|(rank, _)| *rank == new.0) {
                    new = (new.0 + 1, Deps::union(&below, &new.1));
                }
                sets.push(new);
            }
            x => acc = bin(Bin::Add, &acc, &x)?,
        }
    }
    let joined = sets.into_iter().rev().map(|(_, d)| d).reduce(|a, b| Deps::union(&b, &a));
    match joined {
        Some(d) => bin(Bin::Add, &acc, &Val::Deps(d)),
        None => Ok(acc),
    }
}

fn pairs(xs: &[Val], ys: &[Val], op: Bin) -> Result<Vec<Val>, String> {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || xs.iter().zip(ys).map(|(x, y)| bin(op, x, y)).collect())
}

fn symbolic_zero(op: Bin, left: &Val, b: &Val) -> Evaluated {
    match op {
        Bin::Add => Ok(if left.is_symbolic_zero() { b.clone() } else { left.clone() }),
        Bin::Sub => {
            if left.is_symbolic_zero() {
                un(Un::Neg, b)
            } else {
                Ok(left.clone())
            }
        }
        Bin::Mul | Bin::ScaleTangent => Ok(Val::SymbolicZero),
        Bin::Div if left.is_symbolic_zero() => Ok(Val::SymbolicZero),
        _ => Err("the elements of an absent zero are needed".to_owned()),
    }
}

/// An operator on Ints. Overflow and division by zero are errors.
fn int_bin(op: Bin, left: i64, right: i64) -> Result<i64, String> {
    if matches!(op, Bin::IntDiv | Bin::Rem) && right == 0 {
        return Err("division of an Int by zero".to_owned());
    }
    let result = match op {
        Bin::Add => left.checked_add(right),
        Bin::Sub => left.checked_sub(right),
        Bin::Mul | Bin::ScaleTangent => left.checked_mul(right),
        // Division rounds towards negative infinity; the remainder has the sign of the divisor.
        Bin::IntDiv => left
            .checked_div(right)
            .map(|q| if left.wrapping_rem(right) != 0 && (left < 0) != (right < 0) { q - 1 } else { q }),
        Bin::Rem => {
            Some(left.wrapping_rem(right)).map(|r| if r != 0 && (r < 0) != (right < 0) { r + right } else { r })
        }
        Bin::Pow if right < 0 => return Err("an Int cannot have a negative power".to_owned()),
        Bin::Pow => {
            u32::try_from(right).map_or(if left.abs() > 1 { None } else { Some(left) }, |b| left.checked_pow(b))
        }
        Bin::Min => Some(left.min(right)),
        Bin::Max => Some(left.max(right)),
        Bin::LeIndicator => Some(i64::from(left <= right)),
        Bin::Div | Bin::Atan2 | Bin::Hypot => return Err("this operator is not defined on Ints".to_owned()),
    };
    result.ok_or_else(|| OVERFLOW.to_owned())
}

/// Compares two values, elementwise on arrays.
pub fn cmp(op: Cmp, left: &Val, right: &Val) -> Evaluated {
    let order = match (left, right) {
        (Val::F64(x), Val::F64(y)) => x.partial_cmp(y),
        (Val::F32(x), Val::F32(y)) => x.partial_cmp(y),
        (Val::I64(x), Val::I64(y)) => Some(x.cmp(y)),
        (Val::Bool(x), Val::Bool(y)) => Some(x.cmp(y)),
        (Val::Str(x), Val::Str(y)) => Some(x.cmp(y)),
        (Val::Array(x), Val::Array(y)) if x.shape == y.shape => {
            let elems: Result<_, _> = x.elems.iter().zip(&y.elems).map(|(x, y)| cmp(op, x, y)).collect();
            return Ok(Val::array(x.shape.clone(), elems?));
        }
        (Val::Array(x), Val::Array(y)) => {
            return Err(format!("the arrays have different shapes: {:?} and {:?}", x.shape, y.shape));
        }
        (Val::Array(_), _) => return each(left, &mut |x| cmp(op, x, right)),
        (_, Val::Array(_)) => return each(right, &mut |y| cmp(op, left, y)),
        _ => return Err(format!("{} and {} cannot be compared", left.kind(), right.kind())),
    };
    Ok(Val::Bool(op.holds(order)))
}

/// Negates each Bool.
pub fn not(v: &Val) -> Evaluated {
    match v {
        Val::Bool(b) => Ok(Val::Bool(!b)),
        Val::Array(_) => each(v, &mut not),
        other => Err(format!("a Bool was expected, not {}", other.kind())),
    }
}

/// `left` if the condition holds, else `right`.
pub fn select(condition: &Val, left: &Val, right: &Val) -> Evaluated {
    let mask = match condition {
        Val::Bool(c) => return Ok(if *c { left.clone() } else { right.clone() }),
        Val::Array(mask) => mask,
        other => return Err(format!("a Bool was expected, not {}", other.kind())),
    };
    if left.is_symbolic_zero() && right.is_symbolic_zero() {
        return Ok(Val::SymbolicZero);
    }
    // Also of the operand of which no element is selected. Arrays without elements may have other extents.
    let empty = |x: &Arr| x.elems.is_empty() && mask.elems.is_empty();
    let mut arrays = [left, right].into_iter().filter_map(Val::arr);
    let other_shape = arrays.find(|x| x.shape != mask.shape && !empty(x));
    if let Some(x) = other_shape {
        return Err(format!("the arrays have different shapes: {:?} and {:?}", mask.shape, x.shape));
    }
    let pick = |v: &Val, other: &Val, i: usize| match v {
        Val::Array(x) => Ok(x.elems[i].clone()),
        // A zero with the element type of the other operand.
        Val::SymbolicZero => bin(Bin::ScaleTangent, &zero_like(other), &zero_like(other)),
        number => Ok(number.clone()),
    };
    let holds = |v: &Val| matches!(v, Val::Bool(true));
    let elems: Result<_, _> = mask
        .elems
        .iter()
        .enumerate()
        .map(|(i, c)| if holds(c) { pick(left, right, i) } else { pick(right, left, i) })
        .collect();
    Ok(Val::array(mask.shape.clone(), elems?))
}

fn zero_like(v: &Val) -> Val {
    match v.leaves().first() {
        Some(Val::F32(_)) => Val::F32(0.0),
        Some(Val::I64(_)) => Val::I64(0),
        _ => Val::F64(0.0),
    }
}

/// Converts each number.
pub fn convert(c: Conv, v: &Val) -> Evaluated {
    let (real, int) = match v {
        Val::F64(x) => (*x, None),
        Val::F32(x) => (f64::from(*x), None),
        Val::I64(n) => (*n as f64, Some(*n)),
        Val::Bool(b) => (f64::from(u8::from(*b)), Some(i64::from(*b))),
        Val::SymbolicZero | Val::Deps(_) => return Ok(v.clone()),
        Val::Array(_) => return each(v, &mut |x| convert(c, x)),
        other => return Err(format!("a number was expected, not {}", other.kind())),
    };
    Ok(match c {
        Conv::ToF64 => Val::F64(real),
        Conv::ToF32 => Val::F32(real as f32),
        Conv::ToI64 => Val::I64(match int {
            Some(n) => n,
            // Both bounds are exact in f64.
            None if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&real.trunc()) => {
                real.trunc() as i64
            }
            None => return Err(format!("no Int holds {real:?}")),
        }),
    })
}
