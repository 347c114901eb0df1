//! The cells that ran, for `history_request`: of this session, and of those before it, which a file keeps.

use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The number of cells to keep.
const MOST: usize = 10_000;

/// The length of a stored output, in characters.
const STORED: usize = 2_000;

/// The source and the output of a cell.
#[derive(Clone, Debug)]
struct HistoryEntry {
    session: u64,
    line: u64,
    input: String,
    output: Option<String>,
}

impl HistoryEntry {
    /// As a line of the file.
    fn stored(&self) -> String {
        let output = self.output.as_ref().map(|o| o.chars().take(STORED).collect::<String>());
        json!([self.session, self.line, self.input, output]).to_string()
    }

    /// A line of the file. Lines that were not written completely are left out.
    fn read(line: &str) -> Option<HistoryEntry> {
        let (session, line, input, output): (u64, u64, String, Option<String>) = serde_json::from_str(line).ok()?;
        Some(HistoryEntry { session, line, input, output })
    }
}

/// The cells of all sessions.
#[derive(Clone, Debug)]
pub struct History {
    entries: Vec<HistoryEntry>,
    /// The number of the current session.
    session: u64,
    file: Option<PathBuf>,
}

impl Default for History {
    fn default() -> History {
        History { entries: Vec::new(), session: 1, file: None }
    }
}

/// The file that keeps the cells: below Jupyter's data. An empty `$ADL_HISTORY` keeps none, as in the REPL.
pub fn file() -> Option<PathBuf> {
    if std::env::var_os("ADL_HISTORY").is_some_and(|f| f.is_empty()) {
        return None;
    }
    let data = std::env::var_os("JUPYTER_DATA_DIR").filter(|d| !d.is_empty()).map(PathBuf::from);
    let data = data.or_else(|| jupyter_zmq_client::dirs::user_data_dir().ok())?;
    Some(data.join("adl/history.jsonl"))
}

impl History {
    /// The history that a file keeps. Without a file it begins empty.
    pub fn kept_in(file: Option<PathBuf>) -> History {
        let Some(file) = file else { return History::default() };
        let text = std::fs::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let all = text.lines().count();
        let entries: Vec<HistoryEntry> =
            text.lines().skip(all.saturating_sub(MOST)).filter_map(HistoryEntry::read).collect();
        if all > 2 * MOST {
            let kept: String = entries.iter().map(|e| e.stored() + "\n").collect();
            // If it cannot be shortened now, it is the next time.
            let _ = adl_files::write(&file, kept);
        }
        let session = 1 + entries.iter().map(|e| e.session).max().unwrap_or(0);
        History { entries, session, file: Some(file) }
    }

    /// Adds a cell.
    pub fn add(&mut self, line: u64, input: &str, output: Option<String>) {
        if self.entries.len() >= MOST {
            self.entries.remove(0);
        }
        let entry = HistoryEntry { session: self.session, line, input: input.to_owned(), output };
        if let Some(file) = &self.file {
            // A history that cannot be written is kept for this session only.
            let _ = append(file, &entry.stored());
        }
        self.entries.push(entry);
    }

    /// The content of a `history_reply`.
    pub fn reply(&self, request: &Json) -> Json {
        let n = request["n"].as_u64().and_then(|n| usize::try_from(n).ok());
        let with_output = request["output"].as_bool().unwrap_or(false);
        let found: Vec<&HistoryEntry> = match request["hist_access_type"].as_str().unwrap_or("tail") {
            "range" => self.range(request),
            "search" => {
                let pattern: Vec<char> = request["pattern"].as_str().unwrap_or("*").chars().collect();
                let fits = self.entries.iter().filter(|e| glob(&pattern, &e.input.chars().collect::<Vec<_>>()));
                last(if request["unique"].as_bool().unwrap_or(false) { unique(fits) } else { fits.collect() }, n)
            }
            _ => last(self.entries.iter().collect(), n.or(Some(1000))),
        };
        let line = |e: &HistoryEntry| match with_output {
            true => json!([e.session, e.line, [e.input, e.output]]),
            false => json!([e.session, e.line, e.input]),
        };
        json!({"status": "ok", "history": found.into_iter().map(line).collect::<Vec<_>>()})
    }

    /// Lines of a session from `start` up to but excluding `stop`. Session 0 is the current one, -1 the one before.
    fn range(&self, request: &Json) -> Vec<&HistoryEntry> {
        let asked = request["session"].as_i64().unwrap_or(0);
        let session = if asked > 0 { asked.unsigned_abs() } else { self.session.saturating_sub(asked.unsigned_abs()) };
        let (start, stop) = (request["start"].as_u64().unwrap_or(0), request["stop"].as_u64().unwrap_or(u64::MAX));
        self.entries.iter().filter(|e| e.session == session && (start..stop).contains(&e.line)).collect()
    }
}

fn append(file: &Path, line: &str) -> std::io::Result<()> {
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // One write a line: other kernels append to the same file.
    options.open(file)?.write_all(format!("{line}\n").as_bytes())
}

fn last(mut found: Vec<&HistoryEntry>, n: Option<usize>) -> Vec<&HistoryEntry> {
    let from = found.len().saturating_sub(n.unwrap_or(usize::MAX));
    found.split_off(from)
}

/// Only the last entry of each text.
fn unique<'e>(found: impl DoubleEndedIterator<Item = &'e HistoryEntry>) -> Vec<&'e HistoryEntry> {
    let mut out: Vec<&HistoryEntry> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    out.extend(found.rev().filter(|e| seen.insert(e.input.as_str())));
    out.reverse();
    out
}

/// Whether a text matches a pattern in which `*` stands for any text and `?` for one character.
pub fn glob(pattern: &[char], text: &[char]) -> bool {
    // The position of the last star, and of the text after its match.
    let (mut in_pattern, mut in_text, mut star) = (0, 0, None);
    while in_text < text.len() {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((in_pattern, in_text));
                in_pattern += 1;
            }
            Some(c) if *c == '?' || *c == text[in_text] => (in_pattern, in_text) = (in_pattern + 1, in_text + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (in_pattern, in_text) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[in_pattern..].iter().all(|c| *c == '*')
}
