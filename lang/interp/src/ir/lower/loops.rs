//! Lowering of loops, reductions and scans to jumps around their bodies. The result registers hold the loop
//! state.

use super::super::eval_op::LoweredOp;
use super::branches::inner;
use super::{Lower, LoweringScope, NEVER, zero_of};
use crate::error::Res;
use crate::value::Value;
use crate::vm::code::{Arg, I, R};
use adl_ir::{Block, Loop, Out, Soac, SoacKind, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use std::collections::HashSet;

/// Registers of a loop that is being lowered.
struct LoopRegs {
    /// Carried values, non-linear ones first.
    carry: Vec<R>,
    /// Outputs: how each is collected, its register and its type.
    outs: Vec<(Out, R, Ty)>,
    counter: R,
}

impl Lower<'_> {
    pub(super) fn loop_(&mut self, s: &Stmt, ir_loop: &Loop, at: u32, sc: &LoweringScope) -> Res<()> {
        let dying = self.dying_inside(at, sc);
        let regs = self.bind_outs(s);
        let loop_regs = split(ir_loop, &regs, |v| self.f.ty(v).clone());
        self.starts(ir_loop, &loop_regs, at, sc);
        let last = match (&ir_loop.trip, ir_loop.reverse) {
            (Trip::Count(n), true) => Some(self.before(self.reg(*n))),
            _ => None,
        };
        let saved = (self.free.clone(), self.next);
        let infos = inner(sc, at);
        let nothing = HashSet::new();
        let head = self.code.here();
        let exit = match &ir_loop.trip {
            Trip::Count(n) => self.hole(I::LoopHead(loop_regs.counter, self.reg(*n), 0)),
            Trip::While(c) => {
                for (p, r) in c.params.iter().zip(&loop_regs.carry) {
                    self.pin(*p, *r);
                }
                let sc = LoweringScope { info: &infos[0], dying: &nothing };
                self.block(c, &sc)?;
                let hole = self.condition(c.results[0], c.stmts.len() as u32, &sc);
                (self.free, self.next) = saved.clone();
                hole
            }
        };
        let sc_in = LoweringScope { info: &infos[infos.len() - 1], dying: &nothing };
        self.iteration(ir_loop, &loop_regs, last, &sc_in)?;
        (self.free, self.next) = saved;
        self.emit(I::LoopNext(loop_regs.counter, head));
        self.code.patch_jump(exit);
        for (out, r, _) in &loop_regs.outs {
            if *out != Out::Sum {
                self.step(LoweredOp::Finish(ir_loop.reverse), [Arg { r: *r, last: true }].into(), vec![*r], [].into());
            }
        }
        self.end_loop(ir_loop, last, &dying, at, sc);
        Ok(())
    }

    fn end_loop(&mut self, l: &Loop, last: Option<R>, dying: &HashSet<Var>, at: u32, sc: &LoweringScope) {
        self.free.extend(last);
        let mut used: Vec<Var> = l.init.iter().chain(&l.lin_init).chain(&l.xs).chain(&l.lin_xs).copied().collect();
        if let Trip::Count(n) = l.trip {
            used.push(n);
        }
        used.retain(|v| !dying.contains(v));
        for (i, v) in used.iter().enumerate() {
            if !used[..i].contains(v) && self.dies(*v, at, sc) {
                self.clear(*v);
            }
        }
        self.release_dying(&used, at, sc);
        let mut inside: Vec<Var> = dying.iter().copied().collect();
        inside.sort_unstable();
        inside.iter().for_each(|v| self.clear(*v));
        self.release_all(dying);
    }

    /// Emits `n - 1`.
    fn before(&mut self, n: R) -> R {
        let r = self.fresh();
        let k = self.constant(Value::Int(-1));
        self.emit(I::Const(r, k));
        self.emit(I::Bin(Bin::Add, r, n, r));
        r
    }

    /// Assigns a variable to a register that it does not own.
    fn pin(&mut self, v: Var, r: R) {
        self.regs[v.0 as usize] = r;
        self.pinned.insert(v);
    }

    /// Initialises the loop state.
    fn starts(&mut self, l: &Loop, loop_regs: &LoopRegs, at: u32, sc: &LoweringScope) {
        let vars: Vec<Var> = l.init.iter().chain(&l.lin_init).copied().collect();
        let kept: HashSet<Var> =
            l.xs.iter()
                .chain(&l.lin_xs)
                .copied()
                .chain(inner(sc, at).iter().flat_map(|i| i.free.keys().copied()))
                .collect();
        let bound = match l.trip {
            Trip::Count(n) => Some(n),
            Trip::While(_) => None,
        };
        let args = self.args(&vars, at, sc, &|v| kept.contains(&v) || bound == Some(v));
        for (d, a) in loop_regs.carry.iter().zip(args.iter()) {
            self.copy(*d, a.r, a.last);
        }
        let k = self.constant(Value::Int(0));
        self.emit(I::Const(loop_regs.counter, k));
        for (out, register, ty) in &loop_regs.outs {
            if *out == Out::Sum {
                let z = self.constant(zero_of(ty));
                self.emit(I::Const(*register, z));
                continue;
            }
            // A `while` loop has no trip count; the counter, which is 0 at this point, is passed instead.
            let n = bound.map_or(loop_regs.counter, |n| self.reg(n));
            self.step(
                LoweredOp::Buffer(ty.clone(), *out == Out::Boxed),
                [Arg { r: n, last: false }].into(),
                vec![*register],
                [].into(),
            );
        }
    }

    /// One iteration.
    fn iteration(&mut self, ir_loop: &Loop, loop_regs: &LoopRegs, last: Option<R>, sc: &LoweringScope) -> Res<()> {
        let body = &ir_loop.body;
        let index = match (last, body.params.first()) {
            (None, Some(p)) => {
                self.pin(*p, loop_regs.counter);
                loop_regs.counter
            }
            (Some(n), Some(p)) => {
                let r = self.fresh();
                self.pin(*p, r);
                self.emit(I::Bin(Bin::Sub, r, n, loop_regs.counter));
                r
            }
            (_, None) => loop_regs.counter,
        };
        let (k, m) = (ir_loop.init.len(), ir_loop.lin_init.len());
        let params = body.params.get(1..1 + k).unwrap_or(&[]).iter().chain(&body.lin_params[..m]);
        for (p, r) in params.zip(&loop_regs.carry) {
            self.regs[p.0 as usize] = *r;
        }
        let elements = body.params.get(1 + k..).unwrap_or(&[]).iter().chain(&body.lin_params[m..]);
        self.elements(elements.zip(ir_loop.xs.iter().chain(&ir_loop.lin_xs)), index);
        // Unused carried values release their registers immediately.
        for p in body.params.iter().chain(&body.lin_params) {
            if self.last[p.0 as usize] == NEVER {
                self.release(*p);
            }
        }
        stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.block(body, sc))?;
        self.end_iteration(ir_loop, loop_regs, sc)
    }

    /// Reads the elements that an iteration consumes.
    fn elements<'v>(&mut self, pairs: impl Iterator<Item = (&'v Var, &'v Var)>, index: R) {
        for (p, x) in pairs {
            if self.last[p.0 as usize] == NEVER {
                continue;
            }
            let z = self.constant(zero_of(self.f.ty(*p)));
            let a = self.reg(*x);
            let d = self.bind(*p);
            self.emit(I::At1(d, a, index, z));
        }
    }

    /// Appends outputs to their buffers and adds sums, then replaces the carried values.
    fn end_iteration(&mut self, l: &Loop, loop_regs: &LoopRegs, sc: &LoweringScope) -> Res<()> {
        let body = &l.body;
        let at = body.stmts.len() as u32;
        let (init_count, lin_count) = (l.init.len(), l.lin_init.len());
        let carried: Vec<Var> =
            body.results[..init_count].iter().chain(&body.lin_results[..lin_count]).copied().collect();
        let outs = body.results[init_count..].iter().chain(&body.lin_results[lin_count..]);
        for ((out, register, ty), var) in loop_regs.outs.iter().zip(outs) {
            let source = self.reg(*var);
            match out {
                Out::Collect | Out::Boxed => self.emit(I::Push(*register, source)),
                Out::Sum if ty.rank() == 0 && ty.is_flat() => self.emit(I::Bin(Bin::Add, *register, *register, source)),
                Out::Sum => {
                    let add = LoweredOp::Op(adl_ir::Op::Bin(Bin::Add, Var(0), Var(1)));
                    let once = carried
                        .iter()
                        .chain(body.results[init_count..].iter())
                        .chain(&body.lin_results[lin_count..])
                        .filter(|w| *w == var)
                        .count()
                        == 1;
                    let last = once && self.dies(*var, at, sc);
                    self.step(
                        add,
                        [Arg { r: *register, last: true }, Arg { r: source, last }].into(),
                        vec![*register],
                        [Value::Zero].into(),
                    );
                }
            }
        }
        let pairs: Vec<(R, Var)> = loop_regs.carry.iter().copied().zip(carried).collect();
        self.moves(&pairs, at, sc);
        Ok(())
    }

    /// Lowers a reduction or scan as a loop over the elements that carries the accumulators.
    pub(super) fn soac(&mut self, s: &Stmt, soac: &Soac, at: u32, sc: &LoweringScope) -> Res<()> {
        let outs = self.bind_outs(s);
        let acc: Vec<R> = if soac.kind == SoacKind::Reduce {
            outs.clone()
        } else {
            soac.neutral.iter().map(|_| self.fresh()).collect()
        };
        let used: Vec<Var> = soac.neutral.iter().chain(&soac.arrays).copied().collect();
        let args =
            self.args(&soac.neutral, at, sc, &|v| soac.arrays.contains(&v) || inner(sc, at)[0].free.contains_key(&v));
        for (d, a) in acc.iter().zip(args.iter()) {
            self.copy(*d, a.r, a.last);
        }
        let (counter, len) = (self.fresh(), self.fresh());
        let k = self.constant(Value::Int(0));
        self.emit(I::Const(counter, k));
        self.emit(I::AxisLen(len, self.reg(soac.arrays[0]), 0));
        if soac.kind != SoacKind::Reduce {
            for (r, v) in outs.iter().zip(&soac.neutral) {
                self.step(
                    LoweredOp::Buffer(self.f.ty(*v).clone(), false),
                    [Arg { r: len, last: false }].into(),
                    vec![*r],
                    [].into(),
                );
            }
        }
        let saved = (self.free.clone(), self.next);
        let head = self.code.here();
        let exit = self.hole(I::LoopHead(counter, len, 0));
        self.combine(soac, &acc, &outs, counter, &LoweringScope { info: &inner(sc, at)[0], dying: &HashSet::new() })?;
        (self.free, self.next) = saved;
        self.emit(I::LoopNext(counter, head));
        self.code.patch_jump(exit);
        self.free.extend([counter, len]);
        if soac.kind != SoacKind::Reduce {
            for r in &outs {
                self.step(LoweredOp::Finish(false), [Arg { r: *r, last: true }].into(), vec![*r], [].into());
            }
            self.free.extend(&acc);
        }
        let dying = self.dying_inside(at, sc);
        self.release_dying(&used, at, sc);
        self.release_all(&dying);
        Ok(())
    }

    /// Combines the accumulators with the next element.
    fn combine(&mut self, soac: &Soac, acc: &[R], outs: &[R], counter: R, sc: &LoweringScope) -> Res<()> {
        let k = acc.len();
        if soac.kind == SoacKind::ScanExclusive {
            for (out, a) in outs.iter().zip(acc) {
                self.emit(I::Push(*out, *a));
            }
        }
        for (p, r) in soac.op.params[..k].iter().zip(acc) {
            self.regs[p.0 as usize] = *r;
        }
        self.elements(soac.op.params[k..].iter().zip(&soac.arrays), counter);
        self.block(&soac.op, sc)?;
        let pairs: Vec<(R, Var)> = acc.iter().copied().zip(soac.op.results.iter().copied()).collect();
        self.moves(&pairs, soac.op.stmts.len() as u32, sc);
        if soac.kind == SoacKind::Scan {
            for (out, a) in outs.iter().zip(acc) {
                self.emit(I::Push(*out, *a));
            }
        }
        Ok(())
    }

    /// Lowers `reduce_by_index`: applies the operator to `dest` at each key that is in bounds.
    pub(super) fn by_index(
        &mut self,
        stmt: &Stmt,
        (dest, keys, values, op): (&[Var], Var, &[Var], &Block),
        at: u32,
        sc: &LoweringScope,
    ) -> Res<()> {
        let outs = self.bind_outs(stmt);
        let inside = &inner(sc, at)[0];
        let args = self.args(dest, at, sc, &|v| values.contains(&v) || v == keys || inside.free.contains_key(&v));
        for (d, a) in outs.iter().zip(args.iter()) {
            self.copy(*d, a.r, a.last);
        }
        let [counter, len, extent, key, zero] = [(); 5].map(|()| self.fresh());
        let k = self.constant(Value::Int(0));
        self.emit(I::Const(counter, k));
        self.emit(I::Const(zero, k));
        self.emit(I::AxisLen(len, self.reg(keys), 0));
        self.emit(I::AxisLen(extent, outs[0], 0));
        let saved = (self.free.clone(), self.next);
        let head = self.code.here();
        let exit = self.hole(I::LoopHead(counter, len, 0));
        self.emit(I::At1(key, self.reg(keys), counter, k));
        let below = self.hole(I::JumpUnlessCmp(adl_ir::Cmp::Ge, key, zero, 0));
        let above = self.hole(I::JumpUnlessCmp(adl_ir::Cmp::Lt, key, extent, 0));
        let w = dest.len();
        self.elements(op.params[..w].iter().zip(stmt.outs.iter()), key);
        self.elements(op.params[w..].iter().zip(values), counter);
        self.block(op, &LoweringScope { info: inside, dying: &HashSet::new() })?;
        for (d, v) in outs.iter().zip(&op.results) {
            let args = [Arg { r: *d, last: true }, Arg { r: key, last: false }, Arg { r: self.reg(*v), last: false }];
            self.step(LoweredOp::Put, args.into(), vec![*d], [].into());
        }
        (self.free, self.next) = saved;
        self.code.patch_jump(below);
        self.code.patch_jump(above);
        self.emit(I::LoopNext(counter, head));
        self.code.patch_jump(exit);
        self.free.extend([counter, len, extent, key, zero]);
        let dying = self.dying_inside(at, sc);
        let used: Vec<Var> = dest.iter().chain(values).copied().chain([keys]).collect();
        self.release_dying(&used, at, sc);
        self.release_all(&dying);
        Ok(())
    }
}

/// Assigns result registers to carried values, outputs and the counter.
fn split(l: &Loop, regs: &[R], ty: impl Fn(Var) -> Ty) -> LoopRegs {
    let (k, m) = (l.init.len(), l.lin_init.len());
    let counter = regs[k + l.outs.len()];
    let lin = &regs[k + l.outs.len() + 1..];
    let carry = regs[..k].iter().chain(&lin[..m]).copied().collect();
    let plain = l.outs.iter().zip(&regs[k..]).zip(&l.body.results[k..]);
    let linear = l.lin_outs.iter().zip(&lin[m..]).zip(&l.body.lin_results[m..]);
    let outs = plain.chain(linear).map(|((o, r), v)| (*o, *r, ty(*v))).collect();
    LoopRegs { carry, outs, counter }
}
