//! E0107, E0111, E0115, E0117, E0118: brackets, blocks, columns, depth.

use super::explain::Explanation;
use crate::diag::Diagnostic;
use crate::span::Span;

pub(crate) fn unclosed(open: Span, opened: &str, closer: &str, at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0111", at, format!("`{opened}` is not closed: expected `{closer}` before {found}"))
        .also(open, format!("`{opened}` was opened here"))
        .hint(format!("add `{closer}`"))
}

pub(crate) fn mismatched(open: Span, opened: &str, closer: &str, at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0117", at, format!("`{found}` does not close `{opened}`"))
        .label(format!("expected `{closer}`"))
        .also(open, format!("`{opened}` was opened here"))
}

pub(crate) fn unmatched(at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0117", at, format!("this `{found}` closes nothing")).hint("remove it, or open it further up")
}

pub(crate) fn misindented(at: Span, block: Span, column: u32, is: u32) -> Diagnostic {
    let message = format!("this line begins in column {}, but its block is in column {}", is + 1, column + 1);
    Diagnostic::error("E0118", at, message)
        .also(block, "the block began here")
        .hint("begin all entries of a block in one column")
}

/// `inline`: a `;` precedes the `let`. `body`: the text after the definition on its line, if it can be the body of a
/// `let ... in`.
pub(crate) fn ends_with_let(at: Span, inline: bool, body: Option<(Span, &str)>) -> Diagnostic {
    let d = Diagnostic::error("E0115", at, "this block ends with a `let` and has no value");
    if let Some((place, text)) = body {
        return d.hint(format!("on one line `in` stands before the body: `in {text}`")).fix(place, "in ");
    }
    d.hint(match inline {
        true => "a `;` goes on with the value of what is being defined; definitions on one line are separated by `;;`",
        false => "add a line with the block's value below it, in the same column",
    })
}

pub(crate) fn too_deep(at: Span, limit: u32) -> Diagnostic {
    Diagnostic::error("E0107", at, format!("nested too deeply: more than {limit} levels"))
        .label("this is where the limit is reached")
        .hint("give parts of it names with `let`, or keep long data in an array or a file")
}

pub(crate) fn too_many_arguments(at: Span, limit: usize) -> Diagnostic {
    Diagnostic::error("E0107", at, format!("a function is applied to more than {limit} arguments"))
        .hint("keep long data in an array: its parts are separated by `,`")
}

pub(crate) fn body_in_item_column(at: Span, after: Span, word: &str) -> Diagnostic {
    Diagnostic::error("E0112", at, format!("what belongs to `{word}` must be indented further"))
        .also(after, "its block is expected after this")
        .hint("indent the line")
}

pub(crate) fn in_before_item(at: Span) -> Diagnostic {
    Diagnostic::error("E0112", at, "the body of this `in` is missing: a line in the first column begins a new item")
        .hint("leave the `in` out, for a top-level `let` holds for all that follows; or indent the body")
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0111",
        "A bracket that is not closed before its item or line ends.\n\n    let xs = [1.0, 2.0       -- wrong\n    \
let xs = [1.0, 2.0]      -- right\n\nAn item ends before the next line that begins in column 0, so an open bracket \
never reaches into the next definition.",
    ),
    (
        "E0117",
        "A closing bracket that does not belong to the one that is open, or to none.\n\n    let x = (1.0 + 2.0]     \
-- wrong\n    let x = (1.0 + 2.0)     -- right",
    ),
    (
        "E0118",
        "The entries of a block stand in one column. A line that begins left of that column but still inside the \
definition belongs to nothing.\n\n    let f x =\n        let y = x\n      y + 1.0          -- wrong\n\n    let f x =\n        \
let y = x\n        y + 1.0        -- right",
    ),
    (
        "E0115",
        "The value of a block is its last entry, so a block cannot end with a `let`.\n\n    let f x =\n      let y = x * \
x          -- wrong: what is the value of f?\n\n    let f x =\n      let y = x * x\n      y                      -- right",
    ),
    (
        "E0107",
        "Expressions, types and patterns nest at most some thousand levels deep, and a chain of operators counts as \
nesting. Programs written by people stay far below; generated ones should put data in arrays, where the number of \
elements is not limited, or in files.\n\n    1 + 1 + ... + 1              -- wrong: five thousand terms\n    sum [1, 1, ..., 1]           -- right",
    ),
];
