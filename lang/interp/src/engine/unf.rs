//! Unary normal form: every operation takes the entire context, which consists of the values so far, and
//! returns it with one more value. A program is then a sequence `f₁; f₂; ...; fₘ` without branching data flow.
//! The transposed Jacobian of each step is the identity except for the value that the step added. The gradient
//! is `Jᵀf₁ (Jᵀf₂ (... (Jᵀfₘ (0, ..., 0, 1))))`: nothing is called twice and nothing is updated by identifier.
//!
//! A value is a scalar or an entire array, and an operation on arrays is one step. The continuations
//! `λY. Y ∘ Jᵀfᵢ` are composed in advance. Steps that the result does not need are removed, copies (`x + c`)
//! become aliases, and the remaining list is run from its end. A rule without a known linear map has no
//! near-identity Jacobian that could be written down, and is refused.

use super::run_state::{EngineCounts, EngineResult, EngineStop, MAX_OPERATIONS};
use super::tape_cost;
use super::trace::{Trace, one};
use crate::ad::rules::{View, scatter_add};
use crate::ad::tape::{ELEM, NONE, OUT, Rule, SIDE, Tape};
use crate::error::Res;
use crate::ops::arith;
use crate::upcalls::Upcalls;
use crate::value::{Buf, Shape, Value, array, seq};
use adl_prim::Bin;
use std::rc::Rc;

/// A step: the effect of its transposed Jacobian on the last value of the context.
enum UnfStep {
    /// An input: no effect.
    Input,
    /// Adds multiples of it to one or two scalars (the second may be [`NONE`]).
    Scale { a: u32, da: f64, b: u32, db: f64 },
    /// Adds it to an array element.
    Element { array: u32, offset: usize },
    /// Adds the result of an array rule applied to it.
    Array { parents: Vec<u32>, rule: Rc<dyn Rule>, work: usize },
}

/// The gradient.
pub(super) fn gradient(m: &mut dyn Upcalls, trace: &Trace, counts: &mut EngineCounts) -> EngineResult<Value> {
    counts.primal = tape_cost::primal(&trace.tape);
    let line = NormalForm::normalise(&trace.tape, trace.output)?;
    counts.hold(line.steps.iter().map(UnfStep::bytes).sum());
    let mut c = Context { vals: vec![Value::Zero; line.steps.len()], shapes: line.shapes, counts };
    if let Some(out) = line.output {
        c.add(m, out, one(&trace.value))?;
    }
    for step in line.steps.iter().skip(line.inputs).rev() {
        c.back(m, step)?;
    }
    let parts = c.vals;
    Ok(trace.gradient(parts)?)
}

impl UnfStep {
    fn bytes(&self) -> usize {
        let parents = match self {
            UnfStep::Array { parents, .. } => size_of_val(parents.as_slice()),
            UnfStep::Input | UnfStep::Scale { .. } | UnfStep::Element { .. } => 0,
        };
        size_of::<UnfStep>() + parents
    }
}

/// A program in normal form.
struct NormalForm {
    steps: Vec<UnfStep>,
    shapes: Vec<Option<Shape>>,
    inputs: usize,
    /// The index of the result.
    output: Option<u32>,
}

impl NormalForm {
    fn normalise(tape: &Tape, output: u32) -> EngineResult<NormalForm> {
        let name = names(tape);
        let live = live(tape, &name, output)?;
        let mut place = vec![NONE; tape.recs.len()];
        let mut line = NormalForm { steps: Vec::new(), shapes: Vec::new(), inputs: 0, output: None };
        for i in 0..tape.recs.len() {
            let step = step(tape, i, |n| if n == NONE { NONE } else { place[name[n as usize] as usize] });
            let Some(step) = step.filter(|s| live[i] || matches!(s, UnfStep::Input)) else { continue };
            line.inputs += usize::from(matches!(step, UnfStep::Input));
            place[i] = line.steps.len() as u32;
            line.shapes.push(tape.shape(i as u32));
            line.steps.push(step);
        }
        line.output = (output != NONE).then(|| place[name[output as usize] as usize]);
        Ok(line)
    }
}

/// The representative of each node: for a copy, that of the node which it copies.
fn names(tape: &Tape) -> Vec<u32> {
    let mut out: Vec<u32> = (0..tape.recs.len() as u32).collect();
    for (i, r) in tape.recs.iter().enumerate() {
        if !matches!(r.a, NONE | OUT | SIDE) && r.b == NONE && r.da == 1.0 {
            out[i] = out[r.a as usize];
        }
    }
    out
}

/// The nodes that the result needs, by representative.
fn live(tape: &Tape, name: &[u32], output: u32) -> EngineResult<Vec<bool>> {
    let mut out = vec![false; tape.recs.len()];
    if output != NONE {
        out[name[output as usize] as usize] = true;
    }
    for i in (0..tape.recs.len()).rev().filter(|i| name[*i] == *i as u32) {
        // Further outputs belong to rules that are refused.
        if !out[i] {
            continue;
        }
        match step(tape, i, |n| n) {
            None => return Err(refused()),
            Some(UnfStep::Input) => {}
            Some(UnfStep::Scale { a, b, .. }) => {
                [a, b].into_iter().filter(|p| *p != NONE).for_each(|p| out[name[p as usize] as usize] = true);
            }
            Some(UnfStep::Element { array, .. }) => out[name[array as usize] as usize] = true,
            Some(UnfStep::Array { parents, rule, .. }) => {
                if matches!(rule.view(), View::Opaque(_)) {
                    return Err(refused());
                }
                parents.iter().filter(|p| **p != NONE).for_each(|p| out[name[*p as usize] as usize] = true);
            }
        }
    }
    Ok(out)
}

fn refused() -> EngineStop {
    EngineStop::Unsupported(
        "it uses `checkpoint` or a function with a derivative of its own, whose operations have no unary normal form"
            .into(),
    )
}

fn step(tape: &Tape, index: usize, place: impl Fn(u32) -> u32) -> Option<UnfStep> {
    let record = tape.recs[index];
    Some(match record.a {
        OUT => return None,
        NONE => UnfStep::Input,
        SIDE => {
            let s = &tape.side[record.b as usize];
            match &s.rule {
                None => UnfStep::Input,
                Some(rule) => UnfStep::Array {
                    parents: s.parents.iter().map(|p| place(*p)).collect(),
                    rule: rule.clone(),
                    work: tape_cost::backward(tape, index),
                },
            }
        }
        a if record.b == ELEM => UnfStep::Element { array: place(a), offset: record.da.to_bits() as usize },
        a => UnfStep::Scale { a: place(a), da: record.da, b: place(record.b), db: record.db },
    })
}

/// Cotangents of the context: as many as there are values at the current point of the sequence.
struct Context<'a> {
    vals: Vec<Value>,
    shapes: Vec<Option<Shape>>,
    counts: &'a mut EngineCounts,
}

impl Context<'_> {
    /// Applies the transposed Jacobian of the last step: takes the last cotangent, and adds to those before it.
    fn back(&mut self, machine: &mut dyn Upcalls, step: &UnfStep) -> EngineResult<()> {
        self.counts.calls += 1;
        if self.counts.calls & 0xffff == 0 {
            machine.poll()?;
        }
        let ct = self.vals.pop().unwrap_or(Value::Zero);
        let shape = self.shapes.pop().flatten();
        if matches!(ct, Value::Zero) || matches!(ct, Value::Float(x) if x == 0.0) {
            return Ok(());
        }
        self.counts.release(bytes(&shape));
        match step {
            UnfStep::Input => {}
            UnfStep::Scale { a, da, b, db } => {
                self.counts.backward += if *b == NONE { 2 } else { 4 };
                let p = arith::bin(machine, Bin::Mul, Value::Float(*da), ct.clone())?;
                self.add(machine, *a, p)?;
                if *b != NONE {
                    let p = arith::bin(machine, Bin::Mul, Value::Float(*db), ct)?;
                    self.add(machine, *b, p)?;
                }
            }
            UnfStep::Element { array, offset } => {
                self.counts.backward += 1;
                self.add_element(machine, *array, *offset, ct)?;
            }
            UnfStep::Array { parents, rule, work } => {
                self.counts.backward += *work as u64;
                rule.pull(machine, &[ct], &mut |m, k, v| {
                    if parents[k] == NONE { Ok(()) } else { self.add(m, parents[k], v) }
                })?;
            }
        }
        if self.counts.backward > MAX_OPERATIONS {
            return Err(EngineStop::Limit(format!("its backward pass takes more than {MAX_OPERATIONS} operations")));
        }
        Ok(())
    }

    fn add(&mut self, machine: &mut dyn Upcalls, place: u32, v: Value) -> Res<()> {
        let at = place as usize;
        let n = self.shapes[at].as_ref().map_or(1, |s| s.iter().product());
        let value = match (v, &self.shapes[at]) {
            (Value::Zero, _) => return Ok(()),
            // A rule may return a scalar for an array operand if all elements are equal.
            (Value::Float(x), Some(shape)) => array::make(shape.clone(), Buf::F64(array::filled(x, n)?)),
            (v, _) => v,
        };
        self.vals[at] = match std::mem::take(&mut self.vals[at]) {
            Value::Zero => {
                self.counts.hold(bytes(&self.shapes[at]));
                value
            }
            old => arith::bin(machine, Bin::Add, old, value)?,
        };
        Ok(())
    }

    fn add_element(&mut self, machine: &mut dyn Upcalls, place: u32, offset: usize, v: Value) -> Res<()> {
        let at = place as usize;
        let shape = self.shapes[at].clone().unwrap_or_default();
        let Value::Float(number) = v else {
            let spread = scatter_add(machine, &shape, &[offset as i64], vec![v])?;
            return self.add(machine, place, spread);
        };
        if matches!(self.vals[at], Value::Zero) {
            let n = array::count(&shape)?;
            self.counts.backward += n as u64;
            self.counts.hold(bytes(&Some(shape.clone())));
            self.vals[at] = array::make(shape, Buf::F64(array::filled(0.0, n)?));
        }
        if let Value::Array(a) = &mut self.vals[at]
            && let Buf::F64(buf) = Rc::make_mut(a).buf_mut()
        {
            buf[offset] += number;
            return Ok(());
        }
        let shape = seq::shape(&self.vals[at]).cloned().unwrap_or_default();
        let spread = scatter_add(machine, &shape, &[offset as i64], vec![Value::Float(number)])?;
        self.add(machine, place, spread)
    }
}

/// Bytes of a cotangent.
fn bytes(shape: &Option<Shape>) -> usize {
    size_of::<Value>() + shape.as_ref().map_or(0, |s| s.iter().product::<usize>() * size_of::<f64>())
}
