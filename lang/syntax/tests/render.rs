//! Diagnostics as text and JSON.

use adl_syntax::diag::Diagnostic;
use adl_syntax::render;
use adl_syntax::span::{SourceMap, Span};

fn at(map: &SourceMap, text: &str) -> Span {
    let file = adl_syntax::span::FileId(0);
    let lo = map.get(file).and_then(|f| f.text.find(text)).expect("the text is there");
    Span::new(file, lo, lo + text.len())
}

fn map(text: &str) -> SourceMap {
    let mut map = SourceMap::default();
    map.add("train.adl", text);
    map
}

#[test]
fn two_places_a_note_and_a_hint() {
    let map = map("let a = [1.0, 2.0, 3.0]\nlet b = [1.0]\n\n\n\n\nlet c = a + b\n");
    let diagnostic = Diagnostic::error("E0301", at(&map, "a + b"), "[3]Float does not match [1]Float")
        .label("these are added")
        .also(at(&map, "[1.0, 2.0, 3.0]"), "size 3 is from here")
        .note("sizes are checked before anything runs")
        .hint("take the first 1 of `a`");
    let text = render::text(&diagnostic, &map, false);
    println!("{text}");
    for part in
        ["error[E0301]", "train.adl:7:9", "^^^^^ these are added", "size 3 is from here", "note", "take the first 1"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(render::text(&diagnostic, &map, true).contains("\x1b["));
}

#[test]
fn stacks() {
    let map = map("let f x = g x\nlet g x = 1 / x\n");
    let mut d = Diagnostic::error("E0701", at(&map, "1 / x"), "division by zero");
    d.stack = vec![("g".into(), at(&map, "g x")), ("f".into(), at(&map, "f x"))];
    let text = render::text(&d, &map, false);
    assert!(text.ends_with("  in `g` at train.adl:1:11\n  in `f` at train.adl:1:5"), "{text}");
    d.stack = (0..100_000).map(|_| ("f".to_owned(), at(&map, "f x"))).collect();
    let text = render::text(&d, &map, false);
    assert!(text.lines().count() < 50 && text.contains("99999 more of the same"), "{text}");
}

#[test]
fn long_lines_are_cut() {
    let long = format!("let x = {} oops {}\n", "1 + ".repeat(30_000), "+ 1".repeat(30_000));
    let map = map(&long);
    let text = render::text(&Diagnostic::error("E0201", at(&map, "oops"), "unknown name `oops`"), &map, false);
    println!("{text}");
    assert!(text.contains("oops") && text.lines().all(|l| l.chars().count() < 300), "{}", text.len());
}

#[test]
fn spans_over_many_lines_are_folded() {
    let body: String = (0..5_000).map(|i| format!("  print {i}\n")).collect();
    let text = format!("let f () =\n{body}let x = 1\n");
    let map = map(&text);
    let d = Diagnostic::error("E0201", Span::new(Default::default(), 0, 20_000), "all of this").label("here");
    let text = render::text(&d, &map, false);
    println!("{text}");
    assert!(text.lines().count() < 30, "{text}");
}

#[test]
fn odd_places_do_no_harm() {
    let odd = map("αβ\tγ");
    for (lo, hi) in [(0, 0), (1, 2), (7, 7), (7, 900), (900, 901), (3, 1)] {
        let d =
            Diagnostic::error("E0201", Span { file: Default::default(), lo, hi }, "a\nb").also(Span::default(), "x");
        render::text(&d, &odd, true);
        render::json(&d, &odd);
    }
    let d = Diagnostic::error("E0201", Span::default(), "no file");
    assert!(render::text(&d, &SourceMap::default(), false).contains("no file"));
    let empty = map("");
    assert!(render::text(&d, &empty, false).contains("no file"));
}

#[test]
fn json_is_one_object_a_line() {
    let map = map("let s = \"a\\b\"\n");
    let mut d = Diagnostic::warning("W0101", at(&map, "\"a"), "say \"hi\"\n\u{1}")
        .also(at(&map, "s ="), "here")
        .hint("no")
        .note("n");
    d.stack = vec![("f".into(), at(&map, "s"))];
    assert_eq!(
        render::json(&d, &map),
        "{\"code\":\"W0101\",\"severity\":\"warning\",\"message\":\"say \\\"hi\\\"\\n\\u0001\",\"file\":\"train.adl\",\"line\":1,\
         \"column\":9,\"end_line\":1,\"end_column\":11,\"labels\":[{\"text\":\"here\",\"file\":\"train.adl\",\"line\":1,\"column\":5,\
         \"end_line\":1,\"end_column\":8}],\"notes\":[\"n\"],\"hint\":\"no\",\"fix\":[],\"stack\":[{\"function\":\"f\",\"file\":\"train.adl\",\
         \"line\":1,\"column\":5,\"end_line\":1,\"end_column\":6}]}"
    );
}
