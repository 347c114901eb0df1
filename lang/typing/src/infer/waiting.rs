//! Operators whose operands' types are not known yet, and when to try them again.
//!
//! An operator watches the inference variables that its types begin with. Binding one wakes it; nothing else is looked at again, so that
//! a long function costs time in proportion to its length. Operators are numbered in the order in which they were met: those that belong
//! to a definition alone have numbers from its beginning on.
//!
//! What still waits when a definition ends is decided by default. First come operators beside an array: in `let a = -(g x) in v + dt * a`
//! the sum says that `a` is an array like `v`. Then products of matrices, whose operands are arrays at any rate: in `k @ (z - x)` the
//! difference is one. The rest follows in program order.

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
    /// What comes out is reduced, as in `sum (x * y)`: unknown factors are then taken for arrays of one shape.
    pub reduced: bool,
}

/// The operators that wait.
#[derive(Default)]
pub(super) struct Waiting {
    ops: BTreeMap<u32, Op>,
    /// By inference variable: who waits for it.
    watched: HashMap<u32, Vec<u32>>,
    ready: BTreeSet<u32>,
    /// Those that take an unknown operand for an array, because the other one is.
    telling: BTreeSet<u32>,
    products: BTreeSet<u32>,
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
        self.giver(meta, resolve).is_some()
    }

    /// The operator that waits and gives a variable.
    pub fn giver(&self, meta: u32, resolve: &dyn Fn(&Ty) -> Ty) -> Option<&Op> {
        let ids = self.watched.get(&meta).map_or(&[][..], Vec::as_slice);
        ids.iter().filter_map(|id| self.ops.get(id)).find(|op| resolve(&op.res) == Ty::Meta(meta))
    }

    /// The operators that wait for a variable as their operand, with its place among the operands.
    pub fn operands_of<'a>(&'a self, meta: u32, resolve: &'a dyn Fn(&Ty) -> Ty) -> impl Iterator<Item = (Prim, usize)> + 'a {
        let ids = self.watched.get(&meta).map_or(&[][..], Vec::as_slice);
        let ops = ids.iter().filter_map(|id| self.ops.get(id));
        ops.flat_map(move |op| op.args.iter().enumerate().filter(move |(_, a)| resolve(&a.0) == Ty::Meta(meta)).map(|(i, _)| (op.prim, i)))
    }

    /// The operators that wait for a variable as their operand.
    pub fn readers(&self, meta: u32, resolve: &dyn Fn(&Ty) -> Ty) -> Vec<Prim> {
        let ids = self.watched.get(&meta).map_or(&[][..], Vec::as_slice);
        let reads = |op: &&Op| op.args.iter().any(|a| resolve(&a.0) == Ty::Meta(meta));
        ids.iter().filter_map(|id| self.ops.get(id)).filter(reads).map(|op| op.prim).collect()
    }

    /// The operator that waits and gives exactly a type whose innermost part is a variable.
    fn maker(&self, meta: u32, made: &Ty, resolve: &dyn Fn(&Ty) -> Ty) -> Option<u32> {
        let ids = self.watched.get(&meta)?;
        ids.iter().copied().find(|id| self.ops.get(id).is_some_and(|op| resolve(&op.res) == *made))
    }

    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The number of an operator that is met now.
    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn remove(&mut self, id: u32) -> Option<Op> {
        self.telling.remove(&id);
        self.products.remove(&id);
        self.ops.remove(&id)
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
        let op = Op { prim, args, res, span, reduced: false };
        if !self.solve(&op, false) {
            let id = self.ops.number();
            self.wait(id, op);
        }
    }

    /// Keeps an operator until what it waits for is known.
    fn wait(&mut self, id: u32, op: Op) {
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
        if self.tells(&op) {
            self.ops.telling.insert(id);
        }
        if op.prim == Prim::MatMul {
            self.ops.products.insert(id);
        }
        self.ops.ops.insert(id, op);
    }

    /// Says of the operators that wait and make `t`, an array that is reduced, that they do.
    pub(super) fn mark_reduced(&mut self, t: &Ty) {
        let mut left = vec![self.resolve_deep(t)];
        while let Some(t) = left.pop() {
            let Ty::Meta(m) = self.bottom(&t) else { continue };
            let Some(id) = self.ops.maker(m, &t, &|t| self.resolve_deep(t)) else { continue };
            let Some(op) = self.ops.ops.get_mut(&id).filter(|op| !op.reduced) else { continue };
            op.reduced = true;
            let kept = match op.prim {
                Prim::MatMul | Prim::Append | Prim::Reshape => 0,
                // An exponent and a divisor of remainders are numbers.
                Prim::Pow | Prim::PowInt | Prim::Rem => 1,
                _ => op.args.len(),
            };
            let operands: Vec<Ty> = op.args[..kept].iter().map(|a| a.0.clone()).collect();
            left.extend(operands.iter().map(|t| self.resolve_deep(t)));
        }
    }

    /// Solves what can be solved by now.
    pub(super) fn solve_ops(&mut self) {
        while let Some(id) = self.ops.ready.pop_first() {
            let Some(op) = self.ops.remove(id) else { continue };
            if !self.solve(&op, false) {
                self.wait(id, op);
            }
        }
    }

    /// Solves the constraints since `mark` all of whose types belong to levels above `level`, by default where they must.
    pub(super) fn settle_ops(&mut self, level: u32, mark: u32) {
        self.solve_ops();
        self.keep_outer(level, mark);
        let mut from = mark;
        loop {
            let inner = |id: &u32| self.ops.ops.get(id).is_some_and(|op| self.is_inner(op, level));
            let first = self.ops.telling.range(mark..).chain(self.ops.products.range(mark..)).copied().find(inner);
            let Some(id) = first.or_else(|| self.ops.ops.range(from..).map(|(id, _)| *id).find(inner)) else { return };
            if first.is_none() {
                from = id;
            }
            self.met_at = u32::MAX;
            self.force(id);
            self.solve_ops();
            if self.met_at <= level {
                self.keep_outer(level, mark);
            }
        }
    }

    /// Decides everything that still waits.
    pub(super) fn force_all(&mut self) {
        while let Some(id) = self.ops.telling.first().or(self.ops.products.first()).or(self.ops.ops.keys().next()).copied() {
            self.force(id);
            self.solve_ops();
        }
    }

    fn force(&mut self, id: u32) {
        if let Some(op) = self.ops.remove(id) {
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
