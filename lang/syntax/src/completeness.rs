//! Decides whether a REPL entry can be run, or needs more lines.

use crate::lexer::{Lexed, lex};
use crate::parser::parse_all;
use crate::span::FileId;
use crate::token::{Kw, P, Tok, Token};

/// The completeness of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completeness {
    /// It can be run.
    Complete,
    /// More lines may follow. The next one should be indented by this many columns.
    Incomplete(usize),
    /// It has an error that no further line repairs.
    Invalid,
}

/// The code of a string that is not closed.
const UNCLOSED_STRING: &str = "E0102";

/// Columns of indentation a level.
const INDENT: usize = 2;

/// Whether an entry of the REPL is complete. An entry that ends inside an indented block, or in a case of a `match` on
/// a line of its own, may continue. It is complete only after an empty line or `;;`. The same holds after a
/// documentation comment and inside a string that is not closed.
pub fn is_complete(text: &str) -> Completeness {
    let outcome = parse_all(FileId::default(), text);
    let first = outcome.diagnostics.iter().filter(|d| d.is_error()).min_by_key(|d| d.primary.span.lo);
    if first.is_some_and(|d| d.code == UNCLOSED_STRING) && !text.ends_with('\n') {
        // A string may contain newlines, so what follows its first line is text.
        return Completeness::Incomplete(0);
    }
    if outcome.broken {
        return Completeness::Invalid;
    }
    let lexed = lex(FileId::default(), text);
    if outcome.cut_off {
        let ends_with_let = outcome.diagnostics.iter().any(|d| d.code == "E0115");
        let entry = last_line_outside_brackets(&lexed.tokens).filter(|_| ends_with_let);
        return Completeness::Incomplete(entry.map_or_else(|| indent_of_next(text, &lexed), |t| t.indent as usize));
    }
    let last_line = text.lines().last().unwrap_or("").trim();
    if last_line.is_empty() || text.ends_with('\n') || last_line.ends_with(";;") {
        return Completeness::Complete;
    }
    if last_line.starts_with("--|") {
        return Completeness::Incomplete(0);
    }
    match last_line_outside_brackets(&lexed.tokens) {
        Some(first) if first.indent > 0 => Completeness::Incomplete(first.indent as usize),
        Some(first) if first.tok == Tok::P(P::Bar) => Completeness::Incomplete(0),
        _ => Completeness::Complete,
    }
}

/// The first token of the last line that begins outside brackets, if the text has several such lines.
fn last_line_outside_brackets(tokens: &[Token]) -> Option<Token> {
    let mut open = 0usize;
    let (mut last, mut lines) = (None, 0);
    for token in tokens {
        if token.line_start && token.tok != Tok::End && open == 0 {
            (last, lines) = (Some(*token), lines + 1);
        }
        match token.tok {
            Tok::P(p) if p.opens() => open += 1,
            Tok::P(p) if p.closes() => open = open.saturating_sub(1),
            _ => {}
        }
    }
    last.filter(|_| lines > 1)
}

/// The indentation of the next line of an incomplete text: one level more than the line that opened the construct. If
/// the construct has lines already, it is the column of the last one.
fn indent_of_next(text: &str, lexed: &Lexed) -> usize {
    let written = text.lines().last().map_or(0, |line| line.chars().take_while(|c| *c == ' ').count());
    let tokens = lexed.tokens.get(..lexed.tokens.len().saturating_sub(1)).unwrap_or(&[]);
    let Some((last, before)) = tokens.split_last() else { return written };
    if lexed.open_at_end {
        return written;
    }
    let indent = last.indent as usize;
    let line = before.iter().rposition(|t| t.line_start).unwrap_or(0);
    let line = if last.line_start { tokens.len() - 1 } else { line };
    match last.tok {
        Tok::Kw(Kw::With) if !begins_definition(tokens.get(line)) => indent,
        Tok::Kw(Kw::In) if indent > 0 => indent,
        _ if opens_block(last.tok) => indent + INDENT,
        _ if brackets_open(&tokens[..line]) => indent,
        _ if line.checked_sub(1).and_then(|i| tokens.get(i)).is_some_and(|t| continues_line(t.tok)) => indent,
        _ => indent + INDENT,
    }
}

fn brackets_open(tokens: &[Token]) -> bool {
    let signs = || tokens.iter().filter_map(|t| if let Tok::P(p) = t.tok { Some(p) } else { None });
    signs().filter(|p| p.opens()).count() > signs().filter(|p| p.closes()).count()
}

fn begins_definition(token: Option<&Token>) -> bool {
    token.is_some_and(|t| matches!(t.tok, Tok::Kw(Kw::Let | Kw::And)))
}

/// Whether a token at the end of a line opens an indented block.
fn opens_block(tok: Tok) -> bool {
    match tok {
        Tok::P(p) => p.opens() || matches!(p, P::Eq | P::Arrow),
        Tok::Kw(kw) => matches!(kw, Kw::Then | Kw::Else | Kw::Do | Kw::In),
        _ => false,
    }
}

/// Whether a line that ends with `tok` continues on the next line without a block.
fn continues_line(tok: Tok) -> bool {
    match tok {
        Tok::P(p) => !p.closes() && p != P::SemiSemi && !matches!(p, P::Eq | P::Arrow),
        _ => false,
    }
}
