//! The command line, tested by runs of the binary.

use crate::common;

use common::{Dir, finish, text_of};
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn a_script_prints_only_what_it_prints() {
    let d = Dir::new("script");
    d.file("a.adl", "print 1\nlet x = 3\nprint f\"x = {x}\"\n").file("b.adl", "print 1\n\"not echoed\"\n5\n");
    d.adl(&["a.adl"]).is(0, "1\nx = 3\n", "");
    d.adl(&["./a.adl", "--unknown", "-x"]).is(0, "1\nx = 3\n", "");
    d.adl(&["b.adl"]).is(0, "1\n", "W0215");
}

#[test]
fn expressions_are_echoed_with_their_types() {
    let dir = Dir::new("e");
    for (text, want) in [
        ("1 + 2", "3 : Int\n"),
        ("6.0", "6.0 : Float\n"),
        ("[2.0, 4.0]", "[2.0, 4.0] : [2]Float\n"),
        ("\"a\"", "\"a\" : String\n"),
        ("print \"a\"", "a\n"),
        ("()", ""),
        ("", ""),
        ("-1", "-1 : Int\n"),
        ("None", "None : Option a\n"),
        ("fun x -> x + 1", "<fun> : Nums a => a -> a\n"),
        ("sin", "<fun sin> : Reals a => a -> a\n"),
        ("filter (fun x -> x > 1) [1, 2, 3]", "[2, 3] : [2]Int\n"),
        ("Some (filter (fun x -> x > 1) [1, 2, 3])", "Some [2, 3] : Option [2]Int\n"),
        ("let x = 3\nx * 2\nlet y = 4\ny", "6 : Int\n4 : Int\n"),
        ("let x = 3", "x = 3 : Int\n"),
        ("let f x = x", "f : a -> a\n"),
        ("grad (fun p -> p.a * p.a) {a = 3.0}", "{a = 6.0} : {a : Float}\n"),
    ] {
        dir.adl(&["-e", text]).is(0, want, "");
    }
    let long = dir.adl(&["-e", "iota 5000"]);
    assert!(long.out.ends_with("4998, 4999] : [5000]Int\n") && !long.out.contains('…'));
}

#[test]
fn arguments_reach_the_program() {
    let d = Dir::new("args");
    d.file("a.adl", "print (args ())");
    d.adl(&["a.adl"]).is(0, "[]\n", "");
    d.adl(&["a.adl", "one", "--json", "-e", "--", "x y"]).is(0, "[\"one\", \"--json\", \"-e\", \"--\", \"x y\"]\n", "");
    d.adl(&["-e", "args ()", "a", "-b"]).is(0, "[\"a\", \"-b\"] : [2]String\n", "");
}

#[test]
fn exit_codes() {
    let dir = Dir::new("codes");
    dir.file("bad.adl", "print 1\nlet x = 1 + \"a\"")
        .file("dies.adl", "print 1\nprint [1][3]")
        .file("ok.adl", "print 1");
    dir.adl(&["bad.adl"]).is(1, "", "E0205");
    dir.adl(&["dies.adl"]).is(1, "1\n", "E0701");
    dir.adl(&["missing.adl"]).is(1, "", "error[E0801]: missing.adl: there is no such file");
    dir.adl(&["."]).is(1, "", "it is a directory");
    dir.adl(&["chekc", "ok.adl"]).is(1, "", "did you mean `adl check`?");
    for args in [
        &["--bogus"][..],
        &["--frobnicate", "2", "ok.adl"],
        &["--device", "tpu", "ok.adl"],
        &["--color", "blue", "ok.adl"],
        &["--stack", "0", "ok.adl"],
        &["--stack", "much", "ok.adl"],
        &["check"],
        &["bench"],
        &["check", "--explain", "E9999"],
        &["-e", "1", "-e", "2"],
        &["-e"],
        &["-e", "1", "check", "ok.adl"],
        &["doc", "--html"],
    ] {
        let r = dir.adl(args);
        assert_eq!((r.code, r.out.as_str()), (2, ""), "{args:?}: {}", r.err);
        assert!(r.err.starts_with("error: "), "{args:?}: {}", r.err);
    }
    assert!(dir.adl(&["--help"]).out.contains("Usage"));
    dir.adl(&["--version"]).is(0, &format!("adl {}\n", env!("CARGO_PKG_VERSION")), "");
}

#[test]
fn a_gpu_that_is_not_there() {
    let d = Dir::new("gpu");
    d.file("ok.adl", "print (sum (for i < 100000 -> 1.0))");
    let run = |device: &str| {
        let out = d.command(&["--device", device, "ok.adl"]).env("ADL_GPU", "no such adapter").output().unwrap();
        (
            out.status.code(),
            String::from_utf8_lossy(&out.stdout).into_owned(),
            String::from_utf8_lossy(&out.stderr).into_owned(),
        )
    };
    let (code, out, err) = run("gpu");
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(
        err.contains("error[E0725]: no GPU: no adapter")
            && err.contains("= help: `auto` uses a GPU where there is one"),
        "{err}"
    );
    assert_eq!(run("auto").0, Some(0));
    assert_eq!(run("cpu").1, "100000.0\n");
}

#[test]
fn a_file_is_checked_before_any_of_it_runs() {
    let d = Dir::new("whole");
    d.file("m.adl", "print \"m\"").file("a.adl", "import \"m.adl\" as M\nprint 1\nlet x = 1 + \"a\"\n");
    d.adl(&["a.adl"]).is(1, "", "a.adl:3:13");
    d.adl(&["check", "m.adl"]).is(0, "", "");
}

#[test]
fn check_reports_every_error_of_every_file() {
    let dir = Dir::new("check");
    dir.file("a.adl", "let x = 1 + \"a\"\nlet y = foo\n")
        .file("b.adl", "let z = [1.0] + [1.0, 2.0]\n")
        .file("ok.adl", "let x = 1\n");
    let r = dir.adl(&["check", "a.adl", "ok.adl", "missing.adl", "b.adl"]);
    r.is(1, "", "E0205");
    for part in ["a.adl:1:13", "a.adl:2:9", "b.adl:1:17", "missing.adl: there is no such file"] {
        assert!(r.err.contains(part), "{part}: {}", r.err);
    }
    dir.adl(&["check", "ok.adl"]).is(0, "", "");
    dir.adl(&["check", "."]).is(1, "", "b.adl:1:17");
    let r = dir.adl(&["check", "--explain", "E0301"]);
    assert!(r.code == 0 && r.out.starts_with("E0301\n\n"), "{}", r.out);
    assert_eq!(dir.adl(&["check", "--explain", "e0301"]).out, r.out);
}

#[test]
fn json_diagnostics_are_objects_on_lines() {
    let dir = Dir::new("json");
    dir.file(
        "a.adl",
        "let x = 1 + \"a\\t\u{7f}\"\nlet é = 1\nlet y = fooo\nlet f x = match x with | 1 -> 2 | _ -> 3 | 4 -> 5\n",
    );
    let output = dir.adl(&["check", "--json", "a.adl", "missing.adl"]);
    assert_eq!(output.code, 1);
    let lines: Vec<serde_json::Value> =
        output.err.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect();
    assert_eq!(lines.len(), 4, "{}", output.err);
    for l in &lines {
        for key in ["code", "severity", "message", "file", "labels", "notes", "hint", "fix", "stack"] {
            assert!(l.get(key).is_some(), "{key}: {l}");
        }
    }
    let first = &lines[0];
    assert_eq!((first["code"].as_str(), first["severity"].as_str()), (Some("E0205"), Some("error")));
    assert_eq!(
        (first["line"].as_u64(), first["column"].as_u64(), first["end_line"].as_u64()),
        (Some(1), Some(13), Some(1))
    );
    assert!(first["end_column"].as_u64() > first["column"].as_u64() && first["labels"][0]["line"] == 1);
    assert!(lines.iter().any(|l| l["severity"] == "warning" && l["code"] == "W0403"));
    dir.file("b.adl", "let x =\n  grda sin 1.0\n");
    let r = dir.adl(&["check", "--json", "b.adl"]);
    let l: serde_json::Value = serde_json::from_str(r.err.trim()).unwrap();
    let fix = &l["fix"][0];
    assert_eq!(
        (fix["replacement"].as_str(), fix["line"].as_u64(), fix["column"].as_u64(), fix["end_column"].as_u64()),
        (Some("grad"), Some(2), Some(3), Some(7))
    );
    assert_eq!((fix["start"].as_u64(), fix["end"].as_u64()), (Some(10), Some(14)));
    let r = dir.adl(&["--json", "-e", "let f x = [1][x]\nf 3"]);
    let l: serde_json::Value = serde_json::from_str(r.err.trim()).unwrap();
    assert_eq!(l["stack"][0]["function"], "f");
}

#[test]
fn programs_from_standard_input() {
    let d = Dir::new("stdin");
    d.piped(&["--stdin"], "print 1\nprint 2").is(0, "1\n2\n", "");
    d.piped(&["-"], "print 1").is(0, "1\n", "");
    d.piped(&["--stdin", "a", "b"], "print (args ())").is(0, "[\"a\", \"b\"]\n", "");
    d.piped(&["check", "--stdin"], "let x = 1 + \"a\"").is(1, "", "<stdin>:1:13");
    d.piped(&["fmt", "--stdin"], "let   x=1").is(0, "let x = 1\n", "");
}

#[test]
fn colours() {
    let dir = Dir::new("color");
    dir.file("a.adl", "x");
    assert!(!dir.adl(&["a.adl"]).err.contains('\x1b'));
    assert!(dir.adl(&["--color", "always", "a.adl"]).err.contains('\x1b'));
    assert!(dir.adl(&["check", "a.adl", "--color=always"]).err.contains('\x1b'));
    assert!(!dir.adl(&["--color", "never", "a.adl"]).err.contains('\x1b'));
    let mut c = dir.command(&["a.adl"]);
    c.env("NO_COLOR", "1");
    assert!(!finish(c).err.contains('\x1b'));
    for (name, value, coloured) in
        [("FORCE_COLOR", "1", true), ("CLICOLOR_FORCE", "1", true), ("FORCE_COLOR", "0", false)]
    {
        let mut c = dir.command(&["a.adl"]);
        c.env(name, value);
        assert_eq!(finish(c).err.contains('\x1b'), coloured, "{name}={value}");
    }
}

#[test]
fn formatting() {
    let dir = Dir::new("fmt");
    let good = "let x = 1  -- kept\n";
    dir.file("a.adl", "let   x=1 -- kept")
        .file("ok.adl", good)
        .file("bad.adl", "let = 3")
        .file("bytes.adl", b"print 1\n\xff");
    dir.adl(&["fmt", "--check", "a.adl", "ok.adl"]).is(1, "a.adl\n", "");
    assert_eq!(dir.read("a.adl"), "let   x=1 -- kept");
    dir.adl(&["fmt", "a.adl", "ok.adl"]).is(0, "", "");
    assert_eq!((dir.read("a.adl").as_str(), dir.read("ok.adl").as_str()), (good, good));
    dir.adl(&["fmt", "--check", "a.adl", "ok.adl"]).is(0, "", "");
    dir.adl(&["fmt", "bad.adl"]).is(1, "", "bad.adl:1:5");
    assert_eq!(dir.read("bad.adl"), "let = 3");
    dir.adl(&["fmt", "bytes.adl"]).is(1, "", "not UTF-8");
    dir.adl(&["fmt", "missing.adl"]).is(1, "", "there is no such file");
    dir.file("a.adl", "let   x=1 -- kept");
    dir.adl(&["fmt", "--diff", "a.adl", "ok.adl"]).is(
        1,
        "--- a.adl\n+++ a.adl (formatted)\n@@ -1,1 +1,1 @@\n-let   x=1 -- kept\n+let x = 1  -- kept\n",
        "",
    );
    assert_eq!(dir.read("a.adl"), "let   x=1 -- kept");
    dir.file("all/b.adl", "let   y=1");
    let mut c = dir.command(&["fmt"]);
    c.current_dir(dir.path().join("all"));
    finish(c).is(0, "", "");
    assert_eq!(dir.read("all/b.adl"), "let y = 1\n");
}

#[test]
fn commands_that_are_words() {
    let dir = Dir::new("words");
    dir.file("a.adl", "print (args ())");
    dir.adl(&["run", "a.adl", "-x", "2"]).is(0, "[\"-x\", \"2\"]\n", "");
    dir.adl(&["version"]).is(0, concat!("adl ", env!("CARGO_PKG_VERSION"), "\n"), "");
    assert!(dir.adl(&["explain", "E0301"]).out.starts_with("E0301\n"));
    dir.piped(&["repl"], "1 + 1\n").is(0, "2 : Int\n", "");
    for shell in ["bash", "zsh", "fish"] {
        let r = dir.adl(&["completions", shell]);
        assert!(r.code == 0 && r.out.contains("notebook") && r.out.contains("against"), "{shell}: {}", r.out);
    }
    assert!(dir.adl(&["man"]).out.contains(".TH adl 1"));
    // Global flags are listed once.
    let (all, fmt) = (dir.adl(&["help"]).out, dir.adl(&["help", "fmt"]).out);
    assert!(all.contains("--threads") && all.contains("completions"), "{all}");
    assert!(!fmt.contains("--threads") && fmt.contains("--diff") && fmt.contains("`adl --help`"), "{fmt}");
    assert_eq!(fmt, dir.adl(&["fmt", "--help"]).out);
    assert!(dir.adl(&["fmt", "--threads", "1", "--check", "a.adl"]).code != 2);
}

#[test]
fn stacks_are_folded() {
    let d = Dir::new("stacks");
    d.file("a.adl", "let rec down n = if n == 0 then error \"here\" else 1 + down (n - 1)\nprint (down 12)\n");
    let r = d.adl(&["a.adl"]);
    assert!(r.err.contains("more of the same") && r.err.matches("in `down`").count() <= 2, "{}", r.err);
    assert!(d.adl(&["--full-stack", "a.adl"]).err.matches("in `down`").count() >= 10);
    d.file("b.adl", "let down x = x * 2.0\n");
    d.adl(&["ir", "b.adl", "dwn"]).is(1, "", "did you mean `down`?");
    d.file("loss.adl", "let loss (x : Float) = x * x\n");
    d.adl(&["ir", "loss.adl", "los"]).is(1, "", "did you mean `loss`?");
    d.adl(&["cost", "loss.adl", "los", "1.0"]).is(1, "", "did you mean `loss`?");
}

#[test]
fn tests_and_examples() {
    let dir = Dir::new("test");
    dir.file(
        "a.adl",
        "--| Doubles.\n--| >>> dbl 2\n--| 4 : Int\n--|\n--| >>> dbl 2.0\n--| 5.0 : Float\n--| >>> print (dbl 1)\n--| 2\n--| >>> let y = dbl 3\n--| >>> dbl \"a\"\n\
         let dbl x = x + x\ntest \"holds\" = dbl 1 == 2\ntest \"sides\" = dbl 1 == 3\ntest \"false\" = false\ntest \"dies\" = [1, 2][dbl 3] == 1\nprint \"runs\"\n",
    );
    let outcome = dir.adl(&["test", "a.adl"]);
    assert_eq!(outcome.code, 1, "{}{}", outcome.out, outcome.err);
    for part in [
        "runs\n",
        "a.adl:13:1: test \"sides\"\n    expected 3\n    actual   2\n",
        "a.adl:14:1: test \"false\"\n    it is false\n",
        "a.adl:15:1: test \"dies\"\n    error[E0701]",
        "`dbl 2.0`\n    expected 5.0 : Float\n    actual   4.0 : Float\n",
        "`dbl \"a\"`\n    expected nothing\n    actual   error[E0205]",
        "\n4 passed, 5 failed\n",
    ] {
        assert!(outcome.out.contains(part), "{part}: {}", outcome.out);
    }
    dir.file("good/b.adl", "test \"ok\" = true\n")
        .file("good/c.adl", "test \"ok\" = 1 == 1\n")
        .file("bad.adl", "let x = 1 + \"a\"");
    dir.adl(&["test", "good"]).is(0, "2 passed, 0 failed\n", "");
    dir.adl(&["test", "bad.adl"]).is(1, "0 passed, 0 failed\n", "E0205");
    let mut c = dir.command(&["test"]);
    c.current_dir(dir.path().join("good"));
    finish(c).is(0, "2 passed, 0 failed\n", "");
    let r = dir.adl(&["test", "-v", "--filter", "ok", "good", "a.adl"]);
    assert!(
        r.code == 0 && r.out.contains("good/b.adl: test \"ok\" holds\n") && r.out.ends_with("2 passed, 0 failed\n"),
        "{}",
        r.out
    );
    let r = dir.adl(&["test", "--json", "--filter", "sides", "a.adl"]);
    let item: serde_json::Value = serde_json::from_str(r.out.lines().last().unwrap()).unwrap();
    assert!(item["name"] == "test \"sides\"" && item["passed"] == false && item["place"] == "a.adl:13:1", "{}", r.out);
    dir.file("plain.adl", "test \"never\" = error \"run\"\nbench \"never\" = error \"run\"\nprint 1");
    dir.adl(&["plain.adl"]).is(0, "1\n", "");
}

#[test]
fn documentation() {
    let dir = Dir::new("doc");
    let output = dir.adl(&["doc", "sin"]);
    assert!(
        output.code == 0
            && output.out.starts_with("sin : Reals a => a -> a\n")
            && output.out.contains(">>> sin 0.0\n0.0 : Float"),
        "{}",
        output.out
    );
    assert!(dir.adl(&["doc", "optim.adam"]).out.contains("AdamW"));
    let module = dir.adl(&["doc", "optim"]).out;
    assert!(module.contains("optim.adam : ") && module.contains("optim.lbfgs : "), "{module}");
    dir.adl(&["doc", "tanhh"]).is(1, "", "did you mean `tanh`?");
    assert!(dir.adl(&["doc"]).out.lines().count() > 100);
    dir.file(
        "own.adl",
        "-- What is mine.\n\n--| Doubles. And more.\nlet double (x : Float) = 2.0 * x\nlet bare = 1\ntype T = A | B",
    );
    dir.adl(&["doc", "own.adl"]).is(
        0,
        "own.adl: What is mine.\n\ndouble : Float -> Float\n\nDoubles. And more.\n\nbare : Int\n\ntype T = A | B\n",
        "",
    );
    dir.adl(&["doc", "none.adl"]).is(1, "", "there is no such file");
    let r = dir.adl(&["doc", "--html", "out/pages"]);
    assert_eq!(r.code, 0, "{}", r.err);
    let (index, optim) = (dir.read("out/pages/index.html"), dir.read("out/pages/optim.html"));
    assert!(
        index.contains("href=\"optim.html#adam\"")
            && optim.contains("id=\"adam\"")
            && optim.contains("<summary>source</summary>")
    );
    // Every link inside the pages has a target.
    for link in index.split("href=\"").skip(1).map(|l| l.split('"').next().unwrap()) {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let page = dir.read(&format!("out/pages/{file}"));
        assert!(anchor.is_empty() || page.contains(&format!("id=\"{anchor}\"")), "{link}");
    }
    dir.file("plain", "");
    dir.adl(&["doc", "--html", "plain/x"]).is(1, "", "plain/x");
}

#[test]
fn documentation_of_a_file() {
    let d = Dir::new("doc-file");
    d.file("m.adl", "-- What is measured.\n\n--| The mean square. Of all.\n--| >>> rms [3.0, 3.0]\n--| 3.0 : Float\nlet rms (xs : [n]Float) = sqrt (mean (xs * xs))\n--| A place.\ntype P = P Float Float\nlet bare = 1\nprint \"not run\"\n");
    let want = "m.adl: What is measured.\n\nrms : [n]Float -> Float\n\nThe mean square. Of all.\n\n>>> rms [3.0, 3.0]\n3.0 : Float\n\ntype P = P Float Float\n\nA place.\n\nbare : Int\n";
    d.adl(&["doc", "m.adl"]).is(0, want, "");
    d.file("bad.adl", "let x = 1 + \"a\"\n");
    d.adl(&["doc", "bad.adl"]).is(1, "", "bad.adl:1:13");
    d.adl(&["doc", "none.adl"]).is(1, "", "none.adl: there is no such file");
}

#[test]
fn pages_have_a_search() {
    let d = Dir::new("doc-search");
    assert_eq!(d.adl(&["doc", "--html", "pages"]).code, 0);
    let script = d.read("pages/search.js");
    for entry in [
        "{name: \"optim.adam\", page: \"optim.html#adam\", sig: ",
        "{name: \"sin\", page: \"builtins.html#sin\", sig: ",
    ] {
        assert!(script.contains(entry), "{entry}");
    }
    for page in ["index", "builtins", "optim"] {
        let page = d.read(&format!("pages/{page}.html"));
        assert!(page.contains("<script src=\"search.js\"></script>") && page.contains("id=\"search\""), "{page}");
    }
}

#[test]
fn benches() {
    let dir = Dir::new("bench");
    dir.file(
        "a.adl",
        "print \"runs\"\nlet f n = sum (iota n)\nbench \"small\" = f 10\nbench \"thunk\" = fun () -> f 20\n",
    )
    .file("none.adl", "print 1");
    let text_run = dir.adl(&["bench", "a.adl"]);
    assert_eq!(text_run.code, 0, "{}", text_run.err);
    let lines: Vec<&str> = text_run.out.lines().collect();
    assert!(
        lines[0] == "runs"
            && lines[1].starts_with("name ")
            && lines[2].starts_with("small ")
            && lines[3].starts_with("thunk "),
        "{}",
        text_run.out
    );
    let json_run = dir.adl(&["bench", "--json", "a.adl"]);
    let item: serde_json::Value = serde_json::from_str(json_run.out.lines().nth(1).unwrap()).unwrap();
    let at = |k: &str| item[k].as_f64().unwrap();
    assert!(
        item["name"] == "small"
            && 0.0 < at("min")
            && at("min") <= at("quartile1")
            && at("quartile1") <= at("median")
            && at("median") <= at("quartile3")
    );
    assert!(at("iterations") >= at("samples"));
    let saved = dir.adl(&["bench", "--filter", "small", "--save", "one", "a.adl"]);
    assert!(saved.code == 0 && dir.read(".adl-bench/one.json").lines().count() == 1, "{}", saved.err);
    let r = dir.adl(&["bench", "--against", "one", "a.adl"]);
    assert!(
        r.out.lines().any(|l| l.starts_with("small ") && l.contains(" %  "))
            && r.out.lines().any(|l| l.starts_with("thunk ") && l.ends_with("new")),
        "{}",
        r.out
    );
    dir.adl(&["bench", "--against", "two", "a.adl"]).is(1, "", "there is no such file");
    dir.adl(&["bench", "none.adl"]).is(0, "1\nthere are no `bench \"name\" = e` items\n", "");
    dir.file("bad.adl", "bench \"dies\" = [1][2]");
    dir.adl(&["bench", "bad.adl"]).is(1, "", "E0701");
}

#[test]
fn odd_files() {
    let dir = Dir::new("odd");
    dir.file("crlf.adl", "print 1\r\nlet f x =\r\n  let y = x\r\n  y + 1\r\n\r\nprint (f 1)\r\n")
        .file("bom.adl", "\u{feff}print 1\n")
        .file("empty.adl", "")
        .file("blank.adl", "\n\n  \n");
    dir.file("comment.adl", "-- only\n(* this *)")
        .file("bytes.adl", b"print 1\n\xff\xfe")
        .file("nul.adl", b"print 1\0\n");
    dir.adl(&["crlf.adl"]).is(0, "1\n2\n", "");
    dir.adl(&["bom.adl"]).is(0, "1\n", "");
    for name in ["empty.adl", "blank.adl", "comment.adl"] {
        dir.adl(&[name]).is(0, "", "");
        dir.adl(&["check", name]).is(0, "", "");
        dir.adl(&["test", name]).is(0, "0 passed, 0 failed\n", "");
    }
    dir.adl(&["bytes.adl"]).is(1, "", "bytes.adl:2:1");
    assert_eq!(dir.adl(&["nul.adl"]).code, 1);
}

#[test]
fn a_script_reads_what_it_writes() {
    let d = Dir::new("written");
    d.file("w.adl", "write_csv \"new.csv\" {a = [1.5, 2.0]}\nlet t : {a : [_]Float} = read_csv \"new.csv\"\nprint t\n");
    d.file("untyped.adl", "write_csv \"other.csv\" {a = [1.5]}\nprint (read_csv \"other.csv\")\n");
    d.adl(&["check", "w.adl"]).is(0, "", "");
    d.adl(&["w.adl"]).is(0, "{a = [1.5, 2.0]}\n", "");
    d.adl(&["untyped.adl"]).is(1, "", "with an annotation");
}

#[test]
fn warnings_go_to_standard_error() {
    let d = Dir::new("warn");
    d.file("a.adl", "let f x = match x with | 1 -> 2 | _ -> 3 | 4 -> 5\nprint (f 1)");
    d.adl(&["a.adl"]).is(0, "2\n", "warning[W0403]");
    d.adl(&["check", "a.adl"]).is(0, "", "warning[W0403]");
}

#[cfg(unix)]
#[test]
fn output_that_cannot_be_written() {
    let d = Dir::new("full");
    d.file("a.adl", "loop x = () for i < 100000 do print i");
    let mut c = d.command(&["a.adl"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    if let Ok(full) = full {
        c.stdout(full);
        finish(c).is(1, "", "error[E0801]: standard output");
    }
    d.adl(&["-e", "write_text \"none/x\" \"a\""]).is(1, "", "E0801");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let d = Dir::new("head");
    d.file("a.adl", "loop x = () for i < 1000000 do print i");
    for args in [&["a.adl"][..], &["doc"], &["-e", "iota 1000000"]] {
        let mut child = d.command(args).spawn().unwrap();
        let mut first = [0u8; 5];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let o = child.wait_with_output().unwrap();
        assert_eq!(text_of(&o.stderr), "", "{args:?}");
        assert_eq!(o.status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn imports() {
    let dir = Dir::new("import");
    dir.file("lib/m.adl", "print \"m runs\"\nimport \"deep/n.adl\" as N\nlet k = 3\ntype S = C Float\nlet area s = match s with | C r -> N.twice r\n");
    dir.file("lib/deep/n.adl", "let twice x = x + x\n");
    dir.file("a.adl", "import \"lib/m.adl\" as M\nimport \"./lib/../lib/m.adl\" as O\nprint \"main\"\nprint (M.k + O.k)\nlet f (s : M.S) = M.area s\nprint (f (O.C 2.0))\n");
    dir.adl(&["a.adl"]).is(0, "m runs\nmain\n6\n4.0\n", "");
    let mut c = dir.command(&["../a.adl"]);
    c.current_dir(dir.path().join("lib"));
    finish(c).is(0, "m runs\nmain\n6\n4.0\n", "");
    dir.adl(&["check", "a.adl"]).is(0, "", "");
    dir.file("order.adl", "print \"before\"\nimport \"lib/m.adl\" as M\nprint M.k");
    dir.adl(&["order.adl"]).is(0, "before\nm runs\n3\n", "");
    dir.file("same.adl", "import \"lib/m.adl\" as M\nlet a = M.k\nimport \"lib/deep/n.adl\" as M\nprint (M.twice a)");
    dir.adl(&["same.adl"]).is(0, "m runs\n6\n", "");
}

#[test]
fn flags_of_old_names_are_accepted_with_a_warning() {
    let d = Dir::new("old-flags");
    d.file("a.adl", "print (grad (fun x -> x * sin x) 0.5)");
    let now = d.adl(&["--ad", "taped", "--derivation", "a.adl"]);
    let old = d.adl(&["--road", "tape", "--roads", "a.adl"]);
    assert_eq!((old.code, &old.out), (now.code, &now.out));
    assert!(old.err.contains("`--road tape` is now `--ad taped`"), "{}", old.err);
    assert!(old.err.contains("`--roads` is now `--derivation`"), "{}", old.err);
    assert!(old.err.ends_with(&now.err), "{}\n{}", now.err, old.err);
    d.adl(&["--roads", "a.adl"]).is(0, &now.out, "grad fun: compiled AD");
}

#[test]
fn imports_that_fail() {
    let dir = Dir::new("import-bad");
    dir.file("c1.adl", "import \"c2.adl\" as B\nprint B.x")
        .file("c2.adl", "import \"c3.adl\" as A")
        .file("c3.adl", "import \"c1.adl\" as A");
    dir.adl(&["c1.adl"]).is(1, "", "c1.adl imports itself: c1.adl -> c2.adl -> c3.adl -> c1.adl");
    dir.file("self.adl", "import \"self.adl\" as S");
    dir.adl(&["self.adl"]).is(1, "", "self.adl imports itself");
    dir.file("lib/bad.adl", "let x = 1 + \"a\"")
        .file("ib.adl", "import \"lib/bad.adl\" as B\nprint B.x\nlet y = B.x\nprint (y + 1)");
    let r = dir.adl(&["ib.adl"]);
    r.is(1, "", "lib/bad.adl:1:13");
    assert_eq!(r.err.matches("error[").count(), 1, "{}", r.err);
    dir.file("none.adl", "import \"lib/none.adl\" as B\nprint B.x");
    let r = dir.adl(&["none.adl"]);
    r.is(1, "", "lib/none.adl: there is no such file");
    assert_eq!(r.err.matches("error[").count(), 1, "{}", r.err);
    dir.file("lib/dies.adl", "let xs = [1]\nlet y = xs[3]").file("id.adl", "import \"lib/dies.adl\" as D\nprint 1");
    dir.adl(&["id.adl"]).is(1, "", "lib/dies.adl:2:9");
    dir.file("low.adl", "import \"lib/dies.adl\" as d");
    dir.adl(&["low.adl"]).is(1, "", "upper-case module name");
    dir.file("bare.adl", "import \"lib/dies.adl\"");
    dir.adl(&["bare.adl"]).is(1, "", "E0142");
    dir.file("std.adl", "import optimm");
    dir.adl(&["std.adl"]).is(1, "", "unknown standard module `optimm`");
    dir.file("dir.adl", "import \"lib\" as L");
    dir.adl(&["dir.adl"]).is(1, "", "it is a directory");
}

#[test]
fn a_binding_of_ones_own_wins_over_a_module() {
    let d = Dir::new("shadow");
    d.file("a.adl", "let random = {key = 3}\nprint random.key\nlet stats x = x + 1\nprint (stats 2)\nlet sin x = x\nprint (sin 2.0)\nimport linalg\nprint (linalg.det [[2.0]])\n");
    d.adl(&["a.adl"]).is(0, "3\n3\n2.0\n2.0\n", "");
}

#[test]
fn recursion_is_bounded_by_memory_alone() {
    let d = Dir::new("deep");
    d.file("deep.adl", "let rec f n = if n == 0 then 0 else 1 + f (n - 1)\nprint (f 1000000)")
        .file("endless.adl", "let rec f n = 1 + f n\nprint (f 1)");
    d.adl(&["deep.adl"]).is(0, "1000000\n", "");
    d.adl(&["--stack", "8", "deep.adl"]).is(1, "", "E0707");
    let r = d.adl(&["--stack", "16", "endless.adl"]);
    r.is(1, "", "error[E0707]");
    assert!(r.err.lines().count() < 60 && r.err.contains("in `f` at endless.adl:1:19"), "{}", r.err);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_run_with_its_stack() {
    let d = Dir::new("interrupt");
    for (name, text) in [
        ("tail", "let rec spin n = spin (n + 1)\nprint \"go\"\nprint (spin 0)"),
        ("loop", "print \"go\"\nprint (loop x = 0.0 while true do x + 1.0)"),
        ("map", "print \"go\"\nprint (sum (map (fun x -> sum (iota (10000 + x))) (iota 1000000)))"),
        ("for", "print \"go\"\nlet rec f n = if n == 0 then 0 else f (n - 1)\nprint (sum for i < 10000000 -> f i)"),
    ] {
        d.file("a.adl", text);
        let mut child = d.command(&["a.adl"]).stdin(Stdio::null()).spawn().unwrap();
        // Output to a pipe may stay in a buffer, so only time shows that the program runs.
        std::thread::sleep(Duration::from_millis(400));
        let start = Instant::now();
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let status = child.wait().unwrap();
        // The documentation says 0.1 s; the machine may be loaded by other tests.
        assert!(start.elapsed() < Duration::from_millis(500), "{name}: {:?}", start.elapsed());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(status.code(), Some(130), "{name}: {err}");
        assert!(err.contains("E0708") && err.contains("a.adl:"), "{name}: {err}");
        let mut out = String::new();
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(out, "go\n", "{name}");
        if name == "tail" {
            assert!(err.contains("in `spin`"), "{err}");
        }
    }
}

#[test]
fn the_first_nan_is_found() {
    let dir = Dir::new("nan");
    dir.file("a.adl", "let root (v : [n]Float) : Float =\n  sqrt (sum v)\nlet loss (v : [n]Float) : Float =\n  root v + maximum v\nprint (loss [0.0, 0.0])\nprint (grad loss [0.0, 0.0])\n");
    assert_eq!(dir.adl(&["a.adl"]).code, 0);
    let main = dir.adl(&["--check-nan", "a.adl"]);
    assert!(
        main.code == 1
            && main.out == "0.0\n"
            && main.err.contains("E0724")
            && main.err.contains("a.adl:2:3")
            && main.err.contains("a derivative of `loss`"),
        "{}",
        main.err
    );
    let taped = dir.adl(&["--check-nan", "--ad", "taped", "a.adl"]);
    assert!(
        taped.code == 1 && taped.err.contains("inf appeared here") && taped.err.contains("a.adl:6:8"),
        "{}",
        taped.err
    );
    // Inputs may be infinite; arrays are checked as a whole and by element.
    dir.adl(&["--check-nan", "-e", "(max (-inf) 3.0, sum [1.0, inf])"]).is(0, "(3.0, inf) : (Float, Float)\n", "");
    dir.adl(&["--check-nan", "-e", "log [1.0, 0.0]"]).is(1, "", "-inf appeared here");
    dir.adl(&["--check-nan", "-e", "loop s = 1.0 for i < 400 do s * 10.0"]).is(1, "", "e307 and 10.0");
}

#[test]
fn plans_costs_and_stages() {
    let dir = Dir::new("plans");
    dir.file("a.adl", "print \"not shown\"\nlet f (x : Float) : Float =\n  let s = sin x\n  s * x\nlet g (n : Int) x = loop y = x for i < n do y * y\n");
    let table = dir.adl(&["cost", "a.adl", "f", "0.5"]);
    assert_eq!(table.code, 0, "{}", table.err);
    assert!(table.out.contains("   3       1        2        3    16 B  let s = sin x\n"), "{}", table.out);
    assert!(!table.out.contains("not shown"));
    let json = dir.adl(&["--json", "cost", "a.adl", "f", "0.5"]);
    assert!(
        json.out.contains("\"adjoint\":5,")
            && json.out.contains("\"line\":3,\"primal\":1,\"source\":\"let s = sin x\""),
        "{}",
        json.out
    );
    assert!(dir.adl(&["cost", "a.adl", "g", "3", "0.5"]).out.contains(" all       3 "));
    dir.adl(&["cost", "a.adl", "f"]).is(2, "", "needs the function's arguments");
    dir.adl(&["cost", "a.adl", "h", "1"]).is(1, "", "E0201");
    for stage in ["core", "spec", "jvp", "unzip", "transpose", "opt"] {
        let out = dir.adl(&["ir", "--stage", stage, "a.adl", "f"]);
        assert!(
            out.code == 0 && out.out.contains("sin") != (stage == "transpose") && !out.out.contains("not shown"),
            "{stage}: {}{}",
            out.out,
            out.err
        );
        assert!(stage == "core" || out.out.contains("-- line "), "{stage}: {}", out.out);
    }
    // Types that are left open become Float.
    for (stage, sign) in [("clif", "fmul"), ("asm", "ret")] {
        let out = dir.adl(&["ir", "--stage", stage, "a.adl", "f"]);
        assert!(
            out.code == 0
                && out.out.contains("; primal f")
                && out.out.contains("; transpose linear f")
                && out.out.contains(sign),
            "{stage}: {}{}",
            out.out,
            out.err
        );
    }
    dir.adl(&["--no-jit", "ir", "--stage", "asm", "a.adl", "f"]).is(1, "", "--no-jit");
    dir.file("b.adl", "let norm (x : [_]Float) = let h = map (fun t -> tanh (t * 0.5)) x in dot h h + sum (map sin h)");
    let dead = dir.adl(&["ir", "--after", "dead", "b.adl", "norm"]);
    assert!(
        dead.code == 0 && dead.out.contains("-- after `dead`, run ") && dead.out.contains("return"),
        "{}",
        dead.out
    );
    assert!(dir.adl(&["ir", "--after", "split", "a.adl", "f"]).out.contains("changed nothing"));
    dir.adl(&["ir", "--after", "deed", "a.adl", "f"]).is(2, "", "a similar value exists: 'dead'");
    assert!(dir.adl(&["ir", "--timings", "a.adl", "f"]).out.contains("Loop fusion"));
    assert!(dir.adl(&["ir", "--stage", "spec", "a.adl", "g"]).out.contains("v1: f64"));
    dir.adl(&["ir", "--stage", "spec", "a.adl", "h"]).is(1, "", "E0201");
    assert!(dir.adl(&["ir", "--stage", "spec", "a.adl", "g", "3", "0.5"]).out.contains("loop for"));
    let e = "grad (fun (x : Float) -> loop y = x for i < 100 do sin y * x) 0.5";
    let all = dir.adl(&["-e", e]).out;
    for plan in ["store_all", "recompute_all", "auto", "budget 2000", "sqrt", "revolve 3"] {
        dir.adl(&["--plan", plan, "-e", e]).is(0, &all, "");
    }
    dir.adl(&["--plan", "budget 20", "-e", e]).is(1, "", "E0722");
    dir.adl(&["--plan", "some", "-e", e]).is(2, "", "store_all");
}

/// Unbounded growth of any data structure ends in an error with its place, and the REPL continues.
#[test]
#[cfg(target_os = "linux")]
fn memory_used_up_is_an_error() {
    let d = Dir::new("memory");
    let programs = [
        "let rec grow xs = grow (1.0 :: xs)\ngrow Nil\n",
        "let r = grad (fun x -> loop y = x while y != 2.0 do sin (y * x) * x + 0.1) 0.5\n",
        "let r = loop xs = [1.0] while len xs > 0 do xs ++ xs\n",
    ];
    for (i, text) in programs.iter().enumerate() {
        d.file("a.adl", text);
        for flags in [&[][..], &["--ad", "taped"], &["--no-jit"]] {
            let args: Vec<&str> = flags.iter().copied().chain(["--memory", "300", "a.adl"]).collect();
            let out = d.adl(&args);
            assert!(
                out.code == 1
                    && (out.err.contains("E0723") || (i == 2 && out.err.contains("E0710")))
                    && out.err.contains("a.adl:"),
                "{args:?}: {}",
                out.err
            );
        }
    }
}

#[test]
fn pictures_of_scripts_and_of_costs() {
    let dir = Dir::new("pictures");
    let train =
        "let go n = loop x = 1.0 for i < n do\n  plot.watch \"loss\" x\n  x / 2.0\nlet _ = go 50\nprint \"done\"\n";
    dir.file("train.adl", train).file("a.adl", "let f (x : Float) = loop y = x for i < 9 do\n  sin y * x\nplot.save \"a.svg\" (plot.line_y [1.0, 2.0])\nplot.save \"a.PNG\" (plot.line_y [1.0, 2.0])\n");
    let run = dir.adl(&["train.adl"]);
    assert!(
        run.code == 0 && run.out.starts_with("done\n") && run.out.contains("━ loss") && !run.out.contains('\x1b'),
        "{}{}",
        run.out,
        run.err
    );
    assert_eq!(run.out.matches("━ loss").count(), 1, "only the last picture is written to a pipe");
    dir.adl(&["a.adl"]).is(0, "", "");
    assert!(
        dir.read("a.svg").starts_with("<svg ")
            && std::fs::read(dir.path().join("a.PNG")).is_ok_and(|b| b.starts_with(b"\x89PNG"))
    );
    dir.adl(&["cost", "--svg", "c.svg", "a.adl", "f", "0.5"]).is(0, "", "");
    assert!(dir.read("c.svg").contains("sin y * x</text>"));
    dir.adl(&["cost", "--svg", "none/c.svg", "a.adl", "f", "0.5"]).is(1, "", "there is no such directory");
    dir.adl(&["-e", "plot.save \"none/a.svg\" (plot.line_y [1.0])"]).is(1, "", "E0801");
    dir.adl(&["-e", "plot.show (plot.line_y [1.0])"]).is(0, &dir.adl(&["-e", "plot.live (plot.line_y [1.0])"]).out, "");
}

/// A panic is an error with exit code 1. In the REPL the entry changes nothing, and the next one runs.
#[test]
fn panics_are_internal_errors() {
    let dir = Dir::new("panics");
    dir.file("a.adl", "let x = [3.0, 1.0]\nprint (sort x)");
    let error = "error[E0901]: internal error at lang/interp/src/fault.rs:";
    let panicking = |point: &str, args: &[&str]| {
        let mut c = dir.command(args);
        c.env("ADL_TEST_PANIC", point).env_remove("RUST_BACKTRACE");
        c
    };
    for (point, args) in
        [("interpreter", &["a.adl"][..]), ("checker", &["check", "a.adl"]), ("renderer", &["-e", "1 + 1"])]
    {
        let run = finish(panicking(point, args));
        assert!(!run.err.contains("stack backtrace"), "{}", run.err);
        run.is(1, "", error);
    }
    // Threads that serve a session: one entry hears of it.
    dir.file("entries", "1\nloop x = 0.0 for i < 30000000 do x + 1.0\nlen [1, 2]\n");
    let mut c = panicking("memory", &[]);
    c.stdin(std::fs::File::open(dir.path().join("entries")).unwrap());
    let run = finish(c);
    assert_eq!(run.err.matches(error).count(), 1, "{}", run.err);
    assert!(run.out.ends_with("2 : Int\n"), "{}", run.out);
    for (point, out) in [("interpreter", "a = 1 : Int\n2 : Int\n"), ("renderer", "1 : Int\n2 : Int\n")] {
        dir.file("entries", "let a = 1\nlen (reverse [1])\nlen [1, 2]\n");
        let mut c = panicking(point, &[]);
        c.stdin(std::fs::File::open(dir.path().join("entries")).unwrap());
        finish(c).is(1, out, error);
    }
}
