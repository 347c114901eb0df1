//! Test programs.
#![allow(dead_code)]

pub mod programs;

use std::path::{Path, PathBuf};

/// Every `.adl` file of the repository that parses; the files about syntax errors and those that front ends colour are
/// left out.
pub fn adl_files() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.sort();
    assert!(!files.is_empty());
    files
}

fn walk(dir: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        if path.is_dir() && !name.starts_with('.') && !["target", "editors", "jupyter"].contains(&name) {
            walk(&path, files);
        } else if name.ends_with(".adl") && !name.starts_with("syntax_") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            files.push((path, text));
        }
    }
}

/// The programs of the snapshot cases.
pub fn cases() -> Vec<String> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).expect("cases") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("readable");
        for case in text.split("=== ").skip(1) {
            let (_, rest) = case.split_once('\n').expect("a name");
            all.push(rest.split_once("\n---\n").unwrap_or((rest, "")).0.to_owned());
        }
    }
    all
}
