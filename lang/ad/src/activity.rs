//! Activity analysis: which variables of a function carry a tangent. These are the variables that depend on an
//! active parameter through differentiable operations.

use crate::Ad;
use adl_ir::rows::Tangent;
use adl_ir::{Block, FnId, Function, Op, Program, Stmt, Trip, Var};
use adl_prim::{DerivativeFn, Prim};
use std::collections::HashSet;

/// The active variables of one function.
pub(crate) struct Activity {
    /// The variables that carry a tangent.
    pub vars: HashSet<Var>,
}

impl Activity {
    /// Analyses a function whose parameters selected by `wrt` are active.
    pub fn of(ad: &mut Ad, p: &mut Program, f: &Function, wrt: &[bool]) -> Activity {
        let mut a = Activity { vars: HashSet::new() };
        for (x, w) in f.body.params.iter().zip(wrt) {
            if *w {
                a.mark(ad, p, f, *x);
            }
        }
        a.block(ad, p, f, &f.body);
        a
    }

    /// Whether a variable is active.
    pub fn has(&self, v: Var) -> bool {
        self.vars.contains(&v)
    }

    fn any(&self, vs: &[Var]) -> bool {
        vs.iter().any(|v| self.has(*v))
    }

    fn mark(&mut self, ad: &mut Ad, p: &mut Program, f: &Function, v: Var) {
        if !self.has(v) && ad.tangent_ty(p, &f.ty(v).clone()).is_some() {
            self.vars.insert(v);
        }
    }

    fn mark_like(&mut self, ad: &mut Ad, p: &mut Program, f: &Function, to: &[Var], from: &[Var]) {
        for (t, s) in to.iter().zip(from) {
            if self.has(*s) {
                self.mark(ad, p, f, *t);
            }
        }
    }

    fn block(&mut self, ad: &mut Ad, p: &mut Program, f: &Function, b: &Block) {
        for s in &b.stmts {
            self.stmt(ad, p, f, s);
        }
    }

    /// Propagates activity through one statement.
    pub fn stmt(&mut self, ad: &mut Ad, program: &mut Program, func: &Function, stmt: &Stmt) {
        match &stmt.op {
            Op::If(_, a, b) => {
                for arm in [&**a, &**b] {
                    self.block(ad, program, func, arm);
                    self.mark_like(ad, program, func, &stmt.outs, &arm.results);
                }
            }
            Op::Switch(x, arms) => {
                for arm in arms {
                    if self.has(*x) {
                        arm.params.iter().for_each(|v| self.mark(ad, program, func, *v));
                    }
                    self.block(ad, program, func, arm);
                    self.mark_like(ad, program, func, &stmt.outs, &arm.results);
                }
            }
            Op::Loop(ir_loop) => {
                let carried = ir_loop.init.len();
                let params = &ir_loop.body.params[1..];
                self.mark_like(ad, program, func, &params[..carried], &ir_loop.init);
                self.mark_like(ad, program, func, &params[carried..], &ir_loop.xs);
                loop {
                    let before = self.vars.len();
                    self.block(ad, program, func, &ir_loop.body);
                    self.mark_like(ad, program, func, &params[..carried], &ir_loop.body.results[..carried]);
                    if self.vars.len() == before {
                        break;
                    }
                }
                self.mark_like(ad, program, func, &stmt.outs, &ir_loop.body.results);
                self.mark_like(ad, program, func, &stmt.outs[..carried], &ir_loop.init);
                debug_assert!(matches!(ir_loop.trip, Trip::Count(_) | Trip::While(_)));
            }
            Op::Collective { args, .. } => self.mark_like(ad, program, func, &stmt.outs, args),
            Op::Call { f: g, args, .. } => {
                let wrt: Vec<bool> = args.iter().map(|a| self.has(*a)).collect();
                if wrt.iter().any(|w| *w) {
                    let active = ad.active_results(program, *g, &wrt);
                    for (o, a) in stmt.outs.iter().zip(active) {
                        if a {
                            self.mark(ad, program, func, *o);
                        }
                    }
                }
            }
            Op::Soac(c) => {
                if self.any(&c.neutral) || self.any(&c.arrays) || self.block_reads(&c.op) {
                    stmt.outs.iter().for_each(|v| self.mark(ad, program, func, *v));
                }
            }
            Op::ReduceByIndex { dest, op, neutral, values, .. } => {
                if self.any(dest) || self.any(neutral) || self.any(values) || self.block_reads(op) {
                    stmt.outs.iter().for_each(|v| self.mark(ad, program, func, *v));
                }
            }
            op => {
                if self.propagates_tangents(op) {
                    stmt.outs.iter().for_each(|v| self.mark(ad, program, func, *v));
                }
            }
        }
    }

    /// Whether a block reads an active variable from outside.
    pub fn block_reads(&self, b: &Block) -> bool {
        let mut found = false;
        let mut work = vec![b];
        while let Some(b) = work.pop() {
            for s in &b.stmts {
                s.op.each_operand(&mut |v| found |= self.has(v));
                work.extend(s.op.blocks());
            }
            found |= self.any(&b.results);
        }
        found
    }

    /// Whether an operation without blocks propagates tangents, if the type of its result has any.
    fn propagates_tangents(&self, op: &Op) -> bool {
        match op {
            Op::Un(u, a) => !u.is_flat() && self.has(*a),
            Op::Prim(p, args) => *p != Prim::Derivative(DerivativeFn::StopGrad) && !p.has_effect() && self.any(args),
            op => {
                let mut found = false;
                op.each_operand(&mut |v| found |= self.has(v));
                found && op.row().tangent == Tangent::Passes
            }
        }
    }
}

impl Ad {
    /// Which results of a call carry a tangent. The answer is exact for non-recursive functions; for recursive
    /// ones, every result whose type has a tangent counts as active.
    pub(crate) fn active_results(&mut self, program: &mut Program, id: FnId, wrt: &[bool]) -> Vec<bool> {
        if let Some(j) = self.jvp.jvps.get(&(id, wrt.to_vec(), Vec::new())) {
            return j.active.clone();
        }
        if let Some(a) = self.jvp.activities.get(&(id, wrt.to_vec())) {
            return a.clone();
        }
        let f = program.func(id).clone();
        let active: Vec<bool> = if self.is_recursive(program, id) {
            f.body.results.iter().map(|r| self.tangent_ty(program, &f.ty(*r).clone()).is_some()).collect()
        } else {
            let a = Activity::of(self, program, &f, wrt);
            f.body.results.iter().map(|r| a.has(*r)).collect()
        };
        self.jvp.activities.insert((id, wrt.to_vec()), active.clone());
        active
    }
}
