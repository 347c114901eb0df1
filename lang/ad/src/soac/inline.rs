//! Inlines all calls in an operator.

use crate::jvp::J;
use crate::limits::soac_inline::MOST;
use adl_ir::{Block, FnId, Function, Op, Role, Stmt, Var, VarInfo};
use std::collections::HashMap;
use std::rc::Rc;

/// Renaming of variables in the copy.
type Renaming = HashMap<Var, Var>;

fn named(names: &Renaming, v: Var) -> Var {
    *names.get(&v).unwrap_or(&v)
}

impl J<'_> {
    /// A copy of an operator in which calls are inlined and dead code is removed.
    pub(super) fn inlined(&mut self, op: &Block) -> Block {
        let mut left = MOST;
        let mut made = self.copied(op, None, &mut Renaming::new(), &mut left);
        adl_ir::rewrite::dce::prune(&self.b.func, &mut made);
        made
    }

    /// The statements of a call, nested calls inlined, and its results.
    pub(super) fn inlined_call(&mut self, f: FnId, args: &[Var]) -> (Vec<Stmt>, Vec<Var>) {
        let callee = self.p.func(f).clone();
        let mut names: Renaming = callee.body.params.iter().copied().zip(args.iter().copied()).collect();
        self.b.open();
        self.copy_stmts(&callee.body.stmts, Some(&callee), &mut names, &mut MOST.clone());
        let made = self.b.close(Vec::new(), Vec::new());
        (made.stmts, callee.body.results.iter().map(|r| named(&names, *r)).collect())
    }

    /// Copies a block of `from`, or of the function under construction if `from` is `None`.
    fn copied(&mut self, b: &Block, from: Option<&Rc<Function>>, names: &mut Renaming, left: &mut usize) -> Block {
        self.b.open();
        let params: Vec<Var> = b.params.iter().map(|v| self.fresh_like(*v, from, names)).collect();
        self.b.adopt(&params, &[]);
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.copy_stmts(&b.stmts, from, names, left));
        self.b.close(b.results.iter().map(|r| named(names, *r)).collect(), Vec::new())
    }

    fn fresh_like(&mut self, v: Var, from: Option<&Rc<Function>>, names: &mut Renaming) -> Var {
        let info: &VarInfo = match from {
            Some(f) => &f.vars[v.0 as usize],
            None => &self.b.func.vars[v.0 as usize],
        };
        let info = VarInfo { role: Role::Operation, ..info.clone() };
        self.b.func.vars.push(info);
        let new = Var(self.b.func.vars.len() as u32 - 1);
        names.insert(v, new);
        new
    }

    fn copy_stmts(&mut self, stmts: &[Stmt], from: Option<&Rc<Function>>, names: &mut Renaming, left: &mut usize) {
        for stmt in stmts {
            match &stmt.op {
                Op::Call { f, args, rule: None, checkpoint: false, .. }
                    if !self.ad.is_recursive(self.p, *f) && self.p.func(*f).body.stmts.len() < *left =>
                {
                    let callee = self.p.func(*f).clone();
                    *left -= callee.body.stmts.len();
                    let mut inner: Renaming =
                        callee.body.params.iter().copied().zip(args.iter().map(|a| named(names, *a))).collect();
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                        self.copy_stmts(&callee.body.stmts, Some(&callee), &mut inner, left);
                    });
                    for (o, r) in stmt.outs.iter().zip(&callee.body.results) {
                        names.insert(*o, named(&inner, *r));
                    }
                }
                _ => {
                    let mut op = stmt.op.clone();
                    op.map_operands(&mut |v| named(names, v));
                    for part in op.blocks_mut() {
                        *part = self.copied(part, from, names, left);
                    }
                    let outs = stmt.outs.iter().map(|v| self.fresh_like(*v, from, names)).collect();
                    self.b.push(Stmt { outs, lin_outs: Vec::new(), op, span: stmt.span });
                }
            }
        }
    }
}
