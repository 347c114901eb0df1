//! Forward mode for maps of functions of one number. If an iteration has a single linear input, which is a number, and
//! contains a loop that carries tangents, its derivatives are numbers. The iteration computes them beside its results,
//! with the tangent 1, and the inner loop stores no residuals.
//!
//! ```text
//! loop over (x ; ẋ) { y ; ẏ = loop … carry (x ; ẋ) { … } ; return y ; ẏ }
//! ⟼  loop over (x ; ẋ) { y, d = loop … carry (x, 1) { … } ; ẏ = d · ẋ ; return y ; ẏ }
//! ```

use crate::Ad;
use crate::limits::forward_maps::MOST;
use crate::unzip::each_stmt;
use adl_ir::rewrite::{dce, linear_uses};
use adl_ir::{Block, FnId, Function, Lit, Loop, Op, Program, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::{BTreeSet, HashMap, HashSet};

impl Ad {
    /// Rewrites the outermost suitable loops of a function made by J.
    pub(crate) fn forward_maps(&mut self, program: &mut Program, f: &mut Function) {
        let mut body = std::mem::take(&mut f.body);
        let changed = self.forward_maps_in(program, f, &mut body);
        f.body = body;
        if changed {
            dce::remove_dead_relaxed(f);
            linear_uses::uses(f);
        }
    }

    fn forward_maps_in(&mut self, program: &mut Program, function: &mut Function, block: &mut Block) -> bool {
        let mut changed = false;
        for s in &mut block.stmts {
            if let Op::Loop(l) = &mut s.op
                && let Some(body) = self.forward_iteration(program, function, l)
            {
                l.body = body;
                let why = "one number determines each iteration, so nothing is stored for the loops inside";
                self.decide(s.span, "map", "forward mode for the derivatives of each iteration", why);
                changed = true;
                continue;
            }
            for part in s.op.blocks_mut() {
                changed |=
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.forward_maps_in(program, function, part));
            }
        }
        changed
    }

    /// The iteration of a suitable loop, with its derivatives computed forwards.
    fn forward_iteration(&mut self, program: &mut Program, function: &mut Function, ir_loop: &Loop) -> Option<Block> {
        let parts = IterationParts::of(function, ir_loop).filter(|parts| !sends(program, &parts.rest))?;
        let mut inner = Vec::new();
        linear_inside(&parts.rest, &mut inner);
        inner.iter().filter(|v| **v != parts.input).for_each(|v| function.vars[v.0 as usize].linear = false);
        let one = function.fresh(Ty::F64, false);
        let stmt = |op: Op, outs: Vec<Var>, lin_outs: Vec<Var>| Stmt { op, outs, lin_outs, span: Default::default() };
        let erased = self.erase_block(program, function, &parts.rest, &mut HashMap::from([(parts.input, one)]));
        let (results, derivatives) = erased.results.split_at(ir_loop.body.results.len());
        let mut stmts = vec![stmt(Op::Lit(Lit::F64(1.0)), vec![one], Vec::new())];
        stmts.extend(erased.stmts);
        stmts.extend(parts.reads);
        let mut lin_results = Vec::new();
        for d in derivatives {
            let t = function.fresh(Ty::F64, true);
            stmts.push(stmt(Op::Bin(Bin::ScaleTangent, *d, parts.input), Vec::new(), vec![t]));
            lin_results.push(t);
        }
        Some(Block {
            params: ir_loop.body.params.clone(),
            lin_params: ir_loop.body.lin_params.clone(),
            stmts,
            results: results.to_vec(),
            lin_results,
        })
    }
}

/// An iteration with one linear input.
struct IterationParts {
    /// The input.
    input: Var,
    /// The statements that read it from linear arrays outside of the loop.
    reads: Vec<Stmt>,
    /// The other statements and the results.
    rest: Block,
}

impl IterationParts {
    /// `None` if the iteration is not of this form, or if nothing would be gained.
    fn of(function: &Function, ir_loop: &Loop) -> Option<IterationParts> {
        let number = |v: &Var| *function.ty(*v) == Ty::F64;
        let suits = matches!(ir_loop.trip, Trip::Count(_))
            && ir_loop.lin_init.is_empty()
            && (1..=MOST).contains(&ir_loop.body.lin_results.len())
            && ir_loop.body.lin_results.iter().all(number);
        if !suits || !ir_loop.body.stmts.iter().any(|s| carries_tangents(&s.op)) {
            return None;
        }
        let mut outer: BTreeSet<Var> = linear_uses::captured(function, &ir_loop.body);
        let (mut inputs, mut reads, mut stmts) = (ir_loop.body.lin_params.clone(), Vec::new(), Vec::new());
        for stmt in &ir_loop.body.stmts {
            match &stmt.op {
                Op::Dup(a) if outer.contains(a) => {
                    outer.extend(&stmt.lin_outs);
                    reads.push(stmt.clone());
                }
                Op::Drop(a) if outer.contains(a) => reads.push(stmt.clone()),
                Op::Index { a, .. } if outer.contains(a) => {
                    inputs.extend(&stmt.lin_outs);
                    reads.push(stmt.clone());
                }
                _ => stmts.push(stmt.clone()),
            }
        }
        let [input] = inputs[..] else { return None };
        let rest = Block { stmts, lin_params: vec![input], ..ir_loop.body.clone() };
        (number(&input) && linear_uses::captured(function, &rest).is_empty()).then_some(IterationParts {
            input,
            reads,
            rest,
        })
    }
}

/// Whether a block sends messages. Its results depend on the tangents of all ranks, so that they are not multiples of
/// the own tangent.
fn sends(program: &Program, block: &Block) -> bool {
    let (mut seen, mut calls, mut found) = (HashSet::new(), Vec::new(), false);
    let mut see = |b: &Block, calls: &mut Vec<FnId>| {
        each_stmt(b, &mut |s| match &s.op {
            Op::Collective { .. } => found = true,
            Op::Call { f, .. } => calls.push(*f),
            _ => {}
        });
    };
    see(block, &mut calls);
    while let Some(f) = calls.pop() {
        if seen.insert(f) {
            see(&program.func(f).body, &mut calls);
        }
    }
    found
}

/// Whether an operation is a loop that carries tangents.
fn carries_tangents(op: &Op) -> bool {
    matches!(op, Op::Loop(l) if !l.lin_init.is_empty())
        || op
            .blocks()
            .into_iter()
            .any(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().any(|s| carries_tangents(&s.op))))
}

/// Appends the linear variables that a block binds, nested blocks included.
fn linear_inside(b: &Block, out: &mut Vec<Var>) {
    out.extend(&b.lin_params);
    for s in &b.stmts {
        out.extend(&s.lin_outs);
        s.op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || linear_inside(b, out)));
    }
}
