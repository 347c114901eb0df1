//! Moves a loop that only a reduction, scan or histogram reads to just before that operator. A device then runs
//! both in one kernel, and the intermediate array is not stored.

use super::known::is_vector;
use crate::fuse::{may_move, reads, reads_of};
use adl_ir::{Block, Function, Lit, Loop, Op, Out, Soac, Stmt, Trip, Ty, Var};
use adl_prim::Bin;
use adl_syntax::span::Span;

/// Moves such loops.
pub(super) fn beside(block: &mut Block) {
    for s in &mut block.stmts {
        // The body of a stateless loop is the work of one thread.
        if !matches!(&s.op, Op::Loop(l) if l.init.is_empty()) {
            s.op.blocks_mut().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || beside(b)));
        }
    }
    let mut c = 0;
    while c < block.stmts.len() {
        if let Op::Soac(s) = &block.stmts[c].op
            && let Some(p) = (0..c).rev().find(|p| feeds(block, *p, c, s))
            && may_move(block, p, c)
        {
            let map = block.stmts.remove(p);
            block.stmts.insert(c - 1, map);
        }
        c += 1;
    }
}

/// Replaces the reversal of a vector that only one operator reads by a loop, which is then fused into that operator.
pub(super) fn turned(func: &mut Function, block: &mut Block) {
    for s in &mut block.stmts {
        if !matches!(&s.op, Op::Loop(l) if l.init.is_empty()) {
            s.op.blocks_mut().into_iter().for_each(|b| stacker::maybe_grow(64 * 1024, 1024 * 1024, || turned(func, b)));
        }
    }
    let mut position = 0;
    while position < block.stmts.len() {
        if let Op::Soac(s) = &block.stmts[position].op {
            let mut found: Vec<(Var, Var)> =
                s.arrays.iter().filter_map(|v| Some((*v, only_reversed(func, block, *v, position)?))).collect();
            found.sort_unstable();
            found.dedup();
            if !found.is_empty() {
                block.stmts.retain(|s| !(matches!(s.op, Op::Reverse(_)) && found.iter().any(|(v, _)| s.outs[0] == *v)));
                position -= found.len();
                let made = from_end(func, &found, block.stmts[position].span);
                let n = made.len();
                block.stmts.splice(position..position, made);
                position += n;
            }
        }
        position += 1;
    }
}

/// The operand of the reversal that produces `var`, if the statement at `carried` is its only reader.
fn only_reversed(func: &Function, block: &Block, var: Var, carried: usize) -> Option<Var> {
    let array = block.stmts.iter().find_map(|s| {
        if s.outs.first() == Some(&var)
            && let Op::Reverse(a) = &s.op
        {
            Some(*a)
        } else {
            None
        }
    })?;
    let alone = !block.results.contains(&var)
        && block.stmts.iter().enumerate().all(|(i, s)| i == carried || !reads(s).contains(&var));
    (alone && is_vector(func, var)).then_some(array)
}

/// Loops that read vectors from their ends.
fn from_end(f: &mut Function, found: &[(Var, Var)], span: Span) -> Vec<Stmt> {
    let [count, one, last, i, at, trip] = [(); 6].map(|()| f.fresh(Ty::I64, false));
    let stmt = |v: Var, op: Op| Stmt { outs: vec![v], lin_outs: Vec::new(), op, span };
    let mut body = Block { params: vec![i], stmts: vec![stmt(at, Op::Bin(Bin::Sub, last, i))], ..Block::default() };
    for (_, a) in found {
        let x = f.fresh(f.ty(*a).elem(), false);
        body.stmts.push(stmt(x, Op::Index { a: *a, at: vec![at], shape: None }));
        body.results.push(x);
    }
    let ir_loop = Loop { outs: vec![Out::Collect; found.len()], ..Loop::new(Trip::Count(count), body) };
    let outs = found.iter().map(|(v, _)| *v).chain([trip]).collect();
    let all = Stmt { outs, lin_outs: Vec::new(), op: Op::Loop(Box::new(ir_loop)), span };
    vec![
        stmt(count, Op::Dim(found[0].1, 0)),
        stmt(one, Op::Lit(Lit::I64(1))),
        stmt(last, Op::Bin(Bin::Sub, count, one)),
        all,
    ]
}

/// Whether all input arrays of an operator are made by one stateless loop and have no other reader.
fn feeds(block: &Block, p: usize, carried: usize, soac: &Soac) -> bool {
    let Stmt { outs, op: Op::Loop(l), .. } = &block.stmts[p] else { return false };
    let Some((_, outs)) = outs.split_last() else { return false };
    let plain = l.init.is_empty()
        && l.lin_init.is_empty()
        && l.lin_outs.is_empty()
        && matches!(l.trip, Trip::Count(_))
        && l.outs.iter().all(|o| *o == Out::Collect);
    let others = block
        .stmts
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != carried)
        .all(|(_, s)| reads(s).iter().all(|v| !outs.contains(v)));
    let inside = reads_of(&soac.op);
    let elements = outs.iter().all(|v| soac.arrays.contains(v) && !inside.contains(v) && !soac.neutral.contains(v));
    plain && !outs.is_empty() && elements && others && !block.results.iter().any(|v| outs.contains(v))
}
