//! Derivatives as numbers: every transformation against central differences, against each other, and nested, with
//! the reference evaluator, at points away from kinks. Gradients must have the same bits under every plan.

use crate::common;

use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::FnId;
use adl_ir::eval::Val;
use common::programs::PROGRAMS;
use common::{check, gradient};

fn program(name: &str, text: &str) -> adl_ir::Program {
    adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn derivatives_agree() {
    for (name, text) in PROGRAMS {
        check(name, program(name, text), &UnzipPlan::store_all(), Segments::None, false);
    }
}

#[test]
fn gradients_are_the_same_bits_under_every_plan() {
    for (name, text) in PROGRAMS {
        let stored = check(name, program(name, text), &UnzipPlan::store_all(), Segments::None, false);
        for (plan, how) in [
            (UnzipPlan::recompute_all(), Segments::None),
            (UnzipPlan::store_all(), Segments::Sqrt),
            (UnzipPlan::store_all(), Segments::Partial(130)),
            (UnzipPlan::store_all(), Segments::Partial(255)),
            (UnzipPlan::store_all(), Segments::Revolve(2)),
            (UnzipPlan::store_all(), Segments::Revolve(100)),
            (UnzipPlan::recompute_all(), Segments::Revolve(1)),
        ] {
            let other = check(&format!("{name} under {plan:?} {how:?}"), program(name, text), &plan, how, false);
            assert_eq!(stored, other, "{name} under {plan:?} {how:?}");
        }
    }
}

#[test]
fn gradients_of_loops_that_turn_seldom_are_the_same_under_every_plan() {
    let text = "fn f0 f (v0: f64, v1: f64, v2: i64) -> (f64) {
        v3: f64, v4: i64 = loop for v2 carry (v0) (v5: i64, v6: f64) { v7: f64 = mul v6 v1 v8: f64 = sin v7 return v8 }
        return v3 }";
    for trips in [0, 1, 2, 5] {
        let at = [Val::F64(0.7), Val::F64(1.3), Val::I64(trips)];
        let stored = gradient(program("loop", text), FnId(0), &at, &UnzipPlan::store_all(), Segments::None);
        let parts = [1, 130, 255].map(Segments::Partial);
        for how in [Segments::Sqrt, Segments::Revolve(1), Segments::Revolve(3)].into_iter().chain(parts) {
            let other = gradient(program("loop", text), FnId(0), &at, &UnzipPlan::store_all(), how);
            assert_eq!(stored, other, "{trips} iterations under {how:?}");
        }
    }
}

#[test]
fn what_says_whether_a_loop_goes_on_is_not_stored() {
    let text = "fn f0 f (v0: f64) -> (f64) {
        v1: bool = true v2: bool = false v3: f64 = 100.0
        v4: bool, v5: f64, v6: i64 = loop while (v7: bool, v8: f64) { return v7 } carry (v1, v0) (v9: i64, v10: bool, v11: f64) {
            v12: f64 = exp v11 v13: f64 = add v12 v11 v14: bool = lt v13 v3
            v15: bool, v16: f64 = if v14 { return v1, v13 } else { return v2, v11 }
            return v15, v16 }
        return v5 }";
    check("while", program("while", text), &UnzipPlan::store_all(), Segments::None, false);
    let mut p = program("while", text);
    let (mut ad, f) = (adl_ad::Ad::new(), adl_ir::FnId(0));
    let j = ad.jvp(&mut p, f, &[true]).unwrap_or_else(|e| panic!("{}", e.why));
    let u = ad.unzip(&mut p, j.func, &UnzipPlan::store_all()).unwrap_or_else(|e| panic!("{}", e.why));
    let primal = p.func(u.primal);
    let kept = primal.tys(&primal.body.results);
    assert!(kept.iter().all(|t| *t.scalar() != adl_ir::Ty::Bool), "{kept:?}");
}

#[test]
fn each_residual_of_a_primal_half_is_described() {
    let mut packed = 0;
    for (name, text) in PROGRAMS {
        let mut p = program(name, text);
        for f in (0..p.funcs.len()).map(|k| FnId(k as u32)) {
            let (mut ad, wrt) = (adl_ad::Ad::new(), vec![true; p.func(f).body.params.len()]);
            let Ok(j) = ad.jvp(&mut p, f, &wrt) else { continue };
            let Ok(u) = ad.unzip(&mut p, j.func, &UnzipPlan::store_all()) else { continue };
            let results = p.func(u.primal).body.results.len();
            assert_eq!(u.residuals.len(), results - u.results, "{name}, f{}", f.0);
            packed += usize::from(u.boxed.is_some());
        }
    }
    assert!(packed > 5, "{packed}");
}
