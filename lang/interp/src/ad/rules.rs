//! Array operations as linear maps.

use super::tape::Rule;
use crate::error::Res;
use crate::ops::{self, arith};
use crate::value::{Buf, Shape, Value, array, seq};
use crate::vm::Machine;
use adl_prim::{Bin, Prim};

type Add<'a> = &'a mut dyn FnMut(&mut Machine, usize, Value) -> Res<()>;

/// Zeros of a shape (a number for none).
fn zeros(shape: &Option<Shape>) -> Res<Value> {
    Ok(match shape {
        None => Value::Float(0.0),
        Some(s) => array::make(s.clone(), Buf::F64(array::filled(0.0, array::count(s)?)?)),
    })
}

/// The sum of all numbers of an array of any rank.
pub(crate) fn total(m: &mut Machine, v: Value) -> Res<Value> {
    let mut v = v;
    while let Some(shape) = seq::shape(&v) {
        if shape.len() > 1 {
            let n: usize = shape.iter().product();
            v = reshape(m, v, Shape::from_slice(&[n]))?;
        }
        v = ops::call(m, Prim::Sum, &[Value::Rep(std::rc::Rc::new(crate::value::Rep::Float))], vec![v])?;
    }
    Ok(v)
}

/// The same elements in another shape.
pub(crate) fn reshape(m: &mut Machine, v: Value, shape: Shape) -> Res<Value> {
    if seq::shape(&v).is_none_or(|s| *s == shape) {
        return Ok(v);
    }
    let extents = array::ints(shape.iter().map(|n| *n as i64).collect());
    ops::call(m, Prim::Reshape, &[], vec![extents, v])
}

/// An element by its flat offset.
pub(crate) fn flat_elem(m: &mut Machine, v: &Value, offset: usize) -> Res<Value> {
    let n: usize = seq::shape(v).map_or(0, |s| s.iter().product());
    let flat = reshape(m, v.clone(), Shape::from_slice(&[n]))?;
    seq::elem(m, &flat, offset)
}

/// Zeros of a shape with values added at flat offsets.
pub(crate) fn scatter_add(m: &mut Machine, shape: &[usize], at: &[i64], vals: Vec<Value>) -> Res<Value> {
    let n: usize = shape.iter().product();
    let vals = seq::pack(m, vals)?;
    let flat = spread(m, n, at, vals)?;
    reshape(m, flat, shape.into())
}

/// A vector of `n` zeros with `vals[k]` added at `at[k]` (skipped where negative).
fn spread(m: &mut Machine, n: usize, at: &[i64], vals: Value) -> Res<Value> {
    if let Value::Array(a) = &vals {
        match &a.buf {
            Buf::F64(v) => {
                let mut out = array::filled(0.0, n)?;
                for (k, x) in at.iter().zip(v) {
                    if let Ok(k) = usize::try_from(*k) {
                        out[k] += x;
                    }
                }
                return Ok(array::floats(out));
            }
            Buf::F32(v) => {
                let mut out = array::filled(0.0f32, n)?;
                for (k, x) in at.iter().zip(v) {
                    if let Ok(k) = usize::try_from(*k) {
                        out[k] += x;
                    }
                }
                return Ok(array::make(Shape::from_slice(&[n]), Buf::F32(out)));
            }
            _ => {}
        }
    }
    // Traced: the map from `vals` to the result is linear; its transpose is a gather.
    let level = super::level_of(&vals);
    let (primal, part) = super::split(&vals, level);
    let out = spread(m, n, at, primal.clone())?;
    let rule = Spread { at: at.to_vec(), n };
    super::result(m, level, vec![part], out, std::rc::Rc::new(rule))
}

/// The transpose of a gather, as a rule of its own for nested derivatives.
struct Spread {
    at: Vec<i64>,
    n: usize,
}

impl Rule for Spread {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        let g = take(m, &cts[0], &self.at)?;
        add(m, 0, g)
    }
    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        if matches!(tangents[0], Value::Zero) {
            return Ok(vec![Value::Zero]);
        }
        Ok(vec![spread(m, self.n, &self.at, tangents[0].clone())?])
    }
}

/// Elements of a vector at offsets (0 where the offset is negative).
fn take(m: &mut Machine, v: &Value, at: &[i64]) -> Res<Value> {
    if let Value::Array(a) = v {
        match &a.buf {
            Buf::F64(x) => return Ok(array::floats(at.iter().map(|k| usize::try_from(*k).map_or(0.0, |k| x[k])).collect())),
            Buf::F32(x) => {
                let out: Vec<f32> = at.iter().map(|k| usize::try_from(*k).map_or(0.0, |k| x[k])).collect();
                return Ok(array::make(Shape::from_slice(&[out.len()]), Buf::F32(out)));
            }
            _ => {}
        }
    }
    let level = super::level_of(v);
    let (primal, part) = super::split(v, level);
    let shape = seq::shape(&primal).cloned();
    let out = take(m, &primal, at)?;
    let rule = Gather { map: at.to_vec(), ins: vec![shape], out: seq::shape(&out).cloned() };
    super::result(m, level, vec![part], out, std::rc::Rc::new(rule))
}

/// `out[k] = in[map[k]]`, the inputs' elements numbered one input after the other; 0 where `map` is negative.
pub(crate) struct Gather {
    pub map: Vec<i64>,
    pub ins: Vec<Option<Shape>>,
    pub out: Option<Shape>,
}

fn size(s: &Option<Shape>) -> usize {
    s.as_ref().map_or(1, |s| s.iter().product())
}

impl Rule for Gather {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        let total: usize = self.ins.iter().map(size).sum();
        let ct = match (&self.out, &cts[0]) {
            (None, v) => seq::pack(m, vec![v.clone()])?,
            (Some(s), v) => reshape(m, v.clone(), Shape::from_slice(&[s.iter().product()]))?,
        };
        let flat = spread(m, total, &self.map, ct)?;
        let mut start = 0;
        for (k, s) in self.ins.iter().enumerate() {
            let n = size(s);
            let part = match s {
                None => seq::elem(m, &flat, start)?,
                Some(_) if n == total => flat.clone(),
                Some(_) => {
                    let at: Vec<i64> = (start..start + n).map(|i| i as i64).collect();
                    take(m, &flat, &at)?
                }
            };
            let part = match s {
                None => part,
                Some(s) => reshape(m, part, s.clone())?,
            };
            add(m, k, part)?;
            start += n;
        }
        Ok(())
    }

    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        if tangents.iter().all(|t| matches!(t, Value::Zero)) {
            return Ok(vec![Value::Zero]);
        }
        let mut flat: Option<Value> = None;
        for (t, s) in tangents.iter().zip(&self.ins) {
            let t = if matches!(t, Value::Zero) { zeros(s)? } else { t.clone() };
            let t = match s {
                None => seq::pack(m, vec![t])?,
                Some(s) => reshape(m, t, Shape::from_slice(&[s.iter().product()]))?,
            };
            flat = Some(match flat {
                None => t,
                Some(f) => ops::call(m, Prim::Concat, &[], vec![f, t])?,
            });
        }
        let out = take(m, &flat.unwrap_or_default(), &self.map)?;
        Ok(vec![match &self.out {
            None => seq::elem(m, &out, 0)?,
            Some(s) => reshape(m, out, s.clone())?,
        }])
    }
}

/// Elementwise operations with broadcasting: `dz = Σ partial_k * dx_k` (a missing partial is 1).
pub(crate) struct Elementwise {
    pub partials: Vec<Option<Value>>,
    /// Whether the parent is a number (spread over the result where that is an array).
    pub scalars: Vec<bool>,
    pub out: Option<Shape>,
}

impl Rule for Elementwise {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        for (k, p) in self.partials.iter().enumerate() {
            let g = match p {
                None => cts[0].clone(),
                Some(p) => masked_mul(m, cts[0].clone(), p.clone())?,
            };
            let g = if self.scalars[k] && self.out.is_some() { total(m, g)? } else { g };
            add(m, k, g)?;
        }
        Ok(())
    }

    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        let mut sum = Value::Zero;
        for ((p, t), scalar) in self.partials.iter().zip(tangents).zip(&self.scalars) {
            if matches!(t, Value::Zero) {
                continue;
            }
            let mut x = match p {
                None => t.clone(),
                Some(p) => masked_mul(m, t.clone(), p.clone())?,
            };
            if *scalar && self.out.is_some() && seq::shape(&x).is_none() {
                let z = zeros(&self.out)?;
                x = arith::bin(m, Bin::Add, z, x)?;
            }
            sum = arith::bin(m, Bin::Add, sum, x)?;
        }
        Ok(vec![sum])
    }
}

/// `ct * partial` where a cotangent of exactly 0 gives 0, whatever the partial is: an element that was not chosen has a cotangent of 0
/// and may have an infinite partial.
fn masked_mul(m: &mut Machine, ct: Value, p: Value) -> Res<Value> {
    if let (Value::Array(c), Value::Array(q)) = (&ct, &p) {
        if let (Buf::F64(x), Buf::F64(y)) = (&c.buf, &q.buf) {
            if y.iter().any(|v| !v.is_finite()) {
                let out = x.iter().zip(y).map(|(a, b)| if *a == 0.0 { 0.0 } else { a * b }).collect();
                return Ok(array::make(c.shape.clone(), Buf::F64(out)));
            }
        }
    }
    if matches!(&ct, Value::Float(x) if *x == 0.0) && !matches!(p, Value::Array(_) | Value::Dual(_)) {
        return Ok(Value::Zero);
    }
    arith::bin(m, Bin::Mul, ct, p)
}

/// The sum over the first axis.
pub(crate) struct SumRows {
    pub n: usize,
}

impl Rule for SumRows {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        let g = ops::call(m, Prim::Replicate, &[], vec![Value::Int(self.n as i64), cts[0].clone()])?;
        add(m, 0, g)
    }
    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        if matches!(tangents[0], Value::Zero) {
            return Ok(vec![Value::Zero]);
        }
        Ok(vec![ops::call(m, Prim::Sum, &[Value::Rep(std::rc::Rc::new(crate::value::Rep::Float))], vec![tangents[0].clone()])?])
    }
}

/// Running sums.
pub(crate) struct Cumsum;

impl Rule for Cumsum {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        let r = ops::call(m, Prim::Reverse, &[], vec![cts[0].clone()])?;
        let s = ops::call(m, Prim::Cumsum, &[], vec![r])?;
        let g = ops::call(m, Prim::Reverse, &[], vec![s])?;
        add(m, 0, g)
    }
    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        Ok(vec![if matches!(tangents[0], Value::Zero) { Value::Zero } else { ops::call(m, Prim::Cumsum, &[], vec![tangents[0].clone()])? }])
    }
}

/// Matrix products: matrix and matrix, matrix and vector, vector and matrix.
pub(crate) struct MatMul {
    pub a: Value,
    pub b: Value,
}

fn mul(m: &mut Machine, a: Value, b: Value) -> Res<Value> {
    ops::call(m, Prim::MatMul, &[], vec![a, b])
}

fn transposed(m: &mut Machine, a: Value) -> Res<Value> {
    ops::call(m, Prim::TransposeArray, &[], vec![a])
}

impl Rule for MatMul {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        let rank = |v: &Value| seq::shape(v).map_or(0, |s| s.len());
        let c = cts[0].clone();
        let outer = |m: &mut Machine, x: Value, y: Value| ops::call(m, Prim::Outer, &[], vec![x, y]);
        let (ga, gb) = match (rank(&self.a), rank(&self.b)) {
            (2, 2) => {
                let (bt, at) = (transposed(m, self.b.clone())?, transposed(m, self.a.clone())?);
                (mul(m, c.clone(), bt)?, mul(m, at, c)?)
            }
            (2, _) => {
                let at = transposed(m, self.a.clone())?;
                (outer(m, c.clone(), self.b.clone())?, mul(m, at, c)?)
            }
            _ => {
                let bt = transposed(m, self.b.clone())?;
                (mul(m, c.clone(), bt)?, outer(m, self.a.clone(), c)?)
            }
        };
        add(m, 0, ga)?;
        add(m, 1, gb)
    }

    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        let mut sum = Value::Zero;
        if !matches!(tangents[0], Value::Zero) {
            sum = mul(m, tangents[0].clone(), self.b.clone())?;
        }
        if !matches!(tangents[1], Value::Zero) {
            let t = mul(m, self.a.clone(), tangents[1].clone())?;
            sum = arith::bin(m, Bin::Add, sum, t)?;
        }
        Ok(vec![sum])
    }
}

/// `x = a⁻¹ b`: `dx = a⁻¹ (db - da x)`.
pub(crate) struct Solve {
    pub a: Value,
    pub x: Value,
}

impl Rule for Solve {
    fn pull(&self, m: &mut Machine, cts: &[Value], add: Add) -> Res<()> {
        let at = transposed(m, self.a.clone())?;
        let gb = ops::call(m, Prim::LinSolve, &[], vec![at, cts[0].clone()])?;
        add(m, 1, gb.clone())?;
        let ga = if seq::shape(&self.x).map_or(0, |s| s.len()) == 1 {
            ops::call(m, Prim::Outer, &[], vec![gb, self.x.clone()])?
        } else {
            let xt = transposed(m, self.x.clone())?;
            mul(m, gb, xt)?
        };
        let ga = arith::un(m, adl_prim::Un::Neg, ga)?;
        add(m, 0, ga)
    }

    fn push(&self, m: &mut Machine, tangents: &[Value]) -> Res<Vec<Value>> {
        let mut rhs = tangents[1].clone();
        if !matches!(tangents[0], Value::Zero) {
            let dax = mul(m, tangents[0].clone(), self.x.clone())?;
            rhs = arith::bin(m, Bin::Sub, rhs, dax)?;
        }
        if matches!(rhs, Value::Zero) {
            return Ok(vec![Value::Zero]);
        }
        Ok(vec![ops::call(m, Prim::LinSolve, &[], vec![self.a.clone(), rhs])?])
    }
}
