//! Runs functions in the interpreter and natively.
#![allow(dead_code)]

use adl_interp::error::{Error, Res};
use adl_interp::host::NullHost;
use adl_interp::ir::lower::Linker;
use adl_interp::ir::native::{Listing, LoweredIr, Native};
use adl_interp::upcalls::RunsLowered;
use adl_interp::value::{Buf, Value};
use adl_interp::vm::Machine;
use adl_ir::{FnId, Program};
use adl_jit::Vectors;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Mutex;

pub fn machine() -> Machine {
    Machine::new(Box::new(NullHost))
}

pub fn compile(p: &Program, f: FnId) -> Rc<dyn Native> {
    compile_with(p, f, Vectors::Widest)
}

fn compile_with(p: &Program, f: FnId, vectors: Vectors) -> Rc<dyn Native> {
    let made = Linker::default().native(p, f, &*adl_jit::compiler_with(vectors));
    made.unwrap_or_else(|e| panic!("{e}\n{}", adl_ir::print::program(p, adl_ir::print::Style::PLAIN)))
}

pub fn native(p: &Program, f: FnId, args: Vec<Value>) -> Res<Vec<Value>> {
    compile(p, f).run(&mut machine(), args)
}

pub fn interpreted(p: &Program, f: FnId, args: Vec<Value>) -> Res<Vec<Value>> {
    let fun = Linker::default().function(p, f)?;
    let b = &p.func(f).body;
    machine().call_lowered(&fun, args, b.results.len() + b.lin_results.len())
}

/// Whether values are bit-identical. All NaNs are considered equal.
pub fn same(a: &Value, b: &Value) -> bool {
    let real = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => real(*x, *y),
        (Value::F32(x), Value::F32(y)) => real(f64::from(*x), f64::from(*y)),
        (Value::Int(x), Value::Int(y)) => x == y,
        (Value::Bool(x), Value::Bool(y)) => x == y,
        (Value::Zero, Value::Zero) | (Value::Unit, Value::Unit) => true,
        (Value::Str(x), Value::Str(y)) => x == y,
        (Value::Data(x), Value::Data(y)) => {
            x.con.tag == y.con.tag
                && x.fields.len() == y.fields.len()
                && x.fields.iter().zip(&y.fields).all(|(x, y)| same(x, y))
        }
        (Value::Array(x), Value::Array(y)) => {
            x.shape == y.shape
                && match (x.buf(), y.buf()) {
                    (Buf::F64(x), Buf::F64(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| real(*x, *y)),
                    (Buf::F32(x), Buf::F32(y)) => {
                        x.len() == y.len() && x.iter().zip(y).all(|(x, y)| real(f64::from(*x), f64::from(*y)))
                    }
                    (Buf::I64(x), Buf::I64(y)) => x == y,
                    (Buf::Bool(x), Buf::Bool(y)) => x == y,
                    (Buf::Boxed(x), Buf::Boxed(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
                    _ => false,
                }
        }
        _ => false,
    }
}

/// Runs a function both ways, once with shared and once with unshared arguments. Results must be bit-identical, or the
/// errors equal.
pub fn both(program: &Program, id: FnId, args: &[Value]) -> Res<Vec<Value>> {
    natively(program, id, args, &[(Vectors::Widest, false), (Vectors::Widest, true)])
}

/// [`both`], and also with vectors that this processor uses nowhere else: shorter ones are run; code with longer ones is
/// made.
pub fn with_all_vectors(program: &Program, id: FnId, args: &[Value]) -> Res<Vec<Value>> {
    let source = LoweredIr::of(program);
    if is_new(program) {
        for vectors in [Vectors::Eight, Vectors::Four] {
            adl_jit::compiler_with(vectors).listing(&source, id.0, Listing::Asm).unwrap();
        }
    }
    let mut runs = vec![(Vectors::Widest, false), (Vectors::Widest, true), (Vectors::Short, true)];
    if adl_jit::compiler_with(Vectors::Eight).compile(&source, id.0).is_ok() {
        runs.push((Vectors::Four, true));
    }
    natively(program, id, args, &runs)
}

/// Whether a program has not been asked for before.
fn is_new(program: &Program) -> bool {
    static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    KNOWN.lock().unwrap().insert(adl_ir::print::program(program, adl_ir::print::Style::PLAIN))
}

/// Compares each of these native runs with the interpreter: vectors, whether arguments are unshared.
fn natively(program: &Program, id: FnId, args: &[Value], runs: &[(Vectors, bool)]) -> Res<Vec<Value>> {
    let want = interpreted(program, id, args.to_vec());
    let mut compiled: Option<(Vectors, Rc<dyn Native>)> = None;
    for &(vectors, own) in runs {
        let code = match &compiled {
            Some((before, code)) if *before == vectors => code.clone(),
            _ => compile_with(program, id, vectors),
        };
        compiled = Some((vectors, code.clone()));
        let given = if own { args.iter().map(copy).collect() } else { args.to_vec() };
        match (code.run(&mut machine(), given), &want) {
            (Ok(got), Ok(want)) => {
                assert_eq!(got.len(), want.len());
                for (g, w) in got.iter().zip(want) {
                    assert!(same(g, w), "native {g:?}\ninterpreted {w:?}\nin {}", program.func(id).name);
                }
            }
            (Err(e), Err(w)) => same_error(&e, w),
            (Ok(got), Err(w)) => panic!("native {got:?}, interpreted {w:?}"),
            (Err(e), Ok(_)) => panic!("native {e:?}, interpreted a value, in {}", program.func(id).name),
        }
    }
    want
}

fn same_error(e: &Error, w: &Error) {
    assert_eq!(
        (e.diag.code, &e.diag.message, &e.diag.primary.span, &e.diag.stack),
        (w.diag.code, &w.diag.message, &w.diag.primary.span, &w.diag.stack)
    );
}

/// A deep copy of a value.
fn copy(v: &Value) -> Value {
    match v {
        Value::Array(a) => Value::Array(Rc::new((**a).clone())),
        other => other.clone(),
    }
}
