//! E0201, E0202, E0209: names that are not there, and names that are there twice.

use super::Explanation;
use adl_syntax::diag::Diagnostic;
use adl_syntax::errors::habits;
use adl_syntax::span::Span;

/// A name without a definition.
pub(crate) struct Unknown<'a> {
    /// What it would be: a type, a constructor.
    pub what: Option<&'static str>,
    /// The name as it was written.
    pub name: &'a str,
    /// Where.
    pub span: Span,
    /// A name of something in scope that is nearly the same.
    pub near: Option<String>,
}

impl Unknown<'_> {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let d = match self.what {
            None => Diagnostic::error("E0201", self.span, format!("nothing is named `{}` here", self.name)),
            Some(what) => Diagnostic::error("E0202", self.span, format!("there is no {what} `{}`", self.name)),
        };
        match (foreign(self.what, self.name), self.near) {
            (Some(hint), _) => d.hint(hint),
            (None, Some(near)) => d.hint(format!("did you mean `{near}`?")),
            (None, None) if self.what == Some("constructor") => d.hint("constructors are declared, `type T = A | B`; names of values begin in lower case"),
            (None, None) => d,
        }
    }
}

/// What a name of another language is called here.
fn foreign(what: Option<&'static str>, name: &str) -> Option<&'static str> {
    Some(match (what, name) {
        (None, "ln") => "the natural logarithm is `log x`",
        (None, name) if name.trim_end_matches('\'').contains('\'') => "a text is written in double quotes, also with values in it: f\"x = {x}\"",
        (None, name) => return habits::word(name),
        (Some("constructor"), name) => return habits::upper_word(name),
        (Some("type"), "Array" | "Vector" | "Matrix") => "an array type is `[n]a`, a matrix `[n][m]a`",
        (Some("type"), "Float32" | "Single") => "32-bit numbers are `F32`",
        (Some("type"), "Str" | "Text") => "texts are `String`",
        (Some("type"), "Boolean") => "truth values are `Bool`",
        (Some("type"), name) => return habits::upper_word(name),
        (Some("class"), "Number") => "the class of numbers is `Num`, that of real numbers `Real`",
        (Some("class"), "Floating" | "Fractional") => "the class of real numbers is `Real`",
        _ => return None,
    })
}

/// The bound of an index that names another of the same comprehension.
pub(crate) fn index_beside(d: Diagnostic) -> Diagnostic {
    d.hint("a bound is the same for all elements: `sum for i < n -> sum for j < i -> ...`, or a choice in the body, `if j < i then ... else ...`")
}

/// A function that uses itself without `rec`.
pub(crate) fn needs_rec(span: Span, name: &str, at: Span, function: bool) -> Diagnostic {
    let d = Diagnostic::error("E0201", span, format!("`{name}` is not known inside its own definition")).also(at, "it is being defined here");
    match function {
        true => d.hint(format!("a function that uses itself is defined with `let rec {name}`")),
        false => d.hint("a value cannot be made from itself: give the old one another name; items on one line are separated by `;;`"),
    }
}

/// A recursive definition whose value needs itself.
pub(crate) fn too_early(span: Span, name: &str, at: Span) -> Diagnostic {
    Diagnostic::error("E0201", span, format!("`{name}` is used before it has a value"))
        .also(at, "it is being defined here")
        .hint(format!("`let rec` is for functions, whose bodies run later: `let rec {name} n = ...`; a value that changes is a `loop`"))
}

/// A module that is not there.
pub(crate) fn unknown_module(span: Span, name: &str) -> Diagnostic {
    let d = Diagnostic::error("E0202", span, format!("there is no module `{name}`"));
    match habits::upper_word(name) {
        Some(ours) => d.hint(ours),
        None => d.hint(format!("import it: `import \"file.adl\" as {name}`")),
    }
}

/// The same name twice where names must differ.
pub(crate) struct Twice<'a> {
    /// What the two are: "parameters", "fields".
    pub what: &'static str,
    /// The name.
    pub name: &'a str,
    /// The second place.
    pub span: Span,
    /// The first.
    pub first: Option<Span>,
}

impl Twice<'_> {
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

/// A type variable that a declaration does not take.
pub(crate) fn no_parameter(span: Span, name: &str, of: &str) -> Diagnostic {
    Diagnostic::error("E0202", span, format!("`{name}` is not a parameter of the type `{of}`")).hint(format!("write `type {of} {name} = ...`"))
}

/// A field of a declared type that leaves a type open.
pub(crate) fn open_field(span: Span, of: &str, con: &str) -> Diagnostic {
    Diagnostic::error("E0202", span, format!("the type of a field of `{con}` must be written out: `_` and `..` leave it open"))
        .hint(format!("a parameter may stand for any type: `type {of} a = {con} a`"))
}

/// The candidate nearest to `name`, if it is near enough to be a slip.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let length = name.chars().count();
    let limit = 1 + length / 4;
    candidates
        .filter(|c| !c.starts_with("__") && *c != name && c.chars().count().abs_diff(length) <= limit)
        .map(|c| (distance(name, c), c))
        .filter(|(d, c)| *d <= limit && *d < c.chars().count().min(name.chars().count()))
        .min()
        .map(|(_, c)| c.to_owned())
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut best = (rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1])).min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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
        assert_eq!(nearest("totl", ["total", "map"].into_iter()), Some("total".into()));
        assert_eq!(nearest("Jsut", ["Some", "Just"].into_iter()), Some("Just".into()));
        assert_eq!(nearest("yy", ["zz", "id"].into_iter()), None);
        assert_eq!(nearest("d", ["id", "e"].into_iter()), None);
    }

    #[test]
    fn a_name_of_another_language_is_translated() {
        let d = Unknown { what: Some("type"), name: "Double", span: Span::default(), near: None }.diagnostic();
        assert_eq!((d.code, d.hint.as_deref()), ("E0202", habits::upper_word("Double")));
    }
}
