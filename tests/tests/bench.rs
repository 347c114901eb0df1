//! The benchmarks' C++ compiles and agrees with adl: values and gradients of every program in every style, at small
//! sizes. Nothing is asserted about times.

use adl_tests::bench::native::{ByHand, sources};
use adl_tests::bench::programs::measure;
use adl_tests::bench::report::{Report, significant};
use adl_tests::bench::table::programs;
use adl_tests::bench::{Row, Times, compare};
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

fn row(ours: f64, hand: Option<f64>) -> Row {
    let times = |least| Times { least, median: least };
    let by_hand = (None, hand.map(times));
    let name = "a|b".to_owned();
    Row { name, size: "3".to_owned(), primal: None, gradient: Some(times(ours)), by_hand, memory: None }
}

#[test]
fn means_and_counts_are_of_the_rows_with_a_ratio() {
    let topics = vec![("One", vec![row(8.0, Some(1.0)), row(2.0, Some(1.0))]), ("Two", vec![row(1.0, None)])];
    let report = Report { compiler: Some("g++ 1".to_owned()), threads: 1, seconds: 0.25, topics };
    let summary = report.summary();
    assert!(summary.contains("| One | 2 | - | 4.00 | 1 |"), "{summary}");
    assert!(summary.contains("| Two | 1 | - | - | 0 |"), "{summary}");
    assert!(summary.contains("| **all** | 3 | - | 4.00 | 1 |"), "{summary}");
    let text = report.markdown();
    assert!(text.contains("| a\\|b | 3 | – | – | - | 8.00 | 1.00 | 8.00 | - |"), "{text}");
    assert!(text.contains("the runs of 0.25 s"), "{text}");
    assert!(text.contains("g++ 1, `-std=c++17 -O3 -ffast-math -march=native"), "{text}");
}

#[test]
fn times_have_three_digits() {
    assert_eq!([0.001234, 0.1234, 1.234, 12.34, 1234.0].map(significant), ["0.00123", "0.123", "1.23", "12.3", "1234"]);
}
