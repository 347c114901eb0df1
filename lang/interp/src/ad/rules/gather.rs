//! Derivative rules of operations that move elements: gathers, and their transposes, scatter-adds.

use super::{Add, Gather, Rule, View, reshape, zeros};
use crate::ad;
use crate::error::{Error, Res, codes};
use crate::upcalls::{Upcalls, call};
use crate::value::{Buf, Shape, Value, array, seq};
use adl_prim::{ArrayFn, Prim};

/// Zeros of a shape, with values added at flat offsets.
pub(crate) fn scatter_add(m: &mut dyn Upcalls, shape: &[usize], at: &[i64], vals: Vec<Value>) -> Res<Value> {
    let n: usize = shape.iter().product();
    let vals = seq::pack(m, vals)?;
    let flat = spread(m, n, at, vals)?;
    reshape(m, flat, shape.into())
}

/// A vector of `len` zeros with `vals[k]` added at `at[k]`; negative offsets are skipped.
fn spread(machine: &mut dyn Upcalls, len: usize, at: &[i64], vals: Value) -> Res<Value> {
    if let Value::Array(a) = &vals {
        match a.buf() {
            Buf::F64(v) => {
                let mut out = array::filled(0.0, len)?;
                for (k, x) in at.iter().zip(v) {
                    if let Ok(k) = usize::try_from(*k) {
                        out[k] += x;
                    }
                }
                return Ok(array::floats(out));
            }
            Buf::F32(v) => {
                let mut out = array::filled(0.0f32, len)?;
                for (k, x) in at.iter().zip(v) {
                    if let Ok(k) = usize::try_from(*k) {
                        out[k] += x;
                    }
                }
                return Ok(array::make(Shape::from_slice(&[len]), Buf::F32(out)));
            }
            _ => {}
        }
    }
    // Traced values: the map from `vals` to the result is linear, and its transpose is a gather.
    let level = ad::level_of(&vals);
    if level == 0 {
        return untraced(&vals, len);
    }
    let (primal, part) = ad::split(&vals, level);
    let out = spread(machine, len, at, primal.clone())?;
    let rule = Spread { at: at.to_vec(), n: len };
    ad::result(machine, level, vec![part], out, std::rc::Rc::new(rule))
}

/// Zeros instead of an empty array without an element type.
fn untraced(v: &Value, n: usize) -> Res<Value> {
    if seq::len(v) == 0 {
        return Ok(array::floats(array::filled(0.0, n)?));
    }
    Err(Error::new(codes::STRUCTURE, "a derivative reached an array that does not hold numbers"))
}

/// The scatter-add as a rule of its own, for nested derivatives.
struct Spread {
    at: Vec<i64>,
    n: usize,
}

impl Rule for Spread {
    fn pull(&self, m: &mut dyn Upcalls, cts: &[Value], add: Add) -> Res<()> {
        let g = take(m, &cts[0], &self.at)?;
        add(m, 0, g)
    }
    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        if matches!(tangents[0], Value::Zero) {
            return Ok(vec![Value::Zero]);
        }
        Ok(vec![spread(m, self.n, &self.at, tangents[0].clone())?])
    }
    fn view(&self) -> View<'_> {
        View::Spread(&self.at, self.n)
    }
}

/// Elements of a vector at offsets; 0 where the offset is negative.
pub(super) fn take(machine: &mut dyn Upcalls, value: &Value, at: &[i64]) -> Res<Value> {
    if let Value::Array(a) = value {
        match a.buf() {
            Buf::F64(x) => {
                return Ok(array::floats(at.iter().map(|k| usize::try_from(*k).map_or(0.0, |k| x[k])).collect()));
            }
            Buf::F32(x) => {
                let out: Vec<f32> = at.iter().map(|k| usize::try_from(*k).map_or(0.0, |k| x[k])).collect();
                return Ok(array::make(Shape::from_slice(&[out.len()]), Buf::F32(out)));
            }
            _ => {}
        }
    }
    let level = ad::level_of(value);
    if level == 0 {
        return untraced(value, at.len());
    }
    let (primal, part) = ad::split(value, level);
    let shape = seq::shape(&primal).cloned();
    let out = take(machine, &primal, at)?;
    let rule = Gather { map: at.to_vec(), ins: vec![shape], out: seq::shape(&out).cloned() };
    ad::result(machine, level, vec![part], out, std::rc::Rc::new(rule))
}

fn size(s: &Option<Shape>) -> usize {
    s.as_ref().map_or(1, |s| s.iter().product())
}

impl Rule for Gather {
    fn pull(&self, machine: &mut dyn Upcalls, cts: &[Value], add: Add) -> Res<()> {
        let total: usize = self.ins.iter().map(size).sum();
        let ct = match (&self.out, &cts[0]) {
            (None, v) => seq::pack(machine, vec![v.clone()])?,
            (Some(s), v) => reshape(machine, v.clone(), Shape::from_slice(&[s.iter().product()]))?,
        };
        let flat = spread(machine, total, &self.map, ct)?;
        let mut start = 0;
        for (index, shape) in self.ins.iter().enumerate() {
            let count = size(shape);
            let part = match shape {
                None => seq::elem(machine, &flat, start)?,
                Some(_) if count == total => flat.clone(),
                Some(_) => {
                    let at: Vec<i64> = (start..start + count).map(|i| i as i64).collect();
                    take(machine, &flat, &at)?
                }
            };
            let part = match shape {
                None => part,
                Some(s) => reshape(machine, part, s.clone())?,
            };
            add(machine, index, part)?;
            start += count;
        }
        Ok(())
    }

    fn push(&self, machine: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>> {
        let Some(some) = tangents.iter().find(|t| !matches!(t, Value::Zero)) else { return Ok(vec![Value::Zero]) };
        let mut flat: Option<Value> = None;
        for (t, s) in tangents.iter().zip(&self.ins) {
            let t = if matches!(t, Value::Zero) { zeros(s, some)? } else { t.clone() };
            let t = match s {
                None => seq::pack(machine, vec![t])?,
                Some(s) => reshape(machine, t, Shape::from_slice(&[s.iter().product()]))?,
            };
            flat = Some(match flat {
                None => t,
                Some(f) => call(machine, Prim::Array(ArrayFn::Append), &[], vec![f, t])?,
            });
        }
        let out = take(machine, &flat.unwrap_or_default(), &self.map)?;
        Ok(vec![match &self.out {
            None => seq::elem(machine, &out, 0)?,
            Some(s) => reshape(machine, out, s.clone())?,
        }])
    }
    fn view(&self) -> View<'_> {
        View::Gather(self)
    }
}
