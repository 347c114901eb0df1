//! Vectorised loops give the interpreter's bits: random straight-line code, accumulations to arrays, carried numbers,
//! inner loops, and various trip counts.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use adl_interp::value::{Buf, Shape, Value, array};
use adl_ir::generate::rng::Rng;
use adl_ir::{FnId, Program};
use common::both;
use std::fmt::Write;

fn program(text: &str) -> (Program, FnId) {
    let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let f = FnId(p.funcs.len() as u32 - 1);
    (p, f)
}

fn numbers(n: usize, salt: u64) -> Vec<f64> {
    (0..n as u64).map(|i| ((i.wrapping_mul(salt * 2_654_435_761) >> 5) % 1999) as f64 * 0.001 - 0.999).collect()
}

fn vector(n: usize, salt: u64) -> Value {
    array::floats(numbers(n, salt))
}

fn matrix(n: usize, m: usize, salt: u64) -> Value {
    array::make([n, m].into_iter().collect::<Shape>(), Buf::F64(numbers(n * m, salt)))
}

/// Trip counts: small ones, strip sizes and their neighbours, and enough for all threads.
const ITERATIONS: [usize; 12] = [0, 1, 5, 15, 16, 17, 31, 200, 1024, 1025, 2500, 70_001];

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

fn check(text: &str, args: &[Value]) {
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
        for n in ITERATIONS {
            for at in [0, 3, n / 2, n.max(1) - 1] {
                let n = n.max(4);
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
