//! Earlier states of a session, and sessions as programs: undo, snapshots, saved files.

use adl_interp::host::NullHost;
use adl_session::Session;
use adl_session::internals::{imports_from, normal};
use std::path::Path;

fn value(s: &mut Session, text: &str) -> String {
    s.eval(text).echoes.pop().map_or("nothing".into(), |e| e.value())
}

#[test]
fn definitions_come_back() {
    let mut session = Session::new(Box::new(NullHost));
    session.eval("let x = 1");
    session.snapshot("first");
    session.eval("let x = 2");
    assert_eq!(value(&mut session, "x + 1"), "3");
    assert_eq!(session.undo().as_deref(), Some("let x = 2"));
    assert_eq!(value(&mut session, "x"), "1");
    session.eval("let y = 5");
    assert!(session.restore("first") && !session.restore("second"));
    assert!(!session.eval("y").ok());
    assert_eq!(session.undo().as_deref(), Some(":restore first"));
    assert_eq!(value(&mut session, "y"), "5");
    assert_eq!((session.undo().is_some(), session.undo().as_deref(), session.undo()), (true, Some("let x = 1"), None));
}

#[test]
fn what_is_kept_is_not_released() {
    let mut s = Session::new(Box::new(NullHost));
    s.eval("let x = iota 100_000");
    s.snapshot("all");
    for _ in 0..600 {
        s.eval("let x = iota 100_000");
        s.release();
    }
    assert!(s.restore("all"));
    assert_eq!(value(&mut s, "len x"), "100000");
}

fn saved(entries: &[&str]) -> String {
    let mut s = Session::new(Box::new(NullHost));
    entries.iter().for_each(|e| drop(s.eval(e)));
    s.program(Path::new(""))
}

#[test]
fn last_values_get_names() {
    assert_eq!(saved(&["1 + 1", "it * 3", "it + it1"]), "let it_1 = 1 + 1\n\nlet it_2 = it_1 * 3\n\nit_2 + it_1\n");
    assert_eq!(
        saved(&["2\nit + 1", "let f it = it"]),
        "let it_1 = 2\nit_1 + 1\n\nlet f it = it\n"
            .replace("f it = it", "f it_2 = it_2")
            .replace("it_1 + 1", "let it_2 = it_1 + 1")
    );
    assert_eq!(saved(&["{it = 3}.it"]), "{it = 3}.it\n");
}

#[test]
fn what_failed_is_left_out() {
    assert_eq!(saved(&["let x = 1\nlet y = x + \"a\"", "x"]), "let x = 1\n\nx\n");
    assert_eq!(saved(&["nothing_here", "let y = 2"]), "let y = 2\n");
}

#[test]
fn imports_of_other_directories_are_found() {
    assert_eq!(imports_from("import \"b.adl\" as B\n", "sub/a.adl", Path::new("")), "import \"sub/b.adl\" as B");
    assert_eq!(imports_from("import \"b.adl\" as B\n", "a.adl", Path::new("")), "import \"b.adl\" as B");
}

#[test]
fn one_name_a_file() {
    for (path, want) in [
        ("a/../b.adl", "b.adl"),
        ("./x/./y.adl", "x/y.adl"),
        ("../a.adl", "../a.adl"),
        ("../../a/b/../c", "../../a/c"),
        ("/a/../b", "/b"),
    ] {
        assert_eq!(normal(path), want);
    }
}
