//! Operations on entire arrays.

use super::scalar::{self, Evaluated};
use super::value::{Arr, Val};
use crate::op::Contract;
use crate::ty::Ty;
use adl_prim::Bin;

/// Limit of the elements of an array, so that a wrong extent does not exhaust memory.
const MOST: usize = 1 << 27;

pub(super) fn array(v: &Val) -> Result<&Arr, String> {
    match v {
        Val::Array(a) => Ok(a),
        other => Err(format!("an array was expected, not {}", other.kind())),
    }
}

pub(super) fn int(v: &Val) -> Result<i64, String> {
    match v {
        Val::I64(n) => Ok(*n),
        other => Err(format!("an Int was expected, not {}", other.kind())),
    }
}

/// A value as an extent.
pub(super) fn size(v: &Val) -> Result<usize, String> {
    let n = int(v)?;
    usize::try_from(n).map_err(|_| format!("{n} is no extent"))
}

/// A value as a shape.
pub(super) fn sizes(v: &Val) -> Result<Vec<usize>, String> {
    array(v)?.elems.iter().map(size).collect()
}

/// A value as the shape of an array of this type, with one extent for each axis.
pub(super) fn sizes_for(v: &Val, ty: &Ty) -> Result<Vec<usize>, String> {
    let shape = sizes(v)?;
    let rank = ty.rank() as usize;
    if shape.len() == rank {
        Ok(shape)
    } else {
        Err(format!("the shape {shape:?} is not that of an array of {rank} axes"))
    }
}

/// The number of elements of a shape. An error if it exceeds the limit.
pub(super) fn volume(shape: &[usize]) -> Result<usize, String> {
    let n = shape.iter().try_fold(1usize, |n, k| n.checked_mul(*k)).filter(|n| *n <= MOST);
    n.ok_or_else(|| format!("an array of shape {shape:?} is too large"))
}

/// An array of zeros. Elements other than numbers are symbolic zeros.
pub(super) fn zeros(shape: &[usize], elem: &Ty) -> Evaluated {
    Ok(Val::array(shape.to_vec(), vec![Val::zero(elem); volume(shape)?]))
}

/// The extent of the first axis, and the number of elements of each row.
pub(super) fn rows(a: &Arr) -> (usize, usize) {
    let n = a.shape.first().copied().unwrap_or(0);
    (n, a.shape.iter().skip(1).product())
}

/// Element `i` of the first axis, which must be in bounds.
pub(super) fn row(a: &Arr, i: usize) -> Val {
    let (_, k) = rows(a);
    match a.shape.len() {
        0 | 1 => a.elems[i].clone(),
        _ => Val::array(a.shape[1..].to_vec(), a.elems[i * k..(i + 1) * k].to_vec()),
    }
}

/// Stacks rows into one array. Rows that are symbolic zeros become zeros of the shape of the others (or according
/// to `shape`, that of the result). If all are symbolic, the result is.
pub(super) fn stack(rows: Vec<Val>, ty: &Ty, shape: Option<Vec<usize>>) -> Evaluated {
    let count = rows.len();
    if ty.rank() == 1 {
        return Ok(Val::array(vec![count], rows));
    }
    if count > 0 && rows.iter().all(Val::is_symbolic_zero) {
        return Ok(Val::SymbolicZero);
    }
    let inner =
        rows.iter().find_map(|r| r.arr().map(|a| a.shape.clone())).or(shape.map(|s| s[1.min(s.len())..].to_vec()));
    let inner = inner.unwrap_or_else(|| vec![0; (ty.rank() as usize).saturating_sub(1)]);
    let mut elems = Vec::new();
    for r in &rows {
        match r {
            Val::Array(a) if a.shape == inner => elems.extend(a.elems.iter().cloned()),
            Val::Array(a) => return Err(format!("elements of different shapes: {inner:?} and {:?}", a.shape)),
            _ => elems.extend(vec![Val::zero(ty.scalar()); volume(&inner)?]),
        }
    }
    Ok(Val::array([vec![count], inner].concat(), elems))
}

/// The sum along the first axis.
pub(super) fn sum(a: &Val, ty: &Ty) -> Evaluated {
    if a.is_symbolic_zero() {
        return Ok(Val::zero(ty));
    }
    let a = array(a)?;
    let (n, _) = rows(a);
    if n == 0 {
        return if a.shape.len() < 2 { Ok(Val::zero(ty)) } else { zeros(&a.shape[1..], ty.scalar()) };
    }
    (1..n).try_fold(row(a, 0), |acc, i| scalar::bin(Bin::Add, &acc, &row(a, i)))
}

/// The sum of all elements.
pub(super) fn total(a: &Val, ty: &Ty) -> Evaluated {
    if a.is_symbolic_zero() {
        return Ok(Val::zero(ty));
    }
    scalar::sum(array(a)?.elems.iter().map(|x| Ok(x.clone())), Val::zero(ty))
}

/// Prefix sums along the first axis, from the end if `reverse`.
pub(super) fn cumsum(a: &Val, reverse: bool, ty: &Ty) -> Evaluated {
    if a.is_symbolic_zero() {
        return Ok(Val::SymbolicZero);
    }
    let arr = array(a)?;
    let (n, _) = rows(arr);
    let mut out = vec![Val::SymbolicZero; n];
    let mut acc = Val::SymbolicZero;
    for k in 0..n {
        let i = if reverse { n - 1 - k } else { k };
        acc = scalar::bin(Bin::Add, &acc, &row(arr, i))?;
        out[i] = acc.clone();
    }
    stack(out, ty, Some(arr.shape.clone()))
}

/// Reorders the first axis: row `i` of the result is row `from(i, n)`, where `n` is the number of rows.
pub(super) fn permute(source: &Val, from: impl Fn(usize, usize) -> usize) -> Evaluated {
    if source.is_symbolic_zero() {
        return Ok(Val::SymbolicZero);
    }
    let a = array(source)?;
    let (n, k) = rows(a);
    let elems = (0..n)
        .flat_map(|i| {
            let j = from(i, n);
            a.elems[j * k..(j + 1) * k].iter().cloned()
        })
        .collect();
    Ok(Val::array(a.shape.clone(), elems))
}

/// Concatenates along the first axis; `len` is the length of the first array, `shape` that of the result.
pub(super) fn concat(left: &Val, right: &Val, len: Option<&Val>, shape: Option<&Val>, ty: &Ty) -> Evaluated {
    if left.is_symbolic_zero() && right.is_symbolic_zero() {
        return Ok(Val::SymbolicZero);
    }
    let given = |other: &Val, first: bool| -> Evaluated {
        let (Some(len), Some(shape)) = (len, shape) else {
            return Err("an absent array in `concat` without its shape".to_owned());
        };
        let (n, whole) = (size(len)?, sizes(shape)?);
        let rest = array(other)?.shape[1..].to_vec();
        let all = whole.first().copied().unwrap_or(0);
        zeros(&[vec![if first { n } else { all.saturating_sub(n) }], rest].concat(), ty.scalar())
    };
    let (a, b) = (
        if left.is_symbolic_zero() { given(right, true)? } else { left.clone() },
        if right.is_symbolic_zero() { given(left, false)? } else { right.clone() },
    );
    let (x, y) = (array(&a)?, array(&b)?);
    let (n, m) = (x.elems.len(), y.elems.len());
    if n > 0 && m > 0 && x.shape[1..] != y.shape[1..] {
        return Err(format!("the arrays have different shapes: {:?} and {:?}", x.shape, y.shape));
    }
    let mut shape = if n > 0 { x.shape.clone() } else { y.shape.clone() };
    shape[0] = x.shape[0] + y.shape[0];
    Ok(Val::array(shape, x.elems.iter().chain(&y.elems).cloned().collect()))
}

/// The same elements in another shape.
pub(super) fn reshape(a: &Val, to: &Val, ty: &Ty) -> Evaluated {
    if a.is_symbolic_zero() {
        return Ok(Val::SymbolicZero);
    }
    let (a, shape) = (array(a)?, sizes_for(to, ty)?);
    if volume(&shape)? != a.elems.len() {
        return Err(format!("{} elements do not fill the shape {shape:?}", a.elems.len()));
    }
    Ok(Val::array(shape, a.elems.clone()))
}

/// Exchanges the first two axes.
pub(super) fn transpose(a: &Val) -> Evaluated {
    if a.is_symbolic_zero() {
        return Ok(Val::SymbolicZero);
    }
    let a = array(a)?;
    let [n, m, rest @ ..] = a.shape.as_slice() else { return Err("a matrix was expected".to_owned()) };
    let k: usize = rest.iter().product();
    let at = |j: usize, i: usize| (i * m + j) * k;
    let elems =
        (0..*m).flat_map(|j| (0..*n).flat_map(move |i| at(j, i)..at(j, i) + k)).map(|i| a.elems[i].clone()).collect();
    Ok(Val::array([&[*m, *n], rest].concat(), elems))
}

/// `n` copies along a new first axis.
pub(super) fn replicate(n: &Val, a: &Val, ty: &Ty) -> Evaluated {
    let n = size(n)?;
    volume(&[n, a.arr().map_or(1, |a| a.elems.len())])?;
    if a.is_symbolic_zero() && ty.rank() > 1 {
        return Ok(Val::SymbolicZero);
    }
    let shape = a.arr().map(|a| [vec![n], a.shape.clone()].concat());
    stack(vec![a.clone(); n], ty, shape)
}

/// An array of a shape with the same number everywhere.
pub(super) fn spread(a: &Val, shape: &Val, ty: &Ty) -> Evaluated {
    let shape = sizes_for(shape, ty)?;
    let n = volume(&shape)?;
    Ok(Val::array(shape, vec![a.clone(); n]))
}

/// The sum of the products of corresponding elements.
pub(super) fn dot(a: &Val, b: &Val, ty: &Ty) -> Evaluated {
    if a.is_symbolic_zero() || b.is_symbolic_zero() {
        return Ok(Val::zero(ty));
    }
    let (x, y) = (array(a)?, array(b)?);
    if x.shape != y.shape {
        return Err(format!("the shapes {:?} and {:?} do not fit for a product", x.shape, y.shape));
    }
    scalar::sum(x.elems.iter().zip(&y.elems).map(|(x, y)| scalar::term(x, y)), Val::zero(ty))
}

/// Contracts the common extent k of `[rows, k] · [k, cols]`, likewise for vectors. `stop` is polled for each row.
pub(super) fn product(a: &Val, b: &Val, ty: &Ty, stop: &dyn Fn() -> bool) -> Evaluated {
    if a.is_symbolic_zero() || b.is_symbolic_zero() {
        return Ok(Val::zero(ty));
    }
    let (left, right) = (array(a)?, array(b)?);
    let (rows, k) = if left.shape.len() == 2 { (left.shape[0], left.shape[1]) } else { (1, left.shape[0]) };
    let (k2, cols) = (right.shape[0], right.shape[1..].iter().product());
    if k != k2 {
        return Err(format!("the shapes {:?} and {:?} do not fit for a product", left.shape, right.shape));
    }
    volume(&[rows, cols])?;
    let cell = |i: usize, j: usize| {
        let terms = (0..k).map(|l| scalar::term(&left.elems[i * k + l], &right.elems[l * cols + j]));
        scalar::sum(terms, Val::zero(ty.scalar()))
    };
    let mut elems = Vec::with_capacity(rows * cols);
    for i in 0..rows {
        for j in 0..cols {
            if j % 64 == 0 && stop() {
                return Err("interrupted".to_owned());
            }
            elems.push(cell(i, j)?);
        }
    }
    let kept = [&left.shape[..left.shape.len() - 1], &right.shape[1..]].concat();
    Ok(if kept.is_empty() { elems.swap_remove(0) } else { Val::array(kept, elems) })
}

/// A contraction. Factors that are symbolic zeros give zeros.
pub(super) fn contract(
    contract: &Contract,
    (left, right): (&Val, &Val),
    size: [Result<i64, String>; 3],
    ty: &Ty,
    stop: &dyn Fn() -> bool,
) -> Evaluated {
    let [n, m, k] = size;
    let [rows, cols, depth] = [n?, m?, k?].map(|n| n.max(0) as usize);
    let number = |v: &Val, turned: bool, i: usize, l: usize| -> Evaluated {
        let v = array(v)?;
        let at = if turned { [l, i] } else { [i, l] };
        let at = &at[usize::from(v.shape.len() == 1)..];
        let inside = at.iter().zip(&v.shape).all(|(i, n)| i < n);
        if inside {
            Ok(v.elems[at.iter().zip(&v.shape).fold(0, |p, (i, n)| p * n + i)].clone())
        } else {
            Err("an index out of bounds in a contraction".to_owned())
        }
    };
    let symbolic_zero = left.is_symbolic_zero() || right.is_symbolic_zero();
    let shape = if ty.rank() == 1 { vec![cols] } else { vec![rows, cols] };
    let mut elems = Vec::with_capacity(volume(&shape)?);
    for at in 0..shape.iter().product() {
        if at % 64 == 0 && stop() {
            return Err("interrupted".to_owned());
        }
        let term = |l: usize| match (
            number(left, contract.turned[0], at / cols, l)?,
            number(right, contract.turned[1], at % cols, l)?,
        ) {
            (Val::F64(a), Val::F64(b)) => Ok(Val::F64(contract.terms.eval(a, b))),
            _ => Err("a contraction is of Floats".to_owned()),
        };
        elems.push(scalar::sum((0..if symbolic_zero { 0 } else { depth }).map(term), Val::F64(0.0))?);
    }
    Ok(Val::array(shape, elems))
}

/// The products of each element of one array with each element of the other.
pub(super) fn outer(a: &Val, b: &Val) -> Evaluated {
    if a.is_symbolic_zero() || b.is_symbolic_zero() {
        return Ok(Val::SymbolicZero);
    }
    let (x, y) = (array(a)?, array(b)?);
    let shape = [x.shape.clone(), y.shape.clone()].concat();
    volume(&shape)?;
    let elems: Result<_, _> =
        x.elems.iter().flat_map(|p| y.elems.iter().map(move |q| scalar::bin(Bin::Mul, p, q))).collect();
    Ok(Val::array(shape, elems?))
}

/// Positions of `true`, or of zeros.
pub(super) fn positions(a: &Val) -> Evaluated {
    let sought = |v: &Val| match v {
        Val::Bool(b) => *b,
        Val::F64(x) => *x == 0.0,
        Val::F32(x) => *x == 0.0,
        _ => false,
    };
    let at: Vec<i64> = array(a)?.elems.iter().enumerate().filter(|(_, v)| sought(v)).map(|(i, _)| i as i64).collect();
    Ok(Val::ints(&at))
}

/// The number of elements, including those in boxes; 0 for a symbolic zero.
pub fn count(v: &Val) -> i64 {
    let mut todo = vec![v];
    let mut n = 0;
    while let Some(v) = todo.pop() {
        match v {
            Val::Array(a) => todo.extend(&a.elems),
            Val::SymbolicZero => {}
            _ => n += 1,
        }
    }
    n
}
