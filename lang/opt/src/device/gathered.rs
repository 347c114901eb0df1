//! Fuses gathers: the elements of a vector at an array of indices are read by the kernel that uses them.
//!
//! ```text
//! y = gather a at; z = gather b at shape …
//! ⟼  y, z = loop for n over (at) collect (i, k) { y = a[k]; z = (k ≥ 0 && k < m ? b[k] : 0); … }
//! ```

use super::Pass;
use super::known::is_vector;
use adl_ir::{Block, Cmp, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use std::collections::HashSet;

/// Variables of which more is read than the length.
pub(super) fn elements_read(b: &Block) -> HashSet<Var> {
    let mut all: HashSet<Var> = b.results.iter().chain(&b.lin_results).copied().collect();
    let mut blocks = vec![b];
    while let Some(b) = blocks.pop() {
        for s in &b.stmts {
            if !matches!(s.op, Op::Dim(..)) {
                s.op.each_operand(&mut |v| _ = all.insert(v));
            }
            for inner in s.op.blocks() {
                all.extend(inner.results.iter().chain(&inner.lin_results));
                blocks.push(inner);
            }
        }
    }
    all
}

impl Pass<'_> {
    /// Whether a statement gathers numbers from a vector at a vector of indices, both materialised. A gather that
    /// may fail stays if its elements are not read.
    pub(super) fn gathers(&self, s: &Stmt) -> bool {
        let Op::Gather { a, at, shape } = &s.op else { return false };
        (shape.is_some() || self.elements_read.contains(&s.outs[0]))
            && self.all_there(&[*a, *at])
            && is_vector(self.f, *at)
    }

    /// Emits the loop that replaces the gather.
    pub(super) fn gathered(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) {
        let Op::Gather { a, at, shape } = &stmt.op else { return };
        let count = self.extent(*at, stmt.span, out);
        let ty = self.f.ty(*a).elem();
        let [i, k] = [(); 2].map(|()| self.f.fresh(Ty::I64, false));
        let mut stmts = Vec::new();
        let x = match shape {
            None => self.push(Op::Index { a: *a, at: vec![k], shape: None }, ty, stmt.span, &mut stmts),
            Some(_) => {
                let m = self.extent(*a, stmt.span, out);
                self.or_zero((*a, k, m), ty, stmt, &mut stmts)
            }
        };
        let body = Block { params: vec![i, k], stmts, results: vec![x], ..Block::default() };
        let ir_loop = Loop { xs: vec![*at], outs: vec![Out::Collect], ..Loop::new(Trip::Count(count), body) };
        let trip = self.f.fresh(Ty::I64, false);
        let made = Stmt {
            outs: vec![stmt.outs[0], trip],
            lin_outs: Vec::new(),
            op: Op::Loop(Box::new(ir_loop)),
            span: stmt.span,
        };
        self.changed = true;
        self.learn(&made);
        out.push(made);
    }

    /// An element of a vector of length `m`, or 0 if the index is out of bounds.
    fn or_zero(&mut self, (array, index, m): (Var, Var, Var), ty: Ty, stmt: &Stmt, out: &mut Vec<Stmt>) -> Var {
        let mut push = |op, ty| self.push(op, ty, stmt.span, out);
        let first = push(Op::Lit(Lit::I64(0)), Ty::I64);
        let no = push(Op::Lit(Lit::Bool(false)), Ty::Bool);
        let [above, below] = [Op::Cmp(Cmp::Ge, index, first), Op::Cmp(Cmp::Lt, index, m)].map(|op| push(op, Ty::Bool));
        let inside = push(Op::Select(above, below, no), Ty::Bool);
        let zero = push(Op::Zero(ty.clone()), ty.clone());
        if let Some(x) = self.known.filled.get(&array).copied() {
            return self.push(Op::Select(inside, x, zero), ty, stmt.span, out);
        }
        let mut there = Vec::new();
        let x = self.push(Op::Index { a: array, at: vec![index], shape: None }, ty.clone(), stmt.span, &mut there);
        let [yes, no] = [(there, x), (Vec::new(), zero)]
            .map(|(stmts, x)| Box::new(Block { stmts, results: vec![x], ..Block::default() }));
        self.push(Op::If(inside, yes, no), ty, stmt.span, out)
    }
}
