//! Transcripts of the REPL: `tests/transcripts/*.txt`.
//!
//! Lines that begin with `adl> ` and `...> ` are input, and the lines after them are output. `UPDATE=1` rewrites the
//! output. Each transcript runs in its own directory. `# file NAME` followed by indented lines writes a file before the
//! following input. Blocks `console` of the book are transcripts, too.

use crate::common;

use common::Dir;
use std::path::Path;

/// A command sent after each entry. Its answer marks the end of the entry's output.
const ASK: &str = ":type \"@@end of entry@@\"";
const MARK: &str = "\"@@end of entry@@\" : String";

enum TranscriptPart {
    /// A comment, or an empty line between entries.
    Note(String),
    /// A file to be written: its name and lines.
    File(String, Vec<String>),
    /// An entry and its output.
    Entry(Vec<String>, Vec<String>),
}

fn parse(text: &str) -> Vec<TranscriptPart> {
    let mut parts: Vec<TranscriptPart> = Vec::new();
    for line in text.lines() {
        if let Some(l) = line.strip_prefix("adl> ").or((line == "adl>").then_some("")) {
            parts.push(TranscriptPart::Entry(vec![l.to_owned()], Vec::new()));
        } else if let Some(name) = line.strip_prefix("# file ") {
            parts.push(TranscriptPart::File(name.to_owned(), Vec::new()));
        } else if line.starts_with('#') {
            parts.push(TranscriptPart::Note(line.to_owned()));
        } else {
            match (parts.last_mut(), line.strip_prefix("...> ").or((line == "...>").then_some(""))) {
                (Some(TranscriptPart::Entry(lines, _)), Some(l)) => lines.push(l.to_owned()),
                (Some(TranscriptPart::Entry(_, out)), None) => out.push(line.to_owned()),
                (Some(TranscriptPart::File(_, lines)), None) => {
                    lines.push(line.strip_prefix("  ").unwrap_or(line).to_owned());
                }
                _ => parts.push(TranscriptPart::Note(line.to_owned())),
            }
        }
    }
    parts
}

/// The transcript with the current output of the binary.
fn replay(name: &str, parts: &[TranscriptPart]) -> String {
    let dir = Dir::new(&format!("transcript-{name}"));
    let mut input = String::new();
    for p in parts {
        match p {
            TranscriptPart::Note(_) => {}
            // Files may change while the session runs, so the session itself writes them.
            TranscriptPart::File(name, lines) => {
                let lines: Vec<String> = lines.iter().map(|l| l.replace('\\', "\\\\").replace('"', "\\\"")).collect();
                input += &format!("write_text \"{name}\" \"{}\\n\"\n", lines.join("\\n"));
            }
            TranscriptPart::Entry(lines, _) => input += &format!("{}\n{ASK}\n", lines.join("\n")),
        }
    }
    let run = dir.piped_together(&input);
    let mark = line(MARK);
    let mut outputs = run.split(&mark);
    let mut out = String::new();
    for p in parts {
        match p {
            TranscriptPart::Note(l) => out += &format!("{l}\n"),
            TranscriptPart::File(name, lines) => {
                out += &format!("# file {name}\n");
                out += &lines.iter().map(|l| line(&format!("  {l}"))).collect::<String>();
            }
            TranscriptPart::Entry(lines, old) => {
                for (i, l) in lines.iter().enumerate() {
                    let prompt = if i == 0 { "adl>" } else { "...>" };
                    out += &line(&format!("{prompt} {l}"));
                }
                let given = outputs.next().unwrap_or("");
                out += &if lines == &[":explain"] { timeless(given) } else { given.to_owned() };
                // Empty lines between entries are kept.
                out += &"\n".repeat(old.iter().rev().take_while(|l| l.is_empty()).count());
            }
        }
    }
    out
}

/// The blocks `console` of a page of the book: the lines between their fences.
fn consoles(lines: &[&str]) -> Vec<std::ops::Range<usize>> {
    let (mut out, mut open) = (Vec::new(), None);
    for (i, _) in lines.iter().enumerate().filter(|(_, l)| l.starts_with("```")) {
        open = match open {
            Some(from) => {
                out.extend((lines[from] == "```console").then_some(from + 1..i));
                None
            }
            None => Some(i),
        };
    }
    out
}

/// The page with the output that the binary gives now: its blocks are one session, on a screen of 100 columns.
fn replayed_page(name: &str, text: &str) -> String {
    const SCREEN: &str = "adl> :set width 100";
    const FENCE: &str = "# ```";
    let mut lines: Vec<&str> = text.lines().collect();
    let blocks = consoles(&lines);
    let session: Vec<String> = blocks.iter().map(|b| lines[b.clone()].join("\n") + "\n" + FENCE).collect();
    let now = replay(name, &parse(&format!("{SCREEN}\n{FENCE}\n{}\n", session.join("\n"))));
    let parts: Vec<Vec<&str>> = now.split(&format!("{FENCE}\n")).skip(1).map(|p| p.lines().collect()).collect();
    for (b, new) in blocks.into_iter().zip(parts).rev() {
        lines.splice(b, new);
    }
    lines.join("\n") + "\n"
}

/// Removes durations, which differ between runs.
fn timeless(text: &str) -> String {
    let times = |w: &str, last: &str| last == "in" && w.starts_with(|c: char| c.is_ascii_digit());
    let mut last = "";
    text.split(' ')
        .map(|w| {
            let out = if times(w, last) { "_" } else { w };
            last = w;
            out
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn line(text: &str) -> String {
    format!("{}\n", text.trim_end())
}

#[test]
fn transcripts() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/transcripts");
    let mut names: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|x| x == "txt"))
        .collect();
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    let mut wrong = Vec::new();
    for path in &names {
        let text = std::fs::read_to_string(path).unwrap();
        let now = replay(&path.file_stem().unwrap().to_string_lossy(), &parse(&text));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &now).unwrap();
        } else if now != text {
            let at = now.lines().zip(text.lines()).position(|(a, b)| a != b).unwrap_or(0);
            let near = |t: &str| t.lines().skip(at.saturating_sub(2)).take(6).collect::<Vec<_>>().join("\n");
            wrong.push(format!(
                "{} differs at line {}\n--- expected\n{}\n--- actual\n{}",
                path.display(),
                at + 1,
                near(&text),
                near(&now)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn pages(dir: &Path, out: &mut Vec<std::path::PathBuf>) {
    for path in std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        if path.is_dir() {
            pages(&path, out);
        } else if path.extension().is_some_and(|x| x == "md") {
            out.push(path);
        }
    }
}

/// Copies of a terminal in the book.
#[test]
fn consoles_of_the_book() {
    let mut files = Vec::new();
    pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src"), &mut files);
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (i, path) in files.iter().enumerate() {
        let text = std::fs::read_to_string(path).unwrap();
        if !text.contains("\n```console\n") {
            continue;
        }
        seen += 1;
        let now = replayed_page(&format!("page-{i}"), &text);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &now).unwrap();
        } else if now.trim_end() != text.trim_end() {
            let differs = now.lines().zip(text.lines()).find(|(a, b)| a != b).unwrap_or_default();
            wrong.push(format!("{}\n--- expected\n{}\n--- actual\n{}", path.display(), differs.1, differs.0));
        }
    }
    assert!(seen >= 5, "{seen} pages");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
