//! Loop bodies that create arrays: deferred, in scratch memory, or as rows of results. Compared with the reference
//! evaluator.

use crate::common;

use adl_gpu::{Check, Data, Error, Gpu, Operand};
use adl_ir::generate::rng::Rng;
use adl_ir::{FnId, Lit, Program, Val};
use common::program;

/// An argument for both.
#[derive(Clone)]
enum Arg {
    Int(i64),
    Float(f64),
    Floats(Vec<usize>, Vec<f64>),
    Ints(Vec<i64>),
}

impl Arg {
    fn val(&self) -> Val {
        match self {
            Arg::Int(n) => Val::I64(*n),
            Arg::Float(x) => Val::F64(*x),
            Arg::Floats(shape, x) => Val::array(shape.clone(), x.iter().map(|x| Val::F64(*x)).collect()),
            Arg::Ints(x) => Val::ints(x),
        }
    }

    fn operand(&self, gpu: &Gpu) -> Operand {
        match self {
            Arg::Int(n) => Operand::Number(Lit::I64(*n)),
            Arg::Float(x) => Operand::Number(Lit::F64(*x)),
            Arg::Floats(shape, x) => Operand::Array(gpu.array(&Data::F64(x.clone()), shape.clone()).unwrap()),
            Arg::Ints(x) => Operand::Array(gpu.array(&Data::I64(x.clone()), vec![x.len()]).unwrap()),
        }
    }
}

/// The elements of a result as Floats.
fn numbers(d: &Data) -> Vec<f64> {
    match d {
        Data::F64(x) => x.clone(),
        Data::F32(x) => x.iter().map(|x| f64::from(*x)).collect(),
        Data::I64(x) => x.iter().map(|x| *x as f64).collect(),
        Data::Bool(x) => x.iter().map(|x| f64::from(u8::from(*x))).collect(),
        Data::Word(x) => x.iter().map(|x| f64::from(*x)).collect(),
    }
}

fn leaves(v: &Val) -> Vec<f64> {
    let one = |v: &&Val| match v {
        Val::I64(n) => *n as f64,
        Val::Bool(b) => f64::from(u8::from(*b)),
        other => other.float().unwrap_or(f64::NAN),
    };
    v.leaves().iter().map(one).collect()
}

/// Runs a program's first statement twice on the device, and the program in the evaluator; results must agree to some
/// ulps.
fn agree(p: &Program, args: &[Arg]) {
    let gpu = common::gpu();
    let operands: Vec<Operand> = args.iter().map(|a| a.operand(&gpu)).collect();
    let want = adl_ir::eval::run(p, FnId(0), &args.iter().map(Arg::val).collect::<Vec<_>>(), &[]).unwrap().results;
    for _ in 0..2 {
        let got = common::run(&gpu, p, &operands).unwrap();
        assert_eq!(got.len(), want.len());
        for (g, w) in got.iter().zip(&want) {
            let (g, w) = (numbers(g), leaves(w));
            assert_eq!(g.len(), w.len());
            let near =
                |a: &f64, b: &f64| (a - b).abs() <= 1e-14 * b.abs().max(1.0) || a == b || a.is_nan() && b.is_nan();
            assert!(g.iter().zip(&w).all(|(a, b)| near(a, b)), "{g:?}\n{w:?}");
        }
    }
}

fn floats(seed: u64, shape: &[usize]) -> Arg {
    let mut rng = Rng::new(seed);
    Arg::Floats(shape.to_vec(), (0..shape.iter().product()).map(|_| 2.0 * rng.unit() - 1.0).collect())
}

#[test]
fn nearest_centres_of_points() {
    // As in k-means: each iteration computes a vector of distances, its minimum and position, and a row of differences.
    let parsed = program(
        "fn f0 t (v0: i64, v1: i64, v2: [][]f64, v3: [][]f64) -> ([]f64, []i64, [][]f64) {
          v4: []f64, v5: []i64, v6: [][]f64, v7: i64 = loop for v0 over (v2) out (collect, collect, collect) (v8: i64, v9: []f64) {
            v10: []f64, v11: i64 = loop for v1 over (v3) out (collect) (v12: i64, v13: []f64) {
              v14: []f64 = sub v9 v13
              v15: f64 = dot v14 v14
              return v15
            }
            v16: f64 = prim minimum v10
            v17: i64 = prim argmin v10
            v18: []f64 = index v3 [v17]
            v19: []f64 = sub v9 v18
            return v16, v17, v19
          }
          return v4, v5, v6
        }",
    );
    for (n, k, d) in [(1, 1, 1), (33, 5, 3), (1000, 32, 2), (257, 1, 31)] {
        agree(&parsed, &[Arg::Int(n as i64), Arg::Int(k as i64), floats(n as u64, &[n, d]), floats(k as u64, &[k, d])]);
    }
}

#[test]
fn rows_are_functions_of_rows() {
    // A softmax with temperature: function results are stored, arithmetic is deferred.
    let parsed = program(
        "fn f0 t (v0: i64, v1: [][]f64, v2: f64) -> ([][]f64, []f64, [][]bool) {
          v3: [][]f64, v4: []f64, v5: [][]bool, v6: i64 = loop for v0 over (v1) out (collect, collect, collect) (v7: i64, v8: []f64) {
            v9: []f64 = div v8 v2
            v10: f64 = prim maximum v9
            v11: []f64 = sub v9 v10
            v12: []f64 = exp v11
            v13: f64 = sum v12
            v14: []f64 = div v12 v13
            v15: []f64 = reverse v14
            v16: []f64 = sub v15 v14
            v17: []f64 = mul v16 v16
            v18: f64 = sum_all v17
            v19: []bool = lt v14 v15
            v20: []f64 = select v19 v14 v15
            return v20, v18, v19
          }
          return v3, v4, v5
        }",
    );
    for (n, d) in [(1, 1), (31, 33), (1000, 10)] {
        agree(&parsed, &[Arg::Int(n as i64), floats(d as u64, &[n, d]), Arg::Float(0.7)]);
    }
}

#[test]
fn arrays_are_stacked_copied_and_chosen() {
    let parsed = program(
        "fn f0 t (v0: i64, v1: []f64, v2: i64) -> ([][]f64, [][]f64, []f64) {
          v3: [][]f64, v4: [][]f64, v5: []f64, v6: i64 = loop for v0 over (v1) out (collect, collect, collect) (v7: i64, v8: f64) {
            v9: f64 = sin v8
            v10: []f64 = array v8 v9 v8
            v11: f64 = 0.0
            v12: bool = lt v8 v11
            v13: []f64 = if v12 { v14: []f64 = neg v10 return v14 } else { v15: []f64 = exp v10 return v15 }
            v16: []f64 = replicate v2 v9
            v17: []f64, v18: i64 = loop for v2 reverse over (v16) out (collect) (v19: i64, v20: f64) { v21: f64 = to_f64 v19 v22: f64 = mul v20 v21 return v22 }
            v23: f64, v24: i64 = loop for v2 over (v17) out (sum) (v25: i64, v26: f64) { v27: f64 = abs v26 return v27 }
            v28: i64 = 1
            v29: f64 = index v13 [v28]
            v30: f64 = add v23 v29
            return v13, v17, v30
          }
          return v3, v4, v5
        }",
    );
    for n in [1, 32, 1000] {
        agree(&parsed, &[Arg::Int(n as i64), floats(n as u64, &[n]), Arg::Int(4)]);
    }
}

#[test]
fn matrices_inside_of_turns() {
    // A matrix per iteration, read directly and transposed; a reduction by an operator inside; calls.
    let parsed = program(
        "fn f0 t (v0: i64, v1: i64, v2: [][]f64, v3: f64) -> ([]f64, []f64) {
          v4: []f64, v5: []f64, v6: i64 = loop for v0 over (v2) out (collect, collect) (v7: i64, v8: []f64) {
            v9: [][]f64, v10: i64 = loop for v1 out (collect) (v11: i64) {
              v12: []f64, v13: i64 = loop for v1 out (collect) (v14: i64) {
                v15: f64 = index v8 [v11]
                v16: f64 = index v8 [v14]
                v17: f64 = call f1(v15, v16)
                return v17
              }
              return v12
            }
            v18: [][]f64 = transpose v9
            v19: f64 = dot v9 v18
            v20: []f64 = index v9 [v1_]
            v21: f64 = reduce (v3) over (v20) (v22: f64, v23: f64) { v24: f64 = max v22 v23 return v24 }
            return v19, v21
          }
          return v4, v5
        }
        fn f1 g (v0: f64, v1: f64) -> (f64) { v2: f64 = mul v0 v0 v3: f64 = add v2 v1 return v3 }"
            .replace("v20: []f64 = index v9 [v1_]", "v25: i64 = 0 v20: []f64 = index v9 [v25]")
            .as_str(),
    );
    for (n, d) in [(1, 1), (100, 3), (33, 8)] {
        agree(&parsed, &[Arg::Int(n as i64), Arg::Int(d as i64), floats(7, &[n, d]), Arg::Float(f64::NEG_INFINITY)]);
    }
}

#[test]
fn sums_of_turns_that_make_arrays() {
    let parsed = program(
        "fn f0 t (v0: i64, v1: [][]f64, v2: []f64) -> (f64) {
          v3: f64, v4: i64 = loop for v0 over (v1) out (sum) (v5: i64, v6: []f64) {
            v7: []f64 = mul v6 v2
            v8: []f64 = tanh v7
            v9: f64 = dot v8 v2
            return v9
          }
          return v3
        }",
    );
    for n in [1, 100, 5000] {
        agree(&parsed, &[Arg::Int(n as i64), floats(n as u64, &[n, 6]), floats(2, &[6])]);
    }
}

#[test]
fn extents_that_differ_fail_a_check() {
    let p = program(
        "fn f0 t (v0: i64, v1: [][]f64, v2: []f64) -> ([]f64) {
          v3: []f64, v4: i64 = loop for v0 over (v1) out (collect) (v5: i64, v6: []f64) { v7: []f64 = mul v6 v2 v8: f64 = sum v7 return v8 }
          return v3
        }",
    );
    let gpu = common::gpu();
    let run =
        |k: usize| common::run(&gpu, &p, &[Arg::Int(3), floats(1, &[3, 4]), floats(2, &[k])].map(|a| a.operand(&gpu)));
    assert!(run(4).is_ok());
    assert!(matches!(run(5), Err(Error::Fault(f)) if f.what == Check::Bounds));
    assert!(matches!(run(0), Err(Error::Fault(f)) if f.what == Check::Bounds));
}

#[test]
fn rows_of_lengths_that_data_say_are_left_to_the_cpu() {
    let parsed = program(
        "fn f0 t (v0: i64, v1: []i64) -> ([]f64) {
          v2: []f64, v3: i64 = loop for v0 over (v1) out (collect) (v4: i64, v5: i64) {
            v6: []f64, v7: i64 = loop for v5 out (collect) (v8: i64) { v9: f64 = to_f64 v8 v10: f64 = sqrt v9 return v10 }
            v11: f64 = sum v6
            return v11
          }
          return v2
        }",
    );
    let gpu = common::gpu();
    let got = common::run(&gpu, &parsed, &[Arg::Int(3), Arg::Ints(vec![1, 2, 3])].map(|a| a.operand(&gpu)));
    assert!(matches!(got, Err(Error::Unsupported(_))));
    // No array is created if only its sum is needed.
    let p = program(
        "fn f0 t (v0: i64, v1: []i64) -> ([]f64) {
          v2: []f64, v3: i64 = loop for v0 over (v1) out (collect) (v4: i64, v5: i64) {
            v6: f64, v7: i64 = loop for v5 out (sum) (v8: i64) { v9: f64 = to_f64 v8 v10: f64 = sqrt v9 return v10 }
            return v6
          }
          return v2
        }",
    );
    agree(&p, &[Arg::Int(4), Arg::Ints(vec![1, 200, 0, 33])]);
}

#[test]
fn sums_of_rows_and_sums_beside_what_is_collected() {
    // As in gradients: a row and a scalar summed over all iterations, and an output per iteration.
    let parsed = program(
        "fn f0 t (v0: i64, v1: [][]f64, v2: []f64) -> ([]f64, f64, []f64) {
          v3: []f64, v4: f64, v5: []f64, v6: i64 = loop for v0 over (v1) out (sum, sum, collect) (v7: i64, v8: []f64) {
            v9: f64 = dot v8 v2
            v10: []f64 = scale_tangent v9 v8
            v11: f64 = mul v9 v9
            return v10, v11, v9
          }
          return v3, v4, v5
        }",
    );
    for (n, d) in [(1, 1), (33, 7), (3000, 5), (5, 300)] {
        agree(&parsed, &[Arg::Int(n as i64), floats(n as u64, &[n, d]), floats(2, &[d])]);
    }
}

#[test]
fn names_of_long_bodies_hide_no_type() {
    // Names are numbered: among many there would be `i64` or `f32`.
    for before in 0..6 {
        let mut body = String::new();
        let mut last = "v4".to_owned();
        for k in 0..before {
            body += &format!("v{}: f64 = neg {last} ", 10 + k);
            last = format!("v{}", 10 + k);
        }
        for k in 0..45 {
            let (at, x, sum) = (100 + 3 * k, 101 + 3 * k, 102 + 3 * k);
            body += &format!("v{at}: i64 = sub v2 v3 v{x}: f64 = index v1 [v{at}] v{sum}: f64 = add {last} v{x} ");
            last = format!("v{sum}");
        }
        let p = program(&format!(
            "fn f0 t (v0: i64, v1: []f64, v2: i64) -> ([]f64) {{ v5: []f64, v6: i64 = loop for v0 over (v1) out (collect) (v3: i64, v4: f64) {{ {body} return {last} }} return v5 }}"
        ));
        agree(&p, &[Arg::Int(7), floats(5, &[7]), Arg::Int(6)]);
    }
}
