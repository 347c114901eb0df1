//! The derivative of each row of the table of operations, on all ways to apply it to a small pool of numbers and arrays:
//! differences, both modes, the transpose, the transpose of the transpose, and second derivatives. The same on random
//! chains of operations.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::generate::rows::{self, Case};
use adl_ir::{Conv, Lit, Op, Ty};
use adl_prim::{ArrayFn, NumberFn, Prim, ReductionFn};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The faults of those cases whose derivatives are wrong.
fn wrong(cases: impl Iterator<Item = Case>) -> Vec<String> {
    let checked = cases.filter(|case| {
        let f = case.program.func(case.main);
        let real = f.tys(&f.body.params).iter().any(|ty| ty.scalar().is_real());
        real && case.results.as_ref().is_ok_and(|vals| vals.iter().flat_map(|v| v.reals()).all(f64::is_finite))
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
            format!("{why}\n{}", case.text())
        })
    };
    checked.filter_map(check).collect()
}

/// Built-ins without a rule: specialisation makes other operations of them.
const SPECIALISED: [Prim; 9] = [
    Prim::Reduction(ReductionFn::Sum),
    Prim::Reduction(ReductionFn::Cumsum),
    Prim::Reduction(ReductionFn::Prod),
    Prim::Reduction(ReductionFn::Cumprod),
    Prim::Array(ArrayFn::Append),
    Prim::Array(ArrayFn::ScatterWithin),
    Prim::Number(NumberFn::PowInt),
    Prim::Number(NumberFn::ToFloat),
    Prim::Number(NumberFn::ToF32),
];

/// Whether an operation has a derivative, of which differences in f64 are a measure.
fn has_derivative(op: &Op) -> bool {
    match op {
        Op::Prim(prim, _) => !SPECIALISED.contains(prim) && *prim != Prim::Number(NumberFn::F32ToFloat),
        Op::Convert(Conv::ToF32, _) | Op::Lit(Lit::F32(_)) => false,
        Op::Zero(ty) => *ty.scalar() != Ty::F32,
        // The optimiser makes contractions when all is differentiated.
        Op::Contract(_) => false,
        _ => true,
    }
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
