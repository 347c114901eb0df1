//! Which candidates of a completion come first.

use adl_interp::host::NullHost;
use adl_session::Session;
use adl_session::completion_ranking::{called, parameters};

#[test]
fn parameters_of_types() {
    let texts = |ty: &'static str| parameters(ty).into_iter().map(|r| &ty[r]).collect::<Vec<_>>();
    assert_eq!(texts("(Diff a, Real s) => (a -> s) -> a -> [n]a"), ["(a -> s)", "a", "[n]a"]);
    assert_eq!(texts("Float"), ["Float"]);
    assert_eq!(texts("{f : a -> b} -o Int"), ["{f : a -> b}", "Int"]);
}

#[test]
fn the_function_that_is_called() {
    for (text, want) in [
        ("grad ", Some(("grad", 0))),
        ("let y = optim.adam o ", Some(("optim.adam", 1))),
        ("f (g x", Some(("g", 0))),
        ("f (g x) ", Some(("f", 1))),
        ("f p.x v[0] q", Some(("f", 2))),
        ("f [1, 2] {a = 1} \"a b\" ", Some(("f", 3))),
        ("1 + f", None),
        ("grad", None),
        ("f x + ", None),
        ("(x, h 1 ", Some(("h", 1))),
    ] {
        assert_eq!(called(text), want, "{text}");
    }
}

#[test]
fn what_fits_comes_first() {
    let mut session = Session::new(Box::new(NullHost));
    session.eval("let loss (w : [2]Float) (x : Float) = sum w * x\nlet wa = \"text\"\nlet wb = [1.0, 2.0]\nlet wc = true\nlet wd (n : Int) = [float n, 1.0]");
    let first = |s: &mut Session, before: &str| {
        let start = before.len() - 1;
        let mut found = s.complete(&before[start..]);
        s.order_by_type(before, start, &mut found);
        found.into_iter().map(|c| c.text).take(2).collect::<Vec<_>>()
    };
    for (text, want) in [
        ("loss w", ["wb", "wd"]),
        ("let g x = 2.0 * (loss w", ["wb", "wd"]),
        ("if w", ["wc", "where"]),
        ("sum for i < 3 -> loss w", ["wb", "wd"]),
        ("let f (x : Float) =\n  let y = loss w", ["wb", "wd"]),
        (":type loss w", ["wb", "wd"]),
        ("write_text w", ["wa", "where"]),
        ("unknown w", ["wa", "wb"]),
        ("let w", ["wa", "wb"]),
    ] {
        assert_eq!(first(&mut session, text), want, "{text}");
    }
}
