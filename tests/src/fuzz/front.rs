//! Malformed texts, files and entries. Every input must give an answer or an error, but no panic, hang or exhaustion of
//! memory.

use super::random::Random;
use super::worker::guarded;
use crate::Memory;
use adl_syntax::span::FileId;
use serde_json::Value;

/// The kinds of inputs that the front-end fuzzer generates.
pub const KINDS: [&str; 3] = ["text", "files", "entries"];

/// Tokens that are inserted, so that malformed texts are not only odd characters.
const TOKENS: [&str; 60] = [
    "let", "rec", "and", "in", "if", "then", "else", "match", "with", "when", "as", "fun", "lin", "for", "loop",
    "while", "do", "type", "alias", "import", "true", "test", "x", "f", "A", "M.B", "1", "2.5", "1e9", "3f32", "\"s\"",
    "f\"", "{", "}", "(", ")", "[", "]", "[|", "|]", ",", ";;", ":", "=", "|", "->", "=>", "-o", "-", "+", "^", "@",
    "<|", "|>", "::", "..", ".", "_", "(*", "\n  ",
];

/// A worker's job: cases of a kind, from a seed. The answer lists the failed ones.
pub fn job(job: &Value) -> Vec<String> {
    let (kind, seed, count) =
        (job["kind"].as_str().unwrap_or(""), job["seed"].as_u64().unwrap_or(0), job["count"].as_u64().unwrap_or(0));
    let sources = sources();
    let one = |seed: u64| {
        let mut random = Random::new(seed);
        let said = guarded(|| match kind {
            "text" => text(&mut random, &sources),
            "files" => file(&mut random),
            _ => entries(&mut random, &sources),
        });
        (!said.is_empty()).then(|| format!("seed {seed}: {said}"))
    };
    (seed..seed + count).filter_map(one).collect()
}

/// The programs of the repository, as input of mutations.
fn sources() -> Vec<String> {
    let mut out = Vec::new();
    for dir in ["tests/programs", "examples", "tests/errors", "lang/std/adl"] {
        let Ok(entries) = std::fs::read_dir(crate::root().join(dir)) else { continue };
        let mut paths: Vec<_> = entries
            .filter_map(|e| Some(e.ok()?.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "adl"))
            .collect();
        paths.sort();
        out.extend(paths.iter().filter_map(|p| std::fs::read_to_string(p).ok()));
    }
    out
}

/// A mutated program.
fn broken(random: &mut Random, sources: &[String]) -> String {
    if sources.is_empty() || random.once_in(6) {
        return (0..random.below(40)).map(|_| format!("{} ", random.of(&TOKENS))).collect();
    }
    let from = random.of(sources).clone();
    let lines: Vec<&str> = from.lines().collect();
    let at = random.below(lines.len());
    let mut chars: Vec<char> = lines[at..(at + 1 + random.below(12)).min(lines.len())].join("\n").chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len() + 1);
        let to = (at + random.below(20)).min(chars.len());
        match random.below(4) {
            0 => drop(chars.drain(at..to)),
            1 => chars.truncate(at.max(8).min(chars.len())),
            2 => {
                let piece: Vec<char> = chars[at..to].to_vec();
                let place = random.below(chars.len() + 1);
                chars.splice(place..place, piece);
            }
            _ => {
                let token: Vec<char> = format!(" {} ", random.of(&TOKENS)).chars().collect();
                chars.splice(at..at, token);
            }
        }
    }
    chars.into_iter().collect()
}

/// Parses, formats and checks a malformed text. Formatting twice must give the same result as once.
fn text(random: &mut Random, sources: &[String]) -> String {
    let text = broken(random, sources);
    if random.once_in(8) {
        let bytes: Vec<u8> = (0..random.below(80)).map(|_| random.below(256) as u8).collect();
        adl_syntax::parse_bytes(FileId(0), &bytes);
    }
    let _ = (adl_syntax::is_complete(&text), adl_syntax::tokens(&text), adl_syntax::parse_type(&text));
    let (mut s, _) = crate::session();
    let _ = s.check_file("fuzz.adl", text.as_bytes());
    // If the first item is indented further than others, it loses its indentation.
    let indented = text.starts_with(char::is_whitespace);
    let Ok(once) = adl_syntax::format::format(&text) else { return String::new() };
    if indented {
        return String::new();
    }
    match adl_syntax::format::format(&once) {
        Ok(twice) if twice == once => String::new(),
        Ok(twice) => format!("formatting again changes it:\n{once}\n---\n{twice}"),
        Err(_) => format!("what is formatted is no program:\n{text}\n---\n{once}"),
    }
}

/// A valid file, with the expressions that read it.
fn whole_file(random: &mut Random) -> (Vec<u8>, &'static str, &'static str) {
    let csv: &[u8] = b"a,b,c\n1,2.5,x\n2,NA,\"y, z\"\n3,-1e9,true\n";
    let json: &[u8] = b"{\"p\": 1.5, \"q\": [1, 2, 3], \"r\": {\"x\": null, \"y\": [[true, \"a\\u00e9\"]]}}";
    let columns = "(read_csv \"f\" : {a : [_]Int, b : [_]Float, c : [_]String})";
    match random.below(10) {
        8 => (table("parquet"), "f", "(read_parquet \"f\" : [_]{a : Option Int, b : Float, c : String})"),
        9 => (table("arrow"), "f", "(read_arrow \"f\" : [_]{a : Option Int, b : Float, c : String})"),
        0 => (csv.to_vec(), "f", columns),
        1 => (csv.to_vec(), "f.csv", "read_csv \"f.csv\""),
        2 => (csv.to_vec(), "f", "(read_csv \"f\" : [_]{a : Option Int, b : Option Float})"),
        3 => (b"1,2\n3,4\n".to_vec(), "f", "(read_csv \"f\" : [_][_]Float)"),
        4 => (
            json.to_vec(),
            "f",
            "(read_json \"f\" : {p : Float, q : [_]Int, r : {x : Option Float, y : [_](Bool, String)}})",
        ),
        5 => (
            b"[{\"Leaf\": [1]}, {\"Node\": [{\"Leaf\": [2]}, {\"Leaf\": [3]}]}]".to_vec(),
            "f",
            "(read_json \"f\" : [_]Tree)",
        ),
        6 => (npy("<f8", "(2, 3)", 48), "f", "(read_npy \"f\" : [_][_]Float)"),
        _ => (
            npy(["<i4", "|b1", ">f4", "<u8", "<f2", "|u1"][random.below(6)], "(6,)", 48),
            "f",
            "(read_npy \"f\" : [_]Float)",
        ),
    }
}

/// A table in a format of columns.
fn table(format: &str) -> Vec<u8> {
    let host = Memory::default();
    let mut s = adl_session::Session::new(Box::new(host.clone()));
    s.eval(&format!(
        "write_{format} \"t\" {{a = [Some 1, None, Some 3], b = [2.5, -1e9, 0.0], c = [\"x\", \"y, z\", \"é\"]}}"
    ));
    host.files.take().remove("t").unwrap_or_default()
}

fn npy(kind: &str, shape: &str, bytes: usize) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    header += &" ".repeat((64 - (header.len() + 11) % 64) % 64);
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.bytes());
    out.extend((0..bytes).map(|i| (i % 7) as u8));
    out
}

/// Reads a broken file.
fn file(random: &mut Random) -> String {
    let (mut bytes, path, reader) = whole_file(random);
    for _ in 0..random.below(6) {
        let at = random.below(bytes.len() + 1);
        let to = (at + random.below(9)).min(bytes.len());
        match random.below(5) {
            0 => drop(bytes.drain(at..to)),
            1 => bytes.truncate(at),
            2 => bytes.insert(at, random.below(256) as u8),
            3 => {
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let pieces: [&[u8]; 8] =
                    [b"99999999999", b"-1", b"1e400", b"\"", b"[[[[", b"\r\n", b"\xff\xfe", b"nan"];
                let digits: &[u8] = pieces[random.below(8)];
                bytes.splice(at..at, digits.iter().copied());
            }
        }
    }
    let host = Memory::default();
    host.files.borrow_mut().insert(path.to_owned(), bytes);
    let mut s = adl_session::Session::new(Box::new(host));
    s.eval("type Tree = Leaf Float | Node Tree Tree");
    let out = s.eval(&format!("let t = {reader}"));
    // Data that was read can be displayed and written.
    if out.ok() {
        s.eval("print t");
        s.eval("write_json \"g\" t");
    }
    String::new()
}

/// REPL entries that repeatedly redefine a few names, run other programs in between, and sometimes fail. Functions keep
/// the earlier meaning of the names inside them. This is compared with a model in which each function is its value.
fn entries(random: &mut Random, sources: &[String]) -> String {
    let (mut session, _) = crate::session();
    let mut values: [Option<f64>; 3] = [None; 3];
    let mut functions: [Option<(f64, f64)>; 3] = [None; 3];
    for _ in 0..30 {
        let (target, source, factor) = (random.below(3), random.below(3), random.below(9) as f64 + 1.0);
        match random.below(6) {
            0 | 1 => {
                session.eval(&format!("let v{target} = {factor:.1}"));
                values[target] = Some(factor);
            }
            2 => {
                if let Some(v) = values[source] {
                    session.eval(&format!("let f{target} (x : Float) : Float = v{source} * x * x + {factor:.1} * x"));
                    functions[target] = Some((v, factor));
                }
            }
            3 => {
                if let (Some((p, q)), true) = (functions[source], target != source) {
                    session.eval(&format!("let f{target} (x : Float) : Float = {factor:.1} * f{source} x"));
                    functions[target] = Some((factor * p, factor * q));
                }
            }
            4 => {
                let text = broken(random, sources);
                // A mutated text may define anything except these names.
                if !text.contains("v0") && !text.contains("f0") && !text.contains("loop") && !text.contains("rec") {
                    let _ = session.type_of(&text);
                }
            }
            _ => {
                if let Some((p, q)) = functions[target] {
                    let have = session.eval(&format!("(f{target} 2.0, grad f{target} 2.0)"));
                    let have = have.echoes.last().map_or("an error".into(), adl_session::Echo::value);
                    let want = format!("({:?}, {:?})", p * 4.0 + q * 2.0, p * 4.0 + q);
                    if have != want {
                        return format!(
                            "(f{target} 2.0, grad f{target} 2.0) is {have}, not {want}, after\n{}",
                            session.history.iter().map(|e| e.text.as_str()).collect::<Vec<_>>().join("\n")
                        );
                    }
                }
            }
        }
    }
    String::new()
}
