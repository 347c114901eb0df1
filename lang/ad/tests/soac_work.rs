//! The cost of the rules of reductions, scans and histograms in the reference evaluator's work model, compared with
//! the claims about work of *Reverse-Mode AD of Multi-Reduce and Scan in Futhark*. A pass is the cost of the
//! primal.

use crate::common;

use adl_ad::Ad;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Val, run};
use adl_ir::{FnId, Program};
use common::{directions, scalars};

/// The work of a program, of its primal half and of its cotangent half; the number of stored scalars; the rules used.
struct Measured {
    plain: u64,
    forward: u64,
    back: u64,
    kept: u64,
    rules: String,
}

impl Measured {
    /// Value and gradient, in passes.
    fn passes(&self) -> f64 {
        (self.forward + self.back) as f64 / self.plain as f64
    }
}

fn measured(text: &str, x: &[Val]) -> Measured {
    let mut p: Program = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let (f, mut ad) = (FnId(p.funcs.len() as u32 - 1), Ad::new());
    let l = ad
        .linearize_with(&mut p, f, &vec![true; x.len()], &UnzipPlan::store_all())
        .unwrap_or_else(|e| panic!("{}", e.why));
    let of = |f, x: &[Val]| run(&p, f, x, &[]).unwrap_or_else(|e| panic!("{e}"));
    let (plain, out) = (of(f, x), of(l.primal, x));
    let tys = p.func(f).tys(&p.func(f).body.results);
    let ct = directions(&mut ad, &mut p.clone(), &mut common::Rng::new(3), &tys, &out.results[..l.results]);
    let kept = &out.results[l.results..];
    let back = of(l.cotangent, &[kept, &ct[..]].concat());
    let rules = ad.decisions.iter().map(|d| format!("{}: {} ({}). ", d.construct, d.rule, d.why)).collect();
    Measured {
        plain: plain.counts.total,
        forward: out.counts.total,
        back: back.counts.total,
        kept: scalars(kept),
        rules,
    }
}

fn floats(n: usize) -> Val {
    Val::floats(&(0..n).map(|i| 0.99 + 0.02 * ((i * 37 % 101) as f64 / 101.0)).collect::<Vec<_>>())
}

/// A reduction or scan of numbers or pairs.
fn text(kind: &str, width: usize, neutral: [&str; 2], block: &str) -> String {
    let ty = if kind == "reduce" { "f64" } else { "[]f64" };
    let each = |f: &dyn Fn(usize) -> String| (0..width).map(f).collect::<Vec<_>>().join(", ");
    let lits: String = (0..width).map(|i| format!("v{}: f64 = {} ", 50 + i, neutral[i])).collect();
    format!(
        "fn f0 f ({}) -> ({}) {{ {lits} {} = {kind} ({}) over ({}) ({}) {{ {block} }} return {} }}",
        each(&|i| format!("v{i}: []f64")),
        each(&|_| ty.to_owned()),
        each(&|i| format!("v{}: {ty}", 60 + i)),
        each(&|i| format!("v{}", 50 + i)),
        each(&|i| format!("v{i}")),
        (2..2 + 2 * width).map(|i| format!("v{i}: f64")).collect::<Vec<_>>().join(", "),
        each(&|i| format!("v{}", 60 + i))
    )
}

fn scalar(kind: &str, op: &str, e: &str) -> String {
    text(kind, 1, [e, ""], &format!("v4: f64 = {op} v2 v3 return v4"))
}

const COMPOSE: &str = "v6: f64 = mul v5 v2 v7: f64 = add v4 v6 v8: f64 = mul v5 v3 return v7, v8";
const PRODUCTS: &str = "v6: f64 = mul v3 v5 v7: f64 = add v2 v4 v8: f64 = add v7 v6 v9: f64 = add v3 v5 return v8, v9";
const N: usize = 1000;

#[test]
fn sums_take_no_pass_over_the_primal() {
    let cost = measured(&scalar("reduce", "add", "0.0"), &[floats(N)]);
    assert!(
        cost.forward == cost.plain && cost.kept <= 1,
        "nothing but the length is kept: {} {} {} {}",
        cost.forward,
        cost.plain,
        cost.kept,
        cost.rules
    );
    assert_eq!(cost.back, 0, "copies are free");
    let m = measured(&scalar("scan", "add", "0.0"), &[floats(N)]);
    assert!(m.forward == m.plain && m.kept <= 1, "{} {} {} {}", m.forward, m.plain, m.kept, m.rules);
    assert!(m.back <= m.plain, "a reversed scan: {} against {}", m.back, m.plain);
}

#[test]
fn extremes_have_one_hot_cotangents() {
    for op in ["min", "max"] {
        let m = measured(&scalar("reduce", op, if op == "min" { "1e300" } else { "-1e300" }), &[floats(N)]);
        assert!(
            m.passes() <= 2.1 && m.back <= 16 && m.kept <= 4,
            "{} passes, {} backwards, {} numbers kept",
            m.passes(),
            m.back,
            m.kept
        );
    }
}

#[test]
fn products_take_few_passes_whatever_their_zeros() {
    for zeros in [vec![], vec![17], vec![0, 500, 999], (0..N).collect()] {
        let mut xs: Vec<f64> = (0..N).map(|i| 0.99 + 0.02 * ((i * 37 % 101) as f64 / 101.0)).collect();
        zeros.iter().for_each(|i| xs[*i] = 0.0);
        let m = measured(&scalar("reduce", "mul", "1.0"), &[Val::floats(&xs)]);
        println!("{} zeros: {} passes", zeros.len(), m.passes());
        assert!(m.passes() <= 4.1, "{} zeros: {} passes", zeros.len(), m.passes());
    }
}

#[test]
fn pairs_keep_to_the_papers_ratios() {
    // The paper's ratios on its device (Fig. 9) measure memory traffic, these numbers operations; they bound the
    // order of magnitude only.
    let table = [
        ("reduce", ["0.0", "1.0"], COMPOSE, 5.01, "two exclusive scans"),
        ("reduce", ["0.0", "0.0"], PRODUCTS, 2.8, "two exclusive scans"),
        ("scan", ["0.0", "1.0"], COMPOSE, 4.1, "RBDS"),
        ("scan", ["0.0", "0.0"], PRODUCTS, 3.6, "triangular"),
    ];
    for (kind, e, op, most, rule) in table {
        let m = measured(&text(kind, 2, e, op), &[floats(N), floats(N)]);
        println!("{kind} {op}: {} passes", m.passes());
        assert!(m.rules.contains(rule), "{}", m.rules);
        assert!(m.passes() <= most, "{kind}: {} passes\n{op}", m.passes());
    }
}

fn histogram(bins: usize, n: usize, block: &str) -> Measured {
    let keys: Vec<i64> = (0..n as i64).map(|i| i * 7 % bins as i64).collect();
    let text = format!("fn f0 f (v0: []f64, v1: []f64, v2: []i64) -> ([]f64) {{ v3: f64 = 0.0
        v9: []f64 = reduce_by_index (v0) neutral (v3) keys v2 values (v1) (v4: f64, v5: f64) {{ {block} }} return v9 }}");
    measured(&text, &[Val::floats(&vec![1.0; bins]), floats(n), Val::ints(&keys)])
}

/// Work grows linearly with the data (sorting adds a logarithm), for every rule.
#[test]
fn work_is_linear() {
    let general = "v6: f64 = mul v4 v5 v7: f64 = add v4 v5 v8: f64 = add v6 v7 return v8";
    for (block, most) in [
        ("v6: f64 = add v5 v4 return v6", 4.1),
        ("v6: f64 = max v4 v5 return v6", 4.1),
        ("v6: f64 = mul v4 v5 return v6", 4.1),
        (general, 4.6),
    ] {
        let (small, large) = (histogram(10, N, block), histogram(10, 4 * N, block));
        let growth = (large.forward + large.back) as f64 / (small.forward + small.back) as f64;
        println!("{} passes, growth {growth}: {}", small.passes(), small.rules);
        assert!(growth <= most, "{block}: {growth} times the work for four times the data");
    }
    for kind in ["reduce", "scan", "scan_exclusive"] {
        for (e, op) in [(["0.0", "1.0"], COMPOSE), (["0.0", "0.0"], PRODUCTS)] {
            let of = |n: usize| {
                let m = measured(&text(kind, 2, e, op), &[floats(n), floats(n)]);
                (m.forward + m.back) as f64
            };
            let growth = of(4 * N) / of(N);
            assert!(growth <= 4.1, "{kind} {op}: {growth}");
        }
    }
}

fn rows(n: usize, cols: usize) -> Val {
    Val::array(vec![n, cols], (0..n * cols).map(|i| Val::F64(0.99 + 0.02 * ((i * 37 % 101) as f64 / 101.0))).collect())
}

/// An interchanged operator costs as much as the operator on each column.
#[test]
fn interchange_costs_what_columns_cost() {
    for kind in ["reduce", "scan"] {
        for op in ["mul", "min", "add"] {
            let ty = if kind == "reduce" { "[]f64" } else { "[][]f64" };
            let text = format!("fn f0 f (v0: [][]f64) -> ({ty}) {{ v1: i64 = 8 v2: f64 = 1.0 v3: []f64 = replicate v1 v2
                v9: {ty} = {kind} (v3) over (v0) (v4: []f64, v5: []f64) {{ v6: []f64 = {op} v4 v5 return v6 }} return v9 }}");
            let (whole, column) = (measured(&text, &[rows(N, 8)]), measured(&scalar(kind, op, "1.0"), &[floats(N)]));
            let ratio = (whole.forward + whole.back) as f64 / (8 * (column.forward + column.back)).max(1) as f64;
            println!("{kind} {op}: {ratio} of eight columns");
            assert!(ratio <= 1.3, "{kind} rows {op}: {ratio} times the work of eight columns. {}", whole.rules);
        }
    }
}

/// The cheaper of the two rules for scans is chosen: Jacobians if they are sparse, linearised steps for products of
/// matrices.
#[test]
fn the_cheaper_rule_is_chosen() {
    let text = |n: usize| {
        format!("fn f0 f (v0: [][][]f64) -> ([][][]f64) {{ v1: i64 = {n} v2: [][]f64 = prim eye v1
        v9: [][][]f64 = scan (v2) over (v0) (v4: [][]f64, v5: [][]f64) {{ v6: [][]f64 = matmul v4 v5 return v6 }} return v9 }}")
    };
    for n in [2, 3, 5] {
        let x = Val::array(vec![50, n, n], (0..50 * n * n).map(|i| Val::F64((i as f64).sin())).collect());
        let m = measured(&text(n), &[x]);
        println!("{n}×{n}: {} passes", m.passes());
        assert!(m.rules.contains("PPAD") && m.passes() <= 4.1, "{}: {} passes", m.rules, m.passes());
    }
    let m = measured(&complex_products(), &[floats(N), floats(N)]);
    assert!(m.rules.contains("Jacobians"), "{}", m.rules);
}

/// Complex products: a dense Jacobian of two components.
fn complex_products() -> String {
    text(
        "scan",
        2,
        ["1.0", "0.0"],
        "v6: f64 = mul v2 v4 v7: f64 = mul v3 v5 v8: f64 = sub v6 v7 v9: f64 = mul v2 v5 v10: f64 = mul v3 v4 v11: f64 = add v9 v10 return v8, v11",
    )
}

/// Value and gradient of scans and histograms with operators that have rules of their own, in passes.
#[test]
fn passes_of_scans_and_histograms() {
    for (op, e, most) in [("add", "0.0", 2.1), ("min", "1e300", 6.1), ("max", "-1e300", 6.1), ("mul", "1.0", 5.1)] {
        let m = measured(&scalar("scan", op, e), &[floats(N)]);
        println!("scan {op}: {} passes. {}", m.passes(), m.rules);
        assert!(m.passes() <= most, "scan {op}: {} passes", m.passes());
    }
    let general = "v6: f64 = mul v4 v5 v7: f64 = add v4 v5 v8: f64 = add v6 v7 return v8";
    for (block, most) in [
        ("v6: f64 = add v5 v4 return v6", 2.1),
        ("v6: f64 = max v4 v5 return v6", 4.1),
        ("v6: f64 = mul v4 v5 return v6", 5.1),
        (general, 11.4),
    ] {
        let m = histogram(10, N, block);
        println!("histogram: {} passes. {}", m.passes(), m.rules);
        assert!(m.passes() <= most, "{block}: {} passes", m.passes());
    }
}
