//! Formatting, lints and documentation, by the tools that Rust installs. A missing component is one line.

use std::process::Command;

/// Runs `cargo ARGS` at the root with warnings as errors. Skips, with a line, if the component `tool` is not installed.
fn clean(tool: &str, args: &[&str], set: &[(&str, &str)]) {
    let cargo = cargo();
    let is_there = Command::new(&cargo).args([tool, "-h"]).output().is_ok_and(|o| o.status.success());
    if !is_there {
        println!("`cargo {tool}` is missing: its check is skipped (rustup component add {tool})");
        return;
    }
    let out = Command::new(&cargo)
        .args(args)
        .current_dir(adl_tests::root())
        .env("RUSTDOCFLAGS", "-D warnings")
        .envs(set.iter().copied())
        .output()
        .unwrap_or_else(|e| panic!("{cargo} {args:?}: {e}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "cargo {}\n{stdout}{stderr}", args.join(" "));
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

#[test]
fn the_source_is_formatted() {
    clean("fmt", &["fmt", "--all", "--check"], &[]);
}

/// `cargo clippy` is `cargo check` with another compiler for the workspace. Both commands here get that compiler, so that
/// rustdoc reads what clippy has checked, and nothing is checked twice.
#[test]
fn clippy_and_rustdoc_have_no_warnings() {
    let driver = std::path::Path::new(&cargo()).with_file_name("clippy-driver");
    let separator = "__CLIPPY_HACKERY__";
    let arguments = format!("-D{separator}warnings{separator}");
    let both = [("RUSTC_WORKSPACE_WRAPPER", driver.to_str().unwrap()), ("CLIPPY_ARGS", &arguments)];
    if !driver.exists() {
        clean("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"], &[]);
        return clean("doc", &["doc", "--workspace", "--no-deps", "--quiet"], &[]);
    }
    let set = &both[..];
    clean("clippy", &["check", "--workspace", "--all-targets", "--quiet"], set);
    clean("doc", &["doc", "--workspace", "--no-deps", "--quiet"], set);
}
