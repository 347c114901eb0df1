//! Arrays shifted by one position with another number at the free end, as derivatives of scans produce them: loops
//! that read the neighbouring element.
//!
//! ```text
//! b = if dim 0 a == 0 { a } else { index_set (rotate -1 a) [0] x }
//! ⟼  b = loop for dim 0 a () collect (i) { i == 0 ? x : a[i - 1] }
//! b = if dim 0 a == 0 { a } else { rotate 1 (index_set a [0] x) }
//! ⟼  b = loop for dim 0 a () collect (i) { i == n - 1 ? x : a[i + 1] }
//! ```

use super::Pass;
use adl_ir::{Block, Cmp, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, Un};

/// A recognised shift.
struct Shift {
    /// The array that is shifted.
    a: Var,
    /// The number at the free end.
    x: Var,
    /// Whether the free end is the first position.
    first: bool,
}

impl Pass<'_> {
    /// The statements that replace a branch, if it shifts an array.
    pub(super) fn shifted(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let Op::If(c, none, some) = &stmt.op else { return None };
        let found = self.shift(none, some)?;
        let empty =
            self.known.equal.get(c).is_some_and(|(n, zero)| {
                self.known.ints.get(zero) == Some(&0) && self.known.extent(found.a) == Some(*n)
            });
        if !empty || !self.known.there.contains(&found.a) {
            return None;
        }
        let mut out = Vec::new();
        let n = self.extent(found.a, stmt.span, &mut out);
        let end = if found.first {
            self.push(Op::Lit(Lit::I64(0)), Ty::I64, stmt.span, &mut out)
        } else {
            let one = self.push(Op::Lit(Lit::I64(1)), Ty::I64, stmt.span, &mut out);
            self.push(Op::Bin(Bin::Sub, n, one), Ty::I64, stmt.span, &mut out)
        };
        let trip = self.f.fresh(Ty::I64, false);
        let body = self.neighbour(&found, end, stmt);
        let ir_loop = Loop { outs: vec![Out::Collect], ..Loop::new(Trip::Count(n), body) };
        out.push(Stmt {
            outs: vec![stmt.outs[0], trip],
            lin_outs: Vec::new(),
            op: Op::Loop(Box::new(ir_loop)),
            span: stmt.span,
        });
        self.changed = true;
        Some(out)
    }

    /// Recognises the two arms.
    fn shift(&self, none: &Block, some: &Block) -> Option<Shift> {
        let ([array], [], [result]) = (&none.results[..], &none.stmts[..], &some.results[..]) else { return None };
        let def = |v: &Var| some.stmts.iter().find(|s| s.outs.first() == Some(v)).map(|s| &s.op);
        let int = |v: &Var| match def(v) {
            Some(Op::Lit(Lit::I64(n))) => Some(*n),
            Some(Op::Un(Un::Neg, n)) => self.known.ints.get(n).map(|n| -n),
            _ => self.known.ints.get(v).copied(),
        };
        let begins = |at: &[Var]| matches!(at, [z] if int(z) == Some(0));
        let plain = some.stmts.iter().all(|s| {
            matches!(
                s.op,
                Op::Rotate { .. } | Op::IndexSet { .. } | Op::ArrayLit { .. } | Op::Lit(_) | Op::Un(Un::Neg, _)
            )
        });
        if self.f.linear(*array)
            || !matches!(self.f.ty(*array).scalar(), Ty::F64 | Ty::F32 | Ty::I64 | Ty::Bool)
            || !plain
        {
            return None;
        }
        match def(result)? {
            Op::IndexSet { acc, at, v, .. } if begins(at) => match def(acc)? {
                Op::Rotate { n, a: from } if from == array && int(n) == Some(-1) => {
                    Some(Shift { a: *array, x: *v, first: true })
                }
                _ => None,
            },
            Op::Rotate { n, a: from } if int(n) == Some(1) => match def(from)? {
                Op::IndexSet { acc, at, v, .. } if acc == array && begins(at) => {
                    Some(Shift { a: *array, x: *v, first: false })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The body: the neighbour's number, or the number at the free end.
    fn neighbour(&mut self, found: &Shift, end: Var, s: &Stmt) -> Block {
        let (i, ty, mut stmts) = (self.f.fresh(Ty::I64, false), self.f.ty(found.a).elem(), Vec::new());
        let at_end = self.push(Op::Cmp(Cmp::Eq, i, end), Ty::Bool, s.span, &mut stmts);
        let one = self.push(Op::Lit(Lit::I64(1)), Ty::I64, s.span, &mut stmts);
        let step = if found.first { Bin::Sub } else { Bin::Add };
        let next = self.push(Op::Bin(step, i, one), Ty::I64, s.span, &mut stmts);
        // The index at the end itself only has to be in bounds: its element is not used.
        let from = self.push(Op::Select(at_end, end, next), Ty::I64, s.span, &mut stmts);
        let read = self.push(Op::Index { a: found.a, at: vec![from], shape: None }, ty.clone(), s.span, &mut stmts);
        let made = self.push(Op::Select(at_end, found.x, read), ty, s.span, &mut stmts);
        Block { params: vec![i], stmts, results: vec![made], ..Block::default() }
    }
}
