//! Sorting and extrema. Sorting is stable; `nan` is ordered last.

use super::interrupt::{InterruptFlag, STRIDE};
use super::{kernels, len};
use crate::error::{Error, Res, codes};
use crate::polling;
use crate::value::{Array, Buf, Value, array, compare};
use std::cmp::Ordering;

/// The permutation that sorts an array.
fn order(w: InterruptFlag, v: &Value) -> Res<Vec<usize>> {
    let Value::Array(a) = v else { return Ok(Vec::new()) };
    let elements = ColumnView::of(a);
    if let Some(keys) = elements.keys() {
        return by_keys(w, keys);
    }
    match elements.first().and_then(ColumnView::keys) {
        Some(keys) if a.len() >= 1 << DIGIT => by_first(w, &polling::collect_exact(keys)?, &elements),
        _ => by_comparison(w, a.len(), &|i, j| elements.compare(i, j)),
    }
}

/// A view of an array's elements without copies, so that nothing needs to be freed after an interrupt.
enum ColumnView<'a> {
    Float(&'a [f64]),
    F32(&'a [f32]),
    Int(&'a [i64]),
    Bool(&'a [bool]),
    Values(&'a [Value]),
    /// The columns of tuples or records.
    Parts(Vec<ColumnView<'a>>),
    /// Rows, which are materialised for each comparison.
    Rows(&'a Array),
    Unit,
}

impl<'a> ColumnView<'a> {
    fn of(array: &'a Array) -> ColumnView<'a> {
        match array.buf() {
            _ if array.shape.len() != 1 => ColumnView::Rows(array),
            Buf::F64(x) => ColumnView::Float(x),
            Buf::F32(x) => ColumnView::F32(x),
            Buf::I64(x) => ColumnView::Int(x),
            Buf::Bool(x) => ColumnView::Bool(x),
            Buf::Boxed(x) => ColumnView::Values(x),
            Buf::Unit => ColumnView::Unit,
            Buf::Tuple(parts) | Buf::Record(_, parts) => {
                let parts: Option<Vec<ColumnView>> = parts
                    .iter()
                    .map(|p| if let Value::Array(p) = p { Some(ColumnView::of(p)) } else { None })
                    .collect();
                parts.map_or(ColumnView::Rows(array), ColumnView::Parts)
            }
        }
    }

    /// The first column of tuples and records.
    fn first(&self) -> Option<&ColumnView<'a>> {
        if let ColumnView::Parts(parts) = self { parts.first() } else { None }
    }

    /// Integer keys with the same order as the elements, if they are scalars.
    fn keys(&self) -> Option<Box<dyn ExactSizeIterator<Item = u64> + 'a>> {
        match *self {
            ColumnView::Float(x) => Some(Box::new(x.iter().map(|x| float_key(*x)))),
            ColumnView::F32(x) => Some(Box::new(x.iter().map(|x| float_key(f64::from(*x))))),
            ColumnView::Int(x) => Some(Box::new(x.iter().map(|x| *x as u64 ^ 1 << 63))),
            _ => None,
        }
    }

    /// The order of two elements, as in [`compare::total`].
    fn compare(&self, i: usize, j: usize) -> Ordering {
        match self {
            ColumnView::Float(x) => compare::total_float(x[i], x[j]),
            ColumnView::F32(x) => compare::total_float(x[i].into(), x[j].into()),
            ColumnView::Int(x) => x[i].cmp(&x[j]),
            ColumnView::Bool(x) => x[i].cmp(&x[j]),
            ColumnView::Values(x) => compare::total(&x[i], &x[j]),
            ColumnView::Parts(parts) => {
                parts.iter().map(|p| p.compare(i, j)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
            }
            ColumnView::Rows(a) => compare::total(&array::elem(a, i), &array::elem(a, j)),
            ColumnView::Unit => Ordering::Equal,
        }
    }
}

/// Sorts by keys of the first column; elements with equal keys are then sorted by comparison.
fn by_first(interrupt: InterruptFlag, keys: &[u64], elements: &ColumnView) -> Res<Vec<usize>> {
    let mut at = by_keys(interrupt, keys.iter().copied())?;
    let mut rest = at.as_mut_slice();
    let mut done = 0;
    while let Some(first) = rest.first() {
        let n = rest.iter().take_while(|i| keys[**i] == keys[*first]).count();
        let (run, after) = rest.split_at_mut(n);
        if n > 1 {
            let sorted = by_comparison(interrupt, n, &|i, j| elements.compare(run[i], run[j]))?;
            let run_sorted: Vec<usize> = sorted.into_iter().map(|i| run[i]).collect();
            run.copy_from_slice(&run_sorted);
        }
        rest = after;
        done += 1;
        if done % STRIDE == 0 {
            interrupt.poll()?;
        }
    }
    Ok(at)
}

/// An integer key with the order of floats: both zeros have equal keys, and `nan` is last.
fn float_key(x: f64) -> u64 {
    if x.is_nan() {
        return u64::MAX;
    }
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Number of bits per pass of the radix sort.
const DIGIT: u32 = 11;

/// Sorts indices by keys: short arrays by comparison, others by a radix sort from the least significant digit.
fn by_keys(interrupt: InterruptFlag, keys: impl ExactSizeIterator<Item = u64>) -> Res<Vec<usize>> {
    let mut pairs: Vec<(u64, usize)> = polling::collect_exact(keys.enumerate().map(|(i, k)| (k, i)))?;
    if pairs.len() < 1 << DIGIT {
        pairs.sort_unstable();
        return Ok(pairs.into_iter().map(|(_, i)| i).collect());
    }
    let mut next = polling::collect_exact(std::iter::repeat_n((0, 0), pairs.len()))?;
    for shift in (0..u64::BITS).step_by(DIGIT as usize) {
        let digit = |k: u64| (k >> shift) as usize & ((1 << DIGIT) - 1);
        let mut ends = [0usize; 1 << DIGIT];
        for part in pairs.chunks(STRIDE) {
            interrupt.poll()?;
            part.iter().for_each(|(k, _)| ends[digit(*k)] += 1);
        }
        if ends.contains(&pairs.len()) {
            continue;
        }
        let mut start = 0;
        for e in &mut ends {
            (*e, start) = (start, start + *e);
        }
        for part in pairs.chunks(STRIDE) {
            interrupt.poll()?;
            for pair in part {
                let at = &mut ends[digit(pair.0)];
                next[*at] = *pair;
                *at += 1;
            }
        }
        std::mem::swap(&mut pairs, &mut next);
    }
    polling::collect(pairs.len(), |i| pairs[i].1)
}

/// Sorts the indices below `n`: runs are sorted by the standard library, which cannot be interrupted, and then
/// merged.
fn by_comparison(interrupt: InterruptFlag, n: usize, order: &dyn Fn(usize, usize) -> Ordering) -> Res<Vec<usize>> {
    const RUN: usize = 1 << 12;
    let mut at: Vec<usize> = polling::collect(n, |i| i)?;
    for run in at.chunks_mut(RUN) {
        interrupt.poll()?;
        run.sort_by(|i, j| order(*i, *j));
    }
    let mut width = RUN;
    while width < n {
        let mut next = array::room(n)?;
        for pair in at.chunks(2 * width) {
            let (mut a, mut b) = pair.split_at(width.min(pair.len()));
            while let ([x, ..], [y, ..]) = (a, b) {
                if next.len() % RUN == 0 {
                    interrupt.poll()?;
                }
                let from = if order(*y, *x) == Ordering::Less { &mut b } else { &mut a };
                next.push(from[0]);
                *from = &from[1..];
            }
            next.extend_from_slice(a);
            next.extend_from_slice(b);
        }
        at = next;
        width *= 2;
    }
    Ok(at)
}

/// The indices that sort an array.
pub fn argsort(w: InterruptFlag, v: &Value) -> Res<Value> {
    Ok(array::ints(order(w, v)?.into_iter().map(|i| i as i64).collect()))
}

/// The index of the first extremum; a `nan` counts as more extreme than any number, so that it is not lost.
pub(super) fn extreme(what: &str, v: &Value, better: Ordering) -> Res<usize> {
    let count = len(v);
    if count == 0 {
        return Err(Error::new(codes::EMPTY, format!("`{what}` of an empty array")));
    }
    let Value::Array(array) = v else { return Ok(0) };
    let wide: Vec<f64>;
    let numbers = match array.buf() {
        Buf::F64(x) if array.shape.len() == 1 => Some(x),
        Buf::F32(x) if array.shape.len() == 1 => {
            wide = x.iter().map(|v| f64::from(*v)).collect();
            Some(&wide)
        }
        _ => None,
    };
    if let Some(x) = numbers {
        polling::poll()?;
        return Ok(kernels::arg_extremum(x, better == Ordering::Less));
    }
    let mut best = array::elem(array, 0);
    let mut at = 0;
    for i in 1..count {
        if i % STRIDE == 0 {
            polling::poll()?;
        }
        let x = array::elem(array, i);
        if compare::partial(&x, &best)? == Some(better) {
            best = x;
            at = i;
        }
    }
    Ok(at)
}
