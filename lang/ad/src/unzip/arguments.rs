//! Arguments that a recursive call gets again in the linear half.
//!
//! The residuals of a recursive function are one cell for each call. Arguments that the caller computes from its own
//! arguments at little cost need not be in it:
//!
//! ```text
//! let rec total x lo hi = … total x lo mid + total x mid hi      -- mid = (lo + hi) // 2
//! ```
//!
//! The linear half of `total` takes `x`, `lo` and `hi` as well as the residuals, computes `mid` again, and passes it on.
//! What it reads of them (here `x[lo]` and whether `hi - lo` is 1) is not stored. A cell that would only hold cells is
//! not made: then the linear half follows the arguments alone, such as the nodes of a tree.
//!
//! This holds for functions that call themselves. Those that call each other store their arguments.

use adl_ir::rewrite::{dce, free};
use adl_ir::{Block, Builder, FnId, Function, Loop, Op, Program, Stmt, Ty, Var};
use adl_prim::Bin;
use std::collections::HashSet;

/// What the linear half of a recursive function takes of the arguments.
#[derive(Default)]
pub(super) struct Arguments {
    /// The parameters that recursive calls can be given again.
    pub passed: Vec<usize>,
    /// What is computed from these at little cost.
    pub derived: HashSet<Var>,
}

impl Arguments {
    /// The arguments of a function, none if it does not call itself, or only through others.
    pub fn of(program: &Program, id: FnId, src: &Function) -> Arguments {
        let others: HashSet<FnId> = program.called_by(id).into_iter().filter(|g| *g != id).collect();
        if others.iter().any(|g| program.callees(*g, |_, _| true).contains(&id)) {
            return Arguments::default();
        }
        let params = &src.body.params;
        let mut passed: Vec<usize> = (0..params.len()).collect();
        loop {
            let mut derived: HashSet<Var> = passed.iter().map(|k| params[*k]).collect();
            derive(src, &src.body, &mut derived);
            let mut fewer = passed.clone();
            super::each_stmt(&src.body, &mut |s| match &s.op {
                Op::Call { f, args, .. } if *f == id => fewer.retain(|k| derived.contains(&args[*k])),
                _ => {}
            });
            if fewer == passed {
                return Arguments { passed, derived };
            }
            passed = fewer;
        }
    }
}

/// Adds the variables of a block that are computed from `derived` at little cost: Ints and Bools, elements of arrays,
/// fields of data, and parts of arrays of Ints.
fn derive(function: &Function, b: &Block, derived: &mut HashSet<Var>) {
    for stmt in &b.stmts {
        match &stmt.op {
            Op::Loop(l) => within_loop(function, l, derived),
            Op::If(_, yes, no) => {
                [yes, no].into_iter().for_each(|arm| derive(function, arm, derived));
            }
            Op::Switch(x, arms) => arms.iter().for_each(|arm| {
                if derived.contains(x) {
                    derived.extend(&arm.params);
                }
                derive(function, arm, derived);
            }),
            _ => {}
        }
        if is_derived(function, stmt, derived) {
            derived.extend(&stmt.outs);
        }
    }
}

/// The iteration's index and the elements of arrays are available in the linear half of a loop.
fn within_loop(f: &Function, l: &Loop, derived: &mut HashSet<Var>) {
    derived.insert(l.body.params[0]);
    let elems = &l.body.params[1 + l.init.len()..];
    derived.extend(l.xs.iter().zip(elems).filter(|(x, _)| derived.contains(x)).map(|(_, e)| *e).collect::<Vec<_>>());
    derive(f, &l.body, derived);
}

/// Whether the results of a statement cost little to compute, and are computed from `derived`.
fn is_derived(function: &Function, stmt: &Stmt, derived: &HashSet<Var>) -> bool {
    let scalars = || stmt.outs.iter().all(|o| matches!(function.ty(*o), Ty::I64 | Ty::Bool));
    let ints = || stmt.outs.iter().all(|o| *function.ty(*o).scalar() == Ty::I64);
    let cheap = match &stmt.op {
        Op::Lit(_) => true,
        Op::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Min | Bin::Max | Bin::Rem | Bin::IntDiv, ..) | Op::Not(_) => {
            scalars()
        }
        Op::Cmp(_, x, _) => *function.ty(*x) == Ty::I64,
        Op::Convert(_, x) => *function.ty(*x) == Ty::I64,
        Op::Select(..) => scalars(),
        Op::If(_, yes, no) => {
            let mut arms = [yes, no].into_iter();
            return arms.all(|arm| {
                arm.stmts.iter().all(|s| is_derived(function, s, derived))
                    && arm.results.iter().all(|r| derived.contains(r))
            }) && is_there(stmt, derived);
        }
        Op::Dim(..) | Op::Index { .. } | Op::Destruct { .. } => true,
        Op::Slice { .. } | Op::Concat { .. } | Op::ArrayLit { .. } => ints(),
        _ => false,
    };
    cheap && stmt.lin_outs.is_empty() && is_there(stmt, derived)
}

fn is_there(s: &Stmt, derived: &HashSet<Var>) -> bool {
    let mut all = true;
    s.op.each_operand(&mut |v| all &= derived.contains(&v));
    all
}

/// The linear half `linear` of a function, with the number `id`, whose calls of itself take only the arguments that it
/// needs, and which of these that are: the values of the parameters `passed`, and the residuals. Variables that it
/// reads and does not bind are parameters or residuals.
pub(super) fn needed(linear: &Function, id: FnId, passed: &[Var]) -> (Function, Vec<bool>) {
    let mut keep = vec![false; passed.len() + 1];
    loop {
        let mut trial = linear.clone();
        retain_arguments(&mut trial.body, id, &keep);
        dce::remove_dead(&mut trial);
        let read = free(&trial, &trial.body);
        let residuals = read.iter().any(|v| !passed.contains(v));
        let next: Vec<bool> =
            passed.iter().map(|v| read.contains(v)).chain([residuals]).zip(&keep).map(|(n, k)| n || *k).collect();
        if next == keep {
            return (trial, keep);
        }
        keep = next;
    }
}

fn retain_arguments(b: &mut Block, id: FnId, keep: &[bool]) {
    for s in &mut b.stmts {
        if let Op::Call { f, args, .. } = &mut s.op
            && *f == id
        {
            dce::retain(args, keep);
        }
        s.op.blocks_mut().into_iter().for_each(|b| retain_arguments(b, id, keep));
    }
}

/// Removes the residuals from the results of a primal half, with the number `id`, and of its calls of itself.
pub(super) fn without_residuals(primal: &mut Function, id: FnId, results: usize) {
    fn shorten(b: &mut Block, id: FnId, results: usize) {
        for s in &mut b.stmts {
            if matches!(s.op, Op::Call { f, .. } if f == id) {
                s.outs.truncate(results);
            }
            s.op.blocks_mut().into_iter().for_each(|b| shorten(b, id, results));
        }
    }
    primal.body.results.truncate(results);
    dce::remove_dead(primal);
    shorten(&mut primal.body, id, results);
}

/// A function that calls the primal half `called` and returns the arguments at `passed` before its residuals.
pub(super) fn with_arguments(program: &Program, called: FnId, results: usize, passed: &[usize]) -> Function {
    let callee = program.func(called);
    let mut b = Builder::new(&format!("{} with arguments", callee.name));
    let params: Vec<Var> = callee.body.params.iter().map(|v| b.param(callee.ty(*v).clone())).collect();
    let op = Op::Call { f: called, args: params.clone(), lin_args: Vec::new(), rule: None, checkpoint: false };
    let (mut outs, _) = b.emit(op, &callee.tys(&callee.body.results), &[]);
    let residuals = outs.split_off(results);
    outs.extend(passed.iter().map(|k| params[*k]).chain(residuals));
    b.finish(outs, Vec::new())
}
