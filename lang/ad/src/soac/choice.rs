//! Operators that return one of their two arguments, by any condition: `fun a b -> if a < b then b else a`.
//!
//! They are run on elements paired with their positions, and the tangent is that of the element at the resulting
//! position. The primal's own condition decides, so ties and nan are treated as in the primal, and associativity
//! need not be checked. (`min` and `max` have rules of their own, on entire arrays.)

use super::SoacGroup;
use crate::jvp::J;
use adl_ir::{Block, Cmp, Function, Op, Soac, SoacKind, Stmt, Ty, Var};
use adl_opt::operators;

/// The name of the rule.
pub(super) const RULE: &str = "a choice of one of two: the element that was chosen (as §3.2.2)";

/// The condition of a choice, as a block of the two arguments, and whether the first argument is chosen if it holds.
fn choice(f: &Function, op: &Block) -> Option<(Block, bool)> {
    let ([left, right], [r]) = (op.params.as_slice(), op.results.as_slice()) else { return None };
    let number = |v: &Var| f.ty(*v).rank() == 0 && f.ty(*v).is_real();
    if ![left, right].into_iter().all(number) || !operators::elementwise(f, op) {
        return None;
    }
    let at = op.stmts.iter().position(|s| s.outs.contains(r))?;
    let (c, p, q) = match &op.stmts[at].op {
        Op::Select(c, p, q) => (*c, *p, *q),
        Op::If(c, a, b) => (*c, *a.results.first()?, *b.results.first()?),
        _ => return None,
    };
    let first = (p, q) == (*left, *right);
    if !first && (p, q) != (*right, *left) {
        return None;
    }
    Some((
        Block { params: op.params.clone(), stmts: op.stmts[..at].to_vec(), results: vec![c], ..Block::default() },
        first,
    ))
}

impl J<'_> {
    /// The operator on elements paired with positions, if the operator is a choice.
    pub(super) fn chooser(&mut self, op: &Block) -> Option<Block> {
        let (condition, first) = choice(&self.b.func, op)?;
        let elem = self.b.ty(op.params[0]);
        self.b.open();
        let [v, i, w, j] = [elem.clone(), Ty::I64, elem.clone(), Ty::I64].map(|t| self.b.param(t));
        let c = self.b.inline(&condition, &[v, w])[0];
        let ((v, w), (i, j)) = if first { ((v, w), (i, j)) } else { ((w, v), (j, i)) };
        let value = self.b.one(Op::Select(c, v, w), elem);
        let place = self.b.one(Op::Select(c, i, j), Ty::I64);
        Some(self.b.close(vec![value, place], Vec::new()))
    }

    /// Runs the operator with positions and returns the resulting ones (an array for a scan). The neutral element
    /// has position -1.
    fn with_places(&mut self, g: &SoacGroup, op: Block) -> Var {
        let (n, none) = (self.b.dim(g.arrays[0], 0), self.b.int(-1));
        let places = self.iota(n);
        let ty = if g.kind == SoacKind::Reduce { Ty::I64 } else { Ty::shape() };
        let place = self.b.func.fresh(ty, false);
        let made = Soac { kind: g.kind, op, neutral: vec![g.neutral[0], none], arrays: vec![g.arrays[0], places] };
        let span = self.b.span;
        self.b.push(Stmt { outs: vec![g.outs[0], place], lin_outs: Vec::new(), op: Op::Soac(Box::new(made)), span });
        place
    }

    /// J of a reduction.
    pub(super) fn reduce_choice(&mut self, group: &SoacGroup, op: Block) {
        let place = self.with_places(group, op);
        let (te, ta) = (self.has(group.neutral[0]), self.has(group.arrays[0]));
        let ty = self.tangent_ty(group.outs[0]);
        let (shape, zero) = (self.shape(group.arrays[0]), self.b.int(0));
        let taken = self.b.cmp(Cmp::Ge, place, zero);
        self.b.open();
        let t = match ta {
            Some(a) => self.b.lin(Op::Index { a, at: vec![place], shape: Some(shape) }, ty.clone()),
            None => self.lin_zero(ty.clone()),
        };
        let some = self.b.close(Vec::new(), vec![t]);
        self.b.open();
        let t = te.unwrap_or_else(|| self.lin_zero(ty.clone()));
        let none = self.b.close(Vec::new(), vec![t]);
        let (_, made) = self.b.emit(Op::If(taken, Box::new(some), Box::new(none)), &[], &[ty]);
        self.set_tangent(group.outs[0], Some(made[0]));
    }

    /// J of a scan.
    pub(super) fn scan_choice(&mut self, g: &SoacGroup, op: Block) {
        let places = self.with_places(g, op);
        self.tangents_at(g, places);
    }
}
