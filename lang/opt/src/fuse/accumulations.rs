//! Loops that add what one map makes to elements of arrays, for native code: two become one, into which the map is
//! fused then. The transpose of a loop that reads a matrix by columns consists of such loops.
//!
//! ```text
//! a1 = loop for n carry (a = a0) over (x) { a[i, 0] += x };  a2 = loop for n carry (a = a1) over (y) { a[i, 1] += y }
//! ⟼  a2 = loop for n carry (a = a0) over (x, y) { a[i, 0] += x; a[i, 1] += y }
//! ```
//!
//! Each element gets its terms in the same order: two loops that add to the same array do so at indices one of which is
//! a different literal.

use super::block_edits::{carry_both, definitions, may_move, one_trip_count, prepend, readers, reads, rename, result};
use super::{as_map, has_no_linear, simple};
use adl_ir::{Block, Function, Lit, Loop, Op, Stmt, Trip, Var};
use std::collections::HashMap;

/// The variables of a function that are Int literals.
#[derive(Default)]
pub(super) struct Literals(HashMap<Var, i64>);

impl Literals {
    /// Adds those of a block and its nested blocks.
    pub fn add(&mut self, b: &Block) {
        for s in &b.stmts {
            if let (Op::Lit(Lit::I64(k)), [v]) = (&s.op, &s.outs[..]) {
                self.0.insert(*v, *k);
            }
            s.op.blocks().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.add(b)));
        }
    }

    /// Whether the indices of two accumulations differ in a literal.
    fn apart(&self, a: &[Var], b: &[Var]) -> bool {
        a.iter().zip(b).any(|(x, y)| matches!((self.0.get(x), self.0.get(y)), (Some(m), Some(n)) if m != n))
    }
}

/// Fuses one pair of a block. Returns whether there was one.
pub(super) fn fuse_one(f: &Function, block: &mut Block, literals: &Literals) -> bool {
    let defs = definitions(block);
    // The last such loops, by trip count.
    let mut seen: HashMap<Var, Vec<usize>> = HashMap::new();
    for consumer in 0..block.stmts.len() {
        let Some(l) = as_accumulation(f, &block.stmts[consumer].op) else { continue };
        let Trip::Count(n) = l.trip else { continue };
        let earlier = seen.entry(n).or_default();
        let fits = |p: &usize| {
            let x = as_accumulation(f, &block.stmts[*p].op);
            x.is_some_and(|x| same_map(f, block, &defs, [x, l]) && independent(block, [*p, consumer], [x, l], literals))
        };
        if let Some(p) = earlier.iter().rev().copied().find(fits) {
            fuse(block, p, consumer);
            return true;
        }
        earlier.push(consumer);
    }
    false
}

/// The loop of an operation if all it does is to compute numbers and add them to elements of arrays.
fn as_accumulation<'a>(f: &Function, op: &'a Op) -> Option<&'a Loop> {
    let Op::Loop(l) = op else { return None };
    let adds = !l.init.is_empty()
        && l.outs.is_empty()
        && matches!(l.trip, Trip::Count(_))
        && has_no_linear(f, op)
        && l.body.stmts.iter().all(|s| match &s.op {
            Op::IndexAdd { v, .. } => f.ty(*v).is_flat(),
            Op::Index { .. } => s.outs.iter().all(|v| f.ty(*v).is_flat()),
            op => simple(f, op),
        });
    (adds && (0..l.init.len()).all(|k| places(l, k).is_some())).then_some(l)
}

/// The indices of the additions to a carried array; `None` if it is used in another way.
fn places(ir_loop: &Loop, carried_index: usize) -> Option<Vec<&[Var]>> {
    let mut latest = ir_loop.body.params[1 + carried_index];
    let mut all = Vec::new();
    for s in &ir_loop.body.stmts {
        match &s.op {
            Op::IndexAdd { acc, at, v, .. } if *acc == latest && *v != latest => {
                all.push(&at[..]);
                latest = s.outs[0];
            }
            _ if reads(s).contains(&latest) => return None,
            _ => {}
        }
    }
    let last = ir_loop.body.results.iter().enumerate().all(|(j, v)| (*v == latest) == (j == carried_index));
    (last && !all.is_empty()).then_some(all)
}

/// Whether two loops in the same direction read results of one map.
fn same_map(f: &Function, b: &Block, defs: &HashMap<Var, usize>, [x, y]: [&Loop; 2]) -> bool {
    let map = |v: &Var| defs.get(v).copied().filter(|m| as_map(f, &b.stmts[*m].op).is_some());
    x.reverse == y.reverse && x.xs.iter().filter_map(map).any(|m| y.xs.iter().filter_map(map).any(|n| m == n))
}

/// Whether the second of two loops needs no result of the first, except arrays to which it adds at other places and
/// which nothing else reads.
fn independent(block: &Block, [p, c]: [usize; 2], [earlier, later]: [&Loop; 2], literals: &Literals) -> bool {
    let outs = &block.stmts[p].outs;
    let inside = |v: &Var| later.xs.contains(v) || later.body.stmts.iter().any(|s| reads(s).contains(v));
    if outs.iter().any(inside) || !may_move(block, p, c) {
        return false;
    }
    let counts = readers(block);
    later.init.iter().enumerate().all(|(k, v)| match outs.iter().position(|o| o == v) {
        None => true,
        Some(j) => {
            let once = counts.get(v) == Some(&1) && later.init.iter().filter(|w| *w == v).count() == 1;
            let (Some(first), Some(second)) = (places(earlier, j), places(later, k)) else { return false };
            once && first.iter().all(|a| second.iter().all(|b| literals.apart(a, b)))
        }
    })
}

fn fuse(block: &mut Block, p: usize, c: usize) {
    let first = block.stmts.remove(p);
    let consumer = c - 1;
    let stmt: &mut Stmt = &mut block.stmts[consumer];
    let (Op::Loop(x), Op::Loop(ir_loop)) = (&first.op, &mut stmt.op) else { return };
    let (own, added, index) = (ir_loop.init.len(), x.init.len(), ir_loop.body.params[0]);
    prepend(x, &mut ir_loop.body, &mut ir_loop.xs);
    carry_both(x, ir_loop);
    let trip = stmt.outs.pop();
    stmt.outs.splice(own..own, first.outs[..added].iter().copied());
    // An array that both add to is carried once.
    for j in (0..added).rev() {
        let Some(k) = ir_loop.init[..own].iter().position(|v| *v == first.outs[j]) else { continue };
        let names = HashMap::from([(ir_loop.body.params[1 + k], result(x, j, index))]);
        ir_loop.init[k] = ir_loop.init.remove(own + j);
        ir_loop.body.params[1 + k] = ir_loop.body.params.remove(1 + own + j);
        ir_loop.body.results.remove(own + j);
        stmt.outs.remove(own + j);
        rename(&mut ir_loop.body, &names);
    }
    stmt.outs.extend(trip);
    one_trip_count(block, consumer, first.outs.last(), trip);
}
