//! Positions in texts and in files, and changes of texts.

use adl_lsp::internals::{Encoding, Text, in_comment, in_table, path_of, uri_of};
use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use std::path::Path;
use std::str::FromStr;

#[test]
fn positions_count_units_of_the_editor() {
    let text = "a = \"αβ𝄞\"\nx";
    for (encoding, columns) in [(Encoding::Utf16, 10), (Encoding::Utf8, 14)] {
        let t = Text::new(text.to_owned(), encoding);
        let end = t.position(text.find('\n').unwrap());
        assert_eq!((end.line, end.character), (0, columns));
        for (at, _) in text.char_indices() {
            assert_eq!(t.offset(t.position(at)), at);
        }
        assert_eq!(t.offset(Position { line: 0, character: 99 }), text.find('\n').unwrap());
        assert_eq!(t.offset(Position { line: 9, character: 0 }), text.len());
    }
}

#[test]
fn changes_apply_in_order() {
    let at = |l, c| Position { line: l, character: c };
    let change = |from, to, text: &str| TextDocumentContentChangeEvent {
        range: Some(Range { start: from, end: to }),
        range_length: None,
        text: text.to_owned(),
    };
    let t = Text::new("one\ntwo\n".to_owned(), Encoding::Utf16);
    let now = t.changed(vec![change(at(0, 3), at(1, 0), ""), change(at(0, 0), at(0, 1), "O\n")]);
    assert_eq!(now.text, "O\nnetwo\n");
    assert_eq!(now.range_of(2..4), Range { start: at(1, 0), end: at(1, 2) });
}

#[test]
fn addresses_and_paths() {
    for path in ["/a/b c/ü.adl", "/x/100%.adl"] {
        assert_eq!(path_of(&uri_of(Path::new(path)).unwrap()).unwrap(), Path::new(path));
    }
    let odd = Uri::from_str("file:///c%3A/a/../b.adl").unwrap();
    assert_eq!(path_of(&odd).unwrap(), Path::new("c:/b.adl"));
    assert!(path_of(&Uri::from_str("untitled:1").unwrap()).is_none());
}

#[test]
fn numbers_of_lines() {
    assert_eq!(in_comment("  v1: f64 = sin v0  -- line 12"), Some((20..30, 12)));
    assert_eq!(in_comment("  λ_1: f64 = sin v0"), None);
    assert_eq!(in_table(" 3     7  sin y           Float × 10"), Some((7..8, 7)));
    assert_eq!(in_table(" 0        (argument)      [2]Float"), None);
    assert_eq!(in_table("1  revolve 8        32 B"), None);
}
