//! Statements of random programs, on the device and in the reference evaluator. `ADL_PROGRAMS=1000` tests more
//! programs.

use crate::common;

use adl_gpu::{Array, Data, Error, Gpu, Operand, Res, Scalar, index, nest, pointwise, soac};
use adl_ir::generate::{maps, rows};
use adl_ir::{Block, Function, Lit, Op, Program, Stmt, Ty, Val, Var, generate};
use std::collections::{HashMap, HashSet};

/// The variables bound outside that a statement reads, including nested blocks.
fn free(statement: &Stmt) -> Vec<Var> {
    fn block(b: &Block, read: &mut Vec<Var>, made: &mut Vec<Var>) {
        made.extend(b.params.iter().chain(&b.lin_params));
        b.stmts.iter().for_each(|s| stmt(s, read, made));
        read.extend(b.results.iter().chain(&b.lin_results));
    }
    fn stmt(s: &Stmt, read: &mut Vec<Var>, made: &mut Vec<Var>) {
        s.op.each_operand(&mut |v| read.push(v));
        s.op.blocks().into_iter().for_each(|b| block(b, read, made));
        made.extend(s.outs.iter().chain(&s.lin_outs));
    }
    let (mut read, mut made) = (Vec::new(), Vec::new());
    stmt(statement, &mut read, &mut made);
    read.retain(|v| !made.contains(v));
    read.sort();
    read.dedup();
    read
}

/// The values of some variables after `stmts` statements.
fn values(p: &Program, f: &Function, args: &[Val], stmts: usize, of: &[Var]) -> Vec<Val> {
    let mut p = p.clone();
    let body = Block { stmts: f.body.stmts[..stmts].to_vec(), results: of.to_vec(), ..f.body.clone() };
    let id = p.add(Function { body, ..f.clone() });
    adl_ir::eval::run(&p, id, args, &[]).unwrap().results
}

/// A value on the device, if it is representable there.
fn operand(gpu: &Gpu, ty: &Ty, val: &Val) -> Option<Operand> {
    let scalar = Scalar::of(ty.scalar())?;
    let leaves = val.leaves();
    let data = match scalar {
        Scalar::F64 => Data::F64(leaves.iter().filter_map(|v| v.float()).collect()),
        Scalar::F32 => Data::F32(leaves.iter().filter_map(|v| v.float()).map(|x| x as f32).collect()),
        Scalar::I64 => {
            Data::I64(leaves.iter().filter_map(|v| if let Val::I64(n) = v { Some(*n) } else { None }).collect())
        }
        Scalar::Bool | Scalar::Word => Data::Bool(leaves.iter().map(|v| **v == Val::Bool(true)).collect()),
    };
    match val {
        Val::Array(a) => gpu.array(&data, a.shape.clone()).ok().map(Operand::Array),
        Val::F64(x) => Some(Operand::Number(Lit::F64(*x))),
        Val::F32(x) => Some(Operand::Number(Lit::F32(*x))),
        Val::I64(x) => Some(Operand::Number(Lit::I64(*x))),
        Val::Bool(x) => Some(Operand::Number(Lit::Bool(*x))),
        _ => None,
    }
}

/// Runs a statement on the device.
fn on_device(
    gpu: &Gpu,
    program: &Program,
    func: &Function,
    stmt: &Stmt,
    env: &dyn Fn(Var) -> Option<Operand>,
) -> Res<Vec<Array>> {
    let array = |v: &Var| match env(*v) {
        Some(Operand::Array(a)) => Ok(a),
        _ => Err(Error::Unsupported("no array".to_owned())),
    };
    match &stmt.op {
        Op::Loop(l) => nest::run(gpu, program, func, l, env),
        Op::Soac(x) => soac::run(gpu, program, func, x, env),
        Op::ReduceByIndex { dest, op, neutral, keys, values } => {
            let (dest, values) =
                (dest.iter().map(array).collect::<Res<Vec<_>>>()?, values.iter().map(array).collect::<Res<Vec<_>>>()?);
            index::reduce_by_index(
                gpu,
                program,
                func,
                &index::ByIndex { dest: &dest, op, neutral, keys: &array(keys)?, values: &values },
                env,
            )
        }
        Op::Sum { a, .. } => soac::sum(gpu, &array(a)?).map(|a| vec![a]),
        op if pointwise::is_pointwise(op) && stmt.outs.iter().all(|v| func.ty(*v).rank() > 0) => {
            pointwise::run(gpu, program, func, std::slice::from_ref(stmt), &stmt.outs, env)
        }
        _ => Err(Error::Unsupported("nothing for kernels".to_owned())),
    }
}

fn numbers(d: &Data) -> Vec<f64> {
    match d {
        Data::F64(x) => x.clone(),
        Data::F32(x) => x.iter().map(|x| f64::from(*x)).collect(),
        Data::I64(x) => x.iter().map(|x| *x as f64).collect(),
        Data::Bool(x) => x.iter().map(|x| f64::from(u8::from(*x))).collect(),
        Data::Word(x) => x.iter().map(|x| f64::from(*x)).collect(),
    }
}

fn number(v: &Val) -> f64 {
    match v {
        Val::I64(n) => *n as f64,
        Val::Bool(b) => f64::from(u8::from(*b)),
        other => other.float().unwrap_or(f64::NAN),
    }
}

/// Compares all statements of a program that kernels accept. Returns their number, and records why others were refused.
fn check(gpu: &Gpu, generated: &generate::Generated, refused: &mut HashMap<String, usize>) -> usize {
    let (func, mut done) = (generated.program.func(generated.main).clone(), 0);
    for (index, stmt) in func.body.stmts.iter().enumerate() {
        if !matches!(stmt.op, Op::Loop(_) | Op::Soac(_) | Op::ReduceByIndex { .. } | Op::Sum { .. })
            && !pointwise::is_pointwise(&stmt.op)
            || stmt.outs.iter().all(|v| func.ty(*v).rank() == 0) && pointwise::is_pointwise(&stmt.op)
        {
            continue;
        }
        let read = free(stmt);
        let known: HashMap<Var, Operand> = read
            .iter()
            .zip(values(&generated.program, &func, &generated.args, index, &read))
            .filter_map(|(v, x)| Some((*v, operand(gpu, func.ty(*v), &x)?)))
            .collect();
        let outs = match on_device(gpu, &generated.program, &func, stmt, &|v| known.get(&v).cloned()) {
            Ok(outs) => outs,
            Err(Error::Unsupported(why)) => {
                *refused.entry(why).or_default() += 1;
                continue;
            }
            Err(e) => panic!("seed {} size {}, statement {index}: {e}", generated.seed, generated.size),
        };
        let want = values(&generated.program, &func, &generated.args, index + 1, &stmt.outs);
        for (a, w) in outs.iter().zip(&want) {
            let (got, want): (Vec<f64>, Vec<f64>) =
                (numbers(&gpu.read(a).unwrap()), w.leaves().iter().map(|v| number(v)).collect());
            let near = got.len() == want.len()
                && got
                    .iter()
                    .zip(&want)
                    .all(|(a, b)| (a - b).abs() <= 1e-11 * b.abs().max(1.0) || a == b || a.is_nan() && b.is_nan());
            assert!(
                near,
                "seed {} size {}, statement {index}: {got:?} instead of {want:?}\n{}",
                generated.seed,
                generated.size,
                adl_ir::print::head(&generated.program, &func, stmt)
            );
        }
        done += 1;
    }
    done
}

#[test]
fn statements_of_random_programs_are_the_evaluators() {
    let gpu = common::gpu();
    let (mut done, mut refused) = (0, HashMap::new());
    for seed in 0..common::programs(120) {
        done += check(&gpu, &generate::program(seed, 8 + (seed % 30) as usize), &mut refused);
    }
    let mut why: Vec<_> = refused.into_iter().collect();
    why.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    println!("{done} statements; not for kernels: {why:#?}");
    assert!(done > 1000, "only {done} statements ran: {why:#?}");
}

fn generated(case: rows::Case) -> generate::Generated {
    generate::Generated { program: case.program, main: case.main, args: case.args, seed: 0, size: 1 }
}

/// One instance of each operator in the table of operations that kernels may contain, on vectors of Floats and of Ints.
#[test]
fn operators_are_the_evaluators() {
    let gpu = common::gpu();
    let (mut done, mut seen, mut refused) = (0, HashSet::new(), HashMap::new());
    for scalar in [Ty::F64, Ty::I64] {
        for case in rows::instances(&scalar).into_iter().filter(|case| case.results.is_ok()) {
            let text = case.text();
            let operator = text.split(" = ").nth(1).and_then(|op| op.split(" v").next()).map(str::to_owned);
            let vector = case.program.func(case.main).vars.iter().all(|v| v.ty.rank() == 1);
            if vector && seen.insert((scalar.clone(), operator)) {
                done += check(&gpu, &generated(case), &mut refused);
            }
        }
    }
    assert!(done > 70, "only {done} operators ran: {refused:#?}");
}

#[test]
fn loops_over_vectors_are_the_evaluators() {
    let gpu = common::gpu();
    let mut refused = HashMap::new();
    let cases = (0..60).map(|seed| generate::Generated { seed, ..generated(maps::program(seed, 5)) });
    let done: usize = cases.map(|g| check(&gpu, &g, &mut refused)).sum();
    assert!(done > 100, "only {done} statements ran: {refused:#?}");
}
