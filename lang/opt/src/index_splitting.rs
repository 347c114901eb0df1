//! Index-set splitting: a loop that tests where its index is, like the boundary tests of a stencil, gets a copy without
//! tests for the interior. A test is a branch on comparisons, the minimum or maximum of an affine function of the index and
//! a loop-invariant number, or the remainder of such a function.
//!
//! ```text
//! for n out (collect) { c = i - 1 >= 0;  d = n - i - 2 >= 0;  if c { if d { e } else { 0 } } else { 0 } }
//! ⟼  lo = 1; hi = n - 1:  (for lo { … }) ++ (for hi - lo { i = k + lo; e }) ++ (for n - hi { i = k + hi; … })
//!
//! for n out (collect) { j = (i + 1) % n;  e }
//! ⟼  hi = n - 1:  (for hi { j = i + 1; e }) ++ (for n - hi { i = k + hi; j = (i + 1) % n; e })
//!
//! for n out (collect) { m = min (i + 1) k;  for m out (sum) { … } }
//! ⟼  lo = k - 1; hi = n:  (for lo { … }) ++ (for n - lo { for k out (sum) { … } })
//! ```
//!
//! In the interior a test is as in the middle of the loop, where that is known: `i == k` is false. So is a minimum or
//! maximum. Otherwise, a bound of an inner loop, or an extremum that is converted to a number, is loop-invariant; any other
//! is the function of the index. So the copy is straight-line code, or has inner loops of one trip count, which native code vectorises. Used only
//! for long loops: `FEWEST`, or `FEWEST_WITH_LOOPS`.
//!
//! Iterations are independent and each element is computed as before, so the results have the same bits. The loop
//! is emitted three times, so the pass is for native code only.

mod interior;

use crate::limits::index_splitting::{FEWEST, FEWEST_WITH_LOOPS, LONGEST, NO_INDEX};
use adl_ir::rewrite::rename as copy;
use adl_ir::rewrite::renumber;
use adl_ir::{Block, Cmp, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_syntax::span::Span;
use interior::{AffineInIndex, Interior, InteriorAnalysis, InteriorFact, Literals};
use std::collections::HashMap;

/// Splits loops. Returns whether there were any.
pub fn split_loops(f: &mut Function) -> bool {
    let mut body = std::mem::take(&mut f.body);
    let literals = Literals::of(&body);
    let changed = block(f, &literals, &mut body, None);
    f.body = body;
    changed
}

/// `rows`: in an iteration without carried values, the rows that its loop collects.
fn block(function: &mut Function, literals: &Literals, body: &mut Block, rows: Option<&[Var]>) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut changed = false;
        let mut out = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            let collected = if let Op::Loop(l) = &stmt.op { collected(l) } else { None };
            let is_loop = matches!(stmt.op, Op::Loop(_));
            for part in stmt.op.blocks_mut() {
                let of_arm = |rows: &[Var]| -> Vec<Var> {
                    stmt.outs.iter().zip(&part.results).filter(|(v, _)| rows.contains(v)).map(|(_, r)| *r).collect()
                };
                let inside = if is_loop { collected.clone() } else { rows.map(of_arm) };
                changed |= block(function, literals, part, inside.as_deref());
            }
            // A loop is vectorised along its own index, with the loops over arrays that only its iteration reads. An
            // equality costs nothing there.
            let local = rows.is_some_and(|rows| !stmt.outs.iter().any(|v| rows.contains(v)));
            match interior_of(function, literals, &stmt).filter(|interior| !local || !interior.has_equalities()) {
                Some(interior) => {
                    apart(function, stmt, &interior, &mut out);
                    changed = true;
                }
                None => out.push(stmt),
            }
        }
        body.stmts = out;
        changed
    })
}

/// The results of an iteration that a loop collects, if it carries nothing.
fn collected(l: &Loop) -> Option<Vec<Var>> {
    let kept = l.outs.iter().zip(&l.body.results).filter(|(o, _)| **o == Out::Collect).map(|(_, r)| *r);
    l.init.is_empty().then(|| kept.collect())
}

fn size(b: &Block) -> usize {
    b.stmts.iter().map(|s| 1 + s.op.blocks().into_iter().map(size).sum::<usize>()).sum()
}

/// The trip count of the interior from which a split loop is used.
fn fewest(body: &Block) -> i64 {
    let loops = body.stmts.iter().any(|s| matches!(s.op, Op::Loop(_)));
    if loops { FEWEST_WITH_LOOPS } else { FEWEST }
}

/// The interior of a loop, if it can be split.
fn interior_of(func: &Function, literals: &Literals, s: &Stmt) -> Option<Interior> {
    let Op::Loop(ir_loop) = &s.op else { return None };
    let Trip::Count(trip) = ir_loop.trip else { return None };
    if literals.int(trip).is_some_and(|n| n < fewest(&ir_loop.body)) {
        return None;
    }
    let plain = ir_loop.init.is_empty()
        && ir_loop.lin_init.is_empty()
        && ir_loop.lin_xs.is_empty()
        && ir_loop.body.lin_params.is_empty()
        && s.lin_outs.is_empty();
    let collects = !ir_loop.outs.is_empty()
        && ir_loop.outs.iter().all(|o| *o == Out::Collect)
        && ir_loop.body.results.iter().all(|r| matches!(func.ty(*r), Ty::F64 | Ty::I64));
    if !plain || !collects || size(&ir_loop.body) > LONGEST || !simple(&ir_loop.body) {
        return None;
    }
    let mut inside = Vec::new();
    copy::bound(&ir_loop.body, &mut inside);
    let index = *ir_loop.body.params.first()?;
    let interior = InteriorAnalysis::of(func, literals, (index, trip), &ir_loop.body, inside);
    interior.bounds.iter().any(InteriorFact::depends).then_some(interior)
}

/// Whether a block contains no nested blocks other than branches and loops.
fn simple(b: &Block) -> bool {
    b.stmts.iter().all(|s| match &s.op {
        Op::If(_, a, b) => simple(a) && simple(b),
        Op::Loop(l) => {
            let linear = l.lin_init.len() + l.lin_xs.len() + s.lin_outs.len();
            matches!(l.trip, Trip::Count(_)) && linear == 0 && simple(&l.body)
        }
        Op::Switch(..) | Op::Soac(_) | Op::ReduceByIndex { .. } | Op::Call { .. } => false,
        _ => s.lin_outs.is_empty(),
    })
}

/// Emits statements.
struct SplitEmitter<'a> {
    f: &'a mut Function,
    out: Vec<Stmt>,
    /// The trip count of the loop.
    trip: Var,
    span: Span,
}

impl SplitEmitter<'_> {
    fn one(&mut self, op: Op, ty: Ty) -> Var {
        let v = self.f.fresh(ty, false);
        self.out.push(Stmt { op, outs: vec![v], lin_outs: Vec::new(), span: self.span });
        v
    }

    fn int(&mut self, n: i64) -> Var {
        self.one(Op::Lit(Lit::I64(n)), Ty::I64)
    }

    fn bin(&mut self, op: Bin, a: Var, b: Var) -> Var {
        self.one(Op::Bin(op, a, b), Ty::I64)
    }

    /// Emits the value of a function without its index term.
    fn rest(&mut self, a: &AffineInIndex) -> Var {
        let mut sum = self.int(a.number);
        for (minus, v) in &a.terms {
            let v = if a.terms.len() == 1 && *v != self.trip { self.clamped(*v) } else { *v };
            sum = self.bin(if *minus { Bin::Sub } else { Bin::Add }, sum, v);
        }
        sum
    }

    /// A number that compares with all indices as before, and from which small numbers are far from overflow.
    fn clamped(&mut self, v: Var) -> Var {
        let [least, most] = [-NO_INDEX, NO_INDEX].map(|n| self.int(n));
        let v = self.bin(Bin::Max, v, least);
        self.bin(Bin::Min, v, most)
    }

    /// The first iteration of the interior, and the first one after it. Both are `count` if a loop-invariant condition does
    /// not hold.
    fn range(&mut self, count: Var, bounds: &[InteriorFact]) -> Option<(Var, Var)> {
        let zero = self.int(0);
        let (mut lo, mut hi, mut holds) = (zero, count, Vec::new());
        for bound in bounds {
            match bound {
                InteriorFact::Least(a) if a.index == 1 => {
                    let from = self.rest(&a.negated(0)?);
                    lo = self.bin(Bin::Max, lo, from);
                }
                InteriorFact::Least(a) if a.index == -1 => {
                    let (one, last) = (self.int(1), self.rest(a));
                    let to = self.bin(Bin::Add, last, one);
                    hi = self.bin(Bin::Min, hi, to);
                }
                InteriorFact::NonZero(a) if a.index != 0 => {
                    let at = if a.index > 0 { self.rest(&a.negated(0)?) } else { self.rest(a) };
                    (lo, hi) = self.longer_side(at, (lo, hi), count);
                }
                InteriorFact::Least(a) | InteriorFact::NonZero(a) => {
                    let least = matches!(bound, InteriorFact::Least(_));
                    let rest = self.rest(a);
                    holds.push(self.one(Op::Cmp(if least { Cmp::Ge } else { Cmp::Ne }, rest, zero), Ty::Bool));
                }
                InteriorFact::Invariant(v, true) => holds.push(*v),
                InteriorFact::Invariant(v, false) => holds.push(self.one(Op::Not(*v), Ty::Bool)),
            }
        }
        for c in holds {
            hi = self.one(Op::Select(c, hi, zero), Ty::I64);
        }
        lo = self.bin(Bin::Min, lo, count);
        hi = self.bin(Bin::Max, hi, lo);
        Some((lo, hi))
    }

    /// The longer part of a range without the iteration `at`, which may be out of it.
    fn longer_side(&mut self, at: Var, (lo, hi): (Var, Var), count: Var) -> (Var, Var) {
        let one = self.int(1);
        // From -1 to `count`, so that nothing below overflows.
        let [minus_one, most] = [self.int(-1), count];
        let at = self.bin(Bin::Max, at, minus_one);
        let at = self.bin(Bin::Min, at, most);
        let (next, after) = (self.bin(Bin::Add, at, one), self.bin(Bin::Sub, count, at));
        let early = self.one(Op::Cmp(Cmp::Lt, at, after), Ty::Bool);
        let (from, to) = (self.bin(Bin::Max, lo, next), self.bin(Bin::Min, hi, at));
        (self.one(Op::Select(early, from, lo), Ty::I64), self.one(Op::Select(early, hi, to), Ty::I64))
    }

    /// Emits the loop over `count` iterations from `lo` on, and returns what it collects.
    fn emit_range(&mut self, ir_loop: &Loop, body: &Block, (lo, count): (Var, Var), tys: &[Ty]) -> Vec<Var> {
        let k = self.f.fresh(Ty::I64, false);
        let mut block = Block { params: vec![k], ..Block::default() };
        let outer = std::mem::take(&mut self.out);
        let i = self.bin(Bin::Add, k, lo);
        let mut names = HashMap::from([(body.params[0], i)]);
        for (x, p) in ir_loop.xs.iter().zip(&body.params[1..]) {
            let ty = self.f.ty(*p).clone();
            names.insert(*p, self.one(Op::Index { a: *x, at: vec![i], shape: None }, ty));
        }
        block.stmts = std::mem::replace(&mut self.out, outer);
        let mut copy = copy::copy(self.f, body, names);
        block.stmts.append(&mut copy.stmts);
        block.results = copy.results;
        let outs: Vec<Var> = tys.iter().map(|t| self.f.fresh(t.clone(), false)).collect();
        let trip = self.f.fresh(Ty::I64, false);
        let l = Loop { trip: Trip::Count(count), reverse: false, xs: Vec::new(), body: block, ..ir_loop.clone() };
        self.out.push(Stmt {
            op: Op::Loop(Box::new(l)),
            outs: outs.iter().copied().chain([trip]).collect(),
            lin_outs: Vec::new(),
            span: self.span,
        });
        outs
    }
}

/// A copy of a block for the interior.
fn settled(block: &Block, interior: &Interior) -> Block {
    let mut names: HashMap<Var, Var> = HashMap::new();
    let mut out = Block { params: block.params.clone(), ..Block::default() };
    for stmt in &block.stmts {
        match &stmt.op {
            Op::Bin(..) if interior.numbers.contains_key(&stmt.outs[0]) => {
                let number = interior.numbers[&stmt.outs[0]];
                out.stmts.push(Stmt { op: Op::Lit(Lit::I64(number)), ..stmt.clone() });
            }
            Op::Bin(..) if interior.chosen.contains_key(&stmt.outs[0]) => {
                names.insert(stmt.outs[0], interior.chosen[&stmt.outs[0]]);
            }
            Op::Bin(_, x, m) if interior.wrapped.contains_key(&stmt.outs[0]) => {
                out.stmts.push(Stmt { op: Op::Bin(interior.wrapped[&stmt.outs[0]], *x, *m), ..stmt.clone() });
            }
            Op::If(c, yes, no) if interior.known.contains_key(c) => {
                let inner = settled(if interior.known[c] { yes } else { no }, interior);
                names.extend(stmt.outs.iter().copied().zip(inner.results));
                out.stmts.extend(inner.stmts);
            }
            op => {
                let mut s = stmt.clone();
                if let Op::Loop(l) = op {
                    s.op = Op::Loop(Box::new(Loop { body: settled(&l.body, interior), ..(**l).clone() }));
                }
                out.stmts.push(s);
            }
        }
    }
    out.results = block.results.clone();
    let name = |v: Var| {
        let mut v = v;
        while let Some(x) = names.get(&v) {
            v = *x;
        }
        v
    };
    renumber(&mut out, &name);
    out
}

/// Emits a branch between the split loop, for a long interior, and the original.
fn apart(func: &mut Function, stmt: Stmt, interior: &Interior, out: &mut Vec<Stmt>) {
    let Op::Loop(ir_loop) = &stmt.op else { return out.push(stmt) };
    let Trip::Count(n) = ir_loop.trip else { return out.push(stmt.clone()) };
    let tys: Vec<Ty> = stmt.outs[..ir_loop.outs.len()].iter().map(|v| func.ty(*v).clone()).collect();
    let fast = settled(&ir_loop.body, interior);
    let mut emitter = SplitEmitter { f: func, out: Vec::new(), trip: n, span: stmt.span };
    let zero = emitter.int(0);
    let trips = emitter.bin(Bin::Max, n, zero);
    let Some((lo, hi)) = emitter.range(trips, &interior.bounds) else { return out.push(stmt.clone()) };
    let count = emitter.bin(Bin::Sub, hi, lo);
    let few = emitter.int(fewest(&ir_loop.body));
    let many = emitter.one(Op::Cmp(Cmp::Ge, count, few), Ty::Bool);
    out.append(&mut emitter.out);
    let first = emitter.emit_range(ir_loop, &ir_loop.body, (zero, lo), &tys);
    let middle = emitter.emit_range(ir_loop, &fast, (lo, count), &tys);
    let after = emitter.bin(Bin::Sub, trips, hi);
    let last = emitter.emit_range(ir_loop, &ir_loop.body, (hi, after), &tys);
    let mut results = Vec::new();
    for (k, ty) in tys.iter().enumerate() {
        let both = emitter.one(Op::Concat { a: first[k], b: middle[k], len: None, shape: None }, ty.clone());
        results.push(emitter.one(Op::Concat { a: both, b: last[k], len: None, shape: None }, ty.clone()));
    }
    results.push(trips);
    let yes = Block { stmts: std::mem::take(&mut emitter.out), results, ..Block::default() };
    let made: Vec<Var> = stmt.outs.iter().map(|v| func.fresh(func.ty(*v).clone(), false)).collect();
    let no = Block { stmts: vec![Stmt { outs: made.clone(), ..stmt.clone() }], results: made, ..Block::default() };
    out.push(Stmt {
        op: Op::If(many, Box::new(yes), Box::new(no)),
        outs: stmt.outs,
        lin_outs: Vec::new(),
        span: stmt.span,
    });
}
