//! A menu below the edited line for choosing an earlier entry.
//!
//! The terminal is in raw mode while the editor handles a key. The menu restores the cursor position and clears the
//! lines below it.

use adl_session::width;
use std::io::{Read, Write};

/// The number of visible entries.
const ROWS: usize = 8;

/// The action of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum MenuKey {
    /// To the next older entry.
    Older,
    /// To the next newer entry.
    Newer,
    /// Takes the entry.
    Accept,
    /// Leaves the menu without an entry.
    Cancel,
    /// Deletes the last character of the query.
    Erase,
    /// Deletes the query.
    Clear,
    /// Extends the query.
    Text(String),
    /// A key without meaning here.
    Nothing,
}

/// The keys in a chunk of input.
pub fn keys(mut bytes: &[u8]) -> Vec<MenuKey> {
    let mut out = Vec::new();
    while let Some((first, rest)) = bytes.split_first() {
        let (key, used) = match (first, rest) {
            (0x1b, [b'[' | b'O', b'A', ..]) => (MenuKey::Older, 3),
            (0x1b, [b'[' | b'O', b'B', ..]) => (MenuKey::Newer, 3),
            (0x1b, []) | (0x03 | 0x07, _) => (MenuKey::Cancel, 1),
            (0x1b, [b'[' | b'O', more @ ..]) => {
                (MenuKey::Nothing, 3 + more.iter().take_while(|b| !(0x40..=0x7e).contains(*b)).count())
            }
            (0x1b, _) => (MenuKey::Nothing, 2),
            (0x12 | 0x10, _) => (MenuKey::Older, 1),
            (0x13 | 0x0e, _) => (MenuKey::Newer, 1),
            (b'\r' | b'\n' | b'\t', _) => (MenuKey::Accept, 1),
            (0x7f | 0x08, _) => (MenuKey::Erase, 1),
            (0x15 | 0x17, _) => (MenuKey::Clear, 1),
            (0..0x20, _) => (MenuKey::Nothing, 1),
            _ => {
                let n = bytes.iter().take_while(|b| **b >= 0x20 && **b != 0x7f).count();
                (MenuKey::Text(String::from_utf8_lossy(&bytes[..n]).into_owned()), n)
            }
        };
        out.push(key);
        bytes = &bytes[used.min(bytes.len())..];
    }
    out
}

/// The state of the menu: query and selection.
pub struct Menu<'a> {
    entries: &'a [String],
    query: String,
    found: Vec<usize>,
    at: usize,
}

impl<'a> Menu<'a> {
    /// A menu of the entries that fit a query.
    pub fn new(entries: &'a [String], query: &str) -> Menu<'a> {
        let mut m = Menu { entries, query: query.to_owned(), found: Vec::new(), at: 0 };
        m.search();
        m
    }

    /// Selects the entries that contain every word of the query.
    fn search(&mut self) {
        let fits = |e: &String| self.query.split_whitespace().all(|w| e.contains(w));
        self.found = (0..self.entries.len()).filter(|i| fits(&self.entries[*i])).collect();
        self.at = 0;
    }

    /// Handles a key. `Some` ends the menu with the choice, `Some(None)` without one; `None` continues.
    pub fn press(&mut self, key: MenuKey) -> Option<Option<String>> {
        match key {
            MenuKey::Older => self.at = (self.at + 1).min(self.found.len().saturating_sub(1)),
            MenuKey::Newer => self.at = self.at.saturating_sub(1),
            MenuKey::Accept => return Some(self.found.get(self.at).map(|i| self.entries[*i].clone())),
            MenuKey::Cancel => return Some(None),
            MenuKey::Erase => drop(self.query.pop()),
            MenuKey::Clear => self.query.clear(),
            MenuKey::Text(ref t) => self.query.push_str(t),
            MenuKey::Nothing => {}
        }
        if matches!(key, MenuKey::Erase | MenuKey::Clear | MenuKey::Text(_)) {
            self.search();
        }
        None
    }

    /// The lines of the menu, and the index of the selected one.
    pub fn lines(&self, columns: usize) -> (Vec<String>, usize) {
        let first = self.at.saturating_sub(ROWS - 1);
        let shown = self.found.iter().skip(first).take(ROWS);
        let head = format!("search: {}   ({} of {})", self.query, self.found.len(), self.entries.len());
        let flat = |i: &usize| format!("  {}", self.entries[*i].lines().map(str::trim).collect::<Vec<_>>().join(" ⏎ "));
        let lines = std::iter::once(head).chain(shown.map(flat)).map(|l| clip(&l, columns)).collect();
        (lines, self.at - first + 1)
    }
}

fn clip(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if width(&out) + 2 > columns {
            break;
        }
        out.push(c);
    }
    out
}

/// Lets the user choose one of the entries, the latest first. `query` is the initial search.
pub fn choose(entries: &[String], query: &str) -> Option<String> {
    if entries.is_empty() {
        return None;
    }
    let mut menu = Menu::new(entries, query.lines().next().unwrap_or(""));
    let columns = terminal_size::terminal_size().map_or(80, |(w, _)| usize::from(w.0));
    // Scrolls to make room below the line; the column is unchanged.
    write(&format!("{}\x1b[{}A\x1b7", "\x1bD".repeat(ROWS + 1), ROWS + 1));
    let chosen = loop {
        draw(&menu, columns);
        let mut buffer = [0; 64];
        let n = std::fs::File::open("/dev/tty").and_then(|mut tty| tty.read(&mut buffer)).unwrap_or(0);
        if n == 0 {
            break None;
        }
        if let Some(done) = keys(&buffer[..n]).into_iter().find_map(|k| menu.press(k)) {
            break done;
        }
    };
    write("\x1b8\x1b[J");
    chosen
}

fn draw(menu: &Menu, columns: usize) {
    let (lines, at) = menu.lines(columns);
    let mut out = String::from("\x1b8\x1b[J");
    for (i, l) in lines.iter().enumerate() {
        let (on, off) = if i == at { ("\x1b[7m", "\x1b[27m") } else { ("", "") };
        out.push_str(&format!("\r\n{on}{l}{off}"));
    }
    write(&out);
}

fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    // If the terminal is gone, the editor detects that itself.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
