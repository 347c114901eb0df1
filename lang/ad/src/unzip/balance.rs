//! Balances the linear half of a chain of branches.
//!
//! In a numbered nest (see [`super::branches`]) the linear half compares the number of the arm that ran at each level.
//! If a level does nothing else (`if … else if … else`), the arms of the chain are found by binary search instead,
//! in fewer comparisons than the primal half needed conditions.

pub(crate) use crate::results::BranchArm;
use adl_ir::{Block, Cmp, Function, Lit, Op, Stmt, Ty, Var};
use std::collections::HashMap;

/// An arm of a chain: its number (the first, if it has several), its code, and its origin.
struct ChainArm {
    first: i64,
    block: Block,
    arm: BranchArm,
}

/// A numbered branch: the statement, the number of its last arm, the variable with the number, and the arm for all
/// other numbers.
struct NumberedBranch {
    stmt: Stmt,
    last: i64,
    which: Var,
    deep: usize,
}

struct Balancer<'a> {
    f: &'a mut Function,
    /// Numbered branches: maps a linear result to the result that identifies the branch.
    keys: &'a HashMap<Var, Var>,
    compared: Vec<(BranchArm, u64)>,
}

/// Balances all chains of a function. Returns the number of comparisons for each arm.
pub(super) fn balanced(f: &mut Function, keys: &HashMap<Var, Var>) -> Vec<(BranchArm, u64)> {
    if keys.is_empty() {
        return Vec::new();
    }
    let mut body = std::mem::take(&mut f.body);
    let mut b = Balancer { f, keys, compared: Vec::new() };
    b.block(&mut body);
    let compared = b.compared;
    f.body = body;
    compared
}

impl Balancer<'_> {
    fn block(&mut self, block: &mut Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut at = 0;
            while at < block.stmts.len() {
                match self.branch(&block.stmts[..=at]) {
                    Some(top) => {
                        let made = self.chain(top);
                        let n = made.len();
                        block.stmts.splice(at - 2..=at, made);
                        at = at - 2 + n;
                    }
                    None => {
                        block.stmts[at].op.blocks_mut().into_iter().for_each(|b| self.block(b));
                        at += 1;
                    }
                }
            }
        });
    }

    /// The numbered branch at the end of these statements: a literal, a comparison with it, the branch.
    fn branch(&self, stmts: &[Stmt]) -> Option<NumberedBranch> {
        let [.., lit, cmp, stmt] = stmts else { return None };
        let (Op::Lit(Lit::I64(last)), Op::Cmp(c, which, _), Op::If(..)) = (&lit.op, &cmp.op, &stmt.op) else {
            return None;
        };
        self.keys.get(stmt.lin_outs.first()?)?;
        Some(NumberedBranch { stmt: stmt.clone(), last: *last, which: *which, deep: usize::from(*c != Cmp::Lt) })
    }

    /// The statements of a balanced chain.
    fn chain(&mut self, top: NumberedBranch) -> Vec<Stmt> {
        let (outs, span, which) = (top.stmt.lin_outs.clone(), top.stmt.span, top.which);
        let mut leaves = Vec::new();
        let mut next = Some(top);
        while let Some(b) = next.take() {
            let key = b.stmt.lin_outs.first().and_then(|v| self.keys.get(v)).copied().unwrap_or(which);
            let Op::If(_, yes, no) = b.stmt.op else { break };
            let (deep, light) = if b.deep == 0 { (*yes, *no) } else { (*no, *yes) };
            leaves.push(ChainArm { first: b.last, block: light, arm: (key, 1 - b.deep as u32) });
            let inner = self
                .branch(&deep.stmts)
                .filter(|i| deep.stmts.len() == 3 && deep.lin_results == i.stmt.lin_outs && i.which == which);
            match inner {
                Some(i) => next = Some(i),
                None => leaves.push(ChainArm { first: 0, block: deep, arm: (key, b.deep as u32) }),
            }
        }
        leaves.iter_mut().for_each(|l| self.block(&mut l.block));
        leaves.reverse();
        let tys = self.f.tys(&outs);
        let mut made = self.tree(leaves, which, &tys, 0).stmts;
        for s in &mut made {
            s.span = span;
        }
        if let Some(s) = made.last_mut() {
            s.lin_outs = outs;
        }
        made
    }

    /// A block that selects the leaf with the number in `which` by binary search.
    fn tree(&mut self, mut leaves: Vec<ChainArm>, which: Var, tys: &[Ty], depth: u64) -> Block {
        let right = leaves.split_off(leaves.len() / 2);
        if leaves.is_empty() {
            let Some(leaf) = right.into_iter().next() else { return Block::default() };
            self.compared.push((leaf.arm, depth));
            return leaf.block;
        }
        let first = right.first().map_or(0, |l| l.first);
        let (left, right) = (self.tree(leaves, which, tys, depth + 1), self.tree(right, which, tys, depth + 1));
        let (k, c) = (self.f.fresh(Ty::I64, false), self.f.fresh(Ty::Bool, false));
        let outs: Vec<Var> = tys.iter().map(|t| self.f.fresh(t.clone(), true)).collect();
        let plain = |out, op| Stmt { outs: vec![out], lin_outs: Vec::new(), op, span: Default::default() };
        let branch = Stmt {
            outs: Vec::new(),
            lin_outs: outs.clone(),
            op: Op::If(c, Box::new(left), Box::new(right)),
            span: Default::default(),
        };
        Block {
            stmts: vec![plain(k, Op::Lit(Lit::I64(first))), plain(c, Op::Cmp(Cmp::Lt, which, k)), branch],
            lin_results: outs,
            ..Block::default()
        }
    }
}
