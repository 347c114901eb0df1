//! Benchmarks native code against the interpreter: `cargo run --release -p adl-jit --example bench`.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../common/mod.rs"]
mod common;

use adl_ad::Ad;
use adl_interp::ir::lower::Linker;
use adl_interp::upcalls::RunsLowered;
use adl_interp::value::{Value, array};
use adl_ir::{FnId, Program};
use adl_specialise::world::Transforms;
use std::time::Instant;

/// Runs a function both ways and prints the times in milliseconds.
fn compare(name: &str, program: &Program, id: FnId, args: &[Value]) -> Vec<Value> {
    let start = Instant::now();
    let code = common::compile(program, id);
    let compiling = start.elapsed();
    let mut machine = common::machine();
    let best = |run: &mut dyn FnMut() -> Vec<Value>| {
        let mut best = f64::INFINITY;
        let mut out = Vec::new();
        for _ in 0..5 {
            let start = Instant::now();
            out = run();
            best = best.min(start.elapsed().as_secs_f64());
        }
        (best, out)
    };
    let (native, outs) = best(&mut || code.run(&mut machine, args.to_vec()).unwrap());
    let fun = Linker::default().function(program, id).unwrap();
    let n = program.func(id).body.results.len();
    let mut m = common::machine();
    let (interp, _) = best(&mut || m.call_lowered(&fun, args.to_vec(), n).unwrap());
    println!(
        "{name:34} {:10.3} ms native {:10.3} ms interpreted {:6.1} x   compiled in {:.2} ms",
        native * 1e3,
        interp * 1e3,
        interp / native,
        compiling.as_secs_f64() * 1e3
    );
    outs
}

/// Measures the primal and the gradient of a function's last result.
fn gradient(name: &str, text: &str, args: &[Value]) {
    let mut p = adl_ir::parse::program(text).unwrap_or_else(|e| panic!("{name}: {e}"));
    let f = FnId(p.funcs.len() as u32 - 1);
    compare(&format!("{name}: primal"), &p, f, args);
    let n = p.func(f).body.params.len();
    let mut ad = Ad::new();
    let l = ad.linearize(&mut p, f, &vec![true; n]).unwrap_or_else(|e| panic!("{name}: {}", e.why));
    let mut outs = compare(&format!("{name}: with residuals"), &p, l.primal, args);
    let mut back = outs.split_off(l.results);
    back.extend(l.active.iter().filter(|a| **a).map(|_| Value::Float(1.0)));
    compare(&format!("{name}: transpose"), &p, l.cotangent, &back);
}

const LOOP: &str = include_str!("loop.ir");
const RK4: &str = include_str!("rk4.ir");
const NEWTON: &str = include_str!("newton.ir");
const LOGISTIC: &str = include_str!("logistic.ir");

fn main() {
    gradient("loop 10^7", LOOP, &[Value::Int(10_000_000), Value::Float(0.5)]);
    gradient("rk4 10^6", RK4, &[Value::Int(1_000_000), Value::Float(1.0), Value::Float(0.5)]);
    gradient("newton 10^5", NEWTON, &[Value::Int(100_000), Value::Float(2.0)]);
    let (n, d) = (1000, 20);
    let x = array::make(
        [n, d].into_iter().collect(),
        adl_interp::value::Buf::F64((0..n * d).map(|i| ((i * 7919) % 1000) as f64 / 1000.0 - 0.5).collect()),
    );
    let y = array::floats((0..n).map(|i| (i % 2) as f64).collect());
    let w = array::floats((0..d).map(|i| i as f64 / 10.0 - 1.0).collect());
    gradient("logistic 1000x20", LOGISTIC, &[x, y, w]);
}
