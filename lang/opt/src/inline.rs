//! Inlining. Reverse mode stores all residuals of a callee for each iteration of the loop around a call, while an
//! inlined body stores only what the loop cannot recompute. Larger functions are inlined if they have a single call site,
//! such as the step of a loop. Code grows by a bounded number of statements for each function, so its size stays linear.
//!
//! [`finally`] runs before a function is lowered.
//!
//! Not inlined: checkpoints, calls with a custom derivative rule (except by [`for_device`], after differentiation),
//! calls with linear operands, and recursive functions.

use crate::limits::inline::{DEPTH, GROWTH, LAST_GROWTH, LEAF, ONCE, SMALL, STRAIGHT};
use crate::scalar_replacement::Sums;
use adl_ir::rewrite::renumber;
use adl_ir::{Block, FnId, Function, Op, Program, Role, Stmt, Var};
use adl_prim::{GeneralFn, Prim};
use std::collections::HashMap;

/// Inlines small functions, and larger ones with a single call site. Returns whether there were any.
pub fn inline(p: &Program, f: &mut Function) -> bool {
    within(p, f, GROWTH, false)
}

/// The same in a function that will not be differentiated any more, which may grow further.
pub fn finally(p: &Program, f: &mut Function) -> bool {
    within(p, f, LAST_GROWTH, false)
}

/// Like [`finally`], and also inlines functions that have custom derivative rules. Returns whether there were any.
pub fn for_device(p: &Program, f: &mut Function) -> bool {
    within(p, f, LAST_GROWTH, true)
}

fn within(p: &Program, f: &mut Function, growth: usize, with_rules: bool) -> bool {
    let mut calls = HashMap::new();
    count(&f.body, &mut calls);
    if calls.is_empty() {
        return false;
    }
    let mut body = std::mem::take(&mut f.body);
    let mut i = Inliner { p, f, left: growth, calls, with_rules, within: Vec::new(), names: HashMap::new() };
    i.block(&mut body);
    let left = i.left;
    f.body = body;
    left < growth
}

/// Counts the call sites of each function.
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
    /// The number of call sites of each function.
    calls: HashMap<FnId, usize>,
    /// Whether functions with custom derivative rules are inlined too.
    with_rules: bool,
    /// The functions whose bodies are being inlined, outermost first.
    within: Vec<FnId>,
    /// Renaming of the results of inlined calls.
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

    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        stmt.op.map_operands(&mut |v| *self.names.get(&v).unwrap_or(&v));
        if let Some((g, mut body)) = self.callee(&stmt) {
            self.within.push(g);
            self.block(&mut body);
            self.within.pop();
            self.names.extend(stmt.outs.iter().copied().zip(body.results));
            out.append(&mut body.stmts);
            return;
        }
        for part in stmt.op.blocks_mut() {
            self.block(part);
        }
        out.push(stmt);
    }

    /// The body of a callee to be inlined, with new variables for everything it binds and the arguments in the
    /// place of its parameters.
    fn callee(&mut self, s: &Stmt) -> Option<(FnId, Block)> {
        let Op::Call { f: id, args, lin_args, rule, checkpoint: false } = &s.op else { return None };
        if (rule.is_some() && !self.with_rules)
            || !lin_args.is_empty()
            || !s.lin_outs.is_empty()
            || self.within.contains(id)
        {
            return None;
        }
        let callee = self.p.funcs.get(id.0 as usize)?;
        let size = size(&callee.body, *id)?;
        // A function without statements is still being built.
        let once = self.calls.get(id) == Some(&1);
        let most = if once { ONCE } else { STRAIGHT };
        if size == 0 || size > most.min(self.left) || callee.body.params.len() != args.len() {
            return None;
        }
        if self.within.len() >= DEPTH && (size > LEAF || contains(&callee.body, |op| matches!(op, Op::Call { .. }))) {
            return None;
        }
        let has_loops =
            || contains(&callee.body, |op| matches!(op, Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. }));
        if !once
            && work(&callee.body) > SMALL
            && (has_loops() || !crate::scalar_replacement::scalars(&mut (**callee).clone(), sums(callee)))
        {
            return None;
        }
        self.left -= size;
        let at = self.f.vars.len() as u32;
        self.f.vars.extend(callee.vars.iter().cloned());
        let mut body = callee.body.clone();
        count(&body, &mut self.calls);
        let names: HashMap<Var, Var> = body.params.drain(..).zip(args.iter().copied()).collect();
        renumber(&mut body, &|v| *names.get(&v).unwrap_or(&Var(v.0 + at)));
        Some((*id, body))
    }
}

/// How scalar replacement treats sums in an inlined body. A derivative is called for one direction after the other,
/// and its sums are written out. In a function that will be differentiated they are kept, which needs fewer
/// residuals.
fn sums(callee: &Function) -> Sums {
    let derivative = callee.vars.iter().any(|v| v.role != Role::Operation);
    if derivative { Sums::Written } else { Sums::Kept }
}

/// The number of statements of a block of `g`, nested ones included. `None` if it calls `g` or is linear.
fn size(b: &Block, g: FnId) -> Option<usize> {
    let mut blocks = vec![b];
    let mut total = 0;
    while let Some(b) = blocks.pop() {
        if !b.lin_params.is_empty() || !b.lin_results.is_empty() {
            return None;
        }
        total += b.stmts.len();
        for s in &b.stmts {
            if !s.lin_outs.is_empty() || matches!(s.op, Op::Call { f, .. } if f == g) {
                return None;
            }
            blocks.extend(s.op.blocks());
        }
        if total > ONCE {
            return Some(total);
        }
    }
    Some(total)
}

/// The number of statements of a block, nested ones included, without literals and size checks.
fn work(b: &Block) -> usize {
    let checks = |s: &&Stmt| {
        !matches!(s.op, Op::Lit(_) | Op::Dim(..) | Op::Cmp(..) | Op::Prim(Prim::General(GeneralFn::Assert), _))
    };
    let (mut blocks, mut n) = (vec![b], 0);
    while let Some(b) = blocks.pop() {
        n += b.stmts.iter().filter(checks).count();
        blocks.extend(b.stmts.iter().flat_map(|s| s.op.blocks()));
    }
    n
}

/// Whether a block contains an operation for which `is` holds.
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
