//! The rules of reductions, scans and histograms, compared with the equivalent loop, with differences and with each
//! other, for first and second derivatives; which rule is chosen; and the cost of the rules.

use crate::common;

use adl_ad::Ad;
use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Val, run};
use adl_ir::{FnId, Program};
use common::{check_at, directions, reals, scalars};

fn program(text: &str) -> Program {
    adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn last(p: &Program) -> FnId {
    FnId(p.funcs.len() as u32 - 1)
}

/// The gradient at a fixed cotangent, and the decisions.
fn gradient(p: &Program, point: &[Val], only_loops: bool) -> (Vec<f64>, Vec<String>) {
    let mut program = p.clone();
    let (id, mut ad) = (last(&program), Ad::new());
    ad.only_loops = only_loops;
    let l = ad
        .linearize_with(&mut program, id, &vec![true; point.len()], &UnzipPlan::store_all())
        .unwrap_or_else(|e| panic!("{}", e.why));
    let out = run(&program, l.primal, point, &[]).unwrap_or_else(|e| panic!("{e}")).results;
    let tys = program.func(id).tys(&program.func(id).body.results);
    let active: Vec<_> =
        tys.iter().zip(&out).zip(&l.active).filter(|(_, a)| **a).map(|((t, v), _)| (t.clone(), v.clone())).collect();
    let (tys, vals): (Vec<_>, Vec<_>) = active.into_iter().unzip();
    let ct = directions(&mut ad, &mut program, &mut common::Rng::new(3), &tys, &vals);
    let back = run(&program, l.cotangent, &[&out[l.results..], &ct[..]].concat(), &[])
        .unwrap_or_else(|e| panic!("{e}"))
        .results;
    let tys = program.func(id).tys(&program.func(id).body.params);
    let mut given = point
        .iter()
        .zip(&tys)
        .filter(|(_, t)| t.scalar().is_real())
        .map(|(v, _)| scalars(std::slice::from_ref(v)) as usize);
    let mut all = Vec::new();
    for v in &back {
        let mut one = Vec::new();
        reals(v, &mut one);
        // A cotangent that is a symbolic zero counts as zeros.
        one.resize(given.next().unwrap_or(0), 0.0);
        all.extend(one);
    }
    (all, ad.decisions.iter().map(|d| format!("{}: {} {}", d.construct, d.rule, d.why)).collect())
}

fn v(x: &[f64]) -> Val {
    Val::floats(x)
}

fn k(x: &[i64]) -> Val {
    Val::ints(x)
}

fn m(rows: usize, cols: usize, x: &[f64]) -> Val {
    Val::array(vec![rows, cols], x.iter().map(|x| Val::F64(*x)).collect())
}

/// Compares with the loop's gradient at every point, and at the smooth points also with differences and second
/// derivatives.
fn same_as_loop(name: &str, text: &str, rule: &str, smooth: &[Vec<Val>], kinks: &[Vec<Val>]) {
    let parsed = program(text);
    for x in smooth.iter().chain(kinks) {
        let (fast, said) = gradient(&parsed, x, false);
        let (slow, _) = gradient(&parsed, x, true);
        assert!(said.iter().any(|d| d.contains(rule)), "{name}: expected {rule}, not {said:?}");
        assert_eq!(fast.len(), slow.len(), "{name} at {x:?}");
        for (a, b) in fast.iter().zip(&slow) {
            assert!((a - b).abs() <= 1e-10 * (1.0 + b.abs()), "{name} at {x:?}: {fast:?} against {slow:?}");
        }
    }
    for x in smooth {
        for plan in [UnzipPlan::store_all(), UnzipPlan::recompute_all()] {
            check_at(name, parsed.clone(), last(&parsed), x, &plan, Segments::None, false);
        }
    }
}

/// A reduction, a scan and an exclusive scan with one operator.
#[allow(clippy::too_many_arguments, reason = "each is one part of a program's text or its inputs")]
fn all_kinds(
    name: &str,
    neutral: &str,
    elems: &str,
    params: &str,
    block: &str,
    rules: [&str; 2],
    smooth: &[Vec<Val>],
    kinks: &[Vec<Val>],
) {
    let count = neutral.matches(": f64").count().max(1);
    for (kind, rule) in [("reduce", rules[0]), ("scan", rules[1]), ("scan_exclusive", rules[1])] {
        let ty = if kind == "reduce" { "f64" } else { "[]f64" };
        let es: Vec<String> = (0..count).map(|i| format!("v{}", 50 + i)).collect();
        let outs: Vec<String> = (0..count).map(|i| format!("v{}: {ty}", 60 + i)).collect();
        let names: Vec<String> = (0..count).map(|i| format!("v{}", 60 + i)).collect();
        let params_of = if count == 1 { "v0: []f64" } else { "v0: []f64, v1: []f64" };
        let text = format!(
            "fn f0 f ({params_of}) -> ({}) {{ {neutral} {} = {kind} ({}) over ({elems}) ({params}) {{ {block} }} return {} }}",
            vec![ty; count].join(", "),
            outs.join(", "),
            es.join(", "),
            names.join(", ")
        );
        same_as_loop(&format!("{kind} {name}"), &text, rule, smooth, kinks);
    }
}

const GENERAL: &str = "two exclusive scans";

#[test]
fn sums() {
    let some = [vec![v(&[1.5, -2.0, 0.5, 3.0])], vec![v(&[])], vec![v(&[4.0])]];
    all_kinds(
        "+",
        "v50: f64 = 0.0",
        "v0",
        "v2: f64, v3: f64",
        "v4: f64 = add v3 v2 return v4",
        ["+: copies", "+: running sums"],
        &some,
        &[],
    );
    all_kinds(
        "+ from 5",
        "v50: f64 = 5.0",
        "v0",
        "v2: f64, v3: f64",
        "v4: f64 = add v2 v3 return v4",
        ["+: copies", "+: running sums"],
        &some,
        &[],
    );
}

#[test]
fn sums_in_other_words() {
    let some = [vec![v(&[1.5, -2.0, 0.5, 3.0])], vec![v(&[])]];
    for block in [
        "v4: f64 = neg v2 v5: f64 = sub v4 v3 v6: f64 = neg v5 return v6",
        "v4: f64 = neg v3 v5: f64 = sub v2 v4 return v5",
        "v4: f64 = 0.0 v5: f64 = add v2 v3 v6: f64 = add v5 v4 return v6",
    ] {
        all_kinds(
            block,
            "v50: f64 = 0.0",
            "v0",
            "v2: f64, v3: f64",
            block,
            ["+: copies", "+: running sums"],
            &some,
            &[],
        );
        same_as_loop(
            block,
            &histogram(
                &block
                    .replace("v6", "v8")
                    .replace("v5", "v7")
                    .replace("v4", "v6")
                    .replace("v3", "v5")
                    .replace("v2", "v4"),
            ),
            "+: each",
            &[vec![v(&[1.2, 0.7]), v(&[1.5, -2.0, 0.5]), k(&[0, 5, 0])]],
            &[],
        );
    }
}

#[test]
fn extremes() {
    let smooth = [vec![v(&[1.5, -2.0, 0.5, -3.0, 2.0])], vec![v(&[])], vec![v(&[4.0])]];
    let ties = [vec![v(&[2.0, 1.0, 3.0, 1.0, 3.0])], vec![v(&[0.0, 0.0])], vec![v(&[f64::INFINITY, f64::INFINITY])]];
    for (op, e) in [("min", "1e300"), ("max", "-1e300"), ("min", "0.7"), ("max", "0.7")] {
        let rules = ["min, max: the first", "min, max: the position"];
        all_kinds(
            op,
            &format!("v50: f64 = {e}"),
            "v0",
            "v2: f64, v3: f64",
            &format!("v4: f64 = {op} v2 v3 return v4"),
            rules,
            &smooth,
            &ties,
        );
    }
}

#[test]
fn products() {
    let smooth = [
        vec![v(&[1.5, -2.0, 0.5, 3.0])],
        vec![v(&[])],
        vec![v(&[4.0])],
        // One, two and three zeros: first and second derivatives.
        vec![v(&[1.5, 0.0, 0.5, 3.0])],
        vec![v(&[0.0, -2.0, 0.5, 0.0])],
        vec![v(&[0.0, 0.0, 0.0, 2.0])],
        vec![v(&[0.0])],
    ];
    // Products with intermediate under- and overflow.
    let extreme = [vec![v(&[1e-200, 1e-200])], vec![v(&[1e200, 1e-170, 1e-180])], vec![v(&[1e-200, 1e-200, 0.0])]];
    let block = "v4: f64 = mul v3 v2 return v4";
    for e in ["1.0", "2.5", "0.0"] {
        all_kinds(
            "*",
            &format!("v50: f64 = {e}"),
            "v0",
            "v2: f64, v3: f64",
            block,
            ["*: products", "Jacobians, a linear"],
            &smooth,
            &extreme,
        );
    }
    let prod =
        "fn f0 f (v0: []f64) -> (f64, []f64) { v1: f64 = prim prod v0 v2: []f64 = prim cumprod v0 return v1, v2 }";
    same_as_loop("prod and cumprod", prod, "linear recurrence", &smooth, &extreme);
}

#[test]
fn neutral_elements_that_are_differentiated() {
    for (op, rule) in [("add", "+"), ("mul", "*"), ("min", "min"), ("max", "max")] {
        for (kind, ty) in [("reduce", "f64"), ("scan", "[]f64"), ("scan_exclusive", "[]f64")] {
            let text = format!(
                "fn f0 f (v0: []f64, v1: f64) -> ({ty}) {{ v9: {ty} = {kind} (v1) over (v0) (v2: f64, v3: f64) {{ v4: f64 = {op} v2 v3 return v4 }} return v9 }}"
            );
            let rule = if op == "mul" && kind != "reduce" { "linear recurrence" } else { rule };
            let at = |a: &[f64], e: f64| vec![v(a), Val::F64(e)];
            same_as_loop(
                &format!("{kind} {op}"),
                &text,
                rule,
                &[at(&[1.5, -2.0, 0.5], 1.2), at(&[], 0.3), at(&[1.5], -3.0), at(&[1.5, 2.0], 9.0)],
                &[at(&[2.0, 2.0], 2.0)],
            );
        }
    }
}

#[test]
fn pairs() {
    let at =
        [vec![v(&[1.5, -2.0, 0.5, 0.3]), v(&[0.5, 2.0, -1.5, 0.7])], vec![v(&[]), v(&[])], vec![v(&[4.0]), v(&[0.1])]];
    let zeros = [vec![v(&[0.0, 1.0, 0.0]), v(&[0.0, 0.0, 2.0])]];
    let params = "v2: f64, v3: f64, v4: f64, v5: f64";
    let compose = "v6: f64 = mul v5 v2 v7: f64 = add v4 v6 v8: f64 = mul v5 v3 return v7, v8";
    all_kinds(
        "composition",
        "v50: f64 = 0.0 v51: f64 = 1.0",
        "v0, v1",
        params,
        compose,
        [GENERAL, "RBDS"],
        &at,
        &zeros,
    );
    let sums = "v6: f64 = mul v3 v5 v7: f64 = add v2 v4 v8: f64 = add v7 v6 v9: f64 = add v3 v5 return v8, v9";
    all_kinds(
        "sum of products",
        "v50: f64 = 0.0 v51: f64 = 0.0",
        "v0, v1",
        params,
        sums,
        [GENERAL, "triangular"],
        &at,
        &zeros,
    );
    let complex = "v6: f64 = mul v2 v4 v7: f64 = mul v3 v5 v8: f64 = sub v6 v7 v9: f64 = mul v2 v5 v10: f64 = mul v3 v4 v11: f64 = add v9 v10 return v8, v11";
    all_kinds(
        "complex product",
        "v50: f64 = 1.0 v51: f64 = 0.0",
        "v0, v1",
        params,
        complex,
        [GENERAL, "Jacobians, a linear"],
        &at,
        &zeros,
    );
    let apart = "v6: f64 = add v4 v2 v8: f64 = mul v5 v3 return v6, v8";
    all_kinds(
        "independent",
        "v50: f64 = 0.0 v51: f64 = 1.0",
        "v0, v1",
        params,
        apart,
        ["*: products", "+: running"],
        &at,
        &zeros,
    );
    // The pair with the larger first component is chosen: not differentiable where they are equal.
    let winner = "v6: bool = ge v2 v4 v7: f64 = select v6 v2 v4 v8: f64 = select v6 v3 v5 return v7, v8";
    all_kinds(
        "winner",
        "v50: f64 = -1e300 v51: f64 = 0.0",
        "v0, v1",
        params,
        winner,
        [GENERAL, "Jacobians"],
        &at,
        &zeros,
    );
}

#[test]
fn operators_with_branches_and_captures() {
    let block = "v6: f64 = add v2 v3 v7: f64 = 2.5 v8: bool = gt v6 v7 v9: f64 = if v8 { return v7 } else { return v6 } return v9";
    let at = [vec![v(&[1.5, 0.3, 0.5, 1.0])], vec![v(&[0.1, 0.2, 0.3])], vec![v(&[])], vec![v(&[4.0])]];
    all_kinds("saturating +", "v50: f64 = 0.0", "v0", "v2: f64, v3: f64", block, [GENERAL, ""], &at, &[]);
    let hypot = "v6: f64 = hypot v2 v3 return v6";
    all_kinds(
        "hypot",
        "v50: f64 = 0.0",
        "v0",
        "v2: f64, v3: f64",
        hypot,
        [GENERAL, ""],
        &[vec![v(&[1.5, 0.3, 0.5, 1.0])]],
        &[],
    );
    // x + y + c x y is associative; its neutral element is 0.
    for (kind, ty) in [("reduce", "f64"), ("scan", "[]f64"), ("scan_exclusive", "[]f64")] {
        let body = "v5: f64 = mul v2 v3 v6: f64 = mul v5 v1 v7: f64 = add v2 v3 v8: f64 = add v7 v6 return v8";
        let text = format!(
            "fn f0 f (v0: []f64, v20: i64) -> ({ty}) {{ v1: f64 = to_f64 v20 v10: f64 = 0.0 v9: {ty} = {kind} (v10) over (v0) (v2: f64, v3: f64) {{ {body} }} return v9 }}"
        );
        let x = [vec![v(&[1.5, -2.0, 0.5]), Val::I64(3)], vec![v(&[]), Val::I64(3)]];
        same_as_loop(
            &format!("{kind} with a capture"),
            &text,
            if kind == "reduce" { GENERAL } else { "Jacobians" },
            &x,
            &[],
        );
        let text = format!(
            "fn f0 f (v0: []f64, v1: f64) -> ({ty}) {{ v10: f64 = 0.0 v9: {ty} = {kind} (v10) over (v0) (v2: f64, v3: f64) {{ {body} }} return v9 }}"
        );
        same_as_loop(
            &format!("{kind} with a differentiated capture"),
            &text,
            "captures a variable",
            &[vec![v(&[1.5, -2.0, 0.5]), Val::F64(0.3)]],
            &[],
        );
    }
}

#[test]
fn operators_without_the_laws_are_loops() {
    let block = "v4: f64 = mul v2 v3 v5: f64 = add v4 v3 return v5";
    let x = [vec![v(&[1.5, -2.0, 0.5])], vec![v(&[])]];
    all_kinds("a b + b", "v50: f64 = 1.0", "v0", "v2: f64, v3: f64", block, ["not associative", "Jacobians"], &x, &[]);
    // A declared neutral element that is not neutral.
    let block = "v4: f64 = mul v2 v3 v5: f64 = add v2 v3 v6: f64 = add v4 v5 return v6";
    all_kinds("a b + a + b from 2", "v50: f64 = 2.0", "v0", "v2: f64, v3: f64", block, [GENERAL, "Jacobians"], &x, &[]);
}

#[test]
fn calls_are_looked_through() {
    for (kind, ty) in [("reduce", "f64"), ("scan", "[]f64")] {
        let text = format!("fn f0 times (v0: f64, v1: f64) -> (f64) {{ v2: f64 = mul v1 v0 return v2 }}
            fn f1 eta (v0: f64, v1: f64) -> (f64) {{ v2: f64 = call f0(v1, v0) return v2 }}
            fn f2 f (v0: []f64) -> ({ty}) {{ v1: f64 = 1.0 v9: {ty} = {kind} (v1) over (v0) (v2: f64, v3: f64) {{ v4: f64 = call f1(v2, v3) return v4 }} return v9 }}");
        same_as_loop(
            kind,
            &text,
            if kind == "reduce" { "*: products" } else { "Jacobians" },
            &[vec![v(&[1.5, 0.0, 2.0])]],
            &[],
        );
    }
}

#[test]
fn rows() {
    let one = |x: Val| vec![x];
    let at = [
        one(m(3, 2, &[1.5, -2.0, 0.5, 0.3, 0.7, 0.9])),
        one(m(1, 2, &[0.4, 0.6])),
        one(m(3, 2, &[0.0, 1.0, 2.0, 0.0, 0.0, 3.0])),
    ];
    let edges = [one(m(0, 2, &[]))];
    for (kind, ty) in [("reduce", "[]f64"), ("scan", "[][]f64"), ("scan_exclusive", "[][]f64")] {
        let whole = |op: &str| {
            format!("fn f0 f (v0: [][]f64) -> ({ty}) {{ v1: i64 = 2 v2: f64 = 1.0 v3: []f64 = replicate v1 v2
            v9: {ty} = {kind} (v3) over (v0) (v4: []f64, v5: []f64) {{ v6: []f64 = {op} v4 v5 return v6 }} return v9 }}")
        };
        same_as_loop(&format!("{kind} rows +"), &whole("add"), "+", &at, &edges);
        same_as_loop(&format!("{kind} rows *"), &whole("mul"), "interchange", &at, &edges);
        same_as_loop(&format!("{kind} rows min"), &whole("min"), "interchange", &at[..2], &edges);
        let mapped = format!("fn f0 f (v0: [][]f64) -> ({ty}) {{ v1: i64 = 2 v2: f64 = 0.0 v3: []f64 = replicate v1 v2
            v9: {ty} = {kind} (v3) over (v0) (v4: []f64, v5: []f64) {{ v10: i64 = dim 0 v4 v11: i64 = dim 0 v5 v12: bool = eq v10 v11 v13: str = \"lengths\" prim assert v12 v13
                v14: []f64, v15: i64 = loop for v10 over (v4, v5) out (collect) (v16: i64, v17: f64, v18: f64) {{ v19: f64 = mul v17 v18 v20: f64 = add v17 v18 v21: f64 = add v19 v20 return v21 }}
                return v14 }} return v9 }}");
        same_as_loop(&format!("{kind} rows mapped"), &mapped, "interchange", &at, &edges);
    }
}

#[test]
fn matrices() {
    let cube = |n: usize, x: &[f64]| vec![Val::array(vec![n, 2, 2], x.iter().map(|x| Val::F64(*x)).collect())];
    let at = [cube(3, &[1.0, 0.5, -0.3, 0.8, 0.2, 1.1, 0.9, -0.7, 0.6, 0.1, 0.4, 1.3]), cube(1, &[1.0, 2.0, 3.0, 4.0])];
    for (kind, ty, rule) in
        [("reduce", "[][]f64", GENERAL), ("scan", "[][][]f64", "PPAD"), ("scan_exclusive", "[][][]f64", "PPAD")]
    {
        let text = format!("fn f0 f (v0: [][][]f64) -> ({ty}) {{ v1: i64 = 2 v2: [][]f64 = prim eye v1
            v9: {ty} = {kind} (v2) over (v0) (v4: [][]f64, v5: [][]f64) {{ v6: [][]f64 = matmul v4 v5 return v6 }} return v9 }}");
        same_as_loop(&format!("{kind} matrices"), &text, rule, &at, &[cube(0, &[])]);
    }
}

/// A histogram by an operator on numbers.
fn histogram(block: &str) -> String {
    format!("fn f0 f (v0: []f64, v1: []f64, v2: []i64) -> ([]f64) {{ v3: f64 = 0.0
        v9: []f64 = reduce_by_index (v0) neutral (v3) keys v2 values (v1) (v4: f64, v5: f64) {{ {block} }} return v9 }}")
}

#[test]
fn histograms() {
    let at = |d: &[f64], x: &[f64], keys: &[i64]| vec![v(d), v(x), k(keys)];
    let smooth = [
        at(&[1.2, 0.7, 2.0], &[1.5, -2.0, 0.5, 3.0, 0.9, 0.2], &[0, 2, 0, 5, -1, 2]),
        at(&[1.2, 0.7], &[], &[]),
        at(&[], &[1.0, 2.0], &[0, 1]),
        at(&[2.0], &[4.0], &[0]),
        at(&[2.0], &[4.0], &[3]),
    ];
    let zeros = [
        at(&[1.0, 0.0, 2.0], &[0.0, 2.0, 0.5, 0.0, 3.0], &[0, 1, 1, 2, 2]),
        at(&[1.0, 0.0], &[0.0, 2.0, 0.0, 0.0], &[0, 1, 1, 0]),
        at(&[1.0], &[1e-200, 1e-200], &[0, 0]),
        at(&[1.0], &[1e-200, 1e-200, 0.0], &[0, 0, 0]),
    ];
    let ties = [at(&[1.0, 2.0], &[1.0, 2.0, 3.0, 3.0, 0.5, 0.5], &[0, 1, 0, 0, 1, 1])];
    same_as_loop("+", &histogram("v6: f64 = add v5 v4 return v6"), "+: each", &smooth, &zeros);
    same_as_loop(
        "*",
        &histogram("v6: f64 = mul v5 v4 return v6"),
        "*: products",
        &[&smooth[..], &zeros[..2]].concat(),
        &zeros[2..],
    );
    same_as_loop("min", &histogram("v6: f64 = min v4 v5 return v6"), "min, max", &smooth, &ties);
    same_as_loop("max", &histogram("v6: f64 = max v4 v5 return v6"), "min, max", &smooth, &ties);
    let general = "v6: f64 = mul v4 v5 v7: f64 = add v4 v5 v8: f64 = add v6 v7 return v8";
    same_as_loop("x + y + x y", &histogram(general), "sorted keys", &smooth, &zeros);
    let none = "v6: f64 = mul v4 v5 v7: f64 = add v6 v5 return v7";
    same_as_loop("not associative", &histogram(none), "not associative", &smooth, &zeros);
    // Only the values, or only the destination, are active.
    for (constant, wrt) in [
        ("v0: []i64, v1: []f64", "v10: []f64 = to_f64 v0 v11: []f64 = mul v1 v1"),
        ("v0: []f64, v1: []i64", "v10: []f64 = mul v0 v0 v11: []f64 = to_f64 v1"),
    ] {
        for (block, rule) in [
            ("v6: f64 = mul v4 v5 return v6", "*"),
            (general, "sorted"),
            ("v6: f64 = add v4 v5 return v6", "+"),
            ("v6: f64 = max v4 v5 return v6", "max"),
        ] {
            let text = format!("fn f0 f ({constant}, v2: []i64) -> ([]f64) {{ v3: f64 = 0.0 {wrt}
                v9: []f64 = reduce_by_index (v10) neutral (v3) keys v2 values (v11) (v4: f64, v5: f64) {{ {block} }} return v9 }}");
            let x = if constant.starts_with("v0: []i64") {
                vec![k(&[3, 2]), v(&[1.5, 0.3, 0.7]), k(&[1, 0, 1])]
            } else {
                vec![v(&[0.3, 2.0]), k(&[5, 1, 7]), k(&[1, 0, 1])]
            };
            same_as_loop("in part", &text, rule, &[x], &[]);
        }
    }
}

#[test]
fn histograms_of_tuples_and_rows() {
    let text = |block: &str| {
        format!("fn f0 f (v0: []f64, v1: []f64, v20: []f64, v21: []f64, v2: []i64) -> ([]f64, []f64) {{ v3: f64 = 0.0 v22: f64 = 1.0
        v9: []f64, v10: []f64 = reduce_by_index (v0, v20) neutral (v3, v22) keys v2 values (v1, v21) (v4: f64, v5: f64, v6: f64, v7: f64) {{ {block} }} return v9, v10 }}")
    };
    let point = vec![
        v(&[1.2, 0.7, 2.0]),
        v(&[1.5, -2.0, 0.5, 3.0, 0.9]),
        v(&[0.2, 0.4, 0.6]),
        v(&[0.5, 2.0, 1.5, 1.0, 0.3]),
        k(&[0, 2, 0, 5, 2]),
    ];
    let compose = "v11: f64 = mul v7 v4 v12: f64 = add v6 v11 v13: f64 = mul v7 v5 return v12, v13";
    same_as_loop("composition", &text(compose), "sorted keys", std::slice::from_ref(&point), &[]);
    same_as_loop(
        "independent",
        &text("v12: f64 = add v6 v4 v13: f64 = mul v7 v5 return v12, v13"),
        "*: products",
        &[point],
        &[],
    );
    let rows = |op: &str| {
        format!("fn f0 f (v0: [][]f64, v1: [][]f64, v2: []i64) -> ([][]f64) {{ v3: i64 = 2 v4: f64 = 0.0 v5: []f64 = replicate v3 v4
        v9: [][]f64 = reduce_by_index (v0) neutral (v5) keys v2 values (v1) (v6: []f64, v7: []f64) {{ v8: []f64 = {op} v6 v7 return v8 }} return v9 }}")
    };
    let x = vec![m(2, 2, &[1.0, 2.0, 0.0, 4.0]), m(3, 2, &[0.5, 0.0, 1.5, 2.5, 0.7, 0.2]), k(&[1, 0, 1])];
    let none = vec![m(2, 2, &[1.0, 2.0, 3.0, 4.0]), m(0, 2, &[]), k(&[])];
    for (op, rule) in [("add", "+"), ("mul", "*: products"), ("max", "interchange")] {
        same_as_loop(op, &rows(op), rule, std::slice::from_ref(&x), std::slice::from_ref(&none));
    }
}

/// Work of the program, and of its value with the gradient.
fn work(text: &str, x: &[Val]) -> (u64, u64) {
    let mut p = program(text);
    let (f, mut ad) = (last(&p), Ad::new());
    let l = ad
        .linearize_with(&mut p, f, &vec![true; x.len()], &UnzipPlan::store_all())
        .unwrap_or_else(|e| panic!("{}", e.why));
    let plain = run(&p, f, x, &[]).unwrap_or_else(|e| panic!("{e}"));
    let out = run(&p, l.primal, x, &[]).unwrap_or_else(|e| panic!("{e}"));
    let tys = p.func(f).tys(&p.func(f).body.results);
    let ct = directions(&mut ad, &mut p, &mut common::Rng::new(3), &tys, &out.results[..l.results]);
    let back =
        run(&p, l.cotangent, &[&out.results[l.results..], &ct[..]].concat(), &[]).unwrap_or_else(|e| panic!("{e}"));
    (plain.counts.total, out.counts.total + back.counts.total)
}

#[test]
fn work_is_a_small_multiple() {
    let count = 1000usize;
    let xs: Vec<f64> = (0..count).map(|i| 0.99 + 0.02 * ((i * 37 % 101) as f64 / 101.0)).collect();
    let keys: Vec<i64> = (0..count as i64).map(|i| i * 7 % 10).collect();
    let of = |kind: &str, e: &str, op: &str| {
        let ty = if kind == "reduce" { "f64" } else { "[]f64" };
        format!(
            "fn f0 f (v0: []f64) -> ({ty}) {{ v1: f64 = {e} v9: {ty} = {kind} (v1) over (v0) (v2: f64, v3: f64) {{ v4: f64 = {op} v2 v3 return v4 }} return v9 }}"
        )
    };
    // Measured in passes over the data, where the primal is one pass.
    let table = [
        (of("reduce", "0.0", "add"), 1.1),
        (of("reduce", "1e300", "min"), 2.1),
        (of("reduce", "1.0", "mul"), 4.0),
        (of("scan", "0.0", "add"), 2.1),
        (of("scan", "1e300", "min"), 10.1),
        (of("scan", "1.0", "mul"), 6.1),
    ];
    for (text, most) in table {
        let (plain, both) = work(&text, &[v(&xs)]);
        let ratio = both as f64 / plain as f64;
        println!("{ratio} passes: {text}");
        assert!(ratio <= most, "{ratio} passes:\n{text}");
    }
    for (op, most) in [("add", 5.1), ("max", 7.1), ("mul", 9.5)] {
        let text = histogram(&format!("v6: f64 = {op} v4 v5 return v6"));
        let (plain, both) = work(&text, &[v(&[1.0; 10]), v(&xs), k(&keys)]);
        let ratio = both as f64 / plain as f64;
        println!("{ratio} passes: {text}");
        assert!(ratio <= most, "{ratio} passes:\n{text}");
    }
}
