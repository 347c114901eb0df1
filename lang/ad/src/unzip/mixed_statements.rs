//! U of loops, calls and other statements with both linear and non-linear parts.

use super::{BlockHalves, U};
use adl_ir::{Block, Cmp, Lit, Loop, Op, Out, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_specialise::Unsupported;
use adl_syntax::span::Span;
use std::collections::{HashMap, HashSet};

impl U<'_> {
    /// Appends the halves of a statement to the halves of the block.
    pub(super) fn split(&mut self, s: &Stmt, primal: &mut Block, linear: &mut Vec<Stmt>) -> Result<(), Unsupported> {
        match &s.op {
            Op::If(..) | Op::Switch(..) => self.branches(s, primal, linear)?,
            Op::Loop(l) => self.loop_(s, l, primal, linear)?,
            Op::Call { .. } => self.call(s, primal, linear)?,
            _ => linear.push(s.clone()),
        }
        Ok(())
    }

    pub(super) fn copy_of(&mut self, v: Var) -> Var {
        let info = self.f.vars[v.0 as usize].clone();
        self.f.vars.push(info);
        Var(self.f.vars.len() as u32 - 1)
    }

    /// The halves of a loop's body. The linear half may read values that the loop stores anyway, and scalars from
    /// outside of the loop.
    fn iteration(&mut self, body: &Block, kept: &dyn Fn(Var) -> bool) -> Result<BlockHalves, Unsupported> {
        let inside = bound_in(body);
        self.loops += 1;
        let halves = self.block(body, &|f, v| kept(v) || !inside.contains(&v) && f.ty(v).rank() == 0);
        self.loops -= 1;
        halves
    }

    /// Records what the parameters of a loop's body are, and which of them are rows of arrays from outside.
    fn note_body(&mut self, ir_loop: &Loop, span: Span) {
        self.note_params(&ir_loop.body, span, "what a loop carries");
        for (x, row) in ir_loop.xs.iter().zip(&ir_loop.body.params[1 + ir_loop.init.len()..]) {
            self.rows.extend(self.rows_taken(*x).map(|n| (*row, n + 1)));
        }
    }

    fn loop_(
        &mut self,
        stmt: &Stmt,
        ir_loop: &Loop,
        primal: &mut Block,
        linear: &mut Vec<Stmt>,
    ) -> Result<(), Unsupported> {
        self.note_body(ir_loop, stmt.span);
        let (index, elems) = (ir_loop.body.params[0], &ir_loop.body.params[1 + ir_loop.init.len()..]);
        let results = ir_loop.outs.iter().zip(&ir_loop.body.results[ir_loop.init.len()..]);
        let collected: Vec<Option<Var>> = results.map(|(o, v)| (*o == Out::Collect).then_some(*v)).collect();
        let mut halves = self.iteration(&ir_loop.body, &|v| collected.contains(&Some(v)) || elems.contains(&v))?;
        let block = (u32::from(matches!(ir_loop.trip, Trip::While(_))), &ir_loop.body);
        let available = |v| v == index || elems.contains(&v) || collected.contains(&Some(v));
        self.pack(stmt, block, &mut halves, available);
        let inside = bound_in(&halves.primal);
        let (mut body, mut lin_body) = (halves.primal, halves.linear);
        let new_index = self.copy_of(index);
        let mut names = HashMap::from([(index, new_index)]);
        let (mut outs, mut kept, mut xs, mut elem_params) = (ir_loop.outs.clone(), Vec::new(), Vec::new(), Vec::new());
        let (continuation_conditions, mut again) = (self.continuation_conditions(ir_loop), Vec::new());
        for need in halves.needs.iter().filter(|v| inside.contains(v) && **v != index) {
            let elem = self.copy_of(*need);
            names.insert(*need, elem);
            if continuation_conditions.contains(need) {
                again.push(elem);
                continue;
            }
            elem_params.push(elem);
            // An element of an array that is available anyway.
            if let Some(k) = elems.iter().position(|e| e == need) {
                xs.push(ir_loop.xs[k]);
                continue;
            }
            // A value that the loop collects as a result is not collected again as a residual.
            if let Some(k) = collected.iter().position(|c| *c == Some(*need)) {
                xs.push(stmt.outs[ir_loop.init.len() + k]);
                continue;
            }
            let (out, whole) = self.collected_residual(*need, &ir_loop.trip, &inside);
            outs.push(out);
            body.results.push(*need);
            kept.push(whole);
            xs.push(whole);
        }
        adl_ir::rewrite::rename::rename(&mut lin_body, &names);
        lin_body.params = [vec![new_index], elem_params].concat();
        let (trips, plain) = stmt.outs.split_last().map_or((index, &stmt.outs[..]), |(t, o)| (*t, o));
        self.recompute_conditions(&again, (new_index, trips), &mut lin_body, stmt.span);
        let made =
            Loop { lin_init: Vec::new(), lin_xs: Vec::new(), lin_outs: Vec::new(), outs, body, ..ir_loop.clone() };
        primal.stmts.push(Stmt {
            outs: [plain, &kept, &[trips]].concat(),
            lin_outs: Vec::new(),
            op: Op::Loop(Box::new(made)),
            span: stmt.span,
        });
        linear.push(self.linear_loop(stmt, ir_loop, trips, xs, lin_body));
        Ok(())
    }

    /// The array over all iterations of a residual in a loop's body. It is one buffer if all iterations have a number
    /// each, or an array whose extents are known from outside of the body (`inside`). Any other residual has a box
    /// for each iteration, because shapes may differ.
    fn collected_residual(&mut self, var: Var, trip: &Trip, inside: &HashSet<Var>) -> (Out, Var) {
        let ty = self.f.ty(var).clone();
        let array = matches!(&ty, Ty::Array(e, _) if e.is_flat());
        let dense = ty.is_flat() || array && self.extents.known_without(var, inside);
        let (out, over) = if dense { (Out::Collect, ty.array(1)) } else { (Out::Boxed, ty.boxed()) };
        let whole = self.f.fresh(over, false);
        self.parts.insert(whole);
        if dense {
            let count = if let Trip::Count(n) = trip { Some(*n) } else { None };
            self.extents.collect(whole, count, var);
        }
        let rows = self.origin(var);
        self.origins.insert(whole, rows);
        (out, whole)
    }

    /// The linear half of the loop `l`, whose trip count was `trips`.
    fn linear_loop(&mut self, s: &Stmt, l: &Loop, trips: Var, xs: Vec<Var>, body: Block) -> Stmt {
        let trip = match &l.trip {
            Trip::Count(n) => *n,
            Trip::While(_) => trips,
        };
        let half = Loop { trip: Trip::Count(trip), init: Vec::new(), xs, outs: Vec::new(), body, ..l.clone() };
        let unused = self.f.fresh(Ty::I64, false);
        Stmt { outs: vec![unused], lin_outs: s.lin_outs.clone(), op: Op::Loop(Box::new(half)), span: s.span }
    }

    /// The variables in a loop's body that are true exactly if another iteration follows: the Bool that the loop
    /// carries as its condition, and the values of which it is selected.
    fn continuation_conditions(&self, l: &Loop) -> HashSet<Var> {
        let Trip::While(c) = &l.trip else { return HashSet::new() };
        let found = c.params.iter().position(|p| c.stmts.is_empty() && c.results[..] == [*p]);
        let Some(result) = found.and_then(|k| l.body.results.get(k)) else { return HashSet::new() };
        let mut out = HashSet::from([*result]);
        for s in &l.body.stmts {
            let (Op::If(b, x, y), Some(j)) = (&s.op, s.outs.iter().position(|o| o == result)) else { continue };
            if self.bools.get(&x.results[j]) == Some(&true) && self.bools.get(&y.results[j]) == Some(&false) {
                out.insert(*b);
            }
        }
        out
    }

    /// Recomputes these variables in the linear half from the iteration's index.
    fn recompute_conditions(&mut self, again: &[Var], (index, trips): (Var, Var), body: &mut Block, span: Span) {
        if again.is_empty() {
            return;
        }
        let [one, next] = [0; 2].map(|_| self.f.fresh(Ty::I64, false));
        let stmt = |v: Var, op: Op| Stmt { outs: vec![v], lin_outs: Vec::new(), op, span };
        let mut made = vec![stmt(one, Op::Lit(Lit::I64(1))), stmt(next, Op::Bin(Bin::Add, index, one))];
        made.extend(again.iter().map(|v| stmt(*v, Op::Cmp(Cmp::Lt, next, trips))));
        body.stmts.splice(0..0, made);
    }

    fn call(&mut self, stmt: &Stmt, primal: &mut Block, linear: &mut Vec<Stmt>) -> Result<(), Unsupported> {
        let Op::Call { f: id, args, lin_args, checkpoint, .. } = &stmt.op else { return Ok(()) };
        if args.is_empty() && stmt.outs.is_empty() || self.is_linear(*id) {
            linear.push(stmt.clone());
            return Ok(());
        }
        let unzipped = self.ad.unzip(self.p, *id, self.plan)?;
        let callee = self.p.func(unzipped.called).clone();
        let tys = callee.tys(&callee.body.results[unzipped.results..]);
        let kept: Vec<Var> = tys.iter().map(|t| self.f.fresh(t.clone(), false)).collect();
        self.parts.extend(&kept);
        for (v, rows) in kept.iter().zip(unzipped.residuals.iter().skip(unzipped.passed.len())) {
            self.origins.insert(*v, rows.clone());
        }
        let call = |f, args: &[Var], lin_args: &[Var]| Op::Call {
            f,
            args: args.to_vec(),
            lin_args: lin_args.to_vec(),
            rule: None,
            checkpoint: false,
        };
        let forward = Stmt {
            outs: [&stmt.outs[..], &kept].concat(),
            lin_outs: Vec::new(),
            op: call(unzipped.called, args, &[]),
            span: stmt.span,
        };
        if *checkpoint {
            // The forward pass computes the results only; the reverse pass repeats the entire call.
            let origin = self.ad.plain(self.p, *id).unwrap_or(unzipped.called);
            let outs = match origin == unzipped.called {
                true => stmt.outs.iter().copied().chain(kept.iter().map(|v| self.copy_of(*v))).collect(),
                false => stmt.outs.clone(),
            };
            primal.stmts.push(Stmt { outs, lin_outs: Vec::new(), op: call(origin, args, &[]), span: stmt.span });
            let again = self.ad.residuals_only(self.p, &unzipped);
            linear.push(Stmt { outs: kept.clone(), op: call(again, args, &[]), ..forward });
        } else {
            primal.stmts.push(forward);
        }
        let residuals: Vec<Var> = unzipped.passed.iter().map(|k| args[*k]).chain(kept).collect();
        linear.push(Stmt {
            outs: Vec::new(),
            lin_outs: stmt.lin_outs.clone(),
            op: call(unzipped.linear, &residuals, lin_args),
            span: stmt.span,
        });
        Ok(())
    }

    /// Whether a function has no non-linear results, so that it needs no unzipping.
    fn is_linear(&self, f: adl_ir::FnId) -> bool {
        let f = self.p.func(f);
        f.body.results.is_empty() && !f.body.lin_results.is_empty()
    }
}

pub(super) fn push_linear(s: &Stmt, op: Op, linear: &mut Vec<Stmt>) {
    linear.push(Stmt { outs: Vec::new(), lin_outs: s.lin_outs.clone(), op, span: s.span });
}

pub(super) fn bound_in(b: &Block) -> std::collections::HashSet<Var> {
    super::bound_at(b).collect()
}
