//! Standard streams that are closed or full, and sessions on a pipe that stays open.

use crate::common;

use adl_cli::internals::{NextInput, belongs_to_entry};
use common::{Dir, RunOutput, finish};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Much longer than any answer takes.
const LONG: Duration = Duration::from_secs(60);

/// A REPL whose input stays open.
struct Open {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Open {
    fn new(d: &Dir) -> Open {
        let mut child = d.command(&[]).stdin(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || output.lines().map_while(Result::ok).all(|l| sender.send(l).is_ok()));
        Open { input: child.stdin.take(), child, lines }
    }

    /// Sends a text in one write and compares the lines that come back.
    fn says(&mut self, text: &str, want: &[&str]) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        for w in want {
            assert_eq!(self.lines.recv_timeout(LONG).as_deref(), Ok(*w), "after {text:?}");
        }
    }

    fn quiet(&self) {
        assert!(self.lines.recv_timeout(Duration::from_millis(300)).is_err());
    }

    fn end(mut self) -> Option<i32> {
        self.input = None;
        let code = self.child.wait().unwrap().code();
        assert!(self.lines.recv_timeout(LONG).is_err(), "something is left");
        code
    }
}

#[test]
fn entries_run_when_they_are_complete() {
    let d = Dir::new("open-pipe");
    let mut repl = Open::new(&d);
    repl.says("let x = 1\nprint \"a\"\n", &["x = 1 : Int", "a"]);
    repl.says("x + 1\n", &["2 : Int"]);
    repl.says("\n\nx + 2\n\n", &["3 : Int"]);
    // An indented block ends with an empty line, or before another entry.
    repl.says("let f y =\n  y + x\n", &[]);
    repl.quiet();
    repl.says("\n", &["f : (Nums a, a + Int : a) => a -> a"]);
    repl.says("let g y =\n  let z = y\n\n  z + 2\nlet h = g 1\n", &["g : Nums a => a -> a", "h = 3 : Int"]);
    repl.says("match x with\n| 1 -> \"one\"\n", &[]);
    repl.quiet();
    repl.says("| _ -> \"more\"\n\n", &["\"one\" : String"]);
    // A syntactically incomplete entry waits, even after empty lines.
    repl.says("(1,\n\n", &[]);
    repl.quiet();
    repl.says("  2)\n", &["(1, 2) : (Int, Int)"]);
    // Lines that arrive together are parsed together.
    repl.says("[1, 2]\n|> sum\n", &["3 : Int"]);
    repl.says(":type x\n", &["x : Int"]);
    repl.says("let s = io.input \"name? \"\n", &[]);
    repl.says("Ada\n", &["name? s = \"Ada\" : String"]);
    // The last line needs no line end.
    repl.says("x + 41", &[]);
    repl.quiet();
    repl.input = None;
    assert_eq!(repl.lines.recv_timeout(LONG).as_deref(), Ok("42 : Int"));
    assert_eq!(repl.end(), Some(0));
}

#[test]
fn an_interrupt_ends_a_session_on_a_pipe() {
    let d = Dir::new("idle-pipe");
    let mut repl = Open::new(&d);
    repl.says("1\n", &["1 : Int"]);
    Command::new("kill").args(["-INT", &repl.child.id().to_string()]).status().unwrap();
    assert_eq!(repl.child.wait().unwrap().code(), Some(130));
}

/// Every command that prints, with its input.
const PRINTING: &[(&[&str], &str)] = &[
    (&["-e", "1"], ""),
    (&["a.adl"], ""),
    (&["--stdin"], "print 1\n"),
    (&[], "1\n"),
    (&["--version"], ""),
    (&["--help"], ""),
    (&["check", "--explain", "E0701"], ""),
    (&["fmt", "--check", "narrow.adl"], ""),
    (&["fmt", "--stdin"], "let x=1"),
    (&["test", "a.adl"], ""),
    (&["doc"], ""),
    (&["doc", "sin"], ""),
    (&["doc", "--html", "pages"], ""),
    (&["ir", "a.adl", "f"], ""),
    (&["cost", "a.adl", "f", "1.0"], ""),
    (&["kernel", "install", "--prefix", "prefix"], ""),
];

fn programs(d: &Dir) {
    d.file("a.adl", "let f (x : Float) : Float = x * x\nprint 1\ntest \"one\" = 1 == 1\n")
        .file("narrow.adl", "let x=1\n");
}

/// A run with some of its streams redirected by the shell.
fn shell(d: &Dir, streams: &str, args: &[&str], input: &str) -> RunOutput {
    d.file("input", input);
    let mut c = Command::new("sh");
    c.arg("-c").arg(format!("exec \"$0\" \"$@\" {streams}")).arg(env!("CARGO_BIN_EXE_adl")).args(args);
    c.current_dir(d.path())
        .env("ADL_HISTORY", "")
        .stdin(std::fs::File::open(d.path().join("input")).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    finish(c)
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_is_closed_or_full_is_an_error() {
    let dir = Dir::new("closed");
    programs(&dir);
    for (args, input) in PRINTING {
        for (streams, why) in
            [(">&-", "standard output: it is closed"), (">/dev/full", "standard output: No space left on device")]
        {
            shell(&dir, streams, args, input).is(1, "", why);
        }
        // Also if messages cannot be written either.
        shell(&dir, ">&- 2>&-", args, input).is(1, "", "");
        shell(&dir, ">/dev/null 2>&-", args, input).is(if args.contains(&"--check") { 1 } else { 0 }, "", "");
    }
    // A command that prints nothing does not fail.
    shell(&dir, ">&-", &["check", "a.adl"], "").is(0, "", "");
    shell(&dir, ">&-", &["-e", "()"], "").is(0, "", "");
    shell(&dir, "<&-", &["-e", "1"], "").is(0, "1 : Int\n", "");
    shell(&dir, "<&-", &[], "").is(0, "", "");
    shell(&dir, "<.", &[], "").is(1, "", "standard input: it is a directory");
    shell(&dir, "<&-", &["--stdin"], "").is(1, "", "standard input is closed");
    shell(&dir, "2>&-", &["-e", "1 // 0"], "").is(1, "", "");
}

#[test]
fn a_reader_that_goes_away_ends_a_run_quietly() {
    let d = Dir::new("gone");
    d.file("many.adl", "loop u = () for i < 100000000 do print i");
    for args in [&["many.adl"][..], &["-e", "iota 10000000"], &["doc"]] {
        let mut c = d.command(args).spawn().unwrap();
        drop(c.stdout.take());
        let o = c.wait_with_output().unwrap();
        assert_eq!((o.status.code(), o.stderr.len()), (Some(0), 0), "{args:?}");
    }
}

#[test]
fn a_session_that_cannot_be_saved() {
    let d = Dir::new("unsaved");
    let r = d.piped(&[], "let x = 1\n:save no/such/file.adl\nx + 1\n");
    r.is(1, "x = 1 : Int\n2 : Int\n", "error: no/such/file.adl: there is no such directory");
    d.piped(&[], "let x = 1\n:save .\n").is(1, "x = 1 : Int\n", "it is a directory");
}

#[test]
fn entries_end_where_items_end() {
    for (text, next, want) in [
        ("1 + 1\n", "2", false),
        ("let f x =\n", "  x", true),
        ("let f x =\n  x\n", "f 1", false),
        ("let f x =\n  x\n", "", true),
        ("let f x =\n  x\n\n", "f 1", false),
        ("xs\n", "|> sum", true),
        ("x\n", "- 1", true),
        ("x\n", "-1", false),
        ("--| doc\n", "let f x = x", true),
        ("1 +\n", "let x = 2", false),
        ("(1,\n", "2)", true),
        (":type x\n", "  1", false),
    ] {
        assert_eq!(belongs_to_entry(text, NextInput::Line(next)), want, "{text:?} {next:?}");
    }
}

#[test]
fn complete_entries_do_not_wait() {
    for (text, want) in [
        ("1 + 1\n", false),
        ("let x = 1\n", false),
        ("-- a comment\n", false),
        ("--| doc\n", true),
        ("1 +\n", true),
        ("let f x =\n", true),
        ("let f x =\n  x\n", true),
        ("let f x =\n  x\n\n", false),
        ("let f x =\n  x;;\n", false),
        ("let f x =\n\n", true),
        ("f (1,\n", true),
        ("f (1,\n  2)\n", false),
        ("match x with\n| 1 -> 2\n", true),
        ("match x with\n| 1 -> 2\n\n", false),
        ("print \"open\n", true),
        (":type x\n", false),
        ("foo )\n", false),
        ("\n", false),
    ] {
        assert_eq!(belongs_to_entry(text, NextInput::Later), want, "{text:?}");
    }
    assert!(!belongs_to_entry("1 +\n", NextInput::End));
}
