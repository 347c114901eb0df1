//! Branches, calls, and function returns.

use super::data::Fields;
use super::{EmissionScope, Emit, EmitSite, TRUSTED, inner, is_ref, machine_type, outs, params, results};
use crate::runtime::{self, WordKind};
use crate::shims;
use adl_interp::ir::live::BlockLiveness;
use adl_ir::{Block, Op, Stmt, Ty, Var};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, BlockCall, InstBuilder, JumpTableData, Value, types};
use std::collections::HashSet;

impl Emit<'_, '_, '_> {
    /// Variables that die at a statement and are used in its blocks.
    pub(super) fn dying_inside(&self, at: u32, sc: &EmissionScope) -> HashSet<Var> {
        inner(sc, at).iter().flat_map(|i| i.free.keys()).copied().filter(|v| self.dies(*v, at, sc)).collect()
    }

    /// Releases the variables that die in another branch only, and are unused in this one.
    fn forget(&mut self, dying: &HashSet<Var>, info: &BlockLiveness) {
        let mut gone: Vec<Var> =
            dying.iter().copied().filter(|v| !info.free.contains_key(v) && is_ref(self.f.ty(*v))).collect();
        gone.sort_unstable();
        for v in gone {
            let x = self.val(v);
            self.let_go(v, x);
        }
    }

    fn merge(&mut self, s: &Stmt) -> ir::Block {
        let done = self.fresh();
        for v in outs(s) {
            let t = self.word_type(*v);
            self.b.append_block_param(done, t);
        }
        done
    }

    fn bind_merged(&mut self, s: &Stmt, done: ir::Block) {
        self.b.switch_to_block(done);
        let vals: Vec<Value> = self.b.block_params(done).to_vec();
        self.bind_outs(s, &vals);
    }

    pub(super) fn if_(&mut self, s: &Stmt, c: Var, arms: [&Block; 2], at: u32, sc: &EmissionScope) {
        let dying = self.dying_inside(at, sc);
        let (yes, no, done) = (self.fresh(), self.fresh(), self.merge(s));
        let c = self.val(c);
        self.b.ins().brif(c, yes, &[], no, &[]);
        for ((arm, start), info) in arms.into_iter().zip([yes, no]).zip(inner(sc, at)) {
            self.b.switch_to_block(start);
            self.branch(arm, info, &dying, done);
        }
        self.bind_merged(s, done);
    }

    /// Emits one branch, which passes its results to `done`.
    fn branch(&mut self, b: &Block, info: &BlockLiveness, dying: &HashSet<Var>, done: ir::Block) {
        let sc = EmissionScope { info, dying };
        self.forget(dying, info);
        self.block(b, &sc);
        let rs: Vec<Var> = results(b).copied().collect();
        let vals = self.owned(&rs, b.stmts.len() as u32, &sc, &|_| false);
        self.goto(done, &vals);
    }

    pub(super) fn switch(&mut self, s: &Stmt, v: Var, arms: &[Block], at: u32, sc: &EmissionScope) {
        let dying = self.dying_inside(at, sc);
        let done = self.merge(s);
        let starts = self.choose(v, arms.len());
        for ((arm, start), info) in arms.iter().zip(starts).zip(inner(sc, at)) {
            self.b.switch_to_block(start);
            self.fields(v, arms, arm, at, sc);
            self.branch(arm, info, &dying, done);
        }
        self.bind_merged(s, done);
    }

    /// Emits a jump table on the constructor. Returns the entry block of each arm.
    fn choose(&mut self, v: Var, arms: usize) -> Vec<ir::Block> {
        let h = self.val(v);
        let tag = self.which(h);
        let starts: Vec<ir::Block> = (0..arms).map(|_| self.fresh()).collect();
        let none = self.cold();
        let pool = &mut self.b.func.dfg.value_lists;
        let calls: Vec<BlockCall> = starts.iter().map(|b| BlockCall::new(*b, [], pool)).collect();
        let default = BlockCall::new(none, [], pool);
        let table = self.b.create_jump_table(JumpTableData::new(default, &calls));
        self.b.ins().br_table(tag, table);
        self.b.switch_to_block(none);
        let site = self.site();
        let site = self.int(i64::from(site));
        self.runtime(shims::no_match as *const u8, &[self.frame.ctx, site], 1);
        let fail = self.frame.fail;
        self.goto(fail, &[]);
        starts
    }

    /// Binds the parameters of an arm to the fields.
    fn fields(&mut self, var: Var, arms: &[Block], arm: &Block, at: u32, sc: &EmissionScope) {
        let used_inside = inner(sc, at).iter().any(|i| i.free.contains_key(&var));
        let gone = self.dies(var, at, sc) && !used_inside;
        let own: Vec<Var> = params(arm).copied().collect();
        if own.is_empty() {
            if gone {
                let x = self.val(var);
                self.let_go(var, x);
            }
            return;
        }
        let tag = arms.iter().position(|a| std::ptr::eq(a, arm)).unwrap_or(0) as u32;
        let layout = self.layout_of(var, tag);
        let cell = self.val(var);
        self.bind_fields(&Fields { cell, layout, own: &own, gone }, None);
    }

    /// Evaluates the arguments of a call, with a reference each.
    fn arguments(&mut self, args: &[Var], lin_args: &[Var], at: u32, sc: &EmissionScope) -> Vec<Value> {
        let vars: Vec<Var> = args.iter().chain(lin_args).copied().collect();
        self.owned(&vars, at, sc, &|_| false)
    }

    pub(super) fn call(&mut self, stmt: &Stmt, at: u32, sc: &EmissionScope) {
        let Op::Call { f: function, args, lin_args, .. } = &stmt.op else { return };
        let Some(k) = self.job.unit.index.get(function).copied() else { return };
        let given = self.arguments(args, lin_args, at, sc);
        let callee = self.callee(self.job.ids[k]);
        let out = self.b.ins().stack_addr(types::I64, self.frame.slot, 0);
        let all = [&[self.frame.ctx, out], &given[..]].concat();
        let call = self.b.ins().call(callee, &all);
        let status = self.b.inst_results(call)[0];
        if self.job.unit.is_outlined(k) {
            self.continue_if_ok(status);
        } else {
            self.continue_or_trace(status);
        }
        let vals: Vec<Value> =
            outs(stmt).copied().enumerate().map(|(i, v)| self.from_slot(WordKind::of(self.f.ty(v)), i)).collect();
        self.bind_outs(stmt, &vals);
    }

    /// Continues if a callee's status is 0; otherwise adds this function's frame to the error.
    fn continue_or_trace(&mut self, status: Value) {
        let (bad, next) = (self.cold(), self.fresh());
        self.b.ins().brif(status, bad, &[], next, &[]);
        self.b.switch_to_block(bad);
        let site = self.site();
        let site = self.int(i64::from(site));
        self.runtime(shims::trace as *const u8, &[self.frame.ctx, site], 1);
        let fail = self.frame.fail;
        self.goto(fail, &[]);
        self.b.switch_to_block(next);
    }

    /// Emits the end of a function. The last statement is emitted in tail position if its results are the function's.
    pub(super) fn tail(&mut self, b: &Block, sc: &EmissionScope) {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.tail_inner(b, sc));
    }

    fn tail_inner(&mut self, b: &Block, sc: &EmissionScope) {
        let goes_on =
            |s: &Stmt| matches!(s.op, Op::If(..) | Op::Switch(..) | Op::Call { .. }) && outs(s).eq(results(b));
        let Some((s, first)) = b.stmts.split_last().filter(|(s, _)| goes_on(s)) else {
            self.block(b, sc);
            return self.leave(b, sc);
        };
        self.stmts(b, first.len() as u32, sc);
        self.last(b, s, first.len() as u32, sc);
    }

    /// Emits the last statement of a block in tail position, whose results are the function's.
    fn last(&mut self, block: &Block, stmt: &Stmt, at: u32, sc: &EmissionScope) {
        self.at = EmitSite::of(stmt.span);
        match &stmt.op {
            Op::If(c, x, y) => {
                let dying = self.dying_inside(at, sc);
                let (yes, no) = (self.fresh(), self.fresh());
                let c = self.val(*c);
                self.b.ins().brif(c, yes, &[], no, &[]);
                for ((arm, start), info) in [x, y].into_iter().zip([yes, no]).zip(inner(sc, at)) {
                    self.b.switch_to_block(start);
                    self.last_branch(arm, info, &dying);
                }
            }
            Op::Switch(v, arms) => {
                let dying = self.dying_inside(at, sc);
                let starts = self.choose(*v, arms.len());
                for ((arm, start), info) in arms.iter().zip(starts).zip(inner(sc, at)) {
                    self.b.switch_to_block(start);
                    self.fields(*v, arms, arm, at, sc);
                    self.last_branch(arm, info, &dying);
                }
            }
            Op::Call { f, args, lin_args, .. } => {
                let given = self.arguments(args, lin_args, at, sc);
                self.tail_call(self.job.unit.index.get(f).copied().unwrap_or(0), &given);
            }
            _ => {
                self.stmt(stmt, at, sc);
                self.leave(block, sc);
            }
        }
    }

    fn last_branch(&mut self, b: &Block, info: &BlockLiveness, dying: &HashSet<Var>) {
        self.forget(dying, info);
        self.tail(b, &EmissionScope { info, dying });
    }

    /// Emits a tail call.
    fn tail_call(&mut self, k: usize, given: &[Value]) {
        if k == self.job.me {
            self.poll();
            let body = self.frame.body;
            return self.goto(body, given);
        }
        let callee = self.callee(self.job.ids[k]);
        let all = [&[self.frame.ctx, self.frame.out], given].concat();
        self.poll();
        self.b.ins().return_call(callee, &all);
    }

    /// Polls for an interrupt.
    pub(super) fn poll(&mut self) {
        let flag = self.b.ins().load(types::I8, TRUSTED, self.frame.interrupt, 0);
        let (stop, next) = (self.cold(), self.fresh());
        self.b.ins().brif(flag, stop, &[], next, &[]);
        self.b.switch_to_block(stop);
        let site = self.site();
        let site = self.int(i64::from(site));
        self.fallible(shims::poll as *const u8, &[self.frame.ctx, site]);
        self.goto(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Reports loop progress if a report was requested.
    pub(super) fn report(&mut self, done: Value, total: Value) {
        let fixed = TRUSTED.with_readonly().with_can_move();
        let at = self.b.ins().load(types::I64, fixed, self.frame.ctx, runtime::offset::TICK);
        let flag = self.b.ins().load(types::I8, TRUSTED, at, 0);
        let (tell, next) = (self.cold(), self.fresh());
        self.b.ins().brif(flag, tell, &[], next, &[]);
        self.b.switch_to_block(tell);
        self.runtime(shims::progress as *const u8, &[self.frame.ctx, done, total], 0);
        self.goto(next, &[]);
        self.b.switch_to_block(next);
    }

    /// Stores the results of the function's block and returns.
    fn leave(&mut self, b: &Block, sc: &EmissionScope) {
        let rs: Vec<Var> = results(b).copied().collect();
        let vals = self.owned(&rs, b.stmts.len() as u32, sc, &|_| false);
        for (i, (v, x)) in rs.iter().zip(vals).enumerate() {
            let w = self.to_word(WordKind::of(self.f.ty(*v)), x);
            self.b.ins().store(TRUSTED, w, self.frame.out, 8 * i as i32);
        }
        let zero = self.b.ins().iconst(machine_type(&Ty::I64), 0);
        self.b.ins().return_(&[zero]);
    }
}

/// Less-than on Ints.
pub(super) const BELOW: IntCC = IntCC::SignedLessThan;
