//! E0401, E0402, W0403: missing cases and unreachable cases.

use super::{Explanation, listed};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// A match that does not cover everything.
pub(crate) struct NotExhaustive {
    /// Where the matched value is.
    pub span: Span,
    /// Values that no arm matches, as patterns.
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

/// A match with too many combinations of cases to check.
pub(crate) fn too_large(span: Span) -> Diagnostic {
    Diagnostic::error(
        "E0401",
        span,
        "the cases of this match combine in too many ways to tell whether an arm is missing",
    )
    .hint("match on fewer values at once: one `match` inside another, or functions for the parts")
}

/// A pattern that must match every value but does not.
pub(crate) fn refutable(span: Span, missing: &str) -> Diagnostic {
    Diagnostic::error("E0402", span, format!("this pattern does not fit every value: `{missing}` is left"))
        .hint(format!("take it apart with `match ... with | ... -> ... | {missing} -> ...`"))
}

/// `let [a, b] = [1, 2, 3]`.
pub(crate) fn lengths(span: Span, want: usize, have: usize) -> Diagnostic {
    Diagnostic::error(
        "E0402",
        span,
        format!("this pattern has {want} element{}, and the array {have}", if want == 1 { "" } else { "s" }),
    )
    .hint("arrays of several lengths are taken apart with `match`; the elements from `i` on are `x[i:]`")
}

pub(crate) fn unreachable(span: Span) -> Diagnostic {
    Diagnostic::warning("W0403", span, "this arm is never reached: earlier arms cover it")
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0401",
        "A `match` must have an arm for every value; the message shows one that has none. An arm with a guard counts for nothing, because the guard may fail.\n\
        \n\
        \x20   let o = Some 1.0\n\
        \x20   match o with | Some x -> x                 -- wrong\n\
        \x20   match o with | Some x -> x | None -> 0.0   -- right\n\
        \n\
        \x20   match 3 with | n when n > 0 -> 1 | n when n <= 0 -> 0   -- wrong\n\
        \x20   match 3 with | n when n > 0 -> 1 | _ -> 0               -- right",
    ),
    (
        "E0402",
        "A pattern in a `let`, a parameter or a loop must fit every value, because nothing else is tried. Where it may not fit, use `match`. \
        How long an array is may be known only when it runs; a pattern of another length is then error E0702.\n\
        \n\
        \x20   let o = Some 1.0\n\
        \x20   let Some x = o                                     -- wrong\n\
        \x20   let x = match o with | Some x -> x | None -> 0.0   -- right",
    ),
    (
        "W0403",
        "An arm that earlier arms leave nothing for. Most often a name was meant to be a constructor, or the general case stands first.\n\
        \n\
        \x20   let f n = match n with | _ -> 0 | 1 -> 1   -- wrong\n\
        \x20   let f n = match n with | 1 -> 1 | _ -> 0   -- right",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ask_for_a_last_arm() {
        let make =
            |m: &str| NotExhaustive { span: Span::default(), missing: vec![m.into()], guards: false }.diagnostic().hint;
        assert_eq!(make("3").as_deref(), Some("add `| _ -> ...` for all others"));
        assert_eq!(make("None").as_deref(), Some("add `| None -> ...`"));
    }
}
