//! Reads entries from a pipe: no prompt, no colours, and every echo on one line.
//!
//! An entry ends where the next line begins another one. If no next line has arrived yet, a complete entry runs
//! immediately, as on a terminal. An indented block, and the last case of a `match`, wait for an empty line.

use super::Repl;
use crate::input;
use adl_syntax::Completeness;
use std::io::IsTerminal;
use std::time::Duration;

/// The time that a complete entry waits for a continuation line: a writer may send one text in several pieces.
const PATIENCE: Duration = Duration::from_millis(20);

/// The text after an entry.
#[derive(Clone, Copy)]
pub enum NextInput<'a> {
    /// A line.
    Line(&'a str),
    /// Nothing has arrived yet.
    Later,
    /// The end of input.
    End,
}

/// Runs all entries. The exit code is 1 if one failed, or 130 if an entry, or waiting for one, was interrupted.
pub fn run(repl: &mut Repl) -> u8 {
    let (mut text, mut wrong) = (String::new(), None);
    // Without the editor, a terminal user still needs prompts.
    let prompts = std::io::stdin().is_terminal();
    loop {
        if prompts {
            prompt(repl, text.trim().is_empty());
        }
        // `:reset` creates a new session with a new flag.
        let asked = repl.session.borrow().interrupt();
        let stop = || asked.load(std::sync::atomic::Ordering::Relaxed);
        let line = match input::line(&stop) {
            Ok(line) if line.is_empty() => return u8::from(repl.failed > 0),
            Ok(line) => line,
            Err(e) => return ended(repl, &e),
        };
        wrong = wrong.or_else(|| bad_byte(&line));
        text.push_str(&plain(&line));
        text.push('\n');
        // The next line stays unread, so that the entry can read it if it ends here.
        let next = match input::peek(PATIENCE, &stop) {
            Ok(next) => next.map(|n| (n.is_empty(), plain(&n))),
            Err(e) => return ended(repl, &e),
        };
        let next = next
            .as_ref()
            .map_or(NextInput::Later, |(end, next)| if *end { NextInput::End } else { NextInput::Line(next) });
        if belongs_to_entry(&text, next) {
            continue;
        }
        let entry = std::mem::take(&mut text);
        if let Some(at) = wrong.take() {
            repl.complain(&format!("the entry is not UTF-8: bad byte at column {at} of one of its lines"));
        } else if !repl.entry(&entry) {
            return u8::from(repl.failed > 0);
        }
        if repl.interrupted {
            return 130;
        }
    }
}

/// Prints a prompt on a terminal without the editor.
fn prompt(repl: &mut Repl, first: bool) {
    let mut session = repl.session.borrow_mut();
    session.host().print(if first { "adl> " } else { "...> " });
    session.host().flush();
}

/// The exit code after a failure to read.
fn ended(repl: &mut Repl, e: &std::io::Error) -> u8 {
    if e.kind() == std::io::ErrorKind::Interrupted {
        return 130;
    }
    repl.complain(&format!("standard input: {}", crate::commands::io_text(e)));
    1
}

/// The column of the first byte that is not valid UTF-8.
fn bad_byte(line: &[u8]) -> Option<usize> {
    let e = std::str::from_utf8(line).err()?;
    Some(String::from_utf8_lossy(&line[..e.valid_up_to()]).chars().count() + 1)
}

/// A line without its line end.
fn plain(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches('\n').trim_end_matches('\r').to_owned()
}

/// Whether the next text belongs to the entry.
pub fn belongs_to_entry(text: &str, next: NextInput) -> bool {
    if text.starts_with(':') || text.trim().is_empty() || adl_kernel::foreign::entry(text, &[]).is_some() {
        return false;
    }
    let next = match next {
        NextInput::Line(next) => next,
        NextInput::Later => {
            return matches!(
                adl_syntax::is_complete(text.strip_suffix('\n').unwrap_or(text)),
                Completeness::Incomplete(_)
            );
        }
        NextInput::End => return false,
    };
    // The text after a blank line decides.
    if next.trim().is_empty() {
        return true;
    }
    // A comment belongs to the item below it.
    let only_comments = text.lines().all(|l| l.trim().is_empty() || l.starts_with("--"));
    only_comments
        || continues(next)
        || matches!(adl_syntax::is_complete(text), Completeness::Incomplete(_)) && !begins(next)
}

/// Whether a line in column 0 cannot begin an item, because it begins with a closing bracket, `|`, `in`, `then`, ...,
/// or an operator.
fn continues(line: &str) -> bool {
    let word: String = line.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '\'').collect();
    match line.chars().next() {
        Some(' ' | '\t') => true,
        Some(')' | ']' | '}' | '|' | '+' | '*' | '/' | '%' | '^' | '@' | '<' | '>' | '=' | '&' | '!') => true,
        Some('-') => line.starts_with("- ") || line == "-",
        Some(':') => line.starts_with("::"),
        _ => matches!(word.as_str(), "in" | "then" | "else" | "with" | "and"),
    }
}

/// Whether a line in column 0 always begins an item. An incomplete entry before it can then never be completed.
fn begins(line: &str) -> bool {
    let word: String = line.chars().take_while(|c| c.is_alphanumeric()).collect();
    line.starts_with(':') && !line.starts_with("::") || matches!(word.as_str(), "let" | "type" | "import")
}
