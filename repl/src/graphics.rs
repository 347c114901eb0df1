//! What this process's terminal can show.

use std::io::IsTerminal;

/// Columns and rows for a picture.
pub fn room() -> (usize, usize) {
    match terminal_size::terminal_size() {
        Some((w, h)) if std::io::stdout().is_terminal() => (usize::from(w.0).clamp(40, 120), usize::from(h.0).saturating_sub(4).clamp(12, 30)),
        _ => (80, 24),
    }
}

/// Whether pictures may be coloured.
pub fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
