//! Random edits of real files, each followed by requests that are all answered. At the end the server knows what one
//! that is started afresh knows.

use crate::client;

use client::{Client, repository};
use serde_json::{Value as Json, json};
use std::time::Instant;

/// The number of edits; more by `ADL_EDITS`. `ADL_LATENCIES` prints how long the answers took.
fn edits() -> usize {
    std::env::var("ADL_EDITS").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000)
}

const PIECES: &[&str] = &[
    "\n",
    " ",
    "let ",
    "x",
    "(",
    ")",
    "[",
    "]",
    "1",
    "2.0",
    "\n\n",
    "\"",
    "-- ",
    "unknown_name",
    "->",
    " = ",
    "|",
    ".",
    "λ𝄞",
    "\nlet twice f x = f (f x)\n",
    "\ntype Pair a = Pair a a\n",
    ": Float",
    "fun x -> ",
    "import \"",
    "optim.",
    "(*",
    "*)",
    "\r\n",
];

/// Requests at a position.
const AT: &[&str] = &[
    "hover",
    "completion",
    "signatureHelp",
    "definition",
    "typeDefinition",
    "references",
    "documentHighlight",
    "prepareRename",
    "prepareCallHierarchy",
];
/// Requests about a whole text.
const OF: &[&str] =
    &["documentSymbol", "foldingRange", "semanticTokens/full", "codeLens", "documentLink", "diagnostic"];

fn programs() -> Vec<String> {
    let dirs = ["tests/programs", "examples", "lang/std/adl"].map(|d| repository().join(d));
    let files = dirs.iter().flat_map(|d| std::fs::read_dir(d).unwrap()).map(|e| e.unwrap().path());
    let mut files: Vec<_> = files.filter(|p| p.extension().is_some_and(|x| x == "adl")).collect();
    files.sort();
    files.iter().map(|p| std::fs::read_to_string(p).unwrap()).filter(|t| t.len() < 12_000).collect()
}

/// Everything that is asked at the end.
fn state(client: &mut Client) -> Vec<Json> {
    let all = json!({"start": {"line": 0, "character": 0}, "end": {"line": 9999, "character": 0}});
    let mut hints = client.of("a.adl");
    hints["range"] = all;
    let mut out = vec![client.request("textDocument/inlayHint", hints)];
    for method in ["diagnostic", "semanticTokens/full", "documentSymbol", "foldingRange", "codeLens"] {
        let mut answer = client.request(&format!("textDocument/{method}"), client.of("a.adl"));
        if let Some(answer) = answer.as_object_mut() {
            answer.remove("resultId");
        }
        out.push(answer);
    }
    // The workspaces have different names.
    let root = client.uri("");
    out.into_iter().map(|j| serde_json::from_str(&j.to_string().replace(&root, "w:")).unwrap()).collect()
}

#[test]
fn random_edits_are_answered_and_leave_the_state_of_a_fresh_start() {
    // A server answers one after the other, so two of them take half as long.
    std::thread::scope(|scope| {
        scope.spawn(|| random_edits(["edits", "fresh"], 0x2545_f491_4f6c_dd1d, edits() / 2));
        random_edits(["edits_again", "fresh_again"], 0x9e37_79b9_7f4a_7c15, edits() / 2);
    });
}

/// `count` edits in a directory, and whether the server knows afterwards what one in another directory does.
fn random_edits([edited, fresh]: [&str; 2], seed: u64, count: usize) {
    let programs = programs();
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut editor, server) = client::in_process(edited);
    let mut text = String::new();
    editor.open("a.adl", "");
    let mut times: Vec<(&str, f64)> = Vec::new();
    for round in 0..count {
        if round % 60 == 0 {
            let new = programs[random.usize(..programs.len())].clone();
            replace(&mut editor, &text, 0..text.len(), &new);
            text = new;
        }
        let on = |i: usize| (0..=i.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap();
        let at = on(random.usize(..=text.len()));
        let most = if random.usize(..10) == 0 { 200 } else { 3 };
        let end = if random.usize(..3) == 0 { on(at + random.usize(..most)).max(at) } else { at };
        let piece = if random.usize(..4) == 0 { "" } else { PIECES[random.usize(..PIECES.len())] };
        replace(&mut editor, &text, at..end, piece);
        text.replace_range(at..end, piece);
        let position = client::position(&text, at + piece.len());
        let (method, params) = if random.usize(..3) > 0 {
            let mut params = json!({"textDocument": {"uri": editor.uri("a.adl")}, "position": position});
            let method = AT[random.usize(..AT.len())];
            if method == "references" {
                params["context"] = json!({"includeDeclaration": true});
            }
            (method, params)
        } else {
            (OF[random.usize(..OF.len())], editor.of("a.adl"))
        };
        let begun = Instant::now();
        let id = editor.post(&format!("textDocument/{method}"), params);
        let answer = editor.answer(&id);
        times.push((method, begun.elapsed().as_secs_f64() * 1e3));
        // A library name, for instance, cannot be renamed; nothing else is refused.
        assert!(answer.is_ok() || method == "prepareRename", "{method}: {answer:?}\n{text}");
    }
    report(&times);
    let known = state(&mut editor);
    editor.end();
    assert_eq!(server.join().unwrap(), Ok(()));
    let (mut fresh, server) = client::in_process(fresh);
    fresh.open("a.adl", &text);
    let new = state(&mut fresh);
    for (known, new) in known.iter().zip(&new) {
        assert_eq!(known, new, "{text}");
    }
    fresh.end();
    assert_eq!(server.join().unwrap(), Ok(()));
}

fn replace(editor: &mut Client, text: &str, range: std::ops::Range<usize>, by: &str) {
    let range = json!({"start": client::position(text, range.start), "end": client::position(text, range.end)});
    let document = json!({"uri": editor.uri("a.adl"), "version": 2});
    editor.notify(
        "textDocument/didChange",
        json!({"textDocument": document, "contentChanges": [{"range": range, "text": by}]}),
    );
}

/// The time from an edit to the answer, which includes checking the edited text.
fn report(times: &[(&str, f64)]) {
    if std::env::var_os("ADL_LATENCIES").is_none() {
        return;
    }
    for method in AT.iter().chain(OF) {
        let mut of: Vec<f64> = times.iter().filter(|(m, _)| m == method).map(|(_, t)| *t).collect();
        of.sort_by(f64::total_cmp);
        let (Some(worst), n) = (of.last(), of.len()) else { continue };
        println!(
            "{method}: {n} answers, median {:.2} ms, 99 % {:.2} ms, worst {worst:.2} ms",
            of[n / 2],
            of[n * 99 / 100]
        );
    }
}

/// A program of a thousand lines, of programs of the repository that have no errors.
fn thousand_lines() -> String {
    let mut text = String::new();
    for program in programs() {
        // The library has names that only it may use.
        if program.contains("import \"") || program.contains("read_") || program.contains("__") {
            continue;
        }
        text += &program;
        text += "\n";
        if text.lines().count() > 1000 {
            break;
        }
    }
    text
}

#[test]
fn each_keystroke_in_a_long_file_is_answered() {
    let (mut editor, server) = client::in_process("long");
    let mut text = thousand_lines();
    editor.open("a.adl", &text);
    let before = editor.published("a.adl");
    let mut random = fastrand::Rng::with_seed(7);
    let mut times: Vec<(&str, f64)> = Vec::new();
    for round in 0..60 {
        // A name at the end of a line is typed, letter by letter, and removed.
        let lines: Vec<usize> = text.match_indices('\n').map(|(i, _)| i).collect();
        let at = lines[random.usize(..lines.len())];
        let (range, typed) = if round % 2 == 0 { (at..at, " s") } else { (at..at, "") };
        replace(&mut editor, &text, range, typed);
        text.insert_str(at, typed);
        let position = client::position(&text, at + typed.len());
        let params = json!({"textDocument": {"uri": editor.uri("a.adl")}, "position": position});
        for method in ["diagnostic", "hover", "completion"] {
            let begun = Instant::now();
            let answer = editor.request(&format!("textDocument/{method}"), params.clone());
            times.push((method, begun.elapsed().as_secs_f64() * 1e3));
            assert!(method != "diagnostic" || answer["items"].is_array(), "{answer}");
        }
        replace(&mut editor, &text, at..at + typed.len(), "");
        text.replace_range(at..at + typed.len(), "");
    }
    report(&times);
    let pulled = editor.request("textDocument/diagnostic", editor.of("a.adl"));
    assert_eq!(pulled["items"], json!(before), "what was typed is gone again");
    editor.end();
    assert_eq!(server.join().unwrap(), Ok(()));
}
