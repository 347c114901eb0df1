//! A map whose results are only summed becomes a loop that returns the sum. For devices, which add in an order of
//! their own, and for functions that are differentiated: the transpose of a sum in a comprehension has no array.
//!
//! ```text
//! ys = loop for n over (x) collect { y = sin x; return y }; s = sum ys
//! ⟼  s = loop for n over (x) sum { y = sin x; return y }
//! ```

use super::block_edits::{definitions, readers};
use super::{as_map, is_number, is_thread};
use adl_ir::{Block, Function, Loop, Op, Out};

/// Rewrites the sums of a function that is differentiated. Returns whether there were any.
pub(super) fn of_maps(f: &Function, b: &mut Block) -> bool {
    let mut changed = false;
    for inner in b.stmts.iter_mut().flat_map(|s| s.op.blocks_mut()) {
        changed |= stacker::maybe_grow(64 * 1024, 1024 * 1024, || of_maps(f, inner));
    }
    changed | rewrite(f, b, &|_, _| true)
}

/// Rewrites the sums of a block that a device executes. Returns whether there were any. The map must have no other outputs
/// than sums: a device would first store arrays and then read them again for the sum.
pub(super) fn of_threads(f: &Function, b: &mut Block) -> bool {
    let alone = |l: &Loop, k: usize| l.outs.iter().enumerate().all(|(i, o)| i == k || *o == Out::Sum);
    rewrite(f, b, &|l, k| is_thread(f, l) && alone(l, k))
}

/// Rewrites the sums of a block of which the terms have no other reader, and are an accepted output of a map.
fn rewrite(function: &Function, block: &mut Block, accepts: &dyn Fn(&Loop, usize) -> bool) -> bool {
    if !block.stmts.iter().any(|s| matches!(s.op, Op::Sum { .. })) {
        return false;
    }
    let (defs, readers) = (definitions(block), readers(block));
    let mut done = Vec::new();
    for at in 0..block.stmts.len() {
        let (Op::Sum { a, .. }, [sum]) = (&block.stmts[at].op, &block.stmts[at].outs[..]) else { continue };
        let (a, sum) = (*a, *sum);
        let Some(map) = defs.get(&a).copied().filter(|p| *p < at && readers.get(&a) == Some(&1)) else { continue };
        let Some(k) = block.stmts[map].outs.iter().position(|v| *v == a) else { continue };
        let terms = |l: &&Loop| l.outs.get(k) == Some(&Out::Collect) && is_number(function, l.body.results[k]);
        if as_map(function, &block.stmts[map].op).filter(terms).is_none_or(|l| !accepts(l, k)) {
            continue;
        }
        block.stmts[map].outs[k] = sum;
        if let Op::Loop(l) = &mut block.stmts[map].op {
            l.outs[k] = Out::Sum;
        }
        done.push(at);
    }
    let mut at = 0..;
    block.stmts.retain(|_| at.next().is_some_and(|at| done.binary_search(&at).is_err()));
    !done.is_empty()
}
