//! Long sessions: definitions that nothing leads to are released, all others go on working.

use adl_session::Session;

/// An entry as a front end runs it: what it answers, or its error.
fn entry(s: &mut Session, text: &str) -> String {
    s.release();
    let out = s.eval(text);
    match out.ok() {
        true => out.echoes.iter().map(|e| adl_interp::value::show::show(&e.shown)).collect::<Vec<_>>().join(" "),
        false => out.diags.iter().map(|d| d.message.clone()).collect(),
    }
}

/// Defines a function again and again, with a gradient of it now and then.
fn churn(s: &mut Session, n: usize) {
    for i in 0..n {
        entry(s, &format!("let f (x : [_]Float) = sum (map (fun v -> v * {i}.0) x)"));
        if i % 50 == 0 {
            assert_eq!(entry(s, "grad f [1.0, 2.0]"), format!("[{i}.0, {i}.0]"));
        }
    }
}

#[test]
fn defining_a_name_again_and_again_keeps_few_definitions() {
    let (mut s, _) = adl_tests::session();
    churn(&mut s, 300);
    let before = s.definitions();
    churn(&mut s, 3000);
    assert!(s.definitions() <= before + 300, "{} definitions, {before} before", s.definitions());
}

#[test]
fn large_values_go_with_the_next_entry() {
    let (mut s, _) = adl_tests::session();
    entry(&mut s, "linspace 0.0 1.0 100000");
    entry(&mut s, "1");
    let before = s.definitions();
    entry(&mut s, "2");
    assert!(s.definitions() <= before, "the array that was `it` is still there");
}

#[test]
fn what_something_leads_to_stays() {
    let (mut session, _) = adl_tests::session();
    for text in [
        "let f (x : [_]Float) = sum (map (fun v -> v * v) x)",
        "let user x = f x + 1.0",
        "let adder n = fun x -> x + n * f [1.0]",
        "let plus2 = adder 2.0",
        "let (value, pull) = vjp (fun x -> f x * f x) [1.0, 2.0]",
        "let taped = snd (vjp (fun x -> if f x > 1e9 then error \"too large\" else f x) [1.0, 2.0])",
        "let both = {g = user, list = [f, user]}",
        "let partial = fold (fun a b -> a + b * f [2.0]) 0.0",
        "let rec even n = if n == 0 then f [3.0] else odd (n - 1) and odd n = if n == 0 then 0.0 else even (n - 1)",
        "let late () = even 4",
        "type Box = Box (Float -> Float)",
        "let boxed = Box (fun x -> x * f [x])",
    ] {
        entry(&mut session, text);
    }
    entry(&mut session, "let adder n = ()");
    entry(&mut session, "let rec even n = () and odd n = ()");
    churn(&mut session, 1200);
    entry(&mut session, "let user x = 0.0");
    churn(&mut session, 600);
    for (text, wanted) in [
        ("plus2 1.0", "3.0"),
        ("pull 1.0", "[20.0, 40.0]"),
        ("taped 1.0", "[2.0, 4.0]"),
        ("(both.g [1.0], map (fun g -> g [2.0]) both.list)", "(2.0, [4.0, 5.0])"),
        ("partial [1.0, 1.0]", "8.0"),
        ("late ()", "9.0"),
        ("grad (fun x -> match boxed with | Box g -> g x) 2.0", "12.0"),
        ("grad (fun x -> both.g [x]) 3.0", "6.0"),
    ] {
        assert_eq!(entry(&mut session, text), wanted, "{text}");
    }
}

#[test]
fn residuals_that_are_looked_at_stay() {
    let (mut s, _) = adl_tests::session();
    entry(&mut s, "let g x = exp x");
    entry(&mut s, "let h (x : Float) = loop y = x for i < 100 do sin (g y)");
    entry(&mut s, "residuals h 0.5");
    let watch = s.watched().expect("residuals are watched");
    entry(&mut s, "let g x = ()");
    entry(&mut s, "let h x = ()");
    churn(&mut s, 600);
    let shown = watch.borrow().shown.clone();
    let after = s.apply_residuals(&shown).unwrap_or_else(|d| panic!("{}", d[0].message));
    assert!(adl_interp::ir::derive::table::inside(&after).is_some());
}
