//! GradBench (github.com/gradbench/gradbench), a benchmark suite for differentiation tools: its twelve problems in adl,
//! and its protocol.
//!
//! The problems are `tests/gradbench/*.adl`. Each has a type `Input`, optionally a function `prepare` (for work that is
//! not timed), and the functions that messages name. [`Tool`] answers messages; [`compare`] checks answers.

pub mod compare;
mod tool;

pub use tool::{Tool, ToolRun};

use serde_json::Value;
use std::path::Path;

/// A problem: its name and its text.
pub struct Problem {
    /// The name in messages.
    pub name: &'static str,
    /// The adl source.
    pub source: &'static str,
}

macro_rules! problems {
    ($($name:literal),*) => {
        &[$(Problem { name: $name, source: include_str!(concat!("../../gradbench/", $name, ".adl")) }),*]
    };
}

/// All problems and the files that they import.
const SOURCES: &[Problem] = problems![
    "hello", "det", "gmm", "ba", "ht", "kmeans", "llsq", "lse", "lstm", "ode", "particle", "saddle", "descent"
];

/// The problems.
pub fn problems() -> &'static [Problem] {
    &SOURCES[..12]
}

/// The golden messages of a problem with the correct answers.
pub fn golden(module: &str) -> Vec<(Value, Value)> {
    recorded(&crate::root().join("tests/gradbench/golden"), module)
}

/// The recorded messages in a folder; none if the file does not exist.
pub fn recorded(folder: &Path, module: &str) -> Vec<(Value, Value)> {
    let text = std::fs::read_to_string(folder.join(module).with_extension("jsonl")).unwrap_or_default();
    let records = text.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    records.map(|mut r| (r["message"].take(), r["expected"].take())).collect()
}
