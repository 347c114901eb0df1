//! Loop peeling for transposed code. Such loops start with symbolic zeros as cotangents, whose size is unknown
//! until the first iteration. If that iteration makes small arrays of them, it is peeled, and the remaining loop
//! carries scalars.
//!
//! ```text
//! for n reverse carry (zero) { body }
//! ⟼  if n > 0 { x = body at (n - 1, zero); for n - 1 reverse carry (x) { body } } else { zero }
//! ```
//!
//! Operations on symbolic zeros are simplified: a product with one is a symbolic zero, and a sum with one is the
//! other operand.

use super::facts::BlockFacts;
use super::matrices::ArraySize;
use super::{LoopStart, MOST, Scalars, Sums};
use crate::limits::scalar_replacement_peel::LONGEST;
use adl_ir::rewrite::renumber;
use adl_ir::{Block, Cmp, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::{Bin, Un};

/// The number of statements of a block, nested ones included.
fn size(b: &Block) -> usize {
    b.stmts.iter().map(|s| 1 + s.op.blocks().into_iter().map(size).sum::<usize>()).sum()
}

impl Scalars<'_> {
    pub(super) fn is_symbolic_zero(&self, v: Var) -> bool {
        self.find(|l| l.zeros.get(&v).copied()).is_some()
    }

    /// Simplifies a statement with an operand that is a symbolic zero. Returns whether it was replaced.
    pub(super) fn with_symbolic_zero(&mut self, stmt: &Stmt, out: &mut Vec<Stmt>) -> bool {
        let result = stmt.outs[0];
        if self.sums == Sums::Kept || self.f.ty(result).rank() == 0 {
            return false;
        }
        let none = |a: &Var| self.is_symbolic_zero(*a);
        let other = match &stmt.op {
            Op::Bin(Bin::Add, a, b) if none(a) => Some(*b),
            Op::Bin(Bin::Add | Bin::Sub, a, b) if none(b) => Some(*a),
            _ => None,
        };
        if let Some(x) = other.filter(|x| self.f.ty(*x) == self.f.ty(result)) {
            self.note(|l| _ = l.names.insert(result, x));
            self.changed = true;
            return true;
        }
        let symbolic_zero = match &stmt.op {
            Op::Bin(Bin::Mul | Bin::ScaleTangent, a, b) | Op::MatMul(a, b) | Op::Outer(a, b) => none(a) || none(b),
            Op::Bin(Bin::Div, a, _) | Op::Un(Un::Neg, a) | Op::Reverse(a) | Op::Transpose(a) | Op::Sum { a, .. } => {
                none(a)
            }
            Op::Index { a, .. } | Op::Slice { a, .. } | Op::Gather { a, .. } | Op::Replicate { a, .. } => none(a),
            _ => false,
        };
        if symbolic_zero {
            let ty = self.f.ty(result).clone();
            self.learn_symbolic_zero(result);
            out.push(Stmt { op: Op::Zero(ty), ..stmt.clone() });
            self.changed = true;
        }
        symbolic_zero
    }

    /// Records that an array is a symbolic zero.
    pub(super) fn learn_symbolic_zero(&mut self, v: Var) {
        if self.is_vector(v) || self.is_matrix(v) {
            self.note(|l| _ = l.zeros.insert(v));
        }
    }

    /// Peels a reverse loop that starts with symbolic zeros, if its first iteration makes small arrays of them.
    /// Returns whether it was peeled.
    pub(super) fn peeled(&mut self, stmt: &Stmt, ir_loop: &Loop, out: &mut Vec<Stmt>) -> bool {
        let Trip::Count(count) = ir_loop.trip else { return false };
        let linear = !(stmt.lin_outs.is_empty()
            && ir_loop.lin_init.is_empty()
            && ir_loop.lin_xs.is_empty()
            && ir_loop.body.lin_params.is_empty());
        let suits = self.sums == Sums::Written
            && ir_loop.reverse
            && !linear
            && ir_loop.outs.iter().all(|o| *o == Out::Collect)
            && ir_loop.init.iter().any(|v| self.is_symbolic_zero(*v));
        if !suits
            || self.guesses > 0
            || self.begin == LoopStart::Iteration && size(&ir_loop.body) > LONGEST
            || self.left < 8 * MOST + 3 * LONGEST
        {
            return false;
        }
        let (left, changed) = (self.left, self.changed);
        self.layers.push(BlockFacts::default());
        let some = self.peel_first(stmt, ir_loop, count);
        self.layers.pop();
        let Some((some, sizes)) = some else {
            (self.left, self.changed) = (left, changed);
            return false;
        };
        if self.begin == LoopStart::Zeros {
            (self.left, self.changed) = (left, true);
            self.from_zeros(stmt, ir_loop, &sizes, out);
            return true;
        }
        let zero = self.int(0, stmt, out);
        let any = self.one(Op::Cmp(Cmp::Gt, count, zero), Ty::Bool, stmt, out);
        let mut none = self.no_iterations(stmt, ir_loop, zero);
        // This arm is not processed further, so variables that it reads are renamed here.
        renumber(&mut none, &|v| self.name(v));
        out.push(Stmt { op: Op::If(any, Box::new(some), Box::new(none)), ..stmt.clone() });
        self.changed = true;
        true
    }

    /// The results of a loop without iterations. Only what it collects still needs the loop, for its extents.
    fn no_iterations(&mut self, stmt: &Stmt, ir_loop: &Loop, zero: Var) -> Block {
        let mut results = [&ir_loop.init[..], &[zero]].concat();
        if ir_loop.outs.is_empty() {
            return Block { results, ..Block::default() };
        }
        let outs: Vec<Var> = stmt.outs.iter().map(|v| self.f.fresh(self.f.ty(*v).clone(), false)).collect();
        results.splice(ir_loop.init.len().., outs[ir_loop.init.len()..].iter().copied());
        let never = Loop { trip: Trip::Count(zero), ..ir_loop.clone() };
        let stmts = vec![Stmt { op: Op::Loop(Box::new(never)), outs, ..stmt.clone() }];
        Block { stmts, results, ..Block::default() }
    }

    /// The peeled iteration and the remaining loop, if that iteration makes small arrays. Also returns the sizes of
    /// the arrays that were symbolic zeros.
    fn peel_first(&mut self, stmt: &Stmt, ir_loop: &Loop, count: Var) -> Option<(Block, Vec<Option<ArraySize>>)> {
        let (carried, mut block) = (ir_loop.init.len(), Block::default());
        let one = self.one(Op::Lit(Lit::I64(1)), Ty::I64, stmt, &mut block.stmts);
        let last = self.one(Op::Bin(Bin::Sub, count, one), Ty::I64, stmt, &mut block.stmts);
        let mut first = self.iteration(stmt, ir_loop, last, &mut block.stmts);
        let sizes: Vec<Option<ArraySize>> = ir_loop
            .init
            .iter()
            .zip(&first)
            .map(|(v, r)| if self.is_symbolic_zero(*v) { self.size(*r) } else { None })
            .collect();
        if sizes.iter().all(Option::is_none) {
            return None;
        }
        if self.begin == LoopStart::Zeros {
            return Some((block, sizes));
        }
        self.materialise_collected(&mut first, (ir_loop, &sizes), stmt, &mut block.stmts)?;
        let body = self.copy_all(&ir_loop.body);
        let rest = Loop { trip: Trip::Count(last), init: first[..carried].to_vec(), body, ..ir_loop.clone() };
        let outs: Vec<Var> = stmt.outs.iter().map(|v| self.f.fresh(self.f.ty(*v).clone(), false)).collect();
        self.stmts(vec![Stmt { op: Op::Loop(Box::new(rest)), outs: outs.clone(), ..stmt.clone() }], &mut block.stmts);
        block.results = outs[..carried].to_vec();
        for (all, element) in outs[carried..].iter().zip(&first[carried..]) {
            let ty = self.f.ty(*all).clone();
            let one = self.one(Op::ArrayLit { elems: vec![*element], shape: None }, ty.clone(), stmt, &mut block.stmts);
            let both = self.one(Op::Concat { a: *all, b: one, len: None, shape: None }, ty, stmt, &mut block.stmts);
            block.results.push(both);
        }
        block.results.push(count);
        block.results.iter_mut().for_each(|r| *r = self.name(*r));
        Some((block, sizes))
    }

    /// Materialises the symbolic zeros among the elements that the first iteration collects: those that it carries.
    /// `None` if the size of one is not known, or if it is not known whether one is a symbolic zero: arrays of data.
    fn materialise_collected(
        &mut self,
        first: &mut [Var],
        (ir_loop, sizes): (&Loop, &[Option<ArraySize>]),
        stmt: &Stmt,
        out: &mut Vec<Stmt>,
    ) -> Option<()> {
        let body = &ir_loop.body;
        let carried = &body.params[body.params.len() - ir_loop.init.len() - ir_loop.xs.len()..];
        for (element, result) in first.iter_mut().zip(&body.results).skip(ir_loop.init.len()) {
            let ty = self.f.ty(*element);
            if ty.rank() > 0 && !ty.scalar().is_flat() {
                return None;
            }
            if self.is_symbolic_zero(*element) {
                let at = carried.iter().position(|p| p == result)?;
                let size = sizes.get(at).and_then(Option::as_ref)?;
                *element = self.zeros_of(size, *element, stmt, out);
            }
        }
        Some(())
    }

    /// Zeros of this size, of the type of `like`.
    fn zeros_of(&mut self, size: &ArraySize, like: Var, stmt: &Stmt, out: &mut Vec<Stmt>) -> Var {
        let zero = self.real(0.0, like, stmt, out);
        let mut elems = vec![zero; if size.columns() > 0 { size.columns() } else { size.len }];
        if size.columns() > 0 {
            let row = self.stack_of(elems, self.f.ty(zero).array(1), stmt, out);
            elems = vec![row; size.len / size.columns()];
        }
        self.stack_of(elems, self.f.ty(like).clone(), stmt, out)
    }

    /// Emits the loop, starting with materialised zeros where sizes are known.
    fn from_zeros(&mut self, stmt: &Stmt, l: &Loop, sizes: &[Option<ArraySize>], out: &mut Vec<Stmt>) {
        let mut rewritten = l.clone();
        for (v, size) in rewritten.init.iter_mut().zip(sizes) {
            let Some(size) = size else { continue };
            *v = self.zeros_of(size, *v, stmt, out);
        }
        self.stmts(vec![Stmt { op: Op::Loop(Box::new(rewritten)), ..stmt.clone() }], out);
    }

    fn stack_of(&mut self, elems: Vec<Var>, ty: Ty, s: &Stmt, out: &mut Vec<Stmt>) -> Var {
        let v = self.f.fresh(ty, false);
        self.stmts(
            vec![Stmt { op: Op::ArrayLit { elems, shape: None }, outs: vec![v], lin_outs: Vec::new(), span: s.span }],
            out,
        );
        v
    }

    /// Emits one iteration of a loop at an index, and returns its results.
    fn iteration(&mut self, s: &Stmt, ir_loop: &Loop, at: Var, out: &mut Vec<Stmt>) -> Vec<Var> {
        let k = 1 + ir_loop.init.len();
        let mut given: Vec<Var> = std::iter::once(at).chain(ir_loop.init.iter().copied()).collect();
        for (x, p) in ir_loop.xs.iter().zip(&ir_loop.body.params[k..]) {
            let v = self.f.fresh(self.f.ty(*p).clone(), false);
            let read = Stmt {
                op: Op::Index { a: *x, at: vec![at], shape: None },
                outs: vec![v],
                lin_outs: Vec::new(),
                span: s.span,
            };
            self.stmts(vec![read], out);
            given.push(self.name(v));
        }
        let mut body = self.copy(&ir_loop.body, &given);
        self.stmts(std::mem::take(&mut body.stmts), out);
        body.results.iter().map(|r| self.name(*r)).collect()
    }
}
