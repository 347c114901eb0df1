//! Tokens of a text for Python's highlighters, by the lexer of the language: there is no second one to keep in step.

use adl_syntax::highlight::{Class, tokens};
use adl_syntax::token::{Kw, P};
use pyo3::prelude::*;

/// The name of a class on the Python side (`adl_jupyter/colours.py`).
fn name(class: Class, text: &str) -> &'static str {
    match class {
        Class::Keyword => "keyword",
        Class::Name => "name",
        Class::Constructor => "constructor",
        Class::Type => "type",
        Class::Number => "number",
        Class::String => "string",
        Class::Comment if text.starts_with("--|") => "doc",
        Class::Comment => "comment",
        Class::Operator => "operator",
        Class::Bracket => "bracket",
    }
}

/// The byte ranges of commands such as `:plan` at the beginnings of lines.
fn commands(text: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(word) = line.strip_prefix(':') {
            let length = word.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
            if word.starts_with(|c: char| c.is_ascii_lowercase()) {
                out.push((start, start + 1 + length));
            }
        }
        start += line.len();
    }
    out
}

/// The tokens and comments of a text: the characters at which each begins and ends, and its class.
#[pyfunction]
pub fn classes(text: &str) -> Vec<(usize, usize, &'static str)> {
    let commands = commands(text);
    // A command is no expression: spaces in its place leave all other positions as they are.
    let mut code = text.to_owned();
    for (lo, hi) in &commands {
        code.replace_range(*lo..*hi, &" ".repeat(hi - lo));
    }
    let found = tokens(&code).into_iter().map(|(r, class)| (r.start, r.end, name(class, &code[r])));
    let mut all: Vec<_> = found.chain(commands.iter().map(|(lo, hi)| (*lo, *hi, "command"))).collect();
    all.sort_by_key(|t| t.0);
    // From bytes to characters, in one walk.
    let mut at = (0, 0);
    let mut character = |byte: usize| {
        at = (byte, at.1 + text[at.0..byte].chars().count());
        at.1
    };
    let mut out = Vec::with_capacity(all.len());
    let mut end = 0;
    for (lo, hi, class) in all.into_iter().filter(|t| t.0 < t.1) {
        if lo >= end {
            end = hi;
            out.push((character(lo), character(hi), class));
        }
    }
    out
}

/// The reserved words.
#[pyfunction]
pub fn reserved() -> Vec<&'static str> {
    Kw::ALL.iter().map(|k| k.text()).collect()
}

/// The operators and brackets; among those with a common beginning the longest comes first.
#[pyfunction]
pub fn operators() -> Vec<&'static str> {
    P::ALL.iter().map(|p| p.text()).collect()
}
