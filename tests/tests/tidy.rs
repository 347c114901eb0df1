//! Sizes and words of the source.

use std::path::{Path, PathBuf};

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for e in std::fs::read_dir(dir).unwrap() {
        let path = e.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(&path, out);
        } else if name.ends_with(".rs") || name.ends_with(".adl") || name.ends_with(".md") {
            out.push(path);
        }
    }
}

#[test]
fn files_are_small_and_finished() {
    let mut all = Vec::new();
    files(&adl_tests::root(), &mut all);
    let marks = [concat!("todo", "!("), concat!("unimpl", "emented!("), concat!("FIX", "ME"), concat!("#[ig", "nore")];
    let mut wrong = Vec::new();
    for path in &all {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().count();
        if lines > 1000 {
            wrong.push(format!("{}: {lines} lines", path.display()));
        }
        if path.extension().is_some_and(|e| e == "rs") {
            for m in marks {
                if text.contains(m) {
                    wrong.push(format!("{}: {m}", path.display()));
                }
            }
            let library = !path.components().any(|c| c.as_os_str() == "tests");
            let code = text.split("#[cfg(test)]").next().unwrap_or("");
            if library && code.contains(".unwrap()") {
                wrong.push(format!("{}: unwrap", path.display()));
            }
        }
    }
    assert!(all.len() > 60);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
