//! Loops whose iterations operate on whole rows give the interpreter's bits and errors: elementwise operators,
//! broadcasts, sums, inner products, rows at positions, rows added to matrices, and rows of rows as outputs.

use crate::common;
use crate::vector_loops::{check, matrix, program, vector};

use adl_interp::value::{Buf, Shape, Value, array};
use common::with_all_vectors as both;

/// Trip counts: none, too few, some vector steps and single iterations, and several strips.
const ITERATIONS: [usize; 4] = [0, 3, 31, 1100];

/// Lengths of rows: none, around the partial sums of a sum, the longest that are lowered, and more.
const LENGTHS: [usize; 11] = [0, 1, 2, 3, 7, 8, 9, 17, 64, 65, 300];

/// A matrix in which one element in seven is infinite, no number, or -0.
fn special(n: usize, m: usize, salt: u64) -> Value {
    let numbers = (0..n * m).map(|i| match (i as u64).wrapping_mul(salt * 2_654_435_761) >> 7 {
        x if x % 7 > 0 => (x % 1999) as f64 * 0.001 - 0.999,
        x => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0][(x / 7 % 4) as usize],
    });
    array::make([n, m].into_iter().collect::<Shape>(), Buf::F64(numbers.collect()))
}

/// Runs a function of the numbers of points and centres, points, centres, a vector, and its length.
fn check_rows(text: &str) {
    let (p, f) = program(text);
    for n in ITERATIONS {
        for m in LENGTHS {
            for (k, points) in [(4, matrix(n, m, 7)), (20, special(n, m, 5))] {
                if n * m * k > 200_000 {
                    continue;
                }
                let args = [n, k].map(|n| Value::Int(n as i64)).into_iter();
                let rest = [points, matrix(k, m, 11), vector(m, 3), Value::Int(m as i64)];
                let _ = both(&p, f, &args.chain(rest).collect::<Vec<Value>>());
            }
        }
    }
}

#[test]
fn distances_are_the_interpreters() {
    check_rows(
        "fn f0 f (v0: i64, v1: i64, v2: [][]f64, v3: [][]f64, v4: []f64, v5: i64) -> (f64, []i64, [][]f64, [][]f64) {
          v6: []f64, v7: []i64, v8: [][]f64, v9: [][]f64, v10: i64 = loop for v0 over (v2) out (collect, collect, collect, collect) (v11: i64, v12: []f64) {
            v13: []f64, v14: i64 = loop for v1 over (v3) out (collect) (v15: i64, v16: []f64) {
              v17: []f64 = sub v12 v16
              v18: f64 = dot v17 v17
              return v18 }
            v20: f64 = prim minimum v13
            v21: i64 = prim argmin v13
            v22: []f64 = index v3 [v21]
            v23: []f64 = sub v12 v22
            v24: []f64 = mul v23 v4
            v25: []f64 = neg v24
            return v20, v21, v25, v23 }
          v30: f64 = sum v6
          return v30, v7, v8, v9 }",
    );
}

#[test]
fn soft_maxima_are_the_interpreters() {
    check_rows(
        "fn f0 f (v0: i64, v1: i64, v2: [][]f64, v3: [][]f64, v4: []f64, v5: i64) -> ([][]f64, []f64, [][]f64, f64) {
          v6: [][]f64, v7: []f64, v8: [][]f64, v9: []f64, v10: i64 = loop for v0 reverse over (v2) out (collect, collect, collect, collect) (v11: i64, v12: []f64) {
            v13: f64 = prim maximum v12
            v14: i64 = prim argmax v12
            v15: []f64 = sub v12 v13
            v16: []f64 = exp v15
            v17: f64 = sum v16
            v18: []f64 = div v16 v17
            v19: f64 = dot v18 v4
            v20: []f64 = scale_tangent v17 v4
            v21: []f64 = replicate v5 v19
            v22: []f64 = add v20 v21
            v23: []f64 = scale_tangent v16 v22
            v24: []f64 = neg v23
            v25: []i64 = array v5
            v26: f64 = sum_all v24
            v27: []f64 = index_add v23 [v14] v26
            v28: f64 = sum v12
            return v27, v19, v22, v28 }
          v30: f64 = sum v9
          return v6, v7, v8, v30 }",
    );
}

#[test]
fn norms_and_powers_are_the_interpreters() {
    check_rows(
        "fn f0 f (v0: i64, v1: i64, v2: [][]f64, v3: [][]f64, v4: []f64, v5: i64) -> (f64, []f64, [][]f64) {
          v40: f64 = 0.0
          v41: i64 = 0
          v42: []f64 = index v3 [v41]
          v6: []f64, v7: []f64, v8: [][]f64, v10: i64 = loop for v0 over (v2) out (collect, collect, collect) (v11: i64, v12: []f64) {
            v13: f64 = dot v12 v12
            v14: f64 = sqrt v13
            v15: []f64 = div v12 v14
            v16: bool = lt v13 v40
            v17: f64, v18: []f64 = if v16 { v19: f64 = sum v12 return v19, v15 } else { v20: []f64 = powi 2 v15 v21: f64 = sum v20 return v21, v20 }
            v22: []f64 = pow v18 v42
            v23: []f64 = abs v12
            v24: []f64 = sin v23
            v25: f64 = dot v24 v4
            return v25, v17, v22 }
          v30: f64 = sum v6
          return v30, v7, v8 }",
    );
}

#[test]
fn rows_added_at_positions_are_the_interpreters() {
    for (reverse, start) in [("", "v40"), ("reverse ", "v40"), ("reverse ", "v3")] {
        check_rows(&format!(
            "fn f0 f (v0: i64, v1: i64, v2: [][]f64, v3: [][]f64, v4: []f64, v5: i64) -> ([][]f64, [][]f64, [][]f64, []i64) {{
              v40: [][]f64 = zero [][]f64
              v41: []i64 = shape v3
              v42: []i64 = shape v2
              v6: [][]f64, v7: [][]f64, v8: [][]f64, v9: []i64, v10: i64 = loop for v0 {reverse}carry ({start}, v40) over (v2) out (collect, collect) (v11: i64, v43: [][]f64, v44: [][]f64, v12: []f64) {{
                v13: []f64, v14: i64 = loop for v1 over (v3) out (collect) (v15: i64, v16: []f64) {{
                  v17: []f64 = sub v12 v16
                  v18: f64 = dot v17 v17
                  return v18 }}
                v21: i64 = prim argmin v13
                v22: []f64 = index v3 [v21]
                v23: []f64 = sub v12 v22
                v24: []f64 = add v23 v23
                v25: [][]f64 = index_add v43 [v21] v24 shape v41
                v26: [][]f64 = index_add v44 [v11] v23 shape v42
                return v25, v26, v24, v21 }}
              v50: [][]f64, v51: [][]f64, v52: i64 = loop for v0 {reverse}carry ({start}) over (v9, v8) out (collect) (v53: i64, v54: [][]f64, v55: i64, v56: []f64) {{
                v57: []f64 = mul v56 v4
                v58: [][]f64 = index_add v54 [v55] v57 shape v41
                return v58, v57 }}
              return v6, v7, v50, v9 }}"
        ));
    }
}

#[test]
fn rows_of_rows_are_the_interpreters() {
    for (outer, inner, start) in [("", "", "v40"), ("reverse ", "reverse ", "v40"), ("reverse ", "", "v3")] {
        check_rows(&format!(
            "fn f0 f (v0: i64, v1: i64, v2: [][]f64, v3: [][]f64, v4: []f64, v5: i64) -> ([][]f64, [][][]f64, []f64) {{
              v40: [][]f64 = zero [][]f64
              v6: [][]f64, v7: [][][]f64, v8: []f64, v10: i64 = loop for v0 {outer}carry ({start}) over (v2) out (collect, collect) (v11: i64, v43: [][]f64, v12: []f64) {{
                v13: [][]f64, v14: []f64, v20: [][]f64, v21: i64 = loop for v1 {inner}over (v3) out (collect, collect, collect) (v15: i64, v16: []f64) {{
                  v17: []f64 = sub v12 v16
                  v18: f64 = dot v17 v17
                  v19: f64 = neg v18
                  v22: f64 = exp v19
                  v23: []f64 = scale_tangent v17 v22
                  v24: []f64 = add v23 v23
                  return v24, v22, v17 }}
                v30: [][]f64 = add v43 v13
                v31: f64 = sum v14
                return v30, v20, v31 }}
              return v6, v7, v8 }}"
        ));
    }
}

#[test]
fn rows_that_inner_loops_carry_are_the_interpreters() {
    // v50 is carried in place, v51 is read after it has been made again, v52 starts as the point.
    for inner in ["", "reverse "] {
        check_rows(&format!(
            "fn f0 f (v0: i64, v1: i64, v2: [][]f64, v3: [][]f64, v4: []f64, v5: i64) -> ([][]f64, [][]f64, [][]f64, []f64, [][][]f64) {{
              v40: []f64 = zero []f64
              v41: f64 = 0.5
              v6: [][]f64, v7: [][]f64, v8: [][]f64, v9: []f64, v60: [][][]f64, v10: i64 = loop for v0 reverse over (v2) out (collect, collect, collect, collect, collect) (v11: i64, v12: []f64) {{
                v20: []f64, v21: []f64, v19: f64, v22: []f64, v61: [][]f64, v23: i64 = loop for v1 {inner}carry (v40, v40, v41, v12) over (v3) out (collect) (v15: i64, v50: []f64, v51: []f64, v53: f64, v52: []f64, v16: []f64) {{
                  v17: []f64 = sub v12 v16
                  v18: f64 = dot v17 v17
                  v24: []f64 = scale_tangent v17 v18
                  v25: []f64 = add v50 v24
                  v26: []f64 = add v25 v24
                  v27: []f64 = add v51 v17
                  v28: []f64 = add v51 v24
                  v29: f64 = sum v28
                  v30: []f64 = mul v52 v16
                  v31: []f64 = sub v30 v52
                  v32: f64 = add v53 v29
                  return v26, v27, v32, v31, v24 }}
                v33: f64 = sum v22
                v34: f64 = mul v33 v19
                return v20, v21, v22, v34, v61 }}
              return v6, v7, v8, v9, v60 }}"
        ));
    }
}

#[test]
fn unequal_rows_are_errors() {
    let text = "fn f0 f (v0: i64, v1: [][]f64, v2: []f64) -> ([]f64) {
        v6: []f64, v10: i64 = loop for v0 over (v1) out (collect) (v11: i64, v12: []f64) {
          v13: []f64 = sub v12 v2
          v14: f64 = dot v13 v13
          return v14 }
        return v6 }";
    let (p, f) = program(text);
    for (m, k) in [(5, 5), (5, 4), (5, 6), (1, 5), (0, 1), (8, 16)] {
        let args = [Value::Int(40), matrix(40, m, 3), vector(k, 11)];
        assert_eq!(both(&p, f, &args).is_err(), m != k, "{m} {k}");
    }
    check(text, &[Value::Int(70_001), matrix(70_001, 3, 3), vector(3, 11)]);
}

#[test]
fn negative_lengths_are_errors() {
    let text = "fn f0 f (v0: i64, v1: []f64, v2: i64) -> ([]f64) {
        v6: []f64, v10: i64 = loop for v0 over (v1) out (collect) (v11: i64, v12: f64) {
          v13: []f64 = replicate v2 v12
          v14: []f64 = exp v13
          v15: f64 = sum v14
          return v15 }
        return v6 }";
    let (p, f) = program(text);
    for m in [-1, 0, 1, 8, 20] {
        let args = [Value::Int(40), vector(40, 3), Value::Int(m)];
        assert_eq!(both(&p, f, &args).is_err(), m < 0, "{m}");
    }
}
