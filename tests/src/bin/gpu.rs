//! Measures the kernels of `lang/gpu` on an adapter (`ADL_GPU` selects one): `gpu [--n N] [--json]`, or says which one it
//! is and whether it is implemented in software: `gpu --adapter`. Each row shows the
//! minimal memory traffic in GB/s and compares it with a copy on the same device; for sorting it shows millions of
//! elements per second, for products GFLOP/s. Times are medians of seven rounds after a warm-up, without transfers.
//! Every result is compared with the CPU's, and a wrong one ends the run. `tests/bench/gpu_peers.py` prints the same
//! rows for JAX and `PyTorch`.

use adl_gpu::index::{self, ByIndex};
use adl_gpu::{Array, Data, Gpu, Operand, Scalar, data_movement, gemm, nest, soac, sort};
use adl_ir::{Lit, Op, Program, Var};
use std::process::ExitCode;
use std::time::Instant;

/// The number of rounds for the median.
const ROUNDS: usize = 7;

/// Seconds of work before a measurement: an idle GPU has a low clock, and raises it only after a while.
const WARM: f64 = 0.4;

/// The approximate duration of a round in seconds.
const ROUND: f64 = 0.02;

type ArraysResult = Result<Vec<Array>, String>;

/// The device, the number of elements, and the bandwidth of a copy in GB/s.
struct Bench {
    gpu: Gpu,
    n: usize,
    json: bool,
    copy: f64,
}

/// Numbers from -0.5 to 0.5 that f32 represents exactly, the same in each run.
fn numbers(n: usize) -> Vec<f64> {
    (0..n as u64).map(|i| f64::from((mixed(i) >> 40) as f32 / 16_777_216.0 - 0.5)).collect()
}

fn mixed(i: u64) -> u64 {
    let z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

fn data(ty: Scalar, xs: &[f64]) -> Data {
    if ty == Scalar::F32 { Data::F32(xs.iter().map(|x| *x as f32).collect()) } else { Data::F64(xs.to_vec()) }
}

fn floats(d: Data) -> Result<Vec<f64>, String> {
    match d {
        Data::F32(x) => Ok(x.into_iter().map(f64::from).collect()),
        Data::F64(x) => Ok(x),
        Data::I64(_) | Data::Bool(_) | Data::Word(_) => Err("no floats".to_owned()),
    }
}

fn name(ty: Scalar) -> &'static str {
    if ty == Scalar::F32 { "f32" } else { "f64" }
}

/// The relative rounding error of one operation.
fn eps(ty: Scalar) -> f64 {
    if ty == Scalar::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

fn program(text: &str) -> Result<Program, String> {
    adl_ir::parse::program(text).map_err(|e| format!("{e:?} in {text}"))
}

fn words(e: adl_gpu::Error) -> String {
    e.to_string()
}

impl Bench {
    fn vector(&self, d: &Data) -> Result<Array, String> {
        self.gpu.array(d, vec![d.len()]).map_err(words)
    }

    fn read(&self, a: &Array) -> Result<Vec<f64>, String> {
        self.gpu.read(a).map_err(words).and_then(floats)
    }

    /// The seconds of the work that `f` starts, and its results.
    fn time(&self, f: &dyn Fn() -> ArraysResult) -> Result<(f64, Vec<Array>), String> {
        let round = |times: usize| {
            let start = Instant::now();
            let mut made = Vec::new();
            for _ in 0..times {
                made = f()?;
            }
            self.gpu.wait().map_err(words)?;
            Ok::<_, String>((start.elapsed().as_secs_f64() / times as f64, made))
        };
        let start = Instant::now();
        round(1)?;
        while start.elapsed().as_secs_f64() < WARM {
            round(4)?;
        }
        let (once, made) = round(2)?;
        let times = ((ROUND / once.max(1e-9)) as usize).clamp(1, 100);
        let mut all = (0..ROUNDS).map(|_| round(times).map(|r| r.0)).collect::<Result<Vec<_>, _>>()?;
        all.sort_by(f64::total_cmp);
        Ok((all[ROUNDS / 2], made))
    }

    fn row(&self, what: &str, ty: Scalar, n: usize, seconds: f64, (rate, unit): (f64, &str)) {
        let (ty, ms, of) = (name(ty), seconds * 1e3, if unit == "GB/s" { 100.0 * rate / self.copy } else { 0.0 });
        if self.json {
            println!(
                "{{\"tool\": \"adl\", \"what\": \"{what}\", \"type\": \"{ty}\", \"n\": {n}, \"ms\": {ms:.4}, \"rate\": {rate:.1}, \"unit\": \"{unit}\", \"percent_of_copy\": {of:.1}}}"
            );
        } else {
            let of = if of > 0.0 { format!("{of:7.1} % of copy") } else { String::new() };
            println!("{what:<18} {ty} {n:>11} {ms:>11.3} ms {rate:>10.1} {unit:<7}{of}");
        }
    }

    fn bandwidth(&self, what: &str, ty: Scalar, seconds: f64, bytes: usize) {
        self.row(what, ty, self.n, seconds, ((bytes * self.n) as f64 / seconds / 1e9, "GB/s"));
    }

    /// A copy, the baseline of other measurements.
    fn copies(&mut self, ty: Scalar, xs: &[f64]) -> Result<(), String> {
        let a = self.vector(&data(ty, xs))?;
        let (t, made) = self.time(&|| {
            self.gpu.copy(&a.buffer, a.bytes()).map(|buffer| vec![Array { buffer, ..a.clone() }]).map_err(words)
        })?;
        check("copy", &self.read(&made[0])?, xs, |_| 0.0)?;
        self.copy = (2 * ty.bytes() as usize * self.n) as f64 / t / 1e9;
        self.bandwidth("copy", ty, t, 2 * ty.bytes() as usize);
        Ok(())
    }

    fn maps(&self, ty: Scalar, xs: &[f64]) -> Result<(), String> {
        let t = name(ty);
        let p = program(&format!(
            "fn f0 t (v0: i64, v1: []{t}, v2: {t}) -> ([]{t}) {{ v3: []{t}, v4: i64 = loop for v0 over (v1) out (collect) (v5: i64, v6: {t}) {{ v7: {t} = mul v6 v2 v8: {t} = add v7 v2 return v8 }} return v3 }}"
        ))?;
        let (f, a) = (&p.funcs[0], self.vector(&data(ty, xs))?);
        let env = given([Operand::Number(Lit::I64(self.n as i64)), Operand::Array(a), Operand::Number(lit(ty, 2.0))]);
        let Op::Loop(l) = &f.body.stmts[0].op else { return Err("no loop".to_owned()) };
        let (time, made) = self.time(&|| nest::run(&self.gpu, &p, f, l, &env).map_err(words))?;
        let want: Vec<f64> = xs.iter().map(|x| x * 2.0 + 2.0).collect();
        check("map", &self.read(&made[0])?, &want, |_| 4.0 * eps(ty))?;
        self.bandwidth("map", ty, time, 2 * ty.bytes() as usize);
        Ok(())
    }

    /// A reduction or scan by sums. Accepted error: 64 roundings of the sum of all absolute values.
    fn folds(&self, ty: Scalar, xs: &[f64], what: &str) -> Result<(), String> {
        let (t, scan) = (name(ty), what == "scan");
        let out = if scan { format!("[]{t}") } else { t.to_owned() };
        let p = program(&format!(
            "fn f0 t (v0: []{t}, v1: {t}) -> ({out}) {{ v2: {out} = {what} (v1) over (v0) (v3: {t}, v4: {t}) {{ v5: {t} = add v3 v4 return v5 }} return v2 }}"
        ))?;
        let (f, a) = (&p.funcs[0], self.vector(&data(ty, xs))?);
        let env = given([Operand::Array(a), Operand::Number(lit(ty, 0.0))]);
        let Op::Soac(s) = &f.body.stmts[0].op else { return Err("no reduction".to_owned()) };
        let (time, made) = self.time(&|| soac::run(&self.gpu, &p, f, s, &env).map_err(words))?;
        let mut sum = CompensatedSum::default();
        let sums: Vec<f64> = xs.iter().map(|x| sum.add(*x)).collect();
        let most = 64.0 * eps(ty) * xs.iter().map(|x| x.abs()).sum::<f64>();
        check(what, &self.read(&made[0])?, if scan { &sums } else { &sums[self.n - 1..] }, |_| most)?;
        self.bandwidth(what, ty, time, if scan { 2 } else { 1 } * ty.bytes() as usize);
        Ok(())
    }

    /// A histogram of sums. Accepted error: 1,200 roundings of the sum of a bin's absolute values.
    fn histograms(&self, ty: Scalar, xs: &[f64], bins: usize) -> Result<(), String> {
        let t = name(ty);
        let parsed = program(&format!(
            "fn f0 t (v0: []{t}, v1: {t}, v2: []i64, v3: []{t}) -> ([]{t}) {{ v4: []{t} = reduce_by_index (v0) neutral (v1) keys v2 values (v3) (v5: {t}, v6: {t}) {{ v7: {t} = add v5 v6 return v7 }} return v4 }}"
        ))?;
        let Op::ReduceByIndex { op, neutral, .. } = &parsed.funcs[0].body.stmts[0].op else {
            return Err("no histogram".to_owned());
        };
        let ks: Vec<i64> = (0..self.n as u64).map(|i| (mixed(!i) % bins as u64) as i64).collect();
        let (dest, keys, values) = (
            self.vector(&data(ty, &vec![0.0; bins]))?,
            self.vector(&Data::I64(ks.clone()))?,
            self.vector(&data(ty, xs))?,
        );
        let zero = move |v: Var| (v.0 == 1).then(|| Operand::Number(lit(ty, 0.0)));
        let x = ByIndex { dest: &[dest], op, neutral, keys: &keys, values: &[values] };
        let (time, made) =
            self.time(&|| index::reduce_by_index(&self.gpu, &parsed, &parsed.funcs[0], &x, &zero).map_err(words))?;
        let (mut sums, mut sizes) = (vec![CompensatedSum::default(); bins], vec![0.0; bins]);
        for (k, x) in ks.iter().zip(xs) {
            sums[*k as usize].add(*x);
            sizes[*k as usize] += x.abs();
        }
        let want: Vec<f64> = sums.iter().map(|s| s.high + s.low).collect();
        check("histogram", &self.read(&made[0])?, &want, |i| 1200.0 * eps(ty) * sizes[i])?;
        self.bandwidth(&format!("histogram {bins}"), ty, time, 8 + ty.bytes() as usize);
        Ok(())
    }

    fn sorts(&self, ty: Scalar, xs: &[f64]) -> Result<(), String> {
        let a = self.vector(&data(ty, xs))?;
        let sorted = || data_movement::gather(&self.gpu, &a, &sort::argsort(&self.gpu, &a)?, false);
        let (time, made) = self.time(&|| sorted().map(|a| vec![a]).map_err(words))?;
        let mut want = xs.to_vec();
        want.sort_by(f64::total_cmp);
        check("sort", &self.read(&made[0])?, &want, |_| 0.0)?;
        self.row("sort", ty, self.n, time, (self.n as f64 / time / 1e6, "M/s"));
        Ok(())
    }

    /// A product of square matrices of small integers, which is exact; a thousand elements are checked.
    fn products(&self, ty: Scalar, side: usize) -> Result<(), String> {
        let whole = |seed: u64| {
            (0..(side * side) as u64).map(|i| (mixed(i ^ (seed << 50)) % 9) as f64 - 4.0).collect::<Vec<_>>()
        };
        let (x, y) = (whole(1), whole(2));
        let on = |v: &[f64]| self.gpu.array(&data(ty, v), vec![side, side]).map_err(words);
        let (a, b) = (on(&x)?, on(&y)?);
        let (time, made) = self.time(&|| gemm::matmul(&self.gpu, &a, &b).map(|a| vec![a]).map_err(words))?;
        let got = self.read(&made[0])?;
        let at: Vec<usize> = (0..1000).map(|i| (mixed(i) % (side * side) as u64) as usize).collect();
        let want: Vec<f64> =
            at.iter().map(|i| (0..side).map(|k| x[i / side * side + k] * y[k * side + i % side]).sum()).collect();
        check("product", &at.iter().map(|i| got[*i]).collect::<Vec<_>>(), &want, |_| 0.0)?;
        self.row("matrix product", ty, side, time, (2.0 * (side as f64).powi(3) / time / 1e9, "GFLOP/s"));
        Ok(())
    }
}

fn lit(ty: Scalar, x: f64) -> Lit {
    if ty == Scalar::F32 { Lit::F32(x as f32) } else { Lit::F64(x) }
}

/// Assigns a program's variables from 0 on to operands.
fn given<const N: usize>(args: [Operand; N]) -> impl Fn(Var) -> Option<Operand> {
    move |v| args.get(v.0 as usize).cloned()
}

/// A compensated sum.
#[derive(Clone, Default)]
struct CompensatedSum {
    high: f64,
    low: f64,
}

impl CompensatedSum {
    fn add(&mut self, x: f64) -> f64 {
        let s = self.high + x;
        let back = s - self.high;
        self.low += (self.high - (s - back)) + (x - back);
        self.high = s;
        self.high + self.low
    }
}

fn check(what: &str, got: &[f64], want: &[f64], most: impl Fn(usize) -> f64) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{what}: {} numbers, not {}", got.len(), want.len()));
    }
    let wrong = got
        .iter()
        .zip(want)
        .enumerate()
        .find(|(i, (g, w))| (*g - *w).abs().partial_cmp(&most(*i)).is_none_or(std::cmp::Ordering::is_gt));
    wrong.map_or(Ok(()), |(i, (g, w))| Err(format!("{what}: number {i} is {g}, and on the CPU {w}")))
}

fn run(n: usize, json: bool) -> Result<(), String> {
    let gpu = opened()?;
    eprintln!("{}", gpu.caps.name);
    let mut bench = Bench { gpu, n, json, copy: 1.0 };
    let xs = numbers(n);
    let edge = if n >= 10_000_000 { 4096 } else { 256 };
    let kinds = if bench.gpu.caps.f64 { &[Scalar::F32, Scalar::F64][..] } else { &[Scalar::F32] };
    for ty in kinds {
        bench.copies(*ty, &xs)?;
        bench.maps(*ty, &xs)?;
        bench.folds(*ty, &xs, "reduce")?;
        bench.folds(*ty, &xs, "scan")?;
        if bench.gpu.caps.i64 {
            [31, 401, 500_000].into_iter().try_for_each(|bins| bench.histograms(*ty, &xs, bins))?;
        }
        bench.sorts(*ty, &xs)?;
        bench.products(*ty, edge)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let (mut count, mut json, mut args) = (1_000_000, false, std::env::args().skip(1));
    while let Some(a) = args.next() {
        if a == "--adapter" {
            return shown(adapter());
        }
        let number = if a == "--n" { args.next().and_then(|k| k.parse().ok()) } else { None };
        match (a.as_str(), number) {
            ("--json", _) => json = true,
            ("--n", Some(k)) if k > 0 => count = k,
            _ => {
                eprintln!("gpu [--n N] [--json] | gpu --adapter");
                return ExitCode::FAILURE;
            }
        }
    }
    shown(run(count, json))
}

fn opened() -> Result<Gpu, String> {
    Gpu::open(std::env::var("ADL_GPU").ok().as_deref()).map_err(words)
}

/// Prints the adapter.
fn adapter() -> Result<(), String> {
    let caps = opened()?.caps;
    println!("{}: {}", if caps.software { "software" } else { "card" }, caps.name);
    Ok(())
}

fn shown(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
