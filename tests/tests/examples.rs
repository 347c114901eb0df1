//! Examples of the documentation: the primitive table and the standard modules.

use adl_session::{Session, TestReport};
use adl_syntax::span::Span;

#[test]
fn examples_of_the_table_and_the_modules_hold() {
    let mut report = TestReport::default();
    let (mut s, _) = crate::pictures::session();
    for (e, want) in Session::standard_examples() {
        s.example(&e, &want, Span::default(), &mut report);
    }
    let failures: Vec<String> = report.failed.iter().map(|f| format!("{}\n{}", f.what, f.why)).collect();
    assert!(failures.is_empty(), "{} hold, these do not:\n{}", report.passed, failures.join("\n"));
    assert!(report.passed > 200, "{} examples", report.passed);
}
