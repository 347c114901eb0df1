//! Which intermediates are stored and which recomputed.

use adl_ir::{FnId, Op, Stmt, Ty, Var};
use adl_prim::Prim;
use adl_syntax::span::Span;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A choice at unzip: for each non-linear variable that the linear part reads, store or recompute. (Literals are always recomputed.)
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Plan {
    /// Recompute whatever can be.
    pub everything: bool,
    /// With `everything`: variables that are stored nevertheless.
    pub store: BTreeSet<(FnId, Var)>,
    /// With `everything`: the functions that it concerns. Empty: all.
    pub within: BTreeSet<FnId>,
    /// Variables (of functions that J made) that are recomputed.
    pub recompute: BTreeSet<(FnId, Var)>,
}

impl Plan {
    /// Stores everything.
    pub fn store_all() -> Plan {
        Plan::default()
    }

    /// Recomputes everything: only arguments, and what loops carry, are stored.
    pub fn recompute_all() -> Plan {
        Plan { everything: true, ..Plan::default() }
    }

    /// Stores these, and recomputes what can be made from them, in these functions.
    pub fn storing(store: BTreeSet<(FnId, Var)>, within: BTreeSet<FnId>) -> Plan {
        Plan { everything: true, store, within, ..Plan::default() }
    }

    /// Whether the results of a statement of `f` are recomputed. `parts`: it is control flow or a call with residuals of its own, which
    /// runs once: what is inside it is recomputed there, statement by statement.
    pub(crate) fn recomputes(&self, f: FnId, s: &Stmt, parts: bool) -> bool {
        match &s.op {
            Op::Lit(_) | Op::Zero(_) => true,
            op if parts || has_effect(op) => false,
            _ if self.everything => (self.within.is_empty() || self.within.contains(&f)) && !s.outs.iter().any(|o| self.store.contains(&(f, *o))),
            _ => s.outs.iter().any(|o| self.recompute.contains(&(f, *o))),
        }
    }
}

/// Why the results of a statement are never recomputed, if that is so. `parts`: as in [`Plan::recomputes`].
pub(super) fn fixed(s: &Stmt, parts: bool) -> Option<&'static str> {
    match &s.op {
        Op::Loop(_) if parts => Some("a result of a loop, which runs once"),
        Op::Call { .. } if parts => Some("a result of a call, which runs once"),
        _ if parts => Some("a result of a branch, which runs once"),
        op if has_effect(op) => Some("a result of code that may print or fail, which runs once"),
        _ => None,
    }
}

/// What prints, or fails on purpose, happens once.
fn has_effect(op: &Op) -> bool {
    matches!(op, Op::Prim(Prim::Assert | Prim::Error | Prim::Print, _)) || op.blocks().iter().any(|b| b.stmts.iter().any(|s| has_effect(&s.op)))
}

/// An intermediate that the linear part reads.
#[derive(Clone, PartialEq, Debug)]
pub struct Residual {
    /// The function that J made, and its variable.
    pub at: (FnId, Var),
    /// The source of the statement that makes it.
    pub span: Span,
    /// The user's name for it, if it has one.
    pub name: Option<Rc<str>>,
    /// Its type there (in a loop: of one turn).
    pub ty: Ty,
    /// Whether it can be recomputed: it is no argument, not what a loop carries, and no result of code that runs once.
    pub movable: bool,
    /// Why, where it cannot.
    pub reason: &'static str,
}
