//! Recurrences along rows. If every iteration of a stateless loop runs a sequential loop along a row, each row gets
//! one thread. That is slow for a few long rows, so those are scanned, all rows in parallel. The number of rows and
//! their length are tested at run time.
//!
//! ```text
//! ys = loop for n over (xs) collect (i, row) { … loop for m over (row) carry … }
//! ⟼  ys = if dim 1 xs ≥ long && n ≤ few { loop for n over (xs) collect (i, row) { … scan … } } else { … }
//! ```

use super::Pass;
use super::known::is_vector;
use adl_ir::rewrite::copy_all;
use adl_ir::{Block, Cmp, Lit, Loop, Op, Stmt, Trip, Ty, Var};

/// Length from which a row counts as long.
const LONG: i64 = 1024;

/// Largest number of rows that counts as few: one thread for each would not occupy a device.
const FEW: i64 = 16384;

impl Pass<'_> {
    /// The branch that replaces such a loop. Statements for its condition are appended to `out`.
    pub(super) fn series(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<Stmt> {
        let Op::Loop(ir_loop) = &stmt.op else { return None };
        let Trip::Count(count) = ir_loop.trip else { return None };
        if !ir_loop.init.is_empty()
            || !ir_loop.lin_init.is_empty()
            || !ir_loop.lin_xs.is_empty()
            || !ir_loop.lin_outs.is_empty()
        {
            return None;
        }
        // The element must be a row of a matrix, not a box.
        let is_row = |p: &Var, x: &Var| is_vector(self.f, *p) && self.f.ty(*x).rank() == 2;
        let row = ir_loop
            .body
            .params
            .iter()
            .skip(1)
            .zip(&ir_loop.xs)
            .position(|(p, x)| is_row(p, x) && ir_loop.body.stmts.iter().any(|s| walks(s, *p)))?;
        let body = self.scanned(ir_loop)?;
        let mut push = |op, ty| self.push(op, ty, stmt.span, out);
        let [long, few] = [LONG, FEW].map(|k| push(Op::Lit(Lit::I64(k)), Ty::I64));
        let length = push(Op::Dim(ir_loop.xs[row], 1), Ty::I64);
        let [is_long, are_few] =
            [Op::Cmp(Cmp::Ge, length, long), Op::Cmp(Cmp::Le, count, few)].map(|op| push(op, Ty::Bool));
        let no = push(Op::Lit(Lit::Bool(false)), Ty::Bool);
        let both = push(Op::Select(is_long, are_few, no), Ty::Bool);
        let [yes, no] = [body, ir_loop.body.clone()].map(|body| {
            let results: Vec<Var> = stmt.outs.iter().map(|v| self.f.fresh(self.f.ty(*v).clone(), false)).collect();
            let op = Op::Loop(Box::new(Loop { body, ..(**ir_loop).clone() }));
            Box::new(Block {
                stmts: vec![Stmt { outs: results.clone(), lin_outs: Vec::new(), op, span: stmt.span }],
                results,
                ..Block::default()
            })
        });
        self.changed = true;
        Some(Stmt { op: Op::If(both, yes, no), ..stmt.clone() })
    }

    /// The body with scans in the place of recurrences, if it has any.
    fn scanned(&mut self, l: &Loop) -> Option<Block> {
        let (before, changed) = (self.known.clone(), self.changed);
        let mut body = copy_all(self.f, &l.body);
        self.read.extend(crate::fuse::reads_of(&body));
        let there = body.params[1..]
            .iter()
            .zip(&l.xs)
            .filter(|(p, x)| is_vector(self.f, **p) && before.there.contains(x))
            .map(|(p, _)| *p);
        self.known.there.extend(there.collect::<Vec<_>>());
        let mut found = false;
        for s in std::mem::take(&mut body.stmts) {
            match self.recurrence(&s) {
                Some(made) => {
                    found = true;
                    made.iter().for_each(|s| self.learn(s));
                    body.stmts.extend(made);
                }
                None => {
                    self.learn(&s);
                    body.stmts.push(s);
                }
            }
        }
        let names = std::mem::replace(&mut self.known, before).names;
        body.stmts.iter_mut().for_each(|s| crate::fuse::rename_op(&mut s.op, &names));
        body.results.iter_mut().for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
        self.changed = changed;
        found.then_some(body)
    }
}

/// Whether a statement is a loop that carries state along a row.
fn walks(s: &Stmt, row: Var) -> bool {
    matches!(&s.op, Op::Loop(l) if !l.init.is_empty() && l.xs.contains(&row))
}
