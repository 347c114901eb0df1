//! Extents of small rows and matrices that loops collect. If a loop runs zero times, the extents are 0. For a
//! device it is enough to assert that the loop runs at least once. If the assertion fails, the CPU runs the call.
//!
//! ```text
//! ys, n = loop … collect { y = stack a b; return y }; k = dim 1 ys  ⟼  assert n > 0; k = 2
//! ```

use adl_ir::{Added, Block, Cmp, Function, Lit, Op, Out, Stmt, Var};
use std::collections::HashMap;

/// Extents up to this are considered: those of arrays that scalar replacement takes apart.
const SMALL: usize = 8;

/// How the arrays of a function are made.
#[derive(Default)]
struct ArrayDefinitions {
    /// The first element of an array literal, and the number of elements.
    stacks: HashMap<Var, (Option<Var>, usize)>,
    /// The collected value of an iteration, and the trip count.
    collected: HashMap<Var, (Var, Var)>,
    /// Maps an array to another one with rows of the same shape.
    like: HashMap<Var, Var>,
    /// Maps an array to the one of which it is the sum along the first axis.
    sums: HashMap<Var, Var>,
}

/// Replaces such extents by literals. Returns whether there were any.
pub(crate) fn sides(f: &mut Function) -> bool {
    let (mut made, mut body) = (ArrayDefinitions::default(), std::mem::take(&mut f.body));
    made.learn(&body);
    let changed = !made.collected.is_empty() && made.block(f, &mut body);
    f.body = body;
    changed
}

impl ArrayDefinitions {
    fn learn(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match &stmt.op {
                Op::ArrayLit { elems, .. } => {
                    _ = self.stacks.insert(stmt.outs[0], (elems.first().copied(), elems.len()));
                }
                Op::Rotate { a, .. } | Op::Reverse(a) | Op::IndexSet { acc: a, .. } => {
                    _ = self.like.insert(stmt.outs[0], *a);
                }
                Op::Sum { a, .. } => _ = self.sums.insert(stmt.outs[0], *a),
                Op::If(_, x, y) => self.like.extend(
                    stmt.outs
                        .iter()
                        .zip(x.results.iter().zip(&y.results))
                        .filter(|(_, (x, y))| self.like.get(y).is_some_and(|z| z == *x || self.like.get(z) == Some(x)))
                        .map(|(v, (x, _))| (*v, *x))
                        .collect::<Vec<_>>(),
                ),
                Op::Loop(l) => {
                    let (k, Some(trip)) = (l.init.len(), stmt.outs.last()) else { continue };
                    let arrays = stmt.outs.iter().skip(k).zip(&l.outs).zip(l.body.results.iter().skip(k));
                    self.collected
                        .extend(arrays.filter(|((_, o), _)| **o == Out::Collect).map(|((v, _), r)| (*v, (*r, *trip))));
                }
                _ => {}
            }
            stmt.op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.learn(b)));
        }
    }

    /// An extent of a nested array literal.
    fn of_stack(&self, v: Var, axis: u32) -> Option<usize> {
        let (first, n) = self.stacks.get(&v)?;
        if axis == 0 { Some(*n).filter(|n| *n <= SMALL) } else { self.of_stack((*first)?, axis - 1) }
    }

    /// An extent after the first axis, and the trip count of the loop that collected the array.
    fn found(&self, v: Var, axis: u32) -> Option<(usize, Var)> {
        let (mut v, mut axis) = (v, axis);
        while let Some((w, k)) = self.like.get(&v).map(|w| (*w, 0)).or_else(|| self.sums.get(&v).map(|w| (*w, 1))) {
            (v, axis) = (w, axis + k);
        }
        let (row, trip) = self.collected.get(&v)?;
        Some((self.of_stack(*row, axis.checked_sub(1)?)?, *trip))
    }

    fn block(&self, f: &mut Function, block: &mut Block) -> bool {
        let mut changed = false;
        for mut stmt in std::mem::take(&mut block.stmts) {
            for b in stmt.op.blocks_mut() {
                changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.block(f, b));
            }
            if let Op::Dim(a, axis) = stmt.op
                && let Some((n, trip)) = self.found(a, axis)
            {
                runs_at_all(f, trip, &stmt, &mut block.stmts);
                stmt.op = Op::Lit(Lit::I64(n as i64));
                changed = true;
            }
            block.stmts.push(stmt);
        }
        changed
    }
}

fn runs_at_all(f: &mut Function, trip: Var, stmt: &Stmt, out: &mut Vec<Stmt>) {
    let mut added = Added::new(f, stmt.span);
    let zero = added.int(0);
    let some = added.cmp(Cmp::Gt, trip, zero);
    added.assert(some, "rows of a loop without iterations");
    out.append(&mut added.stmts);
}
