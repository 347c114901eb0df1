//! The tape of reverse mode: flat memory for scalar operations, boxed rules for everything else.
//!
//! Node i is record i. A scalar record contains its parents and the partial derivatives as untraced floats.
//! Larger records (array operations, partial derivatives that are themselves traced) are in a side table.

use super::maps::View;
use crate::error::Res;
use crate::upcalls::Upcalls;
use crate::value::{Shape, Value};
use crate::{memory, polling};
use std::rc::Rc;

/// No parent.
pub(crate) const NONE: u32 = u32::MAX;
/// In `a`: the record is in the side table at index `b`.
pub(crate) const SIDE: u32 = u32::MAX - 1;
/// In `a`: a further output of the previous record.
pub(crate) const OUT: u32 = u32::MAX - 2;
/// In `b`: the node is element `da` (as bits) of the array node `a`.
pub(crate) const ELEM: u32 = u32::MAX - 3;

/// A record: `dy = da * dx_a + db * dx_b`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rec {
    pub a: u32,
    pub b: u32,
    pub da: f64,
    pub db: f64,
}

/// The linear map of an operation at a point. It may read saved values; it is linear in tangents and
/// cotangents.
pub(crate) trait Rule {
    /// Maps cotangents of the outputs to cotangents of the parents. For each contribution it calls
    /// `add(position of the parent, cotangent)`.
    fn pull(
        &self,
        m: &mut dyn Upcalls,
        cts: &[Value],
        add: &mut dyn FnMut(&mut dyn Upcalls, usize, Value) -> Res<()>,
    ) -> Res<()>;
    /// Like `pull`, but owns the cotangents, which may be reused for those of the parents.
    fn pull_taken(
        &self,
        m: &mut dyn Upcalls,
        cts: Vec<Value>,
        add: &mut dyn FnMut(&mut dyn Upcalls, usize, Value) -> Res<()>,
    ) -> Res<()> {
        self.pull(m, &cts, add)
    }
    /// Maps tangents of the parents ([`Value::Zero`] if there is none) to tangents of the outputs.
    fn push(&self, m: &mut dyn Upcalls, tangents: &[Value]) -> Res<Vec<Value>>;
    /// Whether it is run even if every cotangent or tangent is zero.
    fn always(&self) -> bool {
        false
    }
    /// The map on single scalars, if it is known without running the rule.
    fn view(&self) -> View<'_> {
        View::Opaque(None)
    }
}

pub(crate) struct Side {
    pub parents: Vec<u32>,
    /// `None` for inputs.
    pub rule: Option<Rc<dyn Rule>>,
    /// The shapes of the outputs; `None` for scalars.
    pub shapes: Vec<Option<Shape>>,
}

/// A tape.
#[derive(Default)]
pub struct Tape {
    pub(crate) recs: Vec<Rec>,
    pub(crate) side: Vec<Side>,
    /// One more than the last record whose rule is always run.
    pub(crate) always: usize,
}

impl Tape {
    fn node(&self) -> u32 {
        self.recs.len() as u32
    }

    /// Appends a record. If memory is exhausted, the run is told to stop and an existing node is returned.
    #[inline]
    fn put(&mut self, rec: Rec) -> u32 {
        let n = self.node();
        if let Err(e) = memory::grow(&mut self.recs, 1) {
            polling::fail(e);
            return n.saturating_sub(1);
        }
        self.recs.push(rec);
        n
    }

    /// A scalar input.
    pub fn input(&mut self) -> u32 {
        self.put(Rec { a: NONE, b: NONE, da: 0.0, db: 0.0 })
    }

    /// An array input.
    pub fn array_input(&mut self, shape: Shape) -> u32 {
        self.record(Vec::new(), None, vec![Some(shape)])
    }

    /// A record with one parent.
    #[inline]
    pub fn push1(&mut self, a: u32, da: f64) -> u32 {
        self.put(Rec { a, b: NONE, da, db: 0.0 })
    }

    /// A record with two parents.
    #[inline]
    pub fn push2(&mut self, a: u32, da: f64, b: u32, db: f64) -> u32 {
        self.put(Rec { a, b, da, db })
    }

    /// The element at a flat offset of an array node.
    #[inline]
    pub fn push_elem(&mut self, array: u32, offset: usize) -> u32 {
        self.put(Rec { a: array, b: ELEM, da: f64::from_bits(offset as u64), db: 0.0 })
    }

    /// Appends a record with a rule. Returns the first of its consecutive output nodes.
    pub(crate) fn record(&mut self, parents: Vec<u32>, rule: Option<Rc<dyn Rule>>, shapes: Vec<Option<Shape>>) -> u32 {
        let node = self.node();
        let outs = shapes.len();
        if let Err(e) = memory::grow(&mut self.recs, outs.max(1)).and_then(|()| memory::grow(&mut self.side, 1)) {
            polling::fail(e);
            return node.saturating_sub(1);
        }
        self.recs.push(Rec { a: SIDE, b: self.side.len() as u32, da: 0.0, db: 0.0 });
        for _ in 1..outs {
            self.recs.push(Rec { a: OUT, b: NONE, da: 0.0, db: 0.0 });
        }
        if rule.as_ref().is_some_and(|r| r.always()) {
            self.always = node as usize + 1;
        }
        self.side.push(Side { parents, rule, shapes });
        node
    }

    /// The shape of an array node.
    pub(crate) fn shape(&self, node: u32) -> Option<Shape> {
        let mut first = node;
        while self.recs[first as usize].a == OUT {
            first -= 1;
        }
        let rec = self.recs[first as usize];
        if rec.a != SIDE {
            return None;
        }
        self.side[rec.b as usize].shapes.get((node - first) as usize).cloned().flatten()
    }
}
