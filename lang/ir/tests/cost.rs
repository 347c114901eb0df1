//! The cost model: each linear operation beside its transpose, written by hand. The paper's Theorem 7.1,
//! `work(T e) + inputs <= work(e) + outputs`, must hold with equality; and the dot products must agree.

use adl_ir::eval::{self, Evaluation, Val};
use adl_ir::{FnId, parse, verify};

/// Shared non-linear parameters: two numbers, a vector of 3, a matrix of 2 x 3, two Ints, shapes and indices.
const HEAD: &str =
    "v900: f64, v901: f64, v902: []f64, v903: [][]f64, v904: i64, v905: i64, v906: []i64, v907: []i64, v908: []i64";

fn head() -> Vec<Val> {
    let v = Val::floats(&[0.5, -1.5, 2.0]);
    let m = Val::matrix(2, 3, &[1.0, -2.0, 0.25, 3.0, 0.75, -1.0]);
    let ints = |xs: &[i64]| Val::ints(xs);
    // 1 and 3; the shape of the vector; of the matrix; indices.
    vec![Val::F64(1.25), Val::F64(-0.5), v, m, Val::I64(1), Val::I64(3), ints(&[3]), ints(&[2, 3]), ints(&[2, 0, 2])]
}

/// Runs `(; params) -> (; tys) { body }` at values filled from a fixed sequence.
fn run(params: &str, tys: &str, body: &str, shapes: &[&[usize]], from: f64) -> (Evaluation, Vec<Val>) {
    let text = format!("fn f ({HEAD} ; {params}) -> ( ; {tys}) {{ {body} }}");
    let program = parse::program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify::verify_program(&program).unwrap_or_else(|e| panic!("{e}"));
    let mut x = from;
    let mut number = || {
        x = (x * 7.3 + 1.1) % 5.0 - 2.0;
        Val::F64(x)
    };
    let lin: Vec<Val> = shapes
        .iter()
        .map(|s| {
            if s.is_empty() {
                number()
            } else {
                let n = s.iter().product();
                Val::array(s.to_vec(), (0..n).map(|_| number()).collect())
            }
        })
        .collect();
    let out = eval::run(&program, FnId(0), &head(), &lin).unwrap_or_else(|e| panic!("{e}\n{text}"));
    (out, lin)
}

fn reals(vs: &[Val]) -> Vec<f64> {
    vs.iter().flat_map(Val::reals).collect()
}

struct Side {
    params: &'static str,
    tys: &'static str,
    body: &'static str,
    shapes: &'static [&'static [usize]],
}

/// The surplus `work(e) + outputs - work(T e) - inputs`, after checking that `t` is the transpose of `e`.
fn surplus(e: &Side, t: &Side) -> i64 {
    let (fwd, x) = run(e.params, e.tys, e.body, e.shapes, 0.3);
    let (bwd, ct) = run(t.params, t.tys, t.body, t.shapes, 1.7);
    let dot = |a: &[Val], b: &[Val]| -> f64 {
        let (a, b) = (reals(a), reals(b));
        assert_eq!(a.len(), b.len(), "{} | {}", e.body, t.body);
        a.iter().zip(&b).map(|(x, y)| x * y).sum()
    };
    let (left, right) = (dot(&ct, &fwd.lin_results), dot(&bwd.lin_results, &x));
    assert!((left - right).abs() < 1e-12 * left.abs().max(1.0), "{}: {left} {right}", e.body);
    let n = |vs: &[Val]| reals(vs).len() as i64;
    fwd.counts.linear as i64 + n(&fwd.lin_results) - bwd.counts.linear as i64 - n(&x)
}

const S: &[usize] = &[];
const V: &[usize] = &[3];
const M: &[usize] = &[2, 3];

fn side(params: &'static str, tys: &'static str, body: &'static str, shapes: &'static [&'static [usize]]) -> Side {
    Side { params, tys, body, shapes }
}

/// Scalars, vectors and their sums.
fn elementwise() -> Vec<(Side, Side)> {
    let v1 = "v0~: []f64";
    vec![
        (
            side(v1, "[]f64, []f64", "v1~: []f64, v2~: []f64 = dup v0~ return ; v1~, v2~", &[V]),
            side("v0~: []f64, v1~: []f64", "[]f64", "v2~: []f64 = add v0~ v1~ return ; v2~", &[V, V]),
        ),
        (
            side("v0~: f64", "f64", "v1~: f64 = mul v900 v0~ return ; v1~", &[S]),
            side("v0~: f64", "f64", "v1~: f64 = scale_tangent v900 v0~ return ; v1~", &[S]),
        ),
        (
            side(v1, "[]f64", "v1~: []f64 = div v0~ v900 return ; v1~", &[V]),
            side(v1, "[]f64", "v1~: []f64 = div v0~ v900 return ; v1~", &[V]),
        ),
        (
            side("v0~: f64", "[]f64", "v1~: []f64 = scale_tangent v902 v0~ return ; v1~", &[S]),
            side(v1, "f64", "v1~: f64 = dot v902 v0~ return ; v1~", &[V]),
        ),
        (
            side("v0~: []f64, v1~: []f64", "[]f64", "v2~: []f64 = sub v0~ v1~ return ; v2~", &[V, V]),
            side(v1, "[]f64, []f64", "v1~: []f64, v2~: []f64 = dup v0~ v3~: []f64 = neg v2~ return ; v1~, v3~", &[V]),
        ),
    ]
}

/// Operations on entire arrays.
fn wholes() -> Vec<(Side, Side)> {
    let (v1, m1) = ("v0~: []f64", "v0~: [][]f64");
    vec![
        (side(v1, "f64", "v1~: f64 = sum v0~ len v905 return ; v1~", &[V]),
         side("v0~: f64", "[]f64", "v1~: []f64 = replicate v905 v0~ return ; v1~", &[S])),
        (side(m1, "f64", "v1~: f64 = sum_all v0~ shape v907 return ; v1~", &[M]),
         side("v0~: f64", "[][]f64", "v1~: [][]f64 = broadcast v0~ v907 return ; v1~", &[S])),
        (side(v1, "[]f64", "v1~: []f64 = reverse v0~ return ; v1~", &[V]), side(v1, "[]f64", "v1~: []f64 = reverse v0~ return ; v1~", &[V])),
        (side(v1, "[]f64", "v1~: []f64 = cumsum v0~ return ; v1~", &[V]), side(v1, "[]f64", "v1~: []f64 = cumsum v0~ reversed return ; v1~", &[V])),
        (side(m1, "[]f64", "v1~: []f64 = matmul v0~ v902 return ; v1~", &[M]),
         side(v1, "[][]f64", "v1~: [][]f64 = outer v0~ v902 return ; v1~", &[&[2]])),
        (side(v1, "[]f64", "v1~: []f64 = matmul v903 v0~ return ; v1~", &[V]),
         side(v1, "[]f64", "v1~: []f64 = matmul v0~ v903 return ; v1~", &[&[2]])),
        (side("v0~: f64, v1~: f64, v2~: f64", "[]f64", "v3~: []f64 = array v0~ v1~ v2~ shape v906 return ; v3~", &[S, S, S]),
         side(v1, "f64, f64, f64", "v1~: []f64, v2~: []f64 = dup v0~ v3~: []f64, v4~: []f64 = dup v2~
            v10: i64 = 0 v11: i64 = 1 v12: i64 = 2
            v5~: f64 = index v1~ [v10] shape v906 v6~: f64 = index v3~ [v11] shape v906 v7~: f64 = index v4~ [v12] shape v906
            return ; v5~, v6~, v7~", &[V])),
    ]
}

#[test]
fn transposes_cost_what_the_theorem_says() {
    for (e, t) in elementwise().into_iter().chain(wholes()) {
        // Each side is the transpose of the other. The exception are reads of parts of an array that is used again:
        // see below.
        let reads = t.body.contains("index");
        let (there, back) = (surplus(&e, &t), surplus(&t, &e));
        assert!(reads || (there, back) == (0, 0), "{} | {}: {there} {back}", e.body, t.body);
    }
}

#[test]
fn zero_and_drop_are_transposes() {
    // The cotangent of a symbolic zero is dropped, which costs 3 for its scalars.
    let (fwd, _) = run("v0~: []f64", "", "drop v0~ return", &[V], 0.3);
    let (bwd, _) = run("", "[]f64", "v0~: []f64 = zero []f64 return ; v0~", &[], 0.3);
    assert_eq!((fwd.counts.linear, bwd.counts.linear), (3, 0));
}

/// A read of a part costs the size of that part, an update twice that. The rest of the array costs nothing.
#[test]
fn parts_cost_their_size() {
    let cost = |params, tys, body, shapes| run(params, tys, body, shapes, 0.3).0.counts.linear;
    assert_eq!(cost("v0~: []f64", "f64", "v1~: f64 = index v0~ [v904] shape v906 return ; v1~", &[V]), 1);
    assert_eq!(cost("v0~: [][]f64", "[]f64", "v1~: []f64 = index v0~ [v904] shape v907 return ; v1~", &[M]), 3);
    assert_eq!(cost("v0~: []f64", "[]f64", "v1~: []f64 = slice v0~ v904 v905 shape v906 return ; v1~", &[V]), 2);
    assert_eq!(cost("v0~: []f64", "[]f64", "v1~: []f64 = gather v0~ v908 shape v906 return ; v1~", &[V]), 3);
    assert_eq!(
        cost("v0~: []f64, v1~: f64", "[]f64", "v2~: []f64 = index_add v0~ [v904] v1~ shape v906 return ; v2~", &[V, S]),
        2
    );
    assert_eq!(
        cost(
            "v0~: []f64, v1~: []f64",
            "[]f64",
            "v2~: []f64 = gather_add v0~ v908 v1~ shape v906 return ; v2~",
            &[V, V]
        ),
        6
    );
    // An update of a symbolic zero, too.
    assert_eq!(
        cost(
            "v1~: f64",
            "[]f64",
            "v0~: []f64 = zero []f64 v2~: []f64 = index_add v0~ [v904] v1~ shape v906 return ; v2~",
            &[S]
        ),
        2
    );
}

/// A loop's sum costs the additions between iterations; captured variables are copied for free. The two are transposes.
#[test]
fn loops_pay_for_their_sums() {
    let sum = side(
        "v0~: []f64",
        "f64",
        "v1: i64 ; v2~: f64 = loop for v905 over ( ; v0~) out ( ; sum) (v3: i64 ; v4~: f64) {
        v5~: f64 = mul v900 v4~ return ; v5~ } return ; v2~",
        &[V],
    );
    let copy = side(
        "v0~: f64",
        "[]f64",
        "v1: i64 ; v2~: []f64 = loop for v905 out ( ; collect) (v3: i64) {
        v5~: f64 = mul v900 v0~ return ; v5~ } return ; v2~",
        &[S],
    );
    assert_eq!((surplus(&sum, &copy), surplus(&copy, &sum)), (0, 0));
}
