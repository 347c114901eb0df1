//! Errors of the machine.

use crate::error::{Error, codes};
use adl_syntax::span::Span;

/// The error for a recursion that exceeds the memory limit.
pub fn too_deep() -> Box<Error> {
    Error::new(codes::DEPTH, "too many nested calls: the recursion does not seem to end")
        .hint("a call in tail position takes no space; `--stack` sets another limit")
}

/// The error for a value that no arm of a `match` covers.
pub fn no_match() -> Box<Error> {
    Error::new(codes::NO_MATCH, "no arm of this `match` fits the value")
}

/// Whether a span is not in any file.
pub(crate) fn nowhere(s: Span) -> bool {
    s.lo == 0 && s.hi == 0
}
