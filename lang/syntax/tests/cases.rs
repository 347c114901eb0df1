//! Snapshots: `tests/cases/*.txt` hold programs with the tree and the errors they give.
//!
//! A file is a list of cases `=== name`, the program, `---`, the outcome. `UPDATE=1` rewrites the
//! outcomes.

use adl_syntax::diag::Diagnostic;
use adl_syntax::span::SourceMap;
use std::fmt::Write;

fn outcome(source: &str) -> String {
    let mut map = SourceMap::default();
    let file = map.add("case.adl", source);
    let (program, diagnostics) = adl_syntax::parse(file, source);
    let mut out = adl_syntax::dump::program(&program);
    for d in &diagnostics {
        describe(&map, d, &mut out);
    }
    out
}

fn describe(map: &SourceMap, d: &Diagnostic, out: &mut String) {
    let span = d.primary.span;
    let (line, col) = map.get(span.file).map_or((0, 0), |f| f.line_col(span.lo));
    let _ = writeln!(out, "{} {line}:{col} `{}` {}", d.code, map.text(span), d.message);
    for l in &d.secondary {
        let (line, col) = map.get(l.span.file).map_or((0, 0), |f| f.line_col(l.span.lo));
        let _ = writeln!(out, "  {line}:{col} {}", l.text);
    }
    if let Some(hint) = &d.hint {
        let _ = writeln!(out, "  hint: {hint}");
    }
}

fn check(path: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("readable");
    let mut failures = Vec::new();
    let mut updated = String::new();
    for case in text.split("=== ").skip(1) {
        let (name, rest) = case.split_once('\n').expect("a name");
        let (source, expected) = rest.split_once("\n---\n").unwrap_or((rest.trim_end(), ""));
        let actual = outcome(source);
        if actual.trim_end() != expected.trim_end() {
            failures
                .push(format!("{}: {name}\n{source}\n--- expected\n{expected}--- actual\n{actual}", path.display()));
        }
        let _ = write!(updated, "=== {name}\n{source}\n---\n{}\n\n", actual.trim_end());
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, updated).expect("writable");
        return Vec::new();
    }
    failures
}

#[test]
fn cases() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    let mut paths: Vec<_> = std::fs::read_dir(dir).expect("cases").map(|e| e.expect("entry").path()).collect();
    paths.sort();
    let failures: Vec<String> = paths.iter().flat_map(|p| check(p)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
