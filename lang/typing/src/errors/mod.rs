//! Errors of names, types and sizes: one file for each family, with its data, messages, hints, explanations and tests.
//!
//! `reason` describes the role of an expression and why its type is expected; constraints carry this until they fail.

pub(crate) mod calls;
pub(crate) mod classes;
pub(crate) mod constraints;
pub(crate) mod derivatives;
pub(crate) mod each;
pub(crate) mod elements;
pub mod foreign_names;
pub(crate) mod linearity;
pub(crate) mod mismatch;
pub(crate) mod names;
pub(crate) mod patterns;
pub(crate) mod reason;
pub(crate) mod records;
pub(crate) mod sizes;
pub(crate) mod unused;
mod wording;

pub use names::{nearest, nearest_of};
pub use unused::unused_value;
pub use wording::Explanation;
pub(crate) use wording::{count, listed};

const FAMILIES: &[&[Explanation]] = &[
    names::EXPLANATIONS,
    mismatch::EXPLANATIONS,
    calls::EXPLANATIONS,
    classes::EXPLANATIONS,
    constraints::EXPLANATIONS,
    records::EXPLANATIONS,
    sizes::EXPLANATIONS,
    patterns::EXPLANATIONS,
    linearity::EXPLANATIONS,
    derivatives::EXPLANATIONS,
    each::EXPLANATIONS,
    unused::EXPLANATIONS,
];

/// The explanation of a code of this crate.
pub fn explain(code: &str) -> Option<&'static str> {
    FAMILIES.iter().flat_map(|f| f.iter()).find(|(c, _)| *c == code).map(|(_, t)| *t)
}

/// Every code of this crate that has an explanation.
pub fn codes() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|f| f.iter()).map(|(code, _)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_explained_once() {
        let mut codes: Vec<&str> = FAMILIES.iter().flat_map(|f| f.iter()).map(|(c, _)| *c).collect();
        let all = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all);
        assert!(explain("E0203").is_some() && explain("E9999").is_none());
    }
}
