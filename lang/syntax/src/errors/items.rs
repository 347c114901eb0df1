//! E0116, E0140–E0149: top-level items.

use super::explain::Explanation;
use crate::diag::Diagnostic;
use crate::span::Span;

pub(crate) fn no_item(at: Span, found: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error("E0116", at, format!("no item begins with {found}"));
    diagnostic.hint(match found.trim_matches('`') {
        "//" | "/" | "%" | "*" => "a comment begins with `--`, or stands between `(*` and `*)`",
        _ => "it would continue the item above, but that has ended",
    })
}

pub(crate) fn type_without_constructor(at: Span, name: &str, name_at: Span) -> Diagnostic {
    Diagnostic::error("E0140", at, "a declared type is a list of constructors")
        .hint(format!("for another name of an existing type write `type alias {name} = ...`; for a new one `type {name} = {name} ...`"))
        .fix(Span { hi: name_at.lo, ..name_at }, "alias ")
}

pub(crate) fn of_in_constructor(at: Span) -> Diagnostic {
    Diagnostic::error("E0141", at, "the fields of a constructor follow it directly, without `of`")
        .hint("write `Circle Float`, with two fields `Rect Float Float`")
}

pub(crate) fn product_in_constructor(at: Span) -> Diagnostic {
    Diagnostic::error("E0141", at, "the fields of a constructor follow each other without `*`")
        .hint("write `Rect Float Float`")
}

pub(crate) fn lower_case_declaration(at: Span, name: &str) -> Diagnostic {
    let mut letters = name.chars();
    let upper: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    Diagnostic::error("E0140", at, "the name of a type begins with a capital")
        .hint(format!("write `type {upper} = ...`"))
}

pub(crate) fn import_alias(at: Span) -> Diagnostic {
    Diagnostic::error("E0142", at, "an imported file needs a name").hint("write `import \"file.adl\" as M`")
}

pub(crate) fn tabs_and_spaces(at: Span) -> Diagnostic {
    Diagnostic::warning("W0101", at, "this file is indented with tabs and with spaces")
        .note("a tab counts up to the next multiple of 8 columns")
        .hint("`adl fmt` indents with spaces throughout")
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0116",
        "A top-level item is a `let`, a `type`, an `import`, a `test`, a `bench` or an expression, and begins in column 0. A line \
that begins in column 0 with an operator, `|`, `in`, `then`, `else`, `with`, `and` or a closing bracket continues the item above \
it.\n\n    then 3                 -- wrong: no `if` is open\n    if x then 3 else 4     -- right\n\n    // note                -- wrong\n    -- note                -- right",
    ),
    (
        "E0140",
        "`type` declares a new type with its constructors; `type alias` gives an existing type a second name.\n\n    type Point = \
{x : Float, y : Float}              -- wrong\n    type alias Point = {x : Float, y : Float}        -- right\n    type Shape = Circle Float | \
Square Float         -- right\n\nTypes and constructors begin with a capital.\n\n    type shape = Circle Float         -- wrong",
    ),
    (
        "E0141",
        "Constructors are declared as they are used, with their fields after them.\n\n    type Shape = Circle of Float | Rect of Float * Float      -- \
wrong\n    type Shape = Circle Float | Rect Float Float              -- right",
    ),
    (
        "E0142",
        "`import \"file.adl\" as M` runs the file once and makes its definitions available as `M.f`. Standard modules need no \
import.\n\n    import \"util.adl\"           -- wrong\n    import \"util.adl\" as U      -- right: then U.f",
    ),
    (
        "W0101",
        "A tab moves to the next multiple of 8 columns. Where the lines of one file are indented now with tabs and now with \
spaces, what looks aligned in an editor may not be. `adl fmt` writes spaces only.\n\n    let f x =\n    (tab)let y = x        -- wrong: a tab here, spaces below\n            y\n\n    let f x =\n      let y = x        -- right\n      y",
    ),
];
