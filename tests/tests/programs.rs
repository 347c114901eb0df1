//! Scripts with what they print, and wrong scripts with their errors. `UPDATE=1` rewrites the expectations.

use std::path::Path;

fn expect(path: &Path, have: &str) -> Result<(), String> {
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(path, have).map_err(|e| e.to_string());
    }
    let want = std::fs::read_to_string(path).unwrap_or_default();
    if want == have { Ok(()) } else { Err(format!("{}:\n--- expected\n{want}\n--- printed\n{have}", path.display())) }
}

pub fn scripts(dir: &str) -> Vec<std::path::PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(adl_tests::root().join(dir)).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "adl"));
    all.sort();
    assert!(!all.is_empty());
    all
}

/// Runs a script, with derivatives by transformed code or on the tape: the session, and what it prints with its errors.
pub fn run(path: &Path, compiled_ad: bool) -> (adl_session::Session, String) {
    let (mut session, out) = crate::pictures::session();
    session.set_compiled_ad(compiled_ad);
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    // Imports are relative to the importing file, whose path is relative to the root.
    let at = path.strip_prefix(adl_tests::root()).unwrap_or(path).to_string_lossy().into_owned();
    let result = session.run_file(if at.starts_with("examples") { &at } else { &name }, &std::fs::read(path).unwrap());
    for d in &result.diags {
        out.borrow_mut().push_str(&adl_syntax::render::text(d, &session.sources, false));
        out.borrow_mut().push('\n');
    }
    let text = out.borrow().clone();
    (session, text)
}

/// The file with what a script should print.
pub fn expected(path: &Path) -> std::path::PathBuf {
    adl_tests::root().join("tests/programs").join(path.file_name().unwrap()).with_extension("out")
}

#[test]
fn programs_print_what_they_should() {
    let (mut wrong, mut compiled) = (Vec::new(), 0);
    for path in scripts("tests/programs").into_iter().chain(scripts("examples")).chain(scripts("notebooks")) {
        let (session, printed) = run(&path, true);
        compiled += session.derivations().iter().filter(|d| d.ends_with("compiled AD")).count();
        if let Err(e) = expect(&expected(&path), &printed) {
            wrong.push(e);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The comparison with derivatives on the tape would say nothing if all derivatives were taped.
    assert!(compiled > 200, "{compiled}");
}

#[test]
fn wrong_programs_get_the_errors_they_should() {
    let mut wrong = Vec::new();
    for path in scripts("tests/errors") {
        let (mut s, _) = crate::pictures::session();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let diags = s.check_file(&name, &std::fs::read(&path).unwrap());
        assert!(diags.iter().any(adl_syntax::diag::Diagnostic::is_error), "{name} has no error");
        let text: Vec<String> = diags.iter().map(|d| adl_syntax::render::text(d, &s.sources, false)).collect();
        if let Err(e) = expect(&path.with_extension("out"), &(text.join("\n\n") + "\n")) {
            wrong.push(e);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The errors of a program, with their lines.
fn messages(name: &str, text: &str) -> Vec<(usize, String)> {
    let (mut s, _) = crate::pictures::session();
    let diags = s.check_file(name, text.as_bytes());
    diags
        .into_iter()
        .filter(adl_syntax::diag::Diagnostic::is_error)
        .map(|d| (s.sources.line_of(d.primary.span), d.message))
        .collect()
}

/// A text with the changes of a fix.
fn changed(text: &str, fix: &[adl_syntax::diag::Edit]) -> String {
    let mut edits: Vec<_> = fix.iter().collect();
    edits.sort_by_key(|e| std::cmp::Reverse((e.span.lo, e.span.hi)));
    let mut out = text.to_owned();
    for e in edits {
        out.replace_range(e.span.lo as usize..e.span.hi as usize, &e.text);
    }
    out
}

#[test]
fn fixes_mend_what_they_are_for() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in scripts("tests/errors") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let (mut session, _) = crate::pictures::session();
        let diags = session.check_file(&name, text.as_bytes());
        let before = messages(&name, &text);
        for diag in diags.iter().filter(|d| d.is_error() && !d.fix.is_empty()) {
            count += 1;
            let mended = changed(&text, &diag.fix);
            let after = messages(&name, &mended);
            let line = session.sources.line_of(diag.primary.span);
            let times = |all: &[(usize, String)]| all.iter().filter(|(l, m)| *l == line && *m == diag.message).count();
            let new: Vec<&(usize, String)> = after.iter().filter(|m| !before.contains(m)).collect();
            // What stood behind the error may come to light: no more than was there, or types behind what did not parse.
            let more = after.len() > before.len() && !diag.code.starts_with("E01");
            if times(&after) >= times(&before) || more {
                wrong.push(format!(
                    "{name}: `{}` by {:?}: {new:?}",
                    diag.message,
                    diag.fix.iter().map(|e| (session.sources.text(e.span), &e.text)).collect::<Vec<_>>()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "{count} fixes");
}
