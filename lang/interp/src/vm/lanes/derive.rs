//! Derivative operators in batched interpretation. Lanes are independent, so a single sweep over entire arrays
//! computes the derivatives of all lanes.

use super::shape::same;
use super::{Give, Lane, Lanes, Try};
use crate::ad::linear::{self, LinearMap};
use crate::ad::{self, DerivativePart, Dual, Level, operators, sweep};
use crate::value::{Buf, Kind, Record, Shape, Tuple, Value, array, seq, vector_space};
use adl_prim::{DerivativeFn, Prim};
use std::rc::Rc;

/// Maximum number of lanes on one tape: more would not fit in the cache.
const TAPED: usize = 4096;

impl Lanes<'_> {
    /// Applies a derivative operator to all its arguments.
    pub(super) fn derivative(&mut self, lanes: usize, prim: Prim, args: Vec<Lane>) -> Try<Lane> {
        if self.transformed {
            return Err(Give::Transformed);
        }
        if lanes > TAPED {
            return Err(Give::Large);
        }
        let mut args = args.into_iter();
        let (Some(function), Some(x)) = (args.next(), args.next()) else { return Err(Give::Never) };
        if self.m.ad.depth() == 0 {
            self.m.compiled_ad.note_batched(prim.name(), same(&function));
        }
        let point = self.stacked(&x, lanes)?;
        match prim {
            Prim::Derivative(DerivativeFn::Jvp) => {
                let v = self.stacked(&args.next().ok_or(Give::Never)?, lanes)?;
                self.pushed(lanes, function, &point, &v)
            }
            Prim::Derivative(DerivativeFn::Grad) => self.gradient(lanes, function, &point).map(|(_, g)| g),
            Prim::Derivative(DerivativeFn::ValueAndGrad) => {
                self.gradient(lanes, function, &point).map(|(y, g)| Lane::Tuple(vec![y, g]))
            }
            Prim::Derivative(DerivativeFn::Jacobian | DerivativeFn::Jacfwd | DerivativeFn::Jacrev) => {
                self.jacobian(lanes, prim, function, &point)
            }
            _ => Err(Give::Never),
        }
    }

    /// Converts lanes to data whose leaves have the lanes as their first axis.
    fn stacked(&mut self, l: &Lane, lanes: usize) -> Try<Value> {
        let mut parts = |ps: Vec<Lane>| ps.iter().map(|p| self.stacked(p, lanes)).collect::<Try<Vec<_>>>();
        Ok(match l {
            Lane::Tuple(ps) => Value::Tuple(Rc::new(Tuple(parts(ps.clone())?))),
            Lane::Same(Value::Tuple(t)) => {
                Value::Tuple(Rc::new(Tuple(parts(t.0.iter().cloned().map(Lane::Same).collect())?)))
            }
            Lane::Record(names, ps) => {
                Value::Record(Rc::new(Record { names: names.clone(), vals: parts(ps.clone())? }))
            }
            Lane::Same(Value::Record(r)) => {
                let vals = parts(r.vals.iter().cloned().map(Lane::Same).collect())?;
                Value::Record(Rc::new(Record { names: r.names.clone(), vals }))
            }
            l => self.each(l, lanes)?,
        })
    }

    /// Evaluates `f` at `x` on a new tape.
    fn recorded(&mut self, n: usize, f: Lane, x: &Value) -> Try<(Value, LinearMap)> {
        let level = self.m.ad.open(Level::Reverse(Default::default()))?;
        let out = self.recorded_at(n, level, f, x);
        let tape = Rc::new(self.m.ad.close(level));
        let (y, input, output) = out?;
        Ok((y, LinearMap { tape, input, output, transposed: false, original: None, main: None }))
    }

    fn recorded_at(
        &mut self,
        n: usize,
        level: u16,
        f: Lane,
        x: &Value,
    ) -> Try<(Value, linear::Traced, linear::Traced)> {
        let (lifted, input) = operators::lift(self.m, level, x)?;
        let y = self.call(n, f, vec![lane(lifted)])?;
        let y = self.stacked(&y, n)?;
        let (primal, output) = linear::lower(&y, level)?;
        Ok((primal, input, output))
    }

    fn gradient(&mut self, n: usize, f: Lane, x: &Value) -> Try<(Lane, Lane)> {
        let (y, map) = self.recorded(n, f, x)?;
        let one = array::make(Shape::from_slice(&[n]), Buf::F64(vec![1.0; n]));
        if !matches!(seq::shape(&y), Some(s) if s.len() == 1) || !is_float(&y) {
            return Err(Give::Never);
        }
        let g = linear::apply(self.m, &LinearMap { transposed: true, ..map }, one)?;
        Ok((lane(y), lane(g)))
    }

    fn pushed(&mut self, n: usize, f: Lane, x: &Value, v: &Value) -> Try<Lane> {
        let level = self.m.ad.open(Level::Forward)?;
        let out = self.pushed_at(n, level, f, x, v);
        self.m.ad.reset_to(level as usize - 1);
        out
    }

    fn pushed_at(&mut self, n: usize, level: u16, f: Lane, x: &Value, v: &Value) -> Try<Lane> {
        linear::same_structure("the direction", v, x)?;
        let lifted = vector_space::zip_leaves(x, v, &mut |x, t| {
            if !vector_space::is_real(x) {
                return Ok(x.clone());
            }
            Ok(Value::Dual(Rc::new(Dual { level, primal: x.clone(), part: DerivativePart::Tangent(t.clone()) })))
        })?;
        let y = self.call(n, f, vec![lane(lifted)])?;
        let y = self.stacked(&y, n)?;
        let primal = vector_space::map_leaves(&y, &mut |v| Ok(ad::split(v, level).0))?;
        let tangent = vector_space::map_leaves(&y, &mut |v| {
            Ok(match ad::split(v, level) {
                (p, Some(DerivativePart::Tangent(t))) => sweep::or_zero(t, &p),
                (p, _) if vector_space::is_real(&p) => vector_space::zero_like(&p),
                (p, _) => p,
            })
        })?;
        Ok(Lane::Tuple(vec![lane(primal), lane(tangent)]))
    }

    /// A Jacobian by one sweep for each input component forwards or for each output component backwards,
    /// whichever are fewer.
    fn jacobian(&mut self, lanes: usize, p: Prim, f: Lane, x: &Value) -> Try<Lane> {
        let (y, map) = self.recorded(lanes, f, x)?;
        let width = |v: &Value| match seq::shape(v) {
            Some(s) if s.len() == 2 && s[1] > 0 && is_float(v) => Ok(s[1]),
            _ => Err(Give::Never),
        };
        let (inputs, outputs) = (width(x)?, width(&y)?);
        let forwards = p == Prim::Derivative(DerivativeFn::Jacfwd)
            || p == Prim::Derivative(DerivativeFn::Jacobian) && inputs <= outputs;
        let map = LinearMap { transposed: !forwards, ..map };
        let k = if forwards { inputs } else { outputs };
        let mut rows = Vec::new();
        for i in 0..k {
            let seed = (0..lanes * k).map(|at| if at % k == i { 1.0 } else { 0.0 }).collect();
            let seed = array::make(Shape::from_slice(&[lanes, k]), Buf::F64(seed));
            rows.push(lane(linear::apply(self.m, &map, seed)?));
        }
        let all = self.array(lanes, &rows)?;
        if forwards { self.transposed(lanes, &all) } else { Ok(all) }
    }

    /// The transpose of each lane's matrix.
    pub(super) fn transposed(&mut self, n: usize, l: &Lane) -> Try<Lane> {
        let Lane::Each(v) = l else { return Err(Give::Never) };
        let Some([_, rows, cols]) = seq::shape(v).and_then(|s| <[usize; 3]>::try_from(&s[..]).ok()) else {
            return Err(Give::Never);
        };
        let flat = self.reshape(v.clone(), &[n * rows * cols])?;
        let size = rows * cols;
        let at = (0..n * size).map(|t| (t / size * size + t % rows * cols + t % size / rows) as i64).collect();
        let flat = self.rows(&flat, at)?;
        Ok(Lane::Each(self.reshape(flat, &[n, cols, rows])?))
    }
}

/// Converts data whose leaves have the lanes as their first axis to lanes.
fn lane(v: Value) -> Lane {
    match v {
        Value::Tuple(t) => Lane::Tuple(t.0.iter().cloned().map(lane).collect()),
        Value::Record(r) => Lane::Record(r.names.clone(), r.vals.iter().cloned().map(lane).collect()),
        v => Lane::Each(v),
    }
}

/// Whether an array holds Floats.
fn is_float(v: &Value) -> bool {
    matches!(crate::value::compare::primal(v), Value::Array(a) if a.kind() == Kind::F64)
}
