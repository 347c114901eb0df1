//! Lowering of branches and of function returns.

use super::super::live::BlockLiveness;
use super::{Lower, LoweringScope, zero_of};
use crate::error::Res;
use crate::vm::code::{FnCall, I, R};
use adl_ir::{Block, Op, Stmt, Var};
use std::collections::HashSet;

/// Liveness of the blocks nested in a statement.
pub(super) fn inner<'s>(sc: &LoweringScope<'s>, at: u32) -> &'s [BlockLiveness] {
    sc.info.inner.get(&at).map_or(&[], Vec::as_slice)
}

impl Lower<'_> {
    /// Variables whose last use is statement `at` and that are free in one of its nested blocks.
    pub(super) fn dying_inside(&self, at: u32, sc: &LoweringScope) -> HashSet<Var> {
        inner(sc, at).iter().flat_map(|i| i.free.keys()).copied().filter(|v| self.dies(*v, at, sc)).collect()
    }

    pub(super) fn release_all(&mut self, vars: &HashSet<Var>) {
        let mut sorted: Vec<Var> = vars.iter().copied().collect();
        sorted.sort_unstable();
        for v in sorted {
            self.release(v);
        }
    }

    /// Emits a jump that is taken if the condition is false; its target is set later. A comparison directly
    /// before it is folded into the jump.
    pub(super) fn condition(&mut self, condition: Var, at: u32, sc: &LoweringScope) -> usize {
        let used_inside = inner(sc, at).iter().any(|i| i.free.contains_key(&condition));
        if let Some(I::Cmp(op, d, a, b)) = self.code.instrs.last().copied()
            && d == self.reg(condition)
            && !used_inside
            && self.dies(condition, at, sc)
        {
            self.code.instrs.pop();
            self.code.spans.pop();
            return self.hole(I::JumpUnlessCmp(op, a, b, 0));
        }
        self.hole(I::JumpUnless(self.reg(condition), 0))
    }

    pub(super) fn if_(&mut self, s: &Stmt, c: Var, arms: [&Block; 2], at: u32, sc: &LoweringScope) -> Res<()> {
        let no = self.condition(c, at, sc);
        let dying = self.dying_inside(at, sc);
        if !dying.contains(&c) {
            self.release_dying(&[c], at, sc);
        }
        let outs = self.bind_outs(s);
        let infos = inner(sc, at);
        self.branch(arms[0], &infos[0], &dying, &outs)?;
        let end = self.hole(I::Jump(0));
        self.code.patch_jump(no);
        self.branch(arms[1], &infos[1], &dying, &outs)?;
        self.code.patch_jump(end);
        self.release_all(&dying);
        Ok(())
    }

    /// Lowers one arm of a branch. The register state is restored at its end.
    fn branch(&mut self, b: &Block, info: &BlockLiveness, dying: &HashSet<Var>, outs: &[R]) -> Res<()> {
        let saved = (self.free.clone(), self.next, self.regs_of(dying));
        let sc = LoweringScope { info, dying };
        self.forget(dying, info);
        stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.block(b, &sc))?;
        let results = b.results.iter().chain(&b.lin_results);
        let pairs: Vec<(R, Var)> = outs.iter().copied().zip(results.copied()).collect();
        self.moves(&pairs, b.stmts.len() as u32, &sc);
        self.restore(saved);
        Ok(())
    }

    fn regs_of(&self, vars: &HashSet<Var>) -> Vec<(Var, R)> {
        vars.iter().map(|v| (*v, self.reg(*v))).collect()
    }

    fn restore(&mut self, saved: (Vec<R>, R, Vec<(Var, R)>)) {
        self.free = saved.0;
        self.next = saved.1;
        for (v, r) in saved.2 {
            self.regs[v.0 as usize] = r;
        }
    }

    /// Clears the dying variables that only other arms read.
    fn forget(&mut self, dying: &HashSet<Var>, info: &BlockLiveness) {
        let mut gone: Vec<Var> = dying.iter().copied().filter(|v| !info.free.contains_key(v)).collect();
        gone.sort_unstable();
        for v in gone {
            self.clear(v);
        }
    }

    pub(super) fn switch(&mut self, s: &Stmt, var: Var, arms: &[Block], at: u32, sc: &LoweringScope) -> Res<()> {
        let dying = self.dying_inside(at, sc);
        let outs = self.bind_outs(s);
        let mut ends = Vec::new();
        self.arms(var, arms, at, sc, &mut |l, b, info| {
            l.branch(b, info, &dying, &outs)?;
            ends.push(l.hole(I::Jump(0)));
            Ok(())
        })?;
        for e in ends {
            self.code.patch_jump(e);
        }
        self.release_all(&dying);
        self.release_dying(&[var], at, sc);
        Ok(())
    }

    /// Emits the jump table, then each arm after the instructions that read its fields.
    fn arms(
        &mut self,
        var: Var,
        arms: &[Block],
        at: u32,
        sc: &LoweringScope,
        arm: &mut dyn FnMut(&mut Self, &Block, &BlockLiveness) -> Res<()>,
    ) -> Res<()> {
        let infos = inner(sc, at);
        let scrutinee = self.reg(var);
        let gone = self.dies(var, at, sc) && infos.iter().all(|i| !i.free.contains_key(&var));
        let table = self.code.tables.targets.len();
        self.code.tables.targets.push((Vec::new(), 0));
        self.emit(I::Switch(scrutinee, table as u32));
        let mut targets = Vec::new();
        for (block, info) in arms.iter().zip(infos) {
            targets.push(self.code.here());
            let saved = (self.free.clone(), self.next, Vec::new());
            for (i, p) in block.params.iter().chain(&block.lin_params).enumerate() {
                if self.last[p.0 as usize] != super::NEVER {
                    let z = self.constant(zero_of(self.f.ty(*p)));
                    let d = self.bind(*p);
                    self.emit(I::FieldOr(d, scrutinee, i as u32, z));
                }
            }
            if gone {
                self.clear(var);
            }
            arm(self, block, info)?;
            self.restore(saved);
        }
        let default = self.code.here();
        self.emit(I::NoMatch);
        self.code.tables.targets[table] = (targets, default);
        Ok(())
    }

    /// Lowers a block in tail position: if the results of its last statement are the function's results, the
    /// statement returns.
    pub(super) fn tail(&mut self, b: &Block, sc: &LoweringScope) -> Res<()> {
        stacker::maybe_grow(96 * 1024, 1024 * 1024, || self.tail_inner(b, sc))
    }

    fn tail_inner(&mut self, block: &Block, sc: &LoweringScope) -> Res<()> {
        let results: Vec<Var> = block.results.iter().chain(&block.lin_results).copied().collect();
        let Some((s, first)) = block.stmts.split_last().filter(|(s, _)| s.outs.iter().chain(&s.lin_outs).eq(&results))
        else {
            self.block(block, sc)?;
            return self.leave(&results, block.stmts.len() as u32, sc);
        };
        let at = first.len() as u32;
        let leaves = matches!(s.op, Op::If(..) | Op::Switch(..) | Op::Call { .. });
        self.stmts(block, if leaves { at } else { at + 1 }, sc)?;
        self.span = s.span;
        match &s.op {
            Op::If(c, yes, no) => {
                let other = self.condition(*c, at, sc);
                let dying = self.dying_inside(at, sc);
                let infos = inner(sc, at);
                self.last_branch(yes, &infos[0], &dying)?;
                self.code.patch_jump(other);
                self.last_branch(no, &infos[1], &dying)
            }
            Op::Switch(v, arms) => {
                let dying = self.dying_inside(at, sc);
                self.arms(*v, arms, at, sc, &mut |l, b, info| l.last_branch(b, info, &dying))
            }
            Op::Call { f, args, lin_args, .. } => {
                let vars: Vec<Var> = args.iter().chain(lin_args).copied().collect();
                let args = self.args(&vars, at, sc, &|_| false);
                let callee = self.link.place(*f);
                self.code.lowered.calls.push(FnCall { callee, args, outs: Box::new([]) });
                self.emit(I::TailFn(self.code.lowered.calls.len() as u32 - 1));
                Ok(())
            }
            _ => self.leave(&results, at + 1, sc),
        }
    }

    fn last_branch(&mut self, b: &Block, info: &BlockLiveness, dying: &HashSet<Var>) -> Res<()> {
        let saved = (self.free.clone(), self.next, self.regs_of(dying));
        self.forget(dying, info);
        self.tail(b, &LoweringScope { info, dying })?;
        self.restore(saved);
        Ok(())
    }

    fn leave(&mut self, results: &[Var], at: u32, sc: &LoweringScope) -> Res<()> {
        if let [v] = results {
            self.emit(I::Ret(self.reg(*v)));
            return Ok(());
        }
        let list = self.args(results, at, sc, &|_| false);
        self.code.lowered.rets.push(list);
        self.emit(I::RetMany(self.code.lowered.rets.len() as u32 - 1));
        Ok(())
    }
}
