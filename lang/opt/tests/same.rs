//! The optimiser between J and U changes no value and no derivative, and does not add residuals.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../../ad/tests/common/mod.rs"]
mod common;

use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ad::{Ad, Zeros};
use adl_ir::{FnId, Function, Program};
use common::check;
use common::programs::PROGRAMS;

#[test]
fn derivatives_agree_when_optimised() {
    for (name, text) in PROGRAMS {
        let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        check(name, p, &UnzipPlan::store_all(), Segments::None, Some(adl_opt::function));
    }
}

/// The optimiser without scalar replacement, which makes a residual of each element of a small array.
fn but_for_small_arrays(p: &Program, f: &mut Function, arrays: Zeros) {
    if !adl_opt::scalar_replacement::scalars(&mut f.clone(), adl_opt::scalar_replacement::Sums::Kept) {
        adl_opt::function(p, f, arrays);
    }
}

#[test]
fn there_are_no_more_residuals() {
    for (name, text) in PROGRAMS {
        let count = |cleanup| {
            let mut p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            let f = FnId(p.funcs.len() as u32 - 1);
            let mut ad = Ad::new();
            ad.cleanup = cleanup;
            let wrt = vec![true; p.func(f).body.params.len()];
            let l = ad
                .linearize_with(&mut p, f, &wrt, &UnzipPlan::store_all())
                .unwrap_or_else(|e| panic!("{name}: {}", e.why));
            p.func(l.primal).body.results.len()
        };
        let (plain, optimised) = (count(None), count(Some(but_for_small_arrays)));
        assert!(optimised <= plain, "{name}: {optimised} results against {plain}");
    }
}
