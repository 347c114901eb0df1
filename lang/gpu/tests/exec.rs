//! Whole programs, and their gradients, on the device against the reference evaluator. `ADL_PROGRAMS=1000` makes the run longer.

mod common;

use adl_ad::Ad;
use adl_gpu::exec::{self, Value};
use adl_gpu::{Data, Error, Gpu, Scalar};
use adl_ir::{FnId, Lit, Program, Ty, Val, generate};
use adl_specialise::world::Transforms;
use std::collections::HashMap;
use std::rc::Rc;

/// The primal half, how many of its results are the function's, and the transposed linear half with which results it takes.
fn linearized(p: &mut Program, f: FnId) -> Option<(FnId, usize, FnId, Vec<bool>)> {
    let n = p.func(f).body.params.len();
    let l = Ad::new().linearize(p, f, &vec![true; n]).ok()?;
    Some((l.primal, l.results, l.cotangent, l.active))
}

/// A value for the device.
fn value(gpu: &Gpu, ty: &Ty, v: &Val) -> Value {
    match v {
        Val::F64(x) => Value::Number(Lit::F64(*x)),
        Val::F32(x) => Value::Number(Lit::F32(*x)),
        Val::I64(x) => Value::Number(Lit::I64(*x)),
        Val::Bool(x) => Value::Number(Lit::Bool(*x)),
        Val::Str(x) => Value::Number(Lit::Str(x.clone())),
        // All arrays in data are of Floats here.
        Val::Data(c) => Value::Data(c.tag, Rc::new(c.fields.iter().map(|f| value(gpu, &Ty::F64.array(1), f)).collect())),
        Val::Array(a) if ty.scalar().is_flat() => Value::Array(gpu.array(&data(ty, v), a.shape.clone()).unwrap()),
        Val::Array(a) => Value::Data(0, Rc::new(a.elems.iter().map(|f| value(gpu, &ty.elem(), f)).collect())),
        Val::Absent | Val::Deps(_) => Value::Absent,
    }
}

fn data(ty: &Ty, v: &Val) -> Data {
    let leaves = v.leaves();
    match Scalar::of(ty.scalar()).unwrap() {
        Scalar::F64 => Data::F64(leaves.iter().filter_map(|v| v.float()).collect()),
        Scalar::F32 => Data::F32(leaves.iter().filter_map(|v| v.float()).map(|x| x as f32).collect()),
        Scalar::I64 => Data::I64(leaves.iter().filter_map(|v| if let Val::I64(n) = v { Some(*n) } else { None }).collect()),
        Scalar::Bool | Scalar::Word => Data::Bool(leaves.iter().map(|v| **v == Val::Bool(true)).collect()),
    }
}

/// All numbers of a value, read from the device.
fn numbers(gpu: &Gpu, v: &Value) -> Vec<f64> {
    match v {
        Value::Number(Lit::F64(x)) => vec![*x],
        Value::Number(Lit::F32(x)) => vec![f64::from(*x)],
        Value::Number(Lit::I64(n)) => vec![*n as f64],
        Value::Number(Lit::Bool(b)) => vec![f64::from(u8::from(*b))],
        Value::Number(Lit::Str(_)) | Value::Absent => Vec::new(),
        Value::Ints(x) => x.iter().map(|n| *n as f64).collect(),
        Value::Data(_, fields) => fields.iter().flat_map(|f| numbers(gpu, f)).collect(),
        Value::Array(a) => match gpu.read(a).unwrap() {
            Data::F64(x) => x,
            Data::F32(x) => x.iter().map(|x| f64::from(*x)).collect(),
            Data::I64(x) => x.iter().map(|x| *x as f64).collect(),
            Data::Bool(x) => x.iter().map(|x| f64::from(u8::from(*x))).collect(),
            Data::Word(x) => x.iter().map(|x| f64::from(*x)).collect(),
        },
    }
}

fn wanted(v: &Val) -> Vec<f64> {
    let one = |v: &&Val| match v {
        Val::I64(n) => Some(*n as f64),
        Val::Bool(b) => Some(f64::from(u8::from(*b))),
        other => other.float(),
    };
    v.leaves().iter().filter_map(one).collect()
}

/// What the device makes of a call, if all of it is there.
fn on_device(gpu: &Gpu, p: &Program, f: FnId, args: &[Value], refused: &mut HashMap<String, usize>) -> Option<Vec<Value>> {
    match exec::run(gpu, p, f, args) {
        Ok(x) => Some(x),
        Err(Error::NotHere(why)) => {
            *refused.entry(why).or_default() += 1;
            None
        }
        Err(e) => panic!("{e}\n{}", adl_ir::print::program(p, adl_ir::print::Style::PLAIN)),
    }
}

fn agree(gpu: &Gpu, what: &str, got: &[Value], want: &[Val]) {
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        let (g, w) = (numbers(gpu, g), wanted(w));
        // A zero that nobody needed is absent in one, and written out in the other.
        let zero = |x: &[f64], y: &[f64]| x.is_empty() && y.iter().all(|y| *y == 0.0);
        let near = g.len() == w.len() && g.iter().zip(&w).all(|(a, b)| (a - b).abs() <= 1e-10 * b.abs().max(1.0) || a == b || a.is_nan() && b.is_nan());
        assert!(near || zero(&g, &w) || zero(&w, &g), "{what}, result {k}: {g:?} instead of {w:?}");
    }
}

/// Numbers for a cotangent, of the shape of a value.
fn like(v: &Val) -> Val {
    match v {
        Val::F64(x) => Val::F64(0.5 + 0.25 * x),
        Val::Array(a) => Val::array(a.shape.clone(), a.elems.iter().map(like).collect()),
        other => other.clone(),
    }
}

/// Only reals and arrays of them have cotangents that this test can make.
fn plain(v: &Val) -> bool {
    v.arr().is_none_or(|a| a.elems.iter().all(|x| matches!(x, Val::F64(_)))) && !matches!(v, Val::Data(_))
}

/// A program and its gradient; which of the two ran.
fn check(gpu: &Gpu, p: &Program, main: FnId, args: &[Val], what: &str, refused: &mut HashMap<String, usize>) -> (bool, bool) {
    let mut p = p.clone();
    let values = |p: &Program, f: FnId, args: &[Val]| -> Vec<Value> { args.iter().zip(&p.func(f).body.params.clone()).map(|(a, v)| value(gpu, p.func(f).ty(*v), a)).collect() };
    let Ok(want) = adl_ir::eval::run(&p, main, args, &[]) else { return (false, false) };
    let device_args = values(&p, main, args);
    let Some(got) = on_device(gpu, &p, main, &device_args, refused) else { return (false, false) };
    agree(gpu, what, &got, &want.results);
    let Some((primal, results, cotangent, active)) = linearized(&mut p, main) else { return (true, false) };
    let mut all = adl_ir::eval::run(&p, primal, args, &[]).unwrap().results;
    let residuals = all.split_off(results);
    let seeds: Vec<Val> = all.iter().zip(&active).filter(|(_, a)| **a).map(|(v, _)| like(v)).collect();
    if !seeds.iter().all(plain) {
        return (true, false);
    }
    let want = adl_ir::eval::run(&p, cotangent, &[residuals, seeds.clone()].concat(), &[]).unwrap().results;
    let Some(mut made) = on_device(gpu, &p, primal, &device_args, refused) else { return (true, false) };
    let kept = made.split_off(results);
    let seeds = seeds.iter().map(|s| value(gpu, &Ty::F64.array(s.arr().map_or(0, |a| a.shape.len() as u32)), s));
    let Some(got) = on_device(gpu, &p, cotangent, &kept.into_iter().chain(seeds).collect::<Vec<_>>(), refused) else { return (true, false) };
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
    assert!(programs > 30 && gradients > 20, "{programs} programs, {gradients} gradients: {why:#?}");
}
