//! Texts that commands show: derivatives and tables of residuals. Each line number in them is a link to that line of
//! the program.

use crate::files;
use lsp_types::{Position, Uri};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::path::PathBuf;

/// The comment that names a source line in printed IR.
const COMMENT: &str = "-- line ";

/// How the first line of a table of residuals begins.
const TABLE: &str = "residuals of ";

/// A text that was shown.
pub struct View {
    /// The address of the program.
    of: String,
    /// For each line, where a line number of the program stands, and that number, from 1.
    lines: Vec<Option<(std::ops::Range<u32>, u32)>>,
}

/// The texts that were shown, by path.
#[derive(Default)]
pub struct Views(HashMap<PathBuf, View>);

/// Writes a text that is only to be looked at into a file.
///
/// # Errors
/// Why it could not be written.
pub fn write(name: &str, text: &str) -> Result<Uri, String> {
    let dir = std::env::temp_dir().join("adl-views");
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    let path = dir.join(name);
    std::fs::write(&path, text).map_err(|e| e.to_string())?;
    files::uri_of(&path).ok_or_else(|| "this path has no address".to_owned())
}

impl Views {
    /// Adds the view that a command has written: its address, that of its program, and its text.
    pub fn add(&mut self, params: &Json) -> Option<()> {
        let path = files::path_of(&params["uri"].as_str()?.parse().ok()?)?;
        let text = params["text"].as_str()?;
        // What the program itself prints comes before a table.
        let mut table = false;
        let lines = text.lines().map(|l| {
            table |= l.starts_with(TABLE);
            if table { in_table(l) } else { in_comment(l) }
        });
        let lines = lines.collect();
        self.0.insert(path, View { of: params["of"].as_str()?.to_owned(), lines });
        Some(())
    }

    /// The view that a request or notification is about, if it is about one.
    pub fn of(&self, params: &Json) -> Option<&View> {
        self.0.get(&files::path_of(&params["textDocument"]["uri"].as_str()?.parse().ok()?)?)
    }
}

/// The line number in the comment at the end of a line of IR.
pub fn in_comment(line: &str) -> Option<(std::ops::Range<u32>, u32)> {
    let at = line.rfind(COMMENT)?;
    let number = line[at + COMMENT.len()..].trim_end().parse().ok()?;
    let units = |text: &str| text.encode_utf16().count() as u32;
    Some((units(&line[..at])..units(line.trim_end()), number))
}

/// The line number in the second column of a table of residuals. The first column is a number, too.
pub fn in_table(line: &str) -> Option<(std::ops::Range<u32>, u32)> {
    let id = line.trim_start();
    let (first, rest) = id.split_once(' ')?;
    let _: u32 = first.parse().ok()?;
    let word = rest.trim_start();
    let number = word.split(' ').next()?;
    let at = (line.len() - word.len()) as u32;
    // In a list of plans the name of a plan follows.
    Some((at..at + number.len() as u32, number.parse().ok()?))
}

impl View {
    /// The answer to a request about this text. It has links, and a definition at each of them.
    pub fn answer(&self, method: &str, params: &Json) -> Json {
        match method {
            "textDocument/documentLink" => {
                let links = self.lines.iter().enumerate().filter_map(|(i, l)| Some(self.link(i, l.as_ref()?)));
                links.collect()
            }
            "textDocument/definition" => self.definition(params),
            "textDocument/diagnostic" => json!({"kind": "full", "items": []}),
            _ => Json::Null,
        }
    }

    fn link(&self, line: usize, (at, number): &(std::ops::Range<u32>, u32)) -> Json {
        json!({
            "range": {"start": {"line": line, "character": at.start}, "end": {"line": line, "character": at.end}},
            "target": format!("{}#L{number}", self.of),
        })
    }

    /// The line of the program that the line at a position came from: the last number at or above it.
    fn definition(&self, params: &Json) -> Json {
        let line = params["position"]["line"].as_u64().map_or(0, |n| n as usize);
        let above = self.lines.iter().take(line + 1).rev().flatten().next();
        above.map_or(Json::Null, |(_, number)| {
            let start = Position { line: number.saturating_sub(1), character: 0 };
            json!({"uri": self.of, "range": {"start": start, "end": start}})
        })
    }
}
