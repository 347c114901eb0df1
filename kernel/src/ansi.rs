//! ANSI escape sequences in terminal output.

/// Keeps bold and removes colours.
///
/// `JupyterLab` displays errors on light red in the light theme and on dark red in the dark one, with the same sixteen
/// colours. No colour has a contrast of 4.5 on both backgrounds (the best reaches 3.3). Bold text in the theme's own
/// colour has more than 13.
pub fn bold_only(text: &str) -> String {
    rewritten(text, |codes| {
        let kept: Vec<&str> = codes.split(';').filter(|c| matches!(*c, "" | "0" | "1" | "22")).collect();
        if kept.is_empty() { String::new() } else { format!("\u{1b}[{}m", kept.join(";")) }
    })
}

/// Removes every style escape sequence.
pub fn plain(text: &str) -> String {
    rewritten(text, |_| String::new())
}

/// Replaces the codes of each style sequence.
fn rewritten(text: &str, style: impl Fn(&str) -> String) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        match part[end..].strip_prefix('m') {
            Some(rest) => {
                out += &style(&part[..end]);
                out += rest;
            }
            None => {
                out += "\u{1b}[";
                out += part;
            }
        }
    }
    out
}
