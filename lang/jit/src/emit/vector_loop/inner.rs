//! Analyses inner loops: what they carry and collect, and how long they may be.

use super::super::group::CHUNK;
use super::plan::{AccessIndices, EnclosingScopes, Int, LoopAnalysis, Node, VarClass};
use crate::limits::emit_vector_loop_plan::STRIDED;
use crate::limits::emit_vector_loop_rows as rows;
use adl_ir::{Block, Loop, Out, Stmt, Trip, Ty, Var};
use std::collections::HashSet;

/// An inner loop, whose trip count is the same in all iterations.
pub(super) struct Inner {
    /// The variable of its first result.
    pub name: Var,
    pub trip: Node,
    /// The inner loop that contains it.
    pub outer: Option<usize>,
    /// The array to which its collected row is added.
    pub to: Option<usize>,
    /// Collected rows that are only summed. In the kernel such a variable stands for the sum.
    pub summed: Vec<Var>,
    /// The largest trip count with which the outer loop is vectorised.
    pub longest: i64,
    /// What its rows may be used for.
    pub rows: RowUse,
}

/// What the rows of an inner loop may be used for, besides their elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct RowUse {
    pub sum: bool,
    pub add: bool,
}

impl LoopAnalysis<'_> {
    /// A sum of a row: as an inner loop collects it, if that goes upwards, or afterwards.
    pub(super) fn summed(&mut self, row: Var, out: Var, around: &EnclosingScopes) -> Option<VarClass> {
        let VarClass::Row(k) = self.class(row)? else { return None };
        let Some(inner) = self.collector(k).filter(|i| self.p.inner[*i].rows.sum) else {
            return self.sum_of_row(row, out, around);
        };
        let inner = &mut self.p.inner[inner];
        if !inner.summed.contains(&row) {
            inner.summed.push(row);
        }
        Some(VarClass::Float)
    }

    /// An inner loop that carries numbers or collects rows.
    pub(super) fn inner(&mut self, stmt: &Stmt, ir_loop: &Loop, around: &EnclosingScopes) -> Option<()> {
        let Trip::Count(trip_count) = ir_loop.trip else { return None };
        let outermost = around.loops.is_empty() && !around.arm;
        let rows = outermost && self.lowered;
        let numbers =
            ir_loop.init.iter().all(|v| *self.f.ty(*v) == Ty::F64 || rows && *self.f.ty(*v) == Ty::F64.array(1));
        let plain = ir_loop.lin_init.is_empty() && ir_loop.lin_xs.is_empty() && ir_loop.lin_outs.is_empty();
        if !numbers || !plain || self.p.inner.len() > rows::INNER_LOOPS {
            return None;
        }
        let trip = self.int(trip_count)?;
        if self.p.ints[trip].step != Some(0) {
            return None;
        }
        let position = self.p.inner.len();
        self.p.nested |= !around.loops.is_empty();
        self.p.rows.speculative |= around.arm;
        let add =
            ir_loop.outs[..] == [Out::Collect] && !ir_loop.init.is_empty() && around.loops.is_empty() && !around.arm;
        let rows = RowUse { sum: !ir_loop.reverse, add };
        let name = *stmt.outs.first()?;
        self.p.inner.push(Inner {
            name,
            trip,
            outer: around.loops.last().copied(),
            to: None,
            summed: Vec::new(),
            longest: i64::MAX,
            rows,
        });
        let mut index = self.node(Int::Inner(position))?;
        if ir_loop.reverse {
            let (one, first) = (self.node(Int::Lit(1))?, self.node(Int::Sub(trip, index))?);
            index = self.node(Int::Sub(first, one))?;
        }
        let (i, rest) = ir_loop.body.params.split_first()?;
        self.p.classes.insert(*i, VarClass::Int(index));
        let (carried, elems) = rest.split_at(ir_loop.init.len());
        carried.iter().zip(&ir_loop.init).try_for_each(|(v, init)| self.begin_carried(*v, *init, position))?;
        self.around |= 1 << position;
        self.elements(elems, &ir_loop.xs, index)?;
        let loops = around.loops.iter().copied().chain([position]).collect();
        self.block(&ir_loop.body, &EnclosingScopes { loops, arm: around.arm })?;
        self.around &= !(1 << position);
        let (last, rows) = ir_loop.body.results.split_at(ir_loop.init.len());
        for ((k, result), param) in last.iter().enumerate().zip(carried) {
            self.end_carried(*param, (*result, stmt.outs[k]), &ir_loop.body)?;
        }
        if !rows.iter().all(|r| self.is_float(*r) || outermost && self.f.ty(*r).rank() == 1) {
            return None;
        }
        self.inner_results(stmt, ir_loop, position, trip)
    }

    /// Classifies a number or row that an inner loop carries, before its body.
    fn begin_carried(&mut self, param: Var, init: Var, inner: usize) -> Option<()> {
        match self.class(init)? {
            VarClass::Float => _ = self.p.classes.insert(param, VarClass::Float),
            VarClass::Row(_) | VarClass::Part(..) => self.carried_row(param, init, inner)?,
            _ => return None,
        }
        Some(())
    }

    /// Classifies the result of a loop for what it carries.
    fn end_carried(&mut self, param: Var, (result, out): (Var, Var), body: &Block) -> Option<()> {
        if self.f.ty(result).rank() > 0 {
            return self.carried_result(param, (result, out), body);
        }
        self.is_float(result).then_some(())
    }

    /// Classifies the results of an inner loop.
    fn inner_results(&mut self, stmt: &Stmt, ir_loop: &Loop, position: usize, trip: Node) -> Option<()> {
        let kinds = std::iter::repeat_n(None, ir_loop.init.len()).chain(ir_loop.outs.iter().map(Some));
        for ((v, kind), result) in stmt.outs.iter().zip(kinds).zip(&ir_loop.body.results) {
            let class = match kind {
                Some(Out::Collect) if !self.is_float(*result) => self.table(*v, *result, position)?,
                Some(_) if !self.is_float(*result) => return None,
                None if self.p.classes.contains_key(v) => continue,
                None | Some(Out::Sum) => VarClass::Float,
                Some(Out::Collect) => self.collected(position),
                Some(Out::Boxed) => return None,
            };
            self.p.classes.insert(*v, class);
        }
        // The trip count as a result: the length of its rows.
        if let Some(count) = stmt.outs.get(ir_loop.init.len() + ir_loop.outs.len()) {
            let zero = self.node(Int::Lit(0))?;
            let length = self.node(Int::Max(trip, zero))?;
            self.p.classes.insert(*count, VarClass::Int(length));
        }
        Some(())
    }

    /// Whether the elements of subsequent iterations lie side by side, or are the same.
    pub(super) fn is_beside(&self, at: &AccessIndices) -> bool {
        let step = |n: &Node| self.p.ints[*n].step;
        let Some((last, rows)) = at.split_last() else { return false };
        matches!(step(last), Some(0 | 1)) && rows.iter().all(|n| step(n) == Some(0))
    }

    /// Bounds the trip counts of inner loops that sum rows. Their iterations are independent, so the inner loop itself
    /// could be vectorised instead. That is better for long loops, unless the elements of subsequent outer iterations
    /// lie side by side. `None` if the outer loop should not be vectorised at all.
    pub(super) fn bound_rows(&mut self) -> Option<()> {
        let loops = |at: &AccessIndices| at.iter().fold(0, |all, n| all | self.p.ints[*n].inner);
        let apart = self.p.reads.iter().filter(|(_, at)| !self.is_beside(at)).fold(0, |all, (_, at)| all | loops(at));
        let sums = self.p.inner.iter().any(|i| !i.summed.is_empty());
        if apart != 0 && sums && self.p.nested && (self.rereads || !self.lowered) {
            return None;
        }
        let stores = self.p.rows.any();
        if self.p.rows.speculative && !stores {
            return None;
        }
        let nests: HashSet<Node> = self.p.inner.iter().filter_map(|i| Some(self.p.inner[i.outer?].trip)).collect();
        let large = self.lowered && self.p.rows.hoisted.is_empty();
        for k in 0..self.p.inner.len() {
            let strided = if self.lowered { apart & 1 << k != 0 } else { apart != 0 };
            let longest = match (strided, stores) {
                (true, _) => STRIDED,
                // Each element takes the time of another loop.
                (false, true) if large && nests.contains(&self.p.inner[k].trip) => CHUNK,
                (false, true) => rows::LONGEST,
                (false, false) => CHUNK,
            };
            if stores || !self.p.inner[k].summed.is_empty() {
                self.p.inner[k].longest = longest;
            }
        }
        Some(())
    }
}
