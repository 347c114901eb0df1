//! E0601 to E0604: types and functions without derivatives.

use super::{Explanation, classes::quoted};
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// A derivative at data without a real number.
pub(crate) fn nothing_real(span: Span, op: &str, ty: &str) -> Diagnostic {
    Diagnostic::error("E0604", span, format!("{} is taken at {ty}, of which nothing can be differentiated", quoted(op)))
        .hint("a derivative is taken at real numbers: write `3.0` for `3`, `float x` for an Int; Ints may stand beside Floats")
}

/// The result of a differentiated function that does not suit the derivative operator.
pub(crate) enum ResultKind {
    /// An array where a number is needed.
    Array,
    /// An Int.
    Int,
    /// A function: more arguments are missing.
    Function,
    /// Anything else.
    Other,
}

/// A function whose result type does not suit a derivative operator.
pub(crate) struct WrongResult<'a> {
    /// The operator.
    pub op: &'a str,
    /// Where the function is.
    pub span: Span,
    /// The type of its result.
    pub ty: String,
    /// The category of that type.
    pub gives: ResultKind,
}

impl WrongResult<'_> {
    /// The message.
    pub fn diagnostic(self) -> Diagnostic {
        let op = quoted(self.op);
        let d = Diagnostic::error(
            "E0602",
            self.span,
            format!("{op} needs a function whose result is one real number, but this one returns {}", self.ty),
        );
        d.hint(match self.gives {
            ResultKind::Array => "`jacobian` differentiates a function to an array; or `sum` the result",
            ResultKind::Int => "an Int has no derivative: compute with Floats",
            ResultKind::Function => "it takes one more argument: differentiate in one of them, `fun x -> f x y`, or in a tuple, `fun (x, y) -> ...`",
            ResultKind::Other => "`vjp` and `jvp` differentiate functions to any data",
        })
    }
}

/// `hessian f x` of data that has no structure of arrays.
pub(crate) fn no_structure(span: Span, op: &str, ty: &str) -> Diagnostic {
    let d = Diagnostic::error(
        "E0603",
        span,
        format!("`{op}` takes Floats, and arrays, tuples and records of them, found {ty}"),
    );
    match op {
        "hessian" => d.hint("as one matrix it is `hessian (fun v -> f (unravel x v)) (ravel x)`"),
        op => d.hint(format!("as one matrix it is `{op} (fun v -> ravel (f (unravel x v))) (ravel x)`")),
    }
}

/// `jacobian f p` of data whose type is not known where it stands.
pub(crate) fn open_structure(span: Span, op: &str, ty: &str) -> Diagnostic {
    Diagnostic::error(
        "E0603",
        span,
        format!("the structure of a `{op}` is that of all data, but of {ty} not all is known here"),
    )
    .hint(
        "annotate the parameter with its whole type, as in `(p : {w : [n]Float, b : Float})` or `(p : (Float, Float))`",
    )
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0601",
        "Only data can be differentiated: numbers, Bools, texts, tuples, records, arrays and declared types, but no functions.\n\
        \n\
        \x20   let scale k = fun x -> k * x\n\
        \x20   jvp scale 2.0 1.0                    -- wrong: its result is a function\n\
        \x20   jvp (fun k -> scale k 3.0) 2.0 1.0   -- right",
    ),
    (
        "E0602",
        "`grad` takes a function whose result is one real number. For an array use `jacobian`, or `sum` its elements.\n\
        \n\
        \x20   grad (fun x -> x * x) [1.0, 2.0]         -- wrong\n\
        \x20   grad (fun x -> sum (x * x)) [1.0, 2.0]   -- right\n\
        \x20   jacobian (fun x -> x * x) [1.0, 2.0]     -- right",
    ),
    (
        "E0603",
        "The Jacobian of data has the structure of the output, and in each of its leaves that of the input. Floats, arrays, tuples and records have \
        such a structure; declared data, Ints and texts do not. `ravel` makes one vector of the real numbers in any data.\n\
        \n\
        \x20   jacobian (fun x -> (x, \"a\")) 1.0     -- wrong: a text has no derivative\n\
        \x20   jacobian (fun x -> (x, x * x)) 1.0   -- right",
    ),
    (
        "E0604",
        "A derivative is taken at real numbers. At data that has only Ints, texts or Bools it would be that data again.\n\
        \n\
        \x20   grad (fun x -> float x * 2.0) 3     -- wrong\n\
        \x20   grad (fun x -> x * 2.0) 3.0         -- right",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_result_has_its_advice() {
        let make = |gives| WrongResult { op: "grad", span: Span::default(), ty: "T".into(), gives }.diagnostic();
        assert!(make(ResultKind::Array).hint.is_some_and(|h| h.contains("jacobian")));
        assert!(make(ResultKind::Int).hint.is_some_and(|h| h.contains("Floats")));
    }
}
