//! `adl lsp` as an editor sees it: a process that is spoken to over its standard input and output.

use crate::client;

use client::Client;
use lsp_server::Message;
use serde_json::{Value as Json, json};
use std::io::BufReader;
use std::process::{Child, Command, Stdio};

fn editor(name: &str) -> (Client, Child) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adl"));
    let mut child = command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let send = move |m: Message| m.write(&mut stdin).unwrap();
    let receive = move || Message::read(&mut stdout).unwrap().expect("the server is there");
    (Client::new(name, send, receive, json!({"window": {"showDocument": {"support": true}}})), child)
}

#[test]
fn an_editor_is_answered() {
    let (mut editor, mut child) = editor("process");
    client::scenarios::all(&mut editor);
    editor.end();
    assert!(child.wait().unwrap().success());
}

const MODEL: &str = "let loss (w : [n]Float) (x : [n]Float) : Float =\n  let y = tanh (w * x)\n  sum (y * y)\n\nlet w0 = [1.0, 2.0]\nprint (grad (loss w0) [0.5, 0.25])\ntest \"small\" = loss w0 [0.0, 0.0] < 1.0\ntest \"wrong\" = loss w0 [1.0, 1.0] < 0.0\nbench \"loss\" = loss w0 w0\n";

fn execute(editor: &mut Client, command: &str, arguments: Json) -> Result<Json, Json> {
    let id = editor.post("workspace/executeCommand", json!({"command": command, "arguments": arguments}));
    editor.answer(&id)
}

#[test]
fn commands_run_the_text_as_it_is_in_the_editor() {
    let (mut editor, mut child) = editor("commands");
    editor.open("model.adl", MODEL);
    let uri = editor.uri("model.adl");
    let ran = execute(&mut editor, "adl.run", json!([uri])).unwrap();
    assert!(ran["code"] == 0 && ran["output"].as_str().unwrap().starts_with('['), "{ran}");
    let ran = execute(&mut editor, "adl.test", json!([uri, "small"])).unwrap();
    assert!(ran["code"] == 0 && ran["output"].as_str().unwrap().contains("small"), "{ran}");
    let ran = execute(&mut editor, "adl.test", json!([uri, "wrong"])).unwrap();
    assert_eq!(ran["code"], 1, "{ran}");
    let ran = execute(&mut editor, "adl.bench", json!([uri, "loss"])).unwrap();
    assert!(ran["output"].as_str().unwrap().contains("loss"), "{ran}");
    let view = execute(&mut editor, "adl.derivative", json!([uri, "loss"])).unwrap();
    assert!(view["output"].as_str().unwrap().contains("-- line 2"), "{view}");
    assert!(editor.asked.iter().any(|(m, p)| m == "window/showDocument" && p["uri"] == view["uri"]));
    links_to_the_program(&mut editor, &view, &uri);
    let view = execute(&mut editor, "adl.residuals", json!([uri, "loss"])).unwrap();
    assert!(view["output"].as_str().unwrap().contains("residuals of"), "{view}");
    links_to_the_program(&mut editor, &view, &uri);
    let cost = execute(&mut editor, "adl.cost", json!([uri, "loss"])).unwrap();
    let figure = cost["figure"].as_str().unwrap().to_owned();
    assert!(figure.contains("times the value's work, keeps"), "{figure}");
    // The lens shows the figure until the function changes.
    let titles = |editor: &mut Client| {
        let lenses = editor.request("textDocument/codeLens", editor.of("model.adl"));
        lenses
            .as_array()
            .unwrap()
            .iter()
            .map(|l| l["command"]["title"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(titles(&mut editor).contains(&figure));
    editor.edit("model.adl", "sum (y * y)", "sum (y * y * y)");
    assert!(!titles(&mut editor).contains(&figure));
    assert!(execute(&mut editor, "adl.cost", json!([uri, "nothing"])).is_err());
    assert!(execute(&mut editor, "adl.nothing", json!([uri])).is_err());
    editor.end();
    assert!(child.wait().unwrap().success());
}

/// Opens what a command has shown: its line numbers lead to the program, and nothing else is known about it.
fn links_to_the_program(editor: &mut Client, view: &Json, program: &str) {
    let document = json!({"uri": view["uri"], "languageId": "plaintext", "version": 1, "text": view["output"]});
    editor.notify("textDocument/didOpen", json!({"textDocument": document}));
    let of = json!({"textDocument": {"uri": view["uri"]}});
    let links = editor.request("textDocument/documentLink", of.clone());
    let link = links.as_array().unwrap().iter().find(|l| l["target"] == format!("{program}#L2")).unwrap().clone();
    let mut at = of.clone();
    at["position"] = link["range"]["start"].clone();
    let found = editor.request("textDocument/definition", at.clone());
    assert_eq!((&found["uri"], &found["range"]["start"]["line"]), (&json!(program), &json!(1)), "{found}");
    assert_eq!(editor.request("textDocument/hover", at), Json::Null);
    assert_eq!(editor.request("textDocument/diagnostic", of)["items"], json!([]));
}

/// A client that others have written, where it is installed.
#[test]
fn another_client_understands_every_answer() {
    let python = std::env::var("ADL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let known = Command::new(&python).args(["-c", "import pytest_lsp"]).stderr(Stdio::null()).status();
    if !known.is_ok_and(|s| s.success()) {
        eprintln!("skipped: {python} has no pytest-lsp");
        return;
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../editors/server/tests/python/test_lsp.py");
    let ran = Command::new(&python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", file])
        .env("ADL", env!("CARGO_BIN_EXE_adl"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}
