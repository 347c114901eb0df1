//! What commands print: differences of formatted files, times, bars of progress, pages of documentation.

use adl_cli::internals::{anchor, bar_text, compared, diff, duration, inline};
use adl_session::benches::Timing;
use adl_syntax::highlight::html as code;

#[test]
fn differences_are_unified() {
    let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
    assert_eq!(
        diff("x", old, &old.replace("b\n", "B\n")),
        "--- x\n+++ x (formatted)\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n"
    );
    assert_eq!(diff("x", old, &old.replace("h\n", "")), "--- x\n+++ x (formatted)\n@@ -5,4 +5,3 @@\n e\n f\n g\n-h\n");
    assert_eq!(diff("x", "", "a\n"), "--- x\n+++ x (formatted)\n@@ -0,0 +1,1 @@\n+a\n");
}

#[test]
fn units() {
    for (s, want) in [(1.5e-9, "1.50 ns"), (2.34e-5, "23.4 us"), (0.1234, "123 ms"), (12.0, "12.0 s")] {
        assert_eq!(duration(s), want);
    }
}

#[test]
fn verdicts_need_halves_that_are_apart() {
    let now = |median: f64| Timing {
        name: "a".into(),
        median,
        quartiles: (median * 0.9, median * 1.1),
        min: median * 0.8,
        samples: 1,
        iterations: 1,
    };
    for (median, want) in [(2.0, "+100.0 %  slower"), (1.05, "+5.0 %  no clear change"), (0.5, "-50.0 %  faster")] {
        assert_eq!(compared(&now(median), (1.0, 0.9, 1.1)), want);
    }
}

#[test]
fn a_bar_says_rate_and_time_left() {
    assert_eq!(
        bar_text(500, 1000, 250.0),
        format!("[{}{}]  50 %  250.0 /s  2.0 s left", "#".repeat(15), " ".repeat(15))
    );
    assert!(bar_text(0, 0, 0.0).contains("  0 %"));
}

#[test]
fn text_is_escaped_and_marked() {
    assert_eq!(inline("a < `b > c` & d"), "a &lt; <code>b &gt; c</code> &amp; d");
    assert_eq!(code("let x = 1"), "<span class=\"k\">let</span> x = <span class=\"n\">1</span>");
    assert_eq!(anchor("x'"), "x-27");
}
