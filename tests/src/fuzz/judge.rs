//! Runs a program in all execution modes and reports discrepancies.

use super::ast::FuzzProgram;
use super::evaluate::NoAnswer;
use super::ways::{Check, Query, SessionEntry, SessionRun, ways};
use super::worker::{Answer, REASON, Worker};

/// A failure: its kind, the execution mode, the entry, and the expected and actual answers.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// `value`, `bits`, `error E0123`, `panic file:line`, `hang`, `died`, `rejected`.
    pub kind: String,
    /// The name of the execution mode.
    pub way: &'static str,
    /// The entry.
    pub entry: String,
    /// The expected answer.
    pub want: String,
    /// What came.
    pub have: String,
}

/// The outcome for a program.
pub enum Verdict {
    /// All modes agree with the reference.
    Fine {
        /// Whether the gradient is not 0.
        active: bool,
        /// The reasons why derivatives were taped.
        taped: Vec<String>,
    },
    /// The reference has no answer.
    Skipped(NoAnswer),
    /// Something is wrong.
    Wrong(Vec<Disagreement>),
}

/// Splits a text into words in the form of the reference.
fn words(text: &str) -> Vec<String> {
    let separators = |c: char| c.is_whitespace() || "()[],{}=".contains(c);
    text.split(separators)
        .filter(|w| !w.is_empty() && !["Cons", "Nil", "p", "q", "r"].contains(w))
        .map(str::to_owned)
        .collect()
}

fn close(have: &str, want: &str, slack: f64, size: f64) -> bool {
    match (have.parse::<f64>(), want.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= slack + 1e-8 * size.min(1.0 + b.abs()),
        _ => have == want,
    }
}

/// Whether an answer agrees with the reference.
fn agrees(have: &str, q: &Query) -> bool {
    let have = words(have);
    let size = 1.0 + q.words.iter().filter_map(|w| w.parse::<f64>().ok()).fold(0.0, |m: f64, x| m.max(x.abs()));
    have.len() == q.words.len() && have.iter().zip(&q.words).all(|(a, b)| close(a, b, q.slack, size))
}

fn error_code(text: &str) -> Option<&str> {
    let (code, _) = text.split_once(": ")?;
    (code.len() == 5 && code.starts_with('E') && code[1..].bytes().all(|b| b.is_ascii_digit())).then_some(code)
}

/// The kind of an answer that is not a value.
fn failure(have: &str) -> Option<String> {
    if let Some(text) = have.strip_prefix("panic: ").or_else(|| have.strip_prefix("E0901: ")) {
        let place = text.split_whitespace().find(|w| w.contains(".rs:")).unwrap_or("somewhere");
        return Some(format!("panic {}", place.trim_end_matches(':')));
    }
    error_code(have).map(|c| format!("error {c}"))
}

fn fault(kind: String, step: &SessionEntry, want: String, have: &str) -> Disagreement {
    Disagreement { kind, way: step.way, entry: step.text.clone(), want, have: have.chars().take(2000).collect() }
}

/// The words of an answer without the signs of zeros: those of a derivative's zeros may differ
/// (`docs/book/src/reference/differentiation.md`).
fn unsigned(text: &str) -> Vec<String> {
    words(text).into_iter().map(|w| if w == "-0.0" { "0.0".to_owned() } else { w }).collect()
}

/// Whether an answer involves derivatives: a derivative operator occurs in the question or in the definitions before
/// it.
fn derived(way: &SessionRun, step: &SessionEntry) -> bool {
    const WORDS: [&str; 7] = ["grad", "jvp", "vjp", "linearize", "jac", "hessian", "hvp"];
    let texts = way.steps.iter().filter(|s| s.way == "definitions").chain([step]);
    texts.map(|s| &s.text).any(|t| WORDS.iter().any(|w| t.contains(w)))
}

/// The failure of one answer, if any. `derived`: whether it involves derivatives.
fn check(step: &SessionEntry, derived: bool, have: &str, echoes: &[Vec<String>]) -> Option<Disagreement> {
    if have == "not run" {
        return None;
    }
    let failed = failure(have);
    let allowed = |codes: &[&str]| error_code(have).is_some_and(|c| codes.contains(&c));
    match &step.check {
        Check::Defines => failed.map(|k| fault(k.replace("error", "rejected"), step, "a definition".into(), have)),
        Check::AgreesOr(_, codes) if allowed(codes) => None,
        Check::Agrees(q) | Check::AgreesOr(q, _) => {
            let want = q.words.join(" ");
            match failed {
                Some(k) => Some(fault(k, step, want, have)),
                None => (!agrees(have, q)).then(|| fault("value".into(), step, want, have)),
            }
        }
        Check::Same(_, _, codes) if allowed(codes) => None,
        Check::Same(r, e, _) => {
            let want = &echoes[*r][*e];
            // If the other entry failed, that is reported there.
            if have == *want
                || failure(want).is_some()
                || want == "not run"
                || (derived && unsigned(have) == unsigned(want))
            {
                return failed.filter(|k| k.starts_with("panic")).map(|k| fault(k, step, want.clone(), have));
            }
            Some(fault(failed.unwrap_or_else(|| "bits".into()), step, want.clone(), have))
        }
    }
}

/// The echoes without reasons.
fn plain(answers: &[Vec<String>]) -> Vec<Vec<String>> {
    let echo = |a: &String| a.split(REASON).next().unwrap_or("").to_owned();
    answers.iter().map(|run| run.iter().map(echo).collect()).collect()
}

/// Reasons for taped AD that indicate a defect, unlike the limitations documented in `docs/ARCHITECTURE.md`.
const NEEDLESS: [&str; 3] = ["laid out differently", "specialised without end", "the shape of an absent array"];

/// The entries whose derivatives were taped although compiled AD is asked first, with the reasons.
fn taped<'a>(way: &'a SessionRun, answers: &'a [String]) -> impl Iterator<Item = (&'a SessionEntry, &'a str)> {
    let steps = way.steps.iter().zip(answers).filter(|_| way.compiled);
    steps.flat_map(|(s, a)| a.split(REASON).skip(1).map(move |r| (s, r)))
}

fn needless(way: &SessionRun, answers: &[String]) -> Option<Disagreement> {
    taped(way, answers)
        .find(|(_, r)| NEEDLESS.iter().any(|n| r.contains(n)))
        .map(|(s, r)| fault("needless tape".into(), s, "compiled".into(), r))
}

/// What is wrong with a program's answers, and the reasons why derivatives were taped in the first mode.
#[derive(Default)]
pub struct Findings {
    /// The failures.
    pub faults: Vec<Disagreement>,
    /// Each reason once.
    pub taped: Vec<String>,
}

/// Runs the program in these modes and judges the answers.
pub fn judge_ways(ways: &[SessionRun], worker: &mut Worker) -> std::io::Result<Findings> {
    if ways.is_empty() {
        return Ok(Findings::default());
    }
    let runs: Vec<_> = ways.iter().map(SessionRun::run).collect();
    match worker.run(&runs)? {
        Answer::Echoes(answers) if answers.len() == ways.len() => {
            let echoes = plain(&answers);
            let reasons = needless(&ways[0], &answers[0]);
            let mut why: Vec<String> = taped(&ways[0], &answers[0]).map(|(_, r)| r.to_owned()).collect();
            why.sort();
            why.dedup();
            let faults = ways
                .iter()
                .enumerate()
                .flat_map(|(r, w)| {
                    w.steps
                        .iter()
                        .zip(&echoes[r])
                        .filter_map(|(s, have)| check(s, derived(w, s), have, &echoes))
                        .collect::<Vec<_>>()
                })
                .chain(reasons)
                .collect();
            Ok(Findings { faults, taped: why })
        }
        _ => Ok(Findings { faults: narrowed(ways, worker)?, taped: Vec::new() }),
    }
}

/// Finds the mode that does not terminate.
fn narrowed(ways: &[SessionRun], worker: &mut Worker) -> std::io::Result<Vec<Disagreement>> {
    let kind = |a: &Answer| match a {
        Answer::Hang => "hang".to_owned(),
        Answer::Died(how) => format!("died: {how}"),
        Answer::Echoes(_) => "no answer".to_owned(),
    };
    for way in ways {
        let alone = worker.run(&[way.run()])?;
        if matches!(alone, Answer::Echoes(_)) {
            continue;
        }
        // The first entry without an answer.
        for n in 1..=way.steps.len() {
            let mut part = way.clone();
            part.steps.truncate(n);
            let alone = worker.run(&[part.run()])?;
            if !matches!(alone, Answer::Echoes(_)) {
                return Ok(vec![fault(kind(&alone), &way.steps[n - 1], "an answer".into(), "")]);
            }
        }
    }
    // Together they exceeded the time, but individually they do not: the machine is busy.
    Ok(vec![])
}

/// Runs a program in all ways.
pub fn judge(p: &FuzzProgram, worker: &mut Worker) -> std::io::Result<Verdict> {
    let ways = match ways(p) {
        Ok(ways) => ways,
        Err(stop) => return Ok(Verdict::Skipped(stop)),
    };
    let Findings { faults, taped } = judge_ways(&ways, worker)?;
    let gradient = |s: &SessionEntry| matches!(&s.check, Check::Agrees(q) if q.text == "(grad f0 x0)" && q.words.iter().any(|w| w.parse::<f64>().is_ok_and(|x| x != 0.0)));
    let active = ways[0].steps.iter().any(gradient);
    Ok(if faults.is_empty() { Verdict::Fine { active, taped } } else { Verdict::Wrong(faults) })
}
