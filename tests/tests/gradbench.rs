//! `GradBench`'s problems against its own answers.

use adl_tests::gradbench::{Tool, compare, golden, problems, recorded};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Records of the repository, and those of a folder that `ADL_GRADBENCH` names.
fn records(module: &str) -> Vec<(Value, Value)> {
    let mut out = golden(module);
    if let Some(folder) = std::env::var_os("ADL_GRADBENCH") {
        out.extend(recorded(Path::new(&folder), module));
    }
    out
}

#[test]
fn every_answer_is_right() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for problem in problems() {
        // What adl imports stays with the session: one for each problem keeps them apart.
        let mut tool = Tool::default();
        for (message, expected) in records(problem.name) {
            count += 1;
            let answer: Value = serde_json::from_str(&tool.answer(&message.to_string())).unwrap();
            let found = if answer["success"] == true {
                compare::differs(problem.name, &answer["output"], &expected)
            } else {
                answer["error"].as_str().map(str::to_owned)
            };
            wrong.extend(
                found.map(|f| format!("{} {} {}: {f}", problem.name, message["function"], message["description"])),
            );
        }
    }
    assert!(count >= 61, "{count} records");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_answer_is_compared_as_the_suite_does() {
    let same = |a: Value, b: Value| compare::differs("lse", &a, &b).is_none();
    assert!(same(json!([1.0, 2]), json!([1.00005, 2.0])));
    assert!(!same(json!(1.0), json!(1.0005)));
    assert!(same(json!(0.0), json!(9e-5)));
    assert!(same(json!(1e6), json!(1e6 + 150.0)));
    assert!(!same(json!([1, 2]), json!([1, 3])));
    assert!(!same(json!([1]), json!([1, 2])));
    assert!(!same(json!({"a": 1}), json!({"a": 1, "b": 1})));
    assert!(!same(json!(null), json!(null)));
    assert!(compare::differs("hello", &json!(1.0001), &json!(1.0)).is_some());
}

#[test]
fn the_tool_answers_line_by_line() {
    let mut tool =
        Command::new(env!("CARGO_BIN_EXE_gradbench")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = json!({"x": [0.5, 0.2], "n": 16, "min_runs": 3, "min_seconds": 0});
    let evaluate = |id: i32, module: &str, function: &str, input: &Value| json!({"id": id, "kind": "evaluate", "module": module, "function": function, "input": input});
    let messages = [
        json!({"id": 0, "kind": "start", "eval": "llsq"}),
        json!({"id": 1, "kind": "define", "module": "llsq"}),
        evaluate(2, "llsq", "primal", &input),
        json!({"id": 3, "kind": "analysis", "of": 2, "valid": true}),
        evaluate(4, "llsq", "nothing", &input),
        evaluate(5, "llsq", "primal", &json!({"x": "no numbers"})),
        json!({"id": 6, "kind": "define", "module": "unheard"}),
        evaluate(7, "hello", "double", &json!(4.0)),
        evaluate(8, "llsq", "gradient", &json!({"x": [0.5], "n": 4, "min_runs": 1, "min_seconds": 0.01})),
    ];
    let lines: String = messages.iter().map(|m| format!("{m}\n")).collect();
    tool.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let out = tool.wait_with_output().unwrap();
    let answers: Vec<Value> =
        String::from_utf8(out.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(answers.iter().map(|a| a["id"].as_i64().unwrap()).collect::<Vec<_>>(), (0..9).collect::<Vec<_>>());
    assert_eq!(answers[0], json!({"id": 0, "tool": "adl"}));
    assert_eq!(answers[1], json!({"id": 1, "success": true}));
    // sum over t of (sign t - 0.5 - 0.2 t)^2 / 2 for 16 points from -1 to 1.
    let point = |i: i32| -1.0 + 2.0 * f64::from(i) / 15.0;
    let want: f64 = (0..16).map(|i| 0.5 * (point(i).signum() - 0.5 - 0.2 * point(i)).powi(2)).sum();
    assert!((answers[2]["output"].as_f64().unwrap() - want).abs() < 1e-12);
    let timings = answers[2]["timings"].as_array().unwrap();
    assert_eq!(timings.len(), 3);
    assert!(timings.iter().all(|t| t["name"] == "evaluate" && t["nanoseconds"].is_u64()));
    assert_eq!(answers[3], json!({"id": 3}));
    assert_eq!(answers[4]["error"], "`llsq` has no function `nothing`");
    assert!(
        answers[5]["success"] == false && answers[5]["error"].as_str().unwrap().contains("expected a list"),
        "{}",
        answers[5]
    );
    assert_eq!(answers[6], json!({"id": 6, "success": false, "error": "there is no problem `unheard`"}));
    assert_eq!(answers[7]["output"], 8.0);
    let spent: u64 = answers[8]["timings"].as_array().unwrap().iter().map(|t| t["nanoseconds"].as_u64().unwrap()).sum();
    assert!(spent >= 10_000_000);
    assert!(out.status.success());
}
