//! Keeps the comments at the ends of adjacent lines aligned if they were aligned in the source.

use super::WIDTH;
use crate::lexer::lex;
use crate::span::FileId;
use crate::token::CommentKind;

/// A comment at the end of a line of code.
struct TrailingComment {
    /// Its index in the list of all comments.
    index: usize,
    line: usize,
    column: usize,
    /// First byte of the comment, and one past the last byte of the code before it.
    at: usize,
    code_end: usize,
}

/// Aligns such comments in `new`, the canonical text of `old`.
pub(super) fn align(old: &str, new: &str) -> String {
    let (before, after) = (trailing(old), trailing(new));
    if before.1 != after.1 {
        return new.to_owned();
    }
    let mut out = String::new();
    let mut from = 0;
    for run in runs(&before.0, &after.0) {
        let column = run.iter().map(|c| c.column).max().unwrap_or(0);
        let fits = run.iter().all(|c| column + new[c.at..].lines().next().map_or(0, |l| l.chars().count()) <= WIDTH);
        for comment in run.iter().filter(|_| fits) {
            out.push_str(&new[from..comment.at]);
            out.extend(std::iter::repeat_n(' ', column - comment.column));
            from = comment.at;
        }
    }
    out + &new[from..]
}

/// Runs of comments in `after` that were aligned on adjacent lines in `before`.
fn runs<'a>(before: &[TrailingComment], after: &'a [TrailingComment]) -> Vec<&'a [TrailingComment]> {
    let source = |c: &TrailingComment| before.binary_search_by_key(&c.index, |b| b.index).ok().map(|i| &before[i]);
    let together = |a: &TrailingComment, b: &TrailingComment| match (source(a), source(b)) {
        (Some(x), Some(y)) => b.line == a.line + 1 && y.line == x.line + 1 && x.column == y.column && x.code_end < x.at,
        _ => false,
    };
    after.chunk_by(together).filter(|run| run.len() > 1).collect()
}

/// All trailing comments, and the total number of comments.
fn trailing(text: &str) -> (Vec<TrailingComment>, usize) {
    let comments = lex(FileId::default(), text).comments;
    let count = comments.len();
    let (mut all, mut line, mut seen) = (Vec::new(), 0, 0);
    for (index, comment) in comments.iter().enumerate() {
        let at = comment.span.lo as usize;
        line += text[seen..at].matches('\n').count();
        seen = at;
        if comment.kind != CommentKind::Block && !comment.own_line {
            let code_end = text[..at].trim_end().len();
            all.push(TrailingComment { index, line, column: comment.col as usize, at, code_end });
        }
    }
    (all, count)
}
