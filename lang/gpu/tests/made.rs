//! Compares contractions, positions, ranges and random numbers with the reference evaluator, and with numbers drawn on
//! the CPU.

use crate::common;

use adl_gpu::exec::{self, Value};
use adl_gpu::{Data, Error, Gpu, Scalar, random};
use adl_ir::generate::rng::Rng;
use adl_ir::{FnId, Lit, Program, Val};
use common::{SIZES, program};
use std::rc::Rc;

/// An argument for both.
fn given(gpu: &Gpu, v: &Val) -> Value {
    match v {
        Val::F64(x) => Value::Number(Lit::F64(*x)),
        Val::I64(n) => Value::Number(Lit::I64(*n)),
        Val::Array(a) => {
            let leaves = v.leaves();
            let data = match leaves.first() {
                Some(Val::Bool(_)) => Data::Bool(leaves.iter().map(|v| **v == Val::Bool(true)).collect()),
                _ => Data::F64(leaves.iter().filter_map(|v| v.float()).collect()),
            };
            Value::Array(gpu.array(&data, a.shape.clone()).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

fn numbers(d: Data) -> Vec<f64> {
    match d {
        Data::F64(x) => x,
        Data::I64(x) => x.iter().map(|x| *x as f64).collect(),
        other => panic!("{other:?}"),
    }
}

/// Compares the first result on the device with the evaluator's, with relative error `within` (1 for equal bits).
fn agree(gpu: &Gpu, p: &Program, args: &[Val], within: f64) {
    let got = exec::run(gpu, p, FnId(0), &args.iter().map(|v| given(gpu, v)).collect::<Vec<_>>()).unwrap();
    let want = adl_ir::eval::run(p, FnId(0), args, &[]).unwrap().results;
    let Value::Array(a) = &got[0] else { panic!("{got:?}") };
    assert_eq!(a.shape, want[0].arr().unwrap().shape);
    let want: Vec<f64> =
        want[0].leaves().iter().map(|v| if let Val::I64(n) = v { *n as f64 } else { v.float().unwrap() }).collect();
    for (k, (g, w)) in numbers(gpu.read(a).unwrap()).iter().zip(&want).enumerate() {
        assert!(
            g.to_bits() == w.to_bits() || (g - w).abs() <= within * w.abs().max(1.0),
            "number {k} of {}: {g:?} instead of {w:?}",
            want.len()
        );
    }
}

fn matrix(seed: u64, n: usize, m: usize) -> Val {
    let mut rng = Rng::new(seed);
    Val::array(vec![n, m], (0..n * m).map(|_| Val::F64(2.0 * rng.unit() - 1.0)).collect())
}

#[test]
fn contractions_of_matrices_that_lie_any_way() {
    let gpu = common::gpu();
    for terms in ["mul", "scale", "scaled"] {
        for turned in [["", ""], ["turned ", ""], ["", "turned "], ["turned ", "turned "]] {
            let text = format!(
                "fn f0 t (v0: [][]f64, v1: [][]f64, v2: i64, v3: i64, v4: i64) -> ([][]f64) {{
                  v5: [][]f64 = contract {terms} v0 {}v1 {}v2 v3 v4
                  return v5
                }}",
                turned[0], turned[1]
            );
            let p = program(&text);
            for [n, m, k] in [[0, 3, 2], [3, 2, 0], [1, 1, 1], [31, 33, 32], [5, 4, 1000], [70, 65, 17]] {
                let (a, b) = (
                    if turned[0].is_empty() { matrix(1, n, k) } else { matrix(1, k, n) },
                    if turned[1].is_empty() { matrix(2, m, k) } else { matrix(2, k, m) },
                );
                agree(
                    &gpu,
                    &p,
                    &[a, b, Val::I64(n as i64), Val::I64(m as i64), Val::I64(k as i64)],
                    1e-13 * (k as f64).max(1.0),
                );
            }
        }
    }
}

#[test]
fn contractions_of_vectors_and_of_parts() {
    let gpu = common::gpu();
    let p = program(
        "fn f0 t (v0: []f64, v1: [][]f64, v2: i64, v3: i64) -> ([]f64) { v4: i64 = 1 v5: []f64 = contract mul v0 v1 turned v4 v2 v3 return v5 }",
    );
    let vector = |n: usize| Val::floats(&matrix(3, 1, n).leaves().iter().filter_map(|v| v.float()).collect::<Vec<_>>());
    for (m, k) in [(1, 1), (33, 31), (1000, 5), (4, 100_000)] {
        // The arrays have more rows and columns than requested.
        agree(&gpu, &p, &[vector(k), matrix(4, k + 2, m + 3), Val::I64(m as i64), Val::I64(k as i64)], 1e-10);
    }
    let short = exec::run(
        &gpu,
        &p,
        FnId(0),
        &[
            given(&gpu, &vector(5)),
            given(&gpu, &matrix(4, 4, 3)),
            Value::Number(Lit::I64(3)),
            Value::Number(Lit::I64(5)),
        ],
    );
    assert!(matches!(short, Err(Error::Fault(_))), "{short:?}");
}

#[test]
fn positions_where_something_holds() {
    let gpu = common::gpu();
    let held = program("fn f0 t (v0: []bool) -> ([]i64) { v1: []i64 = nonzero v0 return v1 }");
    let zeros = program("fn f0 t (v0: []f64) -> ([]i64) { v1: []i64 = zeros v0 return v1 }");
    for n in SIZES {
        for few in [0, 1, 2, 7] {
            let mut rng = Rng::new(n as u64 + few);
            let flags: Vec<bool> = (0..n).map(|_| few > 0 && rng.bits().is_multiple_of(few)).collect();
            agree(&gpu, &held, &[Val::array(vec![n], flags.iter().map(|f| Val::Bool(*f)).collect())], 0.0);
            let numbers: Vec<f64> = flags
                .iter()
                .enumerate()
                .map(|(i, f)| if *f { if i % 2 == 0 { 0.0 } else { -0.0 } } else { f64::NAN })
                .collect();
            agree(&gpu, &zeros, &[Val::floats(&numbers)], 0.0);
        }
    }
}

#[test]
fn ranges_steps_and_units() {
    let gpu = common::gpu();
    let range = program("fn f0 t (v0: i64, v1: i64) -> ([]i64) { v2: []i64 = prim range v0 v1 return v2 }");
    let eye = program("fn f0 t (v0: i64) -> ([][]f64) { v1: [][]f64 = prim eye v0 return v1 }");
    for n in SIZES.map(|n| n as i64) {
        agree(&gpu, &range, &[Val::I64(-7), Val::I64(n - 7)], 0.0);
        if n <= 1000 {
            agree(&gpu, &eye, &[Val::I64(n)], 0.0);
        }
    }
    agree(&gpu, &range, &[Val::I64(3), Val::I64(-3)], 0.0);
    agree(&gpu, &range, &[Val::I64(1 << 40), Val::I64((1 << 40) + 5)], 0.0);
}

fn real(gpu: &Gpu, a: &adl_gpu::Array) -> Vec<f64> {
    numbers(gpu.read(a).unwrap())
}

/// The values of `random.key 42` and its draws on the CPU.
#[test]
fn random_numbers_are_the_cpus() {
    let gpu = common::gpu();
    let key = random::key(42);
    assert_eq!(key.map(|w| w as i64), [4233071804490292848, -5885229139722125909]);
    assert_eq!(
        random::split(key, 3),
        [
            vec![7110525291089503907, 9199024639396930392, -4555054218226546140],
            vec![4164179731837268575, -6877109127970219870, 1779612518329552839]
        ]
    );
    let uniform = random::uniform(&gpu, key, vec![5]).unwrap();
    assert_eq!(
        real(&gpu, &uniform),
        [0.43251901389983627, 0.6250430740102878, 0.8485891049294163, 0.43185307520831984, 0.3398934635137132]
    );
    let normal = real(&gpu, &random::normal(&gpu, key, vec![5]).unwrap());
    let want = [-0.7524901138876342, -0.7528975350044333, -1.7676543798875093, 0.8067923835078036, 0.634186234402724];
    assert!(normal.iter().zip(want).all(|(g, w)| (g - w).abs() <= 4.0 * f64::EPSILON * w.abs()), "{normal:?}");
    assert_eq!(
        gpu.read(&random::ints(&gpu, key, (-3, 1_000_000), vec![6]).unwrap()).unwrap(),
        Data::I64(vec![432517, 625041, 848588, 431851, 339891, 127519])
    );
    for n in SIZES {
        let there = random::split_on_device(&gpu, key, n).unwrap();
        let words = random::split(key, n);
        for (a, w) in there.iter().zip(words) {
            assert_eq!(gpu.read(a).unwrap(), Data::I64(w));
        }
        // A longer draw starts with the shorter one, and Ints use the same words as uniform numbers.
        let (u, i) = (
            real(&gpu, &random::uniform(&gpu, key, vec![n]).unwrap()),
            gpu.read(&random::ints(&gpu, key, (0, 1 << 53), vec![n]).unwrap()).unwrap(),
        );
        assert!(u.iter().zip(real(&gpu, &uniform)).all(|(a, b)| *a == b));
        assert_eq!(Data::I64(u.iter().map(|x| (x * (1u64 << 53) as f64) as i64).collect()), i);
    }
}

#[test]
fn random_numbers_of_programs() {
    let gpu = common::gpu();
    let parsed = program(
        "data D0 Key = Key(i64, i64)
        fn f0 t (v0: i64, v1: D0) -> ([][]f64, i64, i64, []i64, []i64) {
          v2: i64, v3: i64 = prim __rand_key v0
          v4: i64 = 2
          v5: []i64 = array v4 v4
          v6: [][]f64 = prim __rand_uniform v1 v5
          v7: []i64, v8: []i64 = prim __rand_split v2 v3 v4
          return v6, v2, v3, v7, v8
        }",
    );
    let key = random::key(42).map(|w| Value::Number(Lit::I64(w as i64)));
    let made = exec::run(&gpu, &parsed, FnId(0), &[Value::Number(Lit::I64(42)), Value::Data(0, Rc::new(key.to_vec()))])
        .unwrap();
    let Value::Array(a) = &made[0] else { panic!("{made:?}") };
    assert_eq!(
        (a.scalar, a.shape.as_slice(), real(&gpu, a)),
        (
            Scalar::F64,
            &[2, 2][..],
            vec![0.43251901389983627, 0.6250430740102878, 0.8485891049294163, 0.43185307520831984]
        )
    );
    assert!(matches!(&made[3], Value::Ints(x) if x[0] == 7110525291089503907), "{made:?}");
}
