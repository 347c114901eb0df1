//! Functions of one number on large arrays, with one and two threads.

use super::ast::{Expr, Name, Op, Program, Ty};
use super::ways::{Check, SessionRun, answer};

/// The number of elements, and the period after which they repeat, so that the reference computes only a few.
const ELEMENTS: usize = 110_000;
const PERIOD: usize = 7;

/// Adds these entries to the first session, and a session with one thread, if the program is a function of one number.
/// Because they are slow, only some programs get them.
pub fn large(program: &Program, sessions: &mut Vec<SessionRun>) {
    let wanted = program.input == Ty::Float
        && program.body.ty == Ty::Float
        && program.body.size() <= 60
        && program.body.size().is_multiple_of(3);
    // An engine would run separately for each element.
    if !wanted || program.entries().iter().any(|e| e.contains("engine.")) {
        return;
    }
    let mean = Expr::new(Op::Apply, Ty::Float, vec![small_function(), Expr::float(0.7)]);
    let slope = Expr::call("grad", Ty::Float, vec![small_function(), Expr::float(0.7)]);
    let (Ok((mean, _)), Ok((slope, _))) = (answer(program, &mean), answer(program, &slope)) else { return };
    let definitions = [
        format!("let xs0 : [_]Float = (for i < {ELEMENTS} -> 0.1 * float (i % {PERIOD}))"),
        "let b0 (c : Float) : Float = (mean (map (fun (t : Float) -> f0 (c * t)) xs0))".to_owned(),
    ];
    let mut one = SessionRun { jit: true, compiled: true, threads: 1, steps: vec![] };
    program.entries().into_iter().chain(definitions.clone()).for_each(|e| one.ask("definitions", e, Check::Defines));
    definitions.into_iter().for_each(|e| sessions[0].ask("definitions", e, Check::Defines));
    // Asked again, when the code may be native.
    for (text, q) in [("(b0 0.7)", &mean), ("(grad b0 0.7)", &slope), ("(b0 0.7)", &mean), ("(grad b0 0.7)", &slope)] {
        one.ask("one thread", text.to_owned(), Check::Same(0, sessions[0].steps.len(), &[]));
        sessions[0].ask("two threads", text.to_owned(), Check::Agrees(q.clone()));
    }
    sessions.push(one);
}

/// The mean over all elements, as a weighted sum over one period.
fn small_function() -> Expr {
    let (param, index, func) = (Name::from("c1"), Name::from("k1"), Name::from("f0"));
    let (infix, float) = (|op, a, b| Expr::new(Op::Infix(op), Ty::Float, vec![a, b]), Expr::float);
    let counts = (0..PERIOD)
        .map(|k| float((0..ELEMENTS).filter(|i| i % PERIOD == k).count() as f64 / ELEMENTS as f64))
        .collect();
    let count = Expr::new(
        Op::Index,
        Ty::Float,
        vec![Expr::new(Op::Array, Ty::vector(PERIOD), counts), Expr::var(&index, &Ty::Int)],
    );
    let t = infix("*", float(0.1), Expr::call("float", Ty::Float, vec![Expr::var(&index, &Ty::Int)]));
    let at = infix("*", Expr::var(&param, &Ty::Float), t);
    let y = Expr::new(Op::Apply, Ty::Float, vec![Expr::var(&func, &Ty::scalar()), at]);
    let body = Expr::new(Op::SumFor(index, PERIOD), Ty::Float, vec![infix("*", count, y)]);
    Expr::new(Op::Fun(param), Ty::scalar(), vec![body])
}
