//! Compares maps, reductions and scans with the reference evaluator or plain Rust at all sizes; each runs twice and
//! must give the same bits.

use crate::common;

use adl_gpu::{Check, Data, Error, Gpu, Operand};
use adl_ir::Program;
use adl_ir::generate::rng::Rng;
use common::{SIZES, int, program, same, vector};

/// Runs a program's first statement twice, and checks that the results are the same bits.
fn twice(gpu: &Gpu, p: &Program, args: &[Operand]) -> Vec<Data> {
    let (a, b) = (common::run(gpu, p, args).unwrap(), common::run(gpu, p, args).unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| same(a, b)));
    a
}

fn floats(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    (0..n).map(|_| 2.0 * rng.unit() - 1.0).collect()
}

fn f64s(d: &Data) -> &[f64] {
    match d {
        Data::F64(x) => x,
        _ => panic!("not f64"),
    }
}

#[test]
fn maps_of_several_arrays_with_branches_and_loops() {
    // Collatz steps of a number, and a choice by sign: two outputs of two inputs, with the index.
    let parsed = program(
        "fn f0 t (v0: i64, v1: []f64, v2: []i64, v3: f64) -> ([]f64, []i64) {
          v4: []f64, v5: []i64, v6: i64 = loop for v0 over (v1, v2) out (collect, collect) (v7: i64, v8: f64, v9: i64) {
            v10: f64 = 0.0
            v11: bool = lt v8 v10
            v12: f64 = if v11 { v13: f64 = mul v8 v3 return v13 } else { v14: f64 = to_f64 v7 v15: f64 = add v8 v14 return v15 }
            v16: i64 = 0
            v17: i64, v18: i64, v19: i64 = loop while (v20: i64, v21: i64) { v22: i64 = 1 v23: bool = gt v20 v22 return v23 } carry (v9, v16) (v24: i64, v25: i64, v26: i64) {
              v27: i64 = 2
              v28: i64 = rem v25 v27
              v29: i64 = 0
              v30: bool = eq v28 v29
              v31: i64 = 1
              v32: i64 = if v30 { v33: i64 = int_div v25 v27 return v33 } else { v34: i64 = 3 v35: i64 = mul v25 v34 v36: i64 = add v35 v31 return v36 }
              v37: i64 = add v26 v31
              return v32, v37
            }
            return v12, v18
          }
          return v4, v5
        }",
    );
    let gpu = common::gpu();
    for n in SIZES {
        let (xs, ks): (Vec<f64>, Vec<i64>) = (floats(n as u64, n), (0..n as i64).map(|i| i % 1000).collect());
        let args = [
            int(n),
            vector(&gpu, &Data::F64(xs.clone())),
            vector(&gpu, &Data::I64(ks.clone())),
            Operand::Number(adl_ir::Lit::F64(2.5)),
        ];
        let got = twice(&gpu, &parsed, &args);
        let want: Vec<f64> =
            xs.iter().enumerate().map(|(i, x)| if *x < 0.0 { x * 2.5 } else { x + i as f64 }).collect();
        let steps = |k: &i64| {
            (0..).scan(*k, |k, _| (*k > 1).then(|| *k = if *k % 2 == 0 { *k / 2 } else { 3 * *k + 1 })).count() as i64
        };
        assert!(same(&got[0], &Data::F64(want)));
        assert_eq!(got[1], Data::I64(ks.iter().map(steps).collect()));
    }
}

/// A reduction or scan by a scalar operator.
fn soac(kind: &str, ty: &str, op: &str) -> Program {
    let array = if kind == "reduce" { ty.to_owned() } else { format!("[]{ty}") };
    program(&format!(
        "fn f0 t (v0: []{ty}, v1: {ty}) -> ({array}) {{ v2: {array} = {kind} (v1) over (v0) (v3: {ty}, v4: {ty}) {{ v5: {ty} = {op} v3 v4 return v5 }} return v2 }}"
    ))
}

#[test]
fn sums_of_ints_are_exact_and_sums_of_floats_near() {
    let gpu = common::gpu();
    for count in SIZES.into_iter().chain([2047, 2048, 2049, 262_145]) {
        let ks: Vec<i64> = (0..count as i64).map(|i| i * i % 1013 - 500).collect();
        let zero = Operand::Number(adl_ir::Lit::I64(7));
        let got = twice(&gpu, &soac("reduce", "i64", "add"), &[vector(&gpu, &Data::I64(ks.clone())), zero.clone()]);
        assert_eq!(got, [Data::I64(vec![7 + ks.iter().sum::<i64>()])], "{count}");
        let mut acc = 7;
        let prefixes: Vec<i64> = ks
            .iter()
            .map(|k| {
                acc += k;
                acc
            })
            .collect();
        let got = twice(&gpu, &soac("scan", "i64", "add"), &[vector(&gpu, &Data::I64(ks.clone())), zero.clone()]);
        assert_eq!(got, [Data::I64(prefixes.clone())], "{count}");
        let got = twice(&gpu, &soac("scan_exclusive", "i64", "add"), &[vector(&gpu, &Data::I64(ks.clone())), zero]);
        assert_eq!(got, [Data::I64([7].into_iter().chain(prefixes).take(count).collect())], "{count}");
        let xs = floats(count as u64, count);
        let got = twice(
            &gpu,
            &soac("reduce", "f64", "add"),
            &[vector(&gpu, &Data::F64(xs.clone())), Operand::Number(adl_ir::Lit::F64(0.0))],
        );
        assert!((f64s(&got[0])[0] - xs.iter().sum::<f64>()).abs() <= 1e-15 * count as f64);
        let ys: Vec<f32> = xs.iter().map(|x| *x as f32).collect();
        let got = twice(
            &gpu,
            &soac("reduce", "f32", "max"),
            &[vector(&gpu, &Data::F32(ys.clone())), Operand::Number(adl_ir::Lit::F32(f32::NEG_INFINITY))],
        );
        assert_eq!(got, [Data::F32(vec![ys.iter().copied().fold(f32::NEG_INFINITY, f32::max)])]);
    }
}

#[test]
fn nan_and_infinities_go_through_sums_and_maxima() {
    let gpu = common::gpu();
    for (x, sum, max) in [
        (f64::NAN, f64::NAN, f64::NAN),
        (f64::INFINITY, f64::INFINITY, f64::INFINITY),
        (f64::NEG_INFINITY, f64::NEG_INFINITY, 1.0),
    ] {
        let mut xs = vec![1.0; 5000];
        xs[3210] = x;
        let a = vector(&gpu, &Data::F64(xs));
        let got = twice(&gpu, &soac("reduce", "f64", "add"), &[a.clone(), Operand::Number(adl_ir::Lit::F64(0.0))]);
        assert!(same(&got[0], &Data::F64(vec![sum])));
        let got = twice(
            &gpu,
            &soac("reduce", "f64", "max"),
            &[a.clone(), Operand::Number(adl_ir::Lit::F64(f64::NEG_INFINITY))],
        );
        assert!(same(&got[0], &Data::F64(vec![max])));
        let got = twice(&gpu, &soac("scan", "f64", "add"), &[a, Operand::Number(adl_ir::Lit::F64(0.0))]);
        assert!(f64s(&got[0])[3209] == 3210.0 && same(&Data::F64(vec![f64s(&got[0])[4999]]), &Data::F64(vec![sum])));
    }
}

/// The operator of linear recurrences on Ints, which is not commutative: (a, b) after (c, d) is (a c, a d + b), modulo
/// a prime.
fn recurrence(kind: &str) -> Program {
    let ty = if kind == "reduce" { "i64" } else { "[]i64" };
    program(&format!(
        "fn f0 t (v0: []i64, v1: []i64, v2: i64, v3: i64, v4: i64) -> ({ty}, {ty}) {{
          v5: {ty}, v6: {ty} = {kind} (v2, v3) over (v0, v1) (v7: i64, v8: i64, v9: i64, v10: i64) {{
            v11: i64 = mul v9 v7
            v12: i64 = rem v11 v4
            v13: i64 = mul v9 v8
            v14: i64 = add v13 v10
            v15: i64 = rem v14 v4
            return v12, v15
          }}
          return v5, v6
        }}"
    ))
}

#[test]
fn operators_on_tuples_need_not_commute() {
    let gpu = common::gpu();
    let modulus = 1_000_003i64;
    for count in SIZES.into_iter().chain([2048, 5000]) {
        let (factors, addends): (Vec<i64>, Vec<i64>) =
            (0..count as i64).map(|i| (i * 7919 % modulus, i * 104_729 % modulus)).unzip();
        let args: Vec<Operand> = [&factors, &addends]
            .iter()
            .map(|v| vector(&gpu, &Data::I64((*v).clone())))
            .chain([1, 0, modulus].map(|k| Operand::Number(adl_ir::Lit::I64(k))))
            .collect();
        let mut acc = (1, 0);
        let all: Vec<(i64, i64)> = factors
            .iter()
            .zip(&addends)
            .map(|(a, b)| {
                acc = (a * acc.0 % modulus, (a * acc.1 + b) % modulus);
                acc
            })
            .collect();
        assert_eq!(
            twice(&gpu, &recurrence("reduce"), &args),
            [Data::I64(vec![acc.0]), Data::I64(vec![acc.1])],
            "{count}"
        );
        let (x, y): (Vec<i64>, Vec<i64>) = all.iter().copied().unzip();
        assert_eq!(twice(&gpu, &recurrence("scan"), &args), [Data::I64(x), Data::I64(y)], "{count}");
        let before: (Vec<i64>, Vec<i64>) = [(1, 0)].into_iter().chain(all).take(count).unzip();
        assert_eq!(
            twice(&gpu, &recurrence("scan_exclusive"), &args),
            [Data::I64(before.0), Data::I64(before.1)],
            "{count}"
        );
    }
}

/// `for i. sum for j. a[i, j] x[j]`, and the same without a sum.
fn product(inner: &str, out: &str) -> Program {
    program(&format!(
        "fn f0 t (v0: i64, v1: i64, v2: [][]f64, v3: []f64) -> ({out}) {{
          v4: {out}, v5: i64 = loop for v0 out (collect) (v6: i64) {{
            v7: {}, v8: i64 = loop for v1 out ({inner}) (v9: i64) {{
              v10: f64 = index v2 [v6, v9]
              v11: f64 = index v3 [v9]
              v12: f64 = mul v10 v11
              return v12
            }}
            return v7
          }}
          return v4
        }}",
        if inner == "sum" { "f64" } else { "[]f64" }
    ))
}

#[test]
fn nested_loops_are_one_kernel_and_inner_sums_reductions_of_rows() {
    let gpu = common::gpu();
    for (rows, cols) in
        [(0, 5), (5, 0), (1, 1), (3, 100), (100, 3), (33, 1000), (1000, 129), (2, 100_000), (1, 31), (500, 64)]
    {
        let (a, x): (Vec<f64>, Vec<f64>) =
            ((0..rows * cols).map(|k| (k % 17) as f64 - 8.0).collect(), (0..cols).map(|k| (k % 5) as f64).collect());
        let matrix = Operand::Array(gpu.array(&Data::F64(a.clone()), vec![rows, cols]).unwrap());
        let args = [int(rows), int(cols), matrix, vector(&gpu, &Data::F64(x.clone()))];
        let terms: Vec<f64> = (0..rows * cols).map(|k| a[k] * x[k % cols]).collect();
        let sums = (0..rows).map(|i| terms[i * cols..(i + 1) * cols].iter().sum()).collect();
        let before = gpu.work().kernels;
        assert_eq!(
            common::run(&gpu, &product("collect", "[][]f64"), &args).unwrap(),
            [Data::F64(terms)],
            "{rows} {cols}"
        );
        assert!(gpu.work().kernels - before <= 1);
        assert_eq!(twice(&gpu, &product("sum", "[]f64"), &args), [Data::F64(sums)], "{rows} {cols}");
    }
}

#[test]
fn sums_take_maps_in() {
    let p = program(
        "fn f0 t (v0: i64, v1: []f64) -> (f64) { v2: f64, v3: i64 = loop for v0 over (v1) out (sum) (v4: i64, v5: f64) { v6: f64 = mul v5 v5 v7: f64 = to_f64 v4 v8: f64 = add v6 v7 return v8 } return v2 }",
    );
    let gpu = common::gpu();
    for n in SIZES {
        let xs: Vec<f64> = (0..n).map(|i| (i % 10) as f64).collect();
        let want: f64 = xs.iter().enumerate().map(|(i, x)| x * x + i as f64).sum();
        assert_eq!(twice(&gpu, &p, &[int(n), vector(&gpu, &Data::F64(xs))]), [Data::F64(vec![want])]);
    }
}

#[test]
fn checks_fail_as_the_evaluator_does() {
    let gpu = common::gpu();
    let one = |op: &str, operand: i64| {
        let p = program(&format!(
            "fn f0 t (v0: i64, v1: []i64, v2: i64) -> ([]i64) {{ v3: []i64, v4: i64 = loop for v0 over (v1) out (collect) (v5: i64, v6: i64) {{ v7: i64 = {op} return v7 }} return v3 }}"
        ));
        let xs = vec![1, 2, 3, i64::MAX, 1 << 40, 5, -7, i64::MIN + 1];
        let host: Vec<adl_ir::Val> = vec![adl_ir::Val::I64(8), adl_ir::Val::ints(&xs), adl_ir::Val::I64(operand)];
        let want = adl_ir::eval::run(&p, adl_ir::FnId(0), &host, &[]).map(|o| {
            o.results[0].leaves().iter().map(|v| if let adl_ir::Val::I64(k) = v { *k } else { 0 }).collect::<Vec<_>>()
        });
        let got =
            common::run(&gpu, &p, &[int(8), vector(&gpu, &Data::I64(xs)), Operand::Number(adl_ir::Lit::I64(operand))]);
        match (want, got) {
            (Ok(w), Ok(g)) => assert_eq!(g, [Data::I64(w)], "{op} {operand}"),
            (Err(_), Err(Error::Fault(f))) => return Some(f.what),
            (w, g) => panic!("{op} {operand}: {w:?} {g:?}"),
        }
        None
    };
    for operand in [0, 1, -1, 2, 1 << 23, -(1 << 24), i64::MAX, i64::MIN] {
        for op in [
            "add v6 v2",
            "sub v6 v2",
            "mul v6 v2",
            "int_div v6 v2",
            "rem v6 v2",
            "min v6 v2",
            "max v6 v2",
            "sub v2 v6",
            "int_div v2 v6",
            "neg v2",
            "abs v2",
            "sign v6",
            "powi 2 v2",
            "powi 1 v6",
            "index v1 [v2]",
        ] {
            one(op, operand);
        }
    }
    assert_eq!(one("add v6 v2", 1), Some(Check::Overflow));
    assert_eq!(one("rem v6 v2", 0), Some(Check::Zero));
    assert_eq!(one("index v1 [v2]", 8), Some(Check::Bounds));
    assert_eq!(one("index v1 [v2]", 7), None);
    assert_eq!(one("neg v2", i64::MIN), Some(Check::Overflow));
}

#[test]
fn conversions_are_the_evaluators() {
    let gpu = common::gpu();
    let to = |from: &str, to: &str| {
        program(&format!(
            "fn f0 t (v0: i64, v1: []{from}) -> ([]{to}) {{ v3: []{to}, v4: i64 = loop for v0 over (v1) out (collect) (v5: i64, v6: {from}) {{ v7: {to} = to_{to} v6 return v7 }} return v3 }}"
        ))
    };
    let xs = vec![0.0, -0.0, 1.5, -1.5, 1e15, -9.223372036854775e18, 9.2e18, 0.999, 1e-310];
    let run = |p: &Program, d: &Data| common::run(&gpu, p, &[int(d.len()), vector(&gpu, d)]);
    assert_eq!(
        run(&to("f64", "i64"), &Data::F64(xs.clone())).unwrap(),
        [Data::I64(xs.iter().map(|x| *x as i64).collect())]
    );
    let ys: Vec<f32> = xs.iter().map(|x| *x as f32).filter(|x| x.abs() < 9.2e18).collect();
    assert_eq!(
        run(&to("f32", "i64"), &Data::F32(ys.clone())).unwrap(),
        [Data::I64(ys.iter().map(|x| *x as i64).collect())]
    );
    for bad in [f64::NAN, f64::INFINITY, 9.3e18, -9.3e18] {
        assert!(
            matches!(run(&to("f64", "i64"), &Data::F64(vec![bad])), Err(Error::Fault(f)) if f.what == Check::Conversion)
        );
        assert!(
            matches!(run(&to("f32", "i64"), &Data::F32(vec![bad as f32])), Err(Error::Fault(f)) if f.what == Check::Conversion)
        );
    }
    let mut rng = Rng::new(5);
    let ks: Vec<i64> = (0..10_000).map(|i| (rng.bits() as i64) >> (i % 64)).chain([i64::MAX, i64::MIN, 0]).collect();
    assert_eq!(
        run(&to("i64", "f64"), &Data::I64(ks.clone())).unwrap(),
        [Data::F64(ks.iter().map(|k| *k as f64).collect())]
    );
    assert_eq!(
        run(&to("i64", "f32"), &Data::I64(ks.clone())).unwrap(),
        [Data::F32(ks.iter().map(|k| *k as f64 as f32).collect())]
    );
    let zs: Vec<f64> = (0..10_000).map(|_| f64::from_bits(rng.bits())).collect();
    assert!(same(
        &run(&to("f64", "f32"), &Data::F64(zs.clone())).unwrap()[0],
        &Data::F32(zs.iter().map(|x| *x as f32).collect())
    ));
}

#[test]
fn what_a_device_lacks_is_said() {
    let gpu = common::gpu().without_f64();
    let e = gpu.array(&Data::F64(vec![1.0]), vec![1]).unwrap_err().to_string();
    assert!(e.contains("no 64-bit floats"), "{e}");
    // f32 needs neither f64 nor the index.
    let p = program(
        "fn f0 t (v0: i64, v1: []f32) -> ([]f32) { v2: []f32, v3: i64 = loop for v0 over (v1) out (collect) (v4: i64, v5: f32) { v6: f32 = exp v5 return v6 } return v2 }",
    );
    assert_eq!(
        common::run(&gpu, &p, &[int(2), vector(&gpu, &Data::F32(vec![0.0, f32::NEG_INFINITY]))]).unwrap(),
        [Data::F32(vec![1.0, 0.0])]
    );
}

#[test]
fn arrays_above_what_a_kernel_may_see_are_split() {
    let gpu = common::gpu().with_binding_size(64 * 1024);
    let p = program(
        "fn f0 t (v0: i64, v1: []f64) -> ([]f64) { v2: []f64, v3: i64 = loop for v0 over (v1) out (collect) (v4: i64, v5: f64) { v6: f64 = to_f64 v4 v7: f64 = sub v5 v6 return v7 } return v2 }",
    );
    let xs: Vec<f64> = (0..100_000).map(|i| 2.0 * i as f64).collect();
    let before = gpu.work().kernels;
    let got = twice(&gpu, &p, &[int(100_000), vector(&gpu, &Data::F64(xs))]);
    assert_eq!(got, [Data::F64((0..100_000).map(|i| i as f64).collect())]);
    assert_eq!(gpu.work().kernels - before, 26);
}

#[test]
fn reductions_and_scans_of_split_vectors_are_the_same_bits() {
    let whole = common::gpu();
    let split = common::gpu().with_binding_size(128 * 1024);
    let count = 100_000;
    let xs = Data::F64(floats(3, count));
    let zero = Operand::Number(adl_ir::Lit::F64(0.0));
    for kind in ["reduce", "scan", "scan_exclusive"] {
        let p = soac(kind, "f64", "add");
        let (a, b) = (
            twice(&whole, &p, &[vector(&whole, &xs), zero.clone()]),
            twice(&split, &p, &[vector(&split, &xs), zero.clone()]),
        );
        assert!(same(&a[0], &b[0]), "{kind}");
    }
    assert!(split.work().kernels > 2 * whole.work().kernels);
    let squares = program(
        "fn f0 t (v0: i64, v1: []f64) -> (f64) { v2: f64, v3: i64 = loop for v0 over (v1) out (sum) (v4: i64, v5: f64) { v6: f64 = mul v5 v5 return v6 } return v2 }",
    );
    let (first, second) = (
        twice(&whole, &squares, &[int(count), vector(&whole, &xs)]),
        twice(&split, &squares, &[int(count), vector(&split, &xs)]),
    );
    assert!(same(&first[0], &second[0]));
    // Arrays read at arbitrary indices are not split: launches see all of them by several bindings.
    let any = program(
        "fn f0 t (v0: i64, v1: []f64) -> ([]f64) { v2: []f64, v3: i64 = loop for v0 over (v1) out (collect) (v4: i64, v5: f64) { v6: i64 = 0 v7: f64 = index v1 [v6] v8: f64 = sub v5 v7 return v8 } return v2 }",
    );
    let (a, b) = (
        twice(&whole, &any, &[int(count), vector(&whole, &xs)]),
        twice(&split, &any, &[int(count), vector(&split, &xs)]),
    );
    assert!(same(&a[0], &b[0]));
}

#[test]
fn rows_are_reduced_and_scanned_one_by_one() {
    let gpu = common::gpu();
    let program = recurrence("scan");
    let func = &program.funcs[0];
    let adl_ir::Op::Soac(soac) = &func.body.stmts[0].op else { panic!() };
    let modulus = 1_000_003i64;
    for (rows, length) in [(0, 3), (3, 0), (1, 5), (5, 1), (100, 7), (1000, 128), (7, 129), (3, 5000), (2, 50_000)] {
        let (factors, b): (Vec<i64>, Vec<i64>) =
            (0..(rows * length) as i64).map(|i| (i * 7919 % modulus, i * 104_729 % modulus)).unzip();
        let arrays = [&factors, &b].map(|v| gpu.array(&Data::I64(v.clone()), vec![rows, length]).unwrap());
        let constants = |v: adl_ir::Var| {
            [1, 0, modulus].get((v.0 as usize).wrapping_sub(2)).map(|k| Operand::Number(adl_ir::Lit::I64(*k)))
        };
        let (mut scales, mut offsets, mut last) = (Vec::new(), Vec::new(), (Vec::new(), Vec::new()));
        for r in 0..rows {
            let mut acc = (1, 0);
            for i in r * length..(r + 1) * length {
                acc = (factors[i] * acc.0 % modulus, (factors[i] * acc.1 + b[i]) % modulus);
                scales.push(acc.0);
                offsets.push(acc.1);
            }
            last.0.push(acc.0);
            last.1.push(acc.1);
        }
        let read = |outs: Vec<adl_gpu::Array>| outs.iter().map(|a| gpu.read(a).unwrap()).collect::<Vec<_>>();
        let got = read(adl_gpu::soac::rows(&gpu, &program, func, soac, &constants, &arrays, rows, length).unwrap());
        assert_eq!(got, [Data::I64(scales), Data::I64(offsets)], "{rows} {length}");
        let reduce = adl_ir::Soac { kind: adl_ir::SoacKind::Reduce, ..(**soac).clone() };
        let got = read(adl_gpu::soac::rows(&gpu, &program, func, &reduce, &constants, &arrays, rows, length).unwrap());
        assert_eq!(got, [Data::I64(last.0), Data::I64(last.1)], "{rows} {length}");
    }
}

#[test]
fn arithmetic_is_done_as_it_is_written() {
    // GPU compilers tend to simplify `(a + b) - a` to `b`, `x * 0` to `0`, `x - x` to `0`, and `x != x` to `false`.
    let gpu = common::gpu();
    assert!(gpu.caps.exact, "{}", gpu.caps.name);
    for ty in ["f64", "f32"] {
        let parsed = program(&format!(
            "fn f0 t (v0: i64, v1: []{ty}, v2: []{ty}) -> ([]{ty}, []{ty}, []{ty}, []bool, []{ty}) {{
              v3: []{ty}, v4: []{ty}, v5: []{ty}, v6: []bool, v20: []{ty}, v7: i64 = loop for v0 over (v1, v2) out (collect, collect, collect, collect, collect) (v8: i64, v9: {ty}, v10: {ty}) {{
                v11: {ty} = add v9 v10
                v12: {ty} = sub v11 v9
                v13: {ty} = {zero}
                v14: {ty} = mul v9 v13
                v15: {ty} = sub v9 v9
                v16: bool = ne v9 v9
                v17: {ty} = mul v9 v10
                v18: {ty} = sub v17 v10
                return v12, v14, v15, v16, v18
              }}
              return v3, v4, v5, v6, v20
            }}",
            zero = if ty == "f64" { "0.0" } else { "0.0f32" }
        ));
        let (left, right) =
            (vec![1e10, f64::INFINITY, f64::NAN, -3.0, 1.1], vec![1.234_567_890_123, 2.0, 3.0, 1e-30, 1.3]);
        let (x, y): (Vec<f32>, Vec<f32>) = left.iter().zip(&right).map(|(a, b)| (*a as f32, *b as f32)).unzip();
        let both = if ty == "f64" {
            [Data::F64(left.clone()), Data::F64(right.clone())]
        } else {
            [Data::F32(x.clone()), Data::F32(y.clone())]
        };
        let got = twice(&gpu, &parsed, &[int(5), vector(&gpu, &both[0]), vector(&gpu, &both[1])]);
        let f64s = |f: &dyn Fn(f64, f64) -> f64| Data::F64(left.iter().zip(&right).map(|(a, b)| f(*a, *b)).collect());
        let f32s = |f: &dyn Fn(f32, f32) -> f32| Data::F32(x.iter().zip(&y).map(|(a, b)| f(*a, *b)).collect());
        let want = match ty {
            "f64" => [
                f64s(&|a, b| (a + b) - a),
                f64s(&|a, _| a * 0.0),
                f64s(&|a, _| a - a),
                Data::Bool(vec![false, false, true, false, false]),
                f64s(&|a, b| a * b - b),
            ],
            _ => [
                f32s(&|a, b| (a + b) - a),
                f32s(&|a, _| a * 0.0),
                f32s(&|a, _| a - a),
                Data::Bool(vec![false, false, true, false, false]),
                f32s(&|a, b| a * b - b),
            ],
        };
        let wrong: Vec<_> = got.iter().zip(&want).filter(|(g, w)| !same(g, w)).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}

#[test]
fn operations_on_arrays_that_follow_each_other_are_one_kernel() {
    let parsed = program(
        "fn f0 t (v0: [][]f64, v1: [][]f64, v2: f64) -> ([][]f64, [][]bool) {
          v3: [][]f64 = mul v0 v2
          v4: [][]f64 = sub v3 v1
          v5: [][]f64 = tanh v4
          v6: [][]bool = lt v5 v0
          v7: [][]f64 = select v6 v5 v2
          return v7, v6
        }",
    );
    let func = &parsed.funcs[0];
    for gpu in [common::gpu(), common::gpu().with_binding_size(64 * 1024)] {
        for count in SIZES {
            let (first, second) = (floats(1, 3 * count), floats(2, 3 * count));
            let args = [&first, &second]
                .map(|x| Operand::Array(gpu.array(&Data::F64((*x).clone()), vec![count, 3]).unwrap()))
                .into_iter()
                .chain([Operand::Number(adl_ir::Lit::F64(0.5))])
                .collect::<Vec<_>>();
            let before = gpu.work().kernels;
            let outs = adl_gpu::pointwise::run(
                &gpu,
                &parsed,
                func,
                &func.body.stmts,
                &func.body.results,
                &common::env(&parsed, &args),
            )
            .unwrap();
            assert!(gpu.caps.binding < 1 << 20 || gpu.work().kernels - before <= 1);
            let t: Vec<f64> = first.iter().zip(&second).map(|(a, b)| adl_prim::Un::Tanh.eval(a * 0.5 - b)).collect();
            let less: Vec<bool> = t.iter().zip(&first).map(|(t, a)| t < a).collect();
            let want = t.iter().zip(&less).map(|(t, l)| if *l { *t } else { 0.5 }).collect();
            assert_eq!(outs[0].shape, [count, 3]);
            assert!(same(&gpu.read(&outs[0]).unwrap(), &Data::F64(want)));
            assert_eq!(gpu.read(&outs[1]).unwrap(), Data::Bool(less));
        }
    }
}

#[test]
fn more_outputs_than_a_kernel_may_see_are_made_by_several() {
    let names = |from: usize| (0..20).map(move |k| format!("v{}", from + k));
    let results = names(100).collect::<Vec<_>>().join(", ");
    let body: String = names(100).enumerate().map(|(k, v)| format!("{v}: f64 = powi {} v5\n", k % 4)).collect();
    let outs: String = names(10).map(|v| format!("{v}: []f64, ")).collect();
    let collect = vec!["collect"; 20].join(", ");
    let tys = vec!["[]f64"; 20].join(", ");
    let p = program(&format!(
        "fn f0 t (v0: i64, v1: []f64) -> ({tys}) {{ {outs}v3: i64 = loop for v0 over (v1) out ({collect}) (v4: i64, v5: f64) {{ {body} return {results} }} return {} }}",
        names(10).collect::<Vec<_>>().join(", ")
    ));
    let gpu = common::gpu().with_binding_count(8);
    let xs = floats(1, 1000);
    let got = twice(&gpu, &p, &[int(1000), vector(&gpu, &Data::F64(xs.clone()))]);
    for (k, d) in got.iter().enumerate() {
        assert!(same(d, &Data::F64(xs.iter().map(|x| x.powi(k as i32 % 4)).collect())), "{k}");
    }
    assert!(gpu.work().kernels > 4);
}

#[test]
fn indices_are_compared_with_constants() {
    // Mesa 22 miscompiles comparisons of sign-extended 32-bit numbers.
    let gpu = common::gpu();
    for (op, holds) in [
        ("lt", i64::lt as fn(&i64, &i64) -> bool),
        ("le", i64::le),
        ("gt", i64::gt),
        ("ge", i64::ge),
        ("eq", i64::eq),
        ("ne", i64::ne),
    ] {
        for k in [-1, 0, 1, 2, 31, 1 << 40] {
            let p = program(&format!(
                "fn f0 t (v0: i64) -> ([]bool, []bool) {{ v1: []bool, v9: []bool, v2: i64 = loop for v0 out (collect, collect) (v3: i64) {{ v4: i64 = {k} v5: bool = {op} v3 v4 v6: bool = {op} v4 v3 return v5, v6 }} return v1, v9 }}"
            ));
            let want = (0..33).map(|i| holds(&i, &k)).collect();
            let turned = (0..33).map(|i| holds(&k, &i)).collect();
            assert_eq!(twice(&gpu, &p, &[int(33)]), [Data::Bool(want), Data::Bool(turned)], "{op} {k}");
        }
    }
}

#[test]
fn how_a_workgroup_reads_its_tile_changes_no_bit() {
    let (gpu, small) = (common::gpu().with_tiles(true), common::gpu().with_tiles(false));
    assert!(
        gpu.caps.workgroup >= 24576,
        "a workgroup of this adapter has no memory for a tile of f64: nothing is compared"
    );
    for n in SIZES.into_iter().chain([2048, 2049, 70_000]) {
        let (xs, neutral) = (floats(n as u64, n), Operand::Number(adl_ir::Lit::F64(0.0)));
        for kind in ["reduce", "scan", "scan_exclusive"] {
            let p = soac(kind, "f64", "add");
            let on = |g: &Gpu| twice(g, &p, &[vector(g, &Data::F64(xs.clone())), neutral.clone()]);
            let (a, b) = (on(&gpu), on(&small));
            assert!(same(&a[0], &b[0]), "{kind} {n}");
        }
    }
}

/// The operator of linear recurrences on Floats: sums and products whose last digits depend on the grouping.
fn recurrence_of_floats(kind: &str) -> Program {
    program(&format!(
        "fn f0 t (v0: []f64, v1: []f64, v2: f64, v3: f64) -> ([]f64, []f64) {{
          v5: []f64, v6: []f64 = {kind} (v2, v3) over (v0, v1) (v7: f64, v8: f64, v9: f64, v10: f64) {{
            v11: f64 = mul v9 v7
            v13: f64 = mul v9 v8
            v14: f64 = add v13 v10
            return v11, v14
          }}
          return v5, v6
        }}"
    ))
}

#[test]
fn scans_in_one_pass_and_in_two_are_the_same_bits() {
    [true, false].into_iter().for_each(in_one_pass_and_in_two);
}

/// Compares scans in one pass and in two, with tiles in work-group memory or without.
fn in_one_pass_and_in_two(tiles: bool) {
    // A block of 256 tiles has 524,288 elements.
    let (twice_over, once) = (common::gpu().with_single_pass(None, 0), || {
        common::gpu().with_single_pass(Some(0), 1 << 14).with_tiles(tiles)
    });
    // On a busy machine a work-group may wait in vain, and the scan is repeated. This must not always happen.
    let mut passed = 0;
    let long = [524_287, 524_288, 524_289, 526_337, 1_200_000];
    let long = if tiles { &long[..] } else { &long[3..4] };
    for count in SIZES.into_iter().chain([2047, 2048, 2049, 4096]).chain(long.iter().copied()) {
        let gpu = once();
        let mut xs = floats(count as u64, count);
        if count == 4096 {
            (xs[2000], xs[2050], xs[4000]) = (f64::INFINITY, f64::NEG_INFINITY, 1.0);
        }
        for kind in ["scan", "scan_exclusive"] {
            let p = soac(kind, "f64", "add");
            let on =
                |g: &Gpu| twice(g, &p, &[vector(g, &Data::F64(xs.clone())), Operand::Number(adl_ir::Lit::F64(0.5))]);
            let (a, b) = (on(&twice_over), on(&gpu));
            assert!(same(&a[0], &b[0]), "{kind} {count}");
            let mut acc = 0.5;
            let near = xs.iter().zip(f64s(&a[0])).all(|(x, y)| {
                let before = acc;
                acc += x;
                let want = if kind == "scan" { acc } else { before };
                (want - y).abs() <= 1e-15 * count as f64 || want.to_bits() == y.to_bits() || want.is_nan() && y.is_nan()
            });
            assert!(near, "{kind} {count}");
        }
        passed += usize::from(count > 2048 && gpu.once().is_some());
    }
    assert!(passed > 0);
    let gpu = once();
    // Tuples, whose blocks have fewer tiles; a non-commutative operator; other types.
    let count = 300_000;
    let (factors, addends) = (floats(1, count), floats(2, count));
    let p = recurrence_of_floats("scan");
    let on = |g: &Gpu| {
        twice(
            g,
            &p,
            &[
                vector(g, &Data::F64(factors.clone())),
                vector(g, &Data::F64(addends.clone())),
                Operand::Number(adl_ir::Lit::F64(1.0)),
                Operand::Number(adl_ir::Lit::F64(0.25)),
            ],
        )
    };
    assert!(on(&twice_over).iter().zip(&on(&gpu)).all(|(a, b)| same(a, b)));
    let ys: Vec<f32> = factors.iter().map(|x| *x as f32).collect();
    let on = |g: &Gpu| {
        twice(
            g,
            &soac("scan", "f32", "add"),
            &[vector(g, &Data::F32(ys.clone())), Operand::Number(adl_ir::Lit::F32(0.0))],
        )
    };
    assert!(on(&twice_over).iter().zip(&on(&gpu)).all(|(a, b)| same(a, b)));
    let flags: Vec<bool> = (0..count).map(|i| i % 123_457 == 123_456).collect();
    let on = |g: &Gpu| {
        twice(
            g,
            &soac("scan", "bool", "ne"),
            &[vector(g, &Data::Bool(flags.clone())), Operand::Number(adl_ir::Lit::Bool(false))],
        )
    };
    assert_eq!(on(&gpu), [Data::Bool((0..count).map(|i| (i + 1) / 123_457 % 2 == 1).collect())]);
}

#[test]
fn rows_and_parts_are_scanned_in_one_pass() {
    let (whole, gpu) =
        (common::gpu().with_single_pass(None, 0), common::gpu().with_single_pass(Some(0), 1 << 14).with_tiles(true));
    let program = soac("scan", "f64", "add");
    let adl_ir::Op::Soac(s) = &program.funcs[0].body.stmts[0].op else { panic!() };
    let zero = |_: adl_ir::Var| Some(Operand::Number(adl_ir::Lit::F64(0.0)));
    for (rows, n) in [(1, 5000), (3, 5000), (50, 2049), (2, 530_000)] {
        let xs = Data::F64(floats(n as u64, rows * n));
        let on = |g: &Gpu| {
            let a = g.array(&xs, vec![rows, n]).unwrap();
            g.read(&adl_gpu::soac::rows(g, &program, &program.funcs[0], s, &zero, &[a], rows, n).unwrap()[0]).unwrap()
        };
        assert!(same(&on(&whole), &on(&gpu)), "{rows} {n}");
    }
    let split = common::gpu().with_single_pass(Some(0), 1 << 14).with_binding_size(128 * 1024).with_tiles(true);
    let xs = Data::F64(floats(9, 100_000));
    let on = |g: &Gpu| twice(g, &program, &[vector(g, &xs), Operand::Number(adl_ir::Lit::F64(0.0))]);
    assert!(same(&on(&whole)[0], &on(&split)[0]));
    assert_eq!((whole.once(), split.caps.once), (None, Some(0)));
}

#[test]
fn who_waits_in_vain_has_the_scan_done_again() {
    let (gpu, whole) =
        (common::gpu().with_single_pass(Some(0), 0).with_tiles(true), common::gpu().with_single_pass(None, 0));
    let (p, ints) = (soac("scan", "f64", "add"), soac("scan", "i64", "add"));
    let n = 600_000;
    let (xs, ks) = (Data::F64(floats(4, n)), (0..n as i64).collect::<Vec<_>>());
    assert_eq!(gpu.once(), Some(0));
    let on = |g: &Gpu| common::run(g, &p, &[vector(g, &xs), Operand::Number(adl_ir::Lit::F64(0.0))]).unwrap();
    assert!(same(&on(&gpu)[0], &on(&whole)[0]));
    assert_eq!(gpu.once(), None);
    let before = gpu.work().kernels;
    assert!(same(&on(&gpu)[0], &on(&whole)[0]));
    assert_eq!(gpu.work().kernels - before, 4);
    // Ints whose partial sums may overflow: the result is right, or a fault, after which the CPU repeats the call.
    let gpu = common::gpu().with_single_pass(Some(0), 0);
    let want: Vec<i64> = ks.iter().map(|k| k * (k + 1) / 2).collect();
    match common::run(&gpu, &ints, &[vector(&gpu, &Data::I64(ks)), Operand::Number(adl_ir::Lit::I64(0))]) {
        Ok(got) => assert_eq!(got, [Data::I64(want)]),
        Err(e) => assert!(matches!(e, Error::Fault(_)), "{e}"),
    }
}
