//! Arrays larger than one binding give the same bits as arrays in one binding.

use crate::common;

use adl_gpu::index::{self, ByIndex};
use adl_gpu::internals::calls;
use adl_gpu::{Array, Data, Error, Gpu, Res, data_movement, gemm, soac, sort};
use adl_ir::generate::rng::Rng;
use common::{program, same};
use std::collections::BTreeSet;

/// The size of a binding in bytes.
const BYTES: u64 = 64 * 1024;

fn on(gpu: &Gpu, d: &Data, shape: &[usize]) -> Array {
    gpu.array(d, shape.to_vec()).unwrap()
}

/// Runs a function with unlimited and with small bindings, twice each; results must be the same bits.
fn alike(what: &str, f: impl Fn(&Gpu) -> Res<Vec<Array>>) {
    let (whole, small) = (common::gpu(), common::gpu().with_binding_size(BYTES));
    let read =
        |g: &Gpu| f(g).unwrap_or_else(|e| panic!("{what}: {e}")).iter().map(|a| g.read(a).unwrap()).collect::<Vec<_>>();
    let want = read(&whole);
    assert!(want.iter().map(adl_gpu::Data::len).max() > Some(8192), "{what} is too small");
    for _ in 0..2 {
        assert!(read(&small).iter().zip(&want).all(|(a, b)| same(a, b)), "{what}");
    }
}

fn floats(seed: u64, n: usize) -> Data {
    let mut rng = Rng::new(seed);
    let hard = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324];
    Data::F64((0..n).map(|i| if i % 7 == 0 { hard[rng.below(6)] } else { rng.unit() - 0.5 }).collect())
}

fn ints(seed: u64, n: usize, below: usize) -> Data {
    let mut rng = Rng::new(seed);
    Data::I64((0..n).map(|_| rng.below(below + 4) as i64 - 2).collect())
}

#[test]
fn scatter_of_rows() {
    for (n, m, k) in [(20_000, 30_000, 1), (9000, 11_000, 3)] {
        alike("scatter", |g| {
            Ok(vec![index::scatter(
                g,
                &on(g, &floats(1, n * k), &[n, k]),
                &on(g, &ints(2, m, n), &[m]),
                &on(g, &floats(3, m * k), &[m, k]),
            )?])
        });
    }
}

#[test]
fn sorting() {
    for n in [8193, 40_000] {
        alike("sort", |g| {
            Ok(vec![sort::argsort(g, &on(g, &floats(5, n), &[n]))?, sort::argsort(g, &on(g, &ints(6, n, 99), &[n]))?])
        });
    }
}

#[test]
fn products() {
    for (n, k, m) in [(100, 130, 90), (3, 9000, 4), (1, 300, 200), (1000, 60, 1)] {
        let (a, b) = (
            Data::F64((0..n * k).map(|i| (i % 101) as f64 * 0.37 - 9.0).collect()),
            Data::F64((0..k * m).map(|i| (i % 89) as f64 * 0.11).collect()),
        );
        let (whole, small) = (common::gpu(), common::gpu().with_binding_size(BYTES / 2));
        let read = |g: &Gpu| g.read(&gemm::matmul(g, &on(g, &a, &[n, k]), &on(g, &b, &[k, m])).unwrap()).unwrap();
        assert!(same(&read(&whole), &read(&small)), "{n} {k} {m}");
    }
}

#[test]
fn histograms_by_any_operator() {
    let count = 40_000;
    for ty in ["f64", "i64"] {
        for op in ["add", "mul", "min", "max"] {
            let parsed = program(&format!(
                "fn f0 t (v0: []{ty}, v1: {ty}, v2: []i64, v3: []{ty}) -> ([]{ty}) {{ v4: []{ty} = reduce_by_index (v0) neutral (v1) keys v2 values (v3) (v5: {ty}, v6: {ty}) {{ v7: {ty} = {op} v5 v6 return v7 }} return v4 }}"
            ));
            for bins in [11, 20_000] {
                let small = |seed, n| {
                    if ty == "f64" {
                        floats(seed, n)
                    } else {
                        Data::I64(
                            (0..n as i64)
                                .map(|i| if op == "mul" { 1 - 2 * (i % 2) } else { i * 7919 % 1000 })
                                .collect(),
                        )
                    }
                };
                let made = |gpu: &Gpu| {
                    let adl_ir::Op::ReduceByIndex { op, neutral, .. } = &parsed.funcs[0].body.stmts[0].op else {
                        panic!()
                    };
                    let one = if ty == "f64" { adl_ir::Lit::F64(1.0) } else { adl_ir::Lit::I64(1) };
                    let env = |v: adl_ir::Var| {
                        (v == parsed.funcs[0].body.params[1]).then(|| adl_gpu::Operand::Number(one.clone()))
                    };
                    let (dest, keys, values) = (
                        [on(gpu, &small(7, bins), &[bins])],
                        on(gpu, &ints(8, count, bins), &[count]),
                        [on(gpu, &small(9, count), &[count])],
                    );
                    let by = ByIndex { dest: &dest, op, neutral, keys: &keys, values: &values };
                    let mut all = index::reduce_by_index(gpu, &parsed, &parsed.funcs[0], &by, &env)?;
                    // Longer than a binding, whatever the number of bins.
                    all.push(values[0].clone());
                    Ok(all)
                };
                alike(&format!("{op} of {ty} in {bins} bins"), made);
            }
        }
    }
}

#[test]
fn what_only_moves_and_sums_of_columns() {
    let (n, m) = (700, 50);
    alike("transpose", |g| {
        let a = on(g, &floats(1, n * m), &[n, m]);
        Ok(vec![
            data_movement::transpose(g, &a)?,
            data_movement::reverse(g, &a)?,
            data_movement::rotate(g, 77, &a)?,
            soac::sum(g, &a)?,
            soac::running(g, &a, adl_prim::Bin::Add, true)?,
        ])
    });
}

#[test]
fn more_bindings_than_there_are_are_refused() {
    let gpu = common::gpu().with_binding_size(BYTES).with_binding_count(8);
    let a = on(&gpu, &floats(1, 200_000), &[400, 500]);
    assert!(matches!(data_movement::transpose(&gpu, &a), Err(Error::Unsupported(_))));
}

#[test]
fn uses_become_calls() {
    let (mut out, mut used) = (String::new(), BTreeSet::new());
    calls(
        "let x = a3[a3[i] + b[j]] == a33[k]; if f { a3[k[0]] = a3[1u] + y; } atomicMax(&a3[at + 1u], a3[2u]);",
        "a3",
        &mut out,
        &mut used,
    );
    assert_eq!(
        out,
        "let x = a3_get(a3_get(i) + b[j]) == a33[k]; if f { a3_set(k[0], a3_get(1u) + y); } a3_atomicMax(at + 1u, a3_get(2u));"
    );
    assert_eq!(used.into_iter().collect::<Vec<_>>(), ["atomicMax", "get", "set"]);
}
