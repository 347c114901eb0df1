//! How often the words of operations occur in a program's text, for snapshots of what passes make of many programs.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fmt;

/// Words that say nothing about the operations.
const IGNORED: [&str; 7] = ["return", "else", "f64", "f32", "i64", "bool", "str"];

/// Numbers of words. Words are operations of the text form and what loops do with their results (`collect`, `sum`, …);
/// `number` is any literal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<String, i64>);

impl Tally {
    /// The words of a program, in the form of [`adl_ir::print`].
    pub fn of(program: &str) -> Tally {
        let mut tally = Tally::default();
        tally.count(program);
        tally
    }

    /// Counts the words of a program, in the form of [`adl_ir::print`].
    pub fn count(&mut self, program: &str) {
        for line in program.lines() {
            let line = line.find("--").map_or(line, |end| &line[..end]).trim();
            let op = line.split_once(" = ").map_or(line, |(_, op)| op);
            if line.starts_with("fn ") || line.starts_with("data ") || op.is_empty() {
                continue;
            }
            if op.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
                self.add("number", 1);
                continue;
            }
            // Every second part is a name in backquotes, or a text.
            let parts = op.split(['`', '"']).step_by(2);
            let words = parts.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && c != '_'));
            words.filter(|word| is_operation(word)).for_each(|word| self.add(word, 1));
        }
    }

    /// Counts a word `n` times.
    pub fn add(&mut self, word: &str, n: i64) {
        match self.0.get_mut(word) {
            Some(count) => *count += n,
            None => _ = self.0.insert(word.to_owned(), n),
        }
    }

    /// Adds the counts of another tally.
    pub fn add_all(&mut self, other: &Tally) {
        other.0.iter().for_each(|(word, n)| self.add(word, *n));
    }

    /// What is more than `before`; less is negative.
    #[must_use]
    pub fn since(&self, before: &Tally) -> Tally {
        let mut more = self.clone();
        before.0.iter().for_each(|(word, n)| more.add(word, -n));
        more.0.retain(|_, n| *n != 0);
        more
    }
}

/// Whether a word is neither a variable, a function, a type nor a number.
fn is_operation(word: &str) -> bool {
    let named = word.starts_with(|c: char| c.is_ascii_lowercase()) && !IGNORED.contains(&word);
    // `v3`, `f3` and `x_3`; no operation's word ends so.
    let digits = word.len() - word.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let stem = &word[..word.len() - digits];
    named && (digits == 0 || !(stem == "v" || stem == "f" || stem.ends_with('_')))
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(|(word, n)| format!("{word} {n}")).collect();
        f.write_str(&words.join(", "))
    }
}
