//! Tests of elementwise fusion: functions, rows that are read and updated, and rows that loops collect.

use crate::common;

use adl_interp::value::{Value, array};
use adl_ir::{FnId, Program};
use common::both;

fn program(text: &str) -> (Program, FnId) {
    let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let f = FnId(p.funcs.len() as u32 - 1);
    (p, f)
}

fn numbers(n: usize, by: f64) -> Vec<f64> {
    (0..n).map(|k| (k as f64 * by).sin() * 3.0).collect()
}

fn matrix(n: usize, m: usize, by: f64) -> Value {
    array::make([n, m].into_iter().collect(), adl_interp::value::Buf::F64(numbers(n * m, by)))
}

#[test]
fn functions_are_phases_of_a_loop() {
    // Arguments of the second tanh are results of the first functions. Some results are also read in later phases, and
    // some are returned.
    let text = "fn f0 f (v0: []f64, v1: []f64, v2: f64) -> ([]f64, []f64, []f64, []f64, f64) {
        v3: []f64 = mul v0 v1
        v4: []f64 = sigmoid v3
        v5: []f64 = neg v3
        v6: []f64 = sigmoid v5
        v7: []f64 = mul v4 v6
        v8: []f64 = tanh v0
        v9: []f64 = add v8 v5
        v10: []f64 = tanh v9
        v11: []f64 = mul v10 v2
        v12: []f64 = exp v11
        v13: []f64 = sub v12 v1
        v14: []f64 = sin v13
        v15: []f64 = cos v13
        v16: []f64 = mul v14 v15
        v17: f64 = sum_all v16
        return v4, v7, v12, v9, v17
      }";
    let (p, f) = program(text);
    for n in [0, 1, 2, 7, 8, 9, 14, 255, 256, 257, 600] {
        both(&p, f, &[array::floats(numbers(n, 0.7)), array::floats(numbers(n, 1.3)), Value::Float(0.3)])
            .expect("values");
    }
    both(&p, f, &[array::floats(numbers(3, 0.7)), array::floats(numbers(4, 1.3)), Value::Float(0.3)])
        .expect_err("an error");
    both(
        &p,
        f,
        &[
            array::floats(vec![f64::NAN, 1e300, -1e300, f64::INFINITY]),
            array::floats(vec![0.0, -0.0, 5.0, 1.0]),
            Value::Float(-1e9),
        ],
    )
    .expect("values");
}

#[test]
fn rows_are_read_before_they_change() {
    let text = "fn f0 f (v0: [][]f64, v1: [][]f64, v2: []f64, v3: i64) -> ([][]f64, [][]f64, []f64) {
        v4: []f64 = zero []f64
        v5: [][]f64, v6: [][]f64, v7: []f64, v8: i64 = loop for v3 carry (v0, v1, v2) (v9: i64, v10: [][]f64, v11: [][]f64, v12: []f64) {
          v20: i64 = dim 0 v10
          v13: i64 = rem v9 v20
          v14: []f64 = index v10 [v13]
          v15: []f64 = add v14 v12
          v16: [][]f64 = index_set v10 [v13] v4
          v17: []f64 = FUNCTION v15
          v18: []f64 = index v11 [v13]
          v19: []f64 = mul v18 v17
          v21: [][]f64 = index_set v11 [v13] v19
          v22: []f64 = mul v14 v19
          v23: [][]f64 = index_add v16 [v9] v22
          return v23, v21, v17
        }
        return v5, v6, v7
      }";
    for function in ["neg", "tanh", "sigmoid"] {
        let (parsed, id) = program(&text.replace("FUNCTION", function));
        for n in [1, 6, 14, 300] {
            let args = |trip| [matrix(3, n, 0.9), matrix(3, n, 0.4), array::floats(numbers(n, 0.2)), Value::Int(trip)];
            both(&parsed, id, &args(0)).expect("values");
            both(&parsed, id, &args(3)).expect("values");
            // The row that is accumulated to is out of bounds.
            both(&parsed, id, &args(4)).expect_err("an error");
        }
        both(&parsed, id, &[matrix(3, 5, 0.9), matrix(3, 5, 0.4), array::floats(numbers(4, 0.2)), Value::Int(2)])
            .expect_err("an error");
        // The first matrix, or the vector, is a symbolic zero.
        both(&parsed, id, &[Value::Zero, matrix(3, 5, 0.4), array::floats(numbers(5, 0.2)), Value::Int(0)])
            .expect("values");
    }
}

/// A nested loop of which both levels collect rows. `LENGTH` is the length of a row, `ITERATIONS` the trip count.
const COLLECTED: &str = "fn f0 f (v0: []f64, v1: i64, v2: i64) -> ([][]f64, []([]([]f64)), []([]([]f64)), []([]f64), f64) {
    v3: i64 = 0
    v4: i64 = 1
    v50: i64 = 2
    v5: [][]f64, v6: []([]([]f64)), v7: []([]([]f64)), v8: []([]f64), v9: f64, v10: i64 = loop for v1 REVERSE out (collect, boxed, boxed, boxed, sum) (v11: i64) {
      v12: i64 = TURNS
      v13: []([]f64), v14: []([]f64), v15: f64, v16: i64 = loop for v12 out (boxed, boxed, sum) (v17: i64) {
        v18: i64 = LENGTH
        v19: []f64 = slice v0 v3 v18
        v20: []f64 = mul v19 v19
        v21: []f64 = FUNCTION v20
        v22: []f64 = sub v21 v19
        v23: f64 = sum_all v22
        return v20, v22, v23
      }
      v24: []f64 = neg v0
      v25: []f64 = FUNCTION v24
      v26: []f64 = add v25 v0
      v27: []f64 = mul v26 v15
      return v27, v13, v14, v26, v15
    }
    return v5, v6, v7, v8, v9
  }";

#[test]
fn rows_stand_where_loops_collect_them() {
    // Rows of equal length; as many rows of different lengths; different numbers of rows; one row, then more.
    let lengths = ["add v2 v3", "add v2 v17", "add v2 v11"];
    let trip = ["add v2 v3", "add v11 v3", "rem v11 v50", "add v11 v4"];
    for (length, trip) in lengths.into_iter().flat_map(|l| trip.map(|t| (l, t))) {
        for (function, reverse) in [("neg", ""), ("tanh", "reverse"), ("exp", "")] {
            let text = COLLECTED
                .replace("LENGTH", length)
                .replace("TURNS", trip)
                .replace("FUNCTION", function)
                .replace("REVERSE", reverse);
            let (p, f) = program(&text);
            for (outer, inner) in [(0, 2), (1, 3), (4, 0), (5, 3), (9, 1)] {
                both(&p, f, &[array::floats(numbers(20, 0.9)), Value::Int(outer), Value::Int(inner)])
                    .unwrap_or_else(|e| panic!("{length}, {trip}: {e:?}"));
            }
            // A slice is out of bounds.
            both(&p, f, &[array::floats(numbers(4, 0.9)), Value::Int(9), Value::Int(5)]).expect_err("an error");
        }
    }
}

#[test]
fn outer_products_are_added_in_place() {
    let text = "fn f0 f (v0: [][]f64, v1: []f64, v2: []f64, v3: i64) -> ([][]f64, [][]f64, [][]f64) {
        v4: [][]f64 = zero [][]f64
        v5: [][]f64, v6: [][]f64, v7: i64 = loop for v3 carry (v0, v4) (v8: i64, v9: [][]f64, v10: [][]f64) {
          v11: f64 = to_f64 v8
          v12: []f64 = mul v1 v11
          v13: [][]f64 = outer v12 v2
          v14: [][]f64 = add v9 v13
          v15: [][]f64 = outer v12 v12
          v16: [][]f64 = add v15 v10
          return v14, v16
        }
        v17: [][]f64 = outer v1 v2
        return v5, v6, v17
      }";
    let (parsed, id) = program(text);
    for (n, m) in [(1, 1), (3, 5), (20, 9)] {
        for trip in [0, 1, 4] {
            both(
                &parsed,
                id,
                &[matrix(n, m, 0.9), array::floats(numbers(n, 0.2)), array::floats(numbers(m, 0.5)), Value::Int(trip)],
            )
            .expect("values");
        }
    }
    both(
        &parsed,
        id,
        &[matrix(3, 4, 0.9), array::floats(numbers(3, 0.2)), array::floats(numbers(5, 0.5)), Value::Int(2)],
    )
    .expect_err("an error");
}

#[test]
fn logistic_functions_of_numbers_and_their_negatives_come_together() {
    let text = "fn f0 f (v0: []f64, v1: []f64) -> ([]f64, []f64, []f64, []f64) {
        v2: []f64 = add v0 v1
        v3: []f64 = sigmoid v2
        v4: []f64 = neg v2
        v5: []f64 = sigmoid v4
        v6: []f64 = mul v3 v5
        v7: []f64 = neg v6
        v8: []f64 = sigmoid v7
        v9: []f64 = sigmoid v6
        v10: []f64 = neg v9
        v11: []f64 = sigmoid v10
        v12: []f64 = add v11 v4
        return v6, v8, v12, v9
      }";
    let (p, f) = program(text);
    for n in [1, 7, 8, 14, 300] {
        both(&p, f, &[array::floats(numbers(n, 0.7)), array::floats(numbers(n, 1.3))]).expect("values");
    }
    let edges = vec![0.0, -0.0, 800.0, -800.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-320, -37.0, 37.0];
    both(&p, f, &[array::floats(edges.clone()), array::floats(vec![0.0; 10])]).expect("values");
    both(&p, f, &[array::floats(edges), array::floats(vec![-0.0; 10])]).expect("values");
}

#[test]
fn arrays_of_other_shapes_are_in_other_groups() {
    // Two chains that no statement connects, slices that no chain reads, and rows of one matrix.
    let text = "fn f0 f (v0: []f64, v1: []f64, v2: [][]f64, v3: i64) -> ([]f64, []f64, []f64, f64) {
        v4: i64 = 0
        v5: i64 = 1
        v6: []f64, v7: []f64, v8: []f64, v9: i64 = loop for v3 carry (v0, v1, v0) (v10: i64, v11: []f64, v12: []f64, v13: []f64) {
          v14: []f64 = mul v11 v11
          v15: []f64 = mul v12 v12
          v16: []f64 = slice v13 v4 v5
          v17: []f64 = sub v11 v14
          v18: []f64 = sub v12 v15
          v19: i64 = dim 0 v2
          v20: i64 = rem v10 v19
          v21: []f64 = index v2 [v20]
          v22: []f64 = index v2 [v4]
          v23: []f64 = add v21 v22
          v24: i64 = dim 0 v13
          v25: []f64 = slice v13 v5 v24
          v26: []f64 = mul v25 v25
          v27: f64 = sum v26
          v28: []f64 = mul v17 v27
          v29: []f64 = concat v25 v16
          return v28, v18, v29 }
        v30: [][]f64 = mul v2 v2
        v31: f64 = sum_all v30
        return v6, v7, v8, v31
      }";
    let (p, f) = program(text);
    for (n, m, k) in [(3, 3, 3), (1, 9, 4), (8, 2, 7), (300, 7, 5), (9, 300, 1)] {
        let args = [array::floats(numbers(n, 0.7)), array::floats(numbers(m, 1.3)), matrix(k, 6, 0.3), Value::Int(9)];
        both(&p, f, &args).expect("values");
    }
    let empty = [array::floats(vec![]), array::floats(numbers(3, 1.3)), matrix(2, 6, 0.3), Value::Int(2)];
    both(&p, f, &empty).expect_err("a slice out of bounds");
}
