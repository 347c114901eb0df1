//! Long explanations of the error codes.

/// A code and its explanation.
pub(super) type Explanation = (&'static str, &'static str);

/// The explanation of a code of this crate, with examples.
pub fn explain(code: &str) -> Option<&'static str> {
    tables().find(|(c, _)| *c == code).map(|(_, text)| *text)
}

/// Every code of this crate.
pub fn codes() -> impl Iterator<Item = &'static str> {
    tables().map(|(code, _)| *code)
}

fn tables() -> impl Iterator<Item = &'static Explanation> {
    let families = [
        super::lexical::EXPLANATIONS,
        super::layout::EXPLANATIONS,
        super::expressions::EXPLANATIONS,
        super::items::EXPLANATIONS,
        super::foreign_syntax::EXPLANATIONS,
    ];
    families.into_iter().flatten()
}
