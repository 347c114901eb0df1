//! `adl test`: `test` items and the examples of doc comments.

use crate::Session;
use adl_interp::value::Value;
use adl_syntax::diag::Diagnostic;
use adl_typing::core::Item;

/// What the tests of a file gave.
#[derive(Default)]
pub struct TestReport {
    /// Tests and examples that hold.
    pub passed: usize,
    /// Those that do not: what, and why.
    pub failed: Vec<(String, String)>,
    /// Errors that kept the file from running.
    pub diags: Vec<Diagnostic>,
}

/// Examples of a doc comment: expression and expected echo.
pub fn examples(doc: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut lines = doc.lines().peekable();
    while let Some(l) = lines.next() {
        if let Some(e) = l.trim_start().strip_prefix(">>> ") {
            let want = lines.peek().filter(|w| !w.trim_start().starts_with(">>>")).map_or("", |w| w.trim());
            out.push((e.trim().to_owned(), want.to_owned()));
        }
    }
    out
}

impl Session {
    /// Runs the tests and examples of a file.
    pub fn run_tests(&mut self, name: &str, bytes: &[u8]) -> TestReport {
        let mut report = TestReport::default();
        let env = self.env.clone();
        let checked = self.check_bytes(name, bytes, env);
        if checked.diags.iter().any(Diagnostic::is_error) {
            report.diags = checked.diags;
            return report;
        }
        for (item, _) in &checked.items {
            match item {
                Item::Test(name, e) => match self.machine.eval(e, None) {
                    Ok(Value::Bool(true)) => report.passed += 1,
                    Ok(_) => report.failed.push((name.to_string(), "is false".into())),
                    Err(e) => report.failed.push((name.to_string(), adl_syntax::render::text(&e.diag, &self.sources, false))),
                },
                Item::Expr(e) => {
                    if let Err(e) = self.machine.eval(e, None) {
                        report.diags.push(e.diag);
                        return report;
                    }
                }
                item => {
                    if let Err(d) = self.define(item) {
                        report.diags.push(*d);
                        return report;
                    }
                }
            }
        }
        self.env = checked.env;
        for (_, doc) in &checked.items {
            for (e, want) in examples(doc.as_deref().unwrap_or("")) {
                self.example(&e, &want, &mut report);
            }
        }
        report
    }

    /// Runs one example against its expected echo.
    pub fn example(&mut self, e: &str, want: &str, report: &mut TestReport) {
        let out = self.eval(e);
        let have = match (out.diags.iter().find(|d| d.is_error()), out.echoes.last()) {
            (Some(d), _) => adl_syntax::render::text(d, &self.sources, false),
            (None, Some(echo)) => format!("{} : {}", echo.value, echo.ty),
            (None, None) => "() : ()".into(),
        };
        if have == want { report.passed += 1 } else { report.failed.push((e.to_owned(), format!("gives {have}, not {want}"))) }
    }

    /// Examples of the primitive table and of the standard modules.
    pub fn standard_examples() -> Vec<(String, String)> {
        let mut out: Vec<(String, String)> = Vec::new();
        for p in adl_prim::Prim::ALL {
            out.extend(p.row().examples.iter().filter_map(|e| e.split_once(" => ")).map(|(e, w)| (e.to_owned(), w.to_owned())));
        }
        for source in adl_std::MODULES.iter().map(|(_, s)| *s).chain([adl_std::PRELUDE]) {
            let docs: Vec<&str> = source.lines().filter_map(|l| l.strip_prefix("--| ")).collect();
            out.extend(examples(&docs.join("\n")));
        }
        out
    }
}
