//! Operators whose operands' types are not known yet, and when to try them again.
//!
//! An operator watches the inference variables that its types begin with. Binding one wakes it; nothing else is looked at again, so that
//! a long function costs time in proportion to its length. Operators are numbered in the order in which they were met: those that belong
//! to a definition alone have numbers from its beginning on.

use super::Infer;
use crate::ty::Ty;
use adl_prim::Prim;
use adl_syntax::span::Span;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// `op` applied to `args` gives `res`.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub prim: Prim,
    pub args: Vec<(Ty, Span)>,
    pub res: Ty,
    pub span: Span,
}

/// The operators that wait.
#[derive(Default)]
pub(super) struct Waiting {
    ops: BTreeMap<u32, Op>,
    /// By inference variable: who waits for it.
    watched: HashMap<u32, Vec<u32>>,
    ready: BTreeSet<u32>,
    next: u32,
}

impl Waiting {
    /// A variable was bound or became a number.
    pub fn wake(&mut self, meta: u32) {
        if let Some(ids) = self.watched.remove(&meta) {
            self.ready.extend(ids);
        }
    }

    /// The number of the next operator.
    pub fn mark(&self) -> u32 {
        self.next
    }

    /// Whether a variable is the result of an operator that waits.
    pub fn gives(&self, meta: u32, resolve: &dyn Fn(&Ty) -> Ty) -> bool {
        let ids = self.watched.get(&meta).map_or(&[][..], Vec::as_slice);
        ids.iter().filter_map(|id| self.ops.get(id)).any(|op| resolve(&op.res) == Ty::Meta(meta))
    }

    /// The operators that wait for a variable as their operand.
    pub fn readers(&self, meta: u32, resolve: &dyn Fn(&Ty) -> Ty) -> Vec<Prim> {
        let ids = self.watched.get(&meta).map_or(&[][..], Vec::as_slice);
        let reads = |op: &&Op| op.args.iter().any(|a| resolve(&a.0) == Ty::Meta(meta));
        ids.iter().filter_map(|id| self.ops.get(id)).filter(reads).map(|op| op.prim).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    fn add(&mut self, op: Op) -> u32 {
        self.next += 1;
        self.ops.insert(self.next - 1, op);
        self.next - 1
    }
}

impl Infer<'_> {
    /// Adds a constraint and solves it if it can be.
    pub(super) fn operate(&mut self, prim: Prim, args: Vec<(Ty, Span)>, span: Span) -> Ty {
        let res = self.meta();
        self.operate_to(prim, args, res.clone(), span);
        res
    }

    /// The same with a result that is known in part.
    pub(super) fn operate_to(&mut self, prim: Prim, args: Vec<(Ty, Span)>, res: Ty, span: Span) {
        let op = Op { prim, args, res, span };
        if !self.solve(&op, false) {
            let id = self.ops.add(op);
            self.watch(id);
        }
    }

    fn watch(&mut self, id: u32) {
        let Some(op) = self.ops.ops.get(&id) else { return };
        let mut metas = Vec::new();
        for t in op.args.iter().map(|a| &a.0).chain([&op.res]) {
            let mut t = self.resolve(t);
            while let Ty::Array(_, e) = t {
                t = self.resolve(&e);
            }
            if let Ty::Meta(m) = t {
                metas.push(m);
            }
        }
        for m in metas {
            let list = self.ops.watched.entry(m).or_default();
            if list.last() != Some(&id) {
                list.push(id);
            }
        }
    }

    /// Solves what can be solved by now.
    pub(super) fn solve_ops(&mut self) {
        while let Some(id) = self.ops.ready.pop_first() {
            let Some(op) = self.ops.ops.remove(&id) else { continue };
            if !self.solve(&op, false) {
                self.ops.ops.insert(id, op);
                self.watch(id);
            }
        }
    }

    /// Solves the constraints since `mark` all of whose types belong to levels above `level`, by default where they must.
    pub(super) fn settle_ops(&mut self, level: u32, mark: u32) {
        self.solve_ops();
        self.keep_outer(level, mark);
        let mut from = mark;
        while let Some(id) = self.ops.ops.range(from..).find(|(_, op)| self.is_inner(op, level)).map(|(id, _)| *id) {
            from = id;
            self.force(id);
            self.solve_ops();
            self.keep_outer(level, mark);
        }
    }

    /// Decides everything that still waits.
    pub(super) fn force_all(&mut self) {
        while let Some(id) = self.ops.ops.keys().next().copied() {
            self.force(id);
            self.solve_ops();
        }
    }

    fn force(&mut self, id: u32) {
        if let Some(op) = self.ops.ops.remove(&id) {
            self.solve(&op, true);
        }
    }

    /// What waits for outer types keeps its own from being generalised, and what waits for those in turn.
    fn keep_outer(&mut self, level: u32, mark: u32) {
        loop {
            let mut lowered: Vec<Ty> = Vec::new();
            for op in self.ops.ops.range(mark..).map(|(_, op)| op) {
                let levels = || op.args.iter().map(|a| &a.0).chain([&op.res]).map(|t| self.least_level(t));
                if levels().any(|l| l <= level) && levels().any(|l| l > level && l != u32::MAX) {
                    lowered.extend(op.args.iter().map(|a| a.0.clone()).chain([op.res.clone()]));
                }
            }
            if lowered.is_empty() {
                return;
            }
            lowered.iter().for_each(|t| self.lower(t, level));
        }
    }

    fn is_inner(&self, op: &Op, level: u32) -> bool {
        op.args.iter().map(|a| &a.0).chain([&op.res]).all(|t| self.least_level(t) > level)
    }

    fn least_level(&self, t: &Ty) -> u32 {
        match self.resolve(t) {
            Ty::Meta(m) => self.metas[m as usize].level,
            Ty::Array(_, e) => self.least_level(&e),
            _ => u32::MAX,
        }
    }
}
