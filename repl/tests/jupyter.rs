//! The kernel under Jupyter itself: its own tests for kernels, what users count on, and notebooks. Python's packages are installed below
//! `target/` the first time; what cannot be installed is a failure that says so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs a command; its output, or what it said when it failed.
fn run(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let out = command.output().map_err(|e| format!("{shown}: {e}"))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if out.status.success() { Ok(text) } else { Err(format!("{shown} failed:\n{text}")) }
}

/// The last line of what went wrong, for a failure in one line.
fn gist(e: &str) -> &str {
    e.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("")
}

/// A Python environment with Jupyter in it, and the kernel under test installed there.
fn environment() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("jupyter");
        let wanted = std::fs::read_to_string(root().join("tests/jupyter/requirements.txt")).unwrap();
        let mark = dir.join("installed.txt");
        if std::fs::read_to_string(&mark).ok().as_deref() != Some(wanted.as_str()) {
            let _ = std::fs::remove_dir_all(&dir);
            let made = run(Command::new("python3").args(["-m", "venv"]).arg(&dir));
            let installed = made.and_then(|_| run(Command::new(dir.join("bin/python")).args(["-m", "pip", "install", "-q", "-r"]).arg(root().join("tests/jupyter/requirements.txt"))));
            if let Err(e) = installed {
                panic!("the tests of the kernel need python3 with venv, and packages from PyPI: {}", gist(&e));
            }
            std::fs::write(mark, wanted).unwrap();
        }
        run(Command::new(env!("CARGO_BIN_EXE_adl")).args(["kernel", "install", "--prefix"]).arg(&dir)).unwrap();
        dir
    })
}

/// A command in the environment that sees no other Jupyter than its own.
fn jupyter(program: &str) -> Command {
    let dir = environment();
    let mut c = Command::new(dir.join("bin").join(program));
    c.current_dir(root()).env("VIRTUAL_ENV", dir).env("JUPYTER_PATH", dir.join("share/jupyter")).env("JUPYTER_DATA_DIR", dir.join("data")).env("JUPYTER_RUNTIME_DIR", dir.join("runtime")).env("JUPYTER_CONFIG_DIR", dir.join("config")).env("IPYTHONDIR", dir.join("ipython")).env("JUPYTER_PLATFORM_DIRS", "1");
    c
}

#[test]
fn jupyters_own_tests() {
    let said = run(jupyter("python").arg("tests/jupyter/conformance.py")).unwrap_or_else(|e| panic!("{e}"));
    assert!(!said.contains("skipped"), "{said}");
    assert!(said.contains("Ran 13 tests"), "{said}");
}

#[test]
fn what_users_count_on() {
    let said = run(jupyter("python").arg("tests/jupyter/behaviour.py")).unwrap_or_else(|e| panic!("{e}"));
    assert!(said.contains("OK"), "{said}");
}

#[test]
fn front_ends_find_the_kernel() {
    let said = run(jupyter("jupyter").args(["kernelspec", "list", "--json"])).unwrap();
    let found: serde_json::Value = serde_json::from_str(&said[said.find('{').unwrap()..=said.rfind('}').unwrap()]).unwrap();
    let adl = &found["kernelspecs"]["adl"];
    assert_eq!((adl["spec"]["display_name"].as_str(), adl["spec"]["interrupt_mode"].as_str()), (Some("adl"), Some("message")));
    let dir = Path::new(adl["resource_dir"].as_str().unwrap());
    assert!(["logo-svg.svg", "logo-32x32.png", "logo-64x64.png"].iter().all(|f| dir.join(f).is_file()));
}

#[test]
fn installing_and_removing() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernelspec");
    let _ = std::fs::remove_dir_all(&dir);
    let adl = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_adl")).args(args).env("JUPYTER_DATA_DIR", dir.join("user")).env("VIRTUAL_ENV", dir.join("venv")).output().unwrap();
    for (flag, place) in [(&["--user"][..], "user/kernels/adl"), (&["--sys-prefix"], "venv/share/jupyter/kernels/adl"), (&[], "user/kernels/adl")] {
        let with = |what: &'static str| [&["kernel", what][..], flag].concat();
        assert!(adl(&with("install")).status.success());
        assert!(dir.join(place).join("kernel.json").is_file());
        assert!(adl(&with("install")).status.success(), "again");
        assert!(adl(&with("uninstall")).status.success());
        assert!(!dir.join(place).exists());
        assert_eq!(adl(&with("uninstall")).status.code(), Some(1));
    }
    assert_eq!(adl(&["kernel", "install", "--user", "--sys-prefix"]).status.code(), Some(2));
}
