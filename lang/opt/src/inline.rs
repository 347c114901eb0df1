//! Small functions in the place of calls. A call's derivative passes on all that the callee keeps, for each turn of the loop around it;
//! the body in its place keeps what the loop does not know already. Code grows by a bounded number of statements, so it stays linear.
//!
//! Before a function is lowered ([`finally`]) larger ones that it calls from one place stand there too: what it gives them are often small
//! arrays of known lengths, and what they give.
//!
//! Not inlined: checkpoints, calls with a rule of their own, until nothing is differentiated any more ([`for_device`]), calls with linear operands, functions that call themselves.

use crate::scalars::Sums;
use adl_ad::explicit::renumber;
use adl_ir::{Block, FnId, Function, Op, Program, Role, Stmt, Var};
use adl_prim::Prim;
use std::collections::HashMap;

/// Statements of a function that is small, besides those that check sizes.
const SMALL: usize = 32;
/// Statements of a function without loops on small arrays, which are numbers where it is known what they are made of.
const STRAIGHT: usize = 96;
/// Statements that a function may gain.
const GROWTH: usize = 256;
/// Calls within calls.
const DEPTH: usize = 4;
/// Statements of a function without calls that is put in however deep it is called.
const LEAF: usize = 16;

/// Statements of a function that is called from one place.
const ONCE: usize = 256;
/// Statements that a function may gain before it is lowered.
const LAST_GROWTH: usize = 768;

/// Puts small functions in the place of their calls.
pub fn inline(p: &Program, f: &mut Function) {
    within(p, f, GROWTH, HashMap::new(), false);
}

/// The same, and functions that are called from one place: for a function that will not be differentiated any more. Whether there were any.
pub fn finally(p: &Program, f: &mut Function) -> bool {
    let mut calls = HashMap::new();
    count(&f.body, &mut calls);
    !calls.is_empty() && within(p, f, LAST_GROWTH, calls, false)
}

/// The same, and functions that have rules for their derivatives. Whether there were any.
pub fn for_device(p: &Program, f: &mut Function) -> bool {
    let mut calls = HashMap::new();
    count(&f.body, &mut calls);
    !calls.is_empty() && within(p, f, LAST_GROWTH, calls, true)
}

fn within(p: &Program, f: &mut Function, growth: usize, calls: HashMap<FnId, usize>, ruled: bool) -> bool {
    let mut body = std::mem::take(&mut f.body);
    let mut i = Inliner { p, f, left: growth, calls, ruled, within: Vec::new(), names: HashMap::new() };
    i.block(&mut body);
    let left = i.left;
    f.body = body;
    left < growth
}

/// Counts the places from which functions are called.
fn count(b: &Block, calls: &mut HashMap<FnId, usize>) {
    let mut blocks = vec![b];
    while let Some(b) = blocks.pop() {
        for s in &b.stmts {
            if let Op::Call { f, .. } = &s.op {
                *calls.entry(*f).or_default() += 1;
            }
            blocks.extend(s.op.blocks());
        }
    }
}

struct Inliner<'a> {
    p: &'a Program,
    f: &'a mut Function,
    left: usize,
    /// From how many places functions are called, where larger ones are put in.
    calls: HashMap<FnId, usize>,
    /// Whether those with rules are put in, too.
    ruled: bool,
    /// The functions whose bodies are being put in.
    within: Vec<FnId>,
    /// What results of calls have become.
    names: HashMap<Var, Var>,
}

impl Inliner<'_> {
    fn block(&mut self, b: &mut Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut out = Vec::with_capacity(b.stmts.len());
            for s in std::mem::take(&mut b.stmts) {
                self.stmt(s, &mut out);
            }
            b.stmts = out;
            for r in b.results.iter_mut().chain(&mut b.lin_results) {
                *r = *self.names.get(r).unwrap_or(r);
            }
        });
    }

    fn stmt(&mut self, mut s: Stmt, out: &mut Vec<Stmt>) {
        s.op.map_operands(&mut |v| *self.names.get(&v).unwrap_or(&v));
        if let Some((g, mut body)) = self.callee(&s) {
            self.within.push(g);
            self.block(&mut body);
            self.within.pop();
            self.names.extend(s.outs.iter().copied().zip(body.results));
            out.append(&mut body.stmts);
            return;
        }
        for part in s.op.blocks_mut() {
            self.block(part);
        }
        out.push(s);
    }

    /// The body of a small function that is called, its variables numbered anew and its parameters replaced.
    fn callee(&mut self, s: &Stmt) -> Option<(FnId, Block)> {
        let Op::Call { f: g, args, lin_args, rule, checkpoint: false } = &s.op else { return None };
        if (rule.is_some() && !self.ruled) || !lin_args.is_empty() || !s.lin_outs.is_empty() || self.within.contains(g) {
            return None;
        }
        let callee = self.p.funcs.get(g.0 as usize)?;
        let size = size(&callee.body, *g)?;
        // A function without statements is one that is being made.
        let once = self.calls.get(g) == Some(&1);
        let most = if once { ONCE } else { STRAIGHT };
        if size == 0 || size > most.min(self.left) || callee.body.params.len() != args.len() {
            return None;
        }
        if self.within.len() >= DEPTH && (size > LEAF || contains(&callee.body, |op| matches!(op, Op::Call { .. }))) {
            return None;
        }
        let has_loops = || contains(&callee.body, |op| matches!(op, Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. }));
        if !once && work(&callee.body) > SMALL && (has_loops() || !crate::scalars::scalars(&mut (**callee).clone(), sums(callee))) {
            return None;
        }
        self.left -= size;
        let at = self.f.vars.len() as u32;
        self.f.vars.extend(callee.vars.iter().cloned());
        let mut body = callee.body.clone();
        if !self.calls.is_empty() {
            count(&body, &mut self.calls);
        }
        let names: HashMap<Var, Var> = body.params.drain(..).zip(args.iter().copied()).collect();
        renumber(&mut body, &|v| *names.get(&v).unwrap_or(&Var(v.0 + at)));
        Some((*g, body))
    }
}

/// Which sums are seen as numbers. In derivatives, which are called for one direction after the other, all; what is differentiated first keeps less where
/// it is called.
fn sums(callee: &Function) -> Sums {
    let derivative = callee.vars.iter().any(|v| v.role != Role::Operation);
    if derivative { Sums::Written } else { Sums::Kept }
}

/// Statements of a block of `g`, those inside included. None if it calls itself or is linear.
fn size(b: &Block, g: FnId) -> Option<usize> {
    let mut blocks = vec![b];
    let mut n = 0;
    while let Some(b) = blocks.pop() {
        if !b.lin_params.is_empty() || !b.lin_results.is_empty() {
            return None;
        }
        n += b.stmts.len();
        for s in &b.stmts {
            if !s.lin_outs.is_empty() || matches!(s.op, Op::Call { f, .. } if f == g) {
                return None;
            }
            blocks.extend(s.op.blocks());
        }
        if n > ONCE {
            return Some(n);
        }
    }
    Some(n)
}

/// Statements of a block, those inside included, but for literals and what checks sizes.
fn work(b: &Block) -> usize {
    let checks = |s: &&Stmt| !matches!(s.op, Op::Lit(_) | Op::Dim(..) | Op::Cmp(..) | Op::Prim(Prim::Assert, _));
    let (mut blocks, mut n) = (vec![b], 0);
    while let Some(b) = blocks.pop() {
        n += b.stmts.iter().filter(checks).count();
        blocks.extend(b.stmts.iter().flat_map(|s| s.op.blocks()));
    }
    n
}

/// Whether there is such an operation in a block.
fn contains(b: &Block, is: impl Fn(&Op) -> bool) -> bool {
    let mut blocks = vec![b];
    while let Some(b) = blocks.pop() {
        if b.stmts.iter().any(|s| is(&s.op)) {
            return true;
        }
        blocks.extend(b.stmts.iter().flat_map(|s| s.op.blocks()));
    }
    false
}
