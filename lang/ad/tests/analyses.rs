//! What is derived from the code of linear functions, against their matrices: sparsity patterns, and whether a function
//! is diagonal. The functions are the derivatives of each row of the table of operations, and of random loops.

use crate::common;

use adl_ad::Ad;
use adl_ad::diagonal::is_diagonal;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Deps, Val, run};
use adl_ir::generate::maps;
use adl_ir::generate::rows::{self, Case};
use adl_ir::{FnId, Op, Program, Ty};
use common::rules::has_derivative;
use std::cell::Cell;
use std::rc::Rc;

/// A linear function, its residuals, and linear arguments of the right shapes.
struct LinearFunction {
    ad: Ad,
    program: Program,
    func: FnId,
    kept: Vec<Val>,
    like: Vec<Val>,
}

/// The derivative of a case with respect to those parameters; `None` if there is none.
fn linear(case: &Case, wrt: &[bool]) -> Option<LinearFunction> {
    let (mut ad, mut program) = (Ad::new(), case.program.clone());
    let j = ad.jvp(&mut program, case.main, wrt).ok()?;
    let unzipped = ad.unzip(&mut program, j.func, &UnzipPlan::store_all()).ok()?;
    let kept = run(&program, unzipped.primal, &case.args, &[]).ok()?.results.split_off(unzipped.results);
    let tys = program.func(case.main).tys(&program.func(case.main).body.params);
    let real = case.args.iter().zip(&tys).zip(wrt).filter(|((_, ty), wrt)| **wrt && ty.scalar().is_real());
    let like: Vec<Val> = real.map(|((arg, _), _)| arg.clone()).collect();
    (program.func(unzipped.linear).body.lin_params.len() == like.len()).then_some(LinearFunction {
        ad,
        program,
        func: unzipped.linear,
        kept,
        like,
    })
}

/// Values with each real replaced, in order.
fn filled(like: &[Val], f: &mut dyn FnMut() -> Val) -> Vec<Val> {
    let one = |v: &Val, f: &mut dyn FnMut() -> Val| match v {
        Val::Array(a) => Val::array(a.shape.clone(), a.elems.iter().map(|_| f()).collect()),
        _ => f(),
    };
    like.iter().map(|v| one(v, f)).collect()
}

/// The columns of the matrix of a linear function, or `None` if a result is a symbolic zero.
fn columns(l: &LinearFunction) -> Option<Vec<Vec<f64>>> {
    let n: u64 = l.like.iter().map(Val::scalars).sum();
    let column = |k: u64| {
        let mut at = 0;
        let unit = filled(&l.like, &mut || {
            at += 1;
            Val::F64(f64::from(u8::from(at == k + 1)))
        });
        let out = run(&l.program, l.func, &l.kept, &unit).unwrap().lin_results;
        (!out.iter().any(Val::is_symbolic_zero)).then(|| out.iter().flat_map(Val::reals).collect())
    };
    (0..n).map(column).collect()
}

/// The inputs on which each result depends, by the pattern.
fn pattern(linear: &mut LinearFunction) -> Option<(Vec<Vec<u32>>, bool)> {
    let structure = linear.ad.structure(&mut linear.program, linear.func)?;
    let ones = |v: &Val| filled(std::slice::from_ref(v), &mut || Val::F64(1.0)).remove(0);
    let tys = linear.program.func(structure.func).tys(&linear.program.func(structure.func).body.params);
    let real = |ty: &Ty| ty.scalar().is_real();
    let args =
        linear.kept.iter().zip(&tys).map(|(v, ty)| if real(ty) && !v.is_symbolic_zero() { ones(v) } else { v.clone() });
    let args: Vec<Val> = args.collect();
    let left = Rc::new(Cell::new(1_000_000));
    let mut at = 0;
    let sets = filled(&linear.like, &mut || {
        at += 1;
        Val::Deps(Rc::new(Deps { of: vec![at - 1], left: left.clone() }))
    });
    // Arms of a branch may have results of different shapes; there is no pattern then.
    let out = run(&linear.program, structure.func, &args, &sets).ok()?.lin_results;
    let of = |leaf: &&Val| if let Val::Deps(d) = leaf { d.of.clone() } else { Vec::new() };
    let rows: Vec<Vec<u32>> = out.iter().flat_map(|v| v.leaves().iter().map(of).collect::<Vec<_>>()).collect();
    Some((rows, structure.exact))
}

fn cases() -> Vec<Case> {
    let rows = rows::instances(&Ty::F64).into_iter().filter(|case| case.op().is_some_and(has_derivative));
    let finite =
        |case: &Case| case.results.as_ref().is_ok_and(|vals| vals.iter().flat_map(Val::reals).all(f64::is_finite));
    rows.chain((0..100).map(|seed| maps::program(seed, 4))).filter(finite).collect()
}

#[test]
fn patterns_have_all_entries() {
    let (mut found, mut tight) = (0, 0);
    for case in cases() {
        let Some(mut l) = linear(&case, &vec![true; case.args.len()]) else { continue };
        let Some(columns) = columns(&l) else { continue };
        let Some((rows, exact)) = pattern(&mut l) else { continue };
        if columns.first().is_none_or(|c| c.len() != rows.len()) {
            continue;
        }
        found += 1;
        let (mut entries, mut allowed) = (0, 0);
        for (r, row) in rows.iter().enumerate() {
            for (c, column) in columns.iter().enumerate() {
                let there = column[r] != 0.0;
                assert!(!there || row.contains(&(c as u32)), "{r}, {c} is missing in {}", case.text());
                entries += usize::from(there);
            }
            allowed += row.len();
        }
        tight += usize::from(exact && entries == allowed);
    }
    assert!(found > 400 && 10 * tight > 7 * found, "{found} patterns, {tight} exact and tight");
}

/// Whether an operation on vectors must be recognised as diagonal in each of its operands.
fn componentwise(op: &Op) -> bool {
    matches!(op, Op::Un(..) | Op::Bin(..) | Op::Select(..))
}

#[test]
fn diagonal_functions_are_recognised() {
    let mut found = 0;
    for case in cases() {
        let function = case.program.func(case.main);
        let tys = function.tys(&function.body.params);
        for argument in 0..tys.len() {
            let wrt: Vec<bool> = (0..tys.len()).map(|i| i == argument).collect();
            if tys[argument] != Ty::F64.array(1) || function.body.results.len() != 1 {
                continue;
            }
            let Some(l) = linear(&case, &wrt) else { continue };
            let said = is_diagonal(&l.program, l.func);
            let Some(columns) = columns(&l) else { continue };
            let outside = |(c, column): (usize, &Vec<f64>)| column.iter().enumerate().any(|(r, x)| r != c && *x != 0.0);
            let diagonal = !columns.iter().enumerate().any(outside);
            assert!(!said || diagonal, "not diagonal in argument {argument}: {}", case.text());
            found += usize::from(said);
            let single = case.op().filter(|_| function.body.stmts.len() == 1);
            let some = columns.iter().flatten().any(|x| *x != 0.0);
            let must = some && single.is_some_and(componentwise) && function.ty(function.body.results[0]).rank() == 1;
            assert!(said || !must, "diagonal in argument {argument}: {}", case.text());
        }
    }
    assert!(found > 60, "{found}");
}

/// Linear functions, and whether every entry of their patterns occurs at every point.
const EXACT: [(&str, &str, &str, bool); 8] = [
    ("a scaling", "v0: f64, v1: bool, v2: i64 ; v9~: f64", "v8~: f64 = scale_tangent v0 v9~", true),
    (
        "a branch on data",
        "v0: f64, v1: bool, v2: i64 ; v9~: f64",
        "v8~: f64 = if v1 { v10~: f64 = scale_tangent v0 v9~ return ; v10~ } else { return ; v9~ }",
        false,
    ),
    (
        "a branch on an Int",
        "v0: f64, v1: bool, v2: i64 ; v9~: f64",
        "v3: i64 = 2 v4: bool = lt v2 v3 v8~: f64 = if v4 { v10~: f64 = scale_tangent v0 v9~ return ; v10~ } else { return ; v9~ }",
        true,
    ),
    (
        "a choice by data",
        "v0: f64, v1: bool, v2: i64 ; v9~: f64",
        "v3~: f64, v4~: f64 = dup v9~ v8~: f64 = select v1 v3~ v4~",
        false,
    ),
    ("a product of vectors", "v0: []f64, v1: bool, v2: i64 ; v9~: []f64", "v8~: f64 = dot v0 v9~", false),
    ("a product of matrices", "v0: [][]f64, v1: bool, v2: i64 ; v9~: []f64", "v8~: []f64 = matmul v0 v9~", false),
    ("an outer product", "v0: []f64, v1: bool, v2: i64 ; v9~: []f64", "v8~: [][]f64 = outer v0 v9~", false),
    ("a sum", "v0: f64, v1: bool, v2: i64 ; v9~: []f64", "v8~: f64 = sum v9~ len v2", true),
];

#[test]
fn patterns_say_whether_they_are_exact() {
    for (name, params, body, exact) in EXACT {
        let ty = &body[body.find("v8~: ").unwrap() + 5..];
        let ty = &ty[..ty.find(" =").unwrap()];
        let given = params.split(", v1").next().unwrap();
        let input = params.split("v9~: ").nth(1).unwrap();
        let text = format!(
            "fn f0 f ({params}) -> ( ; {ty}) {{ {body} return ; v8~ }}
             fn f1 caller ({given}, v1: bool, v2: i64 ; v9~: {input}) -> ( ; {ty}) {{ v8~: {ty} = call f0(v0, v1, v2 ; v9~) return ; v8~ }}"
        );
        let mut program = adl_ir::parse::program(&text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        for f in [FnId(0), FnId(1)] {
            let found = Ad::new().structure(&mut program, f).unwrap_or_else(|| panic!("{name}: no pattern"));
            assert_eq!(found.exact, exact, "{name}, f{}", f.0);
        }
    }
}

#[test]
fn a_choice_by_a_vector_of_conditions_between_two_numbers_has_no_pattern() {
    let text = "fn f0 f (v0: []bool ; v1~: f64) -> ( ; []f64) {
        v2~: f64, v3~: f64 = dup v1~ v4~: []f64 = select v0 v2~ v3~ return ; v4~ }";
    let mut program = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e}"));
    assert!(Ad::new().structure(&mut program, FnId(0)).is_none());
}
