//! The explanations of error codes, and their examples.

use adl_syntax::errors::explain::{codes, explain};

/// The examples in a text: runs of lines indented by four columns.
fn examples(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in text.lines().chain([""]) {
        match (line.strip_prefix("    "), all.last_mut()) {
            (Some(code), Some(last)) => *last += &format!("{code}\n"),
            _ => all.push(String::new()),
        }
    }
    all.retain(|example| !example.is_empty());
    all
}

fn codes_of(program: &str) -> Vec<&'static str> {
    adl_syntax::parse(adl_syntax::span::FileId(0), program).1.iter().map(|d| d.code).collect()
}

/// Lines marked wrong give the error, and lines marked right do not. If some lines have no mark, the example is one
/// program.
#[test]
fn the_examples_are_wrong_and_right() {
    // Examples that are not programs, or that do not fit on a line.
    let mut failures = Vec::new();
    let elsewhere = ["E0106", "E0107", "W0101"];
    for code in codes().filter(|c| !elsewhere.contains(c)) {
        let examples = examples(explain(code).unwrap_or(""));
        for example in examples.iter().filter(|e| e.contains("-- wrong") || e.contains("-- right")) {
            let marked = example.lines().all(|line| line.contains("  -- "));
            let programs: Vec<&str> = if marked { example.lines().collect() } else { vec![example.as_str()] };
            for program in programs {
                let found = codes_of(program);
                let wrong = program.contains("-- wrong");
                if wrong != found.contains(&code) || !(wrong || found.is_empty()) {
                    failures.push(format!("{code} gives {found:?}:\n{program}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn each_code_is_explained_once_with_an_example() {
    let mut all: Vec<&str> = codes().collect();
    all.sort_unstable();
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count, "a code is explained twice");
    for code in all {
        let text = explain(code).unwrap_or("");
        assert!(text.len() > 80, "{code} says too little");
        assert!(!text.contains("  --  "), "{code}");
    }
    assert_eq!(explain("E9999"), None);
}
