//! Invariants 5, 6, 9 and 11: where linear variables may occur.

use super::Verifier;
use crate::func::{Stmt, Var};
use crate::op::{LinearIn, Op};

impl<'a> Verifier<'a> {
    pub(super) fn modes(&mut self, stmt: &'a Stmt) {
        let mut operands = Vec::new();
        stmt.op.each_operand(&mut |v| operands.push(v));
        let lin: Vec<Var> = operands.iter().copied().filter(|v| self.linear(*v)).collect();
        match stmt.op.linear_in() {
            LinearIn::Nothing => {
                self.only_non_linear(&lin);
                self.linear_iff(stmt, false, false);
            }
            LinearIn::All(places) => {
                self.among(&lin, &places);
                if !lin.is_empty() && places.iter().any(|v| !self.linear(*v)) {
                    self.fault(5, "linear and non-linear operands where all of them or none must be linear".to_owned());
                }
                self.linear_iff(stmt, !lin.is_empty(), places.is_empty());
            }
            LinearIn::OneOf(places) => {
                self.among(&lin, &places);
                if lin.len() > 1 {
                    self.fault(5, "more than one linear operand".to_owned());
                }
                self.linear_iff(stmt, !lin.is_empty(), false);
            }
            LinearIn::Parts => self.parts(&stmt.op),
        }
        if !stmt.lin_outs.is_empty() || !lin.is_empty() {
            self.has_shape(&stmt.op);
        }
    }

    fn only_non_linear(&mut self, lin: &[Var]) {
        for v in lin {
            self.fault(5, format!("{} is linear, but no operand may be", self.name(*v)));
        }
    }

    /// Checks that each linear operand is at one of these positions.
    fn among(&mut self, lin: &[Var], places: &[Var]) {
        let count = |vs: &[Var], v: Var| vs.iter().filter(|w| **w == v).count();
        for v in lin {
            if count(lin, *v) > count(places, *v) {
                self.fault(5, format!("{} is linear, but stands in a non-linear place", self.name(*v)));
            }
        }
    }

    /// Checks invariant 6.
    fn linear_iff(&mut self, s: &Stmt, operands: bool, free: bool) {
        if operands {
            for v in &s.outs {
                self.fault(6, format!("{} is not linear, but depends on a linear operand", self.name(*v)));
            }
        } else if !free {
            for v in &s.lin_outs {
                self.fault(6, format!("{} is linear, but no operand is", self.name(*v)));
            }
        }
    }

    /// Checks the operands of control flow, by position.
    fn parts(&mut self, op: &Op) {
        let mut sides = |plain: &[Var], lin: &[Var]| {
            plain.iter().for_each(|v| self.side(*v, false));
            lin.iter().for_each(|v| self.side(*v, true));
        };
        match op {
            Op::If(c, ..) | Op::Switch(c, _) => sides(&[*c], &[]),
            Op::Loop(l) => {
                if let crate::op::Trip::Count(n) = &l.trip {
                    sides(&[*n], &[]);
                }
                sides(&l.init, &l.lin_init);
                sides(&l.xs, &l.lin_xs);
            }
            Op::Call { args, lin_args, .. } => sides(args, lin_args),
            _ => {}
        }
    }

    /// Checks invariant 9.
    fn has_shape(&mut self, op: &Op) {
        let missing = match op {
            Op::Index { shape: None, .. }
            | Op::IndexAdd { shape: None, .. }
            | Op::Slice { shape: None, .. }
            | Op::SliceAdd { shape: None, .. }
            | Op::Gather { shape: None, .. }
            | Op::GatherAdd { shape: None, .. }
            | Op::SumAll { shape: None, .. }
            | Op::IndexSet { shape: None, .. }
            | Op::Concat { shape: None, .. }
            | Op::ArrayLit { shape: None, .. } => "shape",
            Op::Concat { len: None, .. } | Op::Sum { n: None, .. } => "len",
            Op::Reshape { from: None, .. } => "from",
            _ => return,
        };
        self.fault(9, format!("the operation is linear, but has no operand `{missing}`"));
    }

    /// Checks invariant 11. `reads`: the statement or a nested block uses linear variables from outside.
    pub(super) fn check_linear_b(&mut self, s: &'a Stmt, reads: bool) {
        if !s.lin_outs.is_empty() {
            let trip = matches!(s.op, Op::Loop(_)) && s.outs.len() == 1;
            for v in s.outs.iter().filter(|_| !trip) {
                self.fault(11, format!("{} is not linear, but the statement has linear results", self.name(*v)));
            }
        } else if !s.outs.is_empty() && reads {
            self.fault(11, "it has non-linear results, but uses linear variables".to_owned());
        }
    }
}
