//! The session as a program: entries in order, loaded files in their places, and names for `it`.

use crate::Session;
use crate::item_words::mentions;
use adl_syntax::ast::{ImportSource, ItemKind};
use adl_syntax::lexer::lex;
use adl_syntax::span::FileId;
use adl_syntax::token::{Kw, P, Tok, Token};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The names of the last values, the latest first.
pub(crate) const LAST_VALUES: [&str; 3] = ["it", "it1", "it2"];

/// An entry that ran, or the part of it before an error.
#[derive(Clone, Debug)]
pub struct RanEntry {
    /// Its text, without items that failed.
    pub text: String,
    /// The file it came from, after `:load`.
    pub file: Option<String>,
    /// The positions of the expressions whose values became `it`.
    pub(crate) values: Vec<Range<usize>>,
}

/// A range of a text and its replacement.
type Edit = (Range<usize>, String);

/// Entries that ran, as a persistent list that snapshots share.
pub type History = rpds::Vector<RanEntry>;

impl Session {
    /// Records the text of a loaded file; it replaces an earlier version.
    pub(crate) fn record_file(&mut self, name: &str, text: String) {
        let ran = RanEntry { text, file: Some(name.to_owned()), values: Vec::new() };
        match self.history.iter().position(|e| e.file.as_deref() == Some(name)) {
            Some(at) => drop(self.history.set_mut(at, ran)),
            None => self.history.push_back_mut(ran),
        }
    }

    /// The session as a program with the same effects. Import paths in loaded files are adapted to files in `dir`.
    pub fn program(&self, dir: &Path) -> String {
        let mut values: Vec<String> = Vec::new();
        let mut parts: Vec<(String, Vec<Edit>)> = Vec::new();
        let mut named: HashMap<String, (usize, usize)> = HashMap::new();
        for ran in &self.history {
            let at = parts.len();
            if let Some(file) = &ran.file {
                parts.push((imports_from(&ran.text, file, dir), Vec::new()));
                continue;
            }
            let mut edits = Vec::new();
            let mut used = uses(&ran.text).into_iter().peekable();
            for (is_value, range) in
                ran.values.iter().map(|r| (true, r.clone())).chain([(false, ran.text.len()..ran.text.len())])
            {
                while let Some((place, back)) = used.next_if(|(place, _)| place.start < range.end.max(1)) {
                    let Some(name) = values.len().checked_sub(1 + back).map(|i| values[i].clone()) else { continue };
                    if let Some((part, start)) = named.remove(&name) {
                        let list = if part == at { &mut edits } else { &mut parts[part].1 };
                        list.push((start..start, format!("let {name} = ")));
                    }
                    edits.push((place, name));
                }
                if is_value {
                    let name = format!("it_{}", values.len() + 1);
                    named.insert(name.clone(), (at, range.start));
                    values.push(name);
                }
            }
            parts.push((ran.text.clone(), edits));
        }
        parts.into_iter().map(|(text, edits)| edited(&text, edits) + "\n").collect::<Vec<_>>().join("\n")
    }
}

/// The uses of the last values in a text, and which one each refers to: 0 is `it`.
fn uses(text: &str) -> Vec<(Range<usize>, usize)> {
    if !LAST_VALUES.iter().any(|n| mentions(text, n)) {
        return Vec::new();
    }
    let tokens = lex(FileId::default(), text).tokens;
    // A field may be called `it`.
    let before = |i: usize| i.checked_sub(1).map(|i| &tokens[i].tok);
    let labels = |i: usize| {
        matches!(before(i), Some(Tok::P(P::LBrace | P::Comma) | Tok::Kw(Kw::With)))
            && tokens.get(i + 1).is_some_and(|t| t.tok == Tok::P(P::Eq))
    };
    let free = |i: usize| before(i) != Some(&Tok::P(P::Dot)) && !labels(i);
    let which =
        |t: &Token| if let Tok::Ident(n) = t.tok { LAST_VALUES.iter().position(|i| *i == n.as_str()) } else { None };
    tokens
        .iter()
        .enumerate()
        .filter_map(|(i, t)| which(t).filter(|_| free(i)).map(|k| (t.lo as usize..t.hi as usize, k)))
        .collect()
}

fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(r, _)| (r.start, r.end));
    let (mut out, mut at) = (String::new(), 0);
    for (range, new) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out + &text[at..]
}

/// A file's text with import paths relative to another directory.
pub fn imports_from(text: &str, file: &str, dir: &Path) -> String {
    let home = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
    let same = |a: &Path, b: &Path| a.components().eq(b.components());
    if same(&home, dir) {
        return text.trim_end().to_owned();
    }
    let items = adl_syntax::parse(FileId::default(), text).0.items;
    let edits = items.iter().filter_map(|i| match &i.kind {
        ItemKind::Import { what: ImportSource::File(path, at), .. } => Some((path, at)),
        _ => None,
    });
    // The span includes the quotes.
    let edits = edits.filter_map(|(path, at)| {
        let target: PathBuf =
            if dir.as_os_str().is_empty() { home.join(path) } else { std::path::absolute(home.join(path)).ok()? };
        Some((at.lo as usize + 1..at.hi as usize - 1, target.to_string_lossy().into_owned()))
    });
    edited(text.trim_end(), edits.collect())
}
