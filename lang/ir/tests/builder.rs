//! Functions built with [`adl_ir::Builder`]: printed and verified.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use adl_ir::print::{self, Style};
use adl_ir::{Block, Builder, Function, Loop, Op, Out, Program, Trip, Ty, verify, verify_linear_b};
use adl_prim::{Bin, Un};

/// `x, n ; dx -> sum for i < n. sin x * i ; n (cos x) dx`.
fn sample() -> Function {
    let mut b = Builder::new("sample");
    let (x, n, dx) = (b.param(Ty::F64), b.param(Ty::I64), b.lin_param(Ty::F64));
    let c = b.un(Un::Cos, x);
    let t = b.bin(Bin::Mul, c, dx);
    b.open();
    let i = b.param(Ty::I64);
    let fi = b.convert(adl_ir::Conv::ToF64, i);
    let s = b.un(Un::Sin, x);
    let y = b.bin(Bin::Mul, s, fi);
    let one = b.real(1.0, x);
    let t1 = b.bin(Bin::Mul, one, t);
    let body: Block = b.close(vec![y], vec![t1]);
    let l = Loop {
        trip: Trip::Count(n),
        reverse: false,
        init: vec![],
        lin_init: vec![],
        xs: vec![],
        lin_xs: vec![],
        outs: vec![Out::Sum],
        lin_outs: vec![Out::Sum],
        body,
    };
    let (outs, lin) = b.emit(Op::Loop(Box::new(l)), &[Ty::F64, Ty::I64], &[Ty::F64]);
    b.finish(vec![outs[0]], lin)
}

#[test]
fn prints_and_verifies() {
    let (p, f) = (Program::default(), sample());
    assert_eq!(verify(&p, &f), Ok(()));
    let want = "\
fn sample (v0: f64, v1: i64 ; v2~: f64) -> (f64 ; f64) {
  v3: f64 = cos v0
  v4~: f64 = mul v3 v2~
  v11: f64, v12: i64 ; v13~: f64 = loop for v1 out (sum ; sum) (v5: i64) {
    v6: f64 = to_f64 v5
    v7: f64 = sin v0
    v8: f64 = mul v7 v6
    v9: f64 = 1.0
    v10~: f64 = mul v9 v4~
    return v8 ; v10~
  }
  return v11 ; v13~
}
";
    assert_eq!(print::function(&p, &f, Style::PLAIN), want);
    // The loop has both linear and non-linear outputs.
    let faults = verify_linear_b(&p, &f).unwrap_err();
    assert!(faults.iter().all(|x| x.invariant == 11) && faults.len() == 2, "{faults:?}");
}
