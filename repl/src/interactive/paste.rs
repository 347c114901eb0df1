//! Text copied from a session or a document: prompts and outputs in it are not part of the program.

/// The prompt of entries.
const PROMPT: &str = "adl>";
const MORE: &str = "...>";

/// The entries of a copied session, or `None` if there is no prompt.
pub fn entries(text: &str) -> Option<Vec<String>> {
    let after = |line: &str, prompt: &str| {
        line.trim_start().strip_prefix(prompt).map(|l| l.strip_prefix(' ').unwrap_or(l).to_owned())
    };
    if !text.lines().any(|l| after(l, PROMPT).is_some()) {
        return None;
    }
    let mut out: Vec<String> = Vec::new();
    // Text before the first prompt was typed. After an entry, lines without a prompt are output.
    let mut typed = true;
    for line in text.lines() {
        if let Some(entry) = after(line, PROMPT) {
            out.push(entry);
            typed = false;
        } else if let (Some(more), Some(last)) = (after(line, MORE), out.last_mut()) {
            *last += &format!("\n{more}");
        } else if typed && !line.trim().is_empty() {
            match out.last_mut() {
                Some(last) => *last += &format!("\n{line}"),
                None => out.push(line.to_owned()),
            }
        }
    }
    out.retain(|e| !e.trim().is_empty());
    Some(out)
}
