//! Traversal of a tape: backward with cotangents, forward with tangents.

use super::tape::{ELEM, NONE, OUT, Rec, SIDE, Tape};
use crate::error::Res;
use crate::ops::arith;
use crate::upcalls::Upcalls;
use crate::value::{Buf, Value, array, vector_space};
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
    fn add(&mut self, machine: &mut dyn Upcalls, node: u32, value: Value) -> Res<()> {
        if node == NONE {
            return Ok(());
        }
        match value {
            Value::Zero => Ok(()),
            Value::Float(x) => {
                self.flat[node as usize] += x;
                Ok(())
            }
            v => {
                let sum = match self.vals.remove(&node) {
                    Some(old) => arith::bin(machine, Bin::Add, old, v)?,
                    None => v,
                };
                self.vals.insert(node, sum);
                Ok(())
            }
        }
    }

    /// Adds to one element of an array node.
    fn add_elem(&mut self, node: u32, offset: usize, value: Value) {
        let Value::Float(number) = value else {
            let (at, vals) = self.elems.entry(node).or_default();
            at.push(offset as i64);
            vals.push(value);
            return;
        };
        if let Some(Value::Array(a)) = self.vals.get_mut(&node)
            && let Buf::F64(buf) = Rc::make_mut(a).buf_mut()
        {
            buf[offset] += number;
            return;
        }
        if self.vals.contains_key(&node) {
            let (at, vals) = self.elems.entry(node).or_default();
            at.push(offset as i64);
            vals.push(value);
            return;
        }
        let shape = self.tape.shape(node).unwrap_or_default();
        let mut buf = vec![0.0; shape.iter().product()];
        buf[offset] += number;
        self.vals.insert(node, array::make(shape, Buf::F64(buf)));
    }

    /// Takes the complete cotangent of a node.
    fn take(&mut self, m: &mut dyn Upcalls, node: u32) -> Res<Value> {
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
pub(crate) fn backward(
    machine: &mut dyn Upcalls,
    tape: &Tape,
    seeds: Vec<(u32, Value)>,
    wanted: &[u32],
) -> Res<Vec<Value>> {
    let mut adj = Adjoints { tape, flat: vec![0.0; tape.recs.len()], vals: HashMap::new(), elems: HashMap::new() };
    let mut top = tape.always;
    for (node, v) in seeds {
        top = top.max(node as usize + 1);
        // Shapes agree by typing, so a scalar cotangent is never added to an array node here.
        adj.add(machine, node, v)?;
    }
    let keep: std::collections::HashSet<u32> = wanted.iter().copied().collect();
    for index in (0..top).rev() {
        if index & 0xffff == 0 {
            machine.poll()?;
        }
        let rec = tape.recs[index];
        match rec.a {
            NONE | OUT => continue,
            SIDE => {
                if !keep.contains(&(index as u32)) || tape.side[rec.b as usize].rule.is_some() {
                    side(machine, &mut adj, index as u32, rec.b)?;
                }
                continue;
            }
            _ => {}
        }
        let cotangent = adj.flat[index];
        if !adj.vals.is_empty()
            && let Some(v) = adj.vals.remove(&(index as u32))
        {
            let v = if cotangent != 0.0 { arith::bin(machine, Bin::Add, v, Value::Float(cotangent))? } else { v };
            propagate(machine, &mut adj, &rec, v)?;
            continue;
        }
        // Without a cotangent, nothing is propagated.
        if cotangent == 0.0 {
            continue;
        }
        if rec.b == ELEM {
            adj.add_elem(rec.a, rec.da.to_bits() as usize, Value::Float(cotangent));
            continue;
        }
        adj.flat[rec.a as usize] += Bin::ScaleTangent.eval(rec.da, cotangent);
        if rec.b != NONE {
            adj.flat[rec.b as usize] += Bin::ScaleTangent.eval(rec.db, cotangent);
        }
    }
    wanted.iter().map(|n| adj.take(machine, *n)).collect()
}

/// Adds a cotangent that is no plain number to the cotangents of a record's operands.
fn propagate(machine: &mut dyn Upcalls, adj: &mut Adjoints, rec: &Rec, cotangent: Value) -> Res<()> {
    if rec.b == ELEM {
        adj.add_elem(rec.a, rec.da.to_bits() as usize, cotangent);
        return Ok(());
    }
    let p = arith::bin(machine, Bin::ScaleTangent, Value::Float(rec.da), cotangent.clone())?;
    adj.add(machine, rec.a, p)?;
    if rec.b != NONE {
        let p = arith::bin(machine, Bin::ScaleTangent, Value::Float(rec.db), cotangent)?;
        adj.add(machine, rec.b, p)?;
    }
    Ok(())
}

fn side(m: &mut dyn Upcalls, adj: &mut Adjoints, first: u32, at: u32) -> Res<()> {
    let tape = adj.tape;
    let side = &tape.side[at as usize];
    let Some(rule) = &side.rule else { return Ok(()) };
    let cts = (0..side.shapes.len() as u32).map(|k| adj.take(m, first + k)).collect::<Res<Vec<_>>>()?;
    if cts.iter().all(|c| matches!(c, Value::Zero)) && !rule.always() {
        return Ok(());
    }
    rule.pull_taken(m, cts, &mut |machine, index, value| {
        if side.parents[index] == NONE {
            return Ok(());
        }
        let v = match (&value, tape.shape(side.parents[index])) {
            // A rule may return a scalar for an array parent if all elements are equal.
            (Value::Float(_), Some(shape)) => {
                let n = array::count(&shape)?;
                let Value::Float(x) = value else { return Ok(()) };
                array::make(shape, Buf::F64(array::filled(x, n)?))
            }
            _ => value,
        };
        adj.add(machine, side.parents[index], v)
    })
}

/// The tangents of the `wanted` nodes, from tangents of inputs.
pub(crate) fn forward(
    machine: &mut dyn Upcalls,
    tape: &Tape,
    seeds: Vec<(u32, Value)>,
    wanted: &[u32],
) -> Res<Vec<Value>> {
    let mut tans: Vec<Value> = vec![Value::Zero; tape.recs.len()];
    for (node, v) in seeds {
        tans[node as usize] = v;
    }
    for index in 0..tape.recs.len() {
        if index & 0xffff == 0 {
            machine.poll()?;
        }
        let rec = tape.recs[index];
        let tangent = match rec.a {
            NONE | OUT => continue,
            SIDE => {
                let s = &tape.side[rec.b as usize];
                let Some(rule) = &s.rule else { continue };
                let ins: Vec<Value> = s
                    .parents
                    .iter()
                    .map(|p| if *p == NONE { Value::Zero } else { tans[*p as usize].clone() })
                    .collect();
                if rule.always() || ins.iter().any(|t| !matches!(t, Value::Zero)) {
                    for (k, t) in rule.push(machine, &ins)?.into_iter().enumerate() {
                        tans[index + k] = t;
                    }
                }
                continue;
            }
            a if rec.b == ELEM => match &tans[a as usize] {
                Value::Zero => Value::Zero,
                v => super::rules::flat_elem(machine, &v.clone(), rec.da.to_bits() as usize)?,
            },
            a => {
                let x = arith::bin(machine, Bin::ScaleTangent, Value::Float(rec.da), tans[a as usize].clone())?;
                if rec.b == NONE {
                    x
                } else {
                    let y = arith::bin(machine, Bin::ScaleTangent, Value::Float(rec.db), tans[rec.b as usize].clone())?;
                    arith::bin(machine, Bin::Add, x, y)?
                }
            }
        };
        tans[index] = tangent;
    }
    Ok(wanted.iter().map(|n| if *n == NONE { Value::Zero } else { tans[*n as usize].clone() }).collect())
}

/// The tangent, or `vector_space::zero_like` if it is a symbolic zero.
pub(crate) fn or_zero(v: Value, like: &Value) -> Value {
    if matches!(v, Value::Zero) { vector_space::zero_like(like) } else { v }
}
