//! Outlines the loops of a large function.
//!
//! Register allocation takes longer the more blocks a value is live in. Many small functions therefore compile faster
//! than one large function, and on all threads. The loops of a unit's entry function, which runs once per run of the
//! unit, become functions. The values that a loop reads become parameters, except literals, symbolic zeros and shapes,
//! which are rematerialised inside. The code of the loop does not change.

use crate::limits::outline_loops::{LARGE, LOOP};
use adl_interp::ir::live;
use adl_ir::{Block, FnId, Function, Loop, Op, Stmt, Ty, Var};
use std::collections::HashSet;

/// Returns a function without its loops, and the outlined loops. `next`: the ID of the first outlined loop.
pub(crate) fn split(func: &Function, next: FnId) -> Option<(Function, Vec<Function>)> {
    if size(&func.body) < LARGE {
        return None;
    }
    let mut s = LoopSplit { f: func, next, left: Vec::new(), parts: Vec::new() };
    let mut at = 0;
    while at < func.body.stmts.len() {
        at = s.step(at);
    }
    if s.parts.len() < 2 {
        return None;
    }
    let LoopSplit { left, parts, .. } = s;
    let mut body = Block { stmts: left, ..func.body.clone() };
    forget(&mut body);
    Some((Function { name: func.name.clone(), vars: func.vars.clone(), body, ..Function::default() }, parts))
}

/// The number of statements of a block, including nested ones.
fn size(b: &Block) -> usize {
    let inside = |s: &Stmt| {
        s.op.blocks().into_iter().map(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || size(b))).sum::<usize>()
    };
    b.stmts.iter().map(|s| 1 + inside(s)).sum()
}

/// Whether a statement is rematerialised where its result is read, instead of being passed as an argument.
fn again(f: &Function, s: &Stmt) -> bool {
    match (&s.op, &s.outs[..]) {
        (Op::Lit(_) | Op::Zero(_), [_]) => s.lin_outs.is_empty(),
        (Op::ArrayLit { shape: None, .. }, [v]) => *f.ty(*v) == Ty::shape(),
        _ => false,
    }
}

struct LoopSplit<'a> {
    f: &'a Function,
    next: FnId,
    left: Vec<Stmt>,
    parts: Vec<Function>,
}

impl LoopSplit<'_> {
    /// Outlines the loop at a statement, or keeps the statement. Returns the index of the next statement.
    fn step(&mut self, at: usize) -> usize {
        let all = &self.f.body.stmts;
        let stmt = &all[at];
        let taken = match &stmt.op {
            Op::Loop(l) if plain(stmt, l) && size(&l.body) >= LOOP => self.part(at),
            _ => None,
        };
        match taken {
            Some((end, call)) => {
                self.left.push(call);
                end
            }
            None => {
                self.left.push(stmt.clone());
                at + 1
            }
        }
    }

    /// Makes a function of the loop at a statement and the sums after it that consume its results. Returns the end of
    /// this range, and the call.
    fn part(&mut self, at: usize) -> Option<(usize, Stmt)> {
        let (func, block) = (self.f, &self.f.body);
        let stmt = &block.stmts[at];
        let sums = block.stmts[at + 1..]
            .iter()
            .take_while(|t| matches!(&t.op, Op::Sum { a, .. } if stmt.outs.contains(a)) && t.lin_outs.is_empty())
            .count();
        let end = at + 1 + sums;
        let mut read = HashSet::new();
        reads(&block.stmts[end..], &mut read);
        read.extend(block.results.iter().chain(&block.lin_results));
        let results: Vec<Var> =
            block.stmts[at..end].iter().flat_map(|s| &s.outs).copied().filter(|v| read.contains(v)).collect();
        if end == block.stmts.len() && results == block.results {
            // The outlined function would be the whole function.
            return None;
        }
        let mut body = Block { stmts: block.stmts[at..end].to_vec(), results: results.clone(), ..Block::default() };
        for s in block.stmts[..at].iter().rev().filter(|s| again(func, s)) {
            if free(&body, func.vars.len()).contains(&s.outs[0]) {
                body.stmts.insert(0, s.clone());
            }
        }
        body.params = free(&body, func.vars.len());
        let call = Op::Call {
            f: FnId(self.next.0 + self.parts.len() as u32),
            args: body.params.clone(),
            lin_args: Vec::new(),
            rule: None,
            checkpoint: false,
        };
        self.parts.push(Function { name: func.name.clone(), vars: func.vars.clone(), body, ..Function::default() });
        Some((end, Stmt { outs: results, lin_outs: Vec::new(), op: call, span: stmt.span }))
    }
}

/// Whether a loop has no linear operands or results.
fn plain(s: &Stmt, l: &Loop) -> bool {
    s.lin_outs.is_empty() && l.lin_init.is_empty() && l.lin_xs.is_empty() && l.lin_outs.is_empty()
}

/// The free variables of a block, in order.
fn free(b: &Block, vars: usize) -> Vec<Var> {
    let mut all: Vec<Var> = live::analyse(b, vars).0.free.into_keys().collect();
    all.sort_unstable();
    all
}

/// Collects the variables that statements read, including nested statements.
fn reads(stmts: &[Stmt], out: &mut HashSet<Var>) {
    for s in stmts {
        s.op.each_operand(&mut |v| _ = out.insert(v));
        for b in s.op.blocks() {
            out.extend(b.results.iter().chain(&b.lin_results));
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || reads(&b.stmts, out));
        }
    }
}

/// Removes rematerialisable statements whose only readers were outlined.
fn forget(block: &mut Block) {
    let mut read: HashSet<Var> = block.results.iter().chain(&block.lin_results).copied().collect();
    let mut kept = Vec::new();
    for s in std::mem::take(&mut block.stmts).into_iter().rev() {
        let made_again = matches!(s.op, Op::Lit(_) | Op::Zero(_) | Op::ArrayLit { .. }) && s.lin_outs.is_empty();
        if !made_again || s.outs.iter().any(|v| read.contains(v)) {
            reads(std::slice::from_ref(&s), &mut read);
            kept.push(s);
        }
    }
    kept.reverse();
    block.stmts = kept;
}
