//! Which operations of the table have derivatives.

use adl_ir::{Conv, Lit, Op, Ty};
use adl_prim::{ArrayFn, NumberFn, Prim, ReductionFn};

/// Built-ins without a rule: specialisation makes other operations of them.
const SPECIALISED: [Prim; 5] = [
    Prim::Reduction(ReductionFn::Prod),
    Prim::Reduction(ReductionFn::Cumprod),
    Prim::Array(ArrayFn::Append),
    Prim::Array(ArrayFn::ScatterWithin),
    Prim::Number(NumberFn::PowInt),
];

/// Whether an operation has a derivative, of which differences in f64 are a measure.
pub fn has_derivative(op: &Op) -> bool {
    match op {
        Op::Prim(prim, _) => !SPECIALISED.contains(prim),
        Op::Convert(Conv::ToF32, _) | Op::Lit(Lit::F32(_)) => false,
        Op::Zero(ty) => *ty.scalar() != Ty::F32,
        // The optimiser makes contractions when all is differentiated.
        Op::Contract(_) => false,
        _ => true,
    }
}
