//! Chapters that are written by hand: reading them, and colouring their code.

use crate::{Book, Page};
use adl_syntax::highlight::{escape, html};
use std::io;
use std::path::Path;

/// Reads what is below `dir`, whose path in the book is `at`.
pub fn read(dir: &Path, at: &str, book: &mut Book) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = format!("{at}{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            read(&path, &format!("{name}/"), book)?;
        } else if name.ends_with(".md") {
            book.pages.insert(name, std::fs::read_to_string(&path)?);
        } else {
            book.files.insert(name, std::fs::read(&path)?);
        }
    }
    Ok(())
}

/// Lists pages in the table of contents, below the entry that links to `index`.
pub fn list_below(summary: &mut String, index: &str, pages: &[Page]) {
    let mut lines: Vec<String> = summary.lines().map(str::to_owned).collect();
    let Some(index_line) = lines.iter().position(|l| l.contains(&format!("]({index})"))) else { return };
    let place = index_line + 1;
    let below = pages.iter().filter(|p| p.path != index).map(|p| format!("  - [{}]({})", p.title, p.path));
    lines.splice(place..place, below);
    *summary = lines.join("\n") + "\n";
}

/// Markdown whose blocks of adl are coloured HTML. Markdown passes HTML from `<pre` to `</pre>` on unchanged, with its
/// empty lines.
pub fn coloured(text: &str) -> String {
    let (mut out, mut block): (String, Option<(BlockKind, String)>) = (String::new(), None);
    for line in text.lines() {
        block = match (block.take(), line.strip_prefix("```")) {
            (Some((kind, code)), Some(_)) => {
                out += &kind.block(&code);
                None
            }
            (Some((kind, code)), None) => Some((kind, code + line + "\n")),
            (None, Some(language)) => Some((BlockKind::of(language), String::new())),
            (None, None) => {
                out += &format!("{line}\n");
                None
            }
        };
    }
    out
}

/// What a block holds.
enum BlockKind {
    /// adl, with answers behind `-- >`.
    Program,
    /// A copy of a terminal.
    Console,
    /// Another language, by its name.
    Other(String),
}

impl BlockKind {
    fn of(language: &str) -> BlockKind {
        match language.trim() {
            "adl" | "adl,program" => BlockKind::Program,
            "console" => BlockKind::Console,
            other => BlockKind::Other(other.to_owned()),
        }
    }

    fn block(&self, code: &str) -> String {
        let inside = match self {
            BlockKind::Program => program(code),
            BlockKind::Console => console(code),
            BlockKind::Other(language) => return format!("```{language}\n{code}```\n"),
        };
        format!("<pre><code class=\"nohighlight adl\">{inside}</code></pre>\n")
    }
}

/// A program is coloured as a whole, since strings and comments may have several lines; then its answers are marked.
fn program(code: &str) -> String {
    const ANSWER: &str = "<span class=\"c\">-- &gt; ";
    let line = |l: &str| match l.strip_prefix(ANSWER) {
        Some(answer) => format!("<span class=\"answer\">{answer}\n"),
        None => format!("{l}\n"),
    };
    html(code).lines().map(line).collect()
}

fn console(code: &str) -> String {
    let line = |l: &str| match ["adl> ", "...> "].iter().find_map(|p| Some((p, l.strip_prefix(p)?))) {
        Some((prompt, typed)) => format!("<span class=\"prompt\">{}</span>{}\n", escape(prompt), html(typed)),
        None => format!("<span class=\"answer\">{}</span>\n", escape(l)),
    };
    code.lines().map(line).collect()
}
