//! `for x in e` over something that is not an array, and what cannot be done with rows.

use crate::ty::Ty;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// What reduces rows.
const OVER_ROWS: &str = "over rows stands one `for r in data -> ...`, alone or after `sum`, `mean`, `maximum`, `minimum`, `prod`, `any` or `all`";

/// What to do with rows where an array is expected.
pub(crate) const ROWS_FOR_ARRAY: &str = "rows are read when they are needed: they are reduced by `sum for r in data -> ...` and other functions of the module `rows`, and all in memory are `rows.collect data`";

fn expected_array(at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0203", at, format!("expected an array for what a `for` runs over, found {found}")).label(found)
}

/// `for i in n`, of which `between` becomes `<`.
pub(crate) fn number(at: Span, (variable, source): (&str, &str), between: Option<Span>) -> Diagnostic {
    let d = expected_array(at, "Int");
    match between {
        Some(between) => d.hint(format!("an index below it is `for {variable} < {source}`")).fix(between, " < "),
        None => d.hint(format!("an index below it is `for i < {source}`")),
    }
}

/// A list, an `Option` or a function after `in`.
pub(crate) fn other_source(at: Span, shown: &str, source: &str, ty: &Ty) -> Option<Diagnostic> {
    let hint = match ty {
        Ty::Data(d, _) if d.1.as_str() == "List" => {
            let source = if source.contains(' ') { format!("({source})") } else { source.to_owned() };
            return Some(
                expected_array(at, shown)
                    .hint(format!("the elements of a list as an array are `list.to_array {source}`"))
                    .fix(at, format!("list.to_array {source}")),
            );
        }
        Ty::Fun(..) | Ty::Lin(..) if source.starts_with("range") => {
            "the Ints from `a` to `b - 1` are `range a b`, and an index below `n` is `for i < n`"
        }
        Ty::Fun(..) | Ty::Lin(..) => "this is a function: is an argument missing?",
        Ty::Str => "a text has no elements: module `io` and the functions on texts take it apart",
        Ty::Record(_) => "the fields of a record may have different types: name them, as in `[r.x, r.y]`",
        _ => return None,
    };
    Some(expected_array(at, shown).hint(hint))
}

/// An index without a bound that indexes an element of the same comprehension.
pub(crate) fn index_of_element(at: Span, name: &str) -> Diagnostic {
    Diagnostic::error("E0213", at, format!("the extent of `{name}` is not known before there is an element"))
        .hint(format!("write another comprehension inside: `for row in m -> for {name} -> row[{name}]`"))
}

/// `for x, y in pairs`: an index `x` without a bound before elements.
pub(crate) fn taken_apart(d: Diagnostic, variables: &str) -> Diagnostic {
    d.hint(format!("to take pairs apart write `for ({variables}) in ...`; an index has a bound, `for i < n, ...`"))
}

/// Rows beside other generators.
pub(crate) fn rows_among_others(at: Span, source: &str) -> Diagnostic {
    Diagnostic::error("E0203", at, "rows have no axis beside others: they are read when they are needed")
        .hint(format!("{OVER_ROWS}; other sources go inside, `sum for r in {source} -> sum for x in xs -> ...`"))
}

/// A loop over rows.
pub(crate) fn loop_over_rows(at: Span, source: &str) -> Diagnostic {
    Diagnostic::error(
        "E0203",
        at,
        "a loop has no order in which it could read rows, which are spread over chunks and ranks",
    )
    .hint(format!("{OVER_ROWS}; running results are `rows.scan`, and all rows in memory `rows.collect {source}`"))
}
