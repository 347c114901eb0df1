//! Linear recurrences as scans. If a loop carries a few numbers and each iteration applies an affine function to
//! them, a scan computes all carried values, and the remaining loop has no state. Gradients of scans are such
//! loops, and so are filters, discounted sums and products of matrices.
//!
//! ```text
//! c, ys = loop for n over (x) carry (c₀) collect { c' = a(x)·c + b(x); return c', y(x, c) }
//! ⟼  as, bs = loop for n over (x) collect { … }
//!     _, cs = exclusive scan (1, 0) over (as, bs) { (a₁, b₁) ∘ (a₂, b₂) = (a₂·a₁, a₂·b₁ + b₂) }
//!     ys = loop for n over (x, cs) collect { y(x, c) }
//! ```
//!
//! Several numbers that depend on each other form a vector, and `a` is a matrix, of which only the entries that may
//! be non-zero are kept. For a linear function there is no `b`, and only the matrices are scanned. The initial
//! values of the loop are part of the first `b`.
//!
//! A product of many `a` may overflow although the carried value does not (it may be zero, for example). The
//! operator therefore asserts that its results are finite. If they are not, the call fails and the CPU runs the
//! loop sequentially. Underflow of a product changes no result noticeably.

mod emit;
mod read;
mod systems;

use super::Pass;
use crate::fuse::is_thread;
use adl_ir::rewrite::copy_all;
use adl_ir::{Block, Cmp, Function, Lit, Loop, Op, Out, Soac, SoacKind, Stmt, Ty, Var};
use adl_prim::{Bin, GeneralFn, Prim};
use adl_syntax::span::Span;
use emit::CoefficientWriter;
use read::{AffineBody, Coef, read};
use std::collections::{HashMap, HashSet};
use systems::{System, systems};

/// Limit of the numbers that a scan's operator accumulates, since a device keeps them for each thread of a work-group.
const NUMBERS: usize = 50;

/// Whether all iterations of a loop can run in parallel: its carried values are numbers to which iterations apply
/// affine functions, and arrays to which they add.
#[must_use]
pub fn at_once(f: &Function, l: &Loop) -> bool {
    let (numbers, arrays): (Vec<usize>, Vec<usize>) = (0..l.init.len()).partition(|k| f.ty(l.init[*k]).rank() == 0);
    let Some(iteration) = read(f, l, &numbers, &|_| false) else { return false };
    systems(&iteration).is_some() && arrays.into_iter().all(|k| only_added_to(l, k))
}

/// Whether a carried array is only read by statements that add to it.
fn only_added_to(l: &Loop, k: usize) -> bool {
    added(&l.body, l.body.params[1 + k]) == Some(l.body.results[k])
}

/// The version of an array at the end of a block that only adds to it, nested branches and loops included.
fn added(block: &Block, v: Var) -> Option<Var> {
    let mut now = v;
    for stmt in &block.stmts {
        let reads = reads_in(stmt, now);
        match &stmt.op {
            _ if reads == 0 => {}
            Op::IndexAdd { acc, .. } | Op::SliceAdd { acc, .. } | Op::GatherAdd { acc, .. }
                if *acc == now && reads == 1 =>
            {
                now = stmt.outs[0];
            }
            Op::Bin(Bin::Add, a, b) if (*a == now) != (*b == now) => now = stmt.outs[0],
            Op::If(c, a, b) if *c != now => {
                let ends = (added(a, now)?, added(b, now)?);
                let place = a.results.iter().zip(&b.results).position(|(x, y)| (*x, *y) == ends)?;
                now = stmt.outs[place];
            }
            Op::Loop(inside) if reads == 1 => {
                let place = inside.init.iter().position(|x| *x == now)?;
                if !only_added_to(inside, place) {
                    return None;
                }
                now = stmt.outs[place];
            }
            _ => return None,
        }
    }
    Some(now)
}

fn reads_in(s: &Stmt, v: Var) -> usize {
    let mut n = 0;
    s.op.each_operand(&mut |w| n += usize::from(w == v));
    n + s.op.blocks().into_iter().filter(|b| crate::fuse::reads_of(b).contains(&v)).count()
}

/// A loop that is being rewritten.
struct Rewriting<'p, 'a> {
    pass: &'p mut Pass<'a>,
    l: Loop,
    /// The trip count of the loop.
    n: Var,
    ty: Ty,
    /// Whether each carried number starts as zero.
    zero: Vec<bool>,
    span: Span,
    out: Vec<Stmt>,
}

impl Pass<'_> {
    /// The statements that replace a loop, if it is a recurrence of numbers over materialised vectors.
    pub(super) fn recurrence(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let Op::Loop(l) = &stmt.op else { return None };
        let adl_ir::Trip::Count(n) = l.trip else { return None };
        if l.init.is_empty() || !l.xs.iter().all(|v| self.known.there.contains(v)) {
            return None;
        }
        let iteration = read(self.f, l, &(0..l.init.len()).collect::<Vec<_>>(), &|v| self.known.zeros.contains(&v))?;
        let systems = systems(&iteration)?;
        let zero = l.init.iter().map(|v| self.known.zeros.contains(v)).collect();
        let mut rewriting = Rewriting {
            l: (**l).clone(),
            n,
            ty: iteration.ty.clone(),
            zero,
            span: stmt.span,
            out: Vec::new(),
            pass: self,
        };
        let before = rewriting.pass.f.vars.len();
        (0..iteration.made).for_each(|_| _ = rewriting.pass.f.fresh(rewriting.ty.clone(), false));
        if rewriting.all(&iteration, &systems, &stmt.outs).is_none() {
            rewriting.pass.f.vars.truncate(before);
            return None;
        }
        let out = rewriting.out;
        self.changed = true;
        Some(out)
    }
}

impl Rewriting<'_, '_> {
    fn all(&mut self, iteration: &AffineBody, groups: &[Vec<System>], outs: &[Var]) -> Option<()> {
        let carried = self.l.init.len();
        let inside = only_needed(&mut self.l.body, carried, true);
        // Everything that may fail comes before the first renaming outside of the loop.
        let elements = groups.iter().map(|group| self.elements(iteration, group)).collect::<Option<Vec<_>>>()?;
        let (mut names, mut first) = (HashMap::new(), Vec::new());
        for (group, elements) in groups.iter().zip(&elements) {
            let any = |vs: &HashSet<Var>, of: &dyn Fn(usize) -> Var| {
                group.iter().flat_map(System::members).any(|i| vs.contains(&of(i)))
            };
            // An operator with an assertion is not removed as dead code, even if its results are not read.
            if any(&inside, &|i| self.l.body.params[1 + i]) {
                let before = self.accumulated(group, SoacKind::ScanExclusive, elements);
                let before: Vec<Var> = before.into_iter().map(|v| self.turned(v)).collect();
                let mut at = 0;
                for sys in group {
                    self.carried(sys, &before[at..at + sys.size()], &mut first, &mut names);
                    at += sys.size();
                }
            }
            if any(&self.pass.read, &|i| outs[i]) {
                let whole = self.accumulated(group, SoacKind::Reduce, elements);
                let mut at = 0;
                for sys in group {
                    self.ends(sys, &whole[at..at + sys.size()], outs);
                    at += sys.size();
                }
            }
        }
        self.last(first, &names, &outs[carried..]);
        Some(())
    }

    fn push(&mut self, op: Op, ty: Ty) -> Var {
        self.pass.push(op, ty, self.span, &mut self.out)
    }

    fn number(&mut self, x: f64) -> Var {
        self.push(Op::Lit(crate::real(&self.ty, x)), self.ty.clone())
    }

    /// Converts an array between the order of iterations and the order of indices.
    fn turned(&mut self, a: Var) -> Var {
        if !self.l.reverse {
            return a;
        }
        let ty = self.pass.f.ty(a).clone();
        self.push(Op::Reverse(a), ty)
    }

    /// The index of the first iteration.
    fn start(&mut self) -> Var {
        if !self.l.reverse {
            return self.push(Op::Lit(Lit::I64(0)), Ty::I64);
        }
        let one = self.push(Op::Lit(Lit::I64(1)), Ty::I64);
        self.push(Op::Bin(Bin::Sub, self.n, one), Ty::I64)
    }

    /// Emits, for each system, the arrays of matrix entries and of the additive terms, in the order of iterations.
    fn elements(&mut self, iteration: &AffineBody, systems: &[System]) -> Option<Vec<Var>> {
        let mut block =
            Block { params: vec![self.l.body.params[0]], stmts: iteration.stmts.clone(), ..Block::default() };
        block.params.extend(&self.l.body.params[1 + self.l.init.len()..]);
        let start = self.start();
        let mut in_iteration = Vec::new();
        let first = self.pass.push(Op::Cmp(Cmp::Eq, block.params[0], start), Ty::Bool, self.span, &mut in_iteration);
        for sys in systems {
            let made = self.element(iteration, sys, first, &mut in_iteration);
            block.results.extend(made);
        }
        block.stmts.extend(in_iteration);
        let read = only_needed(&mut block, 0, false);
        let mut xs = self.l.xs.clone();
        for i in (0..xs.len()).rev().filter(|i| !read.contains(&block.params[1 + i])).collect::<Vec<_>>() {
            block.params.remove(1 + i);
            xs.remove(i);
        }
        let block = copy_all(self.pass.f, &block);
        let (outs, count) = (vec![Out::Collect; block.results.len()], self.pass.f.fresh(Ty::I64, false));
        let ir_loop = Loop { xs, outs, ..Loop::new(self.l.trip.clone(), block) };
        if !is_thread(self.pass.f, &ir_loop) {
            return None;
        }
        let array = self.ty.array(1);
        let made: Vec<Var> = ir_loop.outs.iter().map(|_| self.pass.f.fresh(array.clone(), false)).collect();
        let outs = made.iter().copied().chain([count]).collect();
        self.out.push(Stmt { outs, lin_outs: Vec::new(), op: Op::Loop(Box::new(ir_loop)), span: self.span });
        Some(made.into_iter().map(|v| self.turned(v)).collect())
    }

    /// The initial value of a carried number.
    fn begins(&self, member: usize) -> Coef {
        if self.zero[member] { Coef::Zero } else { Coef::Is(self.l.init[member]) }
    }

    /// Emits the values of one iteration that the system's operator accumulates. In the first iteration they
    /// include the loop's initial values.
    fn element(&mut self, iteration: &AffineBody, sys: &System, first: Var, out: &mut Vec<Stmt>) -> Vec<Var> {
        let begins: Vec<Coef> = (0..self.zero.len()).map(|i| self.begins(i)).collect();
        let mut writer = CoefficientWriter { f: &mut *self.pass.f, ty: &self.ty, span: self.span, out };
        let folded = !sys.linear && sys.members().any(|i| begins[i] != Coef::Zero);
        let mut made = Vec::new();
        for &(i, j) in &sys.kept {
            let a = writer.var(sys.coef(iteration, i, j));
            made.push(if folded { writer.chosen(first, Coef::Zero, Coef::Is(a)) } else { a });
        }
        for column in sys.columns.iter().filter(|_| !sys.linear) {
            for (i, member) in column.iter().enumerate() {
                let rest = iteration.forms[*member].rest;
                let mut sum = rest;
                for (j, other) in column.iter().enumerate() {
                    let term = writer.product(sys.coef(iteration, i, j), begins[*other]);
                    sum = writer.sum(sum, term);
                }
                made.push(if folded && sum != rest { writer.chosen(first, sum, rest) } else { writer.var(rest) });
            }
        }
        made
    }

    /// Emits a scan or a reduction over a group of systems.
    fn accumulated(&mut self, group: &[System], kind: SoacKind, arrays: &[Var]) -> Vec<Var> {
        let (mut neutral, mut op, mut sides) = (Vec::new(), Block::default(), [Vec::new(), Vec::new()]);
        for sys in group {
            for k in 0..sys.size() {
                let one = sys.kept.get(k).is_some_and(|(i, j)| i == j);
                neutral.push(self.number(f64::from(u8::from(one))));
            }
            let params = [(); 2]
                .map(|()| (0..sys.size()).map(|_| self.pass.f.fresh(self.ty.clone(), false)).collect::<Vec<_>>());
            self.operator(sys, &params, &mut op);
            sides.iter_mut().zip(params).for_each(|(all, own)| all.extend(own));
        }
        op.params = sides.concat();
        let ty = if kind == SoacKind::Reduce { self.ty.clone() } else { self.ty.array(1) };
        let outs: Vec<Var> = arrays.iter().map(|_| self.pass.f.fresh(ty.clone(), false)).collect();
        let soac = Soac { kind, op, neutral, arrays: arrays.to_vec() };
        self.out.push(Stmt { outs: outs.clone(), lin_outs: Vec::new(), op: Op::Soac(Box::new(soac)), span: self.span });
        outs
    }

    /// `(A₁, b₁) ∘ (A₂, b₂) = (A₂·A₁, A₂·b₁ + b₂)`, with assertions that the results are finite.
    fn operator(&mut self, sys: &System, params: &[Vec<Var>; 2], to: &mut Block) {
        let (rows, kept) = (sys.rows(), sys.kept.len());
        let matrix = |side: usize, i: usize, j: usize| match sys.kept.iter().position(|p| *p == (i, j)) {
            Some(k) => Coef::Is(params[side][k]),
            None if i == j && sys.ones.contains(&i) => Coef::One,
            None => Coef::Zero,
        };
        let mut writer = CoefficientWriter { f: &mut *self.pass.f, ty: &self.ty, span: self.span, out: &mut to.stmts };
        let mut made = Vec::new();
        for &(i, j) in &sys.kept {
            let terms = (0..rows).map(|k| (matrix(1, i, k), matrix(0, k, j))).collect::<Vec<_>>();
            made.push(writer.sums(Coef::Zero, &terms));
        }
        for at in (kept..sys.size()).step_by(rows) {
            for i in 0..rows {
                let terms = (0..rows).map(|k| (matrix(1, i, k), Coef::Is(params[0][at + k]))).collect::<Vec<_>>();
                made.push(writer.sums(Coef::Is(params[1][at + i]), &terms));
            }
        }
        let checked = if sys.linear { &made[..] } else { &made[kept..] };
        checked.iter().for_each(|v| writer.finite(*v));
        to.results.extend(made);
    }

    /// Emits the values carried into an iteration, as elements of the remaining loop or as statements at the start
    /// of its body.
    fn carried(&mut self, sys: &System, before: &[Var], stmts: &mut Vec<Stmt>, names: &mut HashMap<Var, Var>) {
        let fresh = |r: &mut Self, a: Var| {
            let x = r.pass.f.fresh(r.ty.clone(), false);
            r.l.xs.push(a);
            r.l.body.params.push(x);
            x
        };
        if sys.linear {
            let factors: Vec<Var> = before.iter().map(|a| fresh(self, *a)).collect();
            for column in &sys.columns {
                for (i, member) in column.iter().enumerate() {
                    let made = self.applied(sys, (column, i), &factors, stmts);
                    names.insert(self.l.body.params[1 + member], made);
                }
            }
            return;
        }
        let start = self.start();
        for (k, member) in sys.members().enumerate() {
            let x = fresh(self, before[sys.kept.len() + k]);
            let made = if self.zero[member] {
                x
            } else {
                let first = self.pass.push(Op::Cmp(Cmp::Eq, self.l.body.params[0], start), Ty::Bool, self.span, stmts);
                self.pass.push(Op::Select(first, self.l.init[member], x), self.ty.clone(), self.span, stmts)
            };
            names.insert(self.l.body.params[1 + member], made);
        }
    }

    /// Applies a row of the accumulated matrix to the initial values of a column.
    fn applied(&mut self, sys: &System, (column, i): (&[usize], usize), factors: &[Var], out: &mut Vec<Stmt>) -> Var {
        let terms: Vec<_> = sys
            .kept
            .iter()
            .zip(factors)
            .filter(|((r, _), _)| *r == i)
            .map(|((_, j), v)| (Coef::Is(*v), self.begins(column[*j])))
            .collect();
        CoefficientWriter { f: &mut *self.pass.f, ty: &self.ty, span: self.span, out }.sums(Coef::Zero, &terms)
    }

    /// Emits the carried values after the last iteration.
    fn ends(&mut self, sys: &System, whole: &[Var], outs: &[Var]) {
        let zero = self.push(Op::Lit(Lit::I64(0)), Ty::I64);
        let none = self.push(Op::Cmp(Cmp::Le, self.n, zero), Ty::Bool);
        let mut at = sys.kept.len();
        for column in &sys.columns {
            for (i, member) in column.iter().enumerate() {
                let v = if sys.linear {
                    let mut stmts = Vec::new();
                    let v = self.applied(sys, (column, i), whole, &mut stmts);
                    self.out.extend(stmts);
                    v
                } else {
                    at += 1;
                    self.push(Op::Select(none, self.l.init[*member], whole[at - 1]), self.ty.clone())
                };
                self.pass.same(outs[*member], v);
            }
        }
    }

    /// Emits the remaining, stateless loop.
    fn last(&mut self, first: Vec<Stmt>, names: &HashMap<Var, Var>, outs: &[Var]) {
        let k = self.l.init.len();
        let mut l = self.l.clone();
        l.init.clear();
        l.reverse = false;
        l.body.params.drain(1..=k);
        l.body.results.drain(..k);
        l.body.stmts.iter_mut().for_each(|s| crate::fuse::rename_op(&mut s.op, names));
        l.body.results.iter_mut().for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
        l.body.stmts.splice(0..0, first);
        self.out.push(Stmt { outs: outs.to_vec(), lin_outs: Vec::new(), op: Op::Loop(Box::new(l)), span: self.span });
    }
}

/// Removes from a block what the results from the `k`-th on do not need; assertions are kept if `checks` is set,
/// for the last loop. Returns the variables that the rest reads.
fn only_needed(block: &mut Block, k: usize, checks: bool) -> HashSet<Var> {
    let mut read: HashSet<Var> = block.results[k..].iter().copied().collect();
    for s in std::mem::take(&mut block.stmts).into_iter().rev() {
        if s.outs.iter().any(|v| read.contains(v))
            || checks && matches!(s.op, Op::Prim(Prim::General(GeneralFn::Assert), _))
        {
            s.op.each_operand(&mut |v| _ = read.insert(v));
            s.op.blocks().into_iter().for_each(|b| read.extend(crate::fuse::reads_of(b)));
            block.stmts.push(s);
        }
    }
    block.stmts.reverse();
    read
}
