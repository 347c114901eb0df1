//! The role of an expression and the reason why its type is expected. Kept as data and turned into text only if a
//! constraint fails.

use super::classes::quoted;
use crate::ty::Ty;
use adl_syntax::span::Span;
use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

/// The role of an expression in its context.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// Argument 2 of the 2 given to `map`.
    Argument { index: usize, total: usize, of: Rc<str> },
    /// The right operand of an operator. The message treats both operands alike.
    Right(&'static str),
    /// Anything else, in words.
    Thing(Cow<'static, str>),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Argument { index, of, .. } => write!(f, "argument {index} of {of}"),
            Role::Right(op) => write!(f, "the right operand of {}", quoted(op)),
            Role::Thing(text) => f.write_str(text),
        }
    }
}

/// The fact that the expected type follows from.
#[derive(Clone, Debug)]
pub(crate) enum Evidence {
    /// The named thing has this type, as in "the left operand".
    Is(&'static str, Ty),
    /// A description.
    Said(&'static str),
}

/// The reason why a type is expected at a place.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    /// The role of the expression.
    pub what: Role,
    /// The place and content of the fact behind the expectation.
    pub because: Option<(Span, Evidence)>,
}

impl Reason {
    /// A reason without another place.
    pub fn new(what: impl Into<Cow<'static, str>>) -> Reason {
        Reason { what: Role::Thing(what.into()), because: None }
    }

    /// An argument, counted from 0.
    pub fn argument(index: usize, total: usize, of: &Rc<str>) -> Reason {
        Reason { what: Role::Argument { index: index + 1, total, of: of.clone() }, because: None }
    }

    /// The right operand of an operator whose left operand is of a type.
    pub fn right(op: &'static str, left: Span, ty: &Ty) -> Reason {
        Reason { what: Role::Right(op), because: Some((left, Evidence::Is("the left operand", ty.clone()))) }
    }

    /// A reason that follows from the type of another place, described by `text`.
    pub fn is(what: impl Into<Cow<'static, str>>, at: Span, text: &'static str, ty: &Ty) -> Reason {
        Reason { what: Role::Thing(what.into()), because: Some((at, Evidence::Is(text, ty.clone()))) }
    }

    /// A reason that follows from another place, described by `text`.
    pub fn said(what: impl Into<Cow<'static, str>>, at: Span, text: &'static str) -> Reason {
        Reason { what: Role::Thing(what.into()), because: Some((at, Evidence::Said(text))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_words() {
        assert_eq!(Reason::argument(1, 2, &"`map`".into()).what.to_string(), "argument 2 of `map`");
        assert_eq!(Role::Right("`+`").to_string(), "the right operand of `+`");
        assert_eq!(Reason::new("the guard").what.to_string(), "the guard");
    }
}
