//! The quick part of fuzzing: random programs against the reference evaluator, and broken texts, files and entries. The long part is
//! `cargo run --release -p adl-tests --bin fuzz -- --minutes 60`.

use adl_tests::fuzz::number::Num::Flat;
use adl_tests::fuzz::number::{BINARY, Num, UNARY, binary, flat_binary, flat_unary, unary};
use adl_tests::fuzz::report::{FuzzPlan, front, programs};
use std::time::Duration;

/// Stack of the thread that generates and evaluates.
const STACK: usize = 256 << 20;

/// A short run. What is not done within the time is left out.
fn plan(seconds: u64) -> FuzzPlan {
    FuzzPlan {
        exe: env!("CARGO_BIN_EXE_fuzz").into(),
        seed: 1,
        time: Duration::from_secs(seconds),
        programs: usize::MAX,
        limit: Duration::from_secs(120),
        minimise: Duration::from_secs(40),
        of_a_kind: 1,
        skip: vec![],
        verbose: false,
    }
}

fn compare(seeds: Vec<u64>, plan: FuzzPlan) {
    let run = move || programs(&plan, seeds.into_iter()).unwrap();
    let summary = std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
    assert!(summary.compared > 0);
    assert_eq!(summary.skipped.get("invalid"), None, "programs that the reference cannot evaluate");
    assert!(summary.failures.is_empty(), "{}", summary.text());
}

/// Always the same programs, so that a change which breaks one is found where it is made. What once failed stands in `tests/programs`.
#[test]
fn random_programs_agree_with_the_reference() {
    compare((1..=120).collect(), plan(60));
}

/// Programs of this run, if `FUZZ_SECONDS` says how long: their seeds are in the failure's text.
#[test]
fn new_random_programs_agree_with_the_reference() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    if seconds > 0 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        compare((now << 16..).take(100_000).collect(), plan(seconds));
    }
}

#[test]
fn broken_texts_files_and_entries_are_answered() {
    for kind in ["text", "files", "entries"] {
        let (cases, failures) = front(&FuzzPlan { programs: 1500, ..plan(12) }, kind).unwrap();
        assert!(cases > 0 && failures.is_empty(), "{kind}: {}", failures.join("\n"));
    }
}

/// What the generator reaches: each of these in some of the programs.
#[test]
fn the_generator_reaches_every_feature() {
    use adl_tests::fuzz::{features::FeatureCounts, generate::Generator};
    let mut counts = FeatureCounts::default();
    (0..600).for_each(|seed| counts.program(&Generator::new(seed).program()));
    let wanted = [
        "functions in data",
        "arrays of functions",
        "functions in tuples or records",
        "functions made by loops or recursion",
        "functions chosen at run time",
        "nested Jacobians",
        "derivatives nested three times or more inside",
        "results of which nothing is read",
        "results of which a part is read",
        "plans inside",
        "engines inside",
        "recursion over data",
        "masks",
        "steps",
        "updates",
        "reductions along an axis",
        "filled arrays",
        "functions without annotations",
        "broadcasting by rank",
        "array patterns",
        "loops over elements",
        "comprehensions of elements",
        "mutual recursion",
        "custom derivatives",
        "scans",
        "histograms",
        "reductions",
        "checkpoints",
        "derivative by a tuple, record or data",
        "globals",
    ];
    let missing: Vec<_> = wanted.iter().filter(|f| counts.of(f) == 0).collect();
    assert!(missing.is_empty(), "{missing:?}\n{}", counts.table());
}

/// Seed 5001101 once multiplied a vector by a matrix without rows, whose width is 0.
#[test]
fn the_reference_refuses_no_program() {
    use adl_tests::fuzz::{evaluate::NoAnswer, generate::Generator, ways::ways};
    let refused = || {
        (5_000_600..5_001_200)
            .filter(|seed| matches!(ways(&Generator::new(*seed).program()), Err(NoAnswer::Invalid)))
            .collect::<Vec<u64>>()
    };
    let refused = std::thread::Builder::new().stack_size(STACK).spawn(refused).unwrap().join().unwrap();
    assert!(refused.is_empty(), "{refused:?}");
}

/// The reference itself: its gradients are the slopes of its values.
#[test]
fn gradients_of_the_reference_are_central_differences() {
    use adl_tests::fuzz::ast::{FuzzExpr, FuzzProgram, FuzzTy, Name, Op};
    use adl_tests::fuzz::{generate::Generator, ways::answer};
    let named = |x: &str, t: &FuzzTy| FuzzExpr::var(&Name::from(x), t);
    let one = move |p: &FuzzProgram, x: f64, seed: u64| -> Option<Result<(), String>> {
        let at = |x: f64| FuzzProgram { points: [FuzzExpr::float(x), FuzzExpr::float(x)], ..p.clone() };
        let (f, point) = (named("f0", &FuzzTy::scalar()), named("x0", &FuzzTy::Float));
        let number = |p: &FuzzProgram, q: &FuzzExpr| answer(p, q).ok().and_then(|a| a.0.words[0].parse::<f64>().ok());
        let value = FuzzExpr::new(Op::Apply, FuzzTy::Float, vec![f.clone(), point.clone()]);
        let slope = FuzzExpr::call("grad", FuzzTy::Float, vec![f, point]);
        let h = 1e-5;
        let (Some(g), Some(low), Some(high)) =
            (number(&at(x), &slope), number(&at(x - h), &value), number(&at(x + h), &value))
        else {
            return None;
        };
        let difference = (high - low) / (2.0 * h);
        let same = (g - difference).abs() <= 1e-5 * (1.0 + g.abs().max(low.abs()));
        Some(if same { Ok(()) } else { Err(format!("seed {seed}: {g}, by differences {difference}")) })
    };
    let run = move || {
        let (mut compared, mut wrong) = (0, Vec::new());
        for seed in 0..1500 {
            let p = Generator::new(seed).program();
            // `stop_grad` is there to make a gradient that is no slope.
            if p.input != FuzzTy::Float
                || p.body.ty != FuzzTy::Float
                || p.entries().iter().any(|e| e.contains("stop_grad"))
            {
                continue;
            }
            let Some(outcome) = one(&p, 0.37, seed) else { continue };
            compared += 1;
            wrong.extend(outcome.err());
        }
        (compared, wrong)
    };
    let (compared, wrong) = std::thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
    // Jumps at the point are rare.
    assert!(compared > 50 && wrong.len() * 50 <= compared, "{} of {compared}\n{}", wrong.len(), wrong.join("\n"));
}

/// Compares tangents with central differences of the values, for every function.
#[test]
fn rules_are_the_slopes_of_the_values() {
    let step = 1e-6;
    for f in UNARY {
        for x in [0.37, 0.61] {
            let d = unary(f, &Num::dual(1, Flat(x), Flat(1.0))).parts(1).1.value();
            let want = (flat_unary(f, x + step) - flat_unary(f, x - step)) / (2.0 * step);
            assert!((d - want).abs() < 1e-8 * (1.0 + want.abs()), "{f} {x}: {d} {want}");
        }
    }
    for f in BINARY {
        let (x, y) = (0.7, 1.3);
        let d = binary(f, &Num::dual(1, Flat(x), Flat(0.5)), &Num::dual(1, Flat(y), Flat(2.0))).parts(1).1.value();
        let want = (flat_binary(f, x + 0.5 * step, y + 2.0 * step) - flat_binary(f, x - 0.5 * step, y - 2.0 * step))
            / (2.0 * step);
        assert!((d - want).abs() < 1e-8 * (1.0 + want.abs()), "{f}: {d} {want}");
    }
}

/// Perturbations of nested derivatives are not confused: d/dx (x * d/dy (x * y)) is 2 x.
#[test]
fn nested_derivatives_keep_their_tags() {
    let x = Num::dual(1, Flat(3.0), Flat(1.0));
    let inner = binary("*", &x, &Num::dual(2, Flat(5.0), Flat(1.0))).parts(2).1;
    assert_eq!(binary("*", &x, &inner).parts(1).1.value(), 6.0);
}
