//! E0206: fields.

use super::{Explanation, listed};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// A field that a record lacks.
pub(crate) struct NoField<'a> {
    /// The field.
    pub field: &'a str,
    /// Where it is named.
    pub span: Span,
    /// The record's type.
    pub record: String,
    /// The place of the record, if it is another one.
    pub at: Option<Span>,
    /// The fields that it has.
    pub known: Vec<String>,
}

impl NoField<'_> {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let near = super::names::nearest(self.field, self.known.iter().map(String::as_str));
        let mut d =
            Diagnostic::error("E0206", self.span, format!("there is no field `{}` in {}", self.field, self.record));
        if let Some(at) = self.at {
            d = d.also(at, "the record");
        }
        match near {
            Some(n) => d.hint(format!("did you mean `{n}`?")),
            None if self.known.is_empty() => d,
            None => d.hint(format!("it has {}", listed(&self.known))),
        }
    }
}

/// A record that has only some of a function's options; `value` has all of them. `other`: a field that is not an
/// option.
pub(crate) fn part_of_options(
    (span, text): (Span, &str),
    of: &str,
    value: &str,
    other: Option<(Span, String)>,
    names: &[String],
) -> Diagnostic {
    let inside = text.trim_start_matches('{').trim_end_matches('}');
    match other {
        Some((at, field)) => {
            let d = Diagnostic::error("E0206", at, format!("{of} has no option `{field}`"));
            match super::names::nearest(&field, names.iter().map(String::as_str)) {
                Some(n) => d.hint(format!(
                    "did you mean `{n}`? The other options are those of `{value}`: `{{{value} with {n} = ...}}`"
                )),
                None => d.hint(format!(
                    "it has {}; to change some of them, write `{{{value} with {} = ...}}`",
                    listed(names),
                    names.first().map_or("x", String::as_str)
                )),
            }
        }
        None => Diagnostic::error("E0206", span, format!("only some of the options of {of} are given"))
            .hint(format!("take the others from `{value}`: `{{{value} with {inside}}}`"))
            .fix(Span { lo: span.lo + 1, hi: span.lo + 1, ..span }, format!("{value} with ")),
    }
}

/// Two record types with different fields.
pub(crate) struct FieldsDiffer {
    /// A description of the expression.
    pub what: String,
    /// Where.
    pub span: Span,
    /// Its type.
    pub actual: String,
    /// The expected type.
    pub expected: String,
    /// The field that only one of the two has.
    pub field: String,
    /// Whether the expected type is the one that has it.
    pub missing: bool,
    /// Other places.
    pub places: Vec<(Span, String)>,
}

impl FieldsDiffer {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let FieldsDiffer { what, span, actual, expected, field, missing, places } = self;
        let tail = if missing {
            format!("the field `{field}` is missing")
        } else {
            format!("the field `{field}` is not expected")
        };
        let mut d = Diagnostic::error("E0206", span, format!("expected {expected} for {what}, found {actual}: {tail}"));
        for (at, text) in places {
            if at != span {
                d = d.also(at, text);
            }
        }
        match missing {
            true => d.hint(format!("add it: `{field} = ...`; a record that has it may be changed in part: `{{r with x = ...}}`")),
            false => d.hint("a function that takes any record with some fields names them in a pattern: `let f {x, y} = ...`, or needs no annotation"),
        }
    }
}

/// `.x` of a value that is not a record.
pub(crate) fn no_record(span: Span, field: &str, ty: &str) -> Diagnostic {
    let d = Diagnostic::error("E0203", span, format!("expected a record before `.{field}`, found {ty}"))
        .label(ty.to_owned());
    match field {
        "0" | "1" | "fst" | "snd" => d.hint("parts of a tuple are taken with a pattern: `let (a, b) = t`, or with `fst` and `snd`"),
        "len" | "length" | "shape" | "size" => d.hint("the length of an array is `len x`, its shape `shape x`"),
        "at" | "set" | "update" => d.hint("an array with another element at `i` is `scatter xs [i] [e]`, and one of which many change `for i < n -> ...`"),
        "append" | "push" | "extend" | "concat" => d.hint("arrays are joined with `xs ++ ys`"),
        "dot" | "matmul" => d.hint("products are written `a @ b`, and those of vectors `dot a b` too"),
        "item" | "tolist" | "numpy" | "copy" | "astype" => d.hint("values are what they are: there is nothing to convert or copy; `float n`, `int x` and `to_f32 x` change the type of numbers"),
        "map" | "sum" | "filter" | "fold" | "reduce" | "scan" | "sort" | "reshape" | "min" | "max" | "minimum" | "maximum" | "mean" | "exp" | "log" | "sqrt" | "abs" | "transpose" => d.hint(format!("functions stand before their arguments: `{field} ...`, or `x |> {field} ...`")),
        _ => d,
    }
}

pub(super) const EXPLANATIONS: &[Explanation] = &[(
    "E0206",
    "A record has no such field, or has a field more or less than is expected. A parameter that is annotated with some fields has these and no others.\n\
        \n\
        \x20   let p = {x = 1.0, y = 2.0}\n\
        \x20   p.z                          -- wrong\n\
        \x20   p.x                          -- right\n\
        \n\
        \x20   let norm2 (p : {x : Float, y : Float}) = p.x * p.x + p.y * p.y\n\
        \x20   norm2 {x = 3.0}                                                  -- wrong\n\
        \x20   norm2 {x = 3.0, y = 4.0}                                         -- right",
)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_listed_where_none_is_near() {
        let make = |field| {
            NoField {
                field,
                span: Span::default(),
                record: "R".into(),
                at: None,
                known: vec!["alpha".into(), "beta".into()],
            }
            .diagnostic()
            .hint
        };
        assert_eq!(make("alpa").as_deref(), Some("did you mean `alpha`?"));
        assert_eq!(make("zz").as_deref(), Some("it has `alpha` and `beta`"));
    }
}
