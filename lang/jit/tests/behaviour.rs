//! Tests of native code beyond results: errors, interrupts, recursion depth, in-place updates, memory.

use crate::common;

use adl_interp::error::codes;
use adl_interp::ir::lower::Linker;
use adl_interp::value::{Buf, Value, array};
use adl_ir::{FnId, Program};
use adl_prim::{Bin, Cmp, Un};
use common::{both, compile, interpreted, machine, native, same};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

fn program(text: &str) -> (Program, FnId) {
    let p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let f = FnId(p.funcs.len() as u32 - 1);
    (p, f)
}

fn code_of(text: &str, args: &[Value]) -> &'static str {
    let (p, f) = program(text);
    both(&p, f, args).expect_err("an error").diag.code
}

#[test]
fn errors_are_the_interpreters() {
    let xs = array::floats(vec![1.0, 2.0]);
    let at = "fn f0 f (v0: []f64, v1: i64) -> (f64) { v2: f64 = index v0 [v1] return v2 }";
    for i in [-1, 2, i64::MAX, i64::MIN] {
        assert_eq!(code_of(at, &[xs.clone(), Value::Int(i)]), codes::BOUNDS);
    }
    assert_eq!(code_of(at, &[array::floats(vec![]), Value::Int(0)]), codes::BOUNDS);
    for (op, a, b) in [
        ("add", i64::MAX, 1),
        ("sub", i64::MIN, 1),
        ("mul", 1 << 62, 2),
        ("mul", i64::MIN, -1),
        ("int_div", i64::MIN, -1),
    ] {
        let text = format!("fn f0 f (v0: i64, v1: i64) -> (i64) {{ v2: i64 = {op} v0 v1 return v2 }}");
        assert_eq!(code_of(&text, &[Value::Int(a), Value::Int(b)]), codes::OVERFLOW, "{op}");
    }
    for op in ["int_div", "rem"] {
        let text = format!("fn f0 f (v0: i64, v1: i64) -> (i64) {{ v2: i64 = {op} v0 v1 return v2 }}");
        assert_eq!(code_of(&text, &[Value::Int(7), Value::Int(0)]), codes::DIV_ZERO, "{op}");
    }
    for x in [f64::NAN, f64::INFINITY, 1e19, -1e300] {
        assert_eq!(
            code_of("fn f0 f (v0: f64) -> (i64) { v1: i64 = to_i64 v0 return v1 }", &[Value::Float(x)]),
            codes::OVERFLOW
        );
    }
    let sum = "fn f0 f (v0: []i64, v1: i64) -> (i64) {
        v2: i64, v3: i64 = loop for v1 over (v0) out (sum) (v4: i64, v5: i64) { return v5 } return v2 }";
    assert_eq!(code_of(sum, &[array::ints(vec![i64::MAX, 1]), Value::Int(2)]), codes::OVERFLOW);
    assert_eq!(code_of(sum, &[array::ints(vec![1, 1]), Value::Int(3)]), codes::BOUNDS);
}

#[test]
fn errors_name_the_functions_that_they_leave() {
    let text = "fn f0 inner (v0: []f64, v1: i64) -> (f64) { v2: f64 = index v0 [v1] v3: f64 = sin v2 return v3 }
        fn f1 outer (v0: []f64, v1: i64) -> (f64) { v2: f64 = call f0 (v0, v1) checkpoint v3: f64 = sin v2 return v3 }";
    let (p, f) = program(text);
    let e = both(&p, f, &[array::floats(vec![1.0]), Value::Int(3)]).expect_err("an error");
    let names: Vec<&str> = e.diag.stack.iter().map(|s| s.0.as_str()).collect();
    assert_eq!(names, ["inner", "outer"]);
}

/// A function with enough loops that they are outlined: each adds the sines of elements up to one that a callee reads.
fn with_loops(loops: usize) -> String {
    let mut text = String::from(
        "fn f0 inner (v0: []f64, v1: i64) -> (f64) { v2: f64 = index v0 [v1] v3: f64 = sin v2 return v3 }\nfn f1 outer (v0: []f64, v1: i64) -> (f64, []f64) { v2: f64 = 0.5 v3: str = \"no\" v4: []f64 = zero []f64 v6: []i64 = array v1\n",
    );
    let (mut sum, mut array) = (2, 4);
    for k in 0..loops {
        let v = |i: usize| format!("v{}", 10 + 20 * k + i);
        let [i, x, y, z, c, a, out, n, row, rows] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(v);
        let [b, d, total, e, g] = [10, 11, 12, 13, 14].map(v);
        text += &format!("{out}: []f64, {rows}: []f64, {n}: i64 = loop for v1 carry (v{array}) out (collect) ({i}: i64, {a}: []f64) {{
            {x}: f64 = call f0 (v0, {i}) checkpoint {c}: bool = le {x} v2 prim assert {c} v3 {y}: f64 = mul {x} v2 {z}: f64 = add {y} v{sum}
            {row}: []f64 = index_add {a} [{i}] {z} shape v6 {b}: f64 = mul {z} v2 {d}: f64 = sub {b} v2 {e}: f64 = cos {d} {g}: f64 = mul {e} v2 return {row}, {g} }}
            {total}: f64 = sum {rows}\n");
        (sum, array) = (10 + 20 * k + 12, 10 + 20 * k + 6);
    }
    text + &format!("return v{sum}, v{array} }}")
}

#[test]
fn loops_that_are_compiled_apart_belong_to_their_function() {
    let (p, f) = program(&with_loops(12));
    let x = |n: i64| array::floats((0..n).map(|i| 0.01 * i as f64).collect());
    for n in [0, 1, 3, 40] {
        both(&p, f, &[x(n), Value::Int(n)]).unwrap_or_else(|e| panic!("{n}: {}", e.diag.message));
    }
    let e = both(&p, f, &[x(5), Value::Int(6)]).expect_err("an index out of bounds");
    let names: Vec<&str> = e.diag.stack.iter().map(|s| s.0.as_str()).collect();
    assert_eq!(names, ["inner", "outer"]);
    let e = both(&p, f, &[x(90), Value::Int(90)]).expect_err("a check that fails");
    assert!(e.diag.message.contains("no"), "{}", e.diag.message);
}

#[test]
fn rows_that_loops_inside_make_stand_one_behind_the_other() {
    let text = "fn f0 f (v0: i64, v1: i64, v2: f64) -> ([][]i64, [][]f64, [][]bool, [][]f32, []f64) {
        v3: [][]i64, v4: [][]f64, v5: [][]bool, v6: [][]f32, v7: []f64, v8: i64 = loop for v0 out (collect, collect, collect, collect, collect) (v9: i64) {
          v10: []i64, v11: []f64, v12: []bool, v13: []f32, v14: f64, v15: i64 = loop for v1 out (collect, collect, collect, collect, sum) (v16: i64) {
            v17: i64 = mul v9 v16
            v18: f64 = to_f64 v17
            v19: f64 = mul v18 v2
            v20: bool = gt v19 v18
            v21: f32 = to_f32 v19
            return v17, v19, v20, v21, v19
          }
          return v10, v11, v12, v13, v14
        }
        return v3, v4, v5, v6, v7 }";
    let (p, f) = program(text);
    for (n, m) in [(0, 0), (0, 3), (3, 0), (1, 1), (2, 5), (7, 3), (3, -2), (-1, 4), (700, 41)] {
        both(&p, f, &[Value::Int(n), Value::Int(m), Value::Float(0.5)])
            .unwrap_or_else(|e| panic!("{n} {m}: {}", e.diag.message));
    }
}

#[test]
fn shapes_are_made_where_something_is_absent() {
    let text = "fn f0 f (v0: []f64, v1: i64, v2: f64) -> (f64, []f64) {
        v3: i64 = 3
        v4: []i64 = array v3
        v5: []f64 = zero []f64
        v6: []f64 = index_add v5 [v1] v2 shape v4
        v7: f64 = index v0 [v1] shape v4
        v8: []f64 = index_add v6 [v1] v7 shape v4
        return v7, v8 }";
    let (p, f) = program(text);
    let xs = array::floats(vec![1.0, 2.0, -0.5]);
    for i in [0, 2, 3, -1] {
        _ = both(&p, f, &[xs.clone(), Value::Int(i), Value::Float(0.25)]);
        _ = both(&p, f, &[Value::Zero, Value::Int(i), Value::Float(0.25)]);
    }
}

#[test]
fn numbers_at_the_edges() {
    let values =
        [0.0, -0.0, 1.0, -1.5, 2.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 1e308, -7.25];
    let parameters = [3, -2, 0, 100].map(Un::Powi).into_iter().chain([Un::Polygamma(2)]);
    let unary = Un::ALL.iter().copied().chain(parameters).map(|u| match u.parameter() {
        Some(n) => format!("{} {n}", u.word()),
        None => u.word().to_owned(),
    });
    for op in unary {
        let Ok(p) = adl_ir::parse::program(&format!("fn f0 f (v0: f64) -> (f64) {{ v1: f64 = {op} v0 return v1 }}"))
        else {
            panic!("{op}")
        };
        let code = compile(&p, FnId(0));
        for x in values {
            let got = code.run(&mut machine(), vec![Value::Float(x)]).unwrap();
            assert!(same(&got[0], &interpreted(&p, FnId(0), vec![Value::Float(x)]).unwrap()[0]), "{op} {x}: {got:?}");
        }
    }
    let comparisons = Cmp::ALL.iter().map(|c| (c.word(), "bool"));
    for (op, ty) in Bin::ALL.iter().map(|b| (b.word(), "f64")).chain(comparisons) {
        let Ok(p) = adl_ir::parse::program(&format!(
            "fn f0 f (v0: f64, v1: f64) -> ({ty}) {{ v2: {ty} = {op} v0 v1 return v2 }}"
        )) else {
            panic!("{op}")
        };
        let code = compile(&p, FnId(0));
        for (x, y) in values.iter().flat_map(|x| values.iter().map(move |y| (*x, *y))) {
            let args = vec![Value::Float(x), Value::Float(y)];
            let got = code.run(&mut machine(), args.clone()).unwrap();
            assert!(same(&got[0], &interpreted(&p, FnId(0), args).unwrap()[0]), "{op} {x} {y}: {got:?}");
        }
    }
}

#[test]
fn ints_at_the_edges() {
    let values = [0, 1, -1, 2, -2, 3, 7, -7, 63, i64::MAX, i64::MIN, i64::MAX - 1, 1 << 31, -(1 << 33)];
    for op in ["add", "sub", "mul", "int_div", "rem", "min", "max"] {
        let (p, f) = program(&format!("fn f0 f (v0: i64, v1: i64) -> (i64) {{ v2: i64 = {op} v0 v1 return v2 }}"));
        let code = compile(&p, f);
        for (x, y) in values.iter().flat_map(|x| values.iter().map(move |y| (*x, *y))) {
            let args = vec![Value::Int(x), Value::Int(y)];
            match (code.run(&mut machine(), args.clone()), interpreted(&p, f, args)) {
                (Ok(g), Ok(w)) => assert!(same(&g[0], &w[0]), "{op} {x} {y}"),
                (Err(g), Err(w)) => {
                    assert_eq!((g.diag.code, &g.diag.message), (w.diag.code, &w.diag.message), "{op} {x} {y}");
                }
                (g, w) => panic!("{op} {x} {y}: {g:?} {w:?}"),
            }
        }
    }
}

const DEEP: &str = "fn f0 f (v0: i64) -> (i64) {
    v1: i64 = 0 v2: bool = le v0 v1
    v3: i64 = if v2 { return v1 } else { v4: i64 = 1 v5: i64 = sub v0 v4 v6: i64 = call f0 (v5) v7: i64 = add v6 v0 return v7 }
    return v3 }";

#[test]
fn recursion_is_deep_and_ends() {
    let (p, f) = program(DEEP);
    let n = 1_000_000i64;
    assert!(same(&native(&p, f, vec![Value::Int(n)]).unwrap()[0], &Value::Int(n * (n + 1) / 2)));
    let e = native(&p, f, vec![Value::Int(1 << 40)]).expect_err("too deep");
    let w = interpreted(&p, f, vec![Value::Int(1 << 40)]).expect_err("too deep");
    assert_eq!((e.diag.code, &e.diag.message, &e.diag.stack), (w.diag.code, &w.diag.message, &w.diag.stack));
}

/// Large functions use another register allocator and have large frames.
#[test]
fn long_straight_code_is_native() {
    let mut text = "fn f0 f (v0: f64) -> (f64) { v1: f64 = 0.9 ".to_owned();
    let n = 12_000;
    for k in (2..n).step_by(2) {
        let old = k - 1 - (k * k) % (k - 1).min(200);
        text +=
            &format!("v{k}: f64 = {} v{} v{old} v{}: f64 = mul v{k} v1 ", ["add", "sub", "min"][k % 3], k - 1, k + 1);
    }
    text += &format!("return v{} }} fn f1 g (v0: f64, v1: i64) -> (f64) {{
        v2: f64, v3: i64 = loop for v1 carry (v0) (v4: i64, v5: f64) {{ v6: f64 = call f0 (v5) v7: f64 = sin v6 return v7 }} return v2 }}", n - 1);
    let (p, f) = program(&text);
    assert!(both(&p, f, &[Value::Float(0.7), Value::Int(3)]).is_ok());
}

/// Additions of Ints are many instructions each: a unit is refused by what it becomes, not by its statements alone.
#[test]
fn code_that_would_take_seconds_to_compile_is_interpreted() {
    let lines = 2_000;
    let part = |k: usize| {
        let adds: String = (2..lines).map(|i| format!("v{i}: i64 = add v{} v{} ", i - 1, i % 2)).collect();
        format!("fn f{k} part (v0: i64) -> (i64) {{ v1: i64 = {k} {adds}return v{} }}\n", lines - 1)
    };
    let refused = |calls: usize| {
        let parts: String = (0..calls).map(part).collect();
        let body: String = (0..calls).map(|k| format!("v{}: i64 = call f{k} (v{k}) checkpoint ", k + 1)).collect();
        let (p, f) = program(&format!("{parts}fn f{calls} all (v0: i64) -> (i64) {{ {body}return v{calls} }}"));
        Linker::default().native(&p, f, &*adl_jit::compiler()).err()
    };
    assert_eq!(refused(2), None);
    assert_eq!(refused(60).as_deref(), Some("`all` is too large to be compiled"));
}

#[test]
fn tail_calls_take_no_space() {
    let text = "fn f0 even (v0: i64) -> (bool) {
        v1: i64 = 0 v2: bool = eq v0 v1
        v3: bool = if v2 { v4: bool = true return v4 } else { v5: i64 = 1 v6: i64 = sub v0 v5 v7: bool = call f1 (v6) return v7 } return v3 }
        fn f1 odd (v0: i64) -> (bool) {
        v1: i64 = 0 v2: bool = eq v0 v1
        v3: bool = if v2 { v4: bool = false return v4 } else { v5: i64 = 1 v6: i64 = sub v0 v5 v7: bool = call f0 (v6) return v7 } return v3 }
        fn f2 count (v0: i64, v1: i64) -> (i64) {
        v2: i64 = 0 v3: bool = eq v0 v2
        v4: i64 = if v3 { return v1 } else { v5: i64 = 1 v6: i64 = sub v0 v5 v7: i64 = add v1 v5 v8: i64 = call f2 (v6, v7) return v8 } return v4 }";
    let (p, _) = program(text);
    let n = 30_000_000;
    assert!(same(&native(&p, FnId(0), vec![Value::Int(n)]).unwrap()[0], &Value::Bool(true)));
    assert!(same(&native(&p, FnId(2), vec![Value::Int(n), Value::Int(5)]).unwrap()[0], &Value::Int(n + 5)));
}

#[test]
fn interrupts_stop_loops() {
    for text in [
        "fn f0 f (v0: f64) -> (f64) { v1: f64, v2: i64 = loop while (v3: f64) { v4: bool = eq v3 v3 return v4 } carry (v0) (v5: i64, v6: f64) { v7: f64 = neg v6 return v7 } return v1 }",
        "fn f0 f (v0: f64) -> (f64) { v1: f64 = call f0 (v0) return v1 }",
        // Non-tail calls that form an infinite tree.
        "fn f0 f (v0: f64) -> (f64) { v1: f64 = 60.0 v2: f64 = call f1 (v1) return v2 }
         fn f1 g (v0: f64) -> (f64) {
            v1: f64 = 0.0 v2: bool = le v0 v1
            v3: f64 = if v2 { return v1 } else { v4: f64 = 1.0 v5: f64 = sub v0 v4 v6: f64 = call f1 (v5) v7: f64 = add v5 v6 v8: f64 = call f1 (v5) v9: f64 = add v7 v8 return v9 }
            return v3 }",
    ] {
        let p = program(text).0;
        let code = compile(&p, FnId(0));
        let mut m = machine();
        let flag = m.interrupt.clone();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            flag.store(true, Ordering::Relaxed);
        });
        let e = code.run(&mut m, vec![Value::Float(1.0)]).expect_err("an interrupt");
        assert_eq!(e.diag.code, codes::INTERRUPT);
        stopper.join().unwrap();
        m.interrupt.store(false, Ordering::Relaxed);
    }
}

const FILL: &str = "fn f0 f (v0: []f64, v1: i64) -> ([]f64) {
    v2: []f64, v3: i64 = loop for v1 carry (v0) (v4: i64, v5: []f64) {
        v6: f64 = index v5 [v4] v7: f64 = to_f64 v4 v8: f64 = add v6 v7 v9: []f64 = index_set v5 [v4] v8 v10: []f64 = index_add v9 [v4] v7
        return v10 }
    return v2 }";

#[test]
fn arrays_with_one_owner_change_in_place() {
    let (p, f) = program(FILL);
    let n = 200_000usize;
    let xs = array::floats(vec![1.0; n]);
    // With a copy in each iteration this would take minutes.
    let start = Instant::now();
    let out = native(&p, f, vec![xs.clone(), Value::Int(n as i64)]).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5));
    let (Value::Array(xs), Value::Array(out)) = (&xs, &out[0]) else { panic!("arrays") };
    assert!(matches!(xs.buf(), Buf::F64(v) if v.iter().all(|x| *x == 1.0)), "the caller's array changed");
    assert!(matches!(out.buf(), Buf::F64(v) if v.iter().enumerate().all(|(i, x)| *x == 1.0 + 2.0 * i as f64)));
}

#[test]
fn absent_arrays_and_rows() {
    let text = "fn f0 f (v0: [][]f64, v1: []f64, v2: []i64, v3: i64) -> (f64, [][]f64, []f64) {
        v4: f64, v5: i64 = loop for v3 over (v0, v1) out (sum) (v6: i64, v7: []f64, v8: f64) {
            v9: i64 = 1 v10: f64 = index v7 [v9] v11: f64 = mul v10 v8
            return v11 }
        v12: [][]f64 = zero [][]f64 v13: []f64 = zero []f64 v14: i64 = 0
        v15: []f64 = index_add v13 [v14] v4 shape v2
        return v4, v12, v15 }";
    let (p, f) = program(text);
    let m = array::make([3, 2].into_iter().collect(), Buf::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let v = array::floats(vec![1.0, -1.0, 0.5]);
    for rows in [m, Value::Zero] {
        for w in [v.clone(), Value::Zero] {
            let _ = both(&p, f, &[rows.clone(), w.clone(), array::ints(vec![3]), Value::Int(3)]).unwrap();
            let _ = both(&p, f, &[rows.clone(), w, array::ints(vec![3]), Value::Int(4)]);
        }
    }
}

#[test]
fn histograms_and_scans_by_one_operator_are_the_interpreters() {
    let odd = vec![0.5, -0.0, f64::NAN, 0.0, 3.0, -7.5, f64::INFINITY, 0.1, 0.2, 0.3];
    let keys = vec![0, 1, 1, -1, 2, 0, 3, i64::MIN, 2, i64::MAX];
    for op in ["add", "mul", "min", "max", "sub", "div"] {
        // Both orders of the operands, and destinations that are dead or used afterwards.
        for (x, y) in [("v4", "v5"), ("v5", "v4"), ("v4", "v4")] {
            let text = format!(
                "fn f0 f (v0: []f64, v1: f64, v2: []i64, v3: []f64) -> ([]f64, []f64, []f64) {{
                v7: []f64 = reduce_by_index (v0) neutral (v1) keys v2 values (v3) (v4: f64, v5: f64) {{ v6: f64 = {op} {x} {y} return v6 }}
                v11: []f64 = scan (v1) over (v3) (v8: f64, v9: f64) {{ v10: f64 = {op} {} {} return v10 }}
                return v7, v11, v0 }}",
                x.replace("v4", "v8").replace("v5", "v9"),
                y.replace("v4", "v8").replace("v5", "v9"),
            );
            let (p, f) = program(&text);
            for n in [0, 1, odd.len()] {
                let args = [
                    array::floats(vec![1.0, f64::NAN, 2.0]),
                    Value::Float(-0.0),
                    array::ints(keys[..n].to_vec()),
                    array::floats(odd[..n].to_vec()),
                ];
                both(&p, f, &args).unwrap_or_else(|e| panic!("{op}: {}", e.diag.message));
            }
        }
    }
}

#[test]
fn extremes_with_their_places_are_the_interpreters() {
    let odd = vec![0.5, -0.0, f64::NAN, 0.0, 3.0, 3.0, f64::INFINITY, -0.5, 0.2, 0.3];
    let keys = vec![0, 1, 1, -1, 2, 2, 3, i64::MIN, 0, i64::MAX];
    for (op, cmp, first) in [("min", "le", 5.0), ("max", "ge", -5.0), ("min", "ge", 1.0), ("max", "lt", f64::NAN)] {
        let text = format!(
            "fn f0 f (v0: []f64, v1: []i64, v2: f64, v3: i64, v4: []i64, v5: []f64, v6: []i64) -> ([]f64, []i64, []i64) {{
            v7: []f64, v8: []i64 = reduce_by_index (v0, v1) neutral (v2, v3) keys v4 values (v5, v6) (v9: f64, v10: i64, v11: f64, v12: i64) {{
            v13: bool = {cmp} v9 v11 v14: f64 = {op} v9 v11 v15: i64 = select v13 v10 v12 return v14, v15 }} return v7, v8, v1 }}"
        );
        let (parsed, id) = program(&text);
        for n in [0, 1, odd.len()] {
            let at = |from: i64| array::ints((0..n as i64).map(|i| from + i).collect());
            let args = [
                array::floats(vec![first; 3]),
                array::ints(vec![-1; 3]),
                Value::Float(0.0),
                Value::Int(0),
                array::ints(keys[..n].to_vec()),
                array::floats(odd[..n].to_vec()),
                at(40),
            ];
            both(&parsed, id, &args).unwrap_or_else(|e| panic!("{op} {cmp}: {}", e.diag.message));
        }
    }
}

#[test]
fn vectors_behind_each_other_and_turned_matrices_are_the_interpreters() {
    let (p, f) = program(
        "fn f0 f (v0: []f64, v1: []f64, v2: [][]f64) -> ([]f64, [][]f64, []f64) { v3: []f64 = concat v0 v1 v4: [][]f64 = transpose v2 return v3, v4, v0 }",
    );
    for (n, k) in [(0, 0), (0, 3), (2, 0), (1, 1), (3, 5)] {
        let numbers = |n: usize| (0..n).map(|i| i as f64).collect::<Vec<f64>>();
        let m = array::make(adl_interp::value::Shape::from_slice(&[n, k]), Buf::F64(numbers(n * k)));
        both(&p, f, &[array::floats(numbers(n)), array::floats(numbers(k)), m])
            .unwrap_or_else(|e| panic!("{n} {k}: {}", e.diag.message));
    }
}

const LISTS: &str = "data D0 List = Nil | Cons(f64, []i64, D0)
    fn f0 total (v0: D0) -> (f64) {
        v1: f64 = switch v0 | () { v2: f64 = 0.0 return v2 } | (v3: f64, v4: []i64, v5: D0) {
            v6: i64 = dim 0 v4 v7: f64 = to_f64 v6 v8: f64 = mul v7 v3 v9: f64 = call f0 (v5) v10: f64 = add v8 v9 return v10 } end
        return v1 }
    fn f1 f (v0: i64, v1: []i64, v2: D0) -> (D0, []D0, D0, f64, f64, f64) {
        v3: D0, v4: i64 = loop for v0 carry (v2) (v5: i64, v6: D0) { v7: f64 = to_f64 v5 v8: D0 = construct D0.1 v7 v1 v6 return v8 }
        v9: f64 = call f0 (v3)
        v10: []D0, v11: i64 = loop for v0 out (boxed) (v12: i64) { v13: f64 = to_f64 v12 v14: []i64 = slice v1 v12 v0 v15: []i64 = concat v14 v1 v16: D0 = construct D0.1 v13 v15 v3 return v16 }
        v17: f64, v18: i64 = loop for v0 reverse over (v10) out (sum) (v19: i64, v20: D0) { v21: f64 = call f0 (v20) return v21 }
        v22: i64 = 1 v23: D0 = index v10 [v22] v24: f64 = call f0 (v2)
        return v3, v10, v23, v9, v17, v24 }";

#[test]
fn data_are_the_interpreters() {
    let (p, f) = program(LISTS);
    let con = |tag, fields: Vec<Value>| {
        let con = adl_interp::ir::op_site::constructor(p.datas.first(), tag, fields.len());
        Value::data(con, fields)
    };
    let nil = con(0, vec![]);
    let one = con(1, vec![Value::Float(2.5), array::ints(vec![7]), nil.clone()]);
    for n in [0i64, 1, 2, 5] {
        for end in [&nil, &one] {
            // Without a second element, the index is out of bounds.
            let out = both(&p, f, &[Value::Int(n), array::ints((0..n).collect()), end.clone()]);
            assert_eq!(out.is_ok(), n > 1);
        }
    }
}

#[test]
fn deep_data_take_no_stack() {
    let text = "data D0 List = Nil | Cons(f64, D0)
        fn f0 f (v0: i64) -> (D0) {
        v1: D0 = construct D0.0
        v2: D0, v3: i64 = loop for v0 carry (v1) (v4: i64, v5: D0) { v6: f64 = to_f64 v4 v7: D0 = construct D0.1 v6 v5 return v7 }
        v8: D0, v9: i64 = loop for v0 carry (v1) (v10: i64, v11: D0) { v12: f64 = to_f64 v10 v13: D0 = construct D0.1 v12 v11 return v13 }
        return v2 }";
    let (p, f) = program(text);
    let mut v = native(&p, f, vec![Value::Int(1_000_000)]).unwrap().remove(0);
    let mut n = 0;
    while let Value::Data(d) = &v {
        n += 1;
        let Some(next) = d.fields.get(1).cloned() else { break };
        v = next;
    }
    assert_eq!(n, 1_000_001);
}

#[test]
fn rows_of_different_lengths_are_the_interpreters() {
    let text = "fn f0 f (v0: i64, v1: i64) -> ([]([]f64), f64, []f64) {
        v2: []([]f64), v3: i64 = loop for v0 out (boxed) (v4: i64) {
            v5: i64 = rem v4 v1 v6: []f64, v7: i64 = loop for v5 out (collect) (v8: i64) { v9: f64 = to_f64 v8 v10: f64 = to_f64 v4 v11: f64 = add v9 v10 return v11 } return v6 }
        v12: f64, v13: i64 = loop for v0 over (v2) out (sum) (v14: i64, v15: []f64) {
            v16: i64 = dim 0 v15 v17: f64, v18: i64 = loop for v16 over (v15) out (sum) (v19: i64, v20: f64) { return v20 } return v17 }
        v21: i64 = 2 v22: []f64 = index v2 [v21]
        return v2, v12, v22 }";
    let (p, f) = program(text);
    for (n, k) in [(0, 3), (2, 1), (3, 3), (3, 5), (40, 7), (9, 9)] {
        let out = both(&p, f, &[Value::Int(n), Value::Int(k)]);
        assert_eq!(out.is_ok(), n > 2, "{n} {k}");
    }
}

/// Residuals of recursive functions, which have a constructor for each arm in native code.
#[test]
fn arms_have_constructors() {
    let p = adl_ir::parse::program(include_str!("../../opt/tests/passes/arms.ir")).unwrap();
    let data = |ty: usize, tag, fields: Vec<Value>| {
        let con = adl_interp::ir::op_site::constructor(p.datas.get(ty), tag, fields.len());
        Value::data(con, fields)
    };
    let leaf = |x: f64| data(1, 0, vec![Value::Float(x)]);
    let tree = (0..200).fold(leaf(0.3), |tree, k| data(1, 1, vec![leaf(f64::from(k)), tree]));
    let three = data(4, 1, [0.5, -2.0, 3.0].map(Value::Float).to_vec());
    for (n, wide) in [(1, three), (57, data(4, 0, Vec::new()))] {
        let x = array::floats((0..n).map(|k| f64::from(k).sin()).collect());
        both(&p, FnId(0), &[x, Value::Float(0.75), tree.clone(), wide]).unwrap();
    }
}
