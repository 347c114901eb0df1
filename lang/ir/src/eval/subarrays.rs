//! Reads and updates of parts of arrays. A symbolic zero is read as zeros; `shape` gives its extents where they are
//! needed.

use super::arrays::{array, int, rows, sizes_for, zeros};
use super::scalar;
use super::scalar::Evaluated;
use super::value::{Arr, Val};
use crate::ty::Ty;
use adl_prim::Bin;
use std::ops::Range;

/// The kind of an update.
#[derive(Clone, Copy)]
pub(super) enum Update {
    Add,
    Set,
}

fn out_of_bounds(i: i64, n: usize) -> String {
    format!("index {i} is out of bounds for an array of length {n}")
}

fn bounded(v: &Val, n: usize) -> Result<usize, String> {
    let i = int(v)?;
    usize::try_from(i).ok().filter(|i| *i < n).ok_or_else(|| out_of_bounds(i, n))
}

/// The range of elements, in row-major order, that leading indices select.
fn range(shape: &[usize], at: &[Val]) -> Result<Range<usize>, String> {
    if at.len() > shape.len() {
        return Err(format!("{} indices in an array of shape {shape:?}", at.len()));
    }
    let mut start = 0;
    for (i, n) in at.iter().zip(shape) {
        start = start * n + bounded(i, *n)?;
    }
    let k: usize = shape[at.len()..].iter().product();
    Ok(start * k..(start + 1) * k)
}

/// Rows `lo..hi` as a range of elements.
fn slice_range(shape: &[usize], lo: &Val, hi: &Val) -> Result<Range<usize>, String> {
    let (n, k) = (shape.first().copied().unwrap_or(0), shape.iter().skip(1).product::<usize>());
    let (lo, hi) = (int(lo)?, int(hi)?);
    match (usize::try_from(lo), usize::try_from(hi)) {
        (Ok(a), Ok(b)) if a <= b && b <= n => Ok(a * k..b * k),
        _ => Err(format!("the slice {lo}:{hi} is out of bounds for an axis of length {n}")),
    }
}

/// The element or subarray at leading indices.
pub(super) fn index(a: &Val, at: &[Val], ty: &Ty) -> Evaluated {
    if a.is_symbolic_zero() {
        return Ok(Val::zero(ty));
    }
    let a = array(a)?;
    let r = range(&a.shape, at)?;
    if at.len() == a.shape.len() {
        return Ok(a.elems[r.start].clone());
    }
    Ok(Val::array(a.shape[at.len()..].to_vec(), a.elems[r].to_vec()))
}

/// Rows `lo..hi`.
pub(super) fn slice(a: &Val, lo: &Val, hi: &Val) -> Evaluated {
    if a.is_symbolic_zero() {
        return Ok(Val::SymbolicZero);
    }
    let a = array(a)?;
    let r = slice_range(&a.shape, lo, hi)?;
    let mut shape = a.shape.clone();
    shape[0] = (int(hi)? - int(lo)?) as usize;
    Ok(Val::array(shape, a.elems[r].to_vec()))
}

/// Rows at an array of indices. With `else_zero`, indices out of bounds give zeros; otherwise they are errors.
pub(super) fn gather(source: &Val, at: &Val, else_zero: bool, ty: &Ty) -> Evaluated {
    if source.is_symbolic_zero() {
        return Ok(Val::SymbolicZero);
    }
    let (a, at) = (array(source)?, array(at)?);
    let (n, k) = rows(a);
    let mut elems = Vec::with_capacity(at.elems.len() * k);
    for i in &at.elems {
        match bounded(i, n) {
            Ok(i) => elems.extend_from_slice(&a.elems[i * k..(i + 1) * k]),
            Err(_) if else_zero => elems.extend(std::iter::repeat_n(Val::zero(ty.scalar()), k)),
            Err(e) => return Err(e),
        }
    }
    let mut shape = a.shape.clone();
    shape[0] = at.elems.len();
    Ok(Val::array(shape, elems))
}

/// The array to update; a symbolic zero is materialised.
fn target(acc: &Val, shape: Option<&Val>, ty: &Ty) -> Evaluated {
    match (acc, shape) {
        (Val::SymbolicZero, Some(shape)) => zeros(&sizes_for(shape, ty)?, ty.scalar()),
        (Val::SymbolicZero, None) => Err("an absent array is updated, whose shape is not known".to_owned()),
        (acc, _) => Ok(acc.clone()),
    }
}

fn update(elems: &mut [Val], by: &[Val], how: Update) -> Result<(), String> {
    if elems.len() != by.len() {
        return Err(format!("{} elements do not fit a part of {}", by.len(), elems.len()));
    }
    for (x, y) in elems.iter_mut().zip(by) {
        *x = match how {
            Update::Add => scalar::bin(Bin::Add, x, y)?,
            Update::Set => y.clone(),
        };
    }
    Ok(())
}

/// An error unless a part that is written has the shape of the part that it changes. Arrays without elements may have
/// other extents.
fn same_shape(part: &Arr, first: &[usize], rest: &[usize]) -> Result<(), String> {
    let wanted = [first, rest].concat();
    if part.shape == wanted || part.elems.is_empty() && wanted.contains(&0) {
        return Ok(());
    }
    Err(format!("an array of shape {:?} does not fit a part of shape {wanted:?}", part.shape))
}

/// `acc` with the part at the indices updated.
pub(super) fn index_update(acc: &Val, at: &[Val], v: &Val, shape: Option<&Val>, ty: &Ty, how: Update) -> Evaluated {
    if v.is_symbolic_zero() && (matches!(how, Update::Add) || acc.is_symbolic_zero()) {
        return Ok(acc.clone());
    }
    let mut acc = target(acc, shape, ty)?;
    let Val::Array(a) = &mut acc else { return array(&acc).map(|_| Val::SymbolicZero) };
    let a = std::rc::Rc::make_mut(a);
    let r = range(&a.shape, at)?;
    let whole = at.len() == a.shape.len();
    match v {
        Val::Array(part) if !whole => {
            same_shape(part, &[], &a.shape[at.len()..])?;
            update(&mut a.elems[r], &part.elems, how)?;
        }
        Val::SymbolicZero if !whole => a.elems[r].fill(Val::zero(ty.scalar())),
        element => update(&mut a.elems[r], std::slice::from_ref(element), how)?,
    }
    Ok(acc)
}

/// `acc` with `v` added to rows `lo..hi`.
pub(super) fn slice_add(acc: &Val, bounds: (&Val, &Val), v: &Val, shape: Option<&Val>, ty: &Ty) -> Evaluated {
    if v.is_symbolic_zero() {
        return Ok(acc.clone());
    }
    let mut acc = target(acc, shape, ty)?;
    let Val::Array(a) = &mut acc else { return array(&acc).map(|_| Val::SymbolicZero) };
    let a = std::rc::Rc::make_mut(a);
    let r = slice_range(&a.shape, bounds.0, bounds.1)?;
    let v = array(v)?;
    same_shape(v, &[(int(bounds.1)? - int(bounds.0)?) as usize], &a.shape[1..])?;
    update(&mut a.elems[r], &v.elems, Update::Add)?;
    Ok(acc)
}

/// `acc` with the rows of `v` added at the indices.
pub(super) fn gather_add(acc: &Val, at: &Val, value: &Val, shape: Option<&Val>, ty: &Ty) -> Evaluated {
    if value.is_symbolic_zero() {
        return Ok(acc.clone());
    }
    let mut acc = target(acc, shape, ty)?;
    let Val::Array(a) = &mut acc else { return array(&acc).map(|_| Val::SymbolicZero) };
    let a = std::rc::Rc::make_mut(a);
    let ((n, k), v, at) = (rows(a), array(value)?, array(at)?);
    same_shape(v, &[at.elems.len()], &a.shape[1..])?;
    for (j, i) in at.elems.iter().enumerate() {
        match bounded(i, n) {
            Ok(i) => update(&mut a.elems[i * k..(i + 1) * k], &v.elems[j * k..(j + 1) * k], Update::Add)?,
            Err(_) if shape.is_some() => {}
            Err(e) => return Err(e),
        }
    }
    Ok(acc)
}
