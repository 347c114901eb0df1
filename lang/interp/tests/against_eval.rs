//! Compares lowered code with the reference evaluator, on generated programs and their derivatives of first and
//! second order.

use crate::lowered::run;
use adl_ad::Ad;
use adl_interp::ir::evaluator_values::value_at;
use adl_interp::value::{Array, Buf, Value, show};
use adl_ir::eval::{self, Con, Val};
use adl_ir::print::{Style, program};
use adl_ir::{FnId, Program, Ty, generate};
use adl_specialise::world::Transforms;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

fn close(x: f64, y: f64) -> bool {
    x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-9 * (1.0 + x.abs().max(y.abs()))
}

/// Element `i` in row-major order.
fn flat(a: &Array, i: usize) -> Value {
    match a.buf() {
        Buf::F64(v) => Value::Float(v[i]),
        Buf::F32(v) => Value::F32(v[i]),
        Buf::I64(v) => Value::Int(v[i]),
        Buf::Bool(v) => Value::Bool(v[i]),
        Buf::Boxed(v) => v[i].clone(),
        Buf::Unit | Buf::Tuple(_) | Buf::Record(..) => Value::Unit,
    }
}

/// Whether a value of the machine equals one of the evaluator. A symbolic zero equals any zero.
fn same(value: &Value, w: &Val) -> bool {
    let zero = |x: &Val| x.reals().iter().all(|r| *r == 0.0);
    match (value, w) {
        (Value::Zero, w) => zero(w),
        (Value::Float(x), Val::F64(y)) => close(*x, *y),
        (Value::F32(x), Val::F32(y)) => close(f64::from(*x), f64::from(*y)),
        (Value::Int(x), Val::I64(y)) => x == y,
        (Value::Bool(x), Val::Bool(y)) => x == y,
        (Value::Data(x), Val::Data(y)) => {
            x.con.tag == y.tag
                && x.fields.len() == y.fields.len()
                && x.fields.iter().zip(&y.fields).all(|(x, y)| same(x, y))
        }
        (Value::Array(a), Val::Array(b)) => {
            let n: usize = a.shape.iter().product();
            n == b.elems.len()
                && (n == 0 || a.shape[..] == b.shape[..])
                && (0..n).all(|i| same(&flat(a, i), &b.elems[i]))
        }
        (Value::Array(_) | Value::Data(_), Val::SymbolicZero) => match value {
            Value::Array(a) => {
                matches!(a.buf(), Buf::F64(x) if x.iter().all(|x| *x == 0.0))
                    || matches!(a.buf(), Buf::Boxed(x) if x.iter().all(|x| same(x, &Val::SymbolicZero)))
            }
            Value::Data(d) => d.fields.iter().all(|x| same(x, &Val::SymbolicZero) || same(x, &Val::F64(0.0))),
            _ => false,
        },
        _ => false,
    }
}

/// Runs a function by both, compares the results, and returns them.
fn both(p: &Program, f: FnId, args: &[Val]) -> Vec<Val> {
    let func = p.func(f);
    let want = eval::run(p, f, args, &[]).unwrap_or_else(|e| panic!("{e}"));
    let tys = func.tys(&func.body.params);
    let got = run(p, f, args.iter().zip(&tys).map(|(a, t)| value_at(a, t)).collect());
    assert_eq!(got.len(), want.results.len());
    for (g, w) in got.iter().zip(&want.results) {
        assert!(same(g, w), "{} where the evaluator gives {w:?} in {}", show::show(g), func.name);
    }
    want.results
}

/// A tangent of a value, if its type has reals.
fn ones(program: &mut Program, ad: &mut Ad, v: &Val, ty: &Ty) -> Option<Val> {
    ad.tangent_ty(program, ty)?;
    Some(match (v, ty) {
        (Val::F64(x), _) => Val::F64(0.5 + x * 0.25),
        (Val::F32(_), _) => Val::F32(1.0),
        (Val::Array(a), _) => {
            let inner = (*ty.scalar()).clone();
            Val::array(
                a.shape.clone(),
                a.elems.iter().map(|e| ones(program, ad, e, &inner)).collect::<Option<Vec<_>>>()?,
            )
        }
        (Val::Data(c), Ty::Data(d)) => {
            let fields = program.data(*d).cons[c.tag as usize].1.clone();
            Val::Data(Rc::new(Con {
                tag: c.tag,
                fields: c.fields.iter().zip(&fields).filter_map(|(f, t)| ones(program, ad, f, t)).collect(),
            }))
        }
        (other, _) => other.clone(),
    })
}

/// Checks the derivative of a function at arguments, and recursively that of its transpose, up to `order`.
fn derivatives(program: &mut Program, ad: &mut Ad, f: FnId, args: &[Val], order: u32) {
    let params = program.func(f).body.params.clone();
    let Ok(linearized) = ad.linearize(program, f, &vec![true; params.len()]) else { return };
    let mut outs = both(program, linearized.primal, args);
    let residuals = outs.split_off(linearized.results);
    let param_tys = program.func(f).tys(&params);
    let result_tys = program.func(f).tys(&program.func(f).body.results.clone());
    let dx: Vec<Val> = args.iter().zip(&param_tys).filter_map(|(a, t)| ones(program, ad, a, t)).collect();
    both(program, linearized.tangent, &[residuals.clone(), dx].concat());
    let active: Vec<(&Val, &Ty)> =
        outs.iter().zip(&result_tys).zip(&linearized.active).filter(|(_, a)| **a).map(|(x, _)| x).collect();
    let cts: Vec<Val> = active.into_iter().filter_map(|(y, t)| ones(program, ad, y, t)).collect();
    let back = [residuals, cts].concat();
    both(program, linearized.cotangent, &back);
    if order > 1 {
        derivatives(program, ad, linearized.cotangent, &back, order - 1);
    }
}

fn check(g: &generate::Generated) {
    let mut p = g.program.clone();
    both(&p, g.main, &g.args);
    derivatives(&mut p, &mut Ad::new(), g.main, &g.args, 2);
}

#[test]
fn lowered_code_gives_what_the_evaluator_gives() {
    let seeds = std::env::var("ADL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    for seed in 0..seeds {
        let size = 6 + (seed % 30) as usize;
        let g = generate::program(seed, size);
        if std::env::var_os("ADL_SEED").is_some_and(|s| s != seed.to_string().as_str()) {
            continue;
        }
        if catch_unwind(AssertUnwindSafe(|| check(&g))).is_err() {
            let small = generate::smallest(seed, size, |g| catch_unwind(AssertUnwindSafe(|| check(g))).is_err());
            panic!("seed {seed}: {}", small.map(|g| program(&g.program, Style::PLAIN)).unwrap_or_default());
        }
    }
}
