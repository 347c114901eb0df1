//! Rows of the iterations of vectorised loops give the interpreter's bits: rows as outputs, rows that branches choose,
//! numbers added to rows, and rows added to accumulated arrays.

use crate::common;
use crate::vector_loops::{ITERATIONS, check, matrix, vector};

use adl_interp::value::{Value, array};
use adl_ir::FnId;
use common::with_all_vectors as both;

/// Lengths of rows: one element, fewer than a vector step has lanes, more, the most that are stored, and more.
const LENGTHS: [usize; 8] = [1, 2, 5, 8, 33, 70, 256, 257];

/// Runs a function of a trip count, a vector, a vector and its length, its shape, and a matrix of rows of that length.
fn check_rows(text: &str) {
    for n in ITERATIONS.into_iter().filter(|n| *n < 3000) {
        for m in LENGTHS {
            let (n, k) = (n.min(200_000 / m), m as i64);
            let [v0, v3] = [n as i64, k].map(Value::Int);
            check(text, &[v0, vector(n, 3), vector(m, 11), v3, array::ints(vec![k]), matrix(n, m, 7)]);
        }
    }
}

#[test]
fn rows_as_outputs_are_the_interpreters() {
    for reverse in ["", "reverse "] {
        check_rows(&format!(
            "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v4: []i64, v5: [][]f64) -> ([][]f64, [][]f64, []f64, [][]f64) {{
              v6: [][]f64, v7: [][]f64, v8: []f64, v9: [][]f64, v30: i64 = loop for v0 {reverse}over (v1, v5) out (collect, collect, collect, collect) (v10: i64, v11: f64, v12: []f64) {{
                v13: []f64, v14: []f64, v15: i64 = loop for v3 over (v2, v12) out (collect, collect) (v16: i64, v17: f64, v18: f64) {{
                  v19: f64 = sub v17 v11
                  v20: f64 = mul v18 v19
                  return v19, v20 }}
                v21: f64 = prim maximum v14
                v22: []f64, v23: i64 = loop for v3 reverse over (v13) out (collect) (v24: i64, v25: f64) {{
                  v26: f64 = exp v25
                  return v26 }}
                return v13, v14, v21, v22 }}
              return v6, v7, v8, v9 }}"
        ));
    }
}

#[test]
fn positions_and_bools_as_outputs_are_the_interpreters() {
    check_rows(
        "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v4: []i64, v5: [][]f64) -> ([]i64, []bool, []i64, []f64, []bool) {
          v40: f64 = 0.0
          v41: i64 = 0
          v42: i64 = 3
          v6: []i64, v7: []bool, v8: []i64, v9: []f64, v31: []bool, v30: i64 = loop for v0 reverse over (v1, v5) out (collect, collect, collect, collect, collect) (v10: i64, v11: f64, v12: []f64) {
            v13: i64 = prim argmax v12
            v14: bool = gt v11 v40
            v15: i64 = if v14 { return v13 } else { return v41 }
            v16: f64 = to_f64 v15
            v17: i64 = mul v10 v42
            v18: bool = eq v15 v41
            return v15, v14, v17, v16, v18 }
          return v6, v7, v8, v9, v31 }",
    );
    let text = "fn f0 f (v0: i64, v1: []f64, v2: i64) -> ([]i64, []bool) {
        v3: []i64, v4: []bool, v5: i64 = loop for v0 over (v1) out (collect, collect) (v6: i64, v7: f64) {
          v8: i64 = sub v2 v6
          v9: f64 = exp v7
          v10: f64 = to_f64 v8
          v11: bool = lt v9 v10
          return v8, v11 }
        return v3, v4 }";
    for n in ITERATIONS {
        check(text, &[Value::Int(n as i64), vector(n, 3), Value::Int(7)]);
    }
}

#[test]
fn numbers_added_to_rows_are_the_interpreters() {
    // v24 is read after a number has been added to it, v34 is not; v44 is added to a symbolic zero.
    check_rows(
        "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v4: []i64, v5: [][]f64) -> ([][]f64, [][]f64, [][]f64, [][]f64) {
          v60: i64 = 0
          v61: f64 = 0.0
          v62: []f64 = zero []f64
          v6: [][]f64, v7: [][]f64, v8: [][]f64, v9: [][]f64, v10: i64 = loop for v0 reverse over (v1, v5) out (collect, collect, collect, collect) (v11: i64, v12: f64, v13: []f64) {
            v14: i64 = prim argmin v13
            v15: bool = lt v12 v61
            v24: []f64, v34: []f64, v16: i64 = loop for v3 over (v13) out (collect, collect) (v17: i64, v18: f64) {
              v19: f64 = sin v18
              v20: f64 = mul v19 v12
              return v19, v20 }
            v25: []f64 = index_add v24 [v14] v12 shape v4
            v26: []f64 = index_add v24 [v60] v12 shape v4
            v35: []f64 = index_add v34 [v14] v12 shape v4
            v44: []f64 = index_add v62 [v14] v12 shape v4
            v50: []f64 = if v15 { v51: []f64 = zero []f64 return v51 } else { return v35 }
            v52: []f64 = index_add v50 [v14] v12 shape v4
            v53: []f64 = if v15 { return v26 } else { return v13 }
            return v25, v52, v53, v44 }
          return v6, v7, v8, v9 }",
    );
}

#[test]
fn rows_of_branches_are_the_interpreters() {
    // Both arms are symbolic zeros, one is, and loops in both.
    check_rows(
        "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v4: []i64, v5: [][]f64) -> ([]f64, [][]f64, []f64) {
          v60: i64 = 0
          v61: f64 = 0.0
          v62: []f64 = zero []f64
          v63: bool = eq v3 v60
          v6: []f64, v7: [][]f64, v8: []f64, v10: i64 = loop for v0 over (v1, v5) out (collect, collect, collect) (v11: i64, v12: f64, v13: []f64) {
            v14: bool = lt v12 v61
            v15: []f64, v16: i64, v17: f64, v18: []f64 = if v63 {
              v19: []f64 = zero []f64
              return v19, v60, v61, v62
            } else {
              v20: i64 = prim argmax v13
              v21: []f64, v22: f64 = if v14 { v23: []f64 = zero []f64 return v23, v12 } else {
                v24: []f64, v25: f64, v26: i64 = loop for v3 reverse over (v2, v13) out (collect, sum) (v27: i64, v28: f64, v29: f64) {
                  v30: bool = eq v27 v20
                  v31: f64 = if v30 { return v61 } else { v32: f64 = mul v28 v29 return v32 }
                  v33: f64 = neg v31
                  return v31, v33 }
                return v24, v25 }
              v34: []f64 = index_add v21 [v20] v22 shape v4
              return v34, v20, v22, v21
            }
            v35: []f64 = if v14 {
              v36: []f64, v37: i64 = loop for v3 over (v15) out (collect) (v38: i64, v39: f64) { v40: f64 = exp v39 return v40 }
              return v36
            } else { return v13 }
            v41: f64, v42: f64, v43: i64 = loop for v3 over (v15, v18, v35) out (sum, sum) (v44: i64, v45: f64, v46: f64, v47: f64) {
              v48: f64 = mul v45 v47
              return v48, v46 }
            v49: f64 = index v35 [v16]
            v50: f64 = add v49 v41
            v51: f64 = sub v17 v42
            return v50, v35, v51 }
          return v6, v7, v8 }",
    );
}

#[test]
fn sums_of_stored_rows_are_the_interpreters() {
    // The order of a sum of a row that a loop collects downwards; v31 is not used.
    check_rows(
        "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v4: []i64, v5: [][]f64) -> ([]f64, []f64, [][]f64) {
          v60: i64 = 8
          v61: f64 = 0.0
          v62: bool = ge v3 v60
          v6: []f64, v7: []f64, v8: [][]f64, v10: i64 = loop for v0 over (v1, v5) out (collect, collect, collect) (v11: i64, v12: f64, v13: []f64) {
            v14: bool = lt v12 v61
            v15: i64 = prim argmin v13
            v16: []f64, v17: []f64, v18: i64 = loop for v3 reverse over (v13) out (collect, collect) (v19: i64, v20: f64) {
              v21: f64 = exp v20
              v22: f64 = mul v21 v12
              return v21, v22 }
            v30: f64, v31: i64 = if v62 {
              v32: f64 = sum v17
              v33: i64 = 0
              return v32, v33
            } else {
              v34: f64, v35: i64 = loop for v3 reverse over (v17) out (sum) (v36: i64, v37: f64) { return v37 }
              return v34, v35 }
            v40: []f64 = index_add v16 [v15] v30 shape v4
            v41: f64 = sum v40
            v42: []f64 = if v14 { v43: []f64 = zero []f64 return v43 } else { return v17 }
            v44: f64 = sum v42
            return v41, v44, v40 }
          return v6, v7, v8 }",
    );
}

#[test]
fn rows_added_to_arrays_are_the_interpreters() {
    for (reverse, start) in [("", "v2"), ("reverse ", "v2"), ("reverse ", "v62")] {
        check_rows(&format!(
            "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v4: []i64, v5: [][]f64) -> ([]f64, []f64, [][]f64) {{
              v62: []f64 = zero []f64
              v61: f64 = 0.0
              v6: []f64, v7: []f64, v8: [][]f64, v10: i64 = loop for v0 {reverse}carry ({start}, v2) over (v1, v5) out (collect) (v11: i64, v20: []f64, v21: []f64, v12: f64, v13: []f64) {{
                v14: bool = lt v12 v61
                v15: i64 = prim argmax v13
                v22: []f64, v23: []f64, v24: i64 = loop for v3 over (v13) out (collect, collect) (v25: i64, v26: f64) {{
                  v27: f64 = mul v26 v12
                  v28: f64 = add v26 v12
                  return v27, v28 }}
                v30: []f64 = if v14 {{ return v22 }} else {{ return v23 }}
                v31: []f64 = index_add v22 [v15] v12 shape v4
                v40: []f64 = add v20 v31
                v41: []f64 = add v21 v30
                return v40, v41, v23 }}
              return v6, v7, v8 }}"
        ));
    }
}

#[test]
fn listed_rows_are_the_interpreters() {
    for reverse in ["", "reverse "] {
        let text = format!(
            "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v5: [][]f64) -> ([][]f64, [][]f64, []f64, []f64, [][]f64, [][][]f64) {{
              v50: i64 = 0
              v52: i64 = 3
              v53: []i64 = array v52
              v54: []i64 = shape v5
              v61: f64 = 0.0
              v62: [][]f64 = zero [][]f64
              v6: [][]f64, v7: [][]f64, v8: []f64, v9: []f64, v30: [][]f64, v31: [][][]f64, v32: i64 = loop for v0 {reverse}carry (v62) over (v1, v5) out (collect, collect, collect, collect, collect) (v10: i64, v60: [][]f64, v11: f64, v12: []f64) {{
                v13: f64 = index v12 [v50]
                v14: f64 = mul v11 v13
                v15: []f64 = array v11 v13 v14
                v16: i64 = prim argmin v15
                v17: f64 = index v5 [v16, v50]
                v18: []f64 = index_add v15 [v16] v17 shape v53
                v19: f64 = sum v18
                v20: bool = lt v11 v61
                v21: []f64 = array v17 v13 v61
                v22: []f64 = if v20 {{ return v18 }} else {{ return v21 }}
                v55: []i64 = shape v12
                v56: f64 = index v12 [v50] shape v55
                v57: []i64 = shape v15
                v58: f64 = index v15 [v50] shape v57
                v59: f64 = mul v56 v58
                v23: [][]f64, v24: i64 = loop for v3 over (v2) out (collect) (v25: i64, v26: f64) {{
                  v27: f64 = exp v26
                  v28: []f64 = array v27 v11
                  return v28 }}
                v34: [][]f64 = index_add v60 [v16] v12 shape v54
                return v34, v18, v19, v59, v22, v23 }}
              return v6, v7, v8, v9, v30, v31 }}"
        );
        for n in ITERATIONS.into_iter().filter(|n| *n < 3000) {
            for m in [1, 2, 5, 33] {
                let [v0, v3] = [n as i64, m as i64].map(Value::Int);
                // A matrix of one row is too short for some positions, which both report.
                let (p, f) = crate::vector_loops::program(&text);
                let _ = both(&p, f, &[v0, vector(n, 3), vector(m, 11), v3, matrix(n, m, 7)]);
            }
        }
    }
}

#[test]
fn functions_of_listed_numbers_are_the_interpreters() {
    // The function's argument is read from a list that the iteration of the inner loop makes, and its result is summed.
    check_rows(
        "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v4: []i64, v5: [][]f64) -> ([][]f64, []f64) {
          v6: [][]f64, v7: []f64, v8: i64 = loop for v0 over (v1, v5) out (collect, collect) (v9: i64, v10: f64, v11: []f64) {
            v12: []f64, v13: i64 = loop for v3 over (v11) out (collect) (v14: i64, v15: f64) {
              v16: []f64 = array v15 v10
              v17: i64 = prim argmax v16
              v18: f64 = index v16 [v17]
              v19: f64 = exp v18
              return v19 }
            v20: f64 = sum v12
            return v12, v20 }
          return v6, v7 }",
    );
}

#[test]
fn rows_of_unequal_lengths_are_the_interpreters() {
    let text = "fn f0 f (v0: i64, v1: []f64, v2: i64, v3: i64) -> ([]([]f64)) {
        v61: f64 = 0.0
        v6: []([]f64), v10: i64 = loop for v0 over (v1) out (boxed) (v11: i64, v12: f64) {
          v14: bool = lt v12 v61
          v15: []f64, v16: i64 = loop for v2 out (collect) (v17: i64) { v18: f64 = to_f64 v17 v19: f64 = mul v18 v12 return v19 }
          v20: []f64, v21: i64 = loop for v3 out (collect) (v22: i64) { v23: f64 = to_f64 v22 v24: f64 = sub v23 v12 return v24 }
          v30: []f64 = if v14 { return v15 } else { return v20 }
          return v30 }
        return v6 }";
    for n in ITERATIONS.into_iter().filter(|n| *n < 3000) {
        for (a, b) in [(1, 1), (3, 3), (3, 4), (0, 2), (0, 0), (70, 70)] {
            check(text, &[Value::Int(n as i64), vector(n, 3), Value::Int(a), Value::Int(b)]);
        }
    }
}

#[test]
fn indices_out_of_rows_are_errors() {
    let text = "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v4: i64) -> ([][]f64) {
        v6: [][]f64, v10: i64 = loop for v0 over (v1) out (collect) (v11: i64, v12: f64) {
          v15: []f64, v16: i64 = loop for v3 over (v2) out (collect) (v17: i64, v18: f64) { v19: f64 = mul v18 v12 return v19 }
          v20: []f64 = index_add v15 [v4] v12
          return v20 }
        return v6 }";
    let (p, f) = (crate::vector_loops::program(text).0, FnId(0));
    for (at, fails) in [(0, false), (4, false), (5, true), (-1, true), (1 << 40, true)] {
        let args = [Value::Int(40), vector(40, 3), vector(5, 11), Value::Int(5), Value::Int(at)];
        assert_eq!(both(&p, f, &args).is_err(), fails, "{at}");
    }
}
