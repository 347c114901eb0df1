//! Expands a trace to operations on single scalars. A scalar that is only moved keeps its identifier.

use super::graph::Graph;
use super::run_state::{EngineResult, EngineStop, MAX_NODES};
use super::trace::{Trace, numbers};
use crate::ad::linear::leaves;
use crate::ad::rules::{Elementwise, Gather, MatMul, Partial, Solve, View};
use crate::ad::tape::{ELEM, NONE, OUT, Rule, SIDE, Side, Tape};
use crate::ops::call;
use crate::value::{Buf, Shape, Value, array, seq};
use crate::vm::Machine;
use adl_prim::{ArrayFn, LinalgFn, Prim};
use std::rc::Rc;

/// Identifiers of the scalars of a node.
#[derive(Clone)]
enum Ids {
    /// A scalar; [`NONE`] for a constant of any shape.
    One(u32),
    Many(Rc<[u32]>),
}

impl Ids {
    fn at(&self, i: usize) -> u32 {
        match self {
            Ids::One(id) => *id,
            Ids::Many(ids) => ids.get(i).copied().unwrap_or(NONE),
        }
    }
    fn len(&self) -> usize {
        match self {
            Ids::One(_) => 1,
            Ids::Many(ids) => ids.len(),
        }
    }
    fn of(shape: &Option<Shape>, ids: Vec<u32>) -> Ids {
        match shape {
            None => Ids::One(ids.first().copied().unwrap_or(NONE)),
            Some(_) => Ids::Many(ids.into()),
        }
    }
}

/// Expands the operations of a trace.
pub(super) fn expand(machine: &mut Machine, trace: &Trace) -> EngineResult<Graph<Value>> {
    let inputs = trace.input.nodes.iter().map(|n| size(&trace.tape.shape(*n))).sum();
    if inputs > MAX_NODES {
        return Err(EngineStop::Limit(format!("the input has more than {MAX_NODES} numbers")));
    }
    let mut expansion = Expand {
        m: machine,
        tape: &trace.tape,
        graph: Graph { inputs, ops: Vec::new(), output: NONE },
        nodes: Vec::new(),
        seen: 0,
    };
    for i in 0..trace.tape.recs.len() {
        if i & 0xffff == 0 {
            expansion.m.poll()?;
        }
        expansion.record(i)?;
    }
    if trace.output != NONE {
        expansion.graph.output = expansion.nodes[trace.output as usize].at(0);
    }
    Ok(expansion.graph)
}

fn size(shape: &Option<Shape>) -> usize {
    shape.as_ref().map_or(1, |s| s.iter().product())
}

struct Expand<'a> {
    m: &'a mut Machine,
    tape: &'a Tape,
    graph: Graph<Value>,
    /// The identifiers of each node so far.
    nodes: Vec<Ids>,
    /// The number of input nodes so far.
    seen: u32,
}

impl Expand<'_> {
    fn record(&mut self, i: usize) -> EngineResult<()> {
        let r = self.tape.recs[i];
        let ids = match r.a {
            OUT => return Ok(()),
            NONE => self.input(&None),
            SIDE => return self.side(&self.tape.side[r.b as usize]),
            a if r.b == ELEM => Ids::One(self.nodes[a as usize].at(r.da.to_bits() as usize)),
            a => {
                let b = if r.b == NONE { NONE } else { self.nodes[r.b as usize].at(0) };
                let a = self.nodes[a as usize].at(0);
                Ids::One(self.graph.op(a, Value::Float(r.da), b, Value::Float(r.db))?)
            }
        };
        self.nodes.push(ids);
        Ok(())
    }

    fn input(&mut self, shape: &Option<Shape>) -> Ids {
        let n = size(shape) as u32;
        self.seen += n;
        Ids::of(shape, (self.seen - n..self.seen).collect())
    }

    fn side(&mut self, side: &Side) -> EngineResult<()> {
        let Some(rule) = &side.rule else {
            for shape in &side.shapes {
                let ids = self.input(shape);
                self.nodes.push(ids);
            }
            return Ok(());
        };
        let parents: Vec<Ids> = side
            .parents
            .iter()
            .map(|p| if *p == NONE { Ids::One(NONE) } else { self.nodes[*p as usize].clone() })
            .collect();
        if let View::Opaque(like) = rule.view() {
            let all = self.opaque(&**rule, like, side, &parents)?;
            // A rule without differentiated results still occupies a node.
            self.nodes.extend(if all.is_empty() { vec![Ids::One(NONE)] } else { all });
            return Ok(());
        }
        let shape = side.shapes.first().cloned().flatten();
        let ids = self.known(rule.view(), &parents, size(&shape))?;
        self.nodes.push(Ids::of(&shape, ids));
        Ok(())
    }

    /// The identifiers of the output of an operation whose linear map is known.
    fn known(&mut self, view: View<'_>, ins: &[Ids], count: usize) -> EngineResult<Vec<u32>> {
        let one = || Value::Float(1.0);
        match view {
            View::Elementwise(e) => self.elementwise(e, ins, count),
            View::Gather(g) => Ok(gather(g, ins)),
            View::Spread(at, n) => {
                let mut sums = vec![NONE; n];
                for (i, k) in at.iter().enumerate() {
                    if let Ok(k) = usize::try_from(*k) {
                        sums[k] = self.add(sums[k], ins[0].at(i))?;
                    }
                }
                Ok(sums)
            }
            View::MatMul(p) => self.product(p, ins),
            View::Dot(d) => {
                let k = ins[0].len().max(ins[1].len());
                self.products(&d.a, &d.b, ins, [1, k, 1])
            }
            View::Solve(s) => self.solve(s, ins),
            View::SumRows(rows) => {
                (0..count).map(|j| self.graph.sum((0..rows).map(|i| ins[0].at(i * count + j)))).collect()
            }
            View::Cumsum => {
                let mut sums: Vec<u32> = Vec::with_capacity(count);
                for i in 0..count {
                    let before = sums.last().copied().unwrap_or(NONE);
                    sums.push(self.add(before, ins[0].at(i))?);
                }
                Ok(sums)
            }
            View::Convert => (0..count).map(|i| self.graph.op(ins[0].at(i), one(), NONE, one())).collect(),
            View::Opaque(_) => Ok(vec![NONE; count]),
        }
    }

    /// A sum. If one operand is a constant, it is the identifier of the other one.
    fn add(&mut self, a: u32, b: u32) -> EngineResult<u32> {
        match (a, b) {
            (NONE, x) | (x, NONE) => Ok(x),
            (a, b) => self.graph.op(a, Value::Float(1.0), b, Value::Float(1.0)),
        }
    }

    fn elementwise(&mut self, e: &Elementwise, ins: &[Ids], count: usize) -> EngineResult<Vec<u32>> {
        let mut partials = Vec::with_capacity(e.operands.len());
        for o in &e.operands {
            partials.push(match &o.partial {
                Partial::Constant => None,
                Partial::One => Some(vec![Value::Float(1.0)]),
                Partial::By(p) => Some(numbers(self.m, p)?),
            });
        }
        let nth = |p: &[Value], i: usize| p.get(if p.len() == 1 { 0 } else { i }).cloned().unwrap_or(Value::Float(0.0));
        let mut out = Vec::with_capacity(count);
        for i in 0..count {
            let terms = partials.iter().zip(ins).filter_map(|(p, x)| Some((x.at(i), nth(p.as_ref()?, i))));
            let terms: Vec<(u32, Value)> = terms.collect();
            out.push(self.graph.combination(&terms)?);
        }
        Ok(out)
    }

    fn product(&mut self, p: &MatMul, ins: &[Ids]) -> EngineResult<Vec<u32>> {
        let (a, b) = (seq::shape(&p.a).cloned().unwrap_or_default(), seq::shape(&p.b).cloned().unwrap_or_default());
        let inner = a.last().copied().unwrap_or(0);
        let rows = if a.len() > 1 { a[0] } else { 1 };
        let columns = if b.len() > 1 { b[1] } else { 1 };
        self.products(&p.a, &p.b, ins, [rows, inner, columns])
    }

    /// Sums of products.
    fn products(
        &mut self,
        a: &Value,
        b: &Value,
        ins: &[Ids],
        [rows, inner, columns]: [usize; 3],
    ) -> EngineResult<Vec<u32>> {
        let (x, y) = (numbers(self.m, a)?, numbers(self.m, b)?);
        let mut out = Vec::with_capacity(rows * columns);
        for i in 0..rows {
            for j in 0..columns {
                let mut sum = NONE;
                for l in 0..inner {
                    let (p, q) = (i * inner + l, l * columns + j);
                    let term = self.graph.op(ins[0].at(p), y[q].clone(), ins[1].at(q), x[p].clone())?;
                    sum = self.add(sum, term)?;
                }
                out.push(sum);
            }
        }
        Ok(out)
    }

    /// `a solution = b`: `dx = a⁻¹ (db - da solution)`.
    fn solve(&mut self, s: &Solve, ins: &[Ids]) -> EngineResult<Vec<u32>> {
        let shape = seq::shape(&s.x).cloned().unwrap_or_default();
        let (rows, columns) = (shape.first().copied().unwrap_or(0), if shape.len() > 1 { shape[1] } else { 1 });
        let eye = call(self.m, Prim::Array(ArrayFn::Eye), &[], vec![Value::Int(rows as i64)])?;
        let inverse = call(self.m, Prim::Linalg(LinalgFn::LinSolve), &[], vec![s.a.clone(), eye])?;
        let inverse = numbers(self.m, &inverse)?;
        let solution = numbers(self.m, &s.x)?;
        let minus = crate::ops::arith::un(self.m, adl_prim::Un::Neg, s.x.clone())?;
        let minus = numbers(self.m, &minus)?;
        let mut rest = Vec::with_capacity(solution.len());
        for i in 0..rows {
            for j in 0..columns {
                let mut terms = vec![(ins[1].at(i * columns + j), Value::Float(1.0))];
                terms.extend((0..rows).map(|l| (ins[0].at(i * rows + l), minus[l * columns + j].clone())));
                rest.push(self.graph.combination(&terms)?);
            }
        }
        let mut out = Vec::with_capacity(solution.len());
        for i in 0..rows {
            for j in 0..columns {
                let terms: Vec<(u32, Value)> =
                    (0..rows).map(|l| (rest[l * columns + j], inverse[i * rows + l].clone())).collect();
                out.push(self.graph.combination(&terms)?);
            }
        }
        Ok(out)
    }

    /// A rule whose linear map is only known by running it: each output scalar is a linear combination of input
    /// scalars, whose coefficients are found by running the transpose.
    fn opaque(&mut self, rule: &dyn Rule, like: Option<&Value>, s: &Side, ins: &[Ids]) -> EngineResult<Vec<Ids>> {
        let outputs: Vec<Value> = match like {
            Some(y) => leaves(y).iter().map(crate::value::vector_space::zero_like).collect(),
            None => s.shapes.iter().map(zeros).collect(),
        };
        let mut all = Vec::with_capacity(outputs.len());
        for (k, shape) in s.shapes.iter().enumerate() {
            let mut ids = Vec::with_capacity(size(shape));
            for j in 0..size(shape) {
                let mut cts = outputs.clone();
                cts[k] = one_hot(&cts[k], j);
                let mut terms = Vec::new();
                rule.pull(self.m, &cts, &mut |m, p, v| {
                    if !matches!(v, Value::Zero) {
                        let vals = numbers(m, &v)?;
                        let nth = |i: usize| vals.get(if vals.len() == 1 { 0 } else { i }).cloned();
                        terms.extend((0..ins[p].len()).filter_map(|i| Some((ins[p].at(i), nth(i)?))));
                    }
                    Ok(())
                })?;
                terms.retain(|(_, d)| !matches!(d, Value::Float(x) if *x == 0.0));
                ids.push(self.graph.combination(&terms)?);
            }
            all.push(Ids::of(shape, ids));
        }
        Ok(all)
    }
}

fn zeros(shape: &Option<Shape>) -> Value {
    match shape {
        None => Value::Float(0.0),
        Some(s) => array::make(s.clone(), Buf::F64(vec![0.0; s.iter().product()])),
    }
}

/// A zero with a 1 at one position.
fn one_hot(zero: &Value, at: usize) -> Value {
    match zero {
        Value::Array(a) => match a.buf() {
            Buf::F64(v) => {
                let mut v = v.clone();
                v[at] = 1.0;
                array::make(a.shape.clone(), Buf::F64(v))
            }
            Buf::F32(v) => {
                let mut v = v.clone();
                v[at] = 1.0;
                array::make(a.shape.clone(), Buf::F32(v))
            }
            Buf::I64(_) | Buf::Bool(_) | Buf::Unit | Buf::Boxed(_) | Buf::Tuple(_) | Buf::Record(..) => zero.clone(),
        },
        Value::F32(_) => Value::F32(1.0),
        _ => Value::Float(1.0),
    }
}

/// The source of each scalar of the output.
fn gather(gather: &Gather, ins: &[Ids]) -> Vec<u32> {
    let starts: Vec<usize> = gather
        .ins
        .iter()
        .scan(0, |next, shape| {
            let start = *next;
            *next += size(shape);
            Some(start)
        })
        .collect();
    let from = |k: &i64| {
        let Ok(k) = usize::try_from(*k) else { return NONE };
        let part = starts.partition_point(|s| *s <= k).saturating_sub(1);
        // An input without elements has the same start as the next one.
        ins.get(part).map_or(NONE, |ids| ids.at(k - starts[part]))
    };
    gather.map.iter().map(from).collect()
}
