//! E0201, E0202, E0209: unknown names and duplicate names.

use super::Explanation;
use super::foreign_names::{self, Counterpart};
use adl_syntax::diag::Diagnostic;
use adl_syntax::errors::foreign_syntax;
use adl_syntax::span::Span;

/// A name without a definition.
pub(crate) struct Unknown<'a> {
    /// The category of the name: a type, a constructor.
    pub what: Option<&'static str>,
    /// The name as it was written.
    pub name: &'a str,
    /// Where.
    pub span: Span,
    /// A similar name in scope.
    pub near: Option<String>,
}

impl Unknown<'_> {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let diagnostic = match self.what {
            None => Diagnostic::error("E0201", self.span, format!("unknown name `{}`", self.name)),
            Some(what) => Diagnostic::error("E0202", self.span, format!("unknown {what} `{}`", self.name)),
        };
        match (translated(self.what, self.name), self.near) {
            (Some(ours @ Counterpart::Name(name)), _) => diagnostic.hint(ours.hint()).fix(self.span, name),
            (Some(ours), _) => match exact(self.name) {
                Some(name) if self.what.is_some() => diagnostic.hint(ours.hint()).fix(self.span, name),
                _ => diagnostic.hint(ours.hint()),
            },
            (None, Some(near)) if near.contains('`') => diagnostic.hint(format!("did you mean `{near}`?")),
            (None, Some(near)) => diagnostic.hint(format!("did you mean `{near}`?")).fix(self.span, near),
            (None, None) if self.what == Some("constructor") => {
                let mut letters = self.name.chars();
                let small: String = letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
                diagnostic.hint(format!(
                    "constructors are declared, `type T = A | B`; names of values begin in lower case: `{small}`"
                ))
            }
            (None, None) => diagnostic,
        }
    }
}

/// The adl type or constructor for one of another language, if there is a direct counterpart.
fn exact(name: &str) -> Option<&'static str> {
    Some(match name {
        "True" => "true",
        "False" => "false",
        "Just" => "Some",
        "Nothing" => "None",
        "Double" | "Float64" | "Real" => "Float",
        "Float32" | "Single" => "F32",
        "Integer" | "Int64" | "Nat" => "Int",
        "Str" | "Text" => "String",
        "Boolean" => "Bool",
        "Unit" => "()",
        "Maybe" => "Option",
        _ => return None,
    })
}

/// The adl counterpart of a name of another language.
fn translated(what: Option<&'static str>, name: &str) -> Option<Counterpart> {
    let words = match (what, name) {
        (None, name) if name.trim_end_matches('\'').contains('\'') => {
            "a text is written in double quotes, also with values in it: f\"x = {x}\""
        }
        (None, name) => return foreign_names::value(name),
        (Some("constructor"), name) => {
            return foreign_syntax::upper_word(name).map(Counterpart::Words).or_else(|| foreign_names::value(name));
        }
        (Some("type"), "Array" | "Vector" | "Matrix") => "an array type is `[n]a`, a matrix `[n][m]a`",
        (Some("type"), "Float32" | "Single") => "32-bit numbers are `F32`",
        (Some("type"), "Str" | "Text") => "texts are `String`",
        (Some("type"), "Boolean") => "truth values are `Bool`",
        (Some("type"), name) => return foreign_syntax::upper_word(name).map(Counterpart::Words),
        (Some("class"), "Number") => "the class of numbers is `Num`, that of real numbers `Real`",
        (Some("class"), "Floating" | "Fractional") => "the class of real numbers is `Real`",
        _ => return None,
    };
    Some(Counterpart::Words(words))
}

/// A name that exists in upper case: `some` for `Some`.
pub(crate) fn capital(span: Span, name: &str, constructor: &str) -> Diagnostic {
    let d = Diagnostic::error("E0201", span, format!("unknown name `{name}`"));
    d.hint(format!("constructors begin with a capital: `{constructor}`")).fix(span, constructor)
}

/// `a'` where `a` is defined.
pub(crate) fn transposed(span: Span, name: &str, of: &str) -> Diagnostic {
    let d = Diagnostic::error("E0201", span, format!("unknown name `{name}`"));
    d.hint(format!("a matrix is transposed by `{of}.T`; names may end with `'`")).fix(span, format!("{of}.T"))
}

/// A name defined further down. `within`: the current definition, if the two are mutually recursive.
pub(crate) fn later(span: Span, name: &str, at: (Span, &str), within: Option<&str>) -> Diagnostic {
    let d = Diagnostic::error("E0201", span, format!("`{name}` is used before it is defined"))
        .also(at.0, "it is defined here");
    match within {
        Some(f) if f != name => d.hint(format!("functions that call each other are defined together: `let rec {f} ... = ...` and below it `and {name} ... = ...`")),
        _ => d.hint(format!("move the definition of `{name}` ({}) above its use", at.1)),
    }
}

/// A qualified name of another language's library: `np.linalg.norm`.
pub(crate) fn of_library(
    span: Span,
    path: &str,
    module: bool,
    ours: &[String],
    words: Option<Counterpart>,
) -> Diagnostic {
    let d = Diagnostic::error(if module { "E0202" } else { "E0201" }, span, format!("unknown name `{path}`"));
    match (ours, words) {
        ([one], _) => d.hint(format!("adl calls it `{one}`")).fix(span, one.clone()),
        ([_, ..], _) => d.hint(format!("adl calls it {}", super::listed(ours).replace(" and ", " or "))),
        ([], Some(words)) => d.hint(words.hint()),
        ([], None) => d.hint("functions of numbers and arrays have no module: `exp x`, `sum xs`, `map f xs`; `:browse` and `adl doc` list all names"),
    }
}

/// `data.csv`.
pub(crate) fn file_name(span: Span, text: &str) -> Diagnostic {
    let d = Diagnostic::error("E0201", span, format!("unknown name `{text}`"));
    d.hint(format!("the name of a file is a text: `\"{text}\"`")).fix(span, format!("\"{text}\""))
}

/// A member that this module lacks but other modules have.
pub(crate) fn elsewhere(span: Span, path: &str, ours: &[String]) -> Diagnostic {
    let d = Diagnostic::error("E0201", span, format!("unknown name `{path}`"));
    let name = |p: &str| p.rsplit('.').next().unwrap_or_default().to_owned();
    match ours {
        [one] if name(one) != name(path) => d.hint(format!("adl calls it `{one}`")).fix(span, one.clone()),
        [one] if one.contains('.') => {
            d.hint(format!("it belongs to another module: write `{one}`")).fix(span, one.clone())
        }
        [one] => d.hint(format!("it belongs to no module: write `{one}`")).fix(span, one.clone()),
        ours => d.hint(format!("did you mean {}?", super::listed(ours).replace(" and ", " or "))),
    }
}

/// A bound or source that mentions another variable of the same comprehension.
pub(crate) fn index_beside(d: Diagnostic) -> Diagnostic {
    d.hint("the bounds and sources of a `for` do not see its variables: write another one inside, `for row in m -> for x in row -> ...` or `sum for i < n -> sum for j < i -> ...`, or a choice in the body, `if j < i then ... else ...`")
}

/// A function that uses itself without `rec`.
pub(crate) fn needs_rec(span: Span, name: &str, at: Span, function: bool) -> Diagnostic {
    let d = Diagnostic::error("E0201", span, format!("`{name}` is not known inside its own definition"))
        .also(at, "it is being defined here");
    match function {
        true => d.hint(format!("a function that uses itself is defined with `let rec {name}`")).fix(Span { hi: at.lo, ..at }, "rec "),
        false => d.hint("a value cannot be made from itself: give the old one another name; items on one line are separated by `;;`"),
    }
}

/// A recursive definition that uses its own value before it exists.
pub(crate) fn too_early(span: Span, name: &str, at: Span) -> Diagnostic {
    Diagnostic::error("E0201", span, format!("`{name}` is used before it has a value"))
        .also(at, "it is being defined here")
        .hint(format!("`let rec` is for functions, whose bodies run later: `let rec {name} n = ...`; a value that changes is a `loop`"))
}

/// An unknown module.
pub(crate) fn unknown_module(span: Span, name: &str) -> Diagnostic {
    let d = Diagnostic::error("E0202", span, format!("unknown module `{name}`"));
    match foreign_syntax::upper_word(name) {
        Some(ours) => d.hint(ours),
        None => d.hint(format!("import it: `import \"file.adl\" as {name}`")),
    }
}

/// A duplicate name.
pub(crate) struct DuplicateName<'a> {
    /// The category of the names: "parameters", "fields".
    pub what: &'static str,
    /// The name.
    pub name: &'a str,
    /// The second place.
    pub span: Span,
    /// The first.
    pub first: Option<Span>,
}

impl DuplicateName<'_> {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let d = Diagnostic::error("E0209", self.span, format!("two {} here are named `{}`", self.what, self.name));
        match self.first {
            Some(at) => d.also(at, "the first is here"),
            None => d,
        }
    }
}

/// Alternatives of an or-pattern that bind different names.
pub(crate) fn alternatives_differ(span: Span, names: &[String]) -> Diagnostic {
    let names = super::listed(names);
    Diagnostic::error("E0209", span, format!("{names} would be bound by some of these alternatives only"))
        .hint("every alternative of a pattern must bind the same names: write `_`, or separate arms")
}

/// A type variable that is not a parameter of the declaration.
pub(crate) fn no_parameter(span: Span, name: &str, of: &str) -> Diagnostic {
    Diagnostic::error("E0202", span, format!("`{name}` is not a parameter of the type `{of}`"))
        .hint(format!("write `type {of} {name} = ...`"))
}

/// A field of a declared type whose type is incomplete.
pub(crate) fn open_field(span: Span, of: &str, con: &str) -> Diagnostic {
    Diagnostic::error(
        "E0202",
        span,
        format!("the type of a field of `{con}` must be written out: `_` and `..` leave it open"),
    )
    .hint(format!("a parameter may stand for any type: `type {of} a = {con} a`"))
}

/// The candidate nearest to `name`, if it is near enough to be a slip.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of(name, [candidates])
}

/// The same, where of equally near candidates those of an earlier group come first: the user's before the library's.
pub fn nearest_of<'a>(name: &str, groups: impl IntoIterator<Item = impl Iterator<Item = &'a str>>) -> Option<&'a str> {
    let length = name.chars().count();
    // In a short word two edits would match too many names.
    let limit = if length <= 4 { 1 } else { 1 + length / 4 };
    let candidates = groups.into_iter().enumerate().flat_map(|(i, group)| group.map(move |c| (i, c)));
    candidates
        .filter(|(_, c)| !c.starts_with("__") && *c != name && c.chars().count().abs_diff(length) <= limit)
        .map(|(i, c)| (distance(name, c), i, c))
        .filter(|(d, _, c)| *d <= limit && *d < c.chars().count().min(length))
        .min()
        .map(|(_, _, c)| c)
}

/// The edit distance of two words: insertions, deletions, replacements, and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let mut best = (rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]))
                .min(rows[i - 1][j] + 1)
                .min(row[j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0201",
        "A name that nothing in scope defines. A definition may use itself only with `let rec`.\n\
        \n\
        \x20   let f n = if n == 0 then 1 else n * f (n - 1)       -- wrong\n\
        \x20   let rec f n = if n == 0 then 1 else n * f (n - 1)   -- right\n\
        \n\
        \x20   let rate = 0.1\n\
        \x20   0.5 * raet       -- wrong\n\
        \x20   0.5 * rate       -- right",
    ),
    (
        "E0202",
        "A type, a class, a constructor or a module that is not there. Types of other languages have other names here: `[n]Float` is an array, `String` a text.\n\
        \n\
        \x20   type Shape = Circle Float | Square Float\n\
        \x20   Disc 1.0                                   -- wrong\n\
        \x20   Circle 1.0                                 -- right\n\
        \x20   let area (s : Form) = 1.0                  -- wrong\n\
        \x20   let area (s : Shape) = 1.0                 -- right",
    ),
    (
        "E0209",
        "The same name twice where names must differ: in one pattern, among parameters, among the fields of a record, among constructors. Alternatives of one pattern must bind the same names.\n\
        \n\
        \x20   let add x x = x + x   -- wrong\n\
        \x20   let add x y = x + y   -- right\n\
        \n\
        \x20   {a = 1, a = 2}   -- wrong\n\
        \x20   {a = 1, b = 2}   -- right",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        assert_eq!(nearest("totl", ["total", "map"].into_iter()), Some("total"));
        assert_eq!(nearest("Jsut", ["Some", "Just"].into_iter()), Some("Just"));
        assert_eq!(nearest("yy", ["zz", "id"].into_iter()), None);
        assert_eq!(nearest("d", ["id", "e"].into_iter()), None);
        assert_eq!(nearest("some", ["ode", "same"].into_iter()), Some("same"));
        assert_eq!(nearest("disp", ["diag"].into_iter()), None);
        assert_eq!(nearest_of("los", [vec!["loss"].into_iter(), vec!["cos", "log"].into_iter()]), Some("loss"));
        assert_eq!(nearest_of("sinn", [vec!["sum"].into_iter(), vec!["sin"].into_iter()]), Some("sin"));
    }

    #[test]
    fn a_name_of_another_language_is_translated() {
        let d = Unknown { what: Some("type"), name: "Double", span: Span::default(), near: None }.diagnostic();
        assert_eq!((d.code, d.hint.as_deref()), ("E0202", foreign_syntax::upper_word("Double")));
        let d = Unknown { what: None, name: "vmap", span: Span::default(), near: Some("vmop".into()) }.diagnostic();
        assert_eq!((d.hint.as_deref(), d.fix[0].text.as_str()), (Some("adl calls it `map`"), "map"));
    }
}
