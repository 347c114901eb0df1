//! Makes a sum over an index add in the order of `sum` of the array of its terms, whatever computes the terms.
//! Every executor runs a straight-line loop in that order ([`crate::straight`]). Of any other loop, the terms are
//! collected and then summed.
//!
//! The pass is for functions that are not differentiated, whose results have to be the same bits in every engine.
//! Derivatives add in the fastest order.

use crate::straight;
use adl_ir::{Block, Function, Op, Out, Stmt, Trip};

/// Replaces sums of loops by sums of collected terms.
pub fn terms(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    block(f, &mut body);
    f.body = body;
}

fn block(f: &mut Function, b: &mut Block) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut out = Vec::with_capacity(b.stmts.len());
        for mut s in std::mem::take(&mut b.stmts) {
            s.op.blocks_mut().into_iter().for_each(|b| block(f, b));
            collected(f, s, &mut out);
        }
        b.stmts = out;
    });
}

fn collected(func: &mut Function, mut stmt: Stmt, to: &mut Vec<Stmt>) {
    let span = stmt.span;
    let mut sums = Vec::new();
    let is_straight = matches!(&stmt.op, Op::Loop(l) if straight(func, l));
    if let (Op::Loop(l), false) = (&mut stmt.op, is_straight)
        && let (Trip::Count(n), true, true) =
            (&l.trip, l.init.is_empty(), l.lin_outs.is_empty() && l.lin_init.is_empty())
    {
        let n = *n;
        for (k, o) in l.outs.iter_mut().enumerate() {
            let ty = func.ty(stmt.outs[k]).clone();
            if *o == Out::Sum && ty.rank() == 0 && ty.is_real() {
                *o = Out::Collect;
                let part = func.fresh(ty.array(1), false);
                let total = std::mem::replace(&mut stmt.outs[k], part);
                sums.push(Stmt { outs: vec![total], lin_outs: Vec::new(), op: Op::Sum { a: part, n: Some(n) }, span });
            }
        }
    }
    to.push(stmt);
    to.extend(sums);
}
