//! Comprehensions: their adjoints are comprehensions, are correct, and cost at most a constant factor more than the
//! function.

use crate::common;

use adl_ad::Ad;
use adl_ad::segment::Segments;
use adl_ad::unzip::UnzipPlan;
use adl_ir::eval::{Val, run};
use adl_ir::print::{Style, function};
use adl_ir::{FnId, Program};
use common::check_at;
use std::rc::Rc;

fn program(text: &str) -> Program {
    adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn last(p: &Program) -> FnId {
    FnId(p.funcs.len() as u32 - 1)
}

/// The text of the transpose.
fn adjoint(text: &str) -> String {
    let mut p = program(text);
    let (f, mut ad) = (last(&p), Ad::new());
    let n = p.func(f).body.params.len();
    let j = ad.jvp(&mut p, f, &vec![true; n]).unwrap_or_else(|e| panic!("{}", e.why));
    let u = ad.unzip(&mut p, j.func, &UnzipPlan::store_all()).unwrap_or_else(|e| panic!("{}", e.why));
    let t = ad.transpose(&mut p, u.linear).unwrap_or_else(|e| panic!("{}", e.why));
    function(&p, p.func(t), Style::PLAIN)
}

const CONV: &str = "
fn f0 conv (v0: []f64, v1: []f64) -> ([]f64) {
  v2: i64 = dim 0 v0
  v3: i64 = dim 0 v1
  v4: i64 = 1
  v5: i64 = sub v2 v3
  v6: i64 = add v5 v4
  v7: []f64, v8: i64 = loop for v6 out (collect) (v9: i64) {
    v10: f64, v11: i64 = loop for v3 over (v1) out (sum) (v12: i64, v13: f64) {
      v14: i64 = add v9 v12
      v15: f64 = index v0 [v14]
      v16: f64 = mul v15 v13
      return v16
    }
    return v10
  }
  return v7
}";

#[test]
fn convolution() {
    let text = adjoint(CONV);
    assert!(!text.contains("index_add") && !text.contains("carry"), "{text}");
    let p = program(CONV);
    for (m, k) in [(5, 2), (4, 4), (6, 1), (7, 3)] {
        let x: Vec<f64> = (0..m).map(|i| (i as f64 * 0.7).sin()).collect();
        let c: Vec<f64> = (0..k).map(|i| (i as f64 * 1.3).cos()).collect();
        check_at(
            "convolution",
            p.clone(),
            last(&p),
            &[Val::floats(&x), Val::floats(&c)],
            &UnzipPlan::store_all(),
            Segments::None,
            false,
        );
    }
}

/// A band whose bound is a minimum, and one that begins at a maximum.
const BANDS: [&str; 2] = [
    "
fn f0 below (v0: []f64, v1: []f64) -> ([]f64) {
  v2: i64 = dim 0 v0
  v3: i64 = dim 0 v1
  v4: i64 = 1
  v5: []f64, v6: i64 = loop for v2 out (collect) (v7: i64) {
    v8: i64 = min v3 v7
    v9: f64, v10: i64 = loop for v8 out (sum) (v11: i64) {
      v12: i64 = sub v7 v4
      v13: i64 = sub v12 v11
      v14: f64 = index v0 [v13]
      v15: f64 = index v1 [v11]
      v16: f64 = mul v14 v15
      return v16
    }
    return v9
  }
  return v5
}",
    "
fn f0 within (v0: []f64) -> ([]f64) {
  v2: i64 = dim 0 v0
  v3: i64 = 3
  v4: i64 = 0
  v5: []f64, v6: i64 = loop for v2 out (collect) (v7: i64) {
    v8: i64 = sub v7 v3
    v9: i64 = max v8 v4
    v10: i64 = sub v7 v9
    v11: i64 = max v10 v4
    v12: f64, v13: i64 = loop for v11 out (sum) (v14: i64) {
      v15: i64 = add v9 v14
      v16: f64 = index v0 [v15]
      v17: f64 = sin v16
      return v17
    }
    return v12
  }
  return v5
}",
];

#[test]
fn bands() {
    for text in BANDS {
        let made = adjoint(text);
        assert!(!made.contains("index_add") && !made.contains("carry"), "{made}");
        let p = program(text);
        for (m, k) in [(7, 3), (2, 3), (3, 1), (1, 1)] {
            let x: Vec<f64> = (0..m).map(|i| (i as f64 * 0.7).sin()).collect();
            let c: Vec<f64> = (0..k).map(|i| (i as f64 * 1.3).cos()).collect();
            let mut args = vec![Val::floats(&x), Val::floats(&c)];
            args.truncate(p.func(last(&p)).body.params.len());
            check_at("bands", p.clone(), last(&p), &args, &UnzipPlan::store_all(), Segments::None, false);
        }
    }
}

const IMAGE: &str = "
fn f0 image (v0: [][]f64, v1: [][]f64) -> ([][]f64) {
  v2: i64 = dim 0 v0
  v3: i64 = dim 1 v0
  v4: i64 = dim 0 v1
  v5: i64 = dim 1 v1
  v6: i64 = sub v2 v4
  v7: i64 = 1
  v8: i64 = add v6 v7
  v9: i64 = sub v3 v5
  v10: i64 = add v9 v7
  v34: [][]f64, v35: i64 = loop for v8 out (collect) (v18: i64) {
    v32: []f64, v33: i64 = loop for v10 out (collect) (v19: i64) {
      v30: f64, v31: i64 = loop for v4 over (v1) out (sum) (v20: i64, v21: []f64) {
        v28: f64, v29: i64 = loop for v5 over (v21) out (sum) (v22: i64, v23: f64) {
          v24: i64 = add v18 v20
          v25: i64 = add v19 v22
          v26: f64 = index v0 [v24, v25]
          v27: f64 = mul v26 v23
          return v27
        }
        return v28
      }
      return v30
    }
    return v32
  }
  return v34
}";

#[test]
fn image() {
    let text = adjoint(IMAGE);
    assert!(!text.contains("index_add") && !text.contains("carry"), "{text}");
    let matrix =
        |n: usize, m: usize| Val::array(vec![n, m], (0..n * m).map(|k| Val::F64((k as f64 * 0.37).sin())).collect());
    for (x, k) in [((4, 5), (2, 3)), ((3, 3), (3, 3)), ((3, 4), (1, 1))] {
        check_at(
            "image",
            program(IMAGE),
            last(&program(IMAGE)),
            &[matrix(x.0, x.1), matrix(k.0, k.1)],
            &UnzipPlan::store_all(),
            Segments::None,
            false,
        );
    }
}

/// Strides, reversed reads, triangles, a constant, several reads, a guard, and reads of one row, each at several sizes.
#[test]
fn affine_reads() {
    let nest = |trip: &str, at: &str| {
        format!(
            "
fn f0 reads (v0: []f64) -> ([]f64) {{
  v1: i64 = dim 0 v0
  v2: i64 = 1
  v3: i64 = 2
  v4: i64 = sub v1 v2
  v5: i64 = sub v4 v2
  v6: []f64, v7: i64 = loop for v3 out (collect) (v8: i64) {{
    v9: i64 = add v8 v2
    v10: f64, v11: i64 = loop for {trip} out (sum) (v12: i64) {{
      {at}
      v20: f64 = index v0 [v19]
      v21: f64 = sin v20
      v22: bool = lt v12 v3
      v25: f64 = if v22 {{
        v23: f64 = mul v21 v21
        return v23
      }} else {{
        v24: f64 = index v0 [v12]
        return v24
      }}
      v26: f64 = mul v25 v20
      return v26
    }}
    return v10
  }}
  return v6
}}"
        )
    };
    let cases = [
        ("v5", "v19: i64 = add v8 v12"),
        ("v5", "v13: i64 = add v8 v12\n      v19: i64 = sub v4 v13"),
        ("v3", "v13: i64 = mul v3 v12\n      v19: i64 = add v13 v8"),
        ("v3", "v13: i64 = mul v8 v3\n      v14: i64 = mul v12 v3\n      v19: i64 = sub v4 v14"),
        ("v9", "v19: i64 = add v8 v12"),
        ("v9", "v19: i64 = add v12 v2"),
        ("v5", "v19: i64 = add v2 v3"),
    ];
    for (trip, at) in cases {
        for n in [5, 6, 9] {
            let text = nest(trip, at);
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
            check_at(
                at,
                program(&text),
                last(&program(&text)),
                &[Val::floats(&x)],
                &UnzipPlan::store_all(),
                Segments::None,
                false,
            );
            let made = adjoint(&text);
            assert!(!made.contains("index_add"), "{at}: {made}");
        }
    }
}

/// A double sum with a predicate on the two indices, over n and n numbers.
pub(crate) fn double(trip: &str, p: &str) -> String {
    format!(
        "
fn f0 double (v0: []f64) -> (f64) {{
  v1: i64 = dim 0 v0
  v2: i64 = 1
  v3: i64 = 2
  v20: f64, v21: i64 = loop for v1 over (v0) out (sum) (v4: i64, v5: f64) {{
    v18: f64, v19: i64 = loop for {trip} out (sum) (v6: i64) {{
      {p}
      v17: f64 = if v16 {{
        v13: f64 = index v0 [v6]
        v14: f64 = mul v5 v13
        return v14
      }} else {{
        v15: f64 = zero f64
        return v15
      }}
      return v17
    }}
    return v18
  }}
  return v20
}}"
    )
}

/// The work of both halves of the gradient at a size.
fn work(text: &str, n: usize) -> u64 {
    let mut p = program(text);
    let (f, mut ad) = (last(&p), Ad::new());
    let l = ad.linearize_with(&mut p, f, &[true], &UnzipPlan::store_all()).unwrap_or_else(|e| panic!("{}", e.why));
    let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
    let out = run(&p, l.primal, &[Val::floats(&x)], &[]).unwrap_or_else(|e| panic!("{e}"));
    let back = run(&p, l.cotangent, &[&out.results[l.results..], &[Val::F64(1.0)][..]].concat(), &[])
        .unwrap_or_else(|e| panic!("{e}"));
    out.counts.steps + back.counts.steps
}

/// An equality leaves no sum: four times the numbers take four times the work, not sixteen times. An inequality
/// leaves only the terms for which it holds. Unrecognised predicates stay.
#[test]
fn brackets() {
    let cases = [
        ("v1", "v16: bool = eq v4 v6", 4.0),
        ("v1", "v7: i64 = add v4 v2\n      v16: bool = eq v6 v7", 4.0),
        ("v1", "v7: i64 = mul v6 v3\n      v16: bool = eq v7 v4", 4.0),
        ("v1", "v7: i64 = mul v4 v3\n      v16: bool = eq v7 v6", 4.0),
        ("v1", "v7: i64 = add v4 v6\n      v16: bool = eq v7 v3", 1.0),
        ("v1", "v16: bool = eq v4 v3", 4.0),
        ("v1", "v16: bool = eq v6 v3", 4.0),
        (
            "v1",
            "v7: i64 = add v6 v3\n      v8: bool = le v6 v4\n      v16: bool = if v8 {\n        v9: bool = lt v4 v7\n        return v9\n      } else {\n        v10: bool = false\n        return v10\n      }",
            4.0,
        ),
        ("v1", "v16: bool = le v6 v4", 16.0),
        ("v1", "v16: bool = ne v6 v4", 16.0),
        ("v1", "v7: i64 = mul v6 v6\n      v16: bool = gt v7 v4", 16.0),
    ];
    for (trip, predicate, growth) in cases {
        let text = double(trip, predicate);
        for n in [1, 2, 5] {
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).cos()).collect();
            check_at(
                predicate,
                program(&text),
                last(&program(&text)),
                &[Val::floats(&x)],
                &UnzipPlan::store_all(),
                Segments::None,
                false,
            );
        }
        let ratio = work(&text, 160) as f64 / work(&text, 40) as f64;
        assert!((ratio / growth - 1.0).abs() < 0.3, "{predicate}: at four times the size {ratio} times the work");
    }
}

/// Sums of functions that are not differentiated are narrowed too, with the same bits: to a window of whole partial sums.
#[test]
fn brackets_of_values() {
    let window = "v7: i64 = add v6 v3\n      v8: bool = le v6 v4\n      v16: bool = if v8 {\n        v9: bool = lt v4 v7\n        return v9\n      } else {\n        v10: bool = false\n        return v10\n      }";
    for (predicate, growth) in [(window, 4.0), ("v16: bool = le v6 v4", 16.0), ("v16: bool = le v4 v6", 16.0)] {
        let p = program(&double("v1", predicate));
        let mut narrowed = p.clone();
        narrowed.funcs[last(&p).0 as usize] = Rc::new(Ad::undifferentiated(p.func(last(&p))).unwrap());
        let value = |p: &Program, n: usize| {
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).sin()).collect();
            run(p, last(p), &[Val::floats(&x)], &[]).unwrap_or_else(|e| panic!("{e}"))
        };
        for n in (0..40).chain([1024, 1030]) {
            assert_eq!(value(&p, n).results, value(&narrowed, n).results, "{predicate} at {n}");
        }
        let ratio = value(&narrowed, 640).counts.steps as f64 / value(&narrowed, 160).counts.steps as f64;
        assert!((ratio / growth - 1.0).abs() < 0.3, "{predicate}: at four times the size {ratio} times the work");
    }
}

/// A matrix of brackets of which elements are read: `e` of row `r` for each index.
fn bracketed(p: &str, at: &str) -> String {
    format!(
        "
fn f0 bracketed (v0: []f64) -> (f64) {{
  v1: i64 = dim 0 v0
  v2: i64 = 1
  v3: i64 = 0
  v10: [][]f64, v11: i64 = loop for v1 over (v0) out (collect) (v4: i64, v5: f64) {{
    v12: []f64, v13: i64 = loop for v1 out (collect) (v6: i64) {{
      v7: bool = {p}
      v8: f64 = if v7 {{ return v5 }} else {{
        v9: f64 = zero f64
        return v9
      }}
      return v8
    }}
    return v12
  }}
  v14: [][]f64 = transpose v10
  v20: f64, v21: i64 = loop for v1 over (v10) out (sum) (v15: i64, v16: []f64) {{
    v17: i64 = sub v1 v2
    v18: i64 = sub v17 v15
    {at}
    v23: f64 = mul v22 v22
    return v23
  }}
  return v20
}}"
    )
}

/// Neither such a matrix nor its cotangent is materialised: four times the numbers take four times the work. If a
/// reader may be out of bounds, the matrix is materialised.
#[test]
fn arrays_of_brackets() {
    let cases = [
        ("eq v4 v6", "v22: f64 = index v16 [v15]", 4.0),
        ("eq v4 v6", "v22: f64 = index v10 [v15, v3]", 4.0),
        ("eq v4 v6", "v22: f64 = index v14 [v3, v15]", 4.0),
        ("le v4 v6", "v22: f64 = index v10 [v18, v15]", 4.0),
        ("lt v6 v4", "v22: f64 = index v14 [v18, v15]", 4.0),
        ("eq v4 v6", "v19: i64 = rem v15 v1\n    v22: f64 = index v16 [v19]", 16.0),
    ];
    for (predicate, at, growth) in cases {
        let text = bracketed(predicate, at);
        for n in [1, 2, 5] {
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).cos()).collect();
            check_at(
                at,
                program(&text),
                last(&program(&text)),
                &[Val::floats(&x)],
                &UnzipPlan::store_all(),
                Segments::None,
                false,
            );
        }
        let ratio = work(&text, 160) as f64 / work(&text, 40) as f64;
        assert!((ratio / growth - 1.0).abs() < 0.3, "{predicate}, {at}: at four times the size {ratio} times the work");
    }
}

/// If loops read elements repeatedly, the array is stored, not the reads.
#[test]
fn a_convolution_keeps_its_signal() {
    let (mut p, mut ad) = (program(CONV), Ad::new());
    let f = last(&p);
    let l =
        ad.linearize_with(&mut p, f, &[true, true], &UnzipPlan::store_all()).unwrap_or_else(|e| panic!("{}", e.why));
    let (x, k) = (Val::floats(&[1.0; 100]), Val::floats(&[0.5; 40]));
    let out = run(&p, l.primal, &[x, k], &[]).unwrap_or_else(|e| panic!("{e}"));
    let kept = common::scalars(&out.results[l.results..]);
    assert!(kept <= 150, "{kept} numbers are kept");
}
