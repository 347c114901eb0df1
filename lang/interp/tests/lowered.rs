//! Lowered code: what functions of the IR give, run by the machine.

use adl_interp::host::NullHost;
use adl_interp::ir::lower::Linker;
use adl_interp::upcalls::RunsLowered;
use adl_interp::value::{Buf, ConInfo, Shape, Value, array, compare};
use adl_interp::vm::Machine;
use adl_ir::{Builder, Cmp, DataDecl, FnId, Loop, Op, Out, Program, Soac, SoacKind, Trip, Ty};
use adl_prim::{Bin, Un};
use std::rc::Rc;

pub fn run(p: &Program, f: FnId, args: Vec<Value>) -> Vec<Value> {
    let mut m = Machine::new(Box::new(NullHost));
    let fun = Linker::default().function(p, f).unwrap();
    let b = &p.func(f).body;
    let n = b.results.len() + b.lin_results.len();
    m.call_lowered(&fun, args, n).unwrap()
}

fn same(got: &[Value], want: &[Value]) {
    assert_eq!(got.len(), want.len(), "{got:?}");
    for (g, w) in got.iter().zip(want) {
        assert!(compare::equal(g, w).unwrap(), "{g:?} and {w:?}");
    }
}

fn vector(ty: Ty) -> Ty {
    ty.array(1)
}

#[test]
fn branches_take_and_keep() {
    // f c x y = let z = x + y in if c then (z * x, x) else (y, z)
    let mut program = Program::default();
    let mut b = Builder::new("f");
    let (c, x, y) = (b.param(Ty::Bool), b.param(vector(Ty::F64)), b.param(vector(Ty::F64)));
    let z = b.bin(Bin::Add, x, y);
    b.open();
    let w = b.bin(Bin::Mul, z, x);
    let yes = b.close(vec![w, x], vec![]);
    b.open();
    let no = b.close(vec![y, z], vec![]);
    let outs = b.emit(Op::If(c, Box::new(yes), Box::new(no)), &[vector(Ty::F64), vector(Ty::F64)], &[]).0;
    let f = program.add(b.finish(outs, vec![]));
    let (left, right) = (array::floats(vec![1.0, 2.0]), array::floats(vec![3.0, 5.0]));
    same(
        &run(&program, f, vec![Value::Bool(true), left.clone(), right.clone()]),
        &[array::floats(vec![4.0, 14.0]), left.clone()],
    );
    same(&run(&program, f, vec![Value::Bool(false), left, right.clone()]), &[right, array::floats(vec![4.0, 7.0])]);
}

/// A loop of `n` iterations over `xs` that swaps two carried numbers, collects `x + a`, and sums `x`.
fn swapping(reverse: bool) -> (Program, FnId) {
    let mut program = Program::default();
    let mut builder = Builder::new("f");
    let (n, a0, b0, xs) =
        (builder.param(Ty::I64), builder.param(Ty::F64), builder.param(Ty::F64), builder.param(vector(Ty::F64)));
    builder.open();
    let (_, a, c, x) = (builder.param(Ty::I64), builder.param(Ty::F64), builder.param(Ty::F64), builder.param(Ty::F64));
    let out = builder.bin(Bin::Add, x, a);
    let body = builder.close(vec![c, a, out, x], vec![]);
    let ir_loop = Loop {
        trip: Trip::Count(n),
        reverse,
        init: vec![a0, b0],
        lin_init: vec![],
        xs: vec![xs],
        lin_xs: vec![],
        outs: vec![Out::Collect, Out::Sum],
        lin_outs: vec![],
        body,
    };
    let tys = [Ty::F64, Ty::F64, vector(Ty::F64), Ty::F64, Ty::I64];
    let outs = builder.emit(Op::Loop(Box::new(ir_loop)), &tys, &[]).0;
    let f = program.add(builder.finish(outs, vec![]));
    (program, f)
}

#[test]
fn loops_swap_collect_and_sum() {
    let args = |n: i64| vec![Value::Int(n), Value::Float(10.0), Value::Float(20.0), array::floats(vec![1.0, 2.0, 3.0])];
    let (program, function) = swapping(false);
    let want = [
        Value::Float(20.0),
        Value::Float(10.0),
        array::floats(vec![11.0, 22.0, 13.0]),
        Value::Float(6.0),
        Value::Int(3),
    ];
    same(&run(&program, function, args(3)), &want);
    same(
        &run(&program, function, args(0)),
        &[Value::Float(10.0), Value::Float(20.0), array::floats(vec![]), Value::Float(0.0), Value::Int(0)],
    );
    let (p, f) = swapping(true);
    let want = [
        Value::Float(20.0),
        Value::Float(10.0),
        array::floats(vec![11.0, 22.0, 13.0]),
        Value::Float(6.0),
        Value::Int(3),
    ];
    same(&run(&p, f, args(3)), &want);
}

#[test]
fn while_loops_count_their_turns() {
    // x doubles while x < 100
    let mut program = Program::default();
    let mut builder = Builder::new("f");
    let x0 = builder.param(Ty::F64);
    builder.open();
    let x = builder.param(Ty::F64);
    let limit = builder.lit(adl_ir::Lit::F64(100.0));
    let go = builder.cmp(Cmp::Lt, x, limit);
    let cond = builder.close(vec![go], vec![]);
    builder.open();
    let (_, x) = (builder.param(Ty::I64), builder.param(Ty::F64));
    let y = builder.bin(Bin::Add, x, x);
    let body = builder.close(vec![y, x], vec![]);
    let ir_loop = Loop {
        trip: Trip::While(cond),
        reverse: false,
        init: vec![x0],
        lin_init: vec![],
        xs: vec![],
        lin_xs: vec![],
        outs: vec![Out::Collect],
        lin_outs: vec![],
        body,
    };
    let outs = builder.emit(Op::Loop(Box::new(ir_loop)), &[Ty::F64, vector(Ty::F64), Ty::I64], &[]).0;
    let f = program.add(builder.finish(outs, vec![]));
    let want = [Value::Float(128.0), array::floats(vec![16.0, 32.0, 64.0]), Value::Int(3)];
    same(&run(&program, f, vec![Value::Float(16.0)]), &want);
}

#[test]
fn recursion_is_deep_and_tail_calls_take_no_space() {
    // sum n = if n <= 0 then 0 else n + sum (n - 1);  count n acc = if n <= 0 then acc else count (n - 1) (acc + 1)
    for tail in [false, true] {
        let mut program = Program::default();
        let id = program.reserve("f");
        let mut builder = Builder::new("f");
        let (count, acc) = (builder.param(Ty::I64), builder.param(Ty::I64));
        let zero = builder.int(0);
        let done = builder.cmp(Cmp::Le, count, zero);
        builder.open();
        let stop = builder.close(vec![acc], vec![]);
        builder.open();
        let one = builder.int(1);
        let less = builder.bin(Bin::Sub, count, one);
        let more = builder.bin(Bin::Add, acc, one);
        let call = Op::Call {
            f: id,
            args: vec![less, if tail { more } else { acc }],
            lin_args: vec![],
            rule: None,
            checkpoint: false,
        };
        let r = builder.emit(call, &[Ty::I64], &[]).0[0];
        let r = if tail { r } else { builder.bin(Bin::Add, count, r) };
        let go = builder.close(vec![r], vec![]);
        let out = builder.one(Op::If(done, Box::new(stop), Box::new(go)), Ty::I64);
        program.set(id, builder.finish(vec![out], vec![]));
        let n = 1_000_000i64;
        let want = if tail { n } else { n * (n + 1) / 2 };
        same(&run(&program, id, vec![Value::Int(n), Value::Int(0)]), &[Value::Int(want)]);
    }
}

#[test]
fn absent_arrays_are_zeros() {
    // Linear: acc = zero; add x at 1; and the sum of a symbolic zero.
    let mut program = Program::default();
    let mut b = Builder::new("f");
    let shape = b.param(Ty::shape());
    let x = b.lin_param(Ty::F64);
    let one = b.int(1);
    let (z, other) =
        (b.lin(Op::Zero(vector(Ty::F64)), vector(Ty::F64)), b.lin(Op::Zero(vector(Ty::F64)), vector(Ty::F64)));
    let acc = b.lin(Op::IndexAdd { acc: z, at: vec![one], v: x, shape: Some(shape) }, vector(Ty::F64));
    let t = b.lin(Op::SumAll { a: other, shape: Some(shape) }, Ty::F64);
    let f = program.add(b.finish(vec![], vec![acc, t]));
    same(
        &run(&program, f, vec![array::ints(vec![3]), Value::Float(5.0)]),
        &[array::floats(vec![0.0, 5.0, 0.0]), Value::Float(0.0)],
    );
}

#[test]
fn lists_are_walked() {
    // len l acc = switch l { Nil -> acc; Cons x rest -> len rest (acc + x) }
    let mut program = Program::default();
    let data = program.add_data(DataDecl { name: "List".into(), cons: vec![], declared: None });
    program.set_data(
        data,
        DataDecl {
            name: "List".into(),
            cons: vec![("Nil".into(), vec![]), ("Cons".into(), vec![Ty::F64, Ty::Data(data)])],
            declared: None,
        },
    );
    let id = program.reserve("f");
    let mut builder = Builder::new("f");
    let (items, acc) = (builder.param(Ty::Data(data)), builder.param(Ty::F64));
    builder.open();
    let nil = builder.close(vec![acc], vec![]);
    builder.open();
    let (x, rest) = (builder.param(Ty::F64), builder.param(Ty::Data(data)));
    let y = builder.un(Un::Neg, x);
    let sum = builder.bin(Bin::Add, acc, y);
    let r = builder
        .emit(
            Op::Call { f: id, args: vec![rest, sum], lin_args: vec![], rule: None, checkpoint: false },
            &[Ty::F64],
            &[],
        )
        .0[0];
    let cons = builder.close(vec![r], vec![]);
    let out = builder.one(Op::Switch(items, vec![nil, cons]), Ty::F64);
    program.set(id, builder.finish(vec![out], vec![]));
    let con = |name: &str, tag, arity| {
        Rc::new(ConInfo {
            name: adl_syntax::symbol::Symbol::new(name),
            tag,
            data: adl_typing::ty::DataId(0, adl_syntax::symbol::Symbol::new(name)),
            arity,
        })
    };
    let (nil, cons) = (con("Nil", 0, 0), con("Cons", 1, 2));
    let empty = Value::data(nil, vec![]);
    let list = (1..=100_000).fold(empty, |rest, k| Value::data(cons.clone(), vec![Value::Float(f64::from(k)), rest]));
    same(&run(&program, id, vec![list, Value::Float(0.0)]), &[Value::Float(-5_000_050_000.0)]);
}

#[test]
fn scans_and_rows() {
    let mut program = Program::default();
    let mut builder = Builder::new("f");
    let (xs, table) = (builder.param(vector(Ty::F64)), builder.param(Ty::F64.array(2)));
    let zero = builder.lit(adl_ir::Lit::F64(0.0));
    builder.open();
    let (a, x) = (builder.param(Ty::F64), builder.param(Ty::F64));
    let s = builder.bin(Bin::Add, a, x);
    let op = builder.close(vec![s], vec![]);
    let soac = |kind, op| Op::Soac(Box::new(Soac { kind, op, neutral: vec![zero], arrays: vec![xs] }));
    let all = builder.one(soac(SoacKind::ScanExclusive, op), vector(Ty::F64));
    let n = builder.dim(table, 0);
    builder.open();
    let (_, row) = (builder.param(Ty::I64), builder.param(vector(Ty::F64)));
    let twice = builder.bin(Bin::Add, row, row);
    let body = builder.close(vec![twice, row], vec![]);
    let ir_loop = Loop {
        trip: Trip::Count(n),
        reverse: true,
        init: vec![],
        lin_init: vec![],
        xs: vec![table],
        lin_xs: vec![],
        outs: vec![Out::Collect, Out::Sum],
        lin_outs: vec![],
        body,
    };
    let mut outs = builder.emit(Op::Loop(Box::new(ir_loop)), &[Ty::F64.array(2), vector(Ty::F64), Ty::I64], &[]).0;
    outs.truncate(2);
    outs.push(all);
    let f = program.add(builder.finish(outs, vec![]));
    let matrix = |v: Vec<f64>| array::make(Shape::from_slice(&[2, 2]), Buf::F64(v));
    let got = run(&program, f, vec![array::floats(vec![1.0, 2.0, 4.0]), matrix(vec![1.0, 2.0, 3.0, 4.0])]);
    same(&got, &[matrix(vec![2.0, 4.0, 6.0, 8.0]), array::floats(vec![4.0, 6.0]), array::floats(vec![0.0, 1.0, 3.0])]);
}
