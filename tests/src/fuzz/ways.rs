//! The questions about a program, and the execution modes.

use super::ast::{FuzzExpr, FuzzProgram, FuzzTy, Name, Op};
use super::evaluate::{NoAnswer, Reference};
use super::features::is_plain;
use super::large::large;
use super::print::{expr, ty};
use super::value::bind;
use super::worker::WorkerSession;

/// A question with its reference answer.
#[derive(Clone, Debug)]
pub struct Query {
    /// The entry.
    pub text: String,
    /// The words of the reference answer.
    pub words: Vec<String>,
    /// The absolute tolerance of numbers, in addition to the relative one.
    pub slack: f64,
}

/// How an answer is judged.
#[derive(Clone, Debug)]
pub enum Check {
    /// It must agree with the reference up to rounding.
    Agrees(Query),
    /// It must agree with the reference, or be one of these errors.
    AgreesOr(Query, &'static [&'static str]),
    /// It must equal the text of another entry (run, entry), if that is not an error; or be one of these errors.
    Same(usize, usize, &'static [&'static str]),
    /// It must be a definition.
    Defines,
}

/// One entry of a session.
#[derive(Clone, Debug)]
pub struct SessionEntry {
    /// The execution mode of this entry, for the report.
    pub way: &'static str,
    /// The text of the entry.
    pub text: String,
    /// The expected answer.
    pub check: Check,
}

/// A session with the expected answers of its entries.
#[derive(Clone, Debug)]
pub struct SessionRun {
    /// Whether native code is enabled.
    pub jit: bool,
    /// Whether AD is compiled; otherwise taped.
    pub compiled: bool,
    /// The number of threads for large arrays.
    pub threads: usize,
    /// Its entries.
    pub steps: Vec<SessionEntry>,
}

/// The limit of steps in the reference.
const FUEL: usize = 60_000;

/// The questions about a program, as expressions of the generator.
fn questions(p: &FuzzProgram) -> Vec<FuzzExpr> {
    let (input, output) = (&p.input, &p.body.ty);
    let var = |x: &str, t: &FuzzTy| FuzzExpr::var(&Name::from(x), t);
    let func = var("f0", &FuzzTy::fun(input.clone(), output.clone()));
    let (point, direction) = (var("x0", input), var("d0", input));
    let value = FuzzExpr::new(Op::Apply, output.clone(), vec![func.clone(), point.clone()]);
    let mut out = vec![value];
    let points =
        FuzzExpr::new(Op::Array, FuzzTy::Array(Box::new(input.clone()), 2), vec![point.clone(), var("x1", input)]);
    let bound = Name::from("z0");
    let each = |body: FuzzExpr| {
        let t = FuzzTy::Array(Box::new(body.ty.clone()), 2);
        let f = FuzzExpr::new(Op::Fun(bound.clone()), FuzzTy::fun(input.clone(), body.ty.clone()), vec![body]);
        FuzzExpr::call("map", t, vec![f, points.clone()])
    };
    if *output == FuzzTy::Float {
        let pair = FuzzTy::Tuple(vec![FuzzTy::Float, input.clone()]);
        out.push(FuzzExpr::call("grad", input.clone(), vec![func.clone(), point.clone()]));
        out.push(FuzzExpr::call("value_and_grad", pair, vec![func.clone(), point.clone()]));
        out.push(FuzzExpr::call(
            "jvp",
            FuzzTy::Tuple(vec![FuzzTy::Float, FuzzTy::Float]),
            vec![func.clone(), point.clone(), direction.clone()],
        ));
        out.push(FuzzExpr::call("hvp", input.clone(), vec![func.clone(), point.clone(), direction]));
        out.push(each(FuzzExpr::call("grad", input.clone(), vec![func.clone(), FuzzExpr::var(&bound, input)])));
        if let FuzzTy::Array(e, n) = input
            && **e == FuzzTy::Float
        {
            out.push(FuzzExpr::call("hessian", FuzzTy::matrix(*n, *n), vec![func, point]));
        }
        return out;
    }
    // A cotangent has the same constructors as the result, so for data the result itself is used.
    let cotangent = |x: &FuzzExpr| {
        if is_plain(output) {
            var("c0", output)
        } else {
            FuzzExpr::new(Op::Apply, output.clone(), vec![func.clone(), x.clone()])
        }
    };
    let c = cotangent(&point);
    out.push(FuzzExpr::call(
        "jvp",
        FuzzTy::Tuple(vec![output.clone(), output.clone()]),
        vec![func.clone(), point.clone(), direction],
    ));
    out.push(FuzzExpr::call("pull", input.clone(), vec![func.clone(), point.clone(), c]));
    let at = FuzzExpr::var(&bound, input);
    out.push(each(FuzzExpr::call("pull", input.clone(), vec![func.clone(), at.clone(), cotangent(&at)])));
    if let (FuzzTy::Array(a, n), FuzzTy::Array(b, m)) = (input, output)
        && **a == FuzzTy::Float
        && **b == FuzzTy::Float
    {
        for way in ["jacobian", "jacfwd", "jacrev"] {
            out.push(FuzzExpr::call(way, FuzzTy::matrix(*m, *n), vec![func.clone(), point.clone()]));
        }
    }
    out
}

/// The reference's answer to a question, and its number of steps.
pub fn answer(p: &FuzzProgram, question: &FuzzExpr) -> Result<(Query, usize), NoAnswer> {
    let mut reference = Reference::new(FUEL);
    let mut env = None;
    for (x, e) in &p.globals {
        let v = reference.eval(e, &env)?;
        env = bind(&env, x, v);
    }
    let function = p.function();
    let names: Vec<Name> = p.places().iter().map(|(x, _)| Name::from(*x)).collect();
    let f0 = Name::from("f0");
    let places = p.places();
    let f = reference.eval(&function, &env)?;
    let mut env = bind(&env, &f0, f);
    for (x, (_, e)) in names.iter().zip(&places) {
        let v = reference.eval(e, &env)?;
        env = bind(&env, x, v);
    }
    let v = reference.eval(question, &env)?;
    let mut words = Vec::new();
    v.words(&mut words);
    Ok((Query { text: expr(question), words, slack: 1e-11 * reference.largest }, FUEL - reference.fuel))
}

/// The engines of module `engine`.
const ENGINES: [&str; 8] = ["Linearize", "Naive", "Staged", "Cayley", "Sparse", "Mutable", "Taped", "Unf"];
const PLANS: [&str; 7] =
    ["StoreAll", "RecomputeAll", "Sqrt", "Revolve 1", "Revolve 3", "Budget 100_000_000", "ByHand ([] : [_]Int)"];

/// All execution modes of a program, or the reason why it cannot be judged. The first is the default mode.
pub fn ways(program: &FuzzProgram) -> Result<Vec<SessionRun>, NoAnswer> {
    let questions = questions(program);
    let mut queries = Vec::new();
    let mut steps = 1;
    for (i, q) in questions.iter().enumerate() {
        match answer(program, q) {
            Ok((a, spent)) => {
                steps = if i == 0 { spent } else { steps };
                queries.push(a);
            }
            Err(e) if i == 0 => return Err(e),
            Err(_) => {}
        }
    }
    let mut sessions: Vec<SessionRun> = [(true, true), (false, true), (true, false)]
        .into_iter()
        .map(|(jit, compiled)| SessionRun { jit, compiled, threads: 2, steps: vec![] })
        .collect();
    for w in &mut sessions {
        program.entries().into_iter().for_each(|e| w.ask("definitions", e, Check::Defines));
    }
    let [plain, interpreted, taped] = &mut sessions[..] else { return Err(NoAnswer::Invalid) };
    for q in &queries {
        interpreted.ask("--no-jit", q.text.clone(), Check::Same(0, plain.steps.len(), &[]));
        plain.ask("compiled", q.text.clone(), Check::Agrees(q.clone()));
        taped.ask("taped", q.text.clone(), Check::Agrees(q.clone()));
    }
    if let Some(g) = queries.iter().find(|q| q.text.starts_with("(grad f0")) {
        gradients(g, plain);
    }
    hot(program, &queries, steps, plain, interpreted);
    large(program, &mut sessions);
    Ok(sessions)
}

impl SessionRun {
    /// Adds an entry.
    pub fn ask(&mut self, way: &'static str, text: String, check: Check) {
        self.steps.push(SessionEntry { way, text, check });
    }

    /// The session in the form that workers receive.
    pub fn run(&self) -> WorkerSession {
        WorkerSession {
            jit: self.jit,
            compiled: self.compiled,
            threads: self.threads,
            entries: self.steps.iter().map(|s| s.text.clone()).collect(),
        }
    }
}

/// The gradient by every engine and under every plan.
fn gradients(g: &Query, plain: &mut SessionRun) {
    let at = plain.steps.iter().position(|s| s.text == g.text).unwrap_or(0);
    for e in ENGINES {
        plain.ask("engines", format!("(engine.grad {e} f0 x0)"), Check::AgreesOr(g.clone(), &["E0720", "E0721"]));
    }
    for p in PLANS {
        // A budget is rejected if no plan satisfies it, and if the gradient is taped.
        let refused: &[&str] = if p.starts_with("Budget") { &["E0722"] } else { &[] };
        plain.ask("plans", format!("(grad_with ({p}) f0 x0)"), Check::Same(0, at, refused));
    }
}

/// The value and the gradient in loops that become native code, with native code on and off.
fn hot(p: &FuzzProgram, queries: &[Query], steps: usize, plain: &mut SessionRun, interpreted: &mut SessionRun) {
    let rounds = (60_000 / steps).clamp(20, 3000) | 1;
    let (input, output) = (ty(&p.input), ty(&p.body.ty));
    for (k, query) in queries.iter().take(2).enumerate() {
        let gradient = k == 1;
        if gradient && !query.text.starts_with("(grad f0") {
            continue;
        }
        let (f, result, n) =
            if gradient { ("grad f0", &input, (rounds / 8).clamp(5, 101) | 1) } else { ("f0", &output, rounds) };
        let define = format!(
            "let h{k} (k : Int) (z : {input}) : {result} = (loop (r : {result}) = {f} x1 for i < k do {f} (if i % 2 == 0 then z else x1))"
        );
        let call = format!("(h{k} {n} x0)");
        plain.ask("definitions", define.clone(), Check::Defines);
        interpreted.ask("definitions", define, Check::Defines);
        interpreted.ask("hot, --no-jit", call.clone(), Check::Same(0, plain.steps.len(), &[]));
        plain.ask("hot", call, Check::Agrees(query.clone()));
    }
}

/// The sessions reduced to the entries that a mode needs: its own, those it is compared with, and definitions.
pub fn only(all: &[SessionRun], name: &str) -> Vec<SessionRun> {
    let referred = |r: usize, e: usize| {
        all.iter()
            .flat_map(|w| &w.steps)
            .any(|s| s.way == name && matches!(s.check, Check::Same(a, b, _) if (a, b) == (r, e)))
    };
    let kept: Vec<Vec<usize>> = all
        .iter()
        .enumerate()
        .map(|(r, w)| {
            (0..w.steps.len())
                .filter(|e| w.steps[*e].way == name || w.steps[*e].way == "definitions" || referred(r, *e))
                .collect()
        })
        .collect();
    let needed: Vec<usize> =
        (0..all.len()).filter(|r| kept[*r].iter().any(|e| all[*r].steps[*e].way != "definitions")).collect();
    let place =
        |r: usize, e: usize| Some((needed.iter().position(|n| *n == r)?, kept[r].iter().position(|k| *k == e)?));
    let session = |r: &usize| {
        let mut w =
            SessionRun { steps: kept[*r].iter().map(|e| all[*r].steps[*e].clone()).collect(), ..all[*r].clone() };
        for s in &mut w.steps {
            if let Check::Same(a, b, codes) = s.check {
                s.check = place(a, b).map_or(Check::Defines, |(a, b)| Check::Same(a, b, codes));
            }
        }
        w
    };
    needed.iter().map(session).collect()
}
