//! Completion at the cursor, shared by the REPL and the kernel: letters, commands, files, names.

use crate::latex_symbols;
use adl_session::complete::Completion;
use adl_session::completion_ranking::OF_ENTRY;
pub use adl_session::completion_ranking::in_name;
use adl_syntax::highlight::Class;
use std::path::Path;

/// A command of the REPL, for completion: its name and what it does.
pub type CommandName = (&'static str, &'static str);

fn named(text: impl Into<String>, ty: impl Into<String>) -> Completion {
    Completion { text: text.into(), ty: ty.into(), doc: String::new(), own: false }
}

/// The start of the completed text before the cursor, and the candidates. `names` returns those of the language.
pub fn candidates(
    before: &str,
    commands: &[CommandName],
    names: impl FnOnce(&str) -> Vec<Completion>,
) -> (usize, Vec<Completion>) {
    if let Some(at) = before
        .rfind('\\')
        .filter(|at| before[at + 1..].chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '^' | '+' | '-')))
    {
        let found = latex_symbols::matching(&before[at + 1..]);
        return (at, found.into_iter().map(|(n, c)| named(c, format!("\\{n}"))).collect());
    }
    let line = before.rfind('\n').map_or(0, |i| i + 1);
    if let Some(found) = of_command(&before[line..], commands) {
        return (line + found.0, found.1);
    }
    if let Some(path) = unclosed_string(&before[line..]) {
        return files(path, before.len());
    }
    let start = before.char_indices().rev().take_while(|(_, c)| in_name(*c)).last().map_or(before.len(), |(i, _)| i);
    let prefix = &before[start..];
    if prefix.is_empty() {
        return (before.len(), unprompted(before, &before[line..], commands, names));
    }
    if prefix.starts_with(|c: char| c.is_ascii_digit()) {
        return (before.len(), Vec::new());
    }
    (start, in_place(before, start, prefix, names))
}

/// Words that begin an entry.
const ITEMS: [&str; 9] = ["let", "type", "import", "if", "match", "for", "loop", "fun", "test"];
/// Words after which a new name is written.
const BINDERS: [&str; 9] = ["let", "rec", "and", "fun", "lin", "type", "alias", "loop", "for"];

/// What may be written where no word has begun: names of the user, and at the beginning of an entry the words that begin one, and commands.
fn unprompted(
    before: &str,
    line: &str,
    commands: &[CommandName],
    names: impl FnOnce(&str) -> Vec<Completion>,
) -> Vec<Completion> {
    let first = before.trim().is_empty();
    let last = adl_syntax::tokens(before).pop();
    let binds = last.as_ref().is_some_and(|(range, _)| BINDERS.contains(&&before[range.clone()]));
    // In a comment there is nothing to say, and at the beginning of a further line Tab is for the indentation.
    if binds || !first && line.trim().is_empty() || last.is_some_and(|(_, class)| class == Class::Comment) {
        return Vec::new();
    }
    let mut all = in_place(before, before.len(), "", names);
    all.retain(|c| {
        c.own || !c.text.contains('.') && updated(before.trim_end()).is_some() || annotates(before.trim_end())
    });
    if first {
        all.extend(ITEMS.iter().map(|word| named(*word, "keyword")));
        all.extend(commands.iter().map(|c| named(c.0, c.1)));
    }
    all
}

/// Types that have no declaration.
const TYPES: [&str; 5] = ["Bool", "F32", "Float", "Int", "String"];

/// The candidates at the start of a name: types after a colon, fields in an update, and otherwise all names, those of
/// the entry first.
fn in_place(before: &str, start: usize, prefix: &str, names: impl FnOnce(&str) -> Vec<Completion>) -> Vec<Completion> {
    let head = before[..start].trim_end();
    if let Some(record) = updated(head).filter(|_| !prefix.contains('.')) {
        let path = format!("{record}.");
        let found = names(&format!("{path}{prefix}"));
        return found.into_iter().map(|c| Completion { text: c.text[path.len()..].to_owned(), ..c }).collect();
    }
    if annotates(head) && (prefix.is_empty() || prefix.starts_with(char::is_uppercase)) {
        let built_in = TYPES.iter().filter(|t| t.starts_with(prefix)).map(|t| named(*t, "type"));
        let mut all: Vec<Completion> =
            built_in.chain(names(prefix).into_iter().filter(|c| c.ty == "type" || c.ty == "module")).collect();
        all.sort_by(|a, b| a.text.cmp(&b.text));
        all.dedup_by(|a, b| a.text == b.text);
        return all;
    }
    let mut all = names(prefix);
    all.dedup_by(|a, b| a.text == b.text);
    let new = names_in_entry(&before[..start], prefix).into_iter().filter(|n| !all.iter().any(|c| c.text == *n));
    let own: Vec<Completion> = new.map(|n| Completion { own: true, ..named(n, OF_ENTRY) }).collect();
    all.splice(0..0, own);
    all
}

/// Whether a type comes next.
fn annotates(head: &str) -> bool {
    head.ends_with(':') && !head.ends_with("::") || (head.ends_with("->") || head.ends_with(']')) && in_annotation(head)
}

/// Whether a type is being written: a colon is the last of what binds stronger than an arrow.
fn in_annotation(head: &str) -> bool {
    let colon = head.rfind(" : ").or_else(|| head.rfind(": "));
    colon.is_some_and(|at| {
        !head[at..].contains(['=', '('])
            || head[at..].matches('(').count() == head[at..].matches(')').count() && !head[at..].contains('=')
    })
}

/// The record in an unclosed `{r with x = 1, `.
fn updated(head: &str) -> Option<&str> {
    let mut depth = 0;
    let open = head.char_indices().rev().find(|(_, c)| {
        depth += i32::from(matches!(c, '}' | ')' | ']')) - i32::from(matches!(c, '{' | '(' | '['));
        depth < 0
    });
    let inside = &head[open.filter(|(_, c)| *c == '{')?.0 + 1..];
    let (record, rest) = inside.split_once(" with").filter(|(r, _)| r.trim().chars().all(in_name))?;
    (rest.is_empty() || rest.ends_with(',')).then_some(record.trim())
}

/// Names in the entry that begin with a prefix, the nearest first. Names that it defines are not in scope yet.
fn names_in_entry(before: &str, prefix: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (range, class) in adl_syntax::tokens(before).into_iter().rev() {
        let name = &before[range.clone()];
        let free = !before[..range.start].ends_with('.');
        if class == Class::Name && free && name.len() > 1 && name.starts_with(prefix) && !out.iter().any(|n| n == name)
        {
            out.push(name.to_owned());
        }
    }
    out
}

/// In a line that begins with `:`: commands, or arguments of a command.
fn of_command(line: &str, commands: &[CommandName]) -> Option<(usize, Vec<Completion>)> {
    if !line.starts_with(':') {
        return None;
    }
    match line.split_once(' ') {
        None => Some((0, commands.iter().filter(|c| c.0.starts_with(line)).map(|c| named(c.0, c.1)).collect())),
        Some((":load" | ":save" | ":l", rest)) => Some(files(rest.trim_start(), line.len())),
        Some((":set", rest)) => {
            let keys = ["stack", "color", "width", "digits", "keys", "live", "ad", "jit", "check_nan", "threads"]
                .into_iter()
                .filter(|k| k.starts_with(rest));
            Some((line.len() - rest.len(), keys.map(|k| named(k, "")).collect()))
        }
        Some(_) => None,
    }
}

/// The name that help is asked for: `?f`, `f?` and `??f`.
pub fn asked(text: &str) -> Option<&str> {
    let text = text.trim();
    let name = text.trim_start_matches('?').trim_end_matches('?').trim();
    let one = !name.contains(char::is_whitespace) && !name.is_empty();
    (one && name.len() < text.len()).then_some(name)
}

/// The text of a string that is unclosed at the end of a line.
pub fn unclosed_string(line: &str) -> Option<&str> {
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

/// Files that match the beginning of a path; `end` is the end of the path.
fn files(path: &str, end: usize) -> (usize, Vec<Completion>) {
    let (dir, prefix) = path.rfind('/').map_or(("", path), |i| path.split_at(i + 1));
    let Ok(found) = std::fs::read_dir(if dir.is_empty() { Path::new(".") } else { Path::new(dir) }) else {
        return (end, Vec::new());
    };
    let mut names: Vec<String> = found
        .filter_map(Result::ok)
        .map(|e| (e.file_name().to_string_lossy().into_owned(), e.path().is_dir()))
        .filter(|(n, _)| n.starts_with(prefix) && (!n.starts_with('.') || prefix.starts_with('.')))
        .map(|(n, dir)| if dir { n + "/" } else { n })
        .collect();
    names.sort_unstable();
    (end - prefix.len(), names.iter().map(|n| named(n, "")).collect())
}
