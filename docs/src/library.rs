//! The standard library as pages: one for each module, and an index of all names.

use crate::{Page, cell};
use adl_interp::host::Host;
use adl_prim::Prim;
use adl_session::Session;
use adl_session::docs::{DocEntry, DocModule, summary};

/// The columns of a type in a block.
const COLUMNS: usize = 100;

/// The characters of a type in the index.
const SHORT: usize = 90;

/// Documentation reads and prints nothing.
struct Alone;

impl Host for Alone {}

/// The index, then a page for each module.
pub fn pages() -> Vec<Page> {
    let library = Session::new(Box::new(Alone)).library();
    let modules =
        library.iter().map(|m| Page { path: format!("library/{}.md", m.name), title: m.name.clone(), text: module(m) });
    std::iter::once(index(&library)).chain(modules).collect()
}

/// Whether the names of a module stand without its name.
fn global(m: &DocModule) -> bool {
    m.name == "builtins" || m.name == "prelude"
}

fn full_name(m: &DocModule, e: &DocEntry) -> String {
    if global(m) { e.name.clone() } else { format!("{}.{}", m.name, e.name) }
}

fn index(library: &[DocModule]) -> Page {
    let mut text = "# The standard library\n\nAt the prompt `?name` shows the same, and Tab completes names. \
                    `builtins` and `prelude` are in scope without a module.\n\n| Module | Is for |\n|---|---|\n"
        .to_owned();
    for m in library {
        let about = if m.text.is_empty() { "What is in scope everywhere, written in adl" } else { summary(&m.text) };
        text += &format!("| [`{0}`]({0}.md) | {1} |\n", m.name, cell(about));
    }
    let mut names: Vec<(String, &DocModule, &DocEntry)> =
        library.iter().flat_map(|m| m.entries.iter().map(move |e| (full_name(m, e), m, e))).collect();
    names.sort_by_key(|(name, ..)| name.to_lowercase());
    text += &format!("\n## All {} names\n\n| Name | Type | |\n|---|---|---|\n", names.len());
    for (name, m, e) in names {
        text += &format!(
            "| [`{name}`]({}.md#{}) | {} | {} |\n",
            m.name,
            anchor(&e.name),
            short(&e.signature),
            cell(e.summary())
        );
    }
    Page { path: "library/index.md".to_owned(), title: "All names".to_owned(), text }
}

/// A type on one line, cut where it is long.
fn short(signature: &str) -> String {
    let line = signature.lines().next().unwrap_or("");
    let cut: String = line.chars().take(SHORT).collect();
    format!("`{}{}`", cell(&cut), if cut == line { "" } else { "…" })
}

fn module(m: &DocModule) -> String {
    let names: Vec<String> = m.entries.iter().map(|e| format!("[`{}`](#{})", e.name, anchor(&e.name))).collect();
    let head = format!("# {}\n\n{}\n\n{}\n", m.name, m.text, names.join(" · "));
    m.entries.iter().fold(head, |text, e| text + "\n" + &entry(m, e))
}

fn entry(m: &DocModule, doc_entry: &DocEntry) -> String {
    let name = full_name(m, doc_entry);
    let declared = doc_entry.signature.starts_with("type ");
    let signature = if declared {
        doc_entry.signature.clone()
    } else {
        adl_session::wrapped_type(&format!("{name} : {}", doc_entry.signature), COLUMNS, 2).join("\n")
    };
    let mut text =
        format!("## {name} {{#{}}}\n\n```adl\n{signature}\n```\n\n{}\n", anchor(&doc_entry.name), doc_entry.text);
    if let Some(rule) = Prim::by_name(&doc_entry.name).filter(|_| global(m)).and_then(adl_prim::rule::derivative) {
        text += &format!("\n{rule}\n");
    }
    if !doc_entry.examples.is_empty() {
        let shown: Vec<String> = doc_entry.examples.iter().map(|(x, want)| format!("{x}\n{}", answer(want))).collect();
        text += &format!("\n```adl\n{}```\n", shown.concat());
    }
    if let Some(source) = &doc_entry.source {
        text += &format!("\n<details><summary>Source</summary>\n\n```adl\n{}\n```\n\n</details>\n", source.trim_end());
    }
    text
}

/// What an example prints and its echo, as the book writes answers.
fn answer(want: &str) -> String {
    want.lines().map(|l| format!("-- > {l}\n")).collect()
}

/// A name as the target of a link.
fn anchor(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c.to_string() } else { format!("-{:x}", c as u32) })
        .collect()
}
