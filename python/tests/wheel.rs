//! The module in Python: a wheel of the library that cargo has just built, in an environment below `target/`, and pytest.
//! Without Python it prints one line.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command; returns its output, or its messages if it failed.
fn run(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let out = command.output().map_err(|e| format!("{shown}: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if out.status.success() { Ok(text) } else { Err(format!("{shown} failed:\n{text}")) }
}

/// Writes a line that is shown although the test holds.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The library, beside this test's binary.
fn library() -> PathBuf {
    let built = std::env::current_exe().unwrap();
    let dir = built.parent().unwrap();
    let names = ["lib_adl.so", "lib_adl.dylib", "_adl.dll"];
    names.iter().map(|n| dir.join(n)).find(|p| p.is_file()).unwrap_or_else(|| panic!("no library in {}", dir.display()))
}

/// An environment with the packages that the tests need, made once; `None` without a Python that has venv.
fn environment() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let wanted = std::fs::read_to_string(home().join("tests/requirements.txt")).unwrap();
    let mark = dir.join("installed.txt");
    if std::fs::read_to_string(&mark).ok().as_deref() == Some(wanted.as_str()) {
        return Some(dir);
    }
    let _ = std::fs::remove_dir_all(&dir);
    if let Err(e) = run(Command::new("python3").args(["-m", "venv"]).arg(&dir)) {
        let why = e.lines().last().unwrap_or("");
        say(&format!("the module for Python is not tested: expected python3 with venv, found {why}"));
        return None;
    }
    let mut pip = Command::new(dir.join("bin/python"));
    pip.args(["-m", "pip", "install", "-q", "-r"]).arg(home().join("tests/requirements.txt"));
    run(&mut pip).unwrap();
    std::fs::write(mark, wanted).unwrap();
    Some(dir)
}

#[test]
fn the_module_works_in_python() {
    let Some(dir) = environment() else { return };
    let python = dir.join("bin/python");
    let mut assemble = Command::new(&python);
    assemble.arg(home().join("tests/assemble.py")).arg(library()).arg(&dir).arg(env!("CARGO_PKG_VERSION"));
    let wheel = run(&mut assemble).unwrap();
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "-q", "--no-index", "--force-reinstall", "--no-deps"]).arg(wheel.trim());
    run(&mut install).unwrap();
    // Another directory than that of the package, so that what is installed is imported.
    let mut pytest = Command::new(dir.join("bin/pytest"));
    pytest.args(["-q", "-rs", "-p", "no:cacheprovider"]).arg(home().join("tests")).current_dir(&dir);
    let said = run(&mut pytest).unwrap_or_else(|e| panic!("{e}"));
    // What was skipped, and how many passed.
    let lines = said.lines().filter(|l| l.starts_with("SKIPPED") || l.contains(" passed"));
    say(&lines.collect::<Vec<_>>().join("\n"));
}
