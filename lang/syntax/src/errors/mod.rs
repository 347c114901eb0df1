//! Errors of this crate, one file a family.

pub mod lexical;
pub mod syntax;

/// The explanation of a code of this crate, with an example.
pub fn explain(code: &str) -> Option<&'static str> {
    lexical::EXPLAIN.iter().chain(syntax::EXPLAIN).find(|(c, _)| *c == code).map(|(_, text)| *text)
}
