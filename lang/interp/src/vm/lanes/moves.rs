//! Batched operations that permute elements of each lane's array, and products of each lane's matrices.

use super::prims::positions;
use super::shape::{same, shape_of};
use super::{Give, Lane, Lanes, MOST, Try};
use crate::ad::rules;
use crate::ops;
use crate::value::{Shape, Value, array};
use crate::vm::code::IndexKind;
use adl_prim::{ArrayFn, Bin, Prim};

impl Lanes<'_> {
    /// A primitive that moves elements of each lane's array: it is applied to an array of positions to find the
    /// permutation.
    pub(super) fn moved(&mut self, lanes: usize, p: Prim, args: &[Lane]) -> Try<Lane> {
        let (last, first) = args.split_last().ok_or(Give::Never)?;
        let (Lane::Each(value), Some(shape)) = (last, shape_of(last)?) else { return Err(Give::Never) };
        let k = shape[0];
        let mut plain: Vec<Value> = first.iter().map(|l| same(l).cloned().ok_or(Give::Never)).collect::<Try<_>>()?;
        plain.push(array::ints((0..k as i64).collect()));
        let order = self.prim(p, plain)?;
        let (within, vector) = match &order {
            Value::Int(i) => (vec![*i], false),
            v => (positions(v)?, true),
        };
        let at = (0..lanes as i64).flat_map(|lane| within.iter().map(move |i| lane * k as i64 + i)).collect();
        let flat: Vec<usize> = std::iter::once(lanes * k).chain(shape[1..].iter().copied()).collect();
        let flat = self.reshape(value.clone(), &flat)?;
        let rows = self.rows(&flat, at)?;
        if vector { self.unflatten(rows, lanes, &[within.len()]) } else { Ok(Lane::Each(rows)) }
    }

    /// Replaces elements or rows of each lane's array, at index arrays or (`__put`) at one index or tuple of
    /// indices. This is a single `scatter` into all lanes' arrays, in place if they are not used again.
    pub(super) fn replaced(&mut self, lanes: usize, prim: Prim, args: Vec<Lane>) -> Try<Lane> {
        let Ok([dest, at, values]) = <[Lane; 3]>::try_from(args) else { return Err(Give::Never) };
        let Some(shape) = shape_of(&dest)? else { return Err(Give::Never) };
        let given = shape_of(&values)?.unwrap_or_default();
        let (axes, many) = match (&at, prim) {
            (Lane::Tuple(axes), Prim::Array(ArrayFn::Put)) => (axes.as_slice(), None),
            (at, Prim::Array(ArrayFn::Put)) => (std::slice::from_ref(at), None),
            (at, _) => (std::slice::from_ref(at), shape_of(at)?.map(|s| s[0])),
        };
        let Some(rest) = shape.get(axes.len()..).filter(|rest| *rest == &given[usize::from(many.is_some())..]) else {
            return Err(Give::Now);
        };
        if many.is_some_and(|k| given[0] != k) {
            return Err(Give::Now);
        }
        let count = many.unwrap_or(1);
        let rows: usize = shape[..axes.len()].iter().product();
        let mut places: Vec<i64> = vec![0; lanes * count];
        for (axis, extent) in axes.iter().zip(&shape) {
            let k = *extent as i64;
            for (place, i) in places.iter_mut().zip(self.indices(lanes, count, axis)?) {
                match (0..k).contains(&i) {
                    true if *place >= 0 => *place = *place * k + i,
                    _ if prim == Prim::Array(ArrayFn::ScatterWithin) => *place = -1,
                    _ => return Err(Give::Now),
                }
            }
        }
        let places = places
            .iter()
            .enumerate()
            .map(|(t, i)| if *i < 0 { -1 } else { (t / count.max(1) * rows) as i64 + i })
            .collect();
        let whole = |k: usize| -> Vec<usize> { std::iter::once(lanes * k).chain(rest.iter().copied()).collect() };
        let full: Vec<usize> = std::iter::once(lanes).chain(shape.iter().copied()).collect();
        let (dest, values) = (self.owned(dest, lanes)?, self.each(&values, lanes)?);
        let (dest, values) = (self.reshape(dest, &whole(rows))?, self.reshape(values, &whole(count))?);
        let p = if prim == Prim::Array(ArrayFn::ScatterWithin) { prim } else { Prim::Array(ArrayFn::Scatter) };
        let out = self.prim(p, vec![dest, array::ints(places), values])?;
        Ok(Lane::Each(self.reshape(out, &full)?))
    }

    /// `count` indices for each lane, in lane order.
    fn indices(&mut self, n: usize, count: usize, l: &Lane) -> Try<Vec<i64>> {
        let all = self.each(l, n)?;
        positions(&self.reshape(all, &[n * count])?)
    }

    /// The lanes as one array; moves it out if each lane already has its own value.
    fn owned(&mut self, l: Lane, n: usize) -> Try<Value> {
        match l {
            Lane::Each(v) => Ok(v),
            l => self.each(&l, n),
        }
    }

    /// A slice with equal bounds in all lanes, by applying it to an array of positions.
    pub(super) fn slice(&mut self, lanes: usize, a: &Lane, kinds: &[IndexKind], at: &[Lane]) -> Try<Lane> {
        let (Lane::Each(v), Some(shape)) = (a, shape_of(a)?) else { return Err(Give::Never) };
        let at: Vec<Value> = at.iter().map(|l| same(l).cloned().ok_or(Give::Never)).collect::<Try<_>>()?;
        let size: usize = shape.iter().product();
        let numbers = self.reshape(array::ints((0..size as i64).collect()), &shape)?;
        let order = ops::index::index(self.m, &numbers, kinds, &at)?;
        let Value::Array(part) = &order else { return Err(Give::Never) };
        let inner = part.shape.clone();
        let within = positions(&self.reshape(order.clone(), &[inner.iter().product()])?)?;
        let flat = self.reshape(v.clone(), &[lanes * size])?;
        let from = (0..lanes as i64).flat_map(|lane| within.iter().map(move |i| lane * size as i64 + i)).collect();
        let rows = self.rows(&flat, from)?;
        let full: Vec<usize> = std::iter::once(lanes).chain(inner).collect();
        Ok(Lane::Each(self.reshape(rows, &full)?))
    }

    /// The concatenation of each lane's two arrays.
    pub(super) fn joined(&mut self, lanes: usize, a: &Lane, b: &Lane) -> Try<Lane> {
        let (Some(shape), Some(t)) = (shape_of(a)?, shape_of(b)?) else { return Err(Give::Never) };
        if shape[1..] != t[1..] {
            return Err(Give::Now);
        }
        let (left_rows, right_rows) = (shape[0], t[0]);
        let flat =
            |len: usize| -> Vec<usize> { std::iter::once(lanes * len).chain(shape[1..].iter().copied()).collect() };
        let (x, y) = (self.each(a, lanes)?, self.each(b, lanes)?);
        let (x, y) = (self.reshape(x, &flat(left_rows))?, self.reshape(y, &flat(right_rows))?);
        let both = self.prim(Prim::Array(ArrayFn::Concat), vec![x, y])?;
        let at = (0..lanes)
            .flat_map(|lane| {
                (lane * left_rows..(lane + 1) * left_rows)
                    .chain(lanes * left_rows + lane * right_rows..lanes * left_rows + (lane + 1) * right_rows)
            })
            .map(|i| i as i64)
            .collect();
        let rows = self.rows(&both, at)?;
        let full: Vec<usize> = [lanes, left_rows + right_rows].into_iter().chain(shape[1..].iter().copied()).collect();
        Ok(Lane::Each(self.reshape(rows, &full)?))
    }

    /// Matrix products in which both operands differ between lanes, as inner products of rows and columns.
    pub(super) fn products(
        &mut self,
        lanes: usize,
        (first, s): (&Lane, Option<Shape>),
        (second, t): (&Lane, Option<Shape>),
    ) -> Try<Lane> {
        let (first_shape, second_shape) = (s.ok_or(Give::Never)?, t.ok_or(Give::Never)?);
        if first_shape.len() > 2 || second_shape.len() > 2 || first_shape.last() != second_shape.first() {
            return Err(Give::Never);
        }
        let (rows, inner, cols) = (
            if first_shape.len() == 2 { first_shape[0] } else { 1 },
            second_shape[0],
            if second_shape.len() == 2 { second_shape[1] } else { 1 },
        );
        let size = rows * cols * inner;
        if lanes * size > MOST {
            return Err(Give::Large);
        }
        let (x, y) = (self.each(first, lanes)?, self.each(second, lanes)?);
        let (x, y) = (self.reshape(x, &[lanes * rows * inner])?, self.reshape(y, &[lanes * inner * cols])?);
        // The factors of element (row, col) are contiguous, ordered by the inner axis.
        let place = |t: usize| (t / size, t / (cols * inner) % rows, t / inner % cols, t % inner);
        let left = (0..lanes * size).map(place).map(|(lane, r, _, i)| ((lane * rows + r) * inner + i) as i64).collect();
        let right =
            (0..lanes * size).map(place).map(|(lane, _, c, i)| ((lane * inner + i) * cols + c) as i64).collect();
        let (x, y) = (self.rows(&x, left)?, self.rows(&y, right)?);
        let z = self.bin(lanes, Bin::Mul, &Lane::Each(x), &Lane::Each(y))?;
        let z = self.each(&z, lanes)?;
        let z = self.reshape(z, &[lanes * rows * cols, inner])?;
        let sums = rules::row_sums(self.m, &z)?;
        let full: Vec<usize> = std::iter::once(lanes)
            .chain((first_shape.len() == 2).then_some(rows))
            .chain((second_shape.len() == 2).then_some(cols))
            .collect();
        Ok(Lane::Each(self.reshape(sums, &full)?))
    }
}
