//! E0203, E0208, E0210–E0213: types that do not fit.

use super::Explanation;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// An expression whose type differs from the expected one.
pub(crate) struct Mismatch {
    /// A description of the expression.
    pub what: String,
    /// Where it is.
    pub span: Span,
    /// Its type.
    pub actual: String,
    /// The expected type.
    pub expected: String,
    /// Other places involved, with their labels.
    pub places: Vec<(Span, String)>,
    /// A suggestion.
    pub hint: Option<String>,
}

impl Mismatch {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        // For patterns the roles are exchanged: the pattern requires a type that the value does not have.
        let text = match self.what.starts_with("this pattern") || self.what.starts_with("the pattern") {
            true => format!("{} is for {}, but the value has type {}", self.what, self.actual, self.expected),
            false => format!("expected {} for {}, found {}", self.expected, self.what, self.actual),
        };
        self.marked(Diagnostic::error("E0203", self.span, text).label(self.actual.clone()))
    }

    /// Adds the declarations of different types with the same name.
    pub fn of_versions(mut self, places: Vec<(Span, String)>) -> Diagnostic {
        self.places.extend(places);
        self.hint = Some("the two were declared one after the other under one name: what was made before has the older type, so make it again".to_owned());
        self.diagnostic()
    }

    /// A type that would contain itself.
    pub fn infinite(self) -> Diagnostic {
        let text = format!(
            "expected {} for {}, found {}: the type would contain itself",
            self.expected, self.what, self.actual
        );
        self.marked(Diagnostic::error("E0208", self.span, text))
    }

    /// A function where a linear function is expected.
    pub fn not_linear(self) -> Diagnostic {
        let text = format!("expected a linear function, {}, for {}, found {}", self.expected, self.what, self.actual);
        let d = self.marked(Diagnostic::error("E0211", self.span, text).label(self.actual.clone()));
        d.hint("write the function as `lin x -> ...`, or take it from `linearize`, `vjp` or `transpose`")
    }

    fn marked(&self, mut d: Diagnostic) -> Diagnostic {
        for (at, text) in &self.places {
            if *at != self.span {
                d = d.also(*at, text.clone());
            }
        }
        match &self.hint {
            Some(h) => d.hint(h.clone()),
            None => d,
        }
    }
}

/// States why a function is not linear, or that it could be declared linear. `keyword`: the `fun` of a function
/// literal.
pub(crate) fn nonlinear(
    diagnostic: Diagnostic,
    fault: Option<Diagnostic>,
    keyword: Option<Span>,
    function: &str,
) -> Diagnostic {
    match (fault, keyword) {
        (Some(fault), _) => {
            let short = function.len() < 30 && !function.contains('\n');
            let d = diagnostic.also(fault.primary.span, fault.message);
            d.hint(format!(
                "the linear map of its derivative at `x` is `snd (linearize {} x)`",
                if short { function } else { "f" }
            ))
        }
        (None, Some(at)) => diagnostic.hint("it is linear: write it with `lin` in place of `fun`").fix(at, "lin"),
        (None, None) => diagnostic.hint(format!("it is linear: define it with `lin`, `let {function} = lin x -> ...`")),
    }
}

/// `let f x : Float -> Float = ...`: the annotation gives the whole type instead of the result type.
pub(crate) fn whole_type_for_result(d: &mut Diagnostic, at: Span) {
    d.secondary.retain(|l| l.span != at);
    *d = d.clone().also(at, "behind parameters stands the type of the result alone")
        .hint("write the type of each parameter with it, `let f (x : Float) : Float = ...`, or that of the whole, `let f : Float -> Float = fun x -> ...`");
}

/// Arithmetic between numbers of different types.
pub(crate) struct MixedNumbers {
    /// The operator.
    pub op: String,
    /// Left place and type.
    pub left: (Span, String),
    /// Right place and type.
    pub right: (Span, String),
    /// The conversion to write.
    pub fix: String,
    /// The operand to convert, and its replacement.
    pub edit: Option<(Span, String)>,
}

impl MixedNumbers {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let ((sa, a), (sb, b)) = (self.left, self.right);
        let d = Diagnostic::error("E0203", sb, format!("{} needs two numbers of one type, found {a} and {b}", self.op))
            .label(b)
            .also(sa, a)
            .hint(self.fix);
        match self.edit {
            Some((at, text)) => d.fix(at, text),
            None => d,
        }
    }
}

/// A type variable of an annotation that was inferred to be a specific type.
pub(crate) struct PromiseBroken {
    /// `a`.
    pub var: String,
    /// Where it is written.
    pub span: Span,
    /// The inferred type.
    pub is: String,
    /// Whether that is another type variable of the annotation.
    pub other: bool,
    /// Whether it stands for the fields of a record.
    pub row: bool,
}

impl PromiseBroken {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let PromiseBroken { var, span, is, other, row } = self;
        let what = if row { "any other fields" } else { "every type" };
        let needs = match (other, row) {
            (true, false) => format!("`{var}` and `{is}` to be one type"),
            (true, true) => format!("`{var}` and `{is}` to be the same fields"),
            (false, true) if is == "{}" => "no others".to_owned(),
            _ => is.clone(),
        };
        let hint = match (other, row) {
            (true, _) => "use one variable for both, or change the definition so that it does not mix them".to_owned(),
            (false, true) => format!("leave out `| {var}`, and write all fields"),
            (false, false) => format!("write {is} in place of `{var}`"),
        };
        Diagnostic::error(
            "E0212",
            span,
            format!("the annotation promises {what} for `{var}`, but the definition needs {needs}"),
        )
        .hint(hint)
    }
}

/// A type that the program does not determine. `inside`: the operation in the function `op` whose result it is.
pub(crate) fn unknown_result(span: Span, op: &str, inside: Option<(Span, &str)>) -> Diagnostic {
    let text = |op: &str| format!("the type of the result of `{op}` is not known");
    let ty = |op: &str| if op == "rows.open" { "Rows {a : Float}" } else { "{a : [_]Float}" };
    match inside {
        Some((at, reads)) => Diagnostic::error("E0210", at, text(reads))
            .also(span, format!("`{op}` is used here, and nothing says what it gives"))
            .hint(format!(
                "annotate this use, `let x : {0} = {op} ...`, or `{reads}` in the function, `({reads} ... : {0})`",
                ty(reads)
            )),
        None => Diagnostic::error("E0210", span, text(op)).hint(format!("annotate it: `let x : {} = ...`", ty(op))),
    }
}

/// A shape that determines the number of axes but is not a literal.
pub(crate) fn unknown_shape(span: Span, op: &str) -> Diagnostic {
    Diagnostic::error(
        "E0210",
        span,
        format!("the shape for `{op}` must be written out here, so that the number of axes is known"),
    )
    .hint(match op {
        "random.int" => "for example `random.int key 0 10 [n, m]`".to_owned(),
        op if op.starts_with("random") => format!("for example `{op} key [n, m]`"),
        "zeros" | "ones" => format!("for example `{op} [n, m]`, or `{op} (len xs)`"),
        "full" => "for example `full [n, m] x`, or `full (len xs) x`".to_owned(),
        op => format!("for example `{op} [n, m] xs`"),
    })
}

/// A type that exceeds the size limit.
pub(crate) fn too_large(span: Span) -> Diagnostic {
    Diagnostic::error("E0210", span, "the type of this has too many parts to be checked")
        .hint("give the data a declared type: `type T = T ...`")
}

/// An axis that is not a literal.
pub(crate) fn unknown_axis(span: Span) -> Diagnostic {
    Diagnostic::error("E0210", span, "the axis for `along` must be a literal, so that the type of the result is known")
        .hint("for example `along 1 sum m`; `along (-1)` is along the last axis")
}

/// An axis that does not exist, or of an array of unknown rank.
pub(crate) fn no_axis(span: Span, axis: i64, rank: Option<u64>) -> Diagnostic {
    match rank {
        Some(n) => Diagnostic::error(
            "E0210",
            span,
            format!(
                "there is no axis {axis}: the array has {}",
                super::count(n as usize, "axis").replace("axiss", "axes")
            ),
        )
        .hint("axes are counted from 0, or with -1 from the last one"),
        None => Diagnostic::error("E0210", span, "it is not known how many axes this array has")
            .hint("annotate it, as in `(x : [n][m]Float)`, or count the axis from 0"),
    }
}

/// An array of Ints used as an index.
pub(crate) fn positions(span: Span, base: &str, at: &str) -> Diagnostic {
    Diagnostic::error("E0203", span, "an array as an index must be a mask of Bools, found Ints")
        .hint(format!("elements at positions: `gather {base} {at}`"))
}

/// A mask on an axis after the second.
pub(crate) fn mask_too_far(span: Span) -> Diagnostic {
    Diagnostic::error("E0203", span, "a mask chooses along the first or the second axis")
        .hint("for another axis `map` over the leading ones: `map (fun m -> m[mask]) x`")
}

/// The extent of an index is not known.
pub(crate) fn no_extent(span: Span, name: &str) -> Diagnostic {
    Diagnostic::error("E0213", span, format!("the extent of `{name}` is not known"))
        .hint(format!("give it a bound: `for {name} < n -> ...`"))
}

/// `let rec` of a value that is not a function.
pub(crate) fn recursive_value(span: Span, name: &str) -> Diagnostic {
    Diagnostic::error("E0203", span, format!("`let rec {name}` must define a function")).hint(format!(
        "without `rec` it is a value: `let {name} = ...`; a function has a parameter: `let rec {name} n = ...`"
    ))
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0203",
        "Two types that must be equal are not. The message says what was expected, and marks the place that says so.\n\
        \n\
        \x20   (1 + 2, \"one\") == (3, 1)       -- wrong\n\
        \x20   (1 + 2, \"one\") == (3, \"one\")   -- right\n\
        \n\
        \x20   let half (x : Float) = x / 2.0\n\
        \x20   let n = 3\n\
        \x20   half n                           -- wrong\n\
        \x20   half (float n)                   -- right\n\
        \n\
        \x20   let square (x : Float) = x * x\n\
        \x20   square [1.0, 2.0]       -- wrong: it takes one number\n\
        \x20   map square [1.0, 2.0]   -- right",
    ),
    (
        "E0208",
        "A type would contain itself: a function that takes itself as its argument, or an array that is one of its own elements. A declared type may contain itself.\n\
        \n\
        \x20   fun f -> f f   -- wrong\n\
        \n\
        \x20   let rec nest x = [x, nest x]   -- wrong\n\
        \x20   type Nest = End | In Nest      -- right",
    ),
    (
        "E0210",
        "The type cannot be found out from what is written. The axes of an array must be known, so the shape that `reshape` and `random.normal` take is written out; and what is read from a file whose name is computed needs a type.\n\
        \n\
        \x20   let shape = [2, 3]\n\
        \x20   reshape shape (iota 6)                  -- wrong\n\
        \x20   reshape [2, 3] (iota 6)                 -- right\n\
        \x20   reshape [shape[0], shape[1]] (iota 6)   -- right",
    ),
    (
        "E0211",
        "A linear function is expected here: `lin x -> ...`, or the result of `linearize`, `vjp` or `transpose`. A `fun` is not one, whatever its body is.\n\
        \n\
        \x20   transpose (fun x -> 3.0 * x) 1.0   -- wrong\n\
        \x20   transpose (lin x -> 3.0 * x) 1.0   -- right",
    ),
    (
        "E0212",
        "An annotation promises more than the definition gives: a type variable of an annotation stands for every type. Constraints need not be written: they are inferred.\n\
        \n\
        \x20   let pair (x : a) (y : b) : [2]a = [x, y]   -- wrong\n\
        \x20   let pair (x : a) (y : a) : [2]a = [x, y]   -- right\n\
        \x20   let pair x y = [x, y]                      -- right",
    ),
    (
        "E0213",
        "The index of a comprehension needs a bound, unless it stands directly in the brackets of some array: that array's size is then the bound.\n\
        \n\
        \x20   let xs = [1.0, 2.0, 3.0]\n\
        \x20   sum for i -> float i       -- wrong\n\
        \x20   sum for i < 3 -> float i   -- right\n\
        \x20   sum for i -> xs[i]         -- right",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_the_same_is_not_marked_twice() {
        let at = Span::default();
        let m = Mismatch {
            what: "x".into(),
            span: at,
            actual: "Int".into(),
            expected: "Bool".into(),
            places: vec![(at, "here".into())],
            hint: None,
        };
        let d = m.diagnostic();
        assert_eq!(d.message, "expected Bool for x, found Int");
        assert!(d.secondary.is_empty());
    }

    #[test]
    fn too_general_names_both_variables() {
        let d = PromiseBroken { var: "a".into(), span: Span::default(), is: "b".into(), other: true, row: false }
            .diagnostic();
        assert!(d.message.contains("`a` and `b` to be one type"));
    }
}
