//! A conservative analysis of the code: is a linear function from vectors to vectors diagonal at every point? Then
//! each component of the result depends on the same component of the argument only, and a single direction
//! determines the entire matrix.

use crate::limits::diagonal::DEEPEST;
use adl_ir::rewrite::linear_uses::captured;
use adl_ir::{Block, FnId, Function, Loop, Op, Out, Program, Trip, Var};
use adl_prim::{Bin, Un};
use std::collections::HashSet;

/// Whether a linear function `( ; ẋ) -> ( ; ẏ)`, apart from its residuals, acts componentwise.
pub fn is_diagonal(p: &Program, f: FnId) -> bool {
    function(p, f, DEEPEST)
}

fn function(p: &Program, f: FnId, left: u32) -> bool {
    let f = p.func(f);
    let ([x], [y]) = (f.body.lin_params.as_slice(), f.body.lin_results.as_slice()) else { return false };
    let vectors = [x, y].into_iter().all(|v| f.ty(*v).rank() == 1 && f.ty(*v).scalar().is_real());
    let mut d = Diagonal { p, f, left, along: HashSet::from([*x]) };
    vectors && d.block(&f.body) && d.along.contains(y)
}

struct Diagonal<'a> {
    p: &'a Program,
    f: &'a Function,
    left: u32,
    /// Linear vectors each of whose components depends on the same component of the argument only.
    along: HashSet<Var>,
}

impl Diagonal<'_> {
    /// Whether no statement of a block mixes components.
    fn block(&mut self, b: &Block) -> bool {
        b.stmts.iter().all(|s| {
            let fits = self.fits(&s.op);
            self.along.extend(s.lin_outs.iter().filter(|_| fits));
            fits
        })
    }

    /// Whether an operation has no linear operands or acts on vectors componentwise.
    fn fits(&mut self, op: &Op) -> bool {
        let one = |d: &Self, v: &Var| d.along.contains(v) && d.f.ty(*v).rank() == 1;
        match op {
            Op::Dup(a) | Op::Drop(a) | Op::Un(Un::Neg, a) | Op::Convert(_, a) if self.f.linear(*a) => one(self, a),
            Op::Zero(_) => true,
            Op::Bin(Bin::Add | Bin::Sub, a, b) if self.f.linear(*a) && self.f.linear(*b) => {
                one(self, a) && one(self, b)
            }
            Op::Bin(_, a, b) if self.f.linear(*a) != self.f.linear(*b) => {
                one(self, if self.f.linear(*a) { a } else { b })
            }
            Op::Select(_, a, b) if self.f.linear(*a) => one(self, a) && one(self, b),
            Op::If(_, a, b) => {
                let inside = [a, b].into_iter().all(|b| self.block(b));
                inside && [a, b].into_iter().all(|b| b.lin_results.iter().all(|r| one(self, r)))
            }
            Op::Loop(l) if !l.lin_outs.is_empty() || !l.lin_xs.is_empty() => self.elements(l),
            Op::Call { f, lin_args, .. } if !lin_args.is_empty() => {
                lin_args.iter().all(|a| one(self, a)) && self.left > 0 && function(self.p, *f, self.left - 1)
            }
            op => {
                let mut linear = op
                    .blocks()
                    .into_iter()
                    .any(|b| !captured(self.f, b).is_empty() || b.stmts.iter().any(|s| !s.lin_outs.is_empty()));
                op.each_operand(&mut |v| linear |= self.f.linear(v));
                !linear
            }
        }
    }

    /// Whether each iteration of a loop reads and makes only elements at its own index.
    fn elements(&self, l: &Loop) -> bool {
        let independent =
            l.lin_init.is_empty() && matches!(l.trip, Trip::Count(_)) && l.lin_outs.iter().all(|o| *o == Out::Collect);
        let elements = l.body.lin_params.iter().chain(&l.body.lin_results).all(|v| self.f.ty(*v).rank() == 0);
        independent
            && elements
            && l.lin_xs.iter().all(|x| self.along.contains(x))
            && captured(self.f, &l.body).is_empty()
    }
}
