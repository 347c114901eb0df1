//! Operator constraints, and the set of those that wait for an operand's type.

use crate::ty::{OperationSite, Ty};
use adl_prim::Prim;
use adl_syntax::span::Span;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// `op` applied to `args`, with result `res`.
#[derive(Clone, Debug)]
pub(super) struct OpConstraint {
    pub prim: Prim,
    pub args: Vec<(Ty, Span)>,
    pub res: Ty,
    pub span: Span,
    /// The place in the called function, if it is a constraint of that function's scheme.
    pub inside: Option<Rc<OperationSite>>,
}

impl OpConstraint {
    /// The place of an operand; for an instantiated constraint, inside the called function.
    pub fn operand_place(&self, i: usize) -> Span {
        self.inside.as_ref().and_then(|p| p.operands.get(i)).copied().unwrap_or(self.args[i].1)
    }

    /// Its operands and its result.
    pub fn types(&self) -> impl Iterator<Item = &Ty> {
        self.args.iter().map(|a| &a.0).chain([&self.res])
    }
}

/// The constraints that wait.
#[derive(Clone, Default)]
pub(super) struct DeferredOps {
    pub ops: BTreeMap<u32, OpConstraint>,
    /// By inference variable: the constraints that watch it.
    pub watched: HashMap<u32, Vec<u32>>,
    pub ready: BTreeSet<u32>,
    next: u32,
}

impl DeferredOps {
    /// Called if a variable was bound or became a number.
    pub fn wake(&mut self, meta: u32) {
        if let Some(ids) = self.watched.remove(&meta) {
            self.ready.extend(ids);
        }
    }

    /// The number of the next operator.
    pub fn mark(&self) -> u32 {
        self.next
    }

    /// Whether a variable is the result of a waiting operator.
    pub fn gives(&self, meta: u32, resolve: &dyn Fn(&Ty) -> Ty) -> bool {
        self.deferred_producer(meta, resolve).is_some()
    }

    /// The waiting operator whose result is a variable.
    pub fn deferred_producer(&self, meta: u32, resolve: &dyn Fn(&Ty) -> Ty) -> Option<&OpConstraint> {
        let ids = self.watched.get(&meta).map_or(&[][..], Vec::as_slice);
        ids.iter().filter_map(|id| self.ops.get(id)).find(|op| resolve(&op.res) == Ty::Meta(meta))
    }

    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The number of an operator that is met now.
    pub fn number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    pub fn remove(&mut self, id: u32) -> Option<OpConstraint> {
        self.ops.remove(&id)
    }

    /// The operators since a mark, in program order.
    pub fn since(&self, mark: u32) -> impl Iterator<Item = (u32, &OpConstraint)> {
        self.ops.range(mark..).map(|(id, op)| (*id, op))
    }
}
