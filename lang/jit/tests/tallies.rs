//! What native code is made of, in numbers of instructions: of the programs of single passes, of random chains of
//! operations, and of loops that are vectorised. Values do not tell that a faster way is no longer taken; these numbers
//! do. They are of short vectors, which all processors have. `UPDATE=1` rewrites `tallies.txt`.

#[path = "../../ad/tests/common/tally.rs"]
mod tally;

use adl_interp::ir::native::{Listing, LoweredIr};
use adl_ir::generate::{maps, rows};
use adl_ir::{Program, Ty};
use adl_jit::Vectors;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use tally::Tally;

/// The programs of passes, by the name of their file.
fn files() -> BTreeMap<String, Vec<Program>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../opt/tests/passes");
    let paths = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let program = adl_ir::parse::program(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        (path.file_stem().unwrap().to_string_lossy().into_owned(), vec![program])
    };
    paths.filter(|p| p.extension().is_some_and(|e| e == "ir")).map(read).collect()
}

fn programs() -> BTreeMap<String, Vec<Program>> {
    let mut all = files();
    let chains =
        |ty: Ty| (0..12).map(move |seed| rows::chain(3000 + seed, 4 + seed as usize % 9, &ty, |_| true).program);
    all.insert("chains".into(), [Ty::F64, Ty::F32, Ty::I64].into_iter().flat_map(chains).collect());
    all.insert("maps".into(), (0..12).map(|seed| maps::program(3000 + seed, 3 + seed as usize % 8).program).collect());
    all
}

/// Counts the instructions of a listing. Other lines declare functions, blocks, constants and places on the stack.
fn count(listing: &str, tally: &mut Tally) {
    for line in listing.lines().map(str::trim) {
        let code = match line.split_once(" = ") {
            Some((results, code)) if results.starts_with('v') => code,
            Some(_) => continue,
            None => line,
        };
        let word = code.split([' ', ',']).next().unwrap_or("");
        let declares = ["block", "function"].iter().any(|w| word.starts_with(w));
        if word.starts_with(|c: char| c.is_ascii_lowercase()) && !declares {
            tally.add(word, 1);
        }
    }
}

#[test]
fn native_code_has_the_recorded_instructions() {
    let compiler = adl_jit::compiler_with(Vectors::Short);
    let mut text = String::new();
    for (name, programs) in programs() {
        let mut tally = Tally::default();
        for program in &programs {
            let source = LoweredIr::of(program);
            for at in 0..program.funcs.len() as u32 {
                match compiler.listing(&source, at, Listing::Clif) {
                    Ok(listing) => count(&listing, &mut tally),
                    Err(_) => tally.add("refused", 1),
                }
            }
        }
        _ = writeln!(text, "{name}: {tally}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tallies.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let changed: Vec<String> = text
        .lines()
        .zip(recorded.lines())
        .filter(|(new, old)| new != old)
        .map(|(new, old)| format!("{old}\nis now\n{new}"))
        .collect();
    assert!(text == recorded, "{} programs have other instructions:\n{}", changed.len(), changed.join("\n"));
}
