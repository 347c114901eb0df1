//! Comprehensions: their adjoints are comprehensions, right, and no dearer than the function by more than a constant.

mod common;

use adl_ad::Ad;
use adl_ad::segment::Segments;
use adl_ad::unzip::Plan;
use adl_ir::eval::{Val, run};
use adl_ir::print::{Style, function};
use adl_ir::{FnId, Program};
use common::check_at;

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
    let u = ad.unzip(&mut p, j.func, &Plan::store_all()).unwrap_or_else(|e| panic!("{}", e.why));
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
    println!("{text}");
    assert!(!text.contains("index_add") && !text.contains("carry"), "{text}");
    let p = program(CONV);
    for (m, k) in [(5, 2), (4, 4), (6, 1), (7, 3)] {
        let x: Vec<f64> = (0..m).map(|i| (i as f64 * 0.7).sin()).collect();
        let c: Vec<f64> = (0..k).map(|i| (i as f64 * 1.3).cos()).collect();
        check_at("convolution", p.clone(), last(&p), &[Val::floats(&x), Val::floats(&c)], &Plan::store_all(), Segments::None, None);
    }
    let _ = run;
}
