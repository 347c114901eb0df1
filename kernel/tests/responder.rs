//! Questions that are answered while a cell runs.

use crate::INJECTIONS;
use adl_interp::fault;
use adl_interp::host::NullHost;
use adl_kernel::internals::{
    Channel, Message, Outbox, Request, Responder, SharedHandle, Snapshot, asked, byte_of, lock,
};
use adl_session::Session;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc::unbounded_channel;

/// What one responder answers to these requests.
fn answers(common: SharedHandle, kind: &str, contents: impl IntoIterator<Item = Json>) -> Vec<Json> {
    let (shell, mut replies) = unbounded_channel();
    let out = Outbox::new("session", shell, unbounded_channel().0, unbounded_channel().0);
    let (ask, questions) = std::sync::mpsc::channel();
    for content in contents {
        let message = Message::new("session", kind, &json!({}), content);
        ask.send(Request { message, channel: Channel::Shell, arrived: std::time::Instant::now() }).unwrap();
    }
    drop(ask);
    Responder::new(common, out, Vec::new(), || Box::new(NullHost)).serve(&questions);
    std::iter::from_fn(|| replies.try_recv().ok()).map(|m| m.content).collect()
}

/// Completions at the ends of texts, after a cell with these definitions.
fn completions(session: &mut Session, definitions: &str, texts: &[&str]) -> Vec<Json> {
    session.eval(definitions);
    let common = SharedHandle::default();
    let names = Snapshot::of(session, &Snapshot::default());
    lock(&common).snapshot = names;
    let _turn = INJECTIONS.lock();
    answers(common, "complete_request", texts.iter().map(|code| json!({"code": code, "cursor_pos": code.len()})))
}

#[test]
fn a_panic_is_an_error_of_one_question() {
    let _turn = INJECTIONS.lock();
    fault::inject(Some(fault::PanicPoint::Answer));
    let tan = || json!({"code": "tan", "cursor_pos": 3});
    let said = answers(SharedHandle::default(), "complete_request", [tan(), tan()]);
    let [first, second] = &said[..] else { panic!("{said:?}") };
    assert!(first["status"] == "error" && first.to_string().contains("E0901"), "{first}");
    assert!(
        second["status"] == "ok" && second["matches"].as_array().is_some_and(|m| m.contains(&json!("tanh"))),
        "{second}"
    );
}

#[test]
fn candidates_are_ordered_as_in_the_repl() {
    let definitions = "type Shape = Circle Float\nlet loss (w : [2]Float) (x : Float) = sum w * x\nlet wa = \"text\"\nlet wb = [1.0, 2.0]\nlet wd (n : Int) = [float n, 1.0]";
    let texts = ["loss w", "let g x = 2.0 * (loss w", "loss ", "let f (s : Sh"];
    let mut session = Session::new(Box::new(NullHost));
    let said = completions(&mut session, definitions, &texts);
    let matches = |of: usize| -> Vec<&str> {
        said[of]["matches"].as_array().unwrap().iter().map(|m| m.as_str().unwrap()).collect()
    };
    for (at, text) in texts[..2].iter().enumerate() {
        let mut found = session.complete("w");
        session.order_by_type(text, text.len() - 1, &mut found);
        let there: Vec<&str> = found.iter().map(|c| c.text.as_str()).collect();
        assert_eq!((&there[..2], matches(at)), (&["wb", "wd"][..], there.clone()), "{text}");
    }
    assert_eq!(matches(2)[..2], ["wb", "wd"]);
    assert_eq!(matches(3), ["Shape"]);
}

#[test]
fn kinds() {
    let definitions = "type Shape = Circle Float\nlet my_function (x : Float) = x\nlet my_number = 1.5";
    let mut session = Session::new(Box::new(NullHost));
    for (code, text, kind) in [
        ("my_f", "my_function", "function"),
        ("my_n", "my_number", "instance"),
        ("stat", "stats.", "module"),
        ("Circ", "Circle", "class"),
        ("let f (s : Sh", "Shape", "class"),
    ] {
        let said = completions(&mut session, definitions, &[code]);
        let kinds = said[0]["metadata"]["_jupyter_types_experimental"].as_array().unwrap();
        assert!(kinds.iter().any(|k| k["text"] == text && k["type"] == kind), "{code}: {kinds:?}");
    }
}

#[test]
fn indentation_of_the_next_line() {
    let _turn = INJECTIONS.lock();
    let texts = ["let f x =", "1 + 1", "let = )"].map(|code| json!({"code": code}));
    let said = answers(SharedHandle::default(), "is_complete_request", texts);
    assert_eq!(said[0], json!({"status": "incomplete", "indent": "  "}));
    assert_eq!((&said[1]["status"], &said[2]["status"]), (&json!("complete"), &json!("invalid")));
}

#[test]
fn positions_count_characters() {
    assert_eq!(byte_of("αβ x", Some(2)), 4);
    assert_eq!(byte_of("αβ", Some(9)), 4);
    assert_eq!(byte_of("ab", None), 2);
}

#[test]
fn what_a_cursor_asks_about() {
    assert_eq!(asked("grad f", 2), ["grad"]);
    assert_eq!(asked("grad ", 5), ["grad"]);
    assert_eq!(asked("let y = foldr f", 15), ["f", "foldr"]);
    assert_eq!(asked("stats.mean xs", 2), ["stats", "stats.mean"]);
    assert_eq!(asked("stats.mean xs", 8), ["stats.mean"]);
    assert_eq!(asked("", 0), [""; 0]);
}
