//! Whether additions to arrays can be done for several turns at once: each element is to get its terms in the order of the turns, and, in one
//! turn, of the statements.
//!
//! Between turns that are done together the order changes only where two of them add to one element. Two additions never do so where one of
//! their indices is the same expression, and another number in each turn; or where it is two different literals. An addition to the same element in all turns
//! is done turn by turn. Where the one changes its element from turn to turn and the other does not, they meet in one turn, which is done alone.

use super::plan::{At, Int, Node, Plan};

/// Finds out what follows in order, and whether that can be kept.
pub(super) fn check(p: &mut Plan) -> Option<()> {
    let mut meets: Vec<Node> = Vec::new();
    let mut sequential = false;
    for s in &p.sums {
        if s.adds.is_empty() && s.row.is_none() {
            return None;
        }
        for (k, (at, loops)) in s.adds.iter().enumerate() {
            if !apart(p, at, at) {
                if !same(p, at) || !each_once(p, at, loops) {
                    return None;
                }
                sequential = true;
            }
            for (other, _) in &s.adds[k + 1..] {
                if apart(p, at, other) {
                    continue;
                }
                meets.push(meeting(p, at, other)?);
            }
        }
    }
    meets.dedup();
    p.sequential |= sequential || !meets.is_empty();
    p.meets = meets.first().copied();
    (meets.len() < 2).then_some(())
}

/// Whether an index is another one in each turn, whatever loops inside do.
fn moves(p: &Plan, n: Node) -> bool {
    p.ints[n].inner == 0 && p.ints[n].step.is_some_and(|s| s != 0)
}

/// Whether two additions never add to one element in different turns.
fn apart(p: &Plan, a: &At, b: &At) -> bool {
    a.iter().zip(b).any(|(x, y)| match (p.ints[*x].op, p.ints[*y].op) {
        (Int::Lit(m), Int::Lit(n)) => m != n,
        _ => x == y && moves(p, *x),
    })
}

/// Whether indices are the same in all turns.
fn same(p: &Plan, at: &At) -> bool {
    at.iter().all(|n| p.ints[*n].step == Some(0))
}

/// Whether loops inside add to each element once.
fn each_once(p: &Plan, at: &At, loops: &[usize]) -> bool {
    loops.iter().all(|k| at.iter().any(|n| p.ints[*n].op == Int::Inner(*k)))
}

/// The turn in which two additions may meet, if there is one at most.
fn meeting(p: &Plan, a: &At, b: &At) -> Option<Node> {
    a.iter().zip(b).find_map(|(x, y)| {
        let fixed = |n: Node| p.ints[n].inner == 0 && p.ints[n].step == Some(0);
        match (p.ints[*x].op, p.ints[*y].op) {
            (Int::Turn, _) if fixed(*y) => Some(*y),
            (_, Int::Turn) if fixed(*x) => Some(*x),
            _ => None,
        }
    })
}
