//! Loops that collect small matrices built element by element collect flat rows instead.
//!
//! ```text
//! for n out (collect) { p = stack a b;  q = stack c d;  m = stack p q;  return m }
//! ⟼  reshape [n, 2, 2] (for n out (collect) { m = stack a b c d;  return m })
//! ```
//!
//! A row of numbers is written straight into the collected array, while a matrix of rows is first allocated as an
//! array of its own. The pass is for native code, and runs after all passes that look at what loops collect.

use crate::limits::flatten_rows::MOST;
use adl_ir::{Block, Cmp, Function, Lit, Loop, Op, Out, Stmt, Ty, Var};
use adl_syntax::span::Span;
use std::collections::HashMap;

/// Flattens collected matrices. Returns whether the function changed.
pub fn flatten_matrices(f: &mut Function) -> bool {
    let mut body = std::mem::take(&mut f.body);
    let changed = block(f, &mut body);
    f.body = body;
    changed
}

fn block(func: &mut Function, body: &mut Block) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        let mut changed = false;
        let mut out = Vec::with_capacity(body.stmts.len());
        for mut stmt in std::mem::take(&mut body.stmts) {
            stmt.op.blocks_mut().into_iter().for_each(|b| changed |= block(func, b));
            let mut after = Vec::new();
            if let (Op::Loop(l), true) = (&mut stmt.op, stmt.lin_outs.is_empty()) {
                let trip = stmt.outs.last().copied();
                for k in 0..l.outs.len() {
                    let (Some(trip), Some(m)) = (trip, matrix(func, l, k)) else { continue };
                    let v = &mut stmt.outs[l.init.len() + k];
                    *v = collected(func, l, k, &m, (*v, trip, stmt.span), &mut after);
                }
            }
            changed |= !after.is_empty();
            out.push(stmt);
            out.append(&mut after);
        }
        body.stmts = out;
        changed
    })
}

/// The elements, row by row, of the matrix of numbers that a loop collects as its `k`-th output.
fn matrix(func: &Function, l: &Loop, k: usize) -> Option<Vec<Vec<Var>>> {
    let result = *l.body.results.get(l.init.len() + k)?;
    let once = l.body.results.iter().filter(|v| **v == result).count() == 1;
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
        stacks.get(&result)?.iter().map(|row| stacks.get(row).map(|e| (*e).clone())).collect::<Option<_>>()?;
    let columns = rows.first()?.len();
    // Arrays with three or more axes are stacks of stacks as well; they are left alone.
    if func.ty(*rows[0].first()?).rank() > 0 {
        return None;
    }
    (rows.iter().all(|row| row.len() == columns) && rows.len() * columns <= MOST).then_some(rows)
}

/// Makes a loop collect flat rows, and returns the array of these. Appends the reshape to the original form to `after`.
fn collected(
    func: &mut Function,
    ir_loop: &mut Loop,
    k: usize,
    matrix: &[Vec<Var>],
    (out, trip, span): (Var, Var, Span),
    after: &mut Vec<Stmt>,
) -> Var {
    let stmt = |op, v| Stmt { op, outs: vec![v], lin_outs: Vec::new(), span };
    let Ty::Array(e, _) = func.ty(out).clone() else { return out };
    let (row, all) = (func.fresh(Ty::Array(e.clone(), 1), false), func.fresh(Ty::Array(e, 2), false));
    ir_loop.body.stmts.push(stmt(Op::ArrayLit { elems: matrix.concat(), shape: None }, row));
    let at = ir_loop.init.len() + k;
    ir_loop.body.results[at] = row;
    let mut one = |op, ty| {
        let v = func.fresh(ty, false);
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
    let (rows, columns) = (size(matrix.len()), size(matrix[0].len()));
    let to = one(Op::ArrayLit { elems: vec![trip, rows, columns], shape: None }, Ty::I64.array(1));
    after.push(stmt(Op::Reshape { a: all, to, from: None }, out));
    all
}
