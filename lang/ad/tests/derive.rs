//! All passes in sequence on small hand-written functions: every pass runs the verifier internally, and the text
//! must be as expected.

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
fn branching(program: &mut Program) -> adl_ir::FnId {
    let mut builder = Builder::new("g");
    let array = builder.param(Ty::F64.array(1));
    let zero = builder.lit(Lit::F64(0.5));
    let count = builder.dim(array, 0);
    builder.open();
    let index = builder.param(Ty::I64);
    let state = builder.param(Ty::F64);
    let elem = builder.param(Ty::F64);
    let condition = builder.cmp(adl_ir::Cmp::Gt, elem, zero);
    builder.open();
    let m = builder.bin(Bin::Mul, elem, state);
    let t = builder.bin(Bin::Add, state, m);
    let yes = builder.close(vec![t], vec![]);
    builder.open();
    let k = builder.int(0);
    let first = builder.one(Op::Index { a: array, at: vec![k], shape: None }, Ty::F64);
    let ith = builder.one(Op::Index { a: array, at: vec![index], shape: None }, Ty::F64);
    let t = builder.bin(Bin::Mul, state, first);
    let t = builder.bin(Bin::Sub, t, ith);
    let no = builder.close(vec![t], vec![]);
    let next = builder.one(Op::If(condition, Box::new(yes), Box::new(no)), Ty::F64);
    let sq = builder.bin(Bin::Mul, next, elem);
    let body: Block = builder.close(vec![next, sq], vec![]);
    let ir_loop = Loop {
        trip: Trip::Count(count),
        reverse: false,
        init: vec![zero],
        lin_init: vec![],
        xs: vec![array],
        lin_xs: vec![],
        outs: vec![Out::Collect],
        lin_outs: vec![],
        body,
    };
    let (outs, _) = builder.emit(Op::Loop(Box::new(ir_loop)), &[Ty::F64, Ty::F64.array(1), Ty::I64], &[]);
    let total = builder.one(Op::Sum { a: outs[1], n: None }, Ty::F64);
    let y = builder.bin(Bin::Mul, total, outs[0]);
    let f = builder.finish(vec![y], vec![]);
    program.add(f)
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
