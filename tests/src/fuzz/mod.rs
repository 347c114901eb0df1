//! Fuzzing: random programs against a reference evaluator, in every way that there is to run them; and broken texts, files and messages.
//!
//! `cargo run --release -p adl-tests --bin fuzz -- --minutes 60` is the long run; `tests/fuzz.rs` has the quick one. A program is a typed tree
//! (`ast`) that the generator makes from a seed (`generate`, `producers`, `arrays`). The reference (`number`, `value`, `evaluate`, `library`,
//! `derivatives`) shares no code with adl: it evaluates the tree with nested dual numbers. `ways` lists the runs and what each must answer;
//! `worker` runs them in a child process with limits of time and memory; `judge` compares, and `minimise` makes a small program of a failure.

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
