//! Whole programs and their gradients, on the device and in the reference evaluator. `ADL_PROGRAMS=1000` tests more
//! programs.

use crate::common;

use adl_ad::Ad;
use adl_gpu::exec::{self, Value};
use adl_gpu::{Data, Error, Gpu, Res};
use adl_ir::{FnId, Program, Ty, Val, generate};
use adl_specialise::world::Transforms;
use common::values::{agree, like, plain, value};
use std::collections::HashMap;

/// The primal half, the number of its results that are the function's, and the transposed linear half with the results
/// that it uses.
fn linearized(p: &mut Program, f: FnId) -> Option<(FnId, usize, FnId, Vec<bool>)> {
    let n = p.func(f).body.params.len();
    let l = Ad::new().linearize(p, f, &vec![true; n]).ok()?;
    Some((l.primal, l.results, l.cotangent, l.active))
}

/// Runs a function on other numbers first, so that the second run replays recorded kernels.
fn run_again(gpu: &Gpu, p: &Program, f: FnId, args: &[Value]) -> Res<Vec<Value>> {
    let ready = exec::Prepared::new(p, f);
    let other = |v: &Value| match v {
        Value::Array(a) => match gpu.read(a).unwrap() {
            Data::F64(x) => Value::Array(
                gpu.array(&Data::F64(x.iter().map(|x| 0.75 - 0.5 * x).collect()), a.shape.clone()).unwrap(),
            ),
            _ => v.clone(),
        },
        v => v.clone(),
    };
    // Other numbers may fail a check, which the next read would report.
    let _ = ready.run(gpu, &args.iter().map(other).collect::<Vec<_>>());
    let _ = gpu.wait();
    ready.run(gpu, args)
}

/// The device's results of a call, unless the device refuses it.
fn on_device(
    gpu: &Gpu,
    program: &Program,
    f: FnId,
    args: &[Value],
    refused: &mut HashMap<String, usize>,
) -> Option<Vec<Value>> {
    match run_again(gpu, program, f, args) {
        Ok(x) => Some(x),
        Err(Error::Unsupported(why)) => {
            *refused.entry(why).or_default() += 1;
            None
        }
        Err(e) => panic!("{e}\n{}", adl_ir::print::program(program, adl_ir::print::Style::PLAIN)),
    }
}

/// Checks a program and its gradient; returns which of the two ran on the device.
fn check(
    gpu: &Gpu,
    p: &Program,
    main: FnId,
    args: &[Val],
    what: &str,
    refused: &mut HashMap<String, usize>,
) -> (bool, bool) {
    let mut program = p.clone();
    let values = |p: &Program, f: FnId, args: &[Val]| -> Vec<Value> {
        args.iter().zip(&p.func(f).body.params.clone()).map(|(a, v)| value(gpu, p.func(f).ty(*v), a)).collect()
    };
    let Ok(want) = adl_ir::eval::run(&program, main, args, &[]) else { return (false, false) };
    let device_args = values(&program, main, args);
    let Some(got) = on_device(gpu, &program, main, &device_args, refused) else { return (false, false) };
    agree(gpu, what, &got, &want.results);
    let Some((primal, results, cotangent, active)) = linearized(&mut program, main) else { return (true, false) };
    let mut all = adl_ir::eval::run(&program, primal, args, &[]).unwrap().results;
    let residuals = all.split_off(results);
    let seeds: Vec<Val> = all.iter().zip(&active).filter(|(_, a)| **a).map(|(v, _)| like(v)).collect();
    if !seeds.iter().all(plain) {
        return (true, false);
    }
    let want = adl_ir::eval::run(&program, cotangent, &[residuals, seeds.clone()].concat(), &[]).unwrap().results;
    let Some(mut made) = on_device(gpu, &program, primal, &device_args, refused) else { return (true, false) };
    let kept = made.split_off(results);
    let seeds = seeds.iter().map(|s| value(gpu, &Ty::F64.array(s.arr().map_or(0, |a| a.shape.len() as u32)), s));
    let Some(got) = on_device(gpu, &program, cotangent, &kept.into_iter().chain(seeds).collect::<Vec<_>>(), refused)
    else {
        return (true, false);
    };
    agree(gpu, &format!("gradient of {what}"), &got, &want);
    (true, true)
}

#[test]
fn random_programs_and_their_gradients_are_the_evaluators() {
    let gpu = common::gpu();
    let (mut programs, mut gradients, mut refused) = (0, 0, HashMap::new());
    for seed in 0..common::programs(60) {
        let g = generate::program(seed, 5 + (seed % 20) as usize);
        let (a, b) = check(&gpu, &g.program, g.main, &g.args, &format!("seed {seed}"), &mut refused);
        programs += usize::from(a);
        gradients += usize::from(b);
    }
    let mut why: Vec<_> = refused.into_iter().collect();
    why.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    println!("{programs} programs, {gradients} gradients; not here: {why:#?}");
    // Residuals that are arrays are rows of one array; the CPU takes over if the loop runs no iteration.
    let missing: usize =
        why.iter().filter(|(why, _)| !why.contains("rows that no iteration makes")).map(|(_, n)| n).sum();
    assert!(
        programs > 30 && gradients > 20 && missing * 20 <= programs,
        "{programs} programs, {gradients} gradients: {why:#?}"
    );
}

#[test]
fn turns_have_their_own_index() {
    let gpu = common::gpu();
    let program = common::program(
        "fn f0 t (v0: f64, v1: []f64, v2: i64, v3: i64) -> ([]f64, [][]f64) {
          v4: []f64, v5: i64 = loop for v2 reverse out (collect) (v6: i64) {
            v7: []f64 = index_set v1 [v6] v0
            v8: f64 = sum_all v7
            return v8
          }
          v9: [][]f64, v10: i64 = loop for v2 out (collect) (v11: i64) {
            v12: []f64, v13: i64 = loop for v3 out (collect) (v14: i64) {
              v15: []f64 = index_add v1 [v14] v0
              v16: []f64 = index_set v15 [v11] v0
              v17: f64 = index v4 [v11]
              v18: []f64 = mul v16 v17
              v19: f64 = dot v18 v16
              return v19
            }
            return v12
          }
          return v4, v9
        }",
    );
    let args = [Val::F64(1.5), Val::floats(&[1.0, 2.0, 3.0, 4.0]), Val::I64(2), Val::I64(4)];
    let given: Vec<Value> = args
        .iter()
        .zip(&program.func(FnId(0)).body.params)
        .map(|(a, v)| value(&gpu, program.func(FnId(0)).ty(*v), a))
        .collect();
    let got = exec::run(&gpu, &program, FnId(0), &given).unwrap();
    agree(&gpu, "trip", &got, &adl_ir::eval::run(&program, FnId(0), &args, &[]).unwrap().results);
}

#[test]
fn what_is_not_for_a_gpu_is_known_before() {
    let why = |text: &str| exec::fits(&common::program(text), FnId(0));
    let text = |prim: &str| format!("fn f0 t (v0: [][]f64, v1: []f64) -> ([]f64) {{ {prim} return v1 }}");
    assert_eq!(why(&text("v2: []i64 = prim argsort v1")), Ok(()));
    assert!(why(&text("v2: f64 = prim __det v0")).unwrap_err().contains("linear algebra"));
    let recursive = "fn f0 t (v0: f64) -> (f64) { v1: f64 = call f1(v0) return v1 }
        fn f1 deep (v0: f64) -> (f64) { v1: f64 = 1.0 v2: bool = lt v0 v1 v3: f64 = if v2 { return v0 } else { v4: f64 = sub v0 v1 v5: f64 = call f1(v4) return v5 } return v3 }";
    assert!(why(recursive).unwrap_err().contains("calls itself"));
    assert_eq!(why("fn f0 t (v0: f64) -> (f64) { v1: str = \"a\" return v0 }"), Ok(()));
}

#[test]
fn products_of_all_turns_are_one_kernel() {
    let gpu = common::gpu();
    let program = common::program(
        "fn f0 t (v0: i64, v1: [][][]f64, v2: [][][]f64, v3: [][]f64) -> ([][][]f64, [][][]f64, [][]f64) {
          v4: [][][]f64, v5: [][][]f64, v6: [][]f64, v7: i64 = loop for v0 over (v1, v2) out (collect, collect, collect) (v8: i64, v9: [][]f64, v10: [][]f64) {
            v11: [][]f64 = matmul v9 v10
            v12: [][]f64 = matmul v3 v9
            v13: i64 = 0
            v14: []f64 = index v10 [v13]
            v15: []f64 = matmul v10 v14
            return v11, v12, v15
          }
          return v4, v5, v6
        }",
    );
    for (matrices, height, width) in [(3, 40, 33), (2, 70, 130), (5, 33, 64), (4, 8, 5)] {
        // Small integers, so that sums are exact in any order; one NaN, in the last iteration.
        let numbers =
            |seed: usize, count: usize| (0..count).map(|i| ((i * 7919 + seed) % 17) as f64 - 8.0).collect::<Vec<_>>();
        let array = |shape: &[usize], mut x: Vec<f64>, odd: bool| {
            if odd {
                *x.last_mut().unwrap() = f64::NAN;
            }
            Val::array(shape.to_vec(), x.into_iter().map(Val::F64).collect())
        };
        let args = [
            Val::I64(matrices as i64),
            array(&[matrices, height, width], numbers(1, matrices * height * width), true),
            array(&[matrices, width, width], numbers(2, matrices * width * width), false),
            array(&[height, height], numbers(3, height * height), false),
        ];
        let given: Vec<Value> = args
            .iter()
            .zip(&program.func(FnId(0)).body.params)
            .map(|(a, v)| value(&gpu, program.func(FnId(0)).ty(*v), a))
            .collect();
        let before = gpu.work().kernels;
        let got = exec::run(&gpu, &program, FnId(0), &given).unwrap();
        let kernels = gpu.work().kernels - before;
        agree(&gpu, "products", &got, &adl_ir::eval::run(&program, FnId(0), &args, &[]).unwrap().results);
        let again = exec::run(&gpu, &program, FnId(0), &given).unwrap();
        agree(&gpu, "products", &again, &adl_ir::eval::run(&program, FnId(0), &args, &[]).unwrap().results);
        // Three products, and a row of each iteration's matrix.
        assert_eq!(kernels, 4);
    }
}
