//! Values and texts in the media types of front ends, and outputs that are shown again.

use adl_interp::value::{Buf, Value, array};
use adl_kernel::ansi::{bold_only, plain};
use adl_kernel::internals::{LIMIT, OutputRecord, OutputSink, bar_data, escape, grouped, html};
use adl_kernel::mime_bundle;
use serde_json::{Value as Json, json};
use std::cell::RefCell;

#[derive(Default)]
struct Heard(RefCell<Vec<String>>);

impl OutputSink for Heard {
    fn stream(&self, name: &'static str, text: &str) {
        self.0.borrow_mut().push(format!("{name} {text}"));
    }
    fn publish(&self, kind: &str, content: Json, _metadata: Json) {
        self.0.borrow_mut().push(format!("{kind} {}{}", content["wait"], content["data"]));
    }
    fn ask(&self, _prompt: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
    fn watched(&self) -> bool {
        true
    }
}

fn display(id: &str, data: &str) -> Json {
    json!({"data": {"text/plain": data}, "metadata": {}, "transient": {"display_id": id}})
}

#[test]
fn what_else_was_shown_is_shown_again() {
    let (mut r, heard) = (OutputRecord::default(), Heard::default());
    r.stream("stdout", "a");
    r.stream("stdout", "b");
    r.publish("display_data", &display("bar", "50 %"), &json!({}));
    r.publish("display_data", &display("x", "1"), &json!({}));
    r.publish("update_display_data", &display("x", "2"), &json!({}));
    r.take_back("bar", &heard);
    assert_eq!(*heard.0.borrow(), ["clear_output truenull", "stdout ab", "display_data null{\"text/plain\":\"2\"}"]);
}

#[test]
fn a_cell_with_nothing_else_is_empty_at_once() {
    let (mut r, heard) = (OutputRecord::default(), Heard::default());
    r.publish("display_data", &display("bar", "50 %"), &json!({}));
    r.take_back("bar", &heard);
    assert_eq!(*heard.0.borrow(), ["clear_output falsenull"]);
}

#[test]
fn long_output_is_not_sent_twice() {
    let (mut r, heard) = (OutputRecord::default(), Heard::default());
    r.publish("display_data", &display("bar", "50 %"), &json!({}));
    r.stream("stdout", &"x".repeat(LIMIT + 1));
    r.take_back("bar", &heard);
    assert_eq!(*heard.0.borrow(), ["update_display_data null{}"]);
}

#[test]
fn a_bar_says_how_long_still() {
    assert_eq!(bar_data(500, 1000, 250.0)["text/plain"], "50 % (500 of 1,000), 250/s, 2 s left");
    assert!(bar_data(0, 0, 0.0)["text/plain"].as_str().unwrap().starts_with("0 %"));
}

#[test]
fn digits_are_grouped() {
    assert_eq!(
        [0, 12, 999, 1000, 34_906_930, 10_000_000_000].map(grouped),
        ["0", "12", "999", "1,000", "34,906,930", "10,000,000,000"]
    );
}

fn ints(shape: &[usize]) -> Value {
    array::make(shape.iter().copied().collect(), Buf::I64((0..shape.iter().product::<usize>() as i64).collect()))
}

#[test]
fn big_values_are_cut() {
    for shape in [&[100_000][..], &[1000, 1000], &[100, 100, 100], &[3, 2, 2, 2]] {
        let html = html(&ints(shape), "T").unwrap();
        assert!(html.len() < 200_000 && (html.contains('…') || shape.len() == 4), "{shape:?}: {}", html.len());
        assert_eq!(html.matches("<tr>").count(), html.matches("</tr>").count());
    }
}

#[test]
fn scalars_have_no_parts() {
    assert!(html(&Value::Int(1), "Int").is_none() && html(&array::ints(vec![]), "[0]Int").is_none());
}

#[test]
fn text_is_no_markup() {
    assert_eq!(escape("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
}

#[test]
fn a_small_matrix_is_a_formula() {
    let m = array::make([2, 2].into_iter().collect(), Buf::F64(vec![1.0, -2.5, 1e30, f64::INFINITY]));
    let data: Json = serde_json::from_str(&mime_bundle(&m, "[2][2]Float").0).unwrap();
    assert_eq!(
        data["text/latex"],
        r"$\displaystyle \begin{bmatrix}1.0 & -2.5 \\ 1 \cdot 10^{30} & \infty\end{bmatrix}$"
    );
    assert!(data["text/plain"].as_str().unwrap().starts_with(": [2][2]Float, -2.5 .. 1e30, 1 inf\n"));
}

#[test]
fn bold_stays_and_colours_go() {
    let text = "\u{1b}[1m\u{1b}[91merror[E1]\u{1b}[0m\u{1b}[1m: a\u{1b}[0m \u{1b}[33mb\u{1b}[0m \u{1b}[2K";
    assert_eq!(bold_only(text), "\u{1b}[1merror[E1]\u{1b}[0m\u{1b}[1m: a\u{1b}[0m b\u{1b}[0m \u{1b}[2K");
    assert_eq!(plain(text), "error[E1]: a b \u{1b}[2K");
    assert_eq!(bold_only("\u{1b}[1;91mx\u{1b}[m"), "\u{1b}[1mx\u{1b}[m");
    assert_eq!(plain("\u{1b}["), "\u{1b}[");
}
