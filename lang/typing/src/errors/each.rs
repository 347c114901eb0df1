//! E0216, E0217: values that differ from rank to rank, used where all ranks must agree.

use super::Explanation;
use adl_syntax::diag::Diagnostic;
use adl_syntax::span::Span;

/// What to do with a value of each rank where a plain one is expected.
pub(crate) const OF_EACH: &str =
    "it may differ from rank to rank: use it inside `comm.each`, or its `comm.total` or `comm.gather`";

/// What to do with a plain value where one of each rank is expected.
pub(crate) const PLAIN: &str = "`comm.mine` deals an array out, and `comm.spread` makes a plain value one of each rank";

/// An operation on all ranks inside of the function of `comm.each`, at `each`.
pub(crate) fn inside(name: &str, at: Span, each: Span) -> Diagnostic {
    Diagnostic::error("E0216", at, format!("`{name}` inside `comm.each`: its function is each rank's own"))
        .also(each, "other ranks need not be at the same place in it")
        .hint("end `comm.each` first: other ranks see its result by `comm.total`, `comm.gather` or `comm.shift`")
}

/// A type `Each (Each a)`, or one with an `Each` deeper inside.
pub(crate) fn nested(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::error("E0217", at, format!("expected a plain value inside `Each`, found {ty}"))
        .hint("two values of each rank become one by `comm.zip`")
}

pub(super) const EXPLANATIONS: &[Explanation] = &[
    (
        "E0216",
        "The function of `comm.each` runs on each rank by itself. A rank in it cannot wait for the others, which may take \
        another branch, so no function of the modules `comm` and `rows` stands there, except `comm.size`.\n\
        \n\
        \x20   let x = comm.mine [1.0, 2.0]\n\
        \x20   print (comm.total (comm.each (fun v -> v / comm.total (comm.each sum x)) x))   -- wrong\n\
        \x20   let s = comm.total (comm.each sum x)\n\
        \x20   print (comm.gather (comm.each (fun v -> v / s) x))                             -- right",
    ),
    (
        "E0217",
        "`Each a` is a value that may differ from rank to rank, and `a` is a plain type: there are no ranks of ranks.\n\
        \n\
        \x20   let x = comm.spread 1.0\n\
        \x20   print (comm.total (comm.total (comm.spread x)))   -- wrong\n\
        \x20   print (comm.total x)                              -- right",
    ),
];
