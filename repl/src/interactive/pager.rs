//! Pager for texts that are longer than the screen.

use std::io::Write;
use std::process::{Command, Stdio};

/// The height of the terminal, if standard output is one.
fn lines() -> Option<usize> {
    use std::io::IsTerminal;
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(_, h)| usize::from(h.0))
}

/// Shows a text in `$PAGER` or `less`. Returns whether that was possible and necessary: a text that fits the screen
/// needs no pager.
pub fn page(text: &str) -> bool {
    let Some(height) = lines().filter(|h| text.lines().count() >= *h) else { return false };
    let set = std::env::var("PAGER").ok().filter(|p| !p.trim().is_empty());
    height > 0 && run(set.as_deref().unwrap_or("less"), text)
}

fn run(pager: &str, text: &str) -> bool {
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Wide lines are scrolled horizontally instead of wrapped.
        command.env("LESS", "-RS");
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // The user may close the pager before the end.
        let _ = input.write_all(format!("{text}\n").as_bytes());
    }
    child.wait().is_ok()
}
