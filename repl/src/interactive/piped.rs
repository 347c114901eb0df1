//! Entries from a pipe: no prompt, no colours, the same echo on one line each.

use super::Repl;
use adl_syntax::Completeness;
use std::io::BufRead;

/// Runs every entry. The exit code is 1 if one failed, or 130 if one was interrupted.
pub fn run(repl: &mut Repl) -> u8 {
    let mut lines = std::iter::from_fn(line).peekable();
    let (mut text, mut wrong) = (String::new(), None);
    while let Some((line, bad)) = lines.next() {
        wrong = wrong.or(bad);
        text.push_str(&line);
        text.push('\n');
        if goes_on(&text, lines.peek().map(|(line, _)| line.as_str())) {
            continue;
        }
        let entry = std::mem::take(&mut text);
        if let Some(at) = wrong.take() {
            repl.complain(&format!("the entry is not UTF-8: bad byte at column {at} of one of its lines"));
        } else if !repl.entry(&entry) {
            break;
        }
        if repl.interrupted {
            return 130;
        }
    }
    u8::from(repl.failed > 0)
}

/// A line of standard input, and the column of the first byte that is no text. It is locked for each alone, because programs read it too.
fn line() -> Option<(String, Option<usize>)> {
    let mut bytes = Vec::new();
    let n = std::io::stdin().lock().read_until(b'\n', &mut bytes).ok()?;
    let bad = std::str::from_utf8(&bytes).err().map(|e| String::from_utf8_lossy(&bytes[..e.valid_up_to()]).chars().count() + 1);
    (n > 0).then(|| (String::from_utf8_lossy(&bytes).trim_end_matches('\n').trim_end_matches('\r').to_owned(), bad))
}

/// Whether the next line belongs to the entry.
fn goes_on(text: &str, next: Option<&str>) -> bool {
    let Some(next) = next else { return false };
    if text.starts_with(':') || text.trim().is_empty() {
        return false;
    }
    // What comes after a blank line decides.
    if next.trim().is_empty() {
        return true;
    }
    // A comment belongs to what it stands above.
    let only_comments = text.lines().all(|l| l.trim().is_empty() || l.starts_with("--"));
    only_comments || continues(next) || matches!(adl_syntax::is_complete(text), Completeness::Incomplete(_)) && !begins(next)
}

/// Whether a line in column 0 cannot begin an item (language.md: brackets, `|`, `in`, `then`, ..., operators).
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

/// Whether a line in column 0 begins an item whatever came before: what was not complete never will be.
fn begins(line: &str) -> bool {
    let word: String = line.chars().take_while(|c| c.is_alphanumeric()).collect();
    line.starts_with(':') && !line.starts_with("::") || matches!(word.as_str(), "let" | "type" | "import")
}

#[cfg(test)]
mod tests {
    use super::goes_on;

    #[test]
    fn entries_end_where_items_end() {
        for (text, next, want) in [
            ("1 + 1\n", "2", false),
            ("let f x =\n", "  x", true),
            ("let f x =\n  x\n", "f 1", false),
            ("let f x =\n  x\n", "", true),
            ("let f x =\n  x\n\n", "f 1", false),
            ("xs\n", "|> sum", true),
            ("x\n", "- 1", true),
            ("x\n", "-1", false),
            ("--| doc\n", "let f x = x", true),
            ("1 +\n", "let x = 2", false),
            ("(1,\n", "2)", true),
            (":type x\n", "  1", false),
        ] {
            assert_eq!(goes_on(text, Some(next)), want, "{text:?} {next:?}");
        }
    }
}
