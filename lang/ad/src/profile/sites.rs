//! Where each variable of a function is computed, and what that costs.

use crate::Ad;
use adl_ir::rows::CostUnit;
use adl_ir::{Block, FnId, Function, Op, Program, Stmt, Var};
use std::collections::HashMap;
use std::rc::Rc;

/// The work of one run of a statement, without its blocks and callees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WorkUnit {
    /// No work.
    Free,
    /// One unit.
    One,
    /// One unit for each element of the first result.
    Elements,
    /// Anything else; such a statement has a counter of its own.
    Own,
}

/// A statement, identified by its results.
#[derive(Clone, Debug)]
pub(crate) struct StmtSite {
    /// The block that contains it.
    pub block: u32,
    /// Its first result.
    pub key: Var,
    pub unit: WorkUnit,
    /// The range of its nested blocks: the first, and the one after the last.
    pub inside: (u32, u32),
    /// The functions called by it or inside of it, with the block of each call.
    pub calls: Vec<(u32, FnId)>,
}

/// The blocks and statements of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionSites {
    /// For each block, the number of statements that cost one unit.
    pub blocks: Vec<u64>,
    /// The statements that cost one unit: the block, and a result.
    pub ones: Vec<(u32, Var)>,
    /// Checkpointed calls, by a result.
    pub regions: Vec<Var>,
    /// Non-linear variables that hold arrays.
    pub arrays: Vec<Var>,
    /// Statements with counters of their own.
    pub own: Vec<Var>,
    /// Results of statements that cost one unit for each element.
    pub elementwise: Vec<Var>,
    /// The statement that binds a variable. (Parameters have none.)
    pub made: HashMap<Var, Rc<StmtSite>>,
    /// The block that binds a variable.
    pub block_of: HashMap<Var, u32>,
    /// The blocks of branches, by a result of their statement and the index of the arm.
    pub arms: HashMap<(Var, u32), u32>,
}

impl Ad {
    /// Analyses a function.
    pub(crate) fn sites(&mut self, p: &Program, f: FnId) -> Rc<FunctionSites> {
        if let Some(s) = self.sites.get(&f) {
            return s.clone();
        }
        let func = p.func(f);
        let mut out = FunctionSites::default();
        block(func, &func.body, &mut out);
        let out = Rc::new(out);
        self.sites.insert(f, out.clone());
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
