//! The module in Python: a wheel of the library that cargo has just built, in environments below `target/`, and pytest, on the
//! newest Python there is and on 3.9. Without Python it prints one line.

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

/// The directory of the package for Python.
fn home() -> PathBuf {
    adl_tests::root().join("python")
}

/// The library, which cargo has put beside this test's binary, because the module is a dependency of it.
fn library() -> PathBuf {
    let built = std::env::current_exe().unwrap();
    let dir = built.parent().unwrap();
    let names = ["lib_adl.so", "lib_adl.dylib", "_adl.dll"];
    names.iter().map(|n| dir.join(n)).find(|p| p.is_file()).unwrap_or_else(|| panic!("no library in {}", dir.display()))
}

/// A Python, and its minor version.
type Python = (PathBuf, u32);

/// The Pythons of 3.9 and later that can make environments: on the path, and those of pyenv.
fn pythons() -> Vec<Python> {
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| std::env::home_dir().map(|h| h.join(".pyenv"))).map(|d| d.join("versions"));
    let versions = pyenv.and_then(|d| std::fs::read_dir(d).ok()).into_iter().flatten().flatten();
    let mut known: Vec<PathBuf> = versions.map(|v| v.path().join("bin/python3")).collect();
    known.push("python3".into());
    known.extend((9..=20).map(|minor| PathBuf::from(format!("python3.{minor}"))));
    let minor = |p: &PathBuf| {
        let text = "import sys, venv, ensurepip; print(sys.version_info[1] if sys.version_info[0] == 3 else 0)";
        run(Command::new(p).args(["-c", text])).ok()?.trim().parse().ok()
    };
    let mut found: Vec<Python> = known.into_iter().filter_map(|p| minor(&p).map(|m| (p, m))).collect();
    found.retain(|(_, minor)| *minor >= 9);
    found.sort_by_key(|(_, minor)| *minor);
    found.dedup_by_key(|(_, minor)| *minor);
    found
}

/// An environment with the packages that the tests need, made once; with its Python.
fn environment((python, minor): &Python) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python3.{minor}"));
    let wanted = std::fs::read_to_string(home().join("tests/requirements.txt")).unwrap();
    let mark = dir.join("installed.txt");
    if std::fs::read_to_string(&mark).ok().as_deref() == Some(wanted.as_str()) {
        return dir.join("bin/python");
    }
    let _ = std::fs::remove_dir_all(&dir);
    run(Command::new(python).args(["-m", "venv"]).arg(&dir)).unwrap();
    let mut pip = Command::new(dir.join("bin/python"));
    pip.args(["-m", "pip", "install", "-q", "-r"]).arg(home().join("tests/requirements.txt"));
    run(&mut pip).unwrap();
    std::fs::write(mark, wanted).unwrap();
    dir.join("bin/python")
}

/// Installs the wheel, and runs pytest. Returns what was skipped, and how many passed.
fn tested(python: &Path, wheel: &str) -> String {
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "-q", "--no-index", "--force-reinstall", "--no-deps", wheel]);
    run(&mut install).unwrap();
    // Another directory than that of the package, so that what is installed is imported.
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]).arg(home().join("tests"));
    pytest.current_dir(env!("CARGO_TARGET_TMPDIR"));
    let said = run(&mut pytest).unwrap_or_else(|e| panic!("{e}"));
    let lines = said.lines().filter(|l| l.starts_with("SKIPPED") || l.contains(" passed"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_module_works_in_python() {
    let found = pythons();
    let (Some(oldest), Some(newest)) = (found.first(), found.last()) else {
        say("the module for Python is not tested: expected python3 of 3.9 or later with venv, found none");
        return;
    };
    if oldest.1 > 9 {
        say("the module is not tested on Python 3.9, which is not installed");
    }
    // The name of the wheel says that it is for all of them.
    let python = environment(newest);
    let mut assemble = Command::new(&python);
    assemble.arg(home().join("tests/assemble.py")).arg(library()).arg(env!("CARGO_TARGET_TMPDIR"));
    let wheel = run(assemble.arg(env!("CARGO_PKG_VERSION"))).unwrap();
    // The two environments wait for a network and their tests for processes, so they do it side by side.
    let older = (oldest.1 == 9 && newest.1 > 9).then_some(oldest);
    std::thread::scope(|scope| {
        let of_older = older.map(|p| scope.spawn(|| tested(&environment(p), wheel.trim())));
        say(&format!("Python 3.{}:\n{}", newest.1, tested(&python, wheel.trim())));
        if let Some(said) = of_older.map(std::thread::ScopedJoinHandle::join) {
            say(&format!("Python 3.9:\n{}", said.unwrap_or_else(|e| std::panic::resume_unwind(e))));
        }
    });
}
