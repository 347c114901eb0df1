//! Vertical fusion: a map's result that a loop with the same trip count reads at its own index is computed in that
//! loop.
//!
//! ```text
//! ys = loop for n over (x) collect { y = sin x; return y }
//! zs = loop for n over (ys) collect { z = y · y; return z }
//! ⟼  zs = loop for n over (x) collect { y = sin x; z = y · y; return z }
//! ```
//!
//! Results of the map that have other readers stay outputs of the fused loop. Statements between the two loops that
//! only depend on the map move after the fused loop. A stateless loop without sums may be reversed to match the
//! direction of the other.

use super::block_edits::{
    carry_both, definitions, may_move, moved_adjacent, one_trip_count, prepend, reads, reads_of, rename, result,
};
use super::carried::as_recurrence;
use super::{For, as_boxing_map, has_no_linear, may_fuse, straight};
use adl_ir::{Block, Function, Loop, Op, Out, Stmt, Trip, Var};
use std::collections::{HashMap, HashSet};

/// Fuses one pair of a block. Returns whether there was one.
pub(super) fn fuse_one(func: &Function, block: &mut Block, target: For) -> bool {
    let defs = definitions(block);
    for stmt in 0..block.stmts.len() {
        let Op::Loop(l) = &block.stmts[stmt].op else { continue };
        if matches!(l.trip, Trip::While(_)) || !has_no_linear(func, &block.stmts[stmt].op) {
            continue;
        }
        let read = sources(l);
        let mut makers: Vec<usize> = read.iter().filter_map(|v| defs.get(v)).copied().filter(|p| *p < stmt).collect();
        makers.sort_unstable();
        makers.dedup();
        makers.retain(|p| fits(func, block, *p, stmt, target));
        for p in makers.into_iter().rev() {
            if may_move(block, p, stmt) {
                fuse(block, p, stmt);
                return true;
            }
            if let Some(at) = moved_adjacent(block, p, stmt) {
                fuse(block, at, at + 1);
                return true;
            }
        }
    }
    false
}

/// The arrays of which an iteration reads the element at its index.
fn sources(l: &Loop) -> HashSet<Var> {
    let index = l.body.params.first().copied();
    let own = |s: &Stmt| match &s.op {
        Op::Index { a, at, .. } if at.first().copied() == index && index.is_some() => Some(*a),
        _ => None,
    };
    l.xs.iter().copied().chain(l.body.stmts.iter().filter_map(own)).collect()
}

fn fits(func: &Function, block: &Block, p: usize, carried: usize, target: For) -> bool {
    let producer = as_boxing_map(func, &block.stmts[p].op)
        .or_else(|| as_recurrence(func, &block.stmts[p].op).filter(|_| target == For::Native));
    let (Some(map), Op::Loop(ir_loop)) = (producer, &block.stmts[carried].op) else {
        return false;
    };
    if !map.init.is_empty() && !joins_recurrence(func, &block.stmts[p], &block.stmts[carried]) {
        return false;
    }
    let outs = &block.stmts[p].outs[map.init.len()..];
    let same = match (&map.trip, &ir_loop.trip) {
        (Trip::Count(n), Trip::Count(k)) => n == k || outs.last() == Some(k),
        _ => false,
    };
    let ordered = map.reverse == ir_loop.reverse || either_way(map) || either_way(ir_loop);
    let results: Vec<Var> = outs.iter().take(map.outs.len()).copied().collect();
    // On a device, a kernel either sums or stores.
    let alike = target != For::Device
        || !ir_loop.outs.contains(&Out::Sum)
        || !results.iter().any(|v| elsewhere(block, carried, *v));
    // The trip count result of the first loop is available only after that loop.
    let counts = outs.last().is_some_and(|n| reads_of(&ir_loop.body).contains(n));
    same && ordered
        && alike
        && !counts
        && may_fuse(func, map, ir_loop, target)
        && only_elements(ir_loop, &results, &map.outs)
}

/// Whether a loop that carries numbers may take in another that reads what it collects: that one carries and collects
/// numbers, too, and does not need those that are carried at the end. Straight-line maps are left to vectors.
fn joins_recurrence(f: &Function, producer: &Stmt, consumer: &Stmt) -> bool {
    let (Op::Loop(p), Op::Loop(c)) = (&producer.op, &consumer.op) else { return false };
    let read = reads(consumer);
    let needs_last = producer.outs[..p.init.len()].iter().any(|v| read.contains(v));
    let numbers = c.body.results.iter().all(|v| f.ty(*v).is_flat()) && !c.outs.contains(&Out::Sum);
    !needs_last && numbers && (!c.init.is_empty() || !straight(f, c))
}

/// Whether a statement other than the one at `c` reads a variable, or the block returns it.
fn elsewhere(b: &Block, c: usize, v: Var) -> bool {
    b.results.contains(&v) || b.stmts.iter().enumerate().any(|(i, s)| i != c && reads(s).contains(&v))
}

/// Whether the direction of a loop makes no difference.
fn either_way(l: &Loop) -> bool {
    l.init.is_empty() && !l.outs.contains(&Out::Sum)
}

/// Whether a loop reads these arrays at its own index only.
fn only_elements(ir_loop: &Loop, arrays: &[Var], kinds: &[Out]) -> bool {
    let index = ir_loop.body.params.first().copied();
    let mut whole: HashSet<Var> = ir_loop.init.iter().copied().chain(ir_loop.body.results.iter().copied()).collect();
    let mut read = ir_loop.xs.iter().any(|x| arrays.contains(x));
    for s in &ir_loop.body.stmts {
        match &s.op {
            Op::Index { a, at, shape } if at.first().copied() == index && (at.len() == 1 || shape.is_none()) => {
                read |= arrays.contains(a);
                whole.extend(&at[1..]);
            }
            _ => whole.extend(reads(s)),
        }
    }
    let sums = arrays
        .iter()
        .zip(kinds)
        .any(|(a, k)| *k == Out::Sum && (ir_loop.xs.contains(a) || sources(ir_loop).contains(a)));
    read && !sums && !arrays.iter().any(|a| whole.contains(a))
}

fn fuse(block: &mut Block, producer: usize, consumer: usize) {
    let mut after: HashSet<Var> = block.results.iter().chain(&block.lin_results).copied().collect();
    block.stmts[consumer + 1..].iter().for_each(|s| after.extend(reads(s)));
    let first = block.stmts[producer].clone();
    let Op::Loop(map) = &first.op else { return };
    let stmt = &mut block.stmts[consumer];
    let Op::Loop(ir_loop) = &mut stmt.op else { return };
    let Some(index) = ir_loop.body.params.first().copied() else { return };
    let (own_carried, carried) = (ir_loop.init.len(), map.init.len());
    // The variables to which the map's body binds the elements.
    let made: HashMap<Var, Var> =
        (carried..carried + map.outs.len()).map(|i| (first.outs[i], result(map, i, index))).collect();
    let names = take_elements(ir_loop, &made, own_carried);
    rename(&mut ir_loop.body, &names);
    if !either_way(map) && either_way(ir_loop) {
        ir_loop.reverse = map.reverse;
    }
    prepend(map, &mut ir_loop.body, &mut ir_loop.xs);
    carry_both(map, ir_loop);
    ir_loop.trip = map.trip.clone();
    let trip = stmt.outs.pop();
    stmt.outs.splice(own_carried..own_carried, first.outs[..carried].iter().copied());
    for (v, kind) in first.outs[carried..].iter().zip(&map.outs).filter(|(v, _)| after.contains(v)) {
        ir_loop.outs.push(*kind);
        ir_loop.body.results.push(made[v]);
        stmt.outs.push(*v);
    }
    stmt.outs.extend(trip);
    one_trip_count(block, consumer, first.outs.last(), trip);
    block.stmts.remove(producer);
}

/// Removes the elements computed by the map from the loop's own inputs. Returns the renaming of their variables.
fn take_elements(ir_loop: &mut Loop, made: &HashMap<Var, Var>, carried: usize) -> HashMap<Var, Var> {
    let mut names = HashMap::new();
    for i in (0..ir_loop.xs.len()).rev() {
        if let Some(v) = made.get(&ir_loop.xs[i]) {
            names.insert(ir_loop.body.params.remove(1 + carried + i), *v);
            ir_loop.xs.remove(i);
        }
    }
    let index = ir_loop.body.params[0];
    let mut kept = Vec::new();
    for mut stmt in std::mem::take(&mut ir_loop.body.stmts) {
        match &mut stmt.op {
            Op::Index { a, at, .. } if made.contains_key(a) && at.first() == Some(&index) => {
                if at.len() == 1 {
                    names.insert(stmt.outs[0], made[a]);
                    continue;
                }
                (*a, _) = (made[a], at.remove(0));
            }
            _ => {}
        }
        kept.push(stmt);
    }
    ir_loop.body.stmts = kept;
    names
}
