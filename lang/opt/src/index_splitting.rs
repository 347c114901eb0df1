//! Index-set splitting: a loop that tests where its index is, like the boundary tests in the gradient of a stencil, gets
//! a copy without tests for the interior. A test is a branch, or the minimum or maximum of an affine function of the
//! index and a loop-invariant number.
//!
//! ```text
//! for n out (collect) { c = i - 1 >= 0;  d = n - i - 2 >= 0;  if c { if d { e } else { 0 } } else { 0 } }
//! ⟼  lo = 1; hi = n - 1:  (for lo { … }) ++ (for hi - lo { i = k + lo; e }) ++ (for n - hi { i = k + hi; … })
//!
//! for n out (collect) { m = min (i + 1) k;  for m out (sum) { … } }
//! ⟼  lo = k - 1; hi = n:  (for lo { … }) ++ (for n - lo { for k out (sum) { … } })
//! ```
//!
//! A bound of an inner loop, or an extremum that is converted to a number, is loop-invariant in the interior; any other
//! minimum or maximum is the function of the index there. So the copy for the interior is straight-line code, or has inner
//! loops of one trip count, which native code vectorises. Used only for long loops: `FEWEST`, or `FEWEST_WITH_LOOPS`.
//!
//! Iterations are independent and each element is computed as before, so the results have the same bits. The loop
//! is emitted three times, so the pass is for native code only.

use crate::limits::index_splitting::{FEWEST, FEWEST_WITH_LOOPS, LONGEST};
use adl_ir::rewrite::rename as copy;
use adl_ir::rewrite::renumber;
use adl_ir::{Block, Cmp, Conv, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};

/// Splits loops. Returns whether there were any.
pub fn split_loops(f: &mut Function) -> bool {
    let mut body = std::mem::take(&mut f.body);
    let changed = block(f, &mut body);
    f.body = body;
    changed
}

fn block(f: &mut Function, body: &mut Block) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut changed = false;
        let mut out = Vec::with_capacity(body.stmts.len());
        for mut s in std::mem::take(&mut body.stmts) {
            s.op.blocks_mut().into_iter().for_each(|b| changed |= block(f, b));
            match split_conditions(f, &s) {
                Some(bounds) => {
                    apart(f, s, bounds, &mut out);
                    changed = true;
                }
                None => out.push(s),
            }
        }
        body.stmts = out;
        changed
    })
}

/// An affine function of the loop's index: a sum of loop-invariant variables, a constant, and a multiple of the index.
#[derive(Clone, Default)]
struct Affine {
    index: i64,
    terms: Vec<(bool, Var)>,
    number: i64,
}

impl Affine {
    /// This function plus or minus another one. `None` on overflow.
    fn plus(&self, other: &Affine, minus: bool) -> Option<Affine> {
        let sign = if minus { -1 } else { 1 };
        let mut terms = self.terms.clone();
        terms.extend(other.terms.iter().map(|(m, v)| (*m != minus, *v)));
        let number = other.number.checked_mul(sign).and_then(|n| self.number.checked_add(n))?;
        Some(Affine { index: self.index + sign * other.index, terms, number })
    }
}

/// The conditions under which all branches take their first arm, and minima and maxima are the operand in `chosen`.
struct SplitConditions {
    /// Functions that must be at least 0.
    least: Vec<Affine>,
    /// Loop-invariant conditions.
    conditions: Vec<Var>,
    /// The conditions of the branches.
    known: HashSet<Var>,
    /// Minima and maxima, with the operand that they are in the interior.
    chosen: HashMap<Var, Var>,
}

struct BranchAnalysis<'a> {
    f: &'a Function,
    index: Var,
    /// Ints of the loop's body that are affine functions of the index.
    ints: HashMap<Var, Affine>,
    /// Comparisons of such Ints, as functions that are at least 0 where the comparison holds.
    compared: HashMap<Var, Affine>,
    /// Variables bound in the body.
    inside: HashSet<Var>,
    /// Variables on which the trip counts of inner loops depend, or numbers.
    trips: HashSet<Var>,
    bounds: SplitConditions,
}

impl BranchAnalysis<'_> {
    fn affine(&self, v: Var) -> Option<Affine> {
        if v == self.index {
            return Some(Affine { index: 1, ..Affine::default() });
        }
        match self.ints.get(&v) {
            Some(a) => Some(a.clone()),
            None if self.inside.contains(&v) => None,
            None => Some(Affine { terms: vec![(false, v)], ..Affine::default() }),
        }
    }

    fn block(&mut self, b: &Block) {
        for s in &b.stmts {
            if let Op::Loop(l) = &s.op {
                self.block(&l.body);
            }
            let [v] = s.outs[..] else { continue };
            match &s.op {
                Op::Lit(Lit::I64(n)) => _ = self.ints.insert(v, Affine { number: *n, ..Affine::default() }),
                Op::Bin(op @ (Bin::Add | Bin::Sub), x, y) if *self.f.ty(v) == Ty::I64 => {
                    let sum = self.affine(*x).zip(self.affine(*y)).and_then(|(x, y)| x.plus(&y, *op == Bin::Sub));
                    self.ints.extend(sum.map(|sum| (v, sum)));
                }
                Op::Bin(op @ (Bin::Min | Bin::Max), x, y) if *self.f.ty(v) == Ty::I64 => self.extremum(v, *op, *x, *y),
                Op::Cmp(c, x, y) if *self.f.ty(*x) == Ty::I64 => {
                    if let Some(least) = self.compare(*c, *x, *y).filter(|a| a.index.abs() <= 1) {
                        self.compared.insert(v, least);
                    }
                }
                Op::If(c, yes, _) => {
                    match self.compared.get(c) {
                        Some(least) => self.bounds.least.push(least.clone()),
                        None if !self.inside.contains(c) => self.bounds.conditions.push(*c),
                        None => continue,
                    }
                    self.bounds.known.insert(*c);
                    self.block(yes);
                }
                _ => {}
            }
        }
    }

    /// Chooses the operand that a minimum or maximum is in the interior.
    fn extremum(&mut self, v: Var, op: Bin, x: Var, y: Var) {
        let Some((a, b)) = self.affine(x).zip(self.affine(y)) else { return };
        let first = match (a.index, b.index) {
            (1 | -1, 0) => !self.trips.contains(&v),
            (0, 1 | -1) => self.trips.contains(&v),
            _ => return,
        };
        let ((chosen, it), other) = if first { ((x, a), b) } else { ((y, b), a) };
        let least = if op == Bin::Min { other.plus(&it, true) } else { it.plus(&other, true) };
        if let Some(least) = least {
            self.bounds.least.push(least);
            self.bounds.chosen.insert(v, chosen);
            self.ints.insert(v, it);
        }
    }

    /// A function that is at least 0 exactly where a comparison holds.
    fn compare(&self, c: Cmp, x: Var, y: Var) -> Option<Affine> {
        let (x, y) = (self.affine(x)?, self.affine(y)?);
        let one = Affine { number: 1, ..Affine::default() };
        match c {
            Cmp::Ge => x.plus(&y, true),
            Cmp::Le => y.plus(&x, true),
            Cmp::Gt => x.plus(&y, true)?.plus(&one, true),
            Cmp::Lt => y.plus(&x, true)?.plus(&one, true),
            Cmp::Eq | Cmp::Ne => None,
        }
    }
}

fn size(b: &Block) -> usize {
    b.stmts.iter().map(|s| 1 + s.op.blocks().into_iter().map(size).sum::<usize>()).sum()
}

/// The conditions for splitting a loop, if it can be split.
fn split_conditions(func: &Function, s: &Stmt) -> Option<SplitConditions> {
    let Op::Loop(ir_loop) = &s.op else { return None };
    let plain = matches!(ir_loop.trip, Trip::Count(_))
        && ir_loop.init.is_empty()
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
    let bounds =
        SplitConditions { least: Vec::new(), conditions: Vec::new(), known: HashSet::new(), chosen: HashMap::new() };
    let mut search = BranchAnalysis {
        f: func,
        index: *ir_loop.body.params.first()?,
        ints: HashMap::new(),
        compared: HashMap::new(),
        inside: inside.into_iter().collect(),
        trips: trips(&ir_loop.body),
        bounds,
    };
    search.block(&ir_loop.body);
    search.bounds.least.iter().any(|a| a.index != 0).then_some(search.bounds)
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

/// The variables of a block on which the trip counts of loops in it depend, or numbers, as the number of equal terms of a
/// sum over a band.
fn trips(b: &Block) -> HashSet<Var> {
    let mut out = HashSet::new();
    trips_of(b, &mut out);
    out
}

fn trips_of(b: &Block, out: &mut HashSet<Var>) {
    for s in b.stmts.iter().rev() {
        s.op.blocks().into_iter().for_each(|inner| trips_of(inner, out));
        match &s.op {
            Op::Loop(l) => _ = if let Trip::Count(n) = l.trip { out.insert(n) } else { false },
            Op::Convert(Conv::ToF64, n) => _ = out.insert(*n),
            op if s.outs.iter().any(|v| out.contains(v)) => op.each_operand(&mut |v| _ = out.insert(v)),
            _ => {}
        }
    }
}

/// Emits statements.
struct SplitEmitter<'a> {
    f: &'a mut Function,
    out: Vec<Stmt>,
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
    fn rest(&mut self, a: &Affine) -> Var {
        let mut sum = self.int(a.number);
        for (minus, v) in &a.terms {
            sum = self.bin(if *minus { Bin::Sub } else { Bin::Add }, sum, *v);
        }
        sum
    }

    /// The first iteration for which all conditions hold, and the first one after those. Both are `count` if a
    /// loop-invariant condition does not hold.
    fn middle(&mut self, count: Var, bounds: &SplitConditions) -> (Var, Var) {
        let zero = self.int(0);
        let (mut lo, mut hi, mut holds) = (zero, count, Vec::new());
        for a in &bounds.least {
            let rest = self.rest(a);
            match a.index {
                1 => {
                    let from = self.bin(Bin::Sub, zero, rest);
                    lo = self.bin(Bin::Max, lo, from);
                }
                -1 => {
                    let one = self.int(1);
                    let to = self.bin(Bin::Add, rest, one);
                    hi = self.bin(Bin::Min, hi, to);
                }
                _ => holds.push(self.one(Op::Cmp(Cmp::Ge, rest, zero), Ty::Bool)),
            }
        }
        for c in holds.into_iter().chain(bounds.conditions.iter().copied()) {
            let c = self.one(Op::Convert(Conv::ToI64, c), Ty::I64);
            // 0 if it does not hold.
            let (all, none) = (hi, zero);
            let holds = self.one(Op::Cmp(Cmp::Ne, c, zero), Ty::Bool);
            hi = self.one(Op::Select(holds, all, none), Ty::I64);
        }
        lo = self.bin(Bin::Min, lo, count);
        hi = self.bin(Bin::Max, hi, lo);
        (lo, hi)
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
fn settled(block: &Block, bounds: &SplitConditions) -> Block {
    let mut names: HashMap<Var, Var> = HashMap::new();
    let mut out = Block { params: block.params.clone(), ..Block::default() };
    for s in &block.stmts {
        match &s.op {
            Op::Bin(..) if bounds.chosen.contains_key(&s.outs[0]) => {
                names.insert(s.outs[0], bounds.chosen[&s.outs[0]]);
            }
            Op::If(c, yes, _) if bounds.known.contains(c) => {
                let inner = settled(yes, bounds);
                names.extend(s.outs.iter().copied().zip(inner.results));
                out.stmts.extend(inner.stmts);
            }
            op => {
                let mut s = s.clone();
                if let Op::Loop(l) = op {
                    s.op = Op::Loop(Box::new(Loop { body: settled(&l.body, bounds), ..(**l).clone() }));
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
fn apart(func: &mut Function, stmt: Stmt, bounds: SplitConditions, out: &mut Vec<Stmt>) {
    let Op::Loop(ir_loop) = &stmt.op else { return out.push(stmt) };
    let Trip::Count(n) = ir_loop.trip else { return out.push(stmt.clone()) };
    let tys: Vec<Ty> = stmt.outs[..ir_loop.outs.len()].iter().map(|v| func.ty(*v).clone()).collect();
    let fast = settled(&ir_loop.body, &bounds);
    let mut emitter = SplitEmitter { f: func, out: Vec::new(), span: stmt.span };
    let zero = emitter.int(0);
    let trips = emitter.bin(Bin::Max, n, zero);
    let (lo, hi) = emitter.middle(trips, &bounds);
    let count = emitter.bin(Bin::Sub, hi, lo);
    let loops = ir_loop.body.stmts.iter().any(|s| matches!(s.op, Op::Loop(_)));
    let few = emitter.int(if loops { FEWEST_WITH_LOOPS } else { FEWEST });
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
