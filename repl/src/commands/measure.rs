//! `adl test` and `adl bench`.

use super::{batch, code_of, each, report, shown};
use crate::Global;
use crate::host::say;
use adl_session::benches::{Effort, Timing};
use adl_syntax::render::quote;

/// `adl test FILES…`; without files, the directory that it runs in.
pub fn test(global: &Global, files: &[String]) -> u8 {
    let here = [".".to_owned()];
    let files = if files.is_empty() && !global.stdin { &here[..] } else { files };
    let (mut passed, mut failed) = (0, 0);
    let code = each(global, "test", files, |f, bytes| {
        let mut s = batch(global, Vec::new());
        let r = s.run_tests(shown(f), bytes);
        s.host().flush();
        for t in &r.failed {
            say(&format!("{}: {}\n    {}\n", t.place, t.what, t.why.replace('\n', "\n    ")));
        }
        report(global, &mut s, &r.diags);
        passed += r.passed;
        failed += r.failed.len();
        code_of(&r.diags).max(u8::from(!r.failed.is_empty()))
    });
    say(&format!("{passed} passed, {failed} failed\n"));
    code
}

/// `adl bench FILES…`: a line for each item, or with `--json` an object.
pub fn bench(global: &Global, files: &[String]) -> u8 {
    let mut any = false;
    let code = each(global, "bench", files, |f, bytes| {
        let mut s = batch(global, Vec::new());
        let diags = s.run_benches(shown(f), bytes, Effort::NORMAL, |t| {
            if !global.json && !any {
                say(&format!("{:30} {:>10} {:>23} {:>10} {:>12}\n", "name", "median", "middle half", "min", "iterations"));
            }
            any = true;
            say(&if global.json { json(f, t) } else { line(t) });
        });
        report(global, &mut s, &diags);
        code_of(&diags)
    });
    if !any && code == 0 && !global.json {
        say("there are no `bench \"name\" = e` items\n");
    }
    code
}

fn line(t: &Timing) -> String {
    let spread = format!("{} - {}", duration(t.quartiles.0), duration(t.quartiles.1));
    format!("{:30} {:>10} {spread:>23} {:>10} {:>12}\n", t.name, duration(t.median), duration(t.min), t.iterations)
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

/// Seconds in the unit that suits them.
pub fn duration(seconds: f64) -> String {
    let (x, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if x < 10.0 { 2 } else if x < 100.0 { 1 } else { 0 };
    format!("{x:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn units() {
        for (s, want) in [(1.5e-9, "1.50 ns"), (2.34e-5, "23.4 us"), (0.1234, "123 ms"), (12.0, "12.0 s")] {
            assert_eq!(duration(s), want);
        }
    }
}
