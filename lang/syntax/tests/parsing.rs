//! Programs that parse, and errors in programs that do not.

use adl_syntax::ast::*;
use adl_syntax::span::FileId;
use adl_syntax::stop::{Stopped, listen};
use adl_syntax::{Completeness, completeness, parse};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn ok(text: &str) -> Program {
    let (p, d) = parse(FileId(0), text);
    assert!(d.is_empty(), "{text}\n{d:#?}");
    p
}

fn codes(text: &str) -> Vec<&'static str> {
    parse(FileId(0), text).1.iter().map(|d| d.code).collect()
}

#[test]
fn items_of_a_file() {
    let p = ok(
        "--| doc\nlet f x = x\n\nlet g x =\n  let y = x\n  y + 1\ntype T a = A a | B {x : Int}\n  | C\nand U = D\nf 1 ;; g 2\nimport \"a.adl\" as M\ntest \"t\" = true\n",
    );
    assert_eq!(p.items.len(), 7);
    assert_eq!(p.items[0].doc.as_deref(), Some("doc"));
}

#[test]
fn the_example_of_the_design_parses() {
    ok(
        "let loss (w : [d]Float) (x : [n][d]Float) (y : [n]Float) : Float =\n  let p = map (fun row -> sigmoid (dot row w)) x\n  mean (map2 (fun p y -> -(y * log p + (1.0 - y) * log (1.0 - p))) p y)\n\nlet w1 = loop w = replicate 4 0.0 for i < 200 do\n  w - 0.1 * grad (fun w -> loss w x y) w\n",
    );
}

#[test]
fn layouts() {
    for text in [
        "let f x = match x with\n| 0 -> 1\n| _ -> 2\n",
        "let f x =\n  match x with\n  | Some y ->\n    match y with\n    | 0 -> 1\n    | _ -> 2\n  | None -> 3\n",
        "let f x = if x > 0 then 1\nelse 2\n",
        "let f x =\n  if x then\n    1\n  else\n    2\n",
        "let y = a\n  |> f\n  |> g\n",
        "let y = foo (fun x ->\n    let z = x\n    z) 3\n",
        "let a = [\n  1.0,\n  2.0\n]\n",
        "let s = sum for i < n, j < m -> x[i, j] * [| i < j |] * y[j]\n",
        "let s = xs |> map fun x -> x + 1.0\n",
        "let f = (+)\nlet g = (*)\nlet h = (-)\n",
        "let x = let a = 1 in a + 1\n",
        "let p : Diff w => Float -> w -> w = fun a w -> w\n",
        "let t = x[1:2, :, i].T\n",
        "let e = {r with a = 1.0, b}\n",
        "let (a, b) = (1, 2)\nlet a :: b = xs\n",
        "let f = lin (x, y) -> x - y\nlet g : [n]Float -o Float = h\n",
        "let w = loop (a, b) = (1, 2) while a < 3 do (a + 1, b)\n",
        "print f\"a {x + 1} {{}} {f \"q\"}\"\n",
        "let f x = print x; x\nf 1; f 2\n",
        "  let x = 1\n  let y = 2\n",
        "let rec even n = n == 0 || odd (n - 1)\nand odd n = n != 0 && even (n - 1)\n",
        "let v = -x ^ 2 - -1\n",
        "let g x =\n  let y = x\n  -y\n",
        "let f x =\n  x\n  + 1\n",
        "let r = {a = fun x -> x, b = 2}\n",
    ] {
        ok(text);
    }
}

#[test]
fn minus_at_the_start_of_an_entry_negates() {
    let p = ok("let g x =\n  f x\n  -x\n");
    let ItemKind::Let(group) = &p.items[0].kind else { panic!() };
    let ExprKind::Block(stmts) = &group.bindings[0].body.kind else { panic!("{group:?}") };
    assert_eq!(stmts.len(), 2);
}

#[test]
fn each_independent_error_is_reported() {
    assert_eq!(codes("let x = \nlet y = 1\nlet z = (2\nlet w = if a = b then 1 else 2\n"), ["E0112", "E0111", "E0113"]);
    assert_eq!(codes("let x = 1 < 2 < 3\n"), ["E0114"]);
    assert_eq!(codes("let s = \"abc\nlet t = 'a\n"), ["E0102", "E0101"]);
    assert_eq!(codes("let f x =\n  let y = x\n"), ["E0115"]);
}

#[test]
fn deep_and_odd_texts_are_errors_and_not_crashes() {
    assert_eq!(codes(&"(".repeat(100_000)), ["E0107"]);
    assert_eq!(codes(&format!("let x = 1{}", " + 1".repeat(100_000))), ["E0107"]);
    assert_eq!(codes(&format!("let x = {}", "-".repeat(100_001))), ["E0112"], "dashes are a comment");
    assert!(codes(&format!("let x : {}Int = 1", "[3]".repeat(100_000))).contains(&"E0107"));
    ok("");
    ok("-- only a comment\n(* and (* another *) *)\n");
}

#[test]
fn entries_of_the_repl() {
    assert_eq!(completeness("let x = 1"), Completeness::Complete);
    assert_eq!(completeness("let f x ="), Completeness::Incomplete(2));
    assert_eq!(completeness("let f x =\n  x + 1"), Completeness::Incomplete(2));
    assert_eq!(completeness("let f x =\n  x + 1\n"), Completeness::Complete);
    assert_eq!(completeness("foo (1,"), Completeness::Incomplete(2));
    assert_eq!(completeness("foo )"), Completeness::Invalid);
}

#[test]
fn random_soups_do_not_crash() {
    let words = [
        "let", "rec", "=", "(", ")", "[", "]", "{", "}", "x", "f", "1", "2.0", "\n", "\n  ", "\n    ", "if", "then",
        "else", "match", "with", "|", "->", "fun", "lin", "for", "<", "loop", "while", "do", "in", "and", "type", "A",
        ",", ";", ";;", ":", ".", "..", "[|", "|]", "+", "-", "*", "\"s\"", "f\"{", "}\"", "(*", "*)", "--", "as", "_",
        "::", "@", "^", "=>", "when", "import", "test",
    ];
    let mut seed = 1u64;
    for _ in 0..3000 {
        let mut text = String::new();
        for _ in 0..40 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push_str(words[(seed >> 33) as usize % words.len()]);
            if seed & 1 << 20 != 0 {
                text.push(' ');
            }
        }
        let _ = parse(FileId(0), &text);
        let _ = completeness(&text);
    }
}

#[test]
fn many_errors_are_cut_short() {
    let text = "let f (x : int) = x\n".repeat(500) + &"let x = )\n".repeat(500);
    let errors = parse(FileId(0), &text).1;
    assert_eq!(errors.iter().filter(|d| d.is_error()).count(), adl_syntax::parser::MAX_ERRORS);
    assert!(errors.last().is_some_and(|d| d.is_error() && d.notes[0].contains("600 more")), "{:?}", errors.last());
}

#[test]
fn an_index_that_is_missing_before_a_comma_is_an_error() {
    for (text, errors) in [("let x = m[,1]\n", 1), ("let x = m[1, ,0]\n", 1), ("let x = m[1, 0]\n", 0)] {
        let (_, diagnostics) = parse(FileId(0), text);
        assert_eq!(diagnostics.iter().filter(|d| d.code == "E0112").count(), errors, "{text}");
    }
}

#[test]
fn a_flag_ends_parsing_while_somebody_listens() {
    let flag = Arc::new(AtomicBool::new(true));
    let parse = || parse(FileId(0), "let x = 1").0.items.len();
    let stopped = std::panic::catch_unwind(|| {
        let _listening = listen(flag);
        parse()
    });
    assert!(stopped.is_err_and(|e| e.is::<Stopped>()));
    assert_eq!(parse(), 1);
}
