//! What a front end shows beside the cells: the panel of variables, and the history.

use adl_interp::host::NullHost;
use adl_kernel::internals::{History, Snapshot, VariableInspector, glob};
use serde_json::{Value as Json, json};

#[test]
fn the_panel_shows_names_types_and_values() {
    let mut session = adl_session::Session::new(Box::new(NullHost));
    session.eval("let m = [[1.0, 2.0], [3.0, 4.0]]\nlet f x = x + 1.0\nlet n = 3\ntype T = A | B");
    let names = Snapshot::of(&mut session, &Snapshot::default());
    let mut panel = VariableInspector::default();
    let mut ask = |request: Json| panel.reply(&request, &names, |n| Some(format!("about {n}")));
    let all = ask(json!({"seq": 7, "command": "inspectVariables"}));
    let of = |v: &Json| (v["name"].as_str().unwrap().to_owned(), v["type"].clone(), v["value"].clone());
    let found: Vec<_> = all["body"]["variables"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(
        found,
        [
            ("m".to_owned(), json!("[2][2]Float"), json!("[[1.0, 2.0], [3.0, 4.0]]")),
            ("n".to_owned(), json!("Int"), json!("3"))
        ]
    );
    assert_eq!((&all["success"], &all["request_seq"]), (&json!(true), &json!(7)));
    let rich = ask(json!({"command": "richInspectVariables", "arguments": {"variableName": "n"}}));
    assert_eq!(rich["body"]["data"]["text/plain"], "3\n\nabout n");
    assert_eq!(ask(json!({"command": "debugInfo"}))["body"]["isStarted"], false);
    assert_eq!(ask(json!({"command": "attach"}))["success"], true);
    assert_eq!(ask(json!({"command": "debugInfo"}))["body"]["isStarted"], true);
    assert_eq!(ask(json!({"command": "stepIn"}))["success"], false);
}

#[test]
fn patterns() {
    let fits = |p: &str, t: &str| glob(&p.chars().collect::<Vec<_>>(), &t.chars().collect::<Vec<_>>());
    assert!(fits("*", "") && fits("a*c", "abbc") && fits("a?c", "abc") && fits("*b*", "abc") && fits("*ab", "aab"));
    assert!(!fits("a", "ab") && !fits("a*c", "ab") && !fits("?", ""));
}

#[test]
fn cells_are_kept_across_restarts() {
    let file = std::env::temp_dir().join(format!("adl-kernel-history-{}/h.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&file);
    for session in 1..=3 {
        let mut h = History::kept_in(Some(file.clone()));
        h.add(1, &format!("let x = {session}\nx"), Some("1 : Int".to_owned()));
    }
    // A line that was cut off is left out.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}[4, 1, \"le")).unwrap();
    let h = History::kept_in(Some(file.clone()));
    assert_eq!(
        h.reply(&json!({"hist_access_type": "tail", "n": 2}))["history"],
        json!([[2, 1, "let x = 2\nx"], [3, 1, "let x = 3\nx"]])
    );
    let of = |session: i64| h.reply(&json!({"hist_access_type": "range", "session": session}))["history"].clone();
    assert_eq!((of(-1), of(0), of(1)), (json!([[3, 1, "let x = 3\nx"]]), json!([]), json!([[1, 1, "let x = 1\nx"]])));
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
}

#[test]
fn three_ways_to_ask() {
    let mut h = History::default();
    for (i, t) in ["1", "2", "1"].into_iter().enumerate() {
        h.add(i as u64 + 1, t, Some(format!("{t} : Int")));
    }
    assert_eq!(h.reply(&json!({"hist_access_type": "tail", "n": 2}))["history"], json!([[1, 2, "2"], [1, 3, "1"]]));
    assert_eq!(
        h.reply(&json!({"hist_access_type": "range", "session": 0, "start": 2, "stop": 3, "output": true}))["history"],
        json!([[1, 2, ["2", "2 : Int"]]])
    );
    assert_eq!(
        h.reply(&json!({"hist_access_type": "search", "pattern": "1*", "unique": true}))["history"],
        json!([[1, 3, "1"]])
    );
}
