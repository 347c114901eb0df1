//! Functions built with [`adl_ir::Builder`]: printed and verified.

use adl_ir::print::{self, Style};
use adl_ir::{Block, Builder, Function, Loop, Op, Out, Program, Trip, Ty, verify, verify_linear_b};
use adl_prim::{Bin, Un};

/// `x, count ; dx -> sum for i < count. sin x * i ; count (cos x) dx`.
fn sample() -> Function {
    let mut builder = Builder::new("sample");
    let (x, count, dx) = (builder.param(Ty::F64), builder.param(Ty::I64), builder.lin_param(Ty::F64));
    let c = builder.un(Un::Cos, x);
    let t = builder.bin(Bin::Mul, c, dx);
    builder.open();
    let i = builder.param(Ty::I64);
    let fi = builder.convert(adl_ir::Conv::ToF64, i);
    let s = builder.un(Un::Sin, x);
    let y = builder.bin(Bin::Mul, s, fi);
    let one = builder.real(1.0, x);
    let t1 = builder.bin(Bin::Mul, one, t);
    let body: Block = builder.close(vec![y], vec![t1]);
    let ir_loop = Loop {
        trip: Trip::Count(count),
        reverse: false,
        init: vec![],
        lin_init: vec![],
        xs: vec![],
        lin_xs: vec![],
        outs: vec![Out::Sum],
        lin_outs: vec![Out::Sum],
        body,
    };
    let (outs, lin) = builder.emit(Op::Loop(Box::new(ir_loop)), &[Ty::F64, Ty::I64], &[Ty::F64]);
    builder.finish(vec![outs[0]], lin)
}

#[test]
fn prints_and_verifies() {
    let (program, func) = (Program::default(), sample());
    assert_eq!(verify(&program, &func), Ok(()));
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
    assert_eq!(print::function(&program, &func, Style::PLAIN), want);
    // The loop has both linear and non-linear outputs.
    let faults = verify_linear_b(&program, &func).unwrap_err();
    assert!(faults.iter().all(|x| x.invariant == 11) && faults.len() == 2, "{faults:?}");
}
