//! Checking is total: randomly mutated declarations and programs give errors but never a panic.

use crate::common;

use common::Checker;

/// Items that refer to each other: types, aliases with sizes, constructors, and their uses.
const ITEMS: &[&str] = &[
    "type P = []F e",
    "let a : P = 1",
    "type alias V = [n]Float",
    "type alias W = (V, V)",
    "type alias M = [n][m]a",
    "type alias R = {x : Float, y : V, ..}",
    "type T = A V | B W | C",
    "type L a = Nil2 | More a (L a)",
    "type Q a b = Q a b and S = S (Q Int S)",
    "type U = U Missing | D {x : Int, y : Foo}",
    "type alias H = (Int, _)",
    "type alias G a = {f : a -> a, g : [n]a}",
    "type A2 = A2 _ | B2 {x : Int, ..}",
    "type alias K = K",
    "type K2 = K2 K2",
    "let f (x : V) (y : W) = sum x + sum (fst y)",
    "let g t = match t with | A v -> sum v | B (v, w) -> dot v w | C -> 0.0",
    "let h (r : R) = r.x + sum r.y",
    "let b = A [1.0, 2.0]",
    "let c = [A [1.0], B ([1.0], [2.0]), C]",
    "let rec len2 xs = match xs with | Nil2 -> 0 | More _ rest -> 1 + len2 rest",
    "let d = Q 1 (S (Q 1 d))",
    "let e = {f = fun x -> x, g = [1, 2]}",
    "let k (z : H) = snd z",
    "let m = map (fun (v : [n]Float) -> v * float n) [[1.0], [2.0]]",
    "let u = U 1",
    "let w = match u with | U x -> x | D {x, y} -> x + y",
    "let s = {r with x = 1.0}",
    "test \"t\" = f [1.0] ([1.0], [2.0]) == g b",
    "let p = grad (fun (v : [n]Float) -> reduce (+) 0.0 v / float n) [1.0, 2.0]",
    "let q = lin (x, y) -> (x, None)",
    "let t2 = transpose q (1.0, None)",
    "let (i, j) = (1, [2])",
    "let o = loop (a, b) = (1.0, [2.0]) for i < 3 do (a + b[0], b * a)",
    "type alias V = {v : V2}",
    "type T = T | T",
    "type D2 a a = D2 b",
    "let x = fun {a = (A v), ..} -> v",
    "let y = match 1 with | 1 | 2 as z when z > 1 -> z | _ -> 0",
    "let z : (Num a, Foo b) => a -> b = fun x -> x",
];

const WORDS: &[&str] = &[
    "type", "alias", "let", "rec", "and", "in", "=", "|", "(", ")", "[", "]", "{", "}", ":", ",", "..", "_", "->",
    "-o", "=>", "n", "m", "a", "b", "V", "W", "T", "A", "B", "C", "P", "F", "Int", "Float", "Foo", "Some", "None",
    "match", "with", "when", "fun", "lin", "1", "2.0", "\"s\"", "::", "+", "*", "@", ".", "for", "loop", "do", "if",
    "then", "else", "\n", "\n  ", "[n]", "[_]", "[3]",
];

/// Replaces, inserts or deletes a word.
fn mutate_words(text: &str, random: &mut fastrand::Rng) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    let at = random.usize(..words.len().max(1));
    match random.usize(..4) {
        0 => words[at] = random.choice(WORDS).unwrap(),
        1 => words.insert(at, random.choice(WORDS).unwrap()),
        2 => drop(words.remove(at)),
        _ => {
            let other = random.usize(..words.len().max(1));
            words.swap(at, other);
        }
    }
    words.join(" ")
}

/// Replaces, inserts or deletes a character.
fn mutate_chars(text: &str, random: &mut fastrand::Rng) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let at = random.usize(..chars.len().max(1));
    let to = (at + 1 + random.usize(..3)).min(chars.len());
    match random.usize(..3) {
        0 => drop(chars.drain(at..to)),
        1 => {
            let piece: Vec<char> = chars[at..to].to_vec();
            chars.splice(at..at, piece);
        }
        _ => {
            let word: Vec<char> = random.choice(WORDS).unwrap().chars().collect();
            chars.splice(at..to, word);
        }
    }
    chars.into_iter().collect()
}

fn program(random: &mut fastrand::Rng) -> String {
    let mut text = String::new();
    for _ in 0..2 + random.usize(..6) {
        let mut item = (*random.choice(ITEMS).unwrap()).to_owned();
        for _ in 0..random.usize(..3) {
            item = if random.usize(..2) == 0 { mutate_words(&item, random) } else { mutate_chars(&item, random) };
        }
        text.push_str(&item);
        text.push('\n');
    }
    text
}

#[test]
fn mutated_declarations_and_their_uses() {
    let rounds: usize = std::env::var("FUZZ_PROGRAMS").ok().and_then(|s| s.parse().ok()).unwrap_or(5_000);
    let mut random =
        fastrand::Rng::with_seed(std::env::var("FUZZ_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(17));
    let mut checker = Checker::new();
    let mut sound = 0;
    for _ in 0..rounds {
        let text = program(&mut random);
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| checker.check(&text)));
        match checked {
            Ok(out) => sound += usize::from(out.errors().is_empty()),
            Err(_) => panic!("checking panics:\n{text}"),
        }
    }
    // Some of the programs, but not all, are free of errors.
    assert!(sound > 0 && sound < rounds, "{sound} of {rounds}");
}
