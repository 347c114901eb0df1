//! The library of WGSL functions. A kernel includes those that it uses.

use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

/// A function, a structure or a constant of the library.
struct LibraryItem {
    text: &'static str,
    /// The library items that it uses.
    uses: Vec<&'static str>,
    /// Its position: items are emitted in this order.
    place: usize,
}

fn library() -> &'static HashMap<&'static str, LibraryItem> {
    static MADE: OnceLock<HashMap<&'static str, LibraryItem>> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut items = HashMap::new();
        for text in [
            include_str!("math/f64.wgsl"),
            include_str!("math/f32.wgsl"),
            include_str!("math/i64.wgsl"),
            include_str!("math/random.wgsl"),
        ] {
            items.extend(parts(text));
        }
        let names: BTreeSet<&'static str> = items.keys().copied().collect();
        let item = |(place, (name, text)): (usize, (&'static str, &'static str))| {
            let uses = words(text).filter(|w| *w != name && names.contains(w)).collect();
            (name, LibraryItem { text, uses, place })
        };
        let mut sorted: Vec<_> = items.into_iter().collect();
        sorted.sort_unstable();
        sorted.into_iter().enumerate().map(item).collect()
    })
}

/// The items of a file: each begins with a keyword in the first column, and ends before the next item or its comment.
fn parts(text: &'static str) -> Vec<(&'static str, &'static str)> {
    let begins = |l: &str| ["fn ", "struct ", "const "].iter().find_map(|w| l.strip_prefix(w)).map(str::len);
    let mut out: Vec<(&str, usize, usize)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(rest) = begins(line) {
            let from = at + line.len() - rest;
            let name = words(&text[from..]).next().unwrap_or("");
            out.push((name, at, at + line.len()));
        } else if let (false, Some(last)) = (line.starts_with("//"), out.last_mut()) {
            last.2 = at + line.len();
        }
        at += line.len();
    }
    out.into_iter().map(|(name, from, to)| (name, &text[from..to])).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty())
}

/// The library text that a kernel's text needs.
pub(crate) fn used_by(text: &str) -> String {
    let all = library();
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut todo: Vec<&str> = words(text).filter_map(|w| all.get_key_value(w).map(|(k, _)| *k)).collect();
    while let Some(name) = todo.pop() {
        if found.insert(name) {
            todo.extend(all[name].uses.iter().copied());
        }
    }
    let mut items: Vec<&LibraryItem> = found.iter().map(|n| &all[n]).collect();
    items.sort_by_key(|i| i.place);
    items.iter().map(|i| i.text.trim_end()).collect::<Vec<_>>().join("\n")
}
