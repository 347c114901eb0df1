//! `adl check --explain CODE` knows every code that is used anywhere.

use std::collections::BTreeSet;
use std::path::Path;

fn explained(code: &str) -> Option<&'static str> {
    adl_syntax::explain(code).or_else(|| adl_typing::errors::explain(code)).or_else(|| adl_interp::error::explain(code))
}

/// String literals that look like codes in the library sources under `dir`.
fn codes(dir: &Path, all: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" && name != "target" && !name.starts_with('.') {
            codes(&path, all);
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or("");
            all.extend(code.split('"').filter(|s| is_code(s)).map(str::to_owned));
        }
    }
}

fn is_code(text: &str) -> bool {
    text.len() == 5 && text.starts_with(['E', 'W']) && text[1..].chars().all(|c| c.is_ascii_digit())
}

/// Codes of names, types, sizes, patterns, linearity and derivatives.
fn is_of_types(code: &str) -> bool {
    matches!(&code[2..3], "2" | "3" | "4" | "5" | "6")
}

#[test]
fn every_code_is_explained_with_an_example() {
    let mut all = BTreeSet::new();
    for dir in ["lang", "repl"] {
        codes(&adl_tests::root().join(dir), &mut all);
    }
    assert!(all.len() > 70, "only {} codes were found", all.len());
    let mut wrong = Vec::new();
    for code in &all {
        match explained(code) {
            None => wrong.push(format!("{code} has no explanation")),
            Some(_) if is_of_types(code) => {}
            Some(text) if !text.contains("\n\n    ") => wrong.push(format!("{code} has no example")),
            Some(text) if !text.contains("-- wrong") || !text.contains("-- right") => wrong.push(format!("{code} does not show wrong and right")),
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
