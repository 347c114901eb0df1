//! Functions of one number on large arrays, with one and two threads.

use super::ast::{FuzzExpr, FuzzProgram, FuzzTy, Name, Op};
use super::ways::{Check, SessionRun, answer};

/// The number of elements, and the period after which they repeat, so that the reference computes only a few.
const ELEMENTS: usize = 110_000;
const PERIOD: usize = 7;

/// Adds these entries to the first session, and a session with one thread, if the program is a function of one number.
/// Because they are slow, only some programs get them.
pub fn large(program: &FuzzProgram, sessions: &mut Vec<SessionRun>) {
    let wanted = program.input == FuzzTy::Float
        && program.body.ty == FuzzTy::Float
        && program.body.size() <= 60
        && program.body.size().is_multiple_of(3);
    // An engine would run separately for each element.
    if !wanted || program.entries().iter().any(|e| e.contains("engine.")) {
        return;
    }
    let mean = FuzzExpr::new(Op::Apply, FuzzTy::Float, vec![small_function(), FuzzExpr::float(0.7)]);
    let slope = FuzzExpr::call("grad", FuzzTy::Float, vec![small_function(), FuzzExpr::float(0.7)]);
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
fn small_function() -> FuzzExpr {
    let (param, index, func) = (Name::from("c1"), Name::from("k1"), Name::from("f0"));
    let (infix, float) = (|op, a, b| FuzzExpr::new(Op::Infix(op), FuzzTy::Float, vec![a, b]), FuzzExpr::float);
    let counts = (0..PERIOD)
        .map(|k| float((0..ELEMENTS).filter(|i| i % PERIOD == k).count() as f64 / ELEMENTS as f64))
        .collect();
    let count = FuzzExpr::new(
        Op::Index,
        FuzzTy::Float,
        vec![FuzzExpr::new(Op::Array, FuzzTy::vector(PERIOD), counts), FuzzExpr::var(&index, &FuzzTy::Int)],
    );
    let t = infix("*", float(0.1), FuzzExpr::call("float", FuzzTy::Float, vec![FuzzExpr::var(&index, &FuzzTy::Int)]));
    let at = infix("*", FuzzExpr::var(&param, &FuzzTy::Float), t);
    let y = FuzzExpr::new(Op::Apply, FuzzTy::Float, vec![FuzzExpr::var(&func, &FuzzTy::scalar()), at]);
    let body = FuzzExpr::new(Op::SumFor(index, PERIOD), FuzzTy::Float, vec![infix("*", count, y)]);
    FuzzExpr::new(Op::Fun(param), FuzzTy::scalar(), vec![body])
}
