//! The examples of the standard modules, specialised.

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};

/// The reasons why some examples are not specialised, and how many they are.
const REFUSED: &[&str] = &[
    "text made of values",
    "inside a differentiated function",
    "in a function that is differentiated inside another",
    "the reference evaluator does not know",
    "an engine of reverse mode",
    "a result that is a function",
];

/// Examples in a module's documentation that consist of one expression.
fn examples(source: &str) -> Vec<String> {
    source
        .lines()
        .filter_map(|l| l.trim_start().strip_prefix("--| >>> "))
        .filter(|l| !l.starts_with("let ") || l.contains(" in "))
        .map(str::to_owned)
        .collect()
}

/// What examples of a module gave.
#[derive(Default)]
struct ExampleResults {
    wrong: Vec<String>,
    refused: usize,
    good: usize,
}

fn check(module: &str, source: &str, outcome: &mut ExampleResults) {
    for example in examples(source) {
        // The module's own names are in scope in its documentation.
        let names = source.lines().filter_map(|l| l.strip_prefix("let ")).map(|l| l.strip_prefix("rec ").unwrap_or(l));
        let names: Vec<&str> =
            names.filter_map(|l| l.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).next()).collect();
        let lets: String = names
            .iter()
            .filter(|n| example.contains(**n) && !example.contains(&format!("{module}.{n}")))
            .map(|n| format!("let {n} = {module}.{n}\n"))
            .collect();
        let text = format!("{lets}let it = {example}\nlet main () = it");
        let Ok(want) = common::by_vm(&text) else { continue };
        match common::by_ir(&text) {
            Ok(got) if common::agree(&got, &want) => outcome.good += 1,
            Err(why) if REFUSED.iter().any(|r| why.contains(r)) => outcome.refused += 1,
            got => {
                outcome.wrong.push(format!("{module}: {example}\n    specialised {got:?}\n    ordinary    {want}"));
            }
        }
    }
}

#[test]
fn examples_of_the_standard_modules() {
    // It takes most of the time of this program, so both of two cores have a part.
    let next = AtomicUsize::new(0);
    let part = || {
        let mut outcome = ExampleResults::default();
        while let Some((module, source)) = adl_std::MODULES.get(next.fetch_add(1, Ordering::Relaxed)) {
            check(module, source, &mut outcome);
        }
        outcome
    };
    let parts = std::thread::scope(|scope| [(); 2].map(|()| scope.spawn(part)).map(|part| part.join().unwrap()));
    let count = |of: fn(&ExampleResults) -> usize| parts.iter().map(of).sum::<usize>();
    let (good, refused) = (count(|part| part.good), count(|part| part.refused));
    let wrong: Vec<&str> = parts.iter().flat_map(|part| &part.wrong).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{good} good, {refused} refused\n{}", wrong.join("\n"));
    assert!(good > 20 && refused < 90, "{good} good, {refused} refused");
}
