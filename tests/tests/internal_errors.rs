//! A panic is error E0901: it says where, the session is as it was before the entry, and goes on. Each kind of place is made to panic once.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use adl_interp::fault::{self, PanicPoint};
use adl_session::Session;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Injected panics belong to the process, so the tests here run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    let guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    fault::inject(None);
    guard
}

/// A session with definitions of an entry before, and what it prints.
fn session() -> (Session, Rc<RefCell<String>>) {
    let (mut s, out) = adl_tests::session();
    assert!(s.eval("let kept = 40.0\nlet f x = sin x * kept\ntype Shape = Round Float | Flat").ok());
    (s, out)
}

/// What must hold of a session after an entry that panicked and would have defined `lost`.
fn goes_on(s: &mut Session, what: &str) {
    assert_eq!(s.eval("kept + 2.0").echoes.pop().map(|e| e.whole()).as_deref(), Some("42.0 : Float"), "{what}");
    assert_eq!(s.eval("lost").diags.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0201"], "{what}");
    assert_eq!(s.source_of("lost"), None, "{what}");
    assert_eq!(s.source_of("kept").as_deref(), Some("let kept = 40.0"), "{what}");
    assert!(!s.history.iter().any(|h| h.text.contains("lost")), "{what}");
    let big = s.eval("let big = for i < 200000 -> float i\n(sum (map (fun x -> x * 2.0) big), grad f 0.0, for i < 3 -> grad f (float i) > -50.0)");
    assert!(big.ok(), "{what}: {:?}", big.diags);
    assert_eq!(
        big.echoes.last().map(adl_session::Echo::whole).as_deref(),
        Some("(39999800000.0, 40.0, [true, true, true]) : (Float, Float, [3]Bool)"),
        "{what}"
    );
}

/// The entry panics at the point; its error is returned as text.
fn panics(s: &mut Session, point: PanicPoint, entry: &str) -> String {
    fault::inject(Some(point));
    let out = s.eval(entry);
    fault::inject(None);
    let text: Vec<String> = out.diags.iter().map(|d| adl_syntax::render::text(d, &s.sources, false)).collect();
    let text = text.join("\n");
    assert_eq!(out.diags.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0901"], "{point:?}: {text}");
    assert!(out.echoes.is_empty(), "{point:?}");
    assert!(text.contains("error[E0901]: internal error at lang/interp/src/fault.rs:"), "{text}");
    assert!(
        text.contains("index out of bounds") && text.contains("= help: please report it together with the program"),
        "{text}"
    );
    text
}

/// Programs that reach a point, behind a definition that must be lost with the entry.
const ENTRIES: &[(PanicPoint, &str)] = &[
    (PanicPoint::Checker, "let lost = 1.0"),
    (PanicPoint::Interpreter, "let lost = 1.0\nlen (reverse [kept])"),
    (
        PanicPoint::Interpreter,
        "let lost = 1.0\nlet rec down n = if n == 0 then len (reverse [1.0]) else 1 + down (n - 1)\ndown 1000",
    ),
    (PanicPoint::Interpreter, "let lost = 1.0\ngrad (fun x -> (let u = print x in sum (reverse [x, x]))) 1.0"),
    (PanicPoint::Lowered, "let lost = 1.0\ngrad (fun (v : [3]Float) -> sum (sort v)) [3.0, 1.0, 2.0]"),
    (PanicPoint::Helper, "let lost = 1.0\nloop v = [3.0, 1.0, 2.0] for i < 20000 do sort (v + 1.0)"),
    (
        PanicPoint::Helper,
        "let lost = 1.0\nlet g (v : [_]Float) = sum (loop w = v for i < 2000 do sort (w * 1.5))\nfor i < 50 -> grad g [3.0, 1.0, float i]",
    ),
    (PanicPoint::Worker, "let lost = 1.0\nsum (exp (for i < 400000 -> float i * 1e-6))"),
    (PanicPoint::Worker, "let lost = 1.0\nlet a = for i < 400000 -> float i\nsum (sin (a * 2.0) + cos a)"),
    (PanicPoint::Compiler, "let lost = 1.0\nloop x = 1.0 for i < 1000000 do sin x + 1.0"),
    (PanicPoint::Work, "let lost = 1.0\ndet (eye 300)"),
];

#[test]
fn a_panic_while_an_entry_runs_changes_nothing() {
    let _alone = alone();
    for (point, entry) in ENTRIES {
        let (mut s, _) = session();
        panics(&mut s, *point, entry);
        goes_on(&mut s, &format!("{point:?}: {entry}"));
        // Without the panic the same entry works.
        let again = s.eval(entry);
        assert!(again.ok(), "{entry}: {:?}", again.diags);
    }
}

#[test]
fn a_panic_beside_a_device_changes_nothing() {
    let _alone = alone();
    let (mut session, _) = session();
    session.set_device_least(0);
    if let Err(d) = session.set_device("gpu") {
        println!("no device: {}", d.message);
        return;
    }
    panics(
        &mut session,
        PanicPoint::Device,
        "let lost = 1.0\nlet a = for i < 400000 -> float i\nsum (sin (a * 2.0) + cos a)",
    );
    goes_on(&mut session, "device");
}

/// A thread that serves a session panics while an entry runs that would not end.
#[test]
fn a_panic_of_a_helper_ends_the_run() {
    let _alone = alone();
    let (mut session, _) = session();
    let out_of_memory = session.out_of_memory();
    let (begin, begun) = std::sync::mpsc::channel::<()>();
    let mut steps = 0;
    let step = move || {
        steps += 1;
        if steps == 1 {
            let _ = begun.recv();
            std::thread::sleep(std::time::Duration::from_millis(30));
        }
        fault::point(PanicPoint::Memory);
        (steps < 3).then_some(std::time::Duration::ZERO)
    };
    fault::helper("adl-test", step, move || out_of_memory.interrupt()).expect("a thread");
    let _ = begin.send(());
    panics(&mut session, PanicPoint::Memory, "let lost = 1.0\nloop x = 0.0 while x < 1.0 do x * 0.5");
    goes_on(&mut session, "helper");
}

#[test]
fn settings_and_earlier_plans_stay() {
    let _alone = alone();
    let (mut s, _) = session();
    assert!(s.set_plan("sqrt").is_ok());
    s.set_compiled_ad(false);
    panics(&mut s, PanicPoint::Interpreter, "let lost = 1.0\ngrad (fun x -> sum (reverse [x, x])) 1.0");
    s.clear_derivations();
    assert!(s.eval("grad f 1.0").ok());
    assert!(s.derivations().iter().all(|r| !r.contains("compiled AD")), "{:?}", s.derivations());
}

#[test]
fn other_entry_points_have_boundaries_too() {
    let _alone = alone();
    let (mut session, out) = session();
    let codes = |ds: &[adl_syntax::diag::Diagnostic]| ds.iter().map(|d| d.code).collect::<Vec<_>>();
    let arm = |p| fault::inject(Some(p));
    arm(PanicPoint::Checker);
    assert_eq!(codes(&session.check_file("a.adl", b"let lost = 1")), ["E0901"]);
    arm(PanicPoint::Interpreter);
    let ran = session.run_file("a.adl", b"let lost = 1\nprint \"before\"\nlet x = reverse [1]\nprint x");
    assert_eq!((codes(&ran.diags), out.borrow().as_str()), (vec!["E0901"], ""));
    arm(PanicPoint::Interpreter);
    assert_eq!(codes(&session.load_file("a.adl", b"let lost = reverse [1]").0.diags), ["E0901"]);
    assert!(session.loaded_files().is_empty());
    arm(PanicPoint::Checker);
    assert_eq!(codes(&session.type_of("1 + 1").unwrap_err()), ["E0901"]);
    arm(PanicPoint::Inspection);
    assert!(session.complete("ke").is_empty());
    arm(PanicPoint::Inspection);
    assert!(session.doc("sin").is_some_and(|d| d.contains("internal error")));
    arm(PanicPoint::Interpreter);
    assert_eq!(codes(&session.value_of("reverse [1]").unwrap_err()), ["E0901"]);
    arm(PanicPoint::Interpreter);
    let tests = session.run_tests("t.adl", b"test \"one\" = reverse [1] == [1]\ntest \"two\" = reverse [2] == [2]");
    assert_eq!((tests.passed, tests.failed.len()), (1, 1));
    assert!(tests.failed[0].why.contains("E0901"), "{}", tests.failed[0].why);
    fault::inject(None);
    goes_on(&mut session, "entry points");
}

#[test]
fn the_error_stands_where_the_program_was() {
    let _alone = alone();
    let (mut s, _) = session();
    let text = panics(&mut s, PanicPoint::Interpreter, "let lost = 1.0\nlet g x =\n  reverse [x]\ng 1.0");
    assert!(text.contains("<2>:3:3"), "{text}");
    let text = panics(&mut s, PanicPoint::Checker, "let lost = 1.0");
    assert!(text.contains("<3>:1:1"), "{text}");
}

#[test]
fn a_value_that_cannot_be_shown_is_caught_by_who_shows_it() {
    let _alone = alone();
    let (mut s, _) = session();
    fault::inject(Some(PanicPoint::Renderer));
    let shown = s.guarded(|s| s.eval("let lost = 2.0\nlost").echoes.pop().map(|e| e.whole()));
    assert!(shown.is_err_and(|d| d.code == "E0901"));
    goes_on(&mut s, "renderer");
}
