//! `adl fmt`.

use super::{each, report_in, shown, unreadable, write};
use crate::Global;
use crate::host::say;
use adl_syntax::span::{SourceMap, Span};
use std::fmt::Write;

/// The action for files that are not in canonical layout.
#[derive(Clone, Copy, PartialEq)]
pub enum FmtAction {
    /// Rewrite them.
    Write,
    /// List their names.
    Check,
    /// Show the changes as a diff.
    Diff,
}

impl FmtAction {
    pub fn of(check: bool, diff: bool) -> FmtAction {
        match (check, diff) {
            (true, _) => FmtAction::Check,
            (_, true) => FmtAction::Diff,
            _ => FmtAction::Write,
        }
    }
}

/// `adl fmt [--check|--diff] FILES…`. Without files, it formats the current directory. Standard input is formatted to
/// standard output.
pub fn fmt(global: &Global, want: FmtAction, files: &[String]) -> u8 {
    let here = [".".to_owned()];
    let files = if files.is_empty() && !global.stdin { &here[..] } else { files };
    each(global, "fmt", files, |f, bytes| {
        let mut sources = SourceMap::default();
        let file = sources.add(shown(f), String::from_utf8_lossy(bytes));
        let text = adl_syntax::parser::decode(file, bytes).map_err(|d| vec![*d]);
        match text.and_then(|t| adl_syntax::format::format(t).map(|new| (t, new))) {
            Ok((_, new)) if f == "-" && want == FmtAction::Write => {
                say(&new);
                0
            }
            Ok((old, new)) if new == old => 0,
            Ok((old, new)) => changed(global, want, f, old, &new),
            Err(mut diags) => {
                diags.iter_mut().for_each(|d| d.primary.span = Span { file, ..d.primary.span });
                report_in(global, &sources, &diags);
                1
            }
        }
    })
}

fn changed(global: &Global, want: FmtAction, file: &str, old: &str, new: &str) -> u8 {
    match want {
        FmtAction::Check => say(&format!("{}\n", shown(file))),
        FmtAction::Diff => say(&diff(shown(file), old, new)),
        FmtAction::Write => return write(file, new).map_or_else(|e| unreadable(global, file, &e, None), |()| 0),
    }
    1
}

/// The number of context lines around a change.
const CONTEXT: usize = 3;

/// A line of the comparison: common to both texts, only in the old one, or only in the new one.
#[derive(Clone, Copy, PartialEq)]
enum DiffLine {
    Both,
    Old,
    New,
}

/// The differences of two texts in unified diff format.
pub fn diff(name: &str, old: &str, new: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let steps = compared(&a, &b);
    let near = |k: usize| {
        steps[k.saturating_sub(CONTEXT)..(k + CONTEXT + 1).min(steps.len())].iter().any(|s| s.0 != DiffLine::Both)
    };
    let mut out = format!("--- {name}\n+++ {name} (formatted)\n");
    let (mut old_index, mut new_index, mut index) = (0, 0, 0);
    while index < steps.len() {
        if !near(index) {
            (old_index, new_index, index) = (old_index + 1, new_index + 1, index + 1);
            continue;
        }
        let end = (index..steps.len()).find(|k| !near(*k)).unwrap_or(steps.len());
        let count = |side: DiffLine| steps[index..end].iter().filter(|s| s.0 != side).count();
        let (from, to) = (count(DiffLine::New), count(DiffLine::Old));
        let _ = writeln!(
            out,
            "@@ -{},{from} +{},{to} @@",
            old_index + usize::from(from > 0),
            new_index + usize::from(to > 0)
        );
        for (side, line) in &steps[index..end] {
            let mark = match side {
                DiffLine::Both => ' ',
                DiffLine::Old => '-',
                DiffLine::New => '+',
            };
            let _ = writeln!(out, "{mark}{line}");
        }
        (old_index, new_index, index) = (old_index + from, new_index + to, end);
    }
    out
}

/// The maximal size of the table of common subsequences; a larger changed part counts as completely replaced.
const CELLS: usize = 1 << 24;

/// The lines of both texts in order, with a longest common subsequence.
fn compared<'t>(a: &[&'t str], b: &[&'t str]) -> Vec<(DiffLine, &'t str)> {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(x, y)| x == y).count();
    let (old, new) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    let both = |part: &[&'t str]| part.iter().map(|l| (DiffLine::Both, *l)).collect::<Vec<_>>();
    let mut out = both(&a[..head]);
    out.extend(middle(old, new));
    out.extend(both(&a[a.len() - tail..]));
    out
}

fn middle<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(DiffLine, &'t str)> {
    let mut out = Vec::new();
    let (old_len, new_len) = (old.len(), new.len());
    let (mut old_index, mut new_index) = (0, 0);
    if old_len.saturating_mul(new_len) <= CELLS {
        // The length of the longest common subsequence of the suffixes from each pair of positions.
        let mut common = vec![vec![0u32; new_len + 1]; old_len + 1];
        for i in (0..old_len).rev() {
            for j in (0..new_len).rev() {
                common[i][j] =
                    if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
            }
        }
        while old_index < old_len && new_index < new_len {
            if old[old_index] == new[new_index] {
                out.push((DiffLine::Both, old[old_index]));
                (old_index, new_index) = (old_index + 1, new_index + 1);
            } else if common[old_index + 1][new_index] >= common[old_index][new_index + 1] {
                out.push((DiffLine::Old, old[old_index]));
                old_index += 1;
            } else {
                out.push((DiffLine::New, new[new_index]));
                new_index += 1;
            }
        }
    }
    out.extend(old[old_index..].iter().map(|l| (DiffLine::Old, *l)));
    out.extend(new[new_index..].iter().map(|l| (DiffLine::New, *l)));
    out
}
