//! Errors of names, types and sizes.

use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// Explanations by code.
pub const EXPLAIN: &[(&str, &str)] = &[
    ("E0201", "A name that nothing in scope defines. A definition may use itself only with `let rec`.\n\n    let f n = if n == 0 then 1 else n * f (n - 1)\n    let rec f n = if n == 0 then 1 else n * f (n - 1)"),
    ("E0202", "An unknown type, class or module."),
    ("E0203", "Two types that must be equal are not.\n\n    1 + \"a\"\n    show 1 ++ \"a\""),
    ("E0204", "A function is applied to more arguments than it takes, or something that is no function is applied."),
    ("E0205", "An operation is not defined for a type: numbers for arithmetic, comparable values for `==` and `<`.\n\n    \"a\" + \"b\"\n    \"a\" ++ \"b\""),
    ("E0206", "A record has no such field."),
    ("E0207", "A constructor takes another number of arguments, or a type another number of parameters."),
    ("E0208", "A type would contain itself, as in `fun x -> x x`."),
    ("E0209", "The same name twice where names must differ: in one pattern, in one record, among constructors."),
    ("E0210", "The type cannot be found out: annotate it.\n\n    fun x -> x[0]   -- fine\n    reshape shape xs  -- the shape must be a literal, so that the rank is known"),
    ("E0211", "A linear function is wanted here: `lin x -> ...`, or the result of `linearize`, `vjp` or `transpose`."),
    ("E0212", "A signature promises more than the definition gives: a type variable of a signature stands for every type."),
    ("E0213", "A comprehension's index needs a bound: `for i < n -> ...`, unless it indexes some array directly."),
    ("E0301", "Two sizes are known and differ.\n\n    [1.0, 2.0] + [1.0, 2.0, 3.0]"),
    ("E0401", "A match must have an arm for every value.\n\n    match o with | Some x -> x\n    match o with | Some x -> x | None -> 0.0"),
    ("E0402", "A pattern in a `let`, a parameter or a loop must fit every value; use `match`.\n\n    let Some x = o\n    match o with | Some x -> ... | None -> ..."),
    ("W0403", "An arm that earlier arms leave nothing for."),
    ("E0501", "The body of `lin x -> e` must be linear in `x`: sums, scaling by what does not depend on `x`, and moving data around.\n\n    lin x -> sin x\n    lin x -> 3.0 * x"),
    ("E0601", "Only data can be differentiated: numbers, Bools, texts, tuples, records, arrays and declared types, but no functions."),
    ("E0602", "`grad` takes a function whose result is one real number. For an array use `jacobian`, or `sum` its elements.\n\n    grad (fun x -> x * x) [1.0, 2.0]\n    grad (fun x -> sum (x * x)) [1.0, 2.0]"),
];

/// The explanation of a code of this crate.
pub fn explain(code: &str) -> Option<&'static str> {
    EXPLAIN.iter().find(|(c, _)| *c == code).map(|(_, t)| *t)
}

pub(crate) fn unknown_name(span: Span, name: &str, near: Option<String>) -> Diagnostic {
    let d = Diagnostic::error("E0201", span, format!("nothing is named `{name}` here"));
    match near {
        Some(n) => d.hint(format!("did you mean `{n}`?")),
        None => d,
    }
}

pub(crate) fn unknown_type(span: Span, what: &str, name: &str, near: Option<String>) -> Diagnostic {
    let d = Diagnostic::error("E0202", span, format!("there is no {what} `{name}`"));
    match near {
        Some(n) => d.hint(format!("did you mean `{n}`?")),
        None => d,
    }
}

/// The candidate nearest to `name`, if it is near enough to be a slip.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let limit = 1 + name.chars().count() / 4;
    candidates
        .filter(|c| !c.starts_with("__"))
        .map(|c| (distance(name, c), c))
        .filter(|(d, c)| *d <= limit && *d < c.chars().count())
        .min()
        .map(|(_, c)| c.to_owned())
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let next = (diagonal + usize::from(ca != *cb)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[b.len()]
}
