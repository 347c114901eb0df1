//! Horizontal fusion: two maps with the same trip count that share an input array become one, which reads each
//! element once. In native code, so do two loops that carry numbers.

use super::block_edits::{carry_both, may_move, one_trip_count, prepend, reads, result};
use super::carried::as_recurrence;
use super::{For, as_map, may_fuse};
use adl_ir::{Block, Function, Loop, Op, Out, Stmt, Trip, Var};
use std::collections::HashMap;

/// Fuses one pair of a block. Returns whether there was one.
pub(super) fn fuse_one(f: &Function, b: &mut Block, target: For) -> bool {
    // The last maps seen, by trip count.
    let mut seen: HashMap<Var, Vec<usize>> = HashMap::new();
    for c in 0..b.stmts.len() {
        let Some(l) = candidate(f, &b.stmts[c].op, target) else { continue };
        let Trip::Count(n) = l.trip else { continue };
        let earlier = seen.entry(n).or_default();
        if let Some(p) = earlier.iter().rev().copied().find(|p| fits(f, b, *p, c, target)) {
            fuse(b, p, c);
            return true;
        }
        earlier.push(c);
    }
    false
}

/// A map, or in native code a loop that carries numbers.
fn candidate<'a>(f: &Function, op: &'a Op, target: For) -> Option<&'a Loop> {
    as_map(f, op).or_else(|| as_recurrence(f, op).filter(|_| target == For::Native))
}

fn fits(function: &Function, block: &Block, producer: usize, consumer: usize, target: For) -> bool {
    let loops = [producer, consumer].map(|at| candidate(function, &block.stmts[at].op, target));
    let [Some(earlier), Some(later)] = loops else { return false };
    if earlier.init.is_empty() != later.init.is_empty() {
        return false;
    }
    let shared = earlier.xs.iter().any(|v| later.xs.contains(v));
    let theirs = reads(&block.stmts[consumer]);
    let apart = !block.stmts[producer].outs.iter().any(|v| theirs.contains(v));
    // On a device, a kernel either sums or stores.
    let alike = target != For::Device || earlier.outs.contains(&Out::Sum) == later.outs.contains(&Out::Sum);
    // A map that only an operator reads is left to be fused into the kernel of that operator.
    let alike = alike && (target != For::Device || !feeds(block, producer) && !feeds(block, consumer));
    shared
        && apart
        && alike
        && earlier.reverse == later.reverse
        && may_fuse(function, earlier, later, For::Any)
        && may_move(block, producer, consumer)
}

/// Whether a reduction, scan or histogram reads a result of the statement, or reads it reversed.
fn feeds(b: &Block, p: usize) -> bool {
    let own = &b.stmts[p].outs;
    let turned: Vec<Var> = b
        .stmts
        .iter()
        .filter(|s| matches!(&s.op, Op::Reverse(a) if own.contains(a)))
        .flat_map(|s| s.outs.iter().copied())
        .collect();
    b.stmts
        .iter()
        .any(|s| matches!(&s.op, Op::Soac(x) if x.arrays.iter().any(|a| own.contains(a) || turned.contains(a))))
}

fn fuse(block: &mut Block, p: usize, c: usize) {
    let first = block.stmts.remove(p);
    let consumer = c - 1;
    let Op::Loop(map) = &first.op else { return };
    let s: &mut Stmt = &mut block.stmts[consumer];
    let Op::Loop(l) = &mut s.op else { return };
    let Some(index) = l.body.params.first().copied() else { return };
    let (own, added) = (l.init.len(), map.init.len());
    join(map, l, index);
    let trip = s.outs.pop();
    s.outs.extend(&first.outs[added..added + map.outs.len()]);
    s.outs.splice(own..own, first.outs[..added].iter().copied());
    s.outs.extend(trip);
    one_trip_count(block, consumer, first.outs.last(), trip);
}

fn join(map: &Loop, l: &mut Loop, index: Var) {
    prepend(map, &mut l.body, &mut l.xs);
    l.outs.extend(&map.outs);
    carry_both(map, l);
    let added = map.init.len();
    l.body.results.extend((added..added + map.outs.len()).map(|k| result(map, k, index)));
}
