//! Candidates of a completion, letters by their names, and commands of other systems.

use adl_kernel::foreign::{THEIRS, command, entry};
use adl_kernel::latex_symbols::{LATEX_LETTERS, matching};
use adl_kernel::suggest::{asked, candidates, unclosed_string};
use adl_session::complete::Completion;

fn named(text: impl Into<String>, ty: &str) -> Completion {
    Completion { text: text.into(), ty: ty.into(), doc: String::new(), own: false }
}

#[test]
fn where_a_completion_begins() {
    for (text, start, first) in [
        ("\\alpha", 0, "α"),
        ("let x = so", 8, "so!"),
        ("π + so", 5, "so!"),
        (":ty", 0, ":type"),
        ("1\n:ty", 2, ":type"),
        ("12", 2, ""),
        ("", 0, "let"),
    ] {
        let (at, found) = candidates(text, &[(":type", "")], |p| vec![named(format!("{p}!"), "")]);
        assert_eq!((at, found.first().map_or("", |c| c.text.as_str())), (start, first), "{text}");
    }
}

#[test]
fn what_fits_by_place() {
    let names = |p: &str| {
        let all = ["radius", "rate", "r.radius", "r.rate", "Real", "Rect"];
        all.iter()
            .filter(|n| n.starts_with(p))
            .map(|n| named(*n, if *n == "Rect" { "type" } else { "Float" }))
            .collect::<Vec<_>>()
    };
    for (text, want) in [
        ("{r with ra", &["radius", "rate"][..]),
        ("{r with rate = 1.0, ra", &["radius", "rate"]),
        ("f {r with rate = (ra", &["radius", "rate"]),
        ("let f (x : Re", &["Rect"]),
        ("let f (x : Fl", &["Float"]),
        ("let f (g : Int -> Fl", &["Float"]),
        ("let radish = 1\nlet g rat = ra", &["rat", "radish", "radius", "rate"]),
        ("r.ra", &["r.radius", "r.rate"]),
    ] {
        let found: Vec<String> = candidates(text, &[], names).1.into_iter().map(|c| c.text).collect();
        assert_eq!(found, want, "{text}");
    }
}

#[test]
fn without_a_word() {
    let names = |p: &str| {
        let own =
            ["rate", "Rect"].map(|n| Completion { own: true, ..named(n, if n == "Rect" { "type" } else { "Float" }) });
        let all: Vec<Completion> = own.into_iter().chain([named("sum", "a"), named("r.radius", "Float")]).collect();
        all.into_iter().filter(|c| c.text.starts_with(p)).collect::<Vec<_>>()
    };
    let texts =
        |text: &str| candidates(text, &[(":type", "")], names).1.into_iter().map(|c| c.text).collect::<Vec<_>>();
    let first = texts("");
    assert_eq!(
        (&first[..3], first.last().map(String::as_str)),
        (&["rate", "Rect", "let"].map(str::to_owned)[..], Some(":type"))
    );
    for (text, want) in [
        ("sum ", &["rate", "Rect"][..]),
        ("let square = 1 in square * ", &["square", "rate", "Rect"]),
        ("{r with ", &["radius"]),
        ("let f (x : ", &["Bool", "F32", "Float", "Int", "Rect", "String"]),
        ("let ", &[]),
        ("let f x =\n  ", &[]),
        ("1 -- ", &[]),
    ] {
        assert_eq!(texts(text), want, "{text}");
    }
}

#[test]
fn questions() {
    for (text, want) in [
        ("?f", Some("f")),
        ("f?", Some("f")),
        ("??optim.adam", Some("optim.adam")),
        ("f x", None),
        ("?", None),
        ("? grad", Some("grad")),
        ("f x?", None),
    ] {
        assert_eq!(asked(text), want, "{text}");
    }
}

#[test]
fn open_strings() {
    assert_eq!(unclosed_string("read_csv \"a/b"), Some("a/b"));
    assert_eq!(unclosed_string("f \"a\" b"), None);
    assert_eq!(unclosed_string("f \"a\\\" b"), Some("a\\\" b"));
}

#[test]
fn no_word_has_two_answers() {
    let mut words: Vec<&str> = THEIRS.iter().flat_map(|(words, _)| words.split(' ')).collect();
    let count = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), count);
}

#[test]
fn commands_of_other_shells() {
    let own = [(":time", "measures"), (":quit", "leaves")];
    for (text, want) in [
        ("%timeit f x", ":time EXPR"),
        ("%time f x", "`:time`"),
        ("]add Plots", "packages"),
        (";ls", "shell"),
        ("!ls -l", "shell"),
        ("#quit", "`:quit`"),
        ("@time f x", "`:time`"),
        ("%frobnicate", ":help"),
    ] {
        assert!(entry(text, &own).is_some_and(|t| t.contains(want)), "{text}: {:?}", entry(text, &own));
    }
    for text in ["1 + 1", "!ready", "# a comment", "@inline f x", "%", "let x = 1"] {
        assert_eq!(entry(text, &own), None, "{text}");
    }
    assert_eq!(command("browse"), command("bro"));
}

#[test]
fn names_are_unique_and_whole_names_win() {
    for (i, (n, _)) in LATEX_LETTERS.iter().enumerate() {
        assert!(LATEX_LETTERS[..i].iter().all(|(m, _)| m != n), "{n}");
        assert_eq!(matching(n).len(), 1);
    }
    assert_eq!(matching("alpha"), [("alpha", "α")]);
    assert!(matching("vare").len() == 1 && matching("zzz").is_empty());
}

#[test]
fn every_letter_is_one_in_a_program() {
    for (n, l) in LATEX_LETTERS {
        let text = format!("let x{l} = 1");
        let (_, diags) = adl_syntax::parse(adl_syntax::span::FileId::default(), &text);
        assert!(diags.is_empty(), "\\{n}");
    }
}
