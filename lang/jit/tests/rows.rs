//! Each row of the table of operations in native code, in the interpreter, and in the reference evaluator: random chains
//! of operations, and applications that fail.

use crate::common;
use crate::variants;

use adl_interp::ir::evaluator_values::value_at;
use adl_interp::value::{Buf, Value};
use adl_ir::generate::rows::{self, Case};
use adl_ir::{Op, Ty, Val};
use adl_prim::{ArrayFn, Prim};
use common::both;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Whether compiled code may contain an operation: specialisation replaces the built-in by `gather_add`.
fn compiled(op: &Op) -> bool {
    !matches!(op, Op::Prim(Prim::Array(ArrayFn::ScatterWithin), _))
}

fn args(case: &Case) -> Vec<Value> {
    let f = case.program.func(case.main);
    case.args.iter().zip(f.tys(&f.body.params)).map(|(arg, ty)| value_at(arg, &ty)).collect()
}

/// Whether a value is that of the reference evaluator, to rounding: it adds in another order.
fn agrees(have: &Value, want: &Val) -> bool {
    let close = |x: f64, y: f64, eps: f64| (x - y).abs() <= eps * (1.0 + y.abs()) || x.is_nan() && y.is_nan() || x == y;
    match (have, want) {
        (Value::Float(x), Val::F64(y)) => close(*x, *y, 1e-13),
        (Value::F32(x), Val::F32(y)) => close(f64::from(*x), f64::from(*y), 1e-5),
        (Value::Int(x), Val::I64(y)) => x == y,
        (Value::Bool(x), Val::Bool(y)) => x == y,
        (Value::Zero, Val::SymbolicZero) => true,
        (Value::Array(x), Val::Array(y)) => {
            let leaves: Vec<Value> = match x.buf() {
                Buf::F64(x) => x.iter().map(|x| Value::Float(*x)).collect(),
                Buf::F32(x) => x.iter().map(|x| Value::F32(*x)).collect(),
                Buf::I64(x) => x.iter().map(|x| Value::Int(*x)).collect(),
                Buf::Bool(x) => x.iter().map(|x| Value::Bool(*x)).collect(),
                Buf::Boxed(x) => x.clone(),
                Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => return false,
            };
            let shapes = x.shape.iter().eq(y.shape.iter());
            shapes && leaves.len() == y.elems.len() && leaves.iter().zip(&y.elems).all(|(x, y)| agrees(x, y))
        }
        _ => false,
    }
}

/// Runs a case in all ways. Returns how the results differ.
fn fault(case: &Case) -> Option<String> {
    let run = || both(&case.program, case.main, &args(case));
    let Ok(have) = catch_unwind(AssertUnwindSafe(run)) else {
        return Some(format!(
            "{}: native code and the interpreter differ at {:?}\nin {}",
            case.name,
            case.args,
            case.text()
        ));
    };
    let want = &case.results;
    let same = match (&have, want) {
        (Ok(have), Ok(want)) => have.len() == want.len() && have.iter().zip(want).all(|(x, y)| agrees(x, y)),
        (have, want) => have.is_err() && want.is_err(),
    };
    (!same).then(|| format!("{}: {have:?}\nagainst {want:?}\nat {:?}\nin {}", case.name, case.args, case.text()))
}

/// Runs cases in all ways.
fn check(cases: impl Iterator<Item = Case>) {
    let faults: Vec<String> = cases.filter_map(|case| fault(&case)).collect();
    assert!(faults.is_empty(), "{}: {}", faults.len(), faults.join("\n"));
}

#[test]
fn chains_have_the_values_of_the_reference_evaluator() {
    for scalar in [Ty::F64, Ty::F32, Ty::I64] {
        check((0..70).map(|seed| rows::chain(seed, 4 + seed as usize % 9, &scalar, compiled)));
    }
}

/// Each application of an operation, also to empty arrays, single elements, and numbers that are not finite.
#[test]
fn instances_have_the_values_of_the_reference_evaluator() {
    // The sizes of a contraction are operands, which compiled code trusts; nothing adds to slices of Bools.
    let checked = |op: &Op| compiled(op) && !matches!(op, Op::Contract(_) | Op::SliceAdd { .. });
    for scalar in [Ty::F64, Ty::F32, Ty::I64] {
        let plain = rows::instances(&scalar).into_iter().filter(|case| case.op().is_some_and(checked));
        let cases = plain.chain(variants::instances(&scalar, checked));
        check(cases.filter(|case| case.results.is_ok()));
    }
}

/// Operations that trust the shapes of their operands: specialisation has checked them, or transposition made them fit.
const TRUSTED: [&str; 5] = ["Dot", "GatherAdd", "IndexAdd", "IndexSet", "SliceAdd"];

#[test]
fn what_fails_in_the_reference_evaluator_fails_in_compiled_code() {
    let mut failed = 0;
    for scalar in [Ty::F64, Ty::I64] {
        for case in rows::instances(&scalar) {
            let Err(why) = &case.results else { continue };
            // An addition to a slice trusts its bounds as well, and a negative extent of a shape counts as 0.
            let trusted = case.name == "SliceAdd"
                || why.contains("is no extent")
                || why.contains("fit") && TRUSTED.contains(&case.name.as_str());
            if !trusted {
                check(std::iter::once(case));
                failed += 1;
            }
        }
    }
    assert!(failed > 100, "{failed}");
}
