//! Links from page to page.

use crate::Book;

impl Book {
    /// Links that lead to no page, file or heading, and chapters that the table of contents lacks.
    pub fn broken(&self) -> Vec<String> {
        let links = self.pages.iter().flat_map(|(page, text)| targets(text).into_iter().map(move |t| (page, t)));
        let bad = links
            .filter(|(page, target)| !self.leads_somewhere(page, target))
            .map(|(page, target)| format!("{page}: {target}"));
        let summary = self.pages.get("SUMMARY.md").map_or("", String::as_str);
        let unlisted = self.pages.keys().filter(|p| *p != "SUMMARY.md" && !summary.contains(&format!("]({p})")));
        bad.chain(unlisted.map(|p| format!("SUMMARY.md lacks {p}"))).collect()
    }

    fn leads_somewhere(&self, page: &str, target: &str) -> bool {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let path = if path.is_empty() { page.to_owned() } else { resolved(page, path) };
        match self.pages.get(&path) {
            Some(text) => heading.is_empty() || headings(text).iter().any(|h| h == heading),
            None => self.files.contains_key(&path),
        }
    }
}

/// The targets of the links inside the book, but for those in blocks of code.
fn targets(text: &str) -> Vec<String> {
    let mut code = false;
    let mut out = Vec::new();
    for line in text.lines() {
        code ^= line.starts_with("```");
        let ends: Vec<usize> = if code { Vec::new() } else { line.match_indices("](").map(|(i, _)| i + 2).collect() };
        let found = ends.iter().filter_map(|i| line[*i..].split_once(')')).map(|(t, _)| t.to_owned());
        out.extend(found.filter(|t| !t.contains("://") && !t.contains(' ')));
    }
    out
}

/// A path that is relative to a page.
fn resolved(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// The anchors of the headings of a page, as mdBook makes them.
fn headings(text: &str) -> Vec<String> {
    let mut code = false;
    let mut out = Vec::new();
    for line in text.lines() {
        code ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        if code || title == line || !title.starts_with(' ') {
            continue;
        }
        out.push(match title.split_once("{#") {
            Some((_, id)) => id.trim_end_matches('}').to_owned(),
            None => anchor(title.trim()),
        });
    }
    out
}

fn anchor(title: &str) -> String {
    let letter = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_lowercase().to_string()),
        c if c.is_whitespace() => Some("-".to_owned()),
        _ => None,
    };
    title.chars().filter_map(letter).collect()
}
