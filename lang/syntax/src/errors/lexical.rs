//! E0101–E0106 and E0108: characters, numbers, strings, comments.

use super::explain::Explanation;
use crate::diag::Diagnostic;
use crate::span::Span;

pub(crate) fn invalid_utf8(span: Span, line: usize, column: usize) -> Diagnostic {
    Diagnostic::error("E0106", span, format!("the text is not UTF-8: bad byte at line {line}, column {column}"))
        .hint("save the file as UTF-8")
}

/// `rest` is the text after the character.
pub(crate) fn unknown_character(span: Span, text: &str, rest: &str) -> Diagnostic {
    let first = text.chars().next().unwrap_or(' ');
    let message = match text.chars().count() {
        1 => format!("`{}` means nothing here", shown(first)),
        n => format!("{n} characters that mean nothing here, beginning with `{}`", shown(first)),
    };
    let diagnostic = Diagnostic::error("E0101", span, message);
    match character_hint(first).or_else(|| quote_hint(first, rest)) {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}

fn shown(c: char) -> String {
    if c.is_control() || c.is_whitespace() { c.escape_debug().to_string() } else { c.to_string() }
}

/// A string in quotation marks of another language, such as `'text'`.
pub(crate) fn foreign_quotes(span: Span, quote: &str) -> Diagnostic {
    let hint = match quote {
        "'" => "text is written in double quotes, single characters too: \"a\"",
        "`" => "text is written in double quotes, with values in it as in f\"x = {x}\"",
        _ => "a text of several lines is written in plain double quotes: they may hold line breaks",
    };
    Diagnostic::error("E0101", span, format!("no text is written in `{quote}` quotes")).hint(hint)
}

/// A hint for `'a'` and `'text'`, or for the type variable `'a`.
fn quote_hint(first: char, rest: &str) -> Option<&'static str> {
    let line = rest.lines().next().unwrap_or("");
    let closed = line.split_once('\'').is_some_and(|(inside, after)| {
        !inside.ends_with(char::is_whitespace) && !after.starts_with(char::is_alphanumeric)
    });
    match first {
        '\'' if closed => Some("text is written in double quotes, single characters too: \"a\""),
        '\'' => Some("a type variable has no quote before it: `a`; text is written in double quotes"),
        _ => None,
    }
}

fn character_hint(character: char) -> Option<&'static str> {
    Some(match character {
        '“' | '”' | '„' | '«' | '»' | '‘' | '’' | '`' => {
            "strings are written in straight double quotes: \"text\""
        }
        '#' => "a comment begins with `--`",
        '−' | '–' | '—' => "the minus sign is the ASCII character `-`",
        '×' | '·' | '⋅' => "the product is written `*`",
        '÷' => "division is written `/`",
        '≤' => "written `<=`",
        '≥' => "written `>=`",
        '≠' => "written `!=`",
        '→' => "the arrow is written `->`",
        '∧' => "written `&&`",
        '∨' => "written `||`",
        '∈' => "membership is `any (map (fun y -> y == x) xs)`",
        '¬' | '~' => "negation is the function `not`",
        '∑' => "a sum is written `sum for i < n -> ...`",
        '√' => "written `sqrt x`",
        '∘' => "functions are composed from left to right: `g >> f`",
        '∇' => "the gradient is written `grad f x`",
        '∂' => "a derivative is written `grad f x`, a Jacobian `jacobian f x`",
        '∞' => "written `inf`",
        '∫' => "an integral is computed by `integrate.quad f a b`",
        '²' | '³' | 'ⁿ' => "a power is written `x ^ 2`",
        '?' => "a choice is written `if c then a else b`",
        _ => return None,
    })
}

pub(crate) fn unterminated_string(span: Span) -> Diagnostic {
    Diagnostic::error("E0102", span, "this string is not closed").hint("add the closing `\"`")
}

pub(crate) fn bad_escape(span: Span, text: &str) -> Diagnostic {
    Diagnostic::error("E0104", span, format!("`{text}` is not an escape"))
        .hint("the escapes are \\n \\t \\r \\0 \\e \\\\ \\\" \\xHH and \\u{HEX}; a backslash itself is \\\\")
}

pub(crate) fn unterminated_comment(span: Span) -> Diagnostic {
    Diagnostic::error("E0103", span, "this comment is not closed")
        .label("opened here")
        .hint("add `*)`; the product as a function is `fun x y -> x * y`, and with one factor given `fun x -> x * 2.0`")
}

pub(crate) fn bad_number(span: Span, number: &str, suffix: &str) -> Diagnostic {
    let message = format!("`{number}{suffix}` is neither a number nor a name");
    let hint = match suffix {
        "f64" | "f" | "d" => format!("Float literals have no suffix: write `{number}` with a point, as in `1.0`"),
        "i64" | "i" | "l" | "L" | "u64" => format!("Int literals have no suffix: write `{number}`"),
        "e" | "E" => format!("an exponent needs digits: `{number}e3`"),
        "x" | "o" | "b" if number == "0" => "digits follow it: `0xff`, `0o17`, `0b101`".to_owned(),
        _ => format!("a product is written with `*`: `{number} * {suffix}`; names begin with a letter"),
    };
    Diagnostic::error("E0105", span, message).hint(hint)
}

pub(crate) fn int_too_large(span: Span) -> Diagnostic {
    Diagnostic::error("E0105", span, "this Int does not fit in 64 bits")
        .note("Int goes from -9223372036854775808 to 9223372036854775807")
        .hint("write it as a Float, with a point")
}

pub(crate) fn float_too_large(span: Span) -> Diagnostic {
    Diagnostic::error("E0105", span, "this number is too large for its type").hint("infinity is written `inf`")
}

pub(crate) fn open_interpolation(span: Span) -> Diagnostic {
    Diagnostic::error("E0108", span, "this `{` of an f-string is not closed on its line")
        .hint("close it with `}`; a brace that is text is written `{{`")
}

pub(crate) fn lone_brace(span: Span) -> Diagnostic {
    Diagnostic::error("E0108", span, "a `}` that closes nothing in an f-string")
        .hint("a brace that is text is written `}}`")
}

pub(crate) fn empty_interpolation(span: Span) -> Diagnostic {
    Diagnostic::error("E0108", span, "there is no expression between `{` and `}`")
        .hint("braces that are text are written `{{}}`")
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0106",
        "A source file is text in UTF-8. This one holds bytes that are not.\n\nOpen the file in an editor and \
save it with the encoding UTF-8. If the file is data rather than a program, read it with `read_csv`, `read_npy` or \
`read_text`.\n\n    adl data.npy                            -- wrong\n    adl -e 'read_npy \"data.npy\"'           -- right",
    ),
    (
        "E0101",
        "A character that begins no name, number, string or operator.\n\n    let y = 2 × 3      -- wrong\n    \
let y = 2 * 3      -- right\n\nText copied from a document often brings typographic quotes, dashes and \
multiplication signs along; adl is written with the plain ones. Greek letters are letters: `α` and `θ₁` are names.",
    ),
    (
        "E0102",
        "A string that has no closing quote.\n\n    print \"hello      -- wrong\n    print \"hello\"     -- right\n\nA \
quote inside a string is written `\\\"`.",
    ),
    (
        "E0104",
        "A backslash in a string begins an escape, and only these are known: \\n (newline), \\t (tab), \\r, \
\\0, \\e (escape), \\\\ (a backslash), \\\" (a quote), \\xHH and \\u{HEX} (a character by its number).\n\n    \
read_csv \"data\\wine.csv\"      -- wrong: \\w is not an escape\n    read_csv \"data/wine.csv\"      -- right",
    ),
    (
        "E0103",
        "A comment `(* ... *)` without its end. Such comments nest, so each `(*` inside needs its own `*)`.\n\n    \
(* outer (* inner *)        -- wrong: the outer one is still open\n    (* outer (* inner *) *)     -- right",
    ),
    (
        "E0105",
        "A number with letters directly after it, or one that its type cannot hold.\n\n    let y = 2x          -- \
wrong\n    let y = 2.0 * x     -- right\n\nThe only suffix is `f32`, as in `1.5f32`. Floats are written `1.5` or `1e-3`, Ints \
`42` or `1_000_000`. An Int has 64 bits, so it goes from -9223372036854775808 to 9223372036854775807; a larger number can be a \
Float: `1e19`. A Float is at most about 1.8e308; infinity is written `inf`.",
    ),
    (
        "E0108",
        "In `f\"...\"` the text between `{` and `}` is an expression, on one line. Braces that are text are doubled.\n\n    print f\"loss = {loss\"         \
-- wrong\n    print f\"loss = {loss}\"        -- right\n    print f\"a set {}\"             -- wrong: no expression\n    print f\"a set {{1, 2}}\"       -- right",
    ),
];
