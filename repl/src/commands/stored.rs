//! Saved timings of `adl bench`, with which later runs are compared.

use adl_session::benches::Timing;
use std::collections::HashMap;
use std::path::PathBuf;

/// The names under which to save and to load timings, from the command line.
#[derive(Default)]
pub struct Stored {
    pub save: Option<String>,
    pub against: Option<String>,
}

/// The file of a saved run.
fn file(name: &str) -> PathBuf {
    PathBuf::from(".adl-bench").join(format!("{name}.json"))
}

/// The median and quartiles of each item, by file and name.
pub type Times = HashMap<(String, String), (f64, f64, f64)>;

/// Loads a saved run.
///
/// # Errors
/// A description of why it cannot be read.
pub fn load(name: &str) -> Result<Times, String> {
    let path = file(name);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {}", path.display(), super::io_text(&e)))?;
    let item = |line: &str| {
        let v: serde_json::Value = serde_json::from_str(line).ok()?;
        let key = (v["file"].as_str()?.to_owned(), v["name"].as_str()?.to_owned());
        Some((key, (v["median"].as_f64()?, v["quartile1"].as_f64()?, v["quartile3"].as_f64()?)))
    };
    text.lines()
        .map(item)
        .collect::<Option<Times>>()
        .ok_or_else(|| format!("{}: this is not a run of `adl bench`", path.display()))
}

/// Saves a run as one object per line, as `--json` prints them.
///
/// # Errors
/// A description of why it cannot be written.
pub fn save(name: &str, lines: &str) -> Result<(), String> {
    let path = file(name);
    let said = |e: &str| format!("{}: {e}", path.display());
    if name.is_empty() || name.contains(['/', '\\']) {
        return Err(format!("`{name}` is not a name for a run"));
    }
    std::fs::create_dir_all(".adl-bench").map_err(|e| said(&super::io_text(&e)))?;
    super::write(&path, lines).map_err(|e| said(&e))
}

/// Compares a timing with a saved one: the change of the median, and whether the interquartile ranges are disjoint.
pub fn compared(now: &Timing, then: (f64, f64, f64)) -> String {
    let (median, low, high) = then;
    let change = (now.median / median - 1.0) * 100.0;
    let verdict = if now.quartiles.0 > high {
        "slower"
    } else if now.quartiles.1 < low {
        "faster"
    } else {
        "no clear change"
    };
    format!("{change:+.1} %  {verdict}")
}
