//! The cells that ran, for `history_request`.

use serde_json::{Value as Json, json};

/// The number of cells to keep.
const MOST: usize = 10_000;

/// The source and the output of a cell.
#[derive(Clone, Debug)]
struct Entry {
    line: u64,
    input: String,
    output: Option<String>,
}

/// The cells of the current session.
#[derive(Clone, Debug, Default)]
pub struct History {
    entries: Vec<Entry>,
}

impl History {
    /// Adds a cell.
    pub fn add(&mut self, line: u64, input: &str, output: Option<String>) {
        if self.entries.len() >= MOST {
            self.entries.remove(0);
        }
        self.entries.push(Entry { line, input: input.to_owned(), output });
    }

    /// The content of a `history_reply`.
    pub fn reply(&self, request: &Json) -> Json {
        let n = request["n"].as_u64().and_then(|n| usize::try_from(n).ok());
        let with_output = request["output"].as_bool().unwrap_or(false);
        let found: Vec<&Entry> = match request["hist_access_type"].as_str().unwrap_or("tail") {
            "range" => self.range(request),
            "search" => {
                let pattern: Vec<char> = request["pattern"].as_str().unwrap_or("*").chars().collect();
                let fits = self.entries.iter().filter(|e| glob(&pattern, &e.input.chars().collect::<Vec<_>>()));
                last(if request["unique"].as_bool().unwrap_or(false) { unique(fits) } else { fits.collect() }, n)
            }
            _ => last(self.entries.iter().collect(), n.or(Some(1000))),
        };
        let line = |e: &Entry| match with_output {
            true => json!([1, e.line, [e.input, e.output]]),
            false => json!([1, e.line, e.input]),
        };
        json!({"status": "ok", "history": found.into_iter().map(line).collect::<Vec<_>>()})
    }

    /// Lines from `start` up to but excluding `stop`. Sessions 0 and 1 are the current one; there is no other.
    fn range(&self, request: &Json) -> Vec<&Entry> {
        if !matches!(request["session"].as_i64().unwrap_or(0), 0 | 1) {
            return Vec::new();
        }
        let (start, stop) = (request["start"].as_u64().unwrap_or(0), request["stop"].as_u64().unwrap_or(u64::MAX));
        self.entries.iter().filter(|e| (start..stop).contains(&e.line)).collect()
    }
}

fn last(mut found: Vec<&Entry>, n: Option<usize>) -> Vec<&Entry> {
    let from = found.len().saturating_sub(n.unwrap_or(usize::MAX));
    found.split_off(from)
}

/// Only the last entry of each text.
fn unique<'e>(found: impl DoubleEndedIterator<Item = &'e Entry>) -> Vec<&'e Entry> {
    let mut out: Vec<&Entry> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    out.extend(found.rev().filter(|e| seen.insert(e.input.as_str())));
    out.reverse();
    out
}

/// Whether a text matches a pattern in which `*` stands for any text and `?` for one character.
fn glob(pattern: &[char], text: &[char]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::{History, glob};
    use serde_json::json;

    #[test]
    fn patterns() {
        let fits = |p: &str, t: &str| glob(&p.chars().collect::<Vec<_>>(), &t.chars().collect::<Vec<_>>());
        assert!(fits("*", "") && fits("a*c", "abbc") && fits("a?c", "abc") && fits("*b*", "abc") && fits("*ab", "aab"));
        assert!(!fits("a", "ab") && !fits("a*c", "ab") && !fits("?", ""));
    }

    #[test]
    fn three_ways_to_ask() {
        let mut h = History::default();
        for (i, t) in ["1", "2", "1"].into_iter().enumerate() {
            h.add(i as u64 + 1, t, Some(format!("{t} : Int")));
        }
        assert_eq!(h.reply(&json!({"hist_access_type": "tail", "n": 2}))["history"], json!([[1, 2, "2"], [1, 3, "1"]]));
        assert_eq!(
            h.reply(&json!({"hist_access_type": "range", "session": 0, "start": 2, "stop": 3, "output": true}))["history"],
            json!([[1, 2, ["2", "2 : Int"]]])
        );
        assert_eq!(
            h.reply(&json!({"hist_access_type": "search", "pattern": "1*", "unique": true}))["history"],
            json!([[1, 3, "1"]])
        );
    }
}
