//! Extrema of vectors, as operations.

use adl_ir::{Op, Var};
use adl_prim::{Prim, ReductionFn};

/// The vector whose extremum an operation finds, whether it is the least, and whether its position is wanted.
pub(super) fn searched(op: &Op) -> Option<(Var, bool, bool)> {
    let Op::Prim(Prim::Reduction(reduction), args) = op else { return None };
    let (least, position) = match reduction {
        ReductionFn::Argmax => (false, true),
        ReductionFn::Argmin => (true, true),
        ReductionFn::Maximum => (false, false),
        ReductionFn::Minimum => (true, false),
        _ => return None,
    };
    Some((*args.first()?, least, position))
}
