//! E0204, W0204, E0207: functions, constructors and types applied to the wrong number of arguments.

use super::{Explanation, count};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// Something that is no function is applied.
pub(crate) fn not_a_function(span: Span, callee: Span, name: &str, ty: &str) -> Diagnostic {
    let name = if name == "this function" { "this" } else { name };
    Diagnostic::error("E0204", span, format!("{name} is no function but {ty}, and cannot be applied")).label("this argument").also(callee, ty.to_owned())
}

/// `assert a == b`: the call comes before the comparison.
pub(crate) fn assertion_applied(span: Span, op: &str, left: &str, right: &str) -> Diagnostic {
    let d = Diagnostic::error("E0203", span, format!("application binds tighter than `{op}`: this asserts the left side alone"));
    match left.len() + right.len() < 60 && !(left.to_owned() + right).contains('\n') {
        true => d.hint(format!("write `assert ({left} {op} {right})`")),
        false => d.hint(format!("put what is asserted in parentheses: `assert (a {op} b)`")),
    }
}

/// More arguments than a function takes.
pub(crate) fn too_many(span: Span, name: &str, takes: usize, given: usize) -> Diagnostic {
    Diagnostic::error("E0204", span, format!("{name} takes {}, and {given} are given", count(takes, "argument"))).label("one too many")
}

/// A function, or a call that lacks an argument, is printed or made a text. `takes` and how many are given.
pub(crate) fn shown(span: Span, name: &str, (takes, given): (usize, usize), missing: &str, instead: Option<&str>) -> Diagnostic {
    let name = if name == "this function" { name.to_owned() } else { format!("`{name}`") };
    let text = format!("this is a function and not a value: {name} takes {}, and {} given", count(takes, "argument"), are(given));
    let missing = format!("an argument of type {missing} is missing");
    let hint = instead.map_or(missing.clone(), |i| format!("{missing}; {i}"));
    Diagnostic::warning("W0204", span, text).hint(hint)
}

/// A constructor with another number of fields.
pub(crate) fn constructor(span: Span, name: &str, takes: usize, given: usize) -> Diagnostic {
    Diagnostic::error("E0207", span, format!("`{name}` takes {}, and here {} given", count(takes, "field"), are(given)))
}

/// A pattern of a constructor with another number of fields.
pub(crate) fn pattern(span: Span, name: &str, takes: usize, given: usize) -> Diagnostic {
    let d = Diagnostic::error("E0207", span, format!("`{name}` has {}, and this pattern {given}", count(takes, "field")));
    d.hint(format!("write `{name}{}`", " _".repeat(takes)))
}

/// A type with another number of parameters.
pub(crate) fn type_arity(span: Span, name: &str, takes: usize, given: usize) -> Diagnostic {
    let d = Diagnostic::error("E0207", span, format!("the type `{name}` takes {}, and here {} given", count(takes, "argument"), are(given)));
    match (takes, given) {
        (0, _) => d,
        _ => d.hint(format!("write `{name} {}`", ["a", "b", "c", "d"].iter().take(takes).copied().collect::<Vec<_>>().join(" "))),
    }
}

fn are(n: usize) -> String {
    match n {
        0 => "none is".into(),
        1 => "1 is".into(),
        n => format!("{n} are"),
    }
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "W0204",
        "A call that lacks an argument is a function. Printing it shows its type, which is seldom meant.\n\
        \n\
        \x20   print (max [1.0, 2.0])       -- wrong\n\
        \x20   print (maximum [1.0, 2.0])   -- right",
    ),
    (
        "E0204",
        "A function is applied to more arguments than it takes, or something that is no function is applied. A minus between blanks is a difference, one before an argument needs parentheses.\n\
        \n\
        \x20   let half x = x / 2.0\n\
        \x20   half 1.0 2.0           -- wrong\n\
        \x20   half 1.0               -- right\n\
        \x20   3.0 (half 1.0)         -- wrong\n\
        \x20   3.0 * half 1.0         -- right",
    ),
    (
        "E0207",
        "A constructor is given another number of arguments in a pattern than it was declared with, or a type another number of parameters.\n\
        \n\
        \x20   type Shape = Circle Float | Rect Float Float\n\
        \x20   let area s = match s with | Circle r -> r * r | Rect a -> a         -- wrong\n\
        \x20   let area s = match s with | Circle r -> r * r | Rect a b -> a * b   -- right\n\
        \n\
        \x20   let first (xs : List) = 1       -- wrong\n\
        \x20   let first (xs : List Int) = 1   -- right",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_agree_with_their_words() {
        assert_eq!(type_arity(Span::default(), "List", 1, 0).message, "the type `List` takes 1 argument, and here none is given");
        assert_eq!(constructor(Span::default(), "Some", 1, 2).message, "`Some` takes 1 field, and here 2 are given");
        assert_eq!(pattern(Span::default(), "Cons", 2, 1).hint.as_deref(), Some("write `Cons _ _`"));
    }
}
