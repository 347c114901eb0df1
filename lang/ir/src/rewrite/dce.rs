//! Dead code elimination: statements, results of branches, outputs and carried values of loops.
//!
//! Statements with linear operands or results stay, because each linear variable must be used exactly once.
//! Statements that may print or fail on purpose stay too.

use super::purity::has_effect;
use crate::{Block, Function, Loop, Op, Stmt, Trip, Var};
use std::collections::HashSet;

/// Removes the dead code of a function.
pub fn remove_dead(f: &mut Function) {
    run(f, false);
}

/// Removes dead code, linear statements included, from a function in the relaxed form, in which linear variables
/// may be used any number of times (before [`super::linear_uses`]). The transpose of a dropped linear value would be
/// zero, so it is not computed.
pub fn remove_dead_relaxed(f: &mut Function) {
    run(f, true);
}

fn run(f: &mut Function, relaxed: bool) {
    let mut body = std::mem::take(&mut f.body);
    Dce { f, relaxed }.block(&mut body, &mut HashSet::new());
    f.body = body;
}

/// Removes the dead code of a block on its own.
pub fn prune(f: &Function, b: &mut Block) {
    Dce { f, relaxed: false }.block(b, &mut HashSet::new());
}

fn is_linear(f: &Function, s: &Stmt) -> bool {
    let mut found = !s.lin_outs.is_empty();
    s.op.each_operand(&mut |v| found |= f.linear(v));
    found || !super::linear_uses::captured_by(f, &s.op).is_empty()
}

/// Keeps the elements of a vector at which `keep` holds. `keep` has the vector's length.
pub fn retain<T>(v: &mut Vec<T>, keep: &[bool]) {
    let mut k = 0;
    v.retain(|_| {
        k += 1;
        keep.get(k - 1).copied().unwrap_or(true)
    });
}

struct Dce<'a> {
    f: &'a Function,
    relaxed: bool,
}

impl Dce<'_> {
    /// Removes the dead code of a block, and adds all variables that it reads (including its own) to `live`.
    fn block(&self, block: &mut Block, live: &mut HashSet<Var>) {
        live.extend(block.results.iter().chain(&block.lin_results));
        let mut kept = Vec::with_capacity(block.stmts.len());
        for mut s in std::mem::take(&mut block.stmts).into_iter().rev() {
            let read = s.outs.iter().chain(&s.lin_outs).any(|o| live.contains(o));
            if !read && !has_effect(&s) && (self.relaxed || !is_linear(self.f, &s)) {
                continue;
            }
            self.shrink(&mut s, live);
            s.op.each_operand(&mut |v| {
                live.insert(v);
            });
            kept.push(s);
        }
        kept.reverse();
        block.stmts = kept;
    }

    /// For each variable, whether it is read. Linear variables count as read, except in the relaxed form.
    fn read(&self, vs: &[Var], live: &HashSet<Var>, linear: bool) -> Vec<bool> {
        vs.iter().map(|v| live.contains(v) || (linear && !self.relaxed)).collect()
    }

    /// Removes the dead results of a statement with blocks, and the dead code inside of it.
    fn shrink(&self, stmt: &mut Stmt, live: &mut HashSet<Var>) {
        match &mut stmt.op {
            Op::If(..) | Op::Switch(..) => {
                let (keep, lin) = (self.read(&stmt.outs, live, false), self.read(&stmt.lin_outs, live, true));
                retain(&mut stmt.outs, &keep);
                retain(&mut stmt.lin_outs, &lin);
                for b in stmt.op.blocks_mut() {
                    retain(&mut b.results, &keep);
                    retain(&mut b.lin_results, &lin);
                    self.block(b, live);
                }
            }
            Op::Loop(l) => self.shrink_loop(&mut stmt.outs, &mut stmt.lin_outs, l, live),
            Op::Soac(x) => {
                let keep = self.components(&mut x.op, &stmt.outs, live);
                [&mut stmt.outs, &mut x.neutral, &mut x.arrays].into_iter().for_each(|vs| retain(vs, &keep));
            }
            Op::ReduceByIndex { dest, op, neutral, values, .. } if values.len() == dest.len() => {
                let keep = self.components(op, &stmt.outs, live);
                [&mut stmt.outs, dest, neutral, values].into_iter().for_each(|vs| retain(vs, &keep));
            }
            op => {
                for b in op.blocks_mut() {
                    self.block(b, live);
                }
            }
        }
    }

    /// Determines the components of an operator on which live results depend, and removes the others. An operator
    /// kept only for its checks retains one component, because the array operand determines how often it runs.
    fn components(&self, op: &mut Block, outs: &[Var], live: &mut HashSet<Var>) -> Vec<bool> {
        let mut keep = self.read(outs, live, false);
        loop {
            let mut trial = op.clone();
            retain(&mut trial.results, &keep);
            let mut inside = HashSet::new();
            self.block(&mut trial, &mut inside);
            let (sums, elems) = trial.params.split_at(outs.len());
            let mut next: Vec<bool> = keep
                .iter()
                .zip(sums.iter().zip(elems))
                .map(|(k, (a, b))| *k || inside.contains(a) || inside.contains(b))
                .collect();
            if !next.contains(&true) {
                next.iter_mut().take(1).for_each(|first| *first = true);
            }
            if next == keep {
                retain(&mut trial.params, &[&keep[..], &keep].concat());
                *op = trial;
                live.extend(inside);
                return keep;
            }
            keep = next;
        }
    }

    /// Removes dead code from a loop's body, and returns what the body reads. A carried value is live if a live
    /// result of an iteration depends on it.
    fn shrink_iteration(
        &self,
        ir_loop: &mut Loop,
        [carry, lin_carry]: [&mut Vec<bool>; 2],
        [outs, lin_outs]: [&[bool]; 2],
    ) -> HashSet<Var> {
        loop {
            let mut trial = ir_loop.body.clone();
            retain(&mut trial.results, &[&carry[..], outs].concat());
            retain(&mut trial.lin_results, &[&lin_carry[..], lin_outs].concat());
            let mut inside = HashSet::new();
            self.block(&mut trial, &mut inside);
            let next: Vec<bool> = carry.iter().zip(&trial.params[1..]).map(|(c, p)| *c || inside.contains(p)).collect();
            let lin_next: Vec<bool> =
                lin_carry.iter().zip(&trial.lin_params).map(|(c, p)| *c || inside.contains(p)).collect();
            if next == *carry && lin_next == *lin_carry {
                ir_loop.body = trial;
                return inside;
            }
            (*carry, *lin_carry) = (next, lin_next);
        }
    }

    fn shrink_loop(&self, outs: &mut Vec<Var>, lin_outs: &mut Vec<Var>, ir_loop: &mut Loop, live: &mut HashSet<Var>) {
        let (carried, lk) = (ir_loop.init.len(), ir_loop.lin_init.len());
        let mut carry = self.read(&outs[..carried], live, false);
        let mut lin_carry = self.read(&lin_outs[..lk], live, true);
        let keep_outs = self.read(&outs[carried..carried + ir_loop.outs.len()], live, false);
        let keep_lin = self.read(&lin_outs[lk..], live, true);
        if let Trip::While(c) = &mut ir_loop.trip {
            let mut inside = HashSet::new();
            self.block(c, &mut inside);
            for (n, p) in c.params.iter().enumerate() {
                carry[n] |= inside.contains(p);
            }
            live.extend(inside);
        }
        let used = self.shrink_iteration(ir_loop, [&mut carry, &mut lin_carry], [&keep_outs, &keep_lin]);
        let keep_xs = self.read(&ir_loop.body.params[1 + carried..], &used, false);
        let keep_lin_xs = self.read(&ir_loop.body.lin_params[lk..], &used, true);
        retain(&mut ir_loop.init, &carry);
        retain(&mut ir_loop.lin_init, &lin_carry);
        retain(&mut ir_loop.outs, &keep_outs);
        retain(&mut ir_loop.lin_outs, &keep_lin);
        retain(&mut ir_loop.xs, &keep_xs);
        retain(&mut ir_loop.lin_xs, &keep_lin_xs);
        retain(&mut ir_loop.body.params, &[&[true], &carry[..], &keep_xs].concat());
        retain(&mut ir_loop.body.lin_params, &[&lin_carry[..], &keep_lin_xs].concat());
        if let Trip::While(c) = &mut ir_loop.trip {
            retain(&mut c.params, &carry);
        }
        retain(outs, &[carry, keep_outs].concat());
        retain(lin_outs, &[lin_carry, keep_lin].concat());
        live.extend(used);
    }
}
