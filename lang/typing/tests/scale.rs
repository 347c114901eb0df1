//! Large programs. If checking them took quadratic time or worse, these tests would not finish.

use crate::common;
#[path = "../../../tests/src/bench/large.rs"]
mod large;

use common::Checker;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Programs whose parts are unknown names, or do not unify.
const WITH_ERRORS: &[&str] = &["unknown names beside known ones", "unknown names in one item", "types that differ"];

#[test]
fn large_programs_are_checked() {
    // It takes most of the time of this program, so both of two cores have a part.
    let next = AtomicUsize::new(0);
    let part = || {
        let mut checker = Checker::new();
        while let Some((name, n, make)) = large::PROGRAMS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let errors = checker.check(&make(4 * n)).errors();
            assert_eq!(errors.is_empty(), !WITH_ERRORS.contains(name), "{name}: {:?}", errors.first());
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(part);
        scope.spawn(part);
    });
}

#[test]
fn suggestions_are_for_the_first_unknown_names() {
    let mut checker = Checker::new();
    let text: String = (0..2_000).map(|i| format!("let known{i} = {i}\nlet other{i} = knwn{i}\n")).collect();
    let out = checker.check(&text);
    assert_eq!(out.diags.len(), 2_000);
    assert_eq!(out.diags[0].hint.as_deref(), Some("did you mean `known0`?"));
    assert_eq!(out.diags[1_999].hint, None);
}

#[test]
fn a_match_of_too_many_combinations_is_an_error() {
    let mut checker = Checker::new();
    let some = vec!["(A | B)"; 40].join(", ");
    let out = checker.check(&format!("type C = A | B | C\nlet f x = match x with | ({some}) -> 1 | _ -> 0\n"));
    assert_eq!(out.errors(), ["E0401"]);
    assert!(out.diags[0].message.contains("too many"), "{}", out.diags[0].message);
    let all = vec!["(A | B | C)"; 40].join(", ");
    let out = checker.check(&format!("type C = A | B | C\nlet f x = match x with | ({all}) -> 1\n"));
    assert_eq!(out.errors(), Vec::<&str>::new());
}
