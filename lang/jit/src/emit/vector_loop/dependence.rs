//! Dependence test for accumulations to arrays. In a vectorised loop, each element must receive its terms in the order
//! of the iterations and, within one iteration, of the statements.
//!
//! Vectorisation changes the order only if two iterations of one vector step update the same element. Two accumulations
//! never do so if one of their indices is the same expression and varies from iteration to iteration, or consists of
//! two different literals. An accumulation to a loop-invariant element is done lane by lane. If one accumulation moves
//! from element to element and the other does not, they collide in one iteration, which is run separately.

use super::plan::{AccessIndices, Int, Node, VectorPlan};

/// Determines which accumulations are order-dependent. `None` if the order cannot be preserved.
pub(super) fn check(vector_plan: &mut VectorPlan) -> Option<()> {
    let mut meets: Vec<Node> = Vec::new();
    let mut sequential = false;
    for sum in &vector_plan.sums {
        if sum.adds.is_empty() && sum.extents.is_empty() {
            return None;
        }
        for (k, (at, loops)) in sum.adds.iter().enumerate() {
            if !apart(vector_plan, at, at) {
                if !same(vector_plan, at) || !each_once(vector_plan, at, loops) {
                    return None;
                }
                sequential = true;
            }
            for (other, _) in &sum.adds[k + 1..] {
                if apart(vector_plan, at, other) {
                    continue;
                }
                meets.push(meeting(vector_plan, at, other)?);
            }
        }
    }
    meets.dedup();
    vector_plan.sequential |= sequential || !meets.is_empty();
    vector_plan.meets = meets.first().copied();
    (meets.len() < 2).then_some(())
}

/// Whether an index differs from iteration to iteration, independently of inner loops.
fn moves(p: &VectorPlan, n: Node) -> bool {
    p.ints[n].inner == 0 && p.ints[n].step.is_some_and(|s| s != 0)
}

/// Whether two accumulations never update the same element in different iterations.
fn apart(p: &VectorPlan, a: &AccessIndices, b: &AccessIndices) -> bool {
    a.iter().zip(b).any(|(x, y)| match (p.ints[*x].op, p.ints[*y].op) {
        (Int::Lit(m), Int::Lit(n)) => m != n,
        _ => x == y && moves(p, *x),
    })
}

/// Whether indices are loop-invariant.
fn same(p: &VectorPlan, at: &AccessIndices) -> bool {
    at.iter().all(|n| p.ints[*n].step == Some(0))
}

/// Whether inner loops update each element once.
fn each_once(p: &VectorPlan, at: &AccessIndices, loops: &[usize]) -> bool {
    loops.iter().all(|k| at.iter().any(|n| p.ints[*n].op == Int::Inner(*k)))
}

/// The iteration in which two accumulations may collide, if there is at most one.
fn meeting(p: &VectorPlan, a: &AccessIndices, b: &AccessIndices) -> Option<Node> {
    a.iter().zip(b).find_map(|(x, y)| {
        let fixed = |n: Node| p.ints[n].inner == 0 && p.ints[n].step == Some(0);
        match (p.ints[*x].op, p.ints[*y].op) {
            (Int::Iteration, _) if fixed(*y) => Some(*y),
            (_, Int::Iteration) if fixed(*x) => Some(*x),
            _ => None,
        }
    })
}
