//! E0205, E0601: operations on types that do not have them.

use super::Explanation;
use super::each::OF_EACH;
use crate::ty::Class;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// A type that is not an instance of a class.
pub(crate) struct NoInstance<'a> {
    /// The class.
    pub class: Class,
    /// The operation that requires the class, such as `sin`.
    pub op: &'a str,
    /// The place of that operation.
    pub place: Span,
    /// The part of the type that is not an instance.
    pub ty: String,
    /// The place of the expression.
    pub span: Span,
    /// A suggestion.
    pub hint: Option<String>,
}

impl NoInstance<'_> {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        // The library gives primitives of messages their names in programs.
        let sent = self.op.strip_prefix("__comm_").map(|name| format!("comm.{name}"));
        let op = quoted(sent.as_deref().unwrap_or(self.op));
        let (code, text) = match self.class {
            Class::Diff if sent.is_some() => ("E0205", format!("{op} needs data that can be sent, found {}", self.ty)),
            Class::Diff => ("E0601", format!("{op} cannot differentiate this: {} has no derivative", self.ty)),
            // A literal.
            _ if self.op.starts_with("a ") => ("E0205", format!("expected {}, found {}", self.ty, self.op)),
            class => ("E0205", format!("{op} needs {}, found {}", wants(class), self.ty)),
        };
        let mut report = Diagnostic::error(code, self.span, text).label(self.ty);
        let inside =
            self.place.file == self.span.file && self.place.lo <= self.span.lo && self.span.hi <= self.place.hi;
        if !inside && self.place != Span::default() {
            report = report.also(self.place, format!("required by {op}"));
        }
        match self.hint {
            Some(_) if sent.is_some() => {
                report.hint("apply the function in `comm.each`, and send the data that it computes")
            }
            Some(h) => report.hint(h),
            None => report,
        }
    }
}

/// `abs -1`. `power`: the power it stands in, whose result may be meant to be negated.
pub(crate) fn negative_argument(
    (at, f, ty): (Span, &str, String),
    minus: Span,
    (number, power): (&str, bool),
) -> Diagnostic {
    let d = Diagnostic::error("E0205", minus, format!("this subtracts {number} from `{f}`, which is a function"))
        .also(at, ty);
    match power {
        true => d.hint(format!("a negative argument stands in parentheses: `{f} (-{number} ^ ...)`")),
        false => d
            .hint(format!("a negative argument stands in parentheses: `{f} (-{number})`"))
            .fix(minus, format!("(-{number})")),
    }
}

/// `print "a" + "b"`: the call binds tighter than the operator. The places are: before the argument, the operator,
/// after the right operand.
pub(crate) fn applied_before(
    at: Span,
    (head, rest): (&str, &str),
    op: &str,
    right: &str,
    (before, sign, behind): (Span, Span, Span),
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        "E0205",
        at,
        format!("application binds tighter than `{op}`: the left side is `{head} {rest}`, whose result is ()"),
    );
    let call = format!("{head} ({rest} {op} {right})");
    let d = if call.len() < 90 && !call.contains('\n') {
        diagnostic.hint(format!("write `{call}`"))
    } else {
        diagnostic.hint(format!("put all that `{head}` is given in parentheses"))
    };
    d.fix(before, "(").fix(sign, format!(" {op} ")).fix(behind, ")")
}

/// The noun for values of a class.
pub(crate) fn wants(class: Class) -> &'static str {
    match class {
        Class::Eq => "values that can be compared",
        Class::Ord => "values that have an order",
        Class::Show => "values that can be shown",
        Class::Num => "numbers",
        Class::Real => "real numbers",
        Class::Nums => "numbers or arrays of them",
        Class::Reals => "real numbers or arrays of them",
        Class::Space => "numbers, or data with a real number in it",
        Class::Diff => "data that can be differentiated",
        Class::Data => "plain data",
    }
}

/// Puts a name in backticks unless it has them.
pub(crate) fn quoted(name: &str) -> String {
    if name.starts_with('`') || name.contains(' ') { name.to_owned() } else { format!("`{name}`") }
}

/// `+` on data without a real number.
pub(crate) fn no_real_part(span: Span, op: &str, ty: &str) -> Diagnostic {
    Diagnostic::error("E0205", span, format!("{op} needs data with a real number in it, but {ty} has none"))
        .hint("take the parts out with a pattern and add those")
}

/// An arithmetic operator between compound data.
pub(crate) fn not_elementwise(span: Span, op: &str, left: (Span, &str), right: (Span, &str)) -> Diagnostic {
    let d = Diagnostic::error("E0205", span, format!("{op} is not defined between {} and {}", left.1, right.1));
    if [left.1, right.1].iter().any(|t| t.starts_with("Each ")) {
        return d.hint(OF_EACH);
    }
    if [left.1, right.1].iter().any(|t| t.starts_with("Option ")) {
        return d.hint("what an `Option` holds is taken out by `match o with | Some x -> ... | None -> ...`, or by `get_or default o`");
    }
    d.note(
        "on tuples, records and declared data: `+` and `-` between two of one type, and `*` and `/` by a real number",
    )
}

/// `//` on an operand that is not an Int.
pub(crate) fn whole_division(span: Span, ty: &str) -> Diagnostic {
    Diagnostic::error("E0205", span, format!("`//` needs Ints, found {ty}"))
        .hint("`/` divides real numbers; `floor (a / b)` rounds down")
}

/// `++` on operands that cannot be concatenated.
pub(crate) fn not_joined(span: Span, ty: &str) -> Diagnostic {
    Diagnostic::error("E0205", span, format!("`++` joins arrays, texts or lists, found {ty}"))
        .label(ty.to_owned())
        .hint("`show x` gives the text of a value, `[x]` the array of one element")
}

/// `@` between two vectors.
pub(crate) fn two_vectors(span: Span) -> Diagnostic {
    Diagnostic::error("E0205", span, "`@` needs a matrix on one side, but both are vectors")
        .hint("`dot x y` is the inner product, `outer x y` the outer")
}

pub(super) const EXPLANATIONS: &[Explanation] = &[(
    "E0205",
    "An operation is not defined for a type: arithmetic takes numbers, `<` takes values with an order, `==` takes anything but functions.\n\
        \n\
        \x20   \"a\" + \"b\"    -- wrong\n\
        \x20   \"a\" ++ \"b\"   -- right\n\
        \n\
        \x20   sqrt (len [1, 2])           -- wrong: `sqrt` takes Floats\n\
        \x20   sqrt (float (len [1, 2]))   -- right\n\
        \n\
        \x20   sin == cos           -- wrong\n\
        \x20   sin 1.0 == cos 1.0   -- right",
)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operation_is_quoted_once() {
        assert_eq!(quoted("sin"), "`sin`");
        assert_eq!(quoted("`+`"), "`+`");
    }

    #[test]
    fn a_place_around_the_expression_is_not_marked() {
        let file = Span::default().file;
        let (whole, part) = (Span::new(file, 4, 9), Span::new(file, 8, 9));
        let make = |place| {
            NoInstance { class: Class::Num, op: "abs", place, ty: "String".into(), span: part, hint: None }.diagnostic()
        };
        assert!(make(whole).secondary.is_empty());
        assert_eq!(make(Span::new(file, 0, 3)).secondary.len(), 1);
    }
}
