//! Text that is no token.

use crate::diag::Diagnostic;
use crate::span::Span;

/// Explanations by code.
pub const EXPLAIN: &[(&str, &str)] = &[
    ("E0101", "A character that no adl token begins with.\n\n    let x = 3 $ 4      -- `$` means nothing\n    let x = 3 + 4"),
    ("E0102", "A text that begins with `\"` ends with `\"` on the same line. Write a line break as `\\n`.\n\n    print \"hello\n    print \"hello\""),
    ("E0103", "A comment `(* ... *)` nests, so each `(*` needs its own `*)`.\n\n    (* one (* two *)\n    (* one (* two *) *)"),
    ("E0104", "Inside a text, `\\` begins one of \\n \\t \\r \\0 \\e \\\\ \\\" \\{ \\} \\u{1f600}.\n\n    \"a\\qb\"\n    \"a\\\\qb\""),
    ("E0105", "An `Int` has 64 bits: at most 9223372036854775807. Larger numbers can be Floats.\n\n    99999999999999999999\n    99999999999999999999.0"),
    ("E0106", "Source files are UTF-8. Save the file in that encoding."),
];

pub(crate) fn unknown_char(span: Span, text: &str) -> Diagnostic {
    let hint = match text {
        "!" => Some("`not e` negates a Bool, `!=` compares"),
        "&" => Some("`&&` is the logical and"),
        "#" => Some("a comment begins with `--`"),
        "'" => Some("texts are written with double quotes"),
        "\\" => Some("a function is written `fun x -> e`"),
        "~" => Some("unary minus is `-`, and `not` negates a Bool"),
        _ => None,
    };
    let d = Diagnostic::error("E0101", span, format!("`{}` is not part of the language", text.escape_debug()));
    match hint {
        Some(h) => d.hint(h),
        None => d,
    }
}

pub(crate) fn unterminated_string(span: Span) -> Diagnostic {
    Diagnostic::error("E0102", span, "this text is not closed").label("begins here").hint("close it with `\"` on the same line; a line break inside is `\\n`")
}

pub(crate) fn unterminated_comment(span: Span) -> Diagnostic {
    Diagnostic::error("E0103", span, "this comment is not closed").label("begins here").hint("comments nest: each `(*` needs its own `*)`")
}

pub(crate) fn bad_escape(span: Span) -> Diagnostic {
    Diagnostic::error("E0104", span, "unknown escape in a text").hint("known are \\n \\t \\r \\0 \\e \\\\ \\\" \\{ \\} and \\u{...}")
}

pub(crate) fn int_too_large(span: Span, text: &str) -> Diagnostic {
    Diagnostic::error("E0105", span, format!("{text} does not fit an Int"))
        .note("the largest Int is 9223372036854775807")
        .hint(format!("as a Float: {text}.0"))
}

pub(crate) fn bad_number(span: Span, text: &str) -> Diagnostic {
    Diagnostic::error("E0105", span, format!("`{text}` is not a number")).hint("a name cannot begin with a digit")
}

/// Text that is not UTF-8.
pub fn not_utf8(span: Span, line: usize, col: usize) -> Diagnostic {
    Diagnostic::error("E0106", span, format!("the file is not UTF-8 (line {line}, column {col})")).hint("save it in UTF-8")
}
