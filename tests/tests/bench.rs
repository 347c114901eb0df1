//! The benchmarks' C++ compiles and agrees with adl: values and gradients of every program in every style, at small
//! sizes. Nothing is asserted about times.

use adl_tests::bench::compare;
use adl_tests::bench::native::{ByHand, sources};
use adl_tests::bench::programs::measure;
use adl_tests::bench::table::programs;
use std::collections::BTreeSet;

#[test]
fn programs_agree_with_the_same_by_hand() {
    let hand = ByHand::compile().unwrap();
    let (mut wrong, mut rows, mut with_ratio) = (Vec::new(), 0, 0);
    for p in programs() {
        let before = rows;
        let made = measure(p, (p.small, p.styles), hand.as_ref(), 0.0, &mut |row| {
            rows += 1;
            with_ratio += usize::from(row.by_hand.1.is_some());
        });
        wrong.extend(made.err().map(|e| format!("{} at {}: {e}", p.name, p.small)));
        assert!(!wrong.is_empty() || rows == before + p.styles.len());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows > 110, "{rows} rows");
    assert!(hand.is_none() || with_ratio == rows - 8, "{with_ratio} of {rows} rows have a ratio");
}

#[test]
fn every_problem_by_hand_is_used_and_readable() {
    let used: BTreeSet<&str> = programs().map(|p| p.cpp).filter(|c| !c.is_empty()).collect();
    let text: String = sources().unwrap().iter().map(|p| std::fs::read_to_string(p).unwrap()).collect();
    let made: BTreeSet<&str> = text.lines().filter_map(|l| l.strip_prefix("PROBLEM(")?.strip_suffix(')')).collect();
    assert_eq!(used, made);
    let wide: Vec<&str> = text.lines().filter(|l| l.chars().count() > 120).collect();
    assert!(wide.is_empty(), "lines of more than 120 columns:\n{}", wide.join("\n"));
}

#[test]
fn other_numbers_are_found() {
    assert_eq!(compare("x", &[1.0, 2.0], &[1.0, 2.0 + 1e-12]), Ok(()));
    for other in [vec![1.0, 2.0 + 1e-6], vec![2.0, 1.0], vec![1.0], vec![1.0, f64::NAN]] {
        assert!(compare("x", &[1.0, 2.0], &other).is_err(), "{other:?}");
        assert!(compare("x", &other, &[1.0, 2.0]).is_err(), "{other:?}");
    }
}
