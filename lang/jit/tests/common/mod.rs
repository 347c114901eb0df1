//! Functions run by the interpreter and natively.
#![allow(dead_code)]

use adl_interp::error::{Error, Res};
use adl_interp::host::Host;
use adl_interp::ir::lower::Linker;
use adl_interp::ir::native::Native;
use adl_interp::value::{Buf, ConInfo, Data, Shape, Value, array};
use adl_interp::vm::Machine;
use adl_ir::eval::{Arr, Val};
use adl_ir::{FnId, Program, Ty};
use std::rc::Rc;

pub struct Nobody;

impl Host for Nobody {
    fn print(&mut self, _: &str) {}
    fn flush(&mut self) {}
    fn read(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Err(String::new())
    }
    fn write(&mut self, _: &str, _: &[u8]) -> Result<(), String> {
        Err(String::new())
    }
    fn args(&mut self) -> Vec<String> {
        Vec::new()
    }
    fn env(&mut self, _: &str) -> Option<String> {
        None
    }
    fn time(&mut self) -> f64 {
        0.0
    }
    fn progress(&mut self, _: u64, _: u64) {}
}

pub fn machine() -> Machine {
    Machine::new(Box::new(Nobody))
}

pub fn compile(p: &Program, f: FnId) -> Rc<dyn Native> {
    let made = Linker::default().native(p, f, &*adl_jit::compiler());
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

/// Whether values are the same bits. All nans are one.
pub fn same(a: &Value, b: &Value) -> bool {
    let real = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => real(*x, *y),
        (Value::F32(x), Value::F32(y)) => real(f64::from(*x), f64::from(*y)),
        (Value::Int(x), Value::Int(y)) => x == y,
        (Value::Bool(x), Value::Bool(y)) => x == y,
        (Value::Zero, Value::Zero) | (Value::Unit, Value::Unit) => true,
        (Value::Str(x), Value::Str(y)) => x == y,
        (Value::Data(x), Value::Data(y)) => x.con.tag == y.con.tag && x.fields.len() == y.fields.len() && x.fields.iter().zip(&y.fields).all(|(x, y)| same(x, y)),
        (Value::Array(x), Value::Array(y)) => {
            x.shape == y.shape
                && match (&x.buf, &y.buf) {
                    (Buf::F64(x), Buf::F64(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| real(*x, *y)),
                    (Buf::F32(x), Buf::F32(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| real(f64::from(*x), f64::from(*y))),
                    (Buf::I64(x), Buf::I64(y)) => x == y,
                    (Buf::Bool(x), Buf::Bool(y)) => x == y,
                    (Buf::Boxed(x), Buf::Boxed(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
                    _ => false,
                }
        }
        _ => false,
    }
}

fn of(v: &Val) -> Ty {
    let Val::Array(a) = v else { return Ty::F64 };
    let scalar = match a.elems.first() {
        Some(Val::I64(_)) => Ty::I64,
        Some(Val::Bool(_)) => Ty::Bool,
        Some(Val::Data(_) | Val::Array(_) | Val::Absent | Val::Deps(_)) => Ty::Str,
        _ => Ty::F64,
    };
    Ty::Array(scalar.into(), a.shape.len() as u32)
}

/// A value of the reference evaluator as one of the machine.
pub fn value(v: &Val, ty: &Ty) -> Value {
    match v {
        Val::F64(x) => Value::Float(*x),
        Val::F32(x) => Value::F32(*x),
        Val::I64(n) => Value::Int(*n),
        Val::Bool(b) => Value::Bool(*b),
        Val::Str(s) => Value::Str(Rc::new((&**s).into())),
        Val::Absent | Val::Deps(_) => Value::Zero,
        Val::Data(c) => {
            let name = adl_syntax::symbol::Symbol::new("C");
            let con = ConInfo { name, tag: c.tag, data: adl_typing::ty::DataId(0, name), arity: c.fields.len() as u32 };
            Value::Data(Rc::new(Data { con: Rc::new(con), fields: c.fields.iter().map(|f| value(f, &of(f))).collect() }))
        }
        Val::Array(a) => elements(a, ty),
    }
}

fn elements(a: &Arr, ty: &Ty) -> Value {
    let shape: Shape = a.shape.iter().copied().collect();
    let real = |v: &Val| v.float().unwrap_or(f64::NAN);
    let buf = match ty.scalar() {
        Ty::F64 => Buf::F64(a.elems.iter().map(real).collect()),
        Ty::F32 => Buf::F32(a.elems.iter().map(|v| real(v) as f32).collect()),
        Ty::I64 => Buf::I64(a.elems.iter().map(|v| if let Val::I64(n) = v { *n } else { 0 }).collect()),
        Ty::Bool => Buf::Bool(a.elems.iter().map(|v| matches!(v, Val::Bool(true))).collect()),
        Ty::Str | Ty::Data(_) | Ty::Array(..) => Buf::Boxed(a.elems.iter().map(|v| value(v, &of(v))).collect()),
    };
    array::make(shape, buf)
}

/// Runs a function both ways, once with arguments that somebody else holds and once with its own: the same bits, or the same error.
pub fn both(p: &Program, f: FnId, args: &[Value]) -> Res<Vec<Value>> {
    let want = interpreted(p, f, args.to_vec());
    let code = compile(p, f);
    for own in [false, true] {
        let given = if own { args.iter().map(copy).collect() } else { args.to_vec() };
        match (code.run(&mut machine(), given), &want) {
            (Ok(got), Ok(want)) => {
                assert_eq!(got.len(), want.len());
                for (g, w) in got.iter().zip(want) {
                    assert!(same(g, w), "native {g:?}\ninterpreted {w:?}\nin {}", p.func(f).name);
                }
            }
            (Err(e), Err(w)) => same_error(&e, w),
            (Ok(got), Err(w)) => panic!("native {got:?}, interpreted {w:?}"),
            (Err(e), Ok(_)) => panic!("native {e:?}, interpreted a value, in {}", p.func(f).name),
        }
    }
    want
}

fn same_error(e: &Error, w: &Error) {
    assert_eq!((e.diag.code, &e.diag.message, &e.diag.primary.span, &e.diag.stack), (w.diag.code, &w.diag.message, &w.diag.primary.span, &w.diag.stack));
}

/// A value that shares nothing.
fn copy(v: &Value) -> Value {
    match v {
        Value::Array(a) => Value::Array(Rc::new((**a).clone())),
        other => other.clone(),
    }
}
