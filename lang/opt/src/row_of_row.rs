//! Index pushdown for rows of rows: a read of a row of a row becomes one read of the array.
//!
//! ```text
//! w = index a [i]; … r = index w [j]
//! ⟼  w = index a [i]; … r = index a [i, j]
//! ```
//!
//! If `w` has no other readers, it is not computed. Transposition then adds to a row of the cotangent of `a`,
//! instead of adding to a row of a zero matrix and adding that matrix to the cotangent. Reads of arrays that may be
//! updated in place are not moved to a later position.

use crate::scalar_replacement::changing;
use adl_ir::{Block, Function, Op, Stmt, Ty, Var};
use std::collections::{HashMap, HashSet};

/// Rewrites reads of rows of rows.
pub fn rows(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    if finds(f, &body, &mut HashSet::new()) {
        let mut updated_in_place = HashSet::new();
        changing(&body, &mut updated_in_place);
        RowReads { f, updated_in_place, made: HashMap::new() }.block(&mut body);
    }
    f.body = body;
}

/// If a statement reads an array at indices, and its elements are not boxed arrays: the result, the array, and the
/// indices.
fn read<'s>(f: &Function, s: &'s Stmt) -> Option<(Var, Var, &'s [Var])> {
    let (Op::Index { a, at, shape: None }, [out]) = (&s.op, &s.outs[..]) else { return None };
    let flat = matches!(f.ty(*a), Ty::Array(e, rank) if e.is_flat() && e.rank() == 0 && *rank as usize > at.len());
    (flat && !f.linear(*out)).then_some((*out, *a, at))
}

/// Whether a block reads a row of a row.
fn finds(f: &Function, b: &Block, rows: &mut HashSet<Var>) -> bool {
    b.stmts.iter().any(|s| {
        if let Some((out, a, _)) = read(f, s) {
            rows.insert(out);
            return rows.contains(&a);
        }
        s.op.blocks().into_iter().any(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || finds(f, b, rows)))
    })
}

struct RowReads<'a> {
    f: &'a Function,
    /// Arrays that may be updated in place.
    updated_in_place: HashSet<Var>,
    /// Rows, with the array and the indices.
    made: HashMap<Var, (Var, Vec<Var>)>,
}

impl RowReads<'_> {
    fn block(&mut self, body: &mut Block) {
        for stmt in &mut body.stmts {
            if let Some((out, a, at)) = read(self.f, stmt) {
                let (a, at) = match self.made.get(&a) {
                    Some((whole, first)) => (*whole, [first, at].concat()),
                    None => (a, at.to_vec()),
                };
                if !self.updated_in_place.contains(&a) {
                    stmt.op = Op::Index { a, at: at.clone(), shape: None };
                    self.made.insert(out, (a, at));
                }
            }
            stmt.op
                .blocks_mut()
                .into_iter()
                .for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(b)));
        }
    }
}
