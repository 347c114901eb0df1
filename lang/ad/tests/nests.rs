//! Random comprehensions over one and two indices that read arrays at affine indices, some behind tests of bounds and
//! some the wrong way round: their derivatives agree with differences, and both modes with each other.

use crate::common;

use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::FnId;
use adl_ir::eval::Val;
use common::nests::{LONG, OUTSIDE, bracketed, text};

/// A vector and a matrix with the extents that the functions need.
fn arrays() -> [Val; 2] {
    let real = |k: usize| Val::F64((k as f64 * 0.73).sin() + 0.2);
    [
        Val::array(vec![LONG], (0..LONG).map(real).collect()),
        Val::array(vec![LONG, LONG], (0..LONG * LONG).map(|k| real(k + LONG)).collect()),
    ]
}

#[test]
fn derivatives_of_affine_comprehensions_agree() {
    let args = arrays();
    for seed in 0..120 {
        let text = text(seed);
        let p = adl_ir::parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let plan = if seed % 3 == 0 { UnzipPlan::recompute_all() } else { UnzipPlan::store_all() };
        common::check_at(&text, p, FnId(0), &args, &plan, Segments::None, seed % 2 == 0);
    }
}

/// Each term of a sum under a predicate is added once, and no other, however the predicate narrows the sum.
#[test]
fn derivatives_of_sums_under_predicates_agree() {
    let args = [&arrays()[..], &OUTSIDE.map(Val::I64)].concat();
    for seed in 0..400 {
        let text = bracketed(seed);
        let p = adl_ir::parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        common::check_at(&text, p, FnId(0), &args, &UnzipPlan::store_all(), Segments::None, seed % 2 == 0);
    }
}
