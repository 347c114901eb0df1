//! Rows of an iteration: numbers that an inner loop collects, that an array literal lists, that a branch chooses, or to
//! which a number is added, and whose elements another inner loop, a reduction, an index or an output reads.
//!
//! Such a row is stored in scratch memory, element by element, with the numbers of all iterations of a vector step side
//! by side. So a row of any length is read and written by whole vectors. A row that a branch chooses is not stored: its
//! reader chooses between the elements of both arms. The position of an extremum differs from iteration to iteration:
//! it is kept as a Float, which is exact, and an element at it is loaded for each iteration.

use super::super::extrema::searched;
use super::inner::{Inner, RowUse};
use super::plan::{AccessIndices, EnclosingScopes, Int, LoopAnalysis, Node, VarClass, VarFact, uses};
use super::row_calls::RowCalls;
use crate::handle::ValueForm;
use crate::limits::emit_vector_loop_rows::{INNER_LOOPS, STORED};
use adl_ir::{Block, Cmp, Op, Stmt, Ty, Var};
use std::collections::HashMap;

/// An element of a row.
#[derive(Clone, Debug)]
pub(super) enum Element {
    /// Of a stored row.
    Row(usize, Node),
    /// Of an array bound outside.
    Array(usize, AccessIndices),
    /// Of the row of a matrix at a position, at an index.
    At(usize, Var, Node),
    /// Of the row that a branch chooses by a Bool.
    Either(Var, Box<[Element; 2]>),
    /// Of a symbolic zero.
    Zero,
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

/// An element of a row for each index of an inner loop.
pub(super) struct RowLoop {
    pub element: Element,
    pub inner: usize,
}

/// Rows that an inner loop collects.
pub(super) struct Table {
    /// The row of an iteration of the inner loop.
    pub row: RowLoop,
    pub inner: usize,
    /// The array to which they are added.
    pub to: Option<usize>,
}

/// A row that an inner loop carries. It is stored.
pub(super) struct CarriedRow {
    param: Var,
    length: Node,
    pub row: usize,
    pub inner: usize,
    /// The row before the first iteration.
    pub start: RowLoop,
    /// What an iteration makes of it, unless that is stored in its place.
    pub next: Option<RowLoop>,
}

/// A row with a number added at an index.
pub(super) struct RowAdd {
    /// The elements to copy to the stored row first. `None` if it is the row itself.
    pub copied: Option<RowLoop>,
    pub row: usize,
    pub at: Var,
    pub number: Var,
}

/// The rows of a vectorised loop.
#[derive(Default)]
pub(super) struct RowReads {
    all: Vec<IterationRow>,
    /// The lengths of stored rows.
    pub stored: Vec<Node>,
    /// The stored rows that inner loops collect, with these loops.
    pub collected: Vec<(Var, usize, usize)>,
    /// The stored rows that array literals list.
    pub listed: HashMap<Var, usize>,
    /// Elements of rows, at indices that are the same in all iterations.
    pub elements: HashMap<Var, Element>,
    /// Extrema and positions of extrema.
    pub extrema: HashMap<Var, Extremum>,
    /// Elements at a position, with the first element of the row and the position.
    pub chosen: HashMap<Var, (Element, Var)>,
    /// Rows with a number added.
    pub added: HashMap<Var, RowAdd>,
    /// Sums of stored rows.
    pub sums: HashMap<Var, RowLoop>,
    /// Accumulated arrays to which a row is added, with the row and the index in the array, if it is a matrix.
    pub accumulated: HashMap<Var, (RowLoop, Option<Var>)>,
    pub tables: Vec<Table>,
    pub carried: Vec<CarriedRow>,
    /// Indices, and the lengths that they must be below.
    pub bounds: Vec<(Node, Node)>,
    /// Functions in inner loops whose arguments are the same in all iterations, with these loops.
    pub hoisted: Vec<(Var, usize)>,
    /// The functions of inner loops that are called on rows.
    pub calls: HashMap<usize, RowCalls>,
    /// Their results, with the inner loop and the stored row.
    pub called: HashMap<Var, (usize, usize)>,
    /// Whether branches contain inner loops.
    pub speculative: bool,
}

impl RowReads {
    /// Whether any row is read.
    pub fn any(&self) -> bool {
        !self.stored.is_empty() || !self.extrema.is_empty() || !self.tables.is_empty()
    }
}

/// A row of an iteration.
struct IterationRow {
    length: Node,
    /// The inner loop that collects it.
    inner: Option<usize>,
    /// How its elements are read, once they are.
    source: Option<RowSource>,
    /// The innermost inner loop around it.
    outer: Option<usize>,
}

/// A row whose elements can be read: stored, an array or subarray bound outside, or chosen.
#[derive(Clone)]
pub(super) enum RowSource {
    Row(usize),
    Array(usize, AccessIndices),
    Either(Var, Box<[RowSource; 2]>),
    Zero,
}

impl RowSource {
    pub fn element(&self, at: Node) -> Element {
        match self {
            RowSource::Row(k) => Element::Row(*k, at),
            RowSource::Array(a, before) => {
                let mut all = before.clone();
                all.push(at);
                Element::Array(*a, all)
            }
            RowSource::Either(c, arms) => Element::Either(*c, Box::new(arms.each_ref().map(|s| s.element(at)))),
            RowSource::Zero => Element::Zero,
        }
    }
}

impl LoopAnalysis<'_> {
    /// After the analysis of the body: rows exist for one vector step, so there is a single stage.
    pub(super) fn end_rows(&mut self) {
        if self.p.rows.any() || self.lowered && self.p.calls_inside {
            self.p.calls_inside |= !self.p.calls.is_empty();
            self.p.calls.clear();
            self.row_calls(self.body);
        } else {
            self.p.rows.hoisted.clear();
        }
    }

    fn row(&mut self, row: IterationRow) -> VarClass {
        self.p.rows.all.push(row);
        VarClass::Row(self.p.rows.all.len() - 1)
    }

    /// Classifies a row that an inner loop collects.
    pub(super) fn collected(&mut self, inner: usize) -> VarClass {
        let Inner { trip: length, outer, .. } = self.p.inner[inner];
        self.row(IterationRow { length, inner: Some(inner), source: None, outer })
    }

    /// Classifies a row that an array literal lists.
    pub(super) fn listed(&mut self, elems: &[Var], out: Var, around: &EnclosingScopes) -> Option<VarClass> {
        if *self.f.ty(out) != Ty::F64.array(1) || !elems.iter().all(|v| self.is_float(*v)) {
            return None;
        }
        let length = self.node(Int::Lit(elems.len() as i64))?;
        let row = self.room(length)?;
        self.p.rows.listed.insert(out, row);
        let source = Some(RowSource::Row(row));
        Some(self.row(IterationRow { length, inner: None, source, outer: around.loops.last().copied() }))
    }

    /// The inner loop that collects a row.
    pub(super) fn collector(&self, row: usize) -> Option<usize> {
        self.p.rows.all[row].inner
    }

    /// Room for a row in scratch memory. Its length is the same in all iterations, and not 0.
    pub(super) fn room(&mut self, length: Node) -> Option<usize> {
        let info = &self.p.ints[length];
        if info.inner != 0 || info.step != Some(0) || self.p.rows.stored.len() == STORED {
            return None;
        }
        let zero = self.node(Int::Lit(0))?;
        self.p.rows.bounds.push((zero, length));
        self.p.rows.stored.push(length);
        Some(self.p.rows.stored.len() - 1)
    }

    /// How the elements of a vector are read, and its length. A row that an inner loop collects is stored.
    fn source(&mut self, row: Var) -> Option<(RowSource, Node)> {
        match self.class(row)? {
            VarClass::Row(k) => {
                let (length, source) = (self.p.rows.all[k].length, self.p.rows.all[k].source.clone());
                if let Some(source) = source {
                    return Some((source, length));
                }
                let (stored, inner) = (self.room(length)?, self.p.rows.all[k].inner?);
                self.p.rows.collected.push((row, inner, stored));
                self.p.rows.all[k].source = Some(RowSource::Row(stored));
                Some((RowSource::Row(stored), length))
            }
            VarClass::Part(a, at)
                if *self.f.ty(row) == Ty::F64.array(1)
                    && at.len() + 1 == ValueForm::of(self.f.ty(self.p.arrays[a])).rank() =>
            {
                let length = self.node(Int::Dim(a, at.len()))?;
                Some((RowSource::Array(a, at), length))
            }
            _ => None,
        }
    }

    /// Requires that an index is in bounds.
    fn require(&mut self, source: &RowSource, at: Node, length: Node) {
        match source {
            RowSource::Row(_) | RowSource::Zero => self.p.rows.bounds.push((at, length)),
            RowSource::Array(a, before) => {
                let mut all = before.clone();
                all.push(at);
                self.p.reads.push((*a, all));
            }
            RowSource::Either(_, arms) => arms.iter().for_each(|s| self.require(s, at, length)),
        }
    }

    /// An inner loop over the indices of a row.
    fn row_loop(&mut self, name: Var, length: Node, outer: Option<usize>) -> Option<usize> {
        if self.p.inner.len() > INNER_LOOPS || self.p.ints[length].step != Some(0) {
            return None;
        }
        self.p.inner.push(Inner {
            name,
            trip: length,
            outer,
            to: None,
            summed: Vec::new(),
            longest: i64::MAX,
            rows: RowUse { sum: false, add: false },
        });
        self.p.nested |= outer.is_some();
        Some(self.p.inner.len() - 1)
    }

    /// The elements of a row, for each index.
    fn each(&mut self, name: Var, (source, length): (&RowSource, Node), outer: Option<usize>) -> Option<RowLoop> {
        let inner = self.row_loop(name, length, outer)?;
        let at = self.node(Int::Inner(inner))?;
        self.require(source, at, length);
        Some(RowLoop { element: source.element(at), inner })
    }

    /// The length of a row.
    pub(super) fn row_length(&mut self, row: Var) -> Option<VarClass> {
        let (_, length) = self.source(row)?;
        Some(VarClass::Int(length))
    }

    /// Classifies an element of a row.
    pub(super) fn row_element(&mut self, out: Var, row: Var, at: Node) -> Option<()> {
        if self.p.ints[at].step != Some(0) || *self.f.ty(out) != Ty::F64 {
            return None;
        }
        let (source, length) = self.source(row)?;
        self.require(&source, at, length);
        self.p.rows.elements.insert(out, source.element(at));
        self.p.classes.insert(out, VarClass::Float);
        Some(())
    }

    /// Classifies an element of a vector at the position of an extremum.
    pub(super) fn chosen(&mut self, out: Var, a: Var, at: Var) -> Option<()> {
        let VarClass::Position(below) = self.class(at)? else { return None };
        let (source, length) = self.source(a)?;
        let (zero, last) = (self.node(Int::Lit(0))?, self.last(below)?);
        self.require(&source, last, length);
        self.p.rows.chosen.insert(out, (source.element(zero), at));
        self.p.classes.insert(out, VarClass::Float);
        Some(())
    }

    /// Classifies an element of the row of a matrix at a position.
    pub(super) fn at_position(&mut self, out: Var, a: usize, position: Var, at: Node) -> Option<()> {
        let VarClass::Position(below) = self.class(position)? else { return None };
        if self.p.ints[at].step != Some(0) || *self.f.ty(out) != Ty::F64 {
            return None;
        }
        let last = self.last(below)?;
        self.p.reads.push((a, [last, at].into_iter().collect()));
        self.p.rows.elements.insert(out, Element::At(a, position, at));
        self.p.classes.insert(out, VarClass::Float);
        Some(())
    }

    /// The largest position below a bound.
    fn last(&mut self, below: Node) -> Option<Node> {
        let one = self.node(Int::Lit(1))?;
        self.node(Int::Sub(below, one))
    }

    /// Classifies an extremum of a vector, or its position.
    pub(super) fn extremum(&mut self, op: &Op, out: Var, around: &EnclosingScopes) -> Option<VarClass> {
        let (row, least, position) = searched(op)?;
        if *self.f.ty(row) != Ty::F64.array(1) {
            return None;
        }
        let (source, length) = self.source(row)?;
        let RowLoop { element, inner } = self.each(out, (&source, length), around.loops.last().copied())?;
        self.p.rows.extrema.insert(out, Extremum { element, inner, least, position });
        Some(if position { VarClass::Position(length) } else { VarClass::Float })
    }

    /// Classifies the sum of a row after it has been made.
    pub(super) fn sum_of_row(&mut self, row: Var, out: Var, around: &EnclosingScopes) -> Option<VarClass> {
        let (source, length) = self.source(row)?;
        let each = self.each(out, (&source, length), around.loops.last().copied())?;
        self.p.rows.sums.insert(out, each);
        Some(VarClass::Float)
    }

    /// Classifies the row that a branch chooses from its arms by a Bool.
    pub(super) fn either(
        &mut self,
        out: Var,
        condition: Var,
        arms: [Var; 2],
        around: &EnclosingScopes,
    ) -> Option<VarClass> {
        if *self.f.ty(out) != Ty::F64.array(1) {
            return None;
        }
        let mut lengths = Vec::new();
        let sources = arms.map(|v| {
            if self.class(v)? == VarClass::Zero {
                return Some(RowSource::Zero);
            }
            let (source, length) = self.source(v)?;
            lengths.push(length);
            Some(source)
        });
        let [Some(x), Some(y)] = sources else { return None };
        let Some(length) = lengths.first().copied() else { return Some(VarClass::Zero) };
        if let Some(other) = lengths.get(1).filter(|n| **n != length) {
            if [length, *other].iter().any(|n| self.p.ints[*n].step != Some(0) || self.p.ints[*n].inner != 0) {
                return None;
            }
            self.p.checks.ints.push((Cmp::Eq, length, *other));
        }
        let source = Some(RowSource::Either(condition, Box::new([x, y])));
        Some(self.row(IterationRow { length, inner: None, source, outer: around.loops.last().copied() }))
    }

    /// Classifies the position that a branch chooses. `None` if both arms give the same Int, or one is not a position.
    pub(super) fn either_position(&mut self, arms: [&VarClass; 2]) -> Option<VarClass> {
        let one = self.node(Int::Lit(1))?;
        let mut below = |class: &VarClass| match class {
            VarClass::Position(below) => Some(*below),
            VarClass::Int(n) if matches!(self.p.ints[*n].op, Int::Lit(0..)) => self.node(Int::Add(*n, one)),
            _ => None,
        };
        let [x, y] = [below(arms[0])?, below(arms[1])?];
        Some(VarClass::Position(if x == y { x } else { self.node(Int::Max(x, y))? }))
    }

    /// Classifies a row with a number added at an index or position.
    pub(super) fn row_add(
        &mut self,
        out: Var,
        acc: Var,
        (at, number, shape): (&[Var], Var, Option<Var>),
        around: &EnclosingScopes,
    ) -> Option<VarClass> {
        let ([at], outer) = (at, around.loops.last().copied()) else { return None };
        if *self.f.ty(out) != Ty::F64.array(1) || !self.is_float(number) {
            return None;
        }
        let (source, length) = match self.class(acc)? {
            VarClass::Zero => (RowSource::Zero, self.first_extent(shape?)?),
            _ => self.source(acc)?,
        };
        let last = match self.class(*at)? {
            VarClass::Position(below) => self.last(below)?,
            VarClass::Int(n) if self.is_exact(n) => n,
            _ => return None,
        };
        self.p.rows.bounds.push((last, length));
        // If nothing else reads the row, the number is added in place.
        let own = match (&source, self.class(acc)?) {
            (RowSource::Row(k), VarClass::Row(row)) => {
                (self.p.rows.all[row].outer == outer && uses(self.body, acc) == 1).then_some(*k)
            }
            _ => None,
        };
        let (row, copied) = match own {
            Some(k) => (k, None),
            None => (self.room(length)?, Some(self.each(out, (&source, length), outer)?)),
        };
        self.p.rows.added.insert(out, RowAdd { copied, row, at: *at, number });
        Some(self.row(IterationRow { length, inner: None, source: Some(RowSource::Row(row)), outer }))
    }

    /// The first extent in an array of extents that is bound outside.
    fn first_extent(&mut self, shape: Var) -> Option<Node> {
        let VarFact::Array(extents) = self.known(shape)? else { return None };
        let first = *extents.first()?;
        self.int(first)
    }

    /// Adds a row to an accumulated array, after the row has been made.
    pub(super) fn accumulate(&mut self, sum: usize, row: Var, out: Var, around: &EnclosingScopes) -> Option<VarClass> {
        let (source, length) = self.source(row)?;
        if !around.loops.is_empty() || around.arm || !matches!(source, RowSource::Row(_) | RowSource::Either(..)) {
            return None;
        }
        let each = self.each(out, (&source, length), None)?;
        let sum_of = &mut self.p.sums[sum];
        sum_of.latest = out;
        sum_of.extents.push(each.inner);
        self.p.rows.accumulated.insert(out, (each, None));
        self.p.sequential = true;
        Some(VarClass::Sum(sum))
    }

    /// Adds a row to the row of an accumulated matrix at an index or position, after the row has been made.
    pub(super) fn accumulate_at(
        &mut self,
        (sum, acc, at, shape): (usize, Var, Var, Option<Var>),
        row: Var,
        out: Var,
        around: &EnclosingScopes,
    ) -> Option<VarClass> {
        let (source, length) = self.source(row)?;
        let known = shape.is_some_and(|v| self.p.classes.contains_key(&v));
        let loop_sum = &self.p.sums[sum];
        let first = loop_sum.latest == acc
            && loop_sum.adds.is_empty()
            && loop_sum.extents.is_empty()
            && self.f.ty(acc).rank() == 2;
        if !first || known || !around.loops.is_empty() || around.arm || *self.f.ty(row) != Ty::F64.array(1) {
            return None;
        }
        let each = self.each(out, (&source, length), None)?;
        let index = match self.class(at)? {
            VarClass::Position(below) => self.last(below)?,
            VarClass::Int(n) => n,
            _ => return None,
        };
        let column = self.node(Int::Inner(each.inner))?;
        let s = &mut self.p.sums[sum];
        (s.latest, s.shape) = (out, shape);
        s.extents.push(each.inner);
        s.adds.push(([index, column].into_iter().collect(), vec![each.inner]));
        self.p.rows.accumulated.insert(out, (each, Some(at)));
        Some(VarClass::Sum(sum))
    }

    /// Classifies a row that an inner loop carries, before its body.
    pub(super) fn carried_row(&mut self, param: Var, init: Var, inner: usize) -> Option<()> {
        let (source, length) = self.source(init)?;
        let row = self.room(length)?;
        let start = self.each(param, (&source, length), None)?;
        let class =
            self.row(IterationRow { length, inner: None, source: Some(RowSource::Row(row)), outer: Some(inner) });
        self.p.classes.insert(param, class);
        self.p.rows.carried.push(CarriedRow { param, length, row, inner, start, next: None });
        Some(())
    }

    /// Classifies the result of a loop for a row that it carries. A row that a loop makes of the elements at the same
    /// indices, and of no others, takes its place.
    pub(super) fn carried_result(&mut self, param: Var, (result, out): (Var, Var), body: &Block) -> Option<()> {
        let (VarClass::Row(result_row), at) =
            (self.class(result)?, self.p.rows.carried.iter().position(|c| c.param == param)?)
        else {
            return None;
        };
        let CarriedRow { length, row, inner, .. } = self.p.rows.carried[at];
        let by = |s: &Stmt| matches!(&s.op, Op::Loop(l) if l.xs.contains(&param) && s.outs.contains(&result));
        if let (Some(maker), None) = (self.p.rows.all[result_row].inner, &self.p.rows.all[result_row].source)
            && uses(body, param) == 1
            && body.stmts.iter().any(by)
        {
            self.p.rows.collected.push((result, maker, row));
            self.p.rows.all[result_row].source = Some(RowSource::Row(row));
        }
        let (source, other) = self.source(result)?;
        if other != length {
            if self.p.ints[other].step != Some(0) || self.p.ints[other].inner != 0 {
                return None;
            }
            self.p.checks.ints.push((Cmp::Eq, length, other));
        }
        if !matches!(source, RowSource::Row(k) if k == row) {
            self.p.rows.carried[at].next = Some(self.each(result, (&source, length), Some(inner))?);
        }
        let class = self.row(IterationRow { length, inner: None, source: Some(RowSource::Row(row)), outer: None });
        self.p.classes.insert(out, class);
        Some(())
    }

    /// Classifies the rows that an inner loop collects.
    pub(super) fn table(&mut self, out: Var, row: Var, inner: usize) -> Option<VarClass> {
        let (source, length) = self.source(row)?;
        if self.p.ints[length].inner != 0 {
            return None;
        }
        let row = self.each(out, (&source, length), Some(inner))?;
        let zero = self.node(Int::Lit(0))?;
        self.p.rows.bounds.push((zero, self.p.inner[inner].trip));
        self.p.rows.bounds.push((zero, length));
        self.p.rows.tables.push(Table { row, inner, to: None });
        Some(VarClass::Table(self.p.rows.tables.len() - 1))
    }

    /// Adds the rows that an inner loop collects to an accumulated matrix.
    pub(super) fn add_table(&mut self, sum: usize, acc: Var, table: usize, out: Var) -> Option<VarClass> {
        let (s, t) = (&mut self.p.sums[sum], &mut self.p.rows.tables[table]);
        if s.latest != acc || !s.extents.is_empty() || !s.adds.is_empty() || t.to.is_some() {
            return None;
        }
        s.latest = out;
        s.extents.extend([t.inner, t.row.inner]);
        t.to = Some(sum);
        self.p.sequential = true;
        Some(VarClass::Sum(sum))
    }

    /// The elements of a row that the loop collects.
    pub(super) fn output(&mut self, row: Var) -> Option<RowLoop> {
        if *self.f.ty(row) != Ty::F64.array(1) {
            return None;
        }
        let (source, length) = self.source(row)?;
        if self.p.ints[length].inner != 0 {
            return None;
        }
        self.each(row, (&source, length), None)
    }
}
