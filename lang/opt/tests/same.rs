//! The optimiser between J and U changes no value and no derivative, and does not add residuals, extents aside.

use crate::common;

use adl_ad::Ad;
use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::{FnId, Ty};
use common::check;
use common::programs::PROGRAMS;

#[test]
fn derivatives_agree_when_optimised() {
    for (name, text) in PROGRAMS {
        let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        check(name, p, &UnzipPlan::store_all(), Segments::None, true);
    }
}

#[test]
fn there_are_no_more_residuals() {
    for (name, text) in PROGRAMS {
        // Scalar replacement makes a residual of each element of a small array.
        let parsed = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let last = parsed.funcs.len() - 1;
        if adl_opt::scalar_replacement::scalars(
            &mut (*parsed.funcs[last]).clone(),
            adl_opt::scalar_replacement::Sums::Kept,
        ) {
            continue;
        }
        let count = |optimise| {
            let mut p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            let f = FnId(p.funcs.len() as u32 - 1);
            let mut ad = Ad::new();
            ad.optimise = optimise;
            let wrt = vec![true; p.func(f).body.params.len()];
            let l = ad
                .linearize_with(&mut p, f, &wrt, &UnzipPlan::store_all())
                .unwrap_or_else(|e| panic!("{name}: {}", e.why));
            // Extents are not counted: the shape of a matrix may become two of them.
            let primal = p.func(l.primal);
            let tys = primal.tys(&primal.body.results);
            let cells = tys.iter().any(|t| matches!(t.scalar(), Ty::Data(_)));
            (tys.iter().filter(|t| *t.scalar() != Ty::I64).count(), cells)
        };
        let ((plain, cells), (optimised, _)) = (count(false), count(true));
        // Calls of recursive functions that are inlined have the fields of their cells one by one.
        assert!(cells || optimised <= plain, "{name}: {optimised} results against {plain}");
    }
}
