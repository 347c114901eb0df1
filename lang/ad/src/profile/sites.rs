//! Where each variable of a function is computed, and what that costs.

use crate::Ad;
pub(crate) use crate::results::{FunctionSites, StmtSite, WorkUnit};
use adl_ir::rows::CostUnit;
use adl_ir::{Block, FnId, Function, Op, Program, Stmt, Var};
use std::rc::Rc;

impl Ad {
    /// Analyses a function.
    pub(crate) fn sites(&mut self, p: &Program, f: FnId) -> Rc<FunctionSites> {
        if let Some(s) = self.costs.sites.get(&f) {
            return s.clone();
        }
        let func = p.func(f);
        let mut out = FunctionSites::default();
        block(func, &func.body, &mut out);
        let out = Rc::new(out);
        self.costs.sites.insert(f, out.clone());
        out
    }
}

impl FunctionSites {
    fn charge(&mut self, unit: WorkUnit, block: u32, key: Var) {
        match unit {
            WorkUnit::Free => {}
            WorkUnit::One => {
                self.blocks[block as usize] += 1;
                self.ones.push((block, key));
            }
            WorkUnit::Elements => self.elementwise.push(key),
            WorkUnit::Own => self.own.push(key),
        }
    }
}

/// A result that identifies a statement.
pub(crate) fn key(s: &Stmt) -> Option<Var> {
    s.outs.first().or(s.lin_outs.first()).copied()
}

fn bind(f: &Function, vs: &[Var], number: u32, out: &mut FunctionSites) {
    for v in vs {
        out.block_of.insert(*v, number);
        if f.ty(*v).rank() > 0 {
            out.arrays.push(*v);
        }
    }
}

fn block(func: &Function, b: &Block, out: &mut FunctionSites) -> Vec<(u32, FnId)> {
    let number = out.blocks.len() as u32;
    out.blocks.push(0);
    bind(func, &b.params, number, out);
    let mut all = Vec::new();
    for stmt in &b.stmts {
        let first = out.blocks.len() as u32;
        let mut calls: Vec<(u32, FnId)> = match &stmt.op {
            Op::Call { f, checkpoint: false, .. } => vec![(number, *f)],
            _ => Vec::new(),
        };
        for (k, inner) in stmt.op.blocks().into_iter().enumerate() {
            if let Some(v) = key(stmt) {
                out.arms.insert((v, k as u32), out.blocks.len() as u32);
            }
            calls.extend(block(func, inner, out));
        }
        bind(func, &stmt.outs, number, out);
        out.block_of.extend(stmt.lin_outs.iter().map(|v| (*v, number)));
        let Some(key) = stmt.outs.first() else {
            all.extend(calls);
            continue;
        };
        if matches!(stmt.op, Op::Call { checkpoint: true, .. }) {
            out.regions.push(*key);
        }
        let unit = unit(func, stmt);
        out.charge(unit, number, *key);
        let site = Rc::new(StmtSite {
            block: number,
            key: *key,
            unit,
            inside: (first, out.blocks.len() as u32),
            calls: calls.clone(),
        });
        stmt.outs.iter().for_each(|o| {
            out.made.insert(*o, site.clone());
        });
        all.extend(calls);
    }
    all
}

/// The cost of one run of a statement, in the cost model of `adl_ir::eval::cost`.
pub(super) fn unit(func: &Function, s: &Stmt) -> WorkUnit {
    let scalars = s.outs.iter().all(|o| func.ty(*o).rank() == 0);
    match &s.op {
        Op::Prim(_, args) if scalars && args.iter().all(|a| func.ty(*a).rank() == 0) => WorkUnit::One,
        op => match op.row().unit {
            CostUnit::Free => WorkUnit::Free,
            CostUnit::Each if scalars => WorkUnit::One,
            CostUnit::Each => WorkUnit::Elements,
            CostUnit::Own => WorkUnit::Own,
        },
    }
}
