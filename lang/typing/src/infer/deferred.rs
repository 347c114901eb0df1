//! Operator constraints whose operand types are not known yet, and when to retry them.
//!
//! A constraint watches the inference variables at the head of its types. Binding one of them wakes it; no other
//! constraint is examined, so that the time is linear in the length of a function. Constraints are numbered in order of
//! creation: those of a definition have numbers from its start on.
//!
//! Constraints that still wait when a function ends become part of its scheme, and each use decides them. Defaults
//! decide them for values that are not functions, and for operands that no use determines: these become numbers.

use super::Infer;
use super::op_constraints::OpConstraint;
use super::ops::Head;
use crate::errors::constraints;
use crate::limits::infer_deferred::{MAX_CONSTRAINTS, MAX_PASSED_ON};
use crate::ty::{Class, Ty};
use adl_prim::{ArrayFn, Bin, Prim, ReductionFn};
use adl_syntax::span::Span;
use std::collections::{HashMap, VecDeque};

/// The variables and operators that a function's type determines.
struct DeterminedVars {
    /// By inference variable: whether a use determines it.
    known: Vec<bool>,
    /// The operators whose operands a use determines, in dependency order.
    order: Vec<u32>,
    /// The operators with an operand that no use determines.
    left: Vec<u32>,
}

impl Infer<'_> {
    /// Adds a constraint and solves it if it can be.
    pub(super) fn operate(&mut self, prim: Prim, args: Vec<(Ty, Span)>, span: Span) -> Ty {
        let res = self.meta();
        self.operate_to(prim, args, res.clone(), span);
        res
    }

    /// Like `operate`, with a result type that is partly known.
    pub(super) fn operate_to(&mut self, prim: Prim, args: Vec<(Ty, Span)>, res: Ty, span: Span) {
        let op = OpConstraint { prim, args, res, span, inside: None };
        if !self.solve(&op, false) {
            self.defer_new(op);
        }
    }

    /// Stores a new operator that cannot be solved yet.
    pub(super) fn defer_new(&mut self, op: OpConstraint) {
        let id = self.ops.number();
        self.wait(id, op);
    }

    /// Stores an operator and watches its variables.
    fn wait(&mut self, id: u32, op: OpConstraint) {
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
        self.ops.ops.insert(id, op);
    }

    /// Solves all constraints that can be solved now.
    pub(super) fn solve_ops(&mut self) {
        while let Some(id) = self.ops.ready.pop_first() {
            adl_syntax::stop::poll();
            let Some(op) = self.ops.remove(id) else { continue };
            if !self.solve(&op, false) {
                self.wait(id, op);
            }
        }
    }

    /// Solves the constraints since `mark` whose types all belong to levels above `level`, by default if necessary.
    pub(super) fn settle_ops(&mut self, level: u32, mark: u32) {
        self.solve_ops();
        self.keep_outer(level, mark);
        let mut from = mark;
        loop {
            adl_syntax::stop::poll();
            let inner = |id: &u32| self.ops.ops.get(id).is_some_and(|op| self.is_inner(op, level));
            let Some(id) = self.ops.ops.range(from..).map(|(id, _)| *id).find(inner) else { return };
            from = id;
            self.vars.forget_met();
            self.force(id);
            self.solve_ops();
            if self.vars.has_met(level) {
                self.keep_outer(level, mark);
            }
        }
    }

    /// The operators since `mark` that an ending function of type `ty` leaves to its uses. `level` is the enclosing
    /// level.
    pub(super) fn defer_to_uses(&mut self, ty: &Ty, level: u32, mark: u32, span: Span) -> Vec<OpConstraint> {
        self.solve_ops();
        self.merge_equal(mark);
        let reach = loop {
            self.lower_determined(level, mark);
            let reach = self.reach(ty, level, mark);
            let Some(id) = reach.left.first() else { break reach };
            self.default_operands(*id, level, &reach.known);
            self.solve_ops();
        };
        let ops: Vec<OpConstraint> = reach.order.into_iter().filter_map(|id| self.ops.remove(id)).collect();
        let passed_on = ops.iter().filter(|op| op.inside.is_some()).count();
        for (n, most) in [(ops.len(), MAX_CONSTRAINTS), (passed_on, MAX_PASSED_ON)] {
            if n > most {
                self.report(constraints::too_many(span, most));
                return Vec::new();
            }
        }
        self.check_promised(ops)
    }

    /// Operands that no use determines default to numbers.
    fn default_operands(&mut self, id: u32, level: u32, known: &[bool]) {
        let Some(op) = self.ops.remove(id) else { return };
        if matches!(
            op.prim,
            Prim::Reduction(ReductionFn::MatMul)
                | Prim::Array(ArrayFn::Append | ArrayFn::Where | ArrayFn::Diag | ArrayFn::Stack)
        ) {
            self.solve(&op, true);
            return;
        }
        for (t, _) in &op.args {
            if self.unreached(t, level, known).is_some() {
                let bottom = self.bottom(t);
                let _ = self.has_class(Class::Num, &bottom, op.span, Self::op_name(op.prim));
                self.make_scalar(&bottom);
            }
        }
        if !self.solve(&op, false) {
            self.wait(id, op);
        }
    }

    /// The variables of a type.
    pub(super) fn metas_of(&self, t: &Ty) -> Vec<u32> {
        let mut out = Vec::new();
        super::map_type(
            &self.resolve_deep(t),
            &mut |t| {
                if let Ty::Meta(m) = t {
                    out.push(*m);
                }
                None
            },
            &mut |s| s,
        );
        out
    }

    /// Merges equal operations on equal operands. Numbers beside one operand are equal if the result has its type.
    fn merge_equal(&mut self, mark: u32) {
        let mut seen: HashMap<(Prim, Vec<Ty>), OpConstraint> = HashMap::new();
        let ids: Vec<u32> = self.ops.since(mark).map(|(id, _)| id).collect();
        for id in ids {
            let Some(op) = self.ops.ops.get(&id).cloned() else { continue };
            let args: Vec<Ty> = op.args.iter().map(|a| self.resolve_deep(&a.0)).collect();
            let numeral = |t: &Ty| self.is_numeral(&self.bottom(t));
            let told = match op.prim {
                Prim::Bin(Bin::Pow) => args.contains(&self.resolve_deep(&op.res)),
                Prim::Array(ArrayFn::Where) => !args[1..].iter().all(numeral),
                _ => !args.iter().all(numeral),
            };
            let key = (
                op.prim,
                args.iter()
                    .map(|t| if told && numeral(t) { self.with_leaf(t, &Ty::Unit) } else { t.clone() })
                    .collect(),
            );
            match seen.get(&key).cloned() {
                Some(first) => {
                    if first.types().zip(op.types()).all(|(a, b)| self.unify(a, b).is_ok()) {
                        self.ops.remove(id);
                    }
                }
                None => drop(seen.insert(key, op)),
            }
        }
    }

    /// Whether a type is that of a number that is still undetermined.
    fn is_numeral(&self, t: &Ty) -> bool {
        self.vars.is_scalar(t)
    }

    /// The result of outer operands belongs to the outer level, and so do literals among them.
    fn lower_determined(&mut self, level: u32, mark: u32) {
        loop {
            adl_syntax::stop::poll();
            let outer = |op: &OpConstraint| {
                let mut open = op.args.iter().filter(|a| self.is_open(&a.0)).peekable();
                open.peek().is_some()
                    && open.all(|a| !self.belongs(&a.0, level))
                    && op.types().any(|t| self.inner_meta(t, level).is_some())
            };
            let types: Vec<Ty> = self
                .ops
                .since(mark)
                .filter(|(_, op)| outer(op))
                .flat_map(|(_, op)| op.types().cloned().collect::<Vec<_>>())
                .collect();
            if types.is_empty() {
                return;
            }
            types.iter().for_each(|t| self.lower(t, level));
        }
    }

    /// Computes which operators the variables of a function's type determine.
    fn reach(&self, ty: &Ty, level: u32, mark: u32) -> DeterminedVars {
        let mut known = vec![false; self.vars.types() as usize];
        self.metas_of(ty).into_iter().for_each(|m| known[m as usize] = true);
        let ops: Vec<(u32, &OpConstraint)> =
            self.ops.since(mark).filter(|(_, op)| op.types().any(|t| self.inner_meta(t, level).is_some())).collect();
        let mut readers: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut missing = vec![0; ops.len()];
        let mut ready = VecDeque::new();
        for (k, (_, op)) in ops.iter().enumerate() {
            for (t, _) in &op.args {
                if let Some(m) = self.unreached(t, level, &known) {
                    readers.entry(m).or_default().push(k);
                    missing[k] += 1;
                }
            }
            if missing[k] == 0 {
                ready.push_back(k);
            }
        }
        let mut order = Vec::new();
        while let Some(k) = ready.pop_front() {
            order.push(ops[k].0);
            for m in ops[k].1.types().filter_map(|t| self.inner_meta(t, level)) {
                if !std::mem::replace(&mut known[m as usize], true) {
                    for r in readers.remove(&m).unwrap_or_default() {
                        missing[r] -= 1;
                        if missing[r] == 0 {
                            ready.push_back(r);
                        }
                    }
                }
            }
        }
        let left = ops.iter().zip(&missing).filter(|(_, n)| **n > 0).map(|((id, _), _)| *id).collect();
        DeterminedVars { known, order, left }
    }

    /// The variable of an operand of unknown rank that no use determines.
    fn unreached(&self, t: &Ty, level: u32, known: &[bool]) -> Option<u32> {
        let m = self.inner_meta(t, level).filter(|_| self.is_open(t))?;
        (!known.get(m as usize).copied().unwrap_or(false)).then_some(m)
    }

    /// Whether the rank of an operand is unknown.
    fn is_open(&self, t: &Ty) -> bool {
        self.head(t) == Head::Unknown
    }

    /// Whether an operand of unknown rank belongs to the ending definition.
    fn belongs(&self, t: &Ty, level: u32) -> bool {
        match self.bottom(t) {
            Ty::Meta(m) => self.vars[m].level > level,
            Ty::Var(v) => !self.scope_has(v),
            _ => false,
        }
    }

    /// The variable under the axes of a type, if its level is above `level`.
    fn inner_meta(&self, t: &Ty, level: u32) -> Option<u32> {
        match self.bottom(t) {
            Ty::Meta(m) if self.vars[m].level > level => Some(m),
            _ => None,
        }
    }

    /// Solves all waiting constraints, by default if necessary.
    pub(super) fn force_all(&mut self) {
        while let Some(id) = self.ops.ops.keys().next().copied() {
            self.force(id);
            self.solve_ops();
        }
    }

    fn force(&mut self, id: u32) {
        if let Some(op) = self.ops.remove(id) {
            self.solve(&op, true);
        }
    }

    /// Constraints that wait for outer types keep their variables from being generalised. This propagates to the
    /// constraints that wait for those.
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

    fn is_inner(&self, op: &OpConstraint, level: u32) -> bool {
        op.args.iter().map(|a| &a.0).chain([&op.res]).all(|t| self.least_level(t) > level)
    }

    fn least_level(&self, t: &Ty) -> u32 {
        match self.resolve(t) {
            Ty::Meta(m) => self.vars[m].level,
            Ty::Array(_, e) => self.least_level(&e),
            _ => u32::MAX,
        }
    }
}
