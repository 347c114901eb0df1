//! The file of entries. The editor reads it, but would write it in a way that a full disk could leave without its old entries.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

/// Entries that are kept.
pub const MOST: usize = 10_000;

/// The first line of the editor's format, in which a line is an entry with `\\` and `\n` for backslashes and line ends.
const HEAD: &str = "#V2";

/// Where entries are remembered: `$ADL_HISTORY`, or a file in the home directory.
pub fn file() -> Option<PathBuf> {
    match std::env::var_os("ADL_HISTORY") {
        Some(f) => (!f.is_empty()).then(|| PathBuf::from(f)),
        None => std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".adl_history")),
    }
}

/// Adds an entry at the end. Where that fails the file is as it was.
pub fn append(path: &Path, entry: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    // Other sessions append too.
    file.lock()?;
    let before = file.metadata()?.len();
    let head = if before == 0 { format!("{HEAD}\n") } else { String::new() };
    let line = entry.replace('\\', "\\\\").replace('\n', "\\n");
    (&file).write_all(format!("{head}{line}\n").as_bytes()).inspect_err(|_| taken_back(&file, before))
}

fn taken_back(file: &File, len: u64) {
    // Where even that fails, the last line is cut short.
    let _ = file.set_len(len);
}

/// Drops the oldest entries of a file that holds twice as many as are kept, and brings one of an older format into this one.
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::{FileHistory, History, SearchDirection};

    fn entries(path: &Path) -> Vec<String> {
        let mut h = FileHistory::default();
        h.load(path).unwrap();
        (0..h.len()).map(|i| h.get(i, SearchDirection::Forward).unwrap().unwrap().entry.into_owned()).collect()
    }

    #[test]
    fn the_editor_reads_what_is_appended() {
        let path = std::env::temp_dir().join(format!("adl-history-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        shorten(&path).unwrap();
        let all = ["let x = 1", "let f y =\n  \"a\\n\" ++ y", "\\alpha"];
        for (i, e) in all.iter().enumerate() {
            append(&path, e).unwrap();
            assert_eq!(entries(&path), all[..=i]);
        }
        std::fs::write(&path, "old\n\\n").unwrap();
        shorten(&path).unwrap();
        append(&path, "new").unwrap();
        assert_eq!(entries(&path), ["old", "\\n", "new"]);
        let many: String = (0..2 * MOST + 1).map(|i| format!("{i}\n")).collect();
        std::fs::write(&path, format!("{HEAD}\n{many}")).unwrap();
        shorten(&path).unwrap();
        let kept = std::fs::read_to_string(&path).unwrap();
        assert_eq!((kept.lines().count(), kept.lines().last()), (MOST + 1, Some("20000")));
        let _ = std::fs::remove_file(&path);
    }
}
