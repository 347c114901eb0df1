//! Vectorised loops give the interpreter's bits: random straight-line code, accumulations to arrays, carried numbers,
//! inner loops, and various trip counts.

use crate::common;

use adl_interp::value::{Array, Buf, Shape, Value, array};
use adl_ir::generate::rng::Rng;
use adl_ir::{FnId, Program};
use common::with_all_vectors as both;
use std::fmt::Write;
use std::rc::Rc;

pub fn program(text: &str) -> (Program, FnId) {
    let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let f = FnId(p.funcs.len() as u32 - 1);
    (p, f)
}

fn numbers(n: usize, salt: u64) -> Vec<f64> {
    (0..n as u64).map(|i| ((i.wrapping_mul(salt * 2_654_435_761) >> 5) % 1999) as f64 * 0.001 - 0.999).collect()
}

pub fn vector(n: usize, salt: u64) -> Value {
    array::floats(numbers(n, salt))
}

pub fn matrix(n: usize, m: usize, salt: u64) -> Value {
    array::make([n, m].into_iter().collect::<Shape>(), Buf::F64(numbers(n * m, salt)))
}

/// Trip counts: small ones, strip sizes and their neighbours, and enough for all threads.
pub const ITERATIONS: [usize; 12] = [0, 1, 5, 15, 16, 17, 31, 200, 1024, 1025, 2500, 70_001];

/// A body on the index v10 and the element v11: statements that define Floats and Bools from v20 on, and the variables
/// of the Floats.
fn body(rng: &mut Rng, length: usize) -> (String, Vec<String>) {
    let (mut text, mut floats, mut bools) = (String::new(), vec!["v11".to_owned(), "v3".to_owned()], Vec::new());
    let mut next = 20;
    for read in ["index v1 [v10]", "index v2 [v10, v4]", "index v2 [v4, v10]", "index v1 [v4]"] {
        let _ = writeln!(text, "v{next}: f64 = {read}");
        floats.push(format!("v{next}"));
        next += 1;
    }
    let _ = writeln!(text, "v{next}: f64 = to_f64 v10");
    floats.push(format!("v{next}"));
    next += 1;
    for _ in 0..length {
        let x = |r: &mut Rng| floats[r.below(floats.len())].clone();
        let (left, right) = (x(rng), x(rng));
        let op = ["add", "sub", "mul", "div", "scale_tangent", "min", "max", "le_indicator", "pow"][rng.below(9)];
        let un = [
            "neg", "sqrt", "abs", "sign", "relu", "step", "floor", "powi 3", "exp", "log", "sin", "erf", "tanh",
            "powi 40",
        ][rng.below(14)];
        let name = format!("v{next}");
        next += 1;
        match rng.below(8) {
            0 | 1 => {
                let _ = writeln!(text, "{name}: f64 = {op} {left} {right}");
                floats.push(name);
            }
            2 => {
                let _ = writeln!(text, "{name}: f64 = {un} {left}");
                floats.push(name);
            }
            3 => {
                let _ = writeln!(text, "{name}: bool = {} {left} {right}", ["lt", "ge", "ne"][rng.below(3)]);
                bools.push(name);
            }
            4 if !bools.is_empty() => {
                let _ = writeln!(text, "{name}: f64 = select {} {left} {right}", bools[rng.below(bools.len())]);
                floats.push(name);
            }
            5 if !bools.is_empty() => {
                let _ = writeln!(text, "{name}: bool = not {}", bools[rng.below(bools.len())]);
                bools.push(name);
            }
            6 if !bools.is_empty() => {
                let (c, w) = (&bools[rng.below(bools.len())], format!("v{next}"));
                next += 1;
                let _ = writeln!(
                    text,
                    "{w}: f64 = if {c} {{ return {left} }} else {{ {name}: f64 = {un} {right} return {name} }}"
                );
                floats.push(w);
            }
            _ if !bools.is_empty() => {
                let (c, w) = (&bools[rng.below(bools.len())], format!("v{next}"));
                next += 1;
                let _ = writeln!(
                    text,
                    "{w}: f64 = if {c} {{ {name}: f64 = {op} {left} {right} return {name} }} else {{ return {right} }}"
                );
                floats.push(w);
            }
            _ => {}
        }
    }
    (text, floats)
}

pub fn check(text: &str, args: &[Value]) {
    let (p, f) = program(text);
    both(&p, f, args).unwrap_or_else(|e| panic!("{}\n{text}", e.diag.message));
}

#[test]
fn straight_loops_are_the_interpreters() {
    for seed in 0..60 {
        let mut r = Rng::new(seed);
        let length = r.below(20);
        let (b, floats) = body(&mut r, length);
        let last = |k: usize| floats[floats.len() - 1 - k].clone();
        let text = format!(
            "fn f0 f (v0: i64, v1: []f64, v2: [][]f64, v3: f64, v4: i64) -> (f64, []f64, []f64, f64) {{
              v5: f64, v6: []f64, v7: []f64, v8: f64, v9: i64 = loop for v0 over (v1) out (sum, collect, collect, sum) (v10: i64, v11: f64) {{
              {b} return {}, {}, {}, {} }} return v5, v6, v7, v8 }}",
            last(0), last(1), last(0), last(2)
        );
        for n in ITERATIONS {
            let n = if n > 3000 && seed % 8 > 0 { 40 } else { n };
            let side = n.clamp(3, 2600);
            let m = if n > 3000 { matrix(n, 3, 7) } else { matrix(side, side, 7) };
            // The columns of a long matrix have too few elements, so that the loop runs sequentially up to the error.
            let (p, f) = program(&text);
            let _ = both(&p, f, &[Value::Int(n as i64), vector(n, 3), m, Value::Float(0.25), Value::Int(2)]);
        }
    }
}

#[test]
fn what_is_added_in_the_order_of_turns_stays_in_it() {
    for (reverse, op) in [("", "add"), ("reverse ", "sub"), ("", "mul"), ("reverse ", "max")] {
        let text = format!(
            "fn f0 f (v0: i64, v1: []f64, v2: [][]f64, v3: f64, v4: i64, v5: []i64) -> (f64, [][]f64, []f64, []f64, f64) {{
              v17: i64 = 0
              v18: i64 = 1
              v6: f64, v7: [][]f64, v8: []f64, v40: f64, v9: []f64, v41: i64 = loop for v0 {reverse}carry (v3, v2, v1, v3) over (v1) out (collect) (v10: i64, v12: f64, v13: [][]f64, v14: []f64, v42: f64, v11: f64) {{
                v15: f64 = mul v11 v42
                v16: bool = ne v10 v4
                v51: f64 = sin v15
                v52: f64 = div v11 v51
                v19: f64 = add v52 v11
                v20: [][]f64 = if v16 {{
                  v21: [][]f64 = index_add v13 [v10, v17] v19
                  v22: f64 = exp v19
                  v23: [][]f64 = index_add v21 [v4, v17] v22
                  v24: [][]f64 = index_add v23 [v10, v18] v15
                  v28: [][]f64 = index_add v24 [v4, v18] v11
                  return v28
                }} else {{ return v13 }}
                v25: []f64 = index_add v14 [v10] v15
                v26: []f64 = index_add v25 [v4] v19
                v27: f64 = {op} v12 v19
                return v27, v20, v26, v42, v15
              }} return v6, v7, v8, v9, v40 }}"
        );
        for count in ITERATIONS {
            for at in [0, 3, count / 2, count.max(1) - 1] {
                let n = count.max(4);
                check(
                    &text,
                    &[
                        Value::Int(n as i64),
                        vector(n, 3),
                        matrix(n, 2, 5),
                        Value::Float(0.75),
                        Value::Int(at.min(n - 1) as i64),
                        array::ints(vec![n as i64, 2]),
                    ],
                );
            }
        }
    }
}

#[test]
fn loops_inside_are_the_interpreters() {
    let text = "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64) -> ([]f64, f64, []f64) {
        v4: []f64, v5: f64, v6: i64 = loop for v0 over (v1) out (collect, sum) (v10: i64, v11: f64) {
          v12: f64 = 0.0
          v13: f64, v14: i64 = loop for v3 reverse carry (v12) over (v2) (v15: i64, v16: f64, v17: f64) { v18: f64 = mul v16 v11 v19: f64 = add v17 v18 return v19 }
          v20: f64 = sub v13 v11
          return v13, v20
        }
        v7: []f64, v8: i64 = loop for v0 reverse carry (v2) over (v1, v4) (v30: i64, v31: []f64, v32: f64, v33: f64) {
          v34: f64, v35: []f64, v36: i64 = loop for v3 carry (v33) out (collect) (v37: i64, v38: f64) { v39: f64 = scale_tangent v32 v38 return v39, v38 }
          v40: []f64 = add v31 v35
          return v40
        }
        return v4, v5, v7 }";
    for n in ITERATIONS {
        for m in [0, 1, 5, 33] {
            check(text, &[Value::Int(n as i64), vector(n, 3), vector(m, 11), Value::Int(m as i64)]);
        }
    }
}

#[test]
fn functions_in_loops_inside_and_around_them_are_the_interpreters() {
    let text = "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64) -> ([]f64, f64, []f64) {
        v4: []f64, v5: f64, v6: i64 = loop for v0 over (v1) out (collect, sum) (v10: i64, v11: f64) {
          v12: f64 = log v11
          v13: f64, v14: i64 = loop for v3 carry (v12) over (v2) (v15: i64, v16: f64, v17: f64) {
            v18: f64 = tanh v16 v21: f64 = pow v17 v11 v22: f64 = exp v17 v19: f64 = add v18 v21 v23: f64 = mul v19 v22 return v23 }
          v20: f64 = cos v13
          v24: f64 = sub v20 v13
          v25: f64 = hypot v24 v12
          return v25, v20
        }
        v7: []f64, v8: i64 = loop for v0 reverse carry (v2) over (v1, v4) (v30: i64, v31: []f64, v32: f64, v33: f64) {
          v39: f64 = sigmoid v32
          v34: f64, v35: []f64, v36: i64 = loop for v3 carry (v33) out (collect) (v37: i64, v38: f64) { v41: f64 = scale_tangent v39 v38 v42: f64 = softplus v41 return v42, v38 }
          v40: []f64 = add v31 v35
          return v40
        }
        return v4, v5, v7 }";
    for n in ITERATIONS {
        for m in [0, 1, 5, 33] {
            check(text, &[Value::Int(n as i64), vector(n, 3), vector(m, 11), Value::Int(m as i64)]);
        }
    }
}

#[test]
fn absent_arrays_are_added_to() {
    let text = "fn f0 f (v0: i64, v1: []f64, v2: []i64, v3: i64) -> ([]f64, []f64) {
        v4: []f64 = zero []f64
        v5: []f64, v6: []f64, v7: i64 = loop for v0 reverse carry (v4, v4) over (v1) (v10: i64, v11: []f64, v12: []f64, v13: f64) {
          v14: []f64 = index_add v11 [v10] v13 shape v2
          v15: f64, v16: []f64, v17: i64 = loop for v3 carry (v13) out (collect) (v18: i64, v19: f64) { v20: f64 = mul v19 v13 return v20, v19 }
          v21: []f64 = add v12 v16
          return v14, v21
        }
        return v5, v6 }";
    for n in ITERATIONS {
        check(text, &[Value::Int(n as i64), vector(n, 3), array::ints(vec![n as i64]), Value::Int(6)]);
    }
}

#[test]
fn elements_out_of_bounds_are_errors() {
    let text = "fn f0 f (v0: i64, v1: []f64, v2: i64) -> (f64) {
        v5: f64, v6: i64 = loop for v0 out (sum) (v10: i64) { v11: i64 = add v10 v2 v12: f64 = index v1 [v11] return v12 } return v5 }";
    let (p, f) = program(text);
    for (n, by, fails) in [
        (100, 0, false),
        (100, 1, true),
        (99, 1, false),
        (100, -1, true),
        (100, 1 << 40, true),
        (100, -(1 << 40), true),
    ] {
        assert_eq!(both(&p, f, &[Value::Int(n), vector(100, 3), Value::Int(by)]).is_err(), fails, "{n} {by}");
    }
}

#[test]
fn sums_of_what_is_made_of_rows_are_the_interpreters() {
    let text = "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: f64) -> ([]f64, []f64) {
        v4: []f64, v5: i64 = loop for v0 out (collect) (v10: i64) {
          v11: []f64 = sub v1 v2
          v12: []f64 = scale_tangent v11 v3
          v13: f64 = dot v11 v12
          v14: f64 = sum v12
          v15: f64 = sub v13 v14
          return v15
        }
        v20: []f64 = mul v1 v2
        v21: f64 = dot v20 v1
        v22: []f64 = scale_tangent v20 v21
        return v4, v22 }";
    for n in [0, 1, 7, 8, 9, 31, 200, 1023, 1024, 1025, 2100, 65_536, 65_537] {
        check(text, &[Value::Int(3), vector(n, 3), vector(n, 5), Value::Float(0.3)]);
    }
}

/// Trip counts of inner sums: none, fewer than the partial sums, their multiples and neighbours, and more than a chunk.
const TERMS: [usize; 10] = [0, 1, 5, 7, 8, 9, 33, 65, 1024, 1030];

#[test]
fn sums_in_loops_inside_are_the_interpreters() {
    let text = "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v4: [][]f64) -> ([]f64, f64, []f64) {
        v5: []f64, v6: f64, v7: []f64, v8: i64 = loop for v0 out (collect, sum, collect) (v10: i64) {
          v11: f64, v12: i64 = loop for v3 over (v2) out (sum) (v13: i64, v14: f64) {
            v15: i64 = add v10 v13
            v16: f64 = index v1 [v15]
            v17: f64 = mul v14 v16
            return v17 }
          v18: f64 = exp v11
          v20: f64 = 0.5
          v21: f64, v22: f64, v23: f64, v24: i64 = loop for v3 carry (v20) out (sum, sum) (v25: i64, v26: f64) {
            v27: f64 = index v2 [v25]
            v28: f64 = to_f64 v10
            v29: f64 = mul v26 v27
            v30: f64 = sub v28 v29
            return v29, v30, v27 }
          v31: f64 = add v18 v22
          v32: f64 = sub v21 v23
          return v11, v31, v32
        }
        v40: []f64, v41: i64 = loop for v0 over (v4) out (collect) (v42: i64, v43: []f64) {
          v44: f64, v45: i64 = loop for v3 over (v43) out (sum) (v46: i64, v47: f64) {
            v48: f64 = sin v47
            v49: f64 = mul v48 v47
            return v49 }
          v50: f64 = sqrt v44
          return v50 }
        return v5, v6, v40 }";
    for n in ITERATIONS.into_iter().filter(|n| *n < 3000) {
        for m in TERMS {
            let (n, k) = (n.min(2_000_000 / (m + 1)), m as i64);
            let args = [Value::Int(n as i64), vector(n + m, 3), vector(m, 11), Value::Int(k), matrix(n, m, 7)];
            check(text, &args);
        }
    }
}

#[test]
fn sums_of_sums_in_loops_inside_are_the_interpreters() {
    // A convolution of matrices, and a ragged sum in each iteration.
    let text = "fn f0 f (v0: i64, v1: i64, v2: [][]f64, v3: [][]f64, v4: i64, v5: i64) -> ([][]f64, []f64, []f64) {
        v6: [][]f64, v7: []f64, v8: i64 = loop for v0 out (collect, collect) (v10: i64) {
          v11: []f64, v12: f64, v13: i64 = loop for v1 out (collect, sum) (v14: i64) {
            v15: f64, v16: i64 = loop for v4 over (v2) out (sum) (v17: i64, v18: []f64) {
              v19: f64, v20: i64 = loop for v5 over (v18) out (sum) (v21: i64, v22: f64) {
                v23: i64 = add v10 v17
                v24: i64 = add v14 v21
                v25: f64 = index v3 [v23, v24]
                v26: f64 = mul v22 v25
                return v26 }
              return v19 }
            v27: f64 = mul v15 v15
            return v15, v27 }
          return v11, v12 }
        v30: []f64, v31: i64 = loop for v1 out (collect) (v32: i64) {
          v33: f64, v34: i64 = loop for v4 out (sum) (v35: i64) {
            v36: f64, v37: i64 = loop for v35 out (sum) (v38: i64) {
              v39: f64 = index v3 [v38, v32]
              v40: f64 = log v39
              return v40 }
            return v36 }
          return v33 }
        return v6, v7, v30 }";
    for n in [0, 1, 3, 20] {
        for m in [0, 1, 15, 16, 17, 35, 1030] {
            for (p, q) in [(0, 3), (1, 1), (3, 0), (3, 2), (5, 5), (9, 12), (20, 70)] {
                let (p, q) = if m > 1000 { (p.min(3), q.min(3)) } else { (p, q) };
                let ints = [n, m, p, q].map(|k| Value::Int(k as i64));
                let [v0, v1, v4, v5] = ints;
                check(text, &[v0, v1, matrix(p, q, 5), matrix(n + p, m + q, 7), v4, v5]);
            }
        }
    }
}

#[test]
fn bounds_of_loops_inside_are_the_interpreters() {
    // A gradient of a convolution of matrices at one row v6: bounds depend on the row, and on the column v10.
    let text = "fn f0 f (v0: i64, v1: [][]f64, v2: [][]f64, v3: i64, v4: i64, v5: i64, v6: i64) -> ([]f64) {
        v7: i64 = 1
        v8: i64 = 0
        v9: []f64, v50: i64 = loop for v0 out (collect) (v10: i64) {
          v11: i64 = add v6 v7
          v12: i64 = min v11 v3
          v13: i64 = add v6 v3
          v14: i64 = sub v13 v5
          v15: i64 = max v14 v8
          v16: i64 = sub v12 v15
          v17: i64 = max v16 v8
          v18: f64, v19: i64 = loop for v17 out (sum) (v20: i64) {
            v21: i64 = add v15 v20
            v22: i64 = sub v6 v21
            v30: f64, v31: i64 = loop for v4 out (sum) (v32: i64) {
              v33: f64 = index v1 [v21, v32]
              v34: i64 = add v10 v32
              v35: f64 = index v2 [v22, v34]
              v36: f64 = scale_tangent v33 v35
              return v36 }
            return v30 }
          return v18 }
        return v9 }";
    for n in [0, 1, 16, 40, 1027] {
        for (m, q, rows) in [(3, 5, 9), (1, 1, 1), (5, 9, 4), (12, 2, 20)] {
            for row in 0..rows {
                let (kernel, x) = (matrix(m, q, 5), matrix(rows, n + q, 7));
                let [v0, v3, v4, v5, v6] = [n, m, q, rows, row].map(|k| Value::Int(k as i64));
                let _ = both(&program(text).0, FnId(0), &[v0, kernel, x, v3, v4, v5, v6]);
            }
        }
    }
}

/// Lengths of rows: fewer elements than partial sums, more, the most that are stored, and more.
const LENGTHS: [usize; 8] = [1, 2, 5, 8, 33, 100, 256, 257];

#[test]
fn rows_that_are_read_again_are_the_interpreters() {
    // Some elements of v13 are NaN. The bound of v60 is the length of a row.
    let text = "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: i64, v4: [][]f64) -> ([]f64, []f64, []f64, []f64, f64) {
        v5: []f64, v6: []f64, v7: []f64, v8: []f64, v9: i64 = loop for v0 over (v1, v4) out (collect, collect, collect, collect) (v10: i64, v11: f64, v12: []f64) {
          v13: []f64, v14: []f64, v15: i64 = loop for v3 over (v2, v12) out (collect, collect) (v16: i64, v17: f64, v18: f64) {
            v19: f64 = sub v17 v11
            v20: f64 = log v19
            v21: f64 = exp v18
            v22: f64 = mul v21 v11
            return v20, v22 }
          v23: i64 = prim argmax v13
          v24: f64 = index v13 [v23]
          v25: f64 = index v12 [v23]
          v26: f64 = index v2 [v23]
          v27: f64 = prim minimum v12
          v28: i64 = prim argmin v14
          v29: f64 = index v13 [v28]
          v30: f64 = prim maximum v14
          v31: bool = gt v25 v29
          v32: f64, v33: f64 = if v31 {
            v34: []f64, v35: i64 = loop for v3 over (v14) out (collect) (v36: i64, v37: f64) {
              v38: bool = eq v36 v28
              v39: f64 = if v38 { return v11 } else {
                v40: f64 = sub v37 v27
                v41: f64 = exp v40
                return v41 }
              return v39 }
            v42: f64 = sum v34
            v43: f64 = log1p v42
            return v43, v42 } else { return v24, v26 }
          v44: f64, v45: []f64, v46: f64, v47: i64 = loop for v3 reverse carry (v11) over (v14, v13) out (collect, sum) (v48: i64, v49: f64, v50: f64, v51: f64) {
            v52: f64 = mul v49 v50
            v53: f64 = max v51 v49
            v54: f64 = sub v52 v53
            return v52, v54, v50 }
          v59: i64 = dim 0 v14
          v60: f64, v61: i64 = loop for v59 carry (v46) over (v45) (v62: i64, v63: f64, v64: f64) {
            v65: f64 = index v14 [v62]
            v66: f64 = mul v65 v64
            v67: f64 = add v63 v66
            return v67 }
          v68: bool = lt v23 v28
          v69: f64 = to_f64 v23
          v70: f64 = select v68 v69 v30
          return v32, v33, v60, v70 }
        v80: f64 = sum v5
        return v5, v6, v7, v8, v80 }";
    for n in ITERATIONS.into_iter().filter(|n| *n < 3000) {
        for m in LENGTHS {
            let (n, k) = (n.min(200_000 / m), m as i64);
            check(text, &[Value::Int(n as i64), vector(n, 3), vector(m, 11), Value::Int(k), matrix(n, m, 7)]);
        }
        let (p, f) = program(text);
        let none = [Value::Int(n as i64), vector(n, 3), vector(0, 11), Value::Int(0), matrix(n, 0, 7)];
        assert_eq!(both(&p, f, &none).is_err(), n > 0);
    }
}

/// More numbers than there are registers, across calls of functions, and selections by masks.
#[test]
fn many_numbers_at_once_are_the_interpreters() {
    for (count, call) in [(12, false), (40, false), (70, false), (40, true), (70, true)] {
        let mut body = String::new();
        for k in 0..count {
            let _ = writeln!(body, "v{}: f64 = index v1 [v{}]", 100 + k, 20 + k % 40);
            let _ = writeln!(body, "v{}: f64 = mul v{} v11", 200 + k, 100 + k);
            let _ = writeln!(body, "v{}: bool = lt v{} v3", 300 + k, 200 + k);
            let _ = writeln!(body, "v{}: f64 = select v{} v{} v11", 400 + k, 300 + k, 200 + k);
        }
        let sine = if call { "v90: f64 = exp v11" } else { "v90: f64 = sqrt v11" };
        let mut sums = String::from("v500: f64 = add v90 v400\n");
        for k in 1..count {
            let _ = writeln!(sums, "v{}: f64 = sub v{} v{}", 500 + k, 400 + k, 499 + k);
        }
        let at: String = (0..40).map(|k| format!("v{}: i64 = {k}\n", 20 + k)).collect();
        let text = format!(
            "fn f0 f (v0: i64, v1: []f64, v2: []f64, v3: f64) -> ([]f64, f64) {{
              {at}
              v5: []f64, v6: f64, v9: i64 = loop for v0 over (v2) out (collect, sum) (v10: i64, v11: f64) {{
                v12: f64, v13: i64 = loop for v0 out (sum) (v14: i64) {{
                  {body} {sine} {sums}
                  return v{}
                }}
                return v12, v11
              }}
              return v5, v6
            }}",
            499 + count
        );
        for n in [16, 17, 31, 70] {
            check(&text, &[Value::Int(n), vector(100, 3), vector(n as usize, 5), Value::Float(0.25)]);
        }
    }
}

/// Elements that are Bools or Ints, read forwards, backwards, by steps and at one place.
#[test]
fn elements_that_are_no_floats_are_the_interpreters() {
    for reads in ["v10", "v13", "v14", "v15"] {
        for reverse in ["", "reverse "] {
            let text = format!(
                "fn f0 f (v0: i64, v1: []bool, v2: []i64, v3: []f64) -> ([]f64, []bool, f64) {{
                  v4: i64 = 199
                  v5: i64 = 3
                  v6: f64 = 0.5
                  v20: f64, v7: []f64, v8: []bool, v9: i64 = loop for v0 {reverse}carry (v6) over (v3) out (collect, collect) (v10: i64, v21: f64, v11: f64) {{
                    v13: i64 = sub v4 v10
                    v14: i64 = mul v5 v10
                    v15: i64 = sub v5 v5
                    v16: bool = index v1 [{reads}]
                    v17: i64 = index v2 [{reads}]
                    v18: f64 = to_f64 v17
                    v19: f64 = select v16 v18 v11
                    v22: f64 = add v21 v19
                    return v22, v19, v16
                  }}
                  return v7, v8, v20
                }}"
            );
            for n in [16, 17, 25, 65] {
                let bools = Value::Array(Rc::new(Array::new(
                    vec![200].into(),
                    Buf::Bool((0..200).map(|k| k % 3 != 1).collect()),
                )));
                let ints = array::ints((0..200).map(|k| k * k - 7 * k).collect());
                check(&text, &[Value::Int(n), bools, ints, vector(n as usize, 5)]);
            }
        }
    }
}
