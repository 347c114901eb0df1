//! E0112–E0139: expressions, patterns, types.

use super::explain::Explanation;
use crate::diag::Diagnostic;
use crate::span::Span;

/// Expected `what` after `after`, but `found` is there (`None`: nothing).
pub(crate) fn wanted(code: &'static str, at: Span, what: &str, after: &str, found: Option<&str>) -> Diagnostic {
    let place = if after.is_empty() { String::new() } else { format!(" after {after}") };
    match found {
        Some(found) => Diagnostic::error(code, at, format!("expected {what}{place}, found {found}")),
        None => Diagnostic::error(code, at, format!("expected {what}{place}")),
    }
}

pub(crate) fn unexpected(at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0110", at, format!("{found} cannot stand here"))
}

/// `target` is the left side, if it could be the left side of a definition.
pub(crate) fn equals_in_expression(at: Span, target: Option<&str>) -> Diagnostic {
    let diagnostic = Diagnostic::error("E0113", at, "`=` defines a name; it does not compare");
    match target.map(defined) {
        Some(name) => diagnostic.hint(format!("to define, write `let {name} = ...`; to compare, write `==`")),
        None => diagnostic.hint("to compare, write `==`").fix(at, "=="),
    }
}

/// `A = ...` without a `let`.
pub(crate) fn upper_definition(at: Span, name: &str) -> Diagnostic {
    let mut letters = name.chars();
    let small: String = letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
    Diagnostic::error("E0113", at, "`=` defines a name; it does not compare").hint(format!(
        "to define, write `let {small} = ...`, for names of values begin in lower case; to compare, write `==`"
    ))
}

/// `f(x=1)`.
pub(crate) fn named_argument(at: Span) -> Diagnostic {
    Diagnostic::error("E0113", at, "arguments have no names: `=` gives a name to a value")
        .hint("arguments stand in their order, `f a b`; named values are a record, `f {x = 1.0}`, and a comparison is written `==`")
}

/// The left side of a definition without the type or keyword that other languages put first: `int x`.
fn defined(left: &str) -> &str {
    let typed = ["int", "float", "double", "bool", "string", "auto", "static"];
    match left.split_once(' ') {
        Some((word, name)) if typed.contains(&word) && !name.contains([' ', '(']) => name,
        _ => left,
    }
}

pub(crate) fn comparison_chain(at: Span, first: Span) -> Diagnostic {
    Diagnostic::error("E0114", at, "comparisons do not chain")
        .also(first, "this is a comparison already")
        .hint("write `a < b && b < c`, or `a .< b .&& b .< c` of the elements of arrays")
}

pub(crate) fn partial_section(at: Span, op: &str) -> Diagnostic {
    Diagnostic::error(
        "E0121",
        at,
        format!("`({op})` is the operator as a function; it takes no operand inside the parentheses"),
    )
    .hint(format!("write `fun x -> x {op} ...`"))
}

pub(crate) fn tuple_place(at: Span) -> Diagnostic {
    Diagnostic::error("E0122", at, "a tuple has no numbered fields")
        .hint("take it apart with `let (a, b) = t`, or use `fst` and `snd`; an array's element is `x[0]`")
}

pub(crate) fn no_parameters(at: Span, word: &str) -> Diagnostic {
    Diagnostic::error("E0123", at, format!("`{word}` needs a parameter before `->`"))
        .hint(format!("write `{word} x -> ...`, or `{word} () -> ...` for a function of nothing"))
}

pub(crate) fn lin_parameters(at: Span) -> Diagnostic {
    Diagnostic::error("E0123", at, "`lin` takes one parameter")
        .hint("`lin (x, y) -> ...` is linear in both jointly; `fun x -> lin y -> ...` only in `y`")
}

pub(crate) fn no_arms(at: Span) -> Diagnostic {
    Diagnostic::error("E0124", at, "this `match` has no cases").hint("add cases below it: `| pattern -> value`")
}

pub(crate) fn missing_bar(at: Span) -> Diagnostic {
    Diagnostic::error("E0124", at, "each further case begins with `|`")
        .hint("put `|` before the pattern")
        .fix(Span { hi: at.lo, ..at }, "| ")
}

pub(crate) fn for_bound(at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0125", at, format!("a `for` variable counts from 0 and its bound is written `i < n`, not with `{found}`"))
        .hint("an array is built with `for i < n -> ...` (an offset goes into the body), one from the elements of another with `for x in xs -> ...`; what changes from step to step is a `loop x = start for i < n do ...`")
}

pub(crate) fn record_colon(at: Span) -> Diagnostic {
    Diagnostic::error("E0126", at, "the fields of a record value are written with `=`")
        .hint("`{x = 1.0}` is a value, `{x : Float}` is its type")
}

pub(crate) fn list_semicolon(at: Span) -> Diagnostic {
    Diagnostic::error("E0126", at, "the parts of an array, tuple or record are separated by `,`")
        .hint("write `[1, 2, 3]`, a matrix `[[1, 2], [3, 4]]`")
}

pub(crate) fn bare_while(at: Span) -> Diagnostic {
    Diagnostic::error("E0112", at, "a `while` belongs to a `loop`, which carries the values that change")
        .hint("write `loop x = start while condition do next value of x`")
}

pub(crate) fn foreign_index(at: Span) -> Diagnostic {
    Diagnostic::error("E0122", at, "an element is taken with brackets, without a point").hint("write `x[i]`")
}

pub(crate) fn record_semicolon(at: Span) -> Diagnostic {
    Diagnostic::error("E0126", at, "the fields of a record are separated by `,`").hint("write `{a = 1, b = 2}`")
}

/// A keyword (`then`, `with` ...) without the one that must precede it.
pub(crate) fn missing_keyword(at: Span, found: &str) -> Diagnostic {
    let (owner, hint) = match found {
        "with" => ("`match` and no `{`", "write `match e with | pattern -> ...`, or `{r with x = e}`"),
        "in" => ("`let` or `for`", "write `let x = e in body`; elements are `for x in xs -> ...`"),
        "do" => ("`loop`", "write `loop x = start for i < n do next`"),
        _ => ("`if`", "write `if c then a else b`; `else` may not stand left of the column of its `if`'s block"),
    };
    Diagnostic::error("E0127", at, format!("`{found}` belongs to no {owner} here")).hint(hint)
}

/// `x[a..b]`, `[1:10]`, `[1..10]`.
pub(crate) fn range_in_brackets(at: Span, sign: &str, index: bool) -> Diagnostic {
    let d = Diagnostic::error("E0110", at, format!("`{sign}` cannot stand here"));
    match index {
        true => d.hint("a slice is written `x[a:b]`, without its element `b`"),
        false => {
            d.hint("the Ints from `a` to `b - 1` are `range a b`, `n` numbers between two others `linspace a b n`")
        }
    }
}

/// `x[a:b:c:d]`.
pub(crate) fn slice_colons(at: Span) -> Diagnostic {
    Diagnostic::error("E0110", at, "a slice has at most two colons")
        .hint("it is `x[from:to]` or `x[from:to:step]`; other axes follow a comma: `m[a:b, c:d]`")
}

/// `{"a": 1}`.
pub(crate) fn text_as_field(at: Span) -> Diagnostic {
    Diagnostic::error("E0126", at, "the fields of a record are names, written with `=`")
        .hint("write `{a = 1}`; for keys that only the program knows keep an array or a list of pairs")
}

/// `x [1:]`: the space makes the brackets an argument.
pub(crate) fn slice_in_array(at: Span, open: Span) -> Diagnostic {
    Diagnostic::error("E0110", at, "a slice cannot stand in an array")
        .also(open, "after a blank, `[` begins an array")
        .hint("to take a slice write the `[` directly behind the array: `x[a:b]`")
}

pub(crate) fn nested_update(at: Span, field: &str) -> Diagnostic {
    Diagnostic::error("E0110", at, "the fields of a new record are names alone")
        .hint(format!("a record inside is written `{{{field} = {{x = e}}}}`; a record with a field inside changed, `{{r with {field}.x = e}}`"))
}

pub(crate) fn product_type(at: Span) -> Diagnostic {
    Diagnostic::error("E0129", at, "there is no type operator `*`").hint("the type of pairs is written `(a, b)`")
}

pub(crate) fn number_without_zero(at: Span, digits: &str) -> Diagnostic {
    Diagnostic::error("E0105", at, "a number begins with a digit").hint(format!("write `0.{digits}`"))
}

pub(crate) fn field_of_number(at: Span) -> Diagnostic {
    Diagnostic::error("E0105", at, "a number has one point at most")
        .hint("the Ints from `a` to `b - 1` are `range a b`")
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0112",
        "An expression is missing. After `=`, `->`, `then`, `else`, `in` and `do` it stands on the same line, or indented \
more on the next ones.\n\n    let x =              -- wrong\n    let x = 1.0          -- right\n\n    let y = x \
+            -- wrong\n    let y = x + 1.0      -- right",
    ),
    (
        "E0113",
        "`=` gives a name to a value, in `let`, in records and in loops. To compare, use `==`.\n\n    if x = 0.0 then 1.0 \
else x       -- wrong\n    if x == 0.0 then 1.0 else x      -- right\n\n    y = 2.0            -- wrong\n    let y = 2.0        \
-- right",
    ),
    (
        "E0114",
        "A comparison gives a Bool, which cannot be compared with a number.\n\n    0.0 < x < 1.0                -- \
wrong\n    0.0 < x && x < 1.0           -- right",
    ),
    (
        "E0121",
        "An operator in parentheses is a function of two arguments: `(+)` is `fun a b -> a + b`. With one operand \
given, write the function out.\n\n    map (+ 1.0) xs              -- wrong\n    map (fun x -> x + 1.0) xs   -- right\n\n`(- 1.0)` is the \
number minus one.",
    ),
    (
        "E0122",
        "The parts of a tuple have no names and no numbers.\n\n    t.0                        -- wrong\n    fst t                      \
-- right, for pairs\n    let (a, b, c) = t          -- right",
    ),
    (
        "E0123",
        "`fun` takes one or more parameters and `lin` takes exactly one, which may be a tuple.\n\n    fun -> 1.0               \
-- wrong\n    fun () -> 1.0            -- right\n    lin x y -> x + y         -- wrong\n    lin (x, y) -> x + y      -- right",
    ),
    (
        "E0124",
        "A `match` has one or more cases, each with `|` before it (the first may do without).\n\n    match n with\n      \
0 -> 1\n      _ -> 2             -- wrong\n\n    match n with\n    | 0 -> 1\n    | _ -> 2             -- right",
    ),
    (
        "E0125",
        "The variable of a comprehension is an index, which counts from 0 up to its bound, or an element of an array.\n\n    \
for i in 0..n -> x[i]      -- wrong\n    for i < n -> x[i]          -- right\n    for i -> x[i]              -- right: as many as x has\n    \
for v in x -> v            -- right: the elements themselves\n    for i in range a b -> i    -- right: from a to b - 1",
    ),
    (
        "E0126",
        "The parts of arrays, tuples and records are separated by `,`. Records are written with `=` and `,` as values and with `:` and `,` as types.\n\n    {w : [1.0]; b : 0.0}          -- wrong\n    {w = [1.0], b = 0.0}          -- right\n\nIts type is \
`{w : [1]Float, b : Float}`.",
    ),
    (
        "E0127",
        "A word that belongs to an `if`, `match`, `let` or `loop`, without one that it could belong to. Either the first \
part is missing, or the line stands too far to the left, so that the first part has ended already.\n\n    let f x =\n        if x > 0.0 then \
x\n      else 0.0                   -- wrong: left of the block's column\n\n    let f x =\n        if x > 0.0 then x\n        else 0.0                 -- \
right",
    ),
    (
        "E0128",
        "A pattern is missing. Patterns are names, `_`, literals, tuples `(a, b)`, records `{x, y = p}`, constructors with \
their arguments, `x :: xs`, arrays `[a, b]`, `p | q` and `p as x`.\n\n    let type = 3           -- wrong: a reserved word\n    let kind = 3           -- right",
    ),
    (
        "E0129",
        "A type is missing. Types are `Float`, `Int`, `Bool`, `String`, `()`, tuples `(a, b)`, records `{x : a}`, arrays \
`[n]a`, functions `a -> b`, linear functions `a -o b`, type variables and declared types with their arguments.\n\n    let f (p : Float * Float) = fst p      -- wrong\n    let f (p : (Float, Float)) = fst p     -- right",
    ),
    (
        "E0110",
        "Something else was expected at this place: a sign or word that the construct needs, such as `then` after the \
condition of an `if`, `with` after `match e`, `->` after the parameters of `fun` or `=` after the left side of a `let`; or, before a \
word that cannot stand here, an operator, a comma or a closing bracket.\n\n    if x > 0 1 else 2              -- wrong\n    if x > 0 \
then 1 else 2         -- right",
    ),
];
