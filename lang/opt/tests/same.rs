//! The optimiser between J and U changes no value and no derivative, and leaves no more residuals than there were.

#[path = "../../ad/tests/common/mod.rs"]
mod common;

use adl_ad::Ad;
use adl_ad::segment::Segments;
use adl_ad::unzip::Plan;
use adl_ir::FnId;
use common::check;
use common::programs::PROGRAMS;

#[test]
fn derivatives_agree_when_optimised() {
    for (name, text) in PROGRAMS {
        let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        check(name, p, &Plan::store_all(), Segments::None, Some(adl_opt::function));
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
            let l = ad.linearize_with(&mut p, f, &wrt, &Plan::store_all()).unwrap_or_else(|e| panic!("{name}: {}", e.why));
            p.func(l.primal).body.results.len()
        };
        let (plain, optimised) = (count(None), count(Some(adl_opt::function)));
        assert!(optimised <= plain, "{name}: {optimised} results against {plain}");
    }
}
