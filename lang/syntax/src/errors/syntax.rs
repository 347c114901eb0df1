//! Tokens that make no program.

use crate::diag::Diagnostic;
use crate::span::Span;

/// Explanations by code.
pub const EXPLAIN: &[(&str, &str)] = &[
    ("E0107", "Expressions, types and patterns nest at most a few thousand deep. Name the parts with `let`, or put the data in a file."),
    ("E0110", "Something else was expected at this place.\n\n    if x then 1 els 2\n    if x then 1 else 2"),
    ("E0111", "A bracket is opened and not closed.\n\n    let x = (1 + 2\n    let x = (1 + 2)"),
    ("E0112", "An expression is missing. After `=`, `->`, `then`, `else`, `do` and `in` an expression follows, on the same line or indented more on the next ones.\n\n    let f x =\n    let f x =\n      x + 1"),
    ("E0113", "`=` defines; `==` compares.\n\n    if x = 1 then 2 else 3\n    if x == 1 then 2 else 3"),
    ("E0114", "Comparisons do not chain.\n\n    0 < x < 1\n    0 < x && x < 1"),
    ("E0115", "A block ends in an expression: the value of the block.\n\n    let f x =\n      let y = x\n\n    let f x =\n      let y = x\n      y"),
    ("E0116", "A top-level item is `let`, `type`, `import`, `test`, `bench` or an expression, and begins in column 0."),
];

pub(crate) fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error("E0107", span, "nested too deeply").hint("name the parts with `let`, or keep the data in a file")
}

pub(crate) fn expected(span: Span, what: &str, found: &str) -> Diagnostic {
    Diagnostic::error("E0110", span, format!("expected {what}, found {found}"))
}

pub(crate) fn unclosed(open: Span, bracket: &str, at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0111", at, format!("expected `{bracket}`, found {found}")).also(open, "opened here").hint(format!("close it with `{bracket}`"))
}

pub(crate) fn missing_expr(at: Span, after: &str, found: &str) -> Diagnostic {
    Diagnostic::error("E0112", at, format!("expected an expression after {after}, found {found}"))
}

pub(crate) fn equals_for_compare(span: Span) -> Diagnostic {
    Diagnostic::error("E0113", span, "`=` defines a name; it does not compare").hint("compare with `==`")
}

pub(crate) fn chained(span: Span) -> Diagnostic {
    Diagnostic::error("E0114", span, "comparisons do not chain").hint("join two comparisons with `&&`")
}

pub(crate) fn block_without_value(span: Span) -> Diagnostic {
    Diagnostic::error("E0115", span, "this block has no value: it ends in a `let`").hint("end it with an expression")
}

pub(crate) fn bad_item(span: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0116", span, format!("no item begins with {found}"))
}
