//! The REPL on a pseudo-terminal: keys, menus, display while typing, pagers, colours.

#[test]
fn what_is_typed_and_what_is_seen() {
    let mut python = crate::jupyter::python();
    python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interactive.py")).arg(env!("CARGO_BIN_EXE_adl"));
    let out = python.output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.contains("ok without_colours"), "{said}");
}
