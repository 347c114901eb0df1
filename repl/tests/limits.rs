//! Programs that need more memory than is available. Each ends with adl's own error under any limit, and the session
//! survives.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]
#![cfg(target_os = "linux")]

use crate::common;

use common::{Dir, RunOutput, finish};
use std::process::{Command, Stdio};

/// Programs, named by the operation that uses the memory.
const HUNGRY: &[(&str, &str)] = &[
    ("interpreted calls", "let rec f n = if n == 0 then 0 else 1 + f (n - 1)\nprint (f 1000000000000)"),
    (
        "native calls",
        "let rec f xs n = if n == 0 then xs else f (n :: xs) (n - 1)\nprint (list.length (f Nil 1000000000000))",
    ),
    (
        "nested data",
        "type T = Leaf | Node T Int\nlet rec f n = if n == 0 then Leaf else Node (f (n - 1)) n\nlet x = f 1000000000000\nprint 1",
    ),
    ("a list", "let xs = loop xs = Nil for i < 1000000000000 do i :: xs\nprint (list.length xs)"),
    (
        "a tape",
        "let f (x : Float) : Float = loop y = x for i < 1000000000 do (let u = (if i == -1 then print \"\" else ()) in sin (y + x))\nprint (grad f 0.5)",
    ),
    (
        "stored values of a loop",
        "let f (x : Float) : Float = loop y = x for i < 1000000000 do sin (y + x)\nprint (grad f 0.5)",
    ),
    (
        "doubling a text",
        "let rec f (s : String) n = if n == 0 then s else f (s ++ s) (n - 1)\nlet s = f \"abcdefgh\" 60\nprint 1",
    ),
    ("doubling an array", "let rec f a n = if n == 0 then a else f (a ++ a) (n - 1)\nprint (len (f [1.0, 2.0] 60))"),
    ("an array", "print (sum (replicate 30000 (replicate 30000 1.0))[3])"),
    ("a comprehension", "let a = linspace 0.0 1.0 100000\nprint (for i < 100000, j < 100000 -> a[i] * a[j])[0, 0]"),
    ("arrays of texts", "print (len (map show (iota 1000000000)))"),
    ("a matrix product", "let a = random.uniform (random.key 1) [15000, 15000]\nprint (a @ a)[0, 0]"),
    (
        "a scan",
        "print (len (scan (fun (a, b) (c, d) -> (a + c, b * d)) (0.0, 1.0) (map (fun i -> (float i, 1.0)) (iota 200000000))))",
    ),
    ("a sort", "print (sum (sort (random.uniform (random.key 1) [200000000])))"),
];

/// A run under a limit of the address space in KiB.
fn limited(d: &Dir, kib: u32, args: &[&str], input: &str) -> RunOutput {
    d.file("input", input);
    let mut c = Command::new("sh");
    c.arg("-c").arg(format!("ulimit -v {kib} && exec \"$0\" \"$@\"")).arg(env!("CARGO_BIN_EXE_adl")).args(args);
    c.current_dir(d.path())
        .env("ADL_HISTORY", "")
        .stdin(std::fs::File::open(d.path().join("input")).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    finish(c)
}

fn ends_well(what: &str, r: &RunOutput) {
    let ours =
        r.err.contains("error[E0723]: memory is used up") || r.err.contains("error[E0710]: there is not enough memory");
    assert!(r.code == 1 && ours && r.out.is_empty(), "{what}: {} {}{}", r.code, r.out, r.err);
    assert!(r.err.contains("a.adl:"), "{what}: no place in {}", r.err);
}

#[test]
fn the_limit_of_the_address_space_is_an_error() {
    let d = Dir::new("address-space");
    for (what, text) in HUNGRY {
        d.file("a.adl", text);
        ends_well(what, &limited(&d, 500_000, &["--threads", "2", "a.adl"], ""));
    }
    for (what, text) in &HUNGRY[..5] {
        d.file("a.adl", text);
        ends_well(what, &limited(&d, 500_000, &["--no-jit", "a.adl"], ""));
    }
}

#[test]
fn the_limit_that_was_asked_for_is_an_error() {
    let d = Dir::new("asked");
    for (what, text) in HUNGRY {
        d.file("a.adl", text);
        ends_well(what, &d.adl(&["--memory", "150", "a.adl"]));
    }
}

#[test]
fn dense_derivatives_are_refused_before_they_are_made() {
    let d = Dir::new("dense");
    let f = "let f (v : [_]Float) : Float = sum (sin v) * sum (v * v) * prod (cos v)\nlet g (v : [_]Float) : [_]Float = v * sum v\nlet x = linspace 0.0 1.0 20000\n";
    for call in ["hessian f x", "jacobian g x", "jacfwd g x", "jacrev g x"] {
        d.file("a.adl", format!("{f}let h = {call}\nprint (h[0, 0])"));
        for r in [
            limited(&d, 2_000_000, &["a.adl"], ""),
            d.adl(&["--memory", "1000", "a.adl"]),
            d.adl(&["--memory", "1000", "--ad", "taped", "a.adl"]),
        ] {
            ends_well(call, &r);
            for part in ["the dense matrix of 20000 by 20000 derivatives", "3.2 GB are needed", "jacobian_sparse"] {
                assert!(r.err.contains(part), "{call}: {}", r.err);
            }
        }
    }
}

#[test]
fn a_file_that_is_too_large_is_refused_before_it_is_read() {
    let d = Dir::new("large-file");
    std::fs::File::create(d.path().join("large")).and_then(|f| f.set_len(4 << 30)).unwrap();
    for call in ["(read_npy \"large\" : [_]Float)", "read_text \"large\"", "(read_json \"large\" : Float)"] {
        d.file("a.adl", format!("let a = {call}\nprint 1"));
        for r in [limited(&d, 2_000_000, &["a.adl"], ""), d.adl(&["--memory", "1000", "a.adl"])] {
            assert!(
                r.code == 1 && r.err.contains("error[E0710]: there is not enough memory for the file large"),
                "{call}: {}",
                r.err
            );
        }
    }
}

#[test]
fn a_session_lives_on_with_what_it_has() {
    let d = Dir::new("lives-on");
    let mut input = "let keep = linspace 0.0 1.0 100000\n".to_owned();
    for (_, text) in &HUNGRY[..8] {
        input += &format!("{text}\nsum keep\nsum (sort (linspace 0.0 1.0 300000))\n");
    }
    for r in [limited(&d, 500_000, &[], &input), d.piped(&["--memory", "150"], &input)] {
        assert_eq!(r.code, 1, "{}", r.err);
        assert_eq!(r.out.matches("\n50000.0 : Float\n150000.0 : Float").count(), 8, "{}{}", r.out, r.err);
    }
}
