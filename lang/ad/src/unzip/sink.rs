//! Sinks cheap arithmetic into the linear half, under every plan: statements on values that this half has anyway.
//!
//! J emits the coefficient of `t = tan x` as `1 + t * t`. The following product needs `t`, so storing `1 + t * t`
//! too would double the memory. Computing it in the linear half costs no memory, and the same work, if the primal
//! half no longer computes it ([`sinks`]).
//!
//! In loops inside of loops, a residual is as large as the product of the trip counts, and what it is computed from is
//! often smaller: `sum for i, j -> (x[i] - x[j]) * (x[i] - x[j])` reads n numbers and would store n² differences. There
//! a few sums are cheaper than the traffic, even if the primal half computes them too ([`recomputed`]).

use crate::limits::unzip_sink::RECOMPUTED;
use adl_ir::rewrite::free;
use adl_ir::rewrite::has_effect;
use adl_ir::{Block, Function, Op, Stmt, Ty, Var};
use adl_prim::{Bin, Un};
use std::collections::{HashMap, HashSet};

/// The results of statements of `primal` that the linear half should compute itself. `needs` are the variables that
/// it reads, and `there` tells which others cost it nothing.
pub(super) fn sinks(
    f: &Function,
    primal: &Block,
    needs: &HashSet<Var>,
    there: &dyn Fn(&Function, Var) -> bool,
) -> HashSet<Var> {
    let mut made: HashSet<Var> = primal.stmts.iter().flat_map(|s| &s.outs).copied().collect();
    let mut read = HashSet::new();
    loop {
        // Statements that stay in the primal half may read candidates, which then stay too.
        read.extend(reads(f, primal, needs, &made));
        let fewer = movable(f, primal, &|f, s, _| is_cheap(f, s), &read, &|v| needs.contains(&v) || there(f, v));
        if fewer == made {
            return made;
        }
        made = fewer;
    }
}

/// Results of `cheap` statements that the primal half does not read (`read`), computed from variables that are `there`.
fn movable(
    function: &Function,
    b: &Block,
    cheap: &dyn Fn(&Function, &Stmt, &HashSet<Var>) -> bool,
    read: &HashSet<Var>,
    there: &dyn Fn(Var) -> bool,
) -> HashSet<Var> {
    let mut made: HashSet<Var> = HashSet::new();
    let mut literals: HashSet<Var> = HashSet::new();
    for s in &b.stmts {
        let [out] = s.outs.as_slice() else { continue };
        if matches!(s.op, Op::Lit(_)) {
            literals.insert(*out);
        } else if !read.contains(out) && cheap(function, s, &literals) {
            let mut all = true;
            s.op.each_operand(&mut |v| all &= literals.contains(&v) || made.contains(&v) || there(v));
            if all {
                made.insert(*out);
            }
        }
    }
    made
}

/// The results of cheap statements of `primal` that the linear half computes again instead of reading a residual for each
/// iteration. `needs` and `there` are as for [`sinks`].
pub(super) fn recomputed(
    f: &Function,
    primal: &Block,
    needs: &HashSet<Var>,
    there: &dyn Fn(&Function, Var) -> bool,
) -> HashSet<Var> {
    let candidates = movable(f, primal, &is_linear, &HashSet::new(), &|v| needs.contains(&v) || there(f, v));
    let by: HashMap<Var, &Stmt> = primal.stmts.iter().flat_map(|s| s.outs.iter().map(move |o| (*o, s))).collect();
    let mut out = HashSet::new();
    for residual in primal.stmts.iter().flat_map(|s| &s.outs).filter(|v| needs.contains(v) && candidates.contains(v)) {
        let (mut todo, mut more) = (vec![*residual], HashSet::new());
        while let Some(v) = todo.pop() {
            // What the linear half reads anyway is not computed for this residual alone.
            let shared = v != *residual && needs.contains(&v) || out.contains(&v);
            if !shared && candidates.contains(&v) && more.insert(v) {
                by[&v].op.each_operand(&mut |x| todo.push(x));
            }
        }
        if more.len() <= RECOMPUTED {
            out.extend(more);
        }
    }
    out
}

/// The variables that a block reads for its results, its effects, and for the variables in `needs` other than `gone`.
fn reads(f: &Function, b: &Block, needs: &HashSet<Var>, gone: &HashSet<Var>) -> HashSet<Var> {
    let mut read: HashSet<Var> = b.results.iter().copied().collect();
    for s in b.stmts.iter().rev() {
        let stays = s.outs.iter().any(|o| read.contains(o) || needs.contains(o) && !gone.contains(o));
        if stays || has_effect(s) || !is_cheap(f, s) {
            s.op.each_operand(&mut |v| {
                read.insert(v);
            });
            s.op.blocks().iter().for_each(|inner| read.extend(free(f, inner)));
        }
    }
    read
}

/// Whether a statement is Float arithmetic that costs no more than loading its result from memory, and cannot fail.
fn is_cheap(f: &Function, s: &Stmt) -> bool {
    let cheap = matches!(
        s.op,
        Op::Bin(Bin::Add | Bin::Sub | Bin::Mul | Bin::Div, ..) | Op::Un(Un::Neg | Un::Step | Un::Powi(2..=4), _)
    );
    cheap && s.outs.iter().all(|o| matches!(f.ty(*o).scalar(), Ty::F64 | Ty::F32))
}

/// Whether a statement is a comparison of Floats, a sum, a difference, or a multiple by a literal. A product of two
/// numbers would cost its gradient more than the bound of *Differentiating a Tensor Language* (Theorem 6.35).
fn is_linear(f: &Function, s: &Stmt, literals: &HashSet<Var>) -> bool {
    let floats = |v: &Var| matches!(f.ty(*v), Ty::F64 | Ty::F32);
    match &s.op {
        Op::Cmp(_, x, _) => floats(x),
        Op::Not(_) => true,
        Op::Bin(Bin::Add | Bin::Sub, ..) | Op::Un(Un::Neg, _) => s.outs.iter().all(floats),
        Op::Bin(Bin::Mul, x, y) => s.outs.iter().all(floats) && [x, y].into_iter().any(|v| literals.contains(v)),
        _ => false,
    }
}
