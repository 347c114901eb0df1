//! Parsing is total: no text makes it panic, hang, or build a tree that is too deep.

use crate::common;

use adl_syntax::span::FileId;

const WORDS: &[&str] = &[
    "let",
    "rec",
    "and",
    "in",
    "if",
    "then",
    "else",
    "match",
    "with",
    "when",
    "as",
    "fun",
    "lin",
    "for",
    "loop",
    "while",
    "do",
    "type",
    "alias",
    "import",
    "true",
    "test",
    "x",
    "f",
    "xs",
    "A",
    "M.B",
    "1",
    "2.5",
    "1e9",
    "3f32",
    "\"s\"",
    "f\"",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "[|",
    "|]",
    "x[",
    ",",
    ";",
    ";;",
    ":",
    "=",
    "==",
    "|",
    "||",
    "->",
    "=>",
    "-o",
    "-",
    "+",
    "*",
    "^",
    "@",
    "<",
    "<|",
    "|>",
    "::",
    "..",
    ".",
    "_",
    "--",
    "--|",
    "(*",
    "*)",
    "\\",
    "\"",
    "'",
    "#",
    "α",
    "\t",
    "\n",
    "\n  ",
    "\n    ",
    "\n        ",
    "\r\n",
    "!",
    "$",
    ":=",
    "{{",
    "}}",
    "\\n",
];

/// Declarations, valid and broken.
const DECLARATIONS: &[&str] = &[
    "type P = []F e\nlet a : P = 1\n",
    "type alias V = [n]Float\ntype alias W = (V, V)\ntype T = A V | B W | C\n",
    "type L a = Nil2 | More a (L a)\nand S = S (L S)\n",
    "type U = U _ | D {x : Int, y : Foo, ..}\n",
    "type alias R a = {x : Float, y : [n][m]a | r}\n",
    "type = A\ntype A\ntype A =\ntype A = | B\ntype alias\ntype alias X\ntype a = A\n",
    "let f (x : {a : Int, ..}) (y : [3][_]a) : (Num a, Real b) => a -o b = x\n",
];

fn run(text: &str) {
    let (program, diagnostics) = adl_syntax::parse(FileId(0), text);
    for d in &diagnostics {
        let span = d.primary.span;
        assert!(span.lo <= span.hi && span.hi as usize <= text.len(), "{d:?}");
        assert!(text.is_char_boundary(span.lo as usize) && text.is_char_boundary(span.hi as usize));
        assert!(adl_syntax::explain(d.code).is_some(), "{} has no explanation", d.code);
    }
    if diagnostics.iter().all(|d| !d.is_error()) {
        let tree = adl_syntax::dump::program(&program);
        assert!(!tree.contains("<error>"), "an error node without an error:\n{text}\n{tree}");
    }
    let _ = adl_syntax::is_complete(text);
    let _ = adl_syntax::tokens(text);
    let _ = adl_syntax::parse_type(text);
}

#[test]
fn token_soups() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..random.usize(..30) {
            text.push_str(WORDS[random.usize(..WORDS.len())]);
            if random.usize(..3) > 0 {
                text.push(' ');
            }
        }
        run(&text);
    }
}

#[test]
fn random_bytes() {
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..5_000 {
        let bytes: Vec<u8> = (0..random.usize(..60)).map(|_| random.usize(..256) as u8).collect();
        adl_syntax::parse_bytes(FileId(0), &bytes);
        run(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn mutated_programs() {
    let mut random = fastrand::Rng::with_seed(13);
    let mut programs = common::cases();
    programs.extend(DECLARATIONS.iter().map(std::string::ToString::to_string));
    programs.extend(common::adl_files().into_iter().map(|(_, text)| text.chars().take(1500).collect()));
    for _ in 0..6_000 {
        let program = &programs[random.usize(..programs.len())];
        let mut chars: Vec<char> = program.chars().collect();
        for _ in 0..=random.usize(..4) {
            mutate(&mut chars, &mut random);
        }
        run(&chars.into_iter().collect::<String>());
    }
}

fn mutate(chars: &mut Vec<char>, random: &mut fastrand::Rng) {
    let at = random.usize(..=chars.len());
    let to = (at + random.usize(..20)).min(chars.len());
    match random.usize(..4) {
        0 => drop(chars.drain(at..to)),
        1 => chars.truncate(at),
        2 => {
            let piece: Vec<char> = chars[at..to].to_vec();
            let place = random.usize(..=chars.len());
            chars.splice(place..place, piece);
        }
        _ => {
            let word: Vec<char> = WORDS[random.usize(..WORDS.len())].chars().collect();
            chars.splice(at..at, word);
        }
    }
}

#[test]
fn extremes() {
    let count = 100_000;
    for text in [
        "(".repeat(count),
        "[".repeat(count),
        "{".repeat(count),
        "[|".repeat(count),
        "x[".repeat(count),
        "f\"{".repeat(count),
        "(*".repeat(count),
        format!("{}1{}", "(".repeat(count), ")".repeat(count)),
        format!("{}1{}", "[".repeat(count), "]".repeat(count)),
        format!("1{}", " + 1".repeat(count)),
        format!("1{}", " :: 1".repeat(count)),
        format!("x{}", ".x".repeat(count)),
        format!("x{}", "[0]".repeat(count)),
        "- ".repeat(count),
        "! ".repeat(count),
        "fun x -> ".repeat(count),
        "if a then ".repeat(count),
        "if a then b else ".repeat(count),
        "match x with A -> ".repeat(count),
        "for i -> ".repeat(count),
        "loop x = ".repeat(count),
        "let x = ".repeat(count),
        "let x = 1 in ".repeat(count),
        format!("let x : {}a = 1", "a -> ".repeat(count)),
        format!("let x : {}a = 1", "[n]".repeat(count)),
        format!("let {}x = 1", "A (".repeat(count)),
        format!("let x{} = 1", " :: x".repeat(count)),
        format!("match x with A{} -> 1", " | A".repeat(count)),
        format!("f{}", " x".repeat(count)),
        format!("[{}]", "1, ".repeat(count)),
        "let x = 1\n".repeat(count / 10),
        "let x = (\n".repeat(count / 10),
        ")\n".repeat(count / 10),
        format!("let f x =\n{}  x", "  let y = x\n".repeat(count / 10)),
        "\"\n".repeat(count / 10),
        "x ".repeat(count),
        ", ".repeat(count),
        ";;".repeat(count),
        "\n".repeat(count),
        "((x) ".repeat(count),
    ] {
        let start = std::time::Instant::now();
        let (program, diagnostics) = adl_syntax::parse(FileId(0), &text);
        drop(program);
        let _ = (adl_syntax::is_complete(&text), adl_syntax::tokens(&text), diagnostics);
        let short: String = text.chars().take(20).collect();
        assert!(start.elapsed().as_secs() < 20, "{short}... took {:?}", start.elapsed());
    }
}

#[test]
fn thousands_of_levels_are_fine() {
    for text in [
        format!("{}1{}", "(".repeat(3500), ")".repeat(3500)),
        format!("1{}", " + 1".repeat(3900)),
        format!("{}1{}", "(fun x -> ".repeat(1900), ")".repeat(1900)),
        "if a then b else ".repeat(1900) + "c",
        format!("{}1", "let x = 1 in ".repeat(50_000)),
    ] {
        let (program, diagnostics) = adl_syntax::parse(FileId(0), &text);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let _ = adl_syntax::dump::program(&program);
    }
}

#[test]
fn many_levels_of_layout() {
    let mut text = String::from("let f x =\n");
    for depth in 1..600 {
        text.push_str(&format!("{}let y = fun z ->\n", " ".repeat(depth)));
    }
    run(&text);
    let deep: String = (0..2000).map(|i| format!("{}if a then\n", " ".repeat(i))).collect();
    run(&deep);
}

#[test]
fn invalid_utf8() {
    let (program, diagnostics) = adl_syntax::parse_bytes(FileId(0), b"let x = 1\nlet y = \xff");
    assert!(program.items.is_empty());
    assert_eq!(diagnostics[0].code, "E0106");
    assert!(diagnostics[0].message.contains("line 2, column 9"), "{}", diagnostics[0].message);
}
