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

#[cfg(test)]
mod tests {
    use super::{bold_only, plain};

    #[test]
    fn bold_stays_and_colours_go() {
        let text = "\u{1b}[1m\u{1b}[91merror[E1]\u{1b}[0m\u{1b}[1m: a\u{1b}[0m \u{1b}[33mb\u{1b}[0m \u{1b}[2K";
        assert_eq!(bold_only(text), "\u{1b}[1merror[E1]\u{1b}[0m\u{1b}[1m: a\u{1b}[0m b\u{1b}[0m \u{1b}[2K");
        assert_eq!(plain(text), "error[E1]: a b \u{1b}[2K");
        assert_eq!(bold_only("\u{1b}[1;91mx\u{1b}[m"), "\u{1b}[1mx\u{1b}[m");
        assert_eq!(plain("\u{1b}["), "\u{1b}[");
    }
}
