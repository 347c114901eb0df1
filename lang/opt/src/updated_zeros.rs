//! Arrays that are zero but for an element, a row or a slice, in native code: each update gets zeros that no other
//! update reads, so that it works in place. Vectors of zeros are materialised.
//!
//! ```text
//! z = zero []f64;  … y = index_add z [i] v shape s
//! ⟼  n = index s [0];  a = replicate n 0.0;  y = index_add a [i] v
//! z = zero [][]f64;  … y = index_add z [i] v shape s
//! ⟼  a = zero [][]f64;  y = index_add a [i] v shape s
//! ```
//!
//! Native code has a store for an update in place, and calls the runtime for one of a symbolic zero that is read again. Used
//! after fusion, which has to see the zeros, and not followed by the elimination of common subexpressions.

use adl_ir::{Added, Block, Function, Lit, Op, Stmt, Ty, Var};
use std::collections::HashSet;

/// Gives each update of zeros its own. Returns whether there were any.
pub fn updated_zeros(f: &mut Function) -> bool {
    let mut body = std::mem::take(&mut f.body);
    let changed = block(f, &mut body, &mut HashSet::new());
    f.body = body;
    changed
}

fn block(function: &mut Function, body: &mut Block, zeros: &mut HashSet<Var>) -> bool {
    let mut changed = false;
    let mut out = Vec::with_capacity(body.stmts.len());
    for mut stmt in std::mem::take(&mut body.stmts) {
        if matches!(stmt.op, Op::Zero(_)) {
            zeros.extend(&stmt.outs);
        }
        for inner in stmt.op.blocks_mut() {
            changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || block(function, inner, zeros));
        }
        if let Some(shape) = updated(function, &stmt, zeros) {
            own_zeros(function, &mut stmt, shape, &mut out);
            changed = true;
        }
        out.push(stmt);
    }
    body.stmts = out;
    changed
}

/// The shape of the result, if a statement updates an array of zeros.
fn updated(f: &Function, s: &Stmt, zeros: &HashSet<Var>) -> Option<Var> {
    let (Op::IndexAdd { acc, shape, .. } | Op::SliceAdd { acc, shape, .. }) = &s.op else { return None };
    let floats =
        matches!(f.ty(*acc), Ty::Array(e, _) if **e == Ty::F64) && zeros.contains(acc) && s.lin_outs.is_empty();
    shape.filter(|_| floats)
}

/// Appends the zeros that a statement updates, which gives a result of this shape, to `out`.
fn own_zeros(f: &mut Function, stmt: &mut Stmt, shape: Var, out: &mut Vec<Stmt>) {
    let (Op::IndexAdd { acc, .. } | Op::SliceAdd { acc, .. }) = &stmt.op else { return };
    let ty = f.ty(*acc).clone();
    let mut added = Added::new(f, stmt.span);
    if ty.rank() > 1 {
        // It stays a symbolic zero, because what is added may be one, and then the result is, too.
        let own = added.push(Op::Zero(ty.clone()), ty);
        out.append(&mut added.stmts);
        if let Op::IndexAdd { acc, .. } | Op::SliceAdd { acc, .. } = &mut stmt.op {
            *acc = own;
        }
        return;
    }
    let zero = added.push(Op::Lit(Lit::F64(0.0)), Ty::F64);
    let first = added.int(0);
    let n = added.push(Op::Index { a: shape, at: vec![first], shape: None }, Ty::I64);
    let zeros = added.push(Op::Replicate { n, a: zero }, ty);
    out.append(&mut added.stmts);
    if let Op::IndexAdd { acc, shape, .. } | Op::SliceAdd { acc, shape, .. } = &mut stmt.op {
        (*acc, *shape) = (zeros, None);
    }
}
