//! The derivative of each row of the table of operations, on all ways to apply it to a small pool of numbers and arrays:
//! differences, both modes, the transpose, the transpose of the transpose, and second derivatives. The same on random
//! chains of operations.

use crate::common;

use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Val, run};
use adl_ir::generate::maps;
use adl_ir::generate::rows::{self, Case};
use adl_ir::{Op, Ty};
use common::rules::has_derivative;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The faults of those cases whose derivatives are wrong.
fn wrong(cases: impl Iterator<Item = Case>) -> Vec<String> {
    let checked = cases.filter(|case| {
        let f = case.program.func(case.main);
        let real = f.tys(&f.body.params).iter().any(|ty| ty.scalar().is_real());
        real && case.results.as_ref().is_ok_and(|vals| vals.iter().flat_map(Val::reals).all(f64::is_finite))
    });
    let check = |case: Case| {
        // Half of the chains are optimised between the steps.
        let optimise = case.name.ends_with(['1', '3', '5', '7', '9']);
        let run = || {
            common::check_at(
                &case.name,
                case.program.clone(),
                case.main,
                &case.args,
                &UnzipPlan::store_all(),
                Segments::None,
                optimise,
            )
        };
        catch_unwind(AssertUnwindSafe(run)).err().map(|e| {
            let why = e.downcast_ref::<String>().cloned().unwrap_or_default();
            format!("{why}\n{}{:?}", case.text(), case.args)
        })
    };
    checked.filter_map(check).collect()
}

#[test]
fn derivatives_of_all_rows_agree_with_differences() {
    let cases = rows::instances(&Ty::F64).into_iter().filter(|case| case.op().is_some_and(has_derivative));
    let wrong = wrong(cases);
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
}

#[test]
fn derivatives_of_chains_agree_with_differences() {
    let wrong = wrong((0..300).map(|seed| rows::chain(seed, 4 + seed as usize % 9, &Ty::F64, has_derivative)));
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
}

#[test]
fn derivatives_of_maps_agree_with_differences() {
    let wrong = wrong((0..200).map(|seed| maps::program(seed, 3 + seed as usize % 6)));
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n"));
}

#[test]
fn segments_do_not_change_gradients() {
    for seed in 0..120 {
        let case = maps::program(seed, 3 + seed as usize % 6);
        let bits = |how| {
            let program = case.program.clone();
            format!("{:?}", common::gradient(program, case.main, &case.args, &UnzipPlan::store_all(), how))
        };
        let plain = bits(Segments::None);
        for how in [Segments::Sqrt, Segments::Revolve(2), Segments::Partial(2)] {
            assert_eq!(plain, bits(how), "{}", case.text());
        }
    }
}

/// At 0 some rules divide by 0 unless they take care.
#[test]
fn derivatives_of_built_ins_are_finite_at_zero() {
    for case in rows::instances(&Ty::F64) {
        let Some(Op::Prim(prim, _)) = case.op().filter(|op| has_derivative(op)) else { continue };
        let zero = |val: &Val| match val {
            Val::F64(_) => Val::F64(0.0),
            Val::Array(a) if a.elems.iter().all(|e| matches!(e, Val::F64(_))) => {
                Val::array(a.shape.clone(), vec![Val::F64(0.0); a.elems.len()])
            }
            other => other.clone(),
        };
        let args: Vec<Val> = case.args.iter().map(zero).collect();
        let (mut program, mut ad) = (case.program.clone(), adl_ad::Ad::new());
        let wrt = vec![true; args.len()];
        let linearized = ad.linearize_with(&mut program, case.main, &wrt, &UnzipPlan::store_all()).unwrap();
        let Ok(out) = run(&program, linearized.primal, &args, &[]) else { continue };
        let residuals = &out.results[linearized.results..];
        let f = program.func(linearized.tangent);
        let real = case.args.iter().filter(|arg| !arg.reals().is_empty()).cloned();
        let dx: Vec<Val> = real.take(f.body.params.len() - residuals.len()).collect();
        let dy = run(&program, linearized.tangent, &[residuals, &dx[..]].concat(), &[]).unwrap().results;
        assert!(dy.iter().flat_map(Val::reals).all(f64::is_finite), "{} at 0: {dy:?}", prim.name());
    }
}
