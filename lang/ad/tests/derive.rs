//! All passes in sequence on small hand-written functions: every pass runs the verifier internally, and the text
//! must be as expected.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use adl_ad::Ad;
use adl_ir::print::{Style, function};
use adl_ir::{Block, Builder, Lit, Loop, Op, Out, Program, Trip, Ty};
use adl_prim::{Bin, Un};

/// f x = sin x * x
fn sin_times(p: &mut Program) -> adl_ir::FnId {
    let mut b = Builder::new("f");
    let x = b.param(Ty::F64);
    let s = b.un(Un::Sin, x);
    let y = b.bin(Bin::Mul, s, x);
    let f = b.finish(vec![y], vec![]);
    p.add(f)
}

/// g a = loop s = 0 for i < len a do if a[i] > 0 then s + a[i] * s else s * a[0]
fn branching(p: &mut Program) -> adl_ir::FnId {
    let mut b = Builder::new("g");
    let a = b.param(Ty::F64.array(1));
    let zero = b.lit(Lit::F64(0.5));
    let n = b.dim(a, 0);
    b.open();
    let i = b.param(Ty::I64);
    let s = b.param(Ty::F64);
    let e = b.param(Ty::F64);
    let c = b.cmp(adl_ir::Cmp::Gt, e, zero);
    b.open();
    let m = b.bin(Bin::Mul, e, s);
    let t = b.bin(Bin::Add, s, m);
    let yes = b.close(vec![t], vec![]);
    b.open();
    let k = b.int(0);
    let first = b.one(Op::Index { a, at: vec![k], shape: None }, Ty::F64);
    let ith = b.one(Op::Index { a, at: vec![i], shape: None }, Ty::F64);
    let t = b.bin(Bin::Mul, s, first);
    let t = b.bin(Bin::Sub, t, ith);
    let no = b.close(vec![t], vec![]);
    let next = b.one(Op::If(c, Box::new(yes), Box::new(no)), Ty::F64);
    let sq = b.bin(Bin::Mul, next, e);
    let body: Block = b.close(vec![next, sq], vec![]);
    let l = Loop {
        trip: Trip::Count(n),
        reverse: false,
        init: vec![zero],
        lin_init: vec![],
        xs: vec![a],
        lin_xs: vec![],
        outs: vec![Out::Collect],
        lin_outs: vec![],
        body,
    };
    let (outs, _) = b.emit(Op::Loop(Box::new(l)), &[Ty::F64, Ty::F64.array(1), Ty::I64], &[]);
    let total = b.one(Op::Sum { a: outs[1], n: None }, Ty::F64);
    let y = b.bin(Bin::Mul, total, outs[0]);
    let f = b.finish(vec![y], vec![]);
    p.add(f)
}

#[test]
fn every_pass_makes_functions_that_verify() {
    for make in [sin_times, branching] {
        let (mut p, mut ad) = (Program::default(), Ad::new());
        let f = make(&mut p);
        let l = ad
            .linearize_with(&mut p, f, &[true], &adl_ad::unzip::UnzipPlan::store_all())
            .unwrap_or_else(|e| panic!("{}", e.why));
        println!("{}", adl_ir::print::program(&p, Style::PLAIN));
        // Once more, for second derivatives.
        let k = p.func(l.cotangent).body.params.len();
        ad.linearize_with(&mut p, l.cotangent, &vec![true; k], &adl_ad::unzip::UnzipPlan::store_all())
            .unwrap_or_else(|e| panic!("{}", e.why));
        let _ = function(&p, p.func(l.primal), Style::PLAIN);
    }
}
