//! Batched primitives: the effect of a primitive on each lane's value, as operations on batched arrays.

use super::run::row_len;
use super::shape::{lanes_of, same, shape_of};
use super::{Give, Lane, Lanes, MOST, Try};
use crate::ad::rules;
use crate::ops::{self, arith, whole};
use crate::value::{Buf, Shape, Value, array, compare, seq};
use adl_prim::scalar::norm_unit;
use adl_prim::{ArrayFn, Bin, DerivativeFn, GeneralFn, HigherOrderFn, NumberFn, Prim, ReductionFn, Un};
use adl_typing::core::ForKind;

impl Lanes<'_> {
    /// Applies a primitive to all its arguments.
    pub(super) fn primitive(&mut self, lanes: usize, prim: Prim, reps: &[Value], args: Vec<Lane>) -> Try<Lane> {
        let constant = args.iter().all(|a| same(a).is_some());
        if lanes == 0 && Self::samples(prim, &args) && !constant {
            return self.sampled(prim, reps, &args);
        }
        if constant && (lanes > 0 || Self::samples(prim, &args)) {
            let args = args.iter().filter_map(same).cloned().collect();
            return Ok(Lane::Same(ops::call(self.m, prim, reps, args)?));
        }
        if let Prim::Bin(op) = prim {
            return self.bin(lanes, op, &args[0], &args[1]);
        }
        if let Prim::Un(op) = prim {
            return self.un(op, args.into_iter().next().ok_or(Give::Never)?);
        }
        if let Prim::Compare(op) = prim {
            return self.compare(lanes, op, &args[0], &args[1]);
        }
        match prim {
            Prim::Number(NumberFn::PowInt) => match (&args[0], &args[1]) {
                (x, Lane::Same(Value::Int(k))) => match i32::try_from(*k) {
                    Ok(k) => self.un(Un::Powi(k), x.clone()),
                    Err(_) => Err(Give::Never),
                },
                _ => Err(Give::Never),
            },
            Prim::Number(NumberFn::Not) => negated(&args[0]),
            Prim::CompareEach(_) | Prim::Number(NumberFn::AndEach | NumberFn::OrEach) => {
                self.of_elements(lanes, prim, &args[0], &args[1])
            }
            Prim::Derivative(DerivativeFn::StopGrad)
            | Prim::Number(
                NumberFn::IsNan
                | NumberFn::IsInf
                | NumberFn::ToFloat
                | NumberFn::F32ToFloat
                | NumberFn::ToInt
                | NumberFn::ToF32,
            ) => match &args[0] {
                Lane::Each(v) => Ok(Lane::Each(ops::call(self.m, prim, reps, vec![v.clone()])?)),
                _ => Err(Give::Never),
            },
            Prim::Number(NumberFn::Clamp) => {
                self.bin(lanes, Bin::Max, &args[2], &args[0]).and_then(|low| self.bin(lanes, Bin::Min, &low, &args[1]))
            }
            Prim::General(GeneralFn::Fst | GeneralFn::Snd) => match args.into_iter().next() {
                Some(Lane::Tuple(mut ps)) if ps.len() == 2 => {
                    Ok(ps.swap_remove(usize::from(prim == Prim::General(GeneralFn::Snd))))
                }
                _ => Err(Give::Never),
            },
            Prim::General(GeneralFn::Id) => args.into_iter().next().ok_or(Give::Never),
            Prim::Array(ArrayFn::Len) => {
                Ok(Lane::Same(Value::Int(shape_of(&args[0])?.and_then(|s| s.first().copied()).unwrap_or(0) as i64)))
            }
            Prim::Reduction(
                p @ (ReductionFn::Sum | ReductionFn::Mean | ReductionFn::Maximum | ReductionFn::Minimum),
            ) => self.reduction(p, &args[0]),
            Prim::Reduction(ReductionFn::Norm) => self.norm(lanes, &args[0]),
            Prim::Array(ArrayFn::Where) => self.choice(lanes, &args),
            Prim::Reduction(ReductionFn::Dot) => self.dot(lanes, &args[0], &args[1]),
            Prim::Reduction(ReductionFn::MatMul | ReductionFn::Matmul) => self.product(lanes, &args[0], &args[1]),
            Prim::HigherOrder(HigherOrderFn::Map | HigherOrderFn::Map2 | HigherOrderFn::Map3) => {
                let mut args = args.into_iter();
                let f = args.next().ok_or(Give::Never)?;
                self.map(lanes, f, &args.collect::<Vec<_>>())
            }
            Prim::HigherOrder(HigherOrderFn::Fold) => self.fold(lanes, args),
            Prim::HigherOrder(HigherOrderFn::Foldr) => self.foldr(lanes, args),
            Prim::Array(ArrayFn::Append | ArrayFn::Concat) => self.joined(lanes, &args[0], &args[1]),
            Prim::Array(ArrayFn::TransposeArray) => self.transposed(lanes, &args[0]),
            Prim::Derivative(
                DerivativeFn::Grad
                | DerivativeFn::ValueAndGrad
                | DerivativeFn::Jvp
                | DerivativeFn::Jacobian
                | DerivativeFn::Jacfwd
                | DerivativeFn::Jacrev,
            ) => self.derivative(lanes, prim, args),
            Prim::Array(ArrayFn::Put | ArrayFn::Scatter | ArrayFn::ScatterWithin) => self.replaced(lanes, prim, args),
            Prim::Array(
                ArrayFn::Reverse | ArrayFn::Rotate | ArrayFn::Take | ArrayFn::Drop | ArrayFn::First | ArrayFn::Last,
            ) => self.moved(lanes, prim, &args),
            _ => Err(Give::Never),
        }
    }

    pub(super) fn un(&mut self, op: Un, l: Lane) -> Try<Lane> {
        match l {
            Lane::Same(v) => Ok(Lane::Same(arith::un(self.m, op, v)?)),
            Lane::Each(v) => Ok(Lane::Each(arith::un(self.m, op, v)?)),
            Lane::Tuple(_) | Lane::Record(..) | Lane::Closure(..) | Lane::Partial(..) => Err(Give::Never),
        }
    }

    pub(super) fn bin(&mut self, lanes: usize, op: Bin, a: &Lane, lane: &Lane) -> Try<Lane> {
        if let (Some(x), Some(y)) = (same(a), same(lane)) {
            return Ok(Lane::Same(arith::bin(self.m, op, x.clone(), y.clone())?));
        }
        let (s, t) = (shape_of(a)?, shape_of(lane)?);
        if let (Some(s), Some(t)) = (&s, &t)
            && (s.len() == t.len() && s != t || !s.ends_with(t) && !t.ends_with(s))
        {
            return Err(Give::Now);
        }
        let x = self.operand(lanes, a, &s, &t)?;
        let y = self.operand(lanes, lane, &t, &s)?;
        Ok(Lane::Each(arith::bin(self.m, op, x, y)?))
    }

    /// An elementwise comparison or logical operation.
    fn of_elements(&mut self, n: usize, p: Prim, a: &Lane, b: &Lane) -> Try<Lane> {
        let (s, t) = (shape_of(a)?, shape_of(b)?);
        let (x, y) = (self.operand(n, a, &s, &t)?, self.operand(n, b, &t, &s)?);
        Ok(Lane::Each(self.prim(p, vec![x, y])?))
    }

    /// An operand as an array that is compatible with the other one. The operation itself broadcasts a value
    /// that is equal in all lanes; other operands are broadcast here.
    fn operand(&mut self, n: usize, l: &Lane, own: &Option<Shape>, other: &Option<Shape>) -> Try<Value> {
        let rank = |s: &Option<Shape>| s.as_ref().map_or(0, smallvec::SmallVec::len);
        match (l, other) {
            (Lane::Same(v), _) if own.is_none() || rank(own) < rank(other) => Ok(v.clone()),
            (Lane::Each(v), Some(s)) if rank(own) < s.len() => self.spread(v, n, rank(own), s),
            _ => self.each(l, n),
        }
    }

    /// An array literal in each lane.
    pub(super) fn array(&mut self, lanes: usize, parts: &[Lane]) -> Try<Lane> {
        let count = parts.len();
        if parts.iter().all(|p| same(p).is_some()) {
            let vals = parts.iter().filter_map(same).cloned().collect();
            return Ok(Lane::Same(seq::pack(self.m, vals)?));
        }
        let shape = shape_of(&parts[0])?;
        let mut all: Option<Value> = None;
        for p in parts {
            if shape_of(p)? != shape {
                return Err(Give::Now);
            }
            let v = self.each(p, lanes)?;
            all = Some(match all {
                None => v,
                Some(a) => self.prim(Prim::Array(ArrayFn::Concat), vec![a, v])?,
            });
        }
        let at = (0..lanes).flat_map(|i| (0..count).map(move |j| (j * lanes + i) as i64)).collect();
        let rows = self.rows(&all.ok_or(Give::Never)?, at)?;
        let full: Vec<usize> = [lanes, count].into_iter().chain(shape.unwrap_or_default()).collect();
        Ok(Lane::Each(self.reshape(rows, &full)?))
    }

    /// Scalar elements of a common array at indices that are constant or one scalar per lane; rows are not
    /// materialised.
    pub(super) fn elements(&mut self, a: &Lane, at: &[Lane]) -> Try<Option<Lane>> {
        let Lane::Same(a) = a else { return Ok(None) };
        if at.len() < 2 || seq::shape(a).is_none_or(|s| s.len() != at.len()) || !whole::numbers(a) {
            return Ok(None);
        }
        let numbers = |i: &Lane| match i {
            Lane::Same(v) => Some(v.clone()),
            Lane::Each(v) => seq::shape(v).is_some_and(|s| s.len() == 1).then(|| v.clone()),
            _ => None,
        };
        let Some(at) = at.iter().map(numbers).collect::<Option<Vec<_>>>() else { return Ok(None) };
        Ok(Some(Lane::Each(whole::elements(self.m, a, &at)?)))
    }

    pub(super) fn element(&mut self, lanes: usize, a: &Lane, i: &Lane) -> Try<Lane> {
        let index = |v: &Value, len: usize| usize::try_from(ops::int(v)).ok().filter(|i| *i < len).ok_or(Give::Now);
        match (a, i) {
            (Lane::Same(a), Lane::Same(i)) => {
                let i = index(i, seq::len(a))?;
                Ok(Lane::Same(seq::elem(self.m, a, i)?))
            }
            (Lane::Same(a), Lane::Each(i)) => {
                let at = positions(i)?;
                let n = seq::len(a) as i64;
                if at.iter().any(|i| *i < 0 || *i >= n) {
                    return Err(Give::Now);
                }
                lanes_of(&self.rows(a, at)?)
            }
            (Lane::Each(v), i) => {
                let k = row_len(v);
                let within: Vec<usize> = match i {
                    Lane::Same(i) => vec![index(i, k)?; lanes],
                    Lane::Each(i) => positions(i)?.iter().map(|i| index(&Value::Int(*i), k)).collect::<Try<_>>()?,
                    _ => return Err(Give::Never),
                };
                let rest = seq::shape(v).map_or(Shape::new(), |s| s[2..].into());
                let flat: Vec<usize> = std::iter::once(lanes * k).chain(rest).collect();
                let flat = self.reshape(v.clone(), &flat)?;
                let at = within.iter().enumerate().map(|(lane, i)| (lane * k + i) as i64).collect();
                Ok(Lane::Each(self.rows(&flat, at)?))
            }
            _ => Err(Give::Never),
        }
    }

    /// Sums and extrema of each lane's vector.
    fn reduction(&mut self, reduction: ReductionFn, l: &Lane) -> Try<Lane> {
        let Lane::Each(value) = l else { return Err(Give::Never) };
        let Some([lanes, len]) = seq::shape(value).and_then(|s| <[usize; 2]>::try_from(&s[..]).ok()) else {
            return Err(Give::Never);
        };
        if len == 0 {
            return Err(Give::Now);
        }
        match reduction {
            ReductionFn::Sum => Ok(Lane::Each(rules::row_sums(self.m, value)?)),
            ReductionFn::Mean => {
                let s = rules::row_sums(self.m, value)?;
                Ok(Lane::Each(arith::bin(self.m, Bin::Div, s, Value::Float(len as f64))?))
            }
            _ => {
                let at = extremes(&compare::primal(value), len, reduction == ReductionFn::Maximum)?;
                let flat = self.reshape(value.clone(), &[lanes * len])?;
                Ok(Lane::Each(self.rows(&flat, at)?))
            }
        }
    }

    fn norm(&mut self, n: usize, l: &Lane) -> Try<Lane> {
        let squares = self.bin(n, Bin::Mul, l, l)?;
        let sums = self.reduction(ReductionFn::Sum, &squares)?;
        // If a square overflows, underflows or is 0, the norm is not just the root of the sum.
        if let Lane::Each(v) = &sums
            && matches!(compare::primal(v), Value::Array(a) if matches!(a.buf(), Buf::F64(x) if x.iter().any(|s| norm_unit(*s, false) != 1.0)))
        {
            return Err(Give::Now);
        }
        self.un(Un::Sqrt, sums)
    }

    /// `where` with a scalar condition per lane.
    fn choice(&mut self, n: usize, args: &[Lane]) -> Try<Lane> {
        for a in args {
            if shape_of(a)?.is_some() {
                return Err(Give::Never);
            }
        }
        let args = args.iter().map(|a| self.each(a, n)).collect::<Try<Vec<_>>>()?;
        Ok(Lane::Each(self.prim(Prim::Array(ArrayFn::Where), args)?))
    }

    fn dot(&mut self, n: usize, a: &Lane, b: &Lane) -> Try<Lane> {
        let (s, t) = (shape_of(a)?, shape_of(b)?);
        if s.is_none() || s != t {
            return Err(Give::Now);
        }
        match (a, b) {
            (Lane::Each(x), Lane::Same(w)) | (Lane::Same(w), Lane::Each(x)) => {
                Ok(Lane::Each(self.prim(Prim::Reduction(ReductionFn::MatMul), vec![x.clone(), w.clone()])?))
            }
            _ => {
                let z = self.bin(n, Bin::Mul, a, b)?;
                self.reduction(ReductionFn::Sum, &z)
            }
        }
    }

    /// Products of each lane's value with a common matrix, or of each lane's matrix with a common vector.
    fn product(&mut self, lanes: usize, left: &Lane, right: &Lane) -> Try<Lane> {
        let rank = |s: &Option<Shape>| s.as_ref().map_or(0, smallvec::SmallVec::len);
        let (left_shape, right_shape) = (shape_of(left)?, shape_of(right)?);
        let out = match (left, right, rank(&left_shape), rank(&right_shape)) {
            (Lane::Each(x), Lane::Same(w), 1, 2) => {
                self.prim(Prim::Reduction(ReductionFn::MatMul), vec![x.clone(), w.clone()])?
            }
            (Lane::Same(w), Lane::Each(x), 2, 1) => {
                let wt = self.prim(Prim::Array(ArrayFn::TransposeArray), vec![w.clone()])?;
                self.prim(Prim::Reduction(ReductionFn::MatMul), vec![x.clone(), wt])?
            }
            (Lane::Each(x), Lane::Same(w), 2, _) => {
                let (rows, inner) = left_shape.map_or((0, 0), |s| (s[0], s[1]));
                let flat = self.reshape(x.clone(), &[lanes * rows, inner])?;
                let flat = self.prim(Prim::Reduction(ReductionFn::MatMul), vec![flat, w.clone()])?;
                let full: Vec<usize> =
                    [lanes, rows].into_iter().chain(right_shape.unwrap_or_default().into_iter().skip(1)).collect();
                self.reshape(flat, &full)?
            }
            _ => return self.products(lanes, (left, left_shape), (right, right_shape)),
        };
        Ok(Lane::Each(out))
    }

    /// A nested `map`: one inner lane for each pair of an outer lane and an element.
    fn map(&mut self, lanes: usize, f: Lane, arrays: &[Lane]) -> Try<Lane> {
        let mut k = None;
        for a in arrays {
            let len = shape_of(a)?.and_then(|s| s.first().copied()).ok_or(Give::Never)?;
            if *k.get_or_insert(len) != len || (len == 0 && lanes > 0) {
                return Err(Give::Now);
            }
        }
        let k = k.ok_or(Give::Never)?;
        let args = arrays.iter().map(|a| self.inner(lanes, k, a)).collect::<Try<Vec<_>>>()?;
        let f = self.outer(lanes, k, &f)?;
        let out = self.call(lanes * k, f, args)?;
        let flat = self.each(&out, lanes * k)?;
        self.unflatten(flat, lanes, &[k])
    }

    /// The elements of each lane's array as inner lanes, with the element index varying fastest.
    fn inner(&mut self, lanes: usize, len: usize, l: &Lane) -> Try<Lane> {
        if lanes * len > MOST {
            return Err(Give::Large);
        }
        match l {
            Lane::Same(v) => {
                let at = (0..lanes).flat_map(|_| 0..len as i64).collect();
                lanes_of(&self.rows(v, at)?)
            }
            Lane::Each(v) => {
                let full: Vec<usize> =
                    std::iter::once(lanes * len).chain(seq::shape(v).map_or(Shape::new(), |s| s[2..].into())).collect();
                Ok(Lane::Each(self.reshape(v.clone(), &full)?))
            }
            _ => Err(Give::Never),
        }
    }

    /// Each lane's value, repeated for its `k` inner lanes.
    fn outer(&mut self, n: usize, k: usize, l: &Lane) -> Try<Lane> {
        if n * k > MOST {
            return Err(Give::Large);
        }
        let at: Vec<i64> = (0..n as i64).flat_map(|i| std::iter::repeat_n(i, k)).collect();
        self.select(l, &at)
    }

    pub(super) fn unflatten(&mut self, flat: Value, n: usize, inner: &[usize]) -> Try<Lane> {
        let rest = seq::shape(&flat).map_or(Shape::new(), |s| s[1..].into());
        let full: Vec<usize> = std::iter::once(n).chain(inner.iter().copied()).chain(rest).collect();
        Ok(Lane::Each(self.reshape(flat, &full)?))
    }

    /// A nested comprehension.
    pub(super) fn comprehension(
        &mut self,
        lanes: usize,
        kind: ForKind,
        lane: Lane,
        extents: &[Value],
        rep: &Value,
    ) -> Try<Lane> {
        if let (Some(f), true) = (same(&lane), lanes > 0) {
            let f = f.clone();
            return Ok(Lane::Same(ops::higher_order::comprehension(self.m, kind, &f, extents, rep)?));
        }
        let extents =
            extents.iter().map(|e| usize::try_from(ops::int(e)).map_err(|_| Give::Now)).collect::<Try<Vec<_>>>()?;
        let total = array::count(&extents)?;
        if total == 0 && lanes > 0 {
            return Err(Give::Now);
        }
        let f = self.outer(lanes, total, &lane)?;
        let args = (0..extents.len()).map(|axis| {
            let stride: usize = extents[axis + 1..].iter().product();
            Lane::Each(array::ints(
                (0..lanes * total).map(|t| ((t / stride.max(1)) % extents[axis].max(1)) as i64).collect(),
            ))
        });
        let args = args.collect();
        let out = self.call(lanes * total, f, args)?;
        let flat = self.each(&out, lanes * total)?;
        match kind {
            ForKind::Reduce(_) if lanes == 0 => Ok(Lane::Each(flat)),
            ForKind::Build => self.unflatten(flat, lanes, &extents),
            ForKind::Reduce(p @ (ReductionFn::Sum | ReductionFn::Mean)) if extents.len() > 1 => {
                let mut flat = flat;
                for (axis, e) in extents.iter().enumerate().rev() {
                    let outer: usize = extents[..axis].iter().product();
                    let rows = self.unflatten(flat, lanes * outer, &[*e])?;
                    let Lane::Each(sums) = self.reduction(ReductionFn::Sum, &rows)? else {
                        return Err(Give::Never);
                    };
                    flat = sums;
                }
                Ok(Lane::Each(if p == ReductionFn::Mean {
                    arith::bin(self.m, Bin::Div, flat, Value::Float(total as f64))?
                } else {
                    flat
                }))
            }
            ForKind::Reduce(
                p @ (ReductionFn::Sum | ReductionFn::Mean | ReductionFn::Maximum | ReductionFn::Minimum),
            ) => {
                let rows = self.unflatten(flat, lanes, &[total])?;
                self.reduction(p, &rows)
            }
            ForKind::Reduce(_) => Err(Give::Never),
        }
    }

    fn foldr(&mut self, n: usize, args: Vec<Lane>) -> Try<Lane> {
        let Ok([f, mut acc, xs]) = <[Lane; 3]>::try_from(args) else { return Err(Give::Never) };
        let k = shape_of(&xs)?.and_then(|s| s.first().copied()).ok_or(Give::Never)?;
        for j in (0..k).rev() {
            self.m.poll()?;
            let x = self.element(n, &xs, &Lane::Same(Value::Int(j as i64)))?;
            acc = self.call(n, f.clone(), vec![x, acc])?;
        }
        Ok(acc)
    }

    fn fold(&mut self, n: usize, args: Vec<Lane>) -> Try<Lane> {
        let Ok([f, mut acc, xs]) = <[Lane; 3]>::try_from(args) else { return Err(Give::Never) };
        let k = shape_of(&xs)?.and_then(|s| s.first().copied()).ok_or(Give::Never)?;
        for j in 0..k {
            self.m.poll()?;
            let x = self.element(n, &xs, &Lane::Same(Value::Int(j as i64)))?;
            acc = self.call(n, f.clone(), vec![acc, x])?;
        }
        Ok(acc)
    }
}

fn negated(l: &Lane) -> Try<Lane> {
    let Lane::Each(Value::Array(a)) = l else { return Err(Give::Never) };
    let Buf::Bool(b) = a.buf() else { return Err(Give::Never) };
    Ok(Lane::Each(array::make(a.shape.clone(), Buf::Bool(b.iter().map(|c| !c).collect()))))
}

/// The Ints of an index array.
pub(super) fn positions(v: &Value) -> Try<Vec<i64>> {
    match v {
        Value::Array(a) => match a.buf() {
            Buf::I64(v) if a.shape.len() == 1 => Ok(v.clone()),
            _ => Err(Give::Never),
        },
        _ => Err(Give::Never),
    }
}

/// The flat position of the extremum of each row of `width` Floats: the first one of equal ones, or the first `nan`
/// if there is one.
fn extremes(v: &Value, width: usize, largest: bool) -> Try<Vec<i64>> {
    let Value::Array(a) = v else { return Err(Give::Never) };
    let Buf::F64(values) = a.buf() else { return Err(Give::Never) };
    let best_of = |row: &[f64]| {
        let mut best = 0;
        for (i, x) in row.iter().enumerate() {
            if x.is_nan() {
                return i;
            }
            if (largest && *x > row[best]) || (!largest && *x < row[best]) {
                best = i;
            }
        }
        best
    };
    Ok(values.chunks_exact(width).enumerate().map(|(lane, row)| (lane * width + best_of(row)) as i64).collect())
}
