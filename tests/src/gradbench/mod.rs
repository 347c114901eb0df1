//! GradBench (github.com/gradbench/gradbench), a suite for tools of differentiation: its twelve problems, in adl, and its protocol.
//!
//! The problems are `tests/gradbench/*.adl`. Each has a type `Input`, perhaps a function `prepare` (what need not be timed), and the functions that
//! messages name. [`Tool`] answers messages; [`compare`] says whether an answer is right;
//! [`generate`] makes inputs of any size.

pub mod compare;
pub mod generate;
mod tool;

pub use tool::{Run, Tool};

use serde_json::Value;
use std::path::Path;

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

/// The golden messages of a problem with the answers that are right for them.
pub fn golden(module: &str) -> Vec<(Value, Value)> {
    recorded(&crate::root().join("tests/gradbench/golden"), module)
}

/// Those of a folder; none where it has no such file.
pub fn recorded(folder: &Path, module: &str) -> Vec<(Value, Value)> {
    let text = std::fs::read_to_string(folder.join(module).with_extension("jsonl")).unwrap_or_default();
    let records = text.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    records.map(|mut r| (r["message"].take(), r["expected"].take())).collect()
}
