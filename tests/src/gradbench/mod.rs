//! GradBench (github.com/gradbench/gradbench), a suite for tools of differentiation: its twelve problems, in adl, and its protocol.
//!
//! The problems are `tests/gradbench/*.adl`. Each has a type `Input`, perhaps a function `prepare` (what need not be timed), and the functions that
//! messages name. [`Tool`] answers messages; [`compare`] says whether an answer is right.

pub mod compare;
mod tool;

pub use tool::{Run, Tool};

/// A problem: its name and its text.
pub struct Problem {
    /// As messages call it.
    pub name: &'static str,
    /// adl.
    pub source: &'static str,
}

macro_rules! problems {
    ($($name:literal),*) => {
        &[$(Problem { name: $name, source: include_str!(concat!("../../gradbench/", $name, ".adl")) }),*]
    };
}

/// All problems, and what they import.
const SOURCES: &[Problem] = problems!["hello", "det", "gmm", "ba", "ht", "kmeans", "llsq", "lse", "lstm", "ode", "particle", "saddle", "descent"];

/// The problems.
pub fn problems() -> &'static [Problem] {
    &SOURCES[..12]
}
