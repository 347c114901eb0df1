//! Which arrays may be symbolic zeros.

use super::{Extent, Form, ResultForm, ShapeAnalysis, Tracked};
use adl_ir::shape_rule::Shapes;
use adl_ir::{Loop, Op, Stmt, Ty, Var};

impl ShapeAnalysis<'_> {
    /// Records which results of a statement without nested blocks may be symbolic zeros.
    pub(super) fn note_symbolic_zeros(&mut self, s: &Stmt) {
        if self.zeros != Tracked::No && self.makes_zero(&s.op) {
            self.may_be_symbolic_zeros(&s.outs);
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
    pub(super) fn is_materialised(&self, form: &[Extent]) -> bool {
        !form.iter().any(|e| matches!(e, Extent::Of(a, _) if self.symbolic_zero.contains(a)))
    }

    /// The form of an operation's result. An update of a possible symbolic zero has the shape that it states.
    pub(super) fn form_of_result(&self, op: &Op, result: &ResultForm<'_>) -> Option<Form> {
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

    fn makes_zero(&self, op: &Op) -> bool {
        match op {
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
