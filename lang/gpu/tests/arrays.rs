//! Compares kernels on whole arrays with plain Rust at all sizes; each runs twice and must give the same bits.

use crate::common;

use adl_gpu::index::{self, ByIndex};
use adl_gpu::{Array, Check, Data, Error, Gpu, Res, data_movement, gemm, soac, sort};
use adl_ir::generate::rng::Rng;
use common::{SIZES, program, same};

fn on(gpu: &Gpu, d: Data, shape: &[usize]) -> Array {
    gpu.array(&d, shape.to_vec()).unwrap()
}

fn vector(gpu: &Gpu, d: Data) -> Array {
    let n = d.len();
    on(gpu, d, &[n])
}

/// Runs a function twice, and checks that the results are the same bits.
fn twice(gpu: &Gpu, f: impl Fn() -> Res<Array>) -> Data {
    let (a, b) = (gpu.read(&f().unwrap()).unwrap(), gpu.read(&f().unwrap()).unwrap());
    assert!(same(&a, &b));
    a
}

/// Numbers with ties, zeros of both signs, infinities and NaN.
fn hard(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    let all = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0, 5e-324, -5e-324];
    (0..n)
        .map(
            |i| if i % 3 == 0 { all[rng.below(9)] } else { (rng.unit() - 0.5) * 10f64.powi(rng.below(40) as i32 - 20) },
        )
        .collect()
}

/// The indices that sort: stable, NaN last.
fn order(xs: &[f64]) -> Vec<usize> {
    let mut at: Vec<usize> = (0..xs.len()).collect();
    at.sort_by(|i, j| xs[*i].partial_cmp(&xs[*j]).unwrap_or_else(|| xs[*i].is_nan().cmp(&xs[*j].is_nan())));
    at
}

#[test]
fn numbers_of_all_kinds_are_sorted_stably() {
    let gpu = common::gpu();
    for count in SIZES.into_iter().chain([1023, 1024, 2047, 2048, 2049, 4097]) {
        let xs = hard(count as u64, count);
        let at = order(&xs);
        let a = vector(&gpu, Data::F64(xs.clone()));
        assert_eq!(
            twice(&gpu, || sort::argsort(&gpu, &a)),
            Data::I64(at.iter().map(|i| *i as i64).collect()),
            "{count}"
        );
        let ys: Vec<f32> = xs.iter().map(|x| *x as f32).collect();
        let at = order(&ys.iter().map(|y| f64::from(*y)).collect::<Vec<_>>());
        let b = vector(&gpu, Data::F32(ys.clone()));
        assert_eq!(
            twice(&gpu, || sort::argsort(&gpu, &b)),
            Data::I64(at.iter().map(|i| *i as i64).collect()),
            "{count}"
        );
        let mut rng = Rng::new(count as u64);
        let ks: Vec<i64> = (0..count).map(|i| (rng.bits() as i64) >> (i % 63)).collect();
        let c = vector(&gpu, Data::I64(ks.clone()));
        let mut at: Vec<i64> = (0..count as i64).collect();
        at.sort_by_key(|i| ks[*i as usize]);
        assert_eq!(twice(&gpu, || sort::argsort(&gpu, &c)), Data::I64(at));
        let bs: Vec<bool> = ks.iter().map(|k| k % 3 == 0).collect();
        let mut at: Vec<usize> = (0..count).collect();
        at.sort_by_key(|i| bs[*i]);
        let d = vector(&gpu, Data::Bool(bs));
        assert_eq!(twice(&gpu, || sort::argsort(&gpu, &d)), Data::I64(at.iter().map(|i| *i as i64).collect()));
    }
}

#[test]
fn numbers_move_where_they_should() {
    let gpu = common::gpu();
    for count in SIZES {
        let ks: Vec<i64> = (0..count as i64).collect();
        assert_eq!(twice(&gpu, || data_movement::iota(&gpu, count)), Data::I64(ks.clone()));
        let two = on(&gpu, Data::I64((0..2 * count as i64).collect()), &[count, 2]);
        let row = |i: usize| [2 * i as i64, 2 * i as i64 + 1];
        let rows = |is: &mut dyn Iterator<Item = usize>| Data::I64(is.flat_map(row).collect());
        assert_eq!(twice(&gpu, || data_movement::reverse(&gpu, &two)), rows(&mut (0..count).rev()));
        for by in [0, 1, -1, 1_000_003, i64::MIN] {
            let k = by.rem_euclid(count.max(1) as i64) as usize;
            assert_eq!(
                twice(&gpu, || data_movement::rotate(&gpu, by, &two)),
                rows(&mut (k..count).chain(0..k)),
                "{count} {by}"
            );
        }
        assert_eq!(
            twice(&gpu, || data_movement::slice(&gpu, &two, count / 3, count / 2)),
            rows(&mut (count / 3..count / 2))
        );
        assert_eq!(twice(&gpu, || data_movement::concat(&gpu, &two, &two)), rows(&mut (0..count).chain(0..count)));
        let few = vector(&gpu, Data::F32(vec![1.0, f32::NAN, 2.5]));
        let copies = twice(&gpu, || data_movement::replicate(&gpu, count, &few));
        assert!(same(&copies, &Data::F32((0..3 * count).map(|i| [1.0, f32::NAN, 2.5][i % 3]).collect())));
    }
    let a = vector(&gpu, Data::I64(vec![1, 2, 3]));
    assert!(matches!(data_movement::slice(&gpu, &a, 2, 4), Err(Error::Unsupported(_))));
}

#[test]
fn rows_are_gathered_and_indices_checked() {
    let gpu = common::gpu();
    for rows in SIZES.into_iter().skip(1) {
        let matrix = on(&gpu, Data::F64((0..3 * rows).map(|i| i as f64).collect()), &[rows, 3]);
        let ks: Vec<i64> = (0..rows as i64).map(|i| i * 7919 % rows as i64).collect();
        let at = vector(&gpu, Data::I64(ks.clone()));
        assert_eq!(
            twice(&gpu, || data_movement::gather(&gpu, &matrix, &at, false)),
            Data::F64(ks.iter().flat_map(|k| (0..3).map(move |c| (3 * k + c) as f64)).collect())
        );
        let beyond: Vec<i64> = ks.iter().map(|k| k - 1).chain([rows as i64, i64::MAX, i64::MIN]).collect();
        let far = vector(&gpu, Data::I64(beyond.clone()));
        let want = beyond
            .iter()
            .flat_map(|k| (0..3).map(move |c| if *k >= 0 && *k < rows as i64 { (3 * k + c) as f64 } else { 0.0 }));
        assert_eq!(twice(&gpu, || data_movement::gather(&gpu, &matrix, &far, true)), Data::F64(want.collect()));
        let wrong = data_movement::gather(&gpu, &matrix, &far, false).unwrap();
        assert!(matches!(gpu.read(&wrong), Err(Error::Fault(f)) if f.what == Check::Bounds));
    }
}

#[test]
fn rows_of_arrays_larger_than_a_kernel_may_see_are_gathered() {
    let (gpu, small) = (common::gpu(), common::gpu().with_binding_size(64 * 1024));
    for (rows, m, cols) in [(30_000, 8000, 1), (9001, 4000, 3), (10, 8000, 5)] {
        let mut rng = Rng::new(rows as u64);
        let ks: Vec<i64> = (0..m).map(|_| rng.below(rows + 4) as i64 - 2).chain([-1, rows as i64, i64::MAX]).collect();
        let inside: Vec<i64> = ks.iter().map(|i| (*i).clamp(0, rows as i64 - 1)).collect();
        let whole = Data::I64((1..=(rows * cols) as i64).collect());
        let made = |g: &Gpu, ks: &[i64], zeros| {
            let (a, at) = (on(g, whole.clone(), &[rows, cols]), vector(g, Data::I64(ks.to_vec())));
            twice(g, || data_movement::gather(g, &a, &at, zeros))
        };
        assert_eq!(made(&small, &ks, true), made(&gpu, &ks, true), "{rows}");
        assert_eq!(made(&small, &inside, false), made(&gpu, &inside, false), "{rows}");
        let (a, at) = (on(&small, whole.clone(), &[rows, cols]), vector(&small, Data::I64(ks)));
        let wrong = data_movement::gather(&small, &a, &at, false).unwrap();
        assert!(matches!(small.read(&wrong), Err(Error::Fault(f)) if f.what == Check::Bounds));
    }
}

#[test]
fn of_equal_indices_the_last_is_scattered() {
    let gpu = common::gpu();
    for n in SIZES {
        let mut rng = Rng::new(n as u64);
        let bins = n / 2 + 1;
        let ks: Vec<i64> = (0..n).map(|_| rng.below(bins + 4) as i64 - 2).collect();
        let mut want: Vec<i64> = (0..2 * bins as i64).map(|k| -k).collect();
        let dest = on(&gpu, Data::I64(want.clone()), &[bins, 2]);
        let (at, v) = (vector(&gpu, Data::I64(ks.clone())), on(&gpu, Data::I64((0..2 * n as i64).collect()), &[n, 2]));
        for (j, k) in ks.iter().enumerate().filter(|(_, k)| (0..bins as i64).contains(*k)) {
            want[2 * *k as usize..2 * *k as usize + 2].copy_from_slice(&[2 * j as i64, 2 * j as i64 + 1]);
        }
        assert_eq!(twice(&gpu, || index::scatter(&gpu, &dest, &at, &v)), Data::I64(want), "{n}");
        // The operand has not changed.
        assert_eq!(gpu.read(&dest).unwrap(), Data::I64((0..2 * bins as i64).map(|k| -k).collect()));
    }
}

/// Tuples that record their order: first element, last element, and count.
const FIRST_LAST: &str = "fn f0 t (v0: []i64, v1: []i64, v2: []i64, v3: i64, v4: i64, v5: []i64, v6: []i64, v7: []i64, v8: []i64) -> ([]i64, []i64, []i64) {
  v9: []i64, v10: []i64, v11: []i64 = reduce_by_index (v0, v1, v2) neutral (v3, v3, v4) keys v5 values (v6, v7, v8) (v12: i64, v13: i64, v14: i64, v15: i64, v16: i64, v17: i64) {
    v18: i64 = 0
    v19: bool = lt v12 v18
    v20: i64 = select v19 v15 v12
    v21: bool = lt v16 v18
    v22: i64 = select v21 v13 v16
    v23: i64 = add v14 v17
    return v20, v22, v23
  }
  return v9, v10, v11
}";

#[test]
fn histograms_by_any_operator_keep_the_order() {
    [true, false].into_iter().for_each(|tiles| keeps_the_order(&common::gpu().with_tiles(tiles)));
}

fn keeps_the_order(gpu: &Gpu) {
    let parsed = program(FIRST_LAST);
    let func = &parsed.funcs[0];
    let adl_ir::Op::ReduceByIndex { op, neutral, .. } = &func.body.stmts[0].op else { panic!() };
    let env = |v: adl_ir::Var| match v.0 {
        3 => Some(adl_gpu::Operand::Number(adl_ir::Lit::I64(-1))),
        4 => Some(adl_gpu::Operand::Number(adl_ir::Lit::I64(0))),
        _ => None,
    };
    for count in SIZES {
        for bins in [0, 1, 7, 2048, 2049, 50_000] {
            let mut rng = Rng::new((count + bins) as u64);
            // Half of all elements have the same key.
            let ks: Vec<i64> =
                (0..count).map(|j| if j % 2 == 0 { 3 } else { rng.below(bins + 3) as i64 - 1 }).collect();
            let js: Vec<i64> = (0..count as i64).collect();
            let mut want = [vec![-1i64; bins], vec![-1; bins], vec![100; bins]];
            for (j, k) in ks.iter().enumerate().filter(|(_, k)| (0..bins as i64).contains(*k)) {
                let k = *k as usize;
                want[0][k] = if want[0][k] < 0 { j as i64 } else { want[0][k] };
                want[1][k] = j as i64;
                want[2][k] += 1;
            }
            let dest = [vec![-1; bins], vec![-1; bins], vec![100; bins]].map(|d| vector(gpu, Data::I64(d)));
            let keys = vector(gpu, Data::I64(ks));
            let values = [js.clone(), js, vec![1; count]].map(|d| vector(gpu, Data::I64(d)));
            let x = ByIndex { dest: &dest, op, neutral, keys: &keys, values: &values };
            for _ in 0..2 {
                let got = index::reduce_by_index(gpu, &parsed, func, &x, &env).unwrap();
                let got: Vec<Data> = got.iter().map(|a| gpu.read(a).unwrap()).collect();
                assert_eq!(got, want.clone().map(Data::I64), "{count} {bins}");
            }
        }
    }
}

/// A histogram of one vector by the sum or product of Floats or Ints.
fn histogram(gpu: &Gpu, op: &str, dest: Data, keys: &[i64], values: Data) -> Res<Array> {
    let ty = if matches!(dest, Data::I64(_)) {
        "i64"
    } else if matches!(dest, Data::F32(_)) {
        "f32"
    } else {
        "f64"
    };
    let parsed = program(&format!(
        "fn f0 t (v0: []{ty}, v1: {ty}, v2: []i64, v3: []{ty}) -> ([]{ty}) {{
  v4: []{ty} = reduce_by_index (v0) neutral (v1) keys v2 values (v3) (v5: {ty}, v6: {ty}) {{
    v7: {ty} = {op} v5 v6
    return v7
  }}
  return v4
}}"
    ));
    let adl_ir::Op::ReduceByIndex { op, neutral, .. } = &parsed.funcs[0].body.stmts[0].op else { panic!() };
    let zero = match ty {
        "i64" => adl_ir::Lit::I64(0),
        "f32" => adl_ir::Lit::F32(0.0),
        _ => adl_ir::Lit::F64(0.0),
    };
    let env = |v: adl_ir::Var| (v.0 == 1).then(|| adl_gpu::Operand::Number(zero.clone()));
    let keys = vector(gpu, Data::I64(keys.to_vec()));
    let x = ByIndex { dest: &[vector(gpu, dest)], op, neutral, keys: &keys, values: &[vector(gpu, values)] };
    index::reduce_by_index(gpu, &parsed, &parsed.funcs[0], &x, &env).map(|mut outs| outs.remove(0))
}

/// All pairs of a size and a number of bins, but many bins with two sizes only: they take longest.
fn sizes_and_bins<const N: usize>(bins: [usize; N]) -> impl Iterator<Item = (usize, usize)> {
    let all = SIZES.into_iter().flat_map(move |n| bins.map(|b| (n, b)));
    all.filter(|(n, bins)| *bins < 100_000 || [33, 100_000].contains(n))
}

#[test]
fn histograms_of_sums() {
    let (gpu, other) = (common::gpu().with_tiles(true), common::gpu().with_tiles(false));
    for (count, bins) in sizes_and_bins([1, 31, 33, 401, 900, 5000, 500_000]) {
        let mut rng = Rng::new((count + bins) as u64);
        let ks: Vec<i64> = (0..count).map(|_| rng.below(bins + 2) as i64 - 1).collect();
        let inside =
            || ks.iter().enumerate().filter(|(_, k)| (0..bins as i64).contains(*k)).map(|(j, k)| (j, *k as usize));
        // Large Ints of both signs: the two halves carry into each other.
        let ints: Vec<i64> =
            (0..count).map(|j| (if j % 2 == 0 { 1 } else { -1 }) * ((rng.bits() >> 20) as i64)).collect();
        let mut want = vec![-5i64; bins];
        inside().for_each(|(j, k)| want[k] += ints[j]);
        assert_eq!(
            twice(&gpu, || histogram(&gpu, "add", Data::I64(vec![-5; bins]), &ks, Data::I64(ints.clone()))),
            Data::I64(want),
            "{count} {bins}"
        );
        let floats: Vec<f64> = (0..count).map(|_| rng.unit() - 0.5).collect();
        let mut want = vec![0.5; bins];
        inside().for_each(|(j, k)| want[k] += floats[j]);
        let Data::F64(got) =
            twice(&gpu, || histogram(&gpu, "add", Data::F64(vec![0.5; bins]), &ks, Data::F64(floats.clone())))
        else {
            panic!()
        };
        assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-15 * count as f64), "{count} {bins}");
        let apart =
            twice(&other, || histogram(&other, "add", Data::F64(vec![0.5; bins]), &ks, Data::F64(floats.clone())));
        assert!(same(&apart, &Data::F64(got)), "{count} {bins}");
        let Data::F32(got) = twice(&gpu, || {
            histogram(
                &gpu,
                "max",
                Data::F32(vec![0.0; bins]),
                &ks,
                Data::F32(floats.iter().map(|x| *x as f32).collect()),
            )
        }) else {
            panic!()
        };
        let mut want = vec![0f32; bins];
        inside().for_each(|(j, k)| want[k] = want[k].max(floats[j] as f32));
        assert_eq!(got, want, "{count} {bins}");
    }
}

#[test]
fn least_and_greatest_of_many_bins() {
    use adl_prim::Bin;
    let gpu = common::gpu();
    let odd = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5, -1.5, 5e-324, f64::MAX];
    for (count, bins) in sizes_and_bins([5000, 500_000]) {
        let mut rng = Rng::new((count + bins) as u64);
        let ks: Vec<i64> = (0..count)
            .map(|j| if j % 3 == 0 { (rng.below(40)) as i64 } else { rng.below(bins + 2) as i64 - 1 })
            .collect();
        let inside =
            || ks.iter().enumerate().filter(|(_, k)| (0..bins as i64).contains(*k)).map(|(j, k)| (j, *k as usize));
        let ints: Vec<i64> =
            (0..count).map(|j| (if j % 2 == 0 { 1 } else { -1 }) * ((rng.bits() >> (1 + j % 63)) as i64)).collect();
        let floats: Vec<f64> =
            (0..count).map(|j| if j % 2 == 0 { odd[rng.below(odd.len())] } else { rng.unit() - 0.5 }).collect();
        for (op, text) in [(Bin::Min, "min"), (Bin::Max, "max")] {
            for begin in [0, 7, i64::MIN, i64::MAX] {
                let mut want = vec![begin; bins];
                inside().for_each(|(j, k)| {
                    want[k] = if op == Bin::Min { want[k].min(ints[j]) } else { want[k].max(ints[j]) }
                });
                assert_eq!(
                    twice(&gpu, || histogram(&gpu, text, Data::I64(vec![begin; bins]), &ks, Data::I64(ints.clone()))),
                    Data::I64(want),
                    "{count} {bins} {text}"
                );
            }
            for begin in [-0.0, f64::NEG_INFINITY, f64::INFINITY] {
                let mut want = vec![begin; bins];
                inside().for_each(|(j, k)| want[k] = op.eval(want[k], floats[j]));
                let got =
                    twice(&gpu, || histogram(&gpu, text, Data::F64(vec![begin; bins]), &ks, Data::F64(floats.clone())));
                assert!(same(&got, &Data::F64(want)), "{count} {bins} {text} {begin}");
                let singles: Vec<f32> = floats.iter().map(|x| *x as f32).collect();
                let mut want = vec![begin as f32; bins];
                inside().for_each(|(j, k)| want[k] = op.eval(f64::from(want[k]), f64::from(singles[j])) as f32);
                let got = twice(&gpu, || {
                    histogram(&gpu, text, Data::F32(vec![begin as f32; bins]), &ks, Data::F32(singles.clone()))
                });
                assert!(same(&got, &Data::F32(want)), "{count} {bins} {text} {begin}");
            }
        }
    }
}

/// The result of a histogram of Bools by the operator that these statements define, and its number of kernels.
fn of_bools(gpu: &Gpu, op: &str, dest: &[bool], keys: &[i64], values: &[bool]) -> (Data, u64) {
    let parsed = program(&format!(
        "fn f0 t (v0: []bool, v1: bool, v2: []i64, v3: []bool) -> ([]bool) {{ v4: []bool = reduce_by_index (v0) neutral (v1) keys v2 values (v3) (v5: bool, v6: bool) {{ {op} return v7 }} return v4 }}"
    ));
    let adl_ir::Op::ReduceByIndex { op, neutral, .. } = &parsed.funcs[0].body.stmts[0].op else { panic!() };
    let env = |v: adl_ir::Var| (v.0 == 1).then_some(adl_gpu::Operand::Number(adl_ir::Lit::Bool(false)));
    let (dest, keys, values) = (
        vector(gpu, Data::Bool(dest.to_vec())),
        vector(gpu, Data::I64(keys.to_vec())),
        vector(gpu, Data::Bool(values.to_vec())),
    );
    let x = ByIndex { dest: &[dest], op, neutral, keys: &keys, values: &[values] };
    let before = gpu.work().kernels;
    let made =
        twice(gpu, || index::reduce_by_index(gpu, &parsed, &parsed.funcs[0], &x, &env).map(|mut outs| outs.remove(0)));
    (made, (gpu.work().kernels - before) / 2)
}

#[test]
fn bools_of_many_bins() {
    let (gpu, small) = (common::gpu(), common::gpu().with_binding_size(64 * 1024));
    // Three kernels without sorting. The last two operators, the second and the first operand, are not commutative.
    let all: [(&str, fn(bool, bool) -> bool, bool); 6] = [
        ("v7: bool = if v5 { v8: bool = true return v8 } else { return v6 }", |x, y| x || y, true),
        ("v9: bool = false v7: bool = select v5 v6 v9", |x, y| x && y, true),
        ("v7: bool = ne v5 v6", |x, y| x != y, true),
        ("v7: bool = eq v5 v6", |x, y| x == y, true),
        ("v8: bool = not v5 v9: bool = not v8 v7: bool = select v9 v6 v6", |_, y| y, false),
        ("v8: bool = not v6 v7: bool = select v8 v5 v5", |x, _| x, false),
    ];
    for (count, bins) in SIZES.into_iter().flat_map(|n| [3, 20_000, 70_000].map(|b| (n, b))) {
        let mut rng = Rng::new((count + bins) as u64);
        let ks: Vec<i64> = (0..count)
            .map(|j| if j % 3 == 0 { rng.below(40) as i64 } else { rng.below(bins + 2) as i64 - 1 })
            .collect();
        let (dest, values): (Vec<bool>, Vec<bool>) =
            ((0..bins).map(|_| rng.below(2) == 0).collect(), (0..count).map(|_| rng.below(3) == 0).collect());
        for (op, f, quick) in all {
            let mut want = dest.clone();
            ks.iter()
                .zip(&values)
                .filter(|(k, _)| (0..bins as i64).contains(*k))
                .for_each(|(k, v)| want[*k as usize] = f(want[*k as usize], *v));
            let (made, kernels) = of_bools(&gpu, op, &dest, &ks, &values);
            assert_eq!(made, Data::Bool(want.clone()), "{op} {count} {bins}");
            assert!(count == 0 || bins < 100 || (kernels == 3) == quick, "{op} {count} {bins}: {kernels}");
            assert_eq!(of_bools(&small, op, &dest, &ks, &values).0, Data::Bool(want), "{op} {count} {bins}");
        }
    }
}

#[test]
fn sums_of_bins_that_no_int_holds_are_faults() {
    let gpu = common::gpu();
    for bins in [3, 5000] {
        for (values, fits) in [
            (vec![i64::MAX, 1], false),
            (vec![i64::MIN, -1], false),
            (vec![i64::MAX, i64::MIN], true),
            (vec![i64::MIN, 0], true),
        ] {
            let sum = values.iter().try_fold(0i64, |s, v| s.checked_add(*v));
            let got = gpu.read(&histogram(&gpu, "add", Data::I64(vec![0; bins]), &[2, 2], Data::I64(values)).unwrap());
            match got {
                Ok(Data::I64(x)) => {
                    assert!(fits && x.iter().enumerate().all(|(i, x)| Some(*x) == if i == 2 { sum } else { Some(0) }));
                }
                Err(Error::Fault(f)) => assert!(!fits && f.what == Check::Overflow),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn rows_are_added_at_indices_the_same_bits_each_time() {
    let gpu = common::gpu();
    for count in SIZES {
        for bins in [1, 100, 3000] {
            let mut rng = Rng::new((count * bins) as u64);
            let ks: Vec<i64> = (0..count).map(|_| rng.below(bins + 2) as i64 - 1).collect();
            let vs: Vec<f64> = (0..2 * count).map(|_| rng.unit() - 0.5).collect();
            let mut want = vec![0.25; 2 * bins];
            for (j, k) in ks.iter().enumerate().filter(|(_, k)| (0..bins as i64).contains(*k)) {
                (0..2).for_each(|c| want[2 * *k as usize + c] += vs[2 * j + c]);
            }
            let (acc, at, v) = (
                on(&gpu, Data::F64(vec![0.25; 2 * bins]), &[bins, 2]),
                vector(&gpu, Data::I64(ks)),
                on(&gpu, Data::F64(vs), &[count, 2]),
            );
            let Data::F64(got) = twice(&gpu, || index::gather_add(&gpu, &acc, &at, &v)) else { panic!() };
            assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-10), "{count} {bins}");
        }
    }
}

#[test]
fn matrices_are_transposed() {
    let gpu = common::gpu();
    for (n, m, k) in
        [(0, 3, 1), (3, 0, 1), (1, 1, 1), (31, 33, 1), (32, 16, 1), (100, 1000, 1), (1, 1000, 1), (5, 7, 3)]
    {
        let a: Vec<i64> = (0..(n * m * k) as i64).collect();
        let shape = if k == 1 { vec![n, m] } else { vec![n, m, k] };
        let x = on(&gpu, Data::I64(a.clone()), &shape);
        let want =
            (0..m).flat_map(|j| (0..n).flat_map(move |i| (0..k).map(move |c| ((i * m + j) * k + c) as i64))).collect();
        assert_eq!(twice(&gpu, || data_movement::transpose(&gpu, &x)), Data::I64(want), "{n} {m} {k}");
    }
    let x = on(&gpu, Data::Bool(vec![true, false, true, true, false, false]), &[2, 3]);
    assert_eq!(
        twice(&gpu, || data_movement::transpose(&gpu, &x)),
        Data::Bool(vec![true, true, false, false, true, false])
    );
}

#[test]
fn products_of_matrices_and_vectors() {
    let gpu = common::gpu();
    for (rows, cols, inner) in [
        (0, 2, 3),
        (2, 0, 3),
        (2, 3, 0),
        (1, 1, 1),
        (3, 5, 7),
        (64, 64, 64),
        (65, 63, 17),
        (130, 70, 200),
        (31, 1, 1000),
        (1, 33, 1000),
        (33, 32, 31),
        (2, 1, 17),
        (300, 1, 40),
        (257, 1, 129),
        (5, 1, 4096),
        (5, 1, 4097),
        (2, 1, 100_000),
        (1, 3, 1000),
        (1, 4, 129),
        (1, 100, 5000),
        (1, 1000, 128),
        (1, 40, 20_000),
        (1, 5, 33_000),
    ] {
        let (left, right): (Vec<i64>, Vec<i64>) = (
            (0..(rows * inner) as i64).map(|i| i % 13 - 6).collect(),
            (0..(inner * cols) as i64).map(|i| i % 11 - 5).collect(),
        );
        let want: Vec<i64> = (0..rows * cols)
            .map(|i| (0..inner).map(|l| left[i / cols * inner + l] * right[l * cols + i % cols]).sum())
            .collect();
        let check = |x: Data, y: Data, z: Data| {
            let (x, y) = (on(&gpu, x, &[rows, inner]), on(&gpu, y, &[inner, cols]));
            let out = gemm::matmul(&gpu, &x, &y).unwrap();
            assert_eq!(out.shape, [rows, cols]);
            assert_eq!(twice(&gpu, || gemm::matmul(&gpu, &x, &y)), z, "{rows} {cols} {inner}");
        };
        let float = |v: &[i64]| Data::F64(v.iter().map(|i| *i as f64).collect());
        let single = |v: &[i64]| Data::F32(v.iter().map(|i| *i as f32).collect());
        check(float(&left), float(&right), float(&want));
        check(single(&left), single(&right), single(&want));
        check(Data::I64(left), Data::I64(right), Data::I64(want));
    }
}

#[test]
fn nan_and_infinities_reach_their_own_row_and_column_only() {
    let gpu = common::gpu();
    let (n, m, k) = (70, 66, 20);
    let (mut a, b) = (vec![1.0; n * k], vec![2.0; k * m]);
    (a[5 * k + 3], a[69 * k]) = (f64::NAN, f64::INFINITY);
    let Data::F64(c) = twice(&gpu, || {
        gemm::matmul(&gpu, &on(&gpu, Data::F64(a.clone()), &[n, k]), &on(&gpu, Data::F64(b.clone()), &[k, m]))
    }) else {
        panic!()
    };
    for (i, x) in c.iter().enumerate() {
        assert!(match i / m {
            5 => x.is_nan(),
            69 => *x == f64::INFINITY,
            _ => *x == 40.0,
        });
    }
}

#[test]
fn nan_and_infinities_go_through_products_with_vectors() {
    let gpu = common::gpu();
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (n, k) in [(70, 300), (300, 70), (9, 5000)] {
            let mut a = vec![1.0; n * k];
            a[k + 3] = x;
            let (matrix, turned) = (on(&gpu, Data::F64(a.clone()), &[n, k]), on(&gpu, Data::F64(a), &[n, k]));
            let (v, w) = (vector(&gpu, Data::F64(vec![2.0; k])), vector(&gpu, Data::F64(vec![2.0; n])));
            let want = |count: usize, at: usize, sum: f64| {
                Data::F64((0..count).map(|i| if i == at { x } else { sum }).collect())
            };
            assert!(same(&twice(&gpu, || gemm::matmul(&gpu, &matrix, &v)), &want(n, 1, 2.0 * k as f64)));
            assert!(same(&twice(&gpu, || gemm::matmul(&gpu, &w, &turned)), &want(k, 3, 2.0 * n as f64)));
            assert!(same(&twice(&gpu, || soac::sum(&gpu, &turned)), &want(k, 3, n as f64)));
        }
    }
}

#[test]
fn sums_and_products_of_columns() {
    let gpu = common::gpu();
    for (rows, cols) in [(129, 4), (1000, 33), (20_000, 5), (3, 7), (128, 100), (0, 5), (5, 0)] {
        let (factors, terms): (Vec<f64>, Vec<f64>) = (
            (0..rows * cols).map(|i| 1.0 + (i * 7919 % 1000) as f64 * 1e-6).collect(),
            (0..rows * cols).map(|i| (i * 104_729 % 1000) as f64 - 500.0).collect(),
        );
        let (x, y) =
            (on(&gpu, Data::F64(factors.clone()), &[rows, cols]), on(&gpu, Data::F64(terms.clone()), &[rows, cols]));
        let (Data::F64(products), Data::F64(sums)) =
            (twice(&gpu, || soac::along(&gpu, &x, adl_prim::Bin::Mul)), twice(&gpu, || soac::sum(&gpu, &y)))
        else {
            panic!()
        };
        for c in 0..cols {
            let want: f64 = (0..rows).map(|r| factors[r * cols + c]).product();
            assert!((products[c] - want).abs() <= 1e-15 * rows as f64 * want, "{rows} {cols}");
            assert_eq!(sums[c], (0..rows).map(|r| terms[r * cols + c]).sum::<f64>(), "{rows} {cols}");
        }
    }
}

#[test]
fn inner_products() {
    let gpu = common::gpu();
    for n in SIZES {
        let xs: Vec<i64> = (0..n as i64).map(|i| i % 100 - 50).collect();
        let (a, b) = (vector(&gpu, Data::I64(xs.clone())), vector(&gpu, Data::I64(xs.clone())));
        assert_eq!(twice(&gpu, || gemm::dot(&gpu, &a, &b)), Data::I64(vec![xs.iter().map(|x| x * x).sum()]));
    }
    let (a, x) = (
        on(&gpu, Data::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), &[2, 3]),
        vector(&gpu, Data::F64(vec![1.0, 0.0, -1.0])),
    );
    assert_eq!(twice(&gpu, || gemm::matmul(&gpu, &a, &x)), Data::F64(vec![-2.0, -2.0]));
    let y = vector(&gpu, Data::F64(vec![1.0, -1.0]));
    let c = gemm::matmul(&gpu, &y, &a).unwrap();
    assert_eq!((c.shape.clone(), gpu.read(&c).unwrap()), (vec![3], Data::F64(vec![-3.0, -3.0, -3.0])));
}

#[test]
fn diagonals_extremes_and_running_products() {
    let gpu = common::gpu();
    for count in SIZES.into_iter().filter(|n| *n <= 1000) {
        let xs: Vec<i64> = (0..count as i64).map(|i| i * 7919 % 101 - 50).collect();
        let array = vector(&gpu, Data::I64(xs.clone()));
        let d = data_movement::diag(&gpu, &array).unwrap();
        let want = (0..count * count).map(|k| if k / count == k % count { xs[k / count] } else { 0 }).collect();
        assert_eq!(gpu.read(&d).unwrap(), Data::I64(want));
        assert_eq!(twice(&gpu, || data_movement::diag(&gpu, &d)), Data::I64(xs.clone()));
        let mut sum = 0;
        let sums: Vec<i64> = xs
            .iter()
            .map(|x| {
                sum += x;
                sum
            })
            .collect();
        assert_eq!(twice(&gpu, || soac::running(&gpu, &array, adl_prim::Bin::Add, false)), Data::I64(sums));
        let mut back: Vec<i64> = xs
            .iter()
            .rev()
            .scan(0, |s, x| {
                *s += x;
                Some(*s)
            })
            .collect();
        back.reverse();
        assert_eq!(twice(&gpu, || soac::running(&gpu, &array, adl_prim::Bin::Add, true)), Data::I64(back));
        let pairs =
            on(&gpu, Data::F64((0..2 * count).map(|k| if k % 2 == 0 { 1.0 } else { -1.0 }).collect()), &[count, 2]);
        let want = (0..count).flat_map(|i| [1.0, if i % 2 == 0 { -1.0 } else { 1.0 }]).collect();
        assert_eq!(twice(&gpu, || soac::running(&gpu, &pairs, adl_prim::Bin::Mul, false)), Data::F64(want));
        if count > 0 {
            let (least, most) = (xs.iter().min().unwrap(), xs.iter().max().unwrap());
            for (least, x) in [(true, least), (false, most)] {
                let [v, i] = soac::extreme(&gpu, &array, least).unwrap();
                let at = xs.iter().position(|y| y == x).unwrap() as i64;
                assert_eq!((gpu.read(&v).unwrap(), gpu.read(&i).unwrap()), (Data::I64(vec![*x]), Data::I64(vec![at])));
            }
            let holds = vector(&gpu, Data::Bool(xs.iter().map(|x| x == least).collect()));
            assert_eq!(twice(&gpu, || soac::any(&gpu, &holds, false)), Data::Bool(vec![true]));
            assert_eq!(twice(&gpu, || soac::any(&gpu, &holds, true)), Data::Bool(vec![count == 1]));
        }
    }
    let a = vector(&gpu, Data::F64(vec![3.0, f64::NAN, 1.0, f64::NAN]));
    let [v, i] = soac::extreme(&gpu, &a, true).unwrap();
    assert!(same(&gpu.read(&v).unwrap(), &Data::F64(vec![f64::NAN])));
    assert_eq!(gpu.read(&i).unwrap(), Data::I64(vec![1]));
}
