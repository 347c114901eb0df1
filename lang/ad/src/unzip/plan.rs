//! Which intermediates are stored and which recomputed.

use adl_ir::{Function, Op, Stmt, Var};
use std::collections::BTreeSet;

/// A choice at unzip: for each non-linear variable that the linear part reads, store or recompute.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Plan {
    /// Everything is stored, except literals.
    #[default]
    StoreAll,
    /// Whatever can be recomputed from the parameters, outside loops and calls, is.
    RecomputeAll,
    /// These variables (of the `J` function) are recomputed.
    ByHand(BTreeSet<Var>),
}

impl Plan {
    /// Whether the results of a statement are recomputed. `top`: it stands outside all blocks of its function.
    pub(crate) fn recomputes(&self, _f: &Function, s: &Stmt, top: bool) -> bool {
        match &s.op {
            Op::Lit(_) | Op::Zero(_) => true,
            // What has effects, or may fail, happens once.
            Op::Prim(p, _) if matches!(p, adl_prim::Prim::Assert | adl_prim::Prim::Error | adl_prim::Prim::Print) => false,
            _ => match self {
                Plan::StoreAll => false,
                Plan::RecomputeAll => top || !matches!(s.op, Op::Loop(_) | Op::Call { .. }),
                Plan::ByHand(vars) => s.outs.iter().any(|o| vars.contains(o)),
            },
        }
    }
}
