//! Formatting, lints and documentation, by the tools that Rust installs. A missing component is one line.

use std::process::Command;

/// Runs `cargo ARGS` at the root with warnings as errors. Skips, with a line, if the component `tool` is not installed.
fn clean(tool: &str, args: &[&str]) {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let is_there = Command::new(&cargo).args([tool, "-h"]).output().is_ok_and(|o| o.status.success());
    if !is_there {
        println!("`cargo {tool}` is missing: its check is skipped (rustup component add {tool})");
        return;
    }
    let out = Command::new(&cargo)
        .args(args)
        .current_dir(adl_tests::root())
        .env("RUSTDOCFLAGS", "-D warnings")
        .output()
        .unwrap_or_else(|e| panic!("{cargo} {args:?}: {e}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "cargo {}\n{stdout}{stderr}", args.join(" "));
}

#[test]
fn the_source_is_formatted() {
    clean("fmt", &["fmt", "--all", "--check"]);
}

#[test]
fn clippy_and_rustdoc_have_no_warnings() {
    clean("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]);
    clean("doc", &["doc", "--workspace", "--no-deps", "--quiet"]);
}
