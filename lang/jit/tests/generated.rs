//! Compares native code with the interpreter, bit for bit, on generated programs and their first and second
//! derivatives.
//!
//! `ADL_PROGRAMS=10000` makes the run longer; a failing seed is shrunk and printed.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

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
fn tangent(p: &mut Program, ad: &mut Ad, v: &Value, ty: &Ty) -> Option<Value> {
    ad.tangent_ty(p, ty)?;
    Some(match (v, ty) {
        (Value::Float(x), _) => Value::Float(0.5 + x * 0.25),
        (Value::Array(a), _) => match a.buf() {
            Buf::F64(x) => {
                Value::Array(Rc::new(Array::new(a.shape.clone(), Buf::F64(x.iter().map(|x| 0.5 + x * 0.25).collect()))))
            }
            Buf::Boxed(x) => {
                let inner = (*ty.scalar()).clone();
                let parts = x.iter().map(|x| tangent(p, ad, x, &inner)).collect::<Option<Vec<_>>>()?;
                Value::Array(Rc::new(Array::new(a.shape.clone(), Buf::Boxed(parts))))
            }
            _ => v.clone(),
        },
        (Value::Data(d), Ty::Data(t)) => {
            let tys = p.data(*t).cons[d.con.tag as usize].1.clone();
            let fields = d.fields.iter().zip(&tys).filter_map(|(f, t)| tangent(p, ad, f, t)).collect();
            Value::Data(Rc::new(adl_interp::value::Data { con: d.con.clone(), fields }))
        }
        (other, _) => other.clone(),
    })
}

fn derivatives(p: &mut Program, ad: &mut Ad, f: FnId, args: &[Value], order: u32) {
    let params = p.func(f).body.params.clone();
    let Ok(l) = ad.linearize(p, f, &vec![true; params.len()]) else { return };
    let Ok(mut outs) = both(p, l.primal, args) else { return };
    let residuals = outs.split_off(l.results);
    let param_tys = p.func(f).tys(&params);
    let result_tys = p.func(f).tys(&p.func(f).body.results.clone());
    let dx: Vec<Value> = args.iter().zip(&param_tys).filter_map(|(a, t)| tangent(p, ad, a, t)).collect();
    let _ = both(p, l.tangent, &[residuals.clone(), dx].concat());
    let active: Vec<(&Value, &Ty)> =
        outs.iter().zip(&result_tys).zip(&l.active).filter(|(_, a)| **a).map(|(x, _)| x).collect();
    let cts: Vec<Value> = active.into_iter().filter_map(|(y, t)| tangent(p, ad, y, t)).collect();
    let back = [residuals, cts].concat();
    let _ = both(p, l.cotangent, &back);
    if order > 1 {
        derivatives(p, ad, l.cotangent, &back, order - 1);
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
