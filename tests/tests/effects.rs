//! Effects happen once and in order, however a function is run: random programs that print some of their numbers, as
//! plain calls, and under derivatives with each plan.

use adl_tests::fuzz::ast::{FuzzExpr, FuzzProgram, FuzzTy, Op};
use adl_tests::fuzz::generate::Generator;
use adl_tests::session;

/// Stack of the thread that generates and evaluates.
const STACK: usize = 256 << 20;
/// The number of programs.
const PROGRAMS: u64 = 150;
/// Each expression of type Float prints its value with this probability, one in so many.
const ONE_IN: u64 = 4;

/// Lets some numbers print themselves, by the function `note`. Bodies of functions stay as they are, except those
/// that `map` takes: how often an operator of a reduction or a differentiated function runs is not specified.
fn with_notes(expr: &FuzzExpr, state: &mut u64, notes: &mut usize) -> FuzzExpr {
    let mapped = matches!(&expr.op, Op::Call(name) if name == "map");
    let applied = matches!(expr.op, Op::Apply | Op::Pipe);
    let kids = expr.kids.iter().map(|kid| match (&kid.op, &kid.ty) {
        (Op::Fun(_), _) if mapped || applied => {
            let kids = kid.kids.iter().map(|k| with_notes(k, state, notes)).collect();
            FuzzExpr::new(kid.op.clone(), kid.ty.clone(), kids)
        }
        (_, FuzzTy::Fun(..)) => kid.clone(),
        _ => with_notes(kid, state, notes),
    });
    let made = FuzzExpr::new(expr.op.clone(), expr.ty.clone(), kids.collect());
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    if made.ty == FuzzTy::Float && (*state >> 33).is_multiple_of(ONE_IN) {
        *notes += 1;
        return FuzzExpr::call("note", FuzzTy::Float, vec![made]);
    }
    made
}

fn entries(p: &FuzzProgram) -> Vec<String> {
    ["let note (x : Float) = (print x; x)".to_owned()].into_iter().chain(p.entries()).collect()
}

/// What a call prints and answers, in a session that has these definitions; `None` if it fails.
fn printed(definitions: &[String], call: &str) -> Option<String> {
    let (mut s, out) = session();
    for d in definitions {
        assert!(s.eval(d).ok(), "{d}");
    }
    out.borrow_mut().clear();
    s.eval(call).ok().then(|| out.borrow().clone())
}

/// Whether the same numbers are printed, up to rounding: code that is differentiated may group sums otherwise.
fn agree(a: &str, b: &str) -> bool {
    let number = |s: &str| s.parse::<f64>().unwrap_or(f64::NAN);
    let close = |(a, b): (&str, &str)| a == b || (number(a) - number(b)).abs() <= 1e-9 * (1.0 + number(a).abs());
    a.lines().count() == b.lines().count() && a.lines().zip(b.lines()).all(close)
}

fn compare(seed: u64, compared: &mut usize) {
    let mut p = Generator::new(seed).program();
    let (mut state, mut notes) = (seed.wrapping_add(99), 0);
    p.body = with_notes(&p.body, &mut state, &mut notes);
    if notes == 0 {
        return;
    }
    let definitions = entries(&p);
    let Some(plain) = printed(&definitions, "let y = f0 x0") else { return };
    let mut calls = vec!["let y = jvp f0 x0 d0".to_owned(), "let y = linearize f0 x0".to_owned()];
    if p.body.ty == FuzzTy::Float {
        calls.push("let y = grad f0 x0".to_owned());
        for plan in ["RecomputeAll", "Sqrt", "(Revolve 2)"] {
            calls.push(format!("let y = grad_with {plan} f0 x0"));
        }
    }
    for call in calls {
        let Some(found) = printed(&definitions, &call) else { continue };
        *compared += 1;
        let text = definitions.join("\n");
        assert!(agree(&plain, &found), "seed {seed}, {call}\n{text}\nplain: {plain:?}\nfound: {found:?}");
    }
}

#[test]
fn effects_happen_once_and_in_order() {
    let run = || {
        let mut compared = 0;
        (0..PROGRAMS).for_each(|seed| compare(seed, &mut compared));
        assert!(compared as u64 > PROGRAMS, "only {compared} calls were compared");
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run);
    assert!(thread.is_ok_and(|t| t.join().is_ok()));
}
