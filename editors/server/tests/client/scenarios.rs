//! What an editor does, with the answers that it expects.

use super::Client;
use serde_json::{Value as Json, json};

/// A library of shapes.
const LIB: &str =
    "--| Doubles a number.\nlet double (x : Float) : Float = 2.0 * x\n\ntype Shape = Circle Float | Square Float\n";

/// A program that imports it.
const MAIN: &str = "import \"lib.adl\" as L\n\n-- A model.\n-- Of two lines.\nlet scale = 3.0\n\n--| The loss of `w`.\nlet loss (w : [n]Float) (x : [n]Float) : Float =\n  let y = tanh (w * x)\n  sum (y * y) + float n\n\nlet area s =\n  match s with\n  | L.Circle r -> r * r\n  | L.Square a -> L.double a\n\nlet point = {left = 1.0, right = [2.0]}\nlet far = lin v -> (let u = 2.0 * v in u + v)\nprint (grad (loss [1.0, 2.0]) [0.5, 0.25])\nprint (area (L.Circle scale), far 1.0)\n\ntest \"area\" = area (L.Square 2.0) == 4.0\n";

/// Everything, on a new client.
pub fn all(client: &mut Client) {
    client.file("lib.adl", LIB);
    client.open("main.adl", MAIN);
    assert_eq!(client.published("main.adl"), Vec::<Json>::new());
    let parts: &[(&str, fn(&mut Client))] = &[
        ("hover", hover),
        ("definitions", definitions),
        ("rename", rename),
        ("elements", elements),
        ("outline", outline),
        ("completion", completion),
        ("signatures", signatures),
        ("colours", colours),
        ("hints", hints),
        ("hierarchy", hierarchy),
        ("lenses", lenses),
        ("errors", errors),
        ("buffers", buffers),
        ("notebook", notebook),
        ("cancellation", cancellation),
    ];
    // All parts run, so that one failure does not hide others.
    let failed = |part: fn(&mut Client), client: &mut Client| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| part(client))).is_err()
    };
    let failures: Vec<&str> = parts.iter().filter(|(_, part)| failed(*part, client)).map(|(name, _)| *name).collect();
    assert!(failures.is_empty(), "{failures:?}");
}

fn hovered(client: &mut Client, file: &str, at: &str) -> String {
    let params = client.at(file, at);
    client.request("textDocument/hover", params)["contents"]["value"].as_str().unwrap_or("").to_owned()
}

fn hover(client: &mut Client) {
    for (at, want) in [
        ("let lo‸ss", "loss : [n]Float -> [n]Float -> Float\n```\n\nThe loss of `w`."),
        ("tanh (w‸", "w : [n]Float\n```\n\nA parameter."),
        ("let y‸", "y : [n]Float"),
        ("float n‸", "n : Int"),
        ("(w : [n‸", "A size."),
        ("su‸m", "sum :"),
        ("L.dou‸ble", "L.double : Float -> Float\n```\n\nDoubles a number."),
        ("| L.Circ‸le", "Circle : Float -> Shape"),
        ("Flo‸at", "A number of 64 bits"),
        ("lin v‸", "v : a\n```\n\nA linear variable"),
        ("w *‸ x", "w * x : [n]Float"),
        ("gra‸d", "grad :"),
    ] {
        let text = hovered(client, "main.adl", at);
        assert!(text.contains(want), "{at}: {text}");
    }
}

fn places(client: &Client, found: &Json) -> Vec<String> {
    let one = |l: &Json| {
        let name = l["uri"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let _ = client;
        format!("{name}:{}:{}", l["range"]["start"]["line"], l["range"]["start"]["character"])
    };
    match found {
        Json::Null => Vec::new(),
        Json::Array(all) => all.iter().map(one).collect(),
        found => vec![one(found)],
    }
}

fn definitions(client: &mut Client) {
    for (at, want) in [
        ("grad (lo‸ss", "main.adl:7:4"),
        ("tanh (w‸", "main.adl:7:10"),
        ("float n‸", "main.adl:7:15"),
        ("L.dou‸ble", "lib.adl:1:4"),
        ("(L.Squ‸are 2", "lib.adl:3:28"),
        ("\"lib‸.adl", "lib.adl:0:0"),
        ("| L‸.Circle", "main.adl:0:20"),
    ] {
        let params = client.at("main.adl", at);
        let found = client.request("textDocument/definition", params);
        assert_eq!(places(client, &found), [want], "{at}");
    }
    client.open("library.adl", "let solver = optim.adam\n");
    let params = client.at("library.adl", "optim.ad‸am");
    let found = client.request("textDocument/definition", params);
    assert!(found["uri"].as_str().unwrap().ends_with("/optim.adl"), "{found}");
    let mut params = client.at("main.adl", "let sca‸le");
    params["context"] = json!({"includeDeclaration": true});
    let found = client.request("textDocument/references", params);
    assert_eq!(places(client, &found), ["main.adl:4:4", "main.adl:19:22"]);
    let params = client.at("main.adl", "tanh (w‸");
    let found = client.request("textDocument/documentHighlight", params);
    assert_eq!(found.as_array().unwrap().len(), 2);
    client.open("lib.adl", LIB);
    let mut params = client.at("lib.adl", "let dou‸ble");
    params["context"] = json!({"includeDeclaration": false});
    let found = client.request("textDocument/references", params);
    assert_eq!(places(client, &found), ["main.adl:14:20"]);
    client.open("types.adl", "type Tree = Leaf | Node Tree Float\nlet t = Node Leaf 1.0\n");
    let params = client.at("types.adl", "let t‸");
    let found = client.request("textDocument/typeDefinition", params);
    assert_eq!(places(client, &found), ["types.adl:0:5"]);
}

fn rename(client: &mut Client) {
    let params = client.at("lib.adl", "let dou‸ble");
    assert_eq!(client.request("textDocument/prepareRename", params.clone())["placeholder"], "double");
    let mut params = params;
    params["newName"] = json!("twice");
    let changes = client.request("textDocument/rename", params.clone())["changes"].clone();
    let lib = Client::edited(LIB, &changes[client.uri("lib.adl")]);
    let main = Client::edited(MAIN, &changes[client.uri("main.adl")]);
    assert!(lib.contains("let twice (x") && main.contains("L.twice a"), "{lib}{main}");
    for (file, at, new, why) in [
        ("lib.adl", "let dou‸ble", "Double", "lower-case"),
        ("lib.adl", "let dou‸ble", "let", "lower-case"),
        ("lib.adl", "type Sha‸pe", "shape", "upper-case"),
        ("main.adl", "tanh (w‸", "x", "already"),
        ("main.adl", "let y‸", "sum", "already"),
        ("library.adl", "optim.ad‸am", "x", "outside"),
    ] {
        let mut params = client.at(file, at);
        params["newName"] = json!(new);
        let id = client.post("textDocument/rename", params);
        let error = client.answer(&id).unwrap_err();
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    }
    client.open("puns.adl", "let f {left, right = r} = left + r\nlet left = 1.0\nprint (f {left, right = 2.0})\n");
    let mut params = client.at("puns.adl", "let left‸");
    params["newName"] = json!("start");
    let changes = client.request("textDocument/rename", params)["changes"].clone();
    let text = Client::edited(&client.text("puns.adl"), &changes[client.uri("puns.adl")]);
    assert!(text.contains("let start = 1.0\nprint (f {left = start, right"), "{text}");
}

/// The variables of `for p in e`.
fn elements(client: &mut Client) {
    let text = "let f (ps : [n]{x : Float, k : Int}) = sum for {x, k = y} in ps, v in [1.0] -> x * v ^ y\nlet g xs = loop s = 0.0 for row in xs do s + sum row\n";
    client.open("elements.adl", text);
    for (at, want) in [
        ("{x‸, k = y}", "x : Float\n```\n\nAn element"),
        ("k = y‸}", "y : Int"),
        (" v‸ in", "v : Float"),
        ("-> x‸", "x : Float"),
        ("sum ro‸w", "row : [n]a"),
    ] {
        let found = hovered(client, "elements.adl", at);
        assert!(found.contains(want), "{at}: {found}");
    }
    for (at, want) in
        [("v ^ y‸", "elements.adl:0:55"), ("* v‸", "elements.adl:0:65"), ("sum ro‸w", "elements.adl:1:28")]
    {
        let params = client.at("elements.adl", at);
        let found = client.request("textDocument/definition", params);
        assert_eq!(places(client, &found), [want], "{at}");
    }
    let mut params = client.at("elements.adl", "{x‸, k = y}");
    params["newName"] = json!("left");
    let changes = client.request("textDocument/rename", params)["changes"].clone();
    let text = Client::edited(&client.text("elements.adl"), &changes[client.uri("elements.adl")]);
    assert!(text.contains("for {x = left, k = y} in ps, v in [1.0] -> left * v"), "{text}");
}

fn outline(client: &mut Client) {
    let symbols = client.request("textDocument/documentSymbol", client.of("main.adl"));
    let names: Vec<&str> = symbols.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["L", "scale", "loss", "area", "point", "far", "test \"area\""]);
    assert_eq!(symbols[2]["detail"], "[n]Float -> [n]Float -> Float");
    let symbols = client.request("textDocument/documentSymbol", client.of("lib.adl"));
    assert_eq!(symbols[1]["children"][1]["name"], "Square");
    let found = client.request("workspace/symbol", json!({"query": "dbl"}));
    assert_eq!((found.as_array().unwrap().len(), &found[0]["name"]), (1, &json!("double")));
    let folds = client.request("textDocument/foldingRange", client.of("main.adl"));
    let lines = |f: &Json| (f["startLine"].as_u64().unwrap(), f["endLine"].as_u64().unwrap());
    let folds: Vec<_> = folds.as_array().unwrap().iter().map(lines).collect();
    assert!([(7, 9), (11, 14), (2, 3)].iter().all(|f| folds.contains(f)), "{folds:?}");
    let mut params = client.of("main.adl");
    params["positions"] = json!([client.at("main.adl", "tanh (w‸")["position"]]);
    let mut range = client.request("textDocument/selectionRange", params)[0].clone();
    let mut texts = Vec::new();
    while !range.is_null() {
        texts.push(client.slice("main.adl", &range["range"]));
        range = range["parent"].clone();
    }
    assert_eq!(&texts[..3], ["w", "w * x", "(w * x)"]);
    let links = client.request("textDocument/documentLink", client.of("main.adl"));
    assert_eq!(links[0]["target"], client.uri("lib.adl"));
    client.open("loose.adl", "let   x =  1\nlet y = 2\nlet z=[1,2]\n");
    let mut params = client.of("loose.adl");
    params["options"] = json!({"tabSize": 2, "insertSpaces": true});
    let edits = client.request("textDocument/formatting", params);
    let text = Client::edited(&client.text("loose.adl"), &edits);
    assert_eq!(text, "let x = 1\nlet y = 2\nlet z = [1, 2]\n");
}

fn completed(client: &mut Client, text: &str) -> Vec<(String, String)> {
    client.open("typed.adl", &text.replace('‸', ""));
    let at = text.find('‸').unwrap();
    let plain = text.replace('‸', "");
    let params = json!({"textDocument": {"uri": client.uri("typed.adl")}, "position": super::position(&plain, at)});
    let mut found: Vec<Json> = client.request("textDocument/completion", params).as_array().unwrap().clone();
    found.sort_by_key(|i| i["sortText"].as_str().unwrap().to_owned());
    let pair = |i: &Json| (i["label"].as_str().unwrap().to_owned(), i["detail"].as_str().unwrap_or("").to_owned());
    found.iter().map(pair).collect()
}

fn completion(client: &mut Client) {
    for (text, want) in [
        ("let radius = 1.0\nlet f (rate : Float) = ra‸\n", &[("rate", "Float"), ("radius", "Float")][..]),
        ("let f (xs : [n]Float) =\n  let total = sum xs\n  tot‸", &[("total", "Float")]),
        ("let g = fun (pair : (Int, Bool)) -> foo (pa‸", &[("pair", "(Int, Bool)")]),
        ("let p = {left = 1.0, right = true}\nlet q = p.‸\n", &[("left", "Float"), ("right", "Bool")]),
        ("let f (p : {left : Float}) = 2.0 * p.le‸", &[("left", "Float")]),
        ("let f (ps : [n]{left : Float}) = ps[0].‸", &[("left", "Float")]),
        ("let f m = optim.adam_d‸", &[("adam_defaults", "")]),
        ("type Shape = Circle\nlet f (s : Sh‸", &[("Shape", "type")]),
        ("import optim\nimport st‸", &[("comm", "module"), ("controls", "module")]),
        ("import \"li‸", &[("lib.adl", "file")]),
        ("-- ra‸", &[]),
        ("let x‸", &[]),
        ("for i < 3 -> for jay < 4 -> i + ja‸", &[("jay", "Int")]),
        ("for (left, rest) in [(1.0, 2)] -> le‸", &[("left", "Float")]),
        ("loop s = 0.0 for number in [1.0] do s + numb‸", &[("number", "Float")]),
    ] {
        let found = completed(client, text);
        let first: Vec<(&str, &str)> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).take(want.len()).collect();
        let fits = first.iter().zip(want).all(|(f, w)| f.0 == w.0 && (w.1.is_empty() || f.1 == w.1));
        assert!(fits && first.len() == want.len() && (found.is_empty() || !want.is_empty()), "{text}: {found:?}");
    }
    let params = json!({"textDocument": {"uri": client.uri("main.adl")}, "position": client.at("main.adl", "  su‸m")["position"]});
    let found = client.request("textDocument/completion", params);
    let sum = found.as_array().unwrap().iter().find(|i| i["label"] == "sum").unwrap().clone();
    let full = client.request("completionItem/resolve", sum);
    assert!(full["documentation"]["value"].as_str().unwrap().contains("sum"), "{full}");
}

fn signatures(client: &mut Client) {
    client.open("apply.adl", "--| Adds.\nlet add (a : Float) (b : Int) : Float = a + float b\nlet x = add 1.0 2\nlet y = let g u v = u + v * 1.0 in g 1.0 2.0\n");
    for (at, label, nth) in [
        ("add 1.0 ‸2", "add : Float -> Int -> Float", 1),
        ("add 1‸.0", "add : Float -> Int -> Float", 0),
        ("g 1.0 2‸.0", "g :", 1),
    ] {
        let params = client.at("apply.adl", at);
        let help = client.request("textDocument/signatureHelp", params);
        let one = &help["signatures"][0];
        assert!(one["label"].as_str().unwrap().starts_with(label) && help["activeParameter"] == nth, "{at}: {help}");
    }
}

/// The semantic tokens of a text: part, kind, modifiers.
fn tokens_of(client: &mut Client, name: &str, data: &Json) -> Vec<(String, u64, u64)> {
    let text = client.text(name);
    let lines: Vec<&str> = text.split('\n').collect();
    let (mut line, mut column, mut out) = (0, 0, Vec::new());
    let numbers: Vec<u64> = data.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    for t in numbers.chunks(5) {
        column = if t[0] > 0 { t[1] } else { column + t[1] };
        line += t[0];
        let units: Vec<u16> = lines[line as usize].encode_utf16().collect();
        let part = String::from_utf16(&units[column as usize..(column + t[2]) as usize]).unwrap();
        out.push((part, t[3], t[4]));
    }
    out
}

fn colours(client: &mut Client) {
    let full = client.request("textDocument/semanticTokens/full", client.of("main.adl"));
    let tokens = tokens_of(client, "main.adl", &full["data"]);
    const LINEAR: u64 = 4;
    for (part, kind, modifiers) in [
        ("import", 0, 0),
        ("loss", 3, 1),
        ("w", 2, 1),
        ("n", 6, 9),
        ("tanh", 3, 2),
        ("Circle", 7, 0),
        ("L", 8, 1),
        ("left", 4, 0),
        ("v", 2, 1 | LINEAR),
        ("u", 1, 1 | LINEAR),
        ("u", 1, LINEAR),
        ("3.0", 9, 0),
        ("-- A model.", 11, 0),
    ] {
        assert!(tokens.contains(&(part.to_owned(), kind, modifiers)), "{part}: {tokens:?}");
    }
    let old = full["data"].as_array().unwrap().clone();
    client.edit("main.adl", "scale = 3.0", "scale = 3.0 + 1.0");
    let mut params = client.of("main.adl");
    params["previousResultId"] = full["resultId"].clone();
    let delta = client.request("textDocument/semanticTokens/full/delta", params);
    let edit = &delta["edits"][0];
    let (start, gone) = (edit["start"].as_u64().unwrap() as usize, edit["deleteCount"].as_u64().unwrap() as usize);
    let mut new = old;
    new.splice(start..start + gone, edit["data"].as_array().unwrap().iter().cloned());
    client.edit("main.adl", "scale = 3.0 + 1.0", "scale = 3.0 + 1.0 ");
    let now = client.request("textDocument/semanticTokens/full", client.of("main.adl"));
    assert_eq!(now["data"], Json::Array(new));
    client.edit("main.adl", "scale = 3.0 + 1.0 ", "scale = 3.0");
    let mut params = client.of("main.adl");
    params["range"] = json!({"start": {"line": 4, "character": 0}, "end": {"line": 4, "character": 11}});
    let some = client.request("textDocument/semanticTokens/range", params);
    assert_eq!(tokens_of(client, "main.adl", &some["data"]).len(), 3);
}

fn hints(client: &mut Client) {
    let mut params = client.of("main.adl");
    params["range"] = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
    let found = client.request("textDocument/inlayHint", params);
    let text = client.text("main.adl");
    let shown = |h: &Json| {
        let at = super::offset(&text, &h["position"]);
        let word: String = text[..at].chars().rev().take_while(|c| c.is_alphanumeric()).collect();
        format!("{} {}", word.chars().rev().collect::<String>(), h["label"].as_str().unwrap())
    };
    let found: Vec<String> = found.as_array().unwrap().iter().map(shown).collect();
    for want in [
        "scale : Float",
        "y : [n]Float",
        "s : Shape",
        "s : Float",
        "point : {left : Float, right : [1]Float}",
        "far : Space a => a -o a",
        "u : a (linear)",
    ] {
        assert!(found.iter().any(|f| f == want), "{want}: {found:?}");
    }
}

fn hierarchy(client: &mut Client) {
    let params = client.at("main.adl", "let ar‸ea");
    let item = client.request("textDocument/prepareCallHierarchy", params)[0].clone();
    assert_eq!(item["name"], "area");
    let calls = client.request("callHierarchy/incomingCalls", json!({"item": item}));
    let names: Vec<&str> = calls.as_array().unwrap().iter().map(|c| c["from"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["line 20", "test \"area\""]);
    let calls = client.request("callHierarchy/outgoingCalls", json!({"item": item}));
    assert_eq!((calls.as_array().unwrap().len(), &calls[0]["to"]["name"]), (1, &json!("double")));
}

fn lenses(client: &mut Client) {
    let found = client.request("textDocument/codeLens", client.of("main.adl"));
    let titles: Vec<&str> = found.as_array().unwrap().iter().map(|l| l["command"]["title"].as_str().unwrap()).collect();
    assert_eq!(&titles[..4], ["run", "cost of the derivative", "residuals", "show derivative"]);
    assert!(titles.contains(&"test"));
}

fn errors(client: &mut Client) {
    client.open("wrong.adl", "let area (r : Float) = r * r\nlet x = aera 2.0\nlet y : Int = \"a\"\nlet z = 1 +\n");
    let found = client.published("wrong.adl");
    let codes: Vec<&str> = found.iter().map(|d| d["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["E0112", "E0201", "E0203"], "{codes:?}");
    let unknown = found.iter().find(|d| d["code"] == "E0201").unwrap();
    assert!(unknown["message"].as_str().unwrap().contains("did you mean `area`?"), "{unknown}");
    let mut params = client.of("wrong.adl");
    params["range"] = unknown["range"].clone();
    params["context"] = json!({"diagnostics": [unknown]});
    let actions = client.request("textDocument/codeAction", params);
    let fix = &actions.as_array().unwrap().iter().find(|a| a["kind"] == "quickfix").unwrap()["edit"]["changes"];
    let text = Client::edited(&client.text("wrong.adl"), &fix[client.uri("wrong.adl")]);
    assert!(text.contains("let x = area 2.0"), "{text}");
    client.open("plain.adl", "let double (x : Float) = 2.0 * x\nlet y = [1.0]\n");
    for (at, want) in [("double‸", "let double (x : Float) : Float ="), ("let y‸", "let y : [1]Float =")] {
        let mut params = client.of("plain.adl");
        let position = client.at("plain.adl", at)["position"].clone();
        params["range"] = json!({"start": position, "end": position});
        params["context"] = json!({"diagnostics": []});
        let actions = client.request("textDocument/codeAction", params);
        let edits = &actions[0]["edit"]["changes"][client.uri("plain.adl")];
        let text = Client::edited(&client.text("plain.adl"), edits);
        assert!(text.contains(want), "{actions}");
    }
}

fn buffers(client: &mut Client) {
    // An unsaved change in an imported file shows in the importer.
    client.diagnostics.clear();
    client.edit("lib.adl", "let double (x : Float) : Float = 2.0 * x", "let twice (x : Float) : Float = 2.0 * x");
    client.published_if("main.adl", |found| found.iter().any(|d| d["message"].as_str().unwrap().contains("double")));
    client.diagnostics.clear();
    client.edit("lib.adl", "2.0 * x", "2.0 * y");
    let found = client.published("main.adl");
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.starts_with("lib.adl:2:39: unknown name `y`"), "{message}");
    assert_eq!(found[0]["range"]["start"]["line"], 0, "at the import");
    client.diagnostics.clear();
    client.edit("lib.adl", "let twice (x : Float) : Float = 2.0 * y", "let double (x : Float) : Float = 2.0 * x");
    assert_eq!(client.published("main.adl"), Vec::<Json>::new());
    let pulled = client.request("textDocument/diagnostic", client.of("main.adl"));
    assert_eq!(pulled["items"], json!([]));
}

fn notebook(client: &mut Client) {
    let cell = |n: i32| json!({"kind": 2, "document": format!("cell:book.ipynb#{n}")});
    let text = |n: i32, text: &str| json!({"uri": format!("cell:book.ipynb#{n}"), "languageId": "adl", "version": 1, "text": text});
    client.notify(
        "notebookDocument/didOpen",
        json!({
            "notebookDocument": {"uri": "file:///book.ipynb", "notebookType": "jupyter-notebook", "version": 1, "cells": [cell(1), cell(2)]},
            "cellTextDocuments": [text(1, "let rate = 0.5"), text(2, "let y = rate * 2.0\ny + missing")],
        }),
    );
    let at = |line: u32, character: u32| json!({"textDocument": {"uri": "cell:book.ipynb#2"}, "position": {"line": line, "character": character}});
    let shown = client.request("textDocument/hover", at(0, 4));
    assert!(shown["contents"]["value"].as_str().unwrap().contains("y : Float"), "{shown}");
    let found = client.request("textDocument/definition", at(0, 10));
    assert_eq!((&found["uri"], &found["range"]["start"]["character"]), (&json!("cell:book.ipynb#1"), &json!(4)));
    let new = client.request("textDocument/rename", {
        let mut p = at(0, 10);
        p["newName"] = json!("speed");
        p
    });
    assert_eq!(new["changes"].as_object().unwrap().len(), 2, "{new}");
    // A cell between them defines what was missing.
    let array = json!({"start": 1, "deleteCount": 0, "cells": [cell(3)]});
    let structure = json!({"array": array, "didOpen": [text(3, "let missing = 1.0")]});
    client.notify(
        "notebookDocument/didChange",
        json!({"notebookDocument": {"uri": "file:///book.ipynb", "version": 2}, "change": {"cells": {"structure": structure}}}),
    );
    let pulled = client.request("textDocument/diagnostic", json!({"textDocument": {"uri": "cell:book.ipynb#2"}}));
    assert_eq!(pulled["items"], json!([]));
    let change =
        json!([{"document": {"uri": "cell:book.ipynb#1", "version": 2}, "changes": [{"text": "let rate = true"}]}]);
    client.notify(
        "notebookDocument/didChange",
        json!({"notebookDocument": {"uri": "file:///book.ipynb", "version": 3}, "change": {"cells": {"textContent": change}}}),
    );
    let pulled = client.request("textDocument/diagnostic", json!({"textDocument": {"uri": "cell:book.ipynb#2"}}));
    assert_ne!(pulled["items"], json!([]));
}

fn cancellation(client: &mut Client) {
    let params = client.at("main.adl", "let lo‸ss");
    let ids: Vec<_> = (0..20).map(|_| client.post("textDocument/hover", params.clone())).collect();
    for id in &ids[10..] {
        client.notify("$/cancelRequest", json!({"id": serde_json::to_value(id).unwrap()}));
    }
    // Every request is answered, in order: with its result, or as cancelled.
    for id in &ids {
        if let Err(e) = client.answer(id) {
            assert_eq!(e["code"], -32800);
        }
    }
    let id = client.post("textDocument/hover", json!({"nonsense": 1}));
    assert!(client.answer(&id).is_err());
    let id = client.post("textDocument/unheardOf", json!({}));
    assert_eq!(client.answer(&id).unwrap_err()["code"], -32601);
}
