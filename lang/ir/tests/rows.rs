//! Properties of the rows of the table of operations, each on all ways to apply the operation to a small pool of
//! numbers and arrays: type, shape rule, text form, errors, linearity, and whether tangents pass.

use crate::variants;

use adl_ir::eval::{self, Val};
use adl_ir::generate::rows::{self, Case, ELSEWHERE};
use adl_ir::print::{self, Style};
use adl_ir::rewrite::purity;
use adl_ir::rows::{Fails, NAMES, Tangent};
use adl_ir::shape_rule::Shapes;
use adl_ir::{Conv, Op, Ty, Var, op::LinearIn, parse, verify};
use std::collections::{BTreeMap, BTreeSet};

/// Instances on Floats, F32 numbers and Ints.
fn all() -> impl Iterator<Item = Case> {
    [Ty::F64, Ty::F32, Ty::I64].into_iter().flat_map(|scalar| rows::instances(&scalar))
}

/// What holds for each instance.
const CHECKS: &[fn(&Case)] = &[types, text, shapes, errors, operands];

#[test]
fn instances_have_the_properties_of_their_rows() {
    let (mut applied, mut failed) = (BTreeSet::new(), BTreeMap::new());
    for case in all() {
        CHECKS.iter().for_each(|check| check(&case));
        if case.results.is_ok() {
            applied.insert(case.name.clone());
        }
        let fails = op(&case).row().fails;
        *failed.entry(case.name.clone()).or_insert(fails == Fails::Never) |= case.results.is_err();
        assert_eq!(op(&case).name(), case.name);
    }
    let missing: Vec<&&str> = NAMES.iter().filter(|name| !applied.contains(**name)).collect();
    assert!(missing.iter().all(|name| ELSEWHERE.contains(name)) && missing.len() == ELSEWHERE.len(), "{missing:?}");
    let unsure: Vec<&str> = failed.iter().filter(|(_, failed)| !**failed).map(|(name, _)| name.as_str()).collect();
    assert_eq!(unsure, TAME);
}

/// What holds for each instance at other arguments, too.
#[test]
fn variants_of_instances_have_the_properties_of_their_rows() {
    for scalar in [Ty::F64, Ty::F32, Ty::I64] {
        for case in variants::instances(&scalar, |_| true) {
            let case = Case { name: op(&case).name().to_owned(), ..case };
            [types, shapes, errors].iter().for_each(|check| check(&case));
        }
    }
}

/// What holds for instances on Floats.
const REAL: &[fn(&Case)] = &[linear_operands, linear_operations];

#[test]
fn instances_on_reals_are_linear_and_have_tangents_as_their_rows_say() {
    let mut passes: BTreeMap<String, (Tangent, bool)> = BTreeMap::new();
    for case in rows::instances(&Ty::F64) {
        REAL.iter().for_each(|check| check(&case));
        let tangent = op(&case).row().tangent;
        passes.entry(case.name.clone()).or_insert((tangent, false)).1 |= moves(&case, tangent);
    }
    for (name, (tangent, moves)) in passes {
        assert_eq!(tangent == Tangent::Passes, moves, "{name}");
    }
}

fn op(case: &Case) -> &Op {
    case.op().unwrap_or_else(|| panic!("no operation in {}", case.text()))
}

/// Results have the types that the verifier requires.
fn types(case: &Case) {
    verify::verify_program(&case.program).unwrap_or_else(|e| panic!("{e}"));
    let f = case.program.func(case.main);
    for (ty, val) in f.tys(&f.body.results).iter().zip(case.results.iter().flatten()) {
        assert!(val.fits(ty), "{val:?} from {}", case.text());
        assert!(
            val.leaves().iter().all(|leaf| leaf.is_symbolic_zero() || leaf.fits(ty.scalar())),
            "{val:?} from {}",
            case.text()
        );
    }
}

/// The text form reads back equal.
fn text(case: &Case) {
    let text = print::program(&case.program, Style::EXACT);
    let back = parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(back, case.program, "{text}");
}

/// Shapes of the arguments of a case.
struct Args<'a>(&'a [Val]);

impl Args<'_> {
    fn val(&self, v: Var) -> &Val {
        &self.0[v.0 as usize]
    }
}

fn shape(val: &Val) -> Vec<i64> {
    val.arr().map_or(Vec::new(), |a| a.shape.iter().map(|n| *n as i64).collect())
}

fn ints(val: &Val) -> Vec<i64> {
    val.leaves().iter().filter_map(|v| if let Val::I64(n) = v { Some(*n) } else { None }).collect()
}

impl Shapes for Args<'_> {
    type Extent = i64;

    fn shape(&self, v: Var) -> Option<Vec<i64>> {
        Some(shape(self.val(v)))
    }
    fn int(&self, v: Var) -> i64 {
        ints(self.val(v))[0]
    }
    fn constant(&self, n: usize) -> i64 {
        n as i64
    }
    fn difference(&self, hi: Var, lo: Var) -> i64 {
        self.int(hi) - self.int(lo)
    }
    fn sum(&self, a: i64, b: i64) -> i64 {
        a + b
    }
    fn elements(&self, list: Var) -> Option<Vec<i64>> {
        Some(ints(self.val(list)))
    }
    fn widest(&self, operands: &[Var]) -> Option<Vec<i64>> {
        operands.iter().map(|v| shape(self.val(*v))).max_by_key(Vec::len)
    }
}

/// Rows whose shape rule leaves the shape open: it depends on elements, or a symbolic zero has none, or it depends on
/// the built-in, or on other ranks.
const OPEN: [&str; 5] = ["Zero", "Nonzero", "Zeros", "Prim", "Collective"];

/// The shape rule gives the shape of the result.
fn shapes(case: &Case) {
    let Ok(results) = &case.results else { return };
    match op(case).shape_of_result(&Args(&case.args)) {
        Some(rule) => assert_eq!(rule, shape(&results[0]), "{}", case.text()),
        None => {
            let ragged = matches!(op(case), Op::Concat { .. } | Op::Select(..));
            assert!(ragged || OPEN.contains(&case.name.as_str()), "no shape for {}", case.text());
        }
    }
}

/// Rows that count as failing, although the pool has no operands for which they do: what they need is too large, or
/// they are left out of what may be moved for other reasons.
const TAME: [&str; 9] = ["Convert", "Cumsum", "Nonzero", "Outer", "Prim", "Rotate", "Sum", "SumAll", "Zeros"];

/// What never fails does not fail, and errors are of shapes, indices and overflow.
fn errors(case: &Case) {
    let never = op(case).row().fails == Fails::Never || purity::never_fails(case.program.func(case.main), op(case));
    if never && let Err(why) = &case.results {
        panic!("{why}: {}", case.text());
    }
    let of_types = |why: &String| why.contains("expected") || why.contains("missing") || why.contains("not know");
    assert!(!case.results.as_ref().is_err_and(of_types), "{:?}: {}", case.results, case.text());
}

/// The results of a case at other arguments.
fn at(case: &Case, args: &[Val]) -> Option<Vec<Val>> {
    eval::run(&case.program, case.main, args, &[]).ok().map(|out| out.results)
}

/// A value with all reals changed.
fn map(val: &Val, f: &mut dyn FnMut(f64) -> f64) -> Val {
    match val {
        Val::F64(x) => Val::F64(f(*x)),
        Val::Array(a) => Val::array(a.shape.clone(), a.elems.iter().map(|e| map(e, f)).collect()),
        other => other.clone(),
    }
}

/// Arguments with the reals of the operands `vs` changed.
fn changed(case: &Case, vs: &[Var], mut f: impl FnMut(f64) -> f64) -> Vec<Val> {
    let change = |(k, val): (usize, &Val)| if vs.contains(&Var(k as u32)) { map(val, &mut f) } else { val.clone() };
    case.args.iter().enumerate().map(change).collect()
}

fn reals(vals: &[Val]) -> Vec<f64> {
    vals.iter().flat_map(Val::reals).collect()
}

/// Whether a case is linear in the operands `vs` together.
fn is_linear(case: &Case, vs: &[Var]) -> bool {
    // For each real x of these operands, another real: 0.25 - 3 x.
    let (a, b, other) = (1.5, -0.75, |x: f64| 0.25 - 3.0 * x);
    let points = [changed(case, vs, |x| x), changed(case, vs, other), changed(case, vs, |x| a * x + b * other(x))];
    let [Some(x), Some(y), Some(both)] = points.map(|args| at(case, &args)) else { return false };
    let (x, y, both) = (reals(&x), reals(&y), reals(&both));
    let want = x.iter().zip(&y).map(|(x, y)| a * x + b * y);
    both.len() == x.len() && both.iter().zip(want).all(|(have, want)| (have - want).abs() <= 1e-12 * (1.0 + want.abs()))
}

/// An operation is linear in the operands that may be linear.
fn linear_operands(case: &Case) {
    let f = case.program.func(case.main);
    let real = |v: &Var| f.ty(*v).scalar().is_real();
    if case.results.is_err() || !f.tys(&f.body.results).iter().all(|ty| ty.scalar().is_real()) {
        return;
    }
    let groups = match op(case).linear_in() {
        LinearIn::Nothing | LinearIn::Parts => Vec::new(),
        LinearIn::All(vs) => vec![vs],
        LinearIn::OneOf(vs) => vs.into_iter().map(|v| vec![v]).collect(),
    };
    let mut operands = Vec::new();
    op(case).each_operand(&mut |v| operands.push(v));
    if matches!(op(case), Op::Convert(Conv::ToF32, _)) {
        return; // It rounds.
    }
    for vs in groups {
        // A variable in two places would be counted as linear in both.
        let twice = vs.iter().any(|v| operands.iter().filter(|o| *o == v).count() > 1);
        let together = vs.len() > 1 && operands.iter().all(|v| vs.contains(v));
        assert!(twice && !together || !vs.iter().all(real) || is_linear(case, &vs), "{vs:?}: {}", case.text());
    }
}

/// An operation that is linear may have linear operands.
fn linear_operations(case: &Case) {
    // Built-ins and contractions come after differentiation, or have rules of their own.
    let own = ["Prim", "Contract", "Lit", "Zero", "Un"];
    let f = case.program.func(case.main);
    let mut operands = Vec::new();
    op(case).each_operand(&mut |v| operands.push(v));
    let all: Vec<Var> = operands.iter().copied().filter(|v| f.ty(*v).scalar().is_real()).collect();
    let real = f.tys(&f.body.results).iter().all(|ty| ty.scalar().is_real());
    if real && !all.is_empty() && case.results.is_ok() && !own.contains(&case.name.as_str()) && is_linear(case, &all) {
        let empty = case.results.iter().flatten().all(|val| val.scalars() == 0);
        let allowed = !matches!(op(case).linear_in(), LinearIn::Nothing);
        let piecewise = matches!(op(case), Op::Bin(..));
        assert!(allowed || empty || piecewise, "{}", case.text());
    }
}

/// Whether a result changes with the reals. It must not where tangents stop.
fn moves(case: &Case, tangent: Tangent) -> bool {
    let all: Vec<Var> = (0..case.args.len() as u32).map(Var).collect();
    let Ok(before) = &case.results else { return false };
    // Reals in 1e-6 relative distance: no comparison and no rounding to Ints changes for these arguments.
    let after = at(case, &changed(case, &all, |x| x * (1.0 + 1e-6))).unwrap();
    if tangent == Tangent::Stops {
        assert_eq!(&after, before, "{}", case.text());
    }
    reals(before).iter().zip(&reals(&after)).any(|(x, y)| x != y)
}

/// Operands are those of the text form.
fn operands(case: &Case) {
    let mut renamed = op(case).clone();
    let mut operands = Vec::new();
    op(case).each_operand(&mut |v| operands.push(v));
    renamed.map_operands(&mut |v| Var(v.0 + 100));
    let mut after = Vec::new();
    renamed.each_operand(&mut |v| after.push(Var(v.0 - 100)));
    assert_eq!(operands, after, "{}", case.text());
    let text = case.text();
    let line = text.lines().find(|line| line.contains(" = ")).unwrap();
    let written = line.split(" = ").nth(1).unwrap().split([' ', ',', '[', ']']);
    let written = written.filter_map(|word| word.strip_prefix('v')?.parse::<u32>().ok()).map(Var);
    let sorted = |mut vs: Vec<Var>| {
        vs.sort();
        vs
    };
    assert_eq!(sorted(written.collect()), sorted(operands), "{text}");
}
