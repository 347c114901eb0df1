//! Fusion by recomputation: if a loop makes an array cheaply and another loop reads it at computed positions or in
//! another order, the reader recomputes the elements, and a device stores no array. Producers that are read at the
//! reader's own index have been fused by [`crate::fuse`] already.
//!
//! ```text
//! ys = loop for n over (x) collect { … y }; r = reverse ys; zs = loop for n (i) collect { … index r [i] … }
//! ⟼  zs = loop for n (i) collect { k = n - 1 - i; x = index xs [k]; … y … }
//! ```
//!
//! A loop that does arithmetic is recomputed in two cases only: it has a single reader; or each reader reads every
//! element once, at its own index minus an offset (as the readers of concatenated vectors do).

use super::{Ints, SEEN};
use crate::fuse::{reads, rename_op};
use adl_ir::rewrite::{bound, copy};
use adl_ir::{Block, Function, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Largest number of statements of a body that is recomputed.
const MOST: usize = 64;

/// Largest number of steps from the array that is read back to the loop.
const STEPS: usize = 4;

/// A change of the order in which an array is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OrderChange {
    /// Reversed; the variable is the length.
    Reversed(Var),
    /// A prefix.
    First,
}

/// The result of a loop, as it is read.
#[derive(Clone, PartialEq, Eq)]
struct LoopResult {
    /// Which result of the loop.
    out: usize,
    steps: Vec<OrderChange>,
    /// The number of elements that can be read.
    extent: Var,
}

/// Rewrites the readers of such arrays. Returns whether there were any.
pub(super) fn pulled(func: &mut Function, block: &mut Block, ints: &Ints) -> bool {
    let mut changed = false;
    for p in 0..block.stmts.len() {
        let Some(n) = pullable(func, &block.stmts[p]) else { continue };
        let sources = sources(block, p, n, ints);
        if let Some(readers) = readers(block, p, &sources, ints) {
            // From the last reader to the first, so that the positions of the others stay valid.
            for c in readers.into_iter().rev() {
                read_there(func, block, (p, c), &sources);
            }
            changed = true;
        }
    }
    for s in &mut block.stmts {
        if !matches!(&s.op, Op::Loop(l) if l.init.is_empty()) {
            s.op.blocks_mut()
                .into_iter()
                .for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || changed |= pulled(func, b, ints)));
        }
    }
    changed
}

/// The trip count of a stateless loop with a short body whose inputs have as many elements.
fn pullable(func: &Function, stmt: &Stmt) -> Option<Var> {
    let Op::Loop(ir_loop) = &stmt.op else { return None };
    let Trip::Count(count) = ir_loop.trip else { return None };
    let plain = ir_loop.init.is_empty()
        && ir_loop.lin_init.is_empty()
        && ir_loop.lin_xs.is_empty()
        && ir_loop.lin_outs.is_empty()
        && !ir_loop.xs.is_empty()
        && ir_loop.outs.iter().all(|o| *o == Out::Collect);
    let simple = |s: &Stmt| {
        s.op.blocks().is_empty()
            && s.outs.len() == 1
            && (func.ty(s.outs[0]).is_flat() || matches!(s.op, Op::ArrayLit { .. }))
    };
    (plain && ir_loop.body.stmts.len() <= MOST && ir_loop.body.stmts.iter().all(simple)).then_some(count)
}

/// Whether a loop only reorders numbers.
fn only_moves(l: &Loop) -> bool {
    l.body.stmts.iter().all(|s| matches!(s.op, Op::ArrayLit { .. }))
}

/// The arrays that a loop makes, and reordered versions of these, by their variables.
fn sources(b: &Block, p: usize, n: Var, ints: &Ints) -> HashMap<Var, LoopResult> {
    let mut all: HashMap<Var, LoopResult> = HashMap::new();
    for (k, v) in b.stmts[p].outs.iter().enumerate().take(b.stmts[p].outs.len() - 1) {
        all.insert(*v, LoopResult { out: k, steps: Vec::new(), extent: n });
    }
    for stmt in &b.stmts {
        let next = |a: &Var, step: &dyn Fn(&LoopResult) -> (OrderChange, Var)| {
            let from = all.get(a).filter(|s| s.steps.len() < STEPS)?;
            let (step, extent) = step(from);
            Some(LoopResult { steps: [&from.steps[..], &[step]].concat(), extent, ..from.clone() })
        };
        let found = match &stmt.op {
            Op::Reverse(a) => next(a, &|s| (OrderChange::Reversed(s.extent), s.extent)),
            Op::Slice { a, lo, hi, .. } if ints.is(*lo, 0) => next(a, &|_| (OrderChange::First, *hi)),
            _ => None,
        };
        all.extend(found.map(|f| (stmt.outs[0], f)));
    }
    all
}

/// The positions of the statements that read such arrays, if all of them can recompute the elements.
fn readers(block: &Block, p: usize, sources: &HashMap<Var, LoopResult>, ints: &Ints) -> Option<Vec<usize>> {
    let Op::Loop(made) = &block.stmts[p].op else { return None };
    let (mut readers, moves) = (Vec::new(), only_moves(made));
    for (position, stmt) in block.stmts.iter().enumerate() {
        if matches!(stmt.op, Op::Reverse(_) | Op::Slice { .. }) && sources.contains_key(&stmt.outs[0])
            || !reads(stmt).iter().any(|v| sources.contains_key(v))
        {
            continue;
        }
        let can = match &stmt.op {
            Op::Loop(l) => {
                l.init.is_empty()
                    && (reads_elements(l, sources) || reads_part(l, sources))
                    && ints.seen(l) + ints.seen(made) <= SEEN
            }
            // An element of an array in its original order: the index is checked in the producer exactly as here.
            Op::Index { a, .. } => moves && sources.get(a).is_some_and(|s| s.steps.is_empty()),
            _ => false,
        };
        if !can {
            return None;
        }
        readers.push(position);
    }
    let given = block.results.iter().any(|v| sources.contains_key(v));
    (!given && !readers.is_empty() && (moves || readers.len() == 1)).then_some(readers)
}

/// Whether a loop reads such arrays at its own index only, and its trip count is their length.
fn reads_elements(l: &Loop, sources: &HashMap<Var, LoopResult>) -> bool {
    let Trip::Count(n) = l.trip else { return false };
    let fits = |a: &Var| sources.get(a).is_some_and(|s| s.extent == n);
    l.body.stmts.iter().all(|s| match &s.op {
        Op::Index { a, at, shape: None } if at.first() == l.body.params.first() && fits(a) => {
            !at[1..].iter().any(|v| sources.contains_key(v))
        }
        _ => !reads(s).iter().any(|v| sources.contains_key(v)),
    }) && l.xs.iter().all(|a| !sources.contains_key(a) || fits(a))
        && !l.body.results.iter().any(|v| sources.contains_key(v))
}

/// Whether each iteration of a loop reads one element, in a branch, that no other iteration reads.
fn reads_part(l: &Loop, sources: &HashMap<Var, LoopResult>) -> bool {
    let Some(&own) = l.body.params.first() else { return false };
    let mut inside = Vec::new();
    bound(&l.body, &mut inside);
    let (mut read, mut other) = (0, l.xs.iter().chain(&l.body.results).any(|v| sources.contains_key(v)));
    for stmt in &l.body.stmts {
        let Op::If(_, yes, no) = &stmt.op else {
            other |= reads(stmt).iter().any(|v| sources.contains_key(v));
            continue;
        };
        for arm in [yes, no] {
            let shifted = |at: &Var| {
                arm.stmts.iter().any(|s| {
                    s.outs == [*at] && matches!(&s.op, Op::Bin(Bin::Sub, i, k) if *i == own && !inside.contains(k))
                })
            };
            for s in &arm.stmts {
                match &s.op {
                    Op::Index { a, at, shape: None }
                        if sources.get(a).is_some_and(|s| s.steps.is_empty())
                            && matches!(&at[..], [at] if shifted(at)) =>
                    {
                        read += 1;
                    }
                    _ => other |= reads(s).iter().any(|v| sources.contains_key(v)),
                }
            }
        }
    }
    read == 1 && !other
}

/// Makes a statement recompute what it reads.
fn read_there(f: &mut Function, block: &mut Block, (p, consumer): (usize, usize), sources: &HashMap<Var, LoopResult>) {
    let Op::Loop(made) = block.stmts[p].op.clone() else { return };
    let span = block.stmts[consumer].span;
    let mut there = There { f, made: *made, span, done: Vec::new() };
    if let Op::Loop(l) = &mut block.stmts[consumer].op {
        there.in_loop(l, sources);
        return;
    }
    if let Op::Index { a, at, .. } = block.stmts[consumer].op.clone()
        && let Some(source) = sources.get(&a)
    {
        let (mut stmts, read) = (Vec::new(), block.stmts[consumer].outs[0]);
        let row = there.element(source, at[0], &mut stmts);
        let other = there.rest((read, row), &at, &mut stmts);
        let n = stmts.len();
        block.stmts.splice(consumer..=consumer, stmts);
        if let Some(name) = other {
            let names = HashMap::from([name]);
            block.stmts[consumer + n..].iter_mut().for_each(|s| rename_op(&mut s.op, &names));
            block.results.iter_mut().for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
        }
    }
}

struct There<'a> {
    f: &'a mut Function,
    made: Loop,
    span: Span,
    /// Iterations that have been recomputed: how they are read, and their results.
    done: Vec<(Vec<OrderChange>, Vec<Var>)>,
}

impl There<'_> {
    fn in_loop(&mut self, ir_loop: &mut Loop, sources: &HashMap<Var, LoopResult>) {
        let Some(&index) = ir_loop.body.params.first() else { return };
        let (mut stmts, mut names) = (Vec::new(), HashMap::new());
        for k in (0..ir_loop.xs.len()).rev() {
            if let Some(source) = sources.get(&ir_loop.xs[k]) {
                ir_loop.xs.remove(k);
                let x = ir_loop.body.params.remove(1 + k);
                names.insert(x, self.element(source, index, &mut stmts));
            }
        }
        for mut s in std::mem::take(&mut ir_loop.body.stmts) {
            match &mut s.op {
                Op::Index { a, at, .. } if sources.contains_key(a) => {
                    let row = self.element(&sources[a], index, &mut stmts);
                    names.extend(self.rest((s.outs[0], row), at, &mut stmts));
                }
                Op::If(_, yes, no) => {
                    [yes, no].into_iter().for_each(|arm| self.in_arm(arm, sources));
                    stmts.push(s);
                }
                _ => stmts.push(s),
            }
        }
        stmts.iter_mut().for_each(|s| rename_op(&mut s.op, &names));
        ir_loop.body.results.iter_mut().for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
        ir_loop.body.stmts = stmts;
    }

    fn in_arm(&mut self, arm: &mut Block, sources: &HashMap<Var, LoopResult>) {
        let (mut stmts, mut names) = (Vec::new(), HashMap::new());
        for s in std::mem::take(&mut arm.stmts) {
            match &s.op {
                Op::Index { a, at, .. } if sources.contains_key(a) => {
                    _ = names.insert(s.outs[0], self.iteration(at[0], &mut stmts)[sources[a].out]);
                }
                _ => stmts.push(s),
            }
        }
        stmts.iter_mut().for_each(|s| rename_op(&mut s.op, &names));
        arm.results.iter_mut().for_each(|v| *v = names.get(v).copied().unwrap_or(*v));
        arm.stmts = stmts;
    }

    /// Reads the remaining axes of a row. If none remain, the row itself is renamed.
    fn rest(&mut self, (read, row): (Var, Var), at: &[Var], out: &mut Vec<Stmt>) -> Option<(Var, Var)> {
        if at.len() == 1 {
            return Some((read, row));
        }
        out.push(Stmt {
            outs: vec![read],
            lin_outs: Vec::new(),
            op: Op::Index { a: row, at: at[1..].to_vec(), shape: None },
            span: self.span,
        });
        None
    }

    /// The result of the producer in the iteration that is read.
    fn element(&mut self, source: &LoopResult, i: Var, out: &mut Vec<Stmt>) -> Var {
        if let Some((_, made)) = self.done.iter().find(|(s, _)| *s == source.steps) {
            return made[source.out];
        }
        let place = self.place(source, i, out);
        let made = self.iteration(place, out);
        self.done.push((source.steps.clone(), made.clone()));
        made[source.out]
    }

    /// Emits one iteration of the producer, and returns its results.
    fn iteration(&mut self, place: Var, out: &mut Vec<Stmt>) -> Vec<Var> {
        let l = self.made.clone();
        let mut names: HashMap<Var, Var> = HashMap::from([(l.body.params[0], place)]);
        for (x, a) in l.body.params[1..].iter().zip(&l.xs) {
            let ty = self.f.ty(*x).clone();
            names.insert(*x, self.push(Op::Index { a: *a, at: vec![place], shape: None }, ty, out));
        }
        let iteration = copy(self.f, &l.body, names);
        out.extend(iteration.stmts);
        iteration.results
    }

    /// The index of the iteration that is read.
    fn place(&mut self, source: &LoopResult, i: Var, out: &mut Vec<Stmt>) -> Var {
        let mut at = i;
        for step in source.steps.iter().rev() {
            if let OrderChange::Reversed(n) = step {
                let one = self.push(Op::Lit(Lit::I64(1)), Ty::I64, out);
                let last = self.push(Op::Bin(Bin::Sub, *n, one), Ty::I64, out);
                at = self.push(Op::Bin(Bin::Sub, last, at), Ty::I64, out);
            }
        }
        at
    }

    fn push(&mut self, op: Op, ty: Ty, out: &mut Vec<Stmt>) -> Var {
        let v = self.f.fresh(ty, false);
        out.push(Stmt { outs: vec![v], lin_outs: Vec::new(), op, span: self.span });
        v
    }
}
