//! E0119, E0120, W0102: words and operators of other languages, with the adl equivalent.

use super::explain::Explanation;
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::Kw;

const NO_CHANGE: &str = "values do not change; give the new value a name with `let`, or carry it through a `loop`";

/// The adl equivalent of a word of another language, for undefined names and for items that do not parse.
pub fn word(word: &str) -> Option<&'static str> {
    Some(match word {
        "def" | "fn" | "func" | "define" | "defun" => "a function is defined with `let f x = ...`",
        "mut" | "mutable" => NO_CHANGE,
        "var" | "val" | "const" | "static" | "auto" => "a name is defined with `let x = ...`",
        "lambda" => "a function is written `fun x -> ...`",
        "function" => "cases are written `fun x -> match x with | pattern -> ...`, a definition `let f x = ...`",
        "return" => "there is no `return`: the last entry of a block is its value",
        "elif" | "elsif" | "elseif" => "written `else if`",
        "switch" | "case" => "written `match e with | pattern -> ...`",
        "from" | "open" | "use" | "using" | "include" | "require" => "written `import \"file.adl\" as M`",
        "data" | "enum" | "struct" | "class" | "newtype" => "a type is declared with `type T = A | B`",
        "module" => "a module is a file, used with `import \"file.adl\" as M`",
        "begin" | "end" => "parentheses group, and so do lines in one column",
        "ref" => NO_CHANGE,
        "or" => "the logical or is written `||`",
        "mod" => "the remainder is written `a % b`",
        "div" => "whole numbers are divided with `a // b`",
        "xor" => "of two Bools this is `a != b`",
        "try" | "raise" | "failwith" | "throw" => {
            "an error ends the program (`error text`); what may be missing is an `Option`"
        }
        "null" | "nil" | "undefined" => {
            "a missing value is `None`, and one that is there `Some x`; the empty list is `Nil`"
        }
        "print_endline" | "printf" | "println" | "print_string" | "puts" => {
            "written `print x`, with values in text as in `print f\"x = {x}\"`"
        }
        "string_of_int" | "string_of_float" | "str" | "to_string" => "a value is made a text with `show x`",
        "float_of_int" => "written `float n`",
        "int_of_float" | "truncate" => "written `int x`",
        "length" | "size" => "the length of an array is `len xs`",
        "np" | "numpy" | "jnp" | "math" | "torch" => {
            "these functions have no module: `exp x`, `sum xs`, `linspace 0.0 1.0 n`"
        }
        "assert_eq" => "written `assert (a == b)`",
        "set" | "update" | "put" | "setindex" => ELEMENT,
        "append" | "push" | "vstack" | "hstack" => "arrays are joined with `xs ++ ys`",
        "matmul" => "written `a @ b`",
        "ndim" | "shape_of" => "the shape of an array is `shape x`",
        "public" | "private" | "pub" | "export" | "local" | "global" | "nonlocal" => {
            "a definition in column 0 is seen by all that follows, and by files that import it: `let x = ...`"
        }
        "del" | "delete" => "values are not deleted; a later `let` of the same name takes its place",
        "async" | "await" | "yield" => {
            "programs run in order; what is made one by one is a `loop` or an array `for i < n -> ...`"
        }
        "unless" => "written `if not c then ...`",
        "is" => "equality is written `a == b`; what may be missing is taken apart with `match`",
        "exception" => "there are no exceptions: `error text` ends the program; what may fail gives an `Option`",
        "where" => "a definition stands before its use: `let`s above the value",
        "pass" => "the value of nothing is `()`",
        "self" | "this" => "there are no objects: a function takes the record that it works on",
        "and_then" | "bind" => "written with `match`",
        _ => return None,
    })
}

/// `{x:.3f}` in an f-string; `fix` replaces the format by a call.
pub(crate) fn format_in_text(d: Diagnostic, fix: Option<(Span, String)>) -> Diagnostic {
    let d = match fix {
        Some((at, text)) => d.fix(at, text),
        None => d,
    };
    d.hint("in braces stands an expression: `{io.fixed 3 x}` has three digits, `{io.pad_left 8 (show x)}` at least eight characters")
}

/// The hint for assignments to an element.
pub(crate) const ELEMENT: &str =
    "an array with another element at `i` is `{xs with [i] = e}`, and one of which many change `for i < n -> ...`";

/// The adl equivalent of a constructor, module or type of another language.
pub fn upper_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "True" => "written `true`",
        "False" => "written `false`",
        "Just" => "written `Some x`",
        "Nothing" => "written `None`",
        "List" | "Array" | "Seq" => {
            "these functions have no module: `map f xs`, `len xs`; lists have the module `list`"
        }
        "Printf" => "written `print f\"x = {x}\"`",
        "Math" => "these functions have no module: `exp x`",
        "Double" | "Real" | "Float64" => "the type of real numbers is `Float`, with 32 bits `F32`",
        "Integer" | "Int64" | "Nat" => "the type of whole numbers is `Int`",
        "Float" => "a number is made a Float with `float n`; a type is given as in `(x : Float)`",
        "F32" => "a number is made an F32 with `to_f32 x`; a type is given as in `(x : F32)`",
        "Int" => "a Float is made an Int with `int x`; a type is given as in `(n : Int)`",
        "String" => "a value is made a text with `show x`; a type is given as in `(s : String)`",
        "Char" => "there are no characters, only texts: `String`",
        "Unit" => "the type of `()` is written `()`",
        "Maybe" => "written `Option`",
        _ => return None,
    })
}

/// Words that are unlikely to be names, so that they are recognised inside expressions too.
pub(crate) fn is_unlikely_name(word: &str) -> bool {
    matches!(word, "function" | "lambda" | "elif" | "elsif" | "elseif" | "return" | "or" | "begin" | "end" | "mod")
}

/// Keywords that begin a definition in other languages.
pub(crate) fn defines(word: &str) -> bool {
    matches!(word, "def" | "fn" | "func" | "function" | "define" | "var" | "val" | "const")
}

/// Keywords that begin the declaration of a type or module in other languages.
pub(crate) fn declares(word: &str) -> bool {
    matches!(word, "module" | "data" | "enum" | "struct" | "class" | "newtype")
}

pub(crate) fn foreign_definition(at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0119", at, format!("adl has no word `{found}`"))
        .hint(word(found).unwrap_or("a definition begins with `let`"))
}

pub(crate) fn foreign_operator(at: Span, text: &str) -> Diagnostic {
    let d = Diagnostic::error("E0120", at, format!("adl has no operator `{text}`")).hint(operator(text));
    match replaced(text) {
        Some(ours) => d.fix(at, ours),
        None => d,
    }
}

/// The adl operator that directly replaces one of another language.
fn replaced(text: &str) -> Option<&'static str> {
    Some(match text {
        "**" | ".^" => "^",
        "===" => "==",
        "!==" | "<>" => "!=",
        "&" | "and" => "&&",
        "=>" => "->",
        "$" | "@@" => "<|",
        "^^" => "++",
        "!" => "not ",
        ".*" | "*." => "*",
        "./" | "/." => "/",
        ".+" | "+." => "+",
        ".-" | "-." => "-",
        _ => return None,
    })
}

/// The hint for an operator of another language.
pub(crate) fn operator(text: &str) -> &'static str {
    match text {
        ".*" | "./" | ".+" | ".-" | ".^" => "arithmetic acts on whole arrays as it is: write it without the point",
        "===" => "equality is written `==`",
        "!==" => "inequality is written `!=`",
        "/=" => "inequality is written `!=`; values do not change, so there is no assignment",
        "<<" => "there are no operations on bits: `x * 2 ^ n`",
        "!!" => "an element is written `x[i]`",
        "**" => "a power is written `^`",
        "<>" => "inequality is written `!=`, joining `++`",
        "!" => "negation is the function `not`",
        "&" => "the logical and is written `&&`",
        "and" => "the logical and is written `&&`; `and` joins definitions",
        "=>" => "the arrow of functions and cases is `->`",
        ":=" | "<-" | "+=" | "-=" | "*=" => NO_CHANGE,
        "^^" => "texts and arrays are joined by `++`",
        "$" | "@@" => "application to all that follows is written `<|`",
        "+." | "-." | "*." | "/." => "arithmetic is the same for all numbers: write it without the point",
        _ => "a function is written `fun x -> ...`",
    }
}

/// `a \ b`, which is a function call in adl.
pub(crate) fn left_division(at: Span, whole: Span, left: &str, right: &str) -> Diagnostic {
    let call = format!("solve {left} {right}");
    Diagnostic::error("E0120", at, "adl has no operator `\\`")
        .hint(format!("a system of linear equations is solved by `{call}`"))
        .fix(whole, call)
}

/// `[1, 2]'` and `(a + b)'`.
pub(crate) fn transposed(at: Span) -> Diagnostic {
    Diagnostic::error("E0120", at, "adl has no operator `'`").hint("a matrix is transposed by `m.T`").fix(at, ".T")
}

/// `e where x = ...`; `definition` is the text of the clause, and where it may be inserted as a `let`.
pub(crate) fn where_clause(at: Span, definition: Option<(&str, Span, Span)>) -> Diagnostic {
    let d = Diagnostic::error("E0119", at, "adl has no `where` clause");
    match definition {
        Some((text, clause, first)) => d
            .hint(format!("a definition stands before its use: `let {text} in ...`, or a line `let {text}` above"))
            .fix(first, format!("let {text} in "))
            .fix(clause, ""),
        None => d.hint("definitions stand before their use: `let x = ...`, each on a line of its own above the value"),
    }
}

/// `f . g`.
pub(crate) fn composition(at: Span, whole: Span, ours: String) -> Diagnostic {
    Diagnostic::error("E0120", at, "adl has no operator `.`")
        .hint(format!("functions are composed from left to right: `{ours}`"))
        .fix(whole, ours)
}

/// `[1 2 3]`: without commas the elements parse as an application.
pub(crate) fn elements_without_commas(at: Span, whole: Span, ours: String) -> Diagnostic {
    let hint = if ours.len() < 60 {
        format!("write `{ours}`")
    } else {
        "write `[1, 2, 3]`, a matrix `[[1, 2], [3, 4]]`".to_owned()
    };
    Diagnostic::error("E0126", at, "the elements of an array are separated by `,`").hint(hint).fix(whole, ours)
}

/// `Float[3]`.
pub(crate) fn size_behind_element(at: Span, ours: String) -> Diagnostic {
    Diagnostic::error("E0129", at, "the sizes of an array stand before the type of its elements")
        .hint(format!("write `{ours}`"))
        .fix(at, ours)
}

/// `let f :: Int -> Int = ...`.
pub(crate) fn doubled_colon(at: Span) -> Diagnostic {
    Diagnostic::error("E0120", at, "a type is given with `:`, and `::` puts an element before a list")
        .hint("write `let f : a -> b = ...`")
        .fix(at, ":")
}

/// `data T a = A | B a`.
pub(crate) fn foreign_type(at: Span, found: &str) -> Diagnostic {
    foreign_definition(at, found).fix(at, "type")
}

/// `x++`.
pub(crate) fn counted_up(at: Span) -> Diagnostic {
    Diagnostic::error("E0120", at, "`++` joins two arrays or texts, and the second is missing").hint(NO_CHANGE)
}

/// A comment that begins with `//`, or `/*` up to its `*/`.
pub fn foreign_comment(at: Span, sign: &str) -> Diagnostic {
    Diagnostic::error("E0120", at, format!("no comment begins with `{sign}`"))
        .hint("a comment begins with `--`, or stands between `(*` and `*)`")
        .fix(at, if sign == "//" { "--" } else { "(*" })
}

/// Keywords that begin statements of other languages. The words after them are not treated as arguments.
pub fn is_statement(word: &str) -> bool {
    let words = [
        "use",
        "using",
        "open",
        "from",
        "include",
        "global",
        "nonlocal",
        "del",
        "delete",
        "exception",
        "begin",
        "func",
        "public",
        "private",
        "export",
        "is",
    ];
    words.contains(&word)
}

/// `let mut x = ...`.
pub(crate) fn foreign_modifier(at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0119", at, format!("adl has no word `{found}`"))
        .hint(word(found).unwrap_or("a definition is `let x = ...`"))
}

/// `@jit` before a definition.
pub(crate) fn decorator(at: Span) -> Diagnostic {
    Diagnostic::error("E0116", at, "adl has no decorators")
        .hint("functions are wrapped by application: `let f = checkpoint (fun x -> ...)`; code is compiled by itself where that pays")
}

/// `f : Float -> Float` or `f :: Float -> Float` on a line of its own.
pub(crate) fn signature_alone(at: Span) -> Diagnostic {
    Diagnostic::error("E0110", at, "a signature stands in its definition, not on a line of its own")
        .hint("write `let f (x : Float) : Float = ...`, or `let f : Float -> Float = fun x -> ...`")
}

pub(crate) fn element_assignment(at: Span, text: &str) -> Diagnostic {
    Diagnostic::error("E0120", at, format!("the elements of an array do not change, so `{text}` means nothing here"))
        .hint("make a new array: `{xs with [i] = e}`, `for i < n -> ...`, or `map`")
}

pub(crate) fn loop_without_value(at: Span) -> Diagnostic {
    Diagnostic::error("E0128", at, "a `loop` carries a value from step to step, and its name is expected here")
        .hint("write `loop x = start for i < n do next`; an array is built with `for i < n -> e`")
}

/// `for x of xs`, `for x <- xs`, `for x : xs`.
pub(crate) fn elements_of(at: Span, found: &str) -> Diagnostic {
    Diagnostic::error("E0125", at, format!("the elements of an array are taken with `in`, not with `{found}`"))
        .hint("write `for x in xs -> ...`; an index is `for i < n -> ...`")
        .fix(at, if found == ":" { " in" } else { "in" })
}

/// `for (x in xs)`, `for (int i = 0; i < n; i++)`.
pub(crate) fn head_of_for(at: Span) -> Diagnostic {
    Diagnostic::error("E0125", at, "the variables of a `for` stand without parentheses around them and their bounds")
        .hint("an array is built with `for i < n -> ...` or `for x in xs -> ...`; what changes from step to step is a `loop x = start for i < n do ...`")
}

/// `for i in 0..n`.
pub(crate) fn range_in_for(at: Span, sign: &str) -> Diagnostic {
    Diagnostic::error("E0125", at, format!("`{sign}` makes no range")).hint(
        "the indices below `n` are `for i < n -> ...`, the Ints from `a` to `b - 1` are `for i in range a b -> ...`",
    )
}

pub(crate) fn array_in_iverson(at: Span, open: Span) -> Diagnostic {
    Diagnostic::error("E0110", at, "`[| p |]` holds one condition: it is 1 where `p` holds, else 0")
        .also(open, "inside this `[|`")
        .hint("an array is written `[1, 2]`")
}

pub(crate) fn record_rest(at: Span) -> Diagnostic {
    Diagnostic::error("E0128", at, "in a record pattern the other fields are written `..`").hint("write `{x, ..}`")
}

/// A type variable whose name is a type in another language.
pub(crate) fn lower_case_type(at: Span, name: &str) -> Option<Diagnostic> {
    let ours = match name {
        "int" => "Int",
        "float" | "double" => "Float",
        "bool" => "Bool",
        "string" | "str" => "String",
        "unit" => "()",
        _ => return None,
    };
    let message = format!("`{name}` is a type variable here, which stands for any type");
    Some(Diagnostic::warning("W0102", at, message).hint(format!("the type is written `{ours}`")).fix(at, ours))
}

/// A suggestion for a reserved word in the place of a name.
pub(crate) fn reserved(kw: Kw) -> String {
    format!("`{0}` is a reserved word; another name must do, such as `{0}_`", kw.text())
}

/// A suggestion for an operator in a wrong place.
pub(crate) fn stray_sign(text: &str) -> Option<&'static str> {
    Some(match text {
        "->" => "a function is written `fun x -> ...`; other arrows follow a case `| pattern` or `for i < n`",
        "=>" => "a function is written `fun x -> ...`",
        "|" => "a case belongs to a `match e with`; the logical or is written `||`, a function `fun x -> ...`",
        "as" => "`as` names a pattern or a module; a number becomes a Float by `float n`, an Int by `int x`",
        "let" => "definitions stand on lines of their own, or are separated by `;;`",
        "!" => "negation is the function `not`",
        "," => "a tuple is written in parentheses, `let (x, y) = (1, 2)`; arguments are separated by blanks: `f a b`",
        ":" => "a type is given in parentheses, `(e : T)`, or before the `=` of a `let`",
        ".." => "the Ints from `a` to `b - 1` are `range a b`, those below `n` are `iota n`",
        "and" => "the logical and is written `&&`; `and` joins definitions",
        "_" => "`_` is a pattern; it has no value",
        "." => "a field follows its record without a blank: `r.x`; composition is written `f >> g`",
        _ => return None,
    })
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0119",
        "A word that begins a definition in another language. Everything is defined with `let`, and the value of a block is its \
last entry.\n\n    def f(x): return x + 1      -- wrong\n    let f x = x + 1             -- right\n\n    var n = 3                   -- \
wrong\n    let n = 3                   -- right",
    ),
    (
        "E0120",
        "An operator of another language.\n\n    x ** 2          is   x ^ 2\n    !p              is   not p\n    a <> b          is   \
a != b\n    a and b         is   a && b\n    f $ x           is   f <| x\n    \\x -> x         is   fun x -> x\n    a +. b          is   a \
+ b\n\nValues do not change, so `x := 1`, `x <- 1` and `x += 1` have no counterpart. What changes from step to step is carried through a \
loop.\n\n    total += x[i]                                            -- wrong\n    loop total = 0.0 for i < len x do total + x[i]           \
-- right",
    ),
    (
        "W0102",
        "In types a lower-case name is a variable, which stands for any type. The types of numbers, texts and truth values begin with \
a capital.\n\n    let half (x : float) = x / 2.0      -- wrong: says nothing about x\n    let half (x : Float) = x / 2.0      -- right",
    ),
];
