//! Errors of names, types and sizes: one file for each family, with its data, messages, hints, explanations and tests.
//!
//! `reason` describes the role of an expression and why its type is expected; constraints carry this until they fail.

pub(crate) mod calls;
pub(crate) mod classes;
pub(crate) mod constraints;
pub(crate) mod derivatives;
pub mod foreign_names;
pub(crate) mod linearity;
pub(crate) mod mismatch;
pub(crate) mod names;
pub(crate) mod patterns;
pub(crate) mod reason;
pub(crate) mod records;
pub(crate) mod sizes;
pub(crate) mod unused;

pub use names::{nearest, nearest_of};
pub use unused::unused_value;

/// A code and its explanation, with a wrong and a right program.
pub type Explanation = (&'static str, &'static str);

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

/// `1 argument`, `2 arguments`.
pub(crate) fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// `a`, `b` and `c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [first @ .., last] => {
            format!("{} and `{last}`", first.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "))
        }
    }
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

    #[test]
    fn lists_and_counts_read_as_sentences() {
        assert_eq!(count(1, "argument"), "1 argument");
        assert_eq!(count(0, "argument"), "0 arguments");
        let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        assert_eq!(listed(&names), "`a`, `b` and `c`");
        assert_eq!(listed(&names[..1]), "`a`");
    }
}
