//! Fuzzing: random programs in all execution modes against a reference evaluator; and malformed texts, files and
//! entries.
//!
//! `cargo run --release -p adl-tests --bin fuzz -- --minutes 60` is the long run; `tests/fuzz.rs` has a short one. A
//! program is a typed tree (`ast`) generated from a seed (`generate`, `producers`, `arrays`). The reference (`number`,
//! `value`, `evaluate`, `library`, `derivatives`) shares no code with adl: it evaluates the tree with nested dual
//! numbers. `ways` lists the execution modes and the expected answers; `worker` runs them in a child process with
//! limits of time and memory; `judge` compares the answers, and `minimise` reduces failing programs.

pub mod arrays;
pub mod ast;
pub mod derivatives;
pub mod evaluate;
pub mod features;
pub mod front;
pub mod generate;
pub mod judge;
pub mod large;
pub mod library;
pub mod minimise;
pub mod number;
pub mod print;
pub mod producers;
pub mod random;
pub mod report;
pub mod value;
pub mod ways;
pub mod worker;
