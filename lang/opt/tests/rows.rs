//! Each pass on random chains of operations from the table of operations, and on random loops over vectors: the function
//! stays valid, and its results are the same. Chains apply every operation to results of others, so that a pass meets
//! pairs that no program of `tests/passes` has.

use crate::steps;
use crate::variants;

use adl_ir::eval::{Val, run};
use adl_ir::generate::maps;
use adl_ir::generate::rows::{self, Case};
use adl_ir::{Op, Ty, Zeros};
use adl_opt::PipelineStep;

/// Whether values are equal, reals to rounding: some passes add in another order.
fn same(have: &Val, want: &Val) -> bool {
    let close = |x: f64, y: f64, eps: f64| (x - y).abs() <= eps * (1.0 + y.abs()) || x == y || x.is_nan() && y.is_nan();
    match (have, want) {
        (Val::F64(x), Val::F64(y)) => close(*x, *y, 1e-12),
        (Val::F32(x), Val::F32(y)) => close(f64::from(*x), f64::from(*y), 1e-5),
        (Val::Array(x), Val::Array(y)) => {
            x.shape == y.shape
                && x.elems.len() == y.elems.len()
                && x.elems.iter().zip(&y.elems).all(|(x, y)| same(x, y))
        }
        (x, y) => x == y,
    }
}

/// Runs a case after each of some pipelines.
fn check(case: &Case, all: &[(String, Vec<PipelineStep>)]) {
    let Ok(want) = &case.results else { return };
    for (name, steps) in all {
        for zeros in [Zeros::Materialized, Zeros::Symbolic] {
            let (mut program, mut made) = (case.program.clone(), (**case.program.func(case.main)).clone());
            adl_opt::run(steps, &program, &mut made, zeros);
            adl_ir::verify(&program, &made).unwrap_or_else(|e| panic!("{name}: {e:?}\n{}", case.text()));
            let after = program.add(made);
            let have = run(&program, after, &case.args, &[]).unwrap_or_else(|e| panic!("{name}: {e}\n{}", case.text()));
            let equal = have.results.len() == want.len() && have.results.iter().zip(want).all(|(x, y)| same(x, y));
            assert!(equal, "{name}: {:?}\nagainst {want:?}\nin {}", have.results, case.text());
        }
    }
}

#[test]
fn passes_keep_the_results_of_chains() {
    let all = steps::all();
    for scalar in [Ty::F64, Ty::I64] {
        (0..150).for_each(|seed| check(&rows::chain(seed, 3 + seed as usize % 12, &scalar, |_| true), &all));
    }
}

#[test]
fn passes_keep_the_results_of_maps() {
    let all = steps::all();
    (0..400).for_each(|seed| check(&maps::program(seed, 3 + seed as usize % 8), &all));
}

/// Single operations meet few passes, so only entire pipelines are run.
#[test]
fn pipelines_keep_the_results_at_other_arguments() {
    let all: Vec<_> = steps::all().into_iter().filter(|(name, _)| name.starts_with(char::is_uppercase)).collect();
    for scalar in [Ty::F64, Ty::I64] {
        // The sizes of a contraction are operands, which are trusted.
        let cases = variants::instances(&scalar, |op| !matches!(op, Op::Contract(_)));
        cases.iter().for_each(|case| check(case, &all));
    }
}
