//! The examples of the standard modules, specialised.

use crate::common;

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

#[test]
fn examples_of_the_standard_modules() {
    let (mut wrong, mut refused, mut good) = (Vec::new(), 0, 0);
    for (module, source) in adl_std::MODULES {
        for example in examples(source) {
            // The module's own names are in scope in its documentation.
            let names =
                source.lines().filter_map(|l| l.strip_prefix("let ")).map(|l| l.strip_prefix("rec ").unwrap_or(l));
            let names: Vec<&str> = names
                .filter_map(|l| l.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).next())
                .collect();
            let lets: String = names
                .iter()
                .filter(|n| example.contains(**n) && !example.contains(&format!("{module}.{n}")))
                .map(|n| format!("let {n} = {module}.{n}\n"))
                .collect();
            let text = format!("{lets}let it = {example}\nlet main () = it");
            let Ok(want) = common::by_vm(&text) else { continue };
            match common::by_ir(&text) {
                Ok(got) if common::agree(&got, &want) => good += 1,
                Err(why) if REFUSED.iter().any(|r| why.contains(r)) => refused += 1,
                got => wrong.push(format!("{module}: {example}\n    specialised {got:?}\n    ordinary    {want}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{good} good, {refused} refused\n{}", wrong.join("\n"));
    assert!(good > 20 && refused < 90, "{good} good, {refused} refused");
}
