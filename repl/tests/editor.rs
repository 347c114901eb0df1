//! The parts of the editor: brackets, colours, completion, the menu of earlier entries, what is pasted, the history file.

use adl_cli::host;
use adl_cli::internals::{
    HEAD, MOST, Menu, MenuKey, append, brackets_at, candidates, coloured, keys, marked, odd, pasted, shorten,
    signature, wanted,
};
use adl_session::{Session, width};
use rustyline::history::{FileHistory, History, SearchDirection};
use std::path::Path;

#[test]
fn brackets_find_each_other() {
    let line = "f (a, [b]) c";
    let tokens = adl_syntax::tokens(line);
    assert_eq!(brackets_at(line, 2, &tokens), [2, 9]);
    assert_eq!(brackets_at(line, 10, &tokens), [9, 2]);
    assert_eq!(brackets_at(line, 6, &tokens), [6, 8]);
    assert!(brackets_at(line, 0, &tokens).is_empty());
    assert!(brackets_at("((a)", 0, &adl_syntax::tokens("((a)")).is_empty());
}

#[test]
fn colours_do_not_change_the_text() {
    for line in ["let f x = \"a\" -- c", "(* open", "f\"{x}\"", "α [1, 2] )"] {
        let text = coloured(line, 0, std::slice::from_ref(&(4..5)));
        let mut plain = String::new();
        let mut skip = false;
        for c in text.chars() {
            match (skip, c) {
                (false, '\x1b') => skip = true,
                (false, c) => plain.push(c),
                (true, 'm') => skip = false,
                (true, _) => {}
            }
        }
        assert_eq!(plain, line);
    }
}

#[test]
fn entries_that_want_more() {
    assert_eq!(wanted("let f x ="), Some(2));
    assert_eq!(wanted("let f x =\n  x"), Some(2));
    assert_eq!(wanted("let f x =\n  x\n  "), None);
    assert_eq!(wanted("1 + 1"), None);
    assert_eq!(wanted(":load"), None);
}

#[test]
fn candidates_by_place() {
    let mut session = Session::new(Box::new(host::Terminal::new(Vec::new())));
    session.eval("let point = {x = 1.0, y = {z = 2}}");
    let texts =
        |s: &mut Session, before: &str| candidates(s, before).1.into_iter().map(|p| p.replacement).collect::<Vec<_>>();
    assert_eq!(texts(&mut session, "2 * point."), ["point.x", "point.y"]);
    assert_eq!(texts(&mut session, "point.y."), ["point.y.z"]);
    assert_eq!(texts(&mut session, "poi"), ["point"]);
    assert_eq!(texts(&mut session, "")[..2], ["point", "let"]);
    assert_eq!(texts(&mut session, "2.0 * "), ["point"]);
    session.eval("type Shape = Circle Float | Dot");
    let display = |s: &mut Session, before: &str| {
        candidates(s, before).1.into_iter().map(|p| p.display.trim_end().to_owned()).collect::<Vec<_>>()
    };
    let circle = display(&mut session, "Circ").concat();
    assert!(
        circle.starts_with("Circle : Float -> Shape ") && circle.ends_with("type Shape = Circle Float | Dot"),
        "{circle}"
    );
    let of_entry = display(&mut session, "let f (side : Float) = let sides = [side] in sum si");
    assert!(of_entry[0] == "sides : [1]Float" && of_entry.contains(&"side : Float".to_owned()), "{of_entry:?}");
    assert_eq!(texts(&mut session, "\\alpha"), ["α"]);
    assert_eq!(texts(&mut session, ":re"), [":reload", ":restore", ":residuals", ":recompute", ":reset"]);
    assert_eq!(texts(&mut session, ":type poi"), ["point"]);
    assert!(texts(&mut session, "optim.").contains(&"optim.adam".to_owned()));
    assert!(texts(&mut session, "import \"sr").contains(&"src/".to_owned()));
    assert!(texts(&mut session, ":load src/ma").contains(&"main.rs".to_owned()));
    let displays: Vec<String> = candidates(&mut session, "point.x").1.into_iter().map(|p| p.display).collect();
    assert_eq!(displays, ["point.x : Float"]);
}

#[test]
fn keys_of_bytes() {
    assert_eq!(keys(b"\x1b[A"), [MenuKey::Older]);
    assert_eq!(keys(b"ab\x7f"), [MenuKey::Text("ab".into()), MenuKey::Erase]);
    assert_eq!(keys(b"\x1b"), [MenuKey::Cancel]);
    assert_eq!(keys(b"\x1b[1;5C\r"), [MenuKey::Nothing, MenuKey::Accept]);
    assert_eq!(keys("é".as_bytes()), [MenuKey::Text("é".into())]);
}

#[test]
fn entries_are_narrowed_and_chosen() {
    let all: Vec<String> = ["let f x = x", "sin 1.0", "let g x =\n  sin x"].map(String::from).to_vec();
    let mut menu = Menu::new(&all, "");
    assert_eq!(menu.lines(80).0.len(), 4);
    menu.press(MenuKey::Text("sin".into()));
    assert_eq!(
        menu.lines(80),
        (vec!["search: sin   (2 of 3)".into(), "  sin 1.0".into(), "  let g x = ⏎ sin x".into()], 1)
    );
    menu.press(MenuKey::Older);
    assert_eq!(menu.press(MenuKey::Accept), Some(Some("let g x =\n  sin x".into())));
    menu.press(MenuKey::Text("zzz".into()));
    assert_eq!((menu.press(MenuKey::Accept), menu.press(MenuKey::Cancel)), (Some(None), Some(None)));
    assert!(menu.lines(10).0.iter().all(|l| width(l) <= 10));
}

#[test]
fn the_parameter_is_marked() {
    let marked = |ty, nth, columns| {
        let (text, place) = signature("f", ty, "Words", nth, columns);
        let part = place.map(|r| text[r].to_owned());
        (text, part)
    };
    assert_eq!(
        marked("Num a => a -> [n]a -> Int", 1, 80),
        ("f : Num a => a -> [n]a -> Int   Words".into(), Some("[n]a".into()))
    );
    assert_eq!(marked("Int -> Int", 1, 80).1, None);
    assert_eq!(
        marked("{a : Float, b : Float} -> Int -> Bool", 1, 30),
        ("f : … -> Int -> Bool   Words".into(), Some("Int".into()))
    );
    assert!(width(&marked("{a : Float, b : Float} -> Int -> Bool", 0, 20).0) <= 20);
}

#[test]
fn only_numbers_are_marked() {
    let found = |text: &'static str| odd(text).into_iter().map(|r| &text[r]).collect::<Vec<_>>();
    assert_eq!(found("[nan, 1.0, -inf] : [3]Float, 1 nan, 1 inf"), ["nan", "-inf", "nan", "inf"]);
    assert_eq!(found("nan : Float"), ["nan"]);
    assert_eq!(found("inf = 3 : Int"), [""; 0]);
    assert_eq!(found("(\"nan \\\" inf\", nan_count, inf.x) : {nan : Int}"), [""; 0]);
    assert_eq!(found("  0.5  nan\n  1.0  inf"), ["nan", "inf"]);
    assert_eq!(marked("[nan]"), "[\x1b[31mnan\x1b[0m]");
}

#[test]
fn prompts_and_outputs_are_dropped() {
    assert_eq!(pasted("let x = 1\nx"), None);
    assert_eq!(
        pasted("adl> let x = 1\nx = 1 : Int\nadl> x + 1\n2 : Int\n"),
        Some(vec!["let x = 1".into(), "x + 1".into()])
    );
    assert_eq!(pasted("adl> let f x =\n...>   x\n...> \nf : a -> a"), Some(vec!["let f x =\n  x\n".into()]));
    assert_eq!(pasted("  adl> 1\n  1 : Int"), Some(vec!["1".into()]));
}

fn entries(path: &Path) -> Vec<String> {
    let mut h = FileHistory::default();
    h.load(path).unwrap();
    (0..h.len()).map(|i| h.get(i, SearchDirection::Forward).unwrap().unwrap().entry.into_owned()).collect()
}

#[test]
fn the_editor_reads_what_is_appended() {
    let path = std::env::temp_dir().join(format!("adl-history-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    shorten(&path).unwrap();
    let all = ["let x = 1", "let f y =\n  \"a\\n\" ++ y", "\\alpha"];
    for (i, e) in all.iter().enumerate() {
        append(&path, e).unwrap();
        assert_eq!(entries(&path), all[..=i]);
    }
    std::fs::write(&path, "old\n\\n").unwrap();
    shorten(&path).unwrap();
    append(&path, "new").unwrap();
    assert_eq!(entries(&path), ["old", "\\n", "new"]);
    let many: String = (0..=(2 * MOST)).map(|i| format!("{i}\n")).collect();
    std::fs::write(&path, format!("{HEAD}\n{many}")).unwrap();
    shorten(&path).unwrap();
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!((kept.lines().count(), kept.lines().last()), (MOST + 1, Some("20000")));
    let _ = std::fs::remove_file(&path);
}
