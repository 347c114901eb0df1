//! What may stand at the cursor: letters, commands, files, names. The REPL and the kernel share it.

use crate::letters;
use adl_session::complete::Completion;
use std::path::Path;

/// A command of the REPL, for completion: its name and what it does.
pub type CommandName = (&'static str, &'static str);

fn named(text: impl Into<String>, ty: impl Into<String>) -> Completion {
    Completion { text: text.into(), ty: ty.into() }
}

/// Where in the text before the cursor a completion begins, and the candidates. `names` knows those of the language.
pub fn candidates(before: &str, commands: &[CommandName], names: impl FnOnce(&str) -> Vec<Completion>) -> (usize, Vec<Completion>) {
    if let Some(at) = before.rfind('\\').filter(|at| before[at + 1..].chars().all(|c| c.is_ascii_alphanumeric() || c == '_')) {
        let found = letters::matching(&before[at + 1..]);
        return (at, found.into_iter().map(|(n, c)| named(c, format!("\\{n}"))).collect());
    }
    let line = before.rfind('\n').map_or(0, |i| i + 1);
    if let Some(found) = of_command(&before[line..], commands) {
        return (line + found.0, found.1);
    }
    if let Some(path) = open_string(&before[line..]) {
        return files(path, before.len());
    }
    let start = before.char_indices().rev().take_while(|(_, c)| in_name(*c)).last().map_or(before.len(), |(i, _)| i);
    let prefix = &before[start..];
    if prefix.is_empty() || prefix.starts_with(|c: char| c.is_ascii_digit()) {
        return (before.len(), Vec::new());
    }
    (start, names(prefix))
}

/// Whether a character may stand in a name or between its parts.
pub fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '\'')
}

/// In a line that begins with `:`, the commands, or what theirs are about.
fn of_command(line: &str, commands: &[CommandName]) -> Option<(usize, Vec<Completion>)> {
    if !line.starts_with(':') {
        return None;
    }
    match line.split_once(' ') {
        None => Some((0, commands.iter().filter(|c| c.0.starts_with(line)).map(|c| named(c.0, c.1)).collect())),
        Some((":load" | ":save" | ":l", rest)) => Some(files(rest.trim_start(), line.len())),
        Some((":set", rest)) => {
            let keys = ["stack", "color", "width", "road", "jit", "check_nan", "threads"].into_iter().filter(|k| k.starts_with(rest));
            Some((line.len() - rest.len(), keys.map(|k| named(k, "")).collect()))
        }
        Some(_) => None,
    }
}

/// The text of a string that is open at the end of a line.
fn open_string(line: &str) -> Option<&str> {
    let (mut open, mut escaped) = (None, false);
    for (i, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if open.is_some() => escaped = true,
            '"' => open = if open.is_some() { None } else { Some(i + 1) },
            _ => {}
        }
    }
    open.map(|i| &line[i..])
}

/// Files whose names begin as a path does; `end` is where the path ends.
fn files(path: &str, end: usize) -> (usize, Vec<Completion>) {
    let (dir, prefix) = path.rfind('/').map_or(("", path), |i| path.split_at(i + 1));
    let Ok(found) = std::fs::read_dir(if dir.is_empty() { Path::new(".") } else { Path::new(dir) }) else { return (end, Vec::new()) };
    let mut names: Vec<String> = found
        .filter_map(Result::ok)
        .map(|e| (e.file_name().to_string_lossy().into_owned(), e.path().is_dir()))
        .filter(|(n, _)| n.starts_with(prefix) && (!n.starts_with('.') || prefix.starts_with('.')))
        .map(|(n, dir)| if dir { n + "/" } else { n })
        .collect();
    names.sort();
    (end - prefix.len(), names.iter().map(|n| named(n, "")).collect())
}

#[cfg(test)]
mod tests {
    use super::{candidates, named, open_string};

    #[test]
    fn where_a_completion_begins() {
        for (text, start, first) in [("\\alpha", 0, "α"), ("let x = so", 8, "so!"), ("π + so", 5, "so!"), (":ty", 0, ":type"), ("1\n:ty", 2, ":type"), ("12", 2, ""), ("", 0, "")] {
            let (at, found) = candidates(text, &[(":type", "")], |p| vec![named(format!("{p}!"), "")]);
            assert_eq!((at, found.first().map_or("", |c| c.text.as_str())), (start, first), "{text}");
        }
    }

    #[test]
    fn open_strings() {
        assert_eq!(open_string("read_csv \"a/b"), Some("a/b"));
        assert_eq!(open_string("f \"a\" b"), None);
        assert_eq!(open_string("f \"a\\\" b"), Some("a\\\" b"));
    }
}
