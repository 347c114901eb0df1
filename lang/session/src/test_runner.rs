//! `adl test`: `test` items and the examples of doc comments.

use crate::Session;
use crate::imports::RunStep;
use crate::run::Outcome;
use adl_interp::host::{Format, Host, NullHost};
use adl_interp::value::Value;
use adl_prim::{Cmp, Prim};
use adl_syntax::diag::Diagnostic;
use adl_syntax::render;
use adl_syntax::span::Span;
use adl_typing::core::{Expr, ExprKind, Item};
use std::cell::RefCell;
use std::rc::Rc;

/// A failed test.
#[derive(Clone, Debug)]
pub struct Failure {
    /// `test "name"`, or the expression of an example.
    pub what: String,
    /// `file:line:column`.
    pub place: String,
    /// The reason, possibly in several lines.
    pub why: String,
}

/// The test results of a file.
#[derive(Default)]
pub struct TestReport {
    /// The number of passed tests and examples.
    pub passed: usize,
    /// The names of all tests, in order.
    pub names: Vec<String>,
    /// The failed tests.
    pub failed: Vec<Failure>,
    /// Errors that prevented the file from running, and warnings.
    pub diags: Vec<Diagnostic>,
    /// Only tests whose names contain this text run.
    filter: String,
}

impl TestReport {
    fn wants(&self, what: &str) -> bool {
        what.contains(&self.filter)
    }

    fn pass(&mut self, what: String) {
        self.passed += 1;
        self.names.push(what);
    }
}

/// The examples of a doc comment: expression and expected output, which ends at an empty line or the next example.
pub fn examples(doc: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in doc.lines().map(str::trim) {
        match (line.strip_prefix(">>> "), out.last_mut()) {
            (Some(e), _) => {
                out.push((e.trim().to_owned(), String::new()));
                open = true;
            }
            (None, Some((_, want))) if open && !line.is_empty() => {
                if !want.is_empty() {
                    want.push('\n');
                }
                want.push_str(line);
            }
            _ => open = false,
        }
    }
    out
}

/// Captures printed output; all other operations go to the wrapped host.
struct Capture {
    inner: Rc<RefCell<Box<dyn Host>>>,
    out: Rc<RefCell<String>>,
}

impl Host for Capture {
    fn print(&mut self, text: &str) {
        self.out.borrow_mut().push_str(text);
    }
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.inner.borrow_mut().read(path)
    }
    fn read_at(&mut self, path: &str, from: u64, len: usize) -> Result<Vec<u8>, String> {
        self.inner.borrow_mut().read_at(path, from, len)
    }
    fn length(&mut self, path: &str) -> Result<u64, String> {
        self.inner.borrow_mut().length(path)
    }
    fn list(&mut self, path: &str) -> Option<Vec<String>> {
        self.inner.borrow_mut().list(path)
    }
    fn size(&mut self, path: &str) -> usize {
        self.inner.borrow_mut().size(path)
    }
    fn write(&mut self, path: &str, bytes: &[u8]) -> Result<(), String> {
        self.inner.borrow_mut().write(path, bytes)
    }
    fn args(&mut self) -> Vec<String> {
        self.inner.borrow_mut().args()
    }
    fn env(&mut self, name: &str) -> Option<String> {
        self.inner.borrow_mut().env(name)
    }
    fn time(&mut self) -> f64 {
        self.inner.borrow_mut().time()
    }
    fn progress(&mut self, done: u64, total: u64) {
        self.inner.borrow_mut().progress(done, total);
    }
    fn render(&mut self, value: &Value, format: Format) -> Result<Vec<u8>, String> {
        self.inner.borrow_mut().render(value, format)
    }
    // Tests display nothing.
    fn show(&mut self, _value: &Value, _live: bool) -> Result<(), String> {
        Ok(())
    }
    fn watch(&mut self, _name: &str, _y: f64) -> Result<(), String> {
        Ok(())
    }
    fn identity(&mut self, path: &str) -> Option<String> {
        self.inner.borrow_mut().identity(path)
    }
}

impl Session {
    /// Runs the tests and examples of a file.
    pub fn run_tests(&mut self, name: &str, bytes: &[u8]) -> TestReport {
        self.run_tests_matching(name, bytes, "")
    }

    /// Like `run_tests`, for those whose names contain `filter`.
    pub fn run_tests_matching(&mut self, name: &str, bytes: &[u8], filter: &str) -> TestReport {
        let mut report = TestReport { filter: filter.to_owned(), ..TestReport::default() };
        if let Err(d) = self.stoppable(|s| s.run_tests_into(name, bytes, &mut report)) {
            report.diags.push(*d);
        }
        report
    }

    fn run_tests_into(&mut self, name: &str, bytes: &[u8], report: &mut TestReport) {
        let env = self.env.clone();
        let mut checked = self.check_bytes(name, bytes, env);
        report.diags = std::mem::take(&mut checked.diags);
        if report.diags.iter().any(Diagnostic::is_error) {
            return;
        }
        for e in &checked.entries {
            match &e.step {
                RunStep::Item(Item::Test(name, body)) => self.run_test(name, body, e.span, report),
                _ => {
                    if let Err(d) = self.run_entries(std::slice::from_ref(e)) {
                        report.diags.push(*d);
                        return;
                    }
                }
            }
        }
        let docs: Vec<(Span, String)> = checked.entries.iter().filter_map(|e| Some((e.span, e.doc.clone()?))).collect();
        self.adopt(checked);
        for (span, doc) in docs {
            for (e, want) in examples(&doc) {
                self.example(&e, &want, span, report);
            }
        }
    }

    fn run_test(&mut self, name: &str, body: &Expr, span: Span, report: &mut TestReport) {
        let what = format!("test \"{name}\"");
        if !report.wants(&what) {
            return;
        }
        let done = self.guarded(|s| s.machine.eval(body, None));
        let why = match done.and_then(|done| done.map_err(|e| Box::new(e.diag))) {
            Ok(Value::Bool(true)) => return report.pass(what),
            Ok(_) => self.sides(body).unwrap_or_else(|| "it is false".into()),
            Err(d) => render::text(&d, &self.sources, false),
        };
        report.failed.push(Failure { what, place: render::place(span, &self.sources), why });
    }

    /// The two operands of a failed comparison.
    fn sides(&mut self, body: &Expr) -> Option<String> {
        let ExprKind::App(f, args) = &*body.kind else { return None };
        let ExprKind::Prim(p, _) = &*f.kind else { return None };
        let (Prim::Compare(Cmp::Eq | Cmp::Ne | Cmp::Lt | Cmp::Gt | Cmp::Le | Cmp::Ge), [left, right]) =
            (p, args.as_slice())
        else {
            return None;
        };
        let (a, b) = (self.show_core(left).ok()?, self.show_core(right).ok()?);
        Some(match p {
            Prim::Compare(Cmp::Eq) => format!("expected {b}\nactual   {a}"),
            p => format!("`{}` does not hold between\n{a}\n{b}", p.name()),
        })
    }

    /// Runs one example and compares its output (printed text, then the echo) with the expected one.
    pub fn example(&mut self, e: &str, want: &str, span: Span, report: &mut TestReport) {
        let what = format!("`{e}`");
        if !report.wants(&what) {
            return;
        }
        let (out, printed) = self.eval_captured(e);
        let mut have = printed;
        for d in out.diags.iter().filter(|d| d.is_error()) {
            have.push_str(&format!("error[{}]: {}", d.code, d.message));
        }
        for echo in out.echoes.iter().filter(|e| e.name.is_none()) {
            have.push_str(&echo.whole());
        }
        let have = have.trim_end();
        // The value `()` is not echoed, but the documentation may show it.
        if have == want || have.is_empty() && want == "() : ()" {
            report.pass(what);
        } else {
            let place = if span == Span::default() { "example".into() } else { render::place(span, &self.sources) };
            let said = |t: &str| if t.is_empty() { "nothing".to_owned() } else { t.replace('\n', "\n         ") };
            report.failed.push(Failure {
                what,
                place,
                why: format!("expected {}\nactual   {}", said(want), said(have)),
            });
        }
    }

    /// Runs an entry and returns what it prints instead of sending it to the host.
    pub fn eval_captured(&mut self, text: &str) -> (Outcome, String) {
        let printed = Rc::new(RefCell::new(String::new()));
        let inner = Rc::new(RefCell::new(std::mem::replace(&mut self.machine.host, Box::new(NullHost))));
        self.machine.host = Box::new(Capture { inner: inner.clone(), out: printed.clone() });
        let out = self.eval(text);
        self.machine.host = Box::new(NullHost);
        if let Ok(host) = Rc::try_unwrap(inner) {
            self.machine.host = host.into_inner();
        }
        let text = printed.borrow().clone();
        (out, text)
    }

    /// The examples of the primitive table and of the standard modules.
    pub fn standard_examples() -> Vec<(String, String)> {
        let mut out: Vec<(String, String)> = Vec::new();
        for p in Prim::ALL {
            out.extend(
                p.row().examples.iter().filter_map(|e| e.split_once(" => ")).map(|(e, w)| (e.to_owned(), w.to_owned())),
            );
        }
        for source in adl_std::MODULES.iter().map(|(_, s)| *s).chain([adl_std::PRELUDE]) {
            // A line of code ends a comment, and so an example.
            let docs: Vec<&str> = source.lines().map(|l| l.strip_prefix("--|").map_or("", str::trim)).collect();
            out.extend(examples(&docs.join("\n")));
        }
        out
    }
}
