//! Which arrays may be symbolic zeros.

use super::{AxisExtent, ResultForm, ShapeAnalysis, ShapeForm, Tracked};
use adl_ir::shape_rule::Shapes;
use adl_ir::{Loop, Op, Stmt, Ty, Var};
use adl_prim::Bin;
use std::collections::BTreeSet;

impl ShapeAnalysis<'_> {
    /// Records which results of a statement without nested blocks may be symbolic zeros.
    pub(super) fn note_symbolic_zeros(&mut self, s: &Stmt) {
        match (&s.op, self.returned) {
            (Op::Call { f, .. }, Some(returned)) => {
                self.may_be_symbolic_zeros(s.outs.iter().enumerate().filter(|(k, _)| returned(*f, *k)).map(|(_, v)| v));
            }
            (op, _) if self.zeros != Tracked::No && self.makes_zero(op, &s.outs) => self.may_be_symbolic_zeros(&s.outs),
            _ => {}
        }
    }

    /// Records that the arrays among these variables may be symbolic zeros, and that data may contain some.
    pub(super) fn may_be_symbolic_zeros<'v>(&mut self, vs: impl IntoIterator<Item = &'v Var>) {
        if self.zeros != Tracked::No {
            let f = self.f;
            let holds = |t: &Ty| t.rank() > 0 || matches!(t, Ty::Data(_));
            self.symbolic_zero.extend(vs.into_iter().filter(|v| holds(f.ty(**v))));
        }
    }

    /// Records that parameters at these positions may be symbolic zeros.
    pub(super) fn may_hold(&mut self, params: &BTreeSet<usize>) {
        let f = self.f;
        self.may_be_symbolic_zeros(params.iter().filter_map(|k| f.body.params.get(*k)));
    }

    /// Records which results of a loop may be symbolic zeros, given the same of its carried values.
    pub(super) fn loop_symbolic_zeros(&mut self, s: &Stmt, l: &Loop, carried: &[bool]) {
        let made = l.body.results.iter().skip(carried.len()).map(|r| self.symbolic_zero.contains(r));
        let zeros: Vec<Var> =
            s.outs.iter().zip(carried.iter().copied().chain(made)).filter(|(_, a)| *a).map(|(v, _)| *v).collect();
        self.may_be_symbolic_zeros(&zeros);
    }

    /// Whether an operation, or a statement nested in it, reads a possible symbolic zero.
    pub(super) fn reads_symbolic_zero(&self, op: &Op) -> bool {
        let mut any = false;
        op.each_operand(&mut |v| any |= self.symbolic_zero.contains(&v));
        any
    }

    /// Whether no extent is that of a possible symbolic zero, which must not be asked for it.
    pub(super) fn is_materialised(&self, form: &[AxisExtent]) -> bool {
        !form.iter().any(|e| matches!(e, AxisExtent::Of(a, _) if self.symbolic_zero.contains(a)))
    }

    /// The form of an operation's result. An update of a possible symbolic zero has the shape that it states.
    pub(super) fn form_of_result(&self, op: &Op, result: &ResultForm<'_>) -> Option<ShapeForm> {
        match op {
            Op::IndexAdd { acc, shape, .. }
            | Op::IndexSet { acc, shape, .. }
            | Op::SliceAdd { acc, shape, .. }
            | Op::GatherAdd { acc, shape, .. }
                if self.symbolic_zero.contains(acc) =>
            {
                shape.and_then(|s| result.elements(s))
            }
            op => op.shape_of_result(result),
        }
    }

    fn of_one_type(&self, vs: &[Var]) -> bool {
        vs.iter().all(|v| self.f.ty(*v) == self.f.ty(vs[0]))
    }

    fn makes_zero(&self, op: &Op, outs: &[Var]) -> bool {
        match op {
            // A sum with an array that is materialised is materialised.
            Op::Bin(Bin::Add | Bin::Sub, a, b) if outs.first().is_some_and(|out| self.of_one_type(&[*a, *b, *out])) => {
                self.symbolic_zero.contains(a) && self.symbolic_zero.contains(b)
            }
            Op::Zero(_) | Op::Call { .. } => true,
            Op::Destruct { .. } | Op::Construct { .. } => self.zeros == Tracked::All || self.reads_symbolic_zero(op),
            Op::SliceAdd { acc, v, shape, .. }
            | Op::IndexAdd { acc, v, shape, .. }
            | Op::GatherAdd { acc, v, shape, .. } => {
                let boxes = !matches!(self.f.ty(*acc), Ty::Array(e, _) if e.is_flat());
                (shape.is_none() || boxes) && self.symbolic_zero.contains(acc) || self.symbolic_zero.contains(v)
            }
            op => self.reads_symbolic_zero(op),
        }
    }
}
