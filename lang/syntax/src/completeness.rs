//! Whether a REPL entry can be run, or more lines are wanted.

use crate::lexer::lex;
use crate::parser::parse_all;
use crate::span::FileId;
use crate::token::{Kw, P, Tok};

/// Whether a text can be run as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completeness {
    /// It parses.
    Complete,
    /// More lines may follow; the next would be indented by so many columns.
    Incomplete(usize),
    /// No further line repairs it.
    Invalid,
}

/// Whether an entry of the REPL is complete. One that ends inside an indented block is complete
/// only after an empty line or `;;`, because the block may go on.
pub fn is_complete(text: &str) -> Completeness {
    let outcome = parse_all(FileId::default(), text);
    let last_line = text.lines().last().unwrap_or("");
    let indent = last_line.chars().take_while(|c| *c == ' ').count();
    if outcome.broken {
        return Completeness::Invalid;
    }
    if outcome.cut_off {
        return Completeness::Incomplete(if opens_block(text) { indent + 2 } else { indent });
    }
    let block = block_indent(text);
    let blank = last_line.trim().is_empty() || text.ends_with('\n') || last_line.trim_end().ends_with(";;");
    if block > 0 && !blank { Completeness::Incomplete(block) } else { Completeness::Complete }
}

/// Indentation of the last line that does not begin inside brackets; 0 for a text of one line.
fn block_indent(text: &str) -> usize {
    let mut depth = 0usize;
    let (mut indent, mut lines) = (0, 0);
    for token in lex(FileId::default(), text).tokens {
        if token.line_start && token.tok != Tok::End && depth == 0 {
            (indent, lines) = (token.indent as usize, lines + 1);
        }
        match token.tok {
            Tok::P(p) if p.opens() => depth += 1,
            Tok::P(p) if p.closes() => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if lines > 1 { indent } else { 0 }
}

/// Whether the last token wants an indented block.
fn opens_block(text: &str) -> bool {
    let tokens = lex(FileId::default(), text).tokens;
    let last = tokens.len().checked_sub(2).and_then(|i| tokens.get(i));
    last.is_some_and(|t| {
        matches!(t.tok, Tok::P(P::Eq | P::Arrow) | Tok::Kw(Kw::Then | Kw::Else | Kw::Do | Kw::In))
    })
}

#[cfg(test)]
mod tests {
    use super::{Completeness::*, is_complete};

    #[test]
    fn entries() {
        for (text, expected) in [
            ("", Complete),
            ("1 + 2", Complete),
            ("1 +", Incomplete(0)),
            ("let f x =", Incomplete(2)),
            ("let f x =\n  let y = x", Incomplete(2)),
            ("let f x =\n  let y = x\n  y", Incomplete(2)),
            ("let f x =\n  let y = x\n  y\n", Complete),
            ("let f x =\n  x;;", Complete),
            ("foo (1,", Incomplete(0)),
            ("[1,\n 2]", Complete),
            ("let f x =\n  foo (a,\n    b)", Incomplete(2)),
            ("(* open", Incomplete(0)),
            ("\"open", Invalid),
            ("foo )", Invalid),
            ("match x with", Incomplete(0)),
            ("if a then", Incomplete(2)),
            ("if a", Incomplete(0)),
            ("let x = 1 in", Incomplete(2)),
            ("let let", Invalid),
            ("-- note", Complete),
        ] {
            assert_eq!(is_complete(text), expected, "{text:?}");
        }
    }
}
