//! Times of `adl bench` that are kept, for later runs to be compared with.

use adl_session::benches::Timing;
use std::collections::HashMap;
use std::path::PathBuf;

/// Where times go and come from, by the command line.
#[derive(Default)]
pub struct Stored {
    pub save: Option<String>,
    pub against: Option<String>,
}

/// Where a run is kept.
fn file(name: &str) -> PathBuf {
    PathBuf::from(".adl-bench").join(format!("{name}.json"))
}

/// Median and middle half of an item, by its file and name.
pub type Times = HashMap<(String, String), (f64, f64, f64)>;

/// A run that was kept.
///
/// # Errors
/// Why it cannot be read, in words.
pub fn load(name: &str) -> Result<Times, String> {
    let path = file(name);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {}", path.display(), super::io_text(&e)))?;
    let item = |line: &str| {
        let v: serde_json::Value = serde_json::from_str(line).ok()?;
        let key = (v["file"].as_str()?.to_owned(), v["name"].as_str()?.to_owned());
        Some((key, (v["median"].as_f64()?, v["quartile1"].as_f64()?, v["quartile3"].as_f64()?)))
    };
    text.lines().map(item).collect::<Option<Times>>().ok_or_else(|| format!("{}: this is not a run of `adl bench`", path.display()))
}

/// Keeps a run: objects on lines, as `--json` writes them.
///
/// # Errors
/// Why it cannot be written, in words.
pub fn save(name: &str, lines: &str) -> Result<(), String> {
    let path = file(name);
    let said = |e: &str| format!("{}: {e}", path.display());
    if name.is_empty() || name.contains(['/', '\\']) {
        return Err(format!("`{name}` is not a name for a run"));
    }
    std::fs::create_dir_all(".adl-bench").map_err(|e| said(&super::io_text(&e)))?;
    super::write(&path, lines).map_err(|e| said(&e))
}

/// How a time compares with one that was kept: the change of the median, and whether the middle halves are apart.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_need_halves_that_are_apart() {
        let now = |median: f64| Timing { name: "a".into(), median, quartiles: (median * 0.9, median * 1.1), min: median * 0.8, samples: 1, iterations: 1 };
        for (median, want) in [(2.0, "+100.0 %  slower"), (1.05, "+5.0 %  no clear change"), (0.5, "-50.0 %  faster")] {
            assert_eq!(compared(&now(median), (1.0, 0.9, 1.1)), want);
        }
    }
}
