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

use super::parts::{definitions, may_move, moved_adjacent, prepend, reads, reads_of, rename, rename_op, result};
use super::{For, as_boxing_map, has_no_linear, may_fuse};
use adl_ir::{Block, Function, Loop, Op, Out, Stmt, Trip, Var};
use std::collections::{HashMap, HashSet};

/// Fuses one pair of a block. Returns whether there was one.
pub(super) fn fuse_one(f: &Function, b: &mut Block, target: For) -> bool {
    let defs = definitions(b);
    for c in 0..b.stmts.len() {
        let Op::Loop(l) = &b.stmts[c].op else { continue };
        if matches!(l.trip, Trip::While(_)) || !has_no_linear(f, &b.stmts[c].op) {
            continue;
        }
        let read = sources(l);
        let mut makers: Vec<usize> = read.iter().filter_map(|v| defs.get(v)).copied().filter(|p| *p < c).collect();
        makers.sort_unstable();
        makers.dedup();
        makers.retain(|p| fits(f, b, *p, c, target));
        for p in makers.into_iter().rev() {
            if may_move(b, p, c) {
                fuse(b, p, c);
                return true;
            }
            if let Some(at) = moved_adjacent(b, p, c) {
                fuse(b, at, at + 1);
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

fn fits(f: &Function, b: &Block, p: usize, c: usize, target: For) -> bool {
    let (Some(map), Op::Loop(l)) = (as_boxing_map(f, &b.stmts[p].op), &b.stmts[c].op) else { return false };
    let outs = &b.stmts[p].outs;
    let same = match (&map.trip, &l.trip) {
        (Trip::Count(n), Trip::Count(k)) => n == k || outs.last() == Some(k),
        _ => false,
    };
    let ordered = map.reverse == l.reverse || !map.outs.contains(&Out::Sum) || either_way(l);
    let results: Vec<Var> = outs.iter().take(map.outs.len()).copied().collect();
    // On a device, a kernel either sums or stores.
    let alike = target != For::Device || !l.outs.contains(&Out::Sum) || !results.iter().any(|v| elsewhere(b, c, *v));
    // The trip count result of the first loop is available only after that loop.
    let counts = outs.last().is_some_and(|n| reads_of(&l.body).contains(n));
    same && ordered && alike && !counts && may_fuse(f, map, l, target) && only_elements(l, &results, &map.outs)
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
fn only_elements(l: &Loop, arrays: &[Var], kinds: &[Out]) -> bool {
    let index = l.body.params.first().copied();
    let mut whole: HashSet<Var> = l.init.iter().copied().chain(l.body.results.iter().copied()).collect();
    let mut read = l.xs.iter().any(|x| arrays.contains(x));
    for s in &l.body.stmts {
        match &s.op {
            Op::Index { a, at, shape } if at.first().copied() == index && (at.len() == 1 || shape.is_none()) => {
                read |= arrays.contains(a);
                whole.extend(&at[1..]);
            }
            _ => whole.extend(reads(s)),
        }
    }
    let sums = arrays.iter().zip(kinds).any(|(a, k)| *k == Out::Sum && (l.xs.contains(a) || sources(l).contains(a)));
    read && !sums && !arrays.iter().any(|a| whole.contains(a))
}

fn fuse(b: &mut Block, p: usize, c: usize) {
    let mut after: HashSet<Var> = b.results.iter().chain(&b.lin_results).copied().collect();
    b.stmts[c + 1..].iter().for_each(|s| after.extend(reads(s)));
    let first = b.stmts[p].clone();
    let Op::Loop(map) = &first.op else { return };
    let s = &mut b.stmts[c];
    let Op::Loop(l) = &mut s.op else { return };
    let Some(index) = l.body.params.first().copied() else { return };
    let k = l.init.len();
    // The variables to which the map's body binds the elements.
    let made: HashMap<Var, Var> =
        first.outs.iter().enumerate().take(map.outs.len()).map(|(i, v)| (*v, result(map, i, index))).collect();
    let names = take_elements(l, &made, k);
    rename(&mut l.body, &names);
    prepend(map, &mut l.body, &mut l.xs);
    if map.outs.contains(&Out::Sum) && either_way(l) {
        l.reverse = map.reverse;
    }
    l.trip = map.trip.clone();
    let trip = s.outs.pop();
    for (v, kind) in first.outs.iter().zip(&map.outs).filter(|(v, _)| after.contains(v)) {
        l.outs.push(*kind);
        l.body.results.push(made[v]);
        s.outs.push(*v);
    }
    s.outs.extend(trip);
    // Both loops have the same trip count.
    if let (Some(old), Some(new)) = (first.outs.last(), trip) {
        let names = HashMap::from([(*old, new)]);
        b.stmts[c + 1..].iter_mut().for_each(|s| rename_op(&mut s.op, &names));
        b.results.iter_mut().filter(|v| **v == *old).for_each(|v| *v = new);
    }
    b.stmts.remove(p);
}

/// Removes the elements computed by the map from the loop's own inputs. Returns the renaming of their variables.
fn take_elements(l: &mut Loop, made: &HashMap<Var, Var>, carried: usize) -> HashMap<Var, Var> {
    let mut names = HashMap::new();
    for i in (0..l.xs.len()).rev() {
        if let Some(v) = made.get(&l.xs[i]) {
            names.insert(l.body.params.remove(1 + carried + i), *v);
            l.xs.remove(i);
        }
    }
    let index = l.body.params[0];
    let mut kept = Vec::new();
    for mut s in std::mem::take(&mut l.body.stmts) {
        match &mut s.op {
            Op::Index { a, at, .. } if made.contains_key(a) && at.first() == Some(&index) => {
                if at.len() == 1 {
                    names.insert(s.outs[0], made[a]);
                    continue;
                }
                (*a, _) = (made[a], at.remove(0));
            }
            _ => {}
        }
        kept.push(s);
    }
    l.body.stmts = kept;
    names
}
