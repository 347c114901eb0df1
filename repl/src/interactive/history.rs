//! The history file. The editor reads it, but adl writes it: the editor's own writing could lose old entries on a full
//! disk.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

/// The maximal number of entries.
pub const MOST: usize = 10_000;

/// The header of the editor's format. Each further line is an entry, in which backslashes and newlines are written `\\`
/// and `
/// `.
pub const HEAD: &str = "#V2";

/// The path of the history file: `$ADL_HISTORY`, or a file in the home directory.
pub fn file() -> Option<PathBuf> {
    match std::env::var_os("ADL_HISTORY") {
        Some(f) => (!f.is_empty()).then(|| PathBuf::from(f)),
        None => std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".adl_history")),
    }
}

/// Appends an entry. If that fails, the file is unchanged.
pub fn append(path: &Path, entry: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    // Other sessions append to the same file.
    file.lock()?;
    let before = file.metadata()?.len();
    let head = if before == 0 { format!("{HEAD}\n") } else { String::new() };
    let line = entry.replace('\\', "\\\\").replace('\n', "\\n");
    (&file).write_all(format!("{head}{line}\n").as_bytes()).inspect_err(|_| taken_back(&file, before))
}

fn taken_back(file: &File, len: u64) {
    // If even truncating fails, the last line stays incomplete.
    let _ = file.set_len(len);
}

/// Removes the oldest entries if there are more than twice the maximum, and converts an older format.
pub fn shorten(path: &Path) -> Result<()> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    let current = text.lines().next() == Some(HEAD) || text.is_empty();
    let entries: Vec<String> = match current {
        true => text.lines().skip(1).map(str::to_owned).collect(),
        false => text.lines().map(|l| l.replace('\\', "\\\\")).collect(),
    };
    if current && entries.len() <= 2 * MOST {
        return Ok(());
    }
    let kept = entries[entries.len().saturating_sub(MOST)..].join("\n");
    adl_files::write(path, format!("{HEAD}\n{kept}\n"))
}
