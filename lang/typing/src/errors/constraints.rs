//! E0214, and the places of operators whose types are decided at a function's use.

use super::Explanation;
use crate::ty::OperationSite;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// Moves an error of an operator inside a function to the use of that function, and names the operation.
pub(crate) fn explain(d: &mut Diagnostic, place: &OperationSite, operation: &str) {
    let within = place.within.map_or_else(String::new, |f| format!(" in `{f}`"));
    let text = format!("this operation{within} is then `{operation}`");
    // The message states the operand types, so the place of the use needs only one mark.
    let at = d.primary.span;
    if d.secondary.iter().any(|l| l.span == at) {
        d.secondary.retain(|l| l.span != at);
        d.primary.text.clear();
    }
    *d = std::mem::replace(d, Diagnostic::error("E0214", place.span, "")).also(place.span, text);
}

/// A constraint whose name is not an operator.
pub(crate) fn no_operator(span: Span, name: &str) -> Diagnostic {
    Diagnostic::error("E0214", span, format!("`{name}` is not an operation that a signature can ask for"))
        .hint("signatures ask for classes, `Num a`, and for operations whose ranks a use decides: `a + b : c`, `a @ b : c`, `where a b c : d`")
}

/// An operation on type variables of a signature that does not list it as a constraint.
pub(crate) fn not_promised(span: Span, operation: &str, constraint: &str) -> Diagnostic {
    Diagnostic::error("E0214", span, format!("the signature does not promise `{operation}`"))
        .hint(format!("add it to the constraints: `({constraint}) => ...`"))
}

/// A function with more constraints than its uses can solve.
pub(crate) fn too_many(span: Span, most: usize) -> Diagnostic {
    Diagnostic::error(
        "E0214",
        span,
        format!("the ranks in this definition depend on its uses in more than {most} operations"),
    )
    .hint("annotate a parameter, as in `(x : [n]Float)`, or a function that it calls")
}

pub(super) const EXPLANATIONS: &[Explanation] = &[(
    "E0214",
    "The ranks of arrays in a function without annotations are decided where it is used. A signature that is written out must promise the\n\
        operations that the body needs, and a definition may leave only so many of them to its uses.\n\
        \n\
        \x20   let f : (Nums a, Nums b) => a -> b -> c = fun x y -> x + y   -- wrong\n\
        \x20   let f : (a + b : c) => a -> b -> c = fun x y -> x + y        -- right",
)];
