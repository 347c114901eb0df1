//! T of branches and loops.

use super::T;
use adl_ir::rewrite::linear_uses::captured_by;
use adl_ir::{Block, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_specialise::Unsupported;
use std::collections::HashMap;

impl T<'_> {
    /// The linear variables from outside that an operation reads, each once: copies of a variable share one cotangent.
    fn captured(&self, op: &Op) -> Vec<Var> {
        let mut roots = Vec::new();
        for v in captured_by(&self.b.func, op) {
            let root = self.root(v);
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }

    pub(crate) fn branches(&mut self, s: &Stmt) -> Result<(), Unsupported> {
        let read = self.captured(&s.op);
        let cts: Vec<Var> = s.lin_outs.iter().map(|o| self.final_cotangent(*o)).collect();
        let mut arms = Vec::new();
        for arm in s.op.blocks() {
            arms.push(self.arm(arm, &read, &cts)?);
        }
        let op = s.op.with_arms(arms);
        let tys: Vec<Ty> = read.iter().map(|v| self.b.ty(*v)).collect();
        let (_, made) = self.b.emit(op, &[], &tys);
        for (v, ct) in read.iter().zip(made) {
            self.set(*v, ct);
        }
        Ok(())
    }

    /// Transposes one arm. It takes the cotangents so far of the variables in `read`, and returns them updated.
    fn arm(&mut self, arm: &Block, read: &[Var], cts: &[Var]) -> Result<Block, Unsupported> {
        let outer: HashMap<Var, Var> =
            read.iter().filter_map(|v| self.cts.get(&self.root(*v)).map(|c| (self.root(*v), *c))).collect();
        let saved = std::mem::replace(&mut self.cts, outer);
        self.b.open();
        self.b.adopt(&arm.params, &[]);
        self.block(arm, cts)?;
        let results = read.iter().map(|v| self.final_cotangent(*v)).collect();
        self.cts = saved;
        Ok(self.b.close(Vec::new(), results))
    }

    /// Transposes a loop. If it is a comprehension, its reads at affine indices are transposed to comprehensions.
    pub(super) fn nest_or_loop(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        if let Some((reads, nest)) = self.lifted(stmt) {
            self.ad.decide(
                stmt.span,
                "comprehension",
                "cotangents of all reads at once, then gathers (tensor language, Fig. 7 and 16)",
                "",
            );
            if let Op::Loop(l) = &nest.op {
                self.loop_(&nest, l)?;
            }
            return reads.iter().rev().try_for_each(|r| self.nest_or_loop(r));
        }
        let rest = self.gathered(stmt)?;
        let s = rest.as_ref().unwrap_or(stmt);
        let Op::Loop(l) = &s.op else { return Ok(()) };
        if rest.is_some() && l.lin_xs.is_empty() && captured_by(&self.b.func, &s.op).is_empty() {
            s.lin_outs.iter().for_each(|o| {
                let r = self.root(*o);
                self.cts.remove(&r);
            });
            return Ok(());
        }
        self.loop_(s, l)
    }

    /// Reports how a loop is transposed.
    fn decide_loop(&mut self, stmt: &Stmt, independent: bool) {
        let (what, rule, why) = if independent {
            ("comprehension", "a comprehension of the transposed body: sums become copies, copies sums", "")
        } else {
            ("loop", "backwards, one iteration at a time", "each iteration needs what the one before it carried")
        };
        self.ad.decide(stmt.span, what, rule, why);
    }

    fn loop_(&mut self, stmt: &Stmt, ir_loop: &Loop) -> Result<(), Unsupported> {
        let read = self.captured(&stmt.op);
        // If iterations are independent, the cotangents of captured scalars are sums over the iterations. All other
        // captured cotangents are carried and added to in place, so that the order of additions does not depend on
        // how iterations are grouped.
        let independent = ir_loop.lin_init.is_empty();
        self.decide_loop(stmt, independent);
        let (sums, accs): (Vec<Var>, Vec<Var>) =
            read.into_iter().partition(|v| independent && self.b.ty(*v).rank() == 0 && self.b.ty(*v).is_real());
        let k = ir_loop.lin_init.len();
        let carry_cts: Vec<Var> = stmt.lin_outs[..k].iter().map(|o| self.final_cotangent(*o)).collect();
        let out_cts: Vec<Option<Var>> = stmt.lin_outs[k..]
            .iter()
            .map(|o| {
                let r = self.root(*o);
                self.cts.remove(&r)
            })
            .collect();
        let acc_init: Vec<Var> = accs.iter().map(|v| self.accumulator(*v)).collect();
        let lin_xs: Vec<Var> =
            out_cts.iter().zip(&ir_loop.lin_outs).filter(|(_, o)| **o != Out::Sum).filter_map(|(c, _)| *c).collect();
        let body = self.iteration(ir_loop, &sums, &accs, &out_cts)?;
        let elems = &ir_loop.lin_xs;
        let boxed = |v: &Var| {
            if self.b.ty(*v).rank() == 1 && !self.b.ty(*v).scalar().is_flat() { Out::Boxed } else { Out::Collect }
        };
        let lin_outs: Vec<Out> = elems.iter().map(boxed).chain(sums.iter().map(|_| Out::Sum)).collect();
        let tys: Vec<Ty> =
            ir_loop.lin_init.iter().chain(&accs).chain(elems).chain(&sums).map(|v| self.b.ty(*v)).collect();
        let lin_init = [carry_cts, acc_init].concat();
        let made = Loop {
            trip: ir_loop.trip.clone(),
            // Without state the direction only decides the order of sums, and arrays are added from their first element on.
            reverse: !ir_loop.reverse && !lin_init.is_empty(),
            init: Vec::new(),
            lin_init,
            xs: ir_loop.xs.clone(),
            lin_xs,
            outs: Vec::new(),
            lin_outs,
            body,
        };
        debug_assert!(
            ir_loop.init.is_empty() && matches!(made.trip, Trip::Count(_)),
            "a linear loop carries nothing non-linear"
        );
        let (_, results) = self.b.emit(Op::Loop(Box::new(made)), &[Ty::I64], &tys);
        self.take_results(ir_loop, &sums, &accs, &results);
        Ok(())
    }

    /// Distributes the results of a transposed loop: carried values, accumulators, elements, sums.
    fn take_results(&mut self, l: &Loop, sums: &[Var], accs: &[Var], results: &[Var]) {
        let k = l.lin_init.len();
        let (carried, rest) = results.split_at(k + accs.len());
        // Accumulators first, because a variable may be both captured and carried.
        for (v, ct) in accs.iter().zip(&carried[k..]) {
            self.set(*v, *ct);
        }
        for (v, ct) in l.lin_init.iter().zip(carried) {
            self.add(*v, *ct);
        }
        for (v, ct) in l.lin_xs.iter().chain(sums).zip(rest) {
            self.add(*v, *ct);
        }
    }

    /// One iteration in reverse.
    fn iteration(
        &mut self,
        ir_loop: &Loop,
        sums: &[Var],
        accs: &[Var],
        out_cts: &[Option<Var>],
    ) -> Result<Block, Unsupported> {
        let carries = ir_loop.lin_init.len();
        let saved = std::mem::take(&mut self.cts);
        self.b.open();
        let mut lin_params = Vec::new();
        let mut cts = Vec::new();
        let (carried, outs) = ir_loop.body.lin_results.split_at(carries);
        for r in carried {
            let ty = self.b.ty(*r);
            let v = self.b.func.fresh(ty, true);
            lin_params.push(v);
            cts.push(Some(v));
        }
        for v in accs {
            let ty = self.b.ty(*v);
            let c = self.b.func.fresh(ty, true);
            lin_params.push(c);
            self.set(*v, c);
        }
        for ((r, ct), out) in outs.iter().zip(out_cts).zip(&ir_loop.lin_outs) {
            cts.push(match (ct, out) {
                (Some(c), Out::Sum) => Some(*c),
                (Some(_), _) => {
                    let ty = self.b.ty(*r);
                    let v = self.b.func.fresh(ty, true);
                    lin_params.push(v);
                    Some(v)
                }
                (None, _) => None,
            });
        }
        self.b.adopt(&ir_loop.body.params, &lin_params);
        self.block_with_missing(&ir_loop.body, &cts)?;
        let mut results: Vec<Var> =
            ir_loop.body.lin_params[..carries].iter().map(|v| self.final_cotangent(*v)).collect();
        results.extend(accs.iter().map(|v| self.final_cotangent(*v)).collect::<Vec<_>>());
        results.extend(
            ir_loop.body.lin_params[carries..].iter().chain(sums).map(|v| self.final_cotangent(*v)).collect::<Vec<_>>(),
        );
        self.cts = saved;
        Ok(self.b.close(Vec::new(), results))
    }

    /// Like [`T::block`], for results some of which have no cotangent.
    fn block_with_missing(&mut self, b: &Block, cts: &[Option<Var>]) -> Result<(), Unsupported> {
        let known: Vec<(Var, Var)> = b.lin_results.iter().zip(cts).filter_map(|(r, c)| c.map(|c| (*r, c))).collect();
        let part = Block { lin_results: known.iter().map(|(r, _)| *r).collect(), ..b.clone() };
        let cts: Vec<Var> = known.iter().map(|(_, c)| *c).collect();
        self.block(&part, &cts)
    }
}
