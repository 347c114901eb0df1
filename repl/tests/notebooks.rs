//! The notebooks produce the outputs that are stored in them.

use std::path::{Path, PathBuf};
use std::process::Command;

fn notebooks() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../notebooks");
    let mut found: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|x| x == "ipynb"))
        .collect();
    found.sort();
    found
}

/// The notebooks of adl's own kernel. That of Python's is run by the tests of `python/`, and the test `ranks` runs the one
/// over several ranks.
fn of_adl() -> Vec<PathBuf> {
    let is_adl = |p: &PathBuf| std::fs::read_to_string(p).unwrap().contains("\"language\": \"adl\"");
    notebooks().into_iter().filter(is_adl).collect()
}

#[test]
fn outputs_are_those_that_are_stored() {
    let mut books = of_adl();
    books.retain(|p| !p.ends_with("ranks.ipynb"));
    assert!(books.len() >= 10, "{books:?}");
    let out =
        Command::new(env!("CARGO_BIN_EXE_adl")).args(["notebook", "run", "--check"]).args(&books).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn every_notebook_was_run_whole() {
    for path in of_adl() {
        let book: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(book["metadata"]["kernelspec"]["name"], "adl", "{path:?}");
        let code: Vec<&serde_json::Value> =
            book["cells"].as_array().unwrap().iter().filter(|c| c["cell_type"] == "code").collect();
        assert!(code.len() >= 5, "{path:?}");
        assert!(code.iter().all(|c| c["execution_count"].is_number()), "{path:?}");
    }
}

/// The text of a cell.
fn source(cell: &serde_json::Value) -> String {
    cell["source"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str).collect()
}

#[test]
fn lessons_can_be_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../notebooks/README.md");
    let index = std::fs::read_to_string(path).unwrap();
    for path in notebooks() {
        let book: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(index.contains(&format!("({name})")), "{name} is not in the index");
        let cells = book["cells"].as_array().unwrap();
        let mut figures = 0;
        for (i, cell) in cells.iter().enumerate() {
            for line in source(cell).lines() {
                assert!(line.chars().count() <= 88, "{name}, cell {}: {line}", i + 1);
            }
            for output in cell["outputs"].as_array().into_iter().flatten() {
                figures += usize::from(!output["data"]["image/png"].is_null());
            }
        }
        assert!((3..=6).contains(&figures), "{name}: {figures} figures");
        let text: String = cells.iter().map(source).collect();
        for part in ["**What you will learn**", "$$", "## Try", "(README.md)"] {
            assert!(text.contains(part), "{name}: no {part}");
        }
        // Links go to files that are there.
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(path.with_file_name(link).is_file(), "{name}: {link}");
        }
    }
}
