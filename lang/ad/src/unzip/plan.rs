//! Plans: which intermediates are stored and which are recomputed.

use crate::results::BranchArm;
use adl_ir::rewrite::purity::op_has_effect;
use adl_ir::{FnId, Op, Stmt, Ty, Var};
use adl_syntax::span::Span;
use std::collections::BTreeSet;
use std::rc::Rc;

/// For each non-linear variable that the linear half reads, whether unzipping stores or recomputes it. (Literals
/// are always recomputed.)
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct UnzipPlan {
    /// Recompute everything that can be recomputed.
    pub everything: bool,
    /// With `everything`: variables that are stored nevertheless.
    pub store: BTreeSet<(FnId, Var)>,
    /// With `everything`: the functions to which it applies; all, if empty.
    pub within: BTreeSet<FnId>,
    /// Variables (of functions made by J) that are recomputed.
    pub recompute: BTreeSet<(FnId, Var)>,
}

impl UnzipPlan {
    /// Stores everything.
    pub fn store_all() -> UnzipPlan {
        UnzipPlan::default()
    }

    /// Recomputes everything; only arguments and carried values of loops are stored.
    pub fn recompute_all() -> UnzipPlan {
        UnzipPlan { everything: true, ..UnzipPlan::default() }
    }

    /// In the functions `within`, stores the variables in `store` and recomputes everything that can be computed
    /// from them.
    pub fn storing(store: BTreeSet<(FnId, Var)>, within: BTreeSet<FnId>) -> UnzipPlan {
        UnzipPlan { everything: true, store, within, ..UnzipPlan::default() }
    }

    /// Whether the results of a statement of `f` are recomputed. `parts`: the statement is control flow or a call
    /// with residuals of its own, which must run once; the plan then applies to the statements inside of it.
    pub(crate) fn recomputes(&self, f: FnId, s: &Stmt, parts: bool) -> bool {
        match &s.op {
            Op::Lit(_) | Op::Zero(_) => true,
            op if parts || op_has_effect(op) => false,
            _ if self.everything => {
                (self.within.is_empty() || self.within.contains(&f))
                    && !s.outs.iter().any(|o| self.store.contains(&(f, *o)))
            }
            _ => s.outs.iter().any(|o| self.recompute.contains(&(f, *o))),
        }
    }
}

/// The reason why the results of a statement are never recomputed, if there is one. `parts`: as in
/// [`UnzipPlan::recomputes`].
pub(super) fn never_recomputed(s: &Stmt, parts: bool) -> Option<&'static str> {
    match &s.op {
        Op::Loop(_) if parts => Some("a result of a loop, which runs once"),
        Op::Call { .. } if parts => Some("a result of a call, which runs once"),
        _ if parts => Some("a result of a branch, which runs once"),
        op if op_has_effect(op) => Some("a result of code that may print or fail, which runs once"),
        _ => None,
    }
}

/// An intermediate that the linear half reads.
#[derive(Clone, PartialEq, Debug)]
pub struct Residual {
    /// The function made by J, and its variable.
    pub at: (FnId, Var),
    /// The source location of the statement that computes it.
    pub span: Span,
    /// The user's name for it, if it has one.
    pub name: Option<Rc<str>>,
    /// Its type (in a loop: for one iteration).
    pub ty: Ty,
    /// Whether it can be recomputed: it is neither an argument, nor carried by a loop, nor a result of code that
    /// must run once.
    pub movable: bool,
    /// The reason if it cannot be recomputed.
    pub reason: &'static str,
    /// If only some arms of branches store it, these.
    pub(crate) arms: Vec<BranchArm>,
}
