//! E0401, E0402, W0403: cases that are missing, and cases that nothing reaches.

use super::{Explanation, listed};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// A match that does not cover everything.
pub(crate) struct NotExhaustive {
    /// Where the matched value is.
    pub span: Span,
    /// Values without an arm, as patterns.
    pub missing: Vec<String>,
    /// Whether some arm has a guard, which may fail.
    pub guards: bool,
}

impl NotExhaustive {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let one = self.missing.first().cloned().unwrap_or_default();
        let d = Diagnostic::error("E0401", self.span, format!("this match has no arm for {}", listed(&self.missing)));
        let d = if self.guards { d.note("an arm with `when` does not count: its condition may fail") } else { d };
        let endless = one.starts_with(|c: char| c.is_ascii_digit() || c == '"' || c == '-');
        d.hint(if endless { "add `| _ -> ...` for all others".to_owned() } else { format!("add `| {one} -> ...`") })
    }
}

/// A pattern that must fit every value and does not.
pub(crate) fn refutable(span: Span, missing: &str) -> Diagnostic {
    Diagnostic::error("E0402", span, format!("this pattern does not fit every value: `{missing}` is left")).hint(format!("take it apart with `match ... with | ... -> ... | {missing} -> ...`"))
}

/// An arm that nothing reaches.
pub(crate) fn unreachable(span: Span) -> Diagnostic {
    Diagnostic::warning("W0403", span, "this arm is never reached: earlier arms cover it")
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    ("E0401", "A match must have an arm for every value.\n\n    match o with | Some x -> x\n    match o with | Some x -> x | None -> 0.0"),
    ("E0402", "A pattern in a `let`, a parameter or a loop must fit every value; use `match`.\n\n    let Some x = o\n    match o with | Some x -> ... | None -> ..."),
    ("W0403", "An arm that earlier arms leave nothing for."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ask_for_a_last_arm() {
        let make = |m: &str| NotExhaustive { span: Span::default(), missing: vec![m.into()], guards: false }.diagnostic().hint;
        assert_eq!(make("3").as_deref(), Some("add `| _ -> ...` for all others"));
        assert_eq!(make("None").as_deref(), Some("add `| None -> ...`"));
    }
}
