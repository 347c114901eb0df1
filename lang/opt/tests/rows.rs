//! Each pass on random chains of operations from the table of operations, and on random loops over vectors: the function
//! stays valid, and its results are the same. Chains apply every operation to results of others, so that a pass meets
//! pairs that no program of `tests/passes` has.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use adl_ir::eval::{Val, run};
use adl_ir::generate::maps;
use adl_ir::generate::rows::{self, Case};
use adl_ir::{Ty, Zeros};
use adl_opt::Step::{self, All, Run};
use adl_opt::pipelines;

/// Each pass, and the pipelines that run on whole functions. The result of the pass left out is for a device only.
fn all() -> Vec<(String, Vec<Step>)> {
    let passes = pipelines::PASSES.iter().copied().filter(|pass| pass.name != pipelines::DEVICE_VECTORS.name);
    let single = passes.map(|pass| (pass.name.to_owned(), vec![Run(pass)]));
    let pipelines = [
        ("FUNCTION", vec![All(pipelines::FUNCTION)]),
        ("PLAIN", vec![All(pipelines::PLAIN), All(pipelines::SUM_ORDER)]),
        ("FINISH", vec![All(pipelines::INLINED), All(pipelines::FINISH)]),
        ("NATIVE", vec![All(pipelines::FINISH), All(pipelines::POINTWISE), All(pipelines::NATIVE)]),
        ("SMALL", vec![All(pipelines::FINISH), All(pipelines::SMALL)]),
        ("FOR_DEVICE", vec![All(pipelines::INLINED), All(pipelines::FOR_DEVICE)]),
    ];
    single.chain(pipelines.map(|(name, steps)| (name.to_owned(), steps))).collect()
}

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

fn check(case: &Case) {
    let want = case.results.as_ref().unwrap();
    for (name, steps) in all() {
        for zeros in [Zeros::Materialized, Zeros::Symbolic] {
            let (mut program, mut made) = (case.program.clone(), (**case.program.func(case.main)).clone());
            adl_opt::run(&steps, &program, &mut made, zeros);
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
    for scalar in [Ty::F64, Ty::I64] {
        (0..150).for_each(|seed| check(&rows::chain(seed, 3 + seed as usize % 12, &scalar, |_| true)));
    }
}

#[test]
fn passes_keep_the_results_of_maps() {
    (0..400).for_each(|seed| check(&maps::program(seed, 3 + seed as usize % 8)));
}
