//! Sums with alternatives in their predicates: `Σ [p ∨ q] e` becomes `Σ [p] e + Σ [q ∧ ¬p] e`, so that each part is
//! narrowed separately and no term is added twice. `max` and `min` of Ints are alternatives, too; `Σ ([p] d + [q]
//! e)` is split into two sums.
//!
//! A sum is split only if both parts contain comparisons of indices that may be solved. To test data, one sum is
//! better than two.

use super::path::comprehension;
use super::predicate::{negated, turned};
use crate::limits::tensor_disjoint::{DEEPEST, MOST};
use adl_ir::{Block, Builder, Cmp, Function, Lit, Loop, Op, Out, Stmt, Ty, Var};
use adl_prim::Bin;
use std::collections::HashMap;
use std::rc::Rc;

/// The function with such sums split; `None` if there are none.
pub(super) fn split(src: &Function) -> Option<Function> {
    let mut s = IndexSplit { b: Builder::on(src.clone()), literals: literals(src), left: MOST };
    let mut body = src.body.clone();
    s.block(&mut body);
    let changed = s.left < MOST;
    changed.then_some(Function { body, ..s.b.func })
}

struct IndexSplit {
    b: Builder,
    /// The function's own literals and zeros, wherever they are bound.
    literals: Rc<HashMap<Var, Op>>,
    left: usize,
}

fn literals(f: &Function) -> Rc<HashMap<Var, Op>> {
    let mut out = HashMap::new();
    let mut work = vec![&f.body];
    while let Some(b) = work.pop() {
        for s in &b.stmts {
            if let (Op::Lit(_) | Op::Zero(_), [v]) = (&s.op, s.outs.as_slice()) {
                out.insert(*v, s.op.clone());
            }
            work.extend(s.op.blocks());
        }
    }
    Rc::new(out)
}

/// A nest of sums whose innermost body ends with a bracket, or with a sum of two brackets.
struct SumNest<'a> {
    /// The positions of the inner sums in their bodies.
    steps: Vec<usize>,
    body: &'a Block,
    /// Definitions of Bools and Ints, to tell which Ints consist of indices and loop-invariant values.
    defs: HashMap<Var, &'a Op>,
    data: Vec<Var>,
    literals: Rc<HashMap<Var, Op>>,
}

fn nest(stmt: &Stmt, literals: Rc<HashMap<Var, Op>>) -> Option<SumNest<'_>> {
    let mut ir_loop = sum(&stmt.op)?;
    let mut out = SumNest { steps: Vec::new(), body: &ir_loop.body, defs: HashMap::new(), data: Vec::new(), literals };
    loop {
        out.data.extend(ir_loop.body.params.iter().skip(1));
        let mut work: Vec<&Stmt> = out.body.stmts.iter().collect();
        while let Some(s) = work.pop() {
            if let [v] = s.outs.as_slice() {
                out.defs.insert(*v, &s.op);
            }
            if !matches!(s.op, Op::Bin(..) | Op::Un(..) | Op::Lit(_) | Op::Dim(..)) {
                out.data.extend(&s.outs);
            }
            work.extend(s.op.blocks().into_iter().flat_map(|b| &b.stmts));
        }
        let [result] = out.body.results.as_slice() else { return None };
        let at = out.body.stmts.iter().position(|s| s.outs.contains(result))?;
        let Some(inner) = sum(&out.body.stmts[at].op) else { return Some(out) };
        out.steps.push(at);
        ir_loop = inner;
        out.body = &ir_loop.body;
    }
}

/// A loop whose output is a sum of numbers.
fn sum(op: &Op) -> Option<&Loop> {
    let (l, _) = comprehension(op)?;
    (l.outs == [Out::Sum] && l.lin_outs.is_empty() && !l.reverse).then_some(l)
}

impl IndexSplit {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        let mut work: Vec<Stmt> = std::mem::take(&mut block.stmts).into_iter().rev().collect();
        while let Some(mut s) = work.pop() {
            match self.split_sums(&s) {
                Some(parts) => {
                    self.left -= 1;
                    work.extend(parts.into_iter().rev());
                }
                None => {
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                        s.op.blocks_mut().into_iter().for_each(|b| self.block(b));
                    });
                    out.push(s);
                }
            }
        }
        block.stmts = out;
    }

    /// The two sums, and the addition of their results.
    fn split_sums(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let ([total, trips], true) = (stmt.outs.as_slice(), self.left > 0) else { return None };
        let n = nest(stmt, self.literals.clone()).filter(|_| self.b.ty(*total).rank() == 0)?;
        let parts = [self.split_body(&n, false)?, self.split_body(&n, true)?];
        let mut sums = Vec::new();
        let mut made = Vec::new();
        for (end, result) in parts {
            let mut part = stmt.clone();
            let body = n
                .steps
                .iter()
                .try_fold(body_of(&mut part), |b, k| b.and_then(|b| b.stmts.get_mut(*k)).map(body_of))??;
            body.stmts.extend(end);
            body.results = vec![result];
            let mut part = self.b.copy_stmt(&part, &mut HashMap::new());
            if sums.is_empty() {
                part.outs[1] = *trips;
            }
            sums.push(part.outs[0]);
            made.push(part);
        }
        made.push(Stmt {
            outs: vec![*total],
            lin_outs: Vec::new(),
            op: Op::Bin(Bin::Add, sums[0], sums[1]),
            span: stmt.span,
        });
        Some(made)
    }

    /// The end of the body of one of the two sums, and its result.
    fn split_body(&mut self, sum_nest: &SumNest, second: bool) -> Option<(Vec<Stmt>, Var)> {
        let result = *sum_nest.body.results.first()?;
        let end = sum_nest.body.stmts.iter().find(|s| s.outs == [result])?;
        let mut out = Vec::new();
        match &end.op {
            Op::Bin(Bin::Add, a, b)
                if [a, b].into_iter().all(|v| sum_nest.bracket(*v).is_some_and(|c| sum_nest.solvable(c, 0))) =>
            {
                Some((out, if second { *b } else { *a }))
            }
            Op::If(c, a, block) => {
                let holds = if sum_nest.zeros(block) {
                    true
                } else if sum_nest.zeros(a) {
                    false
                } else {
                    return None;
                };
                let c = self.alternative(sum_nest, *c, holds, second, &mut out, 0)?;
                let mut s = end.clone();
                s.op = Op::If(c, a.clone(), block.clone());
                let s = self.b.copy_stmt(&s, &mut HashMap::new());
                let result = *s.outs.first()?;
                out.push(s);
                Some((out, result))
            }
            _ => None,
        }
    }

    fn push(&mut self, op: Op, out: &mut Vec<Stmt>) -> Var {
        let v = self.b.func.fresh(Ty::Bool, false);
        let s = self.b.copy_stmt(
            &Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: Default::default() },
            &mut HashMap::new(),
        );
        let v = s.outs[0];
        out.push(s);
        v
    }

    fn literal(&mut self, value: bool) -> Block {
        let mut stmts = Vec::new();
        let v = self.push(Op::Lit(Lit::Bool(value)), &mut stmts);
        Block { stmts, results: vec![v], ..Block::default() }
    }

    /// Emits the first alternative of `c` (or of its negation), or the second one without the first, as a Bool at
    /// the end of `out`.
    fn alternative(
        &mut self,
        sum_nest: &SumNest,
        test: Var,
        holds: bool,
        second: bool,
        out: &mut Vec<Stmt>,
        depth: u32,
    ) -> Option<Var> {
        if depth > DEEPEST {
            return None;
        }
        match *sum_nest.defs.get(&test)? {
            Op::Not(a) => {
                let a = self.alternative(sum_nest, *a, !holds, second, out, depth + 1)?;
                Some(self.push(Op::Not(a), out))
            }
            Op::If(condition, yes, no) => {
                let (left, right) = (*yes.results.first()?, *no.results.first()?);
                // For a conjunction, one of the operands has the alternatives.
                let both = match () {
                    () if sum_nest.is(right, !holds) => Some((true, 0, left)),
                    () if sum_nest.is(left, !holds) => Some((false, 1, right)),
                    () => None,
                };
                if let Some((c_holds, arm, of)) = both {
                    let mut blocks = [(**yes).clone(), (**no).clone()];
                    let c = match self.alternative(sum_nest, *condition, c_holds, second, out, depth + 1) {
                        Some(c) => c,
                        None => {
                            let v = self.alternative(sum_nest, of, holds, second, &mut blocks[arm].stmts, depth + 1)?;
                            blocks[arm].results = vec![v];
                            *condition
                        }
                    };
                    let [a, b] = blocks;
                    return Some(self.push(Op::If(c, Box::new(a), Box::new(b)), out));
                }
                let parts = [(left, yes), (right, no)]
                    .into_iter()
                    .all(|(v, _)| sum_nest.is(v, holds) || sum_nest.solvable(v, 0))
                    && sum_nest.solvable(*condition, 0);
                parts.then_some(())?;
                let never = self.literal(!holds);
                let op = if second {
                    Op::If(*condition, Box::new(never), no.clone())
                } else {
                    Op::If(*condition, yes.clone(), Box::new(never))
                };
                Some(self.push(op, out))
            }
            Op::Cmp(op, a, b) if *self.b.func.ty(*a) == Ty::I64 => {
                self.of_two(sum_nest, if holds { *op } else { negated(*op) }, (*a, *b), holds, second, out)
            }
            _ => None,
        }
    }

    /// The alternatives of a comparison with `max x y` or `min x y`.
    fn of_two(
        &mut self,
        sum_nest: &SumNest,
        op: Cmp,
        (lhs, b): (Var, Var),
        holds: bool,
        second: bool,
        out: &mut Vec<Stmt>,
    ) -> Option<Var> {
        let parts = |v: Var| match sum_nest.defs.get(&v) {
            Some(Op::Bin(pick @ (Bin::Max | Bin::Min), x, y)) => Some((*pick, *x, *y)),
            _ => None,
        };
        let (op, (pick, left, right), bound) = match (parts(lhs), parts(b)) {
            (Some(p), _) => (op, p, b),
            (_, Some(p)) => (turned(op), p, lhs),
            _ => return None,
        };
        if sum_nest.data.contains(&left) || sum_nest.data.contains(&right) || sum_nest.data.contains(&bound) {
            return None;
        }
        // The comparisons for x and y: (x first), or (y second and not x first).
        let (first, other) = match (pick, op) {
            (Bin::Max, Cmp::Ge | Cmp::Gt) | (Bin::Min, Cmp::Le | Cmp::Lt) => (op, None),
            (Bin::Max, Cmp::Eq) => (Cmp::Eq, Some((Cmp::Le, Cmp::Lt))),
            (Bin::Min, Cmp::Eq) => (Cmp::Eq, Some((Cmp::Ge, Cmp::Gt))),
            _ => return None,
        };
        let made = match (second, other) {
            (false, None) => self.push(Op::Cmp(first, left, bound), out),
            (false, Some((at_most, _))) => self.and((first, left, bound), (at_most, right, bound), out),
            (true, None) => self.and((first, right, bound), (negated(first), left, bound), out),
            (true, Some((_, below))) => self.and((first, right, bound), (below, left, bound), out),
        };
        Some(if holds { made } else { self.push(Op::Not(made), out) })
    }

    fn and(&mut self, p: (Cmp, Var, Var), q: (Cmp, Var, Var), out: &mut Vec<Stmt>) -> Var {
        let p = self.push(Op::Cmp(p.0, p.1, p.2), out);
        let mut stmts = Vec::new();
        let q = self.push(Op::Cmp(q.0, q.1, q.2), &mut stmts);
        let never = self.literal(false);
        self.push(Op::If(p, Box::new(Block { stmts, results: vec![q], ..Block::default() }), Box::new(never)), out)
    }
}

impl SumNest<'_> {
    fn made(&self, v: Var) -> Option<&Op> {
        self.defs.get(&v).copied().or_else(|| self.literals.get(&v))
    }

    /// Whether the result of a block is zero.
    fn zeros(&self, b: &Block) -> bool {
        let zero =
            |v: &Var| matches!(self.made(*v), Some(Op::Zero(_) | Op::Lit(Lit::F64(0.0) | Lit::F32(0.0) | Lit::I64(0))));
        b.results.iter().all(zero)
    }

    fn is(&self, v: Var, value: bool) -> bool {
        matches!(self.made(v), Some(Op::Lit(Lit::Bool(b))) if *b == value)
    }

    /// The condition of a bracket.
    fn bracket(&self, v: Var) -> Option<Var> {
        match self.defs.get(&v) {
            Some(Op::If(c, a, b)) if self.zeros(a) || self.zeros(b) => Some(*c),
            _ => None,
        }
    }

    /// Whether a condition contains a comparison of Ints that do not depend on data.
    fn solvable(&self, c: Var, depth: u32) -> bool {
        if depth > DEEPEST {
            return false;
        }
        match self.defs.get(&c) {
            Some(Op::Cmp(_, a, b)) => [a, b].into_iter().all(|v| self.of_indices(*v, 0)),
            Some(Op::Not(a)) => self.solvable(*a, depth + 1),
            Some(Op::If(c, a, b)) => {
                self.solvable(*c, depth + 1)
                    || [a, b].into_iter().any(|b| b.results.iter().any(|v| self.solvable(*v, depth + 1)))
            }
            _ => false,
        }
    }

    /// Whether an Int consists of indices and loop-invariant values.
    fn of_indices(&self, v: Var, depth: u32) -> bool {
        if depth > DEEPEST || self.data.contains(&v) {
            return false;
        }
        match self.defs.get(&v) {
            Some(Op::Bin(_, a, b)) => self.of_indices(*a, depth + 1) && self.of_indices(*b, depth + 1),
            Some(Op::Un(_, a)) => self.of_indices(*a, depth + 1),
            _ => true,
        }
    }
}

fn body_of(s: &mut Stmt) -> Option<&mut Block> {
    match &mut s.op {
        Op::Loop(l) => Some(&mut l.body),
        _ => None,
    }
}
