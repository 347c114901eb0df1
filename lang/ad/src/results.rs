//! What the transformations of a function give, as the memo keeps it. The modules of the transformations, which use the
//! memo, re-export these types.

use crate::unzip::Residual;
use adl_ir::{DataId, FnId, Ty, Var};
use adl_syntax::span::Span;
use std::collections::HashMap;
use std::rc::Rc;

/// A function with its tangents: `(x… ; ẋ…) -> (y… ; ẏ…)`.
#[derive(Clone, Debug)]
pub struct Jvp {
    /// The function.
    pub func: FnId,
    /// For each result of the primal, whether it has a tangent.
    pub active: Vec<bool>,
}

/// The two halves of a function.
#[derive(Clone, Debug)]
pub struct Unzipped {
    /// `(x…) -> (y…, r…)`.
    pub primal: FnId,
    /// Number of `y`s.
    pub results: usize,
    /// `(r… ; ẋ…) -> ( ; ẏ…)`.
    pub linear: FnId,
    /// The primal half that callers with the arguments call: its residuals are those after the first `passed`.
    pub called: FnId,
    /// The arguments of a recursive function that are its first residuals, by their positions.
    pub passed: Rc<[usize]>,
    /// The data type that packs all other residuals, for recursive functions and those with more than `PASSED_ON`
    /// residuals of callees.
    pub boxed: Option<DataId>,
    /// For each result of the primal half after the first `results`, the residuals that it stands for. The arms of
    /// a branch share slots, and the residuals of a recursive function are one value.
    pub residuals: Vec<Vec<Residual>>,
    /// Residuals that are variables of this function, not of its callees.
    pub own: Rc<[Residual]>,
    /// Variables that the linear half recomputes, with their copies there.
    pub moved: Rc<[(Var, Var)]>,
    /// Arms of branches that the linear half selects by comparing a number, with the number of comparisons.
    pub compared: Rc<[(BranchArm, u64)]>,
    /// The data types in which blocks pack their residuals.
    pub packs: Rc<[DataId]>,
    /// Scalar slots that hold residuals of other arms, and packed ones: the statement (by a result), the block in
    /// it, and the type.
    pub padding: Rc<[(Var, u32, Ty)]>,
}

/// How loops are segmented.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Segments {
    /// Not at all.
    #[default]
    None,
    /// √n segments.
    Sqrt,
    /// √n segments, except for the last k of [`crate::segment::PARTS`] parts of the iterations, whose intermediates are stored.
    Partial(u32),
    /// Binomial checkpointing with this number of states.
    Revolve(u32),
}

/// The rule that differentiates a construct: a reduction, scan, histogram, loop or comprehension, or an operation
/// that moves elements.
#[derive(Clone, PartialEq, Debug)]
pub struct Decision {
    /// The source location.
    pub span: Span,
    /// `reduce`, `scan`, `scan_exclusive`, `reduce_by_index`, `comprehension`, `loop`, `gather`,
    /// `scatter`, `sort` or `collective`.
    pub construct: &'static str,
    /// The rule, with its section of the paper.
    pub rule: &'static str,
    /// Why no faster rule applied, or why this one was chosen; empty for the fastest rule.
    pub why: String,
}

/// A function that computes the pattern.
#[derive(Clone, Debug)]
pub struct Structure {
    /// `(r… ; ẋ…) -> ( ; ẏ…)`.
    pub func: FnId,
    /// For each residual, whether the function reads it.
    pub reads: Vec<bool>,
    /// Whether every entry of the pattern occurs at every point: there are no branches on data, and no products of
    /// matrices whose elements may be 0.
    pub exact: bool,
}

/// A counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Count {
    /// Runs of a block of a function. Blocks are numbered in the order in which they open; 0 is the body.
    Runs(FnId, u32),
    /// Total number of elements of all arrays that a variable held.
    Elements(FnId, Var),
    /// Sum of the extents of an axis (other than the last) of all arrays that a variable held.
    Extent(FnId, Var, u32),
    /// Work of a statement (identified by its first result), if it is not the number of elements.
    Work(FnId, Var),
    /// Work of checkpointed calls that is repeated in the reverse pass, counted again for each enclosing checkpoint.
    Again,
    /// Work of a checkpointed call (identified by its first result) in the forward pass.
    Inside(FnId, Var),
}

/// A function with counters.
#[derive(Clone, Debug)]
pub struct Profile {
    /// `(x…) -> (y…, count…, peak)`.
    pub func: FnId,
    /// Number of `y`s.
    pub results: usize,
    /// What each count is.
    pub counts: Vec<Count>,
}

/// The work of one run of a statement, without its blocks and callees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WorkUnit {
    /// No work.
    Free,
    /// One unit.
    One,
    /// One unit for each element of the first result.
    Elements,
    /// Anything else; such a statement has a counter of its own.
    Own,
}

/// A statement, identified by its results.
#[derive(Clone, Debug)]
pub(crate) struct StmtSite {
    /// The block that contains it.
    pub block: u32,
    /// Its first result.
    pub key: Var,
    pub unit: WorkUnit,
    /// The range of its nested blocks: the first, and the one after the last.
    pub inside: (u32, u32),
    /// The functions called by it or inside of it, with the block of each call.
    pub calls: Vec<(u32, FnId)>,
}

/// The blocks and statements of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionSites {
    /// For each block, the number of statements that cost one unit.
    pub blocks: Vec<u64>,
    /// The statements that cost one unit: the block, and a result.
    pub ones: Vec<(u32, Var)>,
    /// Checkpointed calls, by a result.
    pub regions: Vec<Var>,
    /// Non-linear variables that hold arrays.
    pub arrays: Vec<Var>,
    /// Statements with counters of their own.
    pub own: Vec<Var>,
    /// Results of statements that cost one unit for each element.
    pub elementwise: Vec<Var>,
    /// The statement that binds a variable. (Parameters have none.)
    pub made: HashMap<Var, Rc<StmtSite>>,
    /// The block that binds a variable.
    pub block_of: HashMap<Var, u32>,
    /// The blocks of branches, by a result of their statement and the index of the arm.
    pub arms: HashMap<(Var, u32), u32>,
}

/// Helper functions that rules call, by element type: `others` and its rule.
#[derive(Default)]
pub(crate) struct Helpers {
    pub others: HashMap<Ty, (FnId, FnId)>,
    /// The same for products in bins.
    pub in_bins: Products,
}

/// The helper function and its derivative rule, for each element type.
pub(crate) type Products = HashMap<Ty, (FnId, FnId)>;

/// A block of a branch: a result of the branch's statement, and the index of the block in it.
pub(crate) type BranchArm = (Var, u32);
