//! `adl fmt`: snapshots in `tests/formatting/*.txt` (source, `---`, canonical text; `UPDATE=1` rewrites), and its
//! guarantees for every available program.

use crate::common;

use adl_syntax::format::{WIDTH, format, format_counting};
use adl_syntax::span::FileId;
use std::fmt::Write;

#[test]
fn snapshots() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/formatting");
    let mut failures = String::new();
    for entry in std::fs::read_dir(dir).expect("cases") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("readable");
        let mut updated = String::new();
        for case in text.split("=== ").skip(1) {
            let (name, rest) = case.split_once('\n').expect("a name");
            let (source, expected) = rest.split_once("\n---\n").unwrap_or((rest.trim_end(), ""));
            let (actual, kept) = format_counting(source).unwrap_or_else(|d| panic!("{name}: {d:#?}"));
            assert_eq!(kept, 0, "{name}: an item could not be formatted\n{source}");
            check(source);
            if actual.trim_end() != expected.trim_end() {
                let _ = write!(failures, "{name}\n--- expected\n{expected}--- actual\n{actual}");
            }
            let _ = write!(updated, "=== {name}\n{source}\n---\n{}\n\n", actual.trim_end());
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, updated).expect("writable");
            failures.clear();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

fn tree(text: &str) -> (String, Vec<String>) {
    let file = FileId::default();
    let lexed = adl_syntax::lexer::lex(file, text);
    let comments =
        lexed.comments.iter().map(|c| text[c.span.lo as usize..c.span.hi as usize].replace('\r', "")).collect();
    (adl_syntax::dump::program(&adl_syntax::parse(file, text).0), comments)
}

/// Checks the formatter's guarantees for a text that parses. Returns the number of items left as written.
fn check(text: &str) -> Option<usize> {
    let (once, kept) = format_counting(text).ok()?;
    assert_eq!(tree(text), tree(&once), "the tree or the comments changed\n{text}\n--- became\n{once}");
    let twice = format(&once).expect("formatted text parses");
    assert_eq!(once, twice, "not a fixed point\n{text}");
    Some(kept)
}

#[test]
fn every_program_of_the_repository() {
    for (path, text) in common::adl_files() {
        let kept = check(&text);
        assert_eq!(kept, Some(0), "{}", path.display());
        let formatted = format(&text).expect("it parses");
        // Some error tests are about layout.
        assert!(
            formatted == text || path.to_string_lossy().contains("/errors/"),
            "{}: run `adl fmt` on it",
            path.display()
        );
        if let Some(dir) = std::env::var_os("FORMATTED") {
            let name = path.file_name().expect("a name");
            std::fs::write(std::path::Path::new(&dir).join(name), &formatted).expect("writable");
        }
        for line in formatted.lines().filter(|l| !l.contains("--") && !l.contains('"')) {
            assert!(line.chars().count() <= WIDTH, "{}: {line}", path.display());
        }
    }
}

#[test]
fn every_case() {
    let mut kept = 0;
    for text in common::cases() {
        let here = check(&text).unwrap_or(0);
        if here > 0 {
            println!("left as written:\n{text}\n");
        }
        kept += here;
    }
    assert!(kept <= 1, "{kept} items could not be formatted");
}

#[test]
fn programs_with_comments_anywhere() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut programs = common::cases();
    programs
        .extend(common::adl_files().into_iter().map(|(_, text)| text.lines().take(40).collect::<Vec<_>>().join("\n")));
    let (mut kept, mut total) = (0, 0);
    for _ in 0..3000 {
        let program = &programs[random.usize(..programs.len())];
        let lexed = adl_syntax::lexer::lex(FileId::default(), program);
        let at = lexed.tokens[random.usize(..lexed.tokens.len())].lo as usize;
        let comment =
            ["(* here *)", "-- to the end\n", "\n-- own line\n", "\n      -- indented\n", "(* two\n lines *)"]
                [random.usize(..5)];
        let text = format!("{} {comment} {}", &program[..at], &program[at..]);
        if let Some(n) = check(&text) {
            if n > 0 && std::env::var_os("SHOW").is_some() {
                println!("left as written:\n{text}\n");
            }
            kept += usize::from(n > 0);
            total += 1;
        }
    }
    println!("{kept} of {total} programs have items left as written");
    assert!(total > 500 && kept * 10 < total, "{kept} of {total} programs have items left as written");
}

#[test]
fn mutated_programs() {
    let mut random = fastrand::Rng::with_seed(5);
    let programs = common::cases();
    for _ in 0..4000 {
        let (a, b) = (&programs[random.usize(..programs.len())], &programs[random.usize(..programs.len())]);
        let cut = |text: &str, at: usize| text.char_indices().map(|(i, _)| i).rfind(|i| *i <= at).unwrap_or(0);
        let text = format!("{}{}", &a[..cut(a, random.usize(..=a.len()))], &b[cut(b, random.usize(..=b.len()))..]);
        check(&text);
    }
}

#[test]
fn generated_programs() {
    let mut random = fastrand::Rng::with_seed(21);
    let (mut parsed, mut kept) = (0, 0);
    for _ in 0..count(800) {
        let text = common::programs::program(&mut random);
        match check(&text) {
            Some(n) => {
                parsed += 1;
                kept += usize::from(n > 0);
                if n > 0 && std::env::var_os("SHOW").is_some() {
                    println!("left as written:\n{text}\n");
                }
            }
            None if std::env::var_os("SHOW").is_some() => {
                println!("does not parse: {:?}\n{text}\n", format(&text).err());
            }
            None => {}
        }
    }
    println!("{parsed} parsed, {kept} have items left as written");
    assert!(parsed > count(600) && kept * 10 < parsed, "{parsed} parsed, {kept} have items left as written");
}

/// The number of generated programs: `few`, times `ADL_PROGRAMS` if that is set.
fn count(few: usize) -> usize {
    let times = std::env::var("ADL_PROGRAMS").ok().and_then(|n| n.parse::<usize>().ok());
    few * times.unwrap_or(1)
}

/// `text` with comments inserted at line ends and between lines.
fn commented(text: &str, random: &mut fastrand::Rng) -> String {
    let mut out = String::new();
    for (index, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        match random.usize(..8) {
            0 => out += &format!("{}-- above {index}\n", " ".repeat(indent)),
            1 => out += &format!("{}-- further right of {index}\n", " ".repeat(indent + 3)),
            2 => out += &format!("\n-- in column 0, {index}\n"),
            _ => {}
        }
        out += line;
        match random.usize(..6) {
            0 => out += &format!("   -- behind {index}"),
            1 => out += &format!(" (* in a block {index} *)"),
            _ => {}
        }
        out.push('\n');
    }
    out
}

#[test]
fn generated_programs_full_of_comments() {
    let mut random = fastrand::Rng::with_seed(34);
    let (mut parsed, mut kept) = (0, 0);
    for _ in 0..count(300) {
        let program = common::programs::program(&mut random);
        let plain = format(&program).unwrap_or(program);
        let text = commented(&plain, &mut random);
        if let Some(n) = check(&text) {
            parsed += 1;
            kept += usize::from(n > 0);
            if n > 0 && std::env::var_os("SHOW").is_some() {
                println!("left as written:\n{text}\n");
            }
        }
    }
    println!("{parsed} parsed, {kept} have items left as written");
    assert!(parsed > count(100) && kept * 25 < parsed, "{parsed} parsed, {kept} have items left as written");
}

#[test]
fn commas_stand_before_comments() {
    let text = "let xs = [\n  1  -- one\n  , 2\n  -- below\n  ,\n  3\n]\n";
    assert_eq!(format(text).expect("it parses"), "let xs = [\n  1,  -- one\n  2,\n  -- below\n  3\n]\n");
    assert_eq!(check(text), Some(0));
}

#[test]
fn deep_programs() {
    for text in [
        format!("let x = {}1{}", "(".repeat(3500), ")".repeat(3500)),
        format!("let x = {}1", "fun x -> ".repeat(500)),
        format!("let x = 1{}", " + 1".repeat(3000)),
        format!("let x : {}a = 1", "a -> ".repeat(1500)),
        format!("[{}]", "1, ".repeat(20_000)),
        "let f x =\n  let y = x * 2 + 1 -- note\n  g y\n\n".repeat(3_000),
        format!("let f x =\n{}  x\n", "  let y = foo x [1.0, 2.0] -- note\n".repeat(3_000)),
    ] {
        check(&text);
    }
}

#[test]
fn errors_are_returned() {
    let errors = format("let x =").expect_err("no program");
    assert_eq!(errors[0].code, "E0112");
    assert_eq!(format("").expect("empty"), "");
    assert_eq!(format("-- only\n\n(* comments *)  \n").expect("comments"), "-- only\n\n(* comments *)\n");
}

#[test]
fn a_long_let_on_one_line_is_broken_below_its_column() {
    let name = "a".repeat(50);
    let text = format!("let h = {name} {name} in print h\n");
    assert_eq!(check(&text), Some(0));
    assert!(format(&text).expect("it parses").ends_with(" in\n  print h\n"));
}

#[test]
fn a_first_item_further_right_keeps_its_blocks() {
    let cases = [
        ("  let f x = let a = x\n            a + 1\nlet y = 2\n", "let f x =\n  let a = x\n  a + 1\nlet y = 2\n"),
        (
            "  -- here\n  print (1, let a = 2\n            a + 1)\nlet y = 2\n",
            "-- here\nprint (\n  1,\n  let a = 2\n  a + 1\n)\nlet y = 2\n",
        ),
        ("   f\n   x\nlet y = 2\n", "f x\nlet y = 2\n"),
        (" (* c *) f\n   x\nlet y = 2\n", "(* c *) f x\nlet y = 2\n"),
        ("  f\"{x}\n   a\"\nlet y = 2\n", "f\"{x}\n   a\"\nlet y = 2\n"),
        ("  (let a = 2\n   a + 1)\nlet y = 2\n", "(let a = 2\n a + 1)\nlet y = 2\n"),
        ("  let f x = x\n  let y = 2\n", "let f x = x\nlet y = 2\n"),
    ];
    for (text, want) in cases {
        assert_eq!(check(text), Some(0), "{text}");
        assert_eq!(format(text).expect("it parses"), want);
    }
}
