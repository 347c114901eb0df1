//! Traversal of a tape: backward with cotangents, forward with tangents.

use super::tape::{ELEM, NONE, OUT, SIDE, Tape};
use crate::error::Res;
use crate::ops::arith;
use crate::value::{Buf, Value, array, vector_space};
use crate::vm::Machine;
use adl_prim::Bin;
use std::collections::HashMap;
use std::rc::Rc;

/// Cotangents by node during a backward sweep.
struct Adjoints<'a> {
    tape: &'a Tape,
    /// Untraced cotangents of scalar nodes.
    flat: Vec<f64>,
    /// Cotangents of array nodes, and of scalars that are themselves traced.
    vals: HashMap<u32, Value>,
    /// Traced cotangents of single elements of array nodes.
    elems: HashMap<u32, (Vec<i64>, Vec<Value>)>,
}

impl Adjoints<'_> {
    fn add(&mut self, m: &mut Machine, node: u32, v: Value) -> Res<()> {
        if node == NONE {
            return Ok(());
        }
        match v {
            Value::Zero => Ok(()),
            Value::Float(x) => {
                self.flat[node as usize] += x;
                Ok(())
            }
            v => {
                let sum = match self.vals.remove(&node) {
                    Some(old) => arith::bin(m, Bin::Add, old, v)?,
                    None => v,
                };
                self.vals.insert(node, sum);
                Ok(())
            }
        }
    }

    /// Adds to one element of an array node.
    fn add_elem(&mut self, node: u32, offset: usize, v: Value) {
        let Value::Float(x) = v else {
            let (at, vals) = self.elems.entry(node).or_default();
            at.push(offset as i64);
            vals.push(v);
            return;
        };
        if let Some(Value::Array(a)) = self.vals.get_mut(&node)
            && let Buf::F64(buf) = Rc::make_mut(a).buf_mut()
        {
            buf[offset] += x;
            return;
        }
        if self.vals.contains_key(&node) {
            let (at, vals) = self.elems.entry(node).or_default();
            at.push(offset as i64);
            vals.push(v);
            return;
        }
        let shape = self.tape.shape(node).unwrap_or_default();
        let mut buf = vec![0.0; shape.iter().product()];
        buf[offset] += x;
        self.vals.insert(node, array::make(shape, Buf::F64(buf)));
    }

    /// Takes the complete cotangent of a node.
    fn take(&mut self, m: &mut Machine, node: u32) -> Res<Value> {
        let x = self.flat[node as usize];
        let mut v = self.vals.remove(&node).unwrap_or(Value::Zero);
        if x != 0.0 {
            v = arith::bin(m, Bin::Add, v, Value::Float(x))?;
        }
        if let Some((at, vals)) = self.elems.remove(&node) {
            let shape = self.tape.shape(node).unwrap_or_default();
            let spread = super::rules::scatter_add(m, &shape, &at, vals)?;
            v = arith::bin(m, Bin::Add, v, spread)?;
        }
        Ok(v)
    }
}

/// The cotangents of the `wanted` nodes, from cotangents of outputs.
pub(crate) fn backward(m: &mut Machine, tape: &Tape, seeds: Vec<(u32, Value)>, wanted: &[u32]) -> Res<Vec<Value>> {
    let mut adj = Adjoints { tape, flat: vec![0.0; tape.recs.len()], vals: HashMap::new(), elems: HashMap::new() };
    let mut top = 0;
    for (node, v) in seeds {
        top = top.max(node as usize + 1);
        // Shapes agree by typing, so a scalar cotangent is never added to an array node here.
        adj.add(m, node, v)?;
    }
    let keep: std::collections::HashSet<u32> = wanted.iter().copied().collect();
    for i in (0..top).rev() {
        if i & 0xffff == 0 {
            m.poll()?;
        }
        let rec = tape.recs[i];
        match rec.a {
            NONE | OUT => continue,
            SIDE => {
                if !keep.contains(&(i as u32)) || tape.side[rec.b as usize].rule.is_some() {
                    side(m, &mut adj, i as u32, rec.b)?;
                }
                continue;
            }
            _ => {}
        }
        let x = adj.flat[i];
        if !adj.vals.is_empty()
            && let Some(v) = adj.vals.remove(&(i as u32))
        {
            let v = if x != 0.0 { arith::bin(m, Bin::Add, v, Value::Float(x))? } else { v };
            if rec.b == ELEM {
                adj.add_elem(rec.a, rec.da.to_bits() as usize, v);
                continue;
            }
            let p = arith::bin(m, Bin::ScaleTangent, Value::Float(rec.da), v.clone())?;
            adj.add(m, rec.a, p)?;
            if rec.b != NONE {
                let p = arith::bin(m, Bin::ScaleTangent, Value::Float(rec.db), v)?;
                adj.add(m, rec.b, p)?;
            }
            continue;
        }
        // Without a cotangent, nothing is propagated.
        if x == 0.0 {
            continue;
        }
        if rec.b == ELEM {
            adj.add_elem(rec.a, rec.da.to_bits() as usize, Value::Float(x));
            continue;
        }
        adj.flat[rec.a as usize] += Bin::ScaleTangent.eval(rec.da, x);
        if rec.b != NONE {
            adj.flat[rec.b as usize] += Bin::ScaleTangent.eval(rec.db, x);
        }
    }
    wanted.iter().map(|n| adj.take(m, *n)).collect()
}

fn side(m: &mut Machine, adj: &mut Adjoints, first: u32, at: u32) -> Res<()> {
    let tape = adj.tape;
    let s = &tape.side[at as usize];
    let Some(rule) = &s.rule else { return Ok(()) };
    let cts = (0..s.shapes.len() as u32).map(|k| adj.take(m, first + k)).collect::<Res<Vec<_>>>()?;
    if cts.iter().all(|c| matches!(c, Value::Zero)) {
        return Ok(());
    }
    rule.pull_taken(m, cts, &mut |m, k, v| {
        if s.parents[k] == NONE {
            return Ok(());
        }
        let v = match (&v, tape.shape(s.parents[k])) {
            // A rule may return a scalar for an array parent if all elements are equal.
            (Value::Float(_), Some(shape)) => {
                let n = array::count(&shape)?;
                let Value::Float(x) = v else { return Ok(()) };
                array::make(shape, Buf::F64(array::filled(x, n)?))
            }
            _ => v,
        };
        adj.add(m, s.parents[k], v)
    })
}

/// The tangents of the `wanted` nodes, from tangents of inputs.
pub(crate) fn forward(m: &mut Machine, tape: &Tape, seeds: Vec<(u32, Value)>, wanted: &[u32]) -> Res<Vec<Value>> {
    let mut tans: Vec<Value> = vec![Value::Zero; tape.recs.len()];
    for (node, v) in seeds {
        tans[node as usize] = v;
    }
    for i in 0..tape.recs.len() {
        if i & 0xffff == 0 {
            m.poll()?;
        }
        let rec = tape.recs[i];
        let t = match rec.a {
            NONE | OUT => continue,
            SIDE => {
                let s = &tape.side[rec.b as usize];
                let Some(rule) = &s.rule else { continue };
                let ins: Vec<Value> = s
                    .parents
                    .iter()
                    .map(|p| if *p == NONE { Value::Zero } else { tans[*p as usize].clone() })
                    .collect();
                if ins.iter().any(|t| !matches!(t, Value::Zero)) {
                    for (k, t) in rule.push(m, &ins)?.into_iter().enumerate() {
                        tans[i + k] = t;
                    }
                }
                continue;
            }
            a if rec.b == ELEM => match &tans[a as usize] {
                Value::Zero => Value::Zero,
                v => super::rules::flat_elem(m, &v.clone(), rec.da.to_bits() as usize)?,
            },
            a => {
                let x = arith::bin(m, Bin::ScaleTangent, Value::Float(rec.da), tans[a as usize].clone())?;
                if rec.b == NONE {
                    x
                } else {
                    let y = arith::bin(m, Bin::ScaleTangent, Value::Float(rec.db), tans[rec.b as usize].clone())?;
                    arith::bin(m, Bin::Add, x, y)?
                }
            }
        };
        tans[i] = t;
    }
    Ok(wanted.iter().map(|n| if *n == NONE { Value::Zero } else { tans[*n as usize].clone() }).collect())
}

/// The tangent, or `vector_space::zero_like` if it is a symbolic zero.
pub(crate) fn or_zero(v: Value, like: &Value) -> Value {
    if matches!(v, Value::Zero) { vector_space::zero_like(like) } else { v }
}
