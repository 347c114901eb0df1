//! The adjoint of a scan that selects elements. The positions that such a scan selects never decrease, so the
//! values that are added at one position are adjacent. A loop from the end therefore adds them up without sorting.
//! That loop is a linear recurrence.
//!
//! ```text
//! ys, ks = scan (e, -1) over (xs, 0 …) { … return v, select c i j }; r = gather_add acc ks w
//! ⟼  _, r = loop for n reverse over (ks, w, acc) carry (0) collect (i, k, v, a) {
//!      s = carried + v; return k == i ? 0 : s, a + (k == i ? s : 0)
//!    }
//! ```

use super::Pass;
use super::known::is_vector;
use adl_ir::{Block, Cmp, Loop, Op, Out, Soac, SoacKind, Stmt, Trip, Ty, Var};
use adl_prim::Bin;

impl Pass<'_> {
    /// Records which results of a scan are the positions that it selected.
    pub(super) fn places(&mut self, s: &Soac, outs: &[Var]) {
        let w = s.arrays.len();
        let chosen = |j: usize| {
            let made = s.op.stmts.iter().find(|t| t.outs.first() == Some(&s.op.results[j]));
            matches!(made, Some(Stmt { op: Op::Select(_, x, y), .. }) if [*x, *y] == [s.op.params[j], s.op.params[w + j]])
        };
        let k = &mut self.known;
        let found = (0..w).filter(|j| {
            s.kind == SoacKind::Scan
                && k.indices.contains(&s.arrays[*j])
                && k.ints.get(&s.neutral[*j]) == Some(&-1)
                && chosen(*j)
        });
        let found: Vec<Var> = found.map(|j| outs[j]).collect();
        k.placed.extend(found);
    }

    /// The loop that replaces a `gather_add` at selected positions. Statements that it needs are appended to `out`.
    pub(super) fn placed(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> Option<Stmt> {
        let Op::GatherAdd { acc, at, v, .. } = &stmt.op else { return None };
        let nothing = self.known.symbolic_zero.contains(acc);
        let fits = self.known.placed.contains(at) && self.all_there(&[*v]) && (nothing || self.all_there(&[*acc]));
        if !fits || !is_vector(self.f, stmt.outs[0]) || !self.f.ty(*v).elem().is_real() {
            return None;
        }
        let ty = self.f.ty(*v).elem();
        let mut xs = vec![*at, *v];
        xs.extend((!nothing).then_some(*acc));
        let n = self.common(&xs, stmt.span, out)?;
        let zero = self.push(Op::Lit(crate::real(&ty, 0.0)), ty.clone(), stmt.span, out);
        self.known.zeros.insert(zero);
        let body = self.from_end(&xs, zero, stmt);
        let ir_loop =
            Loop { reverse: true, init: vec![zero], xs, outs: vec![Out::Collect], ..Loop::new(Trip::Count(n), body) };
        let [last, trip] = [ty, Ty::I64].map(|t| self.f.fresh(t, false));
        self.changed = true;
        Some(Stmt {
            outs: vec![last, stmt.outs[0], trip],
            lin_outs: Vec::new(),
            op: Op::Loop(Box::new(ir_loop)),
            span: stmt.span,
        })
    }

    /// The body: the sum is carried on, unless it belongs to the current position.
    fn from_end(&mut self, xs: &[Var], zero: Var, s: &Stmt) -> Block {
        let ty = self.f.ty(zero).clone();
        let [index, carried] = [Ty::I64, ty.clone()].map(|t| self.f.fresh(t, false));
        let elements: Vec<Var> = xs.iter().map(|a| self.f.fresh(self.f.ty(*a).elem(), false)).collect();
        let mut stmts = Vec::new();
        let here = self.push(Op::Cmp(Cmp::Eq, elements[0], index), Ty::Bool, s.span, &mut stmts);
        let sum = self.push(Op::Bin(Bin::Add, carried, elements[1]), ty.clone(), s.span, &mut stmts);
        let next = self.push(Op::Select(here, zero, sum), ty.clone(), s.span, &mut stmts);
        let mut made = self.push(Op::Select(here, sum, zero), ty.clone(), s.span, &mut stmts);
        if let Some(a) = elements.get(2) {
            made = self.push(Op::Bin(Bin::Add, *a, made), ty, s.span, &mut stmts);
        }
        Block {
            params: [index, carried].into_iter().chain(elements).collect(),
            stmts,
            results: vec![next, made],
            ..Block::default()
        }
    }

    /// Emits a vector of indices as a loop, so that it is computed where it is read.
    pub(super) fn indices(&mut self, stmt: &Stmt, n: Var) -> Stmt {
        let i = self.f.fresh(Ty::I64, false);
        let trip = self.f.fresh(Ty::I64, false);
        let body = Block { params: vec![i], results: vec![i], ..Block::default() };
        let ir_loop = Loop { outs: vec![Out::Collect], ..Loop::new(Trip::Count(n), body) };
        self.known.indices.insert(stmt.outs[0]);
        self.changed = true;
        Stmt { outs: vec![stmt.outs[0], trip], lin_outs: Vec::new(), op: Op::Loop(Box::new(ir_loop)), span: stmt.span }
    }
}
