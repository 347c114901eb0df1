//! Related names, for "see also".

use crate::Session;
use crate::docs::{DocEntry, DocModule};
use crate::limits::related::{MAX_RELATED, STEM};

impl Session {
    /// Names that the documentation of a library name mentions, names whose documentation mentions it, and names of its
    /// module that extend it.
    pub(crate) fn related(&mut self, name: &str) -> Vec<String> {
        let (module, member) = name.rsplit_once('.').unwrap_or(("", name));
        let chapters: Vec<(String, DocModule)> = match module {
            "" => [crate::docs::builtins()]
                .into_iter()
                .chain(self.doc_module("prelude"))
                .map(|d| (String::new(), d))
                .collect(),
            m => self.doc_module(m).into_iter().map(|d| (format!("{m}."), d)).collect(),
        };
        let all: Vec<(&str, &DocEntry)> =
            chapters.iter().flat_map(|(head, m)| m.entries.iter().map(move |e| (head.as_str(), e))).collect();
        let Some((_, own)) = all.iter().find(|(_, e)| e.name == member) else { return Vec::new() };
        let speaks = |from: &DocEntry, of: &str| {
            quoted(&from.text)
                .any(|q| q == of || q.split(|c: char| !c.is_alphanumeric() && c != '_').next() == Some(of))
        };
        let made = |a: &str, b: &str| a.len() >= STEM && b.contains(a);
        let by = |wanted: &dyn Fn(&DocEntry) -> bool| {
            all.iter()
                .filter(|(_, e)| e.name != member && wanted(e))
                .map(|(head, e)| format!("{head}{}", e.name))
                .collect::<Vec<_>>()
        };
        let groups = [
            by(&|e| speaks(own, &e.name)),
            by(&|e| speaks(e, member)),
            by(&|e| made(member, &e.name) || made(&e.name, member)),
        ];
        let mut out: Vec<String> = Vec::new();
        for n in groups.into_iter().flatten() {
            if !out.contains(&n) {
                out.push(n);
            }
        }
        out.truncate(MAX_RELATED);
        out
    }
}

/// The words in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
