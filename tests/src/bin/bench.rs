//! The problems of GradBench, timed: `bench [PROBLEM...]`. First at the sizes of the golden messages, then larger.

use adl_tests::gradbench::{Tool, generate, golden, problems};
use serde_json::{Value, json};

#[global_allocator]
static MEMORY: adl_jit::alloc::Keeping<mimalloc::MiMalloc> = adl_jit::alloc::Keeping(mimalloc::MiMalloc);

/// A problem of one size.
struct Case {
    module: &'static str,
    size: String,
    input: Value,
}

/// Seconds for which each function runs, at least.
const SECONDS: f64 = 0.3;

/// The function that is differentiated, where messages can ask for it, and those that give derivatives.
fn functions(module: &str) -> (Option<&'static str>, &'static [&'static str]) {
    match module {
        "hello" => (Some("square"), &["double"]),
        "kmeans" => (Some("cost"), &["dir"]),
        "llsq" | "lse" | "ode" | "det" => (Some("primal"), &["gradient"]),
        "particle" | "saddle" => (None, &["ff", "fr", "rf", "rr"]),
        _ => (Some("objective"), &["jacobian"]),
    }
}

/// The inputs of the golden messages, each once.
fn small(module: &'static str) -> Vec<Case> {
    let mut out: Vec<Case> = Vec::new();
    for (message, _) in golden(module) {
        let size = message["description"].as_str().map_or_else(|| message["input"].to_string(), str::to_owned);
        if out.last().is_none_or(|c| c.input != message["input"]) {
            out.push(Case { module, size, input: message["input"].clone() });
        }
    }
    out
}

/// Sizes of the suite that are worth comparing with other tools.
fn large() -> Vec<Case> {
    let case = |module, size: &str, input| Case { module, size: size.to_owned(), input };
    let mut out = vec![
        case("llsq", "n=16392,m=128", generate::llsq(16_392, 128)),
        case("lse", "n=1280000", generate::lse(1_280_000)),
        case("ode", "n=100000,s=10", generate::ode(100_000, 10)),
        case("det", "10", generate::det(10)),
        case("kmeans", "k=100,n=10000,d=16", generate::kmeans(100, 10_000, 16)),
        case("gmm", "d=10,k=25,n=1000", generate::gmm(10, 25, 1000)),
        case("gmm", "d=64,k=25,n=1000", generate::gmm(64, 25, 1000)),
        case("lstm", "l=2,c=1024", generate::lstm(2, 1024)),
    ];
    if let Some(first) = small("ht").into_iter().next() {
        out.push(case("ht", "10000 vertices, c=1000", generate::ht(&first.input, 10_000, 1000)));
    }
    out
}

/// The median time of a function, in milliseconds.
fn milliseconds(tool: &mut Tool, case: &Case, function: &str) -> Result<f64, String> {
    let mut input = case.input.clone();
    if let Value::Object(fields) = &mut input {
        fields.insert("min_runs".to_owned(), json!(1));
        fields.insert("min_seconds".to_owned(), json!(SECONDS));
    }
    let message = json!({"module": case.module, "function": function, "input": input});
    let mut times = tool.evaluate(&message.to_string(), &message)?.nanoseconds;
    times.sort_unstable();
    Ok(times[times.len() / 2] as f64 / 1e6)
}

fn report(tool: &mut Tool, case: &Case) -> Result<(), String> {
    let (primal, derivatives) = functions(case.module);
    let base = primal.map(|f| milliseconds(tool, case, f)).transpose()?;
    for d in derivatives {
        let name = if derivatives.len() > 1 { format!("{} {d}", case.module) } else { case.module.to_owned() };
        let time = milliseconds(tool, case, d)?;
        let shown = |x: Option<f64>, digits: usize| x.map_or("-".to_owned(), |x| format!("{x:.digits$}"));
        println!("{name:12} {:34} {:>12} {:>14} {:>8}", case.size, shown(base, 4), shown(Some(time), 4), shown(base.map(|b| time / b), 1));
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    let only: Vec<String> = std::env::args().skip(1).collect();
    println!("{:12} {:34} {:>12} {:>14} {:>8}", "problem", "size", "primal ms", "derivative ms", "ratio");
    let cases = problems().iter().flat_map(|p| small(p.name)).chain(large());
    let mut failed = false;
    for case in cases.filter(|c| only.is_empty() || only.iter().any(|o| o == c.module)) {
        let mut tool = Tool::default();
        if let Err(e) = report(&mut tool, &case) {
            eprintln!("{} {}: {e}", case.module, case.size);
            failed = true;
        }
    }
    std::process::ExitCode::from(u8::from(failed))
}
