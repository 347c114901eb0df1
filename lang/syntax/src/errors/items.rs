//! E0116, E0140–E0149: top-level items.

use super::explain::Explanation;
use crate::diag::Diagnostic;
use crate::span::Span;

pub(crate) fn no_item(at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0116", at, format!("no item begins with {found}"))
}

pub(crate) fn type_without_constructor(at: Span, name: &str) -> Diagnostic {
    Diagnostic::error("E0140", at, "a declared type is a list of constructors")
        .hint(format!("for another name of an existing type write `type alias {name} = ...`; for a new one `type {name} = {name} ...`"))
}

pub(crate) fn of_in_constructor(at: Span) -> Diagnostic {
    Diagnostic::error("E0141", at, "the fields of a constructor follow it directly, without `of`")
        .hint("write `Circle Float`")
}

pub(crate) fn import_alias(at: Span) -> Diagnostic {
    Diagnostic::error("E0142", at, "an imported file needs a name").hint("write `import \"file.adl\" as M`")
}

pub(crate) fn tabs_and_spaces(at: Span) -> Diagnostic {
    Diagnostic::warning("W0101", at, "this file is indented with tabs and with spaces")
        .note("a tab counts up to the next multiple of 8 columns")
        .hint("`adl fmt` indents with spaces throughout")
}

/// A hint for an item that did not parse and begins with a word of another language.
pub(crate) fn foreign_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "def" | "fn" | "func" | "function" | "define" => "a function is defined with `let f x = ...`",
        "var" | "val" | "const" => "a name is defined with `let x = ...`",
        "lambda" => "a function is written `fun x -> ...`",
        "return" => "there is no `return`: the last entry of a block is its value",
        "elif" | "elsif" | "elseif" => "written `else if`",
        "switch" | "case" => "written `match e with | pattern -> ...`",
        "from" | "open" | "use" | "include" | "require" => "written `import \"file.adl\" as M`",
        "data" | "enum" | "struct" | "class" => "a type is declared with `type T = A | B`",
        "module" => "a module is a file, used with `import \"file.adl\" as M`",
        _ => return None,
    })
}

/// The same for words that are unlikely to be names, anywhere in an expression.
pub(crate) fn foreign_word_in_expression(word: &str) -> Option<&'static str> {
    match word {
        "function" => Some("cases are written `fun x -> match x with | pattern -> ...`"),
        "lambda" | "elif" | "elsif" | "elseif" | "return" => foreign_word(word),
        _ => None,
    }
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    ("E0116", "A top-level item is a `let`, a `type`, an `import`, a `test`, a `bench` or an expression, and begins in column 0. A line \
that begins in column 0 with an operator, `|`, `in`, `then`, `else`, `with`, `and` or a closing bracket continues the item above \
it.\n\n    then 3             -- wrong: no `if` is open"),
    ("E0140", "`type` declares a new type with its constructors; `type alias` gives an existing type a second name.\n\n    type Point = \
{x : Float, y : Float}              -- wrong\n    type alias Point = {x : Float, y : Float}        -- right\n    type Shape = Circle Float | \
Square Float         -- right"),
    ("E0141", "Constructors are declared as they are used, with their fields after them.\n\n    type Shape = Circle of Float      -- \
wrong\n    type Shape = Circle Float         -- right"),
    ("E0142", "`import \"file.adl\" as M` runs the file once and makes its definitions available as `M.f`. Standard modules need no \
import.\n\n    import \"util.adl\"           -- wrong\n    import \"util.adl\" as U      -- right: then U.f"),
    ("W0101", "A tab moves to the next multiple of 8 columns. Where the lines of one file are indented now with tabs and now with \
spaces, what looks aligned in an editor may not be. `adl fmt` writes spaces only."),
];
