//! Rows of an iteration that are read: numbers that an inner loop collects, and whose elements another inner loop, a
//! reduction or an index reads.
//!
//! Such a row is stored in scratch memory, element by element, with the numbers of all iterations of a vector step side
//! by side. So a row of any length is read and written by whole vectors. The position of an extremum differs from
//! iteration to iteration: it is kept as a Float, which is exact, and an element at it is loaded for each iteration.

use super::plan::{Around, At, Inner, Int, LoopAnalysis, Node, RowUse, VarClass};
use crate::handle::ValueForm;
use crate::limits::emit_vector_loop_rows::INNER_LOOPS;
use adl_ir::{Op, Ty, Var};
use adl_prim::{Prim, ReductionFn};
use std::collections::HashMap;

/// An element of a stored row, or of an array bound outside.
#[derive(Clone, Debug)]
pub(super) enum Element {
    Row(usize, Node),
    Array(usize, At),
}

/// An extremum of a row.
pub(super) struct Extremum {
    /// The element at the index of the inner loop that searches it.
    pub element: Element,
    /// This inner loop.
    pub inner: usize,
    pub least: bool,
    /// Whether its position is wanted.
    pub position: bool,
}

/// The rows of a vectorised loop that are read.
#[derive(Default)]
pub(super) struct RowReads {
    /// Stored rows, with the inner loops that collect them.
    pub stored: Vec<(Var, usize)>,
    /// Elements of stored rows, with the row and the index, which is the same in all iterations.
    pub elements: HashMap<Var, (usize, Node)>,
    /// Extrema and positions of extrema.
    pub extrema: HashMap<Var, Extremum>,
    /// Elements at a position, with the first element of the row and the position.
    pub chosen: HashMap<Var, (Element, Var)>,
    /// Indices, and the lengths that they must be below.
    pub bounds: Vec<(Node, Node)>,
    /// Functions in inner loops whose arguments are the same in all iterations, with these loops.
    pub hoisted: Vec<(Var, usize)>,
    /// Whether branches contain inner loops.
    pub speculative: bool,
}

impl RowReads {
    /// Whether any row is read.
    pub fn any(&self) -> bool {
        !self.stored.is_empty() || !self.extrema.is_empty()
    }
}

/// A row: stored, or an array or subarray bound outside.
enum Source {
    Row(usize),
    Array(usize, At),
}

impl Source {
    fn element(&self, at: Node) -> Element {
        match self {
            Source::Row(k) => Element::Row(*k, at),
            Source::Array(a, before) => {
                let mut all = before.clone();
                all.push(at);
                Element::Array(*a, all)
            }
        }
    }
}

/// The vector whose extremum an operation finds, whether it is the least, and whether its position is wanted.
fn searched(op: &Op) -> Option<(Var, bool, bool)> {
    let Op::Prim(Prim::Reduction(reduction), args) = op else { return None };
    let (least, position) = match reduction {
        ReductionFn::Argmax => (false, true),
        ReductionFn::Argmin => (true, true),
        ReductionFn::Maximum => (false, false),
        ReductionFn::Minimum => (true, false),
        _ => return None,
    };
    Some((*args.first()?, least, position))
}

impl LoopAnalysis<'_> {
    /// After the analysis of the body: rows exist for one vector step, so there is a single stage.
    pub(super) fn end_rows(&mut self) {
        if self.p.rows.any() {
            self.p.calls_inside |= !self.p.calls.is_empty();
            self.p.calls.clear();
        } else {
            self.p.rows.hoisted.clear();
        }
    }

    /// Stores a row that an inner loop collects. Its length is the same whenever the loop runs, and not 0.
    fn stored(&mut self, row: Var, inner: usize) -> Option<usize> {
        if let Some(k) = self.p.rows.stored.iter().position(|(v, _)| *v == row) {
            return Some(k);
        }
        let trip = self.p.inner[inner].trip;
        if self.p.ints[trip].inner != 0 {
            return None;
        }
        let zero = self.node(Int::Lit(0))?;
        self.p.rows.bounds.push((zero, trip));
        self.p.rows.stored.push((row, inner));
        Some(self.p.rows.stored.len() - 1)
    }

    /// A vector, and its length.
    fn source(&mut self, row: Var) -> Option<(Source, Node)> {
        match self.class(row)? {
            VarClass::Row(inner) => Some((Source::Row(self.stored(row, inner)?), self.p.inner[inner].trip)),
            VarClass::Part(a, at) if at.len() + 1 == ValueForm::of(self.f.ty(self.p.arrays[a])).rank() => {
                let length = self.node(Int::Dim(a, at.len()))?;
                Some((Source::Array(a, at), length))
            }
            _ => None,
        }
    }

    /// Requires that an index is in bounds.
    fn require(&mut self, source: &Source, at: Node, length: Node) {
        match source.element(at) {
            Element::Row(..) => self.p.rows.bounds.push((at, length)),
            Element::Array(a, at) => self.p.reads.push((a, at)),
        }
    }

    /// The length of a row that an inner loop collects.
    pub(super) fn row_length(&mut self, row: Var, inner: usize) -> Option<VarClass> {
        self.stored(row, inner)?;
        Some(VarClass::Int(self.p.inner[inner].trip))
    }

    /// Classifies an element of a row that an inner loop collects.
    pub(super) fn row_element(&mut self, out: Var, (row, inner): (Var, usize), at: Node) -> Option<()> {
        if self.p.ints[at].step != Some(0) || *self.f.ty(out) != Ty::F64 {
            return None;
        }
        let k = self.stored(row, inner)?;
        self.p.rows.bounds.push((at, self.p.inner[inner].trip));
        self.p.rows.elements.insert(out, (k, at));
        self.p.classes.insert(out, VarClass::Float);
        Some(())
    }

    /// Classifies an element of a vector at the position of an extremum.
    pub(super) fn chosen(&mut self, out: Var, a: Var, at: Var) -> Option<()> {
        let VarClass::Position(below) = self.class(at)? else { return None };
        let (source, length) = self.source(a)?;
        let (zero, one) = (self.node(Int::Lit(0))?, self.node(Int::Lit(1))?);
        let last = self.node(Int::Sub(below, one))?;
        self.require(&source, last, length);
        self.p.rows.chosen.insert(out, (source.element(zero), at));
        self.p.classes.insert(out, VarClass::Float);
        Some(())
    }

    /// Classifies an extremum of a vector, or its position.
    pub(super) fn extremum(&mut self, op: &Op, out: Var, around: &Around) -> Option<VarClass> {
        let (row, least, position) = searched(op)?;
        let inner = self.p.inner.len();
        if *self.f.ty(row) != Ty::F64.array(1) || inner > INNER_LOOPS {
            return None;
        }
        let (source, length) = self.source(row)?;
        if self.p.ints[length].step != Some(0) {
            return None;
        }
        self.p.inner.push(Inner {
            name: out,
            trip: length,
            outer: around.loops.last().copied(),
            to: None,
            summed: Vec::new(),
            longest: i64::MAX,
            rows: RowUse { sum: false, add: false },
        });
        self.p.nested |= !around.loops.is_empty();
        let at = self.node(Int::Inner(inner))?;
        self.require(&source, at, length);
        let element = source.element(at);
        self.p.rows.extrema.insert(out, Extremum { element, inner, least, position });
        Some(if position { VarClass::Position(length) } else { VarClass::Float })
    }
}
