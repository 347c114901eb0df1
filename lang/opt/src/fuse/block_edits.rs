//! Analyses and edits of a block that the fusion passes share: definitions, uses, renaming, moving statements.

use adl_ir::{Block, Loop, Op, Stmt, Var};
use std::collections::{HashMap, HashSet};

/// Maps each variable to the position of the statement in the block that binds it.
pub(crate) fn definitions(b: &Block) -> HashMap<Var, usize> {
    b.stmts.iter().enumerate().flat_map(|(i, s)| s.outs.iter().chain(&s.lin_outs).map(move |v| (*v, i))).collect()
}

/// All variables that a statement reads, nested blocks included.
pub(crate) fn reads(s: &Stmt) -> HashSet<Var> {
    let mut out = HashSet::new();
    add_reads(&s.op, &mut out);
    out
}

/// How many statements read each variable, and the block as one of them if it returns the variable.
pub(crate) fn readers(b: &Block) -> HashMap<Var, usize> {
    let mut count: HashMap<Var, usize> = HashMap::new();
    let all = b.stmts.iter().flat_map(reads).chain(b.results.iter().copied());
    all.for_each(|v| *count.entry(v).or_default() += 1);
    count
}

/// All variables that a block reads, including those that it binds itself.
pub fn reads_of(b: &Block) -> HashSet<Var> {
    let mut out: HashSet<Var> = b.results.iter().chain(&b.lin_results).copied().collect();
    b.stmts.iter().for_each(|s| add_reads(&s.op, &mut out));
    out
}

fn add_reads(op: &Op, out: &mut HashSet<Var>) {
    op.each_operand(&mut |v| {
        out.insert(v);
    });
    for b in op.blocks() {
        out.extend(b.results.iter().chain(&b.lin_results));
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter().for_each(|s| add_reads(&s.op, out)));
    }
}

/// Renames all uses of variables in a block.
pub(super) fn rename(b: &mut Block, names: &HashMap<Var, Var>) {
    let name = |v: &mut Var| *v = names.get(v).copied().unwrap_or(*v);
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || b.stmts.iter_mut().for_each(|s| rename_op(&mut s.op, names)));
    b.results.iter_mut().chain(&mut b.lin_results).for_each(name);
}

pub(crate) fn rename_op(op: &mut Op, names: &HashMap<Var, Var>) {
    op.map_operands(&mut |v| names.get(&v).copied().unwrap_or(v));
    op.blocks_mut().into_iter().for_each(|b| rename(b, names));
}

/// Whether the statement at `from` may be moved to just before `to`: nothing between them reads its results, or
/// updates in place an array that it reads (which would then have to be copied).
pub(crate) fn may_move(b: &Block, from: usize, to: usize) -> bool {
    let s = &b.stmts[from];
    let needs = reads(s);
    b.stmts[from + 1..to].iter().all(|t| {
        let theirs = reads(t);
        !s.outs.iter().any(|v| theirs.contains(v))
            && !updated(&t.op).is_some_and(|v| needs.contains(&v))
            && !carries(&t.op, &needs)
    })
}

/// Moves the statement at `to` next to the one at `from`, whose results it reads. Statements between them that it
/// needs go before both, the others after both. Returns the new position of the statement at `from`.
pub(crate) fn moved_adjacent(block: &mut Block, from: usize, to: usize) -> Option<usize> {
    let mut needs = reads(&block.stmts[to]);
    let mut first = vec![false; to];
    for i in (from + 1..to).rev() {
        let s = &block.stmts[i];
        if s.outs.iter().chain(&s.lin_outs).any(|v| needs.contains(v)) {
            first[i] = true;
            needs.extend(reads(s));
        }
    }
    // An array that is updated in place should not be read afterwards, because the update would have to copy it.
    let spoils =
        |s: &Stmt, theirs: &HashSet<Var>| updated(&s.op).is_some_and(|v| theirs.contains(&v)) || carries(&s.op, theirs);
    let mut passed = reads(&block.stmts[from]);
    for (s, first) in block.stmts[..to].iter().zip(&first).skip(from + 1) {
        if !first {
            passed.extend(reads(s));
        } else if block.stmts[from].outs.iter().any(|v| reads(s).contains(v)) || spoils(s, &passed) {
            return None;
        }
    }
    let behind: HashSet<Var> = (from + 1..to).filter(|i| !first[*i]).flat_map(|i| reads(&block.stmts[i])).collect();
    if spoils(&block.stmts[to], &behind) {
        return None;
    }
    let between: Vec<Stmt> = block.stmts.drain(from + 1..to).collect();
    let (before, after): (Vec<_>, Vec<_>) = between.into_iter().zip(&first[from + 1..]).partition(|(_, f)| **f);
    let (at, after) = (from + before.len(), after.into_iter().map(|(s, _)| s).collect::<Vec<Stmt>>());
    block.stmts.splice(from..from, before.into_iter().map(|(s, _)| s));
    block.stmts.splice(at + 2..at + 2, after);
    Some(at)
}

fn updated(op: &Op) -> Option<Var> {
    match op {
        Op::IndexAdd { acc, .. } | Op::IndexSet { acc, .. } | Op::SliceAdd { acc, .. } | Op::GatherAdd { acc, .. } => {
            Some(*acc)
        }
        _ => None,
    }
}

fn carries(op: &Op, needs: &HashSet<Var>) -> bool {
    match op {
        Op::Loop(l) => l.init.iter().any(|v| needs.contains(v)),
        Op::ReduceByIndex { dest, .. } => dest.iter().any(|v| needs.contains(v)),
        Op::Call { args, .. } => args.iter().any(|v| needs.contains(v)),
        _ => false,
    }
}

/// Inserts the body of a map before the body of a loop over the same indices. The elements of the map become
/// elements of the loop.
pub(super) fn prepend(map: &Loop, body: &mut Block, xs: &mut Vec<Var>) {
    let mut first = map.body.clone();
    let names: HashMap<Var, Var> = first.params.iter().copied().zip(body.params.iter().copied()).take(1).collect();
    rename(&mut first, &names);
    body.params.extend(&first.params[1..]);
    xs.extend(&map.xs);
    let rest = std::mem::replace(&mut body.stmts, first.stmts);
    body.stmts.extend(rest);
}

/// Lets a loop carry what the loop carries whose body has just been inserted before its own, after its own carried values.
pub(super) fn carry_both(first: &Loop, l: &mut Loop) {
    let (own, added) = (l.init.len(), first.init.len());
    let at = l.body.params.len() - (first.body.params.len() - 1);
    let params: Vec<Var> = l.body.params.drain(at..at + added).collect();
    l.body.params.splice(1 + own..=own, params);
    let index = l.body.params[0];
    l.body.results.splice(own..own, (0..added).map(|k| result(first, k, index)));
    l.init.splice(own..own, first.init.iter().copied());
}

/// The map's `k`-th result in one iteration, as seen in a loop with that index variable.
pub(super) fn result(map: &Loop, k: usize, index: Var) -> Var {
    let v = map.body.results[k];
    if map.body.params.first() == Some(&v) { index } else { v }
}

/// Replaces the trip count of a loop that was fused into the one at `at` by the trip count of that one, which is equal.
pub(super) fn one_trip_count(block: &mut Block, at: usize, old: Option<&Var>, new: Option<Var>) {
    let (Some(old), Some(new)) = (old, new) else { return };
    let names = HashMap::from([(*old, new)]);
    block.stmts[at + 1..].iter_mut().for_each(|s| rename_op(&mut s.op, &names));
    block.results.iter_mut().filter(|v| **v == *old).for_each(|v| *v = new);
}
