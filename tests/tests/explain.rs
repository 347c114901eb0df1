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

/// Codes whose examples need files or much memory, never end, or are kept by the checker from happening. Those of syntax are tried in
/// `adl_syntax`, on the parser alone.
const NOT_RUN: &[&str] = &[
    "E0707", "E0708", "E0717", "E0718", "E0723", "E0724", "E0725", "E0801", "E0802", "E0803", "E0804", "E0805",
    "E0806", "E0807", "E0901",
];

/// The examples of an explanation, each a run of lines indented by four, taken apart into programs: each line that is marked wrong
/// or right goes with the lines of its example that are not marked.
fn programs(text: &str) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for example in text.split("\n\n").filter(|part| part.starts_with("    ")) {
        let lines: Vec<&str> = example.lines().map(|l| l.strip_prefix("    ").unwrap_or(l)).collect();
        let marked = |l: &str| l.contains("  -- wrong") || l.contains("  -- right");
        let shared: String = lines.iter().filter(|l| !marked(l)).map(|l| format!("{l}\n")).collect();
        all.extend(lines.iter().filter(|l| marked(l)).map(|l| (format!("{shared}{l}\n"), l.contains("  -- wrong"))));
    }
    all
}

/// What is not as the mark of a program says.
fn deviation(code: &str, program: &str, wrong: bool) -> Option<String> {
    let (mut s, _) = adl_tests::session();
    // Values that stand alone show what is meant.
    let alone = |c: &&str| *c != "W0215" || code == "W0215";
    let mut have: Vec<&str> =
        s.run_file("example.adl", program.as_bytes()).diags.iter().map(|d| d.code).filter(alone).collect();
    have.dedup();
    let want: &[&str] = if wrong { &[code] } else { &[] };
    (have != want).then(|| format!("{code} gives {have:?}:\n{program}"))
}

#[test]
fn the_examples_of_types_and_of_runs_are_wrong_and_right() {
    let mut failures = Vec::new();
    let of_types = adl_typing::errors::codes();
    let of_runs = adl_interp::error::explained();
    for code in of_types.chain(of_runs).filter(|c| !NOT_RUN.contains(c)) {
        let programs = programs(explained(code).unwrap_or(""));
        for wrong in [true, false] {
            if !programs.iter().any(|(_, w)| *w == wrong) {
                failures.push(format!("{code} has no example that is {}", if wrong { "wrong" } else { "right" }));
            }
        }
        failures.extend(programs.iter().filter_map(|(p, wrong)| deviation(code, p, *wrong)));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
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
            Some(text) if !text.contains("\n\n    ") => wrong.push(format!("{code} has no example")),
            Some(text) if !text.contains("-- wrong") || !text.contains("-- right") => {
                wrong.push(format!("{code} does not show wrong and right"));
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names of other languages: those that are called something else exist under that name, and none of them is a name here.
#[test]
fn foreign_names_are_translated_to_names_that_exist() {
    use adl_typing::errors::foreign_names;
    let (mut s, _) = adl_tests::session();
    // A primitive whose shape is written out has no type alone.
    let mut known = |name: &str| match s.type_of(name) {
        Ok(_) => true,
        Err(d) => d.first().is_some_and(|d| d.code != "E0201" && d.code != "E0202"),
    };
    let mut wrong: Vec<String> =
        foreign_names::same().filter(|(_, ours)| !known(ours)).map(|(_, ours)| format!("there is no {ours}")).collect();
    let theirs = foreign_names::same().map(|p| p.0).chain(foreign_names::others().map(|p| p.0));
    // `where` is told apart by what follows it.
    wrong.extend(theirs.filter(|n| *n != "where" && known(n)).map(|n| format!("{n} is a name of adl")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
