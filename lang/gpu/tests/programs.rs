//! Programs as users write them, and their gradients, in the form that the compiler passes on: correct, and with a
//! number of kernels that does not depend on trip counts.
//!
//! `programs/*.ir` are the output of `adl ir --stage spec` for short functions.

use crate::common;

use adl_ad::Ad;
use adl_gpu::exec::{Prepared, Value};
use adl_gpu::{Gpu, Res};
use adl_ir::generate::rng::Rng;
use adl_ir::{FnId, Program, Val};
use adl_specialise::world::Transforms;
use common::values::{agree, like, numbers, value};

/// A program, its primal and transposed linear halves, ready for lowering; and the number of results that are the
/// function's own.
struct ProgramHalves {
    p: Program,
    whole: FnId,
    primal: FnId,
    cotangent: FnId,
    results: usize,
}

fn halves(text: &str) -> ProgramHalves {
    let mut program = common::program(text);
    let whole = FnId(0);
    let mut ad = Ad::new();
    ad.optimise = true;
    let wrt = vec![true; program.func(whole).body.params.len()];
    let l = ad.linearize(&mut program, whole, &wrt).unwrap();
    for f in [whole, l.primal, l.cotangent] {
        let mut own = (**program.func(f)).clone();
        for pipeline in [adl_opt::pipelines::INLINED, adl_opt::pipelines::FINISH] {
            adl_opt::run(pipeline, &program, &mut own, adl_ir::Zeros::Symbolic);
        }
        program.set(f, own);
    }
    ProgramHalves { whole, primal: l.primal, cotangent: l.cotangent, results: l.results, p: program }
}

fn matrix(seed: u64, n: usize, m: usize) -> Val {
    let mut rng = Rng::new(seed);
    Val::array(vec![n, m], (0..n * m).map(|_| Val::F64(rng.unit() - 0.5)).collect())
}

fn vector(seed: u64, n: usize) -> Val {
    Val::floats(&matrix(seed, 1, n).leaves().iter().filter_map(|v| v.float()).collect::<Vec<_>>())
}

fn labels(n: usize, classes: usize) -> Val {
    Val::ints(&(0..n).map(|i| (i * 7 % classes) as i64).collect::<Vec<_>>())
}

fn values(gpu: &Gpu, p: &Program, f: FnId, args: &[Val]) -> Vec<Value> {
    let f = p.func(f);
    args.iter().zip(&f.body.params).map(|(a, v)| value(gpu, f.ty(*v), a)).collect()
}

/// Checks that recorded kernels are replayed for equal shapes: on other numbers, then on these.
fn again(gpu: &Gpu, halves: &ProgramHalves, id: FnId, ready: &Prepared, args: &[Value], made: &[Value]) {
    let f64s = |v: &Value| matches!(v, Value::Array(a) if a.scalar == adl_gpu::Scalar::F64);
    let other: Vec<Value> = args
        .iter()
        .map(|v| {
            if let Value::Array(a) = v
                && f64s(v)
            {
                Value::Array(changed(gpu, a))
            } else {
                v.clone()
            }
        })
        .collect();
    // Residuals that were changed in isolation may violate the function's assumptions.
    if id == halves.whole {
        let got = ready.run(gpu, &other).unwrap();
        let fresh = adl_gpu::exec::run(gpu, &halves.p, id, &other).unwrap();
        assert_eq!(
            got.iter().map(|v| numbers(gpu, v)).collect::<Vec<_>>(),
            fresh.iter().map(|v| numbers(gpu, v)).collect::<Vec<_>>()
        );
    }
    let compiled = gpu.work().compiled;
    let same = ready.run(gpu, args).unwrap();
    assert_eq!(compiled, gpu.work().compiled);
    for (a, b) in same.iter().zip(made) {
        assert_eq!(numbers(gpu, a), numbers(gpu, b));
    }
}

/// An array with other numbers.
fn changed(gpu: &Gpu, a: &adl_gpu::Array) -> adl_gpu::Array {
    match gpu.read(a).unwrap() {
        adl_gpu::Data::F64(x) => {
            gpu.array(&adl_gpu::Data::F64(x.iter().map(|x| 0.25 - 1.5 * x).collect()), a.shape.clone()).unwrap()
        }
        other => gpu.array(&other, a.shape.clone()).unwrap(),
    }
}

/// Runs the function and both halves on the device. Returns all results and the number of kernels of each.
fn on_device(gpu: &Gpu, halves: &ProgramHalves, args: &[Val], seeds: &[Val]) -> Res<(Vec<Vec<Value>>, [u64; 3])> {
    let args = values(gpu, &halves.p, halves.whole, args);
    let counted = |f: FnId, args: &[Value]| {
        let before = gpu.work().kernels;
        let ready = Prepared::new(&halves.p, f);
        let made = ready.run(gpu, args)?;
        let kernels = gpu.work().kernels - before;
        again(gpu, halves, f, &ready, args, &made);
        Ok((made, kernels))
    };
    let (whole, a) = counted(halves.whole, &args)?;
    let (mut primal, b) = counted(halves.primal, &args)?;
    let kept = primal.split_off(halves.results);
    let seeds: Vec<Value> = seeds
        .iter()
        .map(|s| value(gpu, &adl_ir::Ty::F64.array(s.arr().map_or(0, |a| a.shape.len() as u32)), s))
        .collect();
    let (cotangent, c) = counted(halves.cotangent, &[kept, seeds].concat())?;
    Ok((vec![whole, primal, cotangent], [a, b, c]))
}

/// Checks results, and returns the numbers of kernels.
fn checked(gpu: &Gpu, h: &ProgramHalves, what: &str, args: &[Val]) -> [u64; 3] {
    let run = |f: FnId, args: &[Val]| adl_ir::eval::run(&h.p, f, args, &[]).unwrap().results;
    let whole = run(h.whole, args);
    let mut primal = run(h.primal, args);
    let kept = primal.split_off(h.results);
    let seeds: Vec<Val> = primal.iter().map(like).collect();
    let cotangent = run(h.cotangent, &[kept, seeds.clone()].concat());
    let (made, kernels) = on_device(gpu, h, args, &seeds).unwrap_or_else(|e| panic!("{what}: {e}"));
    for (got, want) in made.iter().zip([whole, primal, cotangent]) {
        agree(gpu, what, got, &want);
    }
    kernels
}

/// Checks that the number of kernels does not grow with the trip count.
fn steady(what: &str, text: &str, args: impl Fn(usize) -> Vec<Val>) {
    let (gpu, h) = (common::gpu(), halves(text));
    for n in [1, 2, 7] {
        checked(&gpu, &h, what, &args(n));
    }
    let (few, many) = (checked(&gpu, &h, what, &args(40)), checked(&gpu, &h, what, &args(300)));
    println!("{what}: {few:?} {many:?}");
    assert!(few.iter().zip(&many).all(|(a, b)| *b <= *a + 4), "{what}: {few:?} kernels for 40, {many:?} for 300");
}

#[test]
fn sums_over_rows() {
    steady("rows", include_str!("programs/rows.ir"), |n| vec![vector(1, 5), matrix(2, n, 5)]);
    steady("lse", include_str!("programs/lse.ir"), |n| vec![matrix(2, n, 5)]);
}

#[test]
fn clusters() {
    steady("k-means", include_str!("programs/kmeans.ir"), |n| vec![matrix(1, 4, 3), matrix(2, n, 3)]);
    steady("mixture", include_str!("programs/gmm.ir"), |n| vec![matrix(1, 4, 3), matrix(2, 4, 3), matrix(3, n, 3)]);
}

#[test]
fn networks_picture_by_picture() {
    steady("network", include_str!("programs/net.ir"), |n| {
        vec![matrix(1, 6, 4), matrix(2, 3, 6), matrix(3, n, 4), labels(n, 3)]
    });
    steady("perceptron", include_str!("programs/mlp.ir"), |n| {
        vec![matrix(1, 6, 4), vector(4, 6), matrix(2, 3, 6), matrix(3, n, 4), labels(n, 3)]
    });
}

#[test]
fn stencils() {
    steady("stencil", include_str!("programs/stencil.ir"), |n| vec![matrix(1, n + 3, 6)]);
}

/// Few long iterations are batched; few short ones run in threads.
#[test]
fn few_turns() {
    let (gpu, h) = (common::gpu(), halves(include_str!("programs/few.ir")));
    for n in [3, 5000] {
        println!("few: {:?}", checked(&gpu, &h, "few", &[vector(1, n), vector(2, 5)]));
    }
}

#[test]
fn networks_of_batches() {
    steady("batch", include_str!("programs/batch.ir"), |n| {
        vec![matrix(1, 4, 6), vector(2, 6), matrix(3, n, 4), vector(4, n)]
    });
}

#[test]
fn branches_add() {
    steady("pick", include_str!("programs/pick.ir"), |n| vec![matrix(1, n, 6), labels(n, 5), matrix(2, 6, 5)]);
    steady("triangular", include_str!("programs/triangular.ir"), |n| {
        vec![vector(1, 4), matrix(2, 4, 3), matrix(3, 4, 3), matrix(4, 4, 3), matrix(5, n, 3)]
    });
}

/// Sums with element indices in nested arms, and in a loop in an arm; those of arms that are not taken are out of
/// bounds.
#[test]
fn arms_add_to_elements() {
    let gpu = common::gpu();
    let program = common::program(include_str!("programs/arms.ir"));
    let ready = Prepared::new(&program, FnId(0));
    let run = |n: usize, wrong: i64| {
        let rows: Vec<i64> = (0..n).map(|i| if i % 3 == 0 { -1 } else { (i * 5 % 4) as i64 }).collect();
        let columns: Vec<i64> = (0..n).map(|i| if i == 1 { wrong } else { (i * 7 % 3) as i64 }).collect();
        let args = [matrix(1, 4, 3), vector(2, 3), Val::ints(&rows), Val::ints(&columns), vector(3, n)];
        let before = gpu.work().kernels;
        let made = ready.run(&gpu, &values(&gpu, &program, FnId(0), &args));
        (made, args, gpu.work().kernels - before)
    };
    let mut kernels = Vec::new();
    for n in [1, 2, 40, 700] {
        let (made, args, k) = run(n, 2);
        agree(&gpu, "arms", &made.unwrap(), &adl_ir::eval::run(&program, FnId(0), &args, &[]).unwrap().results);
        kernels.push(k);
    }
    assert!(kernels[3] <= kernels[2] + 4, "{kernels:?}");
    println!("arms: {kernels:?}");
    // The index of an arm that is taken is checked.
    let wrong = run(40, 3).0.and_then(|_| gpu.wait());
    assert!(matches!(wrong, Err(adl_gpu::Error::Fault(_))), "{wrong:?}");
}

#[test]
fn loops_with_state() {
    steady("ode", include_str!("programs/ode.ir"), |n| vec![vector(1, 2 + n), Val::F64(0.5)]);
    let (gpu, h) = (common::gpu(), halves(include_str!("programs/lstm.ir")));
    for (t, k) in [(1, 1), (3, 4), (12, 33)] {
        println!("lstm: {:?}", checked(&gpu, &h, "lstm", &[matrix(1, k, k), matrix(2, k, 5), matrix(3, t, 5)]));
    }
}
