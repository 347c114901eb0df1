//! E0204, W0204, E0207: functions, constructors and types applied to the wrong number of arguments.

use super::{Explanation, count};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// Something that is not a function is applied.
pub(crate) fn not_a_function(span: Span, callee: Span, name: &str, ty: &str) -> Diagnostic {
    let name = if name == "this function" { "this" } else { name };
    Diagnostic::error("E0204", span, format!("{name} is not a function: it has type {ty}"))
        .label("this argument")
        .also(callee, ty.to_owned())
}

/// `assert a == b`, `print "a" + "b"`. `inside` is the text that needs parentheses, at its place; `sign` is the `+`
/// between strings.
pub(crate) fn effect_before(
    span: Span,
    (head, call): (&str, &str),
    op: &str,
    inside: &str,
    (at, sign): (Span, Option<Span>),
) -> Diagnostic {
    let diagnostic =
        Diagnostic::error("E0203", span, format!("application binds tighter than `{op}`: the left side is `{call}`"));
    let meant = match sign {
        Some(s) => format!("{}++{}", &inside[..(s.lo - at.lo) as usize], &inside[(s.hi - at.lo) as usize..]),
        None => with_negative_arguments(inside),
    };
    let short = head.len() + meant.len() < 90 && !meant.contains('\n');
    let d = diagnostic.hint(if short {
        format!("write `{head} ({meant})`")
    } else {
        format!("put all that `{head}` is given in parentheses")
    });
    d.fix(at, format!("({meant})"))
}

/// `f -3` as `f (-3)`: a minus with a blank before it and none after it, behind a name.
fn with_negative_arguments(text: &str) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for i in 1..words.len() {
        let named = words[i - 1].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let number = words[i]
            .strip_prefix('-')
            .is_some_and(|w| !w.is_empty() && w.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_')));
        if named && number {
            words[i] = format!("({})", words[i]);
        }
    }
    words.join(" ")
}

/// More arguments than a function takes.
pub(crate) fn too_many(span: Span, name: &str, takes: usize, given: usize) -> Diagnostic {
    Diagnostic::error("E0204", span, format!("{name} takes {}, but {} given", count(takes, "argument"), were(given)))
        .label("one too many")
}

/// The call with its arguments in an order that type-checks.
pub(crate) fn other_order(name: &str, callee: &str, spans: &[Span], texts: &[String], order: &[usize]) -> Diagnostic {
    let moved: Vec<usize> = (0..order.len()).filter(|i| order[*i] != *i).collect();
    let text = match moved.as_slice() {
        [i, j] => format!("arguments {} and {} of {name} are swapped", i + 1, j + 1),
        _ => format!("the arguments of {name} are in another order"),
    };
    let place = |i: usize| order.iter().position(|o| *o == i).unwrap_or(i) + 1;
    let mut d = Diagnostic::error("E0203", spans[moved[0]], text).label(format!("argument {}", place(moved[0])));
    for i in &moved[1..] {
        d = d.also(spans[*i], format!("argument {}", place(*i)));
    }
    let new: Vec<&str> = order.iter().map(|i| texts[*i].as_str()).collect();
    d = d.hint(written(callee, &new, "write them in the other order"));
    moved.into_iter().fold(d, |d, i| d.fix(spans[i], texts[order[i]].clone()))
}

/// An argument that type-checks after a conversion to another number type.
pub(crate) fn converted(
    span: Span,
    (index, name): (usize, &str),
    (expected, found): (String, String),
    new: String,
) -> Diagnostic {
    let d = Diagnostic::error(
        "E0203",
        span,
        format!("expected {expected} for argument {} of {name}, found {found}", index + 1),
    )
    .label(found);
    let d = if new.len() < 60 && !new.contains('\n') { d.hint(format!("convert it: `{new}`")) } else { d };
    d.fix(span, format!("({new})"))
}

/// `f (a, b)` for `f a b`.
pub(crate) fn one_by_one(span: Span, name: &str, f: &str, args: &str, new: String) -> Diagnostic {
    let d = Diagnostic::error("E0203", span, format!("{name} takes its arguments one after the other, found a tuple"));
    d.hint(written(f, &[args], "write the arguments without commas")).fix(span, new)
}

/// `f a b` for `f (a, b)`: `count` arguments from `from` on should be one tuple.
pub(crate) fn as_tuple(span: Span, name: &str, (from, count): (usize, usize), call: &str, parts: String) -> Diagnostic {
    let d = Diagnostic::error(
        "E0203",
        span,
        format!("expected one tuple for argument {} of {name}, found {count} arguments", from + 1),
    );
    d.hint(written(call, &[&format!("({parts})")], "put them in parentheses, with commas"))
        .fix(span, format!("({parts})"))
}

/// Another function of nearly the same name takes these arguments.
pub(crate) fn like_name(span: Span, name: &str, other: &str, args: &[&str]) -> Diagnostic {
    let d = Diagnostic::error("E0203", span, format!("`{name}` does not take these arguments, but `{other}` does"));
    d.hint(written(other, args, &format!("write `{other}`"))).fix(span, other)
}

/// A call as text, or `instead` if it is too long for a hint.
fn written(f: &str, args: &[&str], instead: &str) -> String {
    let text = format!("{f} {}", args.join(" "));
    if text.len() < 90 && !text.contains('\n') { format!("write `{text}`") } else { instead.to_owned() }
}

/// A missing argument that is not the last one.
pub(crate) struct MissingArgument<'a> {
    /// The function's name, quoted.
    pub of: &'a str,
    /// The function as written in the call.
    pub f: &'a str,
    /// The arguments of the call.
    pub texts: &'a [String],
    /// The position of the missing argument.
    pub place: usize,
    /// The argument that was given in that position.
    pub at: Span,
    /// The type of the missing argument.
    pub ty: String,
    /// A predefined value for it, such as a record of default options.
    pub value: Option<String>,
}

impl MissingArgument<'_> {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let MissingArgument { of, f: callee, texts, place, at, ty, value } = self;
        let text = format!("argument {} of {of} is missing: expected {ty}", place + 1);
        let d = Diagnostic::error("E0203", at, text).label(format!("this fits as argument {}", place + 2));
        let mut all: Vec<&str> = texts.iter().map(String::as_str).collect();
        all.insert(place, value.as_deref().unwrap_or("_"));
        match &value {
            Some(v) => d
                .hint(format!(
                    "the options are missing: {}",
                    written(callee, &all, &format!("`{v}` before this")).trim_start_matches("write ")
                ))
                .fix(Span { hi: at.lo, ..at }, format!("{v} ")),
            None => d.hint(written(callee, &all, "add it before this one")),
        }
    }
}

/// A surplus argument that is not the last one.
pub(crate) fn one_too_many(
    span: Span,
    name: &str,
    (takes, given): (usize, usize),
    place: usize,
    call: String,
    cut: Span,
) -> Diagnostic {
    let d =
        too_many(span, name, takes, given).label(format!("without argument {} the others fit", place + 1)).fix(cut, "");
    if call.len() < 90 && !call.contains('\n') { d.hint(format!("write `{call}`")) } else { d }
}

/// A function, or a call that lacks an argument, is printed or converted to text. `takes` is its arity, `signature_constraints` the
/// number of arguments.
pub(crate) fn shown(
    span: Span,
    name: &str,
    (takes, given): (usize, usize),
    missing: &str,
    instead: Option<&str>,
) -> Diagnostic {
    let name = if name == "this function" { name.to_owned() } else { format!("`{name}`") };
    let text = format!(
        "this is a function and not a value: {name} takes {}, but {} given",
        count(takes, "argument"),
        were(given)
    );
    let missing = format!("an argument of type {missing} is missing");
    let hint = instead.map_or(missing.clone(), |i| format!("{missing}; {i}"));
    Diagnostic::warning("W0204", span, text).hint(hint)
}

/// A constructor with another number of fields.
pub(crate) fn constructor(span: Span, name: &str, takes: usize, given: usize) -> Diagnostic {
    Diagnostic::error("E0207", span, format!("`{name}` takes {}, but {} given", count(takes, "field"), were(given)))
}

/// A pattern of a constructor with another number of fields.
pub(crate) fn pattern(span: Span, name: &str, takes: usize, given: usize) -> Diagnostic {
    let d = Diagnostic::error(
        "E0207",
        span,
        format!("`{name}` has {}, but this pattern has {given}", count(takes, "field")),
    );
    d.hint(format!("write `{name}{}`", " _".repeat(takes)))
}

/// `Cons(x, rest)` as a pattern.
pub(crate) fn pattern_of_tuple(span: Span, name: &str, parts: &[&str]) -> Diagnostic {
    let new = parts
        .iter()
        .map(|p| if p.contains(' ') && !p.starts_with(['(', '[', '{']) { format!("({p})") } else { (*p).to_owned() })
        .collect::<Vec<_>>()
        .join(" ");
    let d =
        Diagnostic::error("E0207", span, format!("the fields of `{name}` stand one after the other, found a tuple"));
    d.hint(format!("write `{name} {new}`")).fix(span, format!(" {new}"))
}

/// A type with another number of parameters.
pub(crate) fn type_arity(span: Span, name: &str, takes: usize, given: usize) -> Diagnostic {
    let d = Diagnostic::error(
        "E0207",
        span,
        format!("the type `{name}` takes {}, but {} given", count(takes, "argument"), were(given)),
    );
    match (takes, given) {
        (0, _) => d,
        _ => d.hint(format!(
            "write `{name} {}`",
            ["a", "b", "c", "d"].iter().take(takes).copied().collect::<Vec<_>>().join(" ")
        )),
    }
}

fn were(n: usize) -> String {
    match n {
        0 => "none was".into(),
        1 => "1 was".into(),
        n => format!("{n} were"),
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
        "A function is applied to more arguments than it takes, or something that is not a function is applied. A minus between blanks is a difference, one before an argument needs parentheses.\n\
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
    fn a_close_minus_is_a_sign() {
        assert_eq!(with_negative_arguments("f -3"), "f (-3)");
        assert_eq!(with_negative_arguments("a - 3 -b"), "a - 3 (-b)");
        assert_eq!(with_negative_arguments("x + -3"), "x + -3");
    }

    #[test]
    fn numbers_agree_with_their_words() {
        assert_eq!(
            type_arity(Span::default(), "List", 1, 0).message,
            "the type `List` takes 1 argument, but none was given"
        );
        assert_eq!(constructor(Span::default(), "Some", 1, 2).message, "`Some` takes 1 field, but 2 were given");
        assert_eq!(pattern(Span::default(), "Cons", 2, 1).hint.as_deref(), Some("write `Cons _ _`"));
    }
}
