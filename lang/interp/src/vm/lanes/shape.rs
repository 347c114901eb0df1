//! Lanes as arrays: broadcasting, selection, merging.

use super::{Give, Lane, Lanes, MOST, Try};
use crate::ad::rules;
use crate::error::Res;
use crate::ops;
use crate::value::{Buf, Kind, Shape, Value, array, seq};
use adl_prim::{ArrayFn, Prim};

/// Makes each element of an array a lane.
pub(super) fn lanes_of(v: &Value) -> Try<Lane> {
    match v {
        Value::Dual(_) => Ok(Lane::Each(v.clone())),
        Value::Array(a) if a.is_flat() => Ok(Lane::Each(v.clone())),
        Value::Array(a) => match a.buf() {
            Buf::Tuple(cols) if a.shape.len() == 1 => Ok(Lane::Tuple(cols.iter().map(lanes_of).collect::<Try<_>>()?)),
            Buf::Record(names, cols) if a.shape.len() == 1 => {
                Ok(Lane::Record(names.clone(), cols.iter().map(lanes_of).collect::<Try<_>>()?))
            }
            _ => Err(Give::Now),
        },
        _ => Err(Give::Now),
    }
}

/// The shape of each lane's value; `None` for a scalar.
pub(super) fn shape_of(l: &Lane) -> Try<Option<Shape>> {
    match l {
        Lane::Same(v @ (Value::Array(_) | Value::Dual(_))) => Ok(seq::shape(v).cloned()),
        Lane::Same(Value::Tuple(_) | Value::Record(_) | Value::Data(_) | Value::Str(_) | Value::Fun(_)) => {
            Err(Give::Never)
        }
        Lane::Same(_) => Ok(None),
        Lane::Each(v) => Ok(seq::shape(v).filter(|s| s.len() > 1).map(|s| s[1..].into())),
        Lane::Tuple(_) | Lane::Record(..) | Lane::Closure(..) | Lane::Partial(..) => Err(Give::Never),
    }
}

/// The common value of all lanes, if they have one.
pub(super) fn same(l: &Lane) -> Option<&Value> {
    match l {
        Lane::Same(v) => Some(v),
        _ => None,
    }
}

impl Lanes<'_> {
    pub(super) fn prim(&mut self, p: Prim, args: Vec<Value>) -> Res<Value> {
        ops::call(self.m, p, &[], args)
    }

    /// Gathers rows of an array.
    pub(super) fn rows(&mut self, v: &Value, at: Vec<i64>) -> Try<Value> {
        room(v, at.len())?;
        Ok(self.prim(Prim::Array(ArrayFn::Gather), vec![v.clone(), array::ints(at)])?)
    }

    pub(super) fn reshape(&mut self, v: Value, shape: &[usize]) -> Try<Value> {
        Ok(rules::reshape(self.m, v, Shape::from_slice(shape))?)
    }

    /// The lanes as one array; a common value is repeated.
    pub(super) fn each(&mut self, l: &Lane, lanes: usize) -> Try<Value> {
        match l {
            Lane::Each(v) => Ok(v.clone()),
            Lane::Same(
                value @ (Value::Float(_)
                | Value::F32(_)
                | Value::Int(_)
                | Value::Bool(_)
                | Value::Rev { .. }
                | Value::Dual(_)
                | Value::Array(_)),
            ) => {
                if let Value::Array(a) = value
                    && !matches!(a.kind(), Kind::F64 | Kind::F32 | Kind::I64 | Kind::Bool)
                {
                    return Err(Give::Now);
                }
                if seq::shape(value).map_or(1, |s| s.iter().product()) * lanes > MOST {
                    return Err(Give::Large);
                }
                Ok(self.prim(Prim::Array(ArrayFn::Replicate), vec![Value::Int(lanes as i64), value.clone()])?)
            }
            _ => Err(Give::Now),
        }
    }

    /// The result of `map` from lanes of results.
    pub(super) fn value(&mut self, l: Lane, lanes: usize) -> Try<Value> {
        let one = Shape::from_slice(&[lanes]);
        Ok(match l {
            Lane::Same(Value::Unit) => array::make(one, Buf::Unit),
            Lane::Tuple(parts) => {
                let cols = parts.into_iter().map(|p| self.value(p, lanes)).collect::<Try<_>>()?;
                array::make(one, Buf::Tuple(cols))
            }
            Lane::Record(names, parts) => {
                let cols = parts.into_iter().map(|p| self.value(p, lanes)).collect::<Try<_>>()?;
                array::make(one, Buf::Record(names, cols))
            }
            other => self.each(&other, lanes)?,
        })
    }

    /// Broadcasts a scalar per lane, or an array of rank `rank` per lane, along the leading axes of a shape.
    pub(super) fn spread(&mut self, v: &Value, n: usize, rank: usize, shape: &[usize]) -> Try<Value> {
        if n * shape.iter().product::<usize>() > MOST {
            return Err(Give::Large);
        }
        let k: usize = shape[..shape.len() - rank].iter().product();
        let flat = self.rows(v, (0..n as i64).flat_map(|i| std::iter::repeat_n(i, k)).collect())?;
        let full: Vec<usize> = std::iter::once(n).chain(shape.iter().copied()).collect();
        self.reshape(flat, &full)
    }

    /// Selects the lanes at indices.
    pub(super) fn select(&mut self, l: &Lane, at: &[i64]) -> Try<Lane> {
        Ok(match l {
            Lane::Same(v) => Lane::Same(v.clone()),
            Lane::Each(v) => Lane::Each(self.rows(v, at.to_vec())?),
            Lane::Tuple(ps) => Lane::Tuple(ps.iter().map(|p| self.select(p, at)).collect::<Try<_>>()?),
            Lane::Record(names, ps) => {
                Lane::Record(names.clone(), ps.iter().map(|p| self.select(p, at)).collect::<Try<_>>()?)
            }
            Lane::Closure(code, ps) => {
                Lane::Closure(code.clone(), ps.iter().map(|p| self.select(p, at)).collect::<Try<_>>()?)
            }
            Lane::Partial(f, ps) => {
                Lane::Partial(Box::new(self.select(f, at)?), ps.iter().map(|p| self.select(p, at)).collect::<Try<_>>()?)
            }
        })
    }

    /// Merges the results of both sides of a branch: lane i of the result is at position `from[i]` of the
    /// concatenation of `a` and `b`.
    pub(super) fn merge(&mut self, (a, na): (Lane, usize), (b, nb): (Lane, usize), from: &[i64]) -> Try<Lane> {
        let mut pairs = |xs: Vec<Lane>, ys: Vec<Lane>| {
            xs.into_iter().zip(ys).map(|(x, y)| self.merge((x, na), (y, nb), from)).collect::<Try<Vec<_>>>()
        };
        Ok(match (a, b) {
            (Lane::Same(Value::Unit), Lane::Same(Value::Unit)) => Lane::Same(Value::Unit),
            (Lane::Tuple(x), Lane::Tuple(y)) if x.len() == y.len() => Lane::Tuple(pairs(x, y)?),
            (Lane::Record(names, x), Lane::Record(_, y)) if x.len() == y.len() => Lane::Record(names, pairs(x, y)?),
            (Lane::Closure(..) | Lane::Partial(..), _) | (_, Lane::Closure(..) | Lane::Partial(..)) => {
                return Err(Give::Never);
            }
            (a, b) => {
                let (x, y) = (self.each(&a, na)?, self.each(&b, nb)?);
                let both = self.prim(Prim::Array(ArrayFn::Concat), vec![x, y])?;
                Lane::Each(self.rows(&both, from.to_vec())?)
            }
        })
    }
}

/// Fails if an array of `n` rows would be too large.
fn room(v: &Value, n: usize) -> Try<()> {
    let row: usize = seq::shape(v).map_or(1, |s| s.iter().skip(1).product());
    if row.saturating_mul(n) > MOST { Err(Give::Large) } else { Ok(()) }
}
