//! Compares native code with the interpreter, bit for bit, on generated programs and their first and second
//! derivatives.
//!
//! `ADL_PROGRAMS=10000` makes the run longer; a failing seed is shrunk and printed.

use crate::common;

use adl_ad::Ad;
use adl_interp::ir::evaluator_values::value_at as value;
use adl_interp::value::{Array, Buf, Value};
use adl_ir::print::{Style, program};
use adl_ir::{FnId, Program, Ty, generate};
use adl_specialise::world::Transforms;
use common::both;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// A tangent of a value: other numbers of the same shape.
fn tangent(program: &mut Program, ad: &mut Ad, value: &Value, ty: &Ty) -> Option<Value> {
    ad.tangent_ty(program, ty)?;
    Some(match (value, ty) {
        (Value::Float(x), _) => Value::Float(0.5 + x * 0.25),
        (Value::Array(a), _) => match a.buf() {
            Buf::F64(x) => {
                Value::Array(Rc::new(Array::new(a.shape.clone(), Buf::F64(x.iter().map(|x| 0.5 + x * 0.25).collect()))))
            }
            Buf::Boxed(x) => {
                let inner = (*ty.scalar()).clone();
                let parts = x.iter().map(|x| tangent(program, ad, x, &inner)).collect::<Option<Vec<_>>>()?;
                Value::Array(Rc::new(Array::new(a.shape.clone(), Buf::Boxed(parts))))
            }
            _ => value.clone(),
        },
        (Value::Data(d), Ty::Data(t)) => {
            let tys = program.data(*t).cons[d.con.tag as usize].1.clone();
            let fields = d.fields.iter().zip(&tys).filter_map(|(f, t)| tangent(program, ad, f, t)).collect();
            Value::Data(Rc::new(adl_interp::value::Data { con: d.con.clone(), fields }))
        }
        (other, _) => other.clone(),
    })
}

fn derivatives(program: &mut Program, ad: &mut Ad, f: FnId, args: &[Value], order: u32) {
    let params = program.func(f).body.params.clone();
    let Ok(linearized) = ad.linearize(program, f, &vec![true; params.len()]) else { return };
    let Ok(mut outs) = both(program, linearized.primal, args) else { return };
    let residuals = outs.split_off(linearized.results);
    let param_tys = program.func(f).tys(&params);
    let result_tys = program.func(f).tys(&program.func(f).body.results.clone());
    let dx: Vec<Value> = args.iter().zip(&param_tys).filter_map(|(a, t)| tangent(program, ad, a, t)).collect();
    let _ = both(program, linearized.tangent, &[residuals.clone(), dx].concat());
    let active: Vec<(&Value, &Ty)> =
        outs.iter().zip(&result_tys).zip(&linearized.active).filter(|(_, a)| **a).map(|(x, _)| x).collect();
    let cts: Vec<Value> = active.into_iter().filter_map(|(y, t)| tangent(program, ad, y, t)).collect();
    let back = [residuals, cts].concat();
    let _ = both(program, linearized.cotangent, &back);
    if order > 1 {
        derivatives(program, ad, linearized.cotangent, &back, order - 1);
    }
}

fn check(g: &generate::Generated) {
    let mut p = g.program.clone();
    let tys = p.func(g.main).tys(&p.func(g.main).body.params);
    let args: Vec<Value> = g.args.iter().zip(&tys).map(|(a, t)| value(a, t)).collect();
    let _ = both(&p, g.main, &args);
    derivatives(&mut p, &mut Ad::new(), g.main, &args, 2);
}

#[test]
fn native_code_gives_the_interpreters_bits() {
    let seeds = std::env::var("ADL_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    for seed in 0..seeds {
        let size = 6 + (seed % 30) as usize;
        let g = generate::program(seed, size);
        if catch_unwind(AssertUnwindSafe(|| check(&g))).is_err() {
            let small = generate::smallest(seed, size, |g| catch_unwind(AssertUnwindSafe(|| check(g))).is_err());
            panic!("seed {seed}: {}", small.map(|g| program(&g.program, Style::PLAIN)).unwrap_or_default());
        }
    }
}
