//! Parts of the state of [`super::Emit`] that belong together: what is fixed for a function, how its arrays are held,
//! the loops around the current code, and the statement that it is for.

use super::deferred::DeferredValues;
use super::rows_in_place::{CollectedRows, RowSlot};
use adl_ir::{Function, Var};
use adl_syntax::span::Span;
use cranelift_codegen::ir::{Block, StackSlot, Value};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Values and blocks that are fixed for the function that is being emitted.
pub(super) struct FunctionFrame {
    /// The context of the runtime.
    pub ctx: Value,
    /// The address of the results.
    pub out: Value,
    /// The address of the interrupt flag.
    pub interrupt: Value,
    /// Stack memory for operands and results of operations and calls.
    pub slot: StackSlot,
    /// The block that returns 1.
    pub fail: Block,
    /// The target of self-calls in tail position.
    pub body: Block,
}

/// How values that are not plain words are held: borrowed, as views, or not materialised at all.
#[derive(Default)]
pub(super) struct HeldValues {
    /// Variables that are borrowed: their references are owned elsewhere.
    pub pinned: HashSet<Var>,
    /// Variables whose elements are accessed inline.
    pub viewed: HashSet<Var>,
    /// Rows that are never materialised as arrays.
    pub virtuals: HashSet<Var>,
    /// Values that are materialised only on slow paths.
    pub later: DeferredValues,
    /// Rows whose elements are written directly to an enclosing loop's output buffer.
    pub places: HashMap<Var, RowSlot>,
    pub collected: CollectedRows,
    /// Arrays that loops would collect and that are only summed, with their sums.
    pub totals: HashMap<Var, Var>,
    /// The variables of the function and of its lowered loops, once there is one.
    pub lowered: Option<Rc<Function>>,
}

/// The loops around the code that is being emitted.
#[derive(Clone, Copy, Default)]
pub(super) struct LoopNest {
    /// The number of loops.
    pub depth: u32,
    /// Whether the code is outside of innermost loops, so that out-of-line code is cheap enough.
    pub is_outer: bool,
}

impl LoopNest {
    /// The nest inside one more loop, which has further loops in it or not.
    pub fn inside(self, has_loops: bool) -> LoopNest {
        LoopNest { depth: self.depth + 1, is_outer: self.is_outer && has_loops }
    }
}

/// The statement that code is emitted for.
#[derive(Clone, Copy, Default)]
pub(super) struct EmitSite {
    /// The number of its site for errors, if it has been allocated.
    pub number: Option<u32>,
    pub span: Span,
}

impl EmitSite {
    /// A statement whose site has not been allocated.
    pub fn of(span: Span) -> EmitSite {
        EmitSite { number: None, span }
    }
}
