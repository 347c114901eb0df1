//! The problems of GradBench at sizes suitable for comparisons with other tools.

use super::{Row, Times, compare, memory, time_by_hand};
use crate::by_hand::{ByHand, cameras, hand, memory as lstm, mixture, sums};
use crate::gradbench::{Run, Tool, generate, golden};
use serde_json::{Value as Json, json};

/// A problem of one size.
pub struct Case {
    /// The problem.
    pub module: &'static str,
    size: String,
    input: Json,
}

/// The hand-written version of a problem.
fn by_hand(module: &str, input: &Json) -> Option<ByHand> {
    Some(match module {
        "llsq" => sums::llsq(input),
        "lse" => sums::lse(input),
        "ode" => sums::ode(input),
        "kmeans" => sums::kmeans(input),
        "gmm" => mixture::gmm(input),
        "lstm" => lstm::lstm(input),
        "ba" => cameras::ba(input),
        "ht" if input["us"].as_array().is_some_and(|u| !u.is_empty()) => hand::ht(input),
        _ => return None,
    })
}

/// The differentiated function, if messages can request it, and the functions that return derivatives.
fn functions(module: &str) -> (Option<&'static str>, &'static [&'static str]) {
    match module {
        "hello" => (Some("square"), &["double"]),
        "kmeans" => (Some("cost"), &["dir"]),
        "llsq" | "lse" | "ode" | "det" => (Some("primal"), &["gradient"]),
        "particle" | "saddle" => (None, &["ff", "fr", "rf", "rr"]),
        _ => (Some("objective"), &["jacobian"]),
    }
}

/// The inputs of the golden messages, without duplicates.
pub fn small(module: &'static str) -> Vec<Case> {
    let mut out: Vec<Case> = Vec::new();
    for (message, _) in golden(module) {
        let size = message["description"].as_str().map_or_else(|| message["input"].to_string(), str::to_owned);
        if out.last().is_none_or(|c| c.input != message["input"]) {
            out.push(Case { module, size, input: message["input"].clone() });
        }
    }
    out
}

/// Sizes suitable for comparisons with other tools.
pub fn large() -> Vec<Case> {
    let case = |module, size: &str, input| Case { module, size: size.to_owned(), input };
    let mut out = vec![
        case("gmm", "d=10 k=25 n=1000", generate::gmm(10, 25, 1000)),
        case("gmm", "d=64 k=25 n=1000", generate::gmm(64, 25, 1000)),
        case("lstm", "l=2 c=1024", generate::lstm(2, 1024)),
        case("llsq", "n=16392 m=128", generate::llsq(16_392, 128)),
        case("lse", "n=1280000", generate::lse(1_280_000)),
        case("ode", "n=100000 s=10", generate::ode(100_000, 10)),
        case("det", "10", generate::det(10)),
        case("kmeans", "k=100 n=10000 d=16", generate::kmeans(100, 10_000, 16)),
    ];
    out.extend(small("ba").into_iter().take(1));
    if let Some(first) = small("ht").into_iter().next() {
        out.push(case("ht", "10000 vertices c=1000", generate::ht(&first.input, 10_000, 1000)));
    }
    out.extend(["particle", "saddle"].into_iter().flat_map(|m| small(m).into_iter().take(1)));
    out
}

fn run(tool: &mut Tool, case: &Case, function: &str, seconds: f64) -> Result<(Times, Run), String> {
    let mut input = case.input.clone();
    if let Json::Object(fields) = &mut input {
        fields.insert("min_runs".to_owned(), json!(if seconds == 0.0 { 1 } else { 3 }));
        fields.insert("min_seconds".to_owned(), json!(seconds));
    }
    let message = json!({"module": case.module, "function": function, "input": input});
    let run = tool.evaluate(&message.to_string(), &message)?;
    Ok((Times::of(run.nanoseconds.iter().map(|n| *n as f64 / 1e6).collect()), run))
}

/// The floats of a result, in order.
fn floats(v: &Json, out: &mut Vec<f64>) {
    match v {
        Json::Array(a) => a.iter().for_each(|v| floats(v, out)),
        Json::Object(o) => o.values().for_each(|v| floats(v, out)),
        Json::Number(n) if n.is_f64() => out.extend(n.as_f64()),
        _ => {}
    }
}

fn same(what: &str, made: &Run, hand: &[f64]) -> Result<(), String> {
    let mut ours = Vec::new();
    floats(&serde_json::from_str(&made.output).map_err(|e| e.to_string())?, &mut ours);
    compare(what, &ours, hand)
}

/// Measures a problem.
pub fn measure(case: &Case, seconds: f64, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    let mut tool = Tool::default();
    let (primal, derivatives) = functions(case.module);
    let hand = by_hand(case.module, &case.input);
    let base = match primal {
        Some(f) => {
            let (times, made) = run(&mut tool, case, f, seconds)?;
            hand.as_ref().map_or(Ok(()), |h| same(f, &made, &(h.value)()))?;
            Some(times)
        }
        None => None,
    };
    for d in derivatives {
        let (made, held) = memory(|| run(&mut tool, case, d, 0.0));
        hand.as_ref().map_or(Ok(()), |h| same(d, &made?.1, &(h.gradient)()))?;
        let gradient = run(&mut tool, case, d, seconds)?.0;
        let name = if derivatives.len() > 1 { format!("{}: {d}", case.module) } else { case.module.to_owned() };
        let by_hand = hand.as_ref().map(|h| time_by_hand(h, seconds));
        row(Row { name, size: case.size.clone(), primal: base, gradient: Some(gradient), by_hand, memory: held });
    }
    Ok(())
}
