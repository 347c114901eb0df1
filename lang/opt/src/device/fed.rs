//! Loops that only an operator reads stand just before it: a device then does both in one kernel, and what the loop makes is no array.

use crate::fuse::{may_move, reads_of};
use adl_ir::{Block, Op, Out, Soac, Stmt, Turns};

/// Moves such loops.
pub(super) fn beside(b: &mut Block) {
    for s in &mut b.stmts {
        // In loops without state they are the work of one thread.
        if !matches!(&s.op, Op::Loop(l) if l.init.is_empty()) {
            s.op.blocks_mut().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || beside(b)));
        }
    }
    let mut c = 0;
    while c < b.stmts.len() {
        if let Op::Soac(s) = &b.stmts[c].op
            && let Some(p) = (0..c).rev().find(|p| feeds(b, *p, c, s))
            && may_move(b, p, c)
        {
            let map = b.stmts.remove(p);
            b.stmts.insert(c - 1, map);
        }
        c += 1;
    }
}

/// Whether an operator's arrays are what a loop without state makes, and nothing else reads them.
fn feeds(b: &Block, p: usize, c: usize, soac: &Soac) -> bool {
    let Stmt { outs, op: Op::Loop(l), .. } = &b.stmts[p] else { return false };
    let Some((_, outs)) = outs.split_last() else { return false };
    let plain = l.init.is_empty() && l.lin_init.is_empty() && l.lin_outs.is_empty() && matches!(l.turns, Turns::For(_)) && l.outs.iter().all(|o| *o == Out::Collect);
    let others = b.stmts.iter().enumerate().filter(|(i, _)| *i != c).all(|(_, s)| {
        let mut apart = true;
        s.op.each_operand(&mut |v| apart &= !outs.contains(&v));
        apart && s.op.blocks().into_iter().all(|b| reads_of(b).iter().all(|v| !outs.contains(v)))
    });
    let inside = reads_of(&soac.op);
    let elements = outs.iter().all(|v| soac.arrays.contains(v) && !inside.contains(v) && !soac.neutral.contains(v));
    plain && !outs.is_empty() && elements && others && !b.results.iter().any(|v| outs.contains(v))
}
