//! Random comprehensions over one and two indices that read arrays at affine indices, some behind tests of bounds and
//! some the wrong way round: their derivatives agree with differences, and both modes with each other.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::FnId;
use adl_ir::eval::Val;
use common::nests::{LONG, text};

#[test]
fn derivatives_of_affine_comprehensions_agree() {
    let real = |k: usize| Val::F64((k as f64 * 0.73).sin() + 0.2);
    let args = [
        Val::array(vec![LONG], (0..LONG).map(real).collect()),
        Val::array(vec![LONG, LONG], (0..LONG * LONG).map(|k| real(k + LONG)).collect()),
    ];
    for seed in 0..120 {
        let text = text(seed);
        let p = adl_ir::parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let plan = if seed % 3 == 0 { UnzipPlan::recompute_all() } else { UnzipPlan::store_all() };
        common::check_at(&text, p, FnId(0), &args, &plan, Segments::None, seed % 2 == 0);
    }
}
