//! Derivatives as numbers: every transformation against central differences, against each other, and nested, with the reference
//! evaluator, at points away from kinks. Under every plan the gradient is the same to the last bit.

mod common;

use adl_ad::segment::Segments;
use adl_ad::unzip::Plan;
use common::check;
use common::programs::PROGRAMS;

fn program(name: &str, text: &str) -> adl_ir::Program {
    adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn derivatives_agree() {
    for (name, text) in PROGRAMS {
        check(name, program(name, text), &Plan::store_all(), Segments::None, None);
    }
}

#[test]
fn gradients_are_the_same_bits_under_every_plan() {
    for (name, text) in PROGRAMS {
        let stored = check(name, program(name, text), &Plan::store_all(), Segments::None, None);
        for (plan, how) in [(Plan::recompute_all(), Segments::None), (Plan::store_all(), Segments::Sqrt), (Plan::store_all(), Segments::Revolve(2)), (Plan::store_all(), Segments::Revolve(100)), (Plan::recompute_all(), Segments::Revolve(1))] {
            let other = check(&format!("{name} under {plan:?} {how:?}"), program(name, text), &plan, how, None);
            assert_eq!(stored, other, "{name} under {plan:?} {how:?}");
        }
    }
}
