//! All errors and warnings with wrong and right code, from the data of `adl explain`.

use crate::{Page, cell};
use adl_session::docs::summary;
use std::collections::BTreeSet;

/// Codes begin with these, and are about this.
const GROUPS: &[(&str, &str)] = &[
    ("E01", "Text and layout"),
    ("E02", "Names and types"),
    ("E03", "Sizes"),
    ("E04", "Patterns"),
    ("E05", "Linear functions"),
    ("E06", "Derivatives"),
    ("E07", "While a program runs"),
    ("E08", "Files"),
    ("E09", "Faults of adl"),
    ("W", "Warnings"),
];

fn explanation(code: &str) -> Option<&'static str> {
    adl_syntax::explain(code).or_else(|| adl_typing::errors::explain(code)).or_else(|| adl_interp::error::explain(code))
}

/// Every code that is explained.
pub fn codes() -> BTreeSet<&'static str> {
    adl_syntax::errors::explain::codes()
        .chain(adl_typing::errors::codes())
        .chain(adl_interp::error::explained())
        .collect()
}

/// The index, then a page for each group of codes.
pub fn pages() -> Vec<Page> {
    let codes = codes();
    let groups = GROUPS.iter().map(|(prefix, title)| Page {
        path: path(prefix),
        title: (*title).to_owned(),
        text: codes
            .iter()
            .filter(|c| c.starts_with(prefix))
            .fold(format!("# {title}\n"), |text, c| text + "\n" + &section(c)),
    });
    std::iter::once(index(&codes)).chain(groups).collect()
}

fn path(prefix: &str) -> String {
    format!("errors/{}.md", prefix.to_lowercase())
}

fn index(codes: &BTreeSet<&'static str>) -> Page {
    let mut text = "# All errors\n\nAn error has a code, a place, and usually what to write instead. `adl explain E0301` prints what stands here. \
                    The examples are run by the tests: the wrong ones give the error, and the right ones do not.\n"
        .to_owned();
    for (prefix, title) in GROUPS {
        text += &format!("\n## {title}\n\n| Code | Says |\n|---|---|\n");
        for code in codes.iter().filter(|c| c.starts_with(prefix)) {
            let says = cell(summary(explanation(code).unwrap_or("")));
            text += &format!("| [{code}]({}.md#{}) | {says} |\n", prefix.to_lowercase(), code.to_lowercase());
        }
    }
    Page { path: "errors/index.md".to_owned(), title: "All errors".to_owned(), text }
}

/// An explanation: paragraphs, and examples that are indented by four.
fn section(code: &str) -> String {
    let part = |p: &str| match p.lines().all(|l| l.starts_with("    ")) {
        true => format!("```adl\n{}```\n", p.lines().map(|l| format!("{}\n", &l[4..])).collect::<String>()),
        false => format!("{p}\n"),
    };
    let parts: Vec<String> = explanation(code).unwrap_or("").split("\n\n").map(part).collect();
    format!("## {code}\n\n{}", parts.join("\n"))
}
