//! Graphics capabilities of this process's terminal.

use std::io::IsTerminal;

use adl_plotting::terminal::Protocol;
use adl_plotting::{Figure, Theme};

/// The picture protocol of the terminal, if it has one: from `ADL_GRAPHICS` (`kitty`, `iterm`, `sixel`, `text`), or
/// from the terminal's own variables.
fn protocol() -> Option<Protocol> {
    let var = |n: &str| std::env::var(n).unwrap_or_default();
    match var("ADL_GRAPHICS").as_str() {
        "kitty" => return Some(Protocol::Kitty),
        "iterm" => return Some(Protocol::Iterm),
        "sixel" => return Some(Protocol::Sixel),
        "" => {}
        _ => return None,
    }
    // Terminal multiplexers do not forward pictures.
    if !std::io::stdout().is_terminal() || !var("TMUX").is_empty() {
        return None;
    }
    match (var("TERM").as_str(), var("TERM_PROGRAM").as_str()) {
        ("xterm-kitty" | "xterm-ghostty", _) | (_, "ghostty") => Some(Protocol::Kitty),
        (_, "iTerm.app" | "WezTerm") => Some(Protocol::Iterm),
        (t, _) if t.starts_with("foot") || t.starts_with("mlterm") || t.contains("sixel") => Some(Protocol::Sixel),
        _ => None,
    }
}

/// The terminal's background: dark unless the environment says otherwise.
fn theme() -> Theme {
    let colours = std::env::var("COLORFGBG").unwrap_or_default();
    if matches!(colours.rsplit(';').next(), Some("7" | "15")) { Theme::Light } else { Theme::Dark }
}

/// A picture for the screen: in a graphics protocol if the terminal has one, otherwise made of characters.
pub fn picture(figure: &Figure, colour: bool) -> String {
    match protocol() {
        Some(p) => figure.terminal(p, theme()),
        None => characters(figure, colour),
    }
}

/// A picture made of characters.
pub fn characters(figure: &Figure, colour: bool) -> String {
    let (columns, rows) = room();
    figure.text(columns, rows, colour)
}

/// The space for a picture in columns and rows.
fn room() -> (usize, usize) {
    match terminal_size::terminal_size() {
        Some((w, h)) if std::io::stdout().is_terminal() => {
            (usize::from(w.0).clamp(40, 120), usize::from(h.0).saturating_sub(4).clamp(12, 30))
        }
        _ => (80, 24),
    }
}

/// Whether pictures may have colours.
pub fn colour() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
