//! Blocks of the book. In a block `adl` the answer of each entry stands behind `-- >`. A block `adl,program` is a file:
//! the block `text` after it is its output, and the SVG files that it writes are those in `docs/book/src/pictures`.
//! `UPDATE=1` writes the present answers, outputs and pictures.
//!
//! Blocks `console` are replayed in the binary, by `repl/tests/transcripts.rs`.

use adl_session::Session;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A block of code: its language, and the lines between its fences.
struct CodeBlock {
    language: String,
    lines: Range<usize>,
}

/// What a page should say: lines that take the place of others.
struct Page {
    lines: Vec<String>,
    changes: Vec<(Range<usize>, Vec<String>)>,
    answers: usize,
    wrong: Vec<String>,
}

fn blocks(lines: &[String]) -> Vec<CodeBlock> {
    let mut out: Vec<CodeBlock> = Vec::new();
    let mut open: Option<(String, usize)> = None;
    for (i, line) in lines.iter().enumerate().filter(|(_, l)| l.starts_with("```")) {
        open = match open.take() {
            Some((language, from)) => {
                out.push(CodeBlock { language, lines: from..i });
                None
            }
            None => Some((line[3..].trim().to_owned(), i + 1)),
        };
    }
    out
}

impl Page {
    /// Entries of all blocks in one session.
    fn entries(&mut self, blocks: &[CodeBlock]) {
        let (mut session, _) = crate::pictures::session();
        for block in blocks.iter().filter(|b| b.language == "adl") {
            let mut entry = String::new();
            for index in block.lines.clone() {
                match self.lines[index].strip_prefix("-- > ") {
                    Some(want) => {
                        let have = adl_tests::echo_in(&mut session, &entry);
                        self.answers += 1;
                        if have != want {
                            self.wrong.push(format!("{entry}    gives {have}\n    not   {want}"));
                            self.changes.push((index..index + 1, vec![format!("-- > {have}")]));
                        }
                        entry.clear();
                    }
                    None => entry += &format!("{}\n", self.lines[index]),
                }
            }
            let have = if entry.trim().is_empty() { String::new() } else { adl_tests::echo_in(&mut session, &entry) };
            if have.starts_with('E') {
                self.wrong.push(format!("{entry}    gives {have}"));
            }
        }
    }

    /// Programs, each in a session of its own.
    fn programs(&mut self, blocks: &[CodeBlock]) {
        for (i, block) in blocks.iter().enumerate().filter(|(_, b)| b.language == "adl,program") {
            let text = self.lines[block.lines.clone()].join("\n") + "\n";
            let have = self.printed(&text);
            let next = blocks.get(i + 1).filter(|n| {
                n.language == "text" && self.lines[block.lines.end + 1..n.lines.start - 1].iter().all(String::is_empty)
            });
            let want = next.map_or(String::new(), |n| self.lines[n.lines.clone()].join("\n"));
            self.answers += 1;
            if have.trim_end() == want.trim_end() {
                continue;
            }
            self.wrong.push(format!("{text}    prints {have}\n    not    {want}"));
            if let Some(n) = next {
                self.changes.push((n.lines.clone(), have.trim_end().lines().map(str::to_owned).collect()));
            }
        }
    }

    fn printed(&mut self, text: &str) -> String {
        let host = crate::pictures::host();
        let (out, files) = (host.out.clone(), host.files.clone());
        let mut s = Session::new(Box::new(host));
        let errors = s.run_file("program.adl", text.as_bytes()).diags;
        self.wrong.extend(
            errors.iter().filter(|d| d.is_error()).map(|d| format!("{text}    gives {}: {}", d.code, d.message)),
        );
        for (name, bytes) in files.borrow().iter().filter(|(n, _)| n.ends_with(".svg")) {
            let picture = adl_tests::root().join("docs/book/src/pictures").join(name);
            if std::fs::read(&picture).ok().as_ref() != Some(bytes) {
                self.wrong.push(format!("{name} is another picture"));
                if updating() {
                    std::fs::write(picture, bytes).unwrap();
                }
            }
        }
        out.borrow().clone()
    }
}

fn updating() -> bool {
    std::env::var_os("UPDATE").is_some()
}

fn check(file: &Path) -> (usize, Vec<String>) {
    let text = std::fs::read_to_string(file).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let blocks = blocks(&lines);
    let mut page = Page { lines, changes: Vec::new(), answers: 0, wrong: Vec::new() };
    page.entries(&blocks);
    page.programs(&blocks);
    if updating() && !page.changes.is_empty() {
        // From the end, so that the places of earlier changes stay.
        page.changes.sort_by_key(|(at, _)| std::cmp::Reverse(at.start));
        for (at, new) in page.changes {
            page.lines.splice(at, new);
        }
        std::fs::write(file, page.lines.join("\n") + "\n").unwrap();
    }
    (page.answers, page.wrong.iter().map(|w| format!("{}:\n{w}", file.display())).collect())
}

fn pages(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, out);
        } else if path.extension().is_some_and(|e| e == "md") {
            out.push(path);
        }
    }
}

/// The pages of a part of the book have answers, and these are right.
fn part(name: &str, least: usize) {
    let mut files = Vec::new();
    pages(&adl_tests::root().join("docs/book/src").join(name), &mut files);
    files.sort();
    let checked: Vec<_> = files.iter().map(|f| check(f)).collect();
    let wrong: Vec<&str> = checked.iter().flat_map(|(_, w)| w.iter().map(String::as_str)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let answers: usize = checked.iter().map(|(n, _)| n).sum();
    assert!(answers >= least, "{name}: {answers} answers");
}

#[test]
fn the_first_hour() {
    part("first-hour", 40);
}

#[test]
fn the_guide() {
    for (name, least) in [("language", 70), ("arrays", 50), ("derivatives", 40), ("coming-from", 15)] {
        part(name, least);
    }
}

#[test]
fn the_cookbook() {
    part("cookbook", 25);
}

#[test]
fn the_reference() {
    part("reference", 80);
}

#[test]
fn notes_on_the_inside() {
    part("inside", 1);
}

#[test]
fn single_chapters() {
    let dir = adl_tests::root().join("docs/book/src");
    let pages = std::fs::read_dir(&dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "md"));
    let checked: Vec<_> = pages.map(|p| check(&p)).collect();
    let wrong: Vec<&str> = checked.iter().flat_map(|(_, w)| w.iter().map(String::as_str)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Files and directories below `dir`, relative to the root, directories with a slash at the end.
fn tree(dir: &Path, prefix: &str, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "target" || name.starts_with('.') && name != ".ci" {
            continue;
        }
        let full = format!("{prefix}{name}");
        if path.is_dir() {
            tree(&path, &format!("{full}/"), out);
            out.push(format!("{full}/"));
        } else {
            out.push(full);
        }
    }
}

/// What is in backticks outside of blocks of code.
fn quoted(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether a word looks like a path: with a slash, or with an ending of source files.
fn is_path(word: &str) -> bool {
    let endings = ["rs", "adl", "md", "toml", "ir", "out", "wgsl", "py"];
    let ended = word.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && endings.contains(&end));
    let letters = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    word.chars().all(letters) && (ended || word.contains('/')) && !word.starts_with('/')
}

/// Whether a path is the end of one of the tree; modules are also named without `.rs`, and directories without their slash. A name in capitals
/// stands for any name, and only its directory must exist.
fn exists(tree: &[String], path: &str) -> bool {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or("");
    let ends = |want: &str| tree.iter().any(|p| p == want || p.ends_with(&format!("/{want}")));
    let any = stem.len() > 2 && stem.chars().all(|c| c.is_ascii_uppercase());
    ends(path)
        || ends(&format!("{path}/"))
        || ends(&format!("{path}.rs"))
        || any && (dir.is_empty() || ends(&format!("{dir}/")))
}

#[test]
fn paths_in_the_documents_exist() {
    let root = adl_tests::root().canonicalize().unwrap();
    let mut files = Vec::new();
    tree(&root, "", &mut files);
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for file in ["docs/adding.md", "docs/ARCHITECTURE.md", "docs/glossary.md"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        for path in quoted(&text).into_iter().filter(|w| is_path(w)) {
            seen += 1;
            if !exists(&files, &path) {
                wrong.push(format!("{file}: there is no `{path}`"));
            }
        }
    }
    assert!(seen > 100, "only {seen} paths were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
