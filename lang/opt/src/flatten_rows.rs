//! Loops that collect small matrices built element by element collect flat rows instead.
//!
//! ```text
//! for n out (collect) { p = stack a b;  q = stack c d;  m = stack p q;  return m }
//! ⟼  reshape [n, 2, 2] (for n out (collect) { m = stack a b c d;  return m })
//! ```
//!
//! A row of numbers is written straight into the collected array, while a matrix of rows is first allocated as an
//! array of its own. The pass is for native code, and runs after all passes that look at what loops collect.

use adl_ir::{Block, Cmp, Function, Lit, Loop, Op, Out, Stmt, Ty, Var};
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Largest number of elements of such a matrix.
const MOST: usize = 64;

/// Flattens collected matrices. Returns whether the function changed.
pub fn flatten_matrices(f: &mut Function) -> bool {
    let mut body = std::mem::take(&mut f.body);
    let changed = block(f, &mut body);
    f.body = body;
    changed
}

fn block(f: &mut Function, b: &mut Block) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut changed = false;
        let mut out = Vec::with_capacity(b.stmts.len());
        for mut s in std::mem::take(&mut b.stmts) {
            s.op.blocks_mut().into_iter().for_each(|b| changed |= block(f, b));
            let mut after = Vec::new();
            if let (Op::Loop(l), true) = (&mut s.op, s.lin_outs.is_empty()) {
                let trip = s.outs.last().copied();
                for k in 0..l.outs.len() {
                    let (Some(trip), Some(m)) = (trip, matrix(f, l, k)) else { continue };
                    let v = &mut s.outs[l.init.len() + k];
                    *v = collected(f, l, k, &m, (*v, trip, s.span), &mut after);
                }
            }
            changed |= !after.is_empty();
            out.push(s);
            out.append(&mut after);
        }
        b.stmts = out;
        changed
    })
}

/// The elements, row by row, of the matrix of numbers that a loop collects as its `k`-th output.
fn matrix(f: &Function, l: &Loop, k: usize) -> Option<Vec<Vec<Var>>> {
    let r = *l.body.results.get(l.init.len() + k)?;
    let once = l.body.results.iter().filter(|v| **v == r).count() == 1;
    if l.outs[k] != Out::Collect || !once {
        return None;
    }
    let stacks: HashMap<Var, &Vec<Var>> = l
        .body
        .stmts
        .iter()
        .filter_map(|s| match (&s.op, &s.outs[..]) {
            (Op::ArrayLit { elems, shape: None }, [v]) => Some((*v, elems)),
            _ => None,
        })
        .collect();
    let rows: Vec<Vec<Var>> =
        stacks.get(&r)?.iter().map(|row| stacks.get(row).map(|e| (*e).clone())).collect::<Option<_>>()?;
    let columns = rows.first()?.len();
    // Zeros with three or more axes are stacks of stacks as well; they are left alone.
    if f.ty(*rows[0].first()?).rank() > 0 {
        return None;
    }
    (rows.iter().all(|row| row.len() == columns) && rows.len() * columns <= MOST).then_some(rows)
}

/// Makes a loop collect flat rows, and returns the array of these. Appends the reshape to the original form to `after`.
fn collected(
    f: &mut Function,
    l: &mut Loop,
    k: usize,
    m: &[Vec<Var>],
    (out, trip, span): (Var, Var, Span),
    after: &mut Vec<Stmt>,
) -> Var {
    let stmt = |op, v| Stmt { op, outs: vec![v], lin_outs: Vec::new(), span };
    let Ty::Array(e, _) = f.ty(out).clone() else { return out };
    let (row, all) = (f.fresh(Ty::Array(e.clone(), 1), false), f.fresh(Ty::Array(e, 2), false));
    l.body.stmts.push(stmt(Op::ArrayLit { elems: m.concat(), shape: None }, row));
    let at = l.init.len() + k;
    l.body.results[at] = row;
    let mut one = |op, ty| {
        let v = f.fresh(ty, false);
        after.push(stmt(op, v));
        v
    };
    // If the loop runs zero times, the extents of the matrices are unknown; 0 is used.
    let zero = one(Op::Lit(Lit::I64(0)), Ty::I64);
    let some = one(Op::Cmp(Cmp::Ne, trip, zero), Ty::Bool);
    let mut size = |n: usize| {
        let n = one(Op::Lit(Lit::I64(n as i64)), Ty::I64);
        one(Op::Select(some, n, zero), Ty::I64)
    };
    let (rows, columns) = (size(m.len()), size(m[0].len()));
    let to = one(Op::ArrayLit { elems: vec![trip, rows, columns], shape: None }, Ty::I64.array(1));
    after.push(stmt(Op::Reshape { a: all, to, from: None }, out));
    all
}
