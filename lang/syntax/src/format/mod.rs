//! `adl fmt`: one canonical layout, width 100, two columns a level, comments kept.
//!
//! The tree is converted to a document with possible line breaks (`doc`). The comments of the source are attached to
//! its tokens and inserted on the way (`tokens`). The new text of each item is accepted only after a check: it must
//! parse to the same tree, keep all comments, and be a fixed point of formatting. An item that fails the check (because
//! of comments in unusual places) is left as it was written. So formatting never changes the meaning of a program.

mod blocks;
mod brackets;
mod columns;
mod doc;
mod exprs;
mod items;
mod operators;
mod tokens;
mod types;

use crate::ast::{Item, Program};
use crate::diag::Diagnostic;
use crate::lexer::lex;
pub use crate::limits::format::WIDTH;
use crate::parser::parse;
use crate::span::FileId;
use crate::token::{Tok, Token};
use doc::{concat, hard};
use std::borrow::Cow;
use tokens::Tokens;

/// Columns of indentation a level.
const INDENT: usize = 2;

pub(crate) struct Formatter<'a> {
    tokens: Tokens<'a>,
}

/// Runs `f` with sufficient stack.
fn guarded<T>(f: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, f)
}

/// Formats a program, or returns its syntax errors.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    format_counting(text).map(|(text, _)| text)
}

/// Like [`format()`], with the number of items that were left as written.
pub fn format_counting(text: &str) -> Result<(String, usize), Vec<Diagnostic>> {
    // Documents nest several times deeper than trees, and are dropped recursively.
    stacker::maybe_grow(48 * 1024 * 1024, 64 * 1024 * 1024, || format_here(text))
}

fn format_here(text: &str) -> Result<(String, usize), Vec<Diagnostic>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (program, diagnostics) = parse(FileId::default(), text);
    let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut out = String::new();
    if text.starts_with("#!") {
        out.push_str(text.lines().next().unwrap_or("").trim_end());
        out.push('\n');
    }
    let mut kept = 0;
    let pieces = pieces(text, &program);
    for (i, piece) in pieces.iter().enumerate() {
        let (formatted, changed) = format_piece(&piece.text, piece.written);
        kept += usize::from(!changed);
        if i > 0 || !out.is_empty() {
            out.push_str(if piece.blank_before && !out.is_empty() { "\n" } else { "" });
        }
        out.push_str(&formatted);
        out.push('\n');
    }
    Ok((columns::align(text, &out), kept))
}

/// An item with its comments, or the comments at the end.
struct ItemText<'a> {
    /// The text that is parsed.
    text: Cow<'a, str>,
    /// The text in the source.
    written: &'a str,
    blank_before: bool,
}

/// Splits the text between items, after the trailing comments of the preceding item.
fn pieces<'a>(text: &'a str, program: &Program) -> Vec<ItemText<'a>> {
    let tokens = Tokens::new(text, lex(FileId::default(), text));
    let shebang = if text.starts_with("#!") { text.find('\n').unwrap_or(text.len()) } else { 0 };
    let mut cuts = vec![shebang];
    for item in program.items.iter().skip(1) {
        cuts.push(tokens.start_of(item.span));
    }
    cuts.push(if program.items.is_empty() { shebang } else { tokens.start_of_end() });
    cuts.push(text.len());
    // Items begin in the leftmost column. If the first item is indented further, lines in its column continue it.
    let all = lex(FileId::default(), text).tokens;
    let leftmost = all.iter().filter(|t| t.line_start && t.tok != Tok::End).map(|t| t.col).min();
    let mut pieces = Vec::new();
    for (lo, hi) in cuts.iter().zip(cuts.iter().skip(1)) {
        let Some(piece) = text.get(*lo..*hi) else { continue };
        let content = piece.trim();
        let content = content.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        if content.trim_matches(';').is_empty() {
            continue;
        }
        let start = lo + (piece.len() - piece.trim_start().len());
        let (parsed, written) = texts_of(text, start, (*lo, *hi), &all, leftmost);
        pieces.push(ItemText { text: parsed, written, blank_before: tokens.blank_before(start as u32) });
    }
    pieces
}

/// The item from `start` between two cuts: the text to parse, and the source text.
fn texts_of<'a>(
    text: &'a str,
    start: usize,
    (lo, hi): (usize, usize),
    all: &[Token],
    leftmost: Option<u32>,
) -> (Cow<'a, str>, &'a str) {
    // The first line keeps its indentation: a uniformly indented cell is cut into such pieces.
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let first = all.iter().find(|t| t.lo as usize >= start && t.tok != Tok::End).filter(|t| t.hi as usize <= hi);
    let leads = first.is_some() && text[line..start].trim().is_empty() && line >= lo;
    let from = if leads { line } else { start };
    let written = text[from..hi].trim_end();
    match first {
        Some(t) if leads && leftmost.is_some_and(|l| l < t.col) => {
            (leading(text, from, t, from + written.len()), written)
        }
        _ => (written.into(), written),
    }
}

/// An item that is indented further than the later ones. Only its first token is moved to the leftmost column, onto a
/// line of its own. Lines in its former column then still continue it, and blocks that begin on its line keep their
/// columns.
fn leading<'a>(text: &'a str, from: usize, first: &Token, end: usize) -> Cow<'a, str> {
    let (lo, hi) = (first.lo as usize, first.hi as usize);
    let line = text[..lo].rfind('\n').map_or(0, |at| at + 1);
    let (indent, token, rest) = (&text[line..lo], &text[lo..hi], &text[hi..end]);
    // The token at the start of the text, or a function before brackets, must stay next to what follows it.
    let alone = matches!(token, "(" | "[" | "{") || rest.starts_with(' ');
    if line < from || !indent.trim().is_empty() || !alone || rest.lines().next().is_none_or(|l| l.trim().is_empty()) {
        return text[from..end].trim_start().into();
    }
    let pad = " ".repeat(token.lines().last().map_or(0, |l| l.chars().count()));
    format!("{}{token}\n{indent}{pad}{rest}", &text[from..line]).into()
}

/// Formats one item or a group of comments; `false` if it is left as written.
fn format_piece(text: &str, written: &str) -> (String, bool) {
    let text = text.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    let first = attempt(text);
    if preserves(text, &first) {
        if attempt(&first) == first {
            return (first, true);
        }
        let second = attempt(&first);
        if preserves(text, &second) && attempt(&second) == second {
            return (second, true);
        }
    }
    (as_written(written.trim_end_matches(|c: char| c == ';' || c.is_whitespace())), false)
}

/// The source text without trailing white space.
fn as_written(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn attempt(text: &str) -> String {
    let (program, _) = parse(FileId::default(), text);
    let mut formatter = Formatter { tokens: Tokens::new(text, lex(FileId::default(), text)) };
    let mut parts = Vec::new();
    for (i, item) in program.items.iter().enumerate() {
        if i > 0 {
            parts.push(formatter.separator(item.span));
        }
        parts.push(formatter.item(item));
        let next = program.items.get(i + 1).map_or(text.len() as u32, |next| next.span.lo);
        parts.push(formatter.tokens.rest_until(next));
    }
    if let Some((blank, comments)) = formatter.tokens.comments_at_end() {
        if !program.items.is_empty() {
            parts.push(if blank { std::rc::Rc::new(doc::Doc::Hard(true)) } else { hard() });
        }
        parts.push(comments);
    }
    doc::layout(&concat(parts), WIDTH)
}

/// Whether `new` has the same meaning and comments as `old`.
fn preserves(old: &str, new: &str) -> bool {
    let file = FileId::default();
    let ((old_tree, faults), (new_tree, errors)) = (parse(file, old), parse(file, new));
    let comments = |text: &str| -> Vec<String> {
        let lexed = lex(file, text);
        let text_of = |c: &crate::token::Comment| text[c.span.lo as usize..c.span.hi as usize].replace('\r', "");
        lexed.comments.iter().map(text_of).collect()
    };
    !errors.iter().chain(&faults).any(Diagnostic::is_error)
        && crate::dump::program(&old_tree) == crate::dump::program(&new_tree)
        && same_docs(&old_tree.items, &new_tree.items)
        && comments(old) == comments(new)
}

fn same_docs(old: &[Item], new: &[Item]) -> bool {
    old.iter().map(|i| &i.doc).eq(new.iter().map(|i| &i.doc))
}
