//! A map whose results are only summed becomes a loop that returns the sum. For devices, which add in an order of
//! their own.
//!
//! ```text
//! ys = loop for n over (x) collect { y = sin x; return y }; s = sum ys
//! ⟼  s = loop for n over (x) sum { y = sin x; return y }
//! ```

use super::parts::{definitions, reads};
use super::{as_map, is_number, is_thread};
use adl_ir::{Block, Function, Op, Out, Var};

/// Rewrites one sum of a block. Returns whether there was one.
pub(super) fn fuse_one(f: &Function, b: &mut Block) -> bool {
    let defs = definitions(b);
    for c in 0..b.stmts.len() {
        let Op::Sum { a, .. } = b.stmts[c].op else { continue };
        let Some(p) = defs.get(&a).copied().filter(|p| only_summed(f, b, *p, c, a)) else { continue };
        let s = b.stmts.remove(c);
        let map = &mut b.stmts[p];
        let (Some(k), Some(sum)) = (map.outs.iter().position(|v| *v == a), s.outs.first()) else { return false };
        map.outs[k] = *sum;
        if let Op::Loop(l) = &mut map.op {
            l.outs[k] = Out::Sum;
        }
        return true;
    }
    false
}

/// Whether the array is collected by a map of numbers and has no reader but the sum.
fn only_summed(f: &Function, b: &Block, p: usize, c: usize, a: Var) -> bool {
    let Some(map) = as_map(f, &b.stmts[p].op).filter(|l| is_thread(f, l)) else { return false };
    let Some(k) = b.stmts[p].outs.iter().position(|v| *v == a).filter(|k| *k < map.outs.len()) else { return false };
    // The map must have no other outputs than sums: a device would first store arrays and then read them again for
    // the sum.
    let alone = map.outs.iter().enumerate().all(|(i, o)| i == k || *o == Out::Sum);
    let elsewhere = b.results.contains(&a) || b.stmts.iter().enumerate().any(|(i, s)| i != c && reads(s).contains(&a));
    map.outs[k] == Out::Collect && alone && is_number(f, map.body.results[k]) && !elsewhere
}
