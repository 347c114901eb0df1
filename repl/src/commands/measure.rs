//! `adl test` and `adl bench`.

use super::stored::{self, Stored};
use super::{batch, code_of, each, report, shown};
use crate::Global;
use crate::host::say;
use adl_session::Failure;
use adl_session::benches::{Effort, Timing};
use adl_syntax::render::quote;
use std::io::Write;

/// `adl test FILES…`. Without files, it tests the current directory. With `--json`, it prints an object for each test.
pub fn test(global: &Global, filter: &str, verbose: bool, files: &[String]) -> u8 {
    let here = [".".to_owned()];
    let files = if files.is_empty() && !global.stdin { &here[..] } else { files };
    let (mut passed, mut failed) = (0, 0);
    let code = each(global, "test", files, |f, bytes| {
        let mut session = batch(global, Vec::new());
        let outcome = session.run_tests_matching(shown(f), bytes, filter);
        session.host().flush();
        outcome.names.iter().filter(|_| verbose || global.json).for_each(|name| {
            say(&if global.json { result(f, name, None) } else { format!("{}: {name} holds\n", shown(f)) });
        });
        for t in &outcome.failed {
            say(&if global.json {
                result(f, &t.what, Some(t))
            } else {
                format!("{}: {}\n    {}\n", t.place, t.what, t.why.replace('\n', "\n    "))
            });
        }
        report(global, &mut session, &outcome.diags);
        passed += outcome.passed;
        failed += outcome.failed.len();
        code_of(&outcome.diags).max(u8::from(!outcome.failed.is_empty()))
    });
    if !global.json {
        say(&format!("{passed} passed, {failed} failed\n"));
    }
    code
}

/// The result of a test as a JSON object on one line.
fn result(file: &str, name: &str, failure: Option<&Failure>) -> String {
    let more = failure.map_or(String::new(), |f| format!(",\"place\":{},\"why\":{}", quote(&f.place), quote(&f.why)));
    format!("{{\"file\":{},\"name\":{},\"passed\":{}{more}}}\n", quote(shown(file)), quote(name), failure.is_none())
}

/// `adl bench FILES…`: prints a line for each item, or an object with `--json`.
pub fn bench(global: &Global, filter: &str, stored: Stored, files: &[String]) -> u8 {
    let then = match stored.against.as_deref().map(stored::load).transpose() {
        Ok(then) => then,
        Err(e) => return wrong(&e),
    };
    let mut lines = String::new();
    let code = each(global, "bench", files, |file, bytes| {
        let mut session = batch(global, Vec::new());
        let diags = session.run_benches(shown(file), bytes, filter, Effort::NORMAL, |timing| {
            if !global.json && lines.is_empty() {
                let more = if then.is_some() { "  change" } else { "" };
                say(&format!(
                    "{:30} {:>10} {:>23} {:>10} {:>12}{more}\n",
                    "name", "median", "middle half", "min", "iterations"
                ));
            }
            let change = then.as_ref().map(|all| {
                all.get(&(file.to_owned(), timing.name.clone()))
                    .map_or("new".to_owned(), |then| stored::compared(timing, *then))
            });
            let object = json(file, timing);
            say(&if global.json { object.clone() } else { line(timing, change.as_deref()) });
            lines += &object;
        });
        report(global, &mut session, &diags);
        code_of(&diags)
    });
    if lines.is_empty() && code == 0 && !global.json {
        say("there are no `bench \"name\" = e` items\n");
    }
    match stored.save.map(|name| stored::save(&name, &lines)) {
        Some(Err(e)) => wrong(&e),
        _ => code,
    }
}

fn wrong(text: &str) -> u8 {
    let _ = writeln!(std::io::stderr(), "error: {text}");
    1
}

fn line(t: &Timing, change: Option<&str>) -> String {
    let spread = format!("{} - {}", duration(t.quartiles.0), duration(t.quartiles.1));
    format!(
        "{:30} {:>10} {spread:>23} {:>10} {:>12}{}\n",
        t.name,
        duration(t.median),
        duration(t.min),
        t.iterations,
        change.map_or(String::new(), |c| format!("  {c}"))
    )
}

fn json(file: &str, t: &Timing) -> String {
    format!(
        "{{\"file\":{},\"name\":{},\"median\":{:e},\"quartile1\":{:e},\"quartile3\":{:e},\"min\":{:e},\"samples\":{},\"iterations\":{}}}\n",
        quote(file),
        quote(&t.name),
        t.median,
        t.quartiles.0,
        t.quartiles.1,
        t.min,
        t.samples,
        t.iterations
    )
}

/// A duration in a suitable unit.
pub fn duration(seconds: f64) -> String {
    let (scaled, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if scaled < 10.0 {
        2
    } else if scaled < 100.0 {
        1
    } else {
        0
    };
    format!("{scaled:.digits$} {unit}")
}
